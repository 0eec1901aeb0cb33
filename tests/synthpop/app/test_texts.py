"""Every text of the app has a German one, with the same places for values."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator

import pytest

pytest.importorskip("shiny")

from synthpop.app.forms import Form, protection_forms
from synthpop.app.texts import texts_of, translate
from tests.synthpop.app.texts_used import texts_used

GERMAN = texts_of("de")


def test_every_text_is_in_the_catalogue() -> None:
    assert sorted(text for text in texts_used() if text not in GERMAN) == []


def test_translations_keep_the_places_of_values() -> None:
    for english in texts_used():
        fields = [
            {name for _, name, _, _ in string.Formatter().parse(text) if name}
            for text in (english, GERMAN[english])
        ]
        assert fields[0] == fields[1], english


def help_texts(forms: Iterable[Form]) -> Iterator[str]:
    for form in forms:
        yield form.help
        for option in form.options:
            yield option.help
            yield from help_texts(option.forms)


def test_methods_and_their_options_are_explained_in_german() -> None:
    forms = protection_forms()
    titles = {verb.replace("_", " ").capitalize() for verb in forms}
    texts = {text for text in help_texts(forms.values()) if text}
    untranslated = {text for text in texts | titles if text not in GERMAN}
    # a method that was added yesterday shows its English text
    assert len(untranslated) < 0.1 * len(texts), untranslated


def test_a_text_without_translation_stays_english() -> None:
    assert translate("de", "Zzz {n}", n=2) == "Zzz 2"
