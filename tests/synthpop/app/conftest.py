from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.synthpop.app.browsing import CHROMIUM, FLAGS, Server, new_page
from tests.synthpop.app.helpers import people


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("shiny")
    from synthpop.app.warm import JOURNEYS, compile_kernels

    for journey in JOURNEYS:
        compile_kernels(journey)
    running = Server()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM:
        pytest.skip("no chromium is installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(server: Server, browser: Any) -> Iterator[Any]:
    context = browser.new_context(accept_downloads=True, locale="en-GB")
    opened = new_page(context, server)
    yield opened
    context.close()
    assert opened.elsewhere == []
    assert opened.errors == []


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    people().to_csv(path, index=False)
    return path
