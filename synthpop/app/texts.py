"""The texts of the app: English is the key, other languages have a catalogue beside this file.

What it lacks is looked up in the catalogue that all pages share.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from synthpop.microdata.messages.language import (
    current_language,
    gettext,
    read_catalogue,
    translated,
    use_language,
)

LANGUAGES = {"en": "English", "de": "Deutsch"}


@cache
def texts_of(language: str) -> dict[str, str]:
    """Return the texts of a language by the English ones; none for English itself."""
    if language == "en":
        return {}
    source = files("synthpop.app").joinpath(f"locale/{language}.po").read_text("utf-8")
    return {english: text for (english, _), text in read_catalogue(source).items()}


def translate(language: str, text: str, **values: Any) -> str:
    """Return a text in a language, with values filled in; English where there is no other."""
    with use_language(language):
        translation = texts_of(language).get(text) or gettext(text)
    return translation.format(**values) if values else translation


def t(text: str, **values: Any) -> str:
    """Return a text of a job in the language that it runs in."""
    return translate(current_language(), text, **values)


def said_here(text: str) -> str:
    """Return a finished sentence of a result or a fault in the language of the page.

    Examples
    --------
    >>> with use_language("de"):
    ...     said_here("Cancel"), said_here("1 of 4 limits is exceeded.")
    ('Abbrechen', '1 von 4 Grenzen wird überschritten.')
    """
    return texts_of(current_language()).get(text) or translated(text)
