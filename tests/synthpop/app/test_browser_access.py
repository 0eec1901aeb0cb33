"""Everybody can use the app: axe-core on every view, without a mouse, on a small screen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from riskeval import Ledger
from tests.synthpop.app.browsing import FIRST_RUN, new_page, open_to_protect, take_roles
from tests.synthpop.app.helpers import people

pytestmark = pytest.mark.browser
READ = "240 records, 7 columns"
PICTURES = os.environ.get("APP_SCREENSHOTS")  # folder where each view is drawn, to look at


@pytest.fixture
def small(server: Any, browser: Any) -> Iterator[Any]:
    """A page of 1024 points, with axe-core as axe-playwright-python brings it."""
    axe = pytest.importorskip("axe_playwright_python")
    context = browser.new_context(
        locale="en-GB", viewport={"width": 1024, "height": 768}, accept_downloads=True
    )
    page = new_page(context, server)
    page.set_default_timeout(FIRST_RUN)
    page.axe = (Path(axe.__file__).parent / "axe.min.js").read_text()
    yield page
    context.close()
    assert page.errors == []


def check(page: Any, view: str) -> None:
    """Let axe-core look at a view, dark in German and light in English, and measure its width."""
    page.evaluate(page.axe)
    for language, scheme in (("de", "dark"), ("en", "light")):
        page.emulate_media(color_scheme=scheme)
        page.select_option("#language", language)
        page.wait_for_function("name => document.documentElement.lang === name", arg=language)
        settle(page)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        violations = [(one["id"], one["nodes"][0]["html"]) for one in result["violations"]]
        assert violations == [], f"{view} ({language})"
        assert page.evaluate("document.documentElement.scrollWidth") <= 1024, view
        assert page.locator("details:not(:has(> summary))").count() == 0, view
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{view}-{language}.png", full_page=True)


def settle(page: Any) -> None:
    """Wait until nothing is computed."""
    page.wait_for_selector("#part-status .status", state="detached")
    page.wait_for_selector(".waiting", state="detached")


def visit(page: Any, key: str, view: str, checked: Callable[[Any, str], None] = check) -> None:
    page.click(f"#{key}")
    page.wait_for_selector(f"#{key}[aria-current], #{key}[aria-pressed=true]")
    settle(page)
    checked(page, view)


def test_axe_finds_nothing_in_protect(small: Any, survey: Path) -> None:
    page = small
    check(page, "start")
    open_to_protect(page, survey, READ)
    page.click("#edit-age")
    page.wait_for_selector("#label-age")
    settle(page)
    check(page, "protect-data")
    take_roles(page)
    visit(page, "page-roles", "protect-roles")
    visit(page, "page-methods", "protect-methods")
    for verb in ("group_categories", "local_suppression", "microaggregate", "record_swap"):
        visit(page, f"verb-{verb}", f"protect-{verb}")
    page.click("#verb-local_suppression")
    page.click("#form-local_suppression #apply-step")
    page.wait_for_selector("#step-1")
    visit(page, "page-details", "protect-details")
    for detail in (
        "violators",
        "risky",
        "records",
        "suda",
        "diversity",
        "numeric",
        "recovery",
        "pair",
    ):
        visit(page, f"detail-{detail}", f"protect-{detail}")
    page.click("#detail-suda")
    settle(page)
    page.click("main details.more > summary")  # help and entries of its options are open
    check(page, "protect-options")
    visit(page, "page-search", "protect-search")
    page.fill("#search-seconds", "2")
    page.click("#search-plans")
    page.wait_for_selector("h2:has-text('Plans')")
    settle(page)
    check(page, "protect-plans")
    visit(page, "page-release", "protect-release")
    page.click("#split-households")
    page.wait_for_selector("#merge-households")
    settle(page)
    check(page, "protect-households")


def test_axe_finds_nothing_in_judge(small: Any, survey: Path, tmp_path: Path) -> None:
    page = small
    release = tmp_path / "release.csv"
    people().assign(age=people()["age"].to_numpy()[::-1]).to_csv(release, index=False)
    page.click("#begin-judge")
    page.set_input_files("#original-file", survey)
    page.wait_for_selector("text=Original: 240 records, 7 columns")
    page.set_input_files("#release-file", release)
    page.wait_for_selector("text=release: 240 records")
    page.select_option("#kind-0", "synthetic")  # its records would be found in the original
    settle(page)
    check(page, "judge-files")
    page.click("#page-roles")
    page.click("#take-roles")
    visit(page, "page-roles", "judge-roles")
    visit(page, "page-judgement", "judge-before")
    page.click("#judge-run")
    page.wait_for_selector("h2:has-text('Attacks on release')")
    settle(page)
    check(page, "judge-judgement")


def test_axe_finds_nothing_in_ledger(small: Any, survey: Path, tmp_path: Path) -> None:
    page = small
    Ledger(tmp_path / "ledger").add(people(), "first", keys=["region", "age"])
    page.click("#begin-ledger")
    page.fill("#ledger-folder", str(tmp_path / "ledger"))
    page.press("#ledger-folder", "Tab")
    page.wait_for_selector("td:has-text('first')")
    page.set_input_files("#ledger-file", survey)
    page.wait_for_selector("p:has-text('survey.csv')")
    settle(page)
    check(page, "ledger-files")
    visit(page, "page-roles", "ledger-roles")
    page.click("#page-verdict")
    page.wait_for_selector("#record")
    settle(page)
    check(page, "ledger-verdict")


def test_axe_finds_nothing_in_create(small: Any, survey: Path) -> None:
    page = small
    page.click("#begin-create")
    page.set_input_files("#survey-file", survey)
    page.click("#take-starter")
    page.wait_for_selector("#page-recipe:not([aria-disabled])")
    names = page.eval_on_selector_all("[id^=page-]", "all => all.map(one => one.id)")
    for name in names:
        visit(page, name, f"create-{name}")
        if name == "page-population":
            page.fill("#run-scale", "0.2")
            page.press("#run-scale", "Tab")
            page.click("#create-run")
            page.wait_for_selector("h2:has-text('How well it fits the survey')")
            check(page, "create-fit")


def press_until(page: Any, key: str, most: int = 80) -> None:
    """Go on with Tab until an element has the keyboard, and look that this is visible."""
    page.wait_for_selector(f"#{key}", state="attached")  # the page may still be drawn
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == key:
            style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert style != "none"
            return
    raise AssertionError(f"{key} is not reached with Tab")


def test_protect_without_a_mouse(small: Any, survey: Path) -> None:
    page = small
    press_until(page, "begin-protect")
    page.keyboard.press("Enter")
    page.wait_for_selector("#data-file")
    page.set_input_files("#data-file", survey)  # the dialogue of the browser
    page.wait_for_selector(f"text={READ}")
    press_until(page, "page-roles")
    page.keyboard.press("Enter")
    page.wait_for_selector("#take-roles")
    press_until(page, "take-roles")
    page.keyboard.press("Space")
    page.wait_for_selector(".bar:not(.older) .figure")
    assert page.evaluate("document.activeElement.id") == "take-roles"  # drawn again, still there
    page.focus("#skip")
    press_until(page, "page-methods")
    page.keyboard.press("Enter")
    press_until(page, "verb-global_recode")
    press_until(page, "global_recode-column")
    page.keyboard.type("age")
    press_until(page, "global_recode-breaks")
    page.keyboard.type("0, 40, 90")
    page.keyboard.press("Enter")  # applies the method
    page.wait_for_selector("#step-1")
    page.wait_for_selector(".notice")
    page.keyboard.press("Escape")
    page.wait_for_selector(".notice", state="detached")
    press_until(page, "undo")
    page.keyboard.press("Enter")
    page.wait_for_selector("#step-0[aria-current=step]")
    assert page.evaluate("document.activeElement.id") == "undo"
    press_until(page, "redo")
    page.keyboard.press("Space")
    page.wait_for_selector("#step-1[aria-current=step]")


def choose_by_keyboard(page: Any, key: str) -> None:
    """Reach an element with Tab from the start of the page, and press it."""
    page.focus("#skip")
    press_until(page, key)
    page.keyboard.press("Enter")


def test_judge_and_create_without_a_mouse(small: Any, survey: Path) -> None:
    page = small
    choose_by_keyboard(page, "begin-judge")
    page.wait_for_selector("#original-file")
    page.set_input_files("#original-file", survey)  # the dialogue of the browser
    page.wait_for_selector("text=Original: 240 records, 7 columns")
    page.set_input_files("#release-file", survey)
    page.wait_for_selector("text=survey: 240 records")
    choose_by_keyboard(page, "page-roles")
    page.wait_for_selector("#take-roles")
    choose_by_keyboard(page, "take-roles")
    page.wait_for_selector("tr.role-keys")
    choose_by_keyboard(page, "page-judgement")
    page.wait_for_selector("#judge-run")
    choose_by_keyboard(page, "judge-run")
    page.wait_for_selector("#judge-report-internal")
    page.focus(".brand")
    page.keyboard.press("Enter")
    choose_by_keyboard(page, "begin-create")
    page.wait_for_selector("#survey-file")
    page.set_input_files("#survey-file", survey)
    page.wait_for_selector("#take-starter")
    choose_by_keyboard(page, "take-starter")
    page.wait_for_selector("#page-population:not([aria-disabled])")
    choose_by_keyboard(page, "page-recipe")
    page.wait_for_selector("#edit-stage-0")
    choose_by_keyboard(page, "edit-stage-0")
    page.wait_for_selector("#form-stage-0")
    page.keyboard.press("Tab")
    choose_by_keyboard(page, "page-population")
    page.wait_for_selector("#run-scale")
    press_until(page, "run-scale")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.2")
    press_until(page, "create-run")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('How well it fits the survey')")
    choose_by_keyboard(page, "page-release")
    page.wait_for_selector("#export-population")
    press_until(page, "export-population")
    with page.expect_download() as event:
        page.keyboard.press("Enter")
    assert event.value.suggested_filename == "population.parquet"
