"""Dates are recoded, coded at their ends and perturbed as days since 1970."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, protect
from synthpop.microdata.messages.errors import InputError

BORN = pd.Series(pd.to_datetime(["1950-03-01", "1971-12-31", "1972-01-01", "2004-02-29", None]))
PEOPLE = pd.DataFrame({"born": BORN, "sex": list("fmfmf")})


def test_dates_are_put_into_classes() -> None:
    recoded = protect.global_recode(
        PEOPLE, "born", breaks=[-np.inf, "1971-12-31", "2000-12-31", "2010-12-31"]
    )
    texts = recoded.data["born"].astype(object).fillna("").tolist()
    between, late = "1972-01-01 to 2000-12-31", "2001-01-01 to 2010-12-31"
    assert texts == ["up to 1971-12-31", "up to 1971-12-31", between, late, ""]
    three = protect.global_recode(PEOPLE, "born", breaks=3).data["born"]
    assert three.cat.categories[0] == "1950-03-01 to 1968-02-29"
    with pytest.raises(InputError, match="'soon' is no date"):
        protect.global_recode(PEOPLE, "born", breaks=["1900-01-01", "soon"])


def test_dates_are_coded_at_their_ends() -> None:
    coded = protect.top_bottom_code(PEOPLE, "born", upper="1999-12-31", lower="1960-01-01")
    wanted = pd.to_datetime(["1960-01-01", "1971-12-31", "1972-01-01", "1999-12-31", None])
    assert coded.data["born"].tolist()[:4] == wanted.tolist()[:4]
    assert coded.data["born"].isna().tolist() == [False] * 4 + [True]
    assert coded.data["born"].dtype == PEOPLE["born"].dtype
    assert coded.parameters["upper"] == "1999-12-31"
    with pytest.raises(InputError, match="lower, upper"):
        protect.top_bottom_code(PEOPLE, "born", upper="1950-01-01", lower="1960-01-01")


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_dates_are_perturbed_and_stay_dates(zone: str | None) -> None:
    rng = np.random.default_rng(1)
    days = pd.Series(pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, 200), "D"))
    frame = pd.DataFrame({"visit": days if zone is None else days.dt.tz_localize(zone)})
    noisy = protect.add_noise(frame, ["visit"], level=0.1, seed=1).data["visit"]
    moved = (noisy - frame["visit"]).dt.days
    assert noisy.dtype == frame["visit"].dtype
    assert 0.5 < (moved != 0).mean() < 1
    assert moved.abs().max() < 60
    if zone is None:
        assert (noisy == noisy.dt.normalize()).all()
        grouped = protect.microaggregate(frame, ["visit"], k=5).data["visit"]
        assert grouped.value_counts().min() >= 5


def test_a_session_counts_dates_and_recodes_them() -> None:
    people = pd.concat([PEOPLE] * 4, ignore_index=True)
    session = ProtectionSession(people, keys=["born", "sex"])
    session.global_recode("born", breaks=["1900-01-01", "1999-12-31", "2030-12-31"])
    assert session.data["born"].nunique() == 2
