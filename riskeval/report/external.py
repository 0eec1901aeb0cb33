"""What of a comparison external readers may see: everything that a page shows passes here first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.shared.show import shown
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.suppression import rounded_count
from synthpop.microdata.messages.text import BLANK

if TYPE_CHECKING:
    from riskeval.comparison.result import Comparison

ESTIMATES = (
    "original", "released", "lower_original", "upper_original", "lower_released", "upper_released",
)  # fmt: skip
COUNTED = ("share", "probability", "persons")


def external_view(comparison: Comparison) -> Comparison:
    """Return a comparison that holds nothing but numbers that passed the disclosure check.

    1. Of numbers of single records is left whether they meet their limits. Notes are gone, which
       may quote counts and values.
    2. Risks are rounded as multiples of five records; what stands for 1 to 4 is missing, with its
       text ("< 1 %") in the column `text`. Figures are drawn from the rounded values.
    3. Utility of a release that changed a variable in fewer than ten records, or by one dominant
       change, is missing: its difference to the original tells that value.
    4. Estimates rest on at least five values of which none dominates, in domains that cannot be
       computed as the rest of others, and are rounded to three digits.
    5. Coefficients of regressions are left out: a dummy of few records is their value.
    """
    measures = comparison.measures
    few = comparison.releases.set_index("release")["few_changes"] != ""
    hidden = (measures["group"] == "utility") & measures["release"].map(few).fillna(False)
    single = measures["single"].astype(bool)
    measures = measures.assign(
        value=measures["value"].where(~hidden & ~single),
        text=pd.Series(
            [shown(row, external=True) for row in measures.itertuples()], measures.index, object
        ),
        lower=np.nan,
        upper=np.nan,
        baseline=np.nan,
        note="",
    )
    measures["text"] = measures["text"].where(~hidden, gettext("not shown"))
    measures["value"] = [_rounded(row) for row in measures.itertuples()]
    measures["text"] = measures["text"].where(~single, BLANK)
    wide = measures.pivot(index="release", columns="name", values="value")
    names = [name for name in comparison.table if name in set(measures.loc[~single, "name"])]
    table = comparison.table.drop(columns=[c for c in comparison.table if c not in HEAD])
    table = table.join(wide.reindex(index=table.index, columns=names))
    return replace(
        comparison,
        table=table,
        measures=measures,
        overlaps=_safe_estimates(comparison.overlaps, few),
        regressions=comparison.regressions.iloc[:0],
        shared=comparison.shared.assign(how=comparison.shared["compared"].map(COMPARED)),
        releases=comparison.releases.assign(notes=""),
    )


HEAD = ("kind", "family", "parameter", "records", "linkable")
COMPARED = {True: "the same levels", False: "not compared"}


def _rounded(row: Any) -> float:
    value = float(row.value)
    if row.group != "risk" or row.unit not in COUNTED:
        return value
    n = 1.0 if row.unit == "persons" else float(row.records)
    return rounded_count(value * n) / n if n and value == value else float("nan")


def _safe_estimates(overlaps: pd.DataFrame, few: pd.Series) -> pd.DataFrame:
    """Estimates that are safe in the original and in every release."""
    if overlaps.empty:
        return overlaps
    place = ["variable", "indicator", "domain"]
    safe = overlaps["safe"].fillna(False).astype(bool)
    all_safe = safe.groupby([overlaps[name] for name in place], dropna=False).transform("all")
    shown_ones = overlaps[all_safe & safe].assign(note="")
    released = shown_ones["release"].map(few).fillna(False).astype(bool)
    shown_ones = shown_ones.assign(
        **{name: [float(f"{float(x):.3g}") for x in shown_ones[name]] for name in ESTIMATES},
        overlap=shown_ones["overlap"].astype(float).round(2),
    )
    return shown_ones[~released].reset_index(drop=True)
