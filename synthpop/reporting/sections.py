"""Tables of the sections, from the tables of a fit report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from synthpop.assess import FitReport
from synthpop.figures.gallery import main_numbers, shown_groups
from synthpop.figures.style import Names
from synthpop.reporting.wording import change, number, percent, points, table, whole

STATISTICS = {
    "mean": ("Mean", number),
    "sd": ("Standard deviation", number),
    "gini": ("Gini coefficient", number),
    "zero": ("Share of zeros", percent),
    "negative": ("Share below zero", percent),
    "missing": ("Share missing", percent),
    "smallest": ("Smallest", number),
    "largest": ("Largest", number),
}
SHARES = {"zero", "negative", "missing"}


def households(fit: FitReport) -> dict[str, Any]:
    """Return tables of households by size, by stratum, and crossed."""
    found: dict[str, Any] = {}
    for key, column, title in (
        ("households_by_size", "size", "Size"),
        ("households_by_stratum", "stratum", "Stratum"),
    ):
        rows = fit.tables[key]
        if len(rows) and (column == "size" or fit.strata is not None):
            found[column] = _counted(rows, column, title)
    sizes = fit.tables["sizes"]
    if len(sizes) and fit.strata is not None:
        wide = sizes.pivot(index="stratum", columns="size", values="population")
        gap = (sizes.assign(gap=sizes["population"] - sizes["estimate"])
               .pivot(index="stratum", columns="size", values="gap"))  # fmt: skip
        columns = list(fit.tables["households_by_size"]["size"])
        order = list(dict.fromkeys(sizes["stratum"]))
        rows = [
            [str(s), *(_with_gap(wide.loc[s, c], gap.loc[s, c]) for c in columns)] for s in order
        ]
        head = ["Stratum", *(f"{c} persons" if c != "1" else "1 person" for c in columns)]
        found["crossed"] = table(head, rows)
    return found


def _with_gap(count: float, gap: float) -> str:
    if pd.isna(count):
        return "–"
    shown = f"{gap:+,.0f}".replace("-", "−")
    return f"{whole(count)} ({shown})" if shown not in ("+0", "−0") else whole(count)


def _counted(rows: pd.DataFrame, column: str, title: str) -> dict[str, Any]:
    body = [
        [str(row[column]), whole(row["estimate"]), whole(row["population"]),
         change(row["population"] / row["estimate"] - 1 if row["estimate"] else float("nan"), 2)]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    return table([title, "Survey, estimated", "Population", "Difference"], body)


def categories(fit: FitReport, names: Names) -> list[dict[str, Any]]:
    """Return for each categorical variable its table and a sentence on its distances."""
    found = []
    for name, rows in fit.tables["one_way"].groupby("variable", sort=False):
        body = [
            [str(row["level"]), percent(row["sample"]), percent(row["population"]),
             points(row["population"] - row["sample"])]
            for row in rows.to_dict("records")
        ]  # fmt: skip
        found.append(
            {
                "name": str(name),
                "title": names.title(str(name)),
                "sentence": _distance_sentence(fit, str(name)),
                "table": table(["Category", "Survey", "Population", "Points"], body),
            }
        )
    return found


def _distance_sentence(fit: FitReport, name: str) -> str:
    mine = fit.distances[
        (fit.distances["measure"] == "tvd")
        & (fit.distances["variable"] == name)
        & (fit.distances["crossed"] == "")
    ].set_index("scope")
    row = mine.loc["all"]
    text = (
        f"{percent(row['value'])} of the persons would have to change category to match the "
        f"survey (chance {percent(row['floor'])}, sampling error {percent(row['noise'])})."
    )
    scope = f"largest over {fit.strata}"
    if scope in mine.index:
        mean, largest = mine.loc[f"mean over {fit.strata}"], mine.loc[scope]
        text += (
            f" Inside strata it is {percent(mean['value'])} on average and at most "
            f"{percent(largest['value'])} ({largest['where']}; sampling error there "
            f"{percent(largest['noise'])})."
        )
    return text


def pairs(fit: FitReport, names: Names) -> dict[str, Any]:
    """Return the table of all pairs, the farthest for their sampling error first."""
    rows = fit.distances[(fit.distances["crossed"] != "") & (fit.distances["scope"] == "all")]
    ratio = rows["value"] / rows["noise"]
    rows = rows.loc[ratio.sort_values(ascending=False, kind="stable").index]
    body = [
        [f"{names.short(row['variable'])} × {names.short(row['crossed'])}",
         percent(row["value"]), percent(row["floor"]), percent(row["noise"])]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    return table(["Two-way table", "TVD", "Chance", "Sampling error"], body)


def numbers(fit: FitReport, names: Names) -> list[dict[str, Any]]:
    """Return for each number its statistics, quantiles and groups."""
    found = []
    for name in main_numbers(fit):
        found.append(
            {
                "name": name,
                "title": names.title(name),
                "unit": names.units.get(name, ""),
                "sentence": _curve_sentence(fit, name),
                "statistics": _statistics(fit, name),
                "quantiles": _quantiles(fit, name),
                "groups": [_groups(fit, name, by, names) for by in shown_groups(fit, name)],
                "by": shown_groups(fit, name),
            }
        )
    return found


def _curve_sentence(fit: FitReport, name: str) -> str:
    rows = fit.distances[(fit.distances["measure"] == "ks") & (fit.distances["variable"] == name)]
    row = rows.set_index("scope").loc["all"]
    return (
        f"The share of persons at or below any value differs by at most {percent(row['value'])} "
        f"(chance {percent(row['floor'])}, sampling error {percent(row['noise'])})."
    )


def _statistics(fit: FitReport, name: str) -> dict[str, Any]:
    rows = fit.tables["statistics"]
    body = []
    for row in rows[rows["variable"] == name].to_dict("records"):
        title, text = STATISTICS[row["statistic"]]
        share = row["statistic"] in SHARES
        gap = f"{points(row['difference'])} points" if share else change(row["relative"])
        body.append([title, text(row["sample"]), text(row["population"]), gap])
    return table(["Statistic", "Survey", "Population", "Difference"], body)


def _quantiles(fit: FitReport, name: str) -> dict[str, Any]:
    rows = fit.tables["quantiles"]
    body = [
        [f"{row['p'] * 100:.0f} %", number(row["sample"]), number(row["population"]),
         change(row["relative"])]
        for row in rows[rows["variable"] == name].to_dict("records")
    ]  # fmt: skip
    return table(["Persons below", "Survey", "Population", "Difference"], body)


def _groups(fit: FitReport, name: str, by: str, names: Names) -> dict[str, Any]:
    rows = fit.tables["groups"]
    mine = rows[(rows["variable"] == name) & (rows["by"] == by) & ~(rows["n_sample"] == 0)]
    body = [
        [str(row["level"]), whole(row["n_sample"]), number(row["mean_sample"]),
         number(row["mean_population"]), change(row["relative_mean"]), percent(row["value"]),
         percent(row["noise"])]
        for row in mine.to_dict("records")
    ]  # fmt: skip
    head = [names.short(by), "Survey persons", "Mean, survey", "Mean, population", "Difference",
            "KS", "Sampling error"]  # fmt: skip
    return table(head, body)


def components(fit: FitReport, names: Names) -> list[dict[str, Any]]:
    """Return for each total the table of its parts."""
    found = []
    rows = fit.tables["components"]
    for total in fit.components:
        mine = rows[rows["total"] == total]
        body = [
            [names.title(row["part"]), whole(row["sample"]), whole(row["population"]),
             change(row["population"] / row["sample"] - 1 if row["sample"] else float("nan")),
             percent(row["sample_share"]), percent(row["population_share"]),
             points(row["population_share"] - row["sample_share"])]
            for row in mine.to_dict("records")
        ]  # fmt: skip
        head = ["Part", "Total, survey", "Total, population", "Difference", "Share, survey",
                "Share, population", "Points"]  # fmt: skip
        found.append({"name": total, "title": names.title(total), "table": table(head, body)})
    return found


def distances(fit: FitReport, names: Names) -> dict[str, Any]:
    """Return all distances but those of pairs."""
    rows = fit.distances[(fit.distances["crossed"] == "") | (fit.distances["scope"] != "all")]
    body = []
    for row in rows.to_dict("records"):
        scope = {"all": "all persons", "households": "households by stratum and size"}.get(
            row["scope"], row["scope"]
        )
        where = f" ({row['where']})" if row["where"] else ""
        body.append(
            [names.short(row["variable"]), row["measure"].upper(), scope + where,
             percent(row["value"]), percent(row["floor"]), percent(row["noise"])]
        )  # fmt: skip
    head = ["Variable", "Measure", "Over", "Distance", "Chance", "Sampling error"]
    return table(head, body, text_columns=3)
