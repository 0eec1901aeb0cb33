"""Log-linear models of a key table, fitted without building the table.

The cells of the table are all combinations of the levels of the keys, empty ones included. Terms
of the model tie keys into *parts* (connected components); the mean of a cell is then a product of
one factor a part, so that sums over all cells are products of sums over parts. Only the table of
one part has ever to be held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod

import numpy as np
from scipy import linalg, sparse

Term = frozenset[int]
MOST_CELLS = 20_000_000
MOST_DESIGN = 2_000_000
MOST_PARAMETERS = 2_000
TOKEN = re.compile(r"\s*(?:(`[^`]+`)|([^\W\d][\w.]*)|(\d+)|(\*\*|[~+\-:*^().]))")


class FormulaError(ValueError):
    """A formula that cannot be read; the message says where."""


@dataclass(frozen=True)
class Part:
    """Keys that the model ties together.

    Attributes
    ----------
    keys : tuple of int
    values : float64, shape (product of the levels,)
        Factor of each combination of levels, in C order.
    """

    keys: tuple[int, ...]
    values: np.ndarray


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    mean : float64, shape (n_observed,)
        Fitted sample mean of the observed cells.
    parts : tuple of Part
        The mean of a cell without offset is the product of its factors.
    n_cells : int
        Cells of the whole table.
    n_parameters : int
    deviance : float
    converged : bool
    iterations : int
    """

    mean: np.ndarray
    parts: tuple[Part, ...]
    n_cells: int
    n_parameters: int
    deviance: float
    converged: bool
    iterations: int


def parse_formula(text: str, names: Sequence[str]) -> tuple[list[Term], set[int]]:
    """Read a model formula; nothing is evaluated.

    Parameters
    ----------
    text : str
        As ``"~ a + b + a:b"``; knows ``+``, ``-``, ``:``, ``*``, ``^`` (or ``**``), brackets, ``.``
        for all keys, ``C(name)`` for "as a category", and backticks round odd names.
    names : sequence of str
        The keys.

    Returns
    -------
    terms : list of frozenset of int
        Positions in `names`; each term once, lower orders first.
    categorical : set of int
        Keys written with ``C()``.

    Examples
    --------
    >>> terms, _ = parse_formula("~ (a + b + c)^2 - b:c", ["a", "b", "c"])
    >>> [sorted(term) for term in terms]
    [[0], [1], [2], [0, 1], [0, 2]]
    """
    tokens, place = [], 0
    text = text.strip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"{text[place:].strip()[:10]!r} is not understood")
        tokens.append(match.group().strip())
        place = match.end()
    if tokens and tokens[0] == "~":
        tokens = tokens[1:]
    reader = _Reader(tokens, names)
    found = reader.total()
    if reader.place < len(tokens):
        raise FormulaError(f"{tokens[reader.place]!r} is out of place")
    terms = sorted((t for t in found if t), key=lambda term: (len(term), sorted(term)))
    return terms, reader.categorical


class _Reader:
    """Recursive descent over the tokens: sums of products of powers of names."""

    def __init__(self, tokens: list[str], names: Sequence[str]) -> None:
        self.tokens, self.names, self.place = tokens, list(names), 0
        self.categorical: set[int] = set()

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise FormulaError(f"{expected or 'a key'!r} is missing after {self._before()!r}")
        self.place += 1
        return token

    def _before(self) -> str:
        return " ".join(self.tokens[: self.place]) or "~"

    def total(self) -> set[Term]:
        found = self.product()
        while self.peek() in ("+", "-"):
            sign, other = self.take(), self.product()
            found = found | other if sign == "+" else found - other
        return found

    def product(self) -> set[Term]:
        found = self.crossing()
        while self.peek() == "*":
            self.take()
            other = self.crossing()
            found = found | other | {a | b for a in found for b in other}
        return found

    def crossing(self) -> set[Term]:
        found = self.power()
        while self.peek() == ":":
            self.take()
            other = self.power()
            found = {a | b for a in found for b in other}
        return found

    def power(self) -> set[Term]:
        found = self.atom()
        if self.peek() in ("^", "**"):
            self.take()
            order = self.take()
            if not order.isdigit() or int(order) < 1:
                raise FormulaError(f"{order!r} is not a power")
            base = list(found)
            for _ in range(int(order) - 1):
                found = found | {a | b for a in found for b in base}
        return found

    def atom(self) -> set[Term]:
        token = self.take()
        if token == "(":
            found = self.total()
            self.take(")")
            return found
        if token == ".":
            return {frozenset([j]) for j in range(len(self.names))}
        if token == "1":
            return {frozenset()}
        if token == "C" and self.peek() == "(":
            self.take()
            found = {frozenset([self.position(self.take())])}
            self.take(")")
            self.categorical |= set().union(*found)
            return found
        return {frozenset([self.position(token)])}

    def position(self, token: str) -> int:
        name = token.strip("`")
        if name not in self.names:
            raise FormulaError(f"{name!r} is not a key (there are: {', '.join(self.names)})")
        return self.names.index(name)


def format_formula(
    terms: Sequence[Term], names: Sequence[str], categories: Sequence[int] | set[int] = ()
) -> str:
    """Write terms as a formula that `parse_formula` reads back.

    Parameters
    ----------
    terms : terms of the model
    names : the keys
    categories : keys to be written with ``C()``

    Examples
    --------
    >>> format_formula([frozenset([0]), frozenset([0, 1])], ["a", "b c"], {0})
    '~ C(a) + C(a):`b c`'
    """
    if not terms:
        return "~ 1"
    plain = [name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`" for name in names]
    written = [f"C({name})" if j in set(categories) else name for j, name in enumerate(plain)]
    return "~ " + " + ".join(":".join(written[j] for j in sorted(term)) for term in terms)


def connected_keys(terms: Sequence[Term], n_keys: int) -> list[tuple[int, ...]]:
    """Return the keys in groups that terms tie together, shape (m,) in all."""
    group = list(range(n_keys))
    for term in terms:
        joined = {group[j] for j in term}
        group = [min(joined) if g in joined else g for g in group]
    return [tuple(j for j in range(n_keys) if group[j] == g) for g in sorted(set(group))]


def part_terms(terms: Sequence[Term], keys: Sequence[int]) -> list[Term]:
    """Return the terms inside a part, as positions in `keys`."""
    return [frozenset(keys.index(j) for j in sorted(term)) for term in terms if term <= set(keys)]


def cell_places(codes: np.ndarray, keys: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """Return the place of each observed cell in the table of a part, shape (n_observed,)."""
    place = np.zeros(len(codes), dtype=np.int64)
    for j in keys:
        place = place * sizes[j] + codes[:, j]
    return place


def poisson_deviance(counts: np.ndarray, mean: np.ndarray, total: float) -> float:
    """Return the deviance over all cells; `total` is the sum of the means of all cells."""
    held = counts > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(counts[held] / mean[held])
    return float(2 * ((counts[held] * ratio).sum() - counts.sum() + total))


# ------------------------------------------------------------------ margins (all keys categories)


def fit_margins(
    codes: np.ndarray,
    counts: np.ndarray,
    sizes: Sequence[int],
    terms: Sequence[Term],
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 2000,
) -> Fit:
    """Fit a hierarchical log-linear model by iterative proportional fitting, part by part.

    Parameters
    ----------
    codes : int64, shape (n_observed, m)
    counts : float64, shape (n_observed,)
    sizes : levels of each key
    terms : terms of the model; lower terms are implied
    tolerance : largest relative deviation of a fitted margin
    max_iterations : rounds over all margins

    Returns
    -------
    Fit
        A key in no term has equal means on all its levels.
    """
    total = float(counts.sum())
    named = set().union(*terms) if terms else set()
    mean = np.full(len(counts), total)
    parts, converged, iterations, n_parameters = [], True, 0, 1
    for keys in connected_keys(terms, len(sizes)):
        shape = tuple(sizes[j] for j in keys)
        inside = part_terms(terms, keys)
        if keys[0] not in named:
            values = np.full(prod(shape), 1 / prod(shape))
        else:
            margins = [t for t in inside if not any(t < other for other in inside)]
            table = np.bincount(
                cell_places(codes, keys, sizes), weights=counts, minlength=prod(shape)
            ).reshape(shape)
            values, fine, rounds = _proportional_fit(table, margins, tolerance, max_iterations)
            values = values.ravel() / total
            converged, iterations = converged and fine, max(iterations, rounds)
            closed = {frozenset(s) for t in margins for k in range(len(t)) for s in
                      combinations(sorted(t), k + 1)}  # fmt: skip
            n_parameters += sum(prod(shape[j] - 1 for j in t) for t in closed)
        mean *= values[cell_places(codes, keys, sizes)]
        parts.append(Part(keys, values))
    parts[0] = Part(parts[0].keys, parts[0].values * total)
    return Fit(
        mean=mean,
        parts=tuple(parts),
        n_cells=prod(int(size) for size in sizes),
        n_parameters=n_parameters,
        deviance=poisson_deviance(counts, mean, total),
        converged=converged,
        iterations=iterations,
    )


def _proportional_fit(
    table: np.ndarray, margins: Sequence[Term], tolerance: float, max_iterations: int
) -> tuple[np.ndarray, bool, int]:
    """Return the fitted table, whether it converged, and the rounds."""
    n_keys = table.ndim
    if len(margins) == 1 and len(margins[0]) == n_keys:
        return table, True, 0
    fitted = np.full(table.shape, table.sum() / table.size)
    others = [tuple(j for j in range(n_keys) if j not in margin) for margin in margins]
    targets = [table.sum(axis=axes, keepdims=True) for axes in others]
    for rounds in range(1, max_iterations + 1):
        worst = 0.0
        for axes, target in zip(others, targets, strict=True):
            present = fitted.sum(axis=axes, keepdims=True)
            factor = np.divide(target, present, out=np.zeros_like(target), where=present > 0)
            held = target > 0
            worst = max(worst, float(np.abs(present[held] / target[held] - 1).max(initial=0.0)))
            fitted *= factor
        if worst < tolerance:
            return fitted, True, rounds
    return fitted, False, max_iterations


# ---------------------------------------------------- Newton (numbers, offsets, an extra covariate)


def design_columns(
    shape: tuple[int, ...], terms: Sequence[Term], numbers: Sequence[np.ndarray | None]
) -> sparse.csr_matrix:
    """Return the design of a part over all its cells, without the intercept.

    Categories are coded against their first level where the term without them is in the model,
    with all levels otherwise; numbers are scaled, and centred where this leaves the model the same.

    Parameters
    ----------
    shape : levels of each key of the part
    terms : positions of keys
    numbers : for each key its values by level, or None for a category

    Returns
    -------
    CSR matrix, shape (product of the levels, n_columns)
    """
    held: set[Term] = {*terms, frozenset()}
    grid = np.indices(shape).reshape(len(shape), -1)
    coded = [
        None if x is None else _scaled_number(x, all(t - {j} in held for t in terms if j in t))
        for j, x in enumerate(numbers)
    ]
    columns = []
    for term in terms:
        block = sparse.csr_matrix(np.ones((grid.shape[1], 1)))
        for j in sorted(term):
            block = _crossed(block, _coded(grid[j], shape[j], coded[j], term - {j} in held))
        columns.append(block)
    return sparse.csr_matrix(sparse.hstack(columns, format="csr"))


def _coded(
    place: np.ndarray, size: int, numbers: np.ndarray | None, contrast: bool
) -> sparse.csr_matrix:
    """Return the columns of one key over the cells of a part."""
    if numbers is None:
        held = sparse.csr_matrix(
            (np.ones(len(place)), (np.arange(len(place)), place)), shape=(len(place), size)
        )
        return held[:, 1:] if contrast else held
    return sparse.csr_matrix(numbers[place][:, None])


def _scaled_number(values: np.ndarray, centre: bool) -> np.ndarray:
    """Return the values of a number by level, on a scale near one."""
    shifted = values - values.mean() if centre else values
    size = np.abs(shifted).max()
    return np.asarray(shifted / size if size > 0 else shifted)


def _crossed(left: sparse.csr_matrix, right: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return all products of a column of `left` and one of `right`."""
    if right.shape[1] == 0:  # a category of one level, against itself
        return sparse.csr_matrix((left.shape[0], 0))
    blocks = [left.multiply(right[:, [k]]) for k in range(right.shape[1])]
    return sparse.csr_matrix(sparse.hstack(blocks, format="csr"))


def fit_newton(
    codes: np.ndarray,
    counts: np.ndarray,
    sizes: Sequence[int],
    terms: Sequence[Term],
    numbers: Sequence[np.ndarray | None],
    *,
    offset: np.ndarray | None = None,
    empty_offset: float = 0.0,
    covariate: np.ndarray | None = None,
    tolerance: float = 1e-11,
    max_iterations: int = 100,
) -> Fit:
    """Fit a Poisson log-linear model by Newton's method, summing over parts of the table.

    Parameters
    ----------
    codes : int64, shape (n_observed, m)
    counts : float64, shape (n_observed,)
    sizes : levels of each key
    terms : terms of the model
    numbers : for each key its values by level, or None for a category
    offset : float64, shape (n_observed,), optional
        Known part of the log mean of the observed cells.
    empty_offset : float
        The same for all other cells.
    covariate : float64, shape (n_observed,), optional
        One more covariate, 0 in the other cells.
    tolerance : relative change of the deviance
    max_iterations : int

    Returns
    -------
    Fit
        `parts` are without offset and covariate, except `empty_offset`.
    """
    system = _System.build(codes, sizes, terms, numbers, offset, empty_offset, covariate)
    beta = np.zeros(system.observed.shape[1])
    beta[0] = np.log(counts.sum() / system.start_total())
    state = system.evaluate(beta, counts)
    converged, iterations = False, 0
    while not converged and iterations < max_iterations:
        iterations += 1
        step = _solve(state.hessian, state.score)
        scale, trial = 1.0, state
        for _ in range(40):
            trial = system.evaluate(beta + scale * step, counts)
            if np.isfinite(trial.deviance) and trial.deviance <= state.deviance + 1e-9:
                break
            scale /= 2
        change = abs(state.deviance - trial.deviance) / (abs(trial.deviance) + 0.1)
        beta, state = beta + scale * step, trial
        converged = change < tolerance
    return Fit(
        mean=state.mean,
        parts=system.parts_at(beta),
        n_cells=prod(int(size) for size in sizes),
        n_parameters=int(np.linalg.matrix_rank(_scaled(state.hessian)[0], hermitian=True)),
        deviance=state.deviance,
        converged=converged,
        iterations=iterations,
    )


def _scaled(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = np.sqrt(np.diag(hessian))
    size = np.where(size > 1e-8 * max(size.max(), 1e-300), size, np.inf)
    return hessian / size / size[:, None], size


def _solve(hessian: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the Newton step; directions without information hardly move."""
    scaled, size = _scaled(hessian)
    ridge = 1e-11
    while True:
        try:
            factor = linalg.cho_factor(scaled + ridge * np.eye(len(score)))
            return np.asarray(linalg.cho_solve(factor, score / size) / size)
        except linalg.LinAlgError:
            ridge *= 10


@dataclass(frozen=True)
class _State:
    mean: np.ndarray
    deviance: float
    score: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True)
class _System:
    """Designs of the parts and of the observed cells; intercept first, covariate last."""

    keys: list[tuple[int, ...]]
    designs: list[sparse.csr_matrix]
    observed: sparse.csr_matrix
    known: np.ndarray
    empty_offset: float
    with_covariate: bool

    @classmethod
    def build(
        cls,
        codes: np.ndarray,
        sizes: Sequence[int],
        terms: Sequence[Term],
        numbers: Sequence[np.ndarray | None],
        offset: np.ndarray | None,
        empty_offset: float,
        covariate: np.ndarray | None,
    ) -> _System:
        named = set().union(*terms) if terms else set()
        groups = connected_keys(terms, len(sizes))
        designs, rows = [], [sparse.csr_matrix(np.ones((len(codes), 1)))]
        for keys in groups:
            shape = tuple(sizes[j] for j in keys)
            if keys[0] in named:
                design = design_columns(shape, part_terms(terms, keys), [numbers[j] for j in keys])
            else:
                design = sparse.csr_matrix((prod(shape), 0))
            designs.append(design)
            rows.append(design[cell_places(codes, keys, sizes)])
        if covariate is not None:
            rows.append(sparse.csr_matrix(covariate[:, None]))
        known = np.full(len(codes), empty_offset) if offset is None else offset
        observed = sparse.csr_matrix(sparse.hstack(rows, format="csr"))
        return cls(groups, designs, observed, known, empty_offset, covariate is not None)

    def start_total(self) -> float:
        cells = prod(design.shape[0] for design in self.designs)
        total = np.exp(self.empty_offset) * (cells - len(self.known)) + np.exp(self.known).sum()
        return float(total)

    def slices(self) -> list[slice]:
        edges = np.cumsum([1] + [design.shape[1] for design in self.designs])
        return [slice(a, b) for a, b in pairwise(edges)]

    def parts_at(self, beta: np.ndarray) -> tuple[Part, ...]:
        parts = [
            Part(keys, np.exp(design @ beta[where]))
            for keys, design, where in zip(self.keys, self.designs, self.slices(), strict=True)
        ]
        first = parts[0].values * np.exp(beta[0] + self.empty_offset)
        return (Part(parts[0].keys, first), *parts[1:])

    def evaluate(self, beta: np.ndarray, counts: np.ndarray) -> _State:
        """Return means, deviance, score and information at `beta`."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.exp(self.observed @ beta + self.known)
            plain = beta.copy()
            if self.with_covariate:
                plain[-1] = 0.0
            base = np.exp(self.observed @ plain + self.empty_offset)
            parts = [np.exp(d @ beta[s]) for d, s in zip(self.designs, self.slices(), strict=True)]
            sums = np.array([part.sum() for part in parts])
            whole = np.exp(beta[0] + self.empty_offset) * sums.prod()
            total = whole - base.sum() + mean.sum()
            if not np.isfinite(total) or not np.isfinite(mean).all():
                empty = np.zeros((0, 0))
                return _State(mean, np.inf, np.zeros(0), empty)
            score = self.observed.T @ counts - self._first(parts, sums, whole)
            score -= self.observed.T @ mean - self._without_covariate().T @ base
            hessian = self._second(parts, sums, whole)
            hessian += (self.observed.T @ self.observed.multiply(mean[:, None])).toarray()
            plain_rows = self._without_covariate()
            hessian -= (plain_rows.T @ plain_rows.multiply(base[:, None])).toarray()
        return _State(mean, poisson_deviance(counts, mean, total), np.asarray(score), hessian)

    def _without_covariate(self) -> sparse.csr_matrix:
        if not self.with_covariate:
            return self.observed
        keep = np.ones(self.observed.shape[1])
        keep[-1] = 0.0
        return self.observed.multiply(keep[None, :]).tocsr()

    def _first(self, parts: list[np.ndarray], sums: np.ndarray, whole: float) -> np.ndarray:
        """Return the sum of mean times design over all cells, offset as in an empty cell."""
        out = np.zeros(self.observed.shape[1])
        out[0] = whole
        for part, total, design, where in zip(
            parts, sums, self.designs, self.slices(), strict=True
        ):
            out[where] = whole / total * (design.T @ part)
        return out

    def _second(self, parts: list[np.ndarray], sums: np.ndarray, whole: float) -> np.ndarray:
        """Return the sum of mean times design times design over all cells."""
        first = self._first(parts, sums, whole)
        out = np.outer(first, first) / whole
        for part, total, design, where in zip(
            parts, sums, self.designs, self.slices(), strict=True
        ):
            own = (design.T @ design.multiply(part[:, None])).toarray()
            out[where, where] = whole / total * own
        return out
