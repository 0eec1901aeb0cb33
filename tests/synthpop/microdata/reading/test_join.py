"""Households and persons in two files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import synthpop.cli
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.reading.join import join_households
from tests import console
from tests.reference_data import zoo_file


def test_files_are_joined_in_either_order_and_equal_names_are_told_apart() -> None:
    homes = pd.DataFrame({"HHID": [1, 2, 3], "PUMA": [7, 7, 8], "income": [10, 20, 30]})
    persons = pd.DataFrame({"PERID": range(5), "hid": [3, 3, 1, 2, 2], "income": range(5)})
    for pair in ((homes, persons), (persons, homes)):
        joined = join_households(*pair)
        assert list(joined) == ["PERID", "hid", "income", "PUMA", "income_household"]
        assert joined["income_household"].tolist() == [30, 30, 10, 20, 20]


def test_files_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(InputError, match="no column of one is the household"):
        join_households(pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [7, 7, 8]}))


def test_a_travel_survey_as_published(tmp_path: Path) -> None:
    persons = pd.read_parquet(zoo_file("psrc_persons.parquet")).head(4_000)
    persons.to_csv(tmp_path / "persons.csv", index=False)
    homes = pd.read_parquet(zoo_file("psrc_households.parquet"))
    homes.to_csv(tmp_path / "households.csv", index=False)
    done = console.call(synthpop.cli.main, "init", "households.csv", "persons.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "households-and-persons.toml").read_text()
    assert 'household = "household_id"' in text
    assert all(name in text for name in ("VEHICL", "income", "BLDGSZ", "ptype"))
