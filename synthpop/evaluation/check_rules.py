"""Edit rules checked on any file: a survey, a population in memory or on disk, a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from synthpop.conditional.rules.evaluate import broken_by, condition_of
from synthpop.conditional.rules.parse import parse_rules
from synthpop.conditional.rules.syntax import Rule
from synthpop.logic.learn import people_of
from synthpop.microdata.frame.checks import as_frame, check_names
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.chunks import NumberedFrames, map_portions
from synthpop.population.population import Population


@dataclass(frozen=True, slots=True)
class RulesCheck(Result):
    """How many persons break each rule.

    Attributes
    ----------
    rules : tuple of str
    cases : tuple of int
        Persons whom each rule is about.
    broken : tuple of int
        Persons who break it; all members of a household where the rule is about households.
    n_persons : int
    """

    rules: tuple[str, ...]
    cases: tuple[int, ...]
    broken: tuple[int, ...]
    n_persons: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rule: rule, cases, broken, share (of the cases)."""
        cases = np.array(self.cases, dtype=np.float64)
        share = np.divide(self.broken, cases, out=np.zeros(len(cases)), where=cases > 0)
        return pd.DataFrame(
            {"rule": self.rules, "cases": self.cases, "broken": self.broken, "share": share}
        )

    def summary(self) -> str:
        """Return how many persons break which rule."""
        total = plural(self.n_persons, "person")
        broken_rules = [(rule, n) for rule, n in zip(self.rules, self.broken, strict=True) if n]
        if not broken_rules:
            return f"None of {total} breaks any of {plural(len(self.rules), 'rule')}."
        worst = "; ".join(
            f"{rule!r}: {plural(n, 'person')} ({percent(n / max(self.n_persons, 1))})"
            for rule, n in sorted(broken_rules, key=lambda item: -item[1])
        )
        return (
            f"{len(broken_rules)} of {plural(len(self.rules), 'rule')} broken, of {total}: {worst}."
        )


@same_library
def check_rules(
    data: pd.DataFrame | Survey | Population,
    rules: Sequence[str] | None = None,
    *,
    household: str | None = None,
) -> RulesCheck:
    """Count who breaks edit rules; a population on disk is read block by block.

    Parameters
    ----------
    data : DataFrame, Survey or Population
    rules : list of str, optional
        See `synthpop.conditional.rules`. Default: those of the recipe that made the population.
    household : str, optional
        Column of household ids of a frame; without it every row is a household of its own.

    Returns
    -------
    RulesCheck
        Where a value that a rule needs is missing, it is not broken.

    Raises
    ------
    InputError
        Lists every rule that is none, or that names what the data do not have.

    Examples
    --------
    >>> people = pd.DataFrame({"hid": [1, 1], "kin": ["head", "spouse"], "age": [40, 12]})
    >>> print(check_rules(people, ["spouse: age >= 16", "exactly one head"], household="hid"))
    1 of 2 rules broken, of 2 persons: 'spouse: age >= 16': 1 person (50.00 %).
    """
    if rules is None:
        rules = data.manifest.identity.rules if isinstance(data, Population) else ()
    texts = listed_names(rules)
    parsed = parse_rules(texts)
    table, column = _table(data, household)
    columns = data.columns if isinstance(data, Population) else ()
    cases, broken = np.zeros(len(parsed), dtype=np.int64), np.zeros(len(parsed), dtype=np.int64)
    n_persons = 0
    for portion in map_portions(partial(_count_broken, column, parsed), table, columns):
        cases, broken, n_persons = cases + portion[0], broken + portion[1], n_persons + portion[2]
    return RulesCheck(texts, tuple(cases.tolist()), tuple(broken.tolist()), n_persons)


def _count_broken(
    household: str | None, rules: Sequence[Rule], frames: NumberedFrames
) -> tuple[np.ndarray, np.ndarray, int]:
    """Count for each rule to how many it applies and who breaks it; and all persons."""
    cases, broken = np.zeros(len(rules), dtype=np.int64), np.zeros(len(rules), dtype=np.int64)
    n_persons = 0
    for _, frame in frames:
        people = people_of(frame, household, rules)
        n_persons += people.n_persons
        for k, rule in enumerate(rules):
            scope = None if rule.scope is None else condition_of(people, rule.scope) == 1
            cases[k] += people.n_persons if scope is None else int(scope.sum())
            broken[k] += int(broken_by(people, rule).sum())
    return cases, broken, n_persons


def _table(
    data: pd.DataFrame | Survey | Population, household: str | None
) -> tuple[pd.DataFrame | Population, str | None]:
    """Return the persons, members of a household in one block, and the column of their ids."""
    if isinstance(data, Population):
        return data, data.manifest.roles.household
    if isinstance(data, Microdata):
        return data.frame, household or data.roles.household
    faults = Faults("check_rules")
    if not isinstance(data, pd.DataFrame):
        what = f"is a {type(data).__name__}"
        faults.add("data", what, hint="Give a frame, a survey or a population.")
    else:
        data = as_frame(data)
        check_names(faults, data)
        if household is not None and household not in data.columns:
            faults.add("household", f"{household!r} is not a column", hint="Name the ids.")
    faults.raise_if_any()
    return data, household
