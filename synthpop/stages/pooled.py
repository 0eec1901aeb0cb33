"""What the stages of a fitted recipe tell about borrowing between strata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synthpop.models.donors import DonorPooling
from synthpop.models.pooling import Pooling

LADDERS = {"ladder": "", "head_ladder": " (heads)", "other_ladder": " (others)"}


def pooling_of_models(
    stages: Sequence[Any], models: Sequence[Any]
) -> dict[str, Pooling | DonorPooling]:
    """Return the pooling of each model that has one: label of the stage and its part -> Pooling."""
    found: dict[str, Pooling | DonorPooling] = {}
    for stage, model in zip(stages, models, strict=True):
        if isinstance(getattr(model, "pooling", None), DonorPooling):
            found[stage.label] = model.pooling
        for name, part in LADDERS.items():
            ladder = getattr(model, name, None)
            if ladder is not None:
                found[stage.label + part] = ladder.pooling
        others = getattr(model, "others", None)
        if others is not None:
            found[stage.label + " (heads)"] = found.pop(stage.label)
            found[stage.label + " (others)"] = others.ladder.pooling
        revised = zip(getattr(model, "revised", ()), getattr(model, "parts", ()), strict=True)
        for field, one in revised:
            found[f"{stage.label}: {field.name}"] = one.ladder.pooling
    return found
