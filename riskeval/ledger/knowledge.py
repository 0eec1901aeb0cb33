"""What is known of each record of a release once the earlier ones are laid beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, tabulate
from riskeval.ledger.columns import Readable, hash_numbers, row_hash
from riskeval.ledger.linking import AGREES, FEW_PAIRS, SHARED, Links, link

SURE = 0.95
"""Probability from which on a value that votes tell counts as known."""
MOST_LIMITS = 60


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """An earlier release beside the new one."""

    name: str
    columns: Mapping[str, Readable]
    links: Links
    wave: str = ""
    synthetic: bool = False
    numbers: Mapping[str, Readable] = field(default_factory=dict)  # of households, persons, records
    through: tuple[str, ...] = ()  # earlier releases that made the links possible


class Told(NamedTuple):
    """What the earlier releases add to a key column."""

    column: str
    release: str
    kind: str  # "shown there", "hidden there", "classes", "votes", "history", "other"
    n: int  # cells
    value: float = float("nan")  # of votes: probability of the values


class _Values(NamedTuple):
    """A column of a release at the rows of the new one."""

    kind: str
    hash: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The key columns of all releases together, and what each release told."""

    codes: dict[str, np.ndarray]  # int64 arrays, shape (n,): values by column, -1 for unknown
    told: tuple[Told, ...]

    def table(self) -> KeyTable:
        """Return the distinct keys."""
        return table_of(self.codes)


def table_of(codes: Mapping[str, np.ndarray]) -> KeyTable:
    """Return the distinct rows of columns of codes."""
    frame = pd.DataFrame(
        {name: pd.Categorical.from_codes(values, pd.RangeIndex(int(values.max(initial=-1)) + 1))
         for name, values in codes.items()}
    )  # fmt: skip
    return tabulate(frame, list(frame.columns))


def below(codes: Mapping[str, np.ndarray], k: int, n: int) -> np.ndarray:
    """Return which of n records fewer than k share; a missing value matches everything."""
    if not codes:
        return np.full(n, n < k)
    table = table_of(codes)
    return np.asarray(match_counts(table)[0][table.cell] < k)


def certain(codes: Mapping[str, np.ndarray], sensitive: np.ndarray, k: int) -> np.ndarray:
    """Return which records share their keys with k or more, all of one sensitive value (codes)."""
    if not codes:
        return np.zeros(len(sensitive), dtype=bool)
    cell = table_of(codes).cell.astype(np.int64)
    n = int(cell.max(initial=0)) + 1
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1, dtype=np.int64)
    np.minimum.at(low, cell, sensitive)
    np.maximum.at(high, cell, sensitive)
    alone = (low == high) & (low >= 0) & (np.bincount(cell, minlength=n) >= k)
    return np.asarray(alone[cell])


def code(hashes: np.ndarray) -> np.ndarray:
    """Return codes of hashes, -1 for a missing value."""
    codes, uniques = pd.factorize(hashes)
    codes = codes.astype(np.int64)
    hole = np.flatnonzero(uniques == 0)
    return np.where(codes == hole[0], -1, codes) if len(hole) else codes


def at_rows(column: Readable, rows: np.ndarray, shift: float = 0.0) -> _Values:
    """Return a column at rows; -1 gives a missing value.

    shift: what is added to numbers, as the years between two waves to ages
    """
    known = rows >= 0
    if known.all() and not shift:
        low, high = (None if end is None else end[rows] for end in (column.low, column.high))
        return _Values(column.kind, column.hash[rows], low, high)
    hashes = np.where(known, column.hash[rows], np.uint64(0))
    if column.low is None or column.high is None:
        return _Values(column.kind, hashes, None, None)
    low = np.where(known, column.low[rows] + shift, -np.inf)
    high = np.where(known, column.high[rows] + shift, np.inf)
    if shift and column.kind == "numbers":
        hashes = np.where(hashes == 0, hashes, hash_numbers(low))
    return _Values(column.kind, hashes, low, high)


def together(
    new: Mapping[str, Readable], keys: Sequence[str], earlier: Sequence[EarlierRelease], n: int,
    wave: str = "",
) -> Knowledge:  # fmt: skip
    """Lay the releases together for the key columns of all of them.

    wave: the time to which the new release refers; values of other times are no noise, and no votes
    """
    everything = np.arange(n)
    codes: dict[str, np.ndarray] = {}
    told: list[Told] = []
    for name in keys:
        own = at_rows(new[name], everything) if name in new else None
        others = [
            (one.name, one.wave, at_rows(one.columns[name], _tellers(one, name), _shift(one, name)))
            for one in earlier if name in one.columns and not one.synthetic
        ]  # fmt: skip
        others = [other for other in others if (other[2].hash != 0).any()]
        if own is None and others:
            own = others[0][2]
            told.append(Told(name, others[0][0], "other", int((own.hash != 0).sum())))
            others = others[1:]
        if own is not None:
            codes |= _merged(name, own, others, told, wave)
    return Knowledge(codes, tuple(told))


def _tellers(one: EarlierRelease, name: str) -> np.ndarray:
    """Return the earlier record that has the value of a column for each record, -1 for none."""
    return one.links.teller.get(name, one.links.record)


def _shift(one: EarlierRelease, name: str) -> float:
    way = one.links.ways.get(name)
    return 0.0 if way is None or way.kind != "near" else way.shift


def _merged(
    name: str, own: _Values, others: Sequence[tuple[str, str, _Values]], told: list[Told], wave: str
) -> dict[str, np.ndarray]:
    """Return the columns that a key becomes, and note what was told."""
    codes: dict[str, np.ndarray] = {}
    ranges, votes = [own], [own.hash]
    hashes = own.hash.copy()
    crossing = False
    for release, of_wave, other in others:
        both = (own.hash != 0) & (other.hash != 0)
        same = float((own.hash == other.hash)[both].mean()) if both.any() else 1.0
        numbers = own.low is not None and other.low is not None
        if same < AGREES and numbers and "classes" in (own.kind, other.kind):
            assert own.low is not None
            assert own.high is not None
            assert other.low is not None
            assert other.high is not None
            meets = (own.low <= other.high) & (other.low <= own.high)
            if meets[both].mean() >= SHARED:
                ranges.append(other)
                narrower = both & meets & ((other.low > own.low) | (other.high < own.high))
                told.append(Told(name, release, "classes", int(narrower.sum())))
                hidden = (own.hash == 0) & (other.hash != 0)
                told.append(Told(name, release, "shown there", int(hidden.sum())))
                crossing = True
                continue
        if same >= AGREES or both.sum() < FEW_PAIRS:
            told.append(
                Told(name, release, "shown there", int(((hashes == 0) & (other.hash != 0)).sum()))
            )
            told.append(
                Told(
                    name, release, "hidden there", int(((own.hash != 0) & (other.hash == 0)).sum())
                )
            )
            hashes = np.where(hashes == 0, other.hash, hashes)
            ranges.append(other)
        elif of_wave != wave:  # what has changed since tells more than one value of it
            changed = int(((own.hash != other.hash) & both).sum())
            told.append(Told(name, release, "history", changed))
            codes[f"{name} ({release})"] = code(other.hash)
        elif numbers:
            pass  # noise is measured for all amounts, keys or not
        elif np.isin(other.hash[both], pd.unique(own.hash)).mean() >= SHARED:
            votes.append(other.hash)
        else:
            told.append(Told(name, release, "other", int((other.hash != 0).sum())))
            codes[f"{name} ({release})"] = code(other.hash)
    if len(votes) > 1:
        hashes, sure, probability = by_votes(votes)
        told.append(Told(name, "", "votes", sure, probability))
    if crossing:
        return codes | _of_ranges(name, ranges)
    codes[name] = code(hashes)
    return codes


def by_votes(votes: Sequence[np.ndarray]) -> tuple[np.ndarray, int, float]:
    """Return the likeliest value where independent changes, as PRAM and swaps, left several.

    Each release shows the true value with a probability p, else any other one alike. From the
    agreement r of two releases with L values, r = p^2 + (1 - p)^2 / (L - 1). Values that the
    releases show with a posterior probability of `SURE` replace those of the first.

    votes: hashes, shape (n,), of each release; 0 for a missing value

    Returns the values, the number of sure ones, and the mean probability of the likeliest value.
    """
    levels = max(len(np.unique(np.concatenate([pd.unique(one) for one in votes]))), 2)
    levels -= any((one == 0).any() for one in votes)
    agreements = []
    for place, one in enumerate(votes):
        for other in votes[place + 1 :]:
            both = (one != 0) & (other != 0)
            agreements.append(float((one == other)[both].mean()) if both.any() else 1.0)
    stays = keep_probability(float(np.mean(agreements)), levels)
    odds = stays * (levels - 1) / max(1 - stays, 1e-9)
    n_votes = np.zeros((len(votes), len(votes[0])))
    for place, one in enumerate(votes):
        for other in votes:
            n_votes[place] += (one == other) & (one != 0)
    first_of = np.ones_like(n_votes, dtype=bool)
    for place, one in enumerate(votes):
        first_of[place] = one != 0
        for other in votes[:place]:
            first_of[place] &= one != other
    weight = np.where(first_of, odds**n_votes, 0.0)
    total = weight.sum(axis=0) + np.maximum(levels - first_of.sum(axis=0), 0)
    best = weight.argmax(axis=0)
    columns = np.arange(len(best))
    probability = weight[best, columns] / total
    values = np.stack(votes)[best, columns]
    known = np.where((probability >= SURE) | (votes[0] == 0), values, votes[0])
    return known, int((probability >= SURE).sum()), float(probability.mean())


def keep_probability(agreement: float, levels: int) -> float:
    """Solve r = p^2 + (1 - p)^2 / (L - 1) for the larger p.

    Examples
    --------
    >>> round(keep_probability(0.8**2 + 0.2**2 / 3, 4), 6)
    0.8
    """
    m = levels - 1
    root = max(1 - (1 + m) * (1 - m * agreement) if m else 0.0, 0.0)
    return float(min((1 + np.sqrt(root)) / (1 + m), 1.0))


def _of_ranges(name: str, ranges: Sequence[_Values]) -> dict[str, np.ndarray]:
    """Return a column for the ranges in which values lie once all classes are laid together.

    Where some ranges overlap others, as after suppression, a column for each limit tells whether a
    value lies below it: two ranges then match exactly where they meet.
    """
    low, high = ranges[0].low, ranges[0].high
    assert low is not None
    assert high is not None
    low, high = low.copy(), high.copy()
    for one in ranges[1:]:
        assert one.low is not None
        assert one.high is not None
        meets = (one.low <= high) & (low <= one.high)  # else one of them was changed
        low = np.where(meets, np.maximum(low, one.low), low)
        high = np.where(meets, np.minimum(high, one.high), high)
    unknown = np.isneginf(low) & np.isposinf(high)
    codes = code(
        np.where(unknown, 0, row_hash([low.view(np.uint64), high.view(np.uint64)], len(low)))
    )
    _, rows = np.unique(codes[~unknown], return_index=True)
    ends = np.column_stack([low[~unknown][rows], high[~unknown][rows]])
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    limits = np.unique(ends[:, 0])[1:]
    apart = bool((ends[1:, 0] > ends[:-1, 1]).all())
    if apart or len(limits) > MOST_LIMITS:
        return {name: codes}
    columns = {}
    for limit in limits.tolist():
        side = np.where(high < limit, 0, np.where(low >= limit, 1, -1))
        columns[f"{name} from {limit:g}"] = side.astype(np.int64)
    return columns


def linked_to(
    new: Mapping[str, Readable], name: str, columns: Mapping[str, Readable],
    homes: tuple[np.ndarray, np.ndarray] | None, *, wave: str = "", synthetic: bool = False,
    k: int = 3, numbers: Mapping[str, Readable],
) -> EarlierRelease:  # fmt: skip
    """Link a new release to an earlier one."""
    links = link(columns, new, homes, k)
    return EarlierRelease(name, columns, links, wave, synthetic, numbers)
