"""Forests and searches are small in this room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _small_searches(few_trees: None) -> Iterator[None]:
    """See `tests/conftest.py`; few records are searched for their innermost half once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synthpop.microdata.statistics.robust.SEARCHES", 1)
        yield
