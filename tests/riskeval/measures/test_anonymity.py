"""k-anonymity against the reference package and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.measures.k_anonymity import k_anonymity
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.t_closeness import t_closeness
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

DATA = pd.DataFrame({"a": [1, 1, 1, 2, np.nan], "w": [10.0, 1.0, 1.0, 30.0, 2.0]})


def test_counts_of_the_reference():
    case = golden("sdc", "b14_kAnon_violations.json")
    test = k_anonymity(
        survey_data("testdata"),
        ["urbrur", "water", "sex", "age"],
        k=(2, 3, 5, 300, 500),
        weights="sampling_weight",
    )
    assert [test.violations[k] for k in (2, 3, 5)] == [
        case["testdata4"][f"unweighted_k{k}"] for k in (2, 3, 5)
    ]
    assert test.weighted_violations is not None
    assert test.weighted_violations[300] == case["testdata4"]["weighted_k300"]
    assert test.weighted_violations[500] == case["testdata4"]["weighted_k500"]
    silc = k_anonymity(
        survey_data("eusilc"),
        ["age", "pb220a", "pl030", "rb090", "hsize"],
        k=[3, 1000],
        weights="rb050",
    )
    assert silc.violations[3] == case["eusilc5"]["unweighted_k3"]
    assert silc.weighted_violations is not None
    assert silc.weighted_violations[1000] == case["eusilc5"]["weighted_k1000"]


def test_six_keys_of_the_book():
    result = k_anonymity(
        survey_data("eusilc"), ["db040", "hsize", "rb090", "age", "pb220a", "pl030"]
    )
    assert (result.violations[2], result.violations[3]) == (4109, 6947)


def test_treatments_and_alpha_change_the_count():
    assert k_anonymity(DATA, ["a"], k=3).violations == {3: 1}
    assert k_anonymity(DATA, ["a"], k=2).violations == {2: 0}
    assert k_anonymity(DATA, ["a"], k=2, alpha=0.5).violations == {2: 1}
    assert k_anonymity(DATA, ["a"], k=2, missing="own-category").violations == {2: 2}


def test_whole_file_and_positions():
    result = k_anonymity(DATA, ["a"], k=(3,))
    assert result.k == 2
    assert result.violating(3).tolist() == [3]
    assert result.to_frame().loc[3, "share"] == 0.2
    assert "weighted_violations" not in result.to_frame()
    assert "1 of 5 records (20.00 %) violate 3-anonymity" in result.summary()


def test_weights_count_the_population():
    result = k_anonymity(DATA, ["a"], k=(20,), weights="w", missing="own-category")
    assert result.weighted_violations == {20: 4}
    assert result.to_frame()["weighted_violations"].tolist() == [4]


@pytest.mark.parametrize("k", [0, 2.5, (), True, [2, -1]])
def test_k_must_be_whole_numbers(k):
    with pytest.raises(InputError, match="k: is"):
        k_anonymity(DATA, ["a"], k=k)


def test_empty_file():
    result = k_anonymity(DATA.iloc[:0], ["a"])
    assert result.violations == {2: 0, 3: 0, 5: 0}
    assert result.k == 0


def test_records_without_any_key_are_told():
    blank = pd.DataFrame({"a": [None, None, None], "b": [None, None, None]})
    assert "Every key of every record is missing" in k_anonymity(blank, ["a", "b"]).summary()
    blank.loc[0, "a"] = "x"
    assert "2 records have every key missing" in k_anonymity(blank, ["a", "b"]).summary()
    blank.loc[1, "b"] = "x"
    assert "1 record has every key missing" in k_anonymity(blank, ["a", "b"]).summary()
    assert "missing" not in k_anonymity(blank.fillna("y"), ["a", "b"]).summary()


def test_blank_records_hide_nobody():
    seven = pd.DataFrame({"a": [*"abcdefg", None, None], "b": [*"abcdefg", None, None]})
    result = k_anonymity(seven, ["a", "b"], k=(2, 3))
    assert result.violations == {2: 0, 3: 0}  # a blank record may be anybody
    assert result.visible_violations == {2: 7, 3: 7}
    text = result.summary()
    assert "On the values that they show, 7 violate 2-anonymity; 7 violate 3-anonymity" in text
    assert "nothing is told" not in text
    whole = k_anonymity(seven.dropna(), ["a", "b"], k=2)
    assert whole.visible_violations == whole.violations == {2: 7}
    assert k_anonymity(seven.iloc[7:], ["a", "b"], k=2).visible_violations == {2: 0}
    pair = pd.concat([seven, seven.iloc[[0]]], ignore_index=True)  # two of one combination
    assert k_anonymity(pair, ["a", "b"], k=(2, 3)).visible_violations == {2: 6, 3: 8}


def test_records_that_violate_are_those_in_smaller_groups():
    result = k_anonymity(pd.DataFrame({"a": [1, 1, 1, 2, 2, 3]}), ["a"], k=3)
    assert {k: result.violating(k).tolist() for k in (1, 2, 3, 4)} == {
        1: [], 2: [5], 3: [3, 4, 5], 4: [0, 1, 2, 3, 4, 5],
    }  # fmt: skip
    assert result.violations == {3: 3}


def test_k_l_and_t_count_households_where_these_are_given() -> None:
    """A street of one household: three records, and neither three households nor three values."""
    people = pd.DataFrame({
        "street": [1, 1, 1, 2, 2, 2, None], "home": [1, 1, 1, 2, 3, 4, None],
        "ill": ["a", "b", "c", "a", "a", "b", "a"],
    })  # fmt: skip
    by_person = k_anonymity(people, ["street"], k=3)
    by_home = k_anonymity(people, ["street"], k=3, household="home")
    assert by_person.violations == by_home.violations == {3: 0}  # a hole matches every street
    assert by_person.household_violations is None
    assert by_home.households is not None
    assert by_home.households.tolist() == [1, 1, 1, 3, 3, 3, 5]
    assert by_home.household_violations == {3: 3}
    assert "Counted in households the records are 3 of fewer than 3" in by_home.summary()
    assert by_home.to_frame()["household_violations"].tolist() == [3]
    plain, homes = (
        l_diversity(people, ["street"], "ill", household=name) for name in (None, "home")
    )
    assert plain.per_record["ill_distinct"].tolist() == [3, 3, 3, 2, 2, 2, 1]
    assert homes.per_record["ill_distinct"].tolist() == [1, 1, 1, 2, 2, 2, 1]
    assert "counts once" in homes.summary()
    twins = pd.DataFrame({"street": [1, 1, 1, 2, 2], "home": [1, 1, 2, 3, 4], "ill": list("aabab")})
    equal = {"distance": "equal"}
    assert t_closeness(twins, ["street"], "ill", **equal).t == pytest.approx(0.1)
    assert t_closeness(twins, ["street"], "ill", household="home", **equal).t == pytest.approx(0.1)
    assert t_closeness(twins, ["street"], "ill", **equal).per_record["ill"].iloc[0] == (
        pytest.approx(2 / 3 - 3 / 5)
    )
    counted = t_closeness(twins, ["street"], "ill", household="home", **equal)
    assert counted.per_record["ill"].iloc[0] == pytest.approx(3 / 5 - 1 / 2)
