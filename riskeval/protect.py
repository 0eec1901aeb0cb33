"""Every way to protect a file, under one name: ``from riskeval import protect``.

Each verb takes the data first and returns a ``Protected`` (``data``, ``changes``, ``summary()``).
Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

VERBS = {
    "global_recode": "recode",
    "group_categories": "recode",
    "top_bottom_code": "recode",
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
}
"""Verbs that return a ``Protected``, with the module of ``riskeval.protection`` that has them."""

HELPERS = {
    "Protected": "result",
    "generalization_lattice": "generalise",
    "estimate_counts": "pram",
}

__all__ = ["HELPERS", "VERBS", *sorted(HELPERS), *sorted(VERBS)]


def __getattr__(name: str) -> Any:
    module = VERBS.get(name) or HELPERS.get(name)
    if module is None:
        raise AttributeError(f"module 'riskeval.protect' has no attribute {name!r}")
    return getattr(importlib.import_module(f"riskeval.protection.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
