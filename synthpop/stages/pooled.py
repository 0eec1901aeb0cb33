"""What the stages of a fitted recipe tell about borrowing between strata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synthpop.conditional.donors import DonorPooling
from synthpop.conditional.pooling.options import Pooling
from synthpop.conditional.pooling.regression_methods import RegressionPooling

AnyPooling = Pooling | DonorPooling | RegressionPooling

SEQUENCES = {"sequence": "", "first_sequence": " (heads)", "other_sequence": " (others)"}


def pooling_of_models(stages: Sequence[Any], models: Sequence[Any]) -> dict[str, AnyPooling]:
    """Return the pooling of each model that has one: label of the stage and its part -> Pooling."""
    found: dict[str, AnyPooling] = {}
    for stage, model in zip(stages, models, strict=True):
        if isinstance(getattr(model, "pooling", None), DonorPooling):
            found[stage.label] = model.pooling
        for name, part in SEQUENCES.items():
            sequence = getattr(model, name, None)
            if sequence is not None:
                found[stage.label + part] = sequence.pooling
        told = getattr(getattr(model, "values", None), "pooling", None)
        if isinstance(told, RegressionPooling):
            found[stage.label + " (values)"] = told
        revised = zip(getattr(model, "revised", ()), getattr(model, "parts", ()), strict=True)
        for field, one in revised:
            found[f"{stage.label}: {field.name}"] = one.sequence.pooling
    return found
