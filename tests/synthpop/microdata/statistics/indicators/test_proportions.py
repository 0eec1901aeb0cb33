"""Proportions, several years, quantile intervals, lines by domain, least squares tails."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import indicators as ind
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.pareto import fit_pareto


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {"income": rng.lognormal(9, 0.6, 600) * np.repeat([1.0, 2.0], 300),
         "w": rng.random(600) + 0.5, "region": np.repeat(["a", "b"], 300),
         "year": np.tile([2019, 2020, 2021], 200), "psu": np.arange(600) // 6}
    )  # fmt: skip


def test_proportion(people: pd.DataFrame) -> None:
    high = people["income"] > 10_000
    result = ind.proportion(high, people["w"], by=people["region"]).with_variance()
    assert result.value == pytest.approx(np.average(high, weights=people["w"]))
    same = ind.mean(high.astype(float), people["w"]).with_variance()
    assert result.standard_error == same.standard_error
    gaps = pd.Series([True, None, False, True], dtype="boolean")
    assert ind.proportion(gaps).value == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="neither true nor false"):
        ind.proportion([0.0, 2.0])
    with pytest.raises(InputError, match="neither true nor false"):
        ind.proportion(["yes", "no"])


def test_each_year_has_its_own_line(people: pd.DataFrame) -> None:
    table = ind.over_years(
        ind.at_risk_of_poverty, people["income"], people["w"], years=people["year"],
        by=people["region"], cluster=people["psu"], p=0.5, level=0.9,
    )  # fmt: skip
    part = people[people["year"] == 2020]
    one = ind.at_risk_of_poverty(part["income"], part["w"], by=part["region"], p=0.5)
    one = one.with_variance(cluster=part["psu"], level=0.9)
    pd.testing.assert_frame_equal(table.loc[2020], one.to_frame())
    assert list(table.index.get_level_values("year").unique()) == [2019, 2020, 2021]
    with pytest.raises(InputError, match="3 entries for 2 values"):
        ind.over_years(ind.gini, [1.0, 2.0], years=[1, 1, 1])


def test_lines_by_domain(people: pd.DataFrame) -> None:
    call = {"by": people["region"], "p": 0.6}
    for measure in (ind.at_risk_of_poverty, ind.poverty_gap):
        own = measure(people["income"], people["w"], line="domain", **call).with_variance()
        common = measure(people["income"], people["w"], **call).with_variance()
        assert own.value == common.value
        assert own.standard_error == pytest.approx(common.standard_error)
        for position, region in enumerate(("a", "b"), start=1):
            part = people[people["region"] == region]
            alone = measure(part["income"], part["w"]).with_variance()
            assert own.by[region] == pytest.approx(alone.value)
            assert own.standard_errors[position] == pytest.approx(alone.standard_error, rel=0.02)
            assert common.by[region] != pytest.approx(alone.value, rel=0.01)
    with pytest.raises(InputError, match="needs domains"):
        ind.at_risk_of_poverty(people["income"], line="domain")
    with pytest.raises(InputError, match="needs domains"):
        ind.poverty_gap(people["income"], line="domain", threshold=5.0, by=people["region"])
    with pytest.raises(InputError, match="not allowed"):
        ind.poverty_gap(people["income"], line="region", by=people["region"])


def test_quantile_interval_by_hand() -> None:
    """Woodruff on 1 ... 100: the share up to the median is 0.5 -+ 1.984 x 0.0503."""
    x = np.arange(1.0, 101.0)
    result = ind.quantile_interval(x)
    share = 51 / 100
    error = np.sqrt(share * (1 - share) / 99)
    t = 1.9842169515
    low, high = 0.5 - t * error, 0.5 + t * error
    assert result.interval == (np.floor(100 * low) + 1, np.floor(100 * high) + 1)
    assert result.standard_error == pytest.approx((result.interval[1] - result.interval[0]) / 2 / t)
    corrected = ind.quantile_interval(x, fpc=1.0)
    assert corrected.interval == (51.0, 51.0)
    wide = ind.quantile_interval(x, level=0.99)
    assert wide.interval[0] < result.interval[0]


def test_quantile_interval_uses_design_weights_and_domains(people: pd.DataFrame) -> None:
    x, w = people["income"], people["w"]
    rows = ind.quantile_interval(x, w, p=0.25, by=people["region"])
    units = ind.quantile_interval(x, w, p=0.25, by=people["region"], cluster=people["psu"])
    assert rows.value == units.value == ind.quantile(x, w, p=0.25).value
    assert rows.interval != units.interval
    part = people[people["region"] == "a"]
    alone = ind.quantile_interval(part["income"], part["w"], p=0.25)
    assert rows.intervals[1] == pytest.approx(np.array(alone.interval), rel=0.05)
    double = ind.quantile_interval(x, 2 * w, p=0.25)
    assert double.interval == ind.quantile_interval(x, w, p=0.25).interval
    normal = ind.quantile(x, w, p=0.25).with_variance(cluster=people["psu"])
    assert units.standard_error == pytest.approx(normal.standard_error, rel=0.3)


@pytest.mark.slow
def test_coverage_of_quantile_intervals() -> None:
    rng = np.random.default_rng(3)
    truth, hits = np.exp(-0.6744897501960817), 0
    for _ in range(1000):
        low, high = ind.quantile_interval(rng.lognormal(0, 1, 150), p=0.25).interval
        hits += low <= truth <= high
    assert 930 <= hits <= 975


def test_least_squares_tail_through_the_threshold() -> None:
    y = np.array([1.2, 1.5, 2.4, 4.0])
    expected = -np.log(1 - np.arange(1, 5) / 5)
    slope = np.dot(expected, np.log(y)) / np.dot(expected, expected)
    tail = fit_pareto(np.concatenate([[0.5, 1.0], y]), k=4, method="ls")
    assert tail.shape == pytest.approx(1 / slope)
    rng = np.random.default_rng(1)
    shapes = [
        fit_pareto(100 * rng.pareto(2.5, 500) + 100, threshold=100.0, method="ls").shape
        for _ in range(50)
    ]
    assert np.mean(shapes) == pytest.approx(2.5, rel=0.05)
    with pytest.raises(InputError, match="ls has no weighted form"):
        fit_pareto(y, weights=np.ones(4), method="ls")
