"""The risk-utility map and the Pareto front."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskeval
from riskeval import Release, protect
from riskeval.comparison.map import pareto_front
from riskeval.report.comparison_figures import nested_sizes
from riskeval.report.comparison_tables import overlap_grid
from riskeval.verdict.verdict import UNKNOWN
from synthpop.microdata.messages.errors import InputError
from tests.riskeval.comparison.cases import ROLES, grouped, people, suppressed


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.2, 0.3, np.nan]), st.sampled_from([0.4, 0.5, 0.6])),
        max_size=8,
    )
)
def test_the_front_as_it_is_defined(points: list[tuple[float, float]]) -> None:
    risk = np.array([point[0] for point in points], dtype=float)
    gain = np.array([point[1] for point in points], dtype=float)
    naive = [
        not np.isnan(r)
        and not any((a <= r and b >= g) and (a < r or b > g) for a, b in points if a == a)
        for r, g in points
    ]
    assert pareto_front(risk, gain).tolist() == naive


@pytest.fixture(scope="module")
def found() -> riskeval.Comparison:
    original = people()
    releases: dict[str, object] = {
        f"noise {level}": Release(
            protect.add_noise(original, ["pay", "rent"], level=level, seed=1),
            family="noise",
            parameter=level,
        )
        for level in (2.0, 0.1, 0.5)
    }
    releases["strangers"] = Release(people(200, seed=8), kind="synthetic")
    return riskeval.compare(original, releases, **ROLES)


def test_more_noise_is_less_risk_and_more_loss(found: riskeval.Comparison) -> None:
    drawn = found.risk_utility_map(risk="record_linkage", utility="il1s")
    frame = drawn.frame.set_index("release")
    assert drawn.better == "low"
    order = ["original", "noise 0.1", "noise 0.5", "noise 2.0"]
    assert frame.loc[order, "risk"].is_monotonic_decreasing
    assert frame.loc[order, "utility"].is_monotonic_increasing
    assert frame["pareto"].to_dict() == {
        "original": False, "noise 2.0": True, "noise 0.1": True, "noise 0.5": True,
        "strangers": False,
    }  # fmt: skip
    assert "strangers" in drawn.summary()


def test_utility_turns_the_front_around(found: riskeval.Comparison) -> None:
    drawn = found.risk_utility_map(risk="rapid: ill", utility="overlap")
    frame = drawn.frame[drawn.frame["kind"] != "original"]
    assert drawn.better == "high"
    best = frame["utility"].max()
    assert frame.loc[frame["pareto"], "utility"].max() == best


def test_a_path_goes_along_the_parameter(found: riskeval.Comparison) -> None:
    figure = found.risk_utility_map(risk="record_linkage", utility="il1s").figure()
    axes = figure.axes[0]
    paths = [line for line in axes.lines if line.get_label() == "noise"]
    assert paths[0].get_linestyle() == "-"
    risks = found.values("record_linkage")
    expected = risks[["noise 0.1", "noise 0.5", "noise 2.0"]].tolist()
    assert list(paths[0].get_xdata()) == expected
    assert axes.get_title(loc="left") == "Record linkage against IL1s"
    assert "less is better" in axes.get_xlabel()
    assert "less is better" in axes.get_ylabel()
    texts = [text.get_text() for text in axes.texts]
    assert {"0.1", "0.5", "2"} <= {part for text in texts for part in text.split(", ")}
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"noise", "original, released as it is", "Pareto front"} <= set(labels)
    assert not any("strangers" in label for label in labels)


def test_an_accepted_risk_is_drawn(found: riskeval.Comparison) -> None:
    drawn = found.risk_utility_map(risk="global_risk", utility="pmse")
    assert drawn.limit == 0.01
    labels = [text.get_text() for text in drawn.figure().axes[0].get_legend().get_texts()]
    assert "accepted risk (0.01)" in labels
    assert "strangers (synthetic)" in labels


def test_overlaps_stand_by_release(found: riskeval.Comparison) -> None:
    releases = overlap_grid(found.overlaps).columns.tolist()
    assert releases == [
        "noise 2.0",
        "noise 0.1",
        "noise 0.5",
        "strangers",
    ]


def test_unknown_measures(found: riskeval.Comparison) -> None:
    with pytest.raises(InputError) as caught:
        found.risk_utility_map(risk="il1s", utility="il1")
    assert "Did you mean 'il1s'?" in str(caught.value)
    assert "'il1s' is unknown" in str(caught.value)


def test_equal_points_are_drawn_in_one_another() -> None:
    original = people(100)
    files = {"a": grouped(original), "b": grouped(original), "other": suppressed(original)}
    drawn = riskeval.compare(original, files, **ROLES).risk_utility_map(
        risk="global_risk", utility="tables"
    )
    frame = drawn.frame.set_index("release")
    assert frame.loc["a", "risk"] == frame.loc["b", "risk"] != frame.loc["other", "risk"]
    lines = {line.get_label(): line for line in drawn.figure().axes[0].lines}
    outer, inner = lines["_a"], lines["_b"]
    assert outer.get_markersize() > inner.get_markersize() + 5
    assert outer.get_zorder() < inner.get_zorder()
    for line, name in ((outer, "a"), (inner, "b")):
        place = [float(line.get_xdata()[0]), float(line.get_ydata()[0])]
        assert place == frame.loc[name, ["risk", "utility"]].tolist()
    assert lines["a"].get_markevery() == []
    assert lines["other"].get_markevery() == [0]


def test_many_equal_points_and_the_original_among_them() -> None:
    place = {"risk": 0.1, "utility": 1.0}
    frame = pd.DataFrame([{"release": name, **place} for name in "abcdefgh"])
    sizes = nested_sizes(frame)
    assert list(sizes) == list("abcdefgh")
    assert sizes["h"] < sizes["g"] < sizes["d"] < sizes["c"] == sizes["a"]
    apart = frame.assign(risk=np.arange(8.0))
    assert nested_sizes(apart) == {}


def test_a_release_without_numbers_leaves_the_map_and_moves_no_other() -> None:
    original = people(100)
    releases = {"strangers": Release(people(100, seed=8), kind="synthetic")}
    other = Release(pd.DataFrame({"other": [1]}), kind="synthetic")
    without, beside = (
        riskeval.compare(original, files, **ROLES)
        for files in (releases, releases | {"unreadable": other})
    )
    maps = without.risk_utility_map(), beside.risk_utility_map()
    assert maps[0].risk == maps[1].risk
    assert maps[0].utility == maps[1].utility
    frames = [one.frame.set_index("release") for one in maps]
    pd.testing.assert_frame_equal(frames[0], frames[1].drop(index="unreadable"))
    assert frames[1].loc["unreadable", ["risk", "utility"]].isna().all()
    assert not frames[1].loc["unreadable", "pareto"]
    assert "Not on the map, since a value is missing: unreadable." in maps[1].summary()
    assert beside.verdicts["unreadable"].level == UNKNOWN
    assert beside.verdicts["strangers"].level == without.verdicts["strangers"].level
