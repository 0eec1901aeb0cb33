"""How much of what an analyst needs a release has kept: ``from riskeval import utility``.

Every measure takes the original file first and the release second and returns a frozen result with
``summary()`` and ``to_frame()``. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "information_loss": "information",
    "InformationLoss": "information",
    "table_distance": "tables",
    "TableDistance": "tables",
    "table_distances": "k_way_tables",
    "TableDistances": "k_way_tables",
    "propensity": "propensity_scores",
    "Propensity": "propensity_scores",
    "interval_overlap": "overlaps",
    "overlap": "overlaps",
    "coverage": "overlaps",
    "IntervalOverlap": "overlaps",
    "indicator_comparison": "indicators",
    "IndicatorComparison": "indicators",
    "regression_comparison": "regressions",
    "RegressionComparison": "regressions",
    "prediction_quality": "predictions",
    "PredictionQuality": "predictions",
    "gower": "gower_distance",
    "GowerDistance": "gower_distance",
    "entropy": "categories",
    "Entropy": "categories",
    "missing_loss": "categories",
    "MissingLoss": "categories",
    "hellinger": "distributions",
    "kolmogorov_smirnov": "distributions",
    "DistributionDistance": "distributions",
}
"""Public names, with the module of ``riskeval.utility`` that has each."""

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'riskeval.utility' has no attribute {name!r}")
    return getattr(importlib.import_module(f"riskeval.utility.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
