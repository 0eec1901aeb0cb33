"""The risk-utility map: where each release stands, parameter paths, and the Pareto front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from riskeval.shared.show import lower
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class RiskUtilityMap(Result):
    """Risk against utility, one point per release.

    Attributes
    ----------
    frame : DataFrame
        `release`, `kind`, `family`, `parameter`, `risk`, `utility`, `pareto` (no other release has
        less risk and no less utility, or more utility and no more risk; the original is not a
        release and never on the front), `stopped` (the verdict is not to publish it, so that it is
        not on the front either). NaN where a measure is missing.
    risk, utility : str
        Names of the measures.
    risk_title, utility_title : str
    risk_unit, utility_unit : str
        Units of both axes.
    better : {"high", "low"}
        Which end of the utility is better: "low" for a loss, as in Figure 2.2 of Templ (2017).
    limit : float
        Accepted risk; NaN for none.
    """

    frame: pd.DataFrame
    risk: str
    utility: str
    risk_title: str
    utility_title: str
    risk_unit: str
    utility_unit: str
    better: str
    limit: float

    def to_frame(self) -> pd.DataFrame:
        """Return `frame`."""
        return self.frame

    def summary(self) -> str:
        """Name the releases on the front, and those that another one is at least as good as."""
        known = self.frame[(self.frame["kind"] != "original") & _complete(self.frame)]
        front = known[known["pareto"]].sort_values("risk")
        text = message(
            "Risk ({risk_title}) against utility ({utility_title}): {front} of {n} is on "
            "the Pareto front, where less risk costs utility"
            if len(front) == 1
            else "Risk ({risk_title}) against utility ({utility_title}): {front} of {n} are on "
            "the Pareto front, where less risk costs utility",
            risk_title=lower(self.risk_title),
            utility_title=lower(self.utility_title),
            front=len(front),
            n=plural(len(known), "release"),
        )
        if len(front):
            text += f": {', '.join(front['release'])}"
        others = known[~known["pareto"] & ~known["stopped"]]
        if len(others):
            worse = ", ".join(others["release"])
            text += message(". Another release is at least as good in both as {worse}", worse=worse)
        stopped = ", ".join(known.loc[known["stopped"], "release"])
        text += message(". Not to be published: {stopped}", stopped=stopped) if stopped else ""
        absent = self.frame[~_complete(self.frame)]
        if len(absent):
            text += message(
                ". Not on the map, since a value is missing: {release}",
                release=", ".join(absent["release"]),
            )
        return text + "."

    def figure(self) -> Figure:
        """Draw the map in print quality (matplotlib)."""
        return presenter("RiskUtilityMap.figure")(self)


def _complete(frame: pd.DataFrame) -> pd.Series:
    return frame["risk"].notna() & frame["utility"].notna()


def pareto_front(risk: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return which points are on the Pareto front: bool, shape (n,); points with NaN never are.

    A point is off the front when another has no more risk and no less gain, and differs in one.
    """
    known = ~(np.isnan(risk) | np.isnan(gain))
    front: np.ndarray = known.copy()
    for i in np.flatnonzero(known):
        no_worse = (risk <= risk[i]) & (gain >= gain[i])
        better = (risk < risk[i]) | (gain > gain[i])
        front[i] = not bool((known & no_worse & better).any())
    return front
