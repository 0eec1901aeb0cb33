from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import indicators
from synthpop.microdata.errors import InputError, OutputError
from synthpop.microdata.survey import Survey
from synthpop.sampling import (
    Cluster,
    ContaminateAtRandom,
    MissingItems,
    MissingUnits,
    Proportional,
    SimpleRandom,
    Stratified,
    Study,
    simulate_study,
)
from synthpop.sampling.study_figures import TRUTH


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, 1500)
    n = int(sizes.sum())
    return pd.DataFrame(
        {
            "hid": np.repeat(np.arange(1500), sizes),
            "region": np.repeat(np.array(["a", "b", "c"])[np.arange(1500) // 500], sizes),
            "sex": np.array(["m", "f"])[rng.integers(0, 2, n)],
            "income": np.repeat(rng.lognormal(9, 0.5, 1500), sizes),
        }
    )


DESIGN = Stratified(Proportional(150), by="region", within=Cluster("hid", SimpleRandom(1)))


def gini(survey: Survey) -> indicators.Indicator:
    return indicators.gini(survey.frame["income"], survey.weights).with_variance(
        strata=survey.frame.get("region") if survey.roles.psu else None,
        cluster=survey.frame["hid"],
    )


def mean_by_region(survey: Survey) -> indicators.Indicator:
    return indicators.mean(survey.frame["income"], survey.weights, by=survey.frame["region"])


def total(survey: Survey) -> float:
    return float(np.dot(survey.weights, survey.frame["income"]))


def test_study_is_unbiased_and_covers(people: pd.DataFrame) -> None:
    study = simulate_study(people, DESIGN, {"gini": gini, "total": total}, repetitions=200, seed=1)
    table = study.table
    assert table.loc[("total", "all"), "truth"] == pytest.approx(people["income"].sum())
    for key in table.index:
        row = table.loc[key]
        assert abs(row["bias"]) < 4 * row["bias_mc"] + 0.005 * abs(row["truth"])
    assert 0.85 < table.loc[("gini", "all"), "coverage"] <= 1
    assert table.loc[("gini", "all"), "standard_error_ratio"] == pytest.approx(1, abs=0.15)
    assert np.isnan(table.loc[("total", "all"), "coverage"])


def test_table_reads_like_its_definitions(people: pd.DataFrame) -> None:
    study = simulate_study(people, DESIGN, {"gini": gini}, repetitions=30, seed=1)
    x = study.estimates["estimate"].to_numpy()
    truth = study.truth["gini", "all"]
    assert truth == pytest.approx(indicators.gini(people["income"]).value)
    row = study.table.loc[("gini", "all")]
    assert row["mean"] == pytest.approx(x.mean())
    assert row["bias"] == pytest.approx(x.mean() - truth)
    assert row["relative_bias"] == pytest.approx((x.mean() - truth) / truth)
    assert row["variance"] == pytest.approx(x.var(ddof=1))
    assert row["rmse"] == pytest.approx(np.sqrt(((x - truth) ** 2).mean()))
    inside = (study.estimates["lower"] <= truth) & (truth <= study.estimates["upper"])
    assert row["coverage"] == pytest.approx(inside.mean())
    length = (study.estimates["upper"] - study.estimates["lower"]).mean()
    assert row["length"] == pytest.approx(length)
    assert row["bias_mc"] == pytest.approx(x.std(ddof=1) / np.sqrt(30))
    squared = (x - truth) ** 2
    spread = squared.std(ddof=1) / np.sqrt(30)
    assert row["rmse_mc"] == pytest.approx(spread / (2 * row["rmse"]))
    share = inside.mean()
    assert row["coverage_mc"] == pytest.approx(np.sqrt(share * (1 - share) / 30))
    assert row["relative_bias_mc"] == pytest.approx(row["bias_mc"] / truth)
    lengths = study.estimates["upper"] - study.estimates["lower"]
    assert row["length_mc"] == pytest.approx(lengths.std() / np.sqrt(30))
    fourth = ((x - x.mean()) ** 4).mean()
    of_variance = (fourth - x.var(ddof=1) ** 2 * 27 / 29) / 30
    assert row["variance_mc"] == pytest.approx(np.sqrt(of_variance))
    assert study.to_frame().equals(study.table)
    assert "intervals cover it" in study.summary()


def test_monte_carlo_errors_are_those_of_many_studies() -> None:
    """The errors of one study are the spread of its numbers over studies (skewed estimates)."""
    rng = np.random.default_rng(3)
    tables = []
    for _ in range(400):
        x = rng.gamma(4.0, 1.0, 200)
        half = rng.uniform(1.0, 7.0, 200)
        estimates = pd.DataFrame(
            {"repetition": np.arange(200), "estimator": "x", "domain": "all", "estimate": x,
             "standard_error": half / 2, "lower": x - half, "upper": x + half}
        )  # fmt: skip
        truth = pd.Series({("x", "all"): 3.5})
        tables.append(Study(estimates, truth, 200, 1, 0.95).table.loc[("x", "all")])
    rows = pd.DataFrame(tables)
    for name in ("bias", "relative_bias", "variance", "rmse", "coverage", "length"):
        assert rows[f"{name}_mc"].mean() == pytest.approx(rows[name].std(), rel=0.15), name


def test_any_number_of_workers_gives_the_same(people: pd.DataFrame) -> None:
    call = {
        "repetitions": 25,
        "seed": 4,
        "contamination": ContaminateAtRandom("income", 0.02, mean=1e6),
        "missing": [MissingUnits(0.1, whole="hid"), MissingItems("income", 0.1)],
    }
    estimators = {"gini": gini, "mean": mean_by_region}
    one = simulate_study(people, DESIGN, estimators, workers=1, **call)
    three = simulate_study(people, DESIGN, estimators, workers=3, **call)
    pd.testing.assert_frame_equal(one.estimates, three.estimates)
    fewer = simulate_study(people, DESIGN, estimators, **{**call, "repetitions": 7})
    pd.testing.assert_frame_equal(
        fewer.estimates, one.estimates[one.estimates["repetition"] < 7].reset_index(drop=True)
    )


def test_steps_do_what_they_say(people: pd.DataFrame) -> None:
    call = {"repetitions": 12, "seed": 2}

    def count(survey: Survey) -> float:
        return float(survey.n_persons)

    def largest(survey: Survey) -> float:
        return float(survey.frame["income"].max())

    def holes(survey: Survey) -> float:
        return float(survey.frame["income"].isna().mean())

    named = {"count": count, "largest": largest, "holes": holes}
    plain = simulate_study(people, DESIGN, named, **call).table["mean"]
    dirty = simulate_study(
        people, DESIGN, named, contamination=ContaminateAtRandom("income", 0.1, mean=1e9), **call
    ).table["mean"]
    assert dirty["count", "all"] == plain["count", "all"]  # the same samples are drawn
    assert dirty["largest", "all"] > 1e8
    lost = simulate_study(people, DESIGN, named, missing=MissingItems("income", 0.3), **call)
    assert lost.table["mean"]["holes", "all"] == pytest.approx(0.3, abs=0.05)
    named_else = MissingItems("income", 0.3, name="other holes")
    other = simulate_study(people, DESIGN, named, missing=named_else, **call)
    assert other.table["mean"]["holes", "all"] != lost.table["mean"]["holes", "all"]
    units = simulate_study(people, DESIGN, named, missing=MissingUnits(0.5), **call)
    assert units.table["mean"]["count", "all"] < 0.6 * plain["count", "all"]


def test_calibration_in_every_repetition(people: pd.DataFrame) -> None:
    counts = people["sex"].value_counts()

    def to_sex(survey: Survey) -> Survey:
        now = pd.Series(survey.weights).groupby(survey.frame["sex"].to_numpy()).sum()
        g = (counts / now).reindex(survey.frame["sex"]).to_numpy()
        return survey.with_weights(survey.weights * g)

    def men(survey: Survey) -> float:
        return float(survey.weights[survey.frame["sex"] == "m"].sum())

    def as_weights(survey: Survey) -> np.ndarray:
        return to_sex(survey).weights

    call = {"repetitions": 10, "seed": 2}
    person_design = SimpleRandom(300)
    free = simulate_study(people, person_design, {"men": men}, **call).table
    assert free["variance"].iloc[0] > 1
    for step in (to_sex, as_weights):
        tied = simulate_study(people, person_design, {"men": men}, calibrate=step, **call).table
        assert tied["variance"].iloc[0] < 1e-12
        assert tied["bias"].iloc[0] == pytest.approx(0, abs=1e-6)


def test_calibration_to_margins(people: pd.DataFrame) -> None:
    calibration = pytest.importorskip("synthpop.calibration")
    counts = people.groupby(["sex", "region"]).size().rename("total").reset_index()
    margins = [calibration.Margin(counts)]

    def men(survey: Survey) -> float:
        return float(survey.weights[survey.frame["sex"] == "m"].sum())

    tied = simulate_study(
        people, SimpleRandom(400), {"men": men}, calibrate=margins, repetitions=4, seed=1
    ).table
    assert tied["bias"].iloc[0] == pytest.approx(0, abs=0.1)
    draws = indicators.bootstrap(
        lambda data, w: float(w[data["sex"] == "m"].sum()),
        people.iloc[:600],
        weights=np.full(600, len(people) / 600),
        calibrate=[calibration.Margin(people.groupby("sex").size().rename("total").reset_index())],
        replicates=4,
        seed=1,
    )
    np.testing.assert_allclose(draws.replicates, (people["sex"] == "m").sum(), rtol=1e-4)


def test_interrupted_study_goes_on(people: pd.DataFrame, tmp_path) -> None:  # type: ignore[no-untyped-def]
    whole = simulate_study(people, DESIGN, {"mean": mean_by_region}, repetitions=35, seed=4)
    calls = []

    def stops(survey: Survey) -> indicators.Indicator:
        calls.append(1)
        if len(calls) == 27:
            raise KeyboardInterrupt
        return mean_by_region(survey)

    with pytest.raises(KeyboardInterrupt):
        simulate_study(
            people, DESIGN, {"mean": stops}, repetitions=35, seed=4, out=tmp_path / "study"
        )
    events = []
    again = simulate_study(
        people,
        DESIGN,
        {"mean": mean_by_region},
        repetitions=35,
        seed=4,
        out=tmp_path / "study",
        on_event=events.append,
    )
    assert events[0].done == 20
    assert [event.kind for event in events][-1] == "end"
    pd.testing.assert_frame_equal(whole.estimates, again.estimates, check_dtype=False)
    assert whole.table.round(9).equals(again.table.round(9))
    with pytest.raises(OutputError, match="another study"):
        simulate_study(
            people, DESIGN, {"mean": mean_by_region}, repetitions=35, seed=5, out=tmp_path / "study"
        )


def test_arguments_are_honoured(people: pd.DataFrame) -> None:
    call = {"repetitions": 6, "seed": 1}
    base = simulate_study(people, DESIGN, {"gini": gini}, **call)
    assert base.seed == 1
    other = simulate_study(people, DESIGN, {"gini": gini}, repetitions=6, seed=2)
    assert not base.estimates["estimate"].equals(other.estimates["estimate"])
    wide = simulate_study(people, DESIGN, {"gini": gini}, level=0.99, **call)
    assert (wide.table["length"] > base.table["length"]).all()
    given = simulate_study(people, DESIGN, {"gini": gini}, truth={"gini": 50.0}, **call)
    assert given.table["truth"].iloc[0] == 50
    by_domain = simulate_study(
        people, DESIGN, {"mean": mean_by_region}, truth={"mean": {"a": 1.0}}, **call
    )
    assert by_domain.table["truth"]["mean", "a"] == 1
    assert np.isnan(by_domain.table["truth"]["mean", "b"])
    listed = simulate_study(people, DESIGN, [gini], **call)
    assert listed.table.index[0] == ("gini", "all")
    seen = []
    simulate_study(
        people,
        SimpleRandom(10),
        [lambda survey: seen.append((tuple(survey.frame), survey.roles.household)) or 1.0],
        columns=["income", "hid"],
        household="hid",
        repetitions=1,
    )
    assert "sex" not in seen[-1][0]
    assert seen[-1][1] == "hid"


def test_estimators_may_return_many_things(people: pd.DataFrame) -> None:
    def bootstrapped(survey: Survey) -> indicators.Bootstrap:
        return indicators.bootstrap(
            indicators.gini,
            survey.frame["income"],
            weights=survey.weights,
            replicates=20,
            seed=1,
        )

    study = simulate_study(
        people,
        SimpleRandom(200),
        {
            "bootstrap": bootstrapped,
            "mapping": lambda s: {"x": 1.0, 2: 3.0},
            "series": lambda s: s.frame.groupby("region")["income"].mean(),
        },
        repetitions=3,
        seed=1,
        truth={"bootstrap": indicators.gini(people["income"])},
    )
    assert study.table.loc[("bootstrap", "all"), "length"] > 0
    assert study.table.loc[("mapping", 2), "mean"] == 3
    assert np.isnan(study.table.loc[("mapping", 2), "truth"])
    assert study.table.loc[("series", "b"), "repetitions"] == 3


def test_figures(people: pd.DataFrame) -> None:
    study = simulate_study(
        people, DESIGN, {"gini": gini, "mean": mean_by_region}, repetitions=8, seed=1
    )
    for kind in ("box", "density"):
        figure = study.figure(kind=kind)
        assert len(figure.axes) == 2
    narrow = study.figure(domains=["a", "b"])
    assert len(narrow.axes[-1].get_xticklabels()) == 2
    assert len(study.figure(kind="density", domains=["a", "b"]).axes[-1].lines) == 4
    turned = study.figure(domains=["b", "a"]).axes[-1]
    assert [label.get_text() for label in turned.get_xticklabels()] == ["b", "a"]
    truths = [line.get_ydata()[0] for line in turned.lines if line.get_color() == TRUTH]
    assert truths == [study.truth["mean", "b"], study.truth["mean", "a"]]
    with pytest.raises(InputError, match="kind"):
        study.figure(kind="violin")
    with pytest.raises(InputError, match="'d' is none"):
        study.figure(domains=["a", "d"])


def test_faults(people: pd.DataFrame) -> None:
    with pytest.raises(InputError) as caught:
        simulate_study(people, DESIGN, {"a": 3}, repetitions=0, level=3, workers=0)  # type: ignore[dict-item]
    assert len(caught.value.faults) == 4
    with pytest.raises(InputError, match="there are none"):
        simulate_study(people, DESIGN, {}, repetitions=1)


@pytest.mark.slow
def test_coverage_of_the_whole_chain(people: pd.DataFrame) -> None:
    """Stratified households, linearised variance: intervals cover as they say."""
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 5, 40_000)
    large = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(40_000), sizes),
            "region": np.repeat(np.array(["a", "b", "c", "d"])[np.arange(40_000) // 10_000], sizes),
            "income": np.repeat(rng.lognormal(9, 0.5, 40_000), sizes),
        }
    )
    design = Stratified(Proportional(800), by="region", within=Cluster("hid", SimpleRandom(1)))
    estimators = {
        name: lambda s, f=function: f(s.frame["income"], s.weights).with_variance(
            strata=s.frame["region"] if s.roles.psu else None, cluster=s.frame["hid"]
        )
        for name, function in (
            ("gini", indicators.gini),
            ("arpr", indicators.at_risk_of_poverty),
            ("median", indicators.median),
            ("mean", indicators.mean),
        )
    }
    table = simulate_study(large, design, estimators, repetitions=800, seed=1).table
    assert table["coverage"].between(0.93, 0.975).all()
    assert (table["bias"].abs() < 0.02 * table["truth"]).all()
