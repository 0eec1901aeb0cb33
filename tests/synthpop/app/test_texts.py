"""Every catalogue of the app is complete, with the same places for values."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files

import pandas as pd
import pytest
from babel.messages.pofile import read_po
from matplotlib.figure import Figure

from riskeval import protect
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import to_svg
from synthpop.microdata.messages.text import count, percent

pytest.importorskip("shiny")

from synthpop.app.create.recipe_page import forms as stage_forms
from synthpop.app.forms import Form, protection_forms
from synthpop.app.project import Project, perform
from synthpop.app.protect.details_page import detail_forms
from synthpop.app.texts import (
    APP,
    APP_LANGUAGES,
    language_names,
    report_language,
    said_here,
    translate,
)
from tests.synthpop.app.texts_used import texts_used

FURTHER = APP_LANGUAGES[1:]


def known(language: str) -> dict[str, str]:
    """Texts of the catalogue of a language."""
    with files(APP).joinpath(f"locale/{language}.po").open("rb") as source:
        return {entry.id: entry.string for entry in read_po(source) if entry.id}


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", FURTHER)
def test_every_text_is_in_each_catalogue_with_its_places_for_values(language: str) -> None:
    texts = known(language)
    assert sorted(text for text in texts_used() if not texts.get(text)) == []
    for english in texts_used():
        assert places(texts[english]) == places(english), english


def test_all_catalogues_have_the_same_texts() -> None:
    german = set(known("de"))
    for language in FURTHER:
        assert set(known(language)) ^ german == set(), language


def test_a_further_catalogue_is_a_language_of_the_app() -> None:
    assert FURTHER == ("de", "fr")
    assert language_names() == [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
    french = perform(Project(), "choose_language", {"language": "fr"})
    assert french.language == "fr"
    with use_language("fr"):
        assert said_here("Local suppression") == "Suppression locale"
        assert str(count(1234567)) == "1\u202f234\u202f567"
        assert str(percent(0.125)) == "12,50 %"
        assert report_language() == "en"  # until reports have French too
    with pytest.raises(InputError, match="is no language of the app"):
        perform(Project(), "choose_language", {"language": "xx"})


def help_texts(forms: Iterable[Form]) -> Iterator[str]:
    for form in forms:
        yield form.help
        for option in form.options:
            yield option.help
            yield from (text for _, text in option.choices)
            yield from help_texts(option.forms)


@pytest.mark.parametrize("forms", [protection_forms, stage_forms, detail_forms])
@pytest.mark.parametrize("language", FURTHER)
def test_functions_and_their_options_are_explained_in_each_language(
    language: str, forms: Callable[[], Mapping[str, Form]]
) -> None:
    translated = known(language)
    texts = {text for text in help_texts(forms().values()) if text}
    assert len(texts) > 20
    untranslated = sorted(text for text in texts if text not in translated)
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
