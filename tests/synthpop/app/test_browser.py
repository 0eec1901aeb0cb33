"""The app in a real browser (Chromium through playwright): run with ``-m browser``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.synthpop.app.helpers import people

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SLOW = 90_000


class Server:
    """An app in a process of its own."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "synthpop", "app", "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    pytest.importorskip("shiny")
    running = Server()
    yield running
    running.stop()


@pytest.fixture(scope="module")
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


def new_page(context: Any, server: Server) -> Any:
    opened = context.new_page()
    opened.elsewhere, opened.errors = [], []
    opened.on("request", lambda one: note_elsewhere(opened, one.url))
    opened.on("pageerror", lambda problem: opened.errors.append(str(problem)))
    opened.set_default_timeout(SLOW)
    opened.goto(server.address)
    opened.wait_for_selector("h1")
    return opened


def note_elsewhere(page: Any, url: str) -> None:
    if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
        page.elsewhere.append(url)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    people().to_csv(path, index=False)
    return path


def open_survey(page: Any, path: Path) -> None:
    page.click("#begin-protect")
    page.set_input_files("#data-file", path)
    page.wait_for_selector("text=240 records, 7 columns")


def risk(page: Any) -> str:
    page.wait_for_selector(".bar:not(.older) .figure")
    return str(page.inner_text(".figure >> nth=0"))


def test_protect_from_upload_to_report(page: Any, survey: Path) -> None:
    open_survey(page, survey)
    page.click("#page-roles")
    page.click("#take-roles")
    assert "240 (100 %)" in risk(page)
    page.click("#page-methods")
    page.select_option("#global_recode-column", "age")
    page.fill("#global_recode-breaks", "0, 40, 90")
    page.click("#apply-step")
    page.wait_for_selector("#step-1")
    page.wait_for_selector(".bar:not(.older) .figure.met")
    page.click("#undo")
    page.wait_for_selector(".bar:not(.older) .figure.exceeded")
    page.click("#step-1")
    page.wait_for_selector(".bar:not(.older) .figure.met")

    page.reload()  # brings everything back
    page.wait_for_selector("#step-1[aria-current=step]")
    assert page.inner_text("h1") == "Protect"

    page.click("#page-release")
    with page.expect_download() as download:
        page.click("#export")
    file = pd.read_csv(download.value.path())
    assert set(file["age"]) == {"0-40", "41-90"}
    assert download.value.suggested_filename == "survey-protected.csv"
    with page.expect_download() as download:
        page.click("#report-external")
    assert "<html" in Path(download.value.path()).read_text()


def test_two_tabs_do_not_see_each_other(page: Any, server: Server, survey: Path) -> None:
    open_survey(page, survey)
    other = new_page(page.context, server)
    assert other.inner_text("h1") == "What would you like to do?"
    keys = [one.evaluate("sessionStorage.getItem('synthpop-tab')") for one in (page, other)]
    assert keys[0] != keys[1]
    page.reload()
    page.wait_for_selector("text=240 records, 7 columns")


def test_bad_files_are_messages(page: Any, tmp_path: Path, survey: Path) -> None:
    page.click("#begin-protect")
    bad = tmp_path / "bad.sav"
    bad.write_bytes(b"$FL2 this is none")
    page.set_input_files("#data-file", bad)
    page.wait_for_selector("p.fault")
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    page.set_input_files("#data-file", empty)
    page.wait_for_selector(".notice.fault")
    page.set_input_files("#data-file", survey)
    page.wait_for_selector("text=240 records, 7 columns")


def test_a_lost_connection_is_said_and_comes_back(browser: Any, survey: Path) -> None:
    server = Server()
    context = browser.new_context()
    page = new_page(context, server)
    open_survey(page, survey)
    os.kill(server.process.pid, signal.SIGSTOP)
    context.set_offline(True)
    page.evaluate("Shiny.shinyapp.$socket.close()")
    page.wait_for_selector("#lost:not([hidden])")
    os.kill(server.process.pid, signal.SIGCONT)
    context.set_offline(False)
    page.wait_for_selector("text=240 records, 7 columns")
    server.stop()
    context.close()


def test_german_and_the_keyboard(page: Any, survey: Path) -> None:
    page.select_option("#language", "de")
    page.wait_for_selector("text=Was möchten Sie tun?")
    assert page.get_attribute("html", "lang") == "de"
    page.focus("#begin-protect")
    page.keyboard.press("Enter")
    page.wait_for_selector("#data-file")
    page.set_input_files("#data-file", survey)
    page.wait_for_selector("text=240 Datensätze, 7 Spalten")
    page.focus("#page-roles")
    page.keyboard.press("Enter")
    page.wait_for_selector("#take-roles")
    page.focus("#take-roles")
    page.keyboard.press("Space")
    page.wait_for_selector(".figure")
    focused = page.evaluate("document.activeElement.id")
    assert focused == "take-roles"  # it is still there after the page was drawn anew


def test_judge_from_two_files_to_the_report(page: Any, survey: Path, tmp_path: Path) -> None:
    release = tmp_path / "release.csv"
    people().assign(age=people()["age"].to_numpy()[::-1]).to_csv(release, index=False)
    page.click("#begin-judge")
    page.set_input_files("#original-file", survey)
    page.wait_for_selector("text=Original: 240 records, 7 columns")
    page.set_input_files("#release-file", release)
    page.wait_for_selector("text=release: 240 records")
    page.click("#page-roles")
    page.click("#take-roles")
    page.wait_for_selector("tr.role-keys")
    page.click("#page-judgement")
    page.click("#judge-run")
    page.wait_for_selector("h2:has-text('Attacks on release')")
    with page.expect_download() as download:
        page.click("#judge-report-internal")
    assert "<html" in Path(download.value.path()).read_text()


def test_create_from_survey_to_report(page: Any, survey: Path) -> None:
    page.click("#begin-create")
    page.set_input_files("#survey-file", survey)
    page.click("#take-starter")
    page.wait_for_selector("#page-recipe:not([disabled])")
    page.click("#page-recipe")
    page.wait_for_selector("text=The recipe can be run.")
    page.click("#page-population")
    page.fill("#run-scale", "0.2")
    page.press("#run-scale", "Tab")
    page.click("#create-run")
    with page.expect_download() as download:
        page.click("#create-report-external")
    assert "<html" in Path(download.value.path()).read_text()
    page.click("#page-release")
    with page.expect_download() as download:
        page.click("#export-population")
    assert len(pd.read_parquet(download.value.path())) > 100


def test_a_long_search_can_be_cancelled(page: Any, survey: Path) -> None:
    open_survey(page, survey)
    page.click("#page-roles")
    page.click("#take-roles")
    page.wait_for_selector(".bar:not(.older) .figure >> nth=5")
    page.click("#page-search")
    page.fill("#search-seconds", "600")
    page.click("#search-plans")
    page.wait_for_selector("text=Looking for plans")
    page.wait_for_timeout(1500)
    page.click("#cancel")
    page.wait_for_selector(".notice.fault:has-text('cancelled')")
    page.click("#page-methods")
    page.select_option("#global_recode-column", "age")
    page.fill("#global_recode-breaks", "0, 40, 90")
    page.click("#apply-step")
    page.wait_for_selector("#step-1")


def test_axe_finds_nothing_and_chips_can_be_dragged(page: Any, survey: Path) -> None:
    """Accessibility by axe-core, as the package axe-playwright-python brings it."""
    axe = pytest.importorskip("axe_playwright_python")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text()

    def check() -> None:
        page.evaluate(script)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []

    check()
    open_survey(page, survey)
    page.click("#page-roles")
    page.click("#take-roles")
    page.wait_for_selector(".bar:not(.older) .figure")
    check()
    page.click("#page-methods")
    page.click("#verb-group_categories")
    page.select_option("#recode-column", "region")
    page.fill("#recode-group", "east")
    page.press("#recode-group", "Enter")
    page.wait_for_selector("[data-group=east]")
    page.drag_and_drop("[data-level=A]", "[data-group=east]")
    page.wait_for_selector("[data-group=east] [data-level=A]")
    check()
    page.click("#apply-groups")
    page.wait_for_selector("#step-1")
