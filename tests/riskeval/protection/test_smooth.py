"""Amounts of a synthetic file are smoothed: naive means, the stated bandwidth, what stays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from synthpop.microdata.messages.errors import InputError


@pytest.fixture(scope="module")
def files() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(6)
    income = rng.lognormal(9, 0.7, 400).round(1)
    income[rng.random(400) < 0.2] = 0
    income[income > 40_000] = 40_000
    income[:2] = 40_000
    original = pd.DataFrame({"income": income, "job": rng.choice([*"abc"], 400)})
    return original, original.sample(300, replace=True, random_state=1, ignore_index=True)


def test_a_running_mean_is_that_of_neighbours_in_rank() -> None:
    original = pd.DataFrame({"x": [1.5, 2.5, 4.5, 9.5, 20.5]})
    made = pd.DataFrame({"x": [9.5, 1.5, 2.5, np.nan, 4.5]})
    options = {"method": "running-mean", "window": 3}
    result = protect.smooth_amounts(made, original, ["x"], **options)
    naive = [np.mean([4.5, 9.5]), np.mean([1.5, 2.5]), np.mean([1.5, 2.5, 4.5]), np.nan]
    naive.append(np.mean([2.5, 4.5, 9.5]))
    np.testing.assert_allclose(result.data["x"], np.round(naive, 1), atol=0.051)
    assert result.seed is None
    wide = protect.smooth_amounts(made, original, ["x"], method="running-mean", window=9)
    assert wide.data["x"].dropna().nunique() == 1


def test_a_kernel_has_the_stated_width_and_copies_vanish(
    files: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    original, made = files
    result = protect.smooth_amounts(made, original, ["income"], seed=1)
    x, y = made["income"], result.data["income"]
    moved = (x != 0) & (x != 40_000)
    assert (y[~moved] == x[~moved]).all()
    assert (y[moved] > 0).all()
    np.testing.assert_allclose(y, y.round(1), atol=1e-9)
    inside = x[moved]
    iqr = inside.quantile(0.75) - inside.quantile(0.25)
    width = 0.9 * min(inside.std(), iqr / 1.34) * len(inside) ** -0.2
    far = inside > 4 * width  # where no sign was kept
    assert (y - x)[moved][far].std() == pytest.approx(width, rel=0.15)
    copied = result.details["copied"].iloc[0]
    assert copied["before"] == 1
    assert copied["after"] == np.isin(y[moved], original["income"]).mean() < 0.05
    assert "of the values are those of the original (100.0 % before)" in result.summary()
    assert result.data["job"].equals(made["job"])
    again = protect.smooth_amounts(made, original, ["income"], seed=2)
    assert not again.data["income"].equals(y)


def test_members_stay_alike_and_parts_add_up() -> None:
    rng = np.random.default_rng(1)
    wage, rent = rng.lognormal(9, 1, (2, 40)).round()
    homes = pd.DataFrame({"hid": range(40), "wage": wage, "rent": rent, "all": wage + rent})
    made = homes.loc[np.repeat(np.arange(40), 2)].reset_index(drop=True)
    result = protect.smooth_amounts(
        made, homes, ["wage", "rent", "all"], household="hid",
        components={"all": ["wage", "rent"]}, seed=1,
    ).data  # fmt: skip
    assert (result.groupby("hid")[["wage", "rent", "all"]].nunique() == 1).all(axis=None)
    np.testing.assert_allclose(result["wage"] + result["rent"], result["all"])
    assert not result["wage"].equals(made["wage"])


def test_faults_are_named(files: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    original, made = files
    for options, said in (
        ({"method": "spline"}, "method"), ({"window": 1}, "window"),
        ({"variables": ["job"]}, "job"), ({"variables": ["absent"]}, "absent"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            protect.smooth_amounts(made, original, **{"variables": ["income"], **options})
