"""What statistics may leave the office: rounding, dominance, complements, changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop.microdata.messages.suppression import (
    FEWEST_CHANGES,
    is_dominated,
    is_safe_change,
    is_safe_statistic,
    is_small,
    rounded,
    rounded_count,
    rounded_share,
    safe_domains,
)

NAN = float("nan")


def numeric(text: str) -> float:
    return float(text.replace(",", "").replace("< ", ""))


@pytest.mark.parametrize("records", [1, 2, 3, 4, 0.01, 4.999, np.int64(3)])
def test_small_counts_are_hidden(records):
    assert is_small(records)
    assert rounded(records) == "< 5"
    assert np.isnan(rounded_count(records))
    assert rounded_share(records / 1000, 1000) == "< 0.5 %"
    assert [is_small(0), is_small(5), is_small(None)] == [False, False, False]


@given(st.integers(0, 10_000))
def test_rounded_counts_are_multiples_of_five_and_near(count):
    text = rounded(count)
    if 0 < count < 5:
        assert text == "< 5"
    else:
        assert numeric(text) % 5 == 0
        assert abs(numeric(text) - count) <= 2.5


@given(st.integers(20, 500), st.data())
def test_complements_and_nested_counts_stay_unknown(n, data):
    """No complement of 1 to 4 records is certain, though the total may be known from elsewhere."""
    count = data.draw(st.integers(5, n))
    same = [other for other in range(5, n + 1) if rounded(other) == rounded(count)]
    complements = {n - other for other in same}
    assert len(complements) > 1 or complements == {0} or min(complements) >= 5


def test_shares_follow_their_counts():
    for n in (40, 333, 2_000):
        for count in range(n + 1):
            text = rounded_share(count / n, n)
            if 0 < count < 5:
                assert text.startswith("< ")
            elif count == 0:
                assert text == "0 %"
            else:
                shown = float(text.rstrip(" %")) / 100 * n
                assert abs(shown - count) <= 2.6 + 0.006 * n
    assert [rounded_share(0.5, 0), rounded_share(1.0, 4), rounded_share(NAN, 10)] == ["–"] * 3
    assert rounded(None) == "–"


@pytest.mark.parametrize(
    ("values", "dominated"),
    [
        ([100, 90, 11], False),
        ([100, 90, 9], True),
        ([-100, 90, 2], True),
        ([5, 5], True),
        ([NAN, 0, 0], False),
        ([], False),
        ([1.0] * 12, False),
    ],
)
def test_dominance(values, dominated):
    assert is_dominated(values) is dominated


def test_a_statistic_rests_on_values_not_on_records():
    assert not is_safe_statistic([1.0, NAN, NAN, NAN, NAN, NAN])
    assert not is_safe_statistic([1.0] * 4)
    assert is_safe_statistic([1.0] * 5)
    assert not is_safe_statistic([1.0] * 20 + [1e6])


def test_changes_come_from_none_or_from_many():
    before = np.linspace(10, 20, 40)
    assert is_safe_change(before, before)
    for changed in (1, FEWEST_CHANGES - 1, FEWEST_CHANGES):
        after = before.copy()
        after[:changed] += 1
        assert is_safe_change(before, after) is (changed >= FEWEST_CHANGES)
    one_large = before + 0.01
    one_large[3] += 1e5
    assert not is_safe_change(before, one_large)
    gone = before.copy()
    gone[7] = NAN
    assert not is_safe_change(before, gone)
    zero = np.append(before, 0.0)
    assert not is_safe_change(zero, np.append(before, NAN))  # a zero that is suppressed


DOMAINS = st.lists(
    st.tuples(st.sampled_from([*"abcde", None]), st.floats(0, 1e6) | st.none()), max_size=60
)


@settings(max_examples=80, deadline=None)
@given(DOMAINS)
def test_the_rest_of_the_visible_domains_is_safe_as_well(rows):
    labels = np.array([label for label, _ in rows], dtype=object)
    values = np.array([NAN if value is None else value for _, value in rows], dtype=float)
    visible = safe_domains(labels, values)
    for name in visible:
        assert is_safe_statistic(values[[label == name for label in labels]])
    rest = values[[label not in visible for label in labels]] if len(labels) else values
    if visible and (~np.isnan(rest)).any():
        assert is_safe_statistic(rest)
        hidden = {label for label in labels if label is not None} - set(visible)
        assert len(hidden) + bool(sum(label is None for label in labels)) >= 2


def test_one_hidden_domain_takes_another_one_with_it():
    labels = ["a"] * 30 + ["b"] * 9 + ["c"] * 12 + ["tiny"] * 2
    assert safe_domains(labels, np.arange(1.0, 54.0)) == ["a", "c"]
    assert safe_domains(labels[:51], np.arange(1.0, 52.0)) == ["a", "b", "c"]
    assert safe_domains(["a", "b"], np.array([1.0, 2.0])) == []
