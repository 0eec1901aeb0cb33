"""Forests are small in this room."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_trees(few_trees: None) -> None:
    """See `tests/conftest.py`."""
