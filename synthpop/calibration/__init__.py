"""Calibration of survey weights to known totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.lazy import attach

if TYPE_CHECKING:
    from synthpop.calibration.calibrate_survey import calibrate as calibrate
    from synthpop.calibration.integer_weights import IntegerWeights as IntegerWeights
    from synthpop.calibration.integer_weights import integerise as integerise
    from synthpop.calibration.margins import Margin as Margin
    from synthpop.calibration.margins import long_table as long_table
    from synthpop.calibration.result import Calibration as Calibration
    from synthpop.calibration.total_files import read_totals as read_totals
    from synthpop.calibration.weights import TrimmedWeights as TrimmedWeights
    from synthpop.calibration.weights import design_effect as design_effect
    from synthpop.calibration.weights import effective_sample_size as effective_sample_size
    from synthpop.calibration.weights import trim_weights as trim_weights
    from synthpop.calibration.zone_adjustment import adjust_zones as adjust_zones
    from synthpop.calibration.zone_solver import WeightLimits as WeightLimits
    from synthpop.calibration.zones import ZoneHouseholds as ZoneHouseholds
    from synthpop.calibration.zones import balance_zones as balance_zones
else:
    __getattr__, __dir__, __all__ = attach(__name__)
