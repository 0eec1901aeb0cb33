"""Every text of the app has a German one, with the same places for values."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping

import pytest

pytest.importorskip("shiny")

from synthpop.app.create.recipe_page import forms as stage_forms
from synthpop.app.forms import Form, protection_forms
from synthpop.app.protect.details_page import detail_forms
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
            yield from (text for _, text in option.choices)
            yield from help_texts(option.forms)


@pytest.mark.parametrize("forms", [protection_forms, stage_forms, detail_forms])
def test_functions_and_their_options_are_explained_in_german(
    forms: Callable[[], Mapping[str, Form]],
) -> None:
    """A function that was added since shows its English text; this lists what it has."""
    texts = {text for text in help_texts(forms().values()) if text}
    assert len(texts) > 20
    assert sorted(text for text in texts if text not in GERMAN) == []


def test_methods_have_german_titles() -> None:
    titles = {verb.replace("_", " ").capitalize() for verb in protection_forms()}
    assert sorted(title for title in titles if title not in GERMAN) == []


def test_a_text_without_translation_stays_english() -> None:
    assert translate("de", "Zzz {n}", n=2) == "Zzz 2"
