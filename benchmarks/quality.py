"""Distances between sample and synthetic population, method by method, beside the reference's bar.

    python -m benchmarks.quality [SEEDS [SCENARIO ...]]

Reads ../shared/data and ../shared/golden and writes benchmarks/QUALITY.md; with names of scenarios
it prints their rows instead. A distance is within the bar where its mean over the seeds is at most
the larger of the reference's mean and the floor of independent draws, plus twice the reference's
standard deviation over its seeds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.scenarios import GOLDEN, Scenario, scenarios

PAGE = Path(__file__).with_name("QUALITY.md")
# not distances: what they are compared with, sizes, and what differs by design
ASIDE = ("floor", "n_persons", "n_target", "n_splits", "chi2_df", "sample_", "abs_dev_before",
         "splits_within_eps", "under16.")  # fmt: skip
MAIN = ("continuous.ks", "components.sum_abs_diff_share", "categorical.pl030.tvd",
        "structure.tvd_persons_region_agec_rb090", "income.ks", "religion.tvd", "nation2.tvd",
        "highest_degree.tvd", "persons.mean_rel_dev", "rel_dev_after")  # fmt: skip


def reference() -> pd.DataFrame:
    """The reference's mean and standard deviation by scenario and metric."""
    bar = pd.read_csv(GOLDEN / "g_bar.csv").set_index(["scenario", "metric"])
    for scenario, metric in list(bar.index):
        beside = _sample_of(metric)
        if beside and (scenario, beside) in bar.index:  # distance to the sample
            bar.loc[(scenario, metric), "mean"] -= bar.loc[(scenario, beside), "mean"]
    return bar


def _sample_of(metric: str) -> str:
    """Name of the sample's own value that a value of the population is compared with."""
    for told in ("share_multi_person_households_with_one_value", "share_equal_to_head.all"):
        if metric.endswith("." + told) and "sample_" not in metric:
            return metric.replace(told, "sample_" + told)
    return metric.replace("pop_eta2", "sample_eta2") if "pop_eta2" in metric else ""


def floor_of(metric: str, ours: pd.Series) -> float:
    """Expected distance of independent draws, where there is one."""
    if metric.endswith("S_pMSE"):
        return 1.0
    if metric.endswith("chi2_with_stratum"):
        return float(ours[metric.replace("chi2_with_stratum", "chi2_df")])
    if metric.endswith("heads_tvd"):
        return float(ours[metric + "_floor"])
    if "ks" in metric.split(".")[-1]:
        return float(ours.get(metric.replace(".ks", ".ks_floor"), np.nan))
    if metric.endswith("tvd_by_stratum_mean"):
        return float(ours[metric.replace("_mean", "_floor_mean")])
    if ".tvd" in metric:
        return float(ours.get(metric.replace(".tvd", ".tvd_floor"), np.nan))
    return float("nan")


def judged(scenario: Scenario, seeds: int, bar: pd.DataFrame) -> pd.DataFrame:
    """One row a metric: ours, the limit, and whether ours is within."""
    ours = pd.DataFrame([scenario.run(seed) for seed in range(1, seeds + 1)]).mean()
    rows = []
    for metric, value in ours.items():
        if any(told in str(metric) for told in ASIDE):
            continue
        low = floor_of(str(metric), ours)
        mean, sd = np.nan, np.nan
        if (scenario.name, metric) in bar.index:
            mean, sd = bar.loc[(scenario.name, metric), ["mean", "sd"]]
            mean, sd = abs(mean), np.nan_to_num(sd)
        limit = np.nanmax([mean, low]) + 2 * sd if np.isfinite(mean) else np.nan
        rows.append(
            {"metric": metric, "ours": abs(value), "reference": mean, "floor": low, "limit": limit}
        )
    table = pd.DataFrame(rows)
    table["within"] = ~(table["ours"] > table["limit"] * (1 + 1e-5) + 1e-9)
    return table


def row_of(scenario: Scenario, table: pd.DataFrame) -> str:
    """One row of the page."""
    known = table.dropna(subset="limit")
    main = next((m for m in MAIN if m in set(table["metric"])), table["metric"].iloc[0])
    mine = table.set_index("metric").loc[main]
    limit = f" ({mine['limit']:.2g})" if np.isfinite(mine["limit"]) else ""
    below = f", floor {mine['floor']:.2g}" if np.isfinite(mine["floor"]) else ""
    cells = [scenario.name or "-", scenario.here, f"{main} {mine['ours']:.2g}{limit}{below}"]
    if len(known):
        ratio = known["ours"] / known["limit"].where(known["limit"] > 0)
        worst = known.loc[ratio.fillna(0).idxmax()]
        wrong = known[~known["within"]]
        cells += [f"{len(known)}", f"{int(known['within'].sum())}"]
        cells.append(f"{worst['metric']} {worst['ours']:.2g} ({worst['limit']:.2g})")
        cells.append("; ".join(wrong["metric"]) or "")
    else:
        cells += ["", "", "", ""]
    return "| " + " | ".join(cells) + " |"


HEAD = (
    "| reference | here | main distance (bar) | distances | within | nearest to its bar, or "
    "farthest beyond | beyond |\n| --- | --- | --- | --: | --: | --- | --- |"
)


def main() -> None:
    """Write the page, or print the rows of some scenarios."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    wanted = sys.argv[2:]
    bar, rows, tables = reference(), [], []
    for scenario in scenarios():
        if wanted and not any(name in (scenario.name or scenario.here) for name in wanted):
            continue
        started = time.perf_counter()
        table = judged(scenario, seeds, bar)
        rows.append(row_of(scenario, table))
        tables.append(table.assign(scenario=scenario.name, here=scenario.here))
        print(rows[-1], f"{time.perf_counter() - started:.0f} s", flush=True)
    if wanted:
        found = pd.concat(tables)
        print(found[~found["within"]].to_string(index=False))
        return
    from benchmarks.quality_page import write_page

    write_page(PAGE, seeds, HEAD, rows, pd.concat(tables))


if __name__ == "__main__":
    main()
