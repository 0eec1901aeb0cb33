"""Stages by the name they have in a run file."""

from __future__ import annotations

from typing import Any

from synthpop.stages.categorical import Categorical
from synthpop.stages.components import Components
from synthpop.stages.continuous import Continuous
from synthpop.stages.derive import Derive
from synthpop.stages.relation import Relation
from synthpop.stages.structure import Structure

STAGES: dict[str, type[Any]] = {
    "structure": Structure,
    "derive": Derive,
    "categorical": Categorical,
    "relation": Relation,
    "continuous": Continuous,
    "components": Components,
}
