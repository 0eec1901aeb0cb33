"""Small calls of `columns` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.statistics.weighted.columns import as_numbers, clean


def test_example_of_clean() -> None:
    values, weights, blank = clean([1.0, np.nan, 3.0], [1.0, 2.0, 3.0])
    assert (values.tolist(), weights.tolist(), blank) == ([1.0, 3.0], [1.0, 3.0], False)


def test_example_of_as_numbers() -> None:
    assert repr(as_numbers(Faults("example"), [1, None], "values")) == "array([ 1., nan])"
