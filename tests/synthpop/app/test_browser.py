"""The app in a real browser (Chromium through playwright): run with ``-m browser``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.synthpop.app.browsing import (
    FIRST_RUN,
    Server,
    download,
    download_release,
    new_page,
    open_to_protect,
    take_roles,
    violations,
)
from tests.synthpop.app.helpers import people

pytestmark = pytest.mark.browser
READ = "240 records, 7 columns"


def recode_age(page: Any) -> None:
    """Recode age into two classes: 7 records stay below 3."""
    page.click("#page-methods")
    page.click("#verb-global_recode")
    page.select_option("#global_recode-column", "age")
    page.fill("#global_recode-breaks", "0, 40, 90")
    page.wait_for_selector("#trial:has-text('Tried on the whole file')")  # before anything changes
    assert page.locator("#step-1").count() == 0
    page.click("#apply-step")
    page.wait_for_selector("#step-1")


def test_protect_from_upload_to_report(page: Any, survey: Path) -> None:
    open_to_protect(page, survey, READ)
    take_roles(page)
    assert "240 (100 %)" in violations(page)
    recode_age(page)
    page.wait_for_selector(".bar:not(.older) :text('7 (2.92 %)')")
    page.click("#undo")
    page.wait_for_selector(".bar:not(.older) strong:text('240 (100 %)')")
    page.click("#step-1")
    page.wait_for_selector(".bar:not(.older) :text('7 (2.92 %)')")

    page.reload()  # brings everything back
    page.wait_for_selector("#step-1[aria-current=step]")
    assert page.inner_text("h1") == "Protect"

    file = download_release(page)
    assert file.name == "survey-protected.csv"
    assert set(pd.read_csv(file)["age"]) == {"0-40", "41-90"}
    report = download(page, "#report-external").read_text()
    assert "<html" in report
    assert "recode" in report
    assert "protect.global_recode" in download(page, "#script").read_text()


def test_a_page_that_is_drawn_anew_keeps_what_is_typed_and_pressed(page: Any, survey: Path) -> None:
    open_to_protect(page, survey, READ)
    take_roles(page)
    page.click("#page-methods")
    page.select_option("#global_recode-column", "age")
    page.fill("#global_recode-breaks", "0, 40, 90")
    page.hover("#apply-step")
    page.mouse.down()
    page.evaluate(
        """() => { const language = document.getElementById('language'); language.value = 'de';
        language.dispatchEvent(new Event('change', {bubbles: true})); }"""
    )
    page.wait_for_selector("#apply-step:has-text('Anwenden')")  # every text of the page is new
    page.mouse.up()
    page.wait_for_selector("#step-1")
    assert page.input_value("#global_recode-breaks") == "0, 40, 90"


def test_two_tabs_do_not_see_each_other(page: Any, server: Server, survey: Path) -> None:
    open_to_protect(page, survey, READ)
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
    open_to_protect(page, survey, READ)
    context.set_offline(True)  # the page cannot ask whether the app is back
    page.evaluate("Shiny.shinyapp.$socket.close()")
    page.wait_for_selector("#lost:visible")
    context.set_offline(False)
    page.wait_for_selector("#lost", state="hidden")
    page.wait_for_selector(f"text={READ}")
    server.stop()
    page.wait_for_selector("#lost:visible")
    context.close()


def test_the_page_speaks_german(page: Any, survey: Path) -> None:
    page.select_option("#language", "de")
    page.wait_for_selector("text=Was möchten Sie tun?")
    assert page.get_attribute("html", "lang") == "de"
    page.click("#begin-protect")
    page.set_input_files("#data-file", survey)
    page.wait_for_selector("text=240 Datensätze, 7 Spalten")
    assert "Verbindung" in page.text_content("#lost")


def test_judge_from_two_files_to_the_report(page: Any, survey: Path, tmp_path: Path) -> None:
    release = tmp_path / "release.csv"
    people().assign(age=people()["age"].to_numpy()[::-1]).to_csv(release, index=False)
    page.click("#begin-judge")
    page.set_input_files("#original-file", survey)
    page.wait_for_selector("text=Original: 240 records, 7 columns")
    page.set_input_files("#release-file", release)
    page.wait_for_selector("text=release: 240 records")
    page.select_option("#kind-0", "synthetic")  # its records would be found in the original
    page.click("#page-roles")
    page.click("#take-roles")
    page.wait_for_selector("tr.role-keys")
    page.click("#page-judgement")
    page.set_default_timeout(FIRST_RUN)
    page.click("#judge-run")
    page.wait_for_selector("h2:has-text('Attacks on release')")
    assert "<html" in download(page, "#judge-report-internal").read_text()


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
    page.set_default_timeout(FIRST_RUN)
    page.click("#create-run")
    assert "<html" in download(page, "#create-report-external").read_text()
    page.click("#page-release")
    assert len(pd.read_parquet(download(page, "#export-population"))) > 100


def test_a_long_search_can_be_cancelled(page: Any, survey: Path) -> None:
    open_to_protect(page, survey, READ)
    take_roles(page)
    page.click("#page-search")
    page.fill("#search-seconds", "600")
    page.click("#search-plans")
    page.wait_for_selector("text=Looking for plans")
    page.click("#cancel")
    page.wait_for_selector(".notice.fault:has-text('cancelled')")
    recode_age(page)


def test_categories_can_be_dragged_into_groups(page: Any, survey: Path) -> None:
    open_to_protect(page, survey, READ)
    take_roles(page)
    page.click("#page-methods")
    page.click("#verb-group_categories")
    page.select_option("#recode-column", "region")
    page.fill("#recode-group", "east")
    page.press("#recode-group", "Enter")
    page.wait_for_selector("[data-group=east]")
    page.drag_and_drop("[data-level=A]", "[data-group=east]")
    page.wait_for_selector("[data-group=east] [data-level=A]")
    page.click("#apply-groups")
    page.wait_for_selector("#step-1")


def test_limits_are_set_on_the_histogram(page: Any, survey: Path) -> None:
    open_to_protect(page, survey, READ)
    take_roles(page)
    page.click("#page-methods")
    page.click("#verb-global_recode")
    page.select_option("#global_recode-column", "age")
    page.wait_for_selector("[data-histogram]")
    width = page.locator("[data-histogram]").bounding_box()["width"]
    page.click("[data-histogram]", position={"x": width / 2, "y": 40})
    page.wait_for_selector("#limit-1")
    assert page.input_value("#global_recode-breaks") == "0, 41, 82"
    page.focus("#limit-1")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#limit-1[value='42']")
    assert page.input_value("#global_recode-breaks") == "0, 42, 82"
    page.wait_for_selector("#trial:has-text('Tried on the whole file')")


def test_a_killed_app_comes_back_at_the_same_address(
    browser: Any, survey: Path, tmp_path: Path
) -> None:
    server = Server(str(tmp_path / "home"))
    context = browser.new_context(locale="en-GB")
    page = new_page(context, server)
    open_to_protect(page, survey, READ)
    take_roles(page)
    server.process.kill()
    server.process.communicate()
    page.wait_for_selector("#lost:visible:has-text('start it again with the same folder')")
    again = Server(str(tmp_path / "home"))
    try:
        assert again.address == server.address
        page.wait_for_selector("#lost", state="hidden")
        page.wait_for_selector(".bar .figure")  # file and roles are there
    finally:
        again.stop()
        context.close()
