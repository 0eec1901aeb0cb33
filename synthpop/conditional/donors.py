"""Households of other strata as donors, with the totals of each stratum kept.

Donors of a stratum and household size are its own n sample households and, with the weight of k
more, those of the same size in all strata. Their weights

    d_h = T (n / (n + k) w_h [own] / sum_own w + k / (n + k) w_h / sum_all w)

(T the estimated number of such households) are then calibrated by raking (Deville, Sarndal and
Sautory 1993, doi:10.1080/01621459.1993.10476369) to the stratum's own numbers of households of each
size and of persons of each kind. The own weights meet these totals, so that a solution exists. A
household with a combination that the stratum's sample does not contain is not used as a donor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.fallback import ModelDesign
from synthpop.conditional.pooling.choose import CROSS_VALIDATED, PoolingChoice
from synthpop.conditional.pooling.partial import choose_pooling
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted
from synthpop.microdata.runs.environment import one_thread

MOST_KINDS = 60
MOST_DONORS = 5_000_000  # of all strata together
TOLERANCE = 1e-6
MAX_ITERATIONS = 60
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Donors:
    """Donors of each stratum and household size, side by side.

    households: int array, shape (d,); position of each donor in the sample
    weights: float array, shape (d,); their sum in a cell is its estimated number of households
    starts: int array, shape (n_strata * n_sizes + 1,); where the donors of each stratum and size
        start, sizes fastest
    """

    households: np.ndarray
    weights: np.ndarray
    starts: np.ndarray


@dataclass(frozen=True, slots=True)
class DonorHouseholds:
    """The sample households as the choice of donors sees them.

    strata, sizes: int arrays, shape (H,); code of the stratum and of the household size
    """

    strata: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray  # float array, shape (H,)
    persons: Any  # scipy CSR matrix, shape (H, L): number of persons of each kind
    n_strata: int
    n_sizes: int


@dataclass(frozen=True, slots=True)
class DonorPooling(PoolingChoice):
    """How far households of other strata are donors: "none" or "partial".

    The amount is the number of households that the donors of all strata stand for, beside a
    stratum's own. Scores are mean log probabilities of the kinds of held-out persons.
    """

    # variables whose totals in each stratum are those of its own households
    totals: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values; "infinite" where an amount has no bound."""
        return {**PoolingChoice.to_dict(self), "kept": list(self.totals)}

    def summary(self) -> str:
        """Say what the amount means."""
        if self.kind == "none":
            return message("Households are copied from the sample of their own stratum.")
        weight_of_others = (
            message("as if nothing but its totals were specific to a stratum")
            if np.isinf(self.amount)
            else message(
                "with the weight of {amount} households besides those of the stratum",
                amount=formatted(self.amount, ".3g"),
            )
        )
        return message(
            "Households of the same size in other strata are copied as well, "
            "{weight_of_others}, {how}; the totals of {totals} in each stratum are those "
            "of its own sample.",
            weight_of_others=weight_of_others,
            how=self.how,
            totals=" and ".join(self.totals),
        )


ALONE = DonorPooling()


def own_donors(
    strata: np.ndarray, sizes: np.ndarray, weights: np.ndarray, n_strata: int, n_sizes: int
) -> Donors:
    """Return the households of each stratum and size as donors; see `DonorHouseholds`."""
    cells = strata.astype(np.int64) * n_sizes + sizes
    return _sorted(cells, np.arange(len(cells)), weights, n_strata * n_sizes)


def _sorted(cells: np.ndarray, households: np.ndarray, weights: np.ndarray, n_cells: int) -> Donors:
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(n_cells + 1))
    return Donors(households[order], weights[order], starts)


def persons_of_kinds(kinds: np.ndarray, offsets: np.ndarray) -> Any:
    """Count the persons of each kind in each household, for each way to tell kinds; one CSR matrix.

    kinds: int array, shape (n_persons, ways)
    offsets: int array, shape (H + 1,); where each household starts
    """
    from scipy.sparse import csr_matrix

    steps, columns = 0, []
    for j in range(kinds.shape[1]):
        _, code = np.unique(kinds[:, j], return_inverse=True)
        columns.append(code.reshape(-1) + steps)
        steps += int(code.max(initial=-1)) + 1
    entries = np.column_stack(columns).ravel() if columns else np.zeros(0, dtype=np.int64)
    shape = (len(offsets) - 1, steps)
    matrix = csr_matrix(
        (np.ones(len(entries)), entries, offsets * kinds.shape[1]), shape=shape, copy=True
    )
    matrix.sum_duplicates()
    return matrix


def shared_donors(sample: DonorHouseholds, amount: float) -> tuple[Donors, tuple[int, ...]]:
    """Return the donors with those of other strata among them; `amount` is k above, in households.

    The second result are the strata whose totals could not be met: they have their own donors only.
    """
    strata = [_Stratum.of(sample, stratum, amount) for stratum in np.unique(sample.strata)]
    with one_thread():
        for _ in range(ROUNDS):
            strata = [stratum.met() for stratum in _met_together(sample, strata)]
    households = np.concatenate([stratum.donors for stratum in strata])
    weights = np.concatenate([stratum.weights for stratum in strata])
    codes = [stratum.number * sample.n_sizes + sample.sizes[stratum.donors] for stratum in strata]
    cells = np.concatenate(codes)
    failed = tuple(stratum.number for stratum in strata if stratum.failed)
    return _sorted(cells, households, weights, sample.n_strata * sample.n_sizes), failed


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Donors of a stratum on their way to weights that meet its totals."""

    number: int
    donors: np.ndarray  # int array, shape (d,)
    weights: np.ndarray  # float array, shape (d,)
    matrix: Any  # scipy CSR matrix, shape (d, c): households of each size and persons of each kind
    targets: np.ndarray  # float array, shape (c,)
    residents: tuple[np.ndarray, np.ndarray]  # households of the stratum and their weights
    failed: bool = False

    @classmethod
    def of(cls, sample: DonorHouseholds, number: int, amount: float) -> _Stratum:
        """Find the donors and their weights before calibration."""
        from scipy.sparse import csr_matrix, hstack

        rows = np.flatnonzero(sample.strata == number)
        donor_weights = sample.weights[rows]
        totals = np.bincount(sample.sizes[rows], donor_weights, sample.n_sizes)
        persons = sample.persons[rows].T @ donor_weights
        foreign = sample.persons @ (persons <= 0).astype(np.float64)
        donors = np.flatnonzero((totals[sample.sizes] > 0) & (foreign == 0) & (sample.weights > 0))
        places = (np.arange(len(donors)), sample.sizes[donors])
        sizes = csr_matrix((np.ones(len(donors)), places), (len(donors), sample.n_sizes))
        targets = np.concatenate([totals, persons])
        matrix = hstack([sizes, sample.persons[donors]], format="csr")[:, targets > 0]
        start = prior_weights(sample, rows, donors, totals, amount)
        return cls(int(number), donors, start, matrix, targets[targets > 0], (rows, donor_weights))

    def met(self) -> _Stratum:
        """Return the stratum with its totals met, or with its own donors only."""
        if self.failed:
            return self
        weights = raked(self.matrix, self.weights, self.targets)
        if weights is None:
            return replace(self, donors=self.residents[0], weights=self.residents[1], failed=True)
        return replace(self, weights=weights)


def _met_together(sample: DonorHouseholds, strata: list[_Stratum]) -> list[_Stratum]:
    """Bring the strata together nearer to the kinds of persons by household size of the sample."""
    from scipy.sparse import csr_matrix

    n, kinds = sample.persons.shape
    persons = sample.persons
    columns = np.repeat(sample.sizes, np.diff(persons.indptr)) * kinds + persons.indices
    matrix = csr_matrix((persons.data, columns, persons.indptr), (n, kinds * sample.n_sizes))
    targets = matrix.T @ sample.weights
    start = np.zeros(n)
    for stratum in strata:
        start[stratum.donors] += stratum.weights
    rows, wanted_sizes = np.flatnonzero(start > 0), np.flatnonzero(targets > 0)
    weights = raked(matrix[rows][:, wanted_sizes], start[rows], targets[wanted_sizes])
    if weights is None:
        return strata
    ratio = np.ones(n)
    ratio[rows] = weights / start[rows]
    return [
        one if one.failed else replace(one, weights=one.weights * ratio[one.donors])
        for one in strata
    ]


def raked(matrix: Any, start: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """Return weights start * exp(matrix @ multipliers) that meet targets; None if none do.

    Shapes: matrix (d, c), CSR; start (d,); targets (c,).

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> raked(csr_matrix([[1.0, 0.0], [0.0, 1.0]]), np.ones(2), np.array([2.0, 3.0])).round(6)
    array([2., 3.])
    """
    from synthpop.calibration.distances import Exponential
    from synthpop.calibration.newton import solve_dual
    from synthpop.calibration.problem import Problem, group_units

    matrix.sort_indices()
    n, c = matrix.shape
    margin, hard = np.zeros(c, dtype=np.int64), np.full(c, np.inf)
    low, high = np.zeros(n), np.full(n, np.inf)
    problem = Problem(matrix, start, np.ones(n), targets, margin, hard, low, high)
    grouped, group = group_units(problem)
    solution = solve_dual(
        grouped, Exponential(), tolerance=TOLERANCE, max_iterations=MAX_ITERATIONS
    )
    return start * solution.g[group] if solution.converged else None


def prior_weights(
    sample: DonorHouseholds, rows: np.ndarray, donors: np.ndarray, totals: np.ndarray, amount: float
) -> np.ndarray:
    """Return d_h above for the donors of a stratum; rows are its own households.

    totals: float array, shape (n_sizes,); estimated number of households of each size
    """
    number = np.bincount(sample.sizes[rows], minlength=sample.n_sizes)
    size, weights = sample.sizes[donors], sample.weights[donors]
    share = np.zeros(len(donors))
    if np.isfinite(amount):
        share = (number / np.maximum(number + amount, 1e-300))[size]
    everybody = np.bincount(size, weights, len(totals))
    in_stratum = weights / np.where(totals > 0, totals, 1.0)[size]
    in_stratum = np.where(np.isin(donors, rows), in_stratum, 0.0)
    in_all = weights / np.where(everybody > 0, everybody, 1.0)[size]
    return totals[size] * (share * in_stratum + (1 - share) * in_all)


def choose_amount(
    sample: DonorHouseholds,
    kinds: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    seed: int,
    units: np.ndarray | None = None,
    choice: str = CROSS_VALIDATED,
) -> DonorPooling:
    """Choose how far other strata are donors, by cross-validation over sampling units.

    Persons of a fold are predicted by the kinds of persons in households of their stratum and
    size, with k households of all strata added; the k with the largest mean log probability wins,
    or the one that `choice` prefers.

    kinds, weights: arrays, shape (n_persons,)
    units: int array, shape (H,); primary sampling unit of each household. Default: every household
        is one.
    """
    members = np.diff(offsets)
    classes = np.unique(kinds, return_inverse=True)[1].reshape(-1)
    design = ModelDesign(
        digits=np.repeat(sample.sizes, members)[:, None].astype(np.int64),
        classes=classes,
        weights=weights / weights.mean(),
        strata=np.repeat(sample.strata, members),
        sizes=(sample.n_sizes,),
        ordered=(True,),
        n_classes=int(classes.max(initial=-1)) + 1,
        n_strata=sample.n_strata,
        units=np.repeat(np.arange(len(members)) if units is None else units, members),
    )
    enough = np.ones(sample.n_strata, dtype=bool)
    pooling = choose_pooling("empirical", design, enough, seed, choice=choice)
    persons = float(weights.sum() / sample.weights.sum())  # of a household
    scores = tuple((amount / persons, score) for amount, score in pooling.scores)
    return DonorPooling("partial", pooling.amount / persons, choice, scores)
