"""Faults that were measured in the reference package do not happen here, one test each.

The numbers are those of the list of faults; the designed inputs are small. What must hold is the
name of the test.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import genpareto

import synthpop
from synthpop import (
    Anneal,
    Binned,
    Categorical,
    Cluster,
    Components,
    Continuous,
    Derive,
    Margin,
    Pipeline,
    Relation,
    SimpleRandom,
    Structure,
    Survey,
    anneal,
    calibrate,
    draw_sample,
    heaping,
    tails,
)
from synthpop.evaluation.assess_fit import assess_fit
from synthpop.microdata.messages.errors import InputError
from synthpop.stages.distribute import distribute
from tests.continuous import continuous
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame, small_stages, small_survey

SEX = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [4000.0, 3400.0]}))
REGION = Margin(
    pd.DataFrame({"region": ["north", "south", "west"], "total": [4000.0, 2000.0, 1400.0]})
)


def flat(frame: pd.DataFrame, **roles: str) -> Survey:
    """Persons without households, weight 1 where there is none."""
    frame = frame if "w" in frame else frame.assign(w=1.0)
    return Survey(frame, weight="w", **roles)


def simulated(survey: Survey, *stages: Any, scale: float = 1.0, seed: int = 1) -> pd.DataFrame:
    return Pipeline(list(stages)).fit(survey, seed=seed).simulate(scale=scale).frame()


# 1 to 4: calibration


def test_01_every_option_of_the_calibration_is_taken_and_has_an_effect() -> None:
    survey = small_survey()
    free = calibrate(survey, [SEX, REGION])
    bound = calibrate(survey, [SEX, REGION], method="logit", bounds=(0.5, 1.25), tolerance=1e-9)
    assert bound.converged
    assert bound.g.min() >= 0.5
    assert bound.g.max() <= 1.25 < free.g.max()
    assert bound.margins["relative_error"].abs().max() <= 1e-9
    rough = calibrate(survey, [SEX, REGION], tolerance=0.05, max_iterations=500)
    assert rough.iterations < free.iterations
    with pytest.warns(UserWarning, match=r"\w"):
        assert not calibrate(survey, [SEX, REGION], method="ipu", max_iterations=1).converged


def test_02_totals_that_cannot_be_met_are_told_and_weights_stay_there() -> None:
    survey = small_survey()
    with pytest.raises(InputError, match="is out of reach: the sample has"):
        calibrate(survey, [SEX, REGION], method="logit", bounds=(0.999, 1.001))
    with pytest.warns(UserWarning, match=r"\d"):
        result = calibrate(survey, [SEX, REGION], max_iterations=1, tolerance=1e-12)
    assert not result.converged
    assert len(result.g) == survey.n_persons
    assert np.isfinite(result.g).all()
    assert result.margins["relative_error"].abs().max() > 1e-12


def test_02_numbers_of_other_widths_are_the_same_numbers_and_missing_is_a_cell() -> None:
    frame = pd.DataFrame({"size": [8, 8, 12, 12, np.nan, np.nan], "w": 1.0})
    table = pd.DataFrame({"size": [8, 12, np.nan], "total": [3.0, 5.0, 4.0]})
    result = calibrate(flat(frame), Margin(table))
    text = Margin(table[:2].assign(size=["8", "12"]))
    whole = calibrate(flat(frame[:4].astype({"size": int})), text)
    np.testing.assert_allclose(whole.survey.weights, [1.5, 1.5, 2.5, 2.5])
    assert result.converged
    np.testing.assert_allclose(result.survey.weights, [1.5, 1.5, 2.5, 2.5, 2.0, 2.0])


@pytest.mark.parametrize("method", ["linear", "raking", "logit", "ipu"])
def test_03_two_margins_are_both_met_though_their_indicators_are_collinear(method: str) -> None:
    survey = small_survey()
    total = float(SEX.targets.sum())
    regions = REGION.targets * (total / REGION.targets.sum())
    margin = Margin(
        pd.DataFrame({"region": ["north", "south", "west"], "total": np.asarray(regions)})
    )
    result = calibrate(survey, [SEX, margin], method=method, household_equal=method == "ipu")
    assert result.converged
    assert result.margins["relative_error"].abs().max() < 1e-5


def test_04_the_example_of_ye_converges_and_starts_from_design_weights() -> None:
    """Ye, Konduri, Pendyala, Sana and Waddell (2009), table 1: 8 households, 23 persons."""
    kinds = [1, 1, 1, 2, 2, 2, 2, 2]
    persons = [(1, 1, 1), (1, 0, 1), (2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 1, 0), (2, 1, 2),
               (1, 1, 0)]  # fmt: skip
    rows = [
        {"hid": home, "kind": kinds[home], "type": kind + 1, "w": 1.0, "d": 1.0 + home}
        for home, counts in enumerate(persons)
        for kind, count in enumerate(counts)
        for _ in range(count)
    ]
    frame = pd.DataFrame(rows)
    margins = [
        Margin(pd.DataFrame({"kind": [1, 2], "total": [35.0, 65.0]}), level="household"),
        Margin(pd.DataFrame({"type": [1, 2, 3], "total": [91.0, 65.0, 104.0]})),
    ]
    result = calibrate(
        Survey(frame, weight="w", household="hid"), margins, method="ipu", tolerance=1e-8,
        max_iterations=20_000,
    )  # fmt: skip
    assert result.converged
    assert result.margins["relative_error"].abs().max() < 1e-7
    weights = result.survey.frame.groupby("hid")["w"].first().to_numpy()
    assert weights[0] == pytest.approx(1.36, abs=0.02)  # printed there
    other = calibrate(
        Survey(frame, weight="d", household="hid"), margins, method="ipu", tolerance=1e-8,
        max_iterations=20_000,
    )  # fmt: skip
    assert not np.allclose(other.survey.weights, result.survey.weights, rtol=0.01)


# 5 and 6: relations


def families(levels: tuple[str, ...]) -> Survey:
    """Of three persons each: spouses often of the head's faith, the third one seldom."""
    rng = np.random.default_rng(1)
    n = 800
    head = rng.choice(len(levels), n)
    spouse = np.where(rng.random(n) < 0.8, head, rng.choice(len(levels), n))
    other = np.where(rng.random(n) < 0.2, head, rng.choice(len(levels), n))
    faith = np.column_stack([head, spouse, other]).ravel()
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(n), 3),
            "role": np.tile(["head", "spouse", "other"], n),
            "region": np.repeat(np.where(np.arange(n) < 400, "A", "B"), 3),
            "faith": np.array(levels)[faith],
        }
    )
    return flat(frame, household="hid", strata="region")


def same_as_head(people: pd.DataFrame, role: str) -> float:
    values = people["faith"].astype(str).to_numpy().reshape(-1, 3)
    return float((values[:, 0] == values[:, {"spouse": 1, "other": 2}[role]]).mean())


def test_05_only_direct_relations_take_the_value_of_the_head() -> None:
    survey = families(("x", "y", "z"))
    agree = {role: same_as_head(survey.frame, role) for role in ("spouse", "other")}
    stage: dict[str, Any] = {
        "relationship": "role", "head": "head", "predictors": ["role"], "model": "empirical",
    }  # fmt: skip
    people = simulated(survey, Structure(["role"]), Relation("faith", **stage), scale=4)
    for role, wanted in agree.items():
        assert same_as_head(people, role) == pytest.approx(wanted, abs=0.04)
    direct = simulated(
        survey, Structure(["role"]), Relation("faith", direct=["spouse"], **stage), scale=4
    )
    assert same_as_head(direct, "spouse") == 1.0
    assert same_as_head(direct, "other") == pytest.approx(agree["other"], abs=0.04)


@pytest.mark.parametrize("model", ["multinomial", "tree", "empirical"])
def test_06_a_variable_of_two_levels_keeps_both_with_every_model(model: str) -> None:
    survey = families(("no", "yes"))
    stage = Relation("faith", relationship="role", head="head", predictors="all", model=model)
    people = simulated(survey, Structure(["role"]), stage)
    share = (survey.frame["faith"] == "yes").mean()
    assert (people["faith"] == "yes").mean() == pytest.approx(share, abs=0.04)


def test_06_a_stratum_with_a_single_level_is_no_trouble() -> None:
    survey = families(("no", "yes"))
    faith = survey.frame["faith"].where(survey.frame["region"] == "B", "no")
    stage = Relation("faith", relationship="role", head="head", predictors=[])
    people = simulated(survey.with_column("faith", faith), Structure(["role"]), stage)
    assert set(people.loc[people["region"] == "A", "faith"]) == {"no"}
    assert set(people.loc[people["region"] == "B", "faith"]) == {"no", "yes"}


# 7 to 10: categories


@pytest.mark.parametrize("model", ["empirical", "multinomial", "tree", "forest", "boosting"])
def test_07_weights_count_whatever_the_number_of_workers(model: str) -> None:
    frame = pd.DataFrame({"x": ["light", "heavy"] * 200, "w": [1.0, 9.0] * 200, "a": "one"})
    fitted = Pipeline([Structure(["a"]), Categorical("x", model=model)]).fit(flat(frame), seed=1)
    one, two = (fitted.simulate(workers=n, scale=2).frame() for n in (1, 2))
    assert (one["x"] == "heavy").mean() == pytest.approx(0.9, abs=0.03)
    assert_same_frame(one, two)


@pytest.mark.parametrize("method", ["direct", "multinomial", "distribution"])
def test_07_values_go_to_the_right_rows_however_the_population_is_sorted(method: str) -> None:
    frame = small_frame(200)
    frame["code"] = frame["sex"] + frame["region"].astype(str)  # a function of the others
    people = simulated(
        Survey(frame, **ROLES), Structure(["age", "sex"], method=method),
        Categorical("code", predictors="~ sex", model="empirical"),
    )  # fmt: skip
    right = people["sex"].astype(str) + people["region"].astype(str)
    assert (people["code"].astype(str) == right).all()


def test_08_household_size_and_interactions_are_predictors() -> None:
    rng = np.random.default_rng(1)
    frame = small_frame(400)
    odd = (frame["size"] % 2 == 1) ^ (frame["sex"] == "f")  # an interaction, no main effect
    frame["x"] = np.where(odd ^ (rng.random(len(frame)) < 0.05), "a", "b")
    survey = Survey(frame, **ROLES)

    def match(formula: str) -> float:
        people = simulated(survey, Structure(["age", "sex"]), Categorical("x", predictors=formula))
        return float((((people["size"] % 2 == 1) ^ (people["sex"] == "f"))
                      == (people["x"] == "a")).mean())  # fmt: skip

    assert match("~ size:sex") > 0.9
    assert match("~ size + sex") < 0.65


@pytest.mark.parametrize("model", ["multinomial", "tree"])
def test_09_children_stay_without_status_and_income(model: str) -> None:
    people = simulated(
        small_survey(), Structure(["age", "sex"]),
        Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120]),
        Categorical("status", predictors=["age_class", "sex"], model=model),
        Continuous("income", predictors=["age_class", "status"]),
    )  # fmt: skip
    child = people["age"] < 16
    assert people.loc[child, ["status", "income"]].isna().all(axis=None)
    assert people.loc[~child, ["status", "income"]].notna().all(axis=None)


METHODS: list[dict[str, Any]] = [
    {"method": "binned"},
    {"method": "regression"},
    {"method": "regression", "log": True},
    {"method": "binned+regression"},
    {"method": "pmm"},
]


@pytest.mark.parametrize("options", METHODS, ids=lambda o: "-".join(map(str, o.values())))
def test_10_a_class_whose_values_are_all_missing_stays_missing(options: dict[str, Any]) -> None:
    frame = small_frame()
    frame["group"] = np.where(frame["sex"] == "f", "told", "not told")
    frame["income"] = frame["income"].abs().where(frame["group"] == "told")
    people = simulated(
        Survey(frame, **ROLES), Structure(["age", "group"]),
        Categorical("status", predictors=["group"], model="tree"),
        continuous("income", predictors=["group"], **options),
    )  # fmt: skip
    assert people.loc[people["group"] == "not told", "income"].isna().all()
    assert people.loc[people["group"] == "told", "income"].notna().mean() > 0.5


# 11 to 15: numbers


@pytest.mark.parametrize("options", METHODS, ids=lambda o: "-".join(map(str, o.values())))
def test_11_a_predictor_that_copies_another_makes_no_value_missing(options: dict[str, Any]) -> None:
    frame = small_frame()
    adult = frame[frame["age"] >= 16].assign(copy=lambda x: x["sex"], size=1, pid=1)
    adult["hid"] = np.arange(len(adult))
    adult["income"] = np.random.default_rng(1).lognormal(9, 0.5, len(adult))
    people = simulated(
        Survey(adult, **ROLES), Structure(["sex", "copy"]),
        continuous("income", predictors=["sex", "copy"], **options),
    )  # fmt: skip
    assert people["income"].notna().all()
    assert people["income"].mean() == pytest.approx(
        np.average(adult["income"], weights=adult["w"]), rel=0.1
    )


@pytest.mark.parametrize("options", METHODS, ids=lambda o: "-".join(map(str, o.values())))
def test_12_missing_predictors_are_a_level_of_their_own(options: dict[str, Any]) -> None:
    frame = small_frame()
    frame["sex"] = frame["sex"].where(np.random.default_rng(1).random(len(frame)) < 0.8)
    people = simulated(
        Survey(frame, **ROLES), Structure(["age", "sex"]),
        continuous("income", predictors=["sex"], **options),
    )  # fmt: skip
    assert people["income"].isna().mean() == pytest.approx(frame["income"].isna().mean(), abs=0.03)


@pytest.mark.parametrize("form", ["sum", "mean", "shared"])
def test_12_every_form_of_one_value_for_the_household_runs(form: str) -> None:
    people = simulated(
        small_survey(), Structure(["age", "sex"]),
        Continuous("income", predictors=["sex"], by_household=form),
    )  # fmt: skip
    assert (people.groupby("hid")["income"].nunique(dropna=False) == 1).all()


def test_13_structural_zeros_hold_for_classes_of_a_number() -> None:
    frame = small_frame()
    frame["rich"] = np.where(frame["income"] > 20_000, "yes", "no")
    rule = {"levels": ["yes"], "when": {"status": ["idle"]}}
    people = simulated(
        Survey(frame, **ROLES), Structure(["age", "sex"]),
        Categorical("status", predictors=["age"]),
        Categorical("rich", predictors=["sex"], impossible=[rule]),
        Continuous(
            "income", Binned(breaks=[-3e5, 0, 20_000, 4e5], zeros=True), predictors=["rich"]
        ),
    )  # fmt: skip
    idle = people["status"] == "idle"
    assert not (people.loc[idle, "income"] > 20_000).any()
    assert (people.loc[~idle, "income"] > 20_000).any()


@pytest.mark.parametrize("stage", [Categorical, Continuous, Components, Relation, Structure])
def test_13_every_option_of_a_stage_is_documented_and_taken(stage: type) -> None:
    for field in dataclasses.fields(stage):
        assert re.search(rf"\b{field.name}\b", str(stage.__doc__)), field.name


def test_14_counts_are_drawn_not_rounded_means() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": ["x", "y"] * 1000})
    frame["n"] = rng.poisson(np.where(frame["a"] == "x", 2, 4))
    people = simulated(
        flat(frame), Structure(["a"]), Continuous("n", method="poisson", predictors=["a"])
    )
    assert people["n"].nunique() > 7
    assert people["n"].var() == pytest.approx(frame["n"].var(), rel=0.1)


def test_15_the_tail_uses_weights_and_its_likelihood_is_the_largest() -> None:
    rng = np.random.default_rng(1)
    x = genpareto.rvs(0.3, scale=1000, size=400, random_state=2)
    w = np.where(x > 2000, 5.0, 1.0)
    plain, heavy = tails.fit_gpd(x, 0.0), tails.fit_gpd(x, 0.0, weights=w)
    means = [tail.scale / (1 - tail.shape) for tail in (plain, heavy)]
    assert means[1] > 1.2 * means[0]

    def likelihood(shape: float, scale: float) -> float:
        return float((genpareto.logpdf(x, shape, scale=scale)).sum())

    best = likelihood(plain.shape, plain.scale)
    for _ in range(200):
        a, b = plain.shape + rng.normal(0, 0.1), plain.scale * rng.lognormal(0, 0.1)
        assert likelihood(a, b) <= best + 1e-6


def test_15_without_a_tail_mean_and_upper_quantiles_stay() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.lognormal(9, 1.0, 8000), "a": "one"})
    people = simulated(flat(frame), Structure(["a"]), Continuous("x", predictors=[]), scale=5)
    assert people["x"].mean() == pytest.approx(frame["x"].mean(), rel=0.12)
    assert people["x"].quantile(0.99) == pytest.approx(frame["x"].quantile(0.99), rel=0.1)


# 16 and 17: components and the whole chain


def test_16_donors_are_drawn_by_sampling_weight() -> None:
    frame = pd.DataFrame({"region": ["A", "B"] * 200, "total": 100.0, "w": 1.0})
    frame["c1"] = np.where(frame["region"] == "A", 100.0, 0.0)
    frame["c2"] = 100.0 - frame["c1"]
    stages = [
        Structure([]),
        Continuous("total", predictors=[]),
        Components("total", parts=["c1", "c2"], by=["total"]),
    ]
    people = simulated(flat(frame, strata="region"), *stages, scale=10)
    assert people["c1"].sum() / people["total"].sum() == pytest.approx(0.5, abs=0.03)
    weighted = frame.assign(w=np.where(frame["region"] == "A", 3.0, 1.0))
    people = simulated(flat(weighted, strata="region"), *stages, scale=10)
    assert people["c1"].sum() / people["total"].sum() == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize("by", [[], ["sex"]])
def test_16_components_add_up_with_negative_totals_too(by: list[str]) -> None:
    people = simulated(
        small_survey(), Structure(["age", "sex"]), Continuous("income", predictors=["sex"]),
        Components("income", parts=["wage", "other"], by=by), scale=3,
    )  # fmt: skip
    assert (people["income"] < 0).any()
    gap = people["wage"] + people["other"] - people["income"]
    assert gap.abs().max() < 1e-6


def test_17_income_depends_on_the_status_that_was_simulated() -> None:
    survey = small_survey(400)
    population = Pipeline(small_stages()).fit(survey, seed=1).simulate(scale=2)
    groups = assess_fit(survey, population, by=["status"]).tables["groups"]
    ks = groups[(groups["variable"] == "income") & (groups["n_sample"] > 50)]["value"]
    assert ks.max() < 0.08


# 18 and 19: ages, seeds


def test_18_ages_with_gaps_are_corrected_as_others() -> None:
    rng = np.random.default_rng(1)
    ages = rng.integers(20, 80, 4000)
    ages = np.concatenate([ages[~np.isin(ages, [33, 47, 58])], np.repeat([40, 50, 60], 300)])
    before = heaping.whipple_index(ages)
    corrected = heaping.correct_heaps(ages, heaps=[40, 50, 60], window=(2, 2), seed=1)
    after = corrected.ages
    assert (np.asarray(after) != ages).sum() > 400
    assert abs(heaping.whipple_index(after) - 100) < abs(before - 100)
    assert np.abs(np.asarray(after) - ages).max() <= 2


def test_19_a_seed_repeats_a_run_and_leaves_the_session_alone() -> None:
    survey, stages = small_survey(60), small_stages()[:4]
    np.random.seed(3)  # noqa: NPY002
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    one = Pipeline(stages).fit(survey, seed=1).simulate()
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    again = Pipeline(stages).fit(survey, seed=1).simulate()
    assert_same_frame(one.frame(), again.frame())
    first, second = (Pipeline(stages).fit(survey) for _ in range(2))
    assert first.seed != second.seed
    repeated = Pipeline(stages).fit(survey, seed=first.seed).simulate()
    assert_same_frame(repeated.frame(), first.simulate().frame())


# 20 to 23: known totals, drawing households


@pytest.mark.filterwarnings(
    "ignore:.*exact cop:synthpop.microdata.messages.errors.SparseDataWarning"
)
def test_20_an_unknown_argument_is_refused_and_contradictions_are_told() -> None:
    frame = small_frame(100)
    with pytest.raises(TypeError):
        anneal(frame, SEX, eps_factor=0.01)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Anneal(SEX, eps=0.01)  # type: ignore[call-arg]
    persons = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [100.0, 100.0]}))
    homes = Margin(pd.DataFrame({"size": [1, 4], "total": [10.0, 200.0]}), level="household")
    with pytest.warns(UserWarning, match="NOT ALL margins are met"):
        result = anneal(frame, [persons, homes], household="hid", tolerance=0.001, seed=1)
    assert not result.converged
    assert "NOT" in result.summary()


def test_21_no_debugger_is_left_in_the_code() -> None:
    for folder in Path(inspect.getfile(synthpop)).parents[1].glob("*/"):
        if folder.name in ("synthpop", "riskeval"):
            for file in folder.rglob("*.py"):
                text = file.read_text(encoding="utf-8")
                assert not re.search(r"\bbreakpoint\(|\bpdb\b|set_trace", text), file


@pytest.mark.parametrize("column", ["region", "db040"])
def test_22_persons_and_households_of_areas_are_met_whatever_the_column_is_called(
    column: str,
) -> None:
    frame = small_frame(300).rename(columns={"region": column})
    heads = frame.drop_duplicates("hid")
    tables = []
    for data, level in ((heads, "household"), (frame, "person")):
        counts = data[column].value_counts()
        rows = [
            {column: region, "area": f"{region} {k}", "total": share * counts[region]}
            for region in counts.index
            for k, share in enumerate((0.3, 0.7))
        ]
        tables.append(Margin(pd.DataFrame(rows), level=level))
    result = distribute(frame, "area", within=column, margins=tables, household="hid", seed=1)
    assert result.margins["difference"].abs().max() <= 1
    assert (result.data.groupby("hid")["area"].nunique() == 1).all()


def test_23_as_many_households_are_drawn_as_asked_each_with_the_same_chance() -> None:
    frame = small_frame(300)
    drawn = [draw_sample(frame, Cluster("hid", SimpleRandom(100)), seed=k) for k in range(30)]
    assert {survey.n_households for survey in drawn} == {100}
    sizes = np.mean([survey.household_sizes.mean() for survey in drawn])
    assert sizes == pytest.approx(frame.drop_duplicates("hid")["size"].mean(), abs=0.1)


# 24 to 26


def test_24_households_are_counted_as_households() -> None:
    survey = small_survey()
    population = Pipeline(small_stages()).fit(survey, seed=1).simulate()
    people = population.frame()
    assert population.n_households == people["hid"].nunique()
    sizes = assess_fit(survey, population).tables["sizes"]
    assert sizes["population"].sum() == pytest.approx(population.n_households)


@pytest.mark.parametrize("model", ["multinomial", "empirical", "tree"])
def test_24_levels_keep_their_order_drawn_or_not(model: str) -> None:
    frame = small_frame()
    levels = ["works", "never", "retired", "idle"]
    frame["status"] = pd.Categorical(frame["status"], levels, ordered=True)
    people = simulated(
        Survey(frame, **ROLES), Structure(["age"]), Categorical("status", model=model)
    )
    assert people["status"].cat.categories.tolist() == levels
    assert people["status"].cat.ordered
    assert not (people["status"] == "never").any()


def test_25_a_forest_of_two_predictors_uses_both() -> None:
    survey = small_survey(400)
    age = Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120])
    found = {}
    for model in ("tree", "forest"):
        stage = Categorical("status", predictors=["age_class", "sex"], model=model)
        fitted = Pipeline([Structure(["age", "sex"]), age, stage]).fit(survey, seed=1)
        population = fitted.simulate(scale=2)
        people = population.frame()
        assert people.loc[people["age"] < 16, "status"].isna().all()
        table = assess_fit(survey, population, variables=["status", "age_class", "sex"]).distances
        found[model] = table[table["measure"] == "tvd"]["value"].max()
    assert found["forest"] < found["tree"] + 0.02


@pytest.mark.parametrize("method", ["direct", "multinomial", "distribution"])
@pytest.mark.parametrize("sizes", [[1], [2], [1, 2], [1, 4]])
def test_26_few_household_sizes_or_gaps_in_them_are_no_trouble(
    method: str, sizes: list[int]
) -> None:
    frame = small_frame()
    frame = frame[frame["size"].isin(sizes)]
    people = simulated(Survey(frame, **ROLES), Structure(["age", "sex"], method=method))
    counted = people.groupby("hid").size()
    assert set(counted) == set(sizes)
    assert (people.groupby("hid")["size"].first() == counted).all()


def test_26_weights_that_differ_in_a_household_need_a_household_weight() -> None:
    frame = small_frame(50)
    frame["w"] = np.arange(len(frame)) + 1.0
    with pytest.raises(InputError, match="weights differ between the members of a household"):
        Pipeline([Structure(["age"])]).fit(Survey(frame, **ROLES), seed=1)
    frame["hw"] = frame.groupby("hid")["w"].transform("mean")
    Pipeline([Structure(["age"])]).fit(Survey(frame, household_weight="hw", **ROLES), seed=1)


# complaints of users


def test_files_without_households_go_the_whole_way() -> None:
    frame = small_frame().drop(columns=["hid", "pid", "size"])
    survey = Survey(frame, weight="w", strata="region")
    stages = [stage for stage in small_stages() if not isinstance(stage, Categorical)]
    stages.insert(2, Categorical("status", predictors=["age_class", "sex"]))
    population = Pipeline(stages).fit(survey, seed=1).simulate()
    assert abs(population.n_persons - frame["w"].sum()) < 5
    assert assess_fit(survey, population).tvd.max() < 0.05


def test_a_size_that_disagrees_with_the_rows_is_told() -> None:
    frame = small_frame(30)
    frame.loc[0, "size"] = 9
    with pytest.raises(InputError, match="size"):
        Pipeline([Structure(["age"])]).fit(Survey(frame, **ROLES), seed=1)


def test_models_of_many_levels_have_no_limit_of_weights() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 60, 3000).astype(str)})
    frame["b"] = rng.integers(0, 80, 3000).astype(str)
    people = simulated(flat(frame), Structure(["a"]), Categorical("b", predictors=["a"]))
    assert people["b"].nunique() > 70


@pytest.mark.filterwarnings(
    "ignore:.*exact cop:synthpop.microdata.messages.errors.SparseDataWarning"
)
def test_several_tables_a_level_and_small_tolerances_are_met_by_annealing() -> None:
    frame, other = small_frame(600), small_frame(600, seed=1)
    counts = [
        Margin(other.groupby(names).size().rename("total").reset_index())
        for names in (["sex"], ["status"], ["region", "sex"])
    ]
    heads = other.drop_duplicates("hid")
    sizes = heads.groupby("size").size().rename("total").reset_index()
    counts.append(Margin(sizes, level="household"))
    result = anneal(frame, counts, household="hid", tolerance=0.002, seed=1)
    assert result.converged
    assert result.margins["difference"].abs().sum() <= 0.002 * result.margins["target"].sum()


def test_the_modified_index_of_whipple_is_zero_without_heaps_and_one_with_all_on_a_digit() -> None:
    even = np.tile(np.arange(20, 80), 10)
    assert heaping.whipple_index(even, method="modified") == pytest.approx(0, abs=0.02)
    heaped = np.repeat([20, 30, 40, 50, 60, 70], 50)
    assert heaping.whipple_index(heaped, method="modified") > 0.5


def test_all_public_names_of_examples_exist() -> None:
    for page in (Path(inspect.getfile(synthpop)).parents[1] / "examples").glob("*.py"):
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"from synthpop import ([\w, ]+)$", line):
                for name in match[1].split(", "):
                    assert hasattr(synthpop, name)
