"""Stages by the name they have in a run file."""

from __future__ import annotations

from typing import Any

from synthpop.stages.annealing import Anneal
from synthpop.stages.categorical import Categorical
from synthpop.stages.components import Components
from synthpop.stages.continuous.stage import Continuous
from synthpop.stages.derive import Derive
from synthpop.stages.distribute import Distribute
from synthpop.stages.gibbs import GibbsPass
from synthpop.stages.heaping import CorrectHeaping
from synthpop.stages.impute import Impute
from synthpop.stages.relation import Relation
from synthpop.stages.structure import Structure

STAGES: dict[str, type[Any]] = {
    "correct_heaping": CorrectHeaping,
    "impute": Impute,
    "structure": Structure,
    "derive": Derive,
    "categorical": Categorical,
    "relation": Relation,
    "gibbs_pass": GibbsPass,
    "continuous": Continuous,
    "components": Components,
    "distribute": Distribute,
    "anneal": Anneal,
}
