"""A file with its roles: read and checked once, and never changed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval.measures.assess import assess
from riskeval.measures.individual import individual_risk
from riskeval.measures.k_anonymity import k_anonymity
from riskeval.measures.l_diversity import l_diversity
from riskeval.recovery.recover import recover
from synthpop import Survey
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.roles.microdata import Microdata, as_file

PEOPLE = pd.DataFrame(
    {
        "sex": ["m", "m", "f", "f", "f"],
        "age": [30, 30, 20, 20, 40],
        "ill": ["flu", "flu", "HIV", "flu", "none"],
        "income": [10.0, 20.0, 5.0, 5.0, 90.0],
        "home": [1, 1, 2, 2, 3],
        "w": [50.0, 60.0, 70.0, 20.0, 9.0],
    },
    index=list("abcde"),
)
KEYS = ["sex", "age"]
FILE = Microdata(PEOPLE, keys=KEYS, sensitive="ill", numeric="income", weight="w", household="home")


def test_every_fault_of_the_roles_is_reported_at_once() -> None:
    with pytest.raises(InputError) as error:
        Microdata(
            PEOPLE, keys=["sex", "sex", "agee"], sensitive=["sex"], numeric="ill", weight="income2",
            household="hom", strata=5,
        )  # fmt: skip
    where = sorted(fault.where for fault in error.value.faults)
    assert where == ["'agee'", "'hom'", "'income2'", "ill", "keys", "sex", "strata"]


def test_a_file_says_what_it_is() -> None:
    assert FILE.summary() == (
        "File of 5 records: weight w; household home; keys sex and age; sensitive ill; numeric "
        "income."
    )
    roles = FILE.to_frame().set_index("column")["role"]
    assert roles.to_dict() == {
        "sex": "key", "age": "key", "ill": "sensitive variable", "income": "numeric key",
        "home": "household", "w": "weight",
    }  # fmt: skip


def test_a_file_is_not_changed() -> None:
    with pytest.raises(InputError, match="not changed in place"):
        FILE.frame = PEOPLE
    other = FILE.with_column("age", [1, 2, 3, 4, 5]).with_weights(np.ones(5))
    assert FILE.frame["age"].tolist() == PEOPLE["age"].tolist()
    assert FILE.weights.tolist() == PEOPLE["w"].tolist()
    assert other.weights.tolist() == [1.0] * 5
    assert k_anonymity(other, k=2).violations == {2: 5}
    assert other.roles == FILE.roles


def test_a_column_that_is_set_in_the_frame_is_not_set_in_the_file() -> None:
    """Codes that are remembered would no longer be those of the column."""
    file = Microdata(PEOPLE, keys="age")
    before = k_anonymity(file).violations
    frame = file.frame
    frame["age"] = 1
    assert file.frame["age"].tolist() == PEOPLE["age"].tolist()
    assert k_anonymity(file).violations == before


def test_other_roles_are_checked() -> None:
    assert FILE.with_roles(keys="sex").roles.keys == ("sex",)
    assert FILE.with_roles(weight=None).weights is None
    with pytest.raises(InputError, match="'agee'"):
        FILE.with_roles(keys="agee")
    with pytest.raises(InputError, match="is no role"):
        FILE.with_roles(key="age")
    with pytest.raises(InputError, match="is a key and sensitive"):
        FILE.with_roles(sensitive="age")


def test_weights_of_an_array_stay_with_their_rows() -> None:
    file = Microdata(PEOPLE, weight=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert file.weights.tolist() == [1, 2, 3, 4, 5]
    assert file.with_roles(keys="sex").weights.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(InputError, match="array of other rows"):
        file.with_frame(PEOPLE.iloc[:2])
    assert FILE.with_frame(PEOPLE.iloc[:2]).weights.tolist() == [50.0, 60.0]


def test_codes_are_made_once_and_follow_the_column() -> None:
    file = Microdata(PEOPLE, keys=KEYS)
    assert file.codes("age") is file.codes("age")
    assert file.with_roles(sensitive="ill").codes("age") is file.codes("age")
    file.codes("sex")
    changed = file.with_column("age", [9, 9, 9, 9, 9])
    assert changed.codes("sex") is file.codes("sex")
    assert changed.codes("age")[1] == (9,)
    assert file.coded(KEYS).codes.tolist() == [[1, 1], [1, 1], [0, 0], [0, 0], [0, 2]]


def test_a_file_travels_to_other_processes_without_what_it_remembers() -> None:
    file = Microdata(PEOPLE, keys=KEYS, weight="w")
    file.codes("age")
    other = pickle.loads(pickle.dumps(file))
    assert other.summary() == file.summary()
    assert other.codes("age")[1] == (20, 30, 40)
    assert other.weights.tolist() == PEOPLE["w"].tolist()


def test_frames_of_other_libraries_come_back() -> None:
    pl = pytest.importorskip("polars")
    file = Microdata(pl.from_pandas(PEOPLE), keys=KEYS)
    assert isinstance(file.data, pl.DataFrame)
    assert isinstance(k_anonymity(file).to_frame(), pl.DataFrame)


def test_roles_of_a_file_answer_what_arguments_leave_open() -> None:
    with_arguments = assess(
        PEOPLE, keys=KEYS, sensitive="ill", numeric="income", weights="w", household="home"
    )
    pd.testing.assert_frame_equal(assess(FILE).table, with_arguments.table)
    fewer = assess(
        PEOPLE, keys="sex", sensitive="ill", numeric="income", weights="w", household="home"
    )
    pd.testing.assert_frame_equal(assess(FILE, keys="sex").table, fewer.table)
    assert (
        recover(FILE).to_frame().equals(recover(PEOPLE, household="home", weights="w").to_frame())
    )


def test_a_survey_is_a_file_whose_weights_count() -> None:
    survey = Survey(PEOPLE, weight="w", household="home")
    risk = individual_risk(survey, KEYS)
    named = individual_risk(PEOPLE, KEYS, weights="w", household="home")
    np.testing.assert_array_equal(risk.household_risk, named.household_risk)
    alone = individual_risk(survey.with_roles(household=None), KEYS, weights=None)
    assert not alone.weighted
    assert alone.household_risk is None
    with_keys = survey.with_roles(keys=KEYS)
    assert isinstance(with_keys, Survey)
    assert with_keys.n_households == 3
    assert k_anonymity(with_keys).violations == k_anonymity(PEOPLE, KEYS).violations


def test_weights_of_a_risk_must_be_said() -> None:
    for data in (PEOPLE, Microdata(PEOPLE, keys=KEYS)):
        with pytest.raises(InputError, match="weights=None"):
            individual_risk(data, KEYS)
    assert not individual_risk(FILE, weights=None).weighted
    assert individual_risk(FILE).weighted


@pytest.mark.parametrize("measure", [k_anonymity, l_diversity, assess])
def test_keys_must_come_from_somewhere(measure: Any) -> None:
    with pytest.raises(InputError, match="no key is given"):
        measure(PEOPLE)


def test_a_function_reads_the_roles_that_it_asks_for() -> None:
    faults = Faults("test")
    file = as_file(PEOPLE, faults, keys=["sex"], household="hom", weights=[1.0])
    assert [fault.where for fault in faults.found] == ["'hom'", "weights"]
    assert file.roles.keys == ("sex",)


def test_both_packages_name_it() -> None:
    import synthpop

    assert riskeval.Microdata is synthpop.Microdata is Microdata
