"""Numbers change only when the changelog says so, and the validation page tells the truth."""

import re
from pathlib import Path

import pytest

from tests import numbers, validation

ROOT = Path(__file__).resolve().parents[1]


def test_the_changelog_names_the_facts() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    assert numbers.fingerprint() in newest


def test_the_page_holds_every_case_and_none_that_differs() -> None:
    page = validation.PAGE.read_text(encoding="utf-8")
    assert "**differs**" not in page
    rows = re.findall(r"^\| `([\w.]+)` \|", page, flags=re.MULTILINE)
    assert len(rows) > 100
    if not (validation.reference_data.SHARED / "golden").exists():
        pytest.skip("the reference cases are not beside the repository")
    assert {name for _, name in validation.known_cases()} <= set(re.findall(r"`([\w.]+)`", page))


def test_the_readme_says_what_the_page_says() -> None:
    cases, numbers = re.search(
        r"^(\d+) cases, ([\d,]+) numbers", validation.PAGE.read_text(encoding="utf-8"), re.MULTILINE
    ).groups()
    millions = f"{int(numbers.replace(',', '')) / 1e6:.1f}"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{cases} reference cases with {millions} million numbers" in readme


def test_a_number_that_is_off_is_seen() -> None:
    entry = validation.Comparison()
    entry.add([1.0, 2.0], [1.0, 2.002], 1e-2, 0.0)
    assert entry.deviation == pytest.approx(0.001, rel=0.01)
    assert (entry.values, entry.tolerance) == (2, 0.01)
    entry.failed.add("test_x")
    assert "**differs**" in validation._row("a1_case", entry)
