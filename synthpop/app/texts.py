"""The texts of the app: English is the key, other languages have a table.

What the table lacks is looked up in the catalogue that all pages share.
"""

from __future__ import annotations

from typing import Any

from synthpop.app.german import GERMAN
from synthpop.microdata.language import current_language, gettext, use_language

LANGUAGES = {"en": "English", "de": "Deutsch"}
CATALOGUES: dict[str, dict[str, str]] = {"de": GERMAN}


def translate(language: str, text: str, **values: Any) -> str:
    """Return a text in a language, with values filled in; English where there is no other.

    Examples
    --------
    >>> translate("de", "Cancel"), translate("de", "Nobody says this")
    ('Abbrechen', 'Nobody says this')
    >>> translate("en", "{n} records", n=3)
    '3 records'
    """
    with use_language(language):
        known = CATALOGUES.get(language, {}).get(text) or gettext(text)
    return known.format(**values) if values else known


def t(text: str, **values: Any) -> str:
    """Return a text of a job in the language that it runs in.

    Examples
    --------
    >>> with use_language("de"):
    ...     t("Cancel")
    'Abbrechen'
    """
    return translate(current_language(), text, **values)
