"""Options at their limits are accepted, those beyond are faults; defaults are those documented."""

from __future__ import annotations

import inspect

import pytest

from synthpop import GibbsPass, PoolingOptions
from synthpop.annealing.search import Search
from synthpop.microdata.messages.errors import Faults
from synthpop.stages.annealing_regions import check_search
from synthpop.stages.base import DECIMALS
from synthpop.stages.continuous.means import ROUNDS


def faults_of(options: PoolingOptions | Search, workers: int = 1) -> list[str]:
    faults = Faults("recipe")
    if isinstance(options, PoolingOptions):
        options.check(faults, "x")
    else:
        check_search(options, workers, faults)
    return [fault.where for fault in faults.found]


@pytest.mark.parametrize(
    "options", [PoolingOptions(0), PoolingOptions(0.0, smallest_stratum=0),
                PoolingOptions(30, pairs=0.5), Search(tolerance=0), Search(max_proposals=1),
                Search(max_copies=1), Search(cell_gap=0)],
)  # fmt: skip
def test_limits_themselves_are_accepted(options: PoolingOptions | Search) -> None:
    assert faults_of(options) == []


@pytest.mark.parametrize(
    ("options", "where"),
    [(PoolingOptions(-0.1), "x: pooling"), (PoolingOptions("some"), "x: pooling"),
     (PoolingOptions(smallest_stratum=-1), "x: smallest_stratum"),
     (PoolingOptions(30, pairs=0), "x: pairs"), (PoolingOptions(None, pairs=30), "x: pairs"),
     (Search(tolerance=-1), "tolerance"), (Search(max_proposals=0), "max_proposals"),
     (Search(max_copies=0), "max_copies"), (Search(cell_gap=-1), "cell_gap")],
)  # fmt: skip
def test_what_is_beyond_is_a_fault(options: PoolingOptions | Search, where: str) -> None:
    assert faults_of(options) == [where]


def test_workers_are_one_or_more() -> None:
    assert faults_of(Search(), 1) == []
    assert faults_of(Search(), 0) == ["workers"]


def test_up_to_twelve_decimals() -> None:
    assert all(DECIMALS.allows(value) for value in ("survey", 0, 12, None))
    assert not any(DECIMALS.allows(value) for value in (-1, 13, "all", 1.5))


def test_defaults() -> None:
    assert inspect.signature(GibbsPass).parameters["passes"].default == 1
    assert ROUNDS == 2  # of the calibration of means
