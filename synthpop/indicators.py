"""Indicators of poverty and inequality, with their variance."""

from __future__ import annotations

from synthpop.microdata.indicators import (
    Indicator,
    TailFit,
    at_risk_of_poverty,
    at_risk_of_poverty_threshold,
    design_variance,
    gender_pay_gap,
    gini,
    mean,
    mean_excess,
    mean_excess_figure,
    median,
    over_years,
    pareto_quantile_figure,
    pareto_quantiles,
    pareto_tail,
    poverty_gap,
    proportion,
    quantile,
    quantile_interval,
    quintile_share_ratio,
)
from synthpop.microdata.indicators.equivalised import equivalised_income, equivalised_size
from synthpop.variance.bootstrap import Bootstrap, bootstrap
from synthpop.variance.replicate_weights import (
    ReplicateWeights,
    replicate_weights,
    replicate_weights_from,
)

__all__ = [
    "Bootstrap",
    "Indicator",
    "ReplicateWeights",
    "TailFit",
    "at_risk_of_poverty",
    "at_risk_of_poverty_threshold",
    "bootstrap",
    "design_variance",
    "equivalised_income",
    "equivalised_size",
    "gender_pay_gap",
    "gini",
    "mean",
    "mean_excess",
    "mean_excess_figure",
    "median",
    "over_years",
    "pareto_quantile_figure",
    "pareto_quantiles",
    "pareto_tail",
    "poverty_gap",
    "proportion",
    "quantile",
    "quantile_interval",
    "quintile_share_ratio",
    "replicate_weights",
    "replicate_weights_from",
]
