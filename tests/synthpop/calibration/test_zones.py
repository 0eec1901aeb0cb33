"""Households allotted to zones with known totals at three nested geographies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthpop import Margin, Survey
from synthpop.calibration import WeightLimits, balance_zones, long_table
from synthpop.calibration.zone_problem import zone_problem
from synthpop.calibration.zone_solver import solve_zones
from synthpop.microdata.messages.errors import (
    ConvergenceWarning,
    Faults,
    InputError,
    MicrodataWarning,
)
from tests.reference_data import SHARED
from tests.small import small_frame

ZOO = SHARED / "zoo"
needs_zoo = pytest.mark.skipif(not ZOO.is_dir(), reason="the folder ../shared/zoo is not here")

ZONES = pd.DataFrame(
    {
        "country": "land",
        "region": ["north", "north", "south", "south", "south", "west"],
        "zone": ["n1", "n2", "s1", "s2", "s3", "w1"],
    }
)


def truth(seed: int = 3) -> pd.DataFrame:
    """A population whose households live in zones; sizes and ages differ between zones."""
    rng = np.random.default_rng(seed)
    frame = small_frame(900, seed=8)
    household = frame.drop_duplicates("hid")[["hid", "region", "size"]]
    zones = {region: part["zone"].to_list() for region, part in ZONES.groupby("region")}
    chosen = []
    for region, size in zip(household["region"].astype(str), household["size"], strict=True):
        options = zones[region]
        weights = np.arange(1, len(options) + 1.0) ** (0.5 * size)
        chosen.append(rng.choice(options, p=weights / weights.sum()))
    frame["zone"] = frame["hid"].map(dict(zip(household["hid"], chosen, strict=True)))
    return frame.assign(country="land", old=frame["age"] >= 65)


def counts(frame: pd.DataFrame, *by: str) -> pd.DataFrame:
    return frame.groupby(list(by), observed=True).size().rename("total").reset_index()


def controls(frame: pd.DataFrame) -> list[Margin]:
    homes = frame.drop_duplicates("hid")
    return [
        Margin(counts(frame, "zone", "sex")),
        Margin(counts(homes, "zone"), level="household"),
        Margin(counts(homes, "region", "size"), level="household"),
        Margin(counts(frame, "country", "old")),
    ]


def sample(n: int = 250) -> Survey:
    frame = small_frame(n, seed=1)
    frame["old"] = frame["age"] >= 65
    return Survey(frame, weight="w", household="hid")


def test_totals_of_three_geographies_are_met_by_whole_households() -> None:
    people = truth()
    result = balance_zones(sample(), ZONES, controls(people), seed=1)
    assert result.converged
    table = result.controls
    assert len(table) == 12 + 6 + 12 + 2
    np.testing.assert_allclose(table["balanced"], table["target"], rtol=2e-4)
    assert table["gap"].abs().max() <= 3
    assert (table["gap"].abs() < 1).mean() > 0.8
    made = result.persons()
    for by in (["zone", "sex"], ["country", "old"]):
        wanted = people.groupby(by, observed=True).size()
        got = made.groupby(by, observed=True).size()
        assert (got - wanted).abs().max() <= 3
    sizes = made.groupby("zone_household").size()
    assert made.groupby("zone_household")["hid"].nunique().max() == 1
    first = made.drop_duplicates("zone_household").set_index("zone_household")["size"]
    assert (sizes == first).all()
    by_zone = made.drop_duplicates("zone_household").groupby("zone").size()
    wanted = people.drop_duplicates("hid").groupby("zone").size()
    assert (by_zone - wanted).abs().max() <= 2
    assert "known totals" in result.summary()
    assert result.worst(1)["relative_gap"].abs().iloc[0] == table["relative_gap"].abs().max()


def test_households_stay_in_their_region() -> None:
    people = truth()
    result = balance_zones(sample(), ZONES, controls(people)[:2], within="region", seed=1)
    original = sample().frame.set_index(["hid", "pid"])["region"].astype(str)
    rows = pd.MultiIndex.from_frame(result.survey.frame[["hid", "pid"]])
    assert (original.reindex(rows).to_numpy() == result.survey.frame["region"].to_numpy()).all()
    free = balance_zones(sample(), ZONES, controls(people)[:2], seed=1)
    rows = pd.MultiIndex.from_frame(free.survey.frame[["hid", "pid"]])
    assert (original.reindex(rows).to_numpy() != free.survey.frame["region"].to_numpy()).any()


def test_some_zones_anew() -> None:
    people = truth()
    first = balance_zones(sample(), ZONES, controls(people), seed=1)
    moved = people.copy()
    women = moved.index[(moved["zone"] == "s2") & (moved["sex"] == "m")][:15]
    moved.loc[women, "sex"] = "f"
    again = balance_zones(
        sample(), ZONES, controls(moved), only=["s2", "w1"], previous=first, seed=2
    )
    before, after = first.persons(), again.persons()
    same = ~before["zone"].isin(["s2", "w1"])
    columns = ["hid", "pid", "zone"]
    kept = after[~after["zone"].isin(["s2", "w1"])]
    pd.testing.assert_frame_equal(
        before.loc[same, columns].sort_values(columns, ignore_index=True),
        kept[columns].sort_values(columns, ignore_index=True),
    )
    table = again.controls
    changed = table[table["cell"].str.contains("s2") | table["cell"].str.contains("w1")]
    assert changed["gap"].abs().max() <= 3
    upper = table[table["margin"].str.contains("region|country")]
    assert upper["gap"].abs().max() <= 6


def test_totals_that_contradict_each_other_are_told() -> None:
    people = truth()
    items = controls(people)
    wrong = counts(people, "country", "old")
    wrong["total"] *= 1.2
    soft = [items[0], items[1], Margin(wrong, importance=1.0)]
    result = balance_zones(sample(), ZONES, soft, seed=1)
    assert result.worst(1)["margin"].iloc[0] == "persons by country x old"
    assert result.controls["relative_gap"].abs().max() > 0.05
    with pytest.warns(ConvergenceWarning):
        late = balance_zones(sample(), ZONES, items, max_iterations=1, tolerance=1e-9, seed=1)
    assert not late.converged
    assert "do not meet all totals" in late.summary()


def test_seed_and_sums_of_a_variable() -> None:
    people = truth()
    items = [*controls(people)[:2]]
    age = people.groupby("zone")["age"].sum().rename("total").reset_index()
    items.append(Margin(age, variable="age"))
    one = balance_zones(sample(), ZONES, items, seed=5)
    same = balance_zones(sample(), ZONES, items, seed=5)
    pd.testing.assert_frame_equal(one.survey.frame, same.survey.frame)
    other = balance_zones(sample(), ZONES, items, seed=6)
    assert not one.survey.frame.equals(other.survey.frame)
    ages = one.controls[one.controls["margin"].str.contains("age")]
    assert (ages["gap"].abs() / ages["target"]).max() < 0.02


def test_faults() -> None:
    people = truth()
    items = controls(people)[:1]
    torn = pd.DataFrame({"region": ["a", "b", "a"], "zone": ["x", "x", None]})
    with pytest.raises(InputError) as caught:
        balance_zones(sample(), torn, items, within="land", only=["x"])
    assert len(caught.value.faults) == 5
    first = balance_zones(sample(), ZONES, items, seed=1)
    with pytest.raises(InputError, match="is not a zone"):
        balance_zones(sample(), ZONES, items, only=["x9"], previous=first)
    elsewhere = ZONES.assign(region="east")
    with pytest.raises(InputError, match="no household lies in any zone"):
        balance_zones(sample(), elsewhere, items, within="region")


def test_bands_of_controls_are_told() -> None:
    people = truth()
    margins = controls(people)
    plain = balance_zones(sample(), ZONES, margins, seed=1).controls
    assert (plain["band"] == 0.5).all()
    assert (plain["within"] == (plain["gap"].abs() <= 0.5)).all()
    label = margins[0].label
    result = balance_zones(sample(), ZONES, margins, bands={label: 0.1}, seed=1)
    told = result.controls
    own = told["margin"] == label
    assert np.allclose(told.loc[own, "band"], (0.1 * told.loc[own, "target"]).clip(lower=0.5))
    assert (told.loc[~own, "band"] == 0.5).all()
    assert told["achieved"].equals(plain["achieved"])
    assert f"and {told['within'].sum()} within their bands" in result.summary()
    wide = balance_zones(sample(), ZONES, margins, bands=1.0, seed=1).controls
    assert wide["within"].all()
    for wrong in ({"nobody": 0.1}, -1.0, "wide", {label: np.nan}):
        with pytest.raises(InputError, match="bands"):
            balance_zones(sample(), ZONES, margins, bands=wrong, seed=1)


def test_a_total_of_zero_keeps_households_out_of_its_zone_only() -> None:
    frame = pd.DataFrame({"hid": [1, 2, 2, 3], "student": [True, False, False, False], "w": 10.0})
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"zone": ["a", "b", "empty"]})
    homes = pd.DataFrame({"zone": ["a", "b", "empty"], "total": [12.0, 9.0, 0.0]})
    students = pd.DataFrame({"zone": ["a", "b"], "student": True, "total": [0.0, 5.0]})
    margins = [Margin(homes, level="household"), Margin(students)]
    result = balance_zones(survey, zones, margins, seed=1)
    assert result.controls["achieved"].tolist() == [12.0, 9.0, 0.0, 0.0, 5.0]
    assert set(result.persons()["zone"]) == {"a", "b"}
    assert result.converged


def test_totals_in_conflict_have_a_nearest_answer_and_are_named() -> None:
    zones = pd.DataFrame({"zone": ["a", "b"]})
    homes = pd.DataFrame({"zone": ["a", "b"], "total": [40.0, 60.0]})
    sizes = pd.DataFrame({"zone": ["a", "b"], "total": [30.0, 160.0]})  # 30 persons in 40 homes
    margins = [Margin(homes, level="household", name="homes"), Margin(sizes, name="persons")]
    with pytest.warns(ConvergenceWarning, match="zone a"):
        result = balance_zones(sample(), zones, margins, seed=1)
    table = result.controls.set_index(["margin", "cell"])
    assert table.loc[("homes", "zone b"), "gap"] == table.loc[("persons", "zone b"), "gap"] == 0
    assert 30 < table.loc[("persons", "zone a"), "balanced"] < 40


def test_weights_are_those_of_raking_in_turn() -> None:
    """The naive version: each total in turn scales the weights of its households."""
    people = truth()
    margins = [
        Margin(counts(people.drop_duplicates("hid"), "zone", "size"), level="household"),
        Margin(counts(people.drop_duplicates("hid"), "region"), level="household"),
    ]
    survey = sample()
    faults = Faults("zones")
    problem = zone_problem(survey, ZONES, margins, None, faults)
    assert problem is not None
    solved = solve_zones(problem, tolerance=1e-9, max_iterations=50)
    weights = solved.of(problem, 0, problem.matrix, np.arange(6))
    size = survey.frame["size"].to_numpy()[survey.household_order[survey.household_offsets[:-1]]]
    naive = np.tile(survey.household_weights / 6, (6, 1))
    region = ZONES["region"].to_numpy()
    homes = people.drop_duplicates("hid")
    for _ in range(500):
        for z, zone in enumerate(ZONES["zone"]):
            for s in np.unique(size):
                total = ((homes["zone"] == zone) & (homes["size"] == s)).sum()
                here = size == s
                naive[z, here] *= total / naive[z, here].sum()
        for name in np.unique(region):
            naive[region == name] *= (homes["region"] == name).sum() / naive[region == name].sum()
    np.testing.assert_allclose(weights, naive, rtol=1e-6)


def test_measures_of_the_fit_by_hand() -> None:
    frame = pd.DataFrame({"hid": [1, 2, 2], "w": 10.0})
    zones = pd.DataFrame({"zone": ["a", "b"]})
    homes = Margin(zones.assign(total=[10.0, 30.0]), level="household", name="homes")
    result = balance_zones(Survey(frame, weight="w", household="hid"), zones, homes, seed=1)
    shifted = result.controls.assign(achieved=[11.0, 30.0], gap=[1.0, 0.0])
    row = replace(result, controls=shifted).fit().iloc[0]
    assert (row["totals"], row["exact"], row["largest"]) == (2, 1, 1.0)
    assert (row["within_1"], row["within_5"], row["within_10"]) == (0.5, 0.5, 1.0)
    assert row["srmse"] == pytest.approx(np.sqrt(0.5) / 20)
    assert row["r2"] == pytest.approx(1 - 1 / 200)
    copies = result.copies()
    assert copies["households"].tolist() == [10, 30]
    assert copies["different"].tolist() == [2, 2]
    assert (copies["most"] < copies["households"]).all()


@needs_zoo
def test_the_example_of_populationsim_runs_with_all_its_controls() -> None:
    folder = ZOO / "populationsim_example_test" / "data"
    homes, persons, zones, tracts, districts, walk = (
        pd.read_csv(folder / f"{name}.csv", comment="#")
        for name in ("seed_households", "seed_persons", "taz_controls", "tract_controls",
                     "region_controls", "geo_cross_walk")
    )  # fmt: skip
    frame = persons.drop(columns=["PUMA", "WGTP"]).merge(homes, on="SERIALNO")
    frame = frame.assign(size=frame["NP"].clip(upper=4), student=frame["OSUTAG"] == 1)
    survey = Survey(frame, weight="WGTP", household="SERIALNO")
    walk = walk.rename(columns={"TRACTCE": "TRACT"})[["DISTRICT", "PUMA", "TRACT", "TAZ"]]

    def margin(table, area, columns, name, level, importance):
        cells = {column: {name: value} for column, value in columns.items()}
        long = long_table(table[[area, *columns]], cells)
        return Margin(long, level=level, importance=importance, name=name)

    sizes = {f"HHSIZE{k}": k for k in range(1, 5)}
    work = {f"OCCP{k}": k for k in range(1, 4)}
    margins = [
        Margin(zones[["TAZ", "HHBASE"]].rename(columns={"HHBASE": "total"}), level="household"),
        margin(zones, "TAZ", sizes, "size", "household", 1000),
        margin(zones, "TAZ", {"OSUFAM": True}, "student", "person", 1000),
        margin(tracts, "TRACT", {"SF": 1}, "HTYPE", "household", 100),
    ]
    sizes_only = balance_zones(survey, walk, margins[:2], within="PUMA", seed=1)
    assert (sizes_only.controls["gap"] == 0).all()
    district = margin(districts, "DISTRICT", work, "OCCP", "person", 100)
    harder = balance_zones(survey, walk, [*margins, district], within="PUMA", seed=1)
    homes_gap = harder.controls["gap"][harder.controls["margin"] == "households by TAZ"]
    assert (homes_gap == 0).all()  # what has no importance is met; what has one is balanced


def test_bounds_hold_weights_near_their_start() -> None:
    frame = pd.DataFrame({"hid": [1, 2, 2], "w": 10.0})
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"zone": ["a"]})
    homes = Margin(pd.DataFrame({"zone": ["a"], "total": [60.0]}), level="household")
    free = balance_zones(survey, zones, homes, seed=1)
    assert free.controls["balanced"].tolist() == pytest.approx([60.0])
    with pytest.warns(ConvergenceWarning, match="target 60, nearest 40"):
        bounded = balance_zones(survey, zones, homes, bounds=(0.5, 2.0), seed=1)
    assert bounded.controls["achieved"].tolist() == [40.0]


def test_weights_and_counts_keep_within_absolute_bounds() -> None:
    frame = pd.DataFrame({"hid": [1, 2, 2, 3], "w": 10.0})
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"zone": ["a", "b"]})
    homes = Margin(zones.assign(total=[30.0, 60.0]), level="household")
    persons = Margin(pd.DataFrame({"zone": ["a"], "total": [55.0]}), importance=1000.0)
    free = balance_zones(survey, zones, [homes, persons], seed=1)
    bounded = balance_zones(
        survey, zones, [homes, persons], bounds=WeightLimits(weight=(2.0, 21.0)), seed=1
    )
    most = {}
    for name, result in (("free", free), ("bounded", bounded)):
        assert result.controls["gap"].tolist()[:2] == [0.0, 0.0]
        by_household = result.survey.frame.drop_duplicates(["zone", "hid"])
        most[name] = by_household.query("zone == 'a'").groupby("hid")["count"].sum()
    assert most["free"][2] == 25  # couples
    assert most["bounded"][2] == 21
    assert (most["bounded"] >= 2).all()


def test_counts_do_not_leave_the_bounds_for_totals() -> None:
    """Zone n1 has twice its share of couples; the limits hold the weights of each of them."""
    rng = np.random.default_rng(2)
    size = np.repeat([1, 2], [30, 10])
    households = np.repeat(np.arange(40), size)
    frame = pd.DataFrame({"hid": households, "w": 5.0, "age": rng.integers(20, 80, 50)})
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"zone": ["n1", "n2"]})
    homes = Margin(zones.assign(total=[100.0, 100.0]), level="household")
    persons = Margin(pd.DataFrame({"zone": ["n1"], "total": [160.0]}), importance=1000.0)

    def most(bounds) -> int:
        result = balance_zones(survey, zones, [homes, persons], bounds=bounds, seed=1)
        rows = result.survey.frame.drop_duplicates("zone_household").query("zone == 'n1'")
        assert result.controls["gap"].tolist()[:2] == [0.0, 0.0]
        return int(rows.groupby("hid")["count"].sum().max())

    assert most(None) > 4
    assert most(WeightLimits(weight=(0.0, 4.0))) == 4
    assert most((0.0, 1.5)) == 4  # of a start weight of 2.5
    assert most(WeightLimits(weight=(1.0, 3.7))) == 4
    for wrong in ((2.0, 1.0), (-1.0, 2.0), (2.0, 3.0)):
        with pytest.raises(InputError, match="weight limits"):
            balance_zones(survey, zones, homes, bounds=wrong, seed=1)


def test_larger_areas_take_over_what_zones_miss() -> None:
    """Many zones each miss a little; their region hardly does."""
    rng = np.random.default_rng(5)
    zones = pd.DataFrame({"region": "r", "zone": np.arange(40)})
    homes = Margin(zones[["zone"]].assign(total=rng.integers(20, 40, 40)), level="household")
    n = int(homes.targets.sum())
    old = Margin(pd.DataFrame({"region": ["r"], "old": [True], "total": [round(0.37 * n)]}),
                 importance=1000.0)  # fmt: skip
    women = zones[["zone"]].assign(sex="f", total=(1.2 * homes.targets).round())
    result = balance_zones(sample(), zones, [homes, old, Margin(women, importance=1000.0)], seed=1)
    gaps = result.controls.set_index("margin")["gap"].abs()
    assert (gaps["households by zone"] == 0).all()
    assert gaps[old.label] <= 1
    assert gaps["persons by zone x sex"].max() <= 1


def test_totals_of_the_country_at_a_tenth() -> None:
    people = truth()
    tenth = balance_zones(
        sample(), ZONES, [item.scaled(0.1) for item in controls(people)[:2]], seed=1
    )
    homes = len(people.drop_duplicates("hid"))
    assert abs(tenth.persons()["zone_household"].nunique() - homes / 10) <= 1
    assert tenth.controls["gap"].abs().max() < 2


def test_a_region_without_a_sample_borrows_from_the_most_similar_and_says_so() -> None:
    frame = pd.DataFrame({
        "hid": np.arange(120), "region": np.repeat(["old", "young"], 60),
        "age": np.r_[np.tile([70, 80, 30], 20), np.tile([20, 30, 70], 20)], "w": 5.0,
    })  # fmt: skip
    frame["over_60"] = frame["age"] > 60
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"region": ["young", "old", "none"], "zone": ["y", "o", "n"]})
    over = pd.DataFrame({"zone": ["y", "o", "n"], "over_60": True, "total": [10.0, 70.0, 60.0]})
    margins = [
        Margin(zones[["zone"]].assign(total=100.0), level="household"), Margin(over),
    ]  # fmt: skip
    with pytest.warns(MicrodataWarning, match="none from old"):
        result = balance_zones(survey, zones, margins, within="region", seed=1)
    assert result.borrowed == {"none": ("old",)}
    assert "borrow" in result.summary()
    assert (result.controls["gap"] == 0).all()
    made = result.persons()
    assert set(made.loc[made["zone"] == "n", "hid"]) <= set(range(60))


def test_a_total_that_nobody_of_the_region_is_in_is_told() -> None:
    frame = pd.DataFrame({"hid": [1, 2], "region": ["a", "b"], "ill": [True, False], "w": 5.0})
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"region": ["a", "b"], "zone": ["x", "y"]})
    ill = Margin(pd.DataFrame({"zone": ["x", "y"], "ill": True, "total": [4.0, 3.0]}))
    with pytest.warns(ConvergenceWarning, match="zone y, ill True"):
        balance_zones(survey, zones, ill, within="region", seed=1)


def test_wide_tables_of_totals_become_long_ones() -> None:
    wide = pd.DataFrame({"zone": ["a", "b"], "f_old": [3, 5], "m_old": [4, 6]})
    cells = {"f_old": {"sex": "f", "old": True}, "m_old": {"sex": "m", "old": True}}
    long = long_table(wide, cells, total="n")
    assert long.columns.tolist() == ["zone", "sex", "old", "n"]
    assert Margin(long, total="n").targets.tolist() == [3, 5, 4, 6]
    with pytest.raises(InputError) as caught:
        long_table(wide, {**cells, "m_oldd": {"sex": "m"}})
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="name no categories"):
        long_table(wide, {})


def test_totals_that_can_be_met_together_are_met_at_every_level() -> None:
    """Sizes of all zones are exact, persons within one, counties and the state exact."""
    rng = np.random.default_rng(4)
    size = 1 + rng.binomial(4, 0.35, 1600)
    household = np.repeat(np.arange(1600), size)
    people = pd.DataFrame({
        "household": household, "size": size[household], "zone": household // 80,
        "county": household // 400, "race": rng.integers(0, 4, 1600)[household], "state": "s",
        "age": rng.integers(0, 5, len(household)), "job": rng.integers(0, 3, len(household)),
    })  # fmt: skip
    homes = people.drop_duplicates("household")
    frame = people[people["household"] % 4 == 0].drop(columns=["zone", "county", "state"])
    survey = Survey(frame.assign(w=4.0), weight="w", household="household")
    zones = homes[["state", "county", "zone"]].drop_duplicates()
    margins = [
        Margin(counts(homes, "zone"), level="household"),
        *(Margin(counts(homes, *by).pipe(with_zeros, by), level="household", importance=1000.0)
          for by in (["zone", "size"], ["county", "race"])),
        *(Margin(counts(people, *by).pipe(with_zeros, by), importance=1000.0)
          for by in (["zone", "age"], ["state", "job"])),
    ]  # fmt: skip
    gaps = balance_zones(survey, zones, margins, seed=1).controls
    gap = gaps["gap"].abs()
    assert (gap[gaps["level"] == "household"] == 0).all()
    assert (gap[gaps["margin"].str.contains("state")] == 0).all()
    assert gap.max() <= 1


def with_zeros(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Totals of zero for categories that nobody of an area is in."""
    wide = table.pivot_table(index=by[0], columns=by[1], values="total", fill_value=0.0)
    return wide.stack().rename("total").reset_index()


def test_a_total_out_of_reach_of_the_bounds_leaves_the_others_met() -> None:
    home = np.arange(30)
    frame = pd.DataFrame({"hid": home, "w": 20.0, "alone": home < 5})
    zones = pd.DataFrame({"zone": ["a"]})
    homes = Margin(zones.assign(total=900.0), level="household")
    alone = Margin(zones.assign(alone=True, total=400.0), level="household", importance=1000.0)
    result = balance_zones(
        Survey(frame, weight="w", household="hid"), zones, [homes, alone], bounds=(0.8, 2), seed=1
    )
    assert result.converged
    assert result.controls["balanced"].tolist() == pytest.approx([900.0, 200.0], rel=1e-4)
    assert result.controls["achieved"].tolist() == [900.0, 200.0]  # five households, twice 20


def test_existing_weights_are_kept_where_that_is_asked() -> None:
    """With both limits at 1 the weights of the survey are the counts, and totals are only told."""
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 30, 40).astype(float)
    frame = pd.DataFrame({"hid": np.arange(40), "w": weights, "old": rng.integers(0, 2, 40)})
    old = Margin(pd.DataFrame({"zone": ["a"], "old": [1], "total": [10.0]}), importance=1000.0)
    homes = Margin(pd.DataFrame({"zone": ["a"], "total": [weights.sum()]}), level="household")
    result = balance_zones(
        Survey(frame, weight="w", household="hid"), pd.DataFrame({"zone": ["a"]}), [homes, old],
        bounds=(1, 1), seed=1,
    )  # fmt: skip
    made = result.survey.frame.set_index("hid")["count"]
    assert made.reindex(np.arange(40)).tolist() == weights.tolist()
    assert result.controls["achieved"].tolist()[1] == weights[frame["old"] == 1].sum()
