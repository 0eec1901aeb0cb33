"""Donors of empty cells: the nearest, or in the order of the variables."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Derive,
    Pipeline,
    Structure,
    Survey,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.models.encoding import coded_digits, strides
from synthpop.runfiles.template import starter_runfile
from synthpop.stages.components import _nearest, group_by_total
from tests.reference_data import golden, survey_data
from tests.small import ROLES, small_frame

BY = ["netIncomeCat", "pl030"]


@pytest.fixture(scope="module")
def reference():
    return golden("pop", "g_models.json")["component_donors"]


@pytest.fixture(scope="module")
def adults(reference) -> Survey:
    """The reference's classes of income, ordered as it orders them, and its economic status."""
    frame = survey_data("eusilcS")
    frame = frame[frame["netIncome"].notna()].reset_index(drop=True)
    limits = [np.inf if x is None else x for x in reference["breaks"]]
    income, names = frame["netIncome"].to_numpy(), reference["levels_netIncomeCat"]
    code = np.searchsorted(limits, income, side="left") - 1
    below = np.maximum(np.searchsorted(limits, income, side="right") - 1, 0)  # limits are rounded
    zero = limits.index(0)
    code = np.where(income > 0, code + 1, np.where(income == 0, zero, below))
    frame["netIncomeCat"] = pd.Categorical([names[k] for k in code], names, ordered=True)
    frame["pl030"] = frame["pl030"].cat.as_ordered()
    return Survey(frame, weight="rb050", strata="db040")


def components_of(rule: str) -> Components:
    parts = [f"py{code}n" for code in ("010", "050", "090", "100", "110", "120", "130", "140")]
    return Components("netIncome", parts=parts, by=BY, empty=rule)


@pytest.fixture(scope="module")
def model(adults):
    steps = [
        Structure([*BY, "age"]),
        Continuous("netIncome", predictors=BY),
        components_of("nearest"),
    ]
    return Pipeline(steps).fit(adults, seed=1).models[-1]


def test_classes_and_counts_are_those_of_the_reference(adults, reference) -> None:
    donors = adults.frame[adults.frame["netIncome"] != 0]
    counts = donors.groupby(BY, observed=False).size()
    for row in reference["counts"]:
        assert counts[row["netIncomeCat"], row["pl030"]] == row["Freq"]


def position(cell: dict[str, str], levels: list[list[str]]) -> np.ndarray:
    return np.array([names.index(cell[name]) for name, names in zip(BY, levels, strict=True)])


@pytest.mark.parametrize(("rule", "name"), [("nearest", "min"), ("sequential", "sequential")])
def test_empty_cells_have_donors_as_near_as_those_of_the_reference(
    adults, model, reference, rule: str, name: str
) -> None:
    levels = [adults.frame[key].cat.categories.tolist() for key in BY]
    zero = levels[0].index("0")
    stride, _ = strides(model.encodings.variables)
    compared = 0
    for case in reference["empty"]:
        cell, theirs = position(case["cell"], levels), position(case[name], levels)
        if cell[0] == zero or (cell[0] > zero) != (theirs[0] > zero):
            continue  # zero totals need no donor; donors of the other sign are not ours
        code = np.array([int(((cell + 1) * stride).sum())])
        group, distance = _nearest(model, code, int(cell[0] > zero), rule)
        ours = (
            model.group_cells[group[0]]
            // np.array(stride)
            % [v.size for v in model.encodings.variables]
        )
        ours = ours - 1
        assert distance[0] == np.abs(ours - cell).sum()
        assert distance[0] == np.abs(theirs - cell).sum()
        assert (ours[0] > zero) == (cell[0] > zero)
        if rule == "sequential":
            assert (ours[0] == cell[0]) == (theirs[0] == cell[0])
        compared += 1
    assert compared == {"nearest": 19, "sequential": 26}[rule]


def shares(empty: str):
    """Grown women have no donors: men of their age are nearest, girls agree in sex."""
    frame = small_frame(1500)
    frame["age_class"] = pd.cut(frame["age"], [-1, 15, 39, 64, 120], labels=[*"abcd"])
    gone = (frame["sex"] == "f") & (frame["age_class"] != "a")
    frame["income"] = np.where(gone, 0.0, 100.0)
    of_men = (frame["sex"] == "m") & (frame["age_class"] == "c")
    frame["wage"] = np.where(of_men, frame["income"], 0.0)
    frame["other"] = frame["income"] - frame["wage"]
    steps = [
        Structure(["age", "sex"]),
        Derive("age_class", source="age", breaks=[-1, 15, 39, 64, 120], labels=[*"abcd"]),
        Continuous("income", method=Binned(zeros=True), predictors=["size"]),
        Components("income", parts=["wage", "other"], by=["sex", "age_class"], empty=empty),
    ]
    frame = frame.drop(columns="age_class")
    population = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1).simulate(scale=3)
    people = population.frame()
    women = (people["sex"] == "f") & (people["age_class"] == "c") & (people["income"] > 0)
    return people[women], population


def test_the_rule_chooses_the_donors_and_the_distance_is_recorded() -> None:
    women, population = shares("sequential")
    assert len(women) > 100
    assert (women["wage"] == 0).all()
    assert any("distance 2" in f.what for f in population.fallbacks)
    women, population = shares("nearest")
    assert (women["other"] == 0).all()
    assert not any("distance 2" in f.what for f in population.fallbacks)


def test_sequential_against_the_naive_way(model) -> None:
    """Agree in the first variable, else in the second ...; nearest among those."""
    sizes = [v.size for v in model.encodings.variables]
    stride = np.array(strides(model.encodings.variables)[0])
    groups = model.group_cells[:, None] // stride % sizes
    for sign in (0, 1):
        there = groups[model.group_signs == sign]
        for a in range(1, sizes[0]):
            for b in range(1, sizes[1]):
                gap = np.abs(there - [a, b])
                agree = [gap[gap[:, j] == 0].sum(axis=1) for j in (0, 1)]
                pool = next((found for found in agree if len(found)), gap.sum(axis=1))
                code = np.array([int(((np.array([a, b])) * stride).sum())])
                assert _nearest(model, code, sign, "sequential")[1][0] == pool.min()
                assert _nearest(model, code, sign, "nearest")[1][0] == gap.sum(axis=1).min()


def test_groups_of_donors_by_their_total() -> None:
    """30 or more to a group, all of a total together, persons between two groups to the nearer."""
    rng = np.random.default_rng(2)
    for n, distinct in ((0, 1), (5, 5), (59, 900), (60, 900), (500, 900), (500, 7), (500, 40)):
        totals = np.sort(np.exp(rng.integers(0, distinct, n) / distinct))
        ends, limits = group_by_total(totals)
        assert ends[-1] == n
        sizes = np.diff([0, *ends])
        assert len(ends) == 1 or sizes.min() >= 30
        assert distinct < 900 or len(ends) == max(1, n // 30)
        for end, limit in zip(ends, limits, strict=False):
            low, high = totals[end - 1], totals[end]
            assert low < high
            assert limit == pytest.approx((low + high) / 2)


def test_fractions_follow_the_total_inside_a_cell() -> None:
    """One cell: who has much lives of wages, who has little of the other part."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"income": rng.uniform(100, 200, 2000).round(), "w": 1.0, "sex": "f"})
    frame["wage"] = np.where(frame["income"] > 150, frame["income"], 0.0)
    frame["other"] = frame["income"] - frame["wage"]
    steps = [
        Structure(["sex", "income"]),
        Components("income", parts=["wage", "other"], by=["sex"]),
    ]
    people = Pipeline(steps).fit(Survey(frame, weight="w"), seed=1).simulate().frame()
    high = people["income"] > 150
    assert (people["wage"][high] > 0).mean() > 0.95
    assert (people["wage"][~high] > 0).mean() < 0.05


def test_few_donors_are_one_group() -> None:
    """29 donors of a cell: each comes as often as its weight says, whatever the total."""
    frame = pd.DataFrame({"income": np.arange(1.0, 30.0), "w": 1.0, "sex": "f"})
    frame["wage"] = np.where(frame["income"] > 15, frame["income"], 0.0)
    frame["other"] = frame["income"] - frame["wage"]
    steps = [
        Structure(["sex", "income"]),
        Components("income", parts=["wage", "other"], by=["sex"]),
    ]
    population = Pipeline(steps).fit(Survey(frame, weight="w"), seed=1).simulate(scale=100)
    assert not any("without donors" in note.what for note in population.fallbacks)
    people = population.frame()
    high = people["income"] > 15
    assert (people["wage"][high] > 0).mean() == pytest.approx(14 / 29, abs=0.02)
    assert (people["wage"][~high] > 0).mean() == pytest.approx(14 / 29, abs=0.02)


def test_zero_and_missing_totals_and_exact_sums(adults) -> None:
    steps = [
        Structure([*BY, "age"]),
        Continuous("netIncome", predictors=BY),
        components_of("sequential"),
    ]
    people = Pipeline(steps).fit(adults, seed=1).simulate(scale=0.5).frame()
    parts = people[list(components_of("sequential").parts)]
    assert np.allclose(parts.sum(axis=1), people["netIncome"], rtol=1e-12, atol=1e-9)
    assert (parts[people["netIncome"] == 0] == 0).all(axis=None)
    assert (people["netIncome"] < 0).any()


def test_shares_of_the_reference_come_back(adults) -> None:
    means = golden("pop", "g_models.json")["component_fraction_means"]
    steps = [
        Structure(["age", "rb090"]),
        Categorical("pl030", predictors="basic"),
        Continuous("netIncome", predictors=["pl030", "rb090"]),
        Components("netIncome", parts=list(means), by=["pl030", "netIncome"]),
    ]
    people = Pipeline(steps).fit(adults, seed=1).simulate(scale=0.05).frame()
    some = people[people["netIncome"] != 0]
    found = (some[list(means)].div(some["netIncome"], axis=0)).mean()
    assert (found - pd.Series(means)).abs().max() < 0.03


def with_unsplit_totals(n: int = 600) -> pd.DataFrame:
    """Everybody has a total; a part of the retired no parts, some of them not even zeros."""
    rng = np.random.default_rng(2)
    job = rng.choice(["works", "retired"], n)
    total = rng.lognormal(9, 0.5, n).round(2)
    wage = np.where(rng.random(n) < 0.8, total, 0.0)
    frame = pd.DataFrame(
        {"job": job, "total": total, "wage": wage, "other": total - wage, "w": 5.0}
    )
    some, none = (job == "retired") & (rng.random(n) < 0.4), rng.random(n) < 0.5
    frame.loc[some, ["wage", "other"]] = 0.0
    frame.loc[some & none, ["wage", "other"]] = np.nan
    frame.loc[np.flatnonzero(some & none)[0], "total"] = 1.0
    return frame


def test_a_total_without_parts_is_that_of_somebody() -> None:
    frame = with_unsplit_totals()
    survey = Survey(frame, weight="w")
    stages = [Structure(["job"]), Continuous("total", predictors=["job"])]
    parts = Components("total", parts=["wage", "other"], by=["job", "total"], unsplit=True)
    made = Pipeline([*stages, parts]).fit(survey, seed=1).simulate(scale=2).frame()
    for data in (frame, made):
        missing, zero = data["wage"].isna(), (data[["wage", "other"]] == 0).all(axis=1)
        assert not (missing | zero)[data["job"] == "works"].any()
        assert 0.1 < missing[data["job"] == "retired"].mean() < 0.3
        assert 0.1 < zero[data["job"] == "retired"].mean() < 0.3
        split = data[~missing & ~zero]
        np.testing.assert_allclose(split["wage"] + split["other"], split["total"], atol=0.01)
    assert (made["wage"].isna() == made["other"].isna()).all()
    with pytest.raises(InputError, match="parts do not add up"):
        Pipeline([*stages, replace(parts, unsplit=False)]).fit(survey, seed=1)


def test_totals_without_parts_are_recognised(tmp_path) -> None:
    with_unsplit_totals().to_csv(tmp_path / "s.csv", index=False)
    text = starter_runfile(tmp_path / "s.csv", tmp_path)
    assert 'parts = ["wage", "other"]' in text
    assert "unsplit = true" in text


def test_the_cells_of_donors_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sexes with the level of missing values are three cells."""
    frame = pd.DataFrame({"income": np.arange(1.0, 31.0), "w": 1.0, "sex": ["f", "m"] * 15})
    frame["wage"], frame["other"] = frame["income"], 0.0
    components = Components("income", parts=["wage", "other"], by=["sex"])
    recipe = Pipeline([Structure(["sex", "income"]), components])
    monkeypatch.setattr("synthpop.stages.components.DENSE_CELLS", 3)
    recipe.fit(Survey(frame, weight="w"), seed=1)
    monkeypatch.setattr("synthpop.stages.components.DENSE_CELLS", 2)
    with pytest.raises(InputError, match="by has 3 cells, more than 2"):
        recipe.fit(Survey(frame, weight="w"), seed=1)


def test_the_nearest_cell_by_hand() -> None:
    """Digits of an unordered and of an ordered predictor; levels count one, classes their gap."""
    variables = [coded_digits("sex", 3), coded_digits("class", 5)]  # cell: sex + 4 class
    digits = np.array([[1, 1], [2, 1], [2, 4], [3, 5]])
    model = SimpleNamespace(
        group_cells=digits @ np.array([1, 4]), group_signs=np.array([1, 1, 1, 0]),
        n_donors=np.array([40, 50, 30, 90]), ordered=(False, True),
        encodings=SimpleNamespace(variables=variables),
    )  # fmt: skip
    empty = np.array([[1, 4], [3, 1], [1, 3], [2, 2]]) @ np.array([1, 4])
    # distances: 3 4 1; 1 1 4, of equals the cell with more donors; 2 3 2; 2 1 2
    group, distance = _nearest(model, empty, 1, "nearest")
    assert group.tolist() == [2, 1, 0, 1]
    assert distance.tolist() == [1, 1, 2, 1]
    # in sequence: cells of the same sex first, then those of the same class
    group, distance = _nearest(model, empty, 1, "sequential")
    assert group.tolist() == [0, 1, 0, 1]
    assert distance.tolist() == [3, 1, 2, 1]
    group, distance = _nearest(model, empty, 0, "nearest")
    assert group.tolist() == [3] * 4
    assert distance.tolist() == [2, 4, 3, 4]
    one_sign = SimpleNamespace(**{**vars(model), "group_signs": np.ones(4, dtype=int)})
    group, distance = _nearest(one_sign, empty, 0, "nearest")
    assert group.tolist() == [2, 1, 0, 1]
    assert distance.tolist() == [np.inf] * 4


def test_nobody_has_exactly_the_fractions_of_a_donor() -> None:
    """Unless the donor lives of one part alone: then everybody who draws this donor does."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"income": rng.uniform(100, 200, 90), "w": 1.0, "sex": "f"})
    fraction = np.append(rng.uniform(0.2, 0.8, 80), np.ones(10))
    frame["wage"] = frame["income"] * fraction
    frame["other"] = frame["income"] - frame["wage"]
    split = Components("income", parts=["wage", "other"], by=["sex"], decimals=None)
    fitted = Pipeline([Structure(["sex", "income"]), split]).fit(Survey(frame, weight="w"), seed=1)
    people = fitted.simulate(scale=20).frame()
    made = (people["wage"] / people["income"]).to_numpy()
    copied = np.abs(made[:, None] - fraction).min(axis=1) < 1e-12
    assert (copied == (np.abs(made - 1) < 1e-12)).all()
    assert copied.mean() == pytest.approx(1 / 9, abs=0.02)
    assert made[~copied].mean() == pytest.approx(fraction[:80].mean(), abs=0.01)
