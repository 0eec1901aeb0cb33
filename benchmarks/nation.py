"""A nation in small zones: households by `balance_zones`, at a share of its size.

    python -m benchmarks.nation 0.01      # 3 million persons, 2,400 zones of 500 households

Zones lie in counties and states. Each zone has 31 totals that households and persons meet, each
county five and each state four more. The truth is invented: zones differ in size, age and income;
the survey is one household in fifty of each region of a hundred zones, which keeps its households.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd

ZONES, HOUSEHOLDS = 240_000, 500
AGES = [0, 5, 15, 25, 35, 45, 55, 65, 120]


def truth(n_zones: int, rng: np.random.Generator) -> pd.DataFrame:
    """Persons of all zones with what is controlled."""
    n = n_zones * HOUSEHOLDS
    zone = np.repeat(np.arange(n_zones), HOUSEHOLDS)
    rich, young = rng.normal(0, 0.6, n_zones)[zone], rng.normal(0, 0.5, n_zones)[zone]
    size = 1 + rng.binomial(4, np.clip(0.35 + 0.1 * young, 0.05, 0.9))
    wealth = np.clip(np.round(2.5 + rich + rng.normal(0, 1.2, n)), 0, 5).astype(int)
    dwelling = np.clip(np.round(1 + 0.4 * rich + rng.normal(0, 0.7, n)), 0, 2).astype(int)
    persons = np.repeat(np.arange(n), size)
    age = np.clip(rng.gamma(2.2, 17, len(persons)) - 4 * young[persons], 0, 99)
    return pd.DataFrame(
        {"household": persons, "zone": zone[persons], "size": size[persons],
         "wealth": wealth[persons], "dwelling": dwelling[persons],
         "age": pd.cut(age, AGES, right=False, labels=False), "sex": rng.integers(0, 2, len(age)),
         "works": (age > 17) & (age < 66) & (rng.random(len(age)) < 0.7),
         "race": rng.choice(5, n, p=[0.6, 0.15, 0.13, 0.07, 0.05])[persons],
         "occupation": rng.integers(0, 4, len(age))}
    )  # fmt: skip


def main(share: float) -> None:
    """Invent, balance, and print a row."""
    from synthpop import Margin, Survey
    from synthpop.calibration import balance_zones

    rng = np.random.default_rng(1)
    n_zones = round(ZONES * share)
    zones = pd.DataFrame({"zone": np.arange(n_zones)})
    zones["region"] = zones["zone"] // 100
    zones["county"] = zones["region"] * 10 + zones["zone"] % 100 // 50
    zones["state"] = zones["region"] // 48
    people = truth(n_zones, rng).merge(zones, on="zone")
    homes = people.drop_duplicates("household")

    def margin(frame: pd.DataFrame, level: str, *by: str) -> Margin:
        table = frame.groupby(list(by)).size().rename("total").reset_index()
        return Margin(table, level=level, importance=None if by == ("zone",) else 1000.0)

    margins = [
        margin(homes, "household", "zone"),
        *(margin(homes, "household", "zone", name) for name in ("size", "wealth", "dwelling")),
        margin(people, "person", "zone", "age", "sex"),
        margin(people[people["works"]], "person", "zone", "works"),
        margin(homes, "household", "county", "race"),
        margin(people, "person", "state", "occupation"),
    ]
    drawn = homes["household"].sample(frac=0.02, random_state=1)
    sample = people[people["household"].isin(drawn)].drop(columns=["zone", "county", "state"])
    survey = Survey(sample.assign(w=50.0), weight="w", household="household")
    columns = zones[["state", "region", "county", "zone"]]
    n_persons, n_totals = len(people), sum(len(item.frame) for item in margins)
    del people, homes
    before = time.process_time()
    result = balance_zones(survey, columns, margins, within="region", seed=1)
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n_persons:,} persons, {n_zones:,} zones, {n_totals:,} totals, {survey.n_households:,} "
          f"households of the survey: {seconds:.1f} processor s, peak {peak:,.0f} MB")  # fmt: skip
    print(result.fit().round(5).to_string(index=False))
    different = float(result.copies()["different"].mean())
    print(f"{different:.0f} different households in a zone of {HOUSEHOLDS}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.01)
