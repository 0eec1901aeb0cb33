"""Rules that a survey keeps: found where they are, and not found where chance made them."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, InputError, Pipeline, Structure, Survey, learned_rules
from synthpop.evaluation.check_rules import check_rules
from synthpop.logic.learn import LearnedRule, learn_rules
from synthpop.profile.profile import profile_survey
from synthpop.runfiles.runfile import parse_runfile
from synthpop.runfiles.template import template_text

N = 1_200


def households(n: int = N, seed: int = 1) -> pd.DataFrame:
    """Heads, spouses and children who obey several rules, with two decompositions of income."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    hid = np.repeat(np.arange(n), sizes)
    place = np.arange(len(hid)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    head_age = np.repeat(rng.integers(30, 80, n), sizes)
    age = np.where(place < 2, head_age - place * 2, head_age - rng.integers(19, 29, len(hid)))
    adult, works = age >= 16, (age >= 16) & (rng.random(len(hid)) < 0.6)
    race = np.repeat(rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]), sizes)
    own = np.where((place > 0) & (rng.random(len(hid)) < 0.2), "x", race)
    wage = np.where(works, rng.integers(1, 90, len(hid)) * 1000.0, 0.0)
    rent = np.where(rng.random(len(hid)) < 0.3, rng.integers(1, 900, len(hid)) * 10.0, 0.0)
    gross = np.where(adult, wage + rent, np.nan)
    tax = np.round(gross * rng.uniform(0.1, 0.3, len(hid)), 2)
    return pd.DataFrame({
        "hid": hid,
        "weight": 10.0,
        "relation": np.array(["head", "spouse", "child", "child"])[place],
        "age": age,
        "sex": rng.choice(["f", "m"], len(hid)),
        "hh_race": race,
        "race": own,
        "status": np.where(adult, np.where(works, "works", "not"), None),
        "hours": np.where(adult, np.where(works, rng.integers(10, 61, len(hid)), 0.0), np.nan),
        "gross": gross,
        "tax": tax,
        "net": np.round(gross - tax, 2),
        "wage": np.where(adult, wage, np.nan),
        "rent": np.where(adult, rent, np.nan),
    })  # fmt: skip


def rules_of(frame: pd.DataFrame) -> list[LearnedRule]:
    columns = [name for name in frame if name not in ("hid", "weight")]
    return learn_rules(frame, columns, household="hid", age="age", relation="relation")


@pytest.fixture(scope="module")
def learned() -> list[LearnedRule]:
    return rules_of(households())


def test_rules_between_states_are_found(learned) -> None:
    texts = {rule.text for rule in learned}
    assert "age <= 15 if and only if status is missing" in texts
    assert (
        'status is missing or status = "not" if and only if hours is missing or hours = 0' in texts
    )
    assert all(rule.exceptions == 0 for rule in learned)


def test_rules_with_the_reference_person_and_orders_are_found(learned) -> None:
    texts = {rule.text for rule in learned}
    assert {"hh_race = head.race", "net <= gross"} <= texts
    assert 'age <= head.age - 19 if relation = "child"' in texts


def test_what_follows_from_other_rules_is_left_out(learned) -> None:
    gaps = [rule.text for rule in learned if rule.text.endswith("is missing")]
    assert len(gaps) <= 7  # age and seven columns that begin at 16: a tree
    assert len(learned) < 30


def test_every_rule_is_read_as_it_is_enforced(learned) -> None:
    frame = households()
    check = check_rules(frame, [rule.text for rule in learned], household="hid")
    assert check.broken == (0,) * len(learned)
    assert check.cases == tuple(rule.support for rule in learned)


def test_a_coded_relation_is_named_by_its_code() -> None:
    frame = households()
    frame["relation"] = frame["relation"].map({"head": 0, "spouse": 1, "child": 2})
    frame["hh_race"], frame["race"] = (
        frame[name].map({"x": 1, "y": 2, "z": 3}) for name in ("hh_race", "race")
    )
    texts = {rule.text for rule in rules_of(frame)}
    assert "hh_race = sum((relation = 0) * race)" in texts
    assert "age <= sum((relation = 0) * age) - 19 if relation = 2" in texts


def test_chance_gives_no_rule() -> None:
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({f"v{k}": rng.integers(0, 2 + 2 * k, 600) for k in range(8)})
        frame["age"] = rng.integers(0, 90, 600)
        frame["amount"] = rng.normal(0, 1, 600)
        found += len(learn_rules(frame, list(frame), age="age"))
    assert found == 0


def test_exceptions_are_counted_and_tolerated() -> None:
    frame = households()
    child = frame.index[(frame["age"] < 16)][:1]
    frame.loc[child, "status"] = "not"
    broken = [rule for rule in rules_of(frame) if rule.exceptions]
    assert next(rule.exceptions for rule in broken if "status" in rule.text) == 1
    lines = template_text(frame, profile_survey(frame), "survey.csv").splitlines()
    assert [line for line in lines if line.startswith('#   "') and "1 break it" in line]


def test_few_persons_give_no_rule() -> None:
    assert rules_of(households(20)) == []


@pytest.fixture(scope="module")
def survey_file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("logic") / "survey.csv"
    households().to_csv(path, index=False)
    return str(path)


def test_the_population_of_init_keeps_all_of_it(survey_file) -> None:
    frame = pd.read_csv(survey_file)
    data = tomllib.loads(template_text(frame, profile_survey(frame), survey_file))
    assert {"tax + net = gross", "wage + rent = gross"} <= set(data["rules"])
    plan = parse_runfile(data)
    survey = plan.read_survey()
    population = plan.pipeline().fit(survey, seed=1).simulate(scale=0.2)
    check = check_rules(population)
    assert len(check.rules) > 10
    assert check.broken == (0,) * len(check.rules)
    off = population.frame(["gross", "tax", "net", "wage", "rent"]).dropna()
    assert np.allclose(off["tax"] + off["net"], off["gross"], rtol=0, atol=0.005)
    assert np.allclose(off["wage"] + off["rent"], off["gross"], rtol=0, atol=0.005)


def test_a_rule_on_two_members_changes_the_other_one_where_it_must() -> None:
    """A spouse is married always, so the head must be: no value of the spouse helps."""
    n = 400
    frame = pd.DataFrame({
        "hid": np.repeat(np.arange(n), 2),
        "w": 1.0,
        "relation": ["head", "spouse"] * n,
        "marital": np.repeat(np.where(np.arange(n) % 50 == 0, "other", "married"), 2),
    })  # fmt: skip
    rules = ["marital = head.marital", 'marital = "married" if relation = "spouse"']
    recipe = Pipeline(
        [Structure(["relation"]), Categorical("marital", predictors=["relation"])], rules
    )
    population = recipe.fit(Survey(frame, weight="w", household="hid"), seed=1).simulate()
    assert check_rules(population).broken == (0, 0)


def test_rules_of_a_survey_go_into_a_recipe_in_python() -> None:
    """Without sums where a part is not simulated, and only about columns that are."""
    frame = households()
    survey = Survey(frame, weight="weight", household="hid")
    rules = learned_rules(survey, ["age", "status", "gross", "tax", "net", "relation", "race"])
    assert rules[0] == "tax + net = gross"
    assert any(rule.startswith("age <= 15 if and only if status") for rule in rules)
    assert not any("wage" in rule or "hours" in rule for rule in rules)
    assert not learned_rules(survey, ["age", "net"])[0].startswith("tax +")
    assert (check_rules(survey, rules).to_frame()["broken"] == 0).all()
    stages = [Structure(["age", "relation"]), Categorical("status")]
    columns = ["age", "relation", "status"]
    fitted = Pipeline(stages, rules=learned_rules(survey, columns)).fit(survey, seed=1)
    people = fitted.simulate().frame()
    assert not (people["status"].notna() & (people["age"] < 16)).any()
    with pytest.raises(InputError, match="nothing"):
        learned_rules(survey, ["age", "nothing"])
