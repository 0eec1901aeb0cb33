"""Small calls of `lazy` and what they return."""

from __future__ import annotations

import synthpop.heaping
from synthpop.microdata.messages.lazy import attach


def test_example_of_attach() -> None:
    get, _, names = attach(synthpop.heaping.__name__)
    assert (names[-2:], get("sprague").__name__) == (["sprague", "whipple_index"], "sprague")
