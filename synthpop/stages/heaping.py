"""Correct heaped ages of the survey before anything is learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from synthpop.heaping.arguments import STEPS
from synthpop.heaping.correction import METHODS, correct_heaps
from synthpop.heaping.index import whipple_index
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import as_numbers, is_number, n_columns
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.roles.survey import Survey
from synthpop.population.manifest import SurveyStepRecord
from synthpop.stages.entry import StageEntry
from synthpop.stages.population_stages import SurveyStage, as_lists


@dataclass(frozen=True, slots=True)
class CorrectHeaping(SurveyStage):
    """Give the surplus of persons at heaped ages new ages near by, in the survey, before the fit.

    It comes before `Structure`. `Structure` copies ages, and later steps learn from them: corrected
    first, every variable is simulated given the corrected age, by models that were fitted to
    corrected ages, and rules such as "no job below 16" hold in the population. A correction of the
    finished population would contradict the variables that were simulated given the heaped age.

    Parameters
    ----------
    name : str
        Column of ages in years. Missing ages stay missing.
    heaps : "5year", "10year" or a list of ages
        Ages 0, 5, 10, ...; 0, 10, 20, ...; or those of the list.
    method : {"lognormal", "normal", "uniform"}
        Distribution of the new ages around the heap; see `correct_heaps`.
    window : (before, after), optional
        Years before and after the heap; needed with a list of ages.
    by : str, optional
        Column of groups (regions) in which heaps are corrected each by itself. Where heaping
        differs between them, a common correction makes a hollow in one and leaves a heap in
        another.

    Notes
    -----
    Only ages change: a survey person whose age moves over a limit at which questions begin (16
    years, say) keeps the answers of the old age. Give a list of `heaps` without those near such a
    limit where that matters. Weights that were calibrated to totals by age met them with the
    reported ages: correct the ages with `correct_heaps` before calibrating then. The surplus is
    weighted; the record in the manifest has Whipple's index before and after, unweighted and
    weighted, and by group. Randomness: streams ("correct_heaps", age), or ("correct_heaps", age,
    group) with `by`, of the seed of the fit.

    Examples
    --------
    >>> CorrectHeaping("age").label
    'correct_heaping age'
    """

    name: str
    _: KW_ONLY
    heaps: str | Sequence[float] = "5year"
    method: str = "lognormal"
    window: tuple[float, float] | None = None
    by: str | None = None

    entry: ClassVar[StageEntry] = StageEntry(
        name="correct_heaping",
        rank=10,
        title="Heaped ages",
        question="Which ages were rounded by those who answered, and what may they have been?",
        blind_spots="heaps of other variables, and ages that are wrong without a heap",
        example={"name": "age", "heaps": "10year"},
    )

    def expect(self, faults: Faults, survey: Survey) -> None:
        """Note everything in the options that cannot work, before anything is computed."""
        columns = survey.frame.columns
        if n_columns(columns, self.name) != 1:
            what = f"{self.name!r} is not a column of the survey"
            faults.add(self.label, what, hint=did_you_mean(self.name, columns))
        else:
            self._check_column(faults, survey)
        if self.by is not None:
            check_columns(faults, survey.frame, [self.by], f"by of {self.label}")
        check_choice(faults, f"{self.label}, method", self.method, METHODS)
        if isinstance(self.heaps, str):
            check_choice(faults, f"{self.label}, heaps", self.heaps, STEPS)
        elif self.window is None:
            what = "window is needed with a list of heaps"
            faults.add(self.label, what, hint="For instance (2, 2).")

    def _check_column(self, faults: Faults, survey: Survey) -> None:
        column = survey.frame[self.name]
        if not is_number(column):
            hint = "Give ages in years."
            faults.add(self.label, f"{self.name!r} is not numeric ({column.dtype})", hint=hint)
        elif column.isna().all():
            faults.add(self.label, f"no {self.name!r} is known", hint="Leave the step out.")
        for role, name in survey.roles.named().items():
            if name == self.name:
                hint = "Name the column of ages."
                faults.add(self.label, f"{name!r} is the {role} of the survey", hint=hint)

    def prepare(self, survey: Survey, seed: int) -> tuple[Survey, SurveyStepRecord]:
        """Return the survey with corrected ages, of the type they had, and what was done."""
        column = survey.frame[self.name]
        ages = as_numbers(column)
        result = correct_heaps(
            ages,
            heaps=self.heaps,
            method=self.method,
            window=self.window,
            weights=survey.weights,
            by=None if self.by is None else survey.frame[self.by],
            seed=seed,
        )
        details = {
            "n_changed": int(result.changed.sum()),
            "whipple_before": whipple_index(ages),
            "whipple_after": whipple_index(result.ages),
            "weighted_whipple_before": result.whipple_before,
            "weighted_whipple_after": result.whipple_after,
            "heaps": as_lists(result.heaps),
        }
        if result.groups is not None:
            details["groups"] = as_lists(result.groups.reset_index())
        record = SurveyStepRecord(self.label, result.summary(), result.seed, details)
        new = pd.Series(np.where(result.changed, result.ages, ages), name=self.name)
        return survey.with_column(self.name, new.astype(column.dtype)), record
