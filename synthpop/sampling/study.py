"""Design-based simulation: draw again and again from a known population and see what estimators do.

One repetition draws a sample, contaminates it, loses values, calibrates the weights, and
estimates. Each repetition has random streams of its own, named by its number, so that any number
of workers gives the same numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthpop.microdata.errors import Faults, OutputError
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.indicators.results import OVERALL, Indicator
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import plural
from synthpop.sampling.draw import WEIGHT, Sampler, prepare
from synthpop.sampling.source import in_memory
from synthpop.variance.bootstrap import Bootstrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Estimator = Callable[[Survey], Any]
COLUMNS = ("repetition", "estimator", "domain", "estimate", "standard_error", "lower", "upper")
CHUNK = 10


@dataclass(frozen=True, slots=True)
class Study(Result):
    """Results of a simulation study.

    Attributes
    ----------
    estimates : DataFrame
        One row a repetition, estimator and domain: estimate, standard_error, lower and upper
        (NaN where the estimator gives none).
    truth : Series
        True values, index (estimator, domain).
    repetitions : int
    seed : int
    level : float
        Confidence level of intervals that are made from standard errors.
    """

    estimates: pd.DataFrame
    truth: pd.Series
    repetitions: int
    seed: int
    level: float

    @property
    def table(self) -> pd.DataFrame:
        """One row an estimator and domain.

        Columns: truth, mean, bias, relative_bias, variance, rmse, coverage and length of the
        intervals, standard_error_ratio (mean estimated standard error over the real one), the
        number of repetitions that gave a number, and the Monte Carlo standard errors of bias,
        relative bias, variance, rmse, coverage and length, in columns that end in ``_mc``.
        Morris, White and Crowther (2019), doi:10.1002/sim.8086; that of the variance has no
        normal distribution as its premise: var(s^2) = (m4 - s^4 (n - 3) / (n - 1)) / n with the
        fourth central moment m4. A coverage of exactly 0 or 1 has the error 0, which only says
        that there are too few repetitions.
        """
        rows: dict[Any, dict[str, float]] = {}
        groups = self.estimates.groupby(["estimator", "domain"], sort=False, observed=True)
        for key, part in groups:
            rows[key] = _row(part, float(self.truth.get(key, np.nan)))
        index = pd.MultiIndex.from_tuples(list(rows), names=["estimator", "domain"])
        return pd.DataFrame(list(rows.values()), index=index)

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def summary(self) -> str:
        """Return, for each estimator, bias and error in a sentence."""
        lines = [f"{plural(self.repetitions, 'sample')} (seed {self.seed})."]
        table = self.table
        for (name, domain), (_, row) in zip(table.index, table.iterrows(), strict=True):
            if domain != OVERALL:
                continue
            text = (
                f"{name}: true value {row.truth:.5g}, bias {row.bias:.3g} "
                f"(Monte Carlo error {row.bias_mc:.1g}), root mean squared error {row.rmse:.3g}"
            )
            if np.isfinite(row.coverage):
                text += f", {100 * row.coverage:.1f} % of the intervals cover it"
            lines.append(text + ".")
        return "\n".join(lines)

    def figure(self, *, kind: str = "box", domains: Sequence[Any] | None = None) -> Figure:
        """Draw the distributions of the estimates with the true values.

        Parameters
        ----------
        kind : {"box", "density"}
        domains : sequence, optional
            Default: the overall estimates, or all where there are none.

        Returns
        -------
        matplotlib Figure
            One panel an estimator.
        """
        from synthpop.sampling.study_figures import draw_study

        return draw_study(self, kind, domains)


def _row(part: pd.DataFrame, truth: float) -> dict[str, float]:
    x = part["estimate"].to_numpy(dtype=np.float64)
    fine = np.isfinite(x)
    x, part = x[fine], part[fine]
    n = len(x)
    error = x - truth
    variance = float(x.var(ddof=1)) if n > 1 else float("nan")
    squared = error**2
    rmse = float(np.sqrt(squared.mean())) if n else float("nan")
    spread = float(squared.std(ddof=1)) if n > 1 else float("nan")
    low, high = (part[c].to_numpy(dtype=np.float64) for c in ("lower", "upper"))
    has = np.isfinite(low) & np.isfinite(high)
    lengths = (high - low)[has]
    covered = float(((low <= truth) & (truth <= high))[has].mean()) if has.any() else float("nan")
    if not np.isfinite(truth):
        covered = float("nan")
    errors = part["standard_error"].to_numpy(dtype=np.float64)
    known = np.isfinite(errors)
    return {
        "truth": truth,
        "mean": float(x.mean()) if n else float("nan"),
        "bias": float(error.mean()) if n else float("nan"),
        "relative_bias": float(error.mean() / truth) if n and truth != 0 else float("nan"),
        "variance": variance,
        "rmse": rmse,
        "coverage": covered,
        "length": float(lengths.mean()) if has.any() else float("nan"),
        "standard_error_ratio": (
            float(errors[known].mean() / np.sqrt(variance))
            if known.any() and variance > 0
            else float("nan")
        ),
        "repetitions": n,
        "bias_mc": float(np.sqrt(variance / n)) if n else float("nan"),
        "relative_bias_mc": (
            float(np.sqrt(variance / n) / abs(truth)) if n and truth != 0 else float("nan")
        ),
        "variance_mc": _error_of_variance(x, variance),
        "rmse_mc": spread / (2 * rmse * np.sqrt(n)) if n and rmse > 0 else 0.0,
        "coverage_mc": float(np.sqrt(covered * (1 - covered) / max(int(has.sum()), 1))),
        "length_mc": (
            float(lengths.std(ddof=1) / np.sqrt(len(lengths))) if len(lengths) > 1 else float("nan")
        ),
    }


def _error_of_variance(x: np.ndarray, variance: float) -> float:
    """Monte Carlo standard error of the variance of x, shape (n,)."""
    n = len(x)
    if n < 2:
        return float("nan")
    fourth = float(((x - x.mean()) ** 4).mean())
    return float(np.sqrt(max(fourth - variance**2 * (n - 3) / (n - 1), 0.0) / n))


def simulate_study(
    population: Any,
    design: Any,
    estimators: Mapping[str, Estimator] | Sequence[Estimator],
    *,
    repetitions: int,
    seed: int | None = None,
    contamination: Any = None,
    missing: Any = None,
    calibrate: Sequence[Any] | Callable[[Survey], Survey] | None = None,
    truth: Mapping[str, Any] | None = None,
    household: str | None = None,
    columns: Sequence[str] | None = None,
    level: float = 0.95,
    workers: int = 1,
    out: Path | str | None = None,
    on_event: Listener = silent,
) -> Study:
    """Repeat a survey on a known population.

    Parameters
    ----------
    population : DataFrame, Survey or Population
    design : as in `draw_sample`
    estimators : mapping of name -> function, or sequence of functions
        Each takes a `Survey` and returns a number, an `Indicator` (with its variance, if it should
        be judged by coverage), a `Bootstrap`, or a mapping of domain -> number.
    repetitions : int
    seed : int, optional
        Repetition r draws from the streams ("study", r, what).
    contamination, missing : one object or a sequence of them
        With ``apply(survey, rng) -> Survey``: see `ContaminateAtRandom`, `MissingUnits` ... First
        contamination, then missing values.
    calibrate : list of Margin, or function survey -> survey, optional
        Done in every repetition, after values were lost.
    truth : mapping, optional
        True values by name (numbers, or mappings by domain). Default: every estimator is applied
        to the whole population with weights of one.
    household : str, optional
        As in `draw_sample`.
    columns : sequence of str, optional
        Columns of the population that are needed: they are held in memory during the study, so
        that fewer are faster and take less of it. Default: all.
    level : float
        Confidence level of intervals from standard errors.
    workers : int
        Threads that work side by side; the numbers do not depend on it.
    out : path, optional
        Folder in which finished repetitions are kept: a study that was interrupted goes on where
        it stopped.
    on_event : function of Event, optional
        Progress.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        Wrong arguments, or as in `draw_sample`.
    OutputError
        `out` holds another study.

    Examples
    --------
    >>> from synthpop.microdata.indicators import gini
    >>> from synthpop.sampling import SimpleRandom
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"income": rng.lognormal(9, 0.5, 5000)})
    >>> def estimate(survey):
    ...     return gini(survey.frame["income"], survey.weights).with_variance()
    >>> study = simulate_study(
    ...     people, SimpleRandom(400), {"gini": estimate}, repetitions=50, seed=1
    ... )
    >>> row = study.table.loc[("gini", "all")]
    >>> bool(abs(row["relative_bias"]) < 0.02), bool(row["coverage"] > 0.8)
    (True, True)
    """
    named = _named(estimators)
    _check(named, repetitions, level, workers)
    seed = resolve_seed(seed)
    held = in_memory(population, columns)
    sampler = prepare(held, design, household=household, columns=columns)
    job = _Repetition(
        sampler,
        named,
        Streams(seed),
        _listed(contamination),
        _listed(missing),
        calibrate,
        level,
    )
    values = _given_truth(truth) if truth is not None else _true_values(sampler, named, level)
    store = _Store(out, _identity(design, job, values))
    done = store.read(repetitions)
    parts = [done] if len(done) else []
    todo = sorted(set(range(repetitions)) - set(done["repetition"]))
    on_event(Event("start", "study", repetitions - len(todo), repetitions))
    finished = repetitions - len(todo)
    for chunk, rows in _work(job, todo, workers):
        store.append(rows)
        parts.append(rows)
        finished += len(chunk)
        on_event(Event("progress", "study", finished, repetitions))
    on_event(Event("end", "study", repetitions, repetitions))
    table = pd.concat(parts, ignore_index=True)
    order = np.argsort(table["repetition"].to_numpy(), kind="stable")
    estimates = table.iloc[order].reset_index(drop=True)
    return Study(estimates, values, repetitions, seed, level)


def _named(estimators: Mapping[str, Estimator] | Sequence[Estimator]) -> dict[str, Estimator]:
    if isinstance(estimators, Mapping):
        return dict(estimators)
    return {getattr(one, "__name__", str(i)): one for i, one in enumerate(estimators)}


def _check(named: dict[str, Estimator], repetitions: int, level: float, workers: int) -> None:
    faults = Faults("simulation study")
    if not named:
        faults.add("estimators", "there are none", remedy="Give functions of a survey.")
    for name, function in named.items():
        if not callable(function):
            faults.add(name, "is not a function", remedy="Give a function of a survey.")
    if repetitions < 1:
        faults.add("repetitions", f"is {repetitions}", remedy="Give 100 or more.")
    if not 0 < level < 1:
        faults.add("level", f"is {level}", remedy="Give a share such as 0.95.")
    if workers < 1:
        faults.add("workers", f"is {workers}", remedy="Give 1 or more.")
    faults.raise_if_any()


def _listed(objects: Any) -> tuple[Any, ...]:
    if objects is None:
        return ()
    return tuple(objects) if isinstance(objects, Iterable) else (objects,)


@dataclass(frozen=True)
class _Repetition:
    """One repetition, a function of its number."""

    sampler: Sampler
    estimators: dict[str, Estimator]
    streams: Streams
    contamination: tuple[Any, ...]
    missing: tuple[Any, ...]
    calibrate: Any
    level: float

    def __call__(self, repetition: int) -> pd.DataFrame:
        survey = self.sampler.draw(self.streams.at("study", repetition, "sample"))
        steps = [("contamination", one) for one in self.contamination]
        steps += [("missing", one) for one in self.missing]
        for position, (kind, one) in enumerate(steps):
            name = getattr(one, "name", kind)
            rng = self.streams.at("study", repetition, kind, name, position)
            survey = one.apply(survey, rng)
        survey = _calibrated(survey, self.calibrate)
        return _rows(repetition, survey, self.estimators, self.level)

    def several(self, repetitions: Sequence[int]) -> pd.DataFrame:
        """Return the rows of some repetitions."""
        return pd.concat([self(r) for r in repetitions], ignore_index=True)


def _calibrated(survey: Survey, calibrate: Any) -> Survey:
    if calibrate is None:
        return survey
    if callable(calibrate):
        result = calibrate(survey)
        return result if isinstance(result, Survey) else survey.with_weights(result)
    from synthpop.calibration import calibrate as fit_weights

    return survey.with_weights(fit_weights(survey, list(calibrate)).weights)


def _rows(
    repetition: int, survey: Survey, estimators: dict[str, Estimator], level: float
) -> pd.DataFrame:
    records = []
    for name, estimator in estimators.items():
        for domain, *numbers in _flat(estimator(survey), level):
            records.append((repetition, name, domain, *numbers))
    table = pd.DataFrame(records, columns=list(COLUMNS))
    return table.astype({"estimator": object, "domain": object})


def _label(domain: Any) -> Any:
    """A domain as plain text, number or truth value."""
    plain = domain.item() if isinstance(domain, np.generic) else domain
    return plain if isinstance(plain, (str, int, float, bool)) else str(plain)


def _flat(result: Any, level: float) -> list[tuple[Any, float, float, float, float]]:
    """Domain, estimate, standard error, lower and upper end."""
    return [(_label(domain), *numbers) for domain, *numbers in _numbers(result, level)]


def _numbers(result: Any, level: float) -> list[tuple[Any, float, float, float, float]]:
    nan = float("nan")
    if isinstance(result, Indicator):
        labels = [OVERALL, *result.domains]
        if result.standard_errors is None:
            return [
                (label, float(v), nan, nan, nan)
                for label, v in zip(labels, result.values, strict=True)
            ]
        half = NormalDist().inv_cdf((1 + level) / 2) * result.standard_errors
        return [
            (label, float(v), float(e), float(v - h), float(v + h))
            for label, v, e, h in zip(
                labels, result.values, result.standard_errors, half, strict=True
            )
        ]
    if isinstance(result, Bootstrap):
        errors = np.sqrt(result.variances)
        return [
            (OVERALL if label == "value" else label, float(v), float(e), float(low), float(high))
            for label, v, e, (low, high) in zip(
                result.labels, result.estimates, errors, result.intervals, strict=True
            )
        ]
    if isinstance(result, pd.Series):
        result = result.to_dict()
    if isinstance(result, Mapping):
        return [(label, float(value), nan, nan, nan) for label, value in result.items()]
    return [(OVERALL, float(result), nan, nan, nan)]


def _true_values(sampler: Sampler, estimators: dict[str, Estimator], level: float) -> pd.Series:
    frame = sampler.source.take(np.arange(sampler.source.n))
    census = Survey(frame.assign(**{WEIGHT: 1.0}), weight=WEIGHT, household=sampler.household)
    found = {}
    for name, estimator in estimators.items():
        for domain, value, *_ in _flat(estimator(census), level):
            found[name, domain] = value
    return _series(found)


def _given_truth(truth: Mapping[str, Any]) -> pd.Series:
    found = {}
    for name, value in truth.items():
        for domain, number, *_ in _flat(value, 0.95):
            found[name, domain] = number
    return _series(found)


def _series(found: dict[tuple[str, Any], float]) -> pd.Series:
    index = pd.MultiIndex.from_tuples(list(found), names=["estimator", "domain"])
    return pd.Series(list(found.values()), index=index, name="truth", dtype=np.float64)


def _work(job: _Repetition, todo: list[int], workers: int) -> Iterable[tuple[list[int], Any]]:
    """Yield chunks of repetitions with their rows, in order."""
    chunks = [todo[i : i + CHUNK] for i in range(0, len(todo), CHUNK)]
    if workers == 1:
        for chunk in chunks:
            yield chunk, job.several(chunk)
        return
    import joblib

    pool = joblib.Parallel(n_jobs=workers, prefer="threads", return_as="generator")
    tasks = (joblib.delayed(job.several)(chunk) for chunk in chunks)
    yield from zip(chunks, pool(tasks), strict=True)


def _identity(design: Any, job: _Repetition, truth: pd.Series) -> str:
    """Hash of what makes a study: design, seed, steps, estimators and true values."""
    steps = [*job.contamination, *job.missing]
    steps.extend(job.calibrate if isinstance(job.calibrate, (list, tuple)) else [job.calibrate])
    parts = [
        re.sub(r" at 0x[0-9a-f]+", "", repr([design, *steps])),
        sorted(job.estimators),
        job.streams.seed,
        job.level,
        job.sampler.source.n,
        [[str(key), value] for key, value in truth.items()],
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()


class _Store:
    """Finished repetitions in a folder; nothing without one."""

    def __init__(self, out: Path | str | None, identity: str) -> None:
        self.path = None if out is None else Path(out)
        if self.path is None:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        label = self.path / "study.json"
        if label.exists():
            held = json.loads(label.read_text(encoding="utf-8"))
            if held.get("identity") != identity:
                raise OutputError(
                    f"{self.path} holds another study. Choose another folder, or remove this one."
                )
        else:
            label.write_text(json.dumps({"identity": identity}), encoding="utf-8")

    def read(self, repetitions: int) -> pd.DataFrame:
        """Return the repetitions that are there, among those that are wanted."""
        empty = pd.DataFrame(columns=list(COLUMNS))
        if self.path is None:
            return empty
        parts = [pd.read_parquet(file) for file in sorted(self.path.glob("part-*.parquet"))]
        if not parts:
            return empty
        table = pd.concat(parts, ignore_index=True)
        table["domain"] = pd.Series([json.loads(text) for text in table["domain"]], dtype=object)
        return table[table["repetition"] < repetitions]

    def append(self, rows: pd.DataFrame) -> None:
        """Write one chunk under a temporary name and rename it."""
        if self.path is None:
            return
        first = int(rows["repetition"].iloc[0])
        target = self.path / f"part-{first:07d}.parquet"
        temporary = target.with_suffix(".tmp")
        text = [json.dumps(domain) for domain in rows["domain"]]
        try:
            rows.assign(domain=text).to_parquet(temporary)
            temporary.replace(target)
        except OSError as problem:
            temporary.unlink(missing_ok=True)
            raise OutputError(f"cannot write {target}: {problem}.") from None
