from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from riskeval.measures.frequencies import frequency_counts
from riskeval.measures.individual import individual_risk
from riskeval.measures.suda import suda
from riskeval.report import assessment_figures as figures
from synthpop.microdata.messages.pictures import OKABE_ITO, POPULATION, SAMPLE, to_svg

KEYS = ["region", "age", "sex"]


def sample(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "region": rng.integers(0, 12, n),
            "age": rng.integers(0, 30, n),
            "sex": rng.integers(0, 2, n),
            "household": np.arange(n) // 2,
            "w": rng.uniform(1, 3000, n),
        }
    )


@pytest.fixture(scope="module")
def drawn() -> dict[str, mpl.figure.Figure]:
    data = sample()
    counts = frequency_counts(data, KEYS, weights="w")
    many = frequency_counts(data, ["sex", "region"], weights="w")
    return {
        "risk": figures.risk_distribution(
            individual_risk(data, KEYS, weights="w", household="household")
        ),
        "F": figures.sample_against_population(counts),
        "sizes": figures.cell_sizes(counts),
        "long": figures.cell_sizes(frequency_counts(data, ["sex"])),
        "many": figures.sample_against_population(many),
        "suda": figures.suda_by_record(suda(data, KEYS)),
    }


@pytest.mark.parametrize("name", ["risk", "F", "sizes", "long", "many", "suda"])
def test_pages_show_plain_numbers_and_labels(
    drawn: dict[str, mpl.figure.Figure], name: str
) -> None:
    figure = drawn[name]
    axes = figure.axes[0]
    assert axes.get_title(loc="left")
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    svg = to_svg(figure, name, "a picture")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert not [text for text in texts if "$" in text or "math" in text or "e+" in text]
    ticks = [text for text in texts if re.fullmatch(r"[\d.,]+", text.strip())]
    assert len(ticks) >= 4


def test_thousands_are_separated(drawn: dict[str, mpl.figure.Figure]) -> None:
    assert ">1,000<" in to_svg(drawn["F"], "F", "a picture")


def test_colours_are_those_of_the_look(drawn: dict[str, mpl.figure.Figure]) -> None:
    assert {SAMPLE, POPULATION} <= set(OKABE_ITO)
    svg = to_svg(drawn["risk"], "risk", "a picture").lower()
    assert SAMPLE.lower() in svg
    assert POPULATION.lower() in svg


def test_legends_name_what_is_drawn(drawn: dict[str, mpl.figure.Figure]) -> None:
    def words(name: str) -> list[str]:
        legend = drawn[name].axes[0].get_legend()
        assert legend is not None
        return [text.get_text() for text in legend.get_texts()]

    assert words("risk")[:2] == ["the person", "somebody of the household"]
    assert words("F") == ["a distinct key", "F = f: nobody else"]
    assert words("sizes") == ["fewer than 3 records", "3 records or more"]


def test_rare_keys_are_counted_in_their_colour() -> None:
    counts = frequency_counts(pd.DataFrame({"a": [1, 2, 3, 3, 3, 3]}), ["a"])
    rare, common = figures.cell_sizes(counts).axes[0].collections
    assert [line[1].tolist() for line in rare.get_segments()] == [[1.0, 2.0]]
    assert [line[1].tolist() for line in common.get_segments()] == [[4.0, 1.0]]


def test_points_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = frequency_counts(sample(), KEYS, weights="w")
    monkeypatch.setattr(figures, "MOST_POINTS", 10)
    points = figures.sample_against_population(counts).axes[0].collections[0].get_offsets()
    assert 5 <= len(points) <= 10


def test_settings_are_left_as_they_were() -> None:
    before = dict(mpl.rcParams)
    figures.cell_sizes(frequency_counts(sample(20), KEYS))
    assert dict(mpl.rcParams) == before
