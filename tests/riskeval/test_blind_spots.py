"""The documentation says of every registered attack and measure what it cannot see."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from riskeval.attacks.registry import ATTACKS
from riskeval.measures.registry import MEASURES

METHODS = Path(__file__).parents[2] / "docs" / "methods"
PAGES = {
    "disclosure-of-synthetic-data.md": ("## What each attack cannot see", ATTACKS),
    "categorical-risk.md": ("## What each measure of `assess` cannot see", MEASURES),
}


def blind_spots(text: str, head: str) -> dict[str, str]:
    """Rows of the table under a heading: what is registered, and what it does not see."""
    part = text.split(head, 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", part, flags=re.M))


@pytest.mark.parametrize("page", PAGES)
def test_every_entry_of_a_registry_has_its_row(page: str) -> None:
    head, registry = PAGES[page]
    rows = blind_spots((METHODS / page).read_text(encoding="utf-8"), head)
    assert set(rows) == set(registry)
    assert all(len(text) > 20 for text in rows.values())
    assert len(set(rows.values())) == len(rows)


def test_attacks_say_it_themselves() -> None:
    assert all(len(attack.blind_spot) > 20 for attack in ATTACKS.values())


def test_a_row_that_lacks_is_seen() -> None:
    head = "## What each attack cannot see"
    text = f"{head}\n\n| attack | no |\n| --- | --- |\n| `tcap` | much |\n\n## N\n| `x` | y |"
    assert blind_spots(text, head) == {"tcap": "much"}
