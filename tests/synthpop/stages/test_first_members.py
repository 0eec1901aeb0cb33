"""Members of a household drawn given its first member."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import Binned, Categorical, Continuous, GibbsPass, Pipeline, Structure, Survey
from synthpop.conditional.fallback import predict_with_fallback
from synthpop.conditional.reference_member import FIRST_VALUE, knows_first, number_digits
from synthpop.evaluation.crossvalidation import cross_validate
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.errors import InputError
from synthpop.models.multinomial import fit_multinomial, predict_multinomial
from synthpop.report.recipe import steps
from synthpop.runfiles.runfile import parse_runfile
from tests.continuous import continuous
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import EVERY

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
    with_first_value = made(Categorical("faith", by_household="first", **given)).frame()
    alone = made(Categorical("faith", **given)).frame()
    expected = table(sample, "faith")
    assert table(with_first_value, "faith").sub(expected, fill_value=0).abs().sum() < 0.065
    assert table(alone, "faith").sub(expected, fill_value=0).abs().sum() > 0.5
    for people in (with_first_value, alone):  # the margins of persons are kept
        own = people["faith"].value_counts(normalize=True, dropna=False)
        kept = sample.groupby("faith", dropna=False)["w"].sum() / sample["w"].sum()
        assert own.sub(kept).abs().max() < 0.02


def test_models_are_those_of_first_members_and_of_others_given_them() -> None:
    """The observed distributions of both, by hand."""
    frame = frame_of_families()
    stage = Categorical("faith", predictors=["sex"], model="empirical", by_household="first")
    fitted = Pipeline([Structure(["age", "sex"]), stage]).fit(Survey(frame, **ROLES), seed=1)
    model = fitted.models[1]
    assert [item.name for item in model.encodings.variables] == ["sex", FIRST_VALUE]
    levels = [None, *model.fields[0].levels]
    first = frame.groupby("hid")["pid"].transform("idxmin")
    frame["head"] = frame["faith"][first].to_numpy()
    is_first = first.to_numpy() == frame.index
    for s, stratum in enumerate(fitted.sample.strata_levels):
        for x, sex in enumerate(fitted.sample.fields["sex"].levels, 1):
            here = frame[(frame["region"] == stratum) & (frame["sex"] == sex)]
            heads = here[is_first[here.index]]
            found = predict_with_fallback(
                replace(model.sequence, factors=None, likeness=None),
                s,
                np.array([[x, len(levels)]]),
            )[0][0]
            np.testing.assert_allclose(found, shares(heads, levels), atol=1e-12)
            for h, head in enumerate(levels):
                others = here[~is_first[here.index]]
                others = others[others["head"].isna() if head is None else others["head"] == head]
                found = predict_with_fallback(
                    replace(model.sequence, factors=None, likeness=None), s, np.array([[x, h]])
                )[0][0]
                np.testing.assert_allclose(found, shares(others, levels), atol=1e-12)


def test_numbers_have_the_first_member_and_its_value_as_a_predictor() -> None:
    """Classes of the values: the model by hand."""
    frame = frame_of_families()
    breaks = [0, 1, 9000, 1e6]
    given = {"predictors": ["size"], "breaks": breaks, "zeros": False, "pooling": "none"}
    stage = continuous("pay", by_household="first", **given)
    fitted = Pipeline([Structure(["age", "sex"]), stage]).fit(Survey(frame, **ROLES), seed=1)
    model, sample = fitted.models[1], fitted.sample
    assert [item.name for item in model.encodings.variables] == ["size", FIRST_VALUE]
    values = sample.columns["pay"]
    first = np.zeros(len(values), dtype=bool)
    first[sample.offsets[:-1]] = True
    head = np.repeat(values[first], np.diff(sample.offsets))
    limits = number_digits(values[first], sample.weights[first]).breaks
    head = np.where(first, len(limits) + 1, 1 + np.searchsorted(limits, head, side="left"))
    digits = np.column_stack([sample.columns["size"].astype(np.int64), head])
    classes = np.searchsorted(breaks, values, side="left").clip(1)  # none is missing
    for s in range(3):
        here = sample.strata == s
        own = fit_multinomial(digits[here], classes[here], sample.weights[here],
                              model.encodings.sizes, 4)  # fmt: skip
        cells = np.unique(digits[here], axis=0)
        found = predict_with_fallback(replace(model.sequence, factors=None), s, cells)[0]
        np.testing.assert_allclose(found, predict_multinomial(own, cells)[0], atol=1e-6)


def shares(frame: pd.DataFrame, levels: list[Any]) -> list[float]:
    total = frame["w"].sum()
    return [
        frame["w"][frame["faith"].isna() if level is None else frame["faith"] == level].sum()
        / total
        for level in levels
    ]


def test_rules_hold_for_first_members_and_others() -> None:
    rule = {"levels": ["a", None], "when": {"sex": ["f"]}}
    stage = Categorical("faith", predictors=["size"], impossible=[rule], by_household="first")
    people = made(stage).frame()
    assert set(people.loc[people["sex"] == "f", "faith"]) == {"b"}
    assert people.loc[people["sex"] == "m", "faith"].isna().any()


def test_a_rule_may_bar_all_that_others_have() -> None:
    """Others are always missing; that first members are not is what the rule says."""
    frame = frame_of_families()
    frame["faith"] = frame["faith"].fillna("a").where(frame["pid"] == 1)
    rule = {"levels": [None], "when": {"sex": ["f"]}}
    people = made(
        Categorical("faith", predictors=[], impossible=[rule], by_household="first"), frame=frame
    ).frame()
    assert people.loc[people["sex"] == "f", "faith"].notna().all()
    assert people.loc[(people["sex"] == "m") & (people["pid"] > 1), "faith"].isna().all()


def test_several_names_are_as_many_steps() -> None:
    frame = frame_of_families()
    frame["rite"] = frame["faith"]
    people = made(
        Categorical(["faith", "rite"], predictors=["sex"], by_household="first"), frame=frame
    ).frame()
    for name in ("faith", "rite"):
        assert table(people, name).sub(table(frame, name), fill_value=0).abs().sum() < 0.065


def test_a_number_by_its_levels() -> None:
    frame = frame_of_families()
    frame["number"] = frame["faith"].map({"a": 1, "b": 2})
    people = made(
        Categorical("number", predictors=["sex"], by_household="first"), frame=frame
    ).frame()
    assert table(people, "number").sub(table(frame, "number"), fill_value=0).abs().sum() < 0.065


# numbers


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_numbers_are_like_those_of_the_first_member(method: Any) -> None:
    frame = frame_of_families()
    name = "visits" if method in ("poisson", "negative-binomial") else "pay"
    given = {"predictors": ["sex"], "method": method, "zeros": True}
    if method == "binned+regression":
        del given["zeros"]
    with_first_value = made(continuous(name, by_household="first", **given), scale=0.5).frame()
    alone = made(continuous(name, **given), scale=0.5).frame()
    expected = correlation(frame, name)
    least = 0.5 if name == "visits" else 0.7  # counts are Poisson given the head
    assert least * expected < correlation(with_first_value, name) < 1.1 * expected
    assert abs(correlation(alone, name)) < 0.1
    assert abs((with_first_value[name] == 0).mean() - (alone[name] == 0).mean()) < 0.03


def test_missing_numbers_of_the_head_are_a_class() -> None:
    frame = frame_of_families()
    gone = frame.groupby("hid")["pay"].transform("first") == 0
    frame["pay"] = frame["pay"].where(~gone)
    people = made(Continuous("pay", predictors=[], by_household="first"), frame=frame).frame()
    both = pairs(people, "pay")
    missing = both["head"] == NONE
    assert 0.2 < missing.mean() < 0.4
    assert (both.loc[missing, "own"] == NONE).all()
    assert (both.loc[~missing, "own"] != NONE).all()


def test_class_limits_and_intervals_are_those_of_all() -> None:
    breaks = [0, 1, 4000, 9000, 20_000, 1e6]
    people = made(
        Continuous(
            "pay",
            method=Binned(breaks=breaks, intervals=("low", "high")),
            predictors=[],
            by_household="first",
        )
    ).frame()
    assert set(people["low"]) <= {float(x) for x in breaks}
    assert (people["low"] <= people["pay"]).all()
    assert (people["pay"] <= people["high"]).all()


def test_classes_of_the_head() -> None:
    def digits(values: np.ndarray) -> np.ndarray:
        limits = number_digits(values, np.ones(len(values))).breaks
        return np.where(np.isnan(values), 0, 1 + np.searchsorted(limits, values, side="left"))

    rng = np.random.default_rng(1)
    positive = rng.lognormal(8, 1, 500)
    values = np.concatenate([positive, np.zeros(50), -positive[:30], [np.nan] * 10])
    digit = digits(values)
    zero, below, above = (set(digit[x]) for x in (values == 0, values < 0, values > 0))
    assert len(zero) == 1
    assert not zero & (below | above)
    assert not below & above
    few = np.concatenate([positive, [0.0], [-1.0]])  # too few for classes of their own
    assert len(set(digits(few))) == 10
    assert len(set(digits(rng.poisson(2, 300).astype(float)))) > 5
    for x in (values, few, np.array([1.0, 2.0]), np.full(3, np.nan)):
        found = number_digits(x, np.ones(len(x)))
        assert found.size == len(found.breaks) + 2
        assert 1 + np.searchsorted(found.breaks, np.inf) == found.size - 1
        assert 1 + np.searchsorted(found.breaks, 1e300) == found.size - 2  # beyond the sample
    for n_values, n_classes in ((20, 20), (21, 10)):  # twenty values are classes of their own
        assert len(set(digits(np.arange(1.0, n_values + 1).repeat(5)))) == n_classes
    upper = np.where(positive > np.median(positive), 5.0, 1.0)
    weighted = number_digits(positive, upper).breaks[:-1]
    plain = number_digits(positive, np.ones(500)).breaks[:-1]
    assert np.median(weighted) > 1.3 * np.median(plain)


def test_twenty_heads_make_a_class_and_nineteen_do_not() -> None:
    """Zeros, values below, and the highest 5 % and 1 %."""
    positive = np.arange(1.0, 401.0)

    def limits(*values: np.ndarray, top: bool = False) -> list[float]:
        x = np.concatenate([positive, *values])
        return number_digits(x, np.ones(len(x)), top=top).breaks.tolist()

    for n, apart in ((20, True), (19, False)):
        assert (0.0 in limits(np.zeros(n))) == apart
        below = np.nextafter(0.0, -1.0)
        assert (below in limits(-np.arange(1.0, n + 1))) == apart
    assert below not in limits(np.zeros(20))
    assert 0.0 not in limits(-np.arange(1.0, 21.0))
    deciles = [*np.arange(40.0, 361.0, 40.0)]
    last = np.finfo(float).max
    assert limits() == [*deciles, last]
    assert limits(top=True) == [*deciles, 380.0, last]  # twenty are above 380, four above 396
    one_less = positive[:-1]  # of 399 the limit is 380 too, and nineteen are above
    assert 380.0 not in number_digits(one_less, np.ones(399), top=True).breaks
    many = np.arange(1.0, 2001.0)
    found = number_digits(many, np.ones(2000), top=True).breaks.tolist()
    assert found[-3:] == [1900.0, 1980.0, last]


# households, blocks, workers


HEADED = [
    Categorical("faith", predictors=["sex"], by_household="first"),
    Continuous("pay", predictors=["sex"], by_household="first", method="regression"),
]


@pytest.mark.parametrize("stage", HEADED, ids=["faith", "pay"])
def test_the_same_for_any_workers(stage: Any) -> None:
    one = made(stage, rows_per_block=700).frame()
    two = made(stage, rows_per_block=700, workers=2).frame()
    assert_same_frame(one, two)


@pytest.mark.parametrize("roles", [ROLES, {"weight": "w", "strata": "region"}])
def test_households_of_one_person(roles: dict[str, str]) -> None:
    frame = frame_of_families().drop_duplicates("hid").assign(size=1)
    stages = [
        Categorical("faith", predictors=["sex"], by_household="first"),
        Continuous("pay", predictors=["sex"], by_household="first"),
    ]
    fitted = Pipeline([Structure(["age", "sex"]), *stages]).fit(Survey(frame, **roles), seed=1)
    assert not any(knows_first(model.encodings) for model in fitted.models[1:])
    people = fitted.simulate()
    assert not people.fallbacks
    plain = [Categorical("faith", predictors=["sex"]), Continuous("pay", predictors=["sex"])]
    same = Pipeline([Structure(["age", "sex"]), *plain]).fit(Survey(frame, **roles), seed=1)
    assert_same_frame(people.frame(), same.simulate().frame())


# other parts of the product


def test_later_steps_learn_from_the_values_of_persons() -> None:
    frame = frame_of_families()
    frame["rich"] = np.where(frame["pay"] > 9000, "yes", "no")
    people = made(
        Continuous("pay", predictors=["sex"], by_household="first"),
        Categorical("rich", predictors=["pay"]),
        frame=frame,
    ).frame()
    assert people.loc[people["pay"] > 13_000, "rich"].eq("yes").mean() > 0.95


def test_a_run_file_takes_it_and_the_report_says_so() -> None:
    stages = [
        {"type": "structure", "variables": ["age", "rb090"]},
        {"type": "categorical", "name": "pl030", "predictors": ["rb090"], "by_household": "first"},
        {"type": "continuous", "name": "netIncome", "predictors": ["rb090"],
         "by_household": "first"},
    ]  # fmt: skip
    run = parse_runfile({"survey": {"demo": True}, "stage": stages})
    assert [stage.by_household for stage in run.stages[1:]] == ["first", "first"]
    people = made(Categorical("faith", predictors=["sex"], by_household="first"))
    recipe = people.manifest.identity.recipe
    text = str(steps(recipe, FigureNames(), people.manifest.pooling))
    assert "members conditional on the first member" in text
    assert "one value per household" not in text


def test_a_second_pass_is_refused() -> None:
    with pytest.raises(InputError, match="'faith' is drawn given other members"):
        made(Categorical("faith", predictors=["sex"], by_household="first"), GibbsPass(["faith"]))


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
        {"first": Categorical("faith", predictors=["sex"], by_household="first"),
         "alone": Categorical("faith", predictors=["sex"])},
        folds=3,
        seed=1,
    )  # fmt: skip
    scores = found.table.set_index("candidate")["log_score"]
    assert abs(scores["first"] - scores["alone"]) < 0.03
    numbers = cross_validate(
        survey,
        "pay",
        {"first": Continuous("pay", predictors=["sex"], by_household="first"),
         "alone": Continuous("pay", predictors=["sex"])},
        folds=3,
        seed=1,
    )  # fmt: skip
    scores = numbers.table.set_index("candidate")["crps"]
    assert abs(scores["first"] / scores["alone"] - 1) < 0.03
