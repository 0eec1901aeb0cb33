"""Every way to protect a file, under one name: ``from riskeval import protect``.

Each verb takes the data first and returns a ``Protected`` (``data``, ``changes``, ``summary()``).
Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riskeval.protection.registry import VERBS as VERBS
from synthpop.microdata.messages.lazy import attach

if TYPE_CHECKING:
    from riskeval.protection.drop import drop as drop
    from riskeval.protection.generalise import generalization_lattice as generalization_lattice
    from riskeval.protection.generalise import minimal_generalization as minimal_generalization
    from riskeval.protection.group_categories import group_categories as group_categories
    from riskeval.protection.household.file import household_file as household_file
    from riskeval.protection.household.file import merge_household_file as merge_household_file
    from riskeval.protection.identifiers import create_new_id as create_new_id
    from riskeval.protection.local_recoding import local_recoding as local_recoding
    from riskeval.protection.methods import METHODS as METHODS
    from riskeval.protection.methods import AdditiveNoise as AdditiveNoise
    from riskeval.protection.methods import Aggregate as Aggregate
    from riskeval.protection.methods import ClusterGroups as ClusterGroups
    from riskeval.protection.methods import Correlated2Noise as Correlated2Noise
    from riskeval.protection.methods import CorrelatedNoise as CorrelatedNoise
    from riskeval.protection.methods import GowerGroups as GowerGroups
    from riskeval.protection.methods import GroupingMethod as GroupingMethod
    from riskeval.protection.methods import IndividualRanking as IndividualRanking
    from riskeval.protection.methods import InvariantMatrix as InvariantMatrix
    from riskeval.protection.methods import MahalanobisGroups as MahalanobisGroups
    from riskeval.protection.methods import MdavGroups as MdavGroups
    from riskeval.protection.methods import MeanValue as MeanValue
    from riskeval.protection.methods import MedianValue as MedianValue
    from riskeval.protection.methods import NoiseMethod as NoiseMethod
    from riskeval.protection.methods import NoisyWeights as NoisyWeights
    from riskeval.protection.methods import OutlierNoise as OutlierNoise
    from riskeval.protection.methods import PcaGroups as PcaGroups
    from riskeval.protection.methods import RandomMatrix as RandomMatrix
    from riskeval.protection.methods import RestrictedNoise as RestrictedNoise
    from riskeval.protection.methods import RobustPcaGroups as RobustPcaGroups
    from riskeval.protection.methods import RommNoise as RommNoise
    from riskeval.protection.methods import RoundedWeights as RoundedWeights
    from riskeval.protection.methods import SingleAxisGroups as SingleAxisGroups
    from riskeval.protection.methods import SmoothWeights as SmoothWeights
    from riskeval.protection.methods import TrimmedMean as TrimmedMean
    from riskeval.protection.methods import UnivariateOptimal as UnivariateOptimal
    from riskeval.protection.methods import WeightMethod as WeightMethod
    from riskeval.protection.microaggregate import microaggregate as microaggregate
    from riskeval.protection.mondrian import mondrian as mondrian
    from riskeval.protection.noise import add_noise as add_noise
    from riskeval.protection.pram import pram as pram
    from riskeval.protection.pram_matrix import estimate_counts as estimate_counts
    from riskeval.protection.pseudonyms import pseudonymise as pseudonymise
    from riskeval.protection.rank_swap import rank_swap as rank_swap
    from riskeval.protection.recode import global_recode as global_recode
    from riskeval.protection.recode_values import recode_values as recode_values
    from riskeval.protection.record_swap import record_swap as record_swap
    from riskeval.protection.release import release_file as release_file
    from riskeval.protection.release import write_release as write_release
    from riskeval.protection.replicated import (
        remove_replicated_uniques as remove_replicated_uniques,
    )
    from riskeval.protection.result import Protected as Protected
    from riskeval.protection.round_to import round_to as round_to
    from riskeval.protection.sample import sample as sample
    from riskeval.protection.set_missing import set_missing as set_missing
    from riskeval.protection.shuffle import shuffle as shuffle
    from riskeval.protection.suppression.risky import suppress_risky as suppress_risky
    from riskeval.protection.suppression.suppress import local_suppression as local_suppression
    from riskeval.protection.top_bottom import top_bottom_code as top_bottom_code
    from riskeval.protection.top_coding import mv_top_code as mv_top_code
    from riskeval.protection.weights import weights as weights
else:
    __getattr__, __dir__, __all__ = attach(__name__, "VERBS")
