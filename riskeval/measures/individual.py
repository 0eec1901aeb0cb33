"""Individual risk of Benedetti and Franconi, household risk, and the risk of the whole file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import check_treatment
from riskeval.measures.counts import FrequencyCounts, counts_of
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.individual_result import IndividualRisk
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import number, plural
from synthpop.microdata.roles.microdata import FROM_FILE, Microdata, file_with_said_weights

FORMULAS = ("exact", "approximation")


def risk_of_cells(f: np.ndarray, big_f: np.ndarray, formula: str = "exact") -> np.ndarray:
    """Risk r = E(1/F | f) of cells under the negative binomial model, p = f/F at most 1.

    The approximation is p / (f - (1 - p)) from f = 3 on and exact below (Capobianchi, Polettini and
    Lucarelli 2001): what sdcMicro does.

    Equation 4 of Franconi and Polettini (2004), with q = 1 - p, is

        (p/q)^f * integral from 1 to 1/p of (y - 1)^(f-1) / y dy  =  (p/f) 2F1(1, 1; f+1; q),

    a series of positive terms, which is summed directly where it is short (p >= 1/2 or f >= 30).
    Below, the recurrence r(f+1) = (p/q) (1/f - r(f)) runs upwards, which is stable for p < 1/2,
    from r(1) = -(p/q) log p, or from an integral for f that are not whole.
    """
    from riskeval.kernels.counts import cell_risks

    f = np.array(f, dtype=np.float64)
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
    """Probability that at least one member is linked, 1 - prod(1 - risk), for every member."""
    with np.errstate(divide="ignore"):
        none = np.bincount(household, weights=np.log1p(-risk))
    return -np.expm1(none)[household]


def with_lone_persons(household: np.ndarray) -> tuple[np.ndarray, int]:
    """Number missing households (-1) as households of one; return how many these are."""
    number, alone = household.copy(), household < 0
    n_alone = int(alone.sum())
    number[alone] = number.max(initial=-1) + 1 + np.arange(n_alone)
    return number, n_alone


@same_library
def individual_risk(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weights: Any = FROM_FILE,
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
    data, keys, weights, household
        The file and its roles: see `Microdata`. Weights must be said: None declares that the file
        is the whole population, r = 1/f. A missing household is one of one, and counted.
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
    faults = Faults("individual risk")
    file = file_with_said_weights(
        data, faults, (quality, coverage, attempt), keys=keys, weights=weights,
        household=household,
    )  # fmt: skip
    check_treatment(faults, missing, alpha)
    check_choice(faults, "formula", formula, FORMULAS)
    factors = {"quality": quality, "coverage": coverage, "attempt": attempt}
    factor = read_factors(faults, file.frame, **factors)
    faults.raise_if_any()
    return risk_of_counts(counts_of(file, missing, alpha), file, factor=factor, formula=formula)


def risk_of_counts(
    counts: FrequencyCounts,
    file: Microdata,
    *,
    factor: np.ndarray | None = None,
    formula: str = "exact",
) -> IndividualRisk:
    """Individual risk from the counts of a file and its households.

    `factor` is the product of quality, coverage and attempt.
    """
    if counts.weighted:
        cells = risk_of_cells(counts.cell_f, counts.cell_F, formula)
    else:
        cells = 1.0 / counts.cell_f
    base = cells[counts.cell]
    plain = factor is None or bool((factor == 1.0).all())
    risk = base if plain else base * factor
    codes, n_alone = None, 0
    if file.roles.household is not None:
        codes, n_alone = with_lone_persons(file.household_index)
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
        n_without_household=n_alone,
        n_capped=int(counts.keys.counts[capped].sum()) if counts.weighted else 0,
        counts=counts,
    )


def read_factors(faults: Faults, frame: pd.DataFrame, **factors: Any) -> np.ndarray:
    """Product of quality, coverage and attempt (each a number, column or array), shape (n,)."""
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
            hint="Give one number, or one a record.",
        )
        return ones
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        faults.add(
            argument,
            "is not a number from 0 to 1",
            rows=np.flatnonzero(wrong) if np.ndim(value) else (),
            hint="It is a probability: lack of knowledge is 1, the worst case.",
        )
        return ones
    return ones * values


GLOBAL_RISK = person_risk(
    "global_risk", "Mean individual risk", "probability",
    "mean probability that an intruder who knows the keys of everybody links a record correctly; "
    "a low mean can hide single high risks", "Franconi and Polettini 2004",
)  # fmt: skip
EXPECTED = person_risk(
    "expected_reidentifications", "Expected re-identifications", "persons",
    "records that an intruder who knows the keys of everybody links correctly on average",
    "Templ 2017, section 3.5",
)  # fmt: skip
RECORD_RISK = person_risk(
    "record_risk", "Highest risk of a record", "probability",
    "probability that the most exposed record is linked correctly", "Franconi and Polettini 2004",
    single=True,
)  # fmt: skip
BENCHMARK = person_risk(
    "above_benchmark", "Records above the benchmark", "records",
    "records whose risk is far above the main part of the file; the rule marks outliers of the "
    "distribution and says nothing about whether the risks are acceptable",
    "Templ 2017, equation 3.5",
)  # fmt: skip
EXPECTED_HOUSEHOLDS = person_risk(
    "expected_households", "Expected re-identified households", "persons",
    "households in which at least one member is linked correctly on average",
    "Templ 2017, section 3.6",
)  # fmt: skip
HOUSEHOLD_RISK = person_risk(
    "household_risk", "Mean household risk", "probability",
    "mean over persons of the probability that somebody of their household is linked",
    "Templ 2017, section 3.6",
)  # fmt: skip
LARGEST_HOUSEHOLD = person_risk(
    "largest_household_risk", "Highest household risk", "probability",
    "probability that at least one member of the most exposed household is linked",
    "Templ 2017, section 3.6", single=True,
)  # fmt: skip


def risk_of_request(request: AssessRequest) -> IndividualRisk:
    """Return the individual risk that an assessment asks for."""
    arguments = request.arguments("individual_risk")
    faults = Faults("individual risk")
    formula = arguments.pop("formula", "exact")
    check_choice(faults, "formula", formula, FORMULAS)
    factor = read_factors(faults, request.frame, **arguments)
    faults.raise_if_any()
    return risk_of_counts(request.counts, request.file, factor=factor, formula=formula)


def of_individual_risk(result: IndividualRisk, request: AssessRequest) -> list[Measurement]:
    """Individual and household risk; persons and households are judged by the same limits."""
    limits = request.limits
    note = "" if result.weighted else message("no weights: the file counts as the whole population")
    mean: dict[str, Any] = {
        "limit": limits.global_risk,
        "limit_source": message("0.01 is sdcMicro's default")
        if limits.global_risk == 0.01
        else message("as asked"),
        "note": note,
    }
    largest: dict[str, Any] = {
        "limit": limits.record_risk,
        "limit_source": message("0.09: European Medicines Agency, Policy 0070")
        if limits.record_risk == 0.09
        else message("as asked"),
        "note": note,
    }
    benchmark = result.benchmark
    reach = (", " + message("which no risk can reach")) if benchmark > 1 else ""
    text = message("benchmark {benchmark}{reach}", benchmark=number(benchmark), reach=reach)
    measured = [
        request.measured(EXPECTED, result.expected_reidentifications, note=note),
        request.measured(GLOBAL_RISK, result.global_risk, **mean),
        request.measured(RECORD_RISK, result.risk.max(initial=0.0), **largest),
        request.measured(BENCHMARK, (result.risk >= benchmark).sum(), note=text),
    ]
    if result.household_risk is not None:
        measured += [
            request.measured(EXPECTED_HOUSEHOLDS, result.expected_households or 0.0, note=note),
            request.measured(HOUSEHOLD_RISK, result.household_global_risk or 0.0, **mean),
            request.measured(LARGEST_HOUSEHOLD, result.household_risk.max(initial=0.0), **largest),
        ]
    return measured


MEASURE = Measure(
    name="individual_risk",
    rank=40,
    title="Individual risk",
    question="How likely is it that an intruder links a record to its person?",
    blind_spots=(
        "how the keys hang together: the weights of the records with a key alone tell how "
        "many persons have it, so that rare keys look too common or too rare"
    ),
    source="Benedetti and Franconi 1998; Franconi and Polettini 2004",
    function=individual_risk,
    run=risk_of_request,
    measurements=of_individual_risk,
    options=("quality", "coverage", "attempt", "formula"),
    infos=(GLOBAL_RISK, EXPECTED, RECORD_RISK, BENCHMARK),
)
