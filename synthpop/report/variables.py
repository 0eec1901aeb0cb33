"""One row per variable: its type, a small plot of the difference, and all its tables folded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.result import FitReport
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import change, count, number, percent, points, short_percent
from synthpop.microdata.pages import charts as svg
from synthpop.microdata.pages.page_facts import Svg, folding_row, table
from synthpop.microdata.statistics.distances import share_errors
from synthpop.report.drawn import main_numbers, shown_groups
from synthpop.report.sections import quantile_table, ratio_cell, statistics_table

MOST_LEVELS = 60
BEYOND = 2.0
CATEGORY_SENTENCE = (
    "{value} of the persons would have to change category to match the survey (sampling error "
    "{sampling}, simulation error {simulation})."
)
NUMBER_SENTENCE = (
    "The shares of persons up to any value differ by at most {value} (sampling error {sampling}, "
    "simulation error {simulation})."
)
INSIDE_STRATA = "Inside strata: at most {value} ({where}; sampling error there {error})."
CURVE = message(
    "Difference of the distribution functions, in percentage points: population less survey. The "
    "band is two sampling errors of the survey."
)


def variable_rows(fit: FitReport, names: FigureNames) -> list[dict[str, Any]]:
    """Return a `folding_row` of each variable, the one with the worst comparison first."""
    parts = {part: total for total, group in fit.components.items() for part in group}
    ranking = fit.ranking
    overall = ranking[ranking["kind"] == "variable"].set_index("variable")
    worst = ranking.groupby("variable")["ratio"].max()
    rows = []
    one_way = {str(n): rows for n, rows in fit.tables["one_way"].groupby("variable", sort=False)}
    for name in sorted(overall.index.unique(), key=lambda n: -worst[n]):
        row = overall.loc[name]
        ratio, largest = float(row["ratio"]), float(worst[name])
        if row["measure"] == "tvd":
            kind, facts = "category", _category(fit, name, one_way[name], names)
        else:
            kind, facts = "number", _number(fit, name, names, ratio > BEYOND)
        if name in parts:
            kind = message("part of {total}", total=names.short(parts[name]))
        distance = f"{short_percent(row['value'], 2)} {row['measure'].upper()}"
        rows.append(
            folding_row(
                name,
                names.title(name),
                kind,
                facts["plot"],
                [distance, number(ratio, 2), number(largest, 2)],
                {"worst": largest, "ratio": ratio},
                flagged=largest > BEYOND,
                sentences=[_sentence(fit, name, row)],
                charts=facts["charts"],
                tables=facts["tables"],
            )
        )
    return rows


def _sentence(fit: FitReport, name: str, row: Any) -> str:
    sampling = short_percent(row["expected_sampling_error"], 2)
    simulation = short_percent(row["expected_simulation_error"], 2)
    value = short_percent(row["value"], 2)
    sentence = CATEGORY_SENTENCE if row["measure"] == "tvd" else NUMBER_SENTENCE
    text = message(sentence, value=value, sampling=sampling, simulation=simulation)
    inside = fit.distances[
        fit.distances["scope"] == message("largest over {strata}", strata=fit.strata)
    ]
    inside = inside[(inside["variable"] == name) & (inside["crossed"] == "")]
    if len(inside):
        at = inside.iloc[0]
        value, error = (short_percent(at[key], 2) for key in ("value", "expected_sampling_error"))
        text += " " + message(INSIDE_STRATA, value=value, where=at["where"], error=error)
    return text


def _category(fit: FitReport, name: str, rows: pd.DataFrame, names: FigureNames) -> dict[str, Any]:
    q, p = rows["sample"].to_numpy(dtype=float), rows["population"].to_numpy(dtype=float)
    errors = share_errors(q, fit.effective_size)
    gaps = p - q
    reach = float(np.nanmax([*np.abs(gaps), *(2 * errors)])) if np.isfinite(gaps).any() else 0.0
    farthest = np.argsort(-np.nan_to_num(np.abs(gaps) / errors), kind="stable")[:MOST_LEVELS]
    places = np.sort(farthest).tolist()
    body = []
    for k in places:
        level, gap, error = str(rows["level"].iloc[k]), gaps[k], errors[k]
        text = message(
            "{level}: {p} points, twice the sampling error is {q}",
            level=level,
            p=points(gap),
            q=points(2 * error),
        )
        bar = svg.difference_bar(gap, error, reach, text)
        body.append([level, percent(q[k]), percent(p[k]), points(gap), Svg(bar)])
    head = ["Category", "Survey", "Population", "Points", message("Difference and sampling error")]
    few = len(rows) <= MOST_LEVELS
    title = "" if few else message("The {n} levels that differ most", n=MOST_LEVELS)
    tables = [{"title": title, "table": table(head, body)}]
    if (stratified := _strata(fit, name)) is not None:
        title = message("Inside {strata}", strata=names.title(str(fit.strata)))
        tables.append({"title": title, "table": stratified})
    text = message("Differences of the shares of {n} categories with their sampling error")
    plot = svg.spark_bars(
        gaps[places].tolist(), errors[places].tolist(), message(text, n=len(rows))
    )
    return {"plot": plot, "charts": [], "tables": tables}


def _strata(fit: FitReport, name: str) -> dict[str, Any] | None:
    rows = fit.tables["tvd_by_stratum"]
    if rows.empty:
        return None
    rows = rows[rows["variable"] == name]
    if rows.empty:
        return None
    ratios = _over_error(rows)
    reach = float(ratios.max())
    body = [
        [str(row["level"]), short_percent(row["value"], 2),
         short_percent(row["expected_sampling_error"], 2),
         ratio_cell(ratio, reach)]
        for row, ratio in zip(rows.to_dict("records"), ratios, strict=True)
    ]  # fmt: skip
    return table(["Stratum", "TVD", "Sampling error", "Distance over error"], body)


def _over_error(rows: pd.DataFrame) -> pd.Series:
    """Return distances over their sampling error; 0 where there is none."""
    return (rows["value"] / rows["expected_sampling_error"].replace(0, np.nan)).fillna(0.0)


def _number(fit: FitReport, name: str, names: FigureNames, is_far: bool) -> dict[str, Any]:
    curves = fit.tables["curves"]
    curves = curves.reindex(columns=["variable", "by", "x", "sample", "population"])
    rows = curves[(curves["variable"] == name) & (curves["by"] == "")]
    x, q, p = (rows[column].to_numpy(dtype=float) for column in ("x", "sample", "population"))
    errors = share_errors(q, fit.effective_size)
    text = message("Difference of the distribution functions of {variable}")
    text = message(text, variable=names.short(name))
    chart = svg.difference_curve(x, p - q, errors, text, names.units.get(name, ""), is_far=is_far)
    tables = [
        {"title": gettext("Statistics"), "table": statistics_table(fit, name)},
        {"title": gettext("Quantiles"), "table": quantile_table(fit, name)},
    ]
    if name in main_numbers(fit):
        for by in shown_groups(fit, name):
            title = message("By {group}", group=names.title(by))
            tables.append({"title": title, "table": _groups(fit, name, by, names)})
    plot = svg.spark_curve(x, p - q, errors, text, is_far=is_far)
    return {"plot": plot, "charts": [{"chart": chart, "caption": CURVE}], "tables": tables}


def _groups(fit: FitReport, name: str, by: str, names: FigureNames) -> dict[str, Any]:
    rows = fit.tables["groups"]
    rows = rows[(rows["variable"] == name) & (rows["by"] == by) & ~(rows["n_sample"] == 0)]
    ratios = _over_error(rows).where(rows["value"].notna())  # only what is shown is drawn
    reach = float(ratios.max()) if len(rows) else 1.0
    body = [
        [str(row["level"]), count(row["n_sample"]), number(row["mean_sample"]),
         number(row["mean_population"]), change(row["relative_mean"]),
         short_percent(row["value"], 2),
         ratio_cell(ratio, reach)]
        for row, ratio in zip(rows.to_dict("records"), ratios, strict=True)
    ]  # fmt: skip
    head = [
        names.short(by),
        message("Survey persons"),
        message("Mean, survey"),
        message("Mean, population"),
        "Difference",
        "KS",
        message("KS over sampling error"),
    ]
    return table(head, body)
