"""Limits at which something changes, each from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from synthpop import Categorical, Derive, Pipeline, Structure, Survey
from synthpop.microdata.messages.errors import InputError
from synthpop.models.encoding import FEW_VALUES, distinct_cells
from synthpop.stages.structure import StructureModel, without_households
from tests.small import ROLES, small_frame


@pytest.mark.parametrize("distinct", [FEW_VALUES, FEW_VALUES + 1])
def test_by_takes_a_number_of_twenty_values_and_no_more(distinct: int) -> None:
    frame = small_frame(300)
    frame["number"] = np.arange(len(frame)) % distinct
    stages = [
        Structure(["age", "number"]),
        Derive("old", source="age", breaks=[0, 40, 120]),
        Categorical("status", predictors=["old"], by="number", pooling="complete"),
    ]
    fit = Pipeline(stages).fit
    if distinct <= FEW_VALUES:
        assert fit(Survey(frame, **ROLES), seed=1).models
    else:
        with pytest.raises(InputError, match="21 distinct values"):
            fit(Survey(frame, **ROLES), seed=1)


def test_distinct_cells_stay_apart_when_their_codes_are_too_large() -> None:
    """Sizes whose product is beyond 64 bits: codes have to be numbered anew on the way."""
    rng = np.random.default_rng(1)
    digits = rng.integers(0, 1 << 20, size=(500, 5))
    digits[250:] = digits[:250]
    digits[250:, 0] = digits[:250, 0] ^ (np.arange(250) % 2)
    first, inverse = distinct_cells(digits, [1 << 20] * 5)
    assert len(first) == len(np.unique(digits, axis=0)) == 375
    assert (digits[first[inverse]] == digits).all()


def test_two_columns_of_large_sizes_are_not_mixed_up() -> None:
    size = (1 << 32) + 1
    digits = np.array([[1, 5], [1, 6], [2, 5], [1, 5]])
    first, inverse = distinct_cells(digits, [size, size])
    assert len(first) == 3
    assert inverse[0] == inverse[3]
    digits = np.array([[0, 0], [1 << 34, 0], [(1 << 41) - 1, 0]])  # (1 << 34) * (1 << 30) is 0
    assert len(distinct_cells(digits, [1 << 41, 1 << 30])[0]) == 3


@pytest.mark.parametrize("starts", [[0, 2, 3, 4, 4], [0, 2, 2, 3, 4]])
def test_households_are_left_out_where_a_cell_has_others(starts: list[int]) -> None:
    """Two strata of two sizes; a cell without donors, also the last one."""
    model = StructureModel(
        fields=(),
        columns={},
        offsets=np.arange(5),
        sizes=np.array([1, 2]),
        totals=np.ones((2, 2)),
        donors=np.array([0, 1, 2, 3]),
        donor_weights=np.array([1.0, 2.0, 3.0, 4.0]),
        starts=np.array(starts),
        strata_levels=("north", "south"),
    )
    left = without_households(model, np.array([True, False, True, False]))
    assert left.donor_weights.tolist() == [0.0, 2.0, 3.0, 4.0]
    stratum, size = ("north", 2) if starts[2] == 3 else ("south", 1)
    assert [note.stratum for note in left.fallbacks] == [stratum]
    assert f"of size {size} break a rule" in left.fallbacks[0].what
    assert without_households(model, np.zeros(4, dtype=bool)) is model
