"""Simulation studies: draw again and again from a known population and see what estimators do.

One repetition draws a sample (or generates one from a model), contaminates it, loses values,
calibrates the weights, and estimates. Each repetition has random streams of its own, named by its
number, so that any number of workers gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.parameters import MOST_TIMES, SHARE, Whole, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.chunks import reads_blocks
from synthpop.microdata.runs.engines import Workers, check_workers, map_blocks
from synthpop.microdata.runs.identity import digest
from synthpop.microdata.runs.output import listener_of
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.sampling.repetition import (
    Estimator,
    Repetition,
    levels_of,
    numbers_of,
    plain_label,
    true_values,
)
from synthpop.sampling.setup import SampleSetup
from synthpop.sampling.source import unless_stored
from synthpop.sampling.study_result import FAILURES, GRID, Study
from synthpop.sampling.study_samples import DrawnSamples, GeneratedSamples
from synthpop.sampling.study_store import StudyStore, as_objects
from synthpop.variance.bootstrap_plan import first_line

CHUNK = 10

PARAMETERS = {"repetitions": Whole(1, MOST_TIMES), "level": SHARE}


@same_library
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
    workers: Workers = 1,
    out: Path | str | None = None,
    on_event: Listener = silent,
) -> Study:
    """Repeat a survey on a known population.

    Parameters
    ----------
    population : DataFrame, Survey, Population, or function (Generator) -> DataFrame or Survey
        A function generates a population for each repetition (model-based study); true values are
        then those of each population.
    design : as in `draw_sample`, SampleSetup, or None
        A `SampleSetup` has samples that were drawn before. None, with a function: what it
        generates is the sample itself; give `truth` then.
    estimators : mapping of name -> function, or sequence of functions
        Each takes a `Survey` and returns a number, an `Indicator` (with its variance, if it should
        be judged by coverage), a `Bootstrap`, or a mapping of domain -> number.
    repetitions : int
    seed : int, optional
        Repetition r draws from the streams ("study", r, what).
    contamination, missing : one object, a sequence, or a mapping of level -> one or several
        With ``apply(survey, rng) -> Survey``: see `ContaminateAtRandom`, `MissingUnits` ... First
        contamination, then missing values; a sequence is applied in its order. Mappings are levels
        (``{0: None, 0.01: ...}``, see `levels_of_rate`): every level of the one is crossed with
        every level of the other, on the same samples.
    calibrate : list of Margin, or function survey -> survey, optional
        Done in every repetition, after values were lost.
    truth : mapping, optional
        True values by name (numbers, or mappings by domain). Default: every estimator is applied
        to the whole population with weights of one.
    household : str, optional
        As in `draw_sample`.
    columns : sequence of str, optional
        Columns of the population that are needed. Default: all. A population in a folder is read
        block by block: the columns of the design are held, and the drawn rows with these columns.
        Without `truth` all persons with these columns are in memory once, for the true values.
    level : float
        Confidence level of intervals from standard errors.
    workers : int or str
        Threads, ``"processes:4"`` or ``"dask://host:port"``; the numbers do not depend on it.
    out : path, optional
        Folder in which finished repetitions are kept: a study that was interrupted goes on where
        it stopped. It belongs to one population, design, seed and to the code of the functions.
    on_event : function of Event, optional
        Progress.

    Returns
    -------
    Study
        A repetition or an estimator that raises an exception is left out; `Study.failures` has
        its reason.

    Raises
    ------
    InputError
        Wrong arguments, as in `draw_sample`, or an estimator that fails on the population itself.
    OutputError
        `out` holds another study.

    Examples
    --------
    >>> from synthpop.indicators import gini
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
    columns = None if columns is None else listed_names(columns)
    _check(named, population, design, repetitions, level, workers)
    seed = resolve_seed(seed)
    outer, outer_grid = levels_of(contamination)
    inner, inner_grid = levels_of(missing)
    grid = tuple(n for n, used in zip(GRID, (outer_grid, inner_grid), strict=True) if used)
    stated = None if truth is None else _known_truth(truth)
    job = Repetition(None, named, Streams(seed), outer, inner, grid, calibrate, level, stated)
    samples: DrawnSamples | GeneratedSamples
    if callable(population) and not isinstance(population, type):
        samples = GeneratedSamples(population, design, household, columns)
    else:
        population = unless_stored(population, columns)
        samples = DrawnSamples(population, design, household, columns)
        job = replace(job, truth=stated or _truth_of(samples.census, named, level))
    identity = "" if out is None else _identity(population, design, job, household, columns)
    store = StudyStore(out, identity, job.columns)
    with store.writing():
        table = _all_rows(samples, job, store, int(repetitions), workers, listener_of(on_event))
    return _study(table, job, callable(population), int(repetitions), seed, level)


def _truth_of(
    census: Callable[[], Survey], named: dict[str, Estimator], level: float
) -> dict[tuple[str, Any], float]:
    survey, values = census(), {}
    faults = Faults("simulation study")
    for name, estimator in named.items():
        try:
            values.update(true_values(survey, {name: estimator}, level))
        except Exception as problem:  # noqa: BLE001  (functions of the user)
            what = f"fails on the population itself: {first_line(problem)}"
            faults.add(f"estimator {name}", what, hint="Repair it, or give the true values.")
    faults.raise_if_any()
    return values


def _all_rows(
    samples: DrawnSamples | GeneratedSamples,
    job: Repetition,
    store: StudyStore,
    repetitions: int,
    workers: Workers,
    on_event: Listener,
) -> pd.DataFrame:
    """Rows of all repetitions, stored or new, in order."""
    stored = store.read(repetitions)
    parts = [stored] if len(stored) else []
    missing = sorted(set(range(repetitions)) - set(stored["repetition"]))
    finished = repetitions - len(missing)
    on_event(Event("start", "study", finished, repetitions))
    for group, sample in samples.groups(missing, job.streams):
        chunks = [group[i : i + CHUNK] for i in range(0, len(group), CHUNK)]
        for rows in map_blocks(replace(job, sample=sample).several, chunks, workers):
            store.append(rows)
            parts.append(rows)
            finished += rows["repetition"].nunique()
            on_event(Event("progress", "study", finished, repetitions))
    on_event(Event("end", "study", repetitions, repetitions))
    table = pd.concat(parts, ignore_index=True)
    order = np.argsort(table["repetition"].to_numpy(), kind="stable")
    return as_objects(table.iloc[order].reset_index(drop=True))


def _study(
    table: pd.DataFrame, job: Repetition, varies: bool, repetitions: int, seed: int, level: float
) -> Study:
    """Split the rows into estimates and failures."""
    failed = (table["reason"] != "").to_numpy()
    failures = table[failed].reindex(columns=list(FAILURES)).reset_index(drop=True)
    estimates = table[~failed].drop(columns="reason").reset_index(drop=True)
    if varies and job.truth is None:
        means = estimates.groupby(["estimator", "domain"], sort=False)["truth"].mean()
        truth = _series(dict(zip(means.index.tolist(), means.tolist(), strict=True)))
    else:
        estimates = estimates.drop(columns="truth")
        truth = _series(job.truth or {})
    return Study(estimates, truth, repetitions, seed, level, failures)


def levels_of_rate(step: Any, rates: Iterable[float]) -> dict[float, Any]:
    """Return a contamination or non-response at several rates, for `simulate_study`.

    Parameters
    ----------
    step : ContaminateAtRandom, ContaminateDependent, MissingItems or MissingUnits
    rates : sequence of float

    Returns
    -------
    dict of rate -> the step with this rate

    Examples
    --------
    >>> from synthpop.sampling import MissingItems
    >>> levels = levels_of_rate(MissingItems("income", 0.1), [0.0, 0.05, 0.2])
    >>> [(rate, one.rate) for rate, one in levels.items()]
    [(0.0, 0.0), (0.05, 0.05), (0.2, 0.2)]
    """
    return {rate: replace(step, rate=rate) for rate in rates}


def _named(estimators: Mapping[str, Estimator] | Sequence[Estimator]) -> dict[str, Estimator]:
    if isinstance(estimators, Mapping):
        return dict(estimators)
    return {getattr(item, "__name__", str(i)): item for i, item in enumerate(estimators)}


def _check(
    named: dict[str, Estimator],
    population: Any,
    design: Any,
    repetitions: int,
    level: float,
    workers: Workers,
) -> None:
    faults = Faults("simulation study")
    with faults.gathering():
        check_workers(workers)
    if not named:
        faults.add("estimators", "there are none", hint="Give functions of a survey.")
    for name, function in named.items():
        if not callable(function):
            faults.add(name, "is not a function", hint="Give a function of a survey.")
    check(faults, PARAMETERS, {"repetitions": repetitions, "level": level})
    if isinstance(design, SampleSetup):
        if Whole(1).allows(repetitions) and repetitions > design.n_samples:
            what = f"is {repetitions}, the set-up has {plural(design.n_samples, 'sample')}"
            faults.add("repetitions", what, hint="Give as many or fewer.")
        if callable(population):
            faults.add("design", "samples of another population", hint="Give a design, or None.")
    if not callable(population) and design is None:
        faults.add("design", "is not given", hint="Give SimpleRandom(n) ...")
    faults.raise_if_any()


def _known_truth(truth: Mapping[str, Any]) -> dict[tuple[str, Any], float]:
    return {
        (name, domain): number
        for name, value in truth.items()
        for domain, number, *_ in numbers_of(value, 0.95)  # of which the level changes nothing
    }


def _series(values: Mapping[tuple[str, Any], float]) -> pd.Series:
    keys = [(name, plain_label(domain)) for name, domain in values]
    index = pd.MultiIndex.from_tuples(keys, names=["estimator", "domain"]) if keys else None
    return pd.Series(list(values.values()), index=index, name="truth", dtype=np.float64)


def _identity(
    source: Any, design: Any, job: Repetition, household: str | None, columns: Sequence[str] | None
) -> str:
    """Hash of what makes a study: population, design, seed, steps and the code of functions."""
    content = source.frame if isinstance(source, Survey) else source
    if reads_blocks(source):
        content = [block.hash for block in source.manifest.blocks]
    steps = [(level.label, level.steps) for level in (*job.contamination, *job.missing)]
    calibrate = job.calibrate
    if calibrate is not None and not callable(calibrate):
        calibrate = list(calibrate)
    truth = sorted((str(key), value) for key, value in (job.truth or {}).items())
    return digest(
        content, design, steps, calibrate, job.estimators, job.streams.seed, job.level, job.grid,
        truth, household, None if columns is None else list(columns),
    )  # fmt: skip
