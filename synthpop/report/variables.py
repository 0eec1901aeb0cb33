"""One row a variable: its type, a small plot of the difference, and all its tables folded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.result import FitReport
from synthpop.figures.names import FigureNames
from synthpop.microdata import charts as svg
from synthpop.microdata.distances import share_errors
from synthpop.microdata.language import gettext, said
from synthpop.microdata.page_facts import Svg, folding_row, table
from synthpop.microdata.text import change, count, number, percent, points, short_percent
from synthpop.report.drawn import shown_groups
from synthpop.report.sections import quantile_table, statistics_table

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
CURVE = (
    "Difference of the distribution functions, in percentage points: population less survey. The "
    "band is two sampling errors of the survey."
)


def variable_rows(fit: FitReport, names: FigureNames) -> list[dict[str, Any]]:
    """Return what the page shows of each variable, the one with the worst comparison first.

    Returns list of dict: one `folding_row` a variable, with a small plot, the sentence and all
        tables.
    """
    parts = {part: total for total, group in fit.components.items() for part in group}
    ranking = fit.ranking
    overall = ranking[ranking["kind"] == "variable"].set_index("variable")
    worst = ranking.groupby("variable")["ratio"].max()
    rows = []
    one_way = {str(n): rows for n, rows in fit.tables["one_way"].groupby("variable", sort=False)}
    for name in sorted(overall.index.unique(), key=lambda n: -worst[n]):
        row = overall.loc[name]
        kind = "category" if row["measure"] == "tvd" else "number"
        coded = row["measure"] == "tvd"
        is_far = float(row["ratio"]) > BEYOND
        facts = (
            _category(fit, name, one_way[name], names)
            if coded
            else _number(fit, name, names, is_far)
        )
        if name in parts:
            kind = said("part of {total}", total=names.short(parts[name]))
        ratio, largest = float(row["ratio"]), float(worst[name])
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
    message = CATEGORY_SENTENCE if row["measure"] == "tvd" else NUMBER_SENTENCE
    text = said(message, value=value, sampling=sampling, simulation=simulation)
    inside = fit.distances[
        (fit.distances["variable"] == name) & (fit.distances["crossed"] == "")
    ].set_index("scope")
    largest = f"largest over {fit.strata}"
    if largest in inside.index:
        at: dict[Any, Any] = inside.loc[[largest]].to_dict("records")[0]
        text += " " + said(
            INSIDE_STRATA,
            value=short_percent(at["value"], 2),
            where=at["where"],
            error=short_percent(at["expected_sampling_error"], 2),
        )
    return text


def _category(fit: FitReport, name: str, rows: pd.DataFrame, names: FigureNames) -> dict[str, Any]:
    q, p = rows["sample"].to_numpy(dtype=float), rows["population"].to_numpy(dtype=float)
    errors = share_errors(q, fit.effective_size)
    gaps = p - q
    reach = float(np.nanmax([*np.abs(gaps), *(2 * errors)])) if np.isfinite(gaps).any() else 0.0
    body = []
    farthest = np.argsort(-np.nan_to_num(np.abs(gaps) / errors), kind="stable")[:MOST_LEVELS]
    for k in np.sort(farthest).tolist():
        level, a, b, gap, error = rows["level"].iloc[k], q[k], p[k], gaps[k], errors[k]
        comparison = (
            f"{level}: {points(gap)} points, twice the sampling error is {points(2 * error)}"
        )
        plot = svg.difference_bar(gap, error, reach, comparison)
        body.append([str(level), percent(a), percent(b), points(gap), Svg(plot)])
    head = ["Category", "Survey", "Population", "Points", "Difference and sampling error"]
    title = (
        said("The {n} levels that differ most", n=MOST_LEVELS) if len(rows) > MOST_LEVELS else ""
    )
    tables = [{"title": title, "table": table(head, body)}]
    if (stratified := _strata(fit, name)) is not None:
        tables.append(
            {
                "title": said("Inside {strata}", strata=names.title(str(fit.strata))),
                "table": stratified,
            }
        )
    text = said(
        "Differences of the shares of {n} categories with their sampling error", n=len(rows)
    )
    places = np.sort(farthest)
    plot = svg.spark_bars(gaps[places].tolist(), errors[places].tolist(), text)
    return {"plot": plot, "charts": [], "tables": tables}


def _strata(fit: FitReport, name: str) -> dict[str, Any] | None:
    rows = fit.tables["tvd_by_stratum"]
    if rows.empty:
        return None
    rows = rows[rows["variable"] == name]
    ratios = (rows["value"] / rows["expected_sampling_error"].replace(0, np.nan)).fillna(0.0)
    if rows.empty:
        return None
    reach = float(ratios.max())
    body = [
        [str(row["level"]), short_percent(row["value"], 2),
         short_percent(row["expected_sampling_error"], 2),
         Svg(svg.ratio_bar(float(ratio), reach, f"{number(ratio, 2)} times the sampling error"))]
        for row, ratio in zip(rows.to_dict("records"), ratios, strict=True)
    ]  # fmt: skip
    return table(["Stratum", "TVD", "Sampling error", "Distance over error"], body)


def _number(fit: FitReport, name: str, names: FigureNames, is_far: bool) -> dict[str, Any]:
    curves = fit.tables["curves"]
    curves = curves.reindex(columns=["variable", "by", "x", "sample", "population"])
    rows = curves[(curves["variable"] == name) & (curves["by"] == "")]
    x, q, p = (rows[column].to_numpy(dtype=float) for column in ("x", "sample", "population"))
    errors = share_errors(q, fit.effective_size)
    text = said(
        "Difference of the distribution functions of {variable}", variable=names.short(name)
    )
    chart = svg.difference_curve(x, p - q, errors, text, names.units.get(name, ""), is_far=is_far)
    tables = [
        {"title": gettext("Statistics"), "table": statistics_table(fit, name)},
        {"title": gettext("Quantiles"), "table": quantile_table(fit, name)},
    ]
    parts = {part for group in fit.components.values() for part in group}
    if name not in parts:
        tables += [
            {
                "title": said("By {group}", group=names.title(by)),
                "table": _groups(fit, name, by, names),
            }
            for by in shown_groups(fit, name)
        ]
    charts = [{"chart": chart, "caption": CURVE}]
    return {
        "plot": svg.spark_curve(x, p - q, errors, text, is_far=is_far),
        "charts": charts,
        "tables": tables,
    }


def _groups(fit: FitReport, name: str, by: str, names: FigureNames) -> dict[str, Any]:
    rows = fit.tables["groups"]
    rows = rows[(rows["variable"] == name) & (rows["by"] == by) & ~(rows["n_sample"] == 0)]
    ratios = (rows["value"] / rows["expected_sampling_error"].replace(0, np.nan)).fillna(0.0)
    ratios = ratios.where(rows["value"].notna())  # nothing is drawn of what is not shown
    reach = float(ratios.max()) if len(rows) else 1.0
    body = [
        [str(row["level"]), count(row["n_sample"]), number(row["mean_sample"]),
         number(row["mean_population"]), change(row["relative_mean"]),
         short_percent(row["value"], 2),
         Svg(svg.ratio_bar(float(ratio), reach, f"{number(ratio, 2)} times the sampling error"))]
        for row, ratio in zip(rows.to_dict("records"), ratios, strict=True)
    ]  # fmt: skip
    head = [names.short(by), "Survey persons", "Mean, survey", "Mean, population", "Difference",
            "KS", "KS over sampling error"]  # fmt: skip
    return table(head, body)
