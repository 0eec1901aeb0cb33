"""One rule says what external readers see of small counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.microdata.suppression import (
    SMALLEST_COUNT,
    drop_small,
    is_small,
    shown,
    shown_mean,
    shown_share,
)
from synthpop.microdata.text import number, percent


@pytest.mark.parametrize("records", [1, 2, 3, 4, 0.01, 4.999, np.int64(3)])
def test_small_counts_are_hidden(records: float) -> None:
    assert shown(records) == shown(records, text=number) == "< 5"
    assert shown_share(records / 1000, 1000) == "< 0.5 %"
    assert is_small(records)


@pytest.mark.parametrize("records", [0, 5, 5.1, 1234])
def test_other_counts_are_shown(records: float) -> None:
    assert "<" not in shown(records)
    assert shown_share(records / 10_000, 10_000, text=percent) == percent(records / 10_000)


def test_internal_readers_see_all() -> None:
    assert shown(3, external=False) == "3"
    assert shown_share(0.001, 2_000, external=False) == "0.1 %"
    assert shown_mean(0.001, 2_000, external=False) == "0.001"


def test_missing_numbers_are_dashes() -> None:
    assert [shown(None), shown(np.nan), shown_share(np.nan, 10)] == ["–", "–", "–"]


def test_shares_of_no_records_are_shown() -> None:
    assert shown_share(0.001, 0) == "0.1 %"


def test_statistics_of_few_records_are_dropped() -> None:
    table = pd.DataFrame({"n": [0, 4, 5], "mean": [1.0, 2.0, 3.0], "label": list("abc")})
    out = drop_small(table, "n", ["mean"], SMALLEST_COUNT)
    assert out["mean"].isna().tolist() == [True, True, False]
    assert out["label"].tolist() == list("abc")
    assert table["mean"].notna().all()
