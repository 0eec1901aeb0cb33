"""Files that follow from the entries say what the entries say."""

from __future__ import annotations

import pytest

from tests.derived import DERIVED, ROOT


@pytest.mark.parametrize("name", DERIVED)
def test_it_is_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text == DERIVED[name](ROOT / name), "run python -m tests.derived"
