"""What a user can ask for by name: one entry each, beside its function, which every surface reads.

A measure, an attack, a utility measure, a method of protection and a stage is one module with one
entry. A room finds the entries in its modules; run files, sessions, forms, pages, reference and
conformance tests go through them, so that nothing has to be said twice.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, TypeVar

from synthpop.microdata.messages.message import as_messages


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
    rank: int = 1000

    def __post_init__(self) -> None:
        texts = ("title", "question", "blind_spots", "story", "source")
        as_messages(self, *(name for name in texts if hasattr(self, name)))


E = TypeVar("E")


class Entries(MutableMapping[str, E]):
    """The entries of a room by name, found in its modules when they are first asked for.

    Only modules that make an entry are imported, so that what is dear to import can wait.

    Parameters
    ----------
    package : str
        The room; its modules and those of rooms inside it are read.
    kind : type
        Of the entries: values of modules, or the attribute ``entry`` of their classes.
    """

    def __init__(self, package: str, kind: type[Any]) -> None:
        self._package, self._kind = package, kind

    @cached_property
    def _found(self) -> dict[str, E]:
        found: dict[str, tuple[int, E]] = {}
        for module in self._modules():
            for value in vars(importlib.import_module(module)).values():
                entry = vars(value).get("entry") if isinstance(value, type) else value
                if not isinstance(entry, self._kind):
                    continue
                if found.setdefault(entry.name, (entry.rank, value))[1] is not value:
                    raise TypeError(f"{module}: there are two entries {entry.name!r}")
        ranks = {name: rank for name, (rank, _) in found.items()}
        return {name: found[name][1] for name in sorted(found, key=lambda one: (ranks[one], one))}

    def _modules(self) -> Iterator[str]:
        """Yield the modules in whose text an entry is made."""
        room = importlib.import_module(self._package)
        for module in pkgutil.walk_packages(room.__path__, f"{self._package}."):
            spec: Any = find_spec(module.name)
            if f" = {self._kind.__name__}(".encode() in spec.loader.get_data(spec.origin):
                yield module.name

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
