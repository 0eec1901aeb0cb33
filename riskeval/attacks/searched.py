"""An attack that is tried in several ways: each beside strangers and guessing, then the strongest.

Success on the original, on a hold-out and by guessing, and the risk that is left when the success
on the hold-out is taken off: Giomi, Boenisch, Wehmeyer and Tasnádi (2023),
doi:10.56553/popets-2023-0055.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from typing import TypeVar

import numpy as np
import pandas as pd

from riskeval.attacks.clusters import MOST_LAGS, are_neighbours_alike, clusters_of, design_effect
from riskeval.attacks.distance.files import NearnessFiles, Progress
from riskeval.attacks.numbers import OUTSIDE, AttackNumber
from riskeval.attacks.request import as_sentences
from riskeval.attacks.shares import Excess, corrected, excess
from riskeval.shared.measurement import MeasureInfo, Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import formatted, percent
from synthpop.microdata.statistics.intervals import NONE, wilson

GIOMI = "Giomi, Boenisch, Wehmeyer and Tasnádi 2023, doi:10.56553/popets-2023-0055"
MOST_SYNTHETIC = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One way to attack: its success, in [0, 1], on the original and on strangers."""

    way: str
    members: np.ndarray
    strangers: np.ndarray | None
    naive: float  # success of guessing
    # households, or other groups that succeed together, of both; None where neighbours may
    clusters: tuple[np.ndarray | None, np.ndarray | None]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SearchedAttack(TableResult):
    """What the strongest of several ways to attack finds.

    Attributes
    ----------
    table : DataFrame
        One row a way: `way`, `attacks` (how many were made), `rate` (success on the original),
        `naive` (of guessing), `holdout` (on strangers), `risk` with `risk_lower` and `risk_upper`
        (what is left of the rate when that of strangers is taken off), `excess`, `lower`, `upper`
        (rate beyond strangers); missing without a hold-out. All intervals are corrected for the
        choice among the ways (Bonferroni), and are those of samples of households where a column
        tells them by its name.
    way : str
        The strongest: that of the largest lower end of the excess; without a hold-out that of the
        largest rate beyond guessing.
    rate, naive : float
    excess : Excess or None
        Of the strongest way beyond strangers; None without a hold-out.
    unit : {"records", "households"}
    confidence : float
    seed : int
    variables : tuple of str
    notes : tuple of str
    """

    table: pd.DataFrame
    way: str
    rate: float
    naive: float
    excess: Excess | None
    n_attacks: int
    confidence: float
    unit: str
    seed: int
    variables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    footnote: str = ""

    @property
    def risk(self) -> float:
        """What is left of the rate when that of strangers is taken off; NaN without a hold-out."""
        return float(self._row["risk"])

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of `risk`."""
        return float(self._row["risk_lower"]), float(self._row["risk_upper"])

    @property
    def _row(self) -> pd.Series:
        return self.table[self.table["way"] == self.way].iloc[0]

    def beyond(self) -> str:
        """Say how the rate stands to guessing and to strangers."""
        text = message("guessing {naive}", naive=percent(self.naive, 1))
        if self.excess is None:
            return text + "; " + message("without a hold-out there is no verdict")
        low, high = self.interval
        return text + "; " + message(
            "strangers {holdout}; risk {risk} ({low} to {high}), {verdict}",
            holdout=percent(self.excess.holdout_rate, 1),
            risk=formatted(self.risk, ".3f"), low=formatted(low, ".3f"),
            high=formatted(high, ".3f"), verdict=self.excess.verdict,
        )  # fmt: skip

    def last_sentences(self) -> str:
        """Return cautions and notes as sentences."""
        caution = (
            "" if self.excess is None or not self.excess.caution else " " + self.excess.caution
        )
        return caution + as_sentences(self.notes) + self.footnote


def residual_risk(
    hits: float, n: float, control_hits: float, control_n: float, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return (r - c) / (1 - c) of the rates of an attack and its control, with its interval.

    Rates and their errors are Wilson's, the error of the risk is propagated (Giomi et al. 2023,
    section 4.2); NaN where the control always succeeds.

    Examples
    --------
    >>> [round(x, 3) for x in residual_risk(50, 100, 0, 100)]
    [0.491, 0.392, 0.589]
    """
    (rate, error), (control, control_error) = (
        _centre(wilson(x, m, confidence)) for x, m in ((hits, n), (control_hits, control_n))
    )
    if not control < 1:
        return float("nan"), *NONE
    risk = (rate - control) / (1 - control)
    half = sqrt(error**2 + ((1 - risk) * control_error) ** 2) / (1 - control)
    return risk, risk - half, risk + half


def _centre(interval: tuple[float, float]) -> tuple[float, float]:
    low, high = interval
    return (low + high) / 2, (high - low) / 2


def groups_of(files: NearnessFiles, role: str) -> np.ndarray | None:
    """Return the household of each record, or neighbours where they are alike; None for neither."""
    if files.request.household is not None:
        return None
    frame, points = files.frames[role], files.points[role]
    codes = clusters_of(frame)
    if codes is None and are_neighbours_alike(points.codes):
        codes = np.arange(len(frame)) // MOST_LAGS
    return codes


W = TypeVar("W")


def in_turn(
    ways: Sequence[W], attempt: Callable[[W], Attempt | None], workers: int, progress: Progress
) -> list[Attempt]:
    """Make the attempts, on threads; those that find nothing to try are left out."""
    made = []
    with ThreadPoolExecutor(workers) as pool:
        for one in pool.map(attempt, ways):
            progress.step(1)
            if one is not None:
                made.append(one)
    progress.end()
    return made


A = TypeVar("A", bound=SearchedAttack)


def strongest(
    kind: type[A],
    attempts: Sequence[Attempt],
    confidence: float,
    files: NearnessFiles,
    notes: Sequence[str] = (),
) -> A:
    """Return the result of an attack: all ways that were tried, and the strongest."""
    n_ways = len(attempts)
    rows, beyond = [], []
    for one in attempts:
        more = None
        row: dict[str, object] = {
            "way": one.way, "attacks": len(one.members), "rate": float(one.members.mean()),
            "naive": one.naive,
        }  # fmt: skip
        if one.strangers is not None:
            more = excess(
                one.members, one.strangers, confidence, n_tests=n_ways, overlap=files.overlap,
                clusters=one.clusters,
            )  # fmt: skip
        if one.strangers is not None and more is not None:
            sizes = [len(values) / design_effect(values, groups) for values, groups in
                     zip((one.members, one.strangers), one.clusters, strict=True)]  # fmt: skip
            risk = residual_risk(
                more.rate * sizes[0], sizes[0], more.holdout_rate * sizes[1], sizes[1],
                corrected(confidence, n_ways),
            )  # fmt: skip
            row |= dict(zip(("risk", "risk_lower", "risk_upper"), risk, strict=True))
            row |= {
                "holdout": more.holdout_rate, "excess": more.difference,
                "lower": more.lower, "upper": more.upper,
            }  # fmt: skip
        rows.append(row)
        beyond.append(more)
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["way"] = table["way"].astype(object)
    by = table["lower"] if beyond[0] is not None else table["rate"] - table["naive"]
    best = int(by.to_numpy().argmax())
    return kind(
        table=table, way=attempts[best].way, rate=float(table["rate"].iloc[best]),
        naive=attempts[best].naive, excess=beyond[best], n_attacks=len(attempts[best].members),
        confidence=confidence, **files.about(*notes),
    )  # fmt: skip


COLUMNS = ["way", "attacks", "rate", "naive", "holdout", "risk", "risk_lower", "risk_upper",
           "excess", "lower", "upper"]  # fmt: skip


def searched_numbers(info: MeasureInfo, result: SearchedAttack) -> list[AttackNumber]:
    """Return the rate of the strongest way beside that of strangers, or of guessing."""
    beyond = result.excess
    one = Measurement(
        info, result.rate, records=result.n_attacks,
        baseline=result.naive if beyond is None else beyond.holdout_rate,
        against="guessing" if beyond is None else OUTSIDE, note=result.way,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", beyond)]
