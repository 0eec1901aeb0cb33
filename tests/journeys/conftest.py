"""One journey of each recipe and source, and its file, for all tests here."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

from tests.conftest import COST
from tests.journeys.journey import Journey, JourneyOf, write_sources

BEGUN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Remember the processor time at which a test begins."""
    item.stash[BEGUN] = processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what a test has cost on its last report: the end of the run says the sum."""
    report = yield
    if call.when == "teardown":
        report.user_properties.append((COST, processor_time() - item.stash[BEGUN]))
    return report


def processor_time() -> float:
    """Seconds of this process and of those that it started."""
    return sum(os.times()[:4])


SMALL: dict[str, object] = {
    "synthpop.evaluation.guessed_draws.QUICK": range(3),
    "synthpop.conditional.pooling.partial.TOLERANCE": 1e-3,
    "synthpop.conditional.pooling.partial.REPEATED": 1e-3,
    "synthpop.conditional.pooling.partial.COARSE": 3e-3,
    "synthpop.conditional.pooling.ridge_effects.TOLERANCE": 1e-3,
    "synthpop.conditional.donors.ROUNDS": 1,
    "synthpop.pipeline.pilot.FEWEST": 500,
    "synthpop.pipeline.pilot.FEWEST_FOR_MEANS": 1_000,
    "synthpop.microdata.statistics.robust.SEARCHES": 1,
    "riskeval.measures.latent_classes.SWEEPS": 30,
    "riskeval.measures.latent_classes.BURN_IN": 15,
}
"""Journeys ask whether a step answers, not for its last digits."""


@pytest.fixture(scope="module", autouse=True)
def _small(few_trees: None) -> Iterator[None]:
    """Few trees, few guesses, short chains and coarse fits."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(name, value)
        yield


@pytest.fixture(scope="session")
def journey_of(tmp_path_factory: pytest.TempPathFactory) -> JourneyOf:
    """Return the journey of a recipe and a source, made once."""
    files = write_sources(tmp_path_factory.mktemp("sources"))
    made: dict[tuple[str, str], Journey] = {}

    def of(recipe: str, source: str) -> Journey:
        if (recipe, source) not in made:
            folder = tmp_path_factory.mktemp(f"{recipe}-{source}")
            made[recipe, source] = Journey(recipe, source, files[source], folder)
        return made[recipe, source]

    return of
