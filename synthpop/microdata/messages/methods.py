"""Options as objects, checked by one table; methods are options with a short name.

A function takes its method by a short name, as an object where an option differs from its
default, or, as run files and saved sessions write it, as a table::

    microaggregate(data, columns, method="mdav")
    microaggregate(data, columns, method=ClusterGroups(clusters=4))
    microaggregate(data, columns, method={"type": "cluster", "clusters": 4})

The methods of a function stand in a mapping of short names to classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Constraint, check
from synthpop.microdata.messages.text import join

TYPE = "type"


class Options:
    """Base of the frozen dataclasses that hold options; `PARAMETERS` says what each may be.

    The function or stage that takes the options checks them with its other arguments, so that
    one message lists every fault.
    """

    __slots__ = ()

    PARAMETERS: ClassVar[Mapping[str, Constraint]] = {}

    def __post_init__(self) -> None:
        """Keep copies of lists."""
        keep_copies(self)

    def check(self, faults: Faults, label: str) -> None:
        """Note options that cannot work; rules that tie options to each other are added here."""
        check(faults, self.PARAMETERS, self, label=label)


class Method(Options):
    """Base of the frozen dataclasses that hold the options of one method.

    `type` is its short name, by which it is known where all its options have their defaults.
    """

    type: ClassVar[str]

    def plain(self) -> str | dict[str, object]:
        """Return the short name, or a table with it and the options that differ from defaults."""
        table: dict[str, object] = {TYPE: self.type}
        for option in _options(type(self)):
            value = getattr(self, option.name)
            if option.default is MISSING or value != option.default:
                table[option.name] = list(value) if isinstance(value, tuple) else value
        return self.type if len(table) == 1 else table


M = TypeVar("M", bound=Method)


def method_type(value: object) -> object:
    """Return the short name of a method that is given in any of its three forms."""
    if isinstance(value, Method):
        return value.type
    return value.get(TYPE) if isinstance(value, Mapping) else value


def read_method(
    faults: Faults, where: str, value: object, methods: Mapping[str, type[M]]
) -> M | None:
    """Return the object of a method; note what is none, and options that it does not have.

    methods: short name -> class
    Returns None where a fault was noted.
    """
    for method in methods.values():
        if isinstance(value, method):
            return _checked(faults, where, value)
    options = dict(value) if isinstance(value, Mapping) else {}
    name = options.pop(TYPE, None) if isinstance(value, Mapping) else value
    if not isinstance(name, str) or name not in methods:
        shown = type(value).__name__ if isinstance(value, Method) else repr(name)
        faults.add(
            where,
            message("{value} is not allowed", value=shown),
            hint=did_you_mean(name, list(methods)),
        )
        return None
    method = methods[name]
    allowed = [option.name for option in _options(method)]
    unknown = [option for option in options if option not in allowed]
    for option in unknown:
        only = join(map(repr, allowed)) or "none"
        faults.add(where, f"{option!r} is not an option of {name!r}", hint=f"It has {only}.")
    missing = [
        option.name for option in _options(method)
        if option.default is MISSING and option.name not in options
    ]  # fmt: skip
    for option in missing:
        faults.add(where, f"{name!r} needs {option!r}", hint=f"Give it as {option} = ...")
    if unknown or missing:
        return None
    return _checked(faults, where, method(**options))


def _checked(faults: Faults, where: str, method: M) -> M | None:
    before = len(faults.found)
    method.check(faults, where)
    return method if len(faults.found) == before else None


def own_copy(value: Any) -> Any:
    """Return lists and columns of numbers as new tuples, dicts as copies, others as they are."""
    if isinstance(value, (np.ndarray, pd.Series, pd.Index)) and value.ndim == 1:
        return tuple(value.tolist())
    if isinstance(value, (list, tuple)):
        return tuple(own_copy(item) for item in value)
    if isinstance(value, dict):
        return {key: own_copy(item) for key, item in value.items()}
    return value


def keep_copies(options: Any) -> None:
    """Give a dataclass copies of its values: a list that is changed later does not change it."""
    for option in fields(options):
        object.__setattr__(options, option.name, own_copy(getattr(options, option.name)))


def _options(method: type[Method]) -> tuple[Field[Any], ...]:
    return fields(method)  # type: ignore[arg-type]
