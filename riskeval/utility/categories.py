"""Simple counts of both files: missing values and entropy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import check_both, compares_rows, ones, read_files
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_names, listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import formatted, plural


@dataclass(frozen=True, slots=True, eq=False)
class MissingLoss(TableResult):
    """Missing values that the release has and the original does not.

    Attributes
    ----------
    table : DataFrame
        One row per variable: `variable`, `original`, `released` (missing values), `new` (missing in
        the release only, m_j), `filled` (missing in the original only), `percent` (new ones, mp_j),
        `percent_original`, `percent_released`. `new` and `filled` are -1 and `percent` is the
        difference of the two percentages where rows are not paired.
    total : int
        Sum of `new`; -1 where rows are not paired.
    paired : bool
    """

    table: pd.DataFrame
    total: int
    paired: bool

    def summary(self) -> str:
        """Return how many values were lost, and where most."""
        worst = self.table.iloc[int(np.argmax(self.table["percent"].to_numpy()))]
        most = message(
            "most in {variable} ({percent} % of the records)",
            variable=worst["variable"],
            percent=formatted(worst["percent"], ".3g"),
        )
        if not self.paired:
            return message(
                "Rows are not paired: shares of missing values are compared; they grow {most}, "
                "in percentage points. 0 is no loss.",
                most=most,
            )
        return message(
            "{total} missing in the release that the original has, {most}. 0 is no loss "
            "(Templ 2017, equations 5.2 and 5.3).",
            total=plural(self.total, "value is", "values are"),
            most=most,
        )


@same_library
def missing_loss(
    original: Any,
    released: Any,
    variables: Sequence[str] | str | None = None,
    *,
    weights: Any = None,
    released_weights: Any = None,
    rows: str = "auto",
) -> MissingLoss:
    """Count the values that are missing in the release only.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str, optional
        Default: all columns that both files have.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,), for the percentages; counts are of records.
    rows : {"auto", "paired", "unpaired"}
        Whether row i of both files is the same unit; "auto": yes for files of equal length.

    Returns
    -------
    MissingLoss

    Raises
    ------
    InputError
        Unknown columns, bad weights, or files of different length that are called "paired".

    Notes
    -----
    Templ (2017), equations 5.1 to 5.3. As printed, 5.1 counts values that are missing in *both*
    files; meant are those missing in the release only (see `errata.md`).

    Examples
    --------
    >>> x = pd.DataFrame({"a": [1, None, 3, 4]})
    >>> y = pd.DataFrame({"a": [None, None, 3, None]})
    >>> missing_loss(x, y).table[["new", "percent"]].values.tolist()
    [[2.0, 50.0]]
    """
    faults = Faults("missing values")
    files = read_files(faults, original, released, weights, released_weights)
    if variables is None:
        shared: Sequence[str] = [name for name in files.x.columns if name in files.y.columns]
    else:
        shared = listed_names(variables)
    names = as_names(faults, shared, "variables")
    check_both(faults, files, names, "variable")
    paired = compares_rows(faults, files, rows)
    faults.raise_if_any()
    wx, wy = ones(len(files.x), files.wx), ones(len(files.y), files.wy)
    records = []
    for name in names:
        a, b = files.x[name].isna().to_numpy(), files.y[name].isna().to_numpy()
        share_a, share_b = 100 * wx[a].sum() / wx.sum(), 100 * wy[b].sum() / wy.sum()
        new, filled, percent = -1, -1, share_b - share_a
        if paired:
            new, filled = int((b & ~a).sum()), int((a & ~b).sum())
            percent = 100 * wx[b & ~a].sum() / wx.sum()
        records.append({
            "variable": name, "original": int(a.sum()), "released": int(b.sum()), "new": new,
            "filled": filled, "percent": float(percent), "percent_original": float(share_a),
            "percent_released": float(share_b),
        })  # fmt: skip
    table = pd.DataFrame(records)
    return MissingLoss(table, int(table["new"].sum()) if paired else -1, paired)


@dataclass(frozen=True, slots=True, eq=False)
class Entropy(TableResult):
    """Entropy of categorical variables in both files, in nats.

    Attributes
    ----------
    table : DataFrame
        One row per variable: `variable`, `original`, `released`, `difference` (released less
        original), `relative` (difference in percent of the original), `categories_original`,
        `categories_released`.
    missing : str
    """

    table: pd.DataFrame
    missing: str

    def summary(self) -> str:
        """Return the variable that lost most detail."""
        worst = self.table.iloc[int(np.argmin(self.table["difference"].to_numpy()))]
        return message(
            "Entropy (detail of a variable, 0 when all records are alike): {variable} "
            "changed from {original} to {released}, the largest loss of {n}. Equal entropy "
            "does not mean equal distributions.",
            variable=worst["variable"],
            original=formatted(worst["original"], ".4g"),
            released=formatted(worst["released"], ".4g"),
            n=plural(len(self.table), "variable"),
        )


@same_library
def entropy(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    weights: Any = None,
    released_weights: Any = None,
    missing: str = "level",
) -> Entropy:
    """Compare the entropy of categorical variables.

    Parameters
    ----------
    original, released : tables of n and m records
    variables : sequence of str
        Every distinct value is a category.
    weights, released_weights : str or array, optional
        Weights of each file, shape (n,) and (m,).
    missing : {"level", "drop", "total"}
        A missing value is a category of its own; or is left out; or counts in the total n only, as
        in the book's example (that number is not an entropy of any distribution).

    Returns
    -------
    Entropy

    Raises
    ------
    InputError
        Unknown columns or options, bad weights.

    Notes
    -----
    - sum_c (f_c / n) log(f_c / n), Templ (2017), equation 5.15 (its printed examples have the
      opposite sign).

    Examples
    --------
    >>> x = pd.DataFrame({"a": ["p", "q", "r", "s"]})
    >>> y = pd.DataFrame({"a": ["p", "p", "r", "r"]})
    >>> entropy(x, y, "a").table[["original", "released"]].round(4).values.tolist()
    [[1.3863, 0.6931]]
    """
    faults = Faults("entropy")
    files = read_files(faults, original, released, weights, released_weights)
    names = as_names(faults, variables, "variables")
    check_both(faults, files, names, "variable")
    check_choice(faults, "missing", missing, ("level", "drop", "total"))
    faults.raise_if_any()
    rows = []
    for name in names:
        a, levels_a = _entropy(files.x[name], files.wx, missing)
        b, levels_b = _entropy(files.y[name], files.wy, missing)
        rows.append({
            "variable": name, "original": a, "released": b, "difference": b - a,
            "relative": 100 * (b - a) / a if a > 0 else np.nan,
            "categories_original": levels_a, "categories_released": levels_b,
        })  # fmt: skip
    return Entropy(pd.DataFrame(rows), missing)


def _entropy(column: pd.Series, weights: np.ndarray | None, missing: str) -> tuple[float, int]:
    codes, levels = encode(column)
    w = ones(len(codes), weights)
    counts = np.bincount(codes.astype(np.int64) + 1, weights=w, minlength=len(levels) + 1)
    total = counts[1:].sum() if missing == "drop" else counts.sum()
    used = counts if missing == "level" else counts[1:]
    shares = used[used > 0] / total if total > 0 else np.zeros(0)
    return float(-(shares * np.log(shares)).sum()) + 0.0, len(shares)
