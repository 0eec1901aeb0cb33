from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from synthpop import indicators
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.microdata.messages.events import Event
from synthpop.microdata.roles.survey import Survey
from synthpop.sampling import (
    Cluster,
    ContaminateAtRandom,
    MissingItems,
    MissingUnits,
    Proportional,
    SimpleRandom,
    Stratified,
    Study,
    draw_setup,
    levels_of_rate,
    read_setup,
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
        strata=survey.frame.get("region") if survey.roles.psu else None, cluster=survey.frame["hid"]
    )


def mean_by_region(survey: Survey) -> indicators.Indicator:
    return indicators.mean(survey.frame["income"], survey.weights, by=survey.frame["region"])


def total(survey: Survey) -> float:
    return float(np.dot(survey.weights, survey.frame["income"]))


def test_study_is_unbiased_and_covers(people: pd.DataFrame) -> None:
    study = simulate_study(people, DESIGN, {"gini": gini, "total": total}, repetitions=120, seed=1)
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
    for _ in range(120):
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
        assert rows[f"{name}_mc"].mean() == pytest.approx(rows[name].std(), rel=0.25), name


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
    call = {"repetitions": 35, "seed": 4}
    whole = simulate_study(people, DESIGN, {"mean": mean_by_region}, **call)

    def stop(event: Event) -> None:
        if event.done == 20:
            raise KeyboardInterrupt

    named = {"mean": mean_by_region}
    with pytest.raises(KeyboardInterrupt):
        simulate_study(people, DESIGN, named, out=tmp_path / "study", on_event=stop, **call)
    events = []
    again = simulate_study(
        people, DESIGN, named, out=tmp_path / "study", on_event=events.append, **call
    )
    assert events[0].done == 20
    assert [event.kind for event in events][-1] == "end"
    pd.testing.assert_frame_equal(whole.estimates, again.estimates)
    assert whole.table.equals(again.table)
    with pytest.raises(OutputError, match="another study"):
        simulate_study(people, DESIGN, named, out=tmp_path / "study", repetitions=35, seed=5)


def test_a_folder_belongs_to_one_population_and_to_the_code_of_the_functions(
    people: pd.DataFrame,
    tmp_path,  # type: ignore[no-untyped-def]
) -> None:
    """Other functions under the same names gave the stored numbers of the first."""
    truth = {"mean": 0.0}

    def income(survey: Survey) -> float:
        return float(survey.frame["income"].mean())

    def incomes_twice(survey: Survey) -> float:
        return 2 * float(survey.frame["income"].mean())

    def study(function=income, data=people, draw=1.0, factor=1.0, **options):  # type: ignore[no-untyped-def]
        dirty = ContaminateAtRandom(
            "income", 0.1, draw=lambda rng, size: draw * rng.standard_normal(size)
        )
        call = {"contamination": dirty, "calibrate": lambda s: s.weights * factor, **options}
        return simulate_study(
            data, SimpleRandom(50), {"mean": function}, repetitions=3, seed=1, truth=truth,
            out=tmp_path / "study", **call,
        )  # fmt: skip

    first = study()
    assert study().estimates.equals(first.estimates)
    changed = people.assign(income=people["income"] + 1)
    for other in (
        {"function": incomes_twice},
        {"data": changed},
        {"draw": 1e6},
        {"factor": 2.0},
        {"missing": MissingUnits(0.1)},
        {"household": "hid"},
    ):
        with pytest.raises(OutputError, match="another study"):
            study(**other)


def test_changed_and_copied_parts_are_refused(people: pd.DataFrame, tmp_path) -> None:  # type: ignore[no-untyped-def]
    call = {"repetitions": 12, "seed": 1, "out": tmp_path / "study"}
    simulate_study(people, SimpleRandom(50), {"total": total}, **call)
    part = sorted((tmp_path / "study").glob("part-*.parquet"))[0]
    copy = part.with_name(part.name.replace("0000000", "0000020"))
    copy.write_bytes(part.read_bytes())
    with pytest.raises(OutputError, match="was changed"):
        simulate_study(people, SimpleRandom(50), {"total": total}, **call)
    copy.unlink()
    table = pd.read_parquet(part)
    table.loc[0, "estimate"] = 0.0
    table.to_parquet(part)
    with pytest.raises(OutputError, match="was changed"):
        simulate_study(people, SimpleRandom(50), {"total": total}, **call)


def test_failures_are_recorded_and_do_not_end_the_study(people: pd.DataFrame, tmp_path) -> None:  # type: ignore[no-untyped-def]
    def sometimes(survey: Survey) -> float:
        if survey.n_persons < len(people) and survey.frame["hid"].min() > 5:
            raise ValueError("no convergence")
        return 1.0

    def nothing(survey: Survey) -> float:
        return "none" if survey.n_persons < len(people) else 1.0  # type: ignore[return-value]

    def breaks(survey: Survey) -> Survey:
        if survey.frame["hid"].max() < 1490:
            raise ArithmeticError("no solution")
        return survey

    call = {"repetitions": 40, "seed": 1, "calibrate": breaks}
    named = {"sometimes": sometimes, "nothing": nothing, "total": total}
    study = simulate_study(people, SimpleRandom(200), named, **call)
    reasons = study.failures
    whole = reasons[reasons["estimator"] == ""]
    assert 0 < len(whole) < 40
    assert (whole["reason"] == "ArithmeticError: no solution").all()
    single = reasons[reasons["estimator"] == "sometimes"]
    assert 0 < len(single) < 40 - len(whole)
    assert (single["reason"] == "ValueError: no convergence").all()
    text = reasons.loc[reasons["estimator"] == "nothing", "reason"]
    assert len(text) == 40 - len(whole)
    assert text.str.contains("'none', which is not a number").all()
    table = study.table
    assert table.loc[("sometimes", "all"), "failed"] == len(whole) + len(single)
    assert table.loc[("total", "all"), "failed"] == len(whole)
    assert table.loc[("total", "all"), "repetitions"] == 40 - len(whole)
    assert "failures were left out; the first" in study.summary()
    for _ in range(2):
        stored = simulate_study(people, SimpleRandom(200), named, out=tmp_path / "s", **call)
        pd.testing.assert_frame_equal(stored.failures, study.failures)
    with pytest.raises(InputError, match="estimator broken: fails on the population itself"):
        simulate_study(people, SimpleRandom(9), {"broken": lambda s: s.nowhere}, repetitions=1)


def test_levels_of_contamination_and_missing_values_are_crossed(people: pd.DataFrame) -> None:
    rates = [0.0, 0.05, 0.2]
    dirty = levels_of_rate(ContaminateAtRandom("income", 0.1, mean=1e5), rates)
    holes = {"none": None, "many": MissingItems("income", 0.3)}

    def average(survey: Survey) -> indicators.Indicator:
        return indicators.mean(survey.frame["income"], survey.weights).with_variance()

    call = {"repetitions": 12, "seed": 3}
    study = simulate_study(
        people, SimpleRandom(400), {"mean": average}, contamination=dirty, missing=holes, **call
    )
    assert study.grid == ("contamination", "missing")
    assert len(study.estimates) == 12 * 6
    for rate in rates:
        alone = simulate_study(
            people, SimpleRandom(400), {"mean": average}, contamination=dirty[rate], **call
        )
        part = study.at(contamination=rate, missing="none")
        np.testing.assert_array_equal(part.estimates["estimate"], alone.estimates["estimate"])
        pd.testing.assert_frame_equal(part.table, alone.table)
    curves = study.curves("bias")
    assert curves.index.tolist() == rates
    bias = curves[("none", "mean", "all")].to_numpy()
    assert bias[0] < bias[1] < bias[2]
    assert bias[2] == pytest.approx(0.2 * (1e5 - people["income"].mean()), rel=0.1)
    other = study.curves("rmse", over="missing")
    assert other.index.tolist() == ["none", "many"]
    assert "mean (contamination 0.05, missing many)" in study.summary()
    figure = study.figure(kind="curve", measure="rmse")
    lines = figure.axes[0].lines
    assert len(lines) == 2
    np.testing.assert_allclose(lines[0].get_xdata(), rates)
    rmse = study.curves("rmse")[("none", "mean", "all")]
    np.testing.assert_allclose(lines[0].get_ydata(), rmse)
    with pytest.raises(InputError, match="several levels"):
        study.figure(kind="box")
    with pytest.raises(InputError, match="is not a level"):
        study.at(contamination=0.5)
    with pytest.raises(InputError, match="no levels of 'missing'"):
        simulate_study(people, SimpleRandom(40), [total], contamination=dirty, **call).curves(
            over="missing"
        )


def test_a_population_for_each_repetition() -> None:
    def generate(rng: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame({"x": rng.normal(rng.normal(10, 3), 1.0, 400)})

    def average(survey: Survey) -> indicators.Indicator:
        return indicators.mean(survey.frame["x"], survey.weights).with_variance(fpc=400)

    call = {"repetitions": 100, "seed": 2}
    study = simulate_study(generate, SimpleRandom(50), {"mean": average}, **call)
    row = study.table.loc[("mean", "all")]
    assert row["rmse"] < 0.2  # against the truth of each population
    assert row["variance"] > 4  # which differ
    assert 0.9 < row["coverage"] <= 1
    assert row["standard_error_ratio"] == pytest.approx(1, abs=0.15)
    assert study.estimates["truth"].nunique() == 100
    sample = simulate_study(generate, None, {"mean": average}, truth={"mean": 10.0}, **call)
    assert sample.table.loc[("mean", "all"), "rmse"] == pytest.approx(3, rel=0.2)
    same = simulate_study(generate, SimpleRandom(50), {"mean": average}, workers=3, **call)
    pd.testing.assert_frame_equal(same.estimates, study.estimates)


def test_stored_samples(people: pd.DataFrame, tmp_path) -> None:  # type: ignore[no-untyped-def]
    setup = draw_setup(people, DESIGN, n_samples=12, seed=4)
    direct = simulate_study(people, DESIGN, {"gini": gini}, repetitions=12, seed=4)
    stored = simulate_study(people, setup, {"gini": gini}, repetitions=12, seed=4)
    pd.testing.assert_frame_equal(direct.estimates, stored.estimates)
    setup.write(tmp_path / "setup.parquet")
    again = read_setup(tmp_path / "setup.parquet")
    assert again.summary() == setup.summary()
    for one, other in zip(setup.surveys(people), again.surveys(people), strict=True):
        pd.testing.assert_frame_equal(one.frame, other.frame)
        assert one.roles == other.roles
    with pytest.raises(InputError, match="Give as many"):
        simulate_study(people, setup, {"gini": gini}, repetitions=13)
    with pytest.raises(InputError, match="drawn from"):
        simulate_study(people.iloc[1:], setup, {"gini": gini}, repetitions=3)
    people.to_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match="is not a sample set-up"):
        read_setup(tmp_path / "other.parquet")


def test_bias_coverage_and_zipper_figures(people: pd.DataFrame) -> None:
    study = simulate_study(
        people, DESIGN, {"gini": gini, "mean": mean_by_region}, repetitions=30, seed=1
    )
    table = study.table
    bias = study.figure(kind="bias").axes[0]
    np.testing.assert_allclose(
        bias.lines[0].get_ydata(), [100 * table.loc[("gini", "all"), "relative_bias"]]
    )
    coverage = study.figure(kind="coverage").axes[0]
    assert [line.get_ydata()[0] for line in coverage.lines][-1] == 95
    zipper = study.figure(kind="zipper", unit="%").axes[0]
    segments = zipper.collections[0].get_segments()
    assert len(segments) == 30
    colours = zipper.collections[0].get_colors()
    red = np.array([to_hex(c) == TRUTH.lower() for c in colours])
    missed = [not (segment[0, 0] <= 0 <= segment[1, 0]) for segment in segments]
    assert red.tolist() == missed
    assert zipper.get_xlabel() == "estimate (%) less true value"
    assert study.figure(unit="EUR").axes[0].get_ylabel() == "estimate (EUR)"


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
            indicators.gini, survey.frame["income"], weights=survey.weights, replicates=20, seed=1
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
