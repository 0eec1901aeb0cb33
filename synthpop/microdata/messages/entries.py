"""What a user can ask for by name: one entry each, beside its function, which every surface reads.

A measure, an attack, a utility measure, a method of protection and a stage is one module with one
entry. A room finds the entries in its modules; run files, sessions, forms, pages, reference and
conformance tests go through them, so that nothing has to be said twice.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntry:
    """What everything that has an entry says of itself.

    Attributes
    ----------
    title : str
        Heads, menus and cards.
    question : str
        What it answers or does, as the question of a user.
    blind_spots : str
        What it does not see or protect, as the end of a sentence: "does not see ...".
    rank : int
        Place among the others; those of equal rank stand by name.
    """

    title: str
    question: str
    blind_spots: str
    rank: int = 100


E = TypeVar("E")


class Entries(MutableMapping[str, E]):
    """The entries of a room by name, found in its modules when they are first asked for.

    Parameters
    ----------
    package : str
        The room; its modules and those of rooms inside it are read.
    name_of : callable
        Value of a module -> the name of the entry that it is, or None.
    rank_of : callable
        Entry -> its place among the others.
    """

    def __init__(
        self, package: str, name_of: Callable[[Any], str | None], rank_of: Callable[[E], int]
    ) -> None:
        self._package, self._name_of, self._rank_of = package, name_of, rank_of

    @cached_property
    def _found(self) -> dict[str, E]:
        room = importlib.import_module(self._package)
        entries: dict[str, E] = {}
        for module in pkgutil.walk_packages(room.__path__, f"{self._package}."):
            for value in vars(importlib.import_module(module.name)).values():
                name = self._name_of(value)
                if name is None:
                    continue
                if entries.setdefault(name, value) is not value:
                    raise TypeError(f"{module.name}: there are two entries {name!r}")
        return dict(sorted(entries.items(), key=lambda one: (self._rank_of(one[1]), one[0])))

    def __getitem__(self, name: str) -> E:
        return self._found[name]

    def __setitem__(self, name: str, entry: E) -> None:
        self._found[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
