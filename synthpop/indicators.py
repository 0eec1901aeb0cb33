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
    gender_pay_gap,
    gini,
    mean,
    median,
    quantile,
    quintile_share_ratio,
)
from synthpop.microdata.indicators.poverty import (
    at_risk_of_poverty,
    at_risk_of_poverty_threshold,
    poverty_gap,
)
from synthpop.microdata.indicators.proportions import (
    over_years,
    proportion,
    quantile_interval,
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
