"""Individual risk of the records of a file."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.measures.counts import FrequencyCounts
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, percent, plural

MAD_SCALE = 1.4826  # makes the median absolute deviation a standard deviation under normality
BENCHMARK_FLOOR = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class IndividualRisk(Result):
    """Probability that an intruder links each record to its person of the population.

    Attributes
    ----------
    risk : float64 array, shape (n,)
        rho = d e t r: the risk r with the factors for data quality, coverage and attempt.
    base_risk : float64 array, shape (n,)
        r = E(1/F | f), before the factors.
    household_risk : float64 array, shape (n,), or None
        Probability that at least one member of the record's household is linked; the same for all
        its members. None without households.
    f, F : float64 arrays, shape (n,)
        Sample and estimated population frequency of the key of each record.
    household : integer array, shape (n,), or None
        Number of the household of each record, in order of first appearance.
    weighted : bool
        False: a census, where the file is the population and r = 1/f.
    formula : str
        "exact" or "approximation".
    n_without_household : int
        Records whose household identifier is missing: each is a household of one.
    n_capped : int
        Records whose estimated F is below f (weights below 1): r = 1/f there.
    counts : FrequencyCounts
    """

    risk: np.ndarray
    base_risk: np.ndarray
    household_risk: np.ndarray | None
    f: np.ndarray
    F: np.ndarray
    household: np.ndarray | None
    weighted: bool
    formula: str
    n_without_household: int
    n_capped: int
    counts: FrequencyCounts

    @property
    def expected_reidentifications(self) -> float:
        """Sum of the risks: expected number of records linked correctly."""
        return float(self.risk.sum())

    @property
    def global_risk(self) -> float:
        """Mean of the risks: expected share of records linked correctly."""
        return float(self.risk.mean()) if len(self.risk) else 0.0

    @property
    def expected_household_reidentifications(self) -> float | None:
        """Sum of the household risk over persons: expected persons in a household that is linked.

        A household is linked when at least one of its members is. None without households.
        """
        return None if self.household_risk is None else float(self.household_risk.sum())

    @property
    def household_global_risk(self) -> float | None:
        """Mean of the household risk over persons; None without households."""
        if self.household_risk is None:
            return None
        return float(self.household_risk.mean()) if len(self.risk) else 0.0

    @property
    def expected_households(self) -> float | None:
        """Sum of the household risk over households: expected households that are linked."""
        if self.household_risk is None or self.household is None:
            return None
        _, first = np.unique(self.household, return_index=True)
        return float(self.household_risk[first].sum())

    @property
    def benchmark(self) -> float:
        """Limit of the benchmark rule: the larger of 0.1 and 2 (mean + 2 MAD).

        Templ (2017), equation 3.5. MAD is the median absolute deviation from the median times
        1.4826, as R's ``mad`` has it.
        """
        if not len(self.risk):
            return BENCHMARK_FLOOR
        return max(BENCHMARK_FLOOR, 2.0 * (self.risk.mean() + 2.0 * scaled_mad(self.risk)))

    @property
    def above_benchmark(self) -> int:
        """Number of records at or above `benchmark`: extreme values of the distribution."""
        return int(np.count_nonzero(self.risk >= self.benchmark))

    @property
    def above_main_part(self) -> int:
        """Number of records with risk above 0.1 and above median + 2 MAD.

        The milder rule that sdcMicro prints as "observations with higher risk than the main part
        of the data".
        """
        if not len(self.risk):
            return 0
        limit = max(BENCHMARK_FLOOR, np.median(self.risk) + 2.0 * scaled_mad(self.risk))
        return int(np.count_nonzero(self.risk > limit))

    def count_above(self, threshold: float) -> int:
        """Number of records whose risk is above `threshold`."""
        return int(np.count_nonzero(self.risk > threshold))

    def threshold_for(self, global_risk: float) -> float:
        """Risk to which the riskiest records must be lowered to reach a wanted global risk.

        Parameters
        ----------
        global_risk : float
            Wanted mean of the risks, above 0 and at most 1.

        Returns
        -------
        float
            Largest risk t in the file for which the mean of min(risk, t) is at most
            `global_risk`: protect the records above t. Infinity when the file is there already;
            `global_risk` itself when even the smallest risk is above it.

        Notes
        -----
        The re-identification rate of mu-Argus (Polettini and Seri 2004): records above the
        threshold are counted with the threshold, since protection lowers them at least to it.

        Examples
        --------
        >>> from riskeval.measures.individual import individual_risk
        >>> import pandas as pd
        >>> data = pd.DataFrame({"age": [1, 1, 2, 3], "w": [5.0, 5.0, 5.0, 90.0]})
        >>> risk = individual_risk(data, ["age"], weights="w")
        >>> round(risk.global_risk, 3), round(risk.threshold_for(0.15), 3)
        (0.188, 0.149)
        """
        if not 0 < global_risk <= 1:
            what, hint = f"is {global_risk!r}", "Give a number in (0, 1]."
            raise InputError.of("threshold for a global risk", "global_risk", what, hint)
        if self.global_risk <= global_risk:
            return math.inf
        ordered = np.sort(self.risk)
        n = len(ordered)
        below = np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
        capped = (below + (n - np.arange(n)) * ordered) / n
        n_below = int(np.searchsorted(capped, global_risk * (1 + 1e-12), side="right"))
        return float(ordered[n_below - 1]) if n_below else float(global_risk)

    def to_frame(self) -> pd.DataFrame:
        """One row per record: `risk`, `f`, `F` and, with households, `household_risk`."""
        columns = {"risk": self.risk, "f": self.f, "F": self.F}
        if self.household_risk is not None:
            columns["household_risk"] = self.household_risk
        return pd.DataFrame(columns)

    def summary(self) -> str:
        """Return the expected re-identifications and what they assume."""
        n = len(self.risk)
        text = (
            message(
                "An intruder who knows {names} of everybody is expected to link "
                "{expected_reidentifications} of {n} records correctly ({global_risk}); the "
                "highest risk of one record is {max}.",
                names=", ".join(self.counts.keys.names),
                expected_reidentifications=number(self.expected_reidentifications),
                n=count(n),
                global_risk=percent(self.global_risk, 3),
                max=number(self.risk.max() if n else 0.0),
            )
            + " "
        )
        if self.expected_households is not None:
            text += (
                message(
                    "At least one member is linked in {expected_households} households, with "
                    "{expected_household_reidentifications} persons in them "
                    "({household_global_risk}).",
                    expected_households=number(self.expected_households),
                    expected_household_reidentifications=number(
                        self.expected_household_reidentifications
                    ),
                    household_global_risk=percent(self.household_global_risk, 3),
                )
                + " "
            )
        text += (
            (
                message(
                    "The benchmark rule (Templ 2017, equation 3.5) marks nobody: its limit "
                    "{benchmark} lies beyond every risk, since most risks are high.",
                    benchmark=number(self.benchmark),
                )
                + " "
            )
            if self.benchmark > 1
            else (
                message(
                    "{above_benchmark} out (risk of at least {benchmark}, benchmark rule of Templ "
                    "2017, equation 3.5).",
                    above_benchmark=plural(self.above_benchmark, "record stands", "records stand"),
                    benchmark=number(self.benchmark),
                )
                + " "
            )
        )
        text += (
            message(
                "The number of persons who share a key is estimated from the weights of the "
                "records that have it, which is rough for rare keys: with detailed keys the "
                "risk of unique records is easily understated, with broad keys overstated."
            )
            if self.weighted
            else message(
                "Without weights the file counts as the whole population: the risk is 1/f."
            )
        )
        if self.n_capped:
            text += " " + message(
                "For {n_capped} the weights add up to fewer persons than records; their risk "
                "is 1/f.",
                n_capped=plural(self.n_capped, "record"),
            )
        return text


def scaled_mad(values: np.ndarray) -> float:
    """Median absolute deviation from the median, times 1.4826."""
    return MAD_SCALE * float(np.median(np.abs(values - np.median(values))))
