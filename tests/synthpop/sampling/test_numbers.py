"""Values that are not numbers are one clear error, and missing ones of any type are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import heaping, indicators, sampling
from synthpop.microdata.messages.errors import InputError

TEXT = ["a", "b", "c", "d", "e", "f"]
RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: sampling.inclusion_probabilities(x, 1),
        lambda x: sampling.draw_unequal(x, RNG),
        lambda x: sampling.draw_balanced(x, np.ones(6), RNG),
        lambda x: sampling.draw_balanced(np.full(6, 0.5), x, RNG),
        lambda x: sampling.allocate(x, np.full(6, 9), 12),
        lambda x: sampling.allocate(np.ones(6), x, 12),
        lambda x: sampling.horvitz_thompson(x, np.full(6, 0.5)),
        lambda x: sampling.horvitz_thompson(np.ones(6), x),
        lambda x: sampling.joint_probabilities(x, method="sampford"),
        lambda x: indicators.design_variance(x),
        lambda x: indicators.design_variance(np.ones(6), x),
        lambda x: indicators.gini(x),
        lambda x: heaping.whipple_index(x),
        lambda x: heaping.sprague(x),
    ],
)
def test_text_is_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match="are not numbers"):
        call(TEXT)
    with pytest.raises(InputError, match="are not numbers"):
        call(pd.Series(TEXT, dtype=object))


def test_missing_values_of_object_columns() -> None:
    column = pd.Series([30, pd.NA, 25, 31], dtype=object)
    assert heaping.whipple_index(column) == heaping.whipple_index([30, 25, 31])
    assert indicators.gini(column).value == indicators.gini([30.0, 25.0, 31.0]).value
    with pytest.raises(InputError, match="are missing"):
        sampling.horvitz_thompson(column, np.full(4, 0.5))
    with pytest.raises(InputError, match="missing"):
        sampling.inclusion_probabilities(column, 2)
    flags = pd.Series([True, False, True], dtype=object)
    assert sampling.inclusion_probabilities(flags, 1).tolist() == [0.5, 0.0, 0.5]


def test_numbers_out_of_range() -> None:
    assert indicators.gini([1e308, 1e308, 5e307]).value == pytest.approx(
        indicators.gini([10.0, 10.0, 5.0]).value
    )
    with pytest.raises(InputError, match="the largest age is 31"):
        heaping.correct_heaps([30.0, 31.0, 29.0], start=1e20, seed=1)
    with pytest.raises(InputError, match="is '3'"):
        indicators.bootstrap(indicators.gini, np.ones(5), weights=np.ones(5), replicates="3")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="3 for 2 values"):
        indicators.design_variance([1.0, 2.0], [1.0, 1.0, 1.0])
