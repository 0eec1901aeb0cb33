"""The record of a number and what it means."""

import math

import pytest

from riskeval.shared.measurement import (
    COLUMNS,
    MeasureInfo,
    Measurement,
    measurement_table,
    not_measured,
)

COUNT = MeasureInfo(
    "rare", "file risk", "low", "records", "records with a rare key", kinds=("original",)
)
GAIN = MeasureInfo("gain", "utility", "high", "overlap", "what is left", perfect=1.0, title="Gain")


@pytest.mark.parametrize(
    ("value", "limit", "at_least", "within"),
    [(3, 3, False, True), (4, 3, False, False), (1, 2, True, False), (2, 2, True, True),
     (math.nan, 3, False, None), (3, None, False, None)],
)  # fmt: skip
def test_a_limit_is_met_or_not(value, limit, at_least, within):
    assert Measurement(COUNT, value, limit=limit, at_least=at_least).within is within


def test_what_does_not_apply_is_never_judged():
    assert not COUNT.applies_to("synthetic")
    assert COUNT.applies_to("original")
    assert Measurement(COUNT, 4, limit=0, applies=False).within is None


def test_counts_have_shares_and_targets_have_names():
    one = Measurement(COUNT, 3, records=12, target="ill")
    assert (one.share, one.key, one.title) == (0.25, "rare: ill", "rare of ill")
    assert math.isnan(Measurement(COUNT, 3).share)
    assert Measurement(GAIN, 0.7, records=5).share == 0.7
    assert one.noted("a", "", "b").noted("a").note == "a; b"


def test_table():
    table = measurement_table([Measurement(GAIN, 0.7), *not_measured([COUNT], "why", ["x", "y"])])
    assert list(table.columns) == list(COLUMNS)
    assert table["title"].tolist() == ["Gain", "rare of x", "rare of y"]
    assert table["note"].tolist() == ["", "why", "why"]
    assert measurement_table([]).columns.tolist() == list(COLUMNS)
