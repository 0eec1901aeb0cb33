"""Whom an attack looks for, and which keys the intruder believes them to have.

Every attack reads a scenario here, so that all of them attack the same persons with the same
(partly wrong) knowledge.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pandas as pd

from riskeval.attacks.clusters import clusters_of
from riskeval.attacks.indexer import Indexer, Multiset, RowIndexer
from riskeval.attacks.levels import LevelCoder, occurring_levels
from riskeval.attacks.request import AttackRequest
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.values import flags_of
from riskeval.shared.files import drawn_rows
from synthpop.microdata.frame.codes import MISSING, CodedKeys, encode_keys, extremes, first_rows
from synthpop.microdata.statistics.streams import Streams

TREATMENTS = ("wildcard", "category", "unmatched")
"""What a missing key of the release matches: anything, a missing key, nothing."""

Knowledge = Scenario | AttackRequest
"""What the intruder knows and whom they look for."""


def believed_keys(
    frame: pd.DataFrame, scenario: Knowledge, streams: Streams, role: str = "original"
) -> CodedKeys:
    """Return the keys of real persons as the intruder believes them to be; -1 where missing.

    A key with an error p is wrong with probability p: it gets another of its levels in the file,
    drawn in proportion to how often they occur there. Missing values stay missing, and a key with a
    single level stays as it is. Errors are drawn person by person; in attacks on households a key
    that all members of a household share (those with a value) is wrong for the household as a
    whole. The same seed gives the same errors in every attack: one stream a key and `role`, the
    name of the file.

    Examples
    --------
    >>> from riskeval.attacks.scenario import Scenario
    >>> frame = pd.DataFrame({"region": ["N", "N", "S", "S"], "h": [1, 1, 2, 2]})
    >>> scenario = Scenario("region", key_errors={"region": 0.5}, unit="household", household="h")
    >>> believed_keys(frame, scenario, Streams(3)).codes[:, 0].tolist()
    [1, 1, 0, 0]
    """
    true = encode_keys(frame, scenario.keys)
    codes = true.codes.copy()
    unit = units_of(frame, scenario.household)
    for k, key in enumerate(scenario.keys):
        error = scenario.errors.get(key, 0.0)
        if error > 0:
            rng = streams.at("believed keys", role, key)
            # 1. One pair of uniform numbers for each person: is the key wrong, and which level
            #    takes its place.
            is_wrong, place = rng.random(len(frame)) < error, rng.random(len(frame))
            # 2. Members of a household that shares the key use those of its first member.
            if scenario.household is not None:
                drawer = _drawing_member(codes[:, k], unit)
                is_wrong, place = is_wrong[drawer], place[drawer]
            codes[:, k] = _other_level(codes[:, k], len(true.levels[k]), is_wrong, place)
    return CodedKeys(true.names, codes, true.levels)


def with_believed_keys(
    frame: pd.DataFrame, scenario: Knowledge, seed: int, role: str = "original"
) -> pd.DataFrame:
    """Return a file of real persons with the keys of `believed_keys` in place of their own."""
    if not any(scenario.errors.values()):
        return frame
    believed = believed_keys(frame, scenario, Streams(seed), role)
    true = encode_keys(frame, scenario.keys)
    columns = {}
    for k, key in enumerate(scenario.keys):
        row_of_level = first_rows(true.codes[:, k], len(true.levels[k]) + 1)
        rows = row_of_level[believed.codes[:, k]]
        columns[key] = frame[key].iloc[rows].set_axis(frame.index)
    return frame.assign(**columns)


def _drawing_member(codes: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Row whose draws a person uses: the first of the household where the key is shared."""
    n_units = int(unit.max(initial=-1)) + 1
    present = codes >= 0
    lowest, highest = extremes(codes[present], unit[present], n_units)
    is_shared = lowest >= highest
    return np.where(is_shared[unit], first_rows(unit, n_units)[unit], np.arange(len(unit)))


def _other_level(
    codes: np.ndarray, n_levels: int, is_wrong: np.ndarray, place: np.ndarray
) -> np.ndarray:
    """Replace wrong codes by another level, drawn in proportion to the frequencies of the others.

    `place` in [0, 1) is a point of the line of all counts without those of the level itself.
    """
    replaced = is_wrong & (codes >= 0)
    counts = np.bincount(codes[codes >= 0], minlength=n_levels).astype(np.float64)
    ends = np.cumsum(counts)
    level = codes[replaced].astype(np.int64)
    if len(level) == 0:
        return codes
    others = ends[-1] - counts[level]
    point = place[replaced] * others
    point = np.where(point >= ends[level] - counts[level], point + counts[level], point)
    drawn = np.minimum(np.searchsorted(ends, point, side="right"), n_levels - 1)
    result = codes.copy()
    result[replaced] = np.where(others > 0, drawn, level)
    return result


class HouseholdNumbers:
    """Numbers the households of a file that is read in parts; members need not be neighbours."""

    def __init__(self) -> None:
        self._numbers = Indexer()
        self._levels = LevelCoder(())
        self._offset = 1 << 40

    def number(self, values: pd.Series) -> np.ndarray:
        """Return the household 0, 1, 2 ... of each person, in order of appearance."""
        if pd.api.types.is_integer_dtype(values.dtype):
            return self._numbers.number(values.to_numpy(dtype=np.int64))
        codes = self._levels.code(values).astype(np.int64)
        return self._numbers.number(codes + self._offset)

    @property
    def size(self) -> int:
        """How many there are."""
        return self._numbers.size


def units_of(frame: pd.DataFrame, household: str | None) -> np.ndarray:
    """Unit of each row, int64, shape (n,): the row itself, or its household in order of appearance.

    Examples
    --------
    >>> units_of(pd.DataFrame({"h": [7, 3, 7]}), "h").tolist()
    [0, 1, 0]
    """
    if household is None:
        return np.arange(len(frame))
    return HouseholdNumbers().number(frame[household])


@dataclass(frozen=True, slots=True, eq=False)
class AttackTargets:
    """The persons or households of one file, as an attack sees them."""

    # codes, true_codes: int32, shape (n, m): keys as the intruder believes them, and as they are,
    # in the codes of the `LevelCoder`
    codes: np.ndarray
    true_codes: np.ndarray
    unit: np.ndarray  # int64, shape (n,): unit of each row: the row itself, or its household
    # int64, shape (units,): units of the file with the same believed keys; 0 where a missing key
    # matches nothing
    frequency: np.ndarray
    # bool, shape (units,): units among which the intruder looks (all without a condition)
    eligible: np.ndarray
    looked_for: np.ndarray  # bool, shape (units,)
    # bool, shape (units,): units on which files are compared: those looked for; where the
    # intruder looks for uniques, those that are unique in all files together. (Who is unique in a
    # file depends on its size.)
    comparable: np.ndarray
    # unique, unique_in_all: bool, shape (units,): units that are unique by their true keys: in the
    # file, and in all files together
    unique: np.ndarray
    unique_in_all: np.ndarray
    # int64, shape (units,): household of each person, where a column tells it
    clusters: np.ndarray | None = None

    def clusters_of(self, among: np.ndarray) -> np.ndarray | None:
        """Households of some units, by mask or position; None where nothing tells them."""
        return None if self.clusters is None else self.clusters[among]

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.frequency)

    def at_most(
        self, most: int | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, AttackTargets]:
        """Return the rows of units that are drawn among those looked for, and what they are."""
        wanted = np.flatnonzero(self.looked_for | self.comparable)
        if most is None or len(wanted) <= most:
            return np.arange(len(self.unit)), self
        drawn = np.zeros(self.n, dtype=np.bool_)
        drawn[wanted[drawn_rows(len(wanted), most, rng)]] = True
        rows = np.flatnonzero(drawn[self.unit])
        return rows, replace(
            self, codes=self.codes[rows], true_codes=self.true_codes[rows], unit=self.unit[rows],
            looked_for=self.looked_for & drawn, comparable=self.comparable & drawn,
        )  # fmt: skip

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Mean of values of rows, by unit."""
        count = np.bincount(self.unit, minlength=self.n)
        total = np.bincount(self.unit, weights=values, minlength=self.n)
        return total / np.maximum(count, 1)


def level_coders(frames: Collection[pd.DataFrame], keys: Sequence[str]) -> dict[str, LevelCoder]:
    """One coder a key, which knows the levels that occur in files of real persons."""
    coders = {}
    for key in keys:
        first, *others = (occurring_levels(frame[key]) for frame in frames)
        coders[key] = LevelCoder(first, list(chain.from_iterable(others)))
    return coders


def attack_targets(
    frames: Mapping[str, pd.DataFrame],
    scenario: Knowledge,
    coders: Mapping[str, LevelCoder],
    seed: int,
    *,
    match_missing: bool = True,
) -> dict[str, AttackTargets]:
    """Describe persons or households of files (original, then a hold-out) in the same codes."""
    streams = Streams(seed)
    rows, multisets = RowIndexer([coder.radix for coder in coders.values()]), Multiset()
    files, matchable = {}, {}
    homes: dict[str, np.ndarray | None] = {}
    combinations: list[list[np.ndarray]] = []
    for role, frame in frames.items():
        unit = units_of(frame, scenario.household)
        n_units = int(unit.max(initial=-1)) + 1
        true = encode_keys(frame, scenario.keys)
        versions = [true]  # what is believed comes first, where it can be wrong
        if any(scenario.errors.values()):
            versions.insert(0, believed_keys(frame, scenario, streams, role))
        codes = [_recoded(keys, coders) for keys in versions]
        numbers = [rows.number(keys.T) for keys in codes]
        if scenario.household is not None:
            numbers = [multisets.number(members, unit, n_units) for members in numbers]
        combinations.append(numbers)
        matchable[role] = np.ones(n_units, dtype=np.bool_)
        if not match_missing:
            lacking = (true.codes == MISSING).any(axis=1)
            matchable[role] = np.bincount(unit, weights=lacking, minlength=n_units) == 0
        eligible = np.ones(n_units, dtype=np.bool_)
        if scenario.rows is not None:
            flags = flags_of(frame[scenario.rows])
            assert flags is not None  # checked
            eligible = combine_members(flags, unit, n_units, "any")
        homes[role] = clusters_of(frame) if scenario.household is None else None
        files[role] = {
            "codes": codes[0], "true_codes": codes[-1], "unit": unit, "eligible": eligible,
        }  # fmt: skip
    frequency, everywhere = _frequencies([numbers[0] for numbers in combinations])
    true_frequency, true_everywhere = _frequencies([numbers[-1] for numbers in combinations])
    everyone = scenario.who == "everyone"
    result = {}
    for i, (role, known) in enumerate(files.items()):
        matches, eligible = matchable[role], known["eligible"]
        result[role] = AttackTargets(
            **known,
            clusters=homes[role],
            frequency=np.where(matches, frequency[i], 0),
            looked_for=eligible & (everyone | (matches & (frequency[i] == 1))),
            comparable=eligible & (everyone | (matches & (everywhere[i] == 1))),
            unique=matches & (true_frequency[i] == 1),
            unique_in_all=matches & (true_everywhere[i] == 1),
        )
    return result


def _frequencies(combinations: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Units with the same combination in their file, and in all files, of each file."""
    n_kinds = 1 + max(int(numbers.max(initial=-1)) for numbers in combinations)
    counts = [np.bincount(numbers, minlength=n_kinds) for numbers in combinations]
    total = np.sum(counts, axis=0)
    frequency = [count[numbers] for count, numbers in zip(counts, combinations, strict=True)]
    return frequency, [total[numbers] for numbers in combinations]


def _recoded(keys: CodedKeys, coders: Mapping[str, LevelCoder]) -> np.ndarray:
    columns = [
        coder.recode(codes, levels)
        for coder, codes, levels in zip(coders.values(), keys.codes.T, keys.levels, strict=True)
    ]
    return np.stack(columns, axis=1).astype(np.int32)


def clusters_among(
    files: Sequence[AttackTargets], among: Sequence[np.ndarray] | None = None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Households of the units of original and hold-out that are compared, for `shares.excess`."""
    chosen = [one.comparable for one in files] if among is None else among
    first, second = (one.clusters_of(rows) for one, rows in zip(files, chosen, strict=True))
    return first, second


def combine_members(flags: np.ndarray, unit: np.ndarray, n_units: int, members: str) -> np.ndarray:
    """Whether any or every member's flag is set, bool, shape (n_units,); False without members."""
    count = np.bincount(unit, minlength=n_units)
    n_set = np.bincount(unit, weights=flags, minlength=n_units)
    return n_set > 0 if members == "any" else (n_set == count) & (count > 0)


def combine_probabilities(
    probabilities: np.ndarray, unit: np.ndarray, n_units: int, members: str
) -> np.ndarray:
    """Probability that independent guesses are right for any or for every member; 0 for none.

    Examples
    --------
    >>> rates, unit = np.array([0.5, 0.5, 1.0]), np.array([0, 0, 1])
    >>> combine_probabilities(rates, unit, 2, "any").tolist()
    [0.75, 1.0]
    """
    product = np.ones((n_units, *probabilities.shape[1:]))
    np.multiply.at(product, unit, 1 - probabilities if members == "any" else probabilities)
    empty = np.bincount(unit, minlength=n_units) == 0
    combined: np.ndarray = 1 - product if members == "any" else product
    combined[empty] = 0.0
    return combined
