"""Values of household members given the head's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Derive, Pipeline, PoolingOptions, Relation, Structure, Survey
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import survey_data
from tests.small import ROLES, small_frame


def frame_with_faith(seed: int = 0) -> pd.DataFrame:
    """Children share the head's faith, partners do in four of five couples."""
    frame = small_frame(1500, seed)
    rng = np.random.default_rng(seed + 1)
    names = np.where(frame["age"] < 16, "child", np.where(frame["pid"] == 1, "head", "partner"))
    frame["relation"] = names
    head = rng.choice(["a", "b", "c"], 1500, p=[0.6, 0.3, 0.1])
    own = rng.choice(["a", "b", "c"], len(frame), p=[0.6, 0.3, 0.1])
    of_head = head[frame["hid"] - 1000]
    takes = (names != "partner") | (rng.random(len(frame)) < 0.8)
    frame["faith"] = np.where(takes, of_head, own)
    return frame


def simulate(frame: pd.DataFrame, **options) -> pd.DataFrame:
    stage = Relation(
        "faith", relationship="relation", head="head", **{"predictors": ["sex"], **options}
    )
    stages = [Structure(["age", "sex", "relation"]), stage]
    population = Pipeline(stages).fit(Survey(frame, **ROLES), seed=1).simulate()
    return population.frame()


def agreement(frame: pd.DataFrame, who: str, weight: str | None = None) -> float:
    head = frame[frame["relation"] == "head"].drop_duplicates("hid").set_index("hid")["faith"]
    part = frame[frame["relation"] == who]
    same = part["faith"].to_numpy() == head.reindex(part["hid"]).to_numpy()
    return float(np.average(same, weights=part[weight] if weight else None))


def test_direct_relations_inherit_and_others_follow_their_model() -> None:
    sample = frame_with_faith()
    people = simulate(sample, direct=["child"])
    assert agreement(people, "child") == 1.0
    assert abs(agreement(people, "partner") - agreement(sample, "partner", "w")) < 0.03
    heads = people[people["relation"] == "head"]["faith"].value_counts(normalize=True)
    assert abs(heads["a"] - 0.6) < 0.05


def few_in_the_west(others: int) -> pd.DataFrame:
    """In the west 5 households, of whose other members so many are left."""
    frame = frame_with_faith()
    west = frame["region"] == "west"
    homes = frame["hid"][west].unique()[:5]
    kept = frame[~west | frame["hid"].isin(homes)].copy()
    left = (kept["region"] == "west") & (kept["relation"] != "head")
    drop = kept.index[left][others:]
    kept = kept.drop(drop)
    kept["size"] = kept.groupby("hid")["hid"].transform("size")
    return kept


def test_small_strata_are_recorded_for_heads_and_for_others() -> None:
    def notes(frame: pd.DataFrame, **options) -> list[tuple[str, str]]:
        stage = Relation(
            "faith", relationship="relation", head="head", predictors=["sex"], **options
        )
        steps = [Structure(["age", "sex", "relation"]), stage]
        fitted = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1)
        return [(item.stratum, item.what) for item in fitted.fallbacks]

    pooled = "in the sample: the model pooled over strata"
    frame = few_in_the_west(1)
    told = notes(frame)
    assert ("west", f"heads: only 5 persons {pooled}") in told
    assert ("west", f"other members: only 1 person {pooled}") in told
    assert ("west", f"other members: no persons {pooled}") in notes(few_in_the_west(0))
    assert {stratum for stratum, _ in told} == {"west"}
    told = notes(frame, pooling=PoolingOptions("none", 0))
    assert ("west", "other members: only one level in the sample: always drawn") in told
    assert not [what for _, what in told if "pooled" in what]


def test_a_small_stratum_of_a_category_is_told_in_the_singular() -> None:
    frame = frame_with_faith()
    one = frame[frame["region"] == "west"].drop_duplicates("hid").iloc[:1].assign(size=1)
    frame = pd.concat([frame[frame["region"] != "west"], one])
    steps = [Structure(["age", "sex"]), Categorical("faith", predictors=["sex"])]
    fitted = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1)
    what = "only 1 person in the sample: the model pooled over strata"
    assert [(item.stratum, item.what) for item in fitted.fallbacks] == [("west", what)]


def test_without_direct_the_children_have_a_model_of_their_own() -> None:
    sample = frame_with_faith()
    half = np.random.default_rng(3).random(len(sample)) < 0.5
    sample.loc[half & (sample["relation"] == "child"), "faith"] = "c"
    people = simulate(sample, predictors=["relation"])
    assert abs(agreement(people, "child") - agreement(sample, "child", "w")) < 0.04
    assert agreement(simulate(sample, direct=["child"]), "child") == 1.0


@pytest.mark.parametrize("model", ["multinomial", "empirical", "tree"])
def test_each_model_uses_the_weights(model: str) -> None:
    sample = frame_with_faith()
    heavy = sample["hid"] % 2 == 0
    sample["faith"] = np.where(heavy, "a", "b")
    sample["w"] = np.where(heavy, 9.0, 1.0)
    people = simulate(sample, model=model, direct=["child"])
    assert 0.87 < (people["faith"] == "a").mean() < 0.93
    assert agreement(people, "partner") == 1.0


def test_one_level_and_missing_values_and_households_without_head() -> None:
    sample = frame_with_faith()
    sample.loc[sample["hid"] < 1050, "relation"] = "partner"
    sample["faith"] = pd.Series(sample["faith"]).where(sample["age"] >= 16)
    stage = Relation("faith", relationship="relation", head="head", predictors="basic")
    stages = [Structure(["age", "sex", "relation"]), stage]
    population = Pipeline(stages).fit(Survey(sample, **ROLES), seed=1).simulate()
    people = population.frame()
    assert people.loc[people["relation"] == "child", "faith"].isna().mean() > 0.97
    assert any(
        "no head" in item.what or "without a head" in item.what for item in population.fallbacks
    )
    constant = simulate(frame_with_faith().assign(faith="a"))
    assert set(constant["faith"]) == {"a"}


def test_smallest_stratum_pools() -> None:
    sample = frame_with_faith()
    sample["faith"] = np.where(sample["region"] == "west", "c", "a")
    own = simulate(sample)
    assert (own.loc[own["region"] == "west", "faith"] == "c").all()
    pooled = simulate(
        sample, pooling=PoolingOptions(smallest_stratum=10**6)
    )  # the stratum is a predictor there
    assert (pooled.loc[pooled["region"] == "west", "faith"] == "c").all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": "hed"}, "Did you mean 'head'?"),
        ({"direct": ["chld"]}, "Did you mean 'child'?"),
        ({"relationship": "kin"}, "relationship 'kin' is unknown"),
        ({"model": "magic"}, "'magic' is not allowed"),
        ({"model": "a classifier"}, "'a classifier' is not allowed"),
        ({"predictors": ["income"]}, "will not have it here"),
        ({"pooling": PoolingOptions(smallest_stratum=-1)}, "smallest_stratum: is -1"),
    ],
)
def test_faults(options: dict, message: str) -> None:
    given = {"relationship": "relation", "head": "head", **options}
    stages = [Structure(["age", "sex", "relation"]), Relation("faith", **given)]
    with pytest.raises(InputError) as caught:
        Pipeline(stages).fit(Survey(frame_with_faith(), **ROLES), seed=1)
    assert message in str(caught.value)


def test_agreement_within_ghanaian_households_is_that_of_the_sample() -> None:
    frame = survey_data("ghanaS")
    survey = Survey(frame, weight="weight", household="hhid", strata="region")
    stages = [
        Structure(["age", "sex", "relate"]),
        Derive("age_class", source="age", breaks=[0, 15, 30, 50, 120]),
        Relation("religion", relationship="relate", head="head", predictors=["age_class", "sex"]),
    ]
    people = Pipeline(stages).fit(survey, seed=1).simulate().frame()

    def of_one_faith(data: pd.DataFrame, weights: pd.Series) -> float:
        single = data.groupby("hhid")["religion"].nunique() == 1
        return float(np.average(single, weights=weights.reindex(single.index)))

    ours = of_one_faith(people, people.groupby("hhid").size() * 0 + 1)
    sample = of_one_faith(frame, frame.groupby("hhid")["weight"].first())
    assert abs(ours - sample) < 0.03  # the reference gives every member the head's value: 1.0


def test_classes_of_ages_begin_where_nobody_has_a_value() -> None:
    """Who has no faith decides the limits of the ages, not who has the first level."""
    sample = frame_with_faith()
    sample["faith"] = pd.Series(sample["faith"]).where(sample["age"] >= 25)
    stage = Relation("faith", relationship="relation", head="head", predictors=["age"])
    steps = [Structure(["age", "sex", "relation"]), stage]
    fitted = Pipeline(steps).fit(Survey(sample, **ROLES), seed=1)
    assert 24.5 in fitted.models[1].heads.encodings.variables[0].breaks
    people = fitted.simulate().frame()
    assert people["faith"].isna().equals(people["age"] < 25)


def test_structural_zeros_hold_for_heads_and_others() -> None:
    sample = frame_with_faith()
    rules = [{"levels": ["c"], "when": {"sex": ["f"]}}]
    assert (simulate(sample).query("sex == 'f'")["faith"] == "c").any()
    people = simulate(sample, impossible=rules)
    assert not (people.query("sex == 'f'")["faith"] == "c").any()
    assert (people.query("sex == 'm'")["faith"] == "c").any()
    with pytest.raises(InputError, match="level 'd' that 'faith' does not have"):
        simulate(sample, impossible=[{"levels": ["d"], "when": {"sex": ["f"]}}])
    with pytest.raises(InputError, match="impossible is 3"):
        simulate(sample, impossible=3)
