"""Comparisons with short chains: what is tested does not rest on their length."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _short_chains() -> Iterator[None]:
    """Draw fewer latent classes for the population risk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("riskeval.measures.latent_classes.SWEEPS", 40)
        patch.setattr("riskeval.measures.latent_classes.BURN_IN", 20)
        yield
