"""Sentences as objects: English as text, any language later, parts kept on the way."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from synthpop.microdata.messages.language import use_language
from synthpop.microdata.messages.message import (
    Message,
    capitalised,
    from_record,
    joined_by,
    message,
    sentence,
    sentences,
    to_record,
)
from synthpop.microdata.messages.text import count, join, percent, plural

BROKEN = message(
    "{rule} is broken by {persons} ({share}); the population keeps it",
    rule="age < 60",
    persons=plural(2765, "survey person"),
    share=percent(0.2343),
)
ENGLISH = "age < 60 is broken by 2,765 survey persons (23.43 %); the population keeps it"
GERMAN = (
    "age < 60 wird von 2.765 Personen der Erhebung verletzt (23,43 %); die Population hält sie ein"
)


def test_a_message_is_english_and_writes_itself_in_a_language() -> None:
    assert BROKEN == ENGLISH
    assert BROKEN.in_language("de") == GERMAN
    assert BROKEN.in_language("en") == ENGLISH
    with use_language("de"):
        assert f"{BROKEN}" == str(BROKEN) == GERMAN
        assert json.loads(json.dumps(BROKEN)) == ENGLISH  # records stay English
        assert message("{n} over the household", n=plural(2, "sum")) == "2 sums over the household"


@pytest.mark.parametrize(
    "again",
    [
        lambda text: pickle.loads(pickle.dumps(text)),
        copy.deepcopy,
        lambda text: from_record(json.loads(json.dumps(to_record(text)))),
    ],
)
def test_parts_outlive_copies_processes_and_records(again: object) -> None:
    text = again(BROKEN)  # type: ignore[operator]
    assert (text, text.in_language("de")) == (ENGLISH, GERMAN)


def test_texts_put_together_keep_their_parts() -> None:
    two = sentences(sentence(BROKEN), joined_by("; ", ["", count(1000), join(["a", "b"])]))
    assert two == f"Age < 60{ENGLISH[8:]}. 1,000; a and b"
    assert two.in_language("de").endswith(". 1.000; a und b")
    assert ("> " + BROKEN + ".").in_language("de") == f"> {GERMAN}."
    assert isinstance(capitalised(BROKEN), Message)


@pytest.mark.parametrize("name", ["net income; gross income", "Value: of a person. Next", "{n}"])
def test_names_of_the_data_are_never_translated(name: str) -> None:
    text = message("values that may stand for missing in {names}", names=join([name, "age"]))
    german = f"Werte, die für fehlend stehen könnten, in {name} und age"
    assert text.in_language("de") == german


def test_what_nothing_writes_is_no_record_of_a_message() -> None:
    with pytest.raises(KeyError):
        from_record({"write": "system", "args": [], "values": {}})
