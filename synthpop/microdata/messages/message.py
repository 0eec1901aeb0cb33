"""Sentences as objects: a text that knows what it was made from, and so is written in any language.

A number, a noun with its count, a list and a sentence are each what a function makes of values:
``message("{n} on {keys}", n=plural(3, "record"), keys="age")``. As a text the object is English.
It keeps the function and the values, so that a page or the app can write it in its language at
the end, numbers and other messages inside of it as well. Names and levels of the data are plain
text and stay what they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Self

from synthpop.microdata.messages.language import current_language, gettext, use_language

P = ParamSpec("P")
WRITERS: dict[str, Callable[..., str]] = {}
"""Functions that make messages, by name: what a record may name."""


class Message(str):
    """An English text with the function and the values that it was made from.

    Two messages are equal where their texts are. `str` and f-strings write a message in the current
    language, English outside of `use_language`; added to a text it keeps its parts.

    Examples
    --------
    >>> text = message("Give {later} the predictor {earlier}.", later="job", earlier="age")
    >>> text.in_language("de")
    'job den Prädiktor age geben.'
    """

    __slots__ = ("args", "function", "values")
    function: Callable[..., str]
    args: tuple[Any, ...]
    values: Mapping[str, Any]

    def __new__(cls, function: Callable[..., str], *args: Any, **values: Any) -> Self:
        """Return what a function makes of values in English, and keep both."""
        with use_language("en"):
            self = super().__new__(cls, function(*args, **values))
        self.function, self.args, self.values = function, args, values
        return self

    def in_language(self, language: str) -> str:
        """Return the text in a language."""
        with use_language(language):
            return self.function(*self.args, **self.values)

    def __str__(self) -> str:
        language = current_language()
        return super().__str__() if language == "en" else self.in_language(language)

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)

    def __add__(self, other: str) -> str:
        return together(self, other)

    def __radd__(self, other: str) -> str:
        return together(other, self)

    def __reduce__(self) -> Any:
        made = getattr(sys.modules[self.function.__module__], self.function.__name__)
        return _again, (made, self.args, self.values)


def _again(made: Callable[..., str], args: tuple[Any, ...], values: Any) -> str:
    return made(*args, **values)


def to_record(value: Any) -> Any:
    """Return what a message was made from as plain values for JSON; other values as they are."""
    if isinstance(value, Message):
        values = {name: to_record(item) for name, item in value.values.items()}
        return {"write": value.function.__name__, "args": to_record(value.args), "values": values}
    if isinstance(value, (list, tuple)):
        return [to_record(item) for item in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


def from_record(value: Any) -> Any:
    """Return the message of `to_record`; KeyError where nothing writes like that."""
    if isinstance(value, list):
        return [from_record(item) for item in value]
    if not isinstance(value, dict):
        return value
    values = {name: from_record(item) for name, item in value["values"].items()}
    return WRITERS[value["write"]](*from_record(value["args"]), **values)


def written(function: Callable[P, str]) -> Callable[P, str]:
    """Let a function that writes values in the current language return a `Message`.

    For type checkers it returns a text: a message is used like any other.
    """

    @wraps(function)
    def made(*args: P.args, **values: P.kwargs) -> str:
        return Message(function, *args, **values)

    WRITERS[function.__name__] = made
    return made


@written
def message(template: str, /, **values: object) -> str:
    """Return a sentence with values at its names in braces.

    template: English, as in the catalogues; without values, braces are part of the text
    """
    return gettext(template).format(**values) if values else gettext(template)


@written
def together(*texts: str) -> str:
    """Return texts one behind the other."""
    return "".join(map(str, texts))


def joined_by(separator: str, texts: Iterable[str]) -> str:
    """Return texts with a separator between them; empty ones are left out."""
    return _joined(separator, *filter(None, texts))


@written
def _joined(separator: str, *texts: str) -> str:
    return separator.join(map(str, texts))


def sentences(*texts: str) -> str:
    """Return sentences with a space between them; empty ones are left out."""
    return joined_by(" ", texts)


@written
def capitalised(text: str) -> str:
    """Return a text that begins with a capital letter."""
    words = str(text)
    return words[:1].upper() + words[1:]


@written
def sentence(text: str) -> str:
    """Return a text with a capital letter and a full stop."""
    words = str(capitalised(text))
    return words if words.endswith((".", "!", "?")) else f"{words}."


def as_messages(record: object, *names: str) -> None:
    """Let fields of a frozen record be messages, so that their texts have other languages."""
    for name in names:
        text = getattr(record, name)
        if text and not isinstance(text, Message):
            object.__setattr__(record, name, message(text))
