"""The page of a wide survey stays small: 62 columns with all their two-way tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import Survey, write_report

LARGEST = 4_000_000  # bytes


def wide(seed: int, persons: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    household = np.repeat(np.arange(persons // 2), 2)
    categories = {f"cat{k:02d}": rng.choice([*"abcde"], persons) for k in range(45)}
    amounts = {f"num{k:02d}": rng.lognormal(8, 0.7, persons).round(2) for k in range(14)}
    region = np.array([*"ABCDE"])[household % 5]
    return pd.DataFrame(
        {"hid": household, "w": np.full(persons, 5.0), "region": region, **categories, **amounts}
    )


@pytest.mark.slow
def test_a_page_of_62_columns_has_at_most_4_megabytes(tmp_path: Path) -> None:
    survey = Survey(wide(1), weight="w", household="hid", strata="region")
    assert survey.frame.shape[1] == 62
    page = write_report(tmp_path / "page.html", survey, wide(2).drop(columns="w"))
    text = page.read_text(encoding="utf-8")
    assert text.count("<tr") > 1_500
    assert len(text.encode()) < LARGEST
