"""Numbers in household files: once a household, sums and signs kept, k counts households."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from riskeval.protection.microaggregate import microaggregate
from riskeval.protection.mondrian import mondrian
from riskeval.protection.noise import add_noise
from riskeval.protection.rank_swap import rank_swap
from riskeval.protection.top_coding import mv_top_code
from synthpop.microdata.messages.errors import InputError


def people(n: int = 400, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, n)
    home = np.repeat(np.arange(n), size)
    wages = np.where(rng.random(len(home)) < 0.3, 0.0, rng.lognormal(9, 0.7, len(home)))
    rent = np.where(rng.random(len(home)) < 0.6, 0.0, rng.lognormal(7, 0.7, len(home)))
    return pd.DataFrame(
        {
            "home": home,
            "shared": rng.lognormal(10, 0.5, n)[home].round(2),
            "wages": wages,
            "rent": rent,
            "income": wages + rent,
            "balance": rng.normal(0, 100, len(home)),
        }
    )


VERBS = [
    (add_noise, {"level": 0.1}),
    (microaggregate, {"k": 3}),
    (rank_swap, {"p": 0.1}),
]


@pytest.mark.parametrize(("verb", "options"), VERBS)
def test_a_household_variable_has_one_value_a_household(verb, options):
    data = people()
    names = ["shared", "wages"]
    result = verb(data, names, household="home", seed=1, **options)
    assert result.data.groupby("home")["shared"].nunique().max() == 1
    assert result.data["shared"].ne(data["shared"]).mean() > 0.9
    assert result.data["wages"].ne(data["wages"]).mean() > 0.5
    assert "once for each of 400 households" in result.summary()
    assert result.parameters["household"] == "home"
    torn = verb(data, names, seed=1, **options)
    if verb is not microaggregate:
        assert torn.data.groupby("home")["shared"].nunique().max() > 1


def test_noise_of_a_household_variable_is_not_averaged_away():
    data = people(2000)
    result = add_noise(data, ["shared"], level=0.1, household="home", seed=1)
    error = (result.data["shared"] - data["shared"]).groupby(data["home"]).mean()
    assert error.std() == pytest.approx(np.sqrt(0.1) * data["shared"].std(), rel=0.1)


def test_groups_hold_members_of_k_households():
    data = people()
    result = microaggregate(data, ["shared", "wages"], k=3, household="home")
    for name in ("shared", "wages"):
        groups = result.data[name].groupby(data["home"]).first()
        assert data.groupby(result.data[name])["home"].nunique().min() >= 3, groups
    alone = microaggregate(data, ["shared"], k=3)
    assert data.groupby(alone.data["shared"])["home"].nunique().min() == 1
    both = microaggregate(data, ["wages", "balance"], k=4, household="home", method="individual")
    assert data.groupby(both.data["balance"])["home"].nunique().min() >= 4


@pytest.mark.parametrize(("verb", "options"), VERBS)
def test_parts_still_add_up_to_their_total(verb, options):
    data = people()
    parts = {"income": ["wages", "rent"]}
    result = verb(data, ["wages", "rent"], components=parts, seed=1, **options)
    after = result.data
    np.testing.assert_allclose(after["income"], after["wages"] + after["rent"])
    assert after["income"].ne(data["income"]).mean() > 0.5
    total = verb(data, ["income"], components=parts, seed=1, **options)
    np.testing.assert_allclose(total.data["income"], total.data["wages"] + total.data["rent"])
    moved = (data["income"] > 0) & (total.data["income"] > 0)
    share = (data["wages"] / data["income"])[moved]
    np.testing.assert_allclose((total.data["wages"] / total.data["income"])[moved], share)
    assert "rent" in set(total.changes["column"])


def test_signs_and_zeros_stay_where_asked():
    data = people()
    result = add_noise(
        data, ["balance", "wages"], level=0.5, keep_signs=["balance", "wages"], seed=1
    )
    assert (np.sign(result.data["balance"]) == np.sign(data["balance"])).all()
    assert (np.sign(result.data["wages"]) == np.sign(data["wages"])).all()
    loose = add_noise(data, ["balance"], level=0.5, seed=1)
    assert (np.sign(loose.data["balance"]) != np.sign(data["balance"])).any()
    assert "one in twenty by more than" in result.summary()


def test_values_that_only_another_member_has_are_used_and_missing_ones_stay():
    data = people(60)
    gaps = data.assign(
        shared=data["shared"].mask(~data["home"].duplicated() & (data.index % 3 == 0))
    )
    result = rank_swap(gaps, ["shared"], p=0.2, household="home", seed=1)
    assert result.data["shared"].isna().equals(gaps["shared"].isna())
    assert result.data.groupby("home")["shared"].nunique().max() == 1


@pytest.mark.parametrize(("verb", "options"), VERBS)
def test_faults_name_the_household(verb, options):
    data = people(30)
    with pytest.raises(InputError, match=r"differs within a household in .* \(home 0"):
        verb(
            data.assign(wages=np.arange(len(data))), ["wages"], household="home",
            household_variables=["wages"], seed=1, **options,
        )  # fmt: skip
    with pytest.raises(InputError, match="household is missing"):
        verb(data.assign(home=np.nan), ["wages"], household="home", seed=1, **options)
    with pytest.raises(InputError, match="no two parts"):
        verb(data, ["wages"], components={"income": ["wages"]}, seed=1, **options)


def test_every_verb_takes_a_household_or_says_why_not():
    for name in protect.VERBS:
        verb = getattr(protect, name)
        if "household" not in inspect.signature(verb).parameters:
            assert "`household` has no meaning here" in verb.__doc__, name


def test_outliers_of_a_household_variable_stay_one_value():
    data = people()
    data["assets"] = data["shared"] * 3 + (data["home"] % 7) * 100
    names = ["shared", "assets", "wages"]
    result = mv_top_code(data, names, alpha=0.1, household="home")
    assert result.data.groupby("home")[["shared", "assets"]].nunique().max().max() == 1
    assert result.data["shared"].ne(data["shared"]).any()
    torn = mv_top_code(data, names, alpha=0.1)
    assert torn.data.groupby("home")["shared"].nunique().max() > 1
    with pytest.raises(InputError, match="differs within a household"):
        mv_top_code(data, names, household="home", household_variables=["wages"])
    sums = mv_top_code(data, ["wages", "rent"], components={"income": ["wages", "rent"]})
    np.testing.assert_allclose(sums.data["income"], sums.data["wages"] + sums.data["rent"])


def test_regions_of_mondrian_keep_members_together():
    data = people().assign(age=np.random.default_rng(1).integers(0, 90, len(people())))
    data["floor"] = data["home"] % 30
    torn = mondrian(data, ["floor", "age"], k=5)
    assert torn.data.groupby("home")["floor"].nunique().max() > 1
    result = mondrian(data, ["floor", "age"], k=5, household="home")
    assert result.data.groupby("home")["floor"].nunique().max() == 1
    assert result.data.groupby(["floor", "age"], observed=True).size().min() >= 5
    assert (
        result.data.assign(home=data["home"])
        .groupby("floor", observed=True)["home"]
        .nunique()
        .min()
        >= 5
    )
    assert result.data["age"].nunique() > 5


def test_every_verb_on_amounts_keeps_signs_and_sums_and_tells_how_far_values_moved():
    rng = np.random.default_rng(11)
    people = pd.DataFrame(rng.normal(100, 200, (300, 2)).round(), columns=["a", "b"])
    people["a"] *= rng.random(300) < 0.6
    people["total"] = people["a"] + people["b"]
    asked = {"components": {"total": ["a", "b"]}, "keep_signs": ["a", "b"]}
    both = ["a", "b"]
    for result in (
        protect.add_noise(people, both, seed=1, **asked),
        protect.microaggregate(people, both, k=3, **asked),
        protect.rank_swap(people, both, seed=1, **asked),
        protect.shuffle(people, formula="a + b ~ 1", seed=1, **asked),
        protect.mv_top_code(people, both, alpha=0.2, covariance="classical", **asked),
        protect.top_bottom_code(
            people, "a", upper=300, replacement="mean", components=asked["components"]
        ),
    ):
        gaps = result.data["total"] - result.data["a"] - result.data["b"]
        assert np.abs(gaps).max() < 1e-9
        for name in both:
            assert (np.sign(result.data[name]) == np.sign(people[name])).all()
            assert result.method == "top_bottom_code" or not result.data[name].equals(people[name])
        assert "Half of the changed values moved by at most" in result.summary()
    swapped = protect.rank_swap(people, both, seed=1)
    assert (np.sign(swapped.data["a"]) != np.sign(people["a"])).any()
    shuffled = protect.shuffle(people, formula="a + b ~ 1", seed=1)
    assert (np.sign(shuffled.data["a"]) != np.sign(people["a"])).any()
    kept = protect.shuffle(people, formula="a + b ~ 1", keep_signs=["a"], seed=1).data["a"]
    assert sorted(kept) == sorted(people["a"])
    coded = protect.mv_top_code(people, both, alpha=0.2, covariance="classical")
    assert (np.sign(coded.data["a"]) != np.sign(people["a"])).any()
    rare = people.assign(a=np.where(np.arange(300) == 7, -5.0, 20.0 + np.arange(300)))
    pooled = protect.microaggregate(rare, ["a"], k=3, keep_signs=["a"])
    assert "Signs of a were kept except for" in pooled.summary()
    assert pooled.data["a"].value_counts().min() >= 3


def test_top_coding_a_total_moves_its_parts_in_proportion():
    people = pd.DataFrame({"a": [1.0, 10.0, 30.0], "b": [1.0, 30.0, 70.0]})
    people["total"] = people["a"] + people["b"]
    result = protect.top_bottom_code(people, "total", upper=50, components={"total": ["a", "b"]})
    assert result.data["total"].tolist() == [2.0, 40.0, 50.0]
    assert result.data.loc[2, ["a", "b"]].tolist() == [15.0, 35.0]
    with pytest.raises(InputError, match="components"):
        protect.top_bottom_code(people, "a", upper=9, components={"total": ["a"]})
