"""Weighted descriptive statistics."""

from synthpop.microdata.weighted import *  # noqa: F403
from synthpop.microdata.weighted import __all__ as __all__
