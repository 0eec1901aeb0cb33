"""The language of edit rules, and populations that keep them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    GibbsPass,
    Pipeline,
    Relation,
    Structure,
    Survey,
    check_rules,
    open_population,
)
from synthpop.conditional.rules.enforce import CANDIDATES, _candidates, conjuncts
from synthpop.conditional.rules.evaluate import People, broken_by
from synthpop.conditional.rules.parse import parse_rule
from synthpop.microdata.frame.dataset import Field, encode_column
from synthpop.microdata.messages.errors import InputError
from synthpop.runfiles.runfile import dump_runfile, parse_runfile
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame

FAMILIES = pd.DataFrame(
    {
        "hid": [1, 1, 1, 2, 2, 3, 4],
        "kin": ["head", "spouse", "child", "head", "child", "spouse", "head"],
        "age": [40, 15, 30, 50, 20, np.nan, 61],
        "status": ["married", "single", "single", "married", "single", None, "widowed"],
        "job": ["clerk", None, "farmer", "clerk", None, None, None],
        "wage": [10.0, 0.0, 5.0, 20.0, np.nan, 0.0, 1.0],
        "rent": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        "total": [11.0, 2.0, 9.0, 24.0, 9.0, 6.0, 8.0],
        "born": ["north", "south", "north", "north", None, "east", "south"],
        "lives": ["north", "north", "north", "south", "north", "west", "south"],
    }
)


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("spouse: age >= 16", [1]),
        ("exactly one head", [5]),
        ("at most one child", []),
        ("at least 2 married", range(7)),
        ("no farmer", [0, 1, 2]),
        ("spouse married if and only if head married", [1]),
        ("spouse: status = married if and only if head.status = married", [1]),
        ("child at least 14 years younger than head", [2]),
        ("child: age <= head.age - 14", [2]),
        ("head at most 25 years older than spouse", []),
        ("wage = 0 if age < 18", []),
        ("wage = 0 if age < 41", [0, 2]),
        ("wage + rent <= total", []),
        ("wage + rent = total", [2]),
        ("status in {married, widowed} if kin = head", []),
        ("status not in {'married'}", [0, 3]),
        ("kin = head: status = widowed or age < 45", [3]),
        ("job is missing if age < 18", []),
        ("child: job is not missing", [4]),
        ("head: job is not missing", [6]),
        ("wage > 0 or wage < 0 or wage is missing", [1, 5]),
        ("not (age > 60 and wage > 0)", [6]),
        ("sum(wage) > 5", [5, 6]),
        ("max(age) - min(age) < 26", [3, 4]),
        ("count(age < 18) = 0", [0, 1, 2]),
        ("abs(wage - rent) <= 9", [3]),
        ("`wage` * 2 / 4 >= -1 + 1", []),
        ("head.wage >= wage", []),
        ("born = lives", [1, 3, 5]),  # by their names: the codes of both columns differ
        ("born != lives", [0, 2, 6]),
        ("lives = born if wage > 0", [3]),
    ],
)  # fmt: skip
def test_rules_mean_what_they_say(rule: str, broken) -> None:
    fields, columns = {}, {}
    for name in FAMILIES:
        fields[name], columns[name] = encode_column(FAMILIES[name])
    people = People(fields, columns, np.array([0, 3, 5, 6, 7]))
    assert np.flatnonzero(broken_by(people, parse_rule(rule))).tolist() == list(broken)
    shuffled = FAMILIES.sample(frac=1, random_state=3)
    assert check_rules(shuffled, [rule], household="hid").broken == (len(list(broken)),)


def test_cases_and_shares_are_those_whom_a_rule_is_about() -> None:
    table = check_rules(FAMILIES, ["spouse: age >= 16", "wage >= 0"], household="hid").to_frame()
    assert table["cases"].tolist() == [2, 7]
    assert table["share"].tolist() == [0.5, 0.0]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("spouse: age >= 16 17", "needs nothing more at '17'"),
        ("spouse: agge >= 16", "Did you mean 'age'?"),
        ("spose: age >= 16", "Did you mean 'spouse'?"),
        ("exactly head", "needs a number at 'head'"),
        ("age >= ", "needs a name or a number at its end"),
        ("age ? 3", "cannot be read from '? 3' on"),
        ("age", "is a column where a condition is needed"),
        ("kin > 3", "is a category, not a number"),
        ("kin = hed", "Did you mean 'head'?"),
        ("import(age) = 1", "needs one of the functions"),
        ("child at least 14 years smaller than head", "needs 'younger' or 'older'"),
        ("child at least 14 years younger than 3", "needs a member of the household at '3'"),
        (17, "is not text"),
    ],
)
def test_what_is_no_rule_is_told(rule: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_rules(FAMILIES, [rule], household="hid")
    assert message in str(caught.value)


def test_a_level_of_two_categories_needs_its_column() -> None:
    frame = FAMILIES.assign(other=["head"] * 7)
    with pytest.raises(InputError, match="level of several categories: kin, other"):
        check_rules(frame, ["head: age > 3"], household="hid")
    assert check_rules(frame, ["kin = head: age > 3"], household="hid").broken == (0,)


# populations


def families(n: int = 800, seed: int = 0) -> Survey:
    """Head, partner and children; couples have one marital status; wages below the upper age."""
    frame = small_frame(n, seed)
    rng = np.random.default_rng(seed + 1)
    frame["kin"] = np.where(frame["age"] < 16, "child", "partner")
    frame.loc[frame["pid"] == 1, "kin"] = "head"
    married = rng.random(n) < 0.6
    couple = frame["kin"].eq("partner").groupby(frame["hid"]).transform("any")
    home = frame["hid"] - frame["hid"].min()
    adult = frame["age"] >= 16
    status = np.where(couple & married[home], "married", "single")
    frame["marital"] = pd.Series(status).where(adult)
    frame["pension"] = np.where(frame["age"] >= 60, rng.lognormal(9, 0.5, len(frame)), 0.0)
    return Survey(frame, **ROLES)


def fit(rules, *stages, survey: Survey | None = None):
    first = Structure(["age", "sex", "kin"])
    return Pipeline([first, *stages], rules).fit(survey or families(), seed=1)


def told(population, text: str) -> int:
    return sum(f.n_persons for f in population.fallbacks if f.stage == "rules" and text in f.what)


def test_a_number_is_drawn_within_its_limits() -> None:
    stage = Continuous("pension", predictors=["sex"])
    rule = "pension = 0 if age < 60"
    free, kept = fit([], stage).simulate(), fit([rule], stage).simulate()
    assert check_rules(free, [rule]).broken[0] > 500
    assert check_rules(kept).broken == (0,)
    assert told(kept, "drawn again") > 500
    old = kept.frame().query("age >= 60")["pension"]
    assert (old > 0).any()


def test_categories_keep_rules_about_persons_and_members() -> None:
    rule = "partner married if and only if head married"
    stage = Categorical("marital", predictors=["sex"])
    free, kept = fit([], stage).simulate(), fit([rule, "age < 16: marital is missing"], stage)
    population = kept.simulate()
    assert check_rules(free, [rule]).broken[0] > 200
    assert check_rules(population).broken == (0, 0)
    assert told(population, "drawn again") > 200
    assert told(population, "could not") == 0
    assert not [f for f in kept.fallbacks if f.stage == "rules"]


def test_relations_and_second_passes_keep_rules() -> None:
    rule = "partner married if and only if head married"
    stage = Relation("marital", relationship="kin", head="head", predictors=["sex"])
    assert check_rules(fit([rule], stage).simulate()).broken == (0,)
    steps = [Categorical("marital", predictors=["sex"]), Categorical("status", predictors=["sex"])]
    again = [*steps, GibbsPass(["marital", "status"])]
    assert check_rules(fit([], *again).simulate(), [rule]).broken[0] > 0
    assert check_rules(fit([rule], *again).simulate()).broken == (0,)


def test_columns_that_are_derived_later_are_part_of_rules() -> None:
    young = Derive("class", source="age", breaks=[0, 15, 59, 120], labels=["young", "mid", "old"])
    steps = [Continuous("pension", predictors=["sex"]), young]
    rule = "class in {young, mid}: pension = 0"
    assert check_rules(fit([rule], *steps).simulate()).broken == (0,)


def test_structure_leaves_out_households_that_break_a_rule() -> None:
    survey = families()
    frame = survey.frame.copy()
    odd = frame["hid"].isin(frame["hid"].unique()[:40])
    frame.loc[odd & (frame["kin"] == "head"), "kin"] = "partner"
    fitted = fit(["exactly one head"], survey=Survey(frame, **ROLES))
    assert check_rules(fitted.simulate()).broken == (0,)
    (note,) = [f for f in fitted.fallbacks if f.stage == "rules"]
    assert f"is broken by {int(odd.sum())} survey persons" in note.what
    assert check_rules(
        fit([], survey=Survey(frame, **ROLES)).simulate(), ["exactly one head"]
    ).broken[0]


def test_draws_that_keep_a_rule_come_as_often_as_among_all_that_keep_it() -> None:
    """A fifth keeps the rule, as 1 : 2 : 3: so are those who are drawn again, up to 30 times."""
    frame = pd.DataFrame({"hid": np.arange(3000), "sex": "f", "w": 1.0})
    frame["job"] = np.repeat(["a", "b", "c", "d"], [100, 200, 300, 2400])
    survey = Survey(frame, household="hid", weight="w")
    recipe = Pipeline([Structure(["sex"]), Categorical("job", predictors=[])], rules=["no d"])
    shares = []
    for seed in range(3):
        jobs = recipe.fit(survey, seed=seed).simulate(scale=2.0).frame()["job"]
        shares.append(jobs.value_counts(normalize=True)[["a", "b", "c"]].to_numpy(dtype=float))
    assert np.mean(shares, axis=0) == pytest.approx([1 / 6, 1 / 3, 1 / 2], abs=0.015)


def test_a_rule_that_no_draw_keeps_takes_the_nearest_value_or_is_told() -> None:
    stage = Continuous("income", predictors=["sex"])
    rare = fit(["income >= 60000 if age >= 16"], stage).simulate()
    assert check_rules(rare).broken == (0,)
    assert told(rare, "the nearest sample value") > 0
    never = fit(["income is not missing and income > 1e12"], stage).simulate()
    assert check_rules(never).broken[0] == told(never, "could not be satisfied") > 0


def test_results_do_not_depend_on_workers_and_are_verified_on_disk(tmp_path) -> None:
    stage = Categorical("marital", predictors=["sex"])
    fitted = fit(["partner married if and only if head married"], stage)
    one = fitted.simulate(key=bytes(16), rows_per_block=500)
    three = fitted.simulate(key=bytes(16), rows_per_block=500, workers=3, out=tmp_path / "p")
    assert_same_frame(one.frame(), three.frame())
    assert check_rules(open_population(tmp_path / "p")).broken == (0,)
    assert one.manifest.identity.rules == ("partner married if and only if head married",)


def test_rules_that_do_not_fit_the_recipe_are_faults() -> None:
    with pytest.raises(InputError) as caught:
        fit(["partner: agge >= 16", "age >="], Categorical("marital"))
    assert "needs a name or a number" in str(caught.value)
    with pytest.raises(InputError) as caught:
        fit(["partner: agge >= 16", "income > 3"], Categorical("marital"))
    assert "Did you mean 'age'?" in str(caught.value)
    assert "'income'" in str(caught.value)  # which no step makes


def test_run_files_have_rules() -> None:
    data = {
        "survey": {"demo": True},
        "rules": ["exactly one head"],
        "stage": [{"type": "structure", "variables": ["age"]}],
    }
    runfile = parse_runfile(data)
    assert runfile.rules == ("exactly one head",)
    assert 'rules = [\n    "exactly one head",\n]' in dump_runfile(runfile)
    with pytest.raises(InputError, match="needs a number"):
        parse_runfile({**data, "rules": ["exactly head"]})
    with pytest.raises(InputError, match="Give a list of texts"):
        parse_runfile({**data, "rules": "exactly one head"})


def test_each_part_of_a_conjunction_is_kept_by_the_step_that_draws_it():
    rng = np.random.default_rng(8)
    n = 400
    frame = pd.DataFrame({"age": rng.integers(10, 40, n), "w": 5.0})
    frame["job"] = rng.choice(["yes", "no"], n)  # children too: the rule is to take it from them
    frame.loc[(frame.age < 16) & (rng.random(n) < 0.8), "job"] = None
    frame["sex"] = rng.choice(["f", "m"], n)
    rule = "age < 16: job is missing and age < 100 and sex in {f, m}"
    assert len(conjuncts(parse_rule(rule))) == 3
    assert len(conjuncts(parse_rule("exactly one head"))) == 1
    steps = [Structure(["age"]), Categorical("job", predictors=[]), Categorical("sex")]
    made = Pipeline(steps, rules=[rule]).fit(Survey(frame, weight="w"), seed=1).simulate()
    assert set(check_rules(made).broken) == {0}
    assert [note.what for note in made.fallbacks if "is broken by" in note.what][1:] == []


def test_values_that_may_keep_a_rule_are_the_frequent_levels_first_and_numbers_with_zero():
    fields = {"kin": Field.categorical("kin", ("a", "b", "c", "d")), "age": Field.number("age")}
    ages = np.array([np.nan, 0.0, *np.arange(-100.5, 200.0)])
    kin, weights = np.zeros(len(ages), dtype=int), np.ones(len(ages))
    kin[:7], weights[:2] = [2, 2, 1, 1, 1, -1, -1], 300.0
    sample = SimpleNamespace(fields=fields, columns={"kin": kin, "age": ages}, weights=weights)
    assert _candidates(sample, "kin").tolist() == [2, 0, 1, -1]
    numbers = _candidates(sample, "age")
    assert len(numbers) == CANDIDATES + 2  # zero, and missing as in the sample
    assert numbers[0] == -100.5
    assert 0.0 in numbers
    assert np.isnan(numbers[-1])
