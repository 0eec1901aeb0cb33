"""Weighted descriptive statistics."""

from synthpop.microdata.statistics.weighted import *  # noqa: F403
from synthpop.microdata.statistics.weighted import __all__ as __all__
