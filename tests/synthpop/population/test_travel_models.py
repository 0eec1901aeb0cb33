"""Tables that ActivitySim and eqasim read, beside files that ActivitySim publishes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from synthpop import InputError, travel_tables
from tests.reference_data import SHARED

ZOO = SHARED / "zoo"
needs_zoo = pytest.mark.skipif(not ZOO.is_dir(), reason="the folder ../shared/zoo is not here")
PEOPLE = pd.DataFrame(
    {
        "hid": [9, 7, 9, 9],
        "taz": [3, 4, 3, 3],
        "AGEP": [41, 17, 39, 4],
        "SEX": ["f", "m", "m", "f"],
        "employed": [True, False, True, False],
        "hours": [20, 0, 35, 0],
        "school": ["no", "high", "college", "no"],
        "income": [50_000, 19_999, 50_000, 50_000],
        "HHT": [1, 4, 1, 1],
        "VEH": [2, 0, 2, 2],
        "GRADE": [0, 5, 6, 0],
    }
)
NAMES = {"age": "AGEP", "sex": "SEX", "auto_ownership": "VEH", "pstudent": "school"}
CODES = {"sex": {"m": 1, "f": 2}, "pstudent": {"no": 3, "high": 1, "college": 2}}


def test_what_is_not_given_follows_from_other_columns() -> None:
    made = travel_tables(
        PEOPLE, household="hid", zone="taz", columns={**NAMES, "GRADE": "GRADE"}, codes=CODES
    )
    homes = made.households
    assert homes["household_id"].tolist() == [1, 2]
    assert homes["home_zone_id"].tolist() == [3, 4]
    assert homes[["hhsize", "num_workers", "hinccat1"]].values.tolist() == [[3, 2, 3], [1, 0, 1]]
    persons = made.persons
    assert persons["household_id"].tolist() == [1, 1, 1, 2]
    assert persons["PNUM"].tolist() == [1, 2, 3, 1]
    assert persons["pemploy"].tolist() == [2, 1, 4, 3]  # 35 hours are full-time
    assert persons["ptype"].tolist() == [2, 1, 8, 6]
    assert persons["GRADE"].tolist() == [0, 6, 0, 5]
    assert "employed" not in persons


def test_what_is_given_is_not_derived() -> None:
    given = PEOPLE.assign(ptype=4, num_workers=0, pemploy=3)
    made = travel_tables(given, household="hid", zone="taz", columns=NAMES, codes=CODES)
    assert set(made.persons["ptype"]) == {4}
    assert set(made.households["num_workers"]) == {0}


def test_eqasim_reads_semicolons_and_its_own_names(tmp_path: Path) -> None:
    names = {"age": "AGEP", "sex": "SEX", "number_of_vehicles": "VEH", "census_person_id": "hid"}
    people = PEOPLE.assign(studies=False, socioprofessional_class=3)
    codes = {"sex": {"m": "male", "f": "female"}}
    made = travel_tables(people, "eqasim", household="hid", zone="taz", columns=names, codes=codes)
    made.write(tmp_path)
    homes = pd.read_csv(tmp_path / "households.csv", sep=";")
    assert homes["consumption_units"].tolist() == pytest.approx([1.8, 1.0])
    assert homes["iris_id"].tolist() == [3, 4]
    persons = pd.read_csv(tmp_path / "persons.csv", sep=";")
    assert persons["sex"].tolist() == ["female", "male", "female", "male"]
    assert persons["census_person_id"].tolist() == [9, 9, 9, 7]


def test_every_fault_is_told_at_once() -> None:
    people = PEOPLE.drop(columns="income").assign(HHT=[1, 4, 2, 1], AGEP=[41, None, 39, 4])
    with pytest.raises(InputError) as caught:
        travel_tables(
            people, household="hid", zone="taz", columns=NAMES,
            codes={"sex": {"m": 1}, "pstudent": CODES["pstudent"], "nix": {1: 2}},
        )  # fmt: skip
    text = str(caught.value)
    for what in ("income", "HHT", "differs between members", "age", "missing", "no code for f",
                 "'nix'"):  # fmt: skip
        assert what in text
    with pytest.raises(InputError, match="none of 1, 2"):
        travel_tables(PEOPLE, household="hid", zone="taz", columns=NAMES,
                      codes={**CODES, "sex": {"m": 7, "f": 2}})  # fmt: skip
    with pytest.raises(InputError, match="activitysim"):
        travel_tables(PEOPLE, "activitysm", household="hid", zone="taz")
    with pytest.raises(InputError, match="missing values"):
        travel_tables(PEOPLE.assign(taz=None), household="hid", zone="taz")


@needs_zoo
def test_a_published_population_of_activitysim_comes_back() -> None:
    homes = pd.read_parquet(ZOO / "sandag_households.parquet")
    persons = pd.read_parquet(ZOO / "sandag_persons.parquet")
    people = persons.drop(columns=["ptype", "PNUM"]).merge(
        homes.drop(columns=["PERSONS", "workers"]), left_on="household_id", right_on="HHID"
    )
    made = travel_tables(
        people, household="household_id", zone="TAZ", columns={"auto_ownership": "VEHICL"}
    )
    kept = people.drop_duplicates("household_id")["HHID"]
    wanted = homes.set_index("HHID").loc[kept]
    assert made.households["hhsize"].tolist() == wanted["PERSONS"].tolist()
    assert made.households["num_workers"].tolist() == wanted["workers"].tolist()
    assert made.persons["ptype"].tolist() == persons["ptype"].tolist()
    assert made.persons["PNUM"].tolist() == persons["PNUM"].tolist()


def test_a_missing_value_may_have_a_code() -> None:
    """Children whom no survey asks for their school."""
    school = PEOPLE["school"].where(PEOPLE["AGEP"] > 16, None)
    people = PEOPLE.assign(school=school)
    codes = {"sex": CODES["sex"], "pstudent": {**CODES["pstudent"], "": 3}}
    made = travel_tables(people, household="hid", zone="taz", columns=NAMES, codes=codes)
    assert made.persons["pstudent"].tolist() == [3, 2, 3, 1]
    with pytest.raises(InputError, match="pstudent: has missing values"):
        travel_tables(people, household="hid", zone="taz", columns=NAMES, codes=CODES)
