"""Small calls of `checks` and what they return."""

from __future__ import annotations

import pandas as pd

from synthpop.microdata.frame.checks import as_frame


def test_example_of_as_frame() -> None:
    assert as_frame(pd.DataFrame({"a": [1, 2]}, index=[5, 9])).index.tolist() == [0, 1]
