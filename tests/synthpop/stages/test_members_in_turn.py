"""Members beyond the second are drawn given those before them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    InputError,
    Pipeline,
    Relation,
    Structure,
    Survey,
)
from synthpop.conditional.likeness import LARGEST_CORRECTION, fit_likeness
from synthpop.conditional.members_before import (
    MOST_ROUNDS,
    Before,
    BeforeRule,
    before_in_sample,
    rounds,
)
from tests.same import assert_same_frame

HOUSEHOLDS, SIZE = 500, 4


def survey_of_siblings() -> Survey:
    """Third and fourth members are alike, and have nothing in common with first and second."""
    rng = np.random.default_rng(4)
    n = HOUSEHOLDS * SIZE
    child = np.tile([False, False, True, True], HOUSEHOLDS)
    pair = np.repeat(rng.random(HOUSEHOLDS), SIZE)
    alone = rng.random(n)
    level = np.where(child, pair, alone)
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(HOUSEHOLDS), SIZE),
            "part": np.tile(["head", "partner", "child", "child"], HOUSEHOLDS),
            "faith": np.array(["a", "b", "c"])[(level * 3).astype(int)],
            "amount": (1000 * (1 + np.where(child, pair + 0.1 * alone, alone))).round(),
            "w": 10.0,
        }
    )
    return Survey(frame, weight="w", household="hid")


def alike(frame: pd.DataFrame, name: str) -> float:
    """Share of third members with the value of the fourth, or the correlation of numbers."""
    children = frame[frame.part == "child"][name].to_numpy().reshape(-1, 2)
    if children.dtype.kind == "f":
        return float(np.corrcoef(children.T)[0, 1])
    return float((children[:, 0] == children[:, 1]).mean())


def population(stage: object, seed: int = 2) -> pd.DataFrame:
    """The population that a step makes behind the structure."""
    recipe = Pipeline([Structure(["part"]), stage])
    return recipe.fit(survey_of_siblings(), seed=seed).simulate().frame()


@pytest.mark.parametrize(
    ("stage", "by_chance", "in_turn"),
    [
        (Categorical("faith", predictors=["part"], pooling="none"), 0.45, 0.9),
        (Continuous("amount", predictors=["part"], pooling="none"), 0.25, 0.75),
        (
            Relation(
                "faith", relationship="part", head="head", predictors=["part"], pooling="none"
            ),
            0.45,
            0.9,
        ),
    ],
)
def test_siblings_are_alike_when_drawn_in_turn(stage, by_chance, in_turn):
    name = stage.name
    assert alike(population(replace(stage, by_household="first")), name) < by_chance
    made = population(replace(stage, by_household="sequential"))
    assert alike(made, name) > in_turn
    # margins stay those of the survey
    if name == "faith":
        want = survey_of_siblings().frame.groupby("part")[name].value_counts(normalize=True)
        have = made.groupby("part", observed=True)[name].value_counts(normalize=True)
        assert float(want.sub(have, fill_value=0).abs().max()) < 0.05


def families_with_lodgers(n: int = 600) -> Survey:
    """Brothers always have the faith of the head, lodgers by chance; nine faiths, seven rare."""
    rng = np.random.default_rng(7)
    faiths, shares = np.array(list("abcdefghi")), [0.45, 0.34, *[0.03] * 7]
    kin = np.where(rng.random(n) < 0.25, "brother", "lodger")
    frame = pd.DataFrame({"hid": np.repeat(np.arange(n), 2), "w": 10.0, "kin": "head"})
    frame.loc[1::2, "kin"] = kin
    frame["faith"] = rng.choice(faiths, 2 * n, p=shares)
    frame.loc[1::2, "faith"] = np.where(kin == "brother", frame["faith"][::2], frame["faith"][1::2])
    return Survey(frame, weight="w", household="hid")


@pytest.mark.parametrize("form", ["first", "sequential"])
def test_each_kind_of_member_is_as_like_the_head_as_in_the_survey(form: str) -> None:
    stage = Categorical("faith", predictors=["kin"], by_household=form)
    people = Pipeline([Structure(["kin"]), stage]).fit(families_with_lodgers(), seed=3)
    sides = families_with_lodgers().frame, people.simulate().frame()
    for kin, near in (("brother", 0.06), ("lodger", 0.05)):
        shares = []
        for frame in sides:
            head = frame.groupby("hid")["faith"].transform("first")
            shares.append((frame["faith"] == head)[frame["kin"] == kin].mean())
        assert shares[1] == pytest.approx(shares[0], abs=near)


def test_likeness_is_corrected_by_kind_and_bounded() -> None:
    """Two kinds in a pilot where half are alike: one is alike in the survey, one is not."""
    digits = np.tile([[0, 1, 1], [1, 2, 2]], (150, 1))
    classes = np.where(digits[:, 0] == 0, digits[:, 2], 3 - digits[:, 2])
    even = np.tile([0.0, 0.5, 0.5], (300, 1))
    likeness = fit_likeness([2], 0, 2, 9, digits, classes, np.ones(300), even)
    assert likeness.groups.tolist() == [1, 2]
    assert likeness.shares[0, 1:].tolist() == [1.0, 0.0]
    assert likeness.factors[0, 0] > 20
    assert likeness.factors[0, 1] < 0.05
    some = replace(likeness, factors=np.ones((1, 2)), shares=np.array([[0.5, 0.6, 0.001]]))
    now, _ = some.corrected(np.ones(300), even, digits, lambda _: np.ones(3))
    np.testing.assert_allclose(now.factors, [[1.5, 1 / LARGEST_CORRECTION]], rtol=1e-6)
    first = np.array([[0, 1, 9]])  # first members are compared with nobody
    assert likeness.applied(np.ones((1, 3)), first).tolist() == [[1, 1, 1]]


def test_members_of_one_place_are_drawn_together():
    offsets = np.array([0, 1, 4, 16])
    others = np.setdiff1d(np.arange(16), offsets[:-1])
    parts = list(rounds(others, offsets))
    assert [rows.tolist() for rows, _ in parts[:2]] == [[2, 5], [3, 6]]
    assert parts[0][1].tolist() == [1, 2]
    assert len(parts) == MOST_ROUNDS
    assert parts[-1][0].tolist() == [12, 13, 14, 15]
    assert sorted(np.concatenate([rows for rows, _ in parts]).tolist()) == others.tolist()


def test_the_mean_of_members_before_leaves_missing_values_out():
    values = np.array([9.0, 2.0, np.nan, 4.0, 0.0])
    rule = BeforeRule("part", 3, coded=False)
    kinds = np.array([0, 1, 2, 2, 2])
    own, second = before_in_sample(rule, values, np.arange(1, 5), np.array([0, 5]), kinds)
    np.testing.assert_array_equal(own, [np.nan, np.nan, np.nan, np.nan, 4.0])
    np.testing.assert_array_equal(second, [np.nan, np.nan, 2.0, 2.0, 2.0])


def test_a_word_that_is_no_form_is_refused():
    survey = survey_of_siblings()
    for stage in (
        Relation("faith", relationship="part", head="head", by_household="shared"),
        Categorical("faith", by_household="in turn"),
        Continuous("amount", by_household="in turn"),
    ):
        with pytest.raises(InputError, match="by_household"):
            Pipeline([Structure(["part"]), stage]).fit(survey)


def test_results_do_not_depend_on_blocks_or_repeat(tmp_path):
    stage = Continuous("amount", predictors=["part"], by_household="sequential", pooling="none")
    first, second = population(stage), population(stage)
    assert_same_frame(first, second)


def test_kinds_and_values_of_the_members_before() -> None:
    """Relations 0 and 1, and 2 for a missing one; means of numbers by kind, and the second's."""
    rule = BeforeRule("kin", 3, False)
    relation = np.array([0, 1, -1, 1])
    assert rule.kinds_of(np.array([3, 2, 0]), 0, relation).tolist() == [1, 2, 0]
    alike = BeforeRule(None, 2, False)
    assert [alike.kinds_of(np.arange(2), place, None).tolist() for place in (0, 1, 2, 5)] == [
        [0, 0], [1, 1], [1, 1], [1, 1],
    ]  # fmt: skip
    before = Before.nobody(rule, 2)
    both = np.arange(2)
    before.add(both, np.array([1, 2]), np.array([10.0, np.nan]), 0)
    before.add(both, np.array([1, 1]), np.array([20.0, 7.0]), 1)
    before.add(np.array([0]), np.array([1]), np.array([60.0]), 2)
    np.testing.assert_array_equal(before.values, [[np.nan, 30, np.nan], [np.nan, 7, np.nan]])
    assert before.persons.tolist() == [[0, 3, 0], [0, 1, 0]]
    np.testing.assert_array_equal(before.second, [10, np.nan])
    coded = BeforeRule("kin", 3, True)
    assert coded.as_column(np.array([1.0, np.nan])).tolist() == [1, -1]
    levels = Before.nobody(coded, 1)
    levels.add(np.array([0]), np.array([0]), np.array([2.0]), 0)
    levels.add(np.array([0]), np.array([0]), np.array([-1.0]), 1)
    levels.add(np.array([0]), np.array([0]), np.array([0.0]), 2)
    assert (levels.values[0, 0], levels.persons[0, 0], levels.second[0]) == (0, 2, 2)
