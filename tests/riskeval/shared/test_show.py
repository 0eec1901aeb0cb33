"""Numbers and titles of a comparison as text."""

import pandas as pd

from riskeval.shared.show import lower, shown


def test_a_number_of_a_comparison_with_its_unit():
    row = pd.Series({"value": 0.0415, "unit": "share", "group": "risk", "records": 2_000})
    assert (shown(row), shown(row, external=True)) == ("4.15 %", "4.25 %")


def test_titles_inside_a_sentence():
    titles = ["Interval overlap", "pMSE", "IL1s", "DiSCO of ill"]
    assert [lower(title) for title in titles] == [
        "interval overlap",
        "pMSE",
        "IL1s",
        "DiSCO of ill",
    ]
