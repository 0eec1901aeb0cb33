"""Forests of the stages are small: what is tested does not rest on their size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_trees() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synthpop.models.learners.N_TREES", 20)
        patch.setattr("synthpop.models.regression.N_TREES", 20)
        yield
