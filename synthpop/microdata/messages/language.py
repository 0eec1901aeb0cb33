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
"""Languages in which every page can be written; the app has further ones (`languages_of`)."""
PAGES = "synthpop.microdata.messages"

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


def languages_of(package: str = PAGES) -> tuple[str, ...]:
    """Return the languages of a package: English, and those that have a catalogue in it.

    Examples
    --------
    >>> languages_of("synthpop.app")
    ('en', 'de', 'fr')
    """
    names = sorted(file.name for file in files(package).joinpath("locale").iterdir())
    return ("en", *(name.removesuffix(".po") for name in names if name.endswith(".po")))


@cache
def catalogue(language: str, package: str = PAGES) -> NullTranslations:
    """Return the catalogue of a language in a package, an empty one where it has none."""
    if language == "en" or language not in languages_of(package):
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
    if _LANGUAGE.get() == "en":
        return text
    return text.translate(_separators(_LANGUAGE.get()))


@cache
def _separators(language: str) -> dict[int, int]:
    """Return what stands for the English thousands separator and decimal mark."""
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return str.maketrans(",.", get_group_symbol(language) + get_decimal_symbol(language))


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
