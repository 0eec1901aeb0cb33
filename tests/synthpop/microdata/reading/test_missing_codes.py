"""Small calls of `missing_codes` and what they return."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.reading.missing_codes import suspected_missing_codes


def test_example_of_suspected_missing_codes() -> None:
    assert suspected_missing_codes(np.array([1.0, 2, 2, 3, -9, np.nan])) == [-9.0]
