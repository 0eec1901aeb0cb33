"""Time and memory of the log-linear risk measures: `python -m benchmarks.bench_loglinear`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks._measure import measure
from riskeval.measures.loglinear.model import loglinear_risk
from riskeval.measures.loglinear.select import choose_model

KEYS = ["region", "hsize", "age", "sex", "status", "citizen"]


def people(n: int) -> pd.DataFrame:
    """Keys like those of a social survey; household size and status depend on age."""
    rng = np.random.default_rng(0)
    age = rng.integers(0, 90, n)
    return pd.DataFrame(
        {
            "region": rng.integers(0, 9, n),
            "hsize": 1 + np.minimum(rng.poisson(2.5 - age / 60, n), 8),
            "age": age,
            "sex": rng.choice(["m", "f"], n),
            "status": np.minimum(age // 18 + rng.integers(0, 3, n), 6),
            "citizen": rng.choice(["AT", "EU", "other"], n, p=[0.9, 0.04, 0.06]),
            "w": rng.uniform(300, 700, n),
        }
    )


def main() -> None:
    small = people(14_827)
    trend = "~ region + hsize + sex + age + citizen + age:sex + age:hsize + hsize:sex"
    rich = "~ C(region) + sex + C(age)*C(hsize) + C(age)*C(status) + citizen"
    choose_model(small.head(200), KEYS, weights="w", max_interactions=0)  # compile
    print("| job | size | seconds | peak MB |\n| --- | --- | --- | --- |")
    for n in (14_827, 1_000_000):
        data = people(n)
        for job, call in {
            "main effects": {},
            "numbers and interactions": {"formula": trend},
            "categories and interactions": {"formula": rich},
            "numbers, Clogg-Eliason": {"formula": trend, "method": "clogg-eliason"},
        }.items():
            measure(
                f"log-linear risk, {job}",
                f"{n:,} x 6",
                lambda data=data, call=call: loglinear_risk(data, KEYS, weights="w", **call),
            )
    measure("model choice", "14,827 x 6", lambda: choose_model(small, KEYS, weights="w"))
    many = pd.DataFrame(np.random.default_rng(1).integers(0, 50, (100_000, 10)).astype(str))
    many.columns = pd.Index([f"k{j}" for j in range(10)])
    many["w"] = 10.0
    measure(
        "log-linear risk, table of 50^10 cells",
        "100,000 x 10",
        lambda: loglinear_risk(many, list(many.columns[:10]), weights="w"),
    )


if __name__ == "__main__":
    main()
