"""Every text of the app has a German one, with the same places for values."""

from __future__ import annotations

import string

import pytest

pytest.importorskip("shiny")

from synthpop.app.german import GERMAN
from synthpop.app.texts import translate
from tests.synthpop.app.texts_used import texts_used


def test_every_text_is_in_the_catalogue() -> None:
    assert sorted(text for text in texts_used() if text not in GERMAN) == []


def test_translations_keep_the_places_of_values() -> None:
    for english, german in GERMAN.items():
        fields = [
            {name for _, name, _, _ in string.Formatter().parse(text) if name}
            for text in (english, german)
        ]
        assert fields[0] == fields[1], english


def test_a_text_without_translation_stays_english() -> None:
    assert translate("de", "Zzz {n}", n=2) == "Zzz 2"
