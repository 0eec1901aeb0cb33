"""Global recoding, grouping, top and bottom coding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.protection.group_categories import group_categories
from riskeval.protection.recode import global_recode
from riskeval.protection.top_bottom import top_bottom_code
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

LABELS = ["0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80-130"]
BREAKS = [0, 9, 19, 29, 39, 49, 59, 69, 79, 130]


def test_recoding_of_the_book_keeps_the_lowest_value():
    reference = golden("sdc", "i9_recode_book_chain.json")["book_chain"]["after_globalRecode"]
    people = survey_data("testdata")
    result = global_recode(people, "age", breaks=BREAKS, labels=LABELS)
    counts = result.data["age"].value_counts(sort=False).tolist()
    expected = list(reference["table"].values())
    assert counts[1:] == expected[1:9]
    assert counts[0] == expected[0] + expected[9]  # the reference loses the 98 of age 0
    assert result.data["age"].notna().all()
    assert result.records_changed == len(people)
    assert people["age"].dtype == np.int64


def test_number_of_classes_of_equal_width():
    reference = golden("sdc", "i9_recode_book_chain.json")["free1_AGE"]["equidistant6"]
    ages = survey_data("free1")
    result = global_recode(ages, "AGE", breaks=6)
    counts = result.data["AGE"].value_counts(sort=False)
    # the reference rounds its limits (55 and 65 for 54.67 and 64.83): the upper classes differ
    assert counts.tolist()[:3] == reference["counts"][:3]
    width = (ages["AGE"].max() - ages["AGE"].min()) / 6
    place = np.ceil((ages["AGE"] - ages["AGE"].min()) / width - 1e-9).clip(lower=1)
    assert counts.tolist() == place.value_counts().sort_index().tolist()
    assert counts.index[0] == "15-24"


def test_equal_counts_and_equal_ratios():
    reference = golden("sdc", "i9_recode_book_chain.json")["free1_AGE"]["testdata_age_equalAmount4"]
    result = global_recode(survey_data("testdata"), "age", breaks=4, spacing="quantile")
    assert result.data["age"].value_counts(sort=False).tolist() == reference["counts"]
    numbers = pd.DataFrame({"x": [1.0, 9.0, 11.0, 99.0, 101.0, 1000.0]})
    logs = global_recode(numbers, "x", breaks=3, spacing="log")
    assert logs.data["x"].cat.codes.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_allclose(logs.details["limits"], [1, 10, 100, 1000])


def test_recode_names_classes_and_keeps_missing():
    frame = pd.DataFrame(
        {"age": pd.array([0, 17, 18, None, 64, 90], dtype="Int64")}, index=range(3, 9)
    )
    result = global_recode(frame, "age", breaks=[-np.inf, 17, 18, 64, np.inf])
    assert result.data["age"].cat.categories.tolist() == ["up to 17", "18", "19-64", "65 and over"]
    assert result.data["age"].cat.codes.tolist() == [0, 0, 1, -1, 2, 3]
    assert result.data["age"].cat.ordered
    assert result.data.index.tolist() == list(range(3, 9))
    reals = global_recode(pd.DataFrame({"x": [0.5, 2.5]}), "x", breaks=[0.5, 1, 2.5])
    assert reals.data["x"].tolist() == ["[0.5, 1]", "(1, 2.5]"]


def test_recode_of_an_ordered_variable():
    schooling = pd.Categorical(
        ["none", "basic", "middle", None, "high"], ["none", "basic", "middle", "high"], ordered=True
    )
    result = global_recode(pd.DataFrame({"s": schooling}), "s", breaks=["none", "basic", "high"])
    assert result.data["s"].cat.categories.tolist() == ["none - basic", "middle - high"]
    assert result.data["s"].cat.codes.tolist() == [0, 0, 1, -1, 1]
    halves = global_recode(pd.DataFrame({"s": schooling}), "s", breaks=2, labels=["low", "up"])
    assert halves.data["s"].tolist()[0] == "low"


@pytest.mark.parametrize(
    ("column", "arguments", "text"),
    [
        ("age", {"breaks": [5, 10, 20]}, "outside the breaks"),
        ("age", {"breaks": [0, 20, 10]}, "ascending"),
        ("age", {"breaks": [0, 20, 40], "labels": ["a"]}, "1 label for 2 classes"),
        ("age", {"breaks": [0, 20, 40], "labels": ["a", "a"]}, "given twice"),
        ("age", {"breaks": [0, 20, 40], "spacing": "log"}, "number of classes only"),
        ("age", {"breaks": 3, "spacing": "log"}, "positive values"),
        ("age", {"breaks": 3, "spacing": "odd"}, "not allowed"),
        ("aeg", {"breaks": 3}, "Did you mean 'age'"),
        ("sex", {"breaks": 3}, "no order"),
    ],
)
def test_recode_names_every_fault(column, arguments, text):
    frame = pd.DataFrame({"age": [0, 12, 40], "sex": pd.Categorical(["m", "f", "m"])})
    with pytest.raises(InputError, match=text):
        global_recode(frame, column, **arguments)


def test_grouping_of_the_book():
    chain = golden("sdc", "i9_recode_book_chain.json")["book_chain"]["after_group_60_130"]["table"]
    recoded = global_recode(survey_data("testdata"), "age", breaks=BREAKS, labels=LABELS).data
    result = group_categories(recoded, "age", groups={"60-130": ["60-69", "70-79", "80-130"]})
    assert result.data["age"].value_counts(sort=False).tolist()[1:] == list(chain.values())[1:7]
    assert result.data["age"].cat.categories.tolist()[-1] == "60-130"
    assert result.data["age"].cat.ordered
    assert result.records_changed == 283


@pytest.mark.parametrize(
    ("values", "groups", "expected", "dtype"),
    [
        (pd.Series(["a", "b", None], dtype="str"), {"z": "b"}, ["a", "z", None], "str"),
        (pd.Series([1, 2, 3]), {9: [2, 3]}, [1, 9, 9], "int64"),
        (pd.Series([1, 2, 3]), {"two up": [2, 3]}, ["1", "two up", "two up"], "category"),
        (pd.Series([1, 2, None], dtype="Int64"), {5: 1}, [5, 2, None], "Int64"),
        (
            pd.Series(["a", "b", "c"], dtype="category"),
            {"bc": ["b", "c"]},
            ["a", "bc", "bc"],
            "category",
        ),
        (
            pd.Series(["a", "b", "c"], dtype="category"),
            {"b": ["b", "c"]},
            ["a", "b", "b"],
            "category",
        ),
        (pd.Series(["a", "b"], dtype="category"), {"b": "a", "a": "b"}, ["b", "a"], "category"),
    ],
)
def test_grouping_keeps_types(values, groups, expected, dtype):
    before = values.copy()
    result = group_categories(values.to_frame("x"), "x", groups=groups).data["x"]
    pd.testing.assert_series_equal(values, before)
    assert [None if pd.isna(item) else item for item in result] == expected
    assert str(result.dtype) == dtype


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ({"z": ["q"]}, "is not a category"),
        ({"y": ["a"], "z": ["a"]}, "also in group"),
        ({"b": ["a"]}, "not in the group"),
        ({"ac": ["a", "c"]}, "not neighbours"),
    ],
)
def test_grouping_names_every_fault(groups, text):
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b", "c"], ordered=True)})
    with pytest.raises(InputError, match=text):
        group_categories(frame, "x", groups=groups)


def test_top_and_bottom_coding_of_the_reference():
    reference = golden("sdc", "i7_topbotcoding.json")
    people = survey_data("testdata")
    top = top_bottom_code(people, "age", upper=80, replacement=81)
    assert top.records_changed == reference["age_top80_81"]["n_changed"]
    assert top.data["age"].mean() == pytest.approx(reference["age_top80_81"]["mean"], rel=1e-12)
    assert top.data["age"].dtype == np.int64
    bottom = top_bottom_code(people, "age", lower=5)
    assert bottom.records_changed == reference["age_bottom5_5"]["n_changed"]
    assert bottom.data["age"].mean() == pytest.approx(reference["age_bottom5_5"]["mean"], rel=1e-12)
    income = top_bottom_code(people, "income", upper=9e7, replacement="mean")
    expected = reference["income_top9e7_mean"]
    assert income.records_changed == expected["n_changed"]
    assert income.details["replacement"]["upper"] == pytest.approx(
        expected["replacement"], rel=1e-12
    )
    assert income.data["income"].mean() == pytest.approx(expected["mean_after"], rel=1e-12)


def test_weighted_mean_of_the_tail_keeps_the_weighted_mean():
    frame = pd.DataFrame({"x": [1.0, 5.0, 7.0, np.nan, 9.0], "w": [1.0, 1.0, 1.0, 2.0, 3.0]})
    result = top_bottom_code(frame, "x", upper=4, replacement="mean", weights="w")
    assert result.data["x"].tolist()[:3] == [1.0, 7.8, 7.8]
    assert np.isnan(result.data["x"].iloc[3])
    plain = top_bottom_code(frame, "x", upper=4, replacement="mean")
    assert plain.data["x"].tolist()[:3] == [1.0, 7.0, 7.0]


def test_both_ends_at_once_and_types():
    frame = pd.DataFrame({"x": [1, 5, 9], "q": pd.Categorical([*"abc"], ordered=True)})
    both = top_bottom_code(frame, "x", lower=4, upper=6, replacement=(3, 7))
    assert both.data["x"].tolist() == [3, 5, 7]
    half = top_bottom_code(frame, "x", upper=6, replacement=6.5)
    assert half.data["x"].tolist() == [1.0, 5.0, 6.5]
    assert "real numbers" in half.summary()
    ordered = top_bottom_code(frame, "q", upper="b", lower="b")
    assert ordered.data["q"].tolist() == ["b", "b", "b"]
    assert ordered.data["q"].cat.categories.tolist() == ["b"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "no limit"),
        ({"upper": 1, "lower": 5}, "above upper"),
        ({"upper": 5, "lower": 1, "replacement": 3}, "two ends"),
        ({"upper": 5, "replacement": "median"}, "not allowed"),
        ({"upper": 5, "weights": "w"}, "replacement='mean' only"),
        ({"upper": 5, "replacement": "mean", "weights": "w"}, "negative"),
        ({"upper": "5"}, "needs numbers"),
    ],
)
def test_top_coding_names_every_fault(arguments, text):
    frame = pd.DataFrame({"x": [1, 5, 9], "w": [1.0, -1.0, 1.0]})
    with pytest.raises(InputError, match=text):
        top_bottom_code(frame, "x", **arguments)


def test_the_mean_of_a_tail_of_one_is_refused():
    """Before: no cell changed, and the summary printed the one value."""
    frame = pd.DataFrame({"income": [10.0, 20.0, 30.0, 987_654.0]})
    with pytest.raises(InputError, match="tail holds 1 record"):
        top_bottom_code(frame, "income", upper=100, replacement="mean")
    four = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0, 5.0], "w": [1.0, 1, 1, 1, 5000]})
    with pytest.raises(InputError, match=r"one record has \d+ % of the tail"):
        top_bottom_code(four, "income", upper=2, replacement="mean", weights="w")


def test_a_tail_counts_households():
    people = pd.DataFrame({"home": [1, 1, 1, 2, 3, 4], "income": [90.0, 90, 90, 1, 2, 60]})
    with pytest.raises(InputError, match="tail holds 2 households"):
        top_bottom_code(people, "income", upper=50, replacement="mean", household="home")
    more = pd.concat([people, pd.DataFrame({"home": [5], "income": [60.0]})], ignore_index=True)
    shared = top_bottom_code(more, "income", upper=50, replacement="mean", household="home")
    assert shared.data["income"].max() == pytest.approx(70.0)
    persons = top_bottom_code(more, "income", upper=50, replacement="mean")
    assert persons.data["income"].max() == pytest.approx(78.0)


def test_missing_values_can_join_a_group():
    frame = pd.DataFrame(
        {"job": pd.Categorical(["clerk", "nurse", None]), "code": [1.0, 2.0, None]}
    )
    result = group_categories(frame, "job", groups={"other": ["nurse", None]})
    assert result.data["job"].tolist() == ["clerk", "other", "other"]
    unknown = group_categories(frame, "job", groups={"unknown": [None]})
    assert unknown.data["job"].tolist() == ["clerk", "nurse", "unknown"]
    numbers = group_categories(frame, "code", groups={9: [None]})
    assert numbers.data["code"].tolist() == [1.0, 2.0, 9.0]
    with pytest.raises(InputError, match="missing values are in 2 groups"):
        group_categories(frame, "job", groups={"a": ["clerk", None], "b": ["nurse", None]})
