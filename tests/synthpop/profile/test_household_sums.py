"""Numbers that add up sums over the household and numbers of the person, as incomes of EU-SILC."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import profile_survey
from synthpop.conditional.rules.evaluate import People, number_of
from synthpop.conditional.rules.parse import parse_expression
from synthpop.microdata.frame.dataset import Field
from synthpop.profile.household_sums import word


def survey_of_incomes(n: int = 200) -> pd.DataFrame:
    """Households with pay of members, benefits and taxes, and what is added up of them."""
    rng = np.random.default_rng(3)
    hid = np.repeat(np.arange(n), rng.integers(1, 5, n))
    first = np.r_[True, np.diff(hid) > 0]
    age = np.where(first, rng.integers(25, 80, len(hid)), rng.integers(1, 80, len(hid)))

    def amount(share: float) -> np.ndarray:
        return np.where(rng.random(len(hid)) < share, rng.lognormal(8, 1, len(hid)).round(2), 0.0)

    frame = pd.DataFrame({"hid": hid, "w": 10.0, "age": age, "pay": amount(0.6)})
    frame["self"], frame["benefit"], frame["tax"] = amount(0.2), amount(0.5), amount(0.7)
    frame.loc[age < 16, ["pay", "self"]] = np.nan
    return frame


def total(frame: pd.DataFrame, column: str) -> pd.Series:
    return frame[column].fillna(0).groupby(frame["hid"]).transform("sum")


def of_expression(frame: pd.DataFrame, rule: str) -> np.ndarray:
    """Return what an expression is for each person of a survey."""
    offsets = np.r_[0, frame.groupby("hid").size().cumsum()]
    columns = {name: frame[name].to_numpy() for name in frame}
    people = People({name: Field.number(name) for name in frame}, columns, offsets)
    return number_of(people, parse_expression(rule))


def test_sums_over_the_household_beside_numbers_of_the_person() -> None:
    frame = survey_of_incomes()
    frame["gross"] = total(frame, "pay") + total(frame, "self") + frame["benefit"]
    frame["net"] = frame["gross"] - frame["tax"]
    profile = profile_survey(frame)
    added = "sum(zero_if_missing(pay) + zero_if_missing(self)) + benefit"
    assert profile.derived["gross"] == {"expression": added}
    assert profile.derived["net"] == {"expression": f"{added} - tax"}
    assert profile.column("net").why == "2 sums over the household and 2 numbers of the person"


def test_a_sum_that_is_missing_where_a_member_lacks_a_part() -> None:
    frame = survey_of_incomes()
    lacking = frame["pay"].isna().groupby(frame["hid"]).transform("any")
    frame["gross"] = (total(frame, "pay") + total(frame, "self")).mask(lacking) + frame["benefit"]
    rule = profile_survey(frame).derived["gross"]["expression"]
    assert "/ (count(pay is missing) = 0) + benefit" in rule
    assert frame["gross"].isna().any()
    np.testing.assert_allclose(of_expression(frame, rule), frame["gross"], atol=1e-6)


def test_a_sum_over_the_equivalence_scale_with_names_that_need_quotes() -> None:
    frame = survey_of_incomes().rename(columns={"pay": "pay, gross", "age": "age"})
    adults = (frame["age"] >= 14).groupby(frame["hid"]).transform("sum")
    size = frame.groupby("hid")["age"].transform("size")
    scale = 1 + 0.5 * np.maximum(adults - 1, 0) + 0.3 * (size - adults)
    frame["level"] = (total(frame, "pay, gross") + total(frame, "self") - frame["tax"]) / scale
    rule = profile_survey(frame).derived["level"]["expression"]
    added = "sum(zero_if_missing(`pay, gross`) + zero_if_missing(self)) - tax"
    assert rule == f"({added}) / equivalised_size(age)"
    np.testing.assert_allclose(of_expression(frame, rule), frame["level"], atol=1e-6)


@pytest.mark.parametrize("kind", ["noise", "own"])
def test_what_does_not_add_up_is_drawn(kind: str) -> None:
    frame = survey_of_incomes()
    noise = np.random.default_rng(1).normal(0, 50, len(frame)) if kind == "noise" else 0.0
    of_household = total(frame, "pay") if kind == "noise" else frame["pay"].fillna(0)
    frame["gross"] = of_household + frame["benefit"] + noise
    assert "gross" not in profile_survey(frame).derived


def test_reserved_words_are_quoted() -> None:
    assert [word("pay"), word("in"), word("net pay")] == ["pay", "`in`", "`net pay`"]
