"""Members given the first one: the make-up of the household, and margins that stay."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.conditional.calibrated_shares import factors_of
from synthpop.conditional.make_up import find_make_up
from tests.small import ROLES, small_frame


def with_partner(frame: pd.DataFrame) -> pd.Series:
    """Whether the household of each person has a partner."""
    return frame["kin"].eq("partner").groupby(frame["hid"]).transform("any")


def families(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Couples are married in 70 % of the cases, both or none; heads without a partner never."""
    frame = small_frame(n, seed)
    rng = np.random.default_rng(seed + 1)
    frame["kin"] = np.where(frame["age"] < 16, "child", "partner")
    frame.loc[frame["pid"] == 1, "kin"] = "head"
    couple = with_partner(frame)
    married = (rng.random(n) < 0.7)[frame["hid"] - frame["hid"].min()]
    status = np.where(couple & married, "married", "single")
    frame["marital"] = pd.Series(status).where(frame["age"] >= 16)
    log = rng.normal(9, 0.3, n)[frame["hid"] - frame["hid"].min()]
    wage = np.exp(log + np.where(couple, 0.8, 0) + rng.normal(0, 0.2, len(frame)))
    frame["wage"] = pd.Series(wage.round()).where(frame["age"] >= 16)
    return frame


def simulate(frame: pd.DataFrame, *stages, structure=("age", "sex", "kin"), seed: int = 1):
    fitted = Pipeline([Structure(list(structure)), *stages]).fit(Survey(frame, **ROLES), seed=seed)
    return fitted, fitted.simulate(scale=2).frame()


def share(frame: pd.DataFrame, who: str, weighted: bool) -> float:
    rows = frame[frame["kin"] == who]
    return float(np.average(rows["marital"] == "married", weights=rows["w"] if weighted else None))


def test_heads_and_partners_keep_their_shares_when_drawn_given_the_first() -> None:
    frame = families()
    stage = Categorical("marital", predictors=["sex", "size"], by_household="first")
    _, people = simulate(frame, stage)
    for who in ("head", "partner"):
        assert share(people, who, False) == pytest.approx(share(frame, who, True), abs=0.012)
    couple = with_partner(people)
    alone = people[~couple & (people["kin"] == "head")]
    assert (alone["marital"] == "married").mean() < 0.005
    adults = people[people["kin"].isin(["head", "partner"]) & couple]
    agree = adults.groupby("hid")["marital"].nunique()
    assert (agree == 1).mean() > 0.98


def test_numbers_of_heads_are_given_the_make_up_too() -> None:
    frame = families(800)
    stage = Continuous("wage", predictors=["sex"], by_household="first")
    fitted, people = simulate(frame, stage)
    assert fitted.models[1].make_up is not None
    couple = {}
    for name, data in (("survey", frame), ("population", people)):
        adult = data[data["kin"] == "head"]
        pair = with_partner(data)
        weights = adult["w"] if name == "survey" else np.ones(len(adult))
        couple[name] = [
            np.average(
                adult["wage"][pair[adult.index] == k], weights=weights[pair[adult.index] == k]
            )
            for k in (True, False)
        ]
    np.testing.assert_allclose(couple["population"], couple["survey"], rtol=0.03)


def test_make_up_needs_a_relation_with_one_head_a_household() -> None:
    fitted, _ = simulate(families(300), Categorical("marital", by_household="first"))
    make_up = find_make_up(fitted.sample)
    assert make_up is not None
    assert make_up.relation == "kin"
    assert fitted.sample.fields["kin"].levels[make_up.head] == "head"
    without, _ = simulate(
        families(300), Categorical("marital", by_household="first"), structure=("age", "sex")
    )
    assert without.models[1].make_up is None
    alone, _ = simulate(families(300), Categorical("marital", predictors=["sex"]))
    assert alone.models[1].make_up is None


def test_codes_are_those_of_the_other_members() -> None:
    fitted, _ = simulate(families(300), Categorical("marital", by_household="first"))
    make_up = find_make_up(fitted.sample)
    levels = {level: code for code, level in enumerate(fitted.sample.fields["kin"].levels)}
    kin = np.array([levels[x] for x in ("head", "partner", "head", "head", "partner", "child")])
    codes = make_up.codes(kin, np.array([0, 2, 3, 6]))
    combinations = [1 << levels["partner"], 0, (1 << levels["partner"]) | (1 << levels["child"])]
    wanted = [make_up.combinations.tolist().index(bits) for bits in combinations]
    assert codes.tolist() == [wanted[0]] * 2 + [wanted[1]] + [wanted[2]] * 3
    single = make_up.codes(np.array([levels["head"], levels["child"]]), np.array([0, 2]))
    assert single.tolist() == [3, 3]  # a combination that the survey does not have


def test_a_drift_of_the_others_is_undone() -> None:
    """Others depend on an earlier variable that the model of that variable does not get right."""
    frame = families(1500, 3)
    rng = np.random.default_rng(5)
    frame["job"] = np.where(rng.random(len(frame)) < 0.5, "a", "b")
    first = frame.groupby("hid")["job"].transform("first")
    same = rng.random(len(frame)) < 0.9
    frame["faith"] = np.where(frame["job"].eq(first) & same, "x", "y")
    steps = [
        Categorical("job", predictors=["sex"]),
        Categorical("faith", predictors=["job"], by_household="first"),
    ]
    fitted, people = simulate(frame, *steps)
    assert fitted.models[2].sequence.factors is not None
    for who in ("head", "partner"):
        rows, made = frame[frame["kin"] == who], people[people["kin"] == who]
        wanted = np.average(rows["faith"] == "x", weights=rows["w"])
        assert (made["faith"] == "x").mean() == pytest.approx(wanted, abs=0.02)


def test_factors_are_bounded_and_leave_missing_values_alone() -> None:
    p = np.array([[0.5, 0.45, 0.05], [0.0, 0.9, 0.1]])
    factors = factors_of(np.array([1.0, 3.0]), p, np.array([9.0, 1.0, 9.0]))
    assert factors[0] == 1.0
    assert factors.max() <= 3.0
    assert factors.min() >= 1 / 3
    assert factors_of(np.ones(2), p, np.zeros(3)).tolist() == [1, 1, 1]


def sample_of(households: list[list[str]], levels: tuple[str, ...] = ("child", "head", "wife")):
    """What `find_make_up` reads of a sample: one relation by household."""
    kin = [member for household in households for member in household]
    field = SimpleNamespace(kind="categorical", levels=levels)
    return SimpleNamespace(
        offsets=np.cumsum([0, *map(len, households)]), basic=("kin",), fields={"kin": field},
        columns={"kin": np.array([levels.index(member) for member in kin])},
    )  # fmt: skip


def test_nineteen_of_twenty_households_have_one_head() -> None:
    couples, singles = [["head", "wife"]] * 50, [["child", "head"]] * 45
    odd = [["head", "head"], ["child", "child"]] * 5
    make_up = find_make_up(sample_of(couples + singles + odd[:5]))
    assert (make_up.relation, make_up.head, make_up.n_levels) == ("kin", 1, 3)
    assert make_up.combinations.tolist() == [1, 4]  # a child; the wife
    assert find_make_up(sample_of(couples + singles[:44] + odd[:6])) is None
    assert find_make_up(sample_of([["head"]] * 90)) is None  # nobody lives with others


def test_combinations_of_thirty_households_count() -> None:
    common = [["head", "wife"]] * 60
    assert find_make_up(sample_of(common + [["head", "child"]] * 29)) is None  # one is no choice
    two = find_make_up(sample_of(common + [["head", "child"]] * 30))
    assert two.combinations.tolist() == [1, 4]
    alone = find_make_up(sample_of(common + [["head"]] * 30))
    assert alone.combinations.tolist() == [0, 4]
    two_levels = [["head", "other"]] * 60 + [["head"]] * 30
    assert find_make_up(sample_of(two_levels, ("head", "other"))).combinations.tolist() == [0, 2]


def test_the_twelve_most_frequent_combinations_count() -> None:
    levels = ("head", *[f"relative {k}" for k in range(29)])
    households = [["head", levels[k]] for k in range(1, 15) for _ in range(30 + k)]
    make_up = find_make_up(sample_of(households, levels))
    assert make_up.combinations.tolist() == [1 << k for k in range(3, 15)]
    assert find_make_up(sample_of(households, (*levels, "friend"))) is None  # 31 levels
    assert find_make_up(sample_of([["head"], ["head", "head"]], ("head",))) is None


def test_factors_of_two_cells_reach_the_target() -> None:
    """Odds of the second class 1 and 1/4 in cells of 30 and 10 persons; both are doubled."""
    p = np.array([[0.0, 0.5, 0.5], [0.0, 0.8, 0.2]])
    target = np.array([7.0, 30 / 3 + 10 * 2 / 3, 30 * 2 / 3 + 10 / 3])
    factors = factors_of(np.array([30.0, 10.0]), p, target)
    assert factors[0] == 1
    assert factors[2] / factors[1] == pytest.approx(2.0, rel=1e-3)
    single = factors_of(np.ones(1), p[:1], np.array([0.0, 2.0, 3.0]))
    assert single[2] / single[1] == pytest.approx(1.5, rel=1e-3)
    same = factors_of(np.array([1.0]), p[:1], np.array([0.0, 1.0, 1.0]))
    assert same.tolist() == [1, 1, 1]
    # a class that no cell has, or that is not wanted at all
    assert factors_of(np.ones(1), np.array([[0.2, 0.8, 0.0]]), np.ones(3))[2] == 1
    assert factors_of(np.ones(1), p[:1], np.array([0.0, 1.0, 0.0]))[2] == 1
    assert factors_of(np.ones(1), np.array([[1.0, 0.0, 0.0]]), np.ones(3)).tolist() == [1, 1, 1]
