"""Exact amounts, shares and households of respondents in a release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval.attacks.counting.copies import CopiedValues
from synthpop.microdata.messages.errors import InputError

PARTS = ["wage", "rent", "benefit"]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.lognormal(8, 1, (n, 3)).round(2), columns=PARTS)
    frame.loc[rng.random(n) < 0.3, "rent"] = 0.0
    return frame.assign(
        hid=np.arange(n) // 3, age=rng.integers(0, 90, n), sex=rng.choice(["f", "m"], n)
    )


def rates(result: CopiedValues) -> dict[str, float]:
    return result.table.set_index("kind")["rate"].to_dict()


def test_a_copy_and_strangers() -> None:
    own, other = people(600, 1), people(600, 2)
    names = [*PARTS, "age", "sex"]
    copy = riskeval.copied_values(own, own, names, household="hid", holdout=other)
    assert rates(copy) == {"amounts": 1.0, "shares": 1.0, "compositions": 1.0}
    assert all(copy.excess[kind].is_above for kind in rates(copy))
    fair = riskeval.copied_values(own, people(600, 3), names, household="hid", holdout=other)
    assert max(rates(fair)["shares"], rates(fair)["compositions"]) < 0.02
    assert not any(one.is_above for one in fair.excess.values())
    assert fair.table["by_chance"].iloc[0] < 0.5
    assert "occur in the release with exactly the same" in fair.summary()


def test_shares_of_other_totals_are_seen_and_amounts_are_not() -> None:
    own = people(300, 1)
    release = own.assign(**{name: own[name] * 3.7 for name in PARTS})
    result = rates(riskeval.copied_values(own, release, PARTS))
    assert result == {"amounts": 0.0, "shares": 1.0}


def test_order_of_members_blocks_and_shuffled_columns() -> None:
    own = people(300, 1)
    names = [*PARTS, "age", "sex"]
    shuffled = own.sample(frac=1, random_state=1).sort_values("hid", kind="stable")
    blocks = [shuffled.iloc[:150], shuffled.iloc[150:, ::-1]]
    whole = riskeval.copied_values(own, blocks, names, household="hid")
    assert set(rates(whole).values()) == {1.0}
    torn = own.assign(hid=np.random.default_rng(1).permutation(own["hid"]))
    assert rates(riskeval.copied_values(own, torn, names, household="hid"))["compositions"] < 0.02


def test_what_is_shared_or_zero_or_missing_marks_nobody() -> None:
    own = pd.DataFrame({"x": [0.0, 0.0, np.nan, 5.5, 5.5, 7.25]})
    table = riskeval.copied_values(own, own, "x").table
    assert table["n"].tolist() == [1]
    assert table["copied"].tolist() == [1]
    holes = own.assign(x=np.nan)
    assert riskeval.copied_values(own, holes, "x").table["copied"].tolist() == [0]


def test_arguments() -> None:
    own = people(30, 1)
    with pytest.raises(InputError, match="digits"):
        riskeval.copied_values(own, own, PARTS, digits=0)
    with pytest.raises(InputError, match="not a number among the variables"):
        riskeval.copied_values(own, own, ["sex"], amounts=["sex"])
    with pytest.raises(InputError, match="is not a number in the synthetic file"):
        riskeval.copied_values(own, own.assign(wage="much"), PARTS)
    few = riskeval.copied_values(own, own.assign(**{p: own[p].round(0) for p in PARTS}), PARTS,
                                 digits=1)  # fmt: skip
    fine = riskeval.copied_values(own, own.assign(**{p: own[p].round(0) for p in PARTS}), PARTS)
    assert rates(few)["shares"] > rates(fine)["shares"]


def test_a_copy_in_other_types_is_a_copy_and_other_codes_are_a_fault() -> None:
    people = pd.DataFrame({"age": np.arange(20, 60), "sex": [1, 2] * 20})
    typed = people.assign(age=people["age"].astype(float), sex=people["sex"].astype(str))
    table = riskeval.copied_values(people, typed, ["age", "sex"], amounts=[]).table
    assert table["rate"].tolist() == [1.0]
    named = people.assign(sex=people["sex"].map({1: "male", 2: "female"}))
    with pytest.raises(InputError, match="no level in common"):
        riskeval.copied_values(people, named, ["age", "sex"], amounts=[])
