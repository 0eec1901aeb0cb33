"""One journey of each recipe and source, and its file, for all tests here."""

from __future__ import annotations

import pytest

from tests.journeys.journey import Journey, JourneyOf, write_sources


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
