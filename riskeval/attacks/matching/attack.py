"""The pass over the population: every block is looked up in the keys of those looked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.matching.household import WholeHouseholds, runs_of
from riskeval.attacks.matching.lookup import BlockMatches, PopulationLookup
from riskeval.attacks.matching.matchers import (
    CategoricalMatcher,
    HoleMatcher,
    MatchEvidence,
    NumericMatcher,
    truth_intervals,
)
from riskeval.attacks.matching.models import Learner, learner
from riskeval.attacks.matching.request import SUBJECT, ScenarioRequest, check_block
from riskeval.attacks.targets import AttackTargets, attack_targets, level_coders
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event
from synthpop.microdata.frames import as_numbers, check_size
from synthpop.microdata.streams import Streams


@dataclass(frozen=True, slots=True, eq=False)
class FileEvidence:
    """What the population shows about the persons of one file."""

    targets: AttackTargets  # persons or households of the file, and which are looked for
    rows: np.ndarray  # int64, shape (r,): rows of the units that are looked for
    truth: dict[str, np.ndarray]  # dict of target to array, shape (n,)
    evidence: dict[str, MatchEvidence]  # dict of target to MatchEvidence
    n_population: int  # persons of the population


def attack(request: ScenarioRequest) -> tuple[FileEvidence, FileEvidence | None]:
    """Read the population once and note what it shows about the sample, and about a hold-out."""
    files = {"original": request.sample}
    if request.holdout is not None:
        files["hold-out"] = request.holdout
    scenario = request.scenario
    coders = level_coders(list(files.values()), scenario.keys)
    targets = attack_targets(
        files, scenario, coders, request.seed, match_missing=request.missing != "unmatched"
    )
    wildcard = request.missing == "wildcard"
    lookups = [
        PopulationLookup(one, coders, scenario.household is not None, wildcard)
        for one in targets.values()
    ]
    for coder in coders:
        coder.start()
    watched = [_watch(request, name, list(files.values()), lookups) for name in scenario.targets]
    total = 0
    request.on_event(Event("start", SUBJECT, detail="persons read"))
    for chunk in _chunks(request):
        starts = None if scenario.household is None else runs_of(chunk[scenario.household])
        codes = np.stack(
            [coder.code(chunk[key]) for coder, key in zip(coders, scenario.keys, strict=True)]
        )
        silent = np.logical_and.reduce([chunk[n].isna().to_numpy() for n in scenario.targets])
        matches = [lookup.find(codes, starts, silent) for lookup in lookups]
        for target in watched:
            target.read(chunk, total, matches, codes, [coder.size for coder in coders])
        total += len(chunk)
        request.on_event(Event("progress", SUBJECT, total, detail="persons read"))
    _check_common_levels(request, coders, total)
    evidence = [target.evidence(request, total) for target in watched]
    request.on_event(Event("end", SUBJECT, total, total, detail="persons read"))
    result = [
        FileEvidence(
            lookup.targets,
            lookup.rows,
            {name: _values(file[name], name in request.categorical) for name in scenario.targets},
            {name: part[i] for name, part in zip(scenario.targets, evidence, strict=True)},
            total,
        )
        for i, (lookup, file) in enumerate(zip(lookups, files.values(), strict=True))
    ]
    return result[0], result[1] if len(result) > 1 else None


def _values(column: pd.Series, categorical: bool) -> np.ndarray:
    if categorical:
        return column.astype(object).to_numpy()
    return as_numbers(column)


def _chunks(request: ScenarioRequest) -> Iterator[pd.DataFrame]:
    """Chunks of the population, each of whole households where households are attacked."""
    household = request.scenario.household
    whole = None if household is None else WholeHouseholds(household)
    for block in request.population:
        faults = Faults("population")
        check_block(faults, block, request.scenario, request.categorical, request.intervals)
        faults.raise_if_any()
        if whole is None:
            yield block
        else:
            yield from whole.cut(block)
    if whole is not None:
        yield from whole.finish()


def _watch(
    request: ScenarioRequest,
    target: str,
    files: list[pd.DataFrame],
    lookups: list[PopulationLookup],
) -> _Numbers | _Categories:
    rng = Streams(request.seed).at("scenario 5", target)
    fitting = None
    if 5 in request.scenarios:
        m = len(request.scenario.keys)
        fitting = learner(request.model, m, target in request.categorical, rng)
    if target in request.categorical:
        return _Categories(target, files, lookups, fitting)
    return _Numbers(request, target, files, lookups, fitting)


class _Target:
    """A target: what is noted about it for every file."""

    fitting: Learner | None
    lookups: list[PopulationLookup]
    matchers: list[HoleMatcher]

    def _evidence(
        self, request: ScenarioRequest, total: int, nothing: Any, *details: Any
    ) -> list[MatchEvidence]:
        """What was seen, of each file; without a model `nothing` is predicted."""
        fitted = (
            self.fitting.solve(request.on_event) if self.fitting is not None and total else None
        )
        result = []
        for matcher, lookup in zip(self.matchers, self.lookups, strict=True):
            codes = lookup.targets.codes
            predicted = np.full(len(codes), nothing) if fitted is None else fitted.predict(codes)
            text = "" if fitted is None else fitted.text
            match_facts = (lookup.n_matches, lookup.n_holes, predicted, lookup.rows, text)
            result.append(matcher.evidence(*match_facts, *details))
        return result


class _Numbers(_Target):
    """A target of numbers: what is noted about it for every file."""

    def __init__(
        self, request: ScenarioRequest, target: str, files: list[pd.DataFrame],
        lookups: list[PopulationLookup], fitting: Learner | None,
    ) -> None:  # fmt: skip
        self.target, self.lookups, self.fitting = target, lookups, fitting
        self.bounds = request.bounds(target)
        scenario = request.scenario

        def matcher(file: pd.DataFrame, lookup: PopulationLookup) -> HoleMatcher:
            truth = _values(file[target], False)
            return HoleMatcher(
                lambda: NumericMatcher(
                    truth, lookup.rows, lookup.cell, lookup.n_cells, scenario.accuracy,
                    request.open_interval,
                ),
                lookup,
            )  # fmt: skip

        self.matchers = [matcher(*pair) for pair in zip(files, lookups, strict=True)]

    def read(
        self, chunk: pd.DataFrame, offset: int, matches: list[list[BlockMatches]],
        codes: np.ndarray, sizes: list[int],
    ) -> None:  # fmt: skip
        """Look at a chunk."""
        numbers = _numbers(chunk, self.target, self.bounds, offset)
        for matcher, blocks in zip(self.matchers, matches, strict=True):
            matcher.read(blocks, numbers, ~np.isnan(numbers[0]))
        if self.fitting is not None:
            self.fitting.add(codes, sizes, numbers[0])

    def evidence(self, request: ScenarioRequest, total: int) -> list[MatchEvidence]:
        """What was seen, of each file."""
        return self._evidence(request, total, np.nan)


class _Categories(_Target):
    """A target of categories: what is noted about it for every file."""

    def __init__(
        self, target: str, files: list[pd.DataFrame], lookups: list[PopulationLookup],
        fitting: Learner | None,
    ) -> None:  # fmt: skip
        self.target, self.lookups, self.fitting = target, lookups, fitting
        self.coder = level_coders(files, [target])[0]
        self.missing = self.coder.n_known
        self.persons = np.zeros(self.coder.size, dtype=np.int64)

        def matcher(file: pd.DataFrame, lookup: PopulationLookup) -> HoleMatcher:
            level = self._levels(file[target])
            return HoleMatcher(
                lambda: CategoricalMatcher(level, lookup.rows, lookup.cell, lookup.n_cells),
                lookup,
            )

        self.matchers = [matcher(*pair) for pair in zip(files, lookups, strict=True)]
        self.coder.start()

    def _levels(self, column: pd.Series) -> np.ndarray:
        codes = self.coder.code(column)
        return np.where(codes == self.missing, -1, codes).astype(np.int64)

    def read(
        self, chunk: pd.DataFrame, offset: int, matches: list[list[BlockMatches]],
        codes: np.ndarray, sizes: list[int],
    ) -> None:  # fmt: skip
        """Look at a chunk."""
        level = self._levels(chunk[self.target])
        count = np.bincount(level[level >= 0], minlength=self.coder.size)
        self.persons = np.pad(self.persons, (0, len(count) - len(self.persons))) + count
        for matcher, blocks in zip(self.matchers, matches, strict=True):
            matcher.read(blocks, (level,), level >= 0)
        if self.fitting is not None:
            self.fitting.add(codes, sizes, level)

    def evidence(self, request: ScenarioRequest, total: int) -> list[MatchEvidence]:
        """What was seen, of each file."""
        _check_common_levels(request, [self.coder], total, [self.target])
        return self._evidence(request, total, -1, int(self.persons.argmax()), self.coder.levels)


def _numbers(
    chunk: pd.DataFrame, target: str, bounds: tuple[str, str] | None, offset: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and bounds of a chunk; bounds are empty when scenarios 1 and 3 are not computed."""
    faults = Faults("population")
    values = as_numbers(chunk[target])
    check_size(faults, values, target, first_row=offset)
    lower = upper = np.empty(0)
    if bounds is not None:
        lower, upper = (as_numbers(chunk[name]) for name in bounds)
        if (lower > upper).any():
            remedy = "Name the lower bound first."
            rows = np.flatnonzero(lower > upper) + offset
            what = f"lower bound is above the upper bound {bounds[1]!r}"
            faults.add(bounds[0], what, rows=rows, remedy=remedy)
    faults.raise_if_any()
    return values, lower, upper


def _check_common_levels(
    request: ScenarioRequest, coders: list[LevelCoder], n_population: int, names: Any = None
) -> None:
    """A key without any common level is a mistake (codes against labels), never a zero risk."""
    faults = Faults(SUBJECT)
    if n_population == 0:
        faults.add("population", "has no persons")
    for name, coder in zip(names or request.scenario.keys, coders, strict=True):
        if n_population:
            coder.check_common(faults, name, "sample", "population")
    faults.raise_if_any()


__all__ = ["FileEvidence", "attack", "truth_intervals"]
