"""What a log-linear model says about the risk of a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.table import ALONE
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, plural, short_percent


@dataclass(frozen=True, eq=False)
class LogLinearRisk(Result):
    """Risk of the sample uniques under a log-linear model.

    Attributes
    ----------
    tau1 : float
        Expected number of sample uniques that are unique in the population (equation 3.22).
    tau2 : float
        Expected number of correct matches of sample uniques, each matched at random inside its
        population cell (equation 3.23).
    lambda_ : float64, shape (n,)
        Estimated population mean of the cell of each record; NaN where a key is missing.
    inclusion_probability : float64, shape (n,)
        pi of each record; NaN where a key is missing.
    risk_unique : float64, shape (n,)
        Probability that the record is a population unique: 0 unless it is a sample unique.
    risk_match : float64, shape (n,)
        Expected 1 / F of a sample unique; NaN for other records.
    risk : float64, shape (n,)
        Expected 1 / F of every record, unique or not: the probability that a match drawn among the
        persons of its cell is right. NaN where a key is missing.
    household_risk : float64, shape (n,), or None
        Probability that at least one member of the record's household is matched rightly; a
        member with a missing key adds nothing. None without households.
    distribution : str
    dispersion : float
        Variance of the factor by which means of cells vary around the model; 0 for "poisson".
    n_uniques, n_left_out : int
        Sample uniques with all keys; records that miss a key and are in no cell.
    cells : DataFrame
        Observed cells: the keys, ``f``, ``F`` (sum of weights), ``pi``, ``sample_mean`` (fitted),
        ``lambda`` (population mean).
    n_cells : int
        Cells of the whole key table, empty ones included.
    formula : str
        The model, with all its terms.
    as_numbers : tuple of str
        Keys that entered as numbers; all others are categories.
    method, fit, inclusion : str
    n_parameters : int
    deviance : float
    converged : bool
    iterations : int
    program_gr1, program_gr2 : float
        Not the published measures: what the function ``modRisk`` of the R package sdcMicro returns
        under these names, and the book prints as tau. Sample means in place of population means,
        sums over uniques divided by the number of cells with at most `bound` records.
    program_cells : int
        That number of cells.
    bound : float
    """

    tau1: float
    tau2: float
    lambda_: np.ndarray
    inclusion_probability: np.ndarray
    risk_unique: np.ndarray
    risk_match: np.ndarray
    risk: np.ndarray
    household_risk: np.ndarray | None
    distribution: str
    dispersion: float
    n_uniques: int
    n_left_out: int
    cells: pd.DataFrame
    n_cells: int
    formula: str
    as_numbers: tuple[str, ...]
    method: str
    fit: str
    inclusion: str
    n_parameters: int
    deviance: float
    converged: bool
    iterations: int
    program_gr1: float
    program_gr2: float
    program_cells: int
    bound: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record: `lambda`, `pi`, `risk_unique`, `risk_match`, `risk`, ...

        With households also `household_risk`.
        """
        columns = {"lambda": self.lambda_, "pi": self.inclusion_probability}
        columns |= {name: getattr(self, name) for name in ("risk_unique", "risk_match", "risk")}
        if self.household_risk is not None:
            columns["household_risk"] = self.household_risk
        return pd.DataFrame(columns)

    @property
    def expected_household_reidentifications(self) -> float | None:
        """Sum of the household risk over persons; None without households."""
        return None if self.household_risk is None else float(self.household_risk.sum())

    def summary(self) -> str:
        """Return what the measures mean, in sentences."""
        if self.n_uniques == 0:
            text = message(
                "Log-linear risk: no record is unique on the keys, so tau1 and tau2 are 0."
            )
        else:
            text = message(
                "Log-linear risk: of {n_uniques}, {tau1} are expected to be unique in the "
                "population (tau1), and an intruder who matches all of them is expected to be "
                "right {tau2} times (tau2, {share} of the uniques).",
                n_uniques=plural(self.n_uniques, *ALONE),
                tau1=number(self.tau1),
                tau2=number(self.tau2),
                share=short_percent(self.tau2 / self.n_uniques),
            )
        if self.household_risk is not None:
            expected = self.household_risk.sum()
            text += " " + message(
                "{expected} of {n} ({expected_2}) are expected to live in a household of which "
                "some member is matched rightly; the highest risk of a household is {max}.",
                expected=number(expected),
                n=plural(len(self.household_risk), "person"),
                expected_2=short_percent(expected / max(len(self.household_risk), 1)),
                max=number(self.household_risk.max(initial=0.0)),
            )
        text += " " + message(
            "Model {formula}, method {method}.", formula=self.formula, method=self.method
        )
        if self.distribution != "poisson":
            text += " " + message(
                "Counts are {value}: the mean of a cell varies around the model with variance "
                "{dispersion} (1 is that of an exponential factor).",
                value=self.distribution.replace("-", " "),
                dispersion=number(self.dispersion),
            )
        if self.as_numbers:
            text += " " + message(
                "Treated as numbers: {as_numbers}.", as_numbers=", ".join(self.as_numbers)
            )
        if self.n_left_out:
            left_out = plural(self.n_left_out, "record is", "records are")
            text += " " + message(
                "{left_out} left out because a key is missing.", left_out=left_out
            )
        if not self.converged:
            text += " " + message(
                "The fit did not converge in {iterations}.",
                iterations=plural(self.iterations, "iteration"),
            )
        return text + (
            " " + message("There is no published threshold; the measures depend on the model.")
        )
