"""What a run is of, so that its folder is mixed up with no other run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synthpop.microdata.formats.hashed import content_hash
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.runs.environment import environment
from synthpop.microdata.version import __version__
from synthpop.pipeline.fingerprint import described, stage_to_dict
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.population.plain_values import json_values
from synthpop.population.run_identity import RunIdentity


def identity_of(fitted: FittedRecipe, seed: int, scale: float, rows_per_block: int) -> RunIdentity:
    """Return what a run of a fitted pipeline is of."""
    origin = fitted.origin
    return RunIdentity(
        version=__version__,
        seed=seed,
        fit_seed=fitted.seed,
        scale=scale,
        rows_per_block=rows_per_block,
        recipe=recipe_of(fitted.steps),
        survey=origin.fingerprint,
        models=fitted.learned,
        environment=environment(),
        rules=tuple(rule.text for rule in fitted.rules.rules),
        replicate=None if fitted.replicate is None else json_values(fitted.replicate),
        dictionary=content_hash(origin.dictionary.to_dict()) if len(origin.dictionary) else "",
    )


def recipe_of(steps: Sequence[object]) -> tuple[dict[str, Any], ...]:
    """Return steps as a manifest records them."""
    return tuple(json_values([described(stage_to_dict(step)) for step in steps]))


def check_described(learned: object) -> None:
    """Refuse to write what cannot be told from another run."""
    if not learned:
        what = "holds a model that cannot be described, so that its folder could be mixed up"
        hint = "Use an estimator that can be copied, or leave out."
        raise InputError.of("simulate", "recipe", what, hint)
