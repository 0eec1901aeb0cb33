"""Faults of reading, writing and resuming, and values that no function can use."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import riskeval
import synthpop
from synthpop import (
    Cluster,
    Margin,
    SimpleRandom,
    Survey,
    anneal,
    assess_fit,
    calibrate,
    indicators,
    sampling,
    simulate_study,
)
from synthpop.calibration.weights import effective_sample_size
from synthpop.figures.style import put_title, side_legend
from synthpop.heaping import correct_heaps
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.microdata.messages.pictures import to_svg
from synthpop.pipeline.fingerprint import chosen_strata
from tests.small import small_frame, small_pipeline, small_survey


def study(out, people, estimator, **more):
    return simulate_study(
        people, SimpleRandom(20), {"mean": estimator}, repetitions=4, seed=1, out=out, **more
    )


def mean_income(sample) -> float:
    return float(sample.frame["income"].mean())


def mean_age(sample) -> float:
    return float(sample.frame["age"].mean())


def test_a_resumed_study_has_the_same_types(tmp_path) -> None:
    people = small_frame(100).assign(income=1.0)
    first = study(tmp_path / "s", people, mean_income)
    again = study(tmp_path / "s", people, mean_income)
    assert again.estimates.equals(first.estimates)
    assert again.estimates.dtypes.equals(first.estimates.dtypes)


def test_an_empty_or_lost_manifest_is_written_again(tmp_path) -> None:
    fitted = small_pipeline().fit(small_survey(60), seed=1)
    fitted.simulate(out=tmp_path / "p")
    manifest = tmp_path / "p" / "manifest.json"
    whole = manifest.read_bytes()
    for damage in (lambda: manifest.write_bytes(b""), manifest.unlink):
        damage()
        fitted.simulate(out=tmp_path / "p")
        assert manifest.read_bytes() == whole


def test_columns_that_are_all_missing_give_no_warning_of_a_library() -> None:
    frame = small_frame(40).assign(nothing=np.nan)
    session = riskeval.ProtectionSession(frame, keys=["age", "sex"], numeric=["nothing", "income"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        session.risk()
        session.utility()


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 3000 + "]" * 3000, '"a\\u0000b"'])
def test_toml_that_breaks_parsers(tmp_path, text) -> None:
    from synthpop import load_runfile

    (tmp_path / "r.toml").write_text(f"[survey]\nfile = {text}\n", encoding="utf-8")
    with pytest.raises(InputError):
        load_runfile(tmp_path / "r.toml")


def test_households_of_a_study_may_lie_in_a_folder(tmp_path) -> None:
    people = small_pipeline().fit(small_survey(60), seed=1).simulate(out=tmp_path / "p")
    result = simulate_study(
        people, Cluster("hid", SimpleRandom(10)), {"age": mean_age}, repetitions=3, seed=1
    )
    frame = people.frame()
    whole = simulate_study(
        frame, Cluster("hid", SimpleRandom(10)), {"age": mean_age}, repetitions=3, seed=1
    )
    assert np.allclose(result.estimates["estimate"], whole.estimates["estimate"])
    assert isinstance(result.estimates, pd.DataFrame)


FRAME = small_frame(30)
TWICE = pd.concat([FRAME, FRAME[["age"]]], axis=1)
TEXTS = pd.Series(["a", "b", "c"])
COMPLEX = pd.Series([1 + 2j, 2, 3])
SEXES = pd.DataFrame({"sex": ["f", "m"], "total": [50.0, 50.0]})


def gives_nothing(sample) -> None:
    return None


def gives_text(sample) -> str:
    return "x"


def two_draws(estimator):
    return simulate_study(FRAME, SimpleRandom(5), {"bad": estimator}, repetitions=2, seed=1)


def session(frame=FRAME, **more):
    return riskeval.ProtectionSession(frame, keys=["sex"], **more)


REFUSED = {
    "nested formula": lambda: riskeval.loglinear_risk(
        FRAME, ["age", "sex"], weights="w", formula="~ " + "(" * 20_000 + "age" + ")" * 20_000
    ),
    "power of a formula": lambda: riskeval.loglinear_risk(
        FRAME, ["age", "sex"], weights="w", formula="~ (age + sex)^1000000000000"
    ),
    "text as sizes": lambda: sampling.inclusion_probabilities(TEXTS, 2),
    "text as probabilities": lambda: sampling.draw_unequal(TEXTS, np.random.default_rng(1)),
    "text as incomes": lambda: indicators.gini(TEXTS),
    "complex incomes": lambda: indicators.gini(COMPLEX),
    "complex values": lambda: synthpop.weighted.mean(COMPLEX, pd.Series([1.0, 1.0, 1.0])),
    "text as bounds": lambda: riskeval.utility.overlap(TEXTS, TEXTS, TEXTS, TEXTS),
    "an estimator without a value": lambda: two_draws(gives_nothing),
    "an estimator of text": lambda: two_draws(gives_text),
    "lists as keys": lambda: riskeval.k_anonymity(FRAME.assign(t=[[1]] * len(FRAME)), ["t"]),
    "a column twice, anneal": lambda: anneal(TWICE, Margin(SEXES), household="hid", seed=1),
    "a column twice, fit": lambda: assess_fit(small_survey(30), TWICE),
    "a column twice, totals": lambda: Margin(pd.concat([SEXES, SEXES], axis=1)),
    "a column twice, session": lambda: session(TWICE),
    "columns of several rows": lambda: Survey(
        FRAME.set_axis(pd.MultiIndex.from_product([["x"], FRAME.columns]), axis=1), weight="w"
    ),
    "negative dimension": lambda: riskeval.risky_cells(FRAME, ["age", "sex"], max_dimension=-5),
    "too many classes": lambda: riskeval.protect.global_recode(FRAME, "age", breaks=10**20),
    "an age of 1e20": lambda: correct_heaps(FRAME["age"], start=1e20, seed=1),
    "a level of -1": lambda: indicators.quantile_interval(FRAME["age"], level=-1),
    "a level of 2": lambda: indicators.mean(FRAME["age"]).with_variance(level=2).intervals,
    "weights in two columns": lambda: riskeval.k_anonymity(FRAME, ["sex"], weights=[[1.0]]),
    "a list as a name": lambda: riskeval.k_anonymity(FRAME, [["sex"]]),
    "no tolerance": lambda: calibrate(small_survey(30), Margin(100.0), tolerance=None),
    "replicates as text": lambda: indicators.bootstrap(
        small_survey(30), lambda s: 1.0, replicates="3", seed=1
    ),
    "pairs as groups": lambda: session().apply(
        "group_categories", column="sex", groups={("n", "s"): ["f"]}
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_an_error_of_ours(name) -> None:
    with pytest.raises(InputError):
        REFUSED[name]()


def test_numbers_at_the_edge() -> None:
    huge = pd.Series([1e308, 1.5e308, 1e307])
    assert 30 < indicators.gini(huge).values[0] < 40
    flags = pd.Series([True, False, True], dtype=object)
    assert sampling.inclusion_probabilities(flags, 2).tolist() == [1.0, 0.0, 1.0]
    whole = riskeval.interval_disclosure(FRAME, FRAME[::-1], ["age"], k=1e308, by="rank")
    assert whole.rate == 1.0
    assert effective_sample_size([1e300, 1e300]) == 2.0
    tuples = FRAME.assign(t=[(1, 2)] * len(FRAME))
    assert riskeval.k_anonymity(tuples, ["t"]).k == len(FRAME)


TWO = pd.DataFrame({"a": [1.0, 1e300, -1e300, 1e308], "b": [1.0, 2.0, 3.0, 1e307]})
IMMENSE = {
    "mean of an indicator": lambda: indicators.mean(TWO["a"] * 1.5e8, [1e308] * 4),
    "bytes as sizes": lambda: synthpop.profile_survey(
        pd.DataFrame({"hid": [1, 1, 2], "weight": 1.0, "hsize": [b"\xff", b"a", b"b"]})
    ),
    "fit": lambda: assess_fit(
        Survey(FRAME.assign(income=[1e300] * 3 + [0.0] * (len(FRAME) - 3)), weight=None),
        FRAME.assign(income=1.0),
    ),
    "mean": lambda: synthpop.weighted.mean(TWO["a"] * 1.5e8, [1e308] * 4),
    "correlation": lambda: synthpop.weighted.correlation(TWO["a"], TWO["b"]),
    "covariance": lambda: synthpop.weighted.covariance(TWO["a"], TWO["b"]),
    "mean excess": lambda: indicators.mean_excess(TWO["b"] * 10, [1e308] * 4),
    "design variance": lambda: indicators.design_variance([1e308] * 4, strata=[1, 1, 2, 2]),
    "profile": lambda: synthpop.profile_survey(
        FRAME.assign(weight=np.inf, income=1e308, other=1e308)
    ),
}


@pytest.mark.parametrize("name", IMMENSE)
def test_immense_numbers_give_no_warnings_of_libraries(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IMMENSE[name]()


def test_legends_in_any_script_give_no_warnings_of_fonts() -> None:
    figure = Figure(layout="constrained")
    figure.subplots()
    side_legend(figure, ["\u5317\u4eac", "\x00"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        put_title(figure, "Age")
        assert to_svg(figure, "key", "text").startswith("<svg")


def test_a_correlation_of_immense_numbers_is_that_of_smaller_ones() -> None:
    plain = TWO / 1e300
    expected = synthpop.weighted.correlation(plain["a"], plain["b"])
    assert synthpop.weighted.correlation(TWO["a"], TWO["b"]) == pytest.approx(expected)


def test_immense_numbers_and_weights_are_refused_with_their_rows() -> None:
    immense = FRAME.assign(age=1e200)
    calls = [
        lambda: riskeval.outlier_risk(immense, ["age"]),
        lambda: riskeval.interval_disclosure(immense, FRAME, ["age"]),
        lambda: riskeval.protect.add_noise(immense, ["age"], seed=1),
    ]
    for call in calls:
        with pytest.raises(InputError, match=r"beyond 1e\+100, too large to be squared"):
            call()
    with pytest.raises(InputError, match=r"weight is beyond 1e\+100"):
        Survey(FRAME.assign(w=1e200), weight="w")
    with pytest.raises(InputError, match="weight is below 1e-100"):
        riskeval.utility.propensity(FRAME.assign(w=5e-324), FRAME, ["age"], weights="w")


def test_what_would_be_repeated_without_end_is_refused() -> None:
    design, never = SimpleRandom(3), 10**20
    calls = [
        lambda: sampling.draw_setup(FRAME, design, n_samples=never, seed=1),
        lambda: simulate_study(FRAME, design, {"n": len}, repetitions=never, seed=1),
        lambda: indicators.bootstrap(
            indicators.gini, [1.0, 2.0, 3.0, 4.0], replicates=never, seed=1
        ),
        lambda: riskeval.utility.hellinger(FRAME, FRAME, "age", classes=never),
    ]
    for call in calls:
        with pytest.raises(InputError, match="to 1,000,000"):
            call()


def test_equal_values_have_no_richest_fifth_no_tail_and_no_outliers() -> None:
    equal = [5.0] * 100
    share_ratio = indicators.quintile_share_ratio(equal)
    assert np.isnan(share_ratio.value)
    assert share_ratio.summary() == "The quintile share ratio is not defined on these data."
    with pytest.raises(InputError, match="none lies above the threshold of 5"):
        indicators.pareto_tail(equal, k=10)
    outliers = riskeval.outlier_risk(pd.DataFrame({"income": equal}), ["income"])
    assert not outliers.above.any()
    assert riskeval.outlier_risk(pd.DataFrame({"income": [5.0]}), ["income"]).above.all()


def test_strata_are_named_by_any_sequence() -> None:
    levels = ("Vienna", "Salzburg", "Tyrol")
    for names in (np.array(["Tyrol", "Vienna"]), pd.Index(["Tyrol", "Vienna"])):
        assert chosen_strata(names, levels, "region") == [0, 2]


def test_counts_are_estimated_of_one_column() -> None:
    matrix = pd.DataFrame(np.eye(2), [*"fm"], [*"fm"])
    with pytest.raises(InputError, match="is not a column"):
        riskeval.protect.estimate_counts(FRAME[["sex"]], matrix)


def test_complex_numbers_are_refused() -> None:
    whirl = np.array([1 + 2j, 2 + 1j])
    for call in (
        lambda: correct_heaps(whirl, seed=1),
        lambda: indicators.equivalised_income([1, 1], whirl, [30, 40]),
        lambda: synthpop.weighted.correlation(np.column_stack([whirl, whirl])),
    ):
        with pytest.raises(InputError, match="numbers"):
            call()


def test_an_indicator_without_errors_has_no_intervals() -> None:
    with pytest.raises(InputError, match="Call with_variance first"):
        indicators.gini([1.0, 2.0]).intervals_at(0.9)
    with pytest.raises(InputError, match="years: there are none"):
        indicators.over_years(indicators.gini, [], years=[])
    with pytest.raises(InputError, match="2 dimensions"):
        indicators.gini(np.ones((2, 2)))


def test_bytes_that_a_library_cannot_unpack_are_a_fault_of_the_file(tmp_path) -> None:
    path = tmp_path / "file.rds"
    synthpop.write_table(pd.DataFrame({"a": range(100)}), path)
    data = bytearray(path.read_bytes())
    data[20:40] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        synthpop.read_table(path)


def test_a_damaged_label_of_a_study_is_told(tmp_path) -> None:
    people = small_frame(30)
    study(tmp_path / "s", people, mean_age)
    for text in ("", "[]", '{"identity": 5'):
        (tmp_path / "s" / "study.json").write_text(text)
        with pytest.raises(OutputError, match=r"study\.json is damaged"):
            study(tmp_path / "s", people, mean_age)


@pytest.mark.parametrize("text", ["limits = 3", "options = 3", "[options]\nsuda = 3", "assess = 3"])
def test_values_in_the_place_of_tables(tmp_path, text) -> None:
    (tmp_path / "f.csv").write_text("a,b\nx,1\ny,2\nx,3\n", encoding="utf-8")
    assessed = "" if "assess" in text else '[assess]\nkeys = ["a"]\n'
    first, last = ("", text) if text.startswith("[") else (text, "")
    plan = f'{first}\n[data]\nfile = "f.csv"\n{assessed}{last}\n'
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    with pytest.raises(InputError):
        riskeval.assess_file(tmp_path / "plan.toml")
