"""Every page in German: no sentence is left in English, and numbers have the decimal comma."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from riskeval.report.advice import ADVICE, RARE_KEYS
from riskeval.report.judgement import NO_STRANGERS
from synthpop.microdata.language import catalogue, translated, use_language
from tests.test_pages_in_a_browser import PAGES

ENGLISH = re.compile(
    r"\b(the|of|that|is|are|were|with|from|by|than|for|which|their|each|not|this|these|no)\b"
)
CITED = re.compile(r"[A-Z][\wü]+(, [A-Z]\w+)* and [A-Z]\w+|SDC practice guide of the World Bank")
WORD = re.compile(r"[A-Za-zÄÖÜäöüß]{3,}")
DECIMALS = re.compile(r"(?<![\d.])\d+\.\d{1,2}(?![\d.])")
SOURCES = re.compile(r"(Gleichung(en)?|Abschnitt) \d[\d.]*( bis \d[\d.]*)?|RFC \d+|arXiv:[\d.]+")
NAMES = {
    "age", "ages", "sex", "size", "status", "other", "income", "noisy", "synthetic", "nearest",
    "forest", "weight", "strata", "household", "missing", "global", "recode", "add", "noise",
    "learn",
}  # fmt: skip
"""Names of variables, releases, roles, verbs and libraries on these pages, and of a study."""


def english_words() -> set[str]:
    """Words of messages that no translation has."""
    words: list[set[str]] = [set(), set()]
    for (message, _), text in catalogue("de").items():
        for side, part in enumerate((message, text)):
            words[side] |= {w.lower() for w in WORD.findall(re.sub(r"{.*?}", " ", part))}
    return words[0] - words[1]


def leftovers(text: str, english: set[str]) -> list[str]:
    """English words and decimal points of a text; names, authors and places in sources apart."""
    plain = SOURCES.sub("", CITED.sub("", text))
    if "=" in text and "'" in text:  # arguments of a verb
        return []
    named = re.sub(r"\(missing \d\.\d\)", "", plain)  # a level of a study
    words = [w for w in WORD.findall(named) if w.lower() in english - NAMES]
    return words + DECIMALS.findall(named)


def texts_of(page: str) -> list[str]:
    """Texts between the tags, of charts too, and what is read to those who cannot see them."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    spoken = re.findall(r'(?:aria-label|title|data-label)="([^"]*)"', page)
    return [
        " ".join(html.unescape(text).split()) for text in [*re.split(r"<[^>]*>", page), *spoken]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_of_a_page_is_left_in_english(name: str, tmp_path: Path) -> None:
    write, audience = PAGES[name]
    write(tmp_path / "page.html", audience, "de")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    left = {text for text in texts_of(page) if ENGLISH.search(CITED.sub("", text))}
    assert left == set()
    english = english_words()
    words = {text: leftovers(text, english) for text in texts_of(page)}
    assert {text: found for text, found in words.items() if found} == {}


def test_the_check_finds_what_is_left() -> None:
    english = english_words()
    assert leftovers("Szenario 2 within 0.05 von income", english) == ["within", "0.05"]
    assert "Replicated" in leftovers("Replicated uniques", english)
    assert leftovers("Templ 2017, Gleichung 3.5; Franconi and Polettini 2004", english) == []


def test_sentences_are_found_by_their_message() -> None:
    with use_language("de"):
        assert translated("Highest risk of a record: 0,02, at most 0,01 accepted (as asked)") == (
            "Höchstes Risiko eines Datensatzes: 0,02, höchstens 0,01 zulässig (wie verlangt)"
        )
        assert translated("Records in a risky cell; 17 records.") == (
            "Datensätze in einer riskanten Zelle; 17 Datensätze."
        )
        assert translated("Scenario 2 within 0.5 %") == "Szenario 2 auf 0,5 % genau"
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


@pytest.mark.parametrize(
    "text",
    [
        "multinomial on age, sex; members conditional on those before them; one model for all "
        "strata (complete pooling)",
        "binned on age; generalised Pareto tail in the top class; members conditional on the "
        "first member; at most 1,000",
        "income split by donors within status, age",
        "cell without donors: nearest cell, distance 1",
        "combination of predictors the sample does not have: the model pooled over strata",
        "2 households would break a rule with ages drawn again: copied as in the sample",
        "age: the first member and other",
        "income: with a value other than 0",
    ],
)
def test_what_was_done_is_told_in_german(text: str) -> None:
    with use_language("de"):
        assert leftovers(translated(text), english_words()) == []


@pytest.mark.parametrize("text", sorted({RARE_KEYS, *ADVICE.values()}))
def test_every_advice_is_given_in_german(text: str) -> None:
    with use_language("de"):
        assert translated(text) != text
