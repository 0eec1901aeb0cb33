"""What NumPy docstrings say of the parameters of a function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\s*$", re.MULTILINE)
LISTED = re.compile(r'(?:None(?:,| or) )?"[^"]+"(?:(?:,| or) "[^"]+")*(?:, optional)?')
HEAD = re.compile(r"^(\*{0,2}\w[\w, *]*?)\s*(?::\s*(.*))?$")


@dataclass(frozen=True, slots=True)
class ParameterText:
    """Type and description of a parameter, as its docstring has them."""

    type: str = ""
    description: str = ""


def first_sentence(function: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring."""
    text = inspect.getdoc(function) or ""
    return " ".join(text.split("\n\n")[0].split())


def sections(function: Callable[..., Any]) -> dict[str, str]:
    """Return the sections of a docstring by their titles."""
    text = inspect.getdoc(function) or ""
    heads = list(SECTION.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
    return {
        head[1]: text[head.end() : end].strip("\n") for head, end in zip(heads, ends, strict=True)
    }


def parameter_texts(function: Callable[..., Any], section: str = "Parameters") -> dict[str, Any]:
    """Return the text of each parameter; "a, b : float" describes both.

    Examples
    --------
    >>> def f(level, seed):
    ...     '''Do it.
    ...
    ...     Parameters
    ...     ----------
    ...     level : float
    ...         How much.
    ...     seed : int, optional
    ...     '''
    >>> parameter_texts(f)["level"]
    ParameterText(type='float', description='How much.')
    """
    texts: dict[str, ParameterText] = {}
    names: list[str] = []
    kind, lines = "", []
    for line in [*sections(function).get(section, "").split("\n"), "end"]:
        if line.strip() == "" or line.startswith(" "):
            lines.append(line.strip())
            continue
        for name in names:
            texts[name] = ParameterText(kind, "\n".join(lines).strip())
        head = HEAD.match(line)
        names = [name.strip(" *") for name in head[1].split(",")] if head else []
        kind, lines = ((head[2] or "").strip() if head else ""), []
    return texts


def quoted_choices(text: ParameterText) -> tuple[tuple[str, str], ...]:
    r"""Return the values that a description allows, each with what it says of it.

    They are the type, in braces or listed, or stand in quotes at the start of lines of the
    description.

    Examples
    --------
    >>> quoted_choices(ParameterText('{"mean", "median"}'))
    (('mean', ''), ('median', ''))
    >>> quoted_choices(ParameterText('None, "sum" or "mean"', '"sum": of all. "mean": of some.'))
    (('sum', 'of all.'), ('mean', 'of some.'))
    >>> quoted_choices(ParameterText("str", '"a": the first.\n"b": the other,\nnot a.'))
    (('a', 'the first.'), ('b', 'the other, not a.'))
    >>> quoted_choices(ParameterText('"all" or a list of names'))
    ()
    """
    braces = re.search(r"\{(.*)\}", text.type)
    if braces or LISTED.fullmatch(text.type):
        values = quoted_words(braces[1] if braces else text.type)
    else:
        values = re.findall(r'^"([^"]+)"(?:, optional)?\s*:', text.description, re.MULTILINE)
        values = values if len(values) > 1 else []
    return tuple((value, _said_of(value, values, text.description)) for value in values)


def quoted_words(text: str) -> list[str]:
    """Return what stands in quotes."""
    return re.findall(r'"([^"]+)"', text)


def _said_of(value: str, values: Sequence[str], description: str) -> str:
    """Return the text behind a value, up to that of the next one or the end of the paragraph."""
    head = r'(?:"[^"]+", )*"(?:%s)"(?:, "[^"]+")*(?:, optional)?\s*:\s*'
    start = re.search(head % re.escape(value), description)
    if start is None:
        return ""
    others = "|".join(map(re.escape, values))
    text = re.split(head % others + r"|\n\s*\n", description[start.end() :], maxsplit=1)[0]
    return " ".join(text.split())
