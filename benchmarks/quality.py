"""Distances between sample and synthetic population, method by method, beside the reference's bar.

    python -m benchmarks.quality [SEEDS [SCENARIO ...]]
    python -m benchmarks.quality page [SEEDS]   # the page again, from what was measured

Reads ../shared/data and ../shared/golden and writes benchmarks/QUALITY.md; with names of scenarios
it prints their rows instead. Jobs that were measured are held in synthpop-quality-jobs.json in the
folder of temporary files, so that a run that was stopped goes on; remove it to measure again.

A distance is within the bar where its mean over the seeds is at most
the larger of the reference's mean and the floor of independent draws, plus twice the reference's
standard deviation over its seeds.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.scenarios import GOLDEN, Scenario, scenarios

PAGE = Path(__file__).with_name("QUALITY.md")
HELD = Path(tempfile.gettempdir()) / "synthpop-quality-jobs.json"
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


def held() -> dict[str, dict[str, float]]:
    """Jobs that were measured: means over the seeds."""
    return json.loads(HELD.read_text(encoding="utf-8")) if HELD.exists() else {}


def key_of(scenario: Scenario, seeds: int) -> str:
    """Scenarios of the reference that differ in an option that does not exist here are one job."""
    return f"{seeds} {scenario.run.func.__name__} {scenario.run.args!r}"


def means(scenario: Scenario, seeds: int) -> pd.Series:
    """Mean distances over the seeds; a job that is held for as many seeds is not run again."""
    found, key = held(), key_of(scenario, seeds)
    if key not in found:
        runs = [scenario.run(seed) for seed in range(1, seeds + 1)]
        found[key] = {name: float(x) for name, x in pd.DataFrame(runs).mean().items()}
        HELD.write_text(json.dumps(found), encoding="utf-8")
    return pd.Series(found[key])


def judged(scenario: Scenario, seeds: int, bar: pd.DataFrame) -> pd.DataFrame:
    """One row per metric: ours, the limit, and whether ours is within."""
    ours = means(scenario, seeds)
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


def measured(seeds: int, wanted: list[str]) -> None:
    """Measure every job that is not held yet, those that learn many trees last."""
    jobs = [job for job in scenarios() if _is_wanted(job, wanted)]
    for job in sorted(jobs, key=lambda job: "forest" in job.here or "boosting" in job.here):
        started = time.perf_counter()
        means(job, seeds)
        print(job.name, job.here, f"{time.perf_counter() - started:.0f} s", flush=True)


def _is_wanted(job: Scenario, wanted: list[str]) -> bool:
    return not wanted or any(name in (job.name or job.here) for name in wanted)


def page(seeds: int, wanted: list[str]) -> None:
    """Write the page from the jobs that are held; print rows where some are wanted."""
    from benchmarks import puf
    from benchmarks.quality_page import write_page

    bar, rows, tables = reference(), [], []
    jobs = [job for job in scenarios() if _is_wanted(job, wanted) and key_of(job, seeds) in held()]
    for job in jobs:
        table = judged(job, seeds, bar)
        rows.append(row_of(job, table))
        tables.append(table.assign(scenario=job.name, here=job.here))
    found = pd.concat(tables, ignore_index=True)
    if wanted:
        print("\n".join(rows), found[~found["within"]].to_string(index=False), sep="\n")
        return
    others = [job.name or job.here for job in scenarios() if key_of(job, seeds) not in held()]
    write_page(PAGE, seeds, [HEAD, *rows], found, others, puf.held_rows(HELD, seeds))


def main() -> None:
    """Measure and write the page."""
    from benchmarks import puf

    arguments = [x for x in sys.argv[1:] if x != "page"]
    seeds = int(arguments[0]) if arguments else 10
    if "page" not in sys.argv:
        measured(seeds, arguments[1:])
        if not arguments[1:]:
            puf.measure(HELD, seeds)
    page(seeds, arguments[1:])


if __name__ == "__main__":
    main()
