"""How much of what an analyst needs a release has kept: ``from riskeval import utility``.

Every measure takes the original file first and the release second and returns a frozen result with
``summary()`` and ``to_frame()``. Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.lazy import attach

if TYPE_CHECKING:
    from riskeval.utility.categories import Entropy as Entropy
    from riskeval.utility.categories import MissingLoss as MissingLoss
    from riskeval.utility.categories import entropy as entropy
    from riskeval.utility.categories import missing_loss as missing_loss
    from riskeval.utility.cells import CellChanges as CellChanges
    from riskeval.utility.cells import cell_changes as cell_changes
    from riskeval.utility.distributions import DistributionDistance as DistributionDistance
    from riskeval.utility.distributions import hellinger as hellinger
    from riskeval.utility.distributions import kolmogorov_smirnov as kolmogorov_smirnov
    from riskeval.utility.gower_distance import GowerDistance as GowerDistance
    from riskeval.utility.gower_distance import gower as gower
    from riskeval.utility.indicators import IndicatorComparison as IndicatorComparison
    from riskeval.utility.indicators import indicator_comparison as indicator_comparison
    from riskeval.utility.information import InformationLoss as InformationLoss
    from riskeval.utility.information import information_loss as information_loss
    from riskeval.utility.k_way_tables import TableDistances as TableDistances
    from riskeval.utility.k_way_tables import table_distances as table_distances
    from riskeval.utility.overlaps import IntervalOverlap as IntervalOverlap
    from riskeval.utility.overlaps import coverage as coverage
    from riskeval.utility.overlaps import interval_overlap as interval_overlap
    from riskeval.utility.overlaps import overlap as overlap
    from riskeval.utility.predictions import PredictionQuality as PredictionQuality
    from riskeval.utility.predictions import prediction_quality as prediction_quality
    from riskeval.utility.propensity_scores import Propensity as Propensity
    from riskeval.utility.propensity_scores import propensity as propensity
    from riskeval.utility.regressions import RegressionComparison as RegressionComparison
    from riskeval.utility.regressions import regression_comparison as regression_comparison
    from riskeval.utility.tables import TableDistance as TableDistance
    from riskeval.utility.tables import table_distance as table_distance
else:
    __getattr__, __dir__, __all__ = attach(__name__)
