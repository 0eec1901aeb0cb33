"""Every method of protection, by name: each takes the data first and returns a ``Protected``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

VERBS = {
    "global_recode": "riskeval.protection.recode",
    "group_categories": "riskeval.protection.recode",
    "top_bottom_code": "riskeval.protection.top_bottom",
    "local_suppression": "riskeval.protection.suppress",
    "suppress_risky": "riskeval.protection.suppress_risky",
    "minimal_generalization": "riskeval.protection.generalise",
    "mondrian": "riskeval.protection.mondrian",
    "local_recoding": "riskeval.protection.local_recoding",
    "pram": "riskeval.protection.pram",
    "record_swap": "riskeval.protection.record_swap",
    "create_new_id": "riskeval.protection.identifiers",
    "microaggregate": "riskeval.protection.microaggregate",
    "add_noise": "riskeval.protection.noise",
    "rank_swap": "riskeval.protection.rank_swap",
    "shuffle": "riskeval.protection.shuffle",
    "mv_top_code": "riskeval.protection.top_coding",
    "merge_household_file": "riskeval.protection.household_file",
    "weights": "riskeval.protection.weights",
}
"""Name of a method, the verb of a session -> module that has its function of that name."""


def method_named(verb: str) -> Callable[..., Any]:
    """Return the function of a method."""
    method: Callable[..., Any] = getattr(importlib.import_module(VERBS[verb]), verb)
    return method
