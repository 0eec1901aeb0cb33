"""Plans of protection that a search tried, and the front of risk and loss among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.session.steps import Step
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, percent, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from riskeval.session.session import ProtectionSession


@dataclass(frozen=True, slots=True)
class PlanTrial:
    """What one plan makes of the file."""

    steps: tuple[Step, ...]
    # risks by their names, and "cells_lost"
    values: Mapping[str, float] = field(default_factory=dict)
    # loss of each column in a role, from 0 to 1
    losses: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""  # why the plan cannot be carried out; empty if it can


@dataclass(frozen=True, slots=True, eq=False)
class PlanSearch(Result):
    """Plans of protection that were tried, and the front of risk and loss among them.

    Attributes
    ----------
    plans : DataFrame
        One row per plan that was carried out in full, in the order of the search: `plan` (number),
        `steps` (text), `risk`, `loss`, `cells_lost` (share of the key cells that became missing),
        one column for each other risk, `within` (all limits are met), `front`.
    steps : mapping of int to tuple of Step
        Steps of each plan, after those of the session.
    limits : mapping of str to float
    seed : int
    tried : int
        Files that were made and measured; ``plans=tried`` repeats the search exactly.
    finished : bool
        False where the time or the number of plans ended the search.
    failed : mapping of str to str
        Plans that cannot be carried out, with the reason.
    """

    plans: pd.DataFrame
    steps: Mapping[int, tuple[Step, ...]]
    limits: Mapping[str, float]
    seed: int
    tried: int
    finished: bool
    failed: Mapping[str, str] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """Return the front, from small to large loss."""
        return self.plans[self.plans["front"]].sort_values("loss", ignore_index=True)

    @property
    def best(self) -> int | None:
        """Number of the plan within all limits that loses least; None if there is none."""
        within = self.plans[self.plans["within"]].sort_values(["loss", "plan"])
        return None if within.empty else int(within["plan"].iloc[0])

    def apply(self, session: ProtectionSession, plan: int | None = None) -> ProtectionSession:
        """Run the steps of a plan in a session, after those that are in effect.

        Parameters
        ----------
        session : ProtectionSession
        plan : int, optional
            Default: the best one.

        Raises
        ------
        InputError
            There is no such plan.
        """
        faults = Faults("plan")
        wanted = self.best if plan is None else plan
        if wanted is None:
            faults.add("plan", "none is within the limits", hint="Name one of `plans`.")
        elif wanted not in self.steps:
            faults.add("plan", f"{wanted!r} was not tried", hint="Name one of `plans`.")
        faults.raise_if_any()
        for step in self.steps[int(wanted or 0)]:
            session.apply(step.verb, **step.parameters)
        return session

    def summary(self) -> str:
        """Say how many plans were tried, which is the best, and what the axes mean."""
        asked = ", ".join(f"{name} {number(limit)}" for name, limit in self.limits.items())
        text = message(
            "{n} on the front of risk and loss, of {all} that were carried out and measured",
            n=plural(int(self.plans["front"].sum()), "plan is", "plans are"),
            all=count(len(self.plans)),
        )
        text += "." if self.finished else (" " + message("before the search ended."))
        if self.best is None:
            text += " " + message("None is within the limits ({asked}).", asked=asked)
        else:
            row = self.plans[self.plans["plan"] == self.best].to_dict("records")[0]
            text += " " + message(
                "Within the limits ({asked}) plan {best} loses least: {steps}; loss {loss}, "
                "{cells_lost} of the key cells missing, risk {risk} of the original's."
                if "k" in self.limits
                else "Within the limits ({asked}) plan {best} loses least: {steps}; loss {loss}, "
                "risk {risk} of the original's.",
                asked=asked,
                best=self.best,
                steps=row["steps"],
                loss=percent(row["loss"]),
                cells_lost=percent(row["cells_lost"]),
                risk=percent(row["risk"]),
            )
        return text + (
            " "
            + message(
                "Risk is the largest of the measured risks, each relative to that of the "
                "original; loss is the mean over the columns of the detail lost."
            )
        )

    def figure(self) -> Figure:
        """Draw risk against loss, the front, and the plans within the limits."""
        return presenter("PlanSearch.figure")(self)


def front_of(items: Mapping[Any, Any], points: Mapping[Any, tuple[float, float]]) -> list[Any]:
    """Return the items that no other one beats in risk and loss, of least loss first."""
    order = sorted(
        (one for one in items if not np.isnan(points[one][0])),
        key=lambda one: (points[one][1], points[one][0]),
    )
    front: list[Any] = []
    lowest = np.inf
    for one in order:
        if points[one][0] < lowest:
            front.append(one)
            lowest = points[one][0]
    return front


def short_text(step: Step) -> str:
    """Return a step with the arguments that tell plans apart."""
    named = {
        name: value for name, value in step.parameters.items()
        if name in ("column", "breaks", "groups", "k", "level", "p")
    }  # fmt: skip
    targets = step.parameters.get("targets")
    return str(Step(step.verb, named or ({"targets": targets} if targets else {})))
