"""Forests and boosted trees are small: what is tested here does not rest on their size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from synthpop.evaluation.classifier import auc_of_groups


@pytest.fixture(scope="package", autouse=True)
def _few_trees() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synthpop.models.learners.N_TREES", 20)
        patch.setattr("synthpop.models.regression.N_TREES", 20)
        patch.setattr("riskeval.attacks.prediction.model.TREES", 10)
        patch.setitem(auc_of_groups.__kwdefaults__, "iterations", 15)
        yield
