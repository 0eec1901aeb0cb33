"""Languages of pages: messages through catalogues, and how a language writes numbers.

Catalogues are gettext files (``locale/<language>.po``), read by the standard library when a
language is first used. English needs none: it is the language of the messages themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files

LANGUAGES = ("en", "de")
SEPARATORS = {"en": (",", "."), "de": (".", ",")}
"""Thousands separator and decimal mark."""

TAGS = re.compile(r"(<(?:{%.*?%}|{{.*?}}|[^<>{])*>|{%.*?%})", re.DOTALL)

_LANGUAGE: ContextVar[str] = ContextVar("language", default="en")


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Write messages and numbers in a language, inside of the block and in this thread.

    Parameters
    ----------
    language : {"en", "de"}

    Examples
    --------
    >>> with use_language("de"):
    ...     gettext("Summary"), localised("1,234.5")
    ('Zusammenfassung', '1.234,5')
    """
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def current_language() -> str:
    """Return the language of the block, English outside of any."""
    return _LANGUAGE.get()


def gettext(message: str) -> str:
    """Return a message in the current language; where the catalogue lacks it, as it is."""
    language = _LANGUAGE.get()
    if language == "en" or not message:
        return message
    return catalogue(language).get((message, 0), message)


def said(message: str, **values: object) -> str:
    """Return a message in the current language, with values at its names in braces.

    Examples
    --------
    >>> said("Give {variable} the predictor {other}.", variable="job", other="age")
    'Give job the predictor age.'
    """
    return gettext(message).format(**values)


def template_messages(source: str) -> list[str]:
    """Return the texts between the tags of a page template, expressions in them as they stand.

    Examples
    --------
    >>> template_messages("<p>{{ n }} persons</p>{% if a %}<b>Why</b>{% endif %}")
    ['{{ n }} persons', 'Why']
    """
    return [" ".join(part.split()) for part in TAGS.split(source) if _is_text(part)]


def translated_template(source: str) -> str:
    """Return a page template in the current language."""
    if _LANGUAGE.get() == "en":
        return source
    parts = TAGS.split(source)
    for k, part in enumerate(parts):
        if _is_text(part):
            text = part.strip()
            left, right = part[: part.index(text[0])], part[part.rindex(text[-1]) + 1 :]
            parts[k] = left + gettext(" ".join(text.split())) + right
    return "".join(parts)


def _is_text(part: str) -> bool:
    if part.startswith(("<", "{%", "{#")):
        return False
    return re.search("[A-Za-z]{2}", re.sub(r"{{.*?}}|&[a-z]+;", "", part)) is not None


def ngettext(one: str, many: str, n: int) -> str:
    """Return the form of a noun that follows the number n."""
    language = _LANGUAGE.get()
    form = 0 if n == 1 else 1
    return catalogue(language).get((one, form), (one, many)[form])


def localised(text: str) -> str:
    """Return a number that was written in English with the separators of the language."""
    group, mark = SEPARATORS[_LANGUAGE.get()]
    if group == ",":
        return text
    return text.translate(str.maketrans(",.", group + mark))


@cache
def catalogue(language: str) -> dict[tuple[str, int], str]:
    """Return the messages of a language: (message, form) -> text.

    Forms: 0 is the only one, or that of one; 1 that of several. Untranslated messages are left out.
    """
    if language == "en":
        return {}
    text = files("synthpop.microdata").joinpath(f"locale/{language}.po").read_text("utf-8")
    return read_catalogue(text)


def read_catalogue(text: str) -> dict[tuple[str, int], str]:
    r"""Read a gettext file.

    Examples
    --------
    >>> read_catalogue('msgid "row"\nmsgid_plural "rows"\nmsgstr[0] "Zeile"\nmsgstr[1] "Zeilen"\n')
    {('row', 0): 'Zeile', ('row', 1): 'Zeilen'}
    """
    messages: dict[tuple[str, int], str] = {}
    for entry in text.split("\n\n"):
        fields: dict[str, str] = {}
        field = ""
        for line in entry.splitlines():
            if line.startswith("#") or not line.strip():
                continue
            if not line.startswith('"'):
                field, _, line = line.partition(" ")
            fields[field] = fields.get(field, "") + json.loads(line)
        message = fields.get("msgid")
        if not message:
            continue
        for form, name in enumerate(("msgstr[0]", "msgstr[1]")):
            translation = fields.get(name) or (fields.get("msgstr") if form == 0 else "")
            if translation:
                messages[message, form] = translation
    return messages
