"""Tables of the sections, from the tables of a fit report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from synthpop.evaluation.result import FitReport
from synthpop.evaluation.sentences import comparison_title
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.language import gettext, ngettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import (
    BLANK,
    change,
    count,
    difference,
    number,
    percent,
    points,
    short_percent,
)
from synthpop.microdata.pages import charts as svg
from synthpop.microdata.pages.page_facts import Svg, table

STATISTICS = {
    "mean": ("Mean", number),
    "sd": (message("Standard deviation"), number),
    "gini": (message("Gini coefficient"), number),
    "zero": (message("Share of zeros"), percent),
    "negative": (message("Share below zero"), percent),
    "missing": (message("Share missing"), percent),
    "smallest": ("Smallest", number),
    "largest": ("Largest", number),
}
SHARES = {"zero", "negative", "missing"}
AMOUNT = 200.0


def ratio_cell(ratio: float, reach: float, error: str = message("sampling error")) -> Svg:
    """Return the bar of a distance over its error."""
    return Svg(
        svg.ratio_bar(
            float(ratio),
            reach,
            message("{ratio} times the {error}", ratio=number(ratio, 2), error=message(error)),
        )
    )


def households(fit: FitReport) -> dict[str, Any]:
    """Return tables of households by size, by stratum, and crossed."""
    tables: dict[str, Any] = {}
    for key, column, title in (
        ("households_by_size", "size", "Size"),
        ("households_by_stratum", "stratum", "Stratum"),
    ):
        rows = fit.tables[key]
        if len(rows) and (column == "size" or fit.strata is not None):
            tables[column] = _counted(rows, column, title)
    sizes = fit.tables["sizes"]
    if len(sizes) and fit.strata is not None:
        households = sizes.pivot(index="stratum", columns="size", values="population")
        gap = households - sizes.pivot(index="stratum", columns="size", values="estimate")
        columns = list(fit.tables["households_by_size"]["size"])
        body = [
            [str(s), *(_with_gap(households.loc[s, c], gap.loc[s, c]) for c in columns)]
            for s in dict.fromkeys(sizes["stratum"])
        ]
        heads = [f"{c} {ngettext('person', 'persons', 1 if c == '1' else 2)}" for c in columns]
        tables["crossed"] = table(["Stratum", *heads], body)
    return tables


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


def statistics_table(fit: FitReport, name: str) -> dict[str, Any]:
    """Return mean, spread, zeros and extremes of a number."""
    rows = fit.tables["statistics"]
    body = []
    for row in rows[rows["variable"] == name].to_dict("records"):
        title, text = STATISTICS[row["statistic"]]
        share = row["statistic"] in SHARES
        if (share and row["sample"] == row["population"] == 0) or (
            row["statistic"] == "gini" and not _is_amount(fit, name)
        ):
            continue
        gap = (
            message("{n} points", n=points(row["difference"])) if share else change(row["relative"])
        )
        body.append([gettext(title), text(row["sample"]), text(row["population"]), gap])
    return table(["Statistic", "Survey", "Population", "Difference"], body)


def _is_amount(fit: FitReport, name: str) -> bool:
    """Whether a Gini coefficient says something: for sums of money, not for ages."""
    rows = fit.tables["quantiles"]
    return bool(rows[rows["variable"] == name]["sample"].max() >= AMOUNT)


def quantile_table(fit: FitReport, name: str) -> dict[str, Any]:
    """Return quantiles of a number."""
    rows = fit.tables["quantiles"]
    body = [
        [percent(row["p"], 0), number(row["sample"]), number(row["population"]),
         change(row["relative"])]
        for row in rows[rows["variable"] == name].to_dict("records")
    ]  # fmt: skip
    return table(["Persons below", "Survey", "Population", "Difference"], body)


def components(fit: FitReport, names: FigureNames) -> list[dict[str, Any]]:
    """Return for each total the table of its parts."""
    head = [
        "Part",
        message("Total, survey"),
        message("Total, population"),
        "Difference",
        message("Share, survey"),
        message("Share, population"),
        "Points",
    ]
    totals = []
    rows = fit.tables["components"]
    for total in fit.components:
        body = [
            [names.title(row["part"]), count(row["sample"]), count(row["population"]),
             change(row["population"] / row["sample"] - 1 if row["sample"] else float("nan")),
             *_part_shares(row, total)]
            for row in rows[rows["total"] == total].to_dict("records")
        ]  # fmt: skip
        title, sentence = names.title(total), _sum_sentence(fit, total)
        totals.append(
            {"name": total, "title": title, "sentence": sentence, "table": table(head, body)}
        )
    return totals


def _sum_sentence(fit: FitReport, total: str) -> str:
    sums = fit.tables["sums"]
    off = float(sums.loc[sums["total"] == total, "population_share_off"].iloc[0])
    if off > 0:
        text = message("The parts do not add up for {share} of the persons.")
        return message(text, share=short_percent(off, 2))
    return gettext("The parts of every person add up to the total.")


def _part_shares(row: Mapping[Any, Any], total: str) -> list[str]:
    if row["part"] == total:
        return [BLANK] * 3
    q, p = row["sample_share"], row["population_share"]
    return [percent(q), percent(p), points(p - q)]


def comparisons(fit: FitReport, names: FigureNames) -> dict[str, Any]:
    """Return all comparisons of persons but two-way tables, the farthest for its error first."""
    ranking = fit.ranking
    rows = ranking[ranking["kind"].isin(["variable", "by group", "conditional", "households"])]
    body = [
        [comparison_title(row, names.short), row["measure"].upper(),
         short_percent(row["value"], 2), short_percent(row["expected_simulation_error"], 2),
         short_percent(row["expected_sampling_error"], 2), number(row["ratio"], 2)]
        for row in rows.to_dict("records")
    ]  # fmt: skip
    head = [
        "Comparison",
        "Measure",
        "Distance",
        message("Simulation error"),
        message("Sampling error"),
        message("Over error"),
    ]
    return table(head, body, text_columns=2)
