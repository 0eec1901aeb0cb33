"""What is drawn for each combination of predictors, and the draws of the persons.

Distributions are made once for the cells of a block, from the sequence of sources in
`synthpop.stages.continuous.values`; then each person draws from the law of its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.conditional.draw import systematic_uniforms
from synthpop.conditional.encodings import Encodings
from synthpop.conditional.fallback import STEPS
from synthpop.conditional.predictors import of_levels
from synthpop.microdata.frame.block import Block, Fallback
from synthpop.microdata.messages.message import message
from synthpop.models.leaves import Leaves, leaves_of
from synthpop.models.regression import columns_of
from synthpop.models.residuals import around, sorted_stretches
from synthpop.stages.continuous.values import ValueRule, Values, ValueSource

N_DONORS = 5
N_LOCAL = 40
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LeafDonors:
    """Where the donors of cells are: rows of `cells` and their stretches in one source."""

    leaves: Leaves
    source: int
    start: np.ndarray
    stop: np.ndarray


@dataclass(frozen=True, slots=True)
class Distributions:
    """What is drawn for each cell, shape (c,) each, and the tables of the sources, joined.

    `donors` has the leaves of each source, with stretches of shape (c, T), where values come from
    leaves; `step` then tells the source of a cell.
    """

    centre: np.ndarray
    step: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray
    width: np.ndarray
    location: np.ndarray
    scale: np.ndarray
    size: np.ndarray
    table: np.ndarray
    cumulative: np.ndarray
    donors: tuple[LeafDonors, ...] = ()


def distributions_of_cells(values: Values, stratum: int, digits: np.ndarray) -> Distributions:
    """Return what is drawn for each cell of a stratum; digits shape (c, m)."""
    c = len(digits)
    model = values.by_stratum[stratum]
    wide = digits
    if len(values.by_stratum) > 1:
        wide = np.column_stack([digits, np.full(c, stratum)])
    sources = [(0, model, digits), (1, values.pooled, wide), (2, values.marginal, digits)]
    sources_known = [(n, source, codes) for n, source, codes in sources if source is not None]
    centre, step = np.zeros(c), np.full(c, -1)
    start, stop = np.zeros(c, dtype=np.int64), np.ones(c, dtype=np.int64)
    low, high, least, most, width, location, scale, size = (np.zeros(c) for _ in range(8))
    offset, draws, donors = 0, [], []
    for number, source, codes in sources_known:
        rows = np.flatnonzero(step < 0)
        fitted, known = source.predict(codes[rows])
        rows, fitted = rows[known], fitted[known]
        if not len(rows):
            continue
        step[rows], centre[rows] = number, fitted
        location[rows], scale[rows], size[rows] = source.location, source.scale, source.size
        if source.leaves is not None:
            donors.append(_leaf_donors(source, number, rows, codes[rows], c))
            continue
        draw = _draws_of(values.rule, source, fitted)
        start[rows], stop[rows] = draw.start + offset, draw.stop + offset
        low[rows], high[rows], width[rows] = draw.low, draw.high, draw.width
        least[rows], most[rows] = draw.least, draw.most
        if values.rule.draw == "donors":
            centre[rows] = 0.0
        offset += len(draw.table)
        draws.append(draw)
    table = np.concatenate([np.empty(0), *(draw.table for draw in draws)])
    cumulative = np.concatenate([np.empty(0), *(draw.cumulative for draw in draws)])
    return Distributions(
        centre, step, start, stop, low, high, least, most, width, location, scale, size,
        table, cumulative, tuple(donors),
    )  # fmt: skip


def _leaf_donors(
    source: ValueSource, number: int, rows: np.ndarray, digits: np.ndarray, n_cells: int
) -> LeafDonors:
    assert source.leaves is not None
    leaf = np.zeros((len(rows), 1), dtype=np.int64)
    if source.model is not None:
        leaf = leaves_of(source.model.estimator, columns_of(source.model, digits))
    start = np.zeros((n_cells, source.leaves.n_trees), dtype=np.int64)
    stop = np.ones_like(start)
    start[rows], stop[rows] = source.leaves.stretches(leaf)
    return LeafDonors(source.leaves, number, start, stop)


def _from_leaves(
    distributions: Distributions, rows: np.ndarray, uniforms: np.ndarray, trees: np.ndarray
) -> np.ndarray:
    """Draw a donor for each person: a tree, then a person in its leaf."""
    out = np.empty(len(rows))
    for donors in distributions.donors:
        persons = np.flatnonzero(distributions.step[rows] == donors.source)
        tree = (trees[persons] * donors.leaves.n_trees).astype(np.int64)
        start, stop = donors.start[rows[persons], tree], donors.stop[rows[persons], tree]
        out[persons] = donors.leaves.draw(start, stop, uniforms[persons])
    return out


@dataclass(frozen=True, slots=True)
class SourceDraws:
    """What cells draw from one source: see `Distributions`; numbers where it is the same."""

    start: Any
    stop: Any
    low: Any
    high: Any
    table: np.ndarray
    cumulative: np.ndarray
    least: Any = -np.inf
    most: Any = np.inf
    width: Any = 0.0


def _draws_of(rule: ValueRule, source: ValueSource, centre: np.ndarray) -> SourceDraws:
    """Stretch of the table, and part of the distribution, that respects the bounds."""
    from synthpop.kernels.residuals import bound_stretches

    table, cumulative = source.table, source.cumulative
    if rule.draw in ("poisson", "negative-binomial") or (rule.draw, source.scale) == ("normal", 0):
        return SourceDraws(0, 1, 0.0, 1.0, table, cumulative)
    if rule.draw == "donors":
        a, b = _nearest(source.fitted, centre)
        low = np.where(a > 0, cumulative[a - 1], 0.0)
        return SourceDraws(a, b, low, cumulative[b - 1], table, cumulative)
    least, most = _errors_within(rule, centre)
    if rule.draw == "normal":
        return SourceDraws(0, 1, *_part_of_normal(source, least, most), table, cumulative)
    start, stop = np.zeros(len(centre), np.int64), np.full(len(centre), len(table))
    width = np.zeros(len(centre))
    if rule.draw == "local":
        weights = np.diff(cumulative, prepend=0.0)
        stretches = sorted_stretches(*around(source.fitted, centre, N_LOCAL), table, weights)
        start, stop, width = stretches.start, stretches.stop, stretches.width
        table, cumulative = stretches.table, stretches.cumulative
    a, b = np.empty_like(start), np.empty_like(stop)
    bound_stretches(table, start, stop, least, most, a, b)
    none = b <= a  # no residual leads inside: any, and the value is the nearest bound
    a, b = np.where(none, start, a), np.where(none, stop, b)
    low = np.where(a > start, cumulative[a - 1], 0.0)
    return SourceDraws(a, b, low, cumulative[b - 1], table, cumulative, least, most, width)


def _errors_within(rule: ValueRule, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest error of each cell that keep the bounds."""
    low, high = float(rule.to_model(rule.lower)), float(rule.to_model(rule.upper))
    least = low - centre - ROUNDING * (1.0 if np.isinf(low) else np.abs(centre) + abs(low))
    most = high - centre + ROUNDING * (1.0 if np.isinf(high) else np.abs(centre) + abs(high))
    return least, most


def _part_of_normal(source: ValueSource, least: np.ndarray, most: np.ndarray) -> tuple[Any, Any]:
    from scipy.special import ndtr

    low = ndtr((least - source.location) / source.scale)
    high = ndtr((most - source.location) / source.scale)
    none = ~(high > low)
    return np.where(none, 0.0, low), np.where(none, 1.0, high)


def _nearest(fitted: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stretch of the donors whose fitted values are nearest, with all that tie."""
    d = len(fitted)
    reach = min(N_DONORS, d)
    position = np.searchsorted(fitted, centre)
    window = position[:, None] + np.arange(-reach, reach)
    gap = np.abs(fitted[np.clip(window, 0, d - 1)] - centre[:, None])
    gap[(window < 0) | (window >= d)] = np.inf
    farthest = np.sort(gap, axis=1)[:, reach - 1] + 1e-9 * max(float(np.abs(fitted).max()), 1e-300)
    return (
        np.searchsorted(fitted, centre - farthest, side="left"),
        np.searchsorted(fitted, centre + farthest, side="right"),
    )


def draw_values(
    rule: ValueRule, distributions: Distributions, rows: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw a value for each person; rows shape (n,) tells the cell."""
    from synthpop.kernels.residuals import draw_from_table

    n = len(rows)
    if rule.draw in ("poisson", "negative-binomial"):
        return rule.from_model(_draw_counts(rule, distributions, rows, rng))
    uniforms = systematic_uniforms(rows, len(distributions.centre), rng)
    if rule.draw == "leaves":
        out = _from_leaves(distributions, rows, uniforms, rng.random(n))
        return np.clip(out, rule.lower, rule.upper)
    if rule.draw == "normal":
        from scipy.special import ndtri

        span = distributions.high - distributions.low
        normal = np.clip(ndtri(distributions.low[rows] + uniforms * span[rows]), -1e300, 1e300)
        middle = distributions.centre + distributions.location
        return rule.from_model(middle[rows] + distributions.scale[rows] * normal)
    out = np.empty(n)
    draw_from_table(
        rows,
        distributions.centre,
        distributions.start,
        distributions.stop,
        distributions.low,
        distributions.high,
        distributions.least,
        distributions.most,
        distributions.width,
        distributions.table,
        distributions.cumulative,
        uniforms,
        out,
    )
    return out if rule.draw == "donors" else rule.from_model(out)


def _draw_counts(
    rule: ValueRule, distributions: Distributions, rows: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw counts; those above `upper` are drawn again from below it, by inversion."""
    mean, size = distributions.centre[rows], distributions.size[rows]
    mixed = np.isfinite(size)
    rate = mean.copy()
    rate[mixed] = rng.gamma(size[mixed], mean[mixed] / size[mixed])
    out = rng.poisson(rate).astype(np.float64)
    most = rule.upper - rule.shift
    beyond = np.flatnonzero(out > most)
    if len(beyond):
        out[beyond] = _counts_below(most, mean[beyond], size[beyond], rng.random(len(beyond)))
    return out


def _counts_below(
    most: float, mean: np.ndarray, size: np.ndarray, uniforms: np.ndarray
) -> np.ndarray:
    from scipy.stats import nbinom, poisson

    out = np.empty(len(mean))
    is_mixed = np.isfinite(size)
    n, m = size[is_mixed], mean[is_mixed]
    laws = ((is_mixed, nbinom(n, n / (n + m))), (~is_mixed, poisson(mean[~is_mixed])))
    for rows, law in laws:
        if rows.any():
            out[rows] = law.ppf(uniforms[rows] * law.cdf(np.floor(most)))
    return np.clip(out, 0.0, np.floor(most))


def codes_of_rows(encodings: Encodings, block: Block, rows: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the cell code of each row of the distribution table, shape (c,)."""
    codes = np.zeros(n_rows, dtype=np.int64)
    codes[rows] = encodings.cells(block.columns, block.n_persons)
    return codes


def record_steps(
    block: Block,
    label: str,
    stratum_name: str,
    distributions: Distributions,
    rows: np.ndarray,
    separate: bool,
    by: str | None = None,
) -> None:
    """Record how many persons' values came from a lower level of the fallback."""
    persons = np.bincount(distributions.step[rows], minlength=3).tolist()
    for number in (1, 2) if separate else (2,):
        if persons[number]:
            used = of_levels(STEPS[number], by)
            what = message("values of combinations not observed in the sample: {used}", used=used)
            block.fallbacks.append(Fallback(label, stratum_name, what, persons[number]))
