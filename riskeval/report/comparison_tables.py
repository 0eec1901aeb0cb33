"""Tables of the page of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.comparison.catalogue import CATALOGUE, FILE, LINK, NONE
from riskeval.comparison.result import ORIGINAL, limits_of
from riskeval.comparison.show import shown
from synthpop.microdata.indicators.results import OVERALL
from synthpop.microdata.suppression import SMALLEST_COUNT
from synthpop.microdata.text import number

if TYPE_CHECKING:
    from riskeval.comparison.result import Comparison

Table = dict[str, Any]


def _table(head: tuple[str, ...] | list[str], text_columns: int, rows: list[Any]) -> Table:
    return {"caption": "", "head": head, "text_columns": text_columns, "rows": rows}


def number_table(comparison: Comparison, group: str, external: bool) -> Table:
    """One row a number of a group, one column a release."""
    releases = [str(name) for name in comparison.table.index]
    records = comparison.table["records"]
    measures = comparison.measures[
        [CATALOGUE[name].group == group for name in comparison.measures["measure"]]
    ]
    rows = []
    for name in dict.fromkeys(measures["name"]):
        part = measures[measures["name"] == name].set_index("release")
        if part["value"].drop(ORIGINAL, errors="ignore").isna().all():
            continue
        first = part.iloc[0]
        cells = []
        for release in releases:
            own = group in (FILE, LINK) or first["measure"] in ("identical", "close")
            size = judged(
                comparison, first["measure"], records[release] if own else records[ORIGINAL]
            )
            cells.append(_cell(first["measure"], part, release, size, external))
        rows.append((first["title"], _limit(first), *cells))
    return _table(["Number", "Better", *releases], 2, rows)


def judged(comparison: Comparison, measure: str, size: int) -> int:
    """Records that a share was measured on: a part of a larger file for slow measures."""
    effort = comparison.effort
    most = {
        "record_linkage": effort.linkage,
        "mahalanobis_disclosure": effort.outliers,
        "rapid": effort.prediction,
        "close": effort.screen,
    }
    return min(int(size), most.get(measure, int(size)))


def _cell(measure: str, part: pd.DataFrame, release: str, size: int, external: bool) -> str:
    if release not in part.index:
        return "–"
    row: Any = part.loc[release]
    text = shown(measure, float(row["value"]), size, external)
    return text + (" !" if row["within"] is False or row["within"] == False else "")  # noqa: E712


def _limit(row: Any) -> str:
    if np.isnan(row["limit"]):
        return "more" if row["better"] == "high" else "less"
    return f"at most {shown(row['measure'], float(row['limit']), 0)}"


def limits_table(comparison: Comparison) -> Table:
    """Each limit with its source; and what has none."""
    rows = [
        (CATALOGUE[name].title, f"at most {shown(name, limit, 0)}", source)
        for name, (limit, source) in limits_of(comparison.limits).items()
        if name in set(comparison.measures["measure"])
    ]
    rows.append(("Every other number", "none", NONE))
    return _table(("Number", "Limit", "Source"), 3, rows)


def visible(overlaps: pd.DataFrame, external: bool) -> pd.DataFrame:
    """Estimates that readers may see: for external ones, only domains of 5 records or more."""
    return overlaps[
        overlaps["original"].notna() & ~(external & (overlaps["records"] < SMALLEST_COUNT))
    ]


def overlap_table(comparison: Comparison, external: bool) -> Table:
    """One row an estimate and domain: the original, and each release with its overlap."""
    known = visible(comparison.overlaps, external)
    releases = [str(name) for name in comparison.table.index if name != ORIGINAL]
    rows = []
    by: Any
    for place, part in known.groupby(["variable", "indicator", "domain"], sort=False):
        variable, indicator, domain = (str(text) for text in place)
        by = part.set_index("release")
        first = part.iloc[0]
        cells = [
            f"{number(float(by.loc[name, 'released']))} "
            f"({_overlap(float(by.loc[name, 'overlap']))})"
            if name in by.index
            else "–"
            for name in releases
        ]
        title = f"{indicator.replace('_', ' ')} of {variable}"
        where = "all" if domain == OVERALL else domain
        original = (
            f"{number(float(first['original']))} "
            f"[{number(float(first['lower_original']))}; "
            f"{number(float(first['upper_original']))}]"
        )
        rows.append((title, where, original, *cells))
    return _table(["Estimate", "Domain", "Original [interval]", *releases], 2, rows)


def _overlap(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def regression_tables(comparison: Comparison) -> list[dict[str, Any]]:
    """One table a model: coefficients of the original and of the releases that share the model.

    A release with coarser levels has a model of its own, to which the original is fitted too.
    """
    found: list[dict[str, Any]] = []
    for place, part in comparison.regressions.groupby(["formula", "family"], sort=False):
        formula, family = (str(text) for text in place)
        models: dict[str, list[str]] = {}
        for release, rows in part.groupby("release", sort=False):
            model = rows[["term", "original"]].round(9).to_csv(index=False)
            models.setdefault(model, []).append(str(release))
        for releases in models.values():
            title = f"{family.capitalize()}: {formula}"
            if len(models) > 1:
                title += f" ({', '.join(releases)})"
            found.append({"title": title, **_model(part, releases)})
    return found


def _model(part: pd.DataFrame, releases: list[str]) -> dict[str, Any]:
    mine: Any = {name: part[part["release"] == name].set_index("term") for name in releases}
    first = mine[releases[0]]
    rows = []
    for term in first.index[first.index != ""]:
        cells = [_coefficient(mine[name], term) for name in releases]
        rows.append((term, number(float(first.loc[term, "original"])), *cells))
    notes = [f"{name}: {mine[name]['note'].iloc[0]}." for name in releases
             if mine[name]["note"].iloc[0]]  # fmt: skip
    return {"table": _table(["Coefficient", "Original", *releases], 1, rows), "notes": notes}


def _coefficient(rows: Any, term: str) -> str:
    row: Any = rows.loc[term]
    if np.isnan(float(row["released"])):
        return "–"
    star = "" if bool(row["same_conclusion"]) else " *"
    return f"{number(float(row['released']))} ({_overlap(float(row['overlap']))}){star}"


def files_table(comparison: Comparison, external: bool) -> Table:
    """One row a file: what it is and how its records relate to those of the original."""
    rows = []
    row: Any
    for row in comparison.releases.itertuples():
        linked = "itself" if row.kind == ORIGINAL else ("yes" if row.linkable else "no")
        parameter = "" if np.isnan(row.parameter) else f" ({row.parameter:g})"
        method = row.family + parameter if row.kind != ORIGINAL else "–"
        notes = () if external else (row.notes or "–",)
        weighted = "yes" if row.weighted else "no"
        rows.append((row.release, row.kind, method, *notes, f"{row.records:,}", linked, weighted))
    head = ["File", "Kind", "Method", *([] if external else ["Found"]), "Records",
            "Linked one to one", "Weights"]  # fmt: skip
    return _table(head, 3 if external else 4, rows)


def shared_table(comparison: Comparison) -> Table:
    """Variables that a release lacks or has other levels of; the others need no word."""
    shared = comparison.shared
    plain = shared["compared"].astype(bool) & shared["how"].isin(["the same levels", "as numbers"])
    rows = [
        (row.release, row.variable, row.role, "yes" if row.compared else "no", row.how)
        for row in shared[~plain].itertuples()
    ]
    return _table(("Release", "Variable", "Role", "Compared", "How, or why not"), 5, rows)


def notes_table(comparison: Comparison) -> Table:
    """Notes, with the numbers that each is about."""
    notes = comparison.notes
    notes = notes[notes["note"] != "by definition"]
    rows = []
    for place, part in notes.groupby(["note", notes["value"].isna()], sort=False):
        note, missing = place
        for names, titles in _alike(part):
            whose = "every file" if len(names) == len(comparison.table) else ", ".join(names)
            rows.append(("missing" if missing else "measured", whose, note, titles))
    return _table(("Numbers", "Files", "Note", "Which"), 4, rows)


def _alike(part: pd.DataFrame) -> list[tuple[list[str], str]]:
    """Releases with the same numbers under a note, in one row."""
    titles = part.groupby("release", sort=False)["title"].agg(lambda it: "; ".join(it))
    found: dict[str, list[str]] = {}
    for release, text in titles.items():
        found.setdefault(str(text), []).append(str(release))
    return [(names, text) for text, names in found.items()]


def meanings_table(comparison: Comparison) -> Table:
    """What each number means, and its source."""
    used = set(comparison.measures["measure"])
    rows = [
        (kind.title, kind.meaning, kind.source) for name, kind in CATALOGUE.items() if name in used
    ]
    return _table(("Number", "What it means", "Source"), 3, rows)
