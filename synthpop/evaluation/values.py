"""Tables and distances of numbers: moments, quantiles, distribution functions, by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.shares import ShareTables, distance_row, mean_and_largest
from synthpop.evaluation.tabulate import ALL, Counts, TabulationPlan
from synthpop.microdata.messages.suppression import is_safe_statistic, safe_domains
from synthpop.microdata.statistics.distances import expected_ks, gini, gini_of_cells, ks_of_cells
from synthpop.microdata.statistics.weighted import quantile

PROBS = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99)
BOX = (0.05, 0.25, 0.50, 0.75, 0.95)
CURVE_POINTS = 201
COMPARED = ("sample", "population", "difference", "relative")
Quantiles = Mapping[tuple[str, str], np.ndarray]


def moments(counts: Counts, sides: ShareTables, name: str, by: str) -> dict[str, np.ndarray]:
    """Size, missing share, mean, zero and negative share, and sums, an array of the groups each."""
    sums, grid = counts.numbers[name], sides.plan.grids[name]
    cells = sums.cells[by]
    n = cells.sum(axis=1)
    size = np.where(n > 0, n, np.nan)
    mean = sums.total[by] / size
    everybody = np.where(n + sums.missing[by] > 0, n + sums.missing[by], np.nan)
    return {
        "n": n,
        "missing": sums.missing[by] / everybody,
        "mean": mean,
        "zero": cells[:, grid.zero_cell] / size,
        "negative": cells[:, : grid.zero_cell].sum(axis=1) / size,
        "total": sums.total[by],
        "absolute": sums.absolute[by],
    }


def eta_squared(counts: Counts, centre: float, name: str, by: str) -> float:
    """Share of the variance of a number that lies between the groups of a factor."""
    sums = counts.numbers[name]
    n, total = sums.cells[by].sum(axis=1), sums.total[by]
    occurs = n > 0
    if not occurs.any():
        return float("nan")
    mean = total.sum() / n.sum()
    between = float(np.sum(n[occurs] * (total[occurs] / n[occurs] - mean) ** 2))
    shift = mean - centre
    total_squares = float(sums.squares - n.sum() * shift**2)
    return between / total_squares if total_squares > 0 else float("nan")


def statistics(
    sides: ShareTables, names: Sequence[str], columns: Mapping[str, np.ndarray], weights: np.ndarray
) -> pd.DataFrame:
    """One row per variable and statistic: sample, population, difference, relative error."""
    rows = []
    for name in names:
        s, p, of_rows = (
            {key: value[0] for key, value in moments(side, sides, name, ALL).items()}
            for side in (sides.sample, sides.population, sides.rows)
        )
        has_value = ~np.isnan(columns[name])
        of_sample, of_population = sides.sample.numbers[name], sides.population.numbers[name]
        deviations = [_deviation(side, sides, name) for side in (sides.sample, sides.population)]
        pairs: dict[str, tuple[float, float]] = {
            "mean": (s["mean"], p["mean"]),
            "sd": (deviations[0], deviations[1]),
            "gini": (
                gini(columns[name][has_value], weights[has_value]),
                gini_of_cells(of_population.cells[ALL][0], of_population.cell_totals),
            ),
            **{k: (s[k], p[k]) for k in ("zero", "negative", "missing")},
            "smallest": (_finite(of_sample.low), _finite(of_population.low)),
            "largest": (_finite(of_sample.high), _finite(of_population.high)),
        }
        n_rows = dict.fromkeys(pairs, of_rows["n"]) | {"smallest": 1, "largest": 1}
        n_rows |= {k: of_rows[k] * of_rows["n"] for k in ("zero", "negative")}
        n_rows["missing"] = sides.rows.numbers[name].missing[ALL][0]
        for statistic, (q, value) in pairs.items():
            n = np.nan_to_num(n_rows[statistic])
            row = {"variable": name, "statistic": statistic, "n_sample": round(float(n))}
            rows.append({**row, **compared(q, value)})
    return pd.DataFrame(rows, columns=["variable", "statistic", "n_sample", *COMPARED])


def safe_numbers(
    plan: TabulationPlan,
    columns: Mapping[str, np.ndarray],
    codes: Mapping[str, np.ndarray],
    weights: np.ndarray,
) -> pd.DataFrame:
    """Where no single person of the sample can be told from a mean or total: one row per group.

    The rules are those of `synthpop.microdata.messages.suppression`: enough values of which none
    dominates, also in what is left of all beside the groups that are listed.
    """
    rows = []
    for name, values in columns.items():
        contributions = values * weights
        is_safe = is_safe_statistic(contributions)
        rows += [(name, ALL, "all")] if is_safe else []
        for by in plan.by:
            labels = plan.factors[by].labels
            groups = safe_domains(codes[by], contributions, beside_all=is_safe)
            rows += [(name, by, labels[int(group)]) for group in groups]
    return pd.DataFrame(rows, columns=["variable", "by", "level"])


def compared(sample: float, population: float) -> dict[str, float]:
    """Return the two values, their difference and the relative error (NaN where sample is 0)."""
    relative = population / sample - 1 if sample != 0 else float("nan")
    values = (sample, population, population - sample, relative)
    return dict(zip(COMPARED, map(float, values), strict=True))


def _deviation(counts: Counts, sides: ShareTables, name: str) -> float:
    """Standard deviation with divisor sum(w) - 1."""
    sums = counts.numbers[name]
    n = float(sums.cells[ALL].sum())
    if n <= 1:
        return float("nan")
    shift = float(sums.total[ALL][0]) / n - sides.plan.centres[name]
    square = (float(sums.squares) - n * shift * shift) / (n - 1)
    return float(np.sqrt(max(square, 0.0))) if np.isfinite(square) else float("nan")


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else float("nan")


def quantile_table(sides: ShareTables, sample: Quantiles, population: Quantiles) -> pd.DataFrame:
    """One row per variable and share p, with the relative error."""
    rows = []
    for name in sides.plan.grids:
        values = zip(PROBS, sample[name, ALL][0], population[name, ALL][0], strict=True)
        n = int(sides.rows.numbers[name].cells[ALL].sum())
        rows += [
            {"variable": name, "p": p, "n_sample": n, **compared(q, value)}
            for p, q, value in values
        ]
    return pd.DataFrame(rows, columns=["variable", "p", "n_sample", *COMPARED])


def sample_quantiles(
    columns: Mapping[str, np.ndarray],
    codes: Mapping[str, np.ndarray],
    weights: np.ndarray,
    wanted: Mapping[str, Mapping[str, Sequence[float]]],
    sizes: Mapping[str, int],
) -> dict[tuple[str, str], np.ndarray]:
    """Weighted quantiles of the sample, shape (groups, shares), by (variable, factor)."""
    tables = {}
    for name, groupings in wanted.items():
        for by, probs in groupings.items():
            n_groups = 1 if by == ALL else sizes[by]
            table = np.full((n_groups, len(probs)), np.nan)
            for group in range(n_groups):
                of_group = slice(None) if by == ALL else codes[by] == group
                table[group] = quantile(columns[name][of_group], weights[of_group], probs)
            tables[name, by] = table
    return tables


def boxes(
    sides: ShareTables, name: str, by: str, sample: Quantiles, population: Quantiles
) -> dict[str, Any]:
    """Quantiles for box plots and means by column, one row per side and group."""
    labels = np.array(("all",) if by == ALL else sides.plan.factors[by].labels, dtype=object)
    quantiles = np.concatenate([sample[name, by], population[name, by]])
    means = [moments(side, sides, name, by)["mean"] for side in (sides.sample, sides.population)]
    table = {
        "level": np.tile(labels, 2),
        "side": np.repeat(np.array(["sample", "population"], dtype=object), len(labels)),
        **dict(zip(("p05", "p25", "p50", "p75", "p95"), quantiles.T, strict=True)),
        "mean": np.concatenate(means),
        "n_sample": np.tile(moments(sides.rows, sides, name, by)["n"].astype(np.int64), 2),
    }
    known = ~np.isnan(table["p50"])
    return {"variable": name, "by": by, **{key: x[known] for key, x in table.items()}}


def by_group(sides: ShareTables, name: str, by: str) -> dict[str, object]:
    """Moments and Kolmogorov-Smirnov distance of a number inside each group, by column."""
    s, p, rows = (
        moments(side, sides, name, by) for side in (sides.sample, sides.population, sides.rows)
    )
    cells = (sides.population.numbers[name].cells[by], sides.sample.numbers[name].cells[by])
    everybody = s["n"] + sides.sample.numbers[name].missing[by]
    share = np.divide(s["n"], everybody, out=np.zeros(len(everybody)), where=everybody > 0)
    effective = sides.effective_by[by] * share
    occurs = (s["n"] > 0) | (p["n"] > 0)
    table = {
        "level": np.array(sides.plan.factors[by].labels, dtype=object),
        "n_sample": rows["n"].astype(np.int64),
        "n_population": p["n"].astype(np.int64),
    }
    for column in ("mean", "zero", "negative", "missing"):
        table[f"{column}_sample"], table[f"{column}_population"] = s[column], p[column]
    table["relative_mean"] = p["mean"] / np.where(s["mean"] != 0, s["mean"], np.nan) - 1
    table["value"] = np.array([ks_of_cells(a, b) for a, b in zip(*cells, strict=True)])
    errors = {"simulation": p["n"], "sampling": effective * sides.ratio(name)}
    for kind, sizes in errors.items():
        table[f"expected_{kind}_error"] = np.array([expected_ks(n) for n in sizes])
    return {"variable": name, "by": by, **{key: x[occurs] for key, x in table.items()}}


def ks_distances(
    sides: ShareTables, groups: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[dict[str, object]]:
    """Kolmogorov-Smirnov distances of each number, overall and by the groups of `by_group`."""
    rows = []
    for name in sides.plan.grids:
        q, p = sides.sample.numbers[name], sides.population.numbers[name]
        n_sample, n = q.cells[ALL][0].sum(), p.cells[ALL][0].sum()
        share = n_sample / (n_sample + q.missing[ALL][0]) if n_sample else 0.0
        value = ks_of_cells(p.cells[ALL][0], q.cells[ALL][0])
        errors = (expected_ks(n), expected_ks(sides.effective_of(name) * share))
        rows.append(distance_row("ks", name, "", "all", value, errors))
        for by in sides.plan.by:
            rows += mean_and_largest(groups[name, by], "ks", name, by)
    return rows


def curve(sides: ShareTables, name: str, by: str, ends: tuple[float, float]) -> dict[str, Any]:
    """Distribution functions at evenly spaced points, for drawing; no value of the data appears.

    Just below and at zero there are two further points, so that a jump there shows. Between two
    points of the grid the curve keeps its value at the lower one. Returns columns.
    """
    grid = sides.plan.grids[name]
    x = np.linspace(*ends, CURVE_POINTS)
    if ends[0] <= 0 <= ends[1]:
        x = np.unique(np.concatenate([x, [np.nextafter(0.0, -1.0), 0.0]]))
    cell = 2 * np.searchsorted(grid.points, x, side="right") - 1
    labels = np.array(("all",) if by == ALL else sides.plan.factors[by].labels, dtype=object)
    counts = [s.numbers[name].cells[by] for s in (sides.sample, sides.population, sides.rows)]
    drawn = (counts[0].sum(axis=1) > 0) & (counts[1].sum(axis=1) > 0)
    sums = [cells[drawn].sum(axis=1, keepdims=True) for cells in counts]
    below = [np.cumsum(np.pad(cells[drawn], ((0, 0), (1, 0))), axis=1) for cells in counts]
    q, p, n_below = (reached[:, cell + 1] for reached in below)
    return {
        "variable": name, "by": by, "level": np.repeat(labels[drawn], len(x)),
        "x": np.tile(x, int(drawn.sum())), "sample": (q / sums[0]).ravel(),
        "population": (p / sums[1]).ravel(),
        "n_sample": np.repeat(sums[2].astype(np.int64), len(x)),
        "n_below": n_below.ravel().astype(np.int64),
    }  # fmt: skip
