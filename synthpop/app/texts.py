"""The texts of the app: English is the key, other languages have a catalogue beside this file.

What it lacks is looked up in the catalogue that all pages share.
"""

from __future__ import annotations

from typing import Any

from synthpop.microdata.messages.language import catalogue, current_language, gettext, use_language

LANGUAGES = {"en": "English", "de": "Deutsch"}


def translate(language: str, text: str, **values: Any) -> str:
    """Return a text in a language, with values filled in; English where there is no other."""
    with use_language(language):
        translation = said_here(text)
        return translation.format(**values) if values else translation


def t(text: str, **values: Any) -> str:
    """Return a text of a job in the language that it runs in."""
    return translate(current_language(), text, **values)


def said_here(text: str) -> str:
    """Return a text of the app, or what a result or a fault says, in the language of the page.

    Examples
    --------
    >>> with use_language("de"):
    ...     said_here("Cancel")
    'Abbrechen'
    """
    english = str(text)
    if not english:  # the key of a catalogue's own header
        return ""
    translation = catalogue(current_language(), "synthpop.app").gettext(english)
    return translation if translation != english else gettext(english)
