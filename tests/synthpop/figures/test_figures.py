"""Every picture: it is drawn from tables, leaves no global state, and its SVG stands alone."""

# ruff: noqa: F401, F811
from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from synthpop import Survey
from synthpop.evaluation.assess_fit import FitReport, assess_fit
from synthpop.figures.bars import share_bars
from synthpop.figures.boxes import boxes
from synthpop.figures.mosaic import WITHIN, mosaic
from synthpop.figures.names import FigureNames
from synthpop.figures.strata_dots import strata_dots
from synthpop.figures.style import level_colours, wrapped
from synthpop.microdata.messages.pictures import DIVERGING, to_svg
from synthpop.microdata.messages.text import tick
from synthpop.report.gallery import draw_all, shown_groups, shown_pairs
from tests.reference_data import golden
from tests.synthpop.evaluation.test_assess_fit import fit, fitted, small_data, survey


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg.replace("xlink:href", "href"))
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.fixture(scope="module")
def pictures(fit: FitReport) -> dict[str, Figure]:
    """All pictures of a report, drawn once, so that the places of their parts are known."""
    figures = dict(fit.figures())
    for figure in figures.values():
        figure.draw_without_rendering()
    return figures


@pytest.fixture(scope="module")
def drawn(fit: FitReport) -> dict[str, Figure]:
    """The same pictures without titles; drawing them changes no setting of matplotlib."""
    before = dict(mpl.rcParams)
    figures = draw_all(fit)
    assert dict(mpl.rcParams) == before
    return figures


def test_there_is_a_picture_for_everything(pictures: dict[str, Figure]) -> None:
    wanted = {
        "distances", "sizes", "shares job", "strata job", "curve income", "totals income",
        "curves income", "boxes income by region", "curve income by region",
    }  # fmt: skip
    assert wanted <= set(pictures)
    assert sum(name.startswith("mosaic ") for name in pictures) == 6


def test_titles_say_what_is_shown_and_cover_nothing(pictures: dict[str, Figure]) -> None:
    for key, figure in pictures.items():
        title = next(text for text in figure.texts if text.get_fontsize() == 11)
        assert title.get_text()
        assert str(title.get_text()) != key
        low = title.get_window_extent().y0
        others = [legend.get_window_extent().y1 for legend in figure.legends]
        others += [axes.get_tightbbox().y1 for axes in figure.axes if axes.get_visible()]
        assert max(others) <= low + 1
        legends = [legend.get_window_extent().y0 for legend in figure.legends]
        drawn = [axes.get_window_extent().y1 for axes in figure.axes if axes.get_visible()]
        if legends and figure.get_layout_engine() is not None:
            assert min(legends) >= max(drawn) - 1


def test_the_third_mosaic_is_coloured_by_difference_over_error() -> None:
    table = pd.DataFrame(
        {"a": "job", "b": "sex", "level_a": ["x", "x", "y", "y"], "level_b": ["f", "m"] * 2,
         "sample": [0.25, 0.25, 0.25, 0.25], "population": [0.26, 0.35, 0.29, 0.10]}
    )  # fmt: skip
    figure = mosaic(table, FigureNames(), 400.0)  # the error of a share is 0.0217
    colours = [patch.get_facecolor() for patch in figure.axes[2].patches]
    hexes = [mpl.colors.to_hex(colour) for colour in colours]
    assert sorted(hexes) == sorted([WITHIN, WITHIN, DIVERGING[6].lower(), DIVERGING[0].lower()])


def test_drawing_leaves_no_state_behind(drawn: dict[str, Figure]) -> None:
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()
    assert all(figure.axes for figure in drawn.values())


def test_svg_is_the_same_twice_and_stands_alone(
    fit: FitReport, drawn: dict[str, Figure], pictures: dict[str, Figure]
) -> None:
    chosen = ["distances", "shares job", "strata job", "curve income", "boxes income by region"]
    first, second = (
        {key: to_svg(figures[key], key, key) for key in chosen}
        for figures in (drawn, draw_all(fit))
    )
    assert first == second
    titled = to_svg(pictures["strata job"], "a", "a")
    assert "job: shares inside each stratum" in texts(titled)
    for key, svg in first.items():
        assert svg.startswith("<svg")
        assert f'aria-label="{key}"' in svg
        assert not re.search(r'href="(?!#|data:)', svg)
        assert "dc:date" not in svg
        ET.fromstring(svg.replace("xlink:href", "href"))


def test_the_key_keeps_pictures_apart(pictures: dict[str, Figure]) -> None:
    figure = pictures["curve income"]
    one, two = (to_svg(figure, key, "a") for key in ("one", "two"))
    assert one != two
    assert len(one) == len(two)


def test_labels_and_units_are_shown(fit: FitReport) -> None:
    drawn = draw_all(fit, labels={"income": "Net income (yearly)"}, units={"income": "euros"})
    shown = " ".join(texts(to_svg(drawn["curve income"], "a", "a")))
    assert "Net income (income), euros" in shown
    assert "Survey, weighted" in shown
    assert "Share of persons at or below" in shown


def test_every_picture_has_a_legend_of_both_sides(pictures: dict[str, Figure]) -> None:
    for figure in pictures.values():
        shown = " ".join(text.get_text() for text in figure.findobj(Text))
        assert "Population" in shown
        assert "urvey" in shown


def test_any_text_can_be_a_level() -> None:
    labels = ["$a_1^2$ & <b>", "_hidden", "日本", 'quote " and \\', ""]
    data = small_data(60)
    data["job"] = np.array(labels)[np.arange(len(data)) % len(labels)]
    survey = Survey(data, weight="w", household="hid", strata="region")
    figures = draw_all(assess_fit(survey, data[["job", "region", "sex"]]))
    for key in ("shares job", "strata job", "mosaic job x sex", "mosaic region x job"):
        if key in figures:
            svg = to_svg(figures[key], key, f'about "{labels[key == "shares job"]}"')
            ET.fromstring(svg.replace("xlink:href", "href"))
            if key == "shares job":
                shown = texts(svg)
                assert all(any(label.split()[0] in text for text in shown) for label in labels[:4])


def test_suppressed_values_are_drawn_as_gaps(fit: FitReport) -> None:
    names = FigureNames()
    one = fit.tables["one_way"].query("variable == 'job'").assign(sample=np.nan)
    assert to_svg(share_bars(one, names), "a", "a")
    two = fit.tables["two_way"]
    a, b = shown_pairs(fit)[0]
    two = two[(two["a"] == a) & (two["b"] == b)].assign(sample=np.nan, population=np.nan)
    assert to_svg(mosaic(two, names, 400.0), "a", "a")
    strata = fit.tables["by_stratum"].query("b == 'job'").assign(sample=np.nan, population=np.nan)
    assert to_svg(strata_dots(strata, names), "a", "a")
    box = fit.tables["boxes"].query("variable == 'income' and by == 'job'").assign(p05=np.nan)
    assert to_svg(boxes(box, names), "a", "a")


def test_many_levels_are_cut_to_the_largest() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"job": rng.integers(0, 40, 4000).astype(str), "w": 1.0})
    data["region"] = rng.choice(["N", "S"], 4000)
    report = assess_fit(Survey(data, weight="w", strata="region"), data)
    drawn = draw_all(report)
    assert len(drawn["shares job"].axes[0].get_yticks()) == 24
    titles = [t for t in drawn["strata job"].axes[0].texts if t.get_fontweight() == "bold"]
    assert len(titles) == 12


def test_groups_are_those_that_explain_most_and_the_strata(fit: FitReport) -> None:
    groups = shown_groups(fit, "income")
    table = fit.tables["association"].query("variable == 'income'")
    assert groups[0] == table.loc[table["sample"].idxmax(), "by"]
    assert "region" in groups
    assert len(groups) == 3


def test_missing_is_grey_and_many_levels_a_sequence() -> None:
    few = level_colours(["a", "missing", "b"])
    assert few[1] == "#b4bcc6"
    assert len(set(few)) == 3
    assert len({tuple(colour) for colour in level_colours([str(i) for i in range(12)])}) == 12


def test_texts() -> None:
    assert wrapped("one two three", 8) == "one two\nthree"
    assert wrapped("aaaa bbbb cccc dddd", 5).endswith("…")
    assert tick(1234567.0) == "1,234,567"
    assert FigureNames({"x": "Pay: of all"}).short("x in classes") == "Pay in classes"


def test_pictures_fit_their_canvas(pictures: dict[str, Figure]) -> None:
    """No text reaches beyond the edge of its picture."""
    for name, figure in pictures.items():
        renderer = FigureCanvasAgg(figure).get_renderer()
        width, height = figure.bbox.size
        box = figure.get_tightbbox(renderer)
        dpi = figure.dpi
        slack = 0.06 * dpi
        assert box.x0 * dpi >= -slack, name
        assert box.y0 * dpi >= -slack, name
        assert box.x1 * dpi <= width + slack, name
        assert box.y1 * dpi <= height + slack, name
