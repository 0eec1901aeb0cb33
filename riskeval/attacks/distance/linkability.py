"""Whether a release tells that two records, of holders of different columns, are one person's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from riskeval.attacks.compared import ComparedAttack, ComparedFiles, shown
from riskeval.attacks.distance.files import (
    HONOURED,
    NearnessFiles,
    Progress,
    check_numbers,
    read_nearness,
)
from riskeval.attacks.distance.space import Points
from riskeval.attacks.entry import COMPARED, AttackEntry, run_compared
from riskeval.attacks.neighbours import Neighbours
from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.request import AttackRequest, keys_and_targets, read_request
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.searched import (
    GIOMI,
    MOST_SYNTHETIC,
    Attempt,
    SearchedAttack,
    groups_of,
    in_turn,
    searched_numbers,
    strongest,
)
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join, percent
from synthpop.microdata.statistics.distances import known_ranges

MOST_LINKED = 500
MOST_PAIRS = 6
"""Pairs of sets of columns that are tried."""
SLACK = 1e-12
Sets = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Linkability(SearchedAttack):
    """How often a release tells that the records of two holders are one person's.

    The ways of `table` are pairs of sets of columns; other attributes as in `SearchedAttack`.
    """

    def summary(self) -> str:
        """Say how often the records of two holders are linked."""
        return message(
            "Linkability: of {unit} of the original, whose values of {sets} are held by two "
            "others, the release links {rate}; {beyond}.{notes}",
            unit=message(self.unit), sets=self.way, rate=percent(self.rate, 1),
            beyond=self.beyond(), notes=self.last_sentences(),
        )  # fmt: skip


@same_library
def linkability(
    original: Any,
    synthetic: Any,
    variables: Scenario | Sequence[str] | str | None = None,
    *,
    holders: tuple[Sequence[str], Sequence[str]] | None = None,
    holdout: Any = None,
    household: str | None = None,
    categorical: Sequence[str] | str = (),
    most_records: int = MOST_LINKED,
    most_synthetic: int = MOST_SYNTHETIC,
    confidence: float = 0.95,
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> Linkability:
    """Link the records of two holders, who know different columns of the same persons.

    Each holder looks for the released record that is nearest to a record of the own file. Where
    both find the same one, they take their records for the same person's.

    Parameters
    ----------
    original, synthetic : DataFrame
        The survey and the file made from it (also an object with ``iter_blocks()`` or an iterable
        of frames).
    variables : names of columns of both, or a Scenario
        Numbers and categories (Gower distance); of a Scenario as in `membership`.
    holders : pair of lists of variables, optional
        Columns of the first and of the second holder. Default: a search over at most six ways to
        divide the variables between them.
    holdout : DataFrame, optional
        Real persons who were not in the original: the control. Without it there is no verdict.
    household, categorical
        As in `membership`. Both holders know the size of a household.
    most_records : int
        At most so many records (households) of original and hold-out are linked.
    most_synthetic : int
        At most so many synthetic ones are compared with, drawn at random.
    confidence : float in (0, 1)
        Of all ways together.
    workers, on_event
        As in `membership`.
    seed : int, optional
        Of the draws of records and of the ways.

    Returns
    -------
    Linkability

    Raises
    ------
    InputError
        Missing columns, fewer than two variables, holders who share a column, categories without
        any level in common.

    Notes
    -----
    Giomi et al. (2023), section 5.3, doi:10.56553/popets-2023-0055, with one neighbour. Of records
    that are equally near each holder draws one at random; the success is the probability that both
    draw the same, so that nothing is drawn. Guessing succeeds once in as many attempts as there
    are released records. A missing value is left out of the comparison of a pair.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame(rng.normal(size=(400, 4)), columns=[*"abcd"])
    >>> one, other = people[:200], people[200:]
    >>> linkability(one, one, [*"abcd"], holdout=other, seed=1).rate
    1.0
    """
    faults = Faults("linkability")
    variables, _ = keys_and_targets(original, variables, None)
    request = read_request(
        "linkability", variables, household=household, categorical=categorical, honoured=HONOURED
    )
    check_numbers(faults, confidence, most_records=most_records, most_synthetic=most_synthetic,
                  workers=workers)  # fmt: skip
    asked = _check_holders(faults, request, holders)
    real = {"original": original} | ({} if holdout is None else {"holdout": holdout})
    files = read_nearness(
        faults, request, real, synthetic, least={}, most_synthetic=most_synthetic, seed=seed
    )
    drawn = {role: drawn_rows(len(files.points[role]), most_records,
                              files.streams.at("linkability", role)) for role in real}  # fmt: skip
    ways = [asked] if asked else ways_to_divide(
        request.variables, files.streams.at("linkability", "ways")
    )  # fmt: skip
    groups = {role: None if (all_of := groups_of(files, role)) is None else all_of[rows]
              for role, rows in drawn.items()}  # fmt: skip
    progress = Progress("linkability", len(ways), on_event)
    attempts = in_turn(ways, lambda sets: _attempt(files, drawn, groups, sets), workers, progress)
    return strongest(Linkability, attempts, confidence, files)


def _check_holders(
    faults: Faults, request: AttackRequest, holders: tuple[Sequence[str], Sequence[str]] | None
) -> Sets | None:
    if len(request.variables) < 2:
        faults.add("variables", "are fewer than two", hint="Each holder needs a column.")
    if holders is None:
        return None
    sets = [listed_names(one) for one in holders]
    if len(sets) != 2 or not all(sets):
        faults.add("holders", "are not two lists of columns", hint="Give a pair of lists.")
        return None
    for name in (*sets[0], *sets[1]):
        if name not in request.variables:
            faults.add("holders", f"{name!r} is not among the variables")
    for name in set(sets[0]) & set(sets[1]):
        faults.add("holders", f"{name!r} is a column of both")
    return sets[0], sets[1]


def ways_to_divide(names: Sequence[str], rng: np.random.Generator) -> list[Sets]:
    """Return at most six ways to divide columns between two holders.

    Examples
    --------
    >>> ways_to_divide(["a", "b", "c"], np.random.default_rng(1))
    [(('a',), ('b', 'c')), (('b',), ('a', 'c')), (('c',), ('a', 'b'))]
    >>> len(ways_to_divide([*"abcdef"], np.random.default_rng(1)))
    6
    """
    n = len(names)
    if 2 ** (n - 1) - 1 <= MOST_PAIRS:
        parts = [part for size in range(1, n // 2 + 1) for part in combinations(names, size)]
    else:
        parts = [tuple(names[: n // 2]), tuple(names[::2])]
        while len(parts) < 3 * MOST_PAIRS:
            chosen = set(rng.permutation(n)[: n // 2].tolist())
            parts.append(tuple(name for i, name in enumerate(names) if i in chosen))
    ways: dict[frozenset[tuple[str, ...]], Sets] = {}
    for part in parts:
        sets = part, tuple(name for name in names if name not in part)
        ways.setdefault(frozenset(sets), sets)
    return list(ways.values())[:MOST_PAIRS]


def _attempt(
    files: NearnessFiles, drawn: dict[str, np.ndarray], groups: dict[str, np.ndarray | None],
    sets: Sets,
) -> Attempt:  # fmt: skip
    """Link the drawn records of both files by one pair of sets."""
    success = {role: _linked(files, role, rows, sets) for role, rows in drawn.items()}
    return Attempt(
        message("{first} | {second}", first=join(sets[0]), second=join(sets[1])),
        success["original"], success.get("holdout"), 1 / len(files.points["synthetic"]),
        (groups["original"], groups.get("holdout")),
    )  # fmt: skip


def _linked(files: NearnessFiles, role: str, rows: np.ndarray, sets: Sets) -> np.ndarray:
    """Probability that both holders draw the same released record, for each of some records."""
    released, real = files.points["synthetic"], files.points[role]
    ranges = known_ranges(np.concatenate([file.numbers for file in files.points.values()]))
    found = [_nearest(released, real, rows, ranges, files.weights, names) for names in sets]
    n = len(released)
    of_first, of_second = (record * n + near for record, near in found)
    both = np.intersect1d(of_first, of_second, assume_unique=True)
    n_first, n_second, n_both = (
        np.bincount(record, minlength=len(rows))
        for record in (*(record for record, _ in found), both // n)
    )
    return n_both / (n_first * n_second)


def _nearest(
    released: Points, real: Points, rows: np.ndarray, ranges: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray], names: Sequence[str],
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Pairs of a record of one holder and a released one that is nearest by that one's columns."""
    kept = [np.array([not name or name in names for name in of], dtype=bool)
            for of in (released.number_names, released.code_names)]  # fmt: skip
    neighbours = Neighbours(
        released.numbers[:, kept[0]], released.codes[:, kept[1]], ranges[kept[0]],
        (weights[0][kept[0]], weights[1][kept[1]]),
    )  # fmt: skip
    numbers, codes = real.numbers[rows][:, kept[0]], real.codes[rows][:, kept[1]]
    return neighbours.ties(numbers, codes, SLACK)


LINKABILITY = attribution(
    "linkability",
    "Linkability",
    "probability that the release tells two holders of different columns that their records are "
    "one person's; by the pair of sets of columns that tells most beyond strangers",
    GIOMI,
    "probability",
)


def linkability_numbers(result: SearchedAttack) -> list[AttackNumber]:
    """Share that is linked beside that of strangers."""
    return searched_numbers(LINKABILITY, result)


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    result = linkability(
        files.original, files.release, files.variables, holdout=files.holdout,
        seed=files.drawn_seed("linkability"),
    )  # fmt: skip
    return [shown(LINKABILITY, linkability_numbers(result)[0], result.n_attacks, files.note,
                  result.way)]  # fmt: skip


ATTACK = AttackEntry(
    name="linkability",
    rank=56,
    title="Linkability",
    question="Does the file tell two holders of different columns whom they have in common?",
    story="is two: each has some columns of the same persons, and both look for the same record",
    blind_spots=(
        "persons whom half of the columns do not tell from others; pairs of sets of columns "
        "beyond the six that are tried"
    ),
    function=linkability,
    target="none",
    honours=COMPARED,
    run=run_compared(linkability),
    numbers=linkability_numbers,
    needs_holdout=True,
    blind_to=("holes",),  # half of the columns are not enough beside them
    compared=ComparedAttack((LINKABILITY,), _compared),
)
