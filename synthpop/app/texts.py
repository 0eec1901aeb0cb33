"""The texts of the app: English is the key, other languages have a catalogue beside this file.

What it lacks is looked up in the catalogue that all pages share.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator

from synthpop.microdata.messages.language import (
    LANGUAGES,
    catalogue,
    current_language,
    gettext,
    languages_of,
    use_language,
)

APP = "synthpop.app"
APP_LANGUAGES = languages_of(APP)


def _check_language(language: str) -> str:
    if language not in APP_LANGUAGES:
        raise ValueError("is no language of the app")
    return language


AppLanguage = Annotated[str, AfterValidator(_check_language)]
"""A language with a catalogue beside this file; a further catalogue is found by itself."""


def language_names() -> list[tuple[str, str]]:
    """Return the languages of the app, each with what its speakers call it.

    Examples
    --------
    >>> language_names()[:3]
    [('en', 'English'), ('de', 'Deutsch'), ('fr', 'Français')]
    """
    from babel import Locale

    return [(code, str(Locale(code).get_display_name()).capitalize()) for code in APP_LANGUAGES]


def report_language() -> str:
    """Return the language of a report that is written now: that of the page, if reports have it."""
    return current_language() if current_language() in LANGUAGES else "en"


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
    translation = catalogue(current_language(), APP).gettext(english)
    return translation if translation != english else gettext(english)
