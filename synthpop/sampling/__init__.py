"""Sampling designs, samples from a population, and design-based simulation studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.messages.lazy import attach

if TYPE_CHECKING:
    from synthpop.sampling.allocation import Fixed as Fixed
    from synthpop.sampling.allocation import Neyman as Neyman
    from synthpop.sampling.allocation import Power as Power
    from synthpop.sampling.allocation import Proportional as Proportional
    from synthpop.sampling.allocation import allocate as allocate
    from synthpop.sampling.balanced import draw_balanced as draw_balanced
    from synthpop.sampling.contamination import ContaminateAtRandom as ContaminateAtRandom
    from synthpop.sampling.contamination import ContaminateDependent as ContaminateDependent
    from synthpop.sampling.designs import Balanced as Balanced
    from synthpop.sampling.designs import (
        ProbabilityProportionalToSize as ProbabilityProportionalToSize,
    )
    from synthpop.sampling.designs import SimpleRandom as SimpleRandom
    from synthpop.sampling.designs import Systematic as Systematic
    from synthpop.sampling.draw import draw_sample as draw_sample
    from synthpop.sampling.draw import inclusion_probabilities_of as inclusion_probabilities_of
    from synthpop.sampling.draw import joint_probabilities_of as joint_probabilities_of
    from synthpop.sampling.estimate import horvitz_thompson as horvitz_thompson
    from synthpop.sampling.nonresponse import MissingItems as MissingItems
    from synthpop.sampling.nonresponse import MissingUnits as MissingUnits
    from synthpop.sampling.pps import draw_unequal as draw_unequal
    from synthpop.sampling.pps import inclusion_probabilities as inclusion_probabilities
    from synthpop.sampling.pps import joint_probabilities as joint_probabilities
    from synthpop.sampling.setup import SampleSetup as SampleSetup
    from synthpop.sampling.setup import draw_setup as draw_setup
    from synthpop.sampling.setup_file import read_setup as read_setup
    from synthpop.sampling.stage_designs import Cluster as Cluster
    from synthpop.sampling.stage_designs import Stratified as Stratified
    from synthpop.sampling.stage_designs import TwoStage as TwoStage
    from synthpop.sampling.study import Study as Study
    from synthpop.sampling.study import levels_of_rate as levels_of_rate
    from synthpop.sampling.study import simulate_study as simulate_study
else:
    __getattr__, __dir__, __all__ = attach(__name__)
