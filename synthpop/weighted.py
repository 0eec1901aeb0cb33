"""Weighted descriptive statistics."""

from synthpop.microdata.weighted import *  # noqa: F403
