"""Indicators of poverty and inequality, with their variance."""

from __future__ import annotations

from synthpop.microdata.design_variance import design_variance
from synthpop.microdata.indicators.equivalised import equivalised_income, equivalised_size
from synthpop.microdata.indicators.figures import (
    mean_excess,
    mean_excess_figure,
    pareto_quantile_figure,
    pareto_quantiles,
)
from synthpop.microdata.indicators.measures import (
    at_risk_of_poverty,
    at_risk_of_poverty_threshold,
    gender_pay_gap,
    gini,
    mean,
    median,
    poverty_gap,
    quantile,
    quintile_share_ratio,
)
from synthpop.microdata.indicators.results import Indicator
from synthpop.microdata.indicators.semiparametric import TailFit, pareto_tail
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
    "pareto_quantile_figure",
    "pareto_quantiles",
    "pareto_tail",
    "poverty_gap",
    "quantile",
    "quintile_share_ratio",
    "replicate_weights",
    "replicate_weights_from",
]
