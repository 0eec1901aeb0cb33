"""Every way to protect a file, under one name: ``from riskeval import protect``.

Each verb takes the data first and returns a ``Protected`` (``data``, ``changes``, ``summary()``).
Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.lazy import attach

VERBS = {
    "global_recode": "recode",
    "group_categories": "recode",
    "top_bottom_code": "top_bottom",
    "local_suppression": "suppress",
    "suppress_risky": "suppress_risky",
    "minimal_generalization": "generalise",
    "mondrian": "mondrian",
    "pram": "pram",
    "record_swap": "record_swap",
    "create_new_id": "identifiers",
    "microaggregate": "microaggregate",
    "add_noise": "noise",
    "rank_swap": "rank_swap",
    "shuffle": "shuffle",
    "mv_top_code": "top_coding",
    "merge_household_file": "household_file",
    "weights": "weights",
}
"""Verbs that return a ``Protected``, with the module of ``riskeval.protection`` that has them."""

HELPERS = {
    "Protected": "result",
    "generalization_lattice": "generalise",
    "estimate_counts": "pram_matrix",
    "household_file": "household_file",
    "release_file": "release",
    "write_release": "release",
}

_WHERE = {name: f"riskeval.protection.{module}" for name, module in (VERBS | HELPERS).items()}

if TYPE_CHECKING:
    from riskeval.protection.generalise import generalization_lattice as generalization_lattice
    from riskeval.protection.generalise import minimal_generalization as minimal_generalization
    from riskeval.protection.household_file import household_file as household_file
    from riskeval.protection.household_file import merge_household_file as merge_household_file
    from riskeval.protection.identifiers import create_new_id as create_new_id
    from riskeval.protection.microaggregate import microaggregate as microaggregate
    from riskeval.protection.mondrian import mondrian as mondrian
    from riskeval.protection.noise import add_noise as add_noise
    from riskeval.protection.pram import pram as pram
    from riskeval.protection.pram_matrix import estimate_counts as estimate_counts
    from riskeval.protection.rank_swap import rank_swap as rank_swap
    from riskeval.protection.recode import global_recode as global_recode
    from riskeval.protection.recode import group_categories as group_categories
    from riskeval.protection.record_swap import record_swap as record_swap
    from riskeval.protection.release import release_file as release_file
    from riskeval.protection.release import write_release as write_release
    from riskeval.protection.result import Protected as Protected
    from riskeval.protection.shuffle import shuffle as shuffle
    from riskeval.protection.suppress import local_suppression as local_suppression
    from riskeval.protection.suppress_risky import suppress_risky as suppress_risky
    from riskeval.protection.top_bottom import top_bottom_code as top_bottom_code
    from riskeval.protection.top_coding import mv_top_code as mv_top_code
    from riskeval.protection.weights import weights as weights
else:
    __getattr__, _names, __all__ = attach(__name__, _WHERE)
    __all__ = ["HELPERS", "VERBS", *__all__]

    def __dir__() -> list[str]:
        return sorted(__all__)
