"""A population in zones brought to new totals: few exchanges, beside brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from synthpop import Margin
from synthpop.calibration import adjust_zones
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError


def people(n: int = 60, seed: int = 1) -> pd.DataFrame:
    """Households of sizes 1 to 4 in six zones of two regions, old and young persons."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, n)
    home = np.repeat(np.arange(n), size)
    zone = np.arange(n) % 6
    return pd.DataFrame({"hid": home, "zone": zone[home], "region": zone[home] // 3,
                         "size": size[home], "old": rng.integers(0, 2, len(home))})  # fmt: skip


ZONES = pd.DataFrame({"region": [0, 0, 0, 1, 1, 1], "zone": range(6)})


def by_zone(frame: pd.DataFrame, *by: str) -> pd.DataFrame:
    return frame.groupby(["zone", *by]).size().rename("total").reset_index()


def households(frame: pd.DataFrame, zone: int) -> list[int]:
    rows = frame[frame["zone"] == zone]
    return sorted(rows.drop_duplicates("zone_household")["hid"])


def test_totals_that_hold_already_change_nothing() -> None:
    frame = people()
    margins = [
        Margin(by_zone(frame.drop_duplicates("hid")), level="household"),
        Margin(by_zone(frame, "old")),
    ]
    result = adjust_zones(frame, ZONES, margins, household="hid", seed=1)
    assert result.kept == 60
    made = result.persons()
    for z in range(6):
        assert households(made, z) == sorted(set(frame.loc[frame["zone"] == z, "hid"]))
    assert "60 households stay where they are" in result.summary()


@pytest.mark.parametrize("seed", range(6))
def test_no_way_needs_fewer_exchanges(seed: int) -> None:
    """All ways to change a zone are tried; sizes and persons are changed by a few."""
    rng = np.random.default_rng(seed)
    frame = people(24, seed).query("zone < 4")
    zones = ZONES[ZONES["zone"] < 4]
    sizes = np.array([1, 2, 3, 4])
    before = [int(((frame["zone"] == 0) & (frame["size"] == s)).sum() / s) for s in sizes]
    homes, persons = sum(before) + int(rng.integers(-1, 2)), int(sizes @ before)
    persons = int(np.clip(persons + rng.integers(-3, 4), homes, 4 * homes))
    margins = [
        Margin(pd.DataFrame({"zone": [0], "total": [homes]}), level="household"),
        Margin(pd.DataFrame({"zone": [0], "total": [persons]})),
    ]
    available = set(frame["size"])
    fewest = max(
        sum(np.minimum(counts, before))
        for counts in product(range(homes + 1), repeat=4)
        if sum(counts) == homes and sizes @ counts == persons
        and all(s in available or not c for s, c in zip(sizes, counts, strict=True))
    )  # fmt: skip
    result = adjust_zones(frame.drop(columns="old"), zones, margins, household="hid", seed=1)
    assert (result.controls["gap"] == 0).all()
    others = frame.loc[frame["zone"] > 0, "hid"].nunique()
    assert result.kept == others + fewest


def test_copies_come_from_the_region_and_larger_areas_are_met() -> None:
    frame = people()
    old = frame.groupby("region")["old"].sum().to_numpy() + np.array([4, -3])
    margins = [
        Margin(by_zone(frame.drop_duplicates("hid")), level="household"),
        Margin(pd.DataFrame({"region": [0, 1], "old": 1, "total": old})),
    ]
    near = adjust_zones(frame, ZONES, margins, household="hid", within="region", seed=1)
    assert (near.controls["gap"] == 0).all()
    assert near.kept is not None
    assert 52 <= near.kept < 60
    made = near.persons()
    origin = frame.drop_duplicates("hid").set_index("hid")["region"]
    assert (made["hid"].map(origin) == made["region"]).all()
    many = Margin(pd.DataFrame({"zone": [0], "total": [70]}), level="household")
    free = adjust_zones(frame, ZONES, many, household="hid", seed=1).persons()
    assert (free["hid"].map(origin) != free["region"]).any()


def test_seed_and_conflicts() -> None:
    frame = people()
    fewer = Margin(pd.DataFrame({"zone": [0], "total": [4]}), level="household")
    one, same, other = (
        households(adjust_zones(frame, ZONES, fewer, household="hid", seed=s).persons(), 0)
        for s in (1, 1, 2)
    )
    assert one == same != other
    assert set(one) <= set(frame.loc[frame["zone"] == 0, "hid"])
    persons = Margin(pd.DataFrame({"zone": [0], "total": [2]}))
    with pytest.warns(ConvergenceWarning, match="The households do not meet all totals"):
        result = adjust_zones(frame, ZONES, [fewer, persons], household="hid", seed=1)
    assert not result.converged
    assert result.controls["achieved"].tolist()[0] == 4


def test_a_result_is_adjusted_again() -> None:
    frame = people()
    first = Margin(pd.DataFrame({"zone": [0], "total": [12]}), level="household")
    made = adjust_zones(frame, ZONES, first, household="hid", seed=1).persons()
    more = Margin(pd.DataFrame({"zone": [0], "total": [14]}), level="household")
    again = adjust_zones(made, ZONES, more, household="zone_household", seed=1)
    assert again.kept == 62
    assert again.persons()["previous_household"].nunique() <= 62


def test_faults() -> None:
    frame = people()
    homes = Margin(pd.DataFrame({"zone": [0], "total": [4]}), level="household")
    torn = frame.assign(zone=np.arange(len(frame)) % 9)
    with pytest.raises(InputError) as caught:
        adjust_zones(torn, ZONES, homes, household="hid")
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="home"):
        adjust_zones(frame, ZONES, homes, household="home")
