"""Round trips through every format, over drawn labels, codes, missing kinds, dates and names."""

from __future__ import annotations

import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthpop.microdata.formats.files import WRITERS, read_table, write_table
from synthpop.microdata.formats.losses import losses
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of, with_dictionary

pytest.importorskip("pyreadstat")
pytest.importorskip("rdata")
pytest.importorskip("openpyxl")

LONGEST = {".sav": 64, ".zsav": 64, ".dta": 31, ".xpt": 32}
CODES = (".sav", ".zsav", ".dta", ".parquet", ".arrow")
"""Formats that hold the codes of categories, or their dictionary, beside the labels."""
TEXT_FILES = (".csv", ".tsv")

letters = st.characters(categories=("L",), max_codepoint=0x24F)
texts = st.text(st.one_of(letters, st.sampled_from(" .-")), max_size=12).map(
    lambda text: f"t{text}x"  # no blank at an end, no word that means missing in a text file
)
values = st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 3))


@dataclass(frozen=True)
class Case:
    """A table with its dictionary."""

    frame: pd.DataFrame
    labels: dict[int, str]


@st.composite
def cases(draw: Any, longest: int = 32) -> Case:
    """Draw a category, whole numbers with a missing code, amounts, texts and days."""
    n = draw(st.integers(3, 8))
    names = draw(
        st.lists(
            st.text(string.ascii_lowercase + string.digits + "_", min_size=1, max_size=longest - 1),
            min_size=5,
            max_size=5,
            unique=True,
        ).map(lambda tails: ["v" + tail for tail in tails])
    )
    levels = draw(st.lists(texts, min_size=2, max_size=4, unique=True))
    codes = draw(st.lists(st.integers(0, 90), min_size=4, max_size=4, unique=True))
    labels = dict(zip(codes, levels, strict=False))

    def column(cells: Any) -> list[Any]:
        filled = draw(st.lists(st.one_of(st.none(), cells), min_size=n, max_size=n))
        return filled if any(cell is not None for cell in filled) else [draw(cells), *filled[1:]]

    category = column(st.sampled_from(levels))
    numbers = column(st.integers(0, 10**6))
    days = column(st.dates(min_value=pd.Timestamp(1901, 1, 1).date(),
                           max_value=pd.Timestamp(2099, 1, 1).date()))  # fmt: skip
    frame = pd.DataFrame(
        {
            names[0]: pd.Categorical(category, levels),
            names[1]: pd.array(numbers, dtype="Int64").astype(float),
            names[2]: pd.array(column(values), dtype="Float64").astype(float),
            names[3]: pd.Series(column(texts), dtype=object),
            names[4]: pd.to_datetime(pd.Series(days, dtype=object)),
        }
    )
    missing = draw(st.sampled_from([(), ((-9, "no answer"),), ((-9, "no answer"), (-8, ""))]))
    one_code = -9 if missing and draw(st.booleans()) else None
    dictionary = Dictionary(
        [
            Variable(names[0], draw(texts), values=tuple(labels.items())),
            Variable(
                names[1], draw(texts), missing=missing, missing_code=one_code,
                kind="integer", decimals=0,
            ),
            Variable(names[2], draw(texts), kind="number", decimals=3),
            Variable(names[4], draw(texts), kind="date"),
        ]
    )  # fmt: skip
    return Case(with_dictionary(frame, dictionary), labels)


def plain(column: pd.Series) -> list[Any]:
    return column.astype(object).where(column.notna(), None).tolist()


def check_values(case: Case, back: pd.DataFrame, suffix: str) -> None:
    names = list(case.frame.columns)
    category, whole, amount, text, day = (back[name] for name in names)
    expected = [plain(case.frame[name]) for name in names]
    if suffix == ".xpt":
        codes = {label: code for code, label in case.labels.items()}
        assert plain(category) == [None if x is None else codes[x] for x in expected[0]]
        np.testing.assert_allclose(amount, case.frame[names[2]], rtol=1e-14)
    else:
        assert plain(category) == expected[0]
        np.testing.assert_array_equal(amount, case.frame[names[2]])
    assert plain(whole) == expected[1]
    if suffix in (".sav", ".zsav", ".dta", ".xpt"):
        assert [x or None for x in plain(text)] == expected[3]  # no missing text there
    else:
        assert plain(text) == expected[3]
    if suffix in TEXT_FILES:
        day = pd.to_datetime(day)
    assert plain(day) == expected[4]


def check_dictionary(case: Case, back: pd.DataFrame, suffix: str) -> None:
    """What the losses do not name has come back."""
    before, after = dictionary_of(case.frame), dictionary_of(back)
    lost = " ".join(losses(case.frame, f"x{suffix}"))
    for name, variable in before.variables.items():
        if "labels of variables" not in lost:
            assert after[name].label == variable.label
        if suffix in CODES:
            assert dict(after[name].values).items() >= dict(variable.values).items()
    whole = case.frame.columns[1]
    if suffix in (".sav", ".zsav", ".parquet", ".arrow"):
        assert dict(after[whole].missing) == dict(before[whole].missing)
    if suffix == ".dta":
        meanings = [text for _, text in before[whole].missing if text]
        assert [text for _, text in after[whole].missing if text][: len(meanings)] == (
            meanings if before[whole].missing_code and case.frame[whole].isna().any() else []
        )


@pytest.mark.parametrize("suffix", sorted(WRITERS))
@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_values_and_dictionary_come_back(tmp_path: Path, suffix: str, data: Any) -> None:
    case = data.draw(cases(LONGEST.get(suffix, 60)))
    if suffix == ".xlsx" and any(
        "rows at the end" in text for text in losses(case.frame, "x.xlsx")
    ):
        return  # a sheet has no empty rows
    file = tmp_path / f"table{suffix}"
    write_table(case.frame, file)
    back = read_table(file)
    assert back.columns.tolist() == case.frame.columns.tolist()
    check_values(case, back, suffix)
    check_dictionary(case, back, suffix)
    write_table(back, file)
    check_values(case, read_table(file), suffix) if suffix != ".xpt" else None


@settings(max_examples=20, deadline=None)
@given(cases())
def test_a_dictionary_comes_back_from_a_table(case: Case) -> None:
    dictionary = dictionary_of(case.frame)
    assert Dictionary.from_frame(dictionary.to_frame()) == dictionary
