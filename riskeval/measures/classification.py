"""Global disclosure risk of a masked file from the sizes of groups before and after masking.

Every record sits in a group of records with the same keys, of one size in the original file and of
another in the release. The table of these two sizes is the *classification matrix* of Truta,
Fotouhi and Barth-Jones; the measures are weighted sums over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.counts import counts_of
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, plural, short_percent
from synthpop.microdata.roles.microdata import as_file

MISSING_RULES = ("wildcard", "own-category")
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class ClassificationRisk(Result):
    """Disclosure risk of a release against its original.

    Attributes
    ----------
    matrix : DataFrame of int64
        Classification matrix C: row label i is the size of a group in the release, column label j
        in the original; entry c_ij counts records. Sizes that do not occur are left out (their
        rows and columns are zero).
    minimal : float
        Share of records that are unique in both files.
    maximal : float
        Mean of 1 / i over records whose group did not shrink, the others counting 0.
    weighted : float
        The measure under the given weights.
    per_record : float64, shape (n,)
        Part of each record: ``weighted`` is their mean.
    weights : str or float64 array, shape (r, r)
        As given; sizes above r weigh nothing.
    n : int
        Records.
    """

    matrix: pd.DataFrame
    minimal: float
    maximal: float
    weighted: float
    per_record: np.ndarray
    weights: str | np.ndarray
    n: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row per non-zero entry: ``released_size``, ``original_size``, ``records``."""
        values = self.matrix.to_numpy()
        i, j = np.nonzero(values)
        return pd.DataFrame(
            {
                "released_size": self.matrix.index.to_numpy()[i],
                "original_size": self.matrix.columns.to_numpy()[j],
                "records": values[i, j],
            }
        )

    def summary(self) -> str:
        """Return what the measures mean, in sentences."""
        n_minimal = round(self.minimal * self.n)
        how = (
            f"{self.weights} weights"
            if isinstance(self.weights, str)
            else message("the given weights")
        )
        return message(
            "Classification risk: {n_minimal} of {n} records ({minimal}) are unique on the "
            "keys both before and after masking (minimal risk {minimal_risk}). An intruder "
            "who knows everybody's keys and guesses within each group is right for "
            "{maximal} of the records (maximal risk {maximal_risk}). With {how} the risk "
            "is {weighted}. There is no published threshold: compare releases of the same "
            "file.",
            n_minimal=count(n_minimal),
            n=count(self.n),
            minimal=short_percent(self.minimal),
            minimal_risk=number(self.minimal),
            maximal=short_percent(self.maximal),
            maximal_risk=number(self.maximal),
            how=how,
            weighted=number(self.weighted),
        )


def check_weight_matrix(faults: Faults, weights: np.ndarray, n: int) -> None:
    """Note what keeps a weight matrix, (r, r), from being admissible (Truta et al., equation 5).

    Lower triangular, not negative, falling down each column, along each row up to the diagonal and
    along each diagonal, with total n. The rest of the n x n matrix is zero.
    """
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or weights.size == 0:
        faults.add("weights", f"has shape {weights.shape}", hint="Give a square matrix.")
        return
    if len(weights) > n:
        what = f"has {plural(len(weights), 'row')} for {plural(n, 'record')}"
        faults.add("weights", what, hint=f"Give {n}.")
        return
    if not np.isfinite(weights).all():
        faults.add("weights", "has missing or infinite entries")
        return
    lower = np.tril(np.ones(weights.shape, dtype=bool))
    slack = SLACK * max(float(np.abs(weights).max()), 1.0)
    steps = {
        "column": np.diff(weights, axis=0) * lower[:-1],
        "row": np.diff(weights, axis=1) * lower[:, 1:],
        "diagonal": (weights[1:, 1:] - weights[:-1, :-1]) * lower[1:, 1:],
    }
    if (weights < 0).any():
        faults.add("weights", "has negative entries")
    if (np.abs(weights[~lower]) > 0).any():
        faults.add("weights", "has entries above the diagonal", hint="Set them to zero.")
    for name, rises in steps.items():
        if (rises > slack).any():
            hint = "Smaller groups must not weigh less than larger ones."
            faults.add("weights", f"grow along a {name}", hint=hint)
    total = float(weights.sum())
    if abs(total - n) > SLACK * n:
        what = f"add to {total:g}, not to the {plural(n, 'record')}"
        faults.add("weights", what, hint="Multiply them by n/sum.")


def record_weights(
    released: np.ndarray, original: np.ndarray, weights: str | np.ndarray
) -> np.ndarray:
    """w_ij / w_11 of each record, i and j the sizes of its groups; 0 where j > i, and above r."""
    if isinstance(weights, str):
        inside = original <= (1 if weights == "minimal" else released)
        return np.where(inside & ((weights == "maximal") | (released == 1)), 1.0, 0.0)
    inside = (released <= len(weights)) & (original <= released)
    i, j = np.where(inside, released, 1) - 1, np.where(inside, original, 1) - 1
    return np.where(inside, weights[i, j] / weights[0, 0], 0.0)


@same_library
def classification_risk(
    original: Any,
    released: Any,
    keys: Sequence[str],
    *,
    weights: Any = "maximal",
    missing: str = "wildcard",
) -> ClassificationRisk:
    """Measure the disclosure risk of a masked file by the sizes of its groups.

    Parameters
    ----------
    original, released : DataFrame, shape (n, ...)
        The same records in the same order, before and after masking; not changed.
    keys : sequence of str
        Compared as categories. Default: those of a `Microdata` as `original`.
    weights : {"minimal", "maximal"} or array, shape (r, r)
        Weight w_ij of a record in a group of i in the release and of j in the original. Must be
        admissible (see `check_weight_matrix`); r may be less than n, larger groups then weigh
        nothing.
    missing : {"wildcard", "own-category"}
        What a missing key matches: every value, or only another missing value. The size of the
        group of a record is its count in `frequency_counts` with the same rule.

    Returns
    -------
    ClassificationRisk

    Raises
    ------
    InputError
        Unknown columns, files of different length, weights that are not admissible.

    Notes
    -----
    With c_ij records in groups of size i in the release and j in the original, minimal = c_11 / n,
    maximal = (1/n) sum_i (1/i) sum_{j<=i} c_ij, and weighted = (1/(n w_11)) sum_i (1/i)
    sum_{j<=i} w_ij c_ij (equations 3, 4 and 6; 4 is printed without its factor 1/i, see the
    errata). Records whose group shrank through masking (j > i) count 0.

    References
    ----------
    Truta, Fotouhi and Barth-Jones, *Global disclosure risk measures and k-anonymity property for
    microdata*; Truta, Fotouhi and Barth-Jones (2003), *Disclosure risk measures for
    microdata*, SSDBM 2003, 15-22.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [8, 10, 19, 23], "sex": list("MMFF")})
    >>> released = original.assign(age=[9, 9, 21, 21])
    >>> risk = classification_risk(original, released, ["age", "sex"])
    >>> risk.minimal, risk.maximal
    (0.0, 0.5)
    >>> risk.matrix.loc[2, 1].item()
    4
    """
    faults = Faults("classification risk")
    before = as_file(original, faults, keys=keys, subject="original")
    keys = before.roles.keys
    after = as_file(released, faults, keys=keys, subject="released") if keys else before
    check_choice(faults, "missing", missing, MISSING_RULES)
    if len(before) != len(after):
        what = f"has {plural(len(after), 'row')}, the original {len(before)}"
        faults.add("released", what, hint="Give the same records in the same order.")
    elif len(before) == 0:
        faults.add("original", "has no rows")
    weight = _read_weights(faults, weights, len(before))
    faults.raise_if_any()
    j = np.rint(counts_of(before, missing, 1.0).f).astype(np.int64)
    i = np.rint(counts_of(after, missing, 1.0).f).astype(np.int64)
    matrix = pd.crosstab(pd.Series(i, name="released"), pd.Series(j, name="original"))
    per_record = record_weights(i, j, weight) / i
    return ClassificationRisk(
        matrix=matrix.astype(np.int64),
        minimal=float((record_weights(i, j, "minimal") / i).mean()),
        maximal=float((record_weights(i, j, "maximal") / i).mean()),
        weighted=float(per_record.mean()),
        per_record=per_record,
        weights=weight,
        n=len(i),
    )


def _read_weights(faults: Faults, weights: Any, n: int) -> str | np.ndarray:
    """Return the weights as a name or a checked matrix."""
    if isinstance(weights, str):
        check_choice(faults, "weights", weights, ("minimal", "maximal"))
        return weights
    try:
        matrix = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        faults.add("weights", "is not a matrix of numbers", hint="Give a square matrix.")
        return "maximal"
    check_weight_matrix(faults, matrix, n)
    return matrix
