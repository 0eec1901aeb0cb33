"""The pass over the population: every block is looked up in the keys of those looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.levels import check_common_levels
from riskeval.attacks.matching.household import WholeHouseholds, runs_of
from riskeval.attacks.matching.lookup import BlockMatches, PopulationLookup
from riskeval.attacks.matching.matchers import (
    CategoricalMatcher,
    HoleMatcher,
    Matcher,
    MatchEvidence,
    NumericMatcher,
)
from riskeval.attacks.matching.models import Learner, learner
from riskeval.attacks.matching.request import SUBJECT, ScenarioRequest, check_block
from riskeval.attacks.targets import AttackTargets, attack_targets, level_coders
from synthpop.microdata.frame.frames import as_numbers, check_size
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Event
from synthpop.microdata.statistics.streams import Streams


@dataclass(frozen=True, slots=True, eq=False)
class FileEvidence:
    """What the population shows about the persons of one file."""

    targets: AttackTargets  # persons or households of the file, and which are looked for
    rows: np.ndarray  # int64, shape (r,): rows of the units that are looked for
    evidence: dict[str, MatchEvidence]  # dict of target to MatchEvidence
    n_population: int  # persons of the population


def attack(request: ScenarioRequest) -> tuple[FileEvidence, FileEvidence | None]:
    """Read the population once and note what it shows about the sample, and about a hold-out."""
    files = {"original": request.sample}
    if request.holdout is not None:
        files["hold-out"] = request.holdout
    scenario = request.scenario
    coders = level_coders(files.values(), scenario.keys)
    targets = attack_targets(
        files, scenario, coders, request.seed, match_missing=request.missing != "unmatched"
    )
    households, wildcard = scenario.household is not None, request.missing == "wildcard"
    lookups = [
        PopulationLookup(one, coders.values(), households, wildcard) for one in targets.values()
    ]
    for coder in coders.values():
        coder.start()
    watched = []
    for name in scenario.targets:
        kind = _Categories if name in request.categorical else _Numbers
        watched.append(kind(request, name, files.values(), lookups))
    total = 0
    request.on_event(Event("start", SUBJECT, detail="persons read"))
    for chunk in _chunks(request):
        starts = None if scenario.household is None else runs_of(chunk[scenario.household])
        codes = np.stack([coder.code(chunk[key]) for key, coder in coders.items()])
        silent = np.logical_and.reduce([chunk[n].isna().to_numpy() for n in scenario.targets])
        matches = [lookup.find(codes, starts, silent) for lookup in lookups]
        for target in watched:
            target.read(chunk, total, matches, codes, [coder.size for coder in coders.values()])
        total += len(chunk)
        request.on_event(Event("progress", SUBJECT, total, detail="persons read"))
    if total == 0:
        raise InputError.of(SUBJECT, "population", "has no persons")
    check_common_levels(SUBJECT, coders, "sample", "population")
    evidence = {target.name: target.evidence() for target in watched}
    request.on_event(Event("end", SUBJECT, total, total, detail="persons read"))
    result = [
        FileEvidence(
            lookup.targets, lookup.rows, {name: of[i] for name, of in evidence.items()}, total
        )
        for i, lookup in enumerate(lookups)
    ]
    return result[0], result[1] if len(result) > 1 else None


def _chunks(request: ScenarioRequest) -> Iterator[pd.DataFrame]:
    """Chunks of the population, each of whole households where households are attacked."""
    household = request.scenario.household
    households = None if household is None else WholeHouseholds(household)
    for block in request.population:
        faults = Faults("population")
        check_block(faults, block, request.scenario, request.categorical, request.intervals)
        faults.raise_if_any()
        if households is None:
            yield block
        else:
            yield from households.cut(block)
    if households is not None:
        yield from households.finish()


class _Target:
    """A target: what is noted about it for every file."""

    def __init__(
        self, request: ScenarioRequest, name: str, files: Collection[pd.DataFrame],
        lookups: list[PopulationLookup],
    ) -> None:  # fmt: skip
        self.request, self.name, self.lookups = request, name, lookups
        self.fitting: Learner | None = None
        if 5 in request.scenarios:
            rng = Streams(request.seed).at("scenario 5", name)
            m = len(request.scenario.keys)
            self.fitting = learner(request.model, m, name in request.categorical, rng)
        self.truth = [self.true_values(file[name]) for file in files]
        self.matchers = [
            HoleMatcher(partial(self.matcher, truth, lookup), lookup)
            for truth, lookup in zip(self.truth, lookups, strict=True)
        ]

    def true_values(self, column: pd.Series) -> np.ndarray:
        raise NotImplementedError

    def matcher(self, truth: np.ndarray, lookup: PopulationLookup) -> Matcher:
        raise NotImplementedError

    def outcomes(self, chunk: pd.DataFrame, offset: int) -> tuple[tuple[np.ndarray, ...], Any]:
        """What a matcher reads of a chunk, the outcome first; who has an outcome."""
        raise NotImplementedError

    def read(
        self, chunk: pd.DataFrame, offset: int, matches: list[list[BlockMatches]],
        codes: np.ndarray, sizes: list[int],
    ) -> None:  # fmt: skip
        """Look at a chunk."""
        values, known = self.outcomes(chunk, offset)
        for matcher, blocks in zip(self.matchers, matches, strict=True):
            matcher.read(blocks, values, known)
        if self.fitting is not None:
            self.fitting.add(codes, sizes, values[0])

    def evidence(self) -> list[MatchEvidence]:
        """What was seen, of each file."""
        fitted = None if self.fitting is None else self.fitting.solve(self.request.on_event)
        result = []
        for matcher, lookup in zip(self.matchers, self.lookups, strict=True):
            codes = lookup.targets.codes
            predicted = None if fitted is None else fitted.predict(codes)
            result.append(matcher.evidence(predicted, "" if fitted is None else fitted.text))
        return result


class _Numbers(_Target):
    def true_values(self, column: pd.Series) -> np.ndarray:
        return as_numbers(column)

    def matcher(self, truth: np.ndarray, lookup: PopulationLookup) -> NumericMatcher:
        request = self.request
        return NumericMatcher(truth, lookup, request.scenario.accuracy, request.open_interval)

    def outcomes(self, chunk: pd.DataFrame, offset: int) -> tuple[tuple[np.ndarray, ...], Any]:
        """Values and bounds; bounds are empty when scenarios 1 and 3 are not computed."""
        faults = Faults("population")
        values = as_numbers(chunk[self.name])
        check_size(faults, values, self.name, first_row=offset)
        lower = upper = np.empty(0)
        bounds = self.request.bounds(self.name)
        if bounds is not None:
            lower, upper = (as_numbers(chunk[name]) for name in bounds)
            rows = np.flatnonzero(lower > upper) + offset
            if len(rows):
                what = f"lower bound is above the upper bound {bounds[1]!r}"
                faults.add(bounds[0], what, rows=rows, hint="Name the lower bound first.")
        faults.raise_if_any()
        return (values, lower, upper), ~np.isnan(values)


class _Categories(_Target):
    def __init__(
        self, request: ScenarioRequest, name: str, files: Collection[pd.DataFrame],
        lookups: list[PopulationLookup],
    ) -> None:  # fmt: skip
        self.coder = level_coders(files, [name])[name]
        self.persons = np.zeros(self.coder.size, dtype=np.int64)
        super().__init__(request, name, files, lookups)
        self.coder.start()

    def true_values(self, column: pd.Series) -> np.ndarray:
        codes = self.coder.code(column)
        return np.where(codes == self.coder.n_known, -1, codes).astype(np.int64)

    def matcher(self, truth: np.ndarray, lookup: PopulationLookup) -> CategoricalMatcher:
        return CategoricalMatcher(truth, lookup)

    def outcomes(self, chunk: pd.DataFrame, offset: int) -> tuple[tuple[np.ndarray, ...], Any]:
        level = self.true_values(chunk[self.name])
        count = np.bincount(level[level >= 0], minlength=self.coder.size)
        self.persons = np.pad(self.persons, (0, len(count) - len(self.persons))) + count
        return (level,), level >= 0

    def evidence(self) -> list[MatchEvidence]:
        """As of any target, with levels in place of their codes."""
        check_common_levels(SUBJECT, {self.name: self.coder}, "sample", "population")
        labels = np.array([*self.coder.levels, None], dtype=object)
        commonest = int(self.persons.argmax())
        return [
            replace(
                one, predicted=labels[one.predicted],
                commonest=(truth[lookup.rows] == commonest).astype(np.float64),
            )
            for one, truth, lookup in zip(
                super().evidence(), self.truth, self.lookups, strict=True
            )
        ]  # fmt: skip
