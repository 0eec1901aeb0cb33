"""Worked examples of the functions below the measures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.measures.individual import household_risks, risk_of_cells
from riskeval.measures.linkage.distances import column_spreads, patterns_of
from riskeval.measures.linkage.methods import fit_fellegi_sunter
from riskeval.measures.loglinear.mixing import (
    estimated_dispersion,
    log_transform,
    match_risks,
    unique_probabilities,
)
from riskeval.measures.loglinear.model import unique_risks
from riskeval.measures.loglinear.terms import format_formula, read_terms
from riskeval.measures.mahalanobis_disclosure import standardised
from riskeval.measures.outlier_risk import tail_of
from riskeval.measures.risky_cells import is_known_table
from riskeval.measures.sensitive_groups import category_notes
from riskeval.measures.suda_scores import msu_weights
from synthpop.microdata.messages.errors import Faults

ONE, TENTH = np.array([1.0]), np.array([0.1, 0.1])
WITH_GAPS = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 5.0]])


@pytest.mark.parametrize(
    ("values", "decimals", "expected"),
    [
        (household_risks(np.array([0.1, 0.05, 0.01]), np.zeros(3, int)), 5, [0.15355] * 3),
        (
            risk_of_cells(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])),
            6,
            [0.255843, 0.082684, 0.046368],
        ),
        (column_spreads(WITH_GAPS), 3, [1.414, 1.0]),
        (log_transform("poisson", 0.0, ONE, np.array([2.0])), 6, [-2.0]),
        (
            match_risks("poisson", 0.0, np.array([1.0, 2.0]), 100 * TENTH, TENTH),
            4,
            [0.1111, 0.0988],
        ),
        (unique_probabilities("poisson", 0.0, 10 * ONE, TENTH[:1]), 6, [0.000123]),
        (unique_risks(np.array([0.0, 10.0]), TENTH)[1], 4, [1.0, 0.1111]),
        (standardised(WITH_GAPS[:, :1], WITH_GAPS[:, :1])[:2, 0], 3, [-0.707, 0.707]),
        (msu_weights(4, 4, "original"), 6, [0.0, 6.0, 2.0, 1.0, 1.0]),
        (msu_weights(4, 4, "book"), 6, [0.0, 1.75, 0.5, 0.25, 0.0]),
    ],
)
def test_worked_examples(values, decimals, expected):
    assert values.round(decimals).tolist() == expected


def test_counts_without_a_factor_have_no_dispersion():
    assert estimated_dispersion("poisson", ONE, ONE) == 0.0


def test_rows_by_pattern_of_known_variables():
    rows, patterns = patterns_of(np.array([[1.0, 2.0], [1.0, np.nan], [3.0, 4.0]]))
    assert [(number, who.tolist()) for number, who in rows] == [(0, [1]), (1, [0, 2])]
    assert patterns.tolist() == [[True, False], [True, True]]


def test_em_tells_matching_pairs_from_others():
    share, m, u = fit_fellegi_sunter(np.array([900, 5, 0, 5, 90, 0, 0, 0, 0]), 2, 90.0)
    assert (round(share, 2), m.round(1).tolist(), u.round(1).tolist()) == (0.09, [1, 1], [0, 0])


def test_formulas_are_read_and_written():
    terms, _ = read_terms(Faults("model"), "~ (a + b + c)^2 - b:c", ["a", "b", "c"])
    assert [sorted(term) for term in terms] == [[0], [1], [2], [0, 1], [0, 2]]
    text = format_formula([frozenset([0]), frozenset([0, 1])], ["a", "b c"], {0})
    assert text == "~ C(a) + C(a):`b c`"


def test_values_beside_others_are_not_isolated():
    above, isolated = tail_of(np.array([1.0, 2.0, 3.0, 40.0, 41.0]), 0.75, 0.05)
    assert above.tolist() == [False, False, False, True, True]
    assert not isolated.any()


def test_tables_by_identification_levels():
    levels = ([1], [2], [1, 1], [3, 1], [1, 3, 2], [0])
    assert [is_known_table(one) for one in levels] == [True, False, True, False, True, False]


def test_amounts_as_categories_are_noted():
    frame = pd.DataFrame({"income": range(99), "sex": [1, 2, 2] * 33})
    (note,) = category_notes(frame, ["income", "sex"])
    assert note.startswith("The 99 distinct numbers of income count as one category each")


@pytest.mark.parametrize("n", [0, 2, 3])
def test_equal_values_have_no_tail_and_one_value_is_its_own(n: int) -> None:
    for flags in tail_of(np.full(n, 7.0), 0.95, 0.05):
        assert flags.tolist() == [False] * n
    above, isolated = tail_of(np.array([7.0]), 0.95, 0.05)
    assert above.tolist() == [True]
    assert isolated.tolist() == [True]
