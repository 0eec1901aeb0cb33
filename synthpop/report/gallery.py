"""All pictures of a fit report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from synthpop.figures.bars import household_sizes, part_totals, share_bars
from synthpop.figures.boxes import boxes
from synthpop.figures.curves import curve, curves_by_group, curves_of_parts
from synthpop.figures.distance_dots import distance_dots
from synthpop.figures.mosaic import mosaic
from synthpop.figures.names import FigureNames
from synthpop.figures.strata_dots import strata_dots
from synthpop.figures.style import put_title
from synthpop.microdata.messages.pictures import Gallery
from synthpop.report.drawn import main_numbers, overall_distances, shown_groups, shown_pairs

if TYPE_CHECKING:
    from synthpop.evaluation.result import FitReport


def draw_all(
    fit: FitReport,
    *,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> dict[str, Figure]:
    """Draw every picture of the report.

    labels, units: variable -> what it is called, and its unit
    Returns dict of Figure: ``distances``, ``sizes``, ``shares <variable>``, ``strata <variable>``,
        ``mosaic <a> x <b>``, ``curve <variable>``, ``curve <variable> by <group>``, ``boxes
        <variable> by <group>``, ``totals <total>``, ``curves <total>``.
    """
    names = FigureNames(labels or {}, units or {})
    pictures: dict[str, Figure] = {}
    overall = overall_distances(fit)
    if len(overall):
        pictures["distances"] = distance_dots(overall, names)
    if len(fit.tables["sizes"]):
        pictures["sizes"] = household_sizes(
            fit.tables["households_by_size"], fit.tables["households_by_stratum"], fit.strata, names
        )
    for name, shares in _by(fit.tables["one_way"], "variable"):
        pictures[f"shares {name}"] = share_bars(shares, names)
    for name, shares in _by(fit.tables["by_stratum"], "b"):
        pictures[f"strata {name}"] = strata_dots(shares, names)
    two_way = fit.tables["two_way"]
    for a, b in shown_pairs(fit):
        cells = two_way[(two_way["a"] == a) & (two_way["b"] == b)]
        pictures[f"mosaic {a} x {b}"] = mosaic(cells, names, fit.effective_size)
    pictures |= _number_pictures(fit, names)
    for total, parts in fit.components.items():
        table = fit.tables["components"]
        parts_of_total = table[(table["total"] == total) & (table["part"] != total)]
        pictures[f"totals {total}"] = part_totals(parts_of_total, names)
        curves = fit.tables["curves"]
        curves = curves[(curves["by"] == "") & curves["variable"].isin(parts)]
        if len(curves):
            pictures[f"curves {total}"] = curves_of_parts(curves, names)
    return pictures


def distances_picture(fit: FitReport) -> Figure | None:
    """Draw the distances of single variables; None where there are none."""
    overall = overall_distances(fit)
    return distance_dots(overall, FigureNames()) if len(overall) else None


def titled_pictures(fit: FitReport) -> Gallery:
    """Draw every picture, each with its title."""
    return Gallery(with_titles(draw_all(fit), FigureNames()))


def with_titles(pictures: Mapping[str, Figure], names: FigureNames) -> dict[str, Figure]:
    """Write above each picture what it shows, for print; pages have titles of their own."""
    for key, figure in pictures.items():
        put_title(figure, title_of(key, names))
    return dict(pictures)


def title_of(key: str, names: FigureNames) -> str:
    """Return the title of a picture of `draw_all`."""
    if key in WHOLE_TITLES:
        return WHOLE_TITLES[key]
    kind, subject = key.split(" ", 1)
    for link in (" by ", " x "):
        if link in subject and kind in ("boxes", "curve", "mosaic"):
            first, second = subject.split(link, 1)
            subject = f"{names.title(first)} by {names.title(second)}"
            break
    else:
        subject = names.title(subject)
    return TITLES[kind].format(subject)


WHOLE_TITLES = {
    "distances": "Distances between survey and population, all persons",
    "sizes": "Households by size and by stratum",
}
TITLES = {
    "shares": "{}: shares of persons",
    "strata": "{}: shares inside each stratum",
    "mosaic": "{}: expected, realised, and difference over its error",
    "curve": "{}: distribution functions",
    "boxes": "{}: 5, 25, 50, 75 and 95 % quantiles, diamond: mean",
    "totals": "{}: shares of its parts",
    "curves": "Parts of {}: distribution functions from zero on",
}


def _number_pictures(fit: FitReport, names: FigureNames) -> dict[str, Figure]:
    pictures: dict[str, Figure] = {}
    curves, box_table = fit.tables["curves"], fit.tables["boxes"]
    for name in main_numbers(fit):
        of_variable, groups = curves[curves["variable"] == name], shown_groups(fit, name)
        if len(of_variable):
            pictures[f"curve {name}"] = curve(of_variable[of_variable["by"] == ""], names)
        for by in groups:
            rows = box_table[(box_table["variable"] == name) & (box_table["by"] == by)]
            if len(rows):
                pictures[f"boxes {name} by {by}"] = boxes(rows, names)
        for by in groups[:2]:
            rows = of_variable[of_variable["by"] == by]
            if len(rows):
                pictures[f"curve {name} by {by}"] = curves_by_group(rows, names)
    return pictures


def _by(table: pd.DataFrame, column: str) -> list[tuple[str, pd.DataFrame]]:
    if table.empty:
        return []
    return [(str(name), rows) for name, rows in table.groupby(column, sort=False)]
