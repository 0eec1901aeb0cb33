"""Small calls of `suppression` and what they return."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.microdata.messages.suppression import (
    hide,
    is_dominated,
    is_safe_change,
    is_safe_statistic,
    is_small,
    rounded,
    rounded_count,
    rounded_share,
    safe_domains,
)


def test_example_of_is_small() -> None:
    assert [is_small(x) for x in (0, 0.2, 4, 5, None)] == [False, True, True, False, False]


def test_example_of_hide() -> None:
    assert (
        repr(hide(pd.DataFrame({"a": [1, 2]}), ["a"], np.array([True, False]))["a"].tolist())
        == "[nan, 2.0]"
    )


def test_example_of_rounded_count() -> None:
    assert repr([rounded_count(n) for n in (0, 3, 98.2)]) == "[0.0, nan, 100.0]"


def test_example_of_rounded() -> None:
    assert (rounded(0), rounded(3), rounded(98), rounded(1234.4), rounded(None)) == (
        "0",
        "< 5",
        "100",
        "1,235",
        "–",
    )


def test_example_of_rounded_share() -> None:
    assert (rounded_share(0.983, 200), rounded_share(0.001, 200), rounded_share(0.0, 200)) == (
        "97.5 %",
        "< 2.5 %",
        "0 %",
    )
    assert rounded_share(1.0, 4)  # a share of so few is not shown == '–'


def test_example_of_is_dominated() -> None:
    assert (
        is_dominated([100, 5, 2, 1]),
        is_dominated([100, 90, 5, 6]),
        is_dominated([0, 0, 0]),
    ) == (True, False, False)


def test_example_of_is_safe_statistic() -> None:
    nan = float("nan")
    assert (
        is_safe_statistic([777_123, nan, nan, nan, nan, nan]),
        is_safe_statistic([3, 4, 5, 6, 7]),
    ) == (False, True)


def test_example_of_is_safe_change() -> None:
    before = np.array([*range(20), 1_234_500.0])
    assert (is_safe_change(before, np.minimum(before, 100)), is_safe_change(before, before)) == (
        False,
        True,
    )
    assert is_safe_change(before, np.r_[before[:20] + 3.0, before[20]])


def test_example_of_safe_domains() -> None:
    domains = ["a"] * 20 + ["b"] * 8 + ["c"] * 9 + ["tiny"]
    assert safe_domains(domains, np.arange(38.0)) == ["a", "c"]
