"""Tables of the sections, from the tables of a fit report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from synthpop.evaluation.assess_fit import FitReport
from synthpop.figures.gallery import main_numbers, shown_groups
from synthpop.figures.style import Names
from synthpop.microdata.text import BLANK, change, count, difference, number, percent, points
from synthpop.report.tables import table

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
AMOUNT = 200.0


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
        body = [
            [str(s), *(_with_gap(wide.loc[s, c], gap.loc[s, c]) for c in columns)] for s in order
        ]
        head = ["Stratum", *(f"{c} persons" if c != "1" else "1 person" for c in columns)]
        found["crossed"] = table(head, body)
    return found


def _with_gap(households: float, gap: float) -> str:
    text = difference(gap)
    return count(households) if text in ("0", BLANK) else f"{count(households)} ({text})"


def _counted(rows: pd.DataFrame, column: str, title: str) -> dict[str, Any]:
    body = [
        [str(row[column]), count(row["estimate"]), count(row["population"]),
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
    found = {str(scope): mine.loc[scope].to_dict() for scope in mine.index}
    row: dict[str, Any] = found["all"]
    text = (
        f"{percent(row['value'])} of the persons would have to change category to match the "
        f"survey ({_expected(row)})."
    )
    scope = f"largest over {fit.strata}"
    if scope in found:
        mean, largest = found[f"mean over {fit.strata}"], found[scope]
        text += (
            f" Inside strata it is {percent(mean['value'])} on average and at most "
            f"{percent(largest['value'])} ({largest['where']}; sampling error there "
            f"{percent(largest['expected_sampling_error'])})."
        )
    return text


def pairs(fit: FitReport, names: Names) -> dict[str, Any]:
    """Return the table of all pairs, the farthest for their sampling error first."""
    rows = fit.distances[(fit.distances["crossed"] != "") & (fit.distances["scope"] == "all")]
    ratio = rows["value"] / rows["expected_sampling_error"]
    rows = rows.loc[ratio.sort_values(ascending=False, kind="stable").index]
    body = [
        [f"{names.short(row['variable'])} × {names.short(row['crossed'])}",
         percent(row["value"]), percent(row["expected_simulation_error"]),
         percent(row["expected_sampling_error"])]
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
    row = rows[rows["scope"] == "all"].to_dict("records")[0]
    return (
        f"The share of persons at or below any value differs by at most {percent(row['value'])} "
        f"({_expected(row)})."
    )


def _expected(row: Mapping[Any, Any]) -> str:
    simulation, sampling = (
        percent(row[f"expected_{kind}_error"]) for kind in ("simulation", "sampling")
    )
    return f"simulation error {simulation}, sampling error {sampling}"


def _statistics(fit: FitReport, name: str) -> dict[str, Any]:
    rows = fit.tables["statistics"]
    body = []
    for row in rows[rows["variable"] == name].to_dict("records"):
        title, text = STATISTICS[row["statistic"]]
        share = row["statistic"] in SHARES
        if (share and row["sample"] == row["population"] == 0) or (
            row["statistic"] == "gini" and not _is_amount(fit, name)
        ):
            continue
        gap = f"{points(row['difference'])} points" if share else change(row["relative"])
        body.append([title, text(row["sample"]), text(row["population"]), gap])
    return table(["Statistic", "Survey", "Population", "Difference"], body)


def _is_amount(fit: FitReport, name: str) -> bool:
    """Whether a Gini coefficient says something: for sums of money, not for ages."""
    rows = fit.tables["quantiles"]
    return bool(rows[rows["variable"] == name]["sample"].max() >= AMOUNT)


def _quantiles(fit: FitReport, name: str) -> dict[str, Any]:
    rows = fit.tables["quantiles"]
    body = [
        [percent(row["p"], 0), number(row["sample"]), number(row["population"]),
         change(row["relative"])]
        for row in rows[rows["variable"] == name].to_dict("records")
    ]  # fmt: skip
    return table(["Persons below", "Survey", "Population", "Difference"], body)


def _groups(fit: FitReport, name: str, by: str, names: Names) -> dict[str, Any]:
    rows = fit.tables["groups"]
    mine = rows[(rows["variable"] == name) & (rows["by"] == by) & ~(rows["n_sample"] == 0)]
    body = [
        [str(row["level"]), count(row["n_sample"]), number(row["mean_sample"]),
         number(row["mean_population"]), change(row["relative_mean"]), percent(row["value"]),
         percent(row["expected_sampling_error"])]
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
            [names.title(row["part"]), count(row["sample"]), count(row["population"]),
             change(row["population"] / row["sample"] - 1 if row["sample"] else float("nan")),
             *_part_shares(row, total)]
            for row in mine.to_dict("records")
        ]  # fmt: skip
        head = ["Part", "Total, survey", "Total, population", "Difference", "Share, survey",
                "Share, population", "Points"]  # fmt: skip
        found.append({"name": total, "title": names.title(total), "table": table(head, body)})
    return found


def _part_shares(row: Mapping[Any, Any], total: str) -> list[str]:
    if row["part"] == total:
        return [BLANK] * 3
    q, p = row["sample_share"], row["population_share"]
    return [percent(q), percent(p), points(p - q)]


def distances(fit: FitReport, names: Names) -> dict[str, Any]:
    """Return the distances over all persons, and those inside groups (parts of totals left out)."""
    rows = fit.distances
    overall = rows[
        (rows["crossed"] == "") & (rows["scope"] == "all") | (rows["scope"] == "households")
    ]
    parts = {part for group in fit.components.values() for part in group}
    inside = rows[rows["scope"].str.contains(" over ") & ~rows["variable"].isin(parts)]
    head = ["Variable", "Measure", "Over", "Distance", "Chance", "Sampling error"]
    return {
        key: table(head, [_distance(row, names) for row in some.to_dict("records")], text_columns=3)
        for key, some in (("overall", overall), ("inside", inside))
    }


def _distance(row: Mapping[Any, Any], names: Names) -> list[str]:
    scopes = {"all": "all persons", "households": "households by stratum and size"}
    scope = scopes.get(row["scope"], row["scope"])
    if " over " in scope:
        how, by = scope.split(" over ", 1)
        scope = f"{how} over {names.short(by).lower() if by in names.labels else by}"
    where = f" ({row['where']})" if row["where"] else ""
    return [
        names.short(row["variable"]), row["measure"].upper(), scope + where,
        percent(row["value"]), percent(row["expected_simulation_error"]),
         percent(row["expected_sampling_error"]),
    ]  # fmt: skip
