"""Verbs of a session: each is the function of ``riskeval.protect`` with the same name.

Their arguments stand in ``verbs.pyi``, where type checkers and editors read them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from riskeval.protection.registry import VERBS
from riskeval.protection.result import Protected


class SessionVerbs(ABC):
    """One method a verb; arguments default to the declared roles."""

    @abstractmethod
    def apply(self, verb: str, *values: Any, **parameters: Any) -> Protected:
        """Run a verb and record it."""


def _method(verb: str) -> Callable[..., Protected]:
    def run(self: SessionVerbs, *values: Any, **parameters: Any) -> Protected:
        return self.apply(verb, *values, **parameters)

    run.__name__, run.__qualname__ = verb, f"SessionVerbs.{verb}"
    run.__doc__ = f"Run ``riskeval.protect.{verb}`` on the current file; see there."
    return run


for _verb in VERBS:
    setattr(SessionVerbs, _verb, _method(_verb))
