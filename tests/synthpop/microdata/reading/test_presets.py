"""Layouts that publishers give: roles, age and sex are those of the codebook, nothing is asked."""

from __future__ import annotations

import pandas as pd
import pytest

from riskeval import suggest_roles
from synthpop.microdata.reading.columns import ColumnReader
from synthpop.microdata.reading.presets import PRESETS, preset_of
from synthpop.profile.profile import profile_survey
from tests.reference_data import zoo_file
from tests.small import small_frame

ROLES = ("household", "weight", "psu")
READ = ("household", "person", "psu", "strata", "weight", "household_weight")


def layout(**names: str) -> pd.DataFrame:
    """Return households with the names of a format; its further columns are numbers of members."""
    frame = small_frame(200)[["hid", "w", "age", "sex"]]
    frame["sex"] = frame["sex"].map({"m": 1, "f": 2})
    frame["member"] = frame.groupby("hid").cumcount() + 1
    frame["psu"] = frame["hid"] // 20
    frame["month"] = frame["hid"] % 12 + 1
    return frame.rename(columns=names)


LAYOUTS = {
    "IPUMS": layout(hid="SERIAL", member="PERNUM", w="PERWT", age="AGE", sex="SEX", psu="CLUSTER"),
    "Demographic and Health Surveys, household members": layout(
        hid="hhid", member="hvidx", w="hv005", age="hv105", sex="hv104", psu="hv021", month="hv006"
    ),
    "Living Standards Measurement Study (ISA)": layout(
        hid="hhid", member="indiv", w="wt_wave4", age="s1q4", sex="s1q2", psu="ea", month="s0m"
    ),
    "National Household Travel Survey": layout(
        hid="HOUSEID", member="PERSONID", w="WTPERFIN", age="R_AGE", sex="R_SEX", month="TDAYDATE"
    ),
    "EU-SILC": layout(hid="DB030", w="RB050", age="RX020", sex="RB090", psu="DB060"),
}


@pytest.mark.parametrize("title", LAYOUTS)
def test_a_published_layout_is_known(title: str) -> None:
    frame = LAYOUTS[title]
    found = preset_of(frame.columns)
    assert found is not None
    assert found[0].title == title
    profile, columns = profile_survey(frame), found[1]
    wanted = {role: columns[role] for role in ROLES if role in columns}
    assert {role: profile.roles.get(role) for role in wanted} == wanted
    assert (profile.age, profile.sex) == (columns["age"], columns["sex"])
    assert profile.questions == ()
    assert profile.column(columns["household"]).why == f"as in {title}"
    plan = suggest_roles(frame)
    assert (plan.household, plan.weights) == (columns["household"], columns["weight"])


def test_what_is_said_and_what_the_values_show_goes_before_a_format() -> None:
    frame = LAYOUTS["IPUMS"]
    assert ColumnReader(frame, known={"weight": None}).roles.get("weight") is None
    assert ColumnReader(frame.assign(PERWT=-1.0)).roles.get("weight") is None
    nhts = LAYOUTS["National Household Travel Survey"]
    assert ColumnReader(nhts.assign(R_AGE=nhts["R_AGE"] * 1000.0)).age is None


def test_the_weight_of_dhs_has_a_note() -> None:
    frame = LAYOUTS["Demographic and Health Surveys, household members"]
    assert "six decimals are implied" in profile_survey(frame).column("hv005").why


def test_every_format_has_a_household_or_person_and_no_mark_alone() -> None:
    for preset in PRESETS:
        assert {"household", "person"} & set(preset.columns)
        assert set(preset.columns) <= {*READ, "age", "sex"}
        assert preset_of(preset.marks[:1]) is None
        assert preset_of(preset.marks) is not None


def test_the_census_file_of_the_zoo_is_known() -> None:
    found = preset_of(pd.read_parquet(zoo_file("acs_pums.parquet")).columns)
    assert found is not None
    assert found[0].title.startswith("American Community Survey")
    wanted = {"weight": "PWGTP", "household_weight": "WGTP", "household": "SERIALNO"}
    assert {role: found[1][role] for role in wanted} == wanted
