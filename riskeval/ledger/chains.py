"""Links to an earlier release through a third one: it shares columns with both, they share none.

1. A release that is linked lends its columns to the records that are linked to it.
2. With them the records are linked to releases to which hardly any was linked so far, as if the new
   release had these columns itself; numbers of persons count where both earlier releases have the
   same ones.
3. What is linked now lends its columns in turn, until nothing more is linked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from riskeval.ledger.columns import Readable
from riskeval.ledger.knowledge import EarlierRelease
from riskeval.ledger.linking import FEW_PAIRS, MOSTLY, Links, link
from riskeval.ledger.traces import lasting

Columns = Mapping[str, Readable]


def linked_through(new: Columns, earlier: Sequence[EarlierRelease], k: int) -> list[EarlierRelease]:
    """Return the earlier releases with the links that other earlier releases make possible.

    k: a record with fewer candidates counts as linked
    """
    found = list(earlier)
    n = len(next(iter(new.values())).hash) if new else 0
    once_more = bool(n)
    while once_more:
        once_more = False
        for place, one in enumerate(found):
            if one.synthetic or one.links.n_linked >= MOSTLY * n:
                continue
            better = _best(new, one, [other for other in found if other is not one], k)
            if better is not None:
                found[place], once_more = better, True
    return found


def _best(
    new: Columns, one: EarlierRelease, others: Sequence[EarlierRelease], k: int
) -> EarlierRelease | None:
    """Return a release with more links than before, through the others by themselves or all."""
    lenders = []
    for other in others:
        lent = {} if other.synthetic else _lent(new, one, other)
        if lent:
            lenders.append((other, lent))
    best: EarlierRelease | None = None
    ways = [[lender] for lender in lenders] + ([lenders] if len(lenders) > 1 else [])
    for way in ways:
        linked = np.logical_and.reduce([other.links.record >= 0 for other, _ in way])
        rows = np.flatnonzero(linked)
        if len(rows) < FEW_PAIRS:
            continue
        columns = {name: at(column, rows) for name, column in new.items()}
        for other, lent in way:
            columns |= {name: at(column, other.links.record[rows]) for name, column in lent.items()}
        links = _spread(link({**one.columns, **one.numbers}, columns, None, k), rows, len(linked))
        if links.n_linked > (best or one).links.n_linked:
            names = tuple(other.name for other, _ in way)
            best = replace(one, links=links, through=names)
    return best


def _lent(new: Columns, one: EarlierRelease, other: EarlierRelease) -> dict[str, Readable]:
    """Return the columns that another release has in common with one, and the new one has not."""
    lent = {
        name: column for name, column in other.columns.items()
        if name in one.columns and name not in new
    }  # fmt: skip
    numbers = [name for name in other.numbers if name in one.numbers and name not in new]
    first, second = ({**side.columns, **side.numbers} for side in (one, other))
    lent |= {name: other.numbers[name] for name in lasting(first, second, numbers)}
    return lent


def at(column: Readable, rows: np.ndarray) -> Readable:
    """Return a column at some records."""
    low, high = (None if end is None else end[rows] for end in (column.low, column.high))
    return Readable(column.kind, column.hash[rows], low, high, column.shown)


def _spread(links: Links, rows: np.ndarray, n: int) -> Links:
    """Return links of some records as links of all n."""

    def of_all(values: np.ndarray, empty: int) -> np.ndarray:
        result = np.full(n, empty, dtype=values.dtype)
        result[rows] = values
        return result

    guessed = None if links.guessed is None else of_all(links.guessed, 0)
    return replace(
        links, record=of_all(links.record, -1), n_candidates=of_all(links.n_candidates, 0),
        teller={name: of_all(values, -1) for name, values in links.teller.items()},
        guessed=guessed,
    )  # fmt: skip
