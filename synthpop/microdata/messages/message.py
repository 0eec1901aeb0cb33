"""Sentences as objects: a text that knows what it was made from, and so says it in any language.

A number, a noun with its count, a list and a sentence are each what a function makes of values:
``message("{n} on {keys}", n=plural(3, "record"), keys="age")``. The object is the text itself, in
the language of the block in which it was made (English outside of `use_language`), and it keeps
function and values, so that a page or the app can ask for its own language later. Values are
written anew as well; names and levels of the data are plain text and stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, ParamSpec, Self

from synthpop.microdata.messages.language import current_language, gettext, use_language

P = ParamSpec("P")


class Message(str):
    """A text with the function and the values that it was made from.

    Two messages are equal where their texts are. In an f-string and in `format` it speaks the
    current language; joined by ``+`` it keeps its parts.
    """

    __slots__ = ("write",)
    write: Callable[[], Message]

    def __new__(cls, text: str, write: Callable[[], Message]) -> Self:
        """Return a text that `write` writes again, in whichever language is then current."""
        self = super().__new__(cls, text)
        self.write = write
        return self

    @property
    def template(self) -> str | None:
        """The sentence of the catalogue, with names in braces; None for numbers and lists."""
        args = getattr(self.write, "args", ())
        return args[0] if getattr(self.write, "func", None) is message else None

    def in_language(self, language: str) -> str:
        """Return the text in a language."""
        with use_language(language):
            return str.__str__(self.write())

    def __format__(self, specification: str) -> str:
        return format(self.in_language(current_language()), specification)

    def __add__(self, other: str) -> Message:
        return together(self, other)

    def __radd__(self, other: str) -> Message:
        return together(other, self)

    def __reduce__(self) -> Any:
        return _again, (self.write,)


def _again(write: Callable[[], Message]) -> Message:
    return write()


def written(function: Callable[P, str]) -> Callable[P, Message]:
    """Let a function that writes values in the current language return a `Message`."""

    @wraps(function)
    def made(*args: P.args, **values: P.kwargs) -> Message:
        return Message(function(*args, **values), partial(made, *args, **values))

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
    return "".join(map(shown, texts))


def joined(separator: str, texts: Iterable[str]) -> Message:
    """Return texts with a separator between them; empty ones are left out."""
    return _joined(separator, *filter(None, texts))


@written
def _joined(separator: str, *texts: str) -> str:
    return separator.join(map(shown, texts))


def sentences(*texts: str) -> Message:
    """Return sentences with a space between them; empty ones are left out."""
    return joined(" ", texts)


def shown(text: str) -> str:
    """Return a text in the current language, as plain text."""
    return text.in_language(current_language()) if isinstance(text, Message) else str(text)
