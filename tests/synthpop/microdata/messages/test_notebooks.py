"""What a notebook and a terminal show of a result."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from riskeval import ProtectionSession, Release, assess, compare, k_anonymity
from synthpop import assess_fit
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.pictures import Gallery, Picture, new_figure
from synthpop.microdata.messages.show import diagram, html_table
from tests.small import small_frame, small_pipeline, small_survey


def test_a_result_shows_its_sentence_in_a_terminal() -> None:
    result = k_anonymity(pd.DataFrame({"a": [1, 1, 2]}), ["a"])
    assert repr(result) == f"<KAnonymity: {result.summary()}>"
    assert result.summary().splitlines()[0] in result._repr_html_()


def test_a_figure_shows_itself() -> None:
    figure = new_figure(3.0, 2.0)
    figure.subplots().set_title("Ages <b>")
    assert isinstance(figure, Picture)
    assert figure._repr_svg_().startswith("<svg")
    assert 'aria-label="Ages &lt;b&gt;"' in figure._repr_svg_()


def test_figures_of_a_result_are_shown_together() -> None:
    frame = small_frame(60)
    figures = assess(frame, keys=["age", "sex"], weights="w", measures=["frequencies"]).figures()
    assert isinstance(figures, Gallery)
    page = figures._repr_html_()
    assert page.count("<svg") == len(figures) > 0
    assert all(f"<figcaption>{name}</figcaption>" in page for name in figures)


@pytest.fixture(scope="module")
def fitted():
    return small_pipeline().fit(small_survey(), seed=1)


def test_a_recipe_is_shown_as_a_diagram_of_its_steps(fitted) -> None:
    for page in (small_pipeline()._repr_html_(), fitted._repr_html_()):
        assert page.index("structure") < page.index("categorical") < page.index("continuous")
        assert " → " in page
    assert "Recipe of" in repr(fitted)
    assert len(repr(fitted)) < 800
    assert "&lt;x&gt;" in diagram([("<x>", "y")])


def test_sentence_table_and_figure(fitted) -> None:
    frame = small_frame(60)
    session = ProtectionSession(frame, keys=["age", "sex"], weights="w")
    session.global_recode("age", breaks=[0, 15, 39, 64, 120])
    survey, population = small_survey(), fitted.simulate()
    fit = assess_fit(survey, population)
    comparison = compare(
        frame, {"recoded": Release(session.data)}, keys=["age", "sex"], numeric=["wage"], seed=1
    )
    for result in (survey, population, session, fit, comparison):
        page = result._repr_html_()
        assert result.summary().splitlines()[0][:40] in page.replace("&#x27;", "'"), type(result)
        assert page.count("<table") == 1, type(result)
        assert page.count("<svg") == 1, type(result)
        assert isinstance(result.plot(), Axes)
    assert "Net" not in survey._repr_html_()


def test_bars_of_a_session_are_its_changed_cells() -> None:
    session = ProtectionSession(small_frame(60), keys=["age", "sex"])
    session.global_recode("age", breaks=[0, 15, 39, 64, 120])
    axes = session.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["age"]
    assert axes.patches[0].get_width() == len(small_frame(60))


def test_a_result_without_a_figure_says_so() -> None:
    with pytest.raises(InputError, match="no figure of this result"):
        k_anonymity(pd.DataFrame({"a": [1, 1, 2]}), ["a"]).plot()


def test_tables_write_numbers_as_the_reports_do() -> None:
    table = pd.DataFrame({"n": [1234567, 2], "x": [0.123456, np.nan], "t": ["<b>", None]})
    page = html_table(table)
    assert all(text in page for text in ("1,234,567", "0.123<", "–", "&lt;b&gt;"))
    assert "1 more rows" in html_table(table, rows=1)
