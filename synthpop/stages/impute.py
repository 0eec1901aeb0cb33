"""Fill missing values of the survey from similar rows before anything is learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from synthpop.microdata.frame.codes import cell_ids
from synthpop.microdata.frame.frames import n_columns
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams
from synthpop.models.encoding import cell_codes, coded_digits, numeric_digits
from synthpop.population.manifest import SurveyStepRecord
from synthpop.stages.entry import StageEntry
from synthpop.stages.population_stages import SurveyStage

EMPTY = ("keep", "widen")
UNITS = ("person", "household")
HAS, NONE = -1, -2


@dataclass(frozen=True, slots=True)
class Impute(SurveyStage):
    """Give missing values of a survey variable the value of a similar row: a random hot deck.

    It comes before `Structure`. Without it a missing value of a predictor is a level of its own
    in every model, and missing again in the population. That is right where the question was not
    asked (children have no economic status), and a waste where an answer was not given.

    Parameters
    ----------
    variables : list of str
        Columns of the survey with missing values, filled one after the other; those filled before
        are complete for those after. Columns without missing values stay as they are.
    given : list of str
        Columns that make the cells: a row takes the value of a row of its cell that has one, drawn
        with probability proportional to the weight. Numbers with more than 20 distinct values are
        cut at weighted deciles; a missing value is a class of its own. The most important first.
    empty : "keep" or "widen"
        In a cell without any value: leave it missing, as where a group was not asked; or leave out
        the last of `given`, then the one before it and so on, until there are donors.
    unit : "person" or "household"
        "household": one value for all members, from other households, drawn by household weight.
        All members must have the same value, or none.

    Notes
    -----
    Randomness: stream ("impute", variable) of the seed of the fit, one uniform number for each
    missing value. How many values were filled, with how many of `given`, and how many were left
    is recorded in the manifest. A value that is filled counts as observed afterwards: variances
    estimated from the survey do not know better. Source: Andridge and Little (2010),
    doi:10.1111/j.1751-5823.2010.00103.x.

    Examples
    --------
    >>> Impute(["pl030"], given=["age", "rb090"]).label
    'impute pl030'
    """

    variables: Sequence[str]
    _: KW_ONLY
    given: Sequence[str]
    empty: str = "keep"
    unit: str = "person"

    entry: ClassVar[StageEntry] = StageEntry(
        name="impute",
        rank=20,
        title="Missing values filled",
        question="Which value may a missing answer have had, as a similar row has it?",
        blind_spots="reasons for not answering that the columns of `given` do not tell",
        example={"variables": ["pl030"], "given": ["age", "rb090"]},
    )
    NAMES: ClassVar[tuple[str, ...]] = ("variables", "given")

    def expect(self, faults: Faults, survey: Survey) -> None:
        """Note everything in the options that cannot work, before anything is computed."""
        if not self.variables or len(set(self.variables)) < len(self.variables):
            faults.add(self.label, "needs distinct variables", hint="Name each once.")
        check_choice(faults, f"{self.label}: empty", self.empty, EMPTY)
        check_choice(faults, f"{self.label}: unit", self.unit, UNITS)
        if self.unit == "household" and survey.roles.household is None:
            hint = "Give the survey its household role, or use unit='person'."
            faults.add(self.label, "the survey has no households", hint=hint)
        roles = {name: role for role, name in survey.roles.named().items()}
        for name in self.variables:
            if name in self.given:
                faults.add(self.label, f"{name!r} is given by itself", hint="Leave it out there.")
            if name in roles:
                what = f"{name!r} is the {roles[name]} of the survey"
                faults.add(self.label, what, hint="It must be complete.")
        for name in dict.fromkeys([*self.variables, *self.given]):
            self._check_column(faults, survey, name)

    def _check_column(self, faults: Faults, survey: Survey, name: str) -> None:
        columns = survey.frame.columns
        if n_columns(columns, name) != 1:
            what = f"{name!r} is not a column of the survey"
            faults.add(self.label, what, hint=did_you_mean(name, columns))
            return
        try:
            _, codes = survey.field(name)
        except InputError as problem:
            faults.found.extend(problem.faults)
            return
        if name in self.variables and self.unit == "household" and survey.roles.household:
            rows = _rows_that_disagree(survey, _missing(codes), survey.frame[name])
            if len(rows):
                what = f"{name!r} has several values in a household"
                hint = "Use unit='person', or correct the values."
                faults.add(self.label, what, rows=rows, hint=hint)

    def prepare(self, survey: Survey, seed: int) -> tuple[Survey, SurveyStepRecord]:
        """Return the survey with values filled, of the type they had, and what was done."""
        streams, tables = Streams(seed), []
        for name in self.variables:
            column = survey.frame[name]
            rng = streams.at("impute", name)
            donor, step = self._donors(survey, name, rng)
            filled = column.iloc[donor].reset_index(drop=True)
            survey = survey.with_column(name, filled)
            tables.append({"variable": name, **_counted(step, len(self.given))})
        n_filled = sum(table["n_imputed"] for table in tables)
        n_left = sum(table["n_left_missing"] for table in tables)
        what = (
            f"{count_text(n_filled)} missing values filled from similar rows, "
            f"{count_text(n_left)} left missing."
        )
        details = {"n_imputed": n_filled, "variables": tables}
        return survey, SurveyStepRecord(self.label, what, seed, details)

    def _donors(
        self, survey: Survey, name: str, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the row that each row takes its value from, and by how many of `given`.

        The row is itself where it has a value (`HAS`) or gets none (`NONE`); else 0 ... len(given)
        of `given` were left out.
        """
        missing = _missing(survey.field(name)[1])
        if self.unit == "person":
            return _hot_deck(self._cells(survey), missing, survey.weights, rng)
        first, index = _first_known(survey, missing), survey.household_index
        cells = [level[first] for level in self._cells(survey)]
        weights = survey.household_weights
        donor, step = _hot_deck(cells, missing[first], weights, rng)
        row, step_rows = first[donor][index], step[index]
        filled = np.where(step_rows == HAS, 0, step_rows)  # from a member: none of `given` left out
        # a member that has the value keeps its own row
        return np.where(missing, row, np.arange(len(row))), np.where(missing, filled, HAS)

    def _cells(self, survey: Survey) -> list[np.ndarray]:
        """Return cell numbers by all of `given`, all but the last, ..., none."""
        codes, sizes = [], []
        for name in self.given:
            field, values = survey.field(name)
            if field.kind == "categorical":
                digits = coded_digits(name, len(field.levels))
            else:
                digits = numeric_digits(name, values, survey.weights)
            codes.append(cell_codes((digits,), [values], len(values)))
            sizes.append(digits.size)
        divisions = [
            cell_ids(np.column_stack(codes[:n]), sizes[:n])[0] for n in range(len(codes), 0, -1)
        ]
        divisions.append(np.zeros(survey.n_persons, dtype=np.int64))
        return divisions if self.empty == "widen" else divisions[:1]


def _missing(values: np.ndarray) -> np.ndarray:
    return np.isnan(values) if values.dtype.kind == "f" else values < 0


def _rows_that_disagree(survey: Survey, missing: np.ndarray, column: pd.Series) -> np.ndarray:
    """Return the rows whose value is not that of the first member that has one."""
    first = _first_known(survey, missing)[survey.household_index]
    codes = pd.factorize(column)[0]
    return np.flatnonzero(~missing & (codes != codes[first]))


def _first_known(survey: Survey, missing: np.ndarray) -> np.ndarray:
    """Return a row of each household, one with a value where there is one."""
    rows = np.lexsort((missing, survey.household_index))
    return rows[survey.household_offsets[:-1]]


def _hot_deck(
    cells: Sequence[np.ndarray], missing: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a donor for each missing value, in the first of the divisions that has one for it.

    cells: divisions of the rows, the finest first
    Returns donor, step: int arrays, shape (n,): see `Impute._donors`.
    """
    donor, step = np.arange(len(missing)), np.where(missing, NONE, HAS)
    uniforms = np.zeros(len(missing))
    uniforms[missing] = rng.random(int(missing.sum()))
    known = np.flatnonzero(~missing)
    for number, cell in enumerate(cells):
        rows = np.flatnonzero(step == NONE)
        order = known[np.argsort(cell[known], kind="stable")]
        start = np.searchsorted(cell[order], cell[rows], side="left")
        stop = np.searchsorted(cell[order], cell[rows], side="right")
        has_donor = stop > start
        rows, start, stop = rows[has_donor], start[has_donor], stop[has_donor]
        total = np.concatenate([[0.0], np.cumsum(weights[order])])
        level = total[start] + uniforms[rows] * (total[stop] - total[start])
        position = np.clip(np.searchsorted(total, level, side="right") - 1, start, stop - 1)
        donor[rows], step[rows] = order[position], number
    return donor, step


def _counted(step: np.ndarray, n_given: int) -> dict[str, Any]:
    """Return how many values were missing, filled (by how many of `given`), and left."""
    return {
        "n_missing": int((step != HAS).sum()),
        "n_imputed": int((step >= 0).sum()),
        "n_left_missing": int((step == NONE).sum()),
        "n_by_given_used": {str(n_given - k): int((step == k).sum()) for k in range(n_given + 1)},
    }
