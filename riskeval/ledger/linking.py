"""Which record of an earlier release each record of a new one is, by the columns they share.

1. Columns with the same values in both and no holes group the records; those whose values were
   changed spoil the groups and are left out (`_steady`).
2. Records alone in their group in both releases are linked. Where hardly any is, as with noise in
   all amounts, the nearest neighbours of each other are (`nearest_pairs`).
3. These pairs tell how far numbers were moved, and which columns agree (`_ways_of_columns`). Other
   columns than those that linked tell whether pairs are right or chance (`_right`).
4. Within its group every record is compared with all of the earlier release: values must be equal
   or missing, classes and ranges of noise must meet. What is left are its candidates; who is the
   only candidate of another is none of a third. Members of linked households link next.
5. Records without a candidate, as those whose region was swapped, are linked among themselves by
   the columns that are steady there (`_with_the_rest`).

The place of a record in its file is never used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from riskeval.kernels.candidates import candidates
from riskeval.ledger.columns import Readable, hash_numbers, mixed, numbered, row_hash
from riskeval.ledger.nearest import nearest_pairs

SHARED = 0.9
"""Share of values that the other release has, from which on a column has the same values."""
AGREES, MOSTLY, SOME, RARE = 0.99, 0.5, 0.2, 0.05
FEW_PAIRS = 30
MOST_PAIRS = 300_000_000
"""Pairs of records that are compared; larger groups are too large to tell anybody apart."""
ROUNDS = 4
MOST_CANDIDATES = 50
"""Candidates up to which one of them stands for all: what they show belongs to somebody."""
REACH = 0.995
SAMPLE, MOST_LEARNED = 20_000, 200_000


class Way(NamedTuple):
    """How a column of two releases can be compared."""

    kind: str  # "same", "range", "near", "changed", "recoded"
    agreement: float = 1.0  # share of linked pairs with the same value
    shift: float = 0.0  # of numbers: the later less the earlier value, in the middle
    reach: float = 0.0  # of numbers: how far nearly all differ


@dataclass(frozen=True, eq=False)
class Links:
    """A new release beside an earlier one."""

    record: np.ndarray  # int64, shape (n,): record of the earlier release; -1 where none is known
    n_candidates: np.ndarray  # int64, shape (n,)
    teller: dict[str, np.ndarray]  # column -> record that has the value of all candidates, or -1
    ways: dict[str, Way]
    right: float  # estimated share of pairs that are not chance; NaN where no column can tell
    by: tuple[str, ...] = ()  # columns that group the records
    n_not_compared: int = 0  # records in groups that were too large
    # bool, shape (n,): records with k candidates or more, of whom one stands for all; None for none
    guessed: np.ndarray | None = None

    @property
    def n_linked(self) -> int:
        """Records with one candidate."""
        return int((self.record >= 0).sum())


def link(
    earlier: Mapping[str, Readable], new: Mapping[str, Readable],
    homes: tuple[np.ndarray, np.ndarray] | None = None, k: int = 3,
) -> Links:  # fmt: skip
    """Link each record of a new release to those of an earlier one; nothing is drawn at random.

    homes: household of each record of the earlier and of the new release, int64; -1 for none
    k: a record with fewer candidates counts as linked
    """
    pairs = {name: (earlier[name], new[name]) for name in new if name in earlier}
    n_a, n_b = (len(next(iter(side.values())).hash) if side else 0 for side in (earlier, new))
    nothing = np.full(n_b, -1, dtype=np.int64)
    if not pairs or not n_a or not n_b:
        return Links(nothing, np.zeros(n_b, np.int64), {}, {}, 0.0)
    ways = {name: _first_way(*pair) for name, pair in pairs.items()}
    by = _steady(pairs, ways)
    groups = _grouped(pairs, by, n_a, n_b)
    first = _alone(*groups)
    near = None
    if (first >= 0).sum() < MOSTLY * min(n_a, n_b):
        near = nearest_pairs(pairs, [name for name, way in ways.items() if way.kind == "near"], by)
    if near is not None and (near.record >= 0).sum() > (first >= 0).sum():
        first, by = near.record, list(near.by)
        groups = _grouped(pairs, by, n_a, n_b)
    else:
        near = None
    ways = _ways_of_columns(pairs, ways, by, first)
    right = _right(pairs, ways, by, first) if near is None else near.right
    if right < (MOSTLY if near is None else SOME):  # pairs by chance: other persons
        return Links(nothing, np.zeros(n_b, np.int64), {}, ways, right, tuple(by))
    links = _compared(pairs, ways, by, groups, homes, k, earlier)
    if not _is_near(ways):
        return replace(_with_the_rest(pairs, links, n_a), right=right)
    # noise beyond the reach of nearly all leaves no candidate
    record = np.where(links.record >= 0, links.record, first)
    teller = {
        name: np.where((one < 0) & (links.n_candidates == 0), record, one)
        for name, one in links.teller.items()
    }
    return replace(links, record=record, right=right, teller=teller)


def _with_the_rest(pairs: Mapping[str, tuple[Readable, Readable]], links: Links, n_a: int) -> Links:
    """Link the records that have no candidate: some of the columns that group all were changed."""
    rows = (
        np.setdiff1d(np.arange(n_a), links.record),
        np.flatnonzero((links.record < 0) & (links.n_candidates == 0)),
    )
    if min(map(len, rows)) < FEW_PAIRS:
        return links
    rest = {
        name: (pair[0].at(rows[0]), pair[1].at(rows[1]))
        for name, pair in pairs.items() if links.ways[name].kind == "same"
    }  # fmt: skip
    by = _steady(rest, links.ways)
    found = _alone(*_grouped(rest, by, len(rows[0]), len(rows[1])))
    if not by or not _right(rest, links.ways, by, found) >= MOSTLY:
        return links
    record, n_candidates = links.record.copy(), links.n_candidates.copy()
    linked = rows[1][found >= 0]
    record[linked] = rows[0][found[found >= 0]]
    n_candidates[linked] = 1
    teller = {name: one.copy() for name, one in links.teller.items()}
    for one in teller.values():
        one[linked] = record[linked]
    return replace(links, record=record, n_candidates=n_candidates, teller=teller)


def _grouped(
    pairs: Mapping[str, tuple[Readable, Readable]], by: list[str], n_a: int, n_b: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Number the groups that columns make in both releases."""
    a, b = (
        row_hash([pairs[name][side].hash for name in by], n) for side, n in ((0, n_a), (1, n_b))
    )
    return numbered(a, b)


def _is_near(ways: Mapping[str, Way]) -> bool:
    return any(way.kind == "near" for way in ways.values())


def _first_way(a: Readable, b: Readable) -> Way:
    """Return how two columns compare at first sight."""
    if "levels" not in (a.kind, b.kind) and "classes" in (a.kind, b.kind):
        same = a.kind == b.kind and np.isin(b.distinct, a.distinct).all()
        return Way("same" if same else "range")
    sample = b.hash[:: max(len(b.hash) // SAMPLE, 1)]
    sample = sample[sample != 0]
    if not len(sample) or not len(a.distinct):
        return Way("changed", 0.0)
    found = np.isin(sample, a.distinct).mean()
    back = a.hash[:: max(len(a.hash) // SAMPLE, 1)]
    back = back[back != 0]
    if max(found, np.isin(back, b.distinct).mean()) >= SHARED:
        return Way("same")
    if not a.kind == b.kind == "numbers":
        return Way("recoded", 0.0)
    return Way("same" if _shares_numbers(a, b, found) else "near", 0.0)


def _shares_numbers(a: Readable, b: Readable, found: float) -> bool:
    """Whether more numbers occur in both than numbers a few units away, as noise would have it.

    Releases of samples that overlap share the numbers of the persons in both.
    """
    assert b.low is not None
    sample = b.low[:: max(len(b.low) // SAMPLE, 1)]
    sample = sample[np.isfinite(sample)]
    unit = np.diff(np.unique(sample)).min(initial=np.inf)
    if not np.isfinite(unit):
        return False
    apart = [hash_numbers(sample + steps * unit) for steps in (-7, -3, 3, 7)]
    chance = float(np.mean([np.isin(one, a.distinct).mean() for one in apart]))
    return found - chance >= max(RARE * (1 - chance), FEW_PAIRS / len(sample))


def _steady(pairs: Mapping[str, tuple[Readable, Readable]], ways: Mapping[str, Way]) -> list[str]:
    """Return columns without holes that group the records.

    One after the other is left out as long as more records of a sample are linked without it.
    """
    names = [
        name for name, pair in pairs.items()
        if ways[name].kind == "same" and not any(one.has_holes for one in pair)
        and min(len(one.distinct) for one in pair) > 1
    ]  # fmt: skip
    if not names:
        return []
    n = len(pairs[names[0]][1].hash)
    sample = np.arange(0, n, max(n // SAMPLE, 1))

    def hashes(kept: list[str]) -> tuple[np.ndarray, np.ndarray]:
        return tuple(  # type: ignore[return-value]
            row_hash([pairs[name][side].hash for name in kept], len(pairs[names[0]][side].hash))
            for side in (0, 1)
        )

    found, possible = _found(*hashes(names), sample)
    while len(names) > 1 and RARE * len(sample) < possible and found < SHARED * possible:
        rests = [[one for one in names if one != name] for name in names]
        results = [(_found(*hashes(rest), sample)[0], rest) for rest in rests]
        best, chosen = max(results, key=lambda pair: pair[0])
        if best <= found and found > 0:
            break
        found, names = best, chosen
    return names


def _found(a: np.ndarray, b: np.ndarray, sample: np.ndarray) -> tuple[int, int]:
    """Count records of a sample that are alone in both releases, and those alone in their own."""
    wanted = b[sample]
    marks = np.zeros(1 << 20, dtype=bool)
    mask = np.uint64((1 << 20) - 1)
    marks[(wanted & mask).astype(np.int64)] = True
    near = [side[marks[(side & mask).astype(np.int64)]] for side in (a, b)]
    alone = []
    for side in near:
        values, counts = np.unique(side, return_counts=True)
        alone.append(values[counts == 1])
    own = np.isin(wanted, alone[1])
    return int(np.isin(wanted[own], alone[0]).sum()), int(own.sum())


def _alone(ids_a: np.ndarray, ids_b: np.ndarray, n_ids: int) -> np.ndarray:
    """Return the earlier record of each new one where both are alone in their group; -1 else."""
    place = np.full(n_ids, -1, dtype=np.int64)
    place[ids_a] = np.arange(len(ids_a))
    once = (np.bincount(ids_a, minlength=n_ids) == 1) & (np.bincount(ids_b, minlength=n_ids) == 1)
    place[~once] = -1
    return np.asarray(place[ids_b])


def _ways_of_columns(
    pairs: Mapping[str, tuple[Readable, Readable]], ways: Mapping[str, Way], by: list[str],
    record: np.ndarray,
) -> dict[str, Way]:  # fmt: skip
    """Learn from linked pairs how the columns that did not link them compare."""
    rows = np.flatnonzero(record >= 0)
    rows = rows[:: max(len(rows) // MOST_LEARNED, 1)]
    learned = {}
    for name, way in ways.items():
        a, b = pairs[name]
        both = rows[(a.hash[record[rows]] != 0) & (b.hash[rows] != 0)]
        if name in by or len(both) < FEW_PAIRS or way.kind == "recoded":
            learned[name] = way
            continue
        j = record[both]
        if way.kind == "range":
            assert a.low is not None
            assert b.low is not None
            assert a.high is not None
            assert b.high is not None
            meets = float(((a.low[j] <= b.high[both]) & (b.low[both] <= a.high[j])).mean())
            learned[name] = Way("range" if meets >= AGREES else "changed", meets)
            continue
        same = float((a.hash[j] == b.hash[both]).mean())
        numbers = a.kind == b.kind == "numbers"
        many = numbers and len(a.distinct) > MOST_CANDIDATES
        agrees = MOSTLY if many else AGREES  # noise changes nearly all; other pairs are not right
        learned[name] = Way("same" if same >= agrees else "changed", same)
        if numbers and same < min(agrees, SHARED):
            learned[name] = _moved(a, b, j, both, same)
    return learned


def _moved(a: Readable, b: Readable, j: np.ndarray, i: np.ndarray, same: float) -> Way:
    """Return how far numbers of linked pairs differ; "changed" where they tell nothing."""
    assert a.low is not None
    assert b.low is not None
    gaps = b.low[i] - a.low[j]
    shift = float(np.median(gaps))
    apart = np.abs(gaps - shift)
    others = np.abs(np.roll(b.low[i], len(i) // 2) - a.low[j] - shift)
    if np.median(apart) > MOSTLY * np.median(others):
        return Way("changed", same)
    return Way("near", same, shift, float(np.quantile(apart, REACH)))


def _right(
    pairs: Mapping[str, tuple[Readable, Readable]], ways: Mapping[str, Way], by: list[str],
    record: np.ndarray,
) -> float:  # fmt: skip
    """Estimate the share of pairs that are no chance: agreement beyond it in other columns.

    A column that groups the records is judged by the pairs that the others make. The middle over
    columns counts: some follow from others, and some were changed.
    """
    beyond = []
    n_of = [len(column.hash) for column in next(iter(pairs.values()))]
    together = [row_hash([pairs[one][side].hash for one in by], n_of[side]) for side in (0, 1)]
    for name, (a, b) in pairs.items():
        if ways[name].kind in ("recoded", "range", "near"):
            continue
        pair_of = record
        if name in by:
            if len(by) == 1:
                continue
            place = by.index(name)  # the hash of a row is the sum of those of its columns
            pair_of = _some_alone([
                whole - mixed(column.hash, place)
                for whole, column in zip(together, (a, b), strict=True)
            ])  # fmt: skip
        rows = np.flatnonzero(pair_of >= 0)
        rows = rows[(a.hash[pair_of[rows]] != 0) & (b.hash[rows] != 0)]
        if len(rows) < FEW_PAIRS:
            continue
        x, y = a.hash[pair_of[rows]], b.hash[rows]
        beyond.append(beyond_chance(x, y))
    beyond = [one for one in beyond if one == one]
    return float(np.median(beyond)) if beyond else float("nan")


def _some_alone(hashes: Sequence[np.ndarray]) -> np.ndarray:
    """Return `_alone` for a part of the groups, chosen by their hash: the same in both releases."""
    part = np.uint64((1 << max(int(np.log2(len(hashes[1]) / SAMPLE)), 0)) - 1)
    rows = [np.flatnonzero(mixed(side, 1) & part == 0) for side in hashes]
    found = _alone(*numbered(hashes[0][rows[0]], hashes[1][rows[1]]))
    pair_of = np.full(len(hashes[1]), -1, dtype=np.int64)
    known = found >= 0
    pair_of[rows[1][known]] = rows[0][found[known]]
    return pair_of


def beyond_chance(x: np.ndarray, y: np.ndarray) -> float:
    """Return the agreement of values of pairs beyond that of shifted pairs; NaN where all agree.

    Examples
    --------
    >>> beyond_chance(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 4]))
    1.0
    """
    chance = float(np.mean([np.mean(np.roll(y, len(y) // part) == x) for part in (2, 3)]))
    return (float(np.mean(x == y)) - chance) / (1 - chance) if chance < SHARED else float("nan")


def _compared(
    pairs: Mapping[str, tuple[Readable, Readable]], ways: Mapping[str, Way], by: list[str],
    groups: tuple[np.ndarray, np.ndarray, int], homes: tuple[np.ndarray, np.ndarray] | None, k: int,
    earlier: Mapping[str, Readable],
) -> Links:  # fmt: skip
    """Compare the records of each group, then those of linked households."""
    ids_a, ids_b, n_ids = groups
    n_a, n_b = len(ids_a), len(ids_b)
    names = list(earlier)  # what only the earlier release shows is told as well
    ends = _ranges(pairs, ways, by, n_a, n_b)
    codes = np.zeros((n_a, len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        codes[:, place] = earlier[name].hash.view(np.int64)
    n_pairs = np.bincount(ids_a, minlength=n_ids) * np.bincount(ids_b, minlength=n_ids)
    ordered = np.sort(n_pairs)
    most = ordered[np.cumsum(ordered) <= MOST_PAIRS].max(initial=0)
    group = np.where(n_pairs[ids_b] > most, -1, ids_b)
    record, taken = np.full(n_b, -1, dtype=np.int64), np.zeros(n_a, dtype=bool)
    count = np.zeros(n_b, dtype=np.int64)
    tellers = np.empty((len(names), n_b), dtype=np.int64)  # the first turn is of all
    wanted = np.ones(n_b, dtype=bool)
    order, starts = _in_groups(ids_a, group)
    for turn in range(ROUNDS):
        rows = np.flatnonzero(wanted)
        n_found, first, agree, times = _candidates_of(
            rows, order, starts, group, ends, codes, taken, False
        )
        seen: slice | np.ndarray = slice(None) if turn == 0 else np.flatnonzero(n_found > 0)
        told, teller_of, alike = seen if turn == 0 else rows[seen], first[seen], agree[seen]
        count[told] = n_found[seen]
        for place in range(len(names)):
            tellers[place, told] = np.where(alike[:, place], teller_of, -1)
        sure = (n_found == 1) & (times[first] == 1)
        one, of_one = rows[sure], first[sure]
        record[one] = of_one
        taken[of_one], wanted[one] = True, False
        if not wanted.any():
            break
        if turn == 0 and homes is not None and (record >= 0).any():
            home_a, group = _linked_homes(homes, record, group)
            order, starts = _in_groups(home_a, group)
        elif not len(one):
            break
    # the others stand for any of their candidates: whose value is whose matters to nobody else
    wanted &= count <= MOST_CANDIDATES
    guessed = np.zeros(n_b, dtype=bool)
    if wanted.any():
        rows = np.flatnonzero(wanted)
        chosen = _candidates_of(rows, order, starts, group, ends, codes, taken, True)[1]
        rows, chosen = rows[chosen >= 0], chosen[chosen >= 0]
        tellers[:, rows] = chosen
        guessed[rows] = count[rows] >= k
    teller = dict(zip(names, tellers, strict=True))
    left = int((n_pairs[ids_b] > most).sum())
    return Links(record, count, teller, dict(ways), float("nan"), tuple(by), left, guessed)


def _candidates_of(
    rows: np.ndarray, order: np.ndarray, starts: np.ndarray, group: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], codes: np.ndarray,
    taken: np.ndarray, take: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Compare some of the new records with the earlier ones of their groups."""
    low_a, high_a, low_b, high_b = ends
    which = slice(None) if len(rows) == len(group) else rows
    wanted = np.ones(len(rows), dtype=bool)
    found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] = candidates(
        order, starts, group[which], low_a, high_a, low_b[which], high_b[which], codes, taken,
        wanted, take,
    )  # fmt: skip
    return found


def _in_groups(group_a: np.ndarray, group_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of earlier records by group, and where each group begins."""
    last = max(int(group_a.max(initial=0)), int(group_b.max(initial=0)))
    sizes = np.bincount(group_a, minlength=last + 1)
    return np.argsort(group_a, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])


def _linked_homes(
    homes: tuple[np.ndarray, np.ndarray], record: np.ndarray, group: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return households as groups, where members are linked; the others keep theirs, not looked at.

    A new record of a household without a linked member, or of none, belongs to no group.
    """
    a, b = homes
    of_home = np.full(max(int(b.max(initial=0)), 0) + 1, -1, dtype=np.int64)
    rows = np.flatnonzero((record >= 0) & (b >= 0))
    of_home[b[rows]] = a[record[rows]]
    known = np.where((b >= 0) & (group >= 0), of_home[b], -1)
    return np.where(a < 0, a.max(initial=0) + 1, a), known


def _ranges(
    pairs: Mapping[str, tuple[Readable, Readable]], ways: Mapping[str, Way], by: list[str],
    n_a: int, n_b: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return what values may be: low and high of the earlier, then of the new release."""
    used = [
        name for name, way in ways.items()
        if name in pairs and way.kind not in ("changed", "recoded")
        and not (way.kind == "same" and name in by)
    ]  # fmt: skip
    low_a, high_a, low_b, high_b = (np.empty((n, len(used))) for n in (n_a, n_a, n_b, n_b))
    for place, name in enumerate(used):
        (a, b), way = pairs[name], ways[name]
        if way.kind == "same":
            ids_a, ids_b, _ = numbered(a.hash, b.hash)
            for ids, column, low, high in (
                (ids_a, a, low_a, high_a), (ids_b, b, low_b, high_b)
            ):  # fmt: skip
                hole = column.hash == 0
                low[:, place] = high[:, place] = ids
                low[hole, place], high[hole, place] = -np.inf, np.inf
            continue
        assert a.low is not None
        assert a.high is not None
        assert b.low is not None
        assert b.high is not None
        low_a[:, place], high_a[:, place] = a.low + way.shift, a.high + (way.shift + way.reach)
        low_b[:, place], high_b[:, place] = b.low, b.high + way.reach
    return low_a, high_a, low_b, high_b
