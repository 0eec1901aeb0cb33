"""Section 8.3 of the book, step by step: its numbers, today's, and ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from replay.earnings import KEYS_83, NUMERIC
from replay.printed import (
    GINI,
    GINI_INTERVAL,
    GINI_PROTECTED,
    PAY_GAP,
    PAY_GAP_PROTECTED,
    REFERENCE,
    SECTION_83,
)
from replay.releases import GROUPS, NOISE
from riskeval import individual_risk, k_anonymity, utility
from riskeval.measures.interval_disclosure import interval_disclosure
from riskeval.session.session import ProtectionSession
from riskeval.utility.information import eigenvalue_difference
from synthpop.calibration import Margin
from synthpop.indicators import bootstrap, gender_pay_gap, gini

WIDE = 0.05  # half-width of the intervals in standard deviations that the book's program uses
IMPORTANCE_83 = {"location": 1, "size": 2, "age": 3, "occupation": 4}
MODEL = "log(earningsHour) ~ location + size + sex + age + education"


@dataclass(frozen=True)
class Steps:
    """The states of the file in section 8.3.

    Attributes
    ----------
    original, suppressed, grouped, noisy : DataFrame
        As it came; 3-anonymous by local suppression; earnings in groups of five; the same with
        correlated noise on top, which is the file that the book estimates from.
    """

    original: pd.DataFrame
    suppressed: pd.DataFrame
    grouped: pd.DataFrame
    noisy: pd.DataFrame


def steps_of(file: pd.DataFrame, seed: int) -> Steps:
    """Protect the file as section 8.3 does."""
    session = ProtectionSession(file, keys=list(KEYS_83), numeric=list(NUMERIC), weights="weights")
    states = [session.data]
    session.local_suppression(k=3, importance=IMPORTANCE_83)
    states.append(session.data)
    session.microaggregate(k=GROUPS, seed=seed)
    states.append(session.data)
    session.add_noise(method="correlated2", level=NOISE, seed=seed)
    return Steps(*states, session.data)


def risks(file: pd.DataFrame, suffix: str = "") -> dict[str, float]:
    """Return the risk of the keys; the formula is the approximation that the book's program has."""
    below = k_anonymity(file, list(KEYS_83)).violations
    risk = individual_risk(file, list(KEYS_83), weights="weights", formula="approximation")
    found = {f"below {k}": float(n) for k, n in below.items()}
    found["records of higher risk"] = float(risk.above_main_part)
    found["expected re-identifications"] = risk.expected_reidentifications
    return {name + suffix: value for name, value in found.items()}


def any_inside(original: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return the share of records with one of the true values near the released one.

    This, with a half-width of 0.05 standard deviations, is what the book prints; the definition
    in its section 3.11, and ours, asks for all values.
    """
    names = list(NUMERIC)
    near = (original[names] - released[names]).abs() <= WIDE * released[names].std()
    return float(near.any(axis=1).mean())


def losses(original: pd.DataFrame, released: pd.DataFrame, step: str) -> dict[str, float]:
    """Return interval disclosure and information loss after a step."""
    names = list(NUMERIC)
    near = interval_disclosure(original, released, names, k=WIDE)
    moved = (original[names] - released[names]).abs() / (np.sqrt(2) * original[names].std())
    correlations = [file[names].corr().to_numpy() for file in (original, released)]
    return {
        f"interval disclosure, {step}": near.rate,
        f"interval disclosure (any variable), {step}": any_inside(original, released),
        f"IL1, {step}": float(moved.to_numpy().mean()),  # equation 5.9
        f"eigenvalues, {step}": eigenvalue_difference(*correlations),
    }


def numbers(steps: Steps) -> pd.DataFrame:
    """Return every risk and loss: what is printed, what its program gives today, and ours."""
    ours = risks(steps.original)
    hidden = steps.suppressed[list(KEYS_83)].isna().to_numpy().sum()
    ours["cells suppressed"] = float(hidden)
    ours.update(risks(steps.suppressed, ", suppressed"))
    ours.update(losses(steps.original, steps.grouped, "groups of 5"))
    ours.update(losses(steps.original, steps.noisy, "noise"))
    exact = individual_risk(steps.original, list(KEYS_83), weights="weights")
    ours["expected re-identifications, exact formula"] = exact.expected_reidentifications
    table = pd.DataFrame({"ours": ours})
    table.insert(0, "printed", table.index.map(SECTION_83.get))
    table.insert(1, "today", table.index.map(REFERENCE.get))
    return table.astype(float)


def indicators(file: pd.DataFrame, *, weighted: bool) -> pd.DataFrame:
    """Return the Gini coefficient and the gender pay gap, overall and by education."""
    pay, weights = file["earningsHour"], file["weights"] if weighted else None
    found = {
        "Gini": gini(pay, weights, by=file["education"]),
        "gender pay gap": gender_pay_gap(pay, weights, gender=file["sex"], by=file["education"]),
    }
    return pd.DataFrame({name: item.to_frame()["estimate"] for name, item in found.items()})


def indicator_table(steps: Steps) -> pd.DataFrame:
    """Return both indicators by education, original and protected, weighted and not."""
    columns = {}
    for state in ("original", "noisy"):
        for weighted in (False, True):
            found = indicators(getattr(steps, state), weighted=weighted)
            label = "weighted" if weighted else "unweighted"
            columns[f"{state}, {label}"] = found.T.stack()
    table = pd.DataFrame(columns)
    printed = pd.concat({"Gini": pd.Series(GINI), "gender pay gap": pd.Series(PAY_GAP)})
    after = {"Gini": pd.Series(GINI_PROTECTED), "gender pay gap": pd.Series(PAY_GAP_PROTECTED)}
    table.insert(0, "printed, original", printed.reindex(table.index))
    table.insert(3, "printed, protected", pd.concat(after).reindex(table.index))
    return table


def gini_intervals(file: pd.DataFrame, seed: int, replicates: int = 100) -> pd.DataFrame:
    """Return 95 % intervals of the weighted Gini coefficient, by three methods."""
    known = file.groupby("location", observed=True)["weights"].sum().rename("total").reset_index()
    pay, weights = file["earningsHour"], file["weights"]
    linear = gini(pay, weights).with_variance()
    naive = bootstrap(gini, pay, weights=weights, replicates=replicates, seed=seed)
    frame = file[["earningsHour", "location"]]
    calibrated = bootstrap(
        lambda part, w: gini(part["earningsHour"], w),
        frame,
        weights=weights,
        calibrate=[Margin(known)],
        replicates=replicates,
        seed=seed,
    )
    rows = {
        "printed (calibrated bootstrap)": (np.nan, *GINI_INTERVAL),
        "linearised": (linear.value, *linear.interval),
        "bootstrap": (naive.estimate, *naive.interval),
        "calibrated bootstrap": (calibrated.estimate, *calibrated.interval),
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "lower", "upper"])


def without_losses(file: pd.DataFrame) -> pd.DataFrame:
    """Return the file with earnings of zero and below missing: they have no logarithm."""
    return file.assign(earningsHour=file["earningsHour"].where(file["earningsHour"] > 0))


def regression(steps: Steps) -> utility.RegressionComparison:
    """Return the regression of section 8.3.9.3 of the original and the protected file."""
    return utility.regression_comparison(steps.original, without_losses(steps.noisy), MODEL)
