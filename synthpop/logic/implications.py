"""Which states of two columns exclude each other, and few rules that say so.

1. A pair of states that nobody has, although chance would give it to many, is excluded.
2. What follows from two others through a third column is dropped: a transitive reduction.
3. Of what is left, the rules that exclude most are taken first, each as wide as it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthpop.logic.states import States

ERROR = 0.01  # probability of one rule by chance in a file without any
LEAST_EXPECTED = 4.0  # persons; a pair of rarer states only joins others
WHOLE_ROW = 0.9  # of what a state's partners without anybody let expect
NEARLY = 0.02  # of the expected persons, in an excluded pair with exceptions
MOST_RULES = 60
YEARS = 10  # of a class of ages inside which two columns have nothing to do with each other
STEPS = 4  # a factor e of the persons that a pair excludes
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Excluded:
    """Pairs of states that exclude each other, by pair of columns (i < j)."""

    cells: Mapping[Pair, np.ndarray]  # dict of bool arrays, shape (states of i, states of j)
    expected: Mapping[Pair, np.ndarray]  # persons that independent columns would give


@dataclass(frozen=True, slots=True)
class Implication:
    """A rule between two columns, as text, and how many persons chance would let break it."""

    text: str
    columns: tuple[str, str]
    expected: float


def excluded_states(
    columns: Sequence[States], weight: float, *, tolerance: float = 0.0
) -> Excluded:
    """Return the pairs of states that nobody, or nearly nobody, has.

    Chance gives what independent columns would, also within classes of age where age is known.

    weight: independent persons for one row, as members of a household are alike; at most 1
    tolerance: persons over those expected, up to which a pair with some counts as excluded
    """
    pairs = [(i, j) for i in range(len(columns)) for j in range(i + 1, len(columns))]
    tests = sum(columns[i].n * columns[j].n for i, j in pairs)
    least = np.log(max(tests, 1) / ERROR) / weight
    cells, expected = {}, {}
    ages = next((c.codes // YEARS for c in columns if c.kind == "age"), np.zeros(1, np.int64))
    n_ages = int(ages.max()) + 1
    for i, j in pairs:
        a, b = columns[i], columns[j]
        counts = np.bincount(a.codes * b.n + b.codes, minlength=a.n * b.n).reshape(a.n, b.n)
        chance = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
        if "age" not in (a.kind, b.kind):
            of_a, of_b = (
                np.bincount(c.codes * n_ages + ages, minlength=c.n * n_ages).reshape(c.n, n_ages)
                for c in (a, b)
            )
            chance = np.minimum(chance, of_a / np.maximum(of_a.sum(axis=0), 1) @ of_b.T)
        if a.kind == "age":
            found = _beyond(counts, chance, tolerance, least)
        elif b.kind == "age":
            found = _beyond(counts.T, chance.T, tolerance, least).T
        else:
            few = counts <= tolerance * chance
            found = _significant(few, chance, least)
            found |= _significant(few.T, chance.T, least).T
        if found.any():
            cells[i, j], expected[i, j] = found, chance
    return Excluded(cells, expected)


def _beyond(counts: np.ndarray, chance: np.ndarray, tolerance: float, least: float) -> np.ndarray:
    """Return which ages, in rows, lie below the first or above the last of a state.

    Where an age is left with one state, that is the only one, also beside rare others.
    """
    below = _up_to_last(counts, chance, tolerance)
    above = _up_to_last(counts[::-1], chance[::-1], tolerance)[::-1]
    found: np.ndarray = below & ((chance * below).sum(axis=0) >= least)
    found |= above & ((chance * above).sum(axis=0) >= least)
    few = (counts <= tolerance * chance) | found
    single = (few.sum(axis=1) == few.shape[1] - 1) & found.any(axis=1)
    mass, all_mass = ((chance * cells).sum(axis=1) for cells in (found, few))
    return np.where((single & (mass >= WHOLE_ROW * all_mass))[:, None], few, found)


def _up_to_last(counts: np.ndarray, chance: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the rows up to the last one to which nobody, or nearly nobody, has the state."""
    nobody = np.cumsum(counts, axis=0) <= tolerance * np.cumsum(chance, axis=0)
    return np.logical_or.accumulate(nobody[::-1], axis=0)[::-1]


def _significant(few: np.ndarray, chance: np.ndarray, least: float) -> np.ndarray:
    """Return pairs that are excluded alone or together with the others of their row."""
    counted = few & (chance >= LEAST_EXPECTED)
    together = (chance * counted).sum(axis=1) >= least
    whole = (chance * counted).sum(axis=1) >= WHOLE_ROW * (chance * few).sum(axis=1)
    found: np.ndarray = counted & together[:, None]
    found |= few & (together & whole)[:, None]
    return found


def reduced(excluded: Excluded) -> dict[Pair, np.ndarray]:
    """Return the excluded pairs that do not follow from others, those that exclude most kept.

    a excludes b if each state of a third column is excluded by a or by b. Of pairs that exclude
    about as many, those of the first columns are kept.
    """
    follows: dict[Pair, np.ndarray] = {}
    partners: dict[int, set[int]] = {}

    def add(i: int, j: int, found: np.ndarray) -> None:
        todo = [(i, j, found)]
        while todo:
            i, j, found = todo.pop()
            before = follows.get((i, j))
            new = found if before is None else before | found
            if before is not None and np.array_equal(new, before):
                continue
            follows[i, j], follows[j, i] = new, new.T
            partners.setdefault(i, set()).add(j)
            partners.setdefault(j, set()).add(i)
            for first, middle in ((i, j), (j, i)):
                for third in partners[middle] - {first}:
                    open_ways = _ways(follows[first, middle], follows[middle, third])
                    if not open_ways.all():
                        todo.append((first, third, ~open_ways))

    mass = {p: float((excluded.expected[p] * found).sum()) for p, found in excluded.cells.items()}
    kept = {}
    for pair in sorted(mass, key=lambda pair: (-round(STEPS * np.log(mass[pair])), pair)):
        found = excluded.cells[pair]
        new = found & ~follows[pair] if pair in follows else found
        if new.any():
            kept[pair] = new
            add(*pair, found)
    return kept


def _ways(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether two states have a state between them that neither excludes."""
    return np.asarray((~first).astype(np.float32) @ (~second).astype(np.float32) > 0)


def implications(
    columns: Sequence[States], excluded: Excluded, left: Mapping[Pair, np.ndarray], least: float
) -> list[Implication]:
    """Return few rules that exclude what is left, those that exclude most first.

    least: persons that chance must let break a rule, beyond those of the rules before it
    """
    blocks = [(i, j, a, b) for (i, j) in left for a, b in _blocks(excluded.cells[i, j])]
    todo = {pair: found.copy() for pair, found in left.items()}
    chance = excluded.expected

    def gain(block: tuple[int, int, np.ndarray, np.ndarray]) -> float:
        i, j, a, b = block
        return float(chance[i, j][np.ix_(a, b)][todo[i, j][np.ix_(a, b)]].sum())

    rules: list[Implication] = []
    gains = [gain(block) for block in blocks]
    while blocks and len(rules) < MOST_RULES:
        best = int(np.argmax(gains))
        gains[best] = gain(blocks[best])
        if gains[best] < max(gains):  # others are ahead, now that rules have been taken
            continue
        if gains[best] < least:
            break
        i, j, a, b = blocks[best]
        text = _rule_text(columns[i], columns[j], excluded.cells[i, j], a, b)
        if text is not None:
            rules.append(Implication(text, (columns[i].name, columns[j].name), gains[best]))
            todo[i, j][np.ix_(a, b)] = False
            if " if and only if " in text:
                todo[i, j][np.ix_(~a, ~b)] = False
        gains[best] = 0.0
    return rules


def _blocks(found: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield states of the first and of the second column that exclude each other throughout."""
    for table, turned in ((found, False), (found.T, True)):
        for partners in np.unique(table[table.any(axis=1)], axis=0):
            rows = (table | ~partners).all(axis=1)
            yield (partners, rows) if turned else (rows, partners)


def _rule_text(
    first: States, second: States, found: np.ndarray, a: np.ndarray, b: np.ndarray
) -> str | None:
    """Return the shortest wording of "who is in a is not in b"; None where all are too long."""
    texts = []
    if bool(found[np.ix_(~a, ~b)].all()):
        pairs = [(first.condition(x, "sure"), second.condition(y, "sure"))
                 for x, y in ((a, ~b), (~a, b))]  # fmt: skip
        texts = [f"{x} if and only if {y}" for x, y in pairs if x is not None and y is not None]
    if not texts:
        for who, demanded, scope, rest in ((first, second, a, ~b), (second, first, b, ~a)):
            of, then = who.condition(scope, "scope"), demanded.condition(rest, "demand")
            if of is not None and then is not None:
                texts.append(f"{then} if {of}")
    return min(texts, key=len) if texts else None
