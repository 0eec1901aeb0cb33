"""Weighted descriptive statistics on arrays.

Every function takes the values first and the survey weights second; without weights each row
counts once. **Missing values** (NaN) are left out by default (``missing="drop"``);
``missing="propagate"`` gives NaN when there is one. Weights must be finite and not negative; rows
of weight zero count for nothing.
"""

from __future__ import annotations

from synthpop.microdata.statistics.weighted.columns import SHARE_TOLERANCE as SHARE_TOLERANCE
from synthpop.microdata.statistics.weighted.columns import Missing as Missing
from synthpop.microdata.statistics.weighted.columns import as_numbers as as_numbers
from synthpop.microdata.statistics.weighted.columns import check_length as check_length
from synthpop.microdata.statistics.weighted.columns import checked_weights as checked_weights
from synthpop.microdata.statistics.weighted.columns import clean as clean
from synthpop.microdata.statistics.weighted.distribution import distribution
from synthpop.microdata.statistics.weighted.moments import (
    correlation,
    covariance,
    mean,
    standard_deviation,
    variance,
)
from synthpop.microdata.statistics.weighted.quantiles import Definition as Definition
from synthpop.microdata.statistics.weighted.quantiles import quantile
from synthpop.microdata.statistics.weighted.quantiles import sorted_quantiles as sorted_quantiles
from synthpop.microdata.statistics.weighted.tables import contingency, table

__all__ = [
    "contingency",
    "correlation",
    "covariance",
    "distribution",
    "mean",
    "quantile",
    "standard_deviation",
    "table",
    "variance",
]
