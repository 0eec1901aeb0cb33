"""The releases by every measure of risk and utility: ``riskeval.compare``."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from replay import tables5
from replay.earnings import KEYS, NUMERIC
from replay.section83 import without_losses
from riskeval import Comparison, Indicators, Release, SampleSizes, compare

ESTIMATES = (
    Indicators("earningsHour", ["gini", "gender_pay_gap"], by="education", gender="sex"),
    Indicators("earningsHour", ["gender_pay_gap"], by="age", gender="sex"),
    Indicators("earningsHour", ["gini"], by=["age", "sex"]),
)
SAMPLE_SIZES = SampleSizes(
    linkage=4_000, outliers=4_000, prediction=4_000, screen=4_000, propensity=16_000
)
SHOWN = (
    "below_3",
    "expected_reidentifications",
    "record_linkage",
    "interval_disclosure",
    "rapid",
    "close",
    "il1s",
    "eigenvalues",
    "hellinger",
    "tables",
    "pmse_ratio",
    "overlap",
    "regression_overlap",
    "same_conclusions",
)


def comparison(
    original: pd.DataFrame, releases: Mapping[str, pd.DataFrame], seed: int
) -> Comparison:
    """Compare all releases; earnings of zero and below count as missing (no logarithm)."""
    given = {}
    for name, release in releases.items():
        invented = name == "synthetic"
        given[name] = Release(
            without_losses(release),
            kind="synthetic" if invented else "perturbed",
            linkable=not invented,
        )
    return compare(
        original,
        given,
        keys=list(KEYS),
        numeric=list(NUMERIC),
        sensitive=[NUMERIC[0]],
        weights="weights",
        indicators=ESTIMATES,
        regressions=tables5.MODEL,
        sample_sizes=SAMPLE_SIZES,
        seed=seed,
    )


def chosen(found: Comparison) -> pd.DataFrame:
    """Return the measures to look at first, one row each, with their titles."""
    titles = found.measures.drop_duplicates("measure").set_index("measure")["title"]
    table = pd.DataFrame({titles[name]: found.values(name) for name in SHOWN})
    return table.T.astype(float)
