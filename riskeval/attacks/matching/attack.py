"""The pass over the population: every block is looked up in the keys of those looked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.matching.household import WholeHouseholds, runs_of
from riskeval.attacks.matching.key_tree import KeyCoder
from riskeval.attacks.matching.matchers import CategoryTrack, NumberTrack, Sight, truth_intervals
from riskeval.attacks.matching.models import Fitted, Learner, learner
from riskeval.attacks.matching.persons import Party, Units, known_keys, sample_unique
from riskeval.attacks.requests import SUBJECT, Request, check_block
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event
from synthpop.microdata.streams import Streams

CHUNK = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """What the population shows about the persons of one file.

    Attributes
    ----------
    units : Units
        Persons or households of the file, and which are looked for.
    rows : int64, shape (r,)
        Rows of the units that are looked for.
    truth : dict of target to array, shape (n,)
    sights : dict of target to Sight
    n_population : int
        Persons of the population.
    """

    units: Units
    rows: np.ndarray
    truth: dict[str, np.ndarray]
    sights: dict[str, Sight]
    n_population: int


def attack(request: Request) -> tuple[Attack, Attack | None]:
    """Read the population once and note what it shows about the sample, and about a hold-out."""
    files = [request.sample] if request.holdout is None else [request.sample, request.holdout]
    known = [_known(request, frame, role) for role, frame in enumerate(files)]
    coders = [_coder([frame[key] for frame in known]) for key in request.scenario.keys]
    parties = [
        Party(request.scenario, frame, own, coders, request.missing)
        for frame, own in zip(files, known, strict=True)
    ]
    for coder in coders:
        coder.start()
    watched = [_watch(request, target, files, parties) for target in request.scenario.targets]
    total = 0
    request.on_event(Event("start", SUBJECT, detail="persons read"))
    for chunk in _chunks(request):
        starts = None
        if request.scenario.household is not None:
            starts = runs_of(chunk[request.scenario.household])
        codes = np.empty((len(coders), len(chunk)), dtype=np.int32)
        for k, key in enumerate(request.scenario.keys):
            codes[k] = coders[k].code(chunk[key])
        states = [party.find(codes, starts) for party in parties]
        for target in watched:
            target.read(chunk, total, states, codes, [coder.size for coder in coders])
        total += len(chunk)
        request.on_event(Event("progress", SUBJECT, total, detail="persons read"))
    _check_common_levels(request, coders, total)
    sights = [target.sights(request, total) for target in watched]
    request.on_event(Event("end", SUBJECT, total, total, detail="persons read"))
    names = request.scenario.targets
    found = [
        Attack(
            party.units,
            party.rows,
            {name: _values(file[name], name in request.categorical) for name in names},
            {name: sight[i] for name, sight in zip(names, sights, strict=True)},
            total,
        )
        for i, (party, file) in enumerate(zip(parties, files, strict=True))
    ]
    return found[0], found[1] if len(found) > 1 else None


def _known(request: Request, frame: pd.DataFrame, role: int) -> pd.DataFrame:
    streams = Streams(request.seed)
    keys = request.scenario.keys
    return known_keys(
        frame, request.scenario, {key: streams.at("key error", key, role) for key in keys}
    )


def _coder(columns: Sequence[pd.Series]) -> KeyCoder:
    levels = [encode(column)[1] for column in columns]
    return KeyCoder(levels[0], levels[1] if len(levels) > 1 else ())


def _values(column: pd.Series, categorical: bool) -> np.ndarray:
    if categorical:
        plain: np.ndarray = column.astype(object).to_numpy()
        return plain
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _chunks(request: Request) -> Iterator[pd.DataFrame]:
    """Chunks of the population, each of whole households where households are attacked."""
    household = request.scenario.household
    whole = None if household is None else WholeHouseholds(household, CHUNK)
    for block in request.population:
        faults = Faults("population")
        check_block(faults, block, request.scenario, request.categorical, request.intervals)
        faults.raise_if_any()
        if whole is not None:
            yield from whole.cut(block)
            continue
        for begin in range(0, len(block), CHUNK):
            yield block.iloc[begin : begin + CHUNK]
    if whole is not None:
        yield from whole.finish()


def _watch(
    request: Request, target: str, files: list[pd.DataFrame], parties: list[Party]
) -> _Numbers | _Categories:
    rng = Streams(request.seed).at("scenario 5", target)
    fitting = None
    if 5 in request.scenarios:
        m = len(request.scenario.keys)
        fitting = learner(request.model, m, target in request.categorical, rng)
    if target in request.categorical:
        return _Categories(target, files, parties, fitting)
    return _Numbers(request, target, files, parties, fitting)


class _Numbers:
    """A target of numbers: what is noted about it for every file."""

    def __init__(
        self, request: Request, target: str, files: list[pd.DataFrame], parties: list[Party],
        fitting: Learner | None,
    ) -> None:  # fmt: skip
        self.target, self.parties, self.fitting = target, parties, fitting
        self.bounds = request.bounds(target)
        self.tracks = [
            NumberTrack(
                _values(file[target], False), party.rows, party.cell, party.n_cells,
                request.scenario.accuracy, request.open_interval,
            )
            for file, party in zip(files, parties, strict=True)
        ]  # fmt: skip

    def read(
        self, chunk: pd.DataFrame, offset: int, states: list[np.ndarray], codes: np.ndarray,
        sizes: list[int],
    ) -> None:  # fmt: skip
        """Look at a chunk."""
        numbers = _numbers(chunk, self.target, self.bounds, offset)
        for track, found in zip(self.tracks, states, strict=True):
            track.read(found, numbers)
        if self.fitting is not None:
            self.fitting.add(codes, sizes, numbers[0])

    def sights(self, request: Request, total: int) -> list[Sight]:
        """What was seen, of each file."""
        fitted = _solved(self.fitting, request, total)
        result = []
        for track, party in zip(self.tracks, self.parties, strict=True):
            predicted = np.full(len(party.codes), np.nan)
            if fitted is not None:
                predicted = fitted.predict(party.codes)
            text = "" if fitted is None else fitted.text
            result.append(track.sight(party.n_matches, predicted, party.rows, text))
        return result


class _Categories:
    """A target of categories: what is noted about it for every file."""

    def __init__(
        self, target: str, files: list[pd.DataFrame], parties: list[Party], fitting: Learner | None
    ) -> None:  # fmt: skip
        self.target, self.parties, self.fitting = target, parties, fitting
        self.coder = _coder([file[target] for file in files])
        self.missing = self.coder.n_known
        self.persons = np.zeros(self.coder.size, dtype=np.int64)
        self.tracks = []
        for file, party in zip(files, parties, strict=True):
            level = self._levels(file[target])
            self.tracks.append(CategoryTrack(level, party.rows, party.cell, party.n_cells))
        self.coder.start()

    def _levels(self, column: pd.Series) -> np.ndarray:
        codes = self.coder.code(column)
        return np.where(codes == self.missing, -1, codes).astype(np.int64)

    def read(
        self, chunk: pd.DataFrame, offset: int, states: list[np.ndarray], codes: np.ndarray,
        sizes: list[int],
    ) -> None:  # fmt: skip
        """Look at a chunk."""
        level = self._levels(chunk[self.target])
        count = np.bincount(level[level >= 0], minlength=self.coder.size)
        self.persons = np.pad(self.persons, (0, len(count) - len(self.persons))) + count
        for track, found in zip(self.tracks, states, strict=True):
            track.read(found, level)
        if self.fitting is not None:
            self.fitting.add(codes, sizes, level)

    def sights(self, request: Request, total: int) -> list[Sight]:
        """What was seen, of each file."""
        _check_common_levels(request, [self.coder], total, [self.target])
        fitted = _solved(self.fitting, request, total)
        commonest = int(self.persons.argmax())
        result = []
        for track, party in zip(self.tracks, self.parties, strict=True):
            predicted = np.full(len(party.codes), -1)
            if fitted is not None:
                predicted = fitted.predict(party.codes)
            text = "" if fitted is None else fitted.text
            result.append(
                track.sight(
                    party.n_matches, predicted, party.rows, text, commonest, self.coder.levels
                )
            )
        return result


def _solved(fitting: Learner | None, request: Request, total: int) -> Fitted | None:
    return fitting.solve(request.on_event) if fitting is not None and total else None


def _numbers(
    chunk: pd.DataFrame, target: str, bounds: tuple[str, str] | None, offset: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and bounds of a chunk; bounds are empty when scenarios 1 and 3 are not computed."""
    faults = Faults("population")
    values = chunk[target].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        rows = np.flatnonzero(np.isinf(values)) + offset
        faults.add(target, "value is infinite", rows=rows)
    lower = upper = np.empty(0)
    if bounds is not None:
        lower, upper = (chunk[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in bounds)
        if (lower > upper).any():
            remedy = "Name the lower bound first."
            rows = np.flatnonzero(lower > upper) + offset
            what = f"lower bound is above the upper bound {bounds[1]!r}"
            faults.add(bounds[0], what, rows=rows, remedy=remedy)
    faults.raise_if_any()
    return values, lower, upper


def _check_common_levels(
    request: Request, coders: list[KeyCoder], n_population: int, names: Any = None
) -> None:
    """A key without any common level is a mistake (codes against labels), never a zero risk."""
    faults = Faults(SUBJECT)
    if n_population == 0:
        faults.add("population", "has no persons")
    for name, coder in zip(names or request.scenario.keys, coders, strict=True):
        if n_population and coder.n_known and not coder.met_known:
            faults.add(
                name,
                "sample and population have no level in common "
                f"({coder.shown_known()} in the sample, {coder.shown_new()} in the population)",
                remedy="Code it in the same way in both files.",
            )
    faults.raise_if_any()


__all__ = ["CHUNK", "Attack", "attack", "sample_unique", "truth_intervals"]
