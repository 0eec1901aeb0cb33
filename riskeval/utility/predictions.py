"""How far the fitted values of a regression move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import ones, read_files
from riskeval.utility.families import MEANS
from riskeval.utility.regression_models import build_model
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, percent, plural


@dataclass(frozen=True, slots=True, eq=False)
class PredictionQuality(Result):
    """How far fitted values of a regression move (equation 5.10).

    Attributes
    ----------
    formula, family, at : str
    mean, median : float
        Mean (weighted) and median of |fit of original - fit of release| / |fit of original|.
    per_record : float64, shape (n,)
        NaN for records that have no fitted value in both, or one of zero in the original.
    """

    formula: str
    family: str
    at: str
    mean: float
    median: float
    per_record: np.ndarray

    def to_frame(self) -> pd.DataFrame:
        """One row per measure: `measure`, `value`."""
        return pd.DataFrame({"measure": ["mean", "median"], "value": [self.mean, self.median]})

    def summary(self) -> str:
        """Return the relative change of fitted values."""
        return message(
            "Fitted values of {formula} change by {mean} of their size on average (median "
            "{median}; Templ 2017, equation 5.10). 0 is no loss; there is no threshold: "
            "compare releases of the same file.",
            formula=self.formula,
            mean=percent(self.mean),
            median=percent(self.median),
        )


@same_library
def prediction_quality(
    original: Any,
    released: Any,
    formula: str,
    *,
    family: str = "linear",
    weights: Any = None,
    released_weights: Any = None,
    at: str = "fitted",
) -> PredictionQuality:
    """Measure how far the fitted values of a regression move.

    Parameters
    ----------
    original, released : tables of n and m records
    formula, family
        As in `regression_comparison`.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).
    at : {"fitted", "original"}
        "fitted": fitted value of record i in each file, which must be the same unit (equation
        5.10). "original": both models predict the records of the original; files of any length.

    Returns
    -------
    PredictionQuality
        Fitted values are on the scale of the model: logarithms where the response is one. Nothing
        is drawn at random.

    Raises
    ------
    InputError
        As `regression_comparison`; also files of different length with "fitted".

    Notes
    -----
    Templ (2017), equation 5.10.

    Examples
    --------
    >>> x = pd.DataFrame({"pay": [10.0, 12.0, 9.0, 15.0], "sex": list("fmfm")})
    >>> round(prediction_quality(x, x.assign(pay=x["pay"] * 1.1), "pay ~ sex").mean, 6)
    0.1
    """
    faults = Faults("prediction quality")
    files = read_files(faults, original, released, weights, released_weights)
    check_choice(faults, "at", at, ("fitted", "original"))
    if at == "fitted" and not files.paired:
        faults.add(
            "released",
            message(
                "{title} against {x} of the original",
                title=plural(len(files.y), "record"),
                x=count(len(files.x)),
            ),
            hint='Use at="original".',
        )
    model = build_model(faults, files, formula, family)
    faults.raise_if_any()
    assert model is not None
    first, second = model.fit(0), model.fit(1)
    n = len(files.x)
    values = np.full((2, n), np.nan)
    values[0, first.rows] = first.values
    if at == "fitted":
        values[1, second.rows] = second.values
    else:
        estimated = ~np.isnan(second.coefficients)
        z = model.z[0]
        # a record that needs a coefficient which only the original has gets no prediction
        only_in_original = ~estimated & ~np.isnan(first.coefficients)
        outside = (np.nan_to_num(z[:, only_in_original]) != 0).any(axis=1)
        score = z[:, estimated] @ second.coefficients[estimated]
        values[1] = MEANS.get(family, MEANS["linear"])(score)
        values[1, outside] = np.nan
    change = np.full(n, np.nan)
    nonzero = ~np.isnan(values).any(axis=0) & (values[0] != 0)
    change[nonzero] = np.abs(values[0] - values[1])[nonzero] / np.abs(values[0, nonzero])
    w = ones(n, files.wx)[nonzero]
    return PredictionQuality(
        formula=formula,
        family=family,
        at=at,
        mean=float(np.average(change[nonzero], weights=w)) if nonzero.any() else np.nan,
        median=float(np.median(change[nonzero])) if nonzero.any() else np.nan,
        per_record=change,
    )
