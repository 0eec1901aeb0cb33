"""One repetition of a simulation study: draw, contaminate, lose values, calibrate, estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.indicators.results import OVERALL, Indicator
from synthpop.microdata.statistics.streams import Streams
from synthpop.sampling.draw import WEIGHT
from synthpop.sampling.study_store import as_objects
from synthpop.variance.bootstrap import Bootstrap
from synthpop.variance.bootstrap_plan import first_line

Estimator = Callable[[Survey], Any]
Sample = Callable[[int, np.random.Generator], tuple[Survey, Survey | None]]
NAN = float("nan")
NUMBERS = ("estimate", "standard_error", "lower", "upper")


@dataclass(frozen=True)
class Level:
    """One level of contamination or of non-response: its label and its steps."""

    label: Any
    steps: tuple[Any, ...]


def levels_of(steps: Any) -> tuple[tuple[Level, ...], bool]:
    """Return the levels of an argument, and whether it was a grid (a mapping of levels)."""
    if isinstance(steps, Mapping):
        return tuple(Level(plain_label(k), _as_steps(level)) for k, level in steps.items()), True
    return (Level("", _as_steps(steps)),), False


def _as_steps(steps: Any) -> tuple[Any, ...]:
    if steps is None:
        return ()
    return tuple(steps) if isinstance(steps, Iterable) else (steps,)


@dataclass(frozen=True)
class Repetition:
    """One repetition, a function of its number."""

    # function (repetition, Generator) -> (Survey, census Survey or None): the census is what true
    # values are computed from where they differ by repetition. None before the repetitions are at
    # hand.
    sample: Sample | None
    estimators: dict[str, Estimator]
    streams: Streams
    # contamination, missing: tuples of Level
    contamination: tuple[Level, ...]
    missing: tuple[Level, ...]
    grid: tuple[str, ...]  # those of "contamination" and "missing" whose labels are columns
    calibrate: Any  # function, list of Margin, or None
    level: float
    # dict of (estimator, domain) -> float, or None: given true values of a study whose
    # populations are generated
    truth: dict[tuple[str, Any], float] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the rows."""
        return ("repetition", *self.grid, "estimator", "domain", *NUMBERS, "truth", "reason")

    def several(self, repetitions: Sequence[int]) -> pd.DataFrame:
        """Return the rows of some repetitions; failures have a reason and no numbers."""
        records = [row for repetition in repetitions for row in self(repetition)]
        return as_objects(pd.DataFrame(records, columns=list(self.columns)))

    def __call__(self, repetition: int) -> list[tuple[Any, ...]]:
        """Return the rows of one repetition."""
        assert self.sample is not None
        rows: list[tuple[Any, ...]] = []
        with self._noting(rows, repetition, {}):
            rng = self.streams.at("study", repetition, "sample")
            survey, census = self.sample(repetition, rng)
            truth = self._truth(census)
            for outer in self.contamination:
                labels = {"contamination": outer.label}
                with self._noting(rows, repetition, labels):
                    dirty = self._applied(survey, repetition, "contamination", outer.steps, 0)
                    for inner in self.missing:
                        labels = {"contamination": outer.label, "missing": inner.label}
                        with self._noting(rows, repetition, labels):
                            answered = self._applied(
                                dirty, repetition, "missing", inner.steps, self._shift(outer)
                            )
                            weighted = calibrated(answered, self.calibrate)
                            rows += self._estimated(repetition, labels, weighted, truth)
        return rows

    def _shift(self, outer: Level) -> int:
        """Position of the first step of non-response: the same at all levels of a grid."""
        return 0 if "contamination" in self.grid else len(outer.steps)

    def _applied(
        self, survey: Survey, repetition: int, kind: str, steps: tuple[Any, ...], first: int
    ) -> Survey:
        for position, step in enumerate(steps, first):
            name = getattr(step, "name", kind)
            rng = self.streams.at("study", repetition, kind, name, position)
            survey = step.apply(survey, rng)
        return survey

    def _truth(self, census: Survey | None) -> dict[tuple[str, Any], float] | None:
        if self.truth is not None or census is None:
            return self.truth
        return true_values(census, self.estimators, self.level)

    def _estimated(
        self,
        repetition: int,
        labels: dict[str, object],
        survey: Survey,
        truth: dict[tuple[str, Any], float] | None,
    ) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        where = tuple(labels[name] for name in self.grid)
        for name, estimator in self.estimators.items():
            with self._noting(rows, repetition, labels, name):
                for domain, *values in numbers_of(estimator(survey), self.level):
                    true = NAN if truth is None else truth.get((name, domain), NAN)
                    rows.append((repetition, *where, name, domain, *values, true, ""))
        return rows

    @contextmanager
    def _noting(
        self,
        rows: list[tuple[Any, ...]],
        repetition: int,
        labels: Mapping[str, Any],
        estimator: str = "",
    ) -> Iterator[None]:
        """Note what a function of the user raises inside as a row with the reason, and go on."""
        try:
            yield
        except Exception as problem:  # noqa: BLE001  (functions of the user)
            where = tuple(labels.get(name) for name in self.grid)
            numbers = (NAN,) * (len(NUMBERS) + 1)
            rows.append((repetition, *where, estimator, None, *numbers, first_line(problem)))


def calibrated(survey: Survey, calibrate: Any) -> Survey:
    """Return the survey with weights calibrated by a function or to a list of margins."""
    if calibrate is None:
        return survey
    if callable(calibrate):
        result = calibrate(survey)
        return result if isinstance(result, Survey) else survey.with_weights(result)
    from synthpop.calibration import calibrate as fit_weights

    return survey.with_weights(fit_weights(survey, list(calibrate)).weights)


def census_of(frame: pd.DataFrame, household: str | None) -> Survey:
    """Return a population as a survey in which everybody counts once."""
    return Survey(frame.assign(**{WEIGHT: 1.0}), weight=WEIGHT, household=household)


def true_values(
    census: Survey, estimators: Mapping[str, Estimator], level: float
) -> dict[tuple[str, Any], float]:
    """Return what each estimator gives for the whole population."""
    return {
        (name, domain): value
        for name, estimator in estimators.items()
        for domain, value, *_ in numbers_of(estimator(census), level)
    }


def plain_label(label: Any) -> Any:
    """Return a domain or level as plain text, number or truth value."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, (str, int, float, bool)) else str(plain)


def numbers_of(result: Any, level: float) -> list[tuple[Any, float, float, float, float]]:
    """Return domain, estimate, standard error, lower and upper end of what an estimator gives.

    Raises TypeError: it gives something that is not a number.
    """
    columns: list[Any]
    if isinstance(result, Indicator) and result.standard_errors is not None:
        ends = result.intervals_at(level)
        columns = [[OVERALL, *result.domains], result.values, result.standard_errors, *ends.T]
    elif isinstance(result, Bootstrap):
        labels = [OVERALL if label == "value" else label for label in result.labels]
        ends = np.asarray(result.intervals)
        columns = [labels, result.estimates, np.sqrt(result.variances), *ends.T]
    else:
        if isinstance(result, Indicator):
            result = dict(zip([OVERALL, *result.domains], result.values, strict=True))
        values = dict(result) if isinstance(result, (Mapping, pd.Series)) else {OVERALL: result}
        return [(plain_label(d), _number(value), NAN, NAN, NAN) for d, value in values.items()]
    rows = zip(*columns, strict=True)
    return [(plain_label(d), float(v), float(e), float(a), float(b)) for d, v, e, a, b in rows]


def _number(value: Any) -> float:
    if value is None or isinstance(value, (str, bytes)):
        raise TypeError(f"the estimator gives {value!r}, which is not a number")
    return float(value)
