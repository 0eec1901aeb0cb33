"""Households allotted to zones with known totals at three nested geographies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Margin, Survey
from synthpop.calibration import balance_zones
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError
from tests.small import small_frame

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
