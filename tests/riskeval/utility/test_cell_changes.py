"""Changes of cells against the reference program and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.utility import cell_changes
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden

COLUMNS = {"absolute": "absD", "relative": "relabsD", "square root": "abssqrtD"}


@pytest.mark.parametrize(
    ("case", "variables", "household"),
    [
        ("margins_nuts2_national", ["nuts2", "national"], None),
        ("households_nuts2_hincome", ["nuts2", "hincome"], "hid"),
    ],
)
def test_reference_values(case: str, variables: list[str], household: str | None) -> None:
    expected = golden("sdc", "i6_infoloss.json")[case]
    x, y = (
        golden("sdc", "data_recordswap.parquet"),
        golden("sdc", "data_recordswap_swapped.parquet"),
    )
    result = cell_changes(x, y, variables, household=household)
    measures = {row["what"]: row for row in expected["measures"]}
    table = result.table.set_index("metric")
    for metric, column in COLUMNS.items():
        assert table.loc[metric, "mean"] == pytest.approx(measures["Mean"][column])
        assert table.loc[metric, "median"] == pytest.approx(measures["Median"][column])
        assert table.loc[metric, "q90"] == pytest.approx(measures["90%"][column])
        assert table.loc[metric, "largest"] == pytest.approx(measures["Max"][column])


def test_a_metric_of_ones_own_and_inner_cells() -> None:
    x = pd.DataFrame({"a": [*"ppq", None], "h": [1, 1, 2, 3]})
    y = pd.DataFrame({"a": [*"pqqr"], "h": [1, 1, 2, 3]})
    own = {"squared": lambda before, after: (before - after) ** 2}
    result = cell_changes(x, y, "a", metrics=own, margins=False)
    assert result.cells.set_index("a")["squared"].to_dict() == {
        "missing": 1,
        "p": 1,
        "q": 1,
        "r": 1,
    }
    assert (result.false_zero, result.false_nonzero) == (1, 1)
    homes = cell_changes(x, y, "a", household="h")
    crossed = cell_changes(x, y, ["a", "h"]).cells
    assert len(crossed) == len(crossed[crossed["a"] != "all"]) + 3
    assert homes.cells.set_index("a")["original"].to_dict() == {
        "missing": 1, "p": 1, "q": 1, "r": 0,
    }  # fmt: skip
    assert "households on average" in homes.summary()
    wrong = {"bad": lambda before, after: np.full(len(before), np.nan)}
    with pytest.raises(InputError, match="'bad' does not return one finite number a cell"):
        cell_changes(x, y, "a", metrics=wrong)
    with pytest.raises(InputError, match="is a variable too"):
        cell_changes(x, y, "a", household="a")
