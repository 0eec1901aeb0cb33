"""Forests of the attacks are small: what is tested here does not rest on their size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def _few_trees() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("riskeval.attacks.prediction.model.TREES", 10)
        yield
