"""Every page: its facts in English; in German no sentence is left, numbers have the comma."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import (
    ProtectionSession,
    assess,
    assess_synthetic,
    protect,
    write_assessment,
    write_judgement,
)
from synthpop import (
    Categorical,
    Pipeline,
    Structure,
    load_demo_survey,
    open_population,
    write_profile,
    write_report,
)
from tests.entry_texts import without_german
from tests.page_snapshots import facts_of, same_fact, snapshot_of, texts_of
from tests.synthpop.microdata.messages.test_language import entries, forms
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
    "learn", "direct", "mean", "who", "members", "post",
}  # fmt: skip
"""Names of variables, releases, roles, verbs and libraries on these pages, and of a study."""


def english_words() -> set[str]:
    """Words of messages that no translation has."""
    words: list[set[str]] = [set(), set()]
    pairs = [pair for entry in entries() for pair in forms(entry)]
    for pair in pairs:
        for side, part in enumerate(pair):
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


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_it_said(name: str, tmp_path: Path) -> None:
    write, audience = PAGES[name]
    write(tmp_path / "page.html", audience)
    facts = facts_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    stored = snapshot_of(name).read_text(encoding="utf-8").splitlines()
    changed = [pair for pair in zip(facts, stored, strict=False) if not same_fact(*pair)]
    assert changed[:3] == [], "python -m tests.page_snapshots rewrites them: read the difference"
    assert len(facts) == len(stored)


def german_of_every_entry() -> None:
    """Expect English on the pages as long as an entry has no German, and say what lacks it."""
    if without_german():
        pytest.xfail(f"entries without German: {'; '.join(without_german())}")


def test_every_entry_has_german() -> None:
    """Pages show the English text of an entry without German: this test lists it."""
    german_of_every_entry()


@pytest.mark.parametrize("name", PAGES)
def test_no_sentence_of_a_page_is_left_in_english(name: str, tmp_path: Path) -> None:
    write, audience = PAGES[name]
    write(tmp_path / "page.html", audience, "de")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    german_of_every_entry()
    left = {text for text in texts_of(page) if ENGLISH.search(CITED.sub("", text))}
    assert left == set()
    english = english_words()
    words = {text: leftovers(text, english) for text in texts_of(page)}
    assert {text: found for text, found in words.items() if found} == {}


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("5 records, 12.32 %", True),
        ("5 records, 13.31 %", False),
        ("6 records, 12.31 %", False),
        ("5 persons, 12.31 %", False),
        ("< 5 records, 12.31 %", False),
    ],
)
def test_facts_differ_where_a_number_or_a_word_does(text: str, same: bool) -> None:
    assert same_fact("5 records, 12.31 %", text) is same


def demo_households(first: int, last: int) -> pd.DataFrame:
    frame = load_demo_survey().frame
    homes = frame["db030"].drop_duplicates().iloc[first:last]
    return frame[frame["db030"].isin(homes)].reset_index(drop=True)


def rich_assessment(path: Path) -> None:
    data = demo_households(0, 80)
    data.loc[data.index[:40:3], "pe040"] = np.nan
    result = assess(
        data, keys=["age", "rb090", "pl030", "pe040"], weights="rb050", household="db030",
        sensitive=["pb190"], numeric=["netIncome", "py010n"],
        limits={"k": 3, "l": 2, "t": 0.3, "alpha": 0.8, "record_risk": 0.09},
        options={"suda": {"max_size": 3}, "outlier_risk": {"by": "rb090"}},
    )  # fmt: skip
    write_assessment(path, result, language="de")


def assessment_without_weights(path: Path) -> None:
    result = assess(
        demo_households(0, 80), keys=["age", "rb090"], sensitive=["pb190", "hincome"],
        numeric=["netIncome"],
    )  # fmt: skip
    write_assessment(path, result, language="de")


def rich_protection(path: Path) -> None:
    data = demo_households(0, 50)
    data.loc[data.index[:40:3], "pe040"] = np.nan
    session = ProtectionSession(
        data, keys=["age", "rb090", "pl030", "pe040"], numeric=["netIncome", "py010n", "hincome"],
        weights="rb050", household="db030", sensitive=["pb190"], pram=["pb220a"],
    )  # fmt: skip
    session.global_recode("age", breaks=[0, 14, 29, 44, 64, 150])
    session.local_suppression(k=3)
    session.pram(seed=1)
    session.microaggregate(["py010n"], k=3, seed=1)
    session.rank_swap(["netIncome"], p=0.05, seed=1)
    session.mv_top_code(["hincome"])
    session.record_swap(hierarchy=["db040"], similar=["hsize"], risk_keys=["rb090"], seed=1)
    session.report(path, "internal", "de")


def rich_judgement(path: Path) -> None:
    release = pd.concat([demo_households(0, 30), demo_households(600, 650)], ignore_index=True)
    risk = assess_synthetic(
        demo_households(0, 80), release, ["age", "rb090", "pl030"], ["pb190", "netIncome"],
        holdout=demo_households(300, 380), household="db030", members="every", seed=1,
        replicates=[demo_households(700, 780)],
        attacks=["disco", "replicated_uniques", "tcap", "scenarios", "distance_screen", "copies"],
    )  # fmt: skip
    write_judgement(path, risk, language="de")


def rich_profile(path: Path) -> None:
    data = demo_households(0, 80)
    data = data.assign(constant=1, empty=np.nan, text=[f"a{i}" for i in range(len(data))])
    write_profile(path, data, language="de")


RICH = (
    rich_assessment, assessment_without_weights, rich_protection, rich_judgement, rich_profile,
)  # fmt: skip
LEVELS = {
    "copies", "disco", "primary", "secondary", "lower", "upper", "education", "full", "part",
    "time", "retired", "domestic", "unemployed", "disabled", "never", "married", "separated",
    "divorced", "widowed", "national", "head", "partner", "child", "relation", "male", "female",
    "constant", "empty", "text", "tertiary", "none", "category", "own", "parent",
}  # fmt: skip
"""Levels and variables of the demo survey."""
VERBS = {word for verb in protect.VERBS for word in verb.split("_")}


@pytest.mark.parametrize("write", RICH)
def test_no_sentence_of_richer_data_is_left_in_english(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    write(tmp_path / "page.html")
    german_of_every_entry()
    texts = set(texts_of((tmp_path / "page.html").read_text(encoding="utf-8")))
    assert {text for text in texts if ENGLISH.search(CITED.sub("", text))} == set()
    english = english_words() - LEVELS - VERBS
    words = {text: leftovers(text, english) for text in texts}
    assert {text: left for text, left in words.items() if left} == {}


def test_the_check_finds_what_is_left() -> None:
    english = english_words()
    assert leftovers("Szenario 2 within 0.05 von income", english) == ["within", "0.05"]
    assert "Replicated" in leftovers("Replicated uniques", english)
    assert leftovers("Templ 2017, Gleichung 3.5; Franconi and Polettini 2004", english) == []


def test_notes_of_fallbacks_are_german_also_of_a_stored_population(tmp_path: Path) -> None:
    survey = load_demo_survey()
    recipe = Pipeline(
        [Structure(["age", "rb090"]), Categorical("pb220a", predictors=["rb090"])],
        rules=["age < 60"],
    )
    recipe.fit(survey, seed=1).simulate(scale=0.2, out=tmp_path / "run")
    population = open_population(tmp_path / "run")
    assert any("2,765 survey persons" in note.what for note in population.fallbacks)
    write_report(tmp_path / "page.html", survey, population, language="de")
    texts = texts_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [text for text in texts if "2.765 Personen der Erhebung" in text]
    english = english_words()
    texts = [text for text in texts if "eine Regel der Erhebung" not in text]  # as users write it
    left = [text for text in set(texts) if leftovers(text, english) or "2,765" in text]
    assert [text for text in left if not text.startswith(str(tmp_path))] == []
