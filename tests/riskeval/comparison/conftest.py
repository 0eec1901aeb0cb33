"""Comparisons of small files: what is compared does not rest on large forests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _small_searches() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synthpop.microdata.statistics.robust.SEARCHES", 1)
        yield
