"""Every page in German: no sentence is left in English, and numbers have the decimal comma."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from riskeval.report.judgement import NO_STRANGERS
from synthpop.microdata.language import translated, use_language
from tests.test_pages_in_a_browser import PAGES

ENGLISH = re.compile(
    r"\b(the|of|that|is|are|were|with|from|by|than|for|which|their|each|not|this|these|no)\b"
)
CITED = re.compile(r"[A-Z][\wü]+(, [A-Z]\w+)* and [A-Z]\w+|SDC practice guide of the World Bank")


def texts_of(page: str) -> list[str]:
    """Texts between the tags, and what is read to those who cannot see the charts."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    spoken = re.findall(r'aria-label="([^"]*)"', page)
    plain = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    return [
        " ".join(html.unescape(text).split()) for text in [*re.split(r"<[^>]*>", plain), *spoken]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_of_a_page_is_left_in_english(name: str, tmp_path: Path) -> None:
    write, audience = PAGES[name]
    write(tmp_path / "page.html", audience, "de")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    left = {text for text in texts_of(page) if ENGLISH.search(CITED.sub("", text))}
    assert left == set()


def test_sentences_are_found_by_their_message() -> None:
    with use_language("de"):
        assert translated("Highest risk of a record: 0,02, at most 0,01 accepted (as asked)") == (
            "Höchstes Risiko eines Datensatzes: 0,02, höchstens 0,01 zulässig (wie verlangt)"
        )
        assert translated("Records in a risky cell; 17 records.") == (
            "Datensätze in einer riskanten Zelle; 17 Datensätze."
        )
        assert translated("number") == "number"  # a name of the data may be a word
        assert translated("Nothing like it is known of x.") == "Nothing like it is known of x."
    assert translated("Records in a risky cell") == "Records in a risky cell"


def test_a_judgement_without_strangers_is_told_in_german() -> None:
    first = (
        "No verdict: the synthetic file tells more about the hold-out than about the original "
        "(Membership inference), as one made from the hold-out does, or one whose hold-out holds "
        "persons of another kind (3 attacks)."
    )
    with use_language("de"):
        assert translated(first).startswith("Kein Urteil: Die synthetische Datei sagt mehr über")
        assert not ENGLISH.search(translated(NO_STRANGERS))
