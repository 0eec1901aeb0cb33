"""Individual risk of Benedetti and Franconi, household risk, and the risk of the whole file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import read_keys, read_weights, tabulate
from riskeval.measures.frequencies import FrequencyCounts, count_keys
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.text import count, number, percent, plural

FORMULAS = ("exact", "approximation")
BENCHMARK_FLOOR = 0.1
MAD_SCALE = 1.4826  # makes the median absolute deviation a standard deviation under normality


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
        >>> import pandas as pd
        >>> data = pd.DataFrame({"age": [1, 1, 2, 3], "w": [5.0, 5.0, 5.0, 90.0]})
        >>> risk = individual_risk(data, ["age"], weights="w")
        >>> round(risk.global_risk, 3), round(risk.threshold_for(0.15), 3)
        (0.188, 0.149)
        """
        if not 0 < global_risk <= 1:
            faults = Faults("threshold for a global risk")
            faults.add("global_risk", f"is {global_risk!r}", remedy="Give a number in (0, 1].")
            faults.raise_if_any()
        if self.global_risk <= global_risk:
            return math.inf
        ordered = np.sort(self.risk)
        n = len(ordered)
        below = np.concatenate([[0.0], np.cumsum(ordered)[:-1]])
        capped = (below + (n - np.arange(n)) * ordered) / n
        last = int(np.searchsorted(capped, global_risk * (1 + 1e-12), side="right"))
        return float(ordered[last - 1]) if last else float(global_risk)

    def to_frame(self) -> pd.DataFrame:
        """One row a record: `risk`, `f`, `F` and, with households, `household_risk`."""
        frame = pd.DataFrame({"risk": self.risk, "f": self.f, "F": self.F})
        return (
            frame
            if self.household_risk is None
            else frame.assign(household_risk=self.household_risk)
        )

    def summary(self) -> str:
        """Return the expected re-identifications and what they assume."""
        n = len(self.risk)
        text = (
            f"An intruder who knows {', '.join(self.counts.keys.names)} of everybody is expected "
            f"to link {number(self.expected_reidentifications)} of {count(n)} records correctly "
            f"({percent(self.global_risk, 3)}); the highest risk of one record is "
            f"{number(self.risk.max() if n else 0.0)}. "
        )
        if self.expected_households is not None:
            text += (
                f"At least one member is linked in {number(self.expected_households)} "
                "households, with "
                f"{number(self.expected_household_reidentifications)} persons in them "
                f"({percent(self.household_global_risk, 3)}). "
            )
        text += (
            f"{plural(self.above_benchmark, 'record stands', 'records stand')} out (risk of at "
            f"least {number(self.benchmark)}, benchmark rule of Templ 2017, equation 3.5). "
        )
        text += (
            "How many persons share a key is estimated from the weights of the records that have "
            "it, which is rough for rare keys: with detailed keys the risk of unique records is "
            "easily understated, with broad keys overstated."
            if self.weighted
            else "Without weights the file counts as the whole population: the risk is 1/f."
        )
        if self.n_capped:
            text += (
                f" For {plural(self.n_capped, 'record')} the weights add up to fewer persons than "
                "records; their risk is 1/f."
            )
        return text


def scaled_mad(values: np.ndarray) -> float:
    """Median absolute deviation from the median, times 1.4826."""
    return MAD_SCALE * float(np.median(np.abs(values - np.median(values))))


def risk_of_cells(f: np.ndarray, big_f: np.ndarray, formula: str = "exact") -> np.ndarray:
    """Risk r = E(1/F | f) of cells under the negative binomial model.

    Parameters
    ----------
    f : float64 array, shape (K,)
        Sample frequencies, at least 1; need not be whole numbers.
    big_f : float64 array, shape (K,)
        Estimated population frequencies; p = f/F, and p = 1 where F < f.
    formula : {"exact", "approximation"}
        "approximation" is p / (f - (1 - p)) from f = 3 on and exact below (Capobianchi, Polettini
        and Lucarelli 2001): what sdcMicro does.

    Returns
    -------
    float64 array, shape (K,)

    Notes
    -----
    Equation 4 of Franconi and Polettini (2004), with q = 1 - p, is

        (p/q)^f * integral from 1 to 1/p of (y - 1)^(f-1) / y dy  =  (p/f) 2F1(1, 1; f+1; q),

    a series of positive terms, which is summed directly where it is short (p >= 1/2 or f >= 30).
    Below, the recurrence r(f+1) = (p/q) (1/f - r(f)) runs upwards, which is stable for p < 1/2,
    from r(1) = -(p/q) log p, or from an integral for f that are not whole.

    Examples
    --------
    >>> risk_of_cells(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])).round(6).tolist()
    [0.255843, 0.082684, 0.046368]
    """
    from riskeval.kernels.counts import cell_risks

    f = np.ascontiguousarray(f, dtype=np.float64)
    p = np.minimum(f / big_f, 1.0)
    risk = np.empty(len(f))
    if formula == "approximation":
        later = (f >= 3) & (p < 1)
        risk[later] = p[later] / (f[later] - (1.0 - p[later]))
        exact = np.empty(int((~later).sum()))
        cell_risks(f[~later], p[~later], exact)
        risk[~later] = exact
        return risk
    cell_risks(f, p, risk)
    return risk


def household_risks(risk: np.ndarray, household: np.ndarray) -> np.ndarray:
    """Probability that at least one member is linked, 1 - prod(1 - risk), for every member.

    Parameters
    ----------
    risk : float64 array, shape (n,)
    household : integer array, shape (n,)
        Household of each record, numbered from 0.

    Examples
    --------
    >>> household_risks(np.array([0.1, 0.05, 0.01]), np.array([0, 0, 0])).round(5).tolist()
    [0.15355, 0.15355, 0.15355]
    """
    with np.errstate(divide="ignore"):
        none = np.bincount(household, weights=np.log1p(-risk))
    return -np.expm1(none)[household]


def individual_risk(
    data: Any,
    keys: Sequence[str],
    *,
    weights: Any,
    household: str | None = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
    quality: Any = None,
    coverage: Any = None,
    attempt: Any = None,
    formula: str = "exact",
) -> IndividualRisk:
    """Estimate the risk of re-identification of each record (Benedetti and Franconi 1998).

    The intruder holds the keys of every person of the population without error. A record whose
    key F persons share is linked with probability 1/F; F given the f records of the sample is
    negative binomial with p = f / (sum of weights).

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables.
    weights : str, array of shape (n,), or None
        Sampling weights. None: the file is the whole population and r = 1/f.
    household : str, optional
        Column with the household of each person, of any type. A missing value is a household of
        one, and counted in the result.
    missing, alpha
        Treatment of missing keys: see `frequency_counts`.
    quality, coverage, attempt : float, str or array of shape (n,), optional
        Factors d, e, t of the paper's section 3.1, each from 0 to 1: that the key is recorded
        without error, that the register of the intruder covers the person, that somebody tries.
        A number, a column name or an array; nothing means 1.
    formula : {"exact", "approximation"}
        "approximation" reproduces sdcMicro (see `risk_of_cells`).

    Returns
    -------
    IndividualRisk
        Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, weights that are not positive, factors outside 0 to 1 or missing.

    Notes
    -----
    Franconi and Polettini (2004), equations 2 to 6; household risk: Templ (2017), section 3.6.
    The risk is computed once a distinct key. Weights from calibration reflect the population only
    for keys that the margins control; for others the estimate of F is rough.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [30, 30, 71], "hh": [1, 2, 2], "w": [60.0, 40.0, 50.0]})
    >>> risk = individual_risk(data, ["age"], weights="w", household="hh")
    >>> risk.risk.round(4).tolist()
    [0.0188, 0.0188, 0.0798]
    >>> round(risk.expected_reidentifications, 3), round(risk.expected_households, 3)
    (0.117, 0.116)
    """
    frame = as_frame(data)
    faults = Faults("individual risk")
    names = read_keys(faults, frame, keys, missing, alpha)
    values = read_weights(faults, frame, weights)
    check_choice(faults, "formula", formula, FORMULAS)
    if household is not None:
        check_columns(faults, frame, [household], "household")
    factor = read_factors(faults, frame, quality=quality, coverage=coverage, attempt=attempt)
    faults.raise_if_any()
    counts = count_keys(tabulate(frame, names, values), missing, alpha, values is not None)
    return risk_of_counts(
        counts,
        household=None if household is None else frame[household],
        factor=factor,
        formula=formula,
    )


def risk_of_counts(
    counts: FrequencyCounts,
    *,
    household: pd.Series | None = None,
    factor: np.ndarray | None = None,
    formula: str = "exact",
) -> IndividualRisk:
    """Individual risk from frequency counts that are there already; arguments checked before.

    Parameters
    ----------
    counts : FrequencyCounts
    household : Series, shape (n,), optional
    factor : float64 array, shape (n,), optional
        Product of quality, coverage and attempt.
    formula : {"exact", "approximation"}

    Returns
    -------
    IndividualRisk
    """
    if counts.weighted:
        cells = risk_of_cells(counts.cell_f, counts.cell_F, formula)
    else:
        cells = 1.0 / counts.cell_f
    base = cells[counts.cell]
    plain = factor is None or bool((factor == 1.0).all())
    risk = base if plain else base * factor
    codes, lost = None, 0
    if household is not None:
        codes, _ = pd.factorize(household)
        alone = np.flatnonzero(codes < 0)
        lost = len(alone)
        codes = codes.copy()
        codes[alone] = codes.max(initial=-1) + 1 + np.arange(lost)
    capped = counts.cell_F < counts.cell_f * (1 - 1e-12)
    return IndividualRisk(
        risk=risk,
        base_risk=base,
        household_risk=None if codes is None else household_risks(risk, codes),
        f=counts.f,
        F=counts.F,
        household=codes,
        weighted=counts.weighted,
        formula=formula,
        n_without_household=lost,
        n_capped=int(counts.keys.counts[capped].sum()) if counts.weighted else 0,
        counts=counts,
    )


def read_factors(faults: Faults, frame: pd.DataFrame, **factors: Any) -> np.ndarray:
    """Product of the factors quality, coverage and attempt for each record, checked.

    Parameters
    ----------
    faults : Faults
    frame : DataFrame, n records
    **factors : None, float, column name or array of shape (n,)

    Returns
    -------
    float64 array, shape (n,)
    """
    product = np.ones(len(frame))
    for argument, value in factors.items():
        product *= _read_factor(faults, frame, argument, value)
    return product


def _read_factor(faults: Faults, frame: pd.DataFrame, argument: str, value: Any) -> np.ndarray:
    ones = np.ones(len(frame))
    if value is None:
        return ones
    if isinstance(value, str):
        if not check_columns(faults, frame, [value], argument):
            return ones
        value = frame[value]
    values = pd.to_numeric(pd.Series(np.ravel(value)), errors="coerce").to_numpy(dtype=np.float64)
    if np.ndim(value) and len(values) != len(frame):
        faults.add(
            argument,
            f"has {plural(len(values), 'value')} for {plural(len(frame), 'record')}",
            remedy="Give one number, or one a record.",
        )
        return ones
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        faults.add(
            argument,
            "is not a number from 0 to 1",
            rows=np.flatnonzero(wrong) if np.ndim(value) else (),
            remedy="It is a probability: lack of knowledge is 1, the worst case.",
        )
        return ones
    return ones * values
