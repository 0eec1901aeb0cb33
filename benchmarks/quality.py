"""Distances between sample and synthetic population on eusilcS, beside the reference's bar.

    python -m benchmarks.quality [SEEDS]

Reads ../shared/data and ../shared/golden. Prints, for each distance: our mean over the seeds, the
reference's mean and standard deviation, the floor of independent draws, and whether ours is within
the bar (at most the reference's mean + 2 sd, or the floor + 2 sd, whichever is larger).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.eusilc import PARTS, pipeline, read_survey
from synthpop import weighted

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden" / "pop"
PROBS = np.array([0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99])
SCENARIOS = ("str_direct", "fullf")  # structure alone, and the whole chain on filled data


def prepare(frame: pd.DataFrame, weight: str | None) -> pd.DataFrame:
    """Sample or population with the groups of the metrics, adults flagged."""
    data = frame.copy(deep=False)
    data["w"] = frame[weight] if weight else 1.0
    data["agec"] = pd.cut(frame["age"], [-2, 15, 30, 45, 60, 75, 100])
    data["hs5"] = np.minimum(frame["hsize"].astype(int), 5)
    return data


def shares(data: pd.DataFrame, names: list[str]) -> pd.Series:
    """Weighted cell shares."""
    table = data.groupby(names, observed=True)["w"].sum()
    return table / table.sum()


def tvd(s: pd.DataFrame, p: pd.DataFrame, names: list[str]) -> float:
    """Total variation distance of the joint distribution of `names`."""
    return float(0.5 * shares(p, names).sub(shares(s, names), fill_value=0).abs().sum())


def floor(s: pd.DataFrame, p: pd.DataFrame, names: list[str]) -> float:
    """Expected distance of independent draws."""
    q = shares(s, names)
    return float(0.5 * np.sqrt(2 * q * (1 - q) / (np.pi * len(p))).sum())


def ks(s: pd.DataFrame, p: pd.DataFrame, name: str) -> float:
    """Largest difference of the weighted distribution functions."""
    grid = np.unique(np.concatenate([s[name], p[name]]))

    def cdf(data: pd.DataFrame) -> np.ndarray:
        order = np.argsort(data[name].to_numpy(), kind="stable")
        x, w = data[name].to_numpy()[order], data["w"].to_numpy()[order]
        total = np.concatenate([[0.0], np.cumsum(w)])
        return total[np.searchsorted(x, grid, side="right")] / total[-1]

    return float(np.abs(cdf(s) - cdf(p)).max())


def by_group(s: pd.DataFrame, p: pd.DataFrame, group: str, metric, *args) -> np.ndarray:
    """The metric inside each group."""
    groups = dict(list(p.groupby(group, observed=True)))
    return np.array(
        [metric(part, groups[level], *args) for level, part in s.groupby(group, observed=True)]
    )


def categorical(s: pd.DataFrame, p: pd.DataFrame, name: str) -> dict[str, float]:
    """Distances of one categorical variable, persons 16 and older."""
    out = {"tvd": tvd(s, p, [name])}
    out["tvd_by_stratum_mean"] = by_group(s, p, "db040", tvd, [name]).mean()
    out["tvd_by_stratum_max"] = by_group(s, p, "db040", tvd, [name]).max()
    for names in (["rb090"], ["agec"], ["agec", "rb090"], ["hs5"], ["pb220a"]):
        if name not in names:
            out["tvd_with_" + "_".join(names)] = tvd(s, p, [name, *names])
            out["tvd_floor_with_" + "_".join(names)] = floor(s, p, [name, *names])
    out["tvd_floor"] = floor(s, p, [name])
    return {f"categorical.{name}.{key}": value for key, value in out.items()}


def gini(data: pd.DataFrame, name: str) -> float:
    """Gini coefficient of max(x, 0)."""
    x = np.maximum(data[name].to_numpy(), 0)
    order = np.argsort(x)
    x, w = x[order], data["w"].to_numpy()[order]
    above = 2 * np.sum(w * x * np.cumsum(w)) - np.sum(w**2 * x)
    return float(above / (w.sum() * np.sum(w * x)) - 1)


def continuous(s: pd.DataFrame, p: pd.DataFrame, name: str) -> dict[str, float]:
    """Distances of one continuous variable, persons 16 and older."""
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
    for label, group in (
        ("region", "db040"),
        ("rb090", "rb090"),
        ("pl030", "pl030"),
        ("agec", "agec"),
    ):
        out[f"ks_by_{label}_mean"] = by_group(s, p, group, ks, name).mean()
    return {f"continuous.{key}": value for key, value in out.items()}


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
    out |= {f"{part}.ks": ks(s, p, part) for part in PARTS}
    return {f"components.{key}": value for key, value in out.items()}


def structure(s: pd.DataFrame, p: pd.DataFrame) -> dict[str, float]:
    """Distances of the household structure, all persons."""
    names = ["db040", "agec", "rb090"]
    heads = p.drop_duplicates("db030")
    sample_heads = s.drop_duplicates("db030")
    out = {
        "n_persons": len(p),
        "n_households": len(heads),
        "tvd_persons_region_agec_rb090": tvd(s, p, names),
        "tvd_households_region_hsize": tvd(sample_heads, heads, ["db040", "hsize"]),
    }
    expected = sample_heads.groupby(["db040", "hsize"], observed=True)["w"].sum().round()
    counts = heads.groupby(["db040", "hsize"], observed=True).size()
    gap = counts.sub(expected, fill_value=0).abs().max()
    return {f"structure.{k}": v for k, v in out.items()} | {
        "structure.household_cells_max_abs_diff_to_rounded_HT": float(gap)
    }


def standardised_pmse(s: pd.DataFrame, p: pd.DataFrame, names: list[str]) -> float:
    """Propensity mean squared error over its expectation under the same distribution."""
    from sklearn.linear_model import LogisticRegression

    drawn = p.sample(len(s), random_state=1)
    both = pd.concat([s[names], drawn[names]], ignore_index=True)
    if "netIncome" in names:
        positive = s["netIncome"] > 0
        x, w = s["netIncome"][positive].to_numpy(), s["w"][positive].to_numpy()
        inner = weighted.quantile(x, w, [0.2, 0.4, 0.6, 0.8, 0.95])
        limits = [-np.inf, -1e-9, 0, *inner, np.inf]
        both["netIncome"] = pd.cut(both["netIncome"], limits)
    design = pd.get_dummies(both.astype("category"), drop_first=True).to_numpy(float)
    design = design[:, design.any(axis=0)]
    member = np.repeat([0, 1], len(s))
    w = np.concatenate([s["w"] / s["w"].mean(), np.ones(len(s))])
    model = LogisticRegression(C=np.inf, max_iter=5000).fit(design, member, sample_weight=w)
    pmse = np.average((model.predict_proba(design)[:, 1] - 0.5) ** 2, weights=w)
    return float(pmse / (design.shape[1] / 8 / (2 * len(s))))


def measure(sample: pd.DataFrame, population: pd.DataFrame) -> dict[str, float]:
    """Every distance of one population."""
    s, p = prepare(sample, "rb050"), prepare(population, None)
    out = structure(s, p)
    children = p["age"] < 16
    out["categorical.pl030.share_under16_with_adult_value"] = p["pl030"][children].notna().mean()
    out["continuous.under16.share_with_income"] = p["netIncome"][children].notna().mean()
    s, p = s[s["age"] >= 16], p[~children]
    for column in ("netIncome", *PARTS):
        out["missing." + column] = p[column].isna().mean()
        p = p.assign(**{column: p[column].fillna(0.0)})
    out |= categorical(s, p, "pl030") | categorical(s, p, "pb220a")
    names = ["db040", "agec", "rb090", "hs5", "pl030", "pb220a"]
    out["pMSE_categorical.S_pMSE"] = standardised_pmse(s, p, names)
    out["pMSE_continuous.S_pMSE"] = standardised_pmse(s, p, [*names, "netIncome"])
    return out | continuous(s, p, "netIncome") | components(s, p)


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    survey = read_survey()
    fitted = pipeline(by=("pl030", "netIncome")).fit(survey, seed=1)  # as the reference
    runs = [
        measure(survey.frame, fitted.simulate(seed=seed).frame()) for seed in range(1, seeds + 1)
    ]
    ours = pd.DataFrame(runs)
    bar = pd.read_csv(GOLDEN / "g_bar.csv").query("scenario in @SCENARIOS")
    best = bar.groupby("metric")[["mean", "sd"]].agg({"mean": lambda x: x.abs().min(), "sd": "max"})
    print("| distance | ours | reference | its sd | floor | within |")
    print("| --- | --: | --: | --: | --: | --- |")
    for name in ours:
        mean = abs(ours[name].mean())
        if name not in best.index:
            print(f"| {name} | {mean:.5g} | | | | |")
            continue
        low = ours.get(name.replace(".tvd", ".tvd_floor"), pd.Series([np.nan])).mean()
        low = low if ".tvd" in name and "stratum" not in name else np.nan
        limit = np.nanmax([best["mean"][name], low]) + 2 * best["sd"][name]
        verdict = "yes" if mean <= limit + 1e-12 else "NO"
        if name.startswith("structure.n_") or "floor" in name:
            verdict = ""
        print(
            f"| {name} | {mean:.5g} | {best['mean'][name]:.5g} | {best['sd'][name]:.2g} "
            f"| {low:.5g} | {verdict} |"
        )


if __name__ == "__main__":
    main()
