"""Which comparisons of a fit report are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from synthpop.evaluation.result import FitReport

MOSAICS, GROUPS = 6, 3


def overall_distances(fit: FitReport) -> pd.DataFrame:
    """Return the distances of single variables over all persons."""
    table = fit.distances
    return table[(table["crossed"] == "") & (table["scope"] == "all")].dropna(subset="value")


def main_numbers(fit: FitReport) -> list[str]:
    """Return the numbers that are not parts of a total."""
    parts = {part for group in fit.components.values() for part in group}
    return [name for name in fit.ks.index if name not in parts]


def shown_groups(fit: FitReport, name: str) -> list[str]:
    """Return the factors to draw a number by: what explains most of it first, then the strata."""
    table = fit.tables["association"]
    rows = table[(table["variable"] == name) & table["sample"].between(0, 0.9)]
    ranked = rows.sort_values("sample", ascending=False)["by"].tolist()
    factors = ranked[:1] + ([fit.strata] if fit.strata in ranked else []) + ranked[1:]
    return list(dict.fromkeys(factors))[:GROUPS]


def shown_pairs(fit: FitReport) -> list[tuple[str, str]]:
    """Return the pairs that are farthest from the survey for their sampling error."""
    table = fit.distances
    pairs = table[(table["crossed"] != "") & (table["scope"] == "all")]
    ratio = pairs["value"] / pairs["expected_sampling_error"]
    ratio = ratio.sort_values(ascending=False, kind="stable")
    rows = pairs.loc[ratio.index[:MOSAICS]]
    return list(zip(rows["variable"], rows["crossed"], strict=True))
