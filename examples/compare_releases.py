"""Compare five ways to release a survey: four perturb it, one is a synthetic sample.

The original are three regions of the embedded demo survey (invented data). The synthetic release is
a sample of households drawn from a synthetic population that was fitted to these regions. Run it
with ``python examples/compare_releases.py [folder]``; it writes a report for internal and one for
external readers, and the risk-utility map as a picture.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import riskeval
import synthpop
from riskeval import Indicators, Release, SampleSizes, protect
from synthpop import (
    Binned,
    Categorical,
    Cluster,
    Continuous,
    Pipeline,
    SimpleRandom,
    Structure,
    Survey,
)

SEED = 2017
REGIONS = ["Eastmoor", "Lakeland", "Riverside"]
KEYS = ["db040", "age", "rb090", "pe040", "pb190"]
NUMBERS = ["netIncome", "hincome"]
AGES = [0, 15, 24, 34, 44, 54, 64, 74, 120]


def read() -> Survey:
    """Return three regions of the demo survey; household income is the sum of the members'."""
    whole = synthpop.load_demo_survey().frame
    frame = whole[whole["db040"].isin(REGIONS)].reset_index(drop=True)
    frame["db040"] = frame["db040"].cat.remove_unused_categories()
    frame["hincome"] = frame.groupby("db030")["netIncome"].transform("sum")
    return Survey(frame, weight="rb050", household="db030", strata="db040")


def synthetic(survey: Survey) -> Survey:
    """Return a sample drawn from a synthetic population, about as large as the survey."""
    fitted = Pipeline(
        [
            Structure(["age", "rb090"]),
            Categorical("pe040"),
            Categorical("pb190"),
            Categorical("pl030"),
            Continuous("netIncome", method=Binned(tail="gpd", upper=500_000)),
        ]
    ).fit(survey, seed=SEED)
    population = fitted.simulate(seed=SEED)
    print(population.summary())
    households = Cluster("db030", SimpleRandom(survey.n_households))
    sample = synthpop.draw_sample(population, households, seed=SEED)
    income = sample.frame.groupby("db030")["netIncome"].transform("sum")
    return sample.with_column("hincome", income.to_numpy())


def releases(survey: Survey) -> dict[str, Any]:
    """Return the candidates; noise and groups in two strengths each, as paths on the map."""
    original = survey.frame
    coarse = protect.global_recode(original, "age", breaks=AGES).data
    safe = protect.local_suppression(coarse, KEYS, k=3)
    print(safe.summary())
    found: dict[str, Any] = {"synthetic sample": Release(synthetic(survey), kind="synthetic")}
    for k in (3, 20):
        grouped = protect.microaggregate(safe.data, NUMBERS, k=k, seed=SEED)
        found[f"groups of {k}"] = Release(grouped, family="suppression, groups of k", parameter=k)
    for level in (0.05, 0.5):
        noise = protect.add_noise(safe.data, NUMBERS, method="correlated", level=level, seed=SEED)
        found[f"noise {level:g}"] = Release(noise, family="suppression, noise", parameter=level)
    moved = protect.pram(coarse, ["pe040", "pb190"], strata="db040", seed=SEED).data
    found["PRAM"] = protect.microaggregate(moved, NUMBERS, k=3, seed=SEED)
    found["shuffled"] = protect.shuffle(safe.data, formula="netIncome + hincome ~ rb090", seed=SEED)
    return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    survey = read()
    # Every fifth household stays outside: real people who tell what keys give away about anybody.
    households = survey.frame["db030"]
    outside = np.isin(households, households.unique()[::5])
    kept = survey.frame[~outside].reset_index(drop=True)
    original = Survey(kept, weight="rb050", household="db030", strata="db040")
    found = riskeval.compare(
        original,
        releases(original),
        keys=KEYS,
        numeric=NUMBERS,
        sensitive=["pl030"],
        weights="rb050",
        household="db030",
        strata="db040",
        indicators=Indicators(
            "netIncome",
            ["mean", "gini", "at_risk_of_poverty", "gender_pay_gap"],
            by="db040",
            gender="rb090",
        ),
        regressions=["netIncome ~ rb090 + pe040 + db040"],
        holdout=survey.frame[outside],
        sample_sizes=SampleSizes(prediction=1_000, screen=1_000, outliers=3_000),
        seed=SEED,
    )
    columns = ["below_3", "disco: pl030", "membership", "record_linkage", "il1s", "overlap"]
    print(found.table[columns].round(3).to_string())
    print(found.summary())
    drawn = found.risk_utility_map(risk="record_linkage", utility="il1s")
    print(pd.DataFrame(drawn.frame).round(3).to_string(index=False))
    drawn.figure().savefig(folder / "map.png", dpi=150)
    found.report(folder / "internal.html", title="Five ways to release a survey")
    found.report(folder / "external.html", title="Five ways to release a survey",
                 audience="external")  # fmt: skip
    print(f"Wrote two reports and the map to {folder}.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "compared-releases"))
