"""Forms from public signatures and docstrings: a new function needs no line here.

A form lists the options of a function: how each is entered, its default and a line of help. What
comes back from the browser is text; `read_form` turns it into arguments and never evaluates it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import tomllib
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from synthpop.app.docstrings import (
    ParameterText,
    first_sentence,
    parameter_texts,
    quoted_choices,
    quoted_words,
)
from synthpop.app.picks import COLUMNS, PICKS, UNPICKED, PickFault, read_picked
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import TYPE, Method

Kind = Literal[
    "column", "columns", "choice", "integer", "number", "flag", "text", "value", "object", "table",
    "picks",
]  # fmt: skip
NUMBERS = {"int": "integer", "float": "number", "bool": "flag"}
MAIN = 4
NO_COLUMN = "formula"
WITH_WORDS = ("column", "text", "value")
UNTYPED = "options"
SEE = re.compile(r"[Ss]ee `(\w+)`\.?\s*")
COLUMN = re.compile(
    r"(?:A|The|Column|Columns|Name)\b.*?[Cc]olumn|[Cc]olumns? "
    r"|(?:A |Numeric |A numeric |Categorical )(?:variable|column) |A variable that"
)


@dataclass(frozen=True, slots=True)
class Option:
    """One entry of a form."""

    name: str
    kind: Kind  # how it is entered; "value" is a list, a table of pairs or any other plain value
    help: str = ""  # what the docstring says
    default: Any = None  # object: None where there is none, or where the default is None
    required: bool = False
    choices: tuple[tuple[str, str], ...] = ()  # kind "object": words that it takes besides
    suggestions: tuple[str, ...] = ()  # words that a free entry takes besides other values
    # kind "object": the records that the option takes, each with its own options
    forms: tuple[Form, ...] = ()
    typed: bool = True  # whether a record says which one it is
    needed: bool = False  # whether the method cannot do without it, given or from a role
    from_role: str = ""  # the role of the project that fills the option when it is left empty
    proposed: Any = None  # what the entry holds at first; left empty it means the default
    main: bool = True  # whether the option is shown at once, or under "more options"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a function or of a record of options."""

    name: str
    help: str  # first sentence of its docstring
    options: tuple[Option, ...]
    title: str = ""  # of its entry

    def option(self, name: str) -> Option:
        """Return an option by its name."""
        return next(item for item in self.options if item.name == name)


def make_form(
    function: Callable[..., Any],
    *,
    name: str = "",
    title: str = "",
    skip: Collection[str] = ("data",),
    roles: Mapping[str, str] | None = None,
    proposed: Mapping[str, Any] | None = None,
    related: Mapping[str, Callable[..., Any]] | None = None,
    picked: bool = False,
) -> Form:
    """Return the form of a function, or of a dataclass, with a NumPy docstring.

    skip: parameters that are not options
    roles: option -> role that fills it when it is left empty
    proposed: option -> what its entry holds at first
    related: what docstrings mean by "see `Name`" of a parameter, by this name
    picked: whether mappings and formulas are picked from the columns of the file
    """
    described = getattr(function, "func", function)  # of a partial function
    texts, hints = _texts(described), _hints(described)
    types = getattr(described, "OPTION_TYPES", {})
    options = []
    for parameter in inspect.signature(function).parameters.values():
        several = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if several or parameter.name in skip:
            continue
        text = _related_text(texts.get(parameter.name, ParameterText()), parameter.name, related)
        role = (roles or {}).get(parameter.name, "")
        records = _records(hints.get(parameter.name), types.get(parameter.name))
        forms = tuple(
            make_form(one, name=word, skip=(), related=related) for word, one in records.items()
        )
        options.append(_option(parameter, text, forms, role))
    main = [one.name for one in options if not one.from_role and one.name != "seed"][:MAIN]
    first = proposed or {}
    if picked:
        options = [dataclasses.replace(one, kind=_picked_kind(one)) for one in options]
        main = [one.name for one in options if one.name in main and one.kind != "picks"]
    ordered = tuple(
        dataclasses.replace(
            one, main=one.required or one.name in [*main, *first], proposed=first.get(one.name)
        )
        for one in options
    )
    return Form(name or described.__name__, first_sentence(described), ordered, title)


def _picked_kind(option: Option) -> Kind:
    """Return how an option of a method is entered where columns of a file are known."""
    if option.name in PICKS:
        return "picks"
    return "columns" if option.name in COLUMNS else option.kind


def protection_forms() -> dict[str, Form]:
    """Return the form of each method of ``riskeval.protect``."""
    from riskeval.protection.registry import VERBS

    return {
        verb: make_form(
            method.run,
            name=verb,
            title=method.title,
            roles=method.roles,
            proposed=method.proposed,
            skip=("data", *UNPICKED),
            picked=True,
        )
        for verb, method in VERBS.items()
    }


def _texts(function: Callable[..., Any]) -> dict[str, ParameterText]:
    """Return what its docstring says; of a class, attributes describe the parameters too."""
    attributes = parameter_texts(function, "Attributes")
    parameters = parameter_texts(function)
    return attributes | parameters if inspect.isclass(function) else parameters | attributes


def _related_text(
    text: ParameterText, name: str, related: Mapping[str, Callable[..., Any]] | None
) -> ParameterText:
    """Return the text of the function that a text refers to, and what it adds itself."""
    see = SEE.match(text.type) or SEE.match(text.description)
    if see is None or see[1] not in (related or {}):
        return text
    target = _texts(related[see[1]])[name]  # type: ignore[index]
    added = SEE.sub("", text.description, count=1)
    return ParameterText(
        target.type if SEE.match(text.type) else text.type, f"{target.description} {added}".strip()
    )


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except (NameError, TypeError, AttributeError):  # names that only type checkers import
        return {}


def _option(
    parameter: inspect.Parameter, text: ParameterText, forms: tuple[Form, ...], role: str
) -> Option:
    default = None if parameter.default is parameter.empty else parameter.default
    required = parameter.default is parameter.empty and not role
    choices = tuple((value, _plain_text(said)) for value, said in quoted_choices(text))
    members = _members(str(parameter.annotation))
    kind: Kind
    names = [form.name for form in forms]
    if forms:
        kind = "object"
        choices = tuple((word, "") for word in quoted_words(text.type) if word not in names)
    elif choices and ("str" in members or not members or isinstance(default, str)):
        kind = "choice"
    else:
        kind = _plain_kind(parameter.name, members, text, default)
    if not isinstance(default, (bool, int, float, str, type(None))) and kind != "object":
        default = None if default in ((), [], {}) else default
    return Option(
        parameter.name, kind, _plain_text(text.description), default, required, choices,
        suggestions=tuple(quoted_words(text.type)) if kind in WITH_WORDS else (),
        forms=forms, typed=UNTYPED not in names, from_role=role,
        needed=parameter.default is parameter.empty,
    )  # fmt: skip


def _members(annotation: str) -> list[str]:
    """Return the members of a union, without None."""
    text = annotation.strip("'\"")
    if text in ("<class 'inspect._empty'>", ""):
        return []
    for name in ("int", "float", "bool", "str"):
        text = text.replace(f"<class '{name}'>", name)
    depth, members = 0, [""]
    for sign in text:
        depth += (sign in "[(") - (sign in ")]")
        if sign == "|" and depth == 0:
            members.append("")
        else:
            members[-1] += sign
    return [member.strip() for member in members if member.strip() not in ("None", "")]


def _plain_kind(name: str, members: list[str], text: ParameterText, default: Any) -> Kind:
    about_columns = re.search(r"[Cc]olumn|[Vv]ariable|[Nn]ames of|[Kk]ey", text.type + " " + name)
    described = COLUMN.match(text.description) or name in ("by", "means_by")
    if "DataFrame" in text.type and not any("Mapping" in member for member in members):
        return "table"
    if members == ["str"]:
        return "column" if (about_columns or described) and name != NO_COLUMN else "text"
    if "Sequence[str]" in members and {*members} <= {"str", "Sequence[str]"}:
        return "value" if name == "labels" else "columns"
    if len(members) == 1 and members[0] in NUMBERS:
        return typing.cast(Kind, NUMBERS[members[0]])
    if not members and isinstance(default, bool):
        return "flag"
    return "value"


def _records(hint: Any, kinds: Any = None) -> dict[str, Any]:
    """Return the records that an option takes, by name: those of a run file, or of its type.

    Of a base of methods they are the methods; a class that stands alone has the name `UNTYPED`.
    """
    if kinds is not None:
        return dict(kinds) if isinstance(kinds, Mapping) else {UNTYPED: kinds}
    members = [one for one in typing.get_args(hint) or (hint,) if inspect.isclass(one)]
    records: dict[str, Any] = {}
    while members:
        one = members.pop(0)
        if dataclasses.is_dataclass(one):
            records[str(getattr(one, "type", UNTYPED))] = one
        if issubclass(one, Method):
            members.extend(one.__subclasses__())
    return records


def _plain_text(description: str) -> str:
    return " ".join(description.replace("``", "").replace("`", "").split())


def read_value(text: str) -> Any:
    """Return the plain value that a text stands for: JSON, TOML, a list with commas, or itself.

    Examples
    --------
    >>> read_value("3"), read_value("0, 15, inf"), read_value('{"a": [1]}'), read_value("{a = 1}")
    (3, [0, 15, inf], {'a': [1]}, {'a': 1})
    >>> read_value("some text"), read_value("AT, DE")
    ('some text', ['AT', 'DE'])
    """
    stripped = text.strip()
    for reader in (json.loads, _toml):
        try:
            return reader(stripped)
        except (ValueError, RecursionError):
            continue
    if "," in stripped and stripped[0] not in "[{":
        return [read_value(item) for item in stripped.split(",") if item.strip()]
    return stripped


def _toml(text: str) -> Any:
    value = tomllib.loads("value = " + text)
    if set(value) != {"value"}:
        raise ValueError("several values")
    return value["value"]


def read_form(form: Form, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that the entries of a form stand for; empty entries are left out.

    Raises InputError: unknown entries, texts in place of numbers, required ones that are empty.
    """
    faults = Faults(form.name)
    options = {one.name for one in form.options}
    for name in entries:
        if name.split(".")[0] not in options:
            faults.add(name, "is not an option of this method")
    arguments: dict[str, Any] = {}
    for option in form.options:
        value = _read_option(faults, option, entries)
        if value is not None:
            arguments[option.name] = value
        elif option.required:
            faults.add(option.name, "is not given", hint="Fill it in.")
    faults.raise_if_any()
    return arguments


def first_entries(form: Form) -> dict[str, Any]:
    """Return what the entries of a form hold at first, as a browser sends it."""
    entries = {}
    for one in form.options:
        if isinstance(one.proposed, Mapping):
            entries.update({f"{one.name}.{name}": value for name, value in one.proposed.items()})
        elif one.proposed is not None:
            entries[one.name] = one.proposed
    return entries


def _read_option(faults: Faults, option: Option, entries: Mapping[str, Any]) -> Any:
    entry = entries.get(option.name)
    if option.kind == "picks":
        try:
            return read_picked(PICKS[option.name], option.name, entries)
        except PickFault as problem:
            faults.add(option.name, problem.fault, hint=problem.hint)
            return None
        except ValueError:
            faults.add(option.name, "is no number", hint="Write numbers, with commas between them.")
            return None
    if option.kind == "columns":
        names = [entry] if isinstance(entry, str) else list(entry or [])
        return [str(name) for name in names if name] or None
    if option.kind == "flag":
        flag = entry in (True, "true", "on", "1")
        return None if flag == bool(option.default) else flag
    text = "" if entry is None else str(entry).strip()
    if not text:
        return None
    if option.kind == "object":
        return _read_object(faults, option, text, entries)
    if option.kind == "choice":
        if text not in [value for value, _ in option.choices]:
            faults.add(option.name, message("{value} is not a choice", value=repr(text)))
        return text
    if option.kind in ("integer", "number"):
        return _read_number(faults, option, text)
    return read_value(text) if option.kind == "value" else text


def _read_number(faults: Faults, option: Option, text: str) -> float | int | None:
    try:
        return int(text) if option.kind == "integer" else float(text.replace(",", "."))
    except ValueError:
        noun = "whole number" if option.kind == "integer" else "number"
        faults.add(option.name, f"{text!r} is not a {noun}")
        return None


def _read_object(faults: Faults, option: Option, name: str, entries: Mapping[str, Any]) -> Any:
    """Return a record as run files write it: its name, or a table with the name and options."""
    if name in [value for value, _ in option.choices]:
        return name
    form = next((record for record in option.forms if record.name == name), None)
    if form is None:
        faults.add(option.name, message("{value} is not a choice", value=repr(name)))
        return None
    head = f"{option.name}.{name}."
    inner = {key[len(head) :]: value for key, value in entries.items() if key.startswith(head)}
    with faults.gathering():
        options = read_form(form, inner)
        if not option.typed:
            return options or None
        return {TYPE: name, **options} if options else name
    return None
