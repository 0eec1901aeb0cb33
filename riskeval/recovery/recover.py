"""`recover`: an intruder who computes suppressed values from what the file still shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import key_table
from riskeval.recovery.columns import (
    Evidence,
    check_components,
    names_of,
    read_column,
    read_households,
    read_source,
)
from riskeval.recovery.result import Recovery, make_result
from riskeval.recovery.rules import RULES, Deduction, Fill, Ways, apply
from synthpop.microdata.frame.checks import as_frame, check_columns, check_numeric
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import Between, Whole, check, check_choice
from synthpop.microdata.messages.text import count
from synthpop.microdata.roles.microdata import as_file

MOST_ROUNDS = 50
CERTAINTY = 0.99


@same_library
def recover(
    release: Any,
    *,
    household: str | None = None,
    weights: str | Sequence[str] | None = None,
    strata: str | Sequence[str] | None = None,
    components: Mapping[str, Sequence[str]] | None = None,
    earlier: Any = None,
    original: Any = None,
    suppressed: pd.DataFrame | None = None,
    keys: Sequence[str] = (),
    k: int = 3,
    household_variables: Sequence[str] = (),
    household_size: str | None = None,
    columns: Sequence[str] | None = None,
    rules: Sequence[str] | None = None,
    certainty: float = CERTAINTY,
) -> Recovery:
    """Fill the holes of a released file as a careful intruder does, and name the source of each.

    The rules use the file alone: the other members of a household, the number of its rows, the
    place among its members, a category that one member of each household has (the head), weights
    that occur in one stratum only, sums, other columns that determine a value, numbers beside
    their classes, the order of the records, an earlier state of the file. They are repeated until
    nothing more follows. Nothing is drawn at random.

    Parameters
    ----------
    release : DataFrame or Arrow table, n records
        The file with missing values.
    household : str, optional
        Column of household ids. A missing id is a household that nobody knows.
    weights : str or sequence of str, optional
        Columns of sampling weights.
    strata : str or sequence of str, optional
        Columns within which the weights were made: one weight that occurs in one stratum only is
        believed without further proof.
    components : mapping, optional
        Total -> its parts: {"income": ["wages", "pensions"]}.
    earlier : DataFrame or Arrow table, optional
        An earlier state of the same records in the same order.
    original : DataFrame or Arrow table, optional
        The file before suppression, same order: tells which cells are filled rightly, and which
        values were missing from the start (those are then no holes).
    suppressed : DataFrame of bool, optional
        Cells that were suppressed, for the columns it has; every missing value of them otherwise.
    keys : sequence of str, optional
        Key variables: records that share them with fewer than `k` are counted before and after.
    k : int
    household_variables : sequence of str, optional
        Columns that are the same for all members. Others are believed to be so only if at least
        `certainty` of the visible cells agree with the other members.
    household_size : str, optional
        Column of the number of members.
    columns : sequence of str, optional
        Columns that the intruder uses. Default: all.
    rules : sequence of str, optional
        Names among "household", "household size", "role", "place", "weights", "sums", "earlier",
        "classes", "dependency", "order". Default: all.
    certainty : float, above 0.5 and at most 1
        Share of the visible cells on which a rule must be right before the intruder relies on it;
        it must also make at most a tenth of the errors of guessing the commonest value, and say
        something about at least 20 visible cells.

    Returns
    -------
    Recovery

    Raises
    ------
    InputError
        Unknown columns or rules, files of another length.

    Notes
    -----
    A dependency is found by leaving each visible cell out: the other records with the same value
    of the source must agree on one value, and this value must be right. A missing value of a
    source tells nothing. That weights tell a suppressed stratum was described by de Waal and
    Willenborg (1997), Journal of Official Statistics 13, 417-434; that values of a household must
    be suppressed for all its members in Templ (2017), sections 8.5.1.1 and 8.6.2.2.

    A filled cell is the one value that agrees with the file; where no `original` is given nobody
    knows whether it is right.

    Examples
    --------
    >>> people = pd.DataFrame({"home": [1, 1, 2], "region": ["north", None, "south"]})
    >>> result = recover(people, household="home", household_variables=["region"])
    >>> result.cells[["row", "column", "value", "rule"]].values.tolist()
    [[1, 'region', 'north', 'household']]
    """
    faults = Faults("recover")
    file = as_file(release, faults, keys=keys, household=household, needs="nothing")
    frame, household = file.frame, file.roles.household
    weights = weights or file.roles.weight
    files = {
        name: None if other is None else as_frame(other)
        for name, other in (("original", original), ("earlier", earlier))
    }
    parts = {total: tuple(names_of(names)) for total, names in (components or {}).items()}
    ways = Ways(
        certainty, tuple(names_of(household_variables)), household_size, tuple(names_of(weights)),
        tuple(names_of(strata)), parts,
    )  # fmt: skip
    names = list(frame.columns) if columns is None else names_of(columns)
    _check(faults, frame, ways, names, files)
    _check_options(faults, ways, k, rules)
    faults.raise_if_any()
    declared = [*ways.weights, *parts, *(name for p in parts.values() for name in p)]
    used = [name for name in dict.fromkeys([*names, *declared]) if name != household]
    evidence = _evidence(frame, used, household, declared, files, suppressed)
    n_holes = {name: len(column.holes) for name, column in evidence.columns.items()}
    fills = fill_holes(evidence, ways, list(RULES) if rules is None else list(rules))
    table = key_table(file) if file.roles.keys else None
    return make_result(frame, table, fills, n_holes, files["original"], int(k))


def fill_holes(evidence: Evidence, ways: Ways, rules: Sequence[str]) -> list[Fill]:
    """Apply the rules until no hole is filled any more; the evidence is changed in place.

    Of several sources for one cell that with the best evidence wins: (r + 1) / (c + 2) with r of
    its c cases right, so that a rule without an error in 20 cases stands behind one in 20,000.
    """
    fills: list[Fill] = []
    if not evidence.targets():
        return fills
    for number in range(1, MOST_ROUNDS + 1):
        deductions = [one for name in rules for one in RULES[name](evidence, ways)]
        deductions.sort(key=_evidence_of, reverse=True)
        before = len(fills)
        for deduction in deductions:
            rows, values = apply(evidence, deduction)
            if len(rows):
                fills.append(Fill(deduction, rows, values, number))
        if len(fills) == before:
            break
        evidence.changed = {fill.deduction.target for fill in fills[before:]}
    return fills


def _evidence_of(deduction: Deduction) -> float:
    right = deduction.agreement * deduction.cases if deduction.cases else 0.0
    return (right + 1) / (deduction.cases + 2)


def _evidence(
    frame: pd.DataFrame,
    names: Sequence[str],
    household: str | None,
    declared: Sequence[str],
    files: Mapping[str, pd.DataFrame | None],
    suppressed: pd.DataFrame | None,
) -> Evidence:
    """Read the columns; numbers that are missing wherever a value is hidden tell nothing."""
    original, earlier = files["original"], files["earlier"]
    missing = {name: frame[name].isna().to_numpy() for name in names}
    hidden = {
        name: _hidden(name, cells, original, suppressed) if cells.any() else cells
        for name, cells in missing.items()
    }
    at_holes = np.logical_or.reduce(list(hidden.values()))
    columns = {}
    for name, cells in hidden.items():
        if cells.any():
            columns[name] = read_column(frame[name], cells)
        elif name in declared or not is_number(frame[name]) or (at_holes & ~missing[name]).any():
            columns[name] = read_source(frame[name])
    return Evidence(
        columns,
        None if household is None else read_households(frame[household]),
        {} if earlier is None else {str(n): read_column(earlier[n]) for n in earlier},
    )


def _hidden(
    name: str, missing: np.ndarray, original: pd.DataFrame | None, suppressed: pd.DataFrame | None
) -> np.ndarray:
    """Missing cells of a column that were suppressed; bool, shape (n,)."""
    hidden = missing
    if suppressed is not None and name in suppressed:
        hidden = hidden & suppressed[name].to_numpy(dtype=bool)
    if original is not None and name in original:
        hidden = hidden & original[name].notna().to_numpy()
    return hidden


def _check(
    faults: Faults,
    frame: pd.DataFrame,
    ways: Ways,
    names: Sequence[str],
    files: Mapping[str, pd.DataFrame | None],
) -> None:
    roles = {
        "columns": names, "strata": ways.strata,
        "household_variables": ways.household_variables,
        "household_size": names_of(ways.household_size),
    }  # fmt: skip
    for role, role_names in roles.items():
        check_columns(faults, frame, dict.fromkeys(role_names), role)
    check_numeric(faults, frame, ways.weights, "weights")
    check_components(faults, frame, ways.components or {})
    for name, other in files.items():
        if other is not None and len(other) != len(frame):
            faults.add(name, f"has {count(len(other))} records, the release {count(len(frame))}")


def _check_options(faults: Faults, ways: Ways, k: int, rules: Sequence[str] | None) -> None:
    table = {"k": Whole(1), "certainty": Between(0.5, 1, open="low")}
    check(faults, table, {"k": k, "certainty": ways.certainty})
    for rule in rules or ():
        check_choice(faults, "rules", rule, RULES)
