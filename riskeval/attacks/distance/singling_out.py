"""Whether conditions that single out a released record single out a person of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.request import keys_and_targets, read_request
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
from riskeval.kernels.predicates import AT_LEAST, AT_MOST, EQUAL, MISSING
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.text import count, percent, plural

MOST_PREDICATES = 1_000
SIZES = (1, 2, 3, 4)
"""Numbers of columns of the predicates that are tried."""
BATCHES, CANDIDATES = 8, 4
"""Draws of predicates, and candidates in each for every one that is wanted."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SinglingOut(SearchedAttack):
    """How often conditions that single out a released record single out a real person.

    The ways of `table` are numbers of columns; other attributes as in `SearchedAttack`.
    """

    def summary(self) -> str:
        """Say how often a predicate singles somebody out."""
        return message(
            "Singling out: of {n} on {columns}, which hold for one record of the release, {rate} "
            "hold for one of the {unit} of the original; {beyond}.{notes}",
            n=plural(self.n_attacks, "predicate"), columns=self.way, rate=percent(self.rate, 1),
            unit=message(self.unit), beyond=self.beyond(), notes=self.last_sentences(),
        )  # fmt: skip


@same_library
def singling_out(
    original: Any,
    synthetic: Any,
    variables: Scenario | Sequence[str] | str | None = None,
    *,
    n_columns: Sequence[int] | int = SIZES,
    n_predicates: int = MOST_PREDICATES,
    holdout: Any = None,
    household: str | None = None,
    categorical: Sequence[str] | str = (),
    most_records: int = 10_000,
    most_synthetic: int = MOST_SYNTHETIC,
    confidence: float = 0.95,
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> SinglingOut:
    """Single persons out by conditions that hold for exactly one released record.

    Parameters
    ----------
    original, synthetic : DataFrame
        The survey and the file made from it (also an object with ``iter_blocks()`` or an iterable
        of frames).
    variables : names of columns of both, or a Scenario
        Of a Scenario as in `membership`.
    n_columns : int or list of int
        Numbers of columns of the predicates. Each is a way to attack; all are tried.
    n_predicates : int
        Predicates of each way, at most: a release may not have as many.
    holdout : DataFrame, optional
        Real persons who were not in the original: the control. Without it there is no verdict.
    household, categorical
        As in `membership`; households are singled out by their profiles.
    most_records : int
        Predicates are tried on as many records of the original as of the hold-out, at most so
        many, drawn at random: more persons are harder to single out.
    most_synthetic : int
        At most so many synthetic records make the predicates, drawn at random.
    confidence : float in (0, 1)
        Of all ways together.
    workers, on_event
        As in `membership`.
    seed : int, optional
        Of the draws of records and predicates.

    Returns
    -------
    SinglingOut

    Raises
    ------
    InputError
        Missing columns, values out of range, a release in which no predicate holds for one record
        alone, categories without any level in common.

    Notes
    -----
    Giomi et al. (2023), section 5.2, doi:10.56553/popets-2023-0055. With one column: a value that
    one released record has, the smallest, the largest. With several: those of a released record in
    columns drawn at random, as equal for a category, at least for a number above the median, at
    most below it. Guessing draws each value from the range or the levels of its column. That a
    value is missing is a condition like others. Predicates on one person or household succeed
    together: the intervals take them as one group.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame(rng.normal(size=(400, 4)), columns=[*"abcd"])
    >>> one, other = people[:200], people[200:]
    >>> singling_out(one, one, [*"abcd"], holdout=other, seed=1).rate
    1.0
    """
    faults = Faults("singling_out")
    variables, _ = keys_and_targets(original, variables, None)
    request = read_request(
        "singling_out", variables, household=household, categorical=categorical, honoured=HONOURED
    )
    sizes = [n_columns] if isinstance(n_columns, int) else list(n_columns)
    for size in sizes:
        check(faults, {"n_columns": Whole(1)}, {"n_columns": size})
    check_numbers(faults, confidence, most_records=most_records, most_synthetic=most_synthetic,
                  n_predicates=n_predicates, workers=workers)  # fmt: skip
    real = {"original": original} | ({} if holdout is None else {"holdout": holdout})
    files = read_nearness(
        faults, request, real, synthetic, least={}, most_synthetic=most_synthetic, seed=seed
    )
    fewest = min(most_records, *(len(files.points[role]) for role in real))
    targets = [Targets.of(files, role, fewest) for role in real]
    released = _matrix(files.points["synthetic"])
    sizes = [size for size in dict.fromkeys(sizes) if size <= released.shape[1]]
    n_numbers = files.points["synthetic"].numbers.shape[1]

    def attempt(size: int) -> Attempt | None:
        rng = files.streams.at("singling_out", size)
        predicates = isolating(released, n_numbers, size, n_predicates, rng)
        return (
            None
            if predicates is None
            else _tried(predicates, predicates.guessed(released, n_numbers, rng), targets)
        )

    progress = Progress("singling_out", len(sizes), on_event)
    attempts = in_turn(sizes, attempt, workers, progress)
    if not attempts:
        what = "has no record that conditions on these columns hold for alone"
        raise InputError.of("singling_out", "synthetic", what)
    notes = [message("predicates are tried on {n} of each file", n=count(fewest))] if any(
        fewest < len(files.points[role]) for role in real) else []  # fmt: skip
    return strongest(SinglingOut, attempts, confidence, files, notes)


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Records of a file on which predicates are tried."""

    values: np.ndarray  # float64, shape (n, q): NaN is missing
    groups: np.ndarray  # int64, shape (n,): records that are singled out together

    @classmethod
    def of(cls, files: NearnessFiles, role: str, most: int) -> Targets:
        """Draw records of a file."""
        points = files.points[role]
        rows = drawn_rows(len(points), most, files.streams.at("singling_out", role))
        groups = groups_of(files, role)
        return cls(_matrix(points)[rows], rows if groups is None else groups[rows])


def _matrix(points: Points) -> np.ndarray:
    """Numbers and codes of records as one matrix; NaN is missing."""
    codes = np.where(points.codes < 0, np.nan, points.codes.astype(np.float64))
    return np.ascontiguousarray(np.column_stack([points.numbers, codes]))


@dataclass(frozen=True, slots=True, eq=False)
class Predicates:
    """Conditions on columns: one predicate a row."""

    columns: np.ndarray  # int64, shape (p, s)
    operators: np.ndarray  # int64, shape (p, s)
    bounds: np.ndarray  # float64, shape (p, s)

    def isolated(self, values: np.ndarray) -> np.ndarray:
        """Row of the record that each predicate singles out of a file; -1 for none."""
        from riskeval.kernels.predicates import isolated_rows

        return np.asarray(isolated_rows(values, self.columns, self.operators, self.bounds))

    def part(self, rows: np.ndarray) -> Predicates:
        """Some of the predicates."""
        return Predicates(self.columns[rows], self.operators[rows], self.bounds[rows])

    def guessed(self, released: np.ndarray, n_numbers: int, rng: np.random.Generator) -> Predicates:
        """Return the same columns and operators with values drawn without the records.

        A number is drawn from the range of its column, a category from its levels; as many values
        are missing as there are in the release.
        """
        rows = rng.integers(0, len(released), self.columns.shape)
        absent = np.isnan(released[rows, self.columns])
        bounds = np.full(self.columns.shape, np.nan)
        for c in np.unique(self.columns):
            known = released[~np.isnan(released[:, c]), c]
            here = (self.columns == c) & ~absent
            if c < n_numbers:
                drawn = rng.uniform(known.min(), known.max(), here.sum()) if len(known) else 0.0
                bounds[here] = np.round(drawn) if (known == np.round(known)).all() else drawn
            else:
                bounds[here] = rng.choice(np.unique(known), here.sum())
        operators = np.where(self.operators == MISSING, EQUAL, self.operators)
        return Predicates(self.columns, np.where(absent, MISSING, operators), bounds)


def isolating(
    released: np.ndarray, n_numbers: int, size: int, most: int, rng: np.random.Generator
) -> Predicates | None:
    """Return predicates that single out a released record, each once; None where there are none.

    released: float64, shape (m, q); the first `n_numbers` columns are numbers, the others codes
    """
    if size == 1:
        candidates = _of_one_column(released, n_numbers)
        if candidates is None:
            return None
        kept = candidates.part(rng.permutation(len(candidates.columns))[:most])
    else:
        found: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        for _ in range(BATCHES):
            batch = _of_records(released, n_numbers, size, CANDIDATES * most, rng)
            for row in np.flatnonzero(batch.isolated(released) >= 0):
                parts = batch.columns[row], batch.operators[row], batch.bounds[row]
                found.setdefault(b"".join(part.tobytes() for part in parts), parts)
            if len(found) >= most:
                break
        if not found:
            return None
        columns, operators, bounds = (np.array(part) for part in
                                      zip(*list(found.values())[:most], strict=True))  # fmt: skip
        kept = Predicates(columns, operators, bounds)
    return kept if len(kept.columns) else None


def _of_one_column(released: np.ndarray, n_numbers: int) -> Predicates | None:
    """Values, ends of numbers, and that a value is missing, where one record alone is so."""
    conditions = []
    for c in range(released.shape[1]):
        known = released[~np.isnan(released[:, c]), c]
        values, counts = np.unique(known, return_counts=True)
        conditions += [(c, EQUAL, value) for value in values[counts == 1]]
        if c < n_numbers and len(values):
            ends = (AT_MOST, 0), (AT_LEAST, -1)
            conditions += [(c, kind, values[end]) for kind, end in ends if counts[end] == 1]
        if len(released) - len(known) == 1:
            conditions.append((c, MISSING, np.nan))
    if not conditions:
        return None
    columns, operators, bounds = zip(*conditions, strict=True)
    return Predicates(
        np.array(columns)[:, None], np.array(operators)[:, None],
        np.array(bounds, dtype=np.float64)[:, None],
    )  # fmt: skip


def _of_records(
    released: np.ndarray, n_numbers: int, size: int, n: int, rng: np.random.Generator
) -> Predicates:
    """Conditions that released records meet, in columns drawn at random, in their order."""
    columns = np.sort(rng.random((n, released.shape[1])).argsort(axis=1)[:, :size], axis=1)
    bounds = released[rng.integers(0, len(released), n)[:, None], columns]
    medians = np.array([np.median(known) if len(known := column[~np.isnan(column)]) else 0.0
                        for column in released.T])  # fmt: skip
    tails = np.where(bounds > medians[columns], AT_LEAST, AT_MOST)
    operators = np.where(columns < n_numbers, tails, EQUAL)
    return Predicates(columns, np.where(np.isnan(bounds), MISSING, operators), bounds)


def _tried(predicates: Predicates, guessed: Predicates, targets: Sequence[Targets]) -> Attempt:
    """Try predicates on both files; those that single out persons of one group are one group."""
    success, groups = [], []
    for target in targets:
        rows = predicates.isolated(target.values)
        alone = rows >= 0
        # predicates that fail are groups of their own, behind those of persons
        own = int(target.groups.max(initial=-1)) + 1 + np.arange(len(rows))
        success.append(alone.astype(np.float64))
        groups.append(np.where(alone, target.groups[rows], own))
    naive = guessed.isolated(targets[0].values) >= 0
    size = predicates.columns.shape[1]
    return Attempt(
        plural(size, "column"), success[0], success[1] if len(success) > 1 else None,
        float(naive.mean()), (groups[0], groups[1] if len(groups) > 1 else None),
    )  # fmt: skip


SINGLED = attribution(
    "singling_out",
    "Singling out",
    "share of the conditions that hold for one record of the release which hold for one person of "
    "the original; by the number of columns that tells most beyond strangers",
    GIOMI,
)


def singling_out_numbers(result: SearchedAttack) -> list[AttackNumber]:
    """Share of the predicates that single somebody out, beside strangers."""
    return searched_numbers(SINGLED, result)


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    result = singling_out(
        files.original, files.release, files.variables, holdout=files.holdout,
        seed=files.drawn_seed("singling_out"),
    )  # fmt: skip
    return [shown(SINGLED, singling_out_numbers(result)[0], result.n_attacks, files.note,
                  result.way, *result.notes)]  # fmt: skip


ATTACK = AttackEntry(
    name="singling_out",
    rank=57,
    title="Singling out",
    question="Does what is true of one released record alone single out a person of the original?",
    story="makes conditions that one synthetic person alone meets, and looks who meets them",
    blind_spots=(
        "persons who are told apart by values in the middle of a distribution; conditions on more "
        "than four columns"
    ),
    function=singling_out,
    target="none",
    honours=COMPARED,
    run=run_compared(singling_out),
    numbers=singling_out_numbers,
    needs_holdout=True,
    blind_to=("noise",),  # equal values, and ends of distributions
    compared=ComparedAttack((SINGLED,), _compared),
)
