"""What is audited: a recipe that can be fitted again, or any function that makes a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pandas as pd

from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.roles.survey import Survey

Release = Callable[[pd.DataFrame, int], object]
"""Of a survey as a frame and a seed: the release, a frame of any library."""


class Refits(Protocol):
    """A fitted recipe that can be learned again from other surveys, also in another process."""

    @property
    def survey(self) -> Survey:
        """The survey as the stages see it."""

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
        """Label, columns of the survey that it makes, and those it looks at, of each stage."""

    @property
    def recipe(self) -> tuple[object, ...]:
        """Steps with their options, as a manifest records them; empty where nobody can say."""

    @property
    def fingerprint(self) -> str:
        """Of the survey from which the recipe was learned first."""

    def release(self, survey: Survey, seed: int, scale: float) -> pd.DataFrame:
        """Learn again and simulate: persons in their households."""


class FittedGenerator(Protocol):
    """A fitted pipeline."""

    def refits(self) -> Refits:
        """Return what learns the recipe again."""


@runtime_checkable
class Generator(Protocol):
    """A recipe that learns from a survey, such as `synthpop.Pipeline`."""

    def fit(self, survey: Survey, *, seed: int) -> FittedGenerator:
        """Learn every stage."""


@dataclass(frozen=True, slots=True)
class AuditedPart:
    """A stage as the audit sees it: what it makes, and what it makes that from.

    ``whole`` stages make members of a household together; others draw each person.
    """

    label: str
    own: tuple[str, ...]
    context: tuple[str, ...]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class FunctionRefits:
    """Any function of a survey and a seed, with what its parts are said to make."""

    function: Release
    survey: Survey
    parts: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    recipe: tuple[object, ...] = ()
    fingerprint: str = ""

    def release(self, survey: Survey, seed: int, scale: float) -> pd.DataFrame:
        """Return what the function makes; `scale` is its own business."""
        release = as_frame(self.function(survey.frame.copy(), seed % 2**32), "release")
        faults = Faults("release")
        household = survey.roles.household
        names = [name for _, own, context in self.parts for name in (*own, *context)]
        wanted = dict.fromkeys([*names, *([household] if household else [])])
        check_columns(faults, release, wanted, "release")
        faults.raise_if_any()
        return release


def function_refits(
    function: Release, survey: Survey, stages: Mapping[str, Sequence[str]] | None
) -> FunctionRefits:
    """Describe a function: its stages as given, or each column as one given all others."""
    roles = set(survey.roles.named().values())
    names = [name for name in survey.frame.columns if name not in roles]
    parts: list[tuple[str, tuple[str, ...], tuple[str, ...]]]
    if stages is None:
        parts = [(name, (name,), tuple(x for x in names if x != name)) for name in names]
    else:
        parts = []
        before: tuple[str, ...] = ()
        for label, listed in stages.items():
            own = listed_names(listed)
            parts.append((label, own, tuple(name for name in before if name not in own)))
            before = tuple(dict.fromkeys((*before, *own)))
    return FunctionRefits(function, survey, tuple(parts))


def parts_of(refits: Refits, whole_first: bool) -> tuple[AuditedPart, ...]:
    """Return the stages that make columns of the survey, the first of a recipe as whole."""
    parts: list[AuditedPart] = []
    for label, own, context in refits.parts:
        first = whole_first and not parts
        parts.append(AuditedPart(label, tuple(own), tuple(context), whole=first))
    return tuple(parts)
