"""The truth and the stored survey, made once for all tests of the folder."""

from __future__ import annotations

import pandas as pd
import pytest

from synthpop.datasets import load_demo_population
from synthpop.microdata.roles.demo_survey import read_demo_frame


@pytest.fixture(scope="session")
def population() -> pd.DataFrame:
    return load_demo_population()


@pytest.fixture(scope="session")
def survey() -> pd.DataFrame:
    return read_demo_frame()


@pytest.fixture(scope="session", params=["population", "survey"])
def frame(request: pytest.FixtureRequest) -> pd.DataFrame:
    """Both: what must hold in the one must hold in the other."""
    return request.getfixturevalue(request.param)
