"""Languages of pages: catalogues of messages, and how a language writes numbers.

Catalogues are gettext files (``locale/<language>.po``), read when a language is first used.
English needs none: it is the language of the messages themselves.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files

LANGUAGES = ("en", "de")
SEPARATORS = {"en": (",", "."), "de": (".", ",")}
"""Thousands separator and decimal mark."""

TAGS = re.compile(r"(<(?:{%.*?%}|{{.*?}}|[^<>{])*>|{%.*?%})", re.DOTALL)

_LANGUAGE: ContextVar[str] = ContextVar("language", default="en")


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Write messages and numbers in a language, inside of the block and in this thread."""
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def current_language() -> str:
    """Return the language of the block, English outside of any."""
    return _LANGUAGE.get()


def gettext(text: str) -> str:
    """Return a text, or a message, in the current language; what no catalogue has as it is."""
    return catalogue(_LANGUAGE.get()).gettext(str(text)) if text else text


def ngettext(one: str, many: str, n: int) -> str:
    """Return the form of a noun that follows the number n."""
    return catalogue(_LANGUAGE.get()).ngettext(one, many, n)


@cache
def catalogue(language: str, package: str = "synthpop.microdata.messages") -> NullTranslations:
    """Return the catalogue of a language in a package."""
    if language == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with files(package).joinpath(f"locale/{language}.po").open("rb") as source:
        write_mo(compiled, read_po(source))
    compiled.seek(0)
    return GNUTranslations(compiled)


def localised(text: str) -> str:
    """Return a number that was written in English with the separators of the language."""
    group, mark = SEPARATORS[_LANGUAGE.get()]
    if group == ",":
        return text
    return text.translate(str.maketrans(",.", group + mark))


def template_messages(source: str) -> list[str]:
    """Return the texts between the tags of a page template, expressions in them as they stand."""
    return [" ".join(piece.split()) for piece in TAGS.split(source) if _is_text(piece)]


def translated_template(source: str) -> str:
    """Return a page template in the current language."""
    if _LANGUAGE.get() == "en":
        return source
    pieces = TAGS.split(source)
    for k, piece in enumerate(pieces):
        if _is_text(piece):
            text = piece.strip()
            left, right = piece[: piece.index(text[0])], piece[piece.rindex(text[-1]) + 1 :]
            pieces[k] = left + gettext(" ".join(text.split())) + right
    return "".join(pieces)


def _is_text(piece: str) -> bool:
    if piece.startswith(("<", "{%", "{#")):
        return False
    return re.search("[A-Za-z]{2}", re.sub(r"{{.*?}}|&[a-z]+;", "", piece)) is not None
