"""Small worked cases of the functions below a comparison."""

import numpy as np
import pandas as pd
import pytest

from riskeval.comparison.alignment import learn, match_levels
from riskeval.comparison.draws import mean_of_draws
from riskeval.comparison.estimates import domain_labels
from riskeval.comparison.map import pareto_front
from riskeval.comparison.releases import agreement
from riskeval.comparison.worst_risk import worst_risk
from riskeval.report.comparison_figures import nested_sizes
from riskeval.shared.measurement import MeasureInfo, Measurement

DISCO = MeasureInfo("disco", "attribution risk", "low", "share", "...", title="DiSCO")


def test_levels_are_matched_by_linked_records():
    ages = pd.Series([21, 25, 64, 67])
    matched = match_levels(ages, pd.Series(["young", "young", "old", None]), np.arange(4))
    assert matched.x.tolist()[:3] == ["young", "young", "old"]
    assert matched.how == "4 levels of the original count as 2; 1 has no counterpart"
    rule = learn(np.array([0, 1, 2]), np.array([0, 0, 1]), ("a", "b", "c"), ("a+b", "c"))
    assert rule == {"a": "a+b", "b": "a+b", "c": "c"}


def test_recoded_columns_agree():
    table = pd.DataFrame({"a": range(8), "b": list("ppppqqqq")})
    recoded = table.assign(b=list("rrrrssss"))
    assert agreement(table, recoded, ("a", "b")) == pytest.approx(1.0)


def test_a_number_of_several_files_is_their_mean():
    draws = [[Measurement(DISCO, 0.2)], [Measurement(DISCO, 0.4)]]
    assert mean_of_draws(draws)[0].value == pytest.approx(0.3)


def test_the_worst_risk_is_a_part_of_that_of_the_original():
    worst = worst_risk({"disco": Measurement(DISCO, 0.1)}, {"disco": Measurement(DISCO, 0.4)})
    assert (worst.value, worst.note) == (0.25, "DiSCO: 0.1 against 0.4 of the original")


def test_domains_are_labelled_by_their_levels():
    table = pd.DataFrame({"sex": ["f", None], "part": [*"ab"]})
    assert domain_labels(table, ["sex", "part"]).tolist() == ["f:a", None]


def test_a_point_with_more_risk_and_no_more_gain_is_off_the_front():
    front = pareto_front(np.array([0.1, 0.2, 0.2]), np.array([0.5, 0.9, 0.4]))
    assert front.tolist() == [True, True, False]


def test_markers_of_equal_points_are_nested():
    equal = pd.DataFrame({"release": ["a", "b"], "risk": [0.1] * 2, "utility": [1.0] * 2})
    assert nested_sizes(equal) == {"a": 13.0, "b": 6.0}
