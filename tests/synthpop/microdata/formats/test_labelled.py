"""Small calls of `labelled` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.formats.labelled import decoded, encoded, with_missing_code
from synthpop.microdata.frame.dictionary import Variable


def test_example_of_decoded() -> None:
    sex = Variable("sex", values=((1, "male"), (2, "female")), missing=((-9, ""),))
    assert (
        repr(decoded(pd.Series([1.0, 2.0, -9.0], name="sex"), sex).tolist())
        == "['male', 'female', nan]"
    )
    income = Variable("income", values=((-9, "no answer"),), missing=((-9, "no answer"),))
    assert repr(decoded(pd.Series([-9.0, 812.5], name="income"), income).tolist()) == "[nan, 812.5]"


def test_example_of_with_missing_code() -> None:
    income = Variable("income", missing=((-9, ""), (-8, "")))
    assert with_missing_code(pd.Series([1.0, -9.0]), income).missing_code == -9
    assert with_missing_code(pd.Series([1.0, -9.0, None]), income).missing_code is None


def test_example_of_encoded() -> None:
    sex = Variable("sex", values=((1, "male"), (2, "female")))
    codes, _ = encoded(pd.Series(["female", None, "male"], dtype="category", name="sex"), sex)
    assert repr(codes.tolist()) == "[2.0, nan, 1.0]"
