"""Tables of the page of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from riskeval.shared.show import ORIGINAL, shown
from synthpop.microdata.messages.language import gettext, localised
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import BLANK, count, number, yes_or_no
from synthpop.microdata.pages.page_facts import table
from synthpop.microdata.statistics.indicators.results import OVERALL

if TYPE_CHECKING:
    from riskeval.comparison.result import Comparison

Table = dict[str, Any]

MOST_ROWS = 60
MUCH, HALF = 0.9, 0.5
"""Overlaps from which a cell is grey, and below which it is strongly coloured."""
NO_LIMIT = message("no published limit: compare the releases")


def number_table(comparison: Comparison, group: str) -> Table:
    """One row per number of a part, one column per release."""
    releases = [str(name) for name in comparison.table.index]
    measures = comparison.measures[comparison.measures["part"] == group]
    rows = []
    for name in dict.fromkeys(measures["name"]):
        of_name = measures[measures["name"] == name].set_index("release")
        texts = [text_of(of_name, release) for release in releases]
        if set(texts[1:]) <= {BLANK}:
            continue
        rows.append((gettext(of_name.iloc[0]["title"]), _limit(of_name), *texts))
    return table(["Number", "Better", *releases], rows, text_columns=2)


def text_of(of_name: pd.DataFrame, release: str) -> str:
    """A number of a release: with a mark above its limit, grey where it does not apply."""
    if release not in of_name.index:
        return BLANK
    row: Any = of_name.loc[release]
    text = str(row["text"]) if "text" in row.index else shown(row)
    if text == BLANK:
        return text
    if not row["applies"]:
        title = gettext("does not apply")
        return Markup('<span class="grey" title="{}">({})</span>').format(title, text)
    if row["within"] is False:
        return Markup('<span class="limit-mark bad">{}</span>').format(text)
    return text


def _limit(of_name: pd.DataFrame) -> str:
    limited = of_name[of_name["limit"].notna()]
    if limited.empty:
        return gettext("more" if of_name.iloc[0]["better"] == "high" else "less")
    return message("at most {to_numpy}", to_numpy=number(float(limited["limit"].to_numpy()[0])))


def limits_table(comparison: Comparison) -> Table:
    """Each limit with its source; and what has none."""
    limited = comparison.measures[comparison.measures["limit"].notna()]
    rows = [
        (row["title"], message("at most {limit}", limit=number(row["limit"])), row["limit_source"])
        for row in limited.drop_duplicates("name").to_dict("records")
    ]
    rows.append((message("Every other number"), gettext("none"), NO_LIMIT))
    return table(("Number", "Limit", "Source"), rows, text_columns=3)


def overlap_table(comparison: Comparison) -> Table:
    """One row per estimate and domain: the original, and each release with its overlap."""
    known = comparison.overlaps[comparison.overlaps["original"].notna()]
    releases = [str(name) for name in comparison.table.index if name != ORIGINAL]
    rows = []
    by: Any
    for place, estimates in known.groupby(["variable", "indicator", "domain"], sort=False):
        variable, indicator, domain = (str(text) for text in place)
        by = estimates.set_index("release")
        first = estimates.iloc[0]
        cells = [
            f"{number(float(by.loc[name, 'released']))} "
            f"({_overlap(float(by.loc[name, 'overlap']))})"
            if name in by.index
            else "–"
            for name in releases
        ]
        title = message(
            "{indicator} of {variable}", indicator=indicator.replace("_", " "), variable=variable
        )
        where = gettext("all") if domain == OVERALL else domain
        original = (
            f"{number(float(first['original']))} [{number(float(first['lower_original']))}; "
            f"{number(float(first['upper_original']))}]"
        )
        rows.append((title, where, original, *cells))
    return table(["Estimate", "Domain", "Original [interval]", *releases], rows, text_columns=2)


def overlap_cells(comparison: Comparison) -> Table | None:
    """Return overlaps as a table of coloured cells: one row per estimate, one column per release.

    Of more than 60 rows those over all records stay, and the domains with the least overlap.
    """
    known = comparison.overlaps[comparison.overlaps["original"].notna()]
    if not known["overlap"].notna().any():
        return None
    wide = overlap_grid(known)
    rows = [
        {"level": level, "cells": [_overlap_cell(float(value)) for value in values]}
        for level, values in zip(wide.index, wide.to_numpy(dtype=float), strict=True)
    ]
    return {"columns": [str(name) for name in wide.columns], "rows": rows}


def overlap_grid(overlaps: pd.DataFrame) -> pd.DataFrame:
    """Rows: estimate and domain; columns: releases."""
    known = overlaps[overlaps["original"].notna()]
    several = known["variable"].nunique() > 1
    label = known["indicator"].str.replace("_", " ").map(gettext)
    label = label + (f" {gettext('of')} " + known["variable"] if several else "")
    domain = known["domain"].astype(str)
    label = label + ", " + domain.where(domain != OVERALL, gettext("all"))
    frame = known.assign(label=label, over_all=known["domain"] == OVERALL)
    wide = frame.pivot_table(
        index="label", columns="release", values="overlap", sort=False, dropna=False
    )
    wide = wide.reindex(
        index=list(dict.fromkeys(frame["label"])), columns=list(dict.fromkeys(overlaps["release"]))
    )
    if len(wide) > MOST_ROWS:
        over_all = frame.loc[frame["over_all"], "label"].unique()
        worst = wide.drop(index=over_all).min(axis=1).nsmallest(MOST_ROWS - len(over_all)).index
        wide = wide.loc[[name for name in wide.index if name in {*over_all, *worst}]]
    return wide


def _overlap_cell(value: float) -> dict[str, str]:
    text = _overlap(value)
    title = message("overlap {value}", value=text)
    if np.isnan(value):
        title = gettext("no interval in one of the files")
    few = "off-fewer" if value >= HALF else "far-fewer"
    kind = "within" if np.isnan(value) or value >= MUCH else few
    return {"text": text, "kind": kind, "title": title}


def _overlap(value: float) -> str:
    return BLANK if np.isnan(value) else localised(f"{value:.2f}")


def regression_tables(comparison: Comparison) -> list[dict[str, Any]]:
    """One table per model: coefficients of the original and of the releases that share the model.

    A release with coarser levels has a model of its own, to which the original is fitted too.
    """
    tables: list[dict[str, Any]] = []
    for place, coefficients in comparison.regressions.groupby(["formula", "family"], sort=False):
        formula, family = (str(text) for text in place)
        models: dict[str, list[str]] = {}
        for release, rows in coefficients.groupby("release", sort=False):
            model = rows[["term", "original"]].round(9).to_csv(index=False)
            models.setdefault(model, []).append(str(release))
        for releases in models.values():
            title = f"{family.capitalize()}: {formula}"
            if len(models) > 1:
                title += f" ({', '.join(releases)})"
            tables.append({"title": title, **_model(coefficients, releases)})
    return tables


def _model(coefficients: pd.DataFrame, releases: list[str]) -> dict[str, Any]:
    by_release: Any = {
        name: coefficients[coefficients["release"] == name].set_index("term") for name in releases
    }
    first = by_release[releases[0]]
    rows = []
    for term in first.index[first.index != ""]:
        cells = [_coefficient(by_release[name], term) for name in releases]
        rows.append((term, number(float(first.loc[term, "original"])), *cells))
    notes = [f"{name}: {by_release[name]['note'].iloc[0]}." for name in releases
             if by_release[name]["note"].iloc[0]]  # fmt: skip
    return {"table": table(["Coefficient", "Original", *releases], rows), "notes": notes}


def _coefficient(rows: Any, term: str) -> str:
    row: Any = rows.loc[term]
    if np.isnan(float(row["released"])):
        return "–"
    star = "" if bool(row["same_conclusion"]) else " *"
    return f"{number(float(row['released']))} ({_overlap(float(row['overlap']))}){star}"


def files_table(comparison: Comparison, external: bool) -> Table:
    """One row per file: what it is and how its records relate to those of the original."""
    rows = []
    row: Any
    for row in comparison.releases.itertuples():
        linked = gettext("itself") if row.kind == ORIGINAL else yes_or_no(row.linkable)
        parameter = "" if np.isnan(row.parameter) else f" ({row.parameter:g})"
        method = row.family + parameter if row.kind != ORIGINAL else "–"
        notes = () if external else (row.notes or "–",)
        weighted = yes_or_no(row.weighted)
        kind, records = gettext(row.kind), count(row.records)
        rows.append((row.release, kind, method, *notes, records, linked, weighted))
    head = ["File", "Kind", "Method", *([] if external else ["Found"]), "Records",
            message("Linked one to one"), "Weights"]  # fmt: skip
    return table(head, rows, text_columns=3 if external else 4)


def shared_table(comparison: Comparison) -> Table:
    """Variables that a release lacks or has other levels of; the others need no word."""
    shared = comparison.shared
    plain = shared["compared"].astype(bool) & shared["how"].isin(["the same levels", "as numbers"])
    rows = [
        (row.release, row.variable, gettext(str(row.role)), yes_or_no(row.compared), row.how)
        for row in shared[~plain].itertuples()
    ]
    head = ("Release", "Variable", "Role", "Compared", message("How, or why not"))
    return table(head, rows, text_columns=5)


def notes_table(comparison: Comparison) -> Table:
    """Notes, with the numbers that each is about."""
    notes = comparison.notes
    notes = notes[notes["note"] != "by definition"]
    rows = []
    for place, numbers in notes.groupby(["note", notes["value"].isna()], sort=False):
        note, missing = numbers["note"].iloc[0], place[1]
        for names, titles in _alike(numbers):
            files = (
                message("every file") if len(names) == len(comparison.table) else ", ".join(names)
            )
            measured = gettext("not measured" if missing else "measured")
            rows.append((measured, files, note, titles))
    return table(("Numbers", "Files", "Note", "Which"), rows, text_columns=4)


def _alike(numbers: pd.DataFrame) -> list[tuple[list[str], str]]:
    """Releases with the same numbers under a note, in one row."""
    titles = numbers["title"].map(gettext).groupby(numbers["release"], sort=False).agg("; ".join)
    groups: dict[str, list[str]] = {}
    for release, text in titles.items():
        groups.setdefault(str(text), []).append(str(release))
    return [(names, text) for text, names in groups.items()]


def meanings_table(comparison: Comparison) -> Table:
    """What each number means, and its source."""
    measures = comparison.measures.drop_duplicates("measure")
    rows = [
        (comparison.title_of(row["measure"]), row["meaning"], gettext(row["source"]))
        for row in measures.to_dict("records")
    ]
    return table(("Number", "What it means", "Source"), rows, text_columns=3, words=1)


def values_text(comparison: Comparison, name: str, release: str) -> str:
    """The values of a measure of one release, over its targets."""
    texts = [
        text_of(rows.set_index("release"), release)
        for _, rows in comparison.rows_of(name).groupby("name", sort=False)
    ]
    return Markup("; ").join(texts)
