"""Indicators of poverty and inequality, with their variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.lazy import attach

if TYPE_CHECKING:
    from synthpop.microdata.statistics.design_variance import design_variance as design_variance
    from synthpop.microdata.statistics.indicators.equivalised import (
        equivalised_income as equivalised_income,
    )
    from synthpop.microdata.statistics.indicators.equivalised import (
        equivalised_size as equivalised_size,
    )
    from synthpop.microdata.statistics.indicators.figures import mean_excess as mean_excess
    from synthpop.microdata.statistics.indicators.figures import (
        mean_excess_figure as mean_excess_figure,
    )
    from synthpop.microdata.statistics.indicators.figures import (
        pareto_quantile_figure as pareto_quantile_figure,
    )
    from synthpop.microdata.statistics.indicators.figures import (
        pareto_quantiles as pareto_quantiles,
    )
    from synthpop.microdata.statistics.indicators.measures import gender_pay_gap as gender_pay_gap
    from synthpop.microdata.statistics.indicators.measures import gini as gini
    from synthpop.microdata.statistics.indicators.measures import mean as mean
    from synthpop.microdata.statistics.indicators.measures import median as median
    from synthpop.microdata.statistics.indicators.measures import quantile as quantile
    from synthpop.microdata.statistics.indicators.measures import (
        quintile_share_ratio as quintile_share_ratio,
    )
    from synthpop.microdata.statistics.indicators.poverty import (
        at_risk_of_poverty as at_risk_of_poverty,
    )
    from synthpop.microdata.statistics.indicators.poverty import (
        at_risk_of_poverty_threshold as at_risk_of_poverty_threshold,
    )
    from synthpop.microdata.statistics.indicators.poverty import poverty_gap as poverty_gap
    from synthpop.microdata.statistics.indicators.proportions import over_years as over_years
    from synthpop.microdata.statistics.indicators.proportions import proportion as proportion
    from synthpop.microdata.statistics.indicators.proportions import (
        quantile_interval as quantile_interval,
    )
    from synthpop.microdata.statistics.indicators.results import Indicator as Indicator
    from synthpop.microdata.statistics.indicators.semiparametric import TailFit as TailFit
    from synthpop.microdata.statistics.indicators.semiparametric import pareto_tail as pareto_tail
    from synthpop.variance.bootstrap import Bootstrap as Bootstrap
    from synthpop.variance.bootstrap import bootstrap as bootstrap
    from synthpop.variance.replicate_weights import ReplicateWeights as ReplicateWeights
    from synthpop.variance.replicate_weights import replicate_weights as replicate_weights
    from synthpop.variance.replicate_weights import replicate_weights_from as replicate_weights_from
else:
    __getattr__, __dir__, __all__ = attach(__name__)
