"""The invented people could exist: invariants of households, persons and incomes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.datasets.levels import COMPONENTS
from synthpop.datasets.truth import DEMO_TRUTH, REGIONS

ASKED = ["pb220a", "pl030", "pe040", "pb190", "netIncome", *COMPONENTS]


def test_ids_and_sizes(frame: pd.DataFrame) -> None:
    assert frame["pid"].is_unique
    assert (frame["pid"] // 100 == frame["db030"]).all()
    counted = frame.groupby("db030")["pid"].transform("size")
    assert (counted == frame["hsize"]).all()
    assert frame["hsize"].max() == 9
    assert (frame.groupby("db030")["db040"].nunique() == 1).all()


def test_one_head_and_at_most_one_partner(frame: pd.DataFrame) -> None:
    number = frame["db030"].nunique()
    for relation, least in (("head", 1), ("partner", 0), ("parent", 0)):
        count = np.bincount(frame["db030"], weights=frame["relation"] == relation)
        count = count[np.bincount(frame["db030"]) > 0]
        assert len(count) == number
        assert (count.min(), count.max()) == (least, 1), relation
    heads = frame.drop_duplicates("db030")
    assert (heads["relation"] == "head").all(), "the head comes first"


def test_ages(frame: pd.DataFrame) -> None:
    assert frame["age"].between(0, 105).all()
    relation = frame["relation"]
    assert frame.loc[relation == "head", "age"].min() >= 17
    assert frame.loc[relation == "partner", "age"].min() >= 17
    assert frame.loc[relation == "other", "age"].min() >= 16


def _ages(frame: pd.DataFrame, relation: str, how: str) -> pd.Series:
    return frame.loc[frame["relation"] == relation].groupby("db030")["age"].agg(how)


def test_children_are_16_years_younger_than_their_parents(frame: pd.DataFrame) -> None:
    oldest, head = _ages(frame, "child", "max"), _ages(frame, "head", "max")
    partner, parent = _ages(frame, "partner", "max"), _ages(frame, "parent", "max")
    for elder, younger in ((head, oldest), (partner, oldest), (parent, head)):
        gap = (elder - younger).dropna()
        assert len(gap) > 50
        assert gap.min() >= 16
    assert frame.loc[frame["relation"] == "child", "age"].median() < 16


def test_couples_are_of_similar_age(frame: pd.DataFrame) -> None:
    gap = (_ages(frame, "head", "max") - _ages(frame, "partner", "max")).dropna().abs()
    assert 2 < gap.mean() < 5
    assert gap.max() <= 25


def test_both_partners_are_married_or_neither(frame: pd.DataFrame) -> None:
    head = frame[frame["relation"] == "head"].set_index("db030")["pb190"]
    partner = frame[frame["relation"] == "partner"].set_index("db030")["pb190"]
    head_married = (head == "married").reindex(partner.index)
    assert (head_married == (partner == "married")).all()
    single = head.drop(partner.index)
    assert not (single == "married").any()


def test_missing_exactly_under_16(frame: pd.DataFrame) -> None:
    child = frame["age"] < 16
    for name in ASKED:
        missing = frame[name].isna()
        assert missing[child].all(), name
        if name != "pe040":
            assert not missing[~child].any(), name
    rest = frame.drop(columns=ASKED)
    assert not rest.isna().any().any()


def test_item_nonresponse_is_in_the_survey_only(
    survey: pd.DataFrame, population: pd.DataFrame
) -> None:
    assert population.loc[population["age"] >= 16, "pe040"].notna().all()
    share = survey.loc[survey["age"] >= 16, "pe040"].isna().mean()
    assert abs(share - DEMO_TRUTH.item_nonresponse) < 0.007


def test_sums_are_exact(frame: pd.DataFrame) -> None:
    adults = frame[frame["age"] >= 16]
    assert (adults[list(COMPONENTS)].sum(axis=1) == adults["netIncome"]).all()
    total = frame.groupby("db030")["netIncome"].transform("sum")
    assert (total == frame["hincome"]).all()
    old = (frame["age"] >= 14).groupby(frame["db030"]).transform("sum")
    scale = 1 + 0.5 * (old - 1) + 0.3 * (frame["hsize"] - old)
    np.testing.assert_allclose(frame["eqIncome"], frame["hincome"] / scale, rtol=0, atol=0.00501)
    assert not np.signbit(frame.loc[frame["netIncome"] == 0, "netIncome"]).any()


def test_only_self_employment_can_be_negative(frame: pd.DataFrame) -> None:
    low = frame[list(COMPONENTS)].min()
    assert low["py050n"] < 0
    assert (low.drop("py050n") == 0).all()


def test_sparse_components_are_sparse(frame: pd.DataFrame) -> None:
    adults = frame[frame["age"] >= 16]
    share = (adults[list(COMPONENTS)] != 0).mean()
    assert (share[["py110n", "py120n", "py130n", "py140n"]].between(0.01, 0.06)).all()
    assert 0.5 < share["py010n"] < 0.65
    assert 0.10 < (adults["netIncome"] == 0).mean() < 0.13


def test_status_fits_the_age(frame: pd.DataFrame) -> None:
    age = frame.groupby("pl030", observed=True)["age"]
    assert age.max()["education"] < 40
    assert age.min()["retired"] >= 50
    adults = frame[frame["age"] >= 70]
    assert adults["pl030"].isin(["retired", "domestic"]).mean() > 0.99
    assert (frame.loc[frame["age"].between(30, 50), "pl030"] == "full-time").mean() > 0.6
    assert not (frame.loc[frame["age"] < 22, "pe040"] == "tertiary").any()


def test_members_of_a_household_resemble_each_other(population: pd.DataFrame) -> None:
    head = population[population["relation"] == "head"].set_index("db030")
    partner = population[population["relation"] == "partner"].set_index("db030")
    head = head.loc[partner.index]
    assert (head["pb220a"] == partner["pb220a"]).mean() > 0.9
    both = (head["pl030"] == "full-time") & (partner["pl030"] == "full-time")
    both &= (head["netIncome"] > 0) & (partner["netIncome"] > 0)
    logs = np.log(head.loc[both, "netIncome"]), np.log(partner.loc[both, "netIncome"])
    assert np.corrcoef(*logs)[0, 1] > 0.3
    assert head["pe040"].cat.codes.corr(partner["pe040"].cat.codes) > 0.25


def test_income_depends_on_what_it_should(population: pd.DataFrame) -> None:
    full = population[population["pl030"] == "full-time"]
    by_education = full.groupby("pe040", observed=True)["netIncome"].median()
    assert by_education.is_monotonic_increasing
    by_sex = full.groupby("rb090", observed=True)["netIncome"].median()
    assert 0.8 < by_sex["female"] / by_sex["male"] < 0.93
    by_region = full.groupby("db040", observed=True)["netIncome"].median()
    assert by_region["Westhaven"] > by_region["Eastmoor"]
    young, middle = full["age"] < 25, full["age"].between(40, 55)
    assert full.loc[young, "netIncome"].median() < 0.85 * full.loc[middle, "netIncome"].median()
    by_status = population.groupby("pl030", observed=True)["netIncome"].median()
    assert by_status["full-time"] > by_status["part-time"] > by_status["education"]


def test_regions_have_their_shares_and_differ(population: pd.DataFrame) -> None:
    heads = population[population["relation"] == "head"]
    share = heads["db040"].value_counts(normalize=True)
    for region in REGIONS:
        assert abs(share[region.name] - region.share) < 1e-5
    assert share.max() > 6 * share.min()


def test_age_pyramid(population: pd.DataFrame) -> None:
    assert 400_000 < len(population) < 600_000
    age = population["age"]
    assert 0.15 < (age < 16).mean() < 0.19
    assert 0.16 < (age >= 65).mean() < 0.21
    old = population[age >= 80]
    assert 0.55 < (old["rb090"] == "female").mean() < 0.70
