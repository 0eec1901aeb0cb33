"""Intervals of shares agree with published tables and formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from synthpop.microdata.statistics.intervals import (
    clopper_pearson,
    interval_of_mean,
    newcombe,
    wilson,
)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (1, 1), (81, 263), (15, 148), (29, 29)])
def test_wilson_solves_its_equation(hits: int, n: int) -> None:
    z = 1.959963984540054
    for end in wilson(hits, n):
        if 0 < end < 1:
            assert abs(hits / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n))


def test_newcombe_table_of_1998() -> None:
    """Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10."""
    published = {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
        (10, 10, 0, 20): (0.6791, 1.0),
        (10, 10, 0, 10): (0.6075, 1.0),
    }
    for counts, ends in published.items():
        assert newcombe(*counts) == pytest.approx(ends, abs=6e-5)


def test_confidence_widens_and_no_records_have_no_interval() -> None:
    assert wilson(3, 20, 0.99)[0] < wilson(3, 20, 0.8)[0]
    assert clopper_pearson(3, 20, 0.99)[1] > clopper_pearson(3, 20, 0.8)[1]
    assert clopper_pearson(3, 20)[0] < wilson(3, 20)[0]
    assert newcombe(3, 20, 1, 20, 0.99)[0] < newcombe(3, 20, 1, 20, 0.8)[0]
    assert all(map(math.isnan, (*wilson(0, 0), *newcombe(0, 0, 1, 2), *clopper_pearson(0, 0))))


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_closed_forms_agree_with_statsmodels(confidence: float) -> None:
    """Whole counts and effective ones."""
    alpha = 1 - confidence
    for hits, n in ((0, 7), (3, 7), (7, 7), (2, 4000), (3999, 4000), (150, 317), (12.4, 30.7)):
        ends = proportion_confint(hits, n, alpha=alpha, method="wilson")
        assert wilson(hits, n, confidence) == pytest.approx(ends, abs=1e-12)
        other = confint_proportions_2indep(
            hits, n, 5, 90, method="newcomb", compare="diff", alpha=alpha
        )
        assert newcombe(hits, n, 5, 90, confidence) == pytest.approx(other, abs=1e-12)
        if hits == int(hits):
            exact = proportion_confint(hits, n, alpha=alpha, method="beta")
            assert clopper_pearson(int(hits), n, confidence) == pytest.approx(exact, abs=1e-9)


def test_example_of_interval_of_mean() -> None:
    mean, _low, high = interval_of_mean(np.array([[5.0, 0.0], [7.0, 0.0]]))
    assert (mean.tolist(), (high - mean).round(2).tolist()) == ([6.0, 0.0], [12.71, 0.0])


def test_example_of_wilson() -> None:
    assert [round(end, 3) for end in wilson(5, 50)] == [0.043, 0.214]


def test_example_of_clopper_pearson() -> None:
    assert [round(end, 3) for end in clopper_pearson(0, 50)] == [0.0, 0.071]


def test_example_of_newcombe() -> None:
    assert [round(end, 3) for end in newcombe(56, 70, 48, 80)] == [0.052, 0.334]
