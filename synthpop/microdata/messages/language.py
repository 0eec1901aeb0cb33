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

FIELD = re.compile(r"{([a-z_0-9]*)}")
ENGLISH_NUMBER = re.compile(r"(?:< )?[+-]?(?:0\.\d+|\d+\.(?:\d{1,2}|\d{4,}))(?:\s%)?")
"""Decimals of a finished sentence; three of them behind another digit may be German thousands."""
COUNTED = re.compile(r"([\d.,<> −]+) ([a-z ]+)(\.?)")
BREAK = r"(?:[;:] |(?<! al)[.!?] [A-Z0-9])"
SEPARATORS_OF_TEXT = (
    re.compile(r"(?<=[.!?])(?<! al\.)( )(?=[A-Z0-9<−(]|[\w.]+: )"),
    re.compile(r"(; )"),
    re.compile(r"(: )"),
)
"""Where a text of several messages may be cut, in this order."""

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


def gettext(message: str) -> str:
    """Return a message in the current language; where the catalogue lacks it, as it is."""
    language = _LANGUAGE.get()
    if language == "en" or not message:
        return message
    return catalogue(language).get((message, 0), message)


def said(message: str, **values: object) -> str:
    """Return a message in the current language, with values at its names in braces."""
    return gettext(message).format(**values)


def translated(text: str) -> str:
    """Return a finished sentence in the current language, found by the message it was made from.

    Sentences of results are written where numbers are computed, in English; pages translate them.
    A text without a message of its own is translated sentence by sentence, as far as messages are
    known. Single words stay as they are: they may be names and levels of the data.
    """
    language = _LANGUAGE.get()
    if language == "en" or " " not in text.strip():
        return text
    translation = _whole(language, text) or _counted(language, text)
    for separator in SEPARATORS_OF_TEXT if translation is None else ():
        pieces = separator.split(text)
        if len(pieces) > 1:
            pieces[::2] = map(translated, pieces[::2])  # the separators stand between the pieces
            return "".join(pieces)
    return text if translation is None else translation


def _whole(language: str, text: str) -> str | None:
    """Return the translation of a message, also with a capital or a full stop; or None."""
    for phrase, capital, stop in _phrases(text):
        translation = _message(language, phrase)
        if translation is not None:
            start = translation[:1].upper() if capital else translation[:1]
            return start + translation[1:] + stop
    return None


def _counted(language: str, text: str) -> str | None:
    """Return a number and its noun, such as "17 records", or None."""
    match = COUNTED.fullmatch(text)
    if match is None:
        return None
    n, noun, stop = match.groups()
    form = 0 if n == "1" else 1
    translation = catalogue(language).get((noun if n == "1" else noun.removesuffix("s"), form))
    return None if translation is None else f"{n} {translation}{stop}"


def _phrases(text: str) -> Iterator[tuple[str, bool, str]]:
    lower_case = text[:1].lower() + text[1:]
    yield text, False, ""
    if lower_case != text:
        yield lower_case, True, ""
    if text.endswith("."):
        yield text[:-1], False, "."
        yield lower_case[:-1], lower_case != text, "."


def _message(language: str, text: str) -> str | None:
    texts = catalogue(language)
    if (text, 0) in texts:
        return texts[text, 0]
    for start, pattern, message in _patterns(language):
        match = pattern.fullmatch(text) if text.startswith(start) else None
        if match is not None:
            return message.format(**{n: _value(n, text) for n, text in match.groupdict().items()})
    return None


def _value(name: str, text: str) -> str:
    """Return what stands in a sentence in the current language; places in a source stay."""
    bare = text.removesuffix(".")
    if ENGLISH_NUMBER.fullmatch(bare) and not name.startswith(("section", "equation")):
        return localised(bare.replace("-", "−")) + text[len(bare) :]
    return translated(text)


@cache
def _patterns(language: str) -> list[tuple[str, re.Pattern[str], str]]:
    """Return start, pattern and translation of each message with values, the longest first."""
    patterns = []
    for (message, form), text in catalogue(language).items():
        names = FIELD.findall(message)
        if form or not names or "{{" in message or not names[0]:
            continue
        pieces = FIELD.split(message)
        pattern, places = re.escape(pieces[0]), set()
        for name, piece in zip(pieces[1::2], pieces[2::2], strict=True):
            pattern += f"(?P={name})" if name in places else f"(?P<{name}>(?:(?!{BREAK}).)+?)"
            pattern += re.escape(piece)
            places.add(name)
        letters = sum(len(re.sub("[^A-Za-z]", "", piece)) for piece in pieces[::2])
        if letters >= 8 or len(pieces[0]) >= 5:
            patterns.append((letters, pieces[0], re.compile(pattern, re.DOTALL), text))
    patterns.sort(key=lambda item: -item[0])
    return [item[1:] for item in patterns]


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
    text = files("synthpop.microdata.messages").joinpath(f"locale/{language}.po").read_text("utf-8")
    return read_catalogue(text)


def read_catalogue(text: str) -> dict[tuple[str, int], str]:
    r"""Read a gettext file."""
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
