"""Members of a household drawn given its first member."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Continuous, Pipeline, Revisit, Structure, Survey
from synthpop.crossvalidation import cross_validate
from synthpop.figures.style import Names
from synthpop.microdata.errors import InputError
from synthpop.models.ladder import predict_ladder
from synthpop.reporting.recipe import steps
from synthpop.runfile import parse_runfile
from synthpop.stages.heads import HEAD_VALUE, number_digits
from tests.small import ROLES, small_frame
from tests.stages.continuous_cases import EVERY

NONE = "(missing)"


def frame_of_families(n: int = 900) -> pd.DataFrame:
    """Faith and rent go with the household: 9 of 10 members are as the first one."""
    frame = small_frame(n)
    rng = np.random.default_rng(3)
    first = frame.groupby("hid")["pid"].transform("idxmin")
    own = pd.Series(rng.choice(["a", "b", "none"], len(frame), p=[0.5, 0.3, 0.2]))
    alike = rng.random(len(frame)) < 0.9
    frame["faith"] = np.where(alike, own[first], own)
    frame["faith"] = frame["faith"].where(frame["faith"] != "none")
    level = pd.Series(rng.lognormal(9, 0.6, len(frame)))
    frame["pay"] = np.where(alike, level[first] * rng.uniform(0.9, 1.1, len(frame)), level)
    zero = pd.Series(rng.random(len(frame)) < 0.3)
    frame["pay"] = frame["pay"].where(~np.where(alike, zero[first], zero), 0.0).round(2)
    frame["visits"] = np.round(frame["pay"] / 3000).astype("int64")
    return frame


def made(*steps: Any, frame: pd.DataFrame | None = None, **options: Any):
    survey = Survey(frame_of_families() if frame is None else frame, **ROLES)
    return Pipeline([Structure(["age", "sex"]), *steps]).fit(survey, seed=2).simulate(**options)


def pairs(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Value of each member beside the first, and of its first member."""
    first = frame.groupby("hid")["pid"].transform("idxmin")
    here = first.to_numpy() != frame.index
    column = frame[name].astype(object).where(frame[name].notna(), NONE)
    weight = frame["w"] if "w" in frame else pd.Series(1.0, frame.index)
    both = {"own": column[here], "head": column[first[here]].to_numpy(), "w": weight[here]}
    return pd.DataFrame(both)


def table(frame: pd.DataFrame, name: str) -> pd.Series:
    counted = pairs(frame, name).groupby(["own", "head"])["w"].sum()
    return counted / counted.sum()


def correlation(frame: pd.DataFrame, name: str) -> float:
    both = pairs(frame, name)
    own, head = (both[side].replace(NONE, np.nan).astype(float) for side in ("own", "head"))
    return float(np.corrcoef(own.rank(), head.rank())[0, 1])


# categories


@pytest.mark.parametrize("model", ["multinomial", "empirical", "tree"])
def test_members_are_like_their_first_member(model: str) -> None:
    sample = frame_of_families()
    given = {"predictors": ["sex"], "model": model}
    with_head = made(Categorical("faith", by_household="head", **given)).frame()
    alone = made(Categorical("faith", **given)).frame()
    expected = table(sample, "faith")
    assert table(with_head, "faith").sub(expected, fill_value=0).abs().sum() < 0.06
    assert table(alone, "faith").sub(expected, fill_value=0).abs().sum() > 0.5
    for people in (with_head, alone):  # the margins of persons are kept
        own = people["faith"].value_counts(normalize=True, dropna=False)
        kept = sample.groupby("faith", dropna=False)["w"].sum() / sample["w"].sum()
        assert own.sub(kept).abs().max() < 0.02


def test_models_are_those_of_first_members_and_of_others_given_them() -> None:
    """The observed distributions of both, by hand."""
    frame = frame_of_families()
    stage = Categorical("faith", predictors=["sex"], model="empirical", by_household="head")
    fitted = Pipeline([Structure(["age", "sex"]), stage]).fit(Survey(frame, **ROLES), seed=1)
    model = fitted.models[1]
    assert [item.name for item in model.others.coding.variables] == ["sex", HEAD_VALUE]
    levels = [None, *model.fields[0].levels]
    first = frame.groupby("hid")["pid"].transform("idxmin")
    frame["head"] = frame["faith"][first].to_numpy()
    is_first = first.to_numpy() == frame.index
    for s, stratum in enumerate(fitted.sample.strata_levels):
        for x, sex in enumerate(fitted.sample.fields["sex"].levels, 1):
            here = frame[(frame["region"] == stratum) & (frame["sex"] == sex)]
            heads = here[is_first[here.index]]
            found = predict_ladder(model.ladder, s, np.array([[x]]))[0][0]
            np.testing.assert_allclose(found, shares(heads, levels), atol=1e-12)
            for h, head in enumerate(levels):
                others = here[~is_first[here.index]]
                others = others[others["head"].isna() if head is None else others["head"] == head]
                found = predict_ladder(model.others.ladder, s, np.array([[x, h]]))[0][0]
                np.testing.assert_allclose(found, shares(others, levels), atol=1e-12)


def shares(frame: pd.DataFrame, levels: list[Any]) -> list[float]:
    total = frame["w"].sum()
    return [
        frame["w"][frame["faith"].isna() if level is None else frame["faith"] == level].sum()
        / total
        for level in levels
    ]


def test_rules_hold_for_first_members_and_others() -> None:
    rule = {"levels": ["a", None], "when": {"sex": ["f"]}}
    stage = Categorical("faith", predictors=["size"], impossible=[rule], by_household="head")
    people = made(stage).frame()
    assert set(people.loc[people["sex"] == "f", "faith"]) == {"b"}
    assert people.loc[people["sex"] == "m", "faith"].isna().any()


def test_a_rule_may_bar_all_that_others_have() -> None:
    """Others are always missing; that first members are not is what the rule says."""
    frame = frame_of_families()
    frame["faith"] = frame["faith"].fillna("a").where(frame["pid"] == 1)
    rule = {"levels": [None], "when": {"sex": ["f"]}}
    people = made(
        Categorical("faith", predictors=[], impossible=[rule], by_household="head"), frame=frame
    ).frame()
    assert people.loc[people["sex"] == "f", "faith"].notna().all()
    assert people.loc[(people["sex"] == "m") & (people["pid"] > 1), "faith"].isna().all()


def test_several_names_are_as_many_steps() -> None:
    frame = frame_of_families()
    frame["rite"] = frame["faith"]
    people = made(
        Categorical(["faith", "rite"], predictors=["sex"], by_household="head"), frame=frame
    ).frame()
    for name in ("faith", "rite"):
        assert table(people, name).sub(table(frame, name), fill_value=0).abs().sum() < 0.06


def test_a_number_by_its_levels() -> None:
    frame = frame_of_families()
    frame["number"] = frame["faith"].map({"a": 1, "b": 2})
    people = made(
        Categorical("number", predictors=["sex"], by_household="head"), frame=frame
    ).frame()
    assert table(people, "number").sub(table(frame, "number"), fill_value=0).abs().sum() < 0.06


# numbers


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_numbers_are_like_those_of_the_first_member(method: Any) -> None:
    frame = frame_of_families()
    name = "visits" if method in ("poisson", "negative-binomial") else "pay"
    given = {"predictors": ["sex"], "method": method, "zeros": True}
    if method == "binned+regression":
        del given["zeros"]
    with_head = made(Continuous(name, by_household="head", **given), scale=0.5).frame()
    alone = made(Continuous(name, **given), scale=0.5).frame()
    expected = correlation(frame, name)
    least = 0.5 if name == "visits" else 0.7  # counts are Poisson given the head
    assert least * expected < correlation(with_head, name) < 1.1 * expected
    assert abs(correlation(alone, name)) < 0.1
    assert abs((with_head[name] == 0).mean() - (alone[name] == 0).mean()) < 0.03


def test_missing_numbers_of_the_head_are_a_class() -> None:
    frame = frame_of_families()
    gone = frame.groupby("hid")["pay"].transform("first") == 0
    frame["pay"] = frame["pay"].where(~gone)
    people = made(Continuous("pay", predictors=[], by_household="head"), frame=frame).frame()
    both = pairs(people, "pay")
    missing = both["head"] == NONE
    assert 0.2 < missing.mean() < 0.4
    assert (both.loc[missing, "own"] == NONE).all()
    assert (both.loc[~missing, "own"] != NONE).all()


def test_class_limits_and_intervals_are_those_of_all() -> None:
    breaks = [0, 1, 4000, 9000, 20_000, 1e6]
    people = made(
        Continuous(
            "pay", predictors=[], breaks=breaks, intervals=("low", "high"), by_household="head"
        )
    ).frame()
    assert set(people["low"]) <= {float(x) for x in breaks}
    assert (people["low"] <= people["pay"]).all()
    assert (people["pay"] <= people["high"]).all()


def test_classes_of_the_head() -> None:
    rng = np.random.default_rng(1)
    positive = rng.lognormal(8, 1, 500)
    values = np.concatenate([positive, np.zeros(50), -positive[:30], [np.nan] * 10])
    found = number_digits(values, np.ones(len(values)))
    assert found.breaks is not None
    digit = np.where(np.isnan(values), 0, 1 + np.searchsorted(found.breaks, values, side="left"))
    zero = set(digit[values == 0])
    assert len(zero) == 1
    assert not zero & set(digit[(values != 0)])
    assert not set(digit[values < 0]) & set(digit[values > 0])
    few = np.concatenate([positive, [0.0], [-1.0]])  # too few for classes of their own
    found = number_digits(few, np.ones(len(few)))
    assert len(found.breaks) == 9
    counts = number_digits(rng.poisson(2, 300).astype(float), np.ones(300))
    assert counts.breaks[0] == 0.5
    weighted = number_digits(positive, np.where(positive > np.median(positive), 5.0, 1.0))
    plain = number_digits(positive, np.ones(500))
    assert np.median(weighted.breaks) > 1.3 * np.median(plain.breaks)


# households, blocks, workers


HEADED = [
    Categorical("faith", predictors=["sex"], by_household="head"),
    Continuous("pay", predictors=["sex"], by_household="head", method="regression"),
]


@pytest.mark.parametrize("stage", HEADED, ids=["faith", "pay"])
def test_the_same_for_any_workers(stage: Any) -> None:
    one = made(stage, rows_per_block=700).frame()
    two = made(stage, rows_per_block=700, workers=2).frame()
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize("roles", [ROLES, {"weight": "w", "strata": "region"}])
def test_households_of_one_person(roles: dict[str, str]) -> None:
    frame = frame_of_families().drop_duplicates("hid").assign(size=1)
    stages = [
        Categorical("faith", predictors=["sex"], by_household="head"),
        Continuous("pay", predictors=["sex"], by_household="head"),
    ]
    fitted = Pipeline([Structure(["age", "sex"]), *stages]).fit(Survey(frame, **roles), seed=1)
    assert fitted.models[1].others is None
    people = fitted.simulate()
    assert not people.fallbacks
    plain = [Categorical("faith", predictors=["sex"]), Continuous("pay", predictors=["sex"])]
    same = Pipeline([Structure(["age", "sex"]), *plain]).fit(Survey(frame, **roles), seed=1)
    pd.testing.assert_frame_equal(people.frame(), same.simulate().frame())


def test_small_strata_are_recorded_for_both() -> None:
    frame = frame_of_families(200)
    west = frame["region"] == "west"
    frame = frame[~west | frame["hid"].isin(frame["hid"][west].unique()[:8])]
    stages = [
        Categorical("faith", predictors=["sex"], by_household="head"),
        Continuous("pay", predictors=["sex"], by_household="head", method="regression"),
    ]
    people = made(*stages, frame=frame)
    for stage in stages:
        told = [item.what for item in people.fallbacks if item.stage == stage.label]
        assert "heads: only 8 persons in the sample: the model pooled over strata" in told
        assert any(what.startswith("other members: only") for what in told)


# other parts of the product


def test_later_steps_learn_from_the_values_of_persons() -> None:
    frame = frame_of_families()
    frame["rich"] = np.where(frame["pay"] > 9000, "yes", "no")
    people = made(
        Continuous("pay", predictors=["sex"], by_household="head"),
        Categorical("rich", predictors=["pay"]),
        frame=frame,
    ).frame()
    assert people.loc[people["pay"] > 13_000, "rich"].eq("yes").mean() > 0.95


def test_pooling_is_told_for_both() -> None:
    survey = Survey(frame_of_families(200), **ROLES)
    stages = [
        Structure(["age", "sex"]),
        Categorical("faith", predictors=["sex"], by_household="head", pooling=30),
        Continuous("pay", predictors=["sex"], by_household="head", pooling="complete"),
    ]
    found = Pipeline(stages).fit(survey, seed=1).pooling
    for label in ("categorical faith", "continuous pay"):
        assert {f"{label} (heads)", f"{label} (others)"} <= set(found)
        assert label not in found
    assert found["categorical faith (others)"].amount == 30


def test_a_run_file_takes_it_and_the_report_says_so() -> None:
    stages = [
        {"type": "structure", "variables": ["age", "rb090"]},
        {"type": "categorical", "name": "pl030", "predictors": ["rb090"], "by_household": "head"},
        {"type": "continuous", "name": "netIncome", "predictors": ["rb090"],
         "by_household": "head"},
    ]  # fmt: skip
    run = parse_runfile({"survey": {"demo": True}, "stage": stages})
    assert [stage.by_household for stage in run.stages[1:]] == ["head", "head"]
    people = made(Categorical("faith", predictors=["sex"], by_household="head"))
    recipe = people.manifest["identity"]["recipe"]
    text = str(steps(recipe, Names(), people.manifest["pooling"]))
    assert "members of a household given its first" in text
    assert "one value per household" not in text


def test_a_second_pass_is_refused() -> None:
    with pytest.raises(InputError, match="'faith' is drawn given the head"):
        made(Categorical("faith", predictors=["sex"], by_household="head"), Revisit(["faith"]))


def test_a_fault() -> None:
    with pytest.raises(InputError, match="by_household: 'heads' is not allowed"):
        made(Categorical("faith", by_household="heads"))
    with pytest.raises(InputError, match="by_household: 'heads' is not allowed"):
        made(Continuous("pay", by_household="heads"))


def test_cross_validation_judges_it() -> None:
    """The first member's value is drawn too, so that persons' distributions are compared."""
    survey = Survey(frame_of_families(300), **ROLES)
    found = cross_validate(
        survey,
        "faith",
        {"head": Categorical("faith", predictors=["sex"], by_household="head"),
         "alone": Categorical("faith", predictors=["sex"])},
        folds=3,
        seed=1,
    )  # fmt: skip
    scores = found.table.set_index("candidate")["log_score"]
    assert abs(scores["head"] - scores["alone"]) < 0.03
    numbers = cross_validate(
        survey,
        "pay",
        {"head": Continuous("pay", predictors=["sex"], by_household="head"),
         "alone": Continuous("pay", predictors=["sex"])},
        folds=3,
        seed=1,
    )  # fmt: skip
    scores = numbers.table.set_index("candidate")["crps"]
    assert abs(scores["head"] / scores["alone"] - 1) < 0.03
