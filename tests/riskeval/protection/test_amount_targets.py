"""Masking of amounts that chooses its strength: by the public measures, and one step weaker."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, interval_disclosure, protect, record_linkage, search_plans
from riskeval.protection.result import Protected
from synthpop.microdata.messages.errors import InputError

VARIABLES = ["income", "rent"]
Verb = Callable[..., Protected]


@pytest.fixture(scope="module")
def firms() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    income = rng.lognormal(9, 0.8, 300).round()
    rent = (income * rng.uniform(0.1, 0.4, 300)).round()
    return pd.DataFrame({"income": income, "rent": rent, "ill": rng.choice([*"xyz"], 300)})


def noisy(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.add_noise(frame, VARIABLES, seed=1, **options)


def swapped(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.rank_swap(frame, VARIABLES, seed=1, **options)


def grouped(frame: pd.DataFrame, **options: object) -> Protected:
    return protect.microaggregate(frame, VARIABLES, **{"k": 2, **options})


def risks(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, float]:
    return {
        "record_linkage": record_linkage(before, after, VARIABLES).expected_rate_two,
        "interval_disclosure": interval_disclosure(before, after, VARIABLES).rate,
    }


@pytest.mark.parametrize(
    "targets", [{"record_linkage": 0.15}, {"record_linkage": 0.9, "interval_disclosure": 0.03}]
)
@pytest.mark.parametrize(("verb", "name"), [(noisy, "level"), (swapped, "p"), (grouped, "k")])
def test_a_target_is_met_with_the_least_masking(
    firms: pd.DataFrame, verb: Verb, name: str, targets: dict[str, float]
) -> None:
    result = verb(firms, targets=targets)
    reached = risks(firms, result.data)
    assert all(reached[one] <= limit for one, limit in targets.items())
    assert result.details["targets"] == {one: reached[one] for one in targets}
    strength = result.details[name]
    again = verb(firms, **{name: strength})
    pd.testing.assert_frame_equal(again.data, result.data)
    weaker = verb(firms, **{name: strength - 1 if name == "k" else strength * 0.98})
    short = risks(firms, weaker.data)
    assert any(short[one] > limit for one, limit in targets.items())
    assert result.unmet == ()
    assert result.parameters["targets"] == targets


def test_the_weakest_masking_is_taken_where_it_is_enough(firms: pd.DataFrame) -> None:
    assert grouped(firms, k=5, targets={"record_linkage": 1}).details["k"] == 5
    assert noisy(firms, targets={"record_linkage": 1}).details["level"] == 1e-4


def test_what_no_strength_reaches_is_said_first(firms: pd.DataFrame) -> None:
    """Zeros stay zero: whoever has one is within every interval."""
    poor = firms.assign(income=0.0, rent=firms["rent"].where(firms.index > 90, 0.0))
    result = noisy(poor, keep_zeros=VARIABLES, targets={"interval_disclosure": 0.2})
    text = "Target missed: interval_disclosure is 32."
    assert result.summary().startswith(text)
    assert result.details["level"] == 4
    assert result.details["targets"]["interval_disclosure"] > 0.2
    romm = protect.add_noise(
        poor, ["rent"], method="romm", targets={"interval_disclosure": 0.05}, seed=1
    )
    assert romm.details["level"] < 2


def test_groups_and_amounts_have_targets_together(firms: pd.DataFrame) -> None:
    targets = {"record_linkage": 0.2, "distinct_l: ill": 3}
    result = grouped(firms, targets=targets)
    assert risks(firms, result.data)["record_linkage"] <= 0.2
    assert result.data.groupby(VARIABLES)["ill"].nunique().min() >= 3
    assert result.parameters["targets"] == targets
    assert set(result.details["targets"]) == set(targets)


def test_targets_that_cannot_be_read_are_named(firms: pd.DataFrame) -> None:
    asked: list[tuple[Verb, dict[str, object], str]] = [
        (noisy, {"targets": {"linkage": 0.1}}, "'linkage' is none of amounts"),
        (noisy, {"targets": {"record_linkage": 2}}, "record_linkage"),
        (swapped, {"targets": {"record_linkage": 0.001}}, "below linking 300 records at random"),
        (noisy, {"level": 0.2, "targets": {"record_linkage": 0.1}}, "exclude each other"),
        (swapped, {"p": 0.2, "targets": {"record_linkage": 0.1}}, "exclude each other"),
        (swapped, {"targets": {"t: ill": 0.1}}, "'t: ill' is none of amounts"),
    ]
    for verb, options, said in asked:
        with pytest.raises(InputError, match=said):
            verb(firms, **options)
    with pytest.raises(InputError, match="of numbers only"):
        protect.microaggregate(
            firms, ["income", "ill"], method="gower", targets={"record_linkage": 0.1}
        )


def test_a_session_and_a_search_take_targets_of_amounts(firms: pd.DataFrame) -> None:
    session = ProtectionSession(firms, keys=[], numeric=VARIABLES)
    session.rank_swap(targets={"record_linkage": 0.1})
    assert session.risk().table.loc["record_linkage", "current"] <= 0.1
    session.undo()
    result = search_plans(session, limits={"record_linkage": 0.1}, plans=4, seed=1)
    asked = [steps[0].parameters for steps in result.steps.values() if steps]
    assert {"record_linkage": 0.1} in [one.get("targets") for one in asked]
    assert result.apply(session).risk().table.loc["record_linkage", "current"] <= 0.1
