"""Every text of the app has a German one, with the same places for values."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping

import pandas as pd
import pytest
from matplotlib.figure import Figure

from riskeval import protect
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import to_svg

pytest.importorskip("shiny")

from synthpop.app.create.recipe_page import forms as stage_forms
from synthpop.app.forms import Form, protection_forms
from synthpop.app.protect.details_page import detail_forms
from synthpop.app.texts import translate
from tests.synthpop.app.texts_used import texts_used
from tests.synthpop.microdata.messages.test_language import entries, forms

GERMAN = {english: german for entry in entries("app") for english, german in forms(entry)}


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
    texts = {text for text in help_texts(forms().values()) if text}
    assert len(texts) > 20
    untranslated = sorted(text for text in texts if text not in GERMAN)
    # what was added or reworded yesterday shows its English text
    assert len(untranslated) < 0.05 * len(texts), untranslated


def test_a_text_without_translation_stays_english() -> None:
    assert translate("de", "Zzz {n}", n=2) == "Zzz 2"


def test_what_methods_say_of_a_file_is_german() -> None:
    file = pd.DataFrame({"a": ["x", "y", "y", "z"] * 9, "v": range(36), "w": [2.0, 5.0, 7.0] * 12})
    results = [
        protect.local_recoding(file, ["a", "v"], k=2),
        protect.group_categories(file, "a", groups={"new": ["x", "y"]}),
        protect.mv_top_code(file, ["v", "w"]),
        protect.pram(file, ["a"], seed=1),
        protect.shuffle(file, formula="v + w ~ a", seed=1),
    ]
    english = re.compile(r"\b(?:of|the|had|were|is|has|repeats|values)\b")
    with use_language("de"):
        said = [str(result.summary()) for result in results]
    assert [text for text in said if english.search(text)] == []


def test_pictures_speak_the_language_of_the_page() -> None:
    figure = Figure()
    with use_language("de"):
        figure.add_subplot(title=message("Survey, weighted"), xlabel="Vienna")
        picture = to_svg(figure, "key", "a picture")
    assert ">Erhebung, gewichtet</text>" in picture
    assert ">Vienna</text>" in picture
