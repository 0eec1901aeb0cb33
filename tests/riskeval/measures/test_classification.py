from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.measures.classification import classification_risk
from synthpop.microdata.messages.errors import InputError

SEX = list("MMFFFFFF")
INITIAL = pd.DataFrame({"age": [8, 10, 19, 23, 37, 43, 68, 72], "sex": SEX})
MASKED = {  # figure 4: microaggregation of age with sizes 2, 4 and 8
    "MM1": INITIAL.assign(age=[9, 9, 21, 21, 40, 40, 70, 70]),
    "MM2": INITIAL.assign(age=[15, 15, 15, 15, 55, 55, 55, 55]),
    "MM3": INITIAL.assign(age=[35] * 8),
}
KEYS = ["age", "sex"]
W1 = np.zeros((8, 8))
W1[0, 0] = 8
W2 = np.tril(np.full((8, 8), 2 / 9))  # printed 2/7, which adds to 10.3
W3 = np.zeros((8, 8))
W3[0, 0], W3[1, 0], W3[1, 1] = 4, 2, 2


@pytest.mark.parametrize(
    ("name", "first", "second", "third"),
    [("MM1", 0, 0.5, 0.25), ("MM2", 0, 0.375, 0.125), ("MM3", 0, 0.25, 0.0625)],
)
def test_table_3(name: str, first: float, second: float, third: float) -> None:
    for weights, expected in ((W1, first), (W2, second), (W3, third)):
        risk = classification_risk(INITIAL, MASKED[name], KEYS, weights=weights)
        assert risk.weighted == pytest.approx(expected, abs=1e-15)
        assert risk.minimal == first
        assert risk.maximal == pytest.approx(second)
    small = classification_risk(INITIAL, MASKED[name], KEYS, weights=[[4, 0], [2, 2]])
    assert small.weighted == pytest.approx(third)


def test_the_matrices_of_the_example() -> None:
    entries = {
        name: classification_risk(INITIAL, masked, KEYS).matrix for name, masked in MASKED.items()
    }
    assert entries["MM1"].to_dict() == {1: {2: 8}}
    assert entries["MM2"].to_dict() == {1: {2: 4, 4: 4}}
    assert entries["MM3"].to_dict() == {1: {2: 2, 6: 6}}


def test_named_weights_are_the_two_ends() -> None:
    released = INITIAL.assign(age=[8, 10, 20, 20, 37, 43, 70, 70])
    least = classification_risk(INITIAL, released, KEYS, weights="minimal")
    most = classification_risk(INITIAL, released, KEYS, weights="maximal")
    assert least.weighted == least.minimal == 4 / 8
    assert most.weighted == most.maximal == (4 + 4 / 2) / 8
    between = classification_risk(INITIAL, released, KEYS, weights=W3).weighted
    assert between == pytest.approx((4 + 4 / 2 * 2 / 4) / 8)


def test_groups_beyond_the_matrix_count_nothing() -> None:
    for name, masked in MASKED.items():
        one = classification_risk(INITIAL, masked, KEYS, weights=[[8]])
        assert one.weighted == classification_risk(INITIAL, masked, KEYS, weights=W1).weighted, name


def test_records_whose_group_shrank_count_nothing() -> None:
    original = pd.DataFrame({"a": [1, 1, 2, 2]})
    released = pd.DataFrame({"a": [1, 3, 2, 2]})
    risk = classification_risk(original, released, ["a"])
    assert risk.per_record.tolist() == [0, 0, 0.5, 0.5]
    assert risk.maximal == 0.25
    assert risk.minimal == 0


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_sums_over_the_matrix_are_means_over_records(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    values = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    original = pd.DataFrame({"a": data.draw(values), "b": data.draw(values)})
    released = pd.DataFrame({"a": data.draw(values), "b": data.draw(values)})
    weights = np.tril(1 / np.arange(1, n + 1)[:, None] * np.ones((n, n)))
    weights *= n / weights.sum()
    risk = classification_risk(original, released, ["a", "b"], weights=weights)
    c = np.zeros((n, n))
    for released_size, original_size, records in risk.to_frame().itertuples(index=False):
        c[released_size - 1, original_size - 1] = records
    assert c.sum() == n
    inverse = 1 / np.arange(1, n + 1)
    assert risk.minimal == pytest.approx(c[0, 0] / n)
    assert risk.maximal == pytest.approx((inverse * np.tril(c).sum(axis=1)).sum() / n)
    expected = (inverse * np.tril(weights * c).sum(axis=1)).sum() / (n * weights[0, 0])
    assert risk.weighted == pytest.approx(expected)
    assert risk.minimal - 1e-12 <= risk.weighted <= risk.maximal + 1e-12


def test_missing_keys_match_everything_or_one_another() -> None:
    original = pd.DataFrame({"a": ["x", "y", "y", "z"]})
    released = pd.DataFrame({"a": [None, "y", "y", "z"]})
    wild = classification_risk(original, released, ["a"])
    assert wild.matrix.to_dict() == {1: {2: 1, 3: 0, 4: 1}, 2: {2: 0, 3: 2, 4: 0}}
    own = classification_risk(original, released, ["a"], missing="own-category")
    assert own.minimal == 0.5


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[4.0, 0], [1, 3.0]], "along a row"),
        ([[2.0, 0, 0], [1, 1, 0], [2, 1, 1]], "along a column"),
        ([[2.0, 0, 0], [1, 0, 0], [1, 1, 3]], "along a diagonal"),
        ([[4.0, 1], [2, 1]], "above the diagonal"),
        ([[10.0, 0], [-1, -1]], "negative"),
        ([[4.0, 0], [2, 1]], "add to 7"),
        ([[np.nan, 0], [2, 1]], "missing or infinite"),
        ([4.0, 4.0], "shape"),
        (np.diag([8.0] + [0.0] * 8), "9 rows"),
        ("largest", "not allowed"),
        ([["a"]], "matrix of numbers"),
    ],
)
def test_weights_that_are_not_admissible(weights: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        classification_risk(INITIAL, MASKED["MM1"], KEYS, weights=weights)


def test_every_fault_is_reported_at_once() -> None:
    with pytest.raises(InputError) as error:
        classification_risk(
            INITIAL, MASKED["MM1"].iloc[:5], ["age", "sexx"], weights="w", missing="m"
        )
    assert len(error.value.faults) == 5
    with pytest.raises(InputError, match="no rows"):
        classification_risk(INITIAL.iloc[:0], INITIAL.iloc[:0], KEYS)
    with pytest.raises(InputError, match="no key is given"):
        classification_risk(INITIAL, INITIAL, [])


def test_the_sentence_has_the_numbers() -> None:
    risk = classification_risk(INITIAL, INITIAL, KEYS)
    assert "8 of 8 records (100 %)" in risk.summary()
    assert "0 of 8" in classification_risk(INITIAL, MASKED["MM1"], KEYS, weights=W3).summary()
    assert "<table" in risk._repr_html_()
