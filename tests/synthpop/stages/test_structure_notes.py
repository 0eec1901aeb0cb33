"""What is recorded where households that are made differ from those expected."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.stages import blocks
from synthpop.stages.blocks import check_size
from synthpop.stages.structure import structure_fallbacks


def model() -> SimpleNamespace:
    """Estimated households of one, two and five persons; nobody in the sample of the west."""
    totals = np.array([[100.0, 50.0, 0.0], [0.0, 0.0, 0.0], [40.0, 0.4, 0.2]])
    return SimpleNamespace(
        strata_levels=("north", "west", "south"), sizes=np.array([1, 2, 5]), totals=totals
    )


def test_households_as_expected_need_no_note() -> None:
    counts = np.array([[100, 50, 0], [0, 0, 0], [40, 0, 0]])
    assert structure_fallbacks(model(), counts, 1.0, [0]) == []


def test_sizes_that_are_expected_and_not_made_are_named() -> None:
    counts = np.array([[10, 5, 0], [0, 0, 0], [4, 0, 0]])
    notes = structure_fallbacks(model(), counts, 0.1, [0, 1, 2])
    assert [(note.stratum, note.what) for note in notes] == [
        ("west", "no household in the sample: left out"),
        ("south", "0.06 households of size 2, 5 expected, none made"),
    ]


@pytest.mark.parametrize(("made", "noted"), [(49, False), (48, True), (51, False), (52, True)])
def test_persons_that_whole_households_add_or_leave_out(made: int, noted: bool) -> None:
    """200 persons are expected; more than one percent, and than one person, is worth a note."""
    counts = np.array([[100, made, 0], [0, 0, 0], [0, 0, 0]])
    notes = structure_fallbacks(model(), counts, 1.0, [0])
    told = f"{100 + 2 * made} persons made, 200 expected: households are whole"
    assert [note.what for note in notes] == [told] * noted


def test_populations_up_to_so_many_persons_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """30 households of two and 10 of five, in blocks of ten persons: 6 and 5 blocks."""
    asked = (np.array([2, 5]), np.array([[10.0, 4.0], [5.0, 1.0]]), 2.0, 10)
    monkeypatch.setattr(blocks, "MOST_PERSONS", 110)
    monkeypatch.setattr(blocks, "MOST_BLOCKS", 11)
    check_size(*asked)
    monkeypatch.setattr(blocks, "MOST_PERSONS", 109)
    with pytest.raises(InputError, match="would have 110 persons, more than 109"):
        check_size(*asked)
    monkeypatch.setattr(blocks, "MOST_PERSONS", 110)
    monkeypatch.setattr(blocks, "MOST_BLOCKS", 10)
    with pytest.raises(InputError, match="would have 11 blocks, more than 10"):
        check_size(*asked)
