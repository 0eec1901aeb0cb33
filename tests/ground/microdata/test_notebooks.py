"""What a notebook and a terminal show of a result."""

from __future__ import annotations

import pandas as pd

from riskeval import assess, k_anonymity
from synthpop.microdata.pictures import Gallery, Picture, new_figure
from tests.small import small_frame


def test_a_result_shows_its_sentence_in_a_terminal() -> None:
    result = k_anonymity(pd.DataFrame({"a": [1, 1, 2]}), ["a"])
    assert repr(result) == f"<KAnonymity: {result.summary()}>"
    assert result.summary().splitlines()[0] in result._repr_html_()


def test_a_figure_shows_itself() -> None:
    figure = new_figure(3.0, 2.0)
    figure.subplots().set_title("Ages <b>")
    assert isinstance(figure, Picture)
    assert figure._repr_svg_().startswith("<svg")
    assert 'aria-label="Ages &lt;b>"' in figure._repr_svg_()


def test_figures_of_a_result_are_shown_together() -> None:
    frame = small_frame(60)
    figures = assess(frame, keys=["age", "sex"], weights="w", measures=["frequencies"]).figures()
    assert isinstance(figures, Gallery)
    page = figures._repr_html_()
    assert page.count("<svg") == len(figures) > 0
    assert all(f"<figcaption>{name}</figcaption>" in page for name in figures)
