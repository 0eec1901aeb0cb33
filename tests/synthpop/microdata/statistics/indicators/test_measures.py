from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop import indicators as ind
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.statistics.indicators.measures import prepare
from tests.reference_data import golden, survey_data

NAMES = {
    "gini": ind.gini,
    "qsr": ind.quintile_share_ratio,
    "arpr": ind.at_risk_of_poverty,
    "rmpg": ind.poverty_gap,
}


@pytest.mark.parametrize("name", list(NAMES))
def test_reference_overall_and_by_region(name: str) -> None:
    frame = survey_data("laeken_eusilc")
    cases = golden("pop", "f_indicators.json")
    got = NAMES[name](frame["eqIncome"], frame["rb050"], by=frame["db040"])
    assert got.value == pytest.approx(cases[name]["value"], rel=1e-10)
    for region, wanted in cases[name]["by"].items():
        assert got.by[region] == pytest.approx(wanted, rel=1e-10), region
    unweighted = NAMES[name](frame["eqIncome"]).value
    assert unweighted == pytest.approx(cases[f"{name}_unweighted"]["value"], rel=1e-10)


def test_reference_lines_and_shares() -> None:
    frame = survey_data("laeken_eusilc")
    x, w = frame["eqIncome"], frame["rb050"]
    cases = golden("pop", "f_indicators.json")
    for label, value, line in zip(
        cases["arpr_p"]["value_names"],
        cases["arpr_p"]["value"],
        cases["arpr_p"]["threshold"],
        strict=True,
    ):
        got = ind.at_risk_of_poverty(x, w, p=float(label.rstrip("%")) / 100)
        assert got.value == pytest.approx(value, rel=1e-10)
        assert got.threshold == pytest.approx(line, rel=1e-10)
    line = ind.at_risk_of_poverty_threshold(x, w, by=frame["db040"])
    assert line.value == pytest.approx(cases["arpt"]["p60"], rel=1e-10)
    for region, wanted in cases["arpt"]["by_db040"].items():
        assert line.by[region] == pytest.approx(wanted, rel=1e-10)
    plain = ind.at_risk_of_poverty_threshold(x)
    assert plain.value == pytest.approx(cases["arpt"]["unweighted"], rel=1e-10)
    half = ind.at_risk_of_poverty_threshold(x, w, p=0.5)
    assert half.value == pytest.approx(cases["arpt"]["p50"], rel=1e-10)
    share = ind.mean((frame["rb090"] == "male").astype(float), w, by=frame["db040"])
    wanted = cases["prop"]
    if wanted["value"] > 0.5:
        share = ind.mean((frame["rb090"] == "female").astype(float), w, by=frame["db040"])
    assert share.value == pytest.approx(wanted["value"], rel=1e-10)
    assert share.by["Vienna"] == pytest.approx(wanted["by"]["Vienna"], rel=1e-10)


def test_reference_quantiles() -> None:
    frame = survey_data("laeken_eusilc")
    cases = golden("pop", "f_indicators.json")["weighted_quantiles"]
    for p, wanted, plain in zip(
        cases["probs"], cases["eqIncome"], cases["eqIncome_unweighted"], strict=True
    ):
        got = ind.quantile(frame["eqIncome"], frame["rb050"], p=p).value
        assert got == pytest.approx(wanted, rel=1e-10)
        assert ind.quantile(frame["eqIncome"], p=p).value == pytest.approx(plain, rel=1e-10)
    assert ind.median(frame["eqIncome"], frame["rb050"]).value == pytest.approx(cases["median"])
    assert ind.mean(frame["eqIncome"], frame["rb050"]).value == pytest.approx(cases["mean"])
    fifths = [ind.quantile(frame["eqIncome"], frame["rb050"], p=p).value for p in (0.2, 0.8)]
    assert fifths == pytest.approx(cases["incQuintile"], rel=1e-10)
    tiny = cases["tiny"]
    got_tiny = [ind.quantile(tiny["x"], tiny["w"], p=p).value for p in tiny["probs"]]
    assert got_tiny == tiny["q"]


def test_reference_pay_gap() -> None:
    frame = survey_data("laeken_ses")
    cases = golden("pop", "f_indicators.json")
    call = {"values": frame["earningsHour"], "gender": frame["sex"]}
    for key, by, method in (
        ("gpg", "education", "mean"),
        ("gpg_size", "size", "mean"),
        ("gpg_median", "education", "median"),
    ):
        got = ind.gender_pay_gap(weights=frame["weights"], by=frame[by], method=method, **call)
        assert got.value == pytest.approx(cases[key]["value"], rel=1e-10)
        for level, wanted in cases[key]["by"].items():
            assert got.by[level] == pytest.approx(wanted, rel=1e-10)
    assert ind.gender_pay_gap(**call).value == pytest.approx(
        cases["gpg_unweighted"]["value"], rel=1e-10
    )


def naive_gini(x: np.ndarray, w: np.ndarray) -> float:
    """Half the relative mean difference of all pairs."""
    differences = np.abs(x[:, None] - x[None, :]) * w[:, None] * w[None, :]
    return float(100 * differences.sum() / (2 * w.sum() * np.dot(w, x)))


rows = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5)), min_size=2, max_size=30)


@settings(max_examples=30, deadline=None)
@given(rows)
def test_gini_is_half_the_relative_mean_difference(pairs: list[tuple[int, int]]) -> None:
    x, w = np.array(pairs, dtype=float).T
    assert ind.gini(x, w).value == pytest.approx(naive_gini(x, w), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(rows)
def test_weights_are_like_repeated_rows(pairs: list[tuple[int, int]]) -> None:
    x, w = np.array(pairs, dtype=float).T
    repeated = np.repeat(x, w.astype(int))
    for measure in (*NAMES.values(), ind.at_risk_of_poverty_threshold, ind.mean, ind.median):
        a, b = measure(x, w).value, measure(repeated).value
        assert a == pytest.approx(b, nan_ok=True)
        assert measure(x * 7, w * 3).to_frame()["n"].iloc[0] == len(x)
    for measure in NAMES.values():  # free of units, and of the scale of the weights
        assert measure(x * 7, w * 3).value == pytest.approx(measure(x, w).value, nan_ok=True)


SMOOTH = {
    "gini": lambda x, w, by: ind.gini(x, w, by=by),
    "mean": lambda x, w, by: ind.mean(x, w, by=by),
    "rate with a given line": lambda x, w, by: ind.at_risk_of_poverty(x, w, by=by, threshold=800),
    "pay gap": lambda x, w, by: ind.gender_pay_gap(
        x, w, by=by, gender=np.arange(len(x)) % 2, men=0
    ),
}


@pytest.mark.parametrize("name", list(SMOOTH))
def test_linearised_variable_is_the_derivative(name: str) -> None:
    rng = np.random.default_rng(4)
    x, w = rng.lognormal(7, 0.6, 60), rng.random(60) + 0.5
    by = np.array(["a", "b", "c"])[np.arange(60) % 3]
    result = SMOOTH[name](x, w, by)
    for domain in (None, "b"):
        z = result.linearised(domain)
        for k in (0, 7, 31):
            step = np.zeros(60)
            step[k] = 1e-6
            up, down = SMOOTH[name](x, w + step, by), SMOOTH[name](x, w - step, by)
            moved = [r.value if domain is None else r.by[domain] for r in (up, down)]
            numeric = (moved[0] - moved[1]) / 2e-6
            assert z[k] == pytest.approx(numeric, rel=1e-5, abs=1e-9)


def test_linearised_totals_vanish() -> None:
    """Indicators do not change when all weights grow together: sum(w z) is zero."""
    rng = np.random.default_rng(8)
    x, w = rng.lognormal(7, 0.6, 3000), rng.random(3000) + 0.5
    for measure in (*NAMES.values(), ind.median, ind.at_risk_of_poverty_threshold):
        z = measure(x, w).linearised()
        assert abs(np.dot(w, z)) < 5e-3 * np.abs(w * z).sum()


def test_missing_values_and_zero_weights_do_not_enter() -> None:
    x = np.array([1.0, np.nan, 3.0, 8.0, 100.0])
    w = np.array([1.0, 5.0, 2.0, 1.0, 0.0])
    got = ind.gini(x, w)
    assert got.value == ind.gini([1.0, 3.0, 8.0], [1.0, 2.0, 1.0]).value
    assert got.counts.tolist() == [3]
    z = got.linearised()
    assert z.shape == (5,)
    assert z[1] == z[4] == 0
    by = pd.Series(["a", "a", None, "b", "b"])
    domains = ind.gini(x, w, by=by)
    assert domains.counts.tolist() == [3, 1, 1]
    assert ind.gini(pd.Series([1, None, 3], dtype="Int64")).value == 25.0


def test_degenerate_data() -> None:
    assert np.isnan(ind.gini([0.0, 0.0]).value)
    assert np.isnan(ind.gini([np.nan]).value)
    assert np.isnan(ind.quintile_share_ratio([0.0, 0.0, 1.0, 2.0, 3.0]).value)
    assert np.isnan(ind.poverty_gap([1.0, 1.0]).value)
    assert ind.at_risk_of_poverty([1.0, 1.0]).value == 0
    empty = ind.gini([1.0, 2.0], by=pd.Categorical(["a", "a"], ["a", "b"]))
    assert np.isnan(empty.by["b"])
    one_sex = ind.gender_pay_gap(
        [1.0, 2.0, 3.0], gender=["male", "female", "male"], by=["a", "a", "b"]
    )
    assert np.isnan(one_sex.by["b"])


def test_degenerate_variances_are_missing() -> None:
    for x in ([3.0, 3.0, 3.0, 4.0], [0.0, 0.0], [1.0, 1.0, 5.0], [2.0, 1e-30, 1e30]):
        for measure in (*NAMES.values(), ind.median, ind.at_risk_of_poverty_threshold):
            result = measure(x, by=np.arange(len(x)) % 2).with_variance()
            assert result.to_frame().shape == (3, 5)
            assert isinstance(result.summary(), str)
    assert np.isnan(ind.poverty_gap([1.0, 1.0]).with_variance().standard_error)


def test_arguments_are_honoured() -> None:
    x = np.arange(1.0, 101.0)
    assert ind.at_risk_of_poverty(x, p=0.4).value < ind.at_risk_of_poverty(x).value
    assert ind.at_risk_of_poverty(x, threshold=90.0).value == 89.0
    assert ind.poverty_gap(x, p=0.4).value != ind.poverty_gap(x).value
    assert ind.poverty_gap(x, threshold=90.0).threshold == 90.0
    gender = np.array(["f", "m", "x"])[np.arange(100) % 3]
    gap = ind.gender_pay_gap(x, gender=gender, men="m", women="f")
    assert gap.value != ind.gender_pay_gap(x, gender=gender, men="m", women="x").value
    assert gap.value == pytest.approx(1 - x[gender == "f"].mean() / x[gender == "m"].mean())
    halves = np.arange(100) // 50
    assert ind.quantile(x, p=0.5, by=halves).by.tolist() == [26.0, 76.0]
    assert ind.median(x, by=halves).by.tolist() == [26.0, 76.0]
    assert ind.quantile(x, x, p=0.5).value > ind.quantile(x, p=0.5).value
    swapped = ind.gender_pay_gap(x, gender=gender, men="f", women="m")
    assert swapped.value != gap.value


def test_faults() -> None:
    with pytest.raises(InputError) as caught:
        ind.at_risk_of_poverty([1.0], p=-1, threshold=-5.0, by=["a", "b"])
    assert len(caught.value.faults) == 3
    with pytest.raises(InputError, match="negative"):
        ind.gini([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(InputError, match="not numbers"):
        ind.gini(["a", "b"])
    with pytest.raises(InputError, match="not a gender"):
        ind.gender_pay_gap([1.0, 2.0], gender=["a", "b"])
    with pytest.raises(InputError, match="method"):
        ind.gender_pay_gap([1.0, 2.0], gender=["male", "b"], method="mode")
    with pytest.raises(InputError, match="share between"):
        ind.quantile([1.0], p=2)
    with pytest.raises(InputError, match="not among"):
        ind.gini([1.0, 2.0], by=["a", "b"]).linearised("c")
    with pytest.raises(InputError, match="level"):
        ind.gini([1.0, 2.0]).with_variance(level=95)


def test_result_shows_itself() -> None:
    x = np.arange(1.0, 201.0)
    result = ind.at_risk_of_poverty(x, by=np.arange(200) % 2).with_variance(level=0.9)
    frame = result.to_frame()
    assert frame.index.tolist() == ["all", 0, 1]
    assert (frame["lower"] < frame["estimate"]).all()
    assert "60 % of the median" in result.summary()
    assert "90 % confidence" in result.summary()
    assert "which was given" in ind.poverty_gap(x, threshold=50.0).summary()
    assert result.interval[0] < result.value < result.interval[1]
    wide = ind.at_risk_of_poverty(x).with_variance(level=0.99)
    assert wide.interval[0] < result.interval[0]
    assert np.isnan(ind.gini(x).standard_error)
    assert result.variance == pytest.approx(result.standard_error**2)
    assert "<table" in result._repr_html_()


def test_sorted_input_is_not_sorted_again() -> None:
    data = prepare(Faults("x"), [1.0, 2.0, 3.0], None)
    assert data.rows.tolist() == [0, 1, 2]


def test_results_can_be_copied_without_their_data() -> None:
    import pickle

    result = ind.gini(np.arange(1.0, 50.0), by=np.arange(49) % 2).with_variance()
    copy = pickle.loads(pickle.dumps(result))
    pd.testing.assert_frame_equal(copy.to_frame(), result.to_frame())
    with pytest.raises(TypeError, match="without its data"):
        copy.linearised()
