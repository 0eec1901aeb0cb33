"""Each option of each stage does what it says."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Derive,
    Pipeline,
    PoolingOptions,
    Structure,
    Survey,
)
from synthpop.microdata.messages.errors import InputError
from tests.continuous import continuous
from tests.small import ROLES, small_frame, small_survey

AGE_CLASS = Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120])


def simulate(*stages, survey: Survey | None = None, seed: int = 1, scale: float = 5.0):
    fitted = Pipeline([Structure(["age", "sex"]), *stages]).fit(survey or small_survey(), seed=seed)
    return fitted.simulate(scale=scale)


def faults_of(*stages, survey: Survey | None = None) -> str:
    with pytest.raises(InputError) as caught:
        simulate(*stages, survey=survey)
    return str(caught.value)


# structure


def counted(households: pd.DataFrame, by: list[str]) -> pd.Series:
    return households.groupby(by, observed=True).size()


def test_household_counts_and_their_totals_are_within_one_of_the_estimates() -> None:
    survey = small_survey()
    heads = survey.frame.drop_duplicates("hid")
    for seed in (1, 2):
        made = simulate(survey=survey, scale=0.37, seed=seed).households()
        for by in (["region", "size"], ["region"], ["size"]):
            expected = heads.groupby(by, observed=True)["w"].sum() * 0.37
            assert (
                counted(made, by).reindex(expected.index, fill_value=0) - expected
            ).abs().max() < 1
        assert abs(len(made) - heads["w"].sum() * 0.37) < 1


@pytest.mark.parametrize(("weight", "method"), [(1.4, "direct"), (1.6, "distribution")])
def test_small_strata_lose_no_households_by_rounding(weight: float, method: str) -> None:
    frame = pd.DataFrame({"hid": range(100), "st": [f"s{k}" for k in range(100)], "w": weight})
    frame["sex"] = ["f", "m"] * 50
    survey = Survey(frame, weight="w", household="hid", strata="st")
    fitted = Pipeline([Structure(["sex"], method=method)]).fit(survey, seed=1)
    assert fitted.simulate().n_persons == pytest.approx(100 * weight, abs=1)
    assert not fitted.simulate().fallbacks
    strata = [fitted.simulate(seed=seed).frame()["st"].value_counts() for seed in (1, 2)]
    assert (strata[0] - strata[1]).abs().max() == 1  # which strata get one more is drawn


def test_any_scale_keeps_the_share_of_large_households() -> None:
    survey = small_survey(600)
    heads = survey.frame.drop_duplicates("hid")
    share = np.average(heads["size"] == 4, weights=heads["w"])
    fitted = Pipeline([Structure(["age"])]).fit(survey, seed=1)
    n = [fitted.simulate(scale=0.004, seed=seed) for seed in range(20)]
    made = pd.concat([population.households() for population in n])
    assert len(made) == pytest.approx(20 * 0.004 * heads["w"].sum(), abs=10)
    assert (made["size"] == 4).mean() == pytest.approx(share, abs=0.03)


def test_person_weights_that_differ_from_those_of_households_are_told() -> None:
    frame = small_frame()
    frame["hw"] = frame["w"]
    frame.loc[frame["age"] < 16, "w"] *= 2
    survey = Survey(frame, **ROLES, household_weight="hw")
    notes = Pipeline([Structure(["age"])]).fit(survey, seed=1).fallbacks
    share = 100 * (frame["age"] < 16).mean()
    assert any(f"for {share:.2f} % of the survey persons" in note.what for note in notes)
    assert not Pipeline([Structure(["age"])]).fit(small_survey(), seed=1).fallbacks


def test_a_population_far_from_the_expected_size_is_told() -> None:
    population = simulate(survey=small_survey(), scale=0.001)
    expected = small_survey().frame["w"].sum() * 0.001
    told = [item for item in population.fallbacks if item.stratum == "all"]
    assert abs(population.n_persons - expected) > 0.01 * expected
    (note,) = [item.what for item in told]
    assert note.startswith(f"{population.n_persons:,} persons made, {expected:.1f}")
    assert note.endswith("expected: households are whole")


def test_households_are_copied_whole_with_probability_of_their_weight() -> None:
    frame = pd.DataFrame(
        {
            "hid": [1, 1, 2, 2],
            "w": [1.0, 1.0, 3.0, 3.0],
            "size": 2,
            "region": "r",
            "pid": [1, 2, 1, 2],
            "age": [40, 10, 70, 68],
            "sex": ["f", "m", "m", "f"],
        }
    )
    people = simulate(survey=Survey(frame, **ROLES), scale=1000).frame()
    first, second = (people.loc[people["pid"] == pid].set_index("hid")["age"] for pid in (1, 2))
    assert set(zip(first, second.loc[first.index], strict=True)) == {(40, 10), (70, 68)}
    assert 0.72 < (first == 70).mean() < 0.78


def test_the_other_method_draws_the_sizes() -> None:
    survey = small_survey()
    direct = Pipeline([Structure(["age"])]).fit(survey, seed=1).simulate(scale=9)
    fitted = Pipeline([Structure(["age"], method="distribution")]).fit(survey, seed=1)
    a = counted(direct.households(), ["region", "size"])
    b = counted(fitted.simulate(scale=9).households(), ["region", "size"])
    assert (a - b).abs().max() > 2
    assert (a / b - 1).abs().max() < 0.2
    regions = [
        counted(made.households(), ["region"]) for made in (direct, fitted.simulate(scale=9))
    ]
    assert (regions[0] - regions[1]).abs().max() <= 1


def test_enterprises_and_flat_files_need_no_change() -> None:
    frame = pd.DataFrame({"w": [2.0, 3.5, 4.5], "age": [1, 2, 3]})
    population = Pipeline([Structure(["age"])]).fit(Survey(frame, weight="w"), seed=1).simulate()
    assert population.columns == ("pid", "age")
    assert population.n_persons == population.n_households == 10
    assert population.frame()["pid"].tolist() == list(range(1, 11))
    assert len(population.households()) == 10


def test_ids_are_new_and_members_are_numbered() -> None:
    people = simulate().frame()
    assert people["hid"].is_monotonic_increasing
    assert people["hid"].min() == 1
    assert (people["pid"] == people.groupby("hid").cumcount() + 1).all()
    assert (people.groupby("hid")["size"].first() == people.groupby("hid").size()).all()


def test_size_keeps_the_type_of_the_survey() -> None:
    frame = small_frame()
    frame["size"] = frame["size"].astype(str).astype("category")
    people = simulate(survey=Survey(frame, **ROLES)).frame()
    assert people["size"].dtype == frame["size"].dtype
    assert (people.groupby("hid")["size"].first().astype(int) == people.groupby("hid").size()).all()


def test_numeric_strata_and_levels_come_back_as_numbers() -> None:
    frame = small_frame()
    frame["region"] = frame["region"].cat.codes.astype("int64") + 10
    frame["group"] = (frame["age"] // 30).astype("int64")
    people = simulate(Categorical("group"), survey=Survey(frame, **ROLES)).frame()
    assert people["region"].dtype == "int64"
    assert set(people["region"]) == {10, 11, 12}
    assert people["group"].dtype == "int64"


# derive


def test_derive_cuts_like_pandas_with_the_lowest_included() -> None:
    people = simulate(AGE_CLASS).frame()
    expected = pd.cut(people["age"], [0, 15, 39, 64, 120], include_lowest=True).cat.codes
    assert (people["age_class"].cat.codes == expected).all()
    assert people["age_class"].cat.categories.tolist()[0] == "[0, 15]"


def test_derive_outside_is_missing_and_labels_are_used() -> None:
    stage = Derive("young", source="age", breaks=[16, 30], labels=["16-30"])
    people = simulate(stage).frame()
    assert people["young"].notna().equals(people["age"].between(16, 30))
    assert set(people["young"].dropna()) == {"16-30"}


def test_derive_by_mapping() -> None:
    people = simulate(Derive("who", source="sex", mapping={"f": "woman"})).frame()
    assert people["who"].isna().equals(people["sex"] == "m")
    assert set(people["who"].dropna()) == {"woman"}


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Derive("a", source="age"), "needs either breaks or mapping"),
        (Derive("a", source="age", breaks=[3, 1]), "do not increase"),
        (Derive("a", source="age", breaks=[0, 9, 99], labels=["x"]), "1 label for 2 classes"),
        (Derive("a", source="age", breaks=[0, 9, 99], labels=["x", "x"]), "not distinct"),
        (Derive("a", source="sex", breaks=[0, 9]), "'sex' is not numeric"),
        (Derive("a", source="sex", mapping={"w": 1}), "the level 'w' that 'sex' does not have"),
        (Derive("a", source="income", breaks=[0, 9]), "the population will not have it here"),
        (Derive("a", source="nothing", breaks=[0, 9]), "'nothing' is unknown"),
    ],
)
def test_faults_of_derive(stage: Derive, message: str) -> None:
    assert message in faults_of(stage)


# categorical


def test_children_stay_without_status() -> None:
    people = simulate(AGE_CLASS, Categorical("status", predictors=["age_class"])).frame()
    child = people["age"] < 16
    assert people.loc[child, "status"].isna().all()
    assert people.loc[~child, "status"].notna().all()


def test_distribution_follows_the_weighted_sample() -> None:
    survey = small_survey(2000)
    people = simulate(
        AGE_CLASS, Categorical("status", predictors=["age_class", "sex"]), survey=survey, scale=10
    ).frame()
    sample = survey.frame
    expected = sample.groupby("status")["w"].sum() / sample["w"].sum()
    found = people["status"].value_counts() / len(people)
    assert (found - expected).abs().max() < 0.01


class NearestNeighbours:
    """A classifier that knows nothing of weights."""

    def fit(self, x, y):
        return self

    def predict_proba(self, x):
        return np.ones((len(x), 1))


EVERY_MODEL = [
    "multinomial",
    "empirical",
    "tree",
    "forest",
    "boosting",
    GaussianNB(),
]


@pytest.mark.parametrize("model", EVERY_MODEL, ids=str)
def test_weights_are_honoured_by_every_model(model) -> None:
    frame = small_frame(1000)
    heavy = frame["hid"] % 2 == 0
    frame["status"] = np.where(heavy, "a", "b")
    frame["w"] = np.where(heavy, 9.0, 1.0)
    people = simulate(
        Categorical("status", predictors=["sex"], model=model), survey=Survey(frame, **ROLES)
    ).frame()
    assert 0.87 < (people["status"] == "a").mean() < 0.93


def test_predictors_choose_the_association() -> None:
    survey = small_survey(1000)
    with_age = simulate(
        AGE_CLASS, Categorical("status", predictors=["age_class"]), survey=survey
    ).frame()
    without = simulate(AGE_CLASS, Categorical("status", predictors=["sex"]), survey=survey).frame()
    basic = simulate(AGE_CLASS, Categorical("status", predictors="basic"), survey=survey).frame()
    everything = simulate(AGE_CLASS, Categorical("status", predictors="all"), survey=survey).frame()

    def retired_young(d: pd.DataFrame) -> float:
        return ((d["status"] == "retired") & (d["age"] < 40)).mean()

    assert retired_young(with_age) == 0
    assert retired_young(everything) == 0
    assert retired_young(without) > 0.05
    assert 0 <= retired_young(basic) < 0.02  # age itself, cut at deciles


def test_an_interaction_is_more_than_its_parts() -> None:
    rng = np.random.default_rng(0)
    frame = small_frame(2000)
    frame["flag"] = rng.choice(["p", "q"], len(frame))
    same = (frame["sex"] == "f") == (frame["flag"] == "p")
    frame["out"] = np.where(same, "yes", "no")
    survey = Survey(frame, **ROLES)
    flag = Categorical("flag", predictors="basic")

    def agreement(formula: str) -> float:
        people = simulate(flag, Categorical("out", predictors=formula), survey=survey).frame()
        rule = (people["sex"] == "f") == (people["flag"] == "p")
        return float(((people["out"] == "yes") == rule).mean())

    assert agreement("~ sex:flag") == 1.0
    assert agreement("~ sex * flag") == 1.0
    assert agreement("~ sex + flag") < 0.6


def test_impossible_values_are_never_drawn() -> None:
    rule = {"levels": ["works", None], "when": {"sex": ["f"], "size": [1, 2]}}
    stage = Categorical("status", predictors=["sex"], impossible=[rule])
    people = simulate(stage).frame()
    barred = (people["sex"] == "f") & people["size"].isin([1, 2])
    assert not people.loc[barred, "status"].isin(["works"]).any()
    assert people.loc[barred, "status"].notna().all()
    assert (people.loc[~barred, "status"] == "works").any()


def test_what_a_rule_leaves_is_drawn_from_levels_that_the_sample_has() -> None:
    rule = {"levels": ["works", "idle"], "when": {"sex": ["f"]}}
    frame = small_frame()
    frame["status"] = np.where(frame["sex"] == "m", "retired", "works")
    frame.loc[0, "status"] = "idle"
    population = simulate(
        Categorical("status", predictors=["sex"], impossible=[rule]), survey=Survey(frame, **ROLES)
    )
    women = population.frame().query("sex == 'f'")
    assert set(women["status"]) == {"retired"}  # never missing: nobody in the sample is
    assert any("sample does not have" in item.what for item in population.fallbacks)


def test_rules_that_leave_nothing_are_faults() -> None:
    everything = {"levels": ["works", "idle", "retired", None], "when": {"sex": ["f"]}}
    assert "leaves no possible value" in faults_of(Categorical("status", impossible=[everything]))
    halves = [
        {"levels": ["works", "idle"], "when": {"sex": ["f"]}},
        {"levels": ["retired", None], "when": {"size": [1, 2, 3, 4]}},
    ]
    assert "together leave no possible value" in faults_of(Categorical("status", impossible=halves))


def test_rules_on_numbers_match_exactly() -> None:
    frame = small_frame()
    frame["code"] = frame["age"] // 30 * 10
    survey = Survey(frame, **ROLES)
    rule = {"levels": [20], "when": {"size": [2]}}
    people = simulate(Categorical("code", predictors=["sex"], impossible=[rule]), survey=survey)
    banned = people.frame().query("size == 2")
    assert not (banned["code"] == 20).any()
    assert (people.frame().query("size == 3")["code"] == 20).any()
    for wrong in (
        {"levels": [99], "when": {"size": [2]}},
        {"levels": [20], "when": {"size": [7]}},
        {"levels": [20], "when": {"sex": ["w"]}},
    ):
        message = faults_of(Categorical("code", impossible=[wrong]), survey=survey)
        assert "does not have" in message


def test_numbers_held_as_levels_are_still_numbers() -> None:
    frame = small_frame()
    frame["region"] = frame["region"].cat.codes.astype("int64") * 10 + 10
    frame["code"] = frame["age"] // 30 * 10 + 10
    frame["a"], frame["b"] = frame["code"] * 0.25, frame["code"] * 0.75
    people = simulate(
        Derive("where", source="region", breaks=[0, 15, 25, 35], labels=["x", "y", "z"]),
        Categorical("code", predictors=["sex"]),
        Derive("group", source="code", breaks=[0, 15, 99], labels=["low", "high"]),
        Components("code", parts=["a", "b"], by=["code"]),
        survey=Survey(frame, **ROLES),
    ).frame()
    assert (people["where"].astype(str) == people["region"].map({10: "x", 20: "y", 30: "z"})).all()
    assert ((people["group"] == "low") == (people["code"] == 10)).all()
    assert np.allclose(people["a"] + people["b"], people["code"])
    assert people["code"].dtype == frame["code"].dtype


def test_columns_come_back_with_the_type_of_the_survey() -> None:
    frame = small_frame()
    frame["small"] = (frame["age"] % 7).astype("uint16")
    frame["null"] = (frame["age"] % 5).astype("Int64")
    frame["flag"] = pd.Series(frame["age"] > 30, dtype="boolean").mask(frame["age"] < 16)
    frame["short"] = (frame["age"] / 2).astype("float32")
    stages = [Structure(["age", "small", "null", "flag", "short"])]
    people = Pipeline(stages).fit(Survey(frame, **ROLES), seed=1).simulate().frame()
    for name in ("hid", "pid", "size", "age", "small", "null", "flag", "short"):
        assert people[name].dtype == frame[name].dtype, name
    assert (people["age"] * 2).max() > 127
    assert people["flag"].isna().equals(people["age"] < 16)


def test_wide_breaks_around_small_numbers() -> None:
    stage = Derive("a", source="age", breaks=[-300, 20, 60, 1000], labels=["l", "m", "h"])
    people = simulate(stage).frame()
    expected = pd.cut(people["age"], [-300, 20, 60, 1000], labels=["l", "m", "h"])
    assert (people["a"].astype(str) == expected.astype(str)).all()


def test_faults_name_rows_of_the_file_in_its_own_order() -> None:
    frame = small_frame().sample(frac=1, random_state=5).reset_index(drop=True)
    row = int(np.flatnonzero(frame["income"] > 0)[10])
    frame.loc[row, "wage"] += 1000
    stages = [Continuous("income"), Components("income", parts=["wage", "other"], by=["sex"])]
    assert f"(1 row: {row})" in faults_of(*stages, survey=Survey(frame, **ROLES))


def test_infinite_values_are_faults_with_rows() -> None:
    frame = small_frame()
    frame.loc[7, "income"] = np.inf
    message = faults_of(Continuous("income"), survey=Survey(frame, **ROLES))
    assert "income: value is infinite (1 row: 7)" in message


def test_one_total_can_be_split_twice_independently() -> None:
    frame = small_frame(600)
    rng = np.random.default_rng(1)
    for pair in (("p", "q"), ("r", "s")):
        frame[pair[0]] = np.where(rng.random(len(frame)) < 0.5, frame["income"], 0.0)
        frame[pair[1]] = frame["income"] - frame[pair[0]]
        frame[list(pair)] = frame[list(pair)].where(frame["income"].notna())
    people = simulate(
        Continuous("income", predictors=["sex"]),
        Components("income", parts=["p", "q"], by=["sex"]),
        Components("income", parts=["r", "s"], by=["sex"]),
        survey=Survey(frame, **ROLES),
    ).frame()
    some = people[people["income"] > 0]
    first, second = some["p"] > 0, some["r"] > 0
    assert abs((first & second).mean() - first.mean() * second.mean()) < 0.02


def test_parts_that_nearly_cancel_are_no_donors() -> None:
    frame = small_frame(600)
    row = int(np.flatnonzero(frame["income"] > 0)[0])
    frame.loc[row, ["wage", "other", "income"]] = [1e6, -1e6 + 0.001, 0.001]
    frame["income"] = frame["wage"] + frame["other"]
    population = simulate(
        Continuous("income", predictors=["sex"]),
        Components("income", parts=["wage", "other"], by=["sex"]),
        survey=Survey(frame, **ROLES),
    )
    assert population.frame()["wage"].abs().max() < 1e6
    assert any("nearly cancel" in item.what for item in population.fallbacks)

    frame["wage"] = frame["wage"].fillna(0.0) + 100.0
    frame["other"] = 0.001 - frame["wage"]
    frame["income"] = frame["wage"] + frame["other"]
    with pytest.raises(InputError, match="parts nearly cancel for everybody"):
        simulate(
            Continuous("income", predictors=["sex"]),
            Components("income", parts=["wage", "other"], by=["sex"]),
            survey=Survey(frame, **ROLES),
        )


def test_what_a_small_scale_leaves_out_is_recorded() -> None:
    population = simulate(scale=0.002)
    assert any("expected, none made" in item.what for item in population.fallbacks)
    with pytest.raises(InputError, match="leaves no household"):
        simulate(scale=1e-6)


def test_a_stratum_without_sample_is_recorded() -> None:
    frame = small_frame()
    frame["region"] = frame["region"].cat.add_categories(["east"])
    population = simulate(survey=Survey(frame, **ROLES))
    assert ("structure", "east") in {(item.stage, item.stratum) for item in population.fallbacks}


def test_small_strata_use_the_pooled_model_and_say_so() -> None:
    population = simulate(
        Categorical("status", predictors=["sex"], pooling=PoolingOptions(smallest_stratum=10_000))
    )
    strata = {item.stratum for item in population.fallbacks if "only" in item.what}
    assert strata == {"north", "south", "west"}
    assert not simulate(
        Categorical("status", predictors=["sex"], pooling=PoolingOptions(smallest_stratum=0))
    ).fallbacks


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Categorical("stats"), "Did you mean 'status'?"),
        (Categorical("status", predictors=["income"]), "will not have it here"),
        (Categorical("status", predictors="sex"), "predictors = 'sex' is not understood"),
        (Categorical("status", predictors="~ sex +"), "cannot be read"),
        (Categorical("status", predictors="~ log(age)"), "log() is not available here"),
        (Categorical("status", model="florest"), "Did you mean 'forest'?"),
        (Categorical("status", model=NearestNeighbours()), "takes no sample_weight"),
        (
            Categorical("status", pooling=PoolingOptions(smallest_stratum=-1)),
            "is -1",
        ),
        (Categorical("status", impossible=[{"levels": ["x"]}]), "is not understood"),
        (
            Categorical("status", impossible=[{"levels": ["work"], "when": {"sex": ["f"]}}]),
            "Did you mean 'works'?",
        ),
        (
            Categorical("status", impossible=[{"levels": ["works"], "when": {"age": [3]}}]),
            "a number with many values",
        ),
        (Categorical("sex"), "which the population already has"),
    ],
)
def test_faults_of_categorical(stage: Categorical, message: str) -> None:
    assert message in faults_of(stage)


# continuous


def income(**options) -> pd.DataFrame:
    return simulate(
        AGE_CLASS,
        Categorical("status", predictors=["age_class"]),
        continuous("income", predictors=["status"], **options),
        survey=small_survey(1000),
    ).frame()


def test_zero_share_missing_and_negative_values_are_kept() -> None:
    sample, people = small_frame(1000), income()
    child = people["age"] < 16
    assert people.loc[child, "income"].isna().all()
    adults, known = people[~child], sample[sample["age"] >= 16]
    for rule in (lambda x: x == 0, lambda x: x < 0):
        expected = np.average(rule(known["income"]), weights=known["w"])
        assert abs(rule(adults["income"]).mean() - expected) < 0.01
    assert people["income"].max() <= sample["income"].max()
    assert people["income"].min() >= sample["income"].min()


def test_zeros_can_be_left_to_the_classes() -> None:
    """Heaped zeros stay zeros inside a class (of steps); an even density spreads them."""
    idle = income(zeros=False, within_class="uniform").query("status == 'idle'")["income"]
    assert (idle != 0).mean() > 0.5
    stepped = income(zeros=False, intervals=("low", "high")).query("status == 'idle'")
    assert (stepped["income"] == 0).mean() > 0.5
    assert not ((stepped["low"] == 0) & (stepped["high"] == 0)).any()


def test_breaks_are_the_classes() -> None:
    people = income(breaks=[-1e7, -1.0, 1000.0, 1e7], intervals=("low", "high"))
    pairs = set(map(tuple, people[["low", "high"]].dropna().drop_duplicates().to_numpy()))
    assert pairs <= {(-1e7, -1.0), (-1.0, 0.0), (0.0, 0.0), (0.0, 1000.0), (1000.0, 1e7)}
    assert len(pairs) >= 3


def test_values_lie_in_their_intervals() -> None:
    people = income(intervals=("low", "high"))
    known = people["income"].notna()
    assert people.loc[~known, ["low", "high"]].isna().all(axis=None)
    x = people[known]
    assert ((x["low"] <= x["income"]) & (x["income"] <= x["high"])).all()
    assert (x.loc[x["income"] > 0, "low"] < x.loc[x["income"] > 0, "income"]).all()
    assert (x.loc[x["income"] < 0, "income"] < x.loc[x["income"] < 0, "high"]).all()


def test_a_tail_reaches_beyond_the_sample_and_upper_cuts_it() -> None:
    largest = small_frame(1000)["income"].max()
    free, cut = income(tail="gpd"), income(tail="gpd", upper=largest + 5)
    assert free["income"].max() > largest + 5
    assert cut["income"].max() <= largest + 5
    bounds = income(tail="gpd", intervals=("low", "high"))
    assert bounds["high"].max() > largest


def test_upper_without_a_tail_is_the_last_limit() -> None:
    largest = small_frame(1000)["income"].max()
    people = income(upper=2 * largest, intervals=("low", "high"))
    assert people["high"].max() == 2 * largest
    assert largest < people["income"].max() <= 2 * largest


def test_too_few_values_in_the_tail_are_recorded() -> None:
    limits = [-1e7, 0.0, 60_000.0, 1e7]
    population = simulate(
        Continuous("income", method=Binned(breaks=limits, tail="gpd"), predictors=["sex"])
    )
    assert any("no tail" in item.what for item in population.fallbacks)


def test_a_variable_without_values_stays_missing() -> None:
    frame = small_frame().assign(income=np.nan)
    people = simulate(
        Continuous("income", predictors=["sex"]), survey=Survey(frame, **ROLES)
    ).frame()
    assert people["income"].isna().all()


def test_a_constant_stays_constant() -> None:
    frame = small_frame().assign(income=7.0)
    people = simulate(
        Continuous("income", predictors=["sex"]), survey=Survey(frame, **ROLES)
    ).frame()
    assert (people["income"] == 7.0).all()


def test_a_tail_of_values_that_are_never_positive_falls_back() -> None:
    frame = small_frame(1000)
    frame["debt"] = -np.abs(frame["income"].fillna(5.0)) - 1
    stage = Continuous("debt", method=Binned(tail="gpd"), predictors=["sex"])
    population = simulate(stage, survey=Survey(frame, **ROLES))
    assert population.frame()["debt"].max() <= 0
    assert any("no sample value is positive" in item.what for item in population.fallbacks)


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Continuous("status"), "'status' is not numeric"),
        (Continuous("income", method="magic"), "'magic' is not allowed"),
        (Continuous("income", method=Binned(tail="gamma")), "'gamma' is not allowed"),
        (Continuous("income", method=Binned(breaks=[5, 1])), "breaks do not increase"),
        (Continuous("income", method=Binned(breaks=[0, 10])), "lie outside"),
        (Continuous("income", method=Binned(upper=1.0)), "sample values are larger"),
        (Continuous("income", method=Binned(intervals=("a", "a"))), "needs two names"),
        (Continuous("income", method=Binned(intervals=("income", "b"))), "needs two names"),
        (
            Continuous("income", method=Binned(breaks=[-1e7, 0, np.inf])),
            "the last of breaks is infinite",
        ),
        (Continuous("income", method=Binned(breaks=[-np.inf, 0, 1e7])), "breaks are infinite"),
        (Continuous("income", method=Binned(upper=np.nan)), "upper: is nan"),
        (
            Continuous("income", pooling=PoolingOptions(smallest_stratum=-1)),
            "is -1",
        ),
    ],
)
def test_faults_of_continuous(stage: Continuous, message: str) -> None:
    assert message in faults_of(stage)


# components


def parts(by: list[str], survey: Survey | None = None):
    return simulate(
        AGE_CLASS,
        Categorical("status", predictors=["age_class"]),
        Continuous("income", predictors=["status"]),
        Components("income", parts=["wage", "other"], by=by),
        survey=survey or small_survey(1000),
    )


def test_parts_add_up_and_follow_their_cell() -> None:
    people = parts(["status"]).frame()
    known = people[people["income"].notna()]
    assert np.allclose(known["wage"] + known["other"], known["income"], rtol=1e-12, atol=1e-9)
    assert (known.loc[known["status"] == "retired", "wage"] == 0).all()
    assert (known.loc[known["status"] == "works", "other"] == 0).all()
    assert people.loc[people["income"].isna(), ["wage", "other"]].isna().all(axis=None)
    assert (known.loc[known["income"] == 0, ["wage", "other"]] == 0).all(axis=None)


def test_by_chooses_the_cells() -> None:
    mixed = parts(["sex"]).frame()
    assert (mixed.loc[mixed["status"] == "retired", "wage"] != 0).any()


def test_donors_are_drawn_by_their_weight() -> None:
    frame = small_frame(400)
    first = frame["hid"] % 2 == 0
    frame["w"] = np.where(first, 9.0, 1.0)
    frame["income"] = 100.0
    frame["wage"] = np.where(first, 100.0, 0.0)
    frame["other"] = 100.0 - frame["wage"]
    stages = [Continuous("income"), Components("income", parts=["wage", "other"], by=["sex"])]
    people = simulate(*stages, survey=Survey(frame, **ROLES)).frame()
    assert 0.87 < (people["wage"] > 0).mean() < 0.93


def test_negative_totals_have_donors_of_their_own() -> None:
    frame = small_frame(400)
    loss = frame["hid"] % 4 == 0
    frame["income"] = np.where(loss, -50.0, 100.0)
    frame["wage"] = np.where(loss, 0.0, 100.0)
    frame["other"] = np.where(loss, -50.0, 0.0)
    stages = [
        Continuous("income", method=Binned(zeros=True), predictors=["sex"]),
        Components("income", parts=["wage", "other"], by=["sex"]),
    ]
    people = simulate(*stages, survey=Survey(frame, **ROLES)).frame()
    assert (people.loc[people["income"] < 0, "wage"] == 0).all()
    assert (people.loc[people["income"] > 0, "other"] == 0).all()


def test_a_cell_without_donors_takes_the_nearest_and_says_how_far() -> None:
    frame = small_frame(1000)
    young = frame["age"].between(16, 39)
    frame.loc[young, ["income", "wage", "other"]] = 0.0
    survey = Survey(frame, **ROLES)
    stages = [
        AGE_CLASS,
        Continuous("income", predictors=["sex"]),
        Components("income", parts=["wage", "other"], by=["age_class"]),
    ]
    population = simulate(*stages, survey=survey)
    assert any("nearest cell, distance 1" in item.what for item in population.fallbacks)
    people = population.frame()
    known = people[people["income"].notna()]
    assert np.allclose(known["wage"] + known["other"], known["income"])


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Components("income", parts=["wage", "wage"], by=["sex"]), "two or more distinct parts"),
        (Components("income", parts=["wage", "age2"], by=["sex"]), "'age2' is not a column"),
        (Components("income", parts=["wage", "other"], by=["status"]), "will not have it here"),
        (
            Components("income", parts=["wage", "other"], by=["sex"], empty="x"),
            "'x' is not allowed",
        ),
        (
            Components("wage", parts=["income", "other"], by=["sex"]),
            "total 'wage' is in the survey",
        ),
    ],
)
def test_faults_of_components(stage: Components, message: str) -> None:
    assert message in faults_of(Continuous("income", predictors=["sex"]), stage)


def test_parts_that_do_not_add_up_are_a_fault() -> None:
    frame = small_frame()
    row = int(np.flatnonzero(frame["income"] > 0)[0])
    frame.loc[row, "wage"] += 10
    stages = [Continuous("income"), Components("income", parts=["wage", "other"], by=["sex"])]
    assert "do not add up" in faults_of(*stages, survey=Survey(frame, **ROLES))


def test_totals_that_are_all_zero_are_a_fault() -> None:
    frame = small_frame().assign(income=0.0, wage=0.0, other=0.0)
    stages = [Continuous("income"), Components("income", parts=["wage", "other"], by=["sex"])]
    assert "there are no fractions" in faults_of(*stages, survey=Survey(frame, **ROLES))


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts(["status", "income"])
