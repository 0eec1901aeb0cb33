"""Pooling across strata as an option of the stages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Pipeline,
    PoolingOptions,
    Relation,
    Structure,
    Survey,
    cross_validate,
)
from synthpop.microdata.messages.errors import InputError
from tests.small import ROLES, small_frame, small_survey
from tests.synthpop.stages.test_relation import frame_with_faith

STRUCTURE = Structure(["age", "sex"])


def of_models(run) -> dict:
    """Pooling of the models, without that of the structure's donors."""
    return {label: found for label, found in run.pooling.items() if label != "structure"}


def fitted(*stages, survey: Survey | None = None, seed: int = 1):
    return Pipeline([STRUCTURE, *stages]).fit(survey or small_survey(), seed=seed)


def uneven_survey() -> Survey:
    """A variable that goes with sex in one direction in the north, in the other elsewhere."""
    frame = small_frame(900)
    north = frame["region"] == "north"
    women = frame["sex"] == "f"
    p = np.where(women == north, 0.9, 0.1)
    frame["flag"] = np.where(np.random.default_rng(3).random(len(frame)) < p, "yes", "no")
    frame["amount"] = np.where(frame["flag"] == "yes", 100.0, 1.0) * (1 + frame["age"] / 100)
    return Survey(frame, **ROLES)


def gap_in_the_west(stage, name: str, above: object) -> float:
    """How much more often women of the west have the value than its men."""
    people = fitted(stage, survey=uneven_survey()).simulate(scale=3).frame()
    west = people[people["region"] == "west"]
    has = west[name] == above if isinstance(above, str) else west[name] > above
    return float(has[west["sex"] == "f"].mean() - has[west["sex"] == "m"].mean())


@pytest.mark.parametrize(
    ("kind", "name", "above"), [(Categorical, "flag", "yes"), (Continuous, "amount", 50.0)]
)
def test_the_pull_takes_away_what_a_stratum_has_of_its_own(kind, name, above) -> None:
    own, little, much, complete = (
        gap_in_the_west(kind(name, predictors=["sex"], pooling=pooling), name, above)
        for pooling in ("none", 1.0, 300.0, "complete")
    )
    assert own < -0.6
    assert abs(own - little) < 0.1
    assert much > own + 0.2
    assert complete > much - 0.05
    chosen = gap_in_the_west(kind(name, predictors=["sex"]), name, above)
    assert chosen < -0.5  # cross-validation sees that the regions differ


def test_what_was_chosen_is_told_by_the_fit_and_the_manifest() -> None:
    run = fitted(Categorical("status"), Continuous("income", pooling=20.0))
    assert list(of_models(run)) == ["categorical status", "continuous income"]
    chosen, given = of_models(run).values()
    assert chosen.chosen == "cross-validated"
    assert len(chosen.scores) > 1
    assert (given.chosen, given.amount) == ("given", 20.0)
    told = run.simulate().manifest.pooling
    assert told["continuous income"]["amount"] == 20.0
    assert told["categorical status"] == chosen.to_dict()


def test_heads_and_others_have_their_own_amounts() -> None:
    stages = [Structure(["age", "sex", "relation"])]
    survey = Survey(frame_with_faith(), **ROLES)
    options = {"relationship": "relation", "head": "head", "predictors": ["sex"]}
    run = Pipeline([*stages, Relation("faith", **options)]).fit(survey, seed=1)
    assert list(of_models(run)) == ["relation faith (heads)", "relation faith (others)"]
    none = Pipeline([*stages, Relation("faith", **options, pooling="none")]).fit(survey, seed=1)
    assert {item.kind for item in of_models(none).values()} == {"none"}


def test_the_default_is_of_the_model() -> None:
    def kind(**options) -> str:
        return fitted(Categorical("status", **options)).pooling["categorical status"].kind

    assert kind() == "partial"
    assert kind(model="empirical") == "none"
    assert kind(model="tree") == "none"
    assert kind(numeric="values") == "partial"
    assert kind(model="empirical", pooling="cross-validated") == "partial"


@pytest.mark.parametrize(
    ("options", "way"),
    [({"model": "tree"}, "mixture"), ({"model": "boosting"}, "mixture"),
     ({"model": "empirical"}, "cells"), ({"numeric": "values"}, "effects")],
    ids=str,
)  # fmt: skip
def test_any_model_can_be_held_near_that_of_all_strata(options, way: str) -> None:
    def stage(pooling) -> Categorical:
        return Categorical("flag", predictors=["sex", "age"], pooling=pooling, **options)

    own, little, much, complete = (
        gap_in_the_west(stage(pooling), "flag", "yes") for pooling in ("none", 1.0, 1e6, "complete")
    )
    assert abs(own - little) < 0.05
    assert abs(much - complete) < 0.05
    told = fitted(stage("cross-validated"), survey=uneven_survey()).pooling["categorical flag"]
    assert (told.kind, told.way, told.chosen) == ("partial", way, "cross-validated")
    assert len(told.scores) > 5


def test_complete_pooling_is_no_step_down() -> None:
    run = fitted(Categorical("status", predictors=["sex"], pooling="complete"))
    assert run.fallbacks == ()
    assert run.simulate().fallbacks == ()


def test_a_formula_gets_no_pairs_but_its_own() -> None:
    frame = small_frame(800)
    same = (frame["sex"] == "f") == (frame["size"] > 2)
    frame["flag"] = np.where(same, "yes", "no")
    survey = Survey(frame, **ROLES)
    listed = fitted(Categorical("flag", predictors=["sex", "size"]), survey=survey)
    formula = fitted(Categorical("flag", predictors="~ sex + size"), survey=survey)
    assert np.isfinite(listed.pooling["categorical flag"].pairs)
    assert np.isinf(formula.pooling["categorical flag"].pairs)


def test_same_seed_same_folds() -> None:
    one, two = (fitted(Categorical("status"), seed=5).pooling for _ in range(2))
    assert one == two
    other = fitted(Categorical("status"), seed=6).pooling
    assert one["categorical status"].scores != other["categorical status"].scores


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        (Categorical("status", pooling="some"), "pooling"),
        (Categorical("status", pooling=-1.0), "Give 0 or more persons"),
        (Categorical("status", pooling=float("nan")), "Give 0 or more persons"),
        (Categorical("status", pooling=True), "pooling"),
        (Categorical("status", pooling="a number"), "pooling"),
        (Continuous("income", pooling="partly"), "pooling"),
    ],
)
def test_pooling_that_makes_no_sense_is_refused(stage, text: str) -> None:
    with pytest.raises(InputError) as caught:
        fitted(stage)
    assert text in str(caught.value)
    assert "fault" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "always"),
    [({"pooling": "none"}, True), ({"pooling": 20.0}, True), ({"pooling": np.inf}, True),
     ({"pooling": 20.0, "model": "empirical"}, False)],
)  # fmt: skip
def test_a_stratum_of_one_level_is_told_as_it_is(options, always: bool) -> None:
    frame = small_frame(900)
    frame.loc[frame["region"] == "west", "status"] = "retired"
    stage = Categorical("status", predictors=["sex"], **options)
    run = fitted(stage, survey=Survey(frame, **ROLES))
    told = [note.what for note in run.fallbacks if note.stratum == "west"]
    people = run.simulate(scale=3).frame()
    only = bool((people.loc[people["region"] == "west", "status"] == "retired").all())
    assert told == [
        "only one level in the sample: "
        + ("always drawn" if only else "others may come from other strata")
    ]
    assert only == always


def test_members_of_a_household_share_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    from synthpop.conditional.pooling.choose import assign_folds

    dealt = []

    def deal(groups, seed):
        dealt.append(groups)
        return assign_folds(groups, seed)

    monkeypatch.setattr("synthpop.conditional.pooling.choose.assign_folds", deal)
    survey = small_survey()
    fitted(Categorical("status", predictors=["sex"]), survey=survey)
    groups = dealt[-1]
    assert np.bincount(groups).tolist() == survey.household_sizes.tolist()


def small_strata(persons: int, total: int = 1_200) -> Survey:
    """Strata of so many persons that differ little; few of each are unemployed."""
    rng = np.random.default_rng(1)
    stratum = np.repeat(np.arange(total // persons), persons)
    age, sex = rng.choice(["young", "middle", "old"], total), rng.choice(["f", "m"], total)
    works = pd.Series(age).map({"young": 0.5, "middle": 1.5, "old": -2.0}).to_numpy()
    works = works + 0.5 * (sex == "m") + rng.normal(0, 0.3, total // persons)[stratum]
    odds = np.exp(np.column_stack([np.zeros(total), works, np.full(total, -2.0)]))
    drawn = (rng.random(total)[:, None] > (odds / odds.sum(axis=1)[:, None]).cumsum(axis=1)).sum(1)
    status = np.array(["not", "works", "unemployed"])[drawn]
    frame = pd.DataFrame({"stratum": [f"s{k}" for k in stratum], "age": age, "sex": sex})
    return Survey(frame.assign(status=status, all="x", w=10.0), weight="w", strata="stratum")


@pytest.mark.parametrize("persons", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_class_totals_of_small_strata_borrow_from_the_others(persons: int) -> None:
    """Log scores by persons a stratum: once 1.08, 0.71 and 0.65, 0.64 to 0.68 without strata."""
    steps = ["age", "sex"]
    candidates = {
        "default": Categorical("status", steps),
        "strata ignored": Categorical("status", steps, by="all"),
        "own totals": Categorical("status", steps, pooling=PoolingOptions(totals="own")),
    }
    before = [Structure([*steps, "all"])]
    survey = small_strata(persons)
    scores = cross_validate(survey, "status", candidates, before=before, folds=3, seed=1)
    table = scores.to_frame().set_index("candidate")
    assert table.log_score["default"] < table.log_score["strata ignored"] + 0.005
    assert table.log_score["default"] < table.log_score["own totals"] - 0.01
    assert table.zero["default"] == 0 < table.zero["own totals"]


def test_a_recipe_can_say_what_an_earlier_fit_chose() -> None:
    steps, frame = ["age", "sex"], small_strata(200).frame
    together = (frame["age"] == "old") & (frame["sex"] == "f")
    status = np.where(together, "unemployed", frame["status"])
    survey = Survey(frame.assign(status=status), weight="w", strata="stratum")
    asked = Categorical("status", steps)
    before = Structure(steps)
    chosen = Pipeline([before, asked]).fit(survey, seed=1)
    pooling = chosen.pooling["categorical status"]
    assert np.isfinite(pooling.pairs)
    options = PoolingOptions(pooling.amount, pairs=pooling.pairs)
    stated = Pipeline([before, replace(asked, pooling=options)]).fit(survey, seed=1)
    repeated = stated.pooling["categorical status"]
    assert (repeated.chosen, repeated.pairs) == ("given", pooling.pairs)
    people = chosen.simulate(scale=0.2).frame()
    assert stated.simulate(scale=0.2).frame().equals(people)
    without = Pipeline([before, replace(asked, pooling=pooling.amount)]).fit(survey, seed=1)
    assert not without.simulate(scale=0.2).frame().equals(people)
    alone = Categorical("status", ["sex"], pooling=options)  # one predictor has no pairs
    assert np.isinf(fitted(alone).pooling["categorical status"].pairs)


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (
            Categorical("status", pooling=PoolingOptions(pairs=30)),
            "pairs: needs a number as amount",
        ),
        (
            Categorical("status", pooling=PoolingOptions("none", pairs=30)),
            "pairs: needs a number as amount, not 'none'",
        ),
        (Categorical("status", pooling=PoolingOptions(3, pairs=-1)), "pairs: is -1"),
        (
            Categorical("status", model="tree", pooling=PoolingOptions(3, pairs=30)),
            "pairs: are of multinomial models without a formula",
        ),
        (
            Continuous("income", predictors="age:sex", pooling=PoolingOptions(3, pairs=30)),
            "pairs: are of multinomial models without a formula",
        ),
    ],
)
def test_pairs_that_cannot_be_had_are_an_error(stage, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(stage)


def one_standard_error_recipe(word: str) -> Pipeline:
    regressed = Continuous("amount", method="regression", predictors=["sex"], pooling=word)
    empirical = Categorical("status", ["sex", "age"], model="empirical", pooling=word)
    return Pipeline([Structure(["age", "sex"], pooling=word), empirical, regressed])


def test_the_one_standard_error_rule_pools_more_and_never_less() -> None:
    survey, word = uneven_survey(), "one-standard-error"
    amounts = []
    for seed in (1, 2, 3):
        plain = one_standard_error_recipe("cross-validated").fit(survey, seed=seed).pooling
        cautious = one_standard_error_recipe(word).fit(survey, seed=seed).pooling
        assert {pooling.chosen for pooling in cautious.values()} == {word}
        assert all("one standard error" in pooling.summary() for pooling in cautious.values())
        amounts += [(plain[label].amount, cautious[label].amount) for label in plain]
    assert all(more >= amount for amount, more in amounts)
    assert sum(more > amount for amount, more in amounts) >= 4
