"""Levels of a column in several files: which codes they get, and what is said about them."""

from __future__ import annotations

import pandas as pd
import pytest

from riskeval.attacks.levels import LevelCoder, comparable_text
from synthpop.microdata.messages.errors import Faults, InputError


def codes_of(coder: LevelCoder, *values: object) -> list[int]:
    return coder.code(pd.Series(list(values), dtype=object)).tolist()


def test_missing_values_and_new_levels_come_after_those_of_the_sample() -> None:
    coder = LevelCoder(("a", "b"), others=("c",))
    assert (coder.n_known, coder.size, coder.radix) == (2, 4, 4)
    assert codes_of(coder, "b", "d", None, "c", "d", "e", "a") == [1, 4, 2, 3, 4, 5, 0]
    assert coder.levels == ["a", "b", None, "c", "d", "e"]
    assert (coder.size, coder.radix) == (6, 4)
    assert coder.absent() == 0


def test_levels_of_the_holdout_are_not_met_in_the_release() -> None:
    coder = LevelCoder(("a", "b", "c"), others=("b",))
    assert coder.absent() == 3
    codes_of(coder, "b", "x")
    assert coder.absent() == 2
    coder.start()
    assert coder.absent() == 3
    codes_of(coder, "b", "x")  # the same levels as before count again
    assert coder.absent() == 2


def test_unused_categories_are_not_met() -> None:
    coder = LevelCoder(("a", "b"))
    values = pd.Series(pd.Categorical(["a", None], categories=["a", "b"]))
    assert coder.code(values).tolist() == [0, 2]
    assert coder.absent() == 1
    values = pd.Series(pd.Categorical(["b", "a"], categories=["a", "b"]))
    assert coder.code(values).tolist() == [1, 0]
    assert coder.absent() == 0


def test_numbers_are_compared_in_twelve_digits() -> None:
    assert comparable_text(1.23456789012) == comparable_text(1.234567890121)
    assert comparable_text(1.23456789012) != comparable_text(1.23456789013)


@pytest.mark.parametrize(
    ("n_levels", "n_absent", "noted"),
    [(10, 3, False), (10, 4, True), (80, 4, False), (80, 5, True)],
)
def test_a_note_needs_more_than_three_levels_and_a_twentieth(
    n_levels: int, n_absent: int, noted: bool
) -> None:
    coder = LevelCoder(tuple(range(100, 100 + n_levels)))
    codes_of(coder, *range(100 + n_absent, 100 + n_levels))
    note = coder.note("age", "survey")
    if not noted:
        assert note == ""
        return
    assert note == (
        f"{n_absent} levels of age in the survey (as 100, 101, 102) do not occur in the release"
    )


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (["v", "w", "x", "y"], "'a', 'b', 'c' in the survey, 'v', 'w', 'x' in the release"),
        ([None], "'a', 'b', 'c' in the survey, only missing values in the release"),
    ],
)
def test_files_without_a_common_level_are_refused(values: list[object], named: str) -> None:
    coder = LevelCoder(("a", "b", "c", "d"), others=("z",))
    codes_of(coder, *values)
    faults = Faults("attack")
    coder.check_common(faults, "sex", "survey", "release")
    with pytest.raises(InputError) as caught:
        faults.raise_if_any()
    assert named in str(caught.value)
    assert "sex" in str(caught.value)


def test_one_common_level_is_enough_and_a_sample_without_levels_is_no_fault() -> None:
    faults = Faults("attack")
    coder = LevelCoder(("a", "b"))
    codes_of(coder, "b", "x")
    coder.check_common(faults, "sex", "survey", "release")
    empty = LevelCoder(())
    codes_of(empty, "x")
    empty.check_common(faults, "sex", "survey", "release")
    faults.raise_if_any()
    short = LevelCoder(("a",))  # fewer levels than a message names
    codes_of(short, "x")
    short.check_common(faults, "sex", "survey", "release")
    with pytest.raises(InputError, match=r"\('a' in the survey, 'x' in the release\)"):
        faults.raise_if_any()
