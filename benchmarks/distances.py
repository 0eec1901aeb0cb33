"""Distances between a weighted sample and a population, as the reference's figures define them.

S is the sample with weights w, P the population. Categories and numbers are compared for persons of
16 years and older; household structure for everybody. Names are those of the reference's figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop import weighted
from synthpop.evaluation.propensity import pmse_of_codes

PROBS = np.array([0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99])
PARTS = [f"py{number}n" for number in ("010", "050", "090", "100", "110", "120", "130", "140")]


def prepare(frame: pd.DataFrame, weight: str | None, age: str = "age") -> pd.DataFrame:
    """Sample or population with the groups of the metrics."""
    data = frame.copy(deep=False)
    data["w"] = frame[weight].to_numpy() if weight else 1.0
    data["agec"] = pd.cut(frame[age], [-2, 15, 30, 45, 60, 75, 100])
    size = pd.to_numeric(frame["hsize"].astype(str))
    data["hs5"] = np.minimum(size, 5)
    return data


def shares(data: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Weighted cell shares."""
    table = data.groupby(list(names), observed=True)["w"].sum()
    return table / table.sum()


def tvd(s: pd.DataFrame, p: pd.DataFrame, names: Sequence[str]) -> float:
    """Total variation distance of the joint distribution of `names`."""
    return float(0.5 * shares(p, names).sub(shares(s, names), fill_value=0).abs().sum())


def floor(s: pd.DataFrame, p: pd.DataFrame, names: Sequence[str]) -> float:
    """Expected distance of independent draws."""
    q = shares(s, names)
    return float(0.5 * np.sqrt(2 * q * (1 - q) / (np.pi * p["w"].sum())).sum())


def ks(s: pd.DataFrame, p: pd.DataFrame, name: str) -> float:
    """Largest difference of the weighted distribution functions."""
    grid = np.unique(np.concatenate([s[name], p[name]]))

    def cdf(data: pd.DataFrame) -> np.ndarray:
        order = np.argsort(data[name].to_numpy(), kind="stable")
        x, w = data[name].to_numpy()[order], data["w"].to_numpy()[order]
        total = np.concatenate([[0.0], np.cumsum(w)])
        return total[np.searchsorted(x, grid, side="right")] / total[-1]

    return float(np.abs(cdf(s) - cdf(p)).max())


def by_group(
    s: pd.DataFrame, p: pd.DataFrame, group: str, metric: Callable[..., float], *args: Any
) -> np.ndarray:
    """The metric inside each group."""
    groups = dict(list(p.groupby(group, observed=True)))
    empty = p.iloc[:0]
    return np.array(
        [
            metric(part, groups.get(level, empty), *args)
            for level, part in s.groupby(group, observed=True)
            if len(part) and len(groups.get(level, empty))
        ]
    )


def chi_square(s: pd.DataFrame, p: pd.DataFrame, names: Sequence[str]) -> float:
    """Sum over cells with q > 0 of N (p - q)^2 / q."""
    q = shares(s, names)
    gap = shares(p, names).reindex(q.index, fill_value=0) - q
    return float(len(p) * (gap**2 / q).sum())


def categorical(s: pd.DataFrame, p: pd.DataFrame, name: str, stratum: str) -> dict[str, float]:
    """Distances of one categorical variable."""
    out = {"tvd": tvd(s, p, [name]), "tvd_floor": floor(s, p, [name])}
    out["tvd_by_stratum_mean"] = by_group(s, p, stratum, tvd, [name]).mean()
    out["tvd_by_stratum_max"] = by_group(s, p, stratum, tvd, [name]).max()
    out["tvd_by_stratum_floor_mean"] = by_group(s, p, stratum, floor, [name]).mean()
    for names in (["rb090"], ["agec"], ["agec", "rb090"], ["hs5"], ["pb220a"], ["relate"]):
        if name not in names and set(names) <= set(s) & set(p):
            out["tvd_with_" + "_".join(names)] = tvd(s, p, [name, *names])
            out["tvd_floor_with_" + "_".join(names)] = floor(s, p, [name, *names])
    out["chi2_with_stratum"] = chi_square(s, p, [stratum, name])
    out["chi2_df"] = float(len(shares(s, [stratum, name])) - 1)
    return {f"{name}.{key}": value for key, value in out.items()}


def gini(data: pd.DataFrame, name: str) -> float:
    """Gini coefficient of max(x, 0)."""
    x = np.maximum(data[name].to_numpy(), 0)
    order = np.argsort(x)
    x, w = x[order], data["w"].to_numpy()[order]
    above = 2 * np.sum(w * x * np.cumsum(w)) - np.sum(w**2 * x)
    return float(above / (w.sum() * np.sum(w * x)) - 1)


def eta_squared(data: pd.DataFrame, name: str, groups: Sequence[str]) -> float:
    """Share of the variance between the cells of the groups."""
    x, w = data[name].to_numpy(), data["w"].to_numpy()
    mean = np.average(x, weights=w)
    cells = pd.DataFrame({"w": w, "wx": w * x}).groupby([data[g].to_numpy() for g in groups]).sum()
    between = float((cells["w"] * (cells["wx"] / cells["w"] - mean) ** 2).sum())
    return between / float(np.sum(w * (x - mean) ** 2))


def continuous(
    s: pd.DataFrame, p: pd.DataFrame, name: str, groups: dict[str, str]
) -> dict[str, float]:
    """Distances of one number; groups: label -> column."""
    qs = weighted.quantile(s[name].to_numpy(), s["w"].to_numpy(), PROBS)
    qp = weighted.quantile(p[name].to_numpy(), p["w"].to_numpy(), PROBS)
    error = (qp / np.where(qs == 0, np.nan, qs)) - 1
    out = {
        "ks": ks(s, p, name),
        "rel_err_quantiles_mean_abs": np.nanmean(np.abs(error)),
        "rel_err_quantiles_max_abs": np.nanmax(np.abs(error)),
        "rel_err_mean": p[name].mean() / np.average(s[name], weights=s["w"]) - 1,
        "rel_err_sd": p[name].std() / np.sqrt(weighted.variance(s[name], s["w"])) - 1,
        "diff_zero_share": (p[name] == 0).mean() - np.average(s[name] == 0, weights=s["w"]),
        "diff_gini": gini(p, name) - gini(s, name),
    }
    out |= {f"rel_err_quantiles.{share:g}": value for share, value in zip(PROBS, error, strict=True)
            if np.isfinite(value)}  # fmt: skip
    for label, group in groups.items():
        out[f"ks_by_{label}_mean"] = by_group(s, p, group, ks, name).mean()
    return out


def component_shares(data: pd.DataFrame) -> np.ndarray:
    """Weighted component totals as shares of the total of |income|."""
    w = data["w"].to_numpy()
    return (w @ np.nan_to_num(data[PARTS].to_numpy())) / np.sum(w * np.abs(data["netIncome"]))


def share_gap(s: pd.DataFrame, p: pd.DataFrame) -> float:
    """Sum of absolute differences of component shares."""
    return float(np.abs(component_shares(s) - component_shares(p)).sum())


def components(s: pd.DataFrame, p: pd.DataFrame) -> dict[str, float]:
    """Distances of the components."""
    out = {
        "sum_abs_diff_share": share_gap(s, p),
        "sum_abs_diff_share_by_pl030_mean": by_group(s, p, "pl030", share_gap).mean(),
        "sum_abs_diff_share_by_region_mean": by_group(s, p, "db040", share_gap).mean(),
        "identity_max_abs_pop": float((p[PARTS].sum(axis=1) - p["netIncome"]).abs().max()),
    }
    return out | {f"{part}.ks": ks(s, p, part) for part in PARTS}


def structure(s: pd.DataFrame, p: pd.DataFrame) -> dict[str, float]:
    """Distances of the household structure, all persons."""
    heads, sample_heads = p.drop_duplicates("db030"), s.drop_duplicates("db030")
    sample_heads = sample_heads.assign(w=sample_heads["db090"])
    expected = sample_heads.groupby(["db040", "hsize"], observed=True)["w"].sum().round()
    counts = heads.groupby(["db040", "hsize"], observed=True).size()
    gap = counts.sub(expected, fill_value=0).abs().max()
    out = {"household_cells_max_abs_diff_to_rounded_HT": float(gap)}
    for label, sides, names in (
        ("households_region_hsize", (sample_heads, heads), ["db040", "hsize"]),
        ("persons_region_agec_rb090", (s, p), ["db040", "agec", "rb090"]),
        ("persons_hs5_agec_rb090", (s, p), ["hs5", "agec", "rb090"]),
    ):
        out[f"tvd_{label}"] = tvd(*sides, names)
        out[f"tvd_floor_{label}"] = floor(*sides, names)
    return out


def pmse_ratio(s: pd.DataFrame, p: pd.DataFrame, names: Sequence[str]) -> float:
    """Return the pMSE ratio of a random subsample as large as the sample."""
    drawn = p.sample(len(s), random_state=1)
    codes = []
    for name in names:
        both = pd.concat([s[name], drawn[name]], ignore_index=True)
        if name in ("netIncome", "income"):
            positive = (s[name] > 0).to_numpy()
            x, w = s[name].to_numpy()[positive], s["w"].to_numpy()[positive]
            inner = np.unique(weighted.quantile(x, w, [0.2, 0.4, 0.6, 0.8, 0.95]))
            both = pd.cut(both, [-np.inf, -1e-9, 0, *inner, np.inf])
        code, _ = pd.factorize(both.astype(object), use_na_sentinel=False)
        codes.append((code[: len(s)], code[len(s) :]))
    effective = float(s["w"].sum() ** 2 / (s["w"] ** 2).sum())
    return pmse_of_codes(
        [c for c, _ in codes], [d for _, d in codes], s["w"].to_numpy(), effective
    ).ratio
