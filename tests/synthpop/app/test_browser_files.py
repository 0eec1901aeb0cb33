"""The three journeys in a browser, from upload to report, on survey files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from riskeval import k_anonymity
from synthpop.datasets import load_demo_survey
from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.messages.text import count
from tests.reference_data import survey_data
from tests.synthpop.app.browsing import (
    download,
    download_release,
    give_role,
    open_to_protect,
    take_roles,
    violations,
    wait_for_risk,
)

pytestmark = pytest.mark.browser
LONG = 60_000  # milliseconds, for work that takes long on a busy machine
FILES = {  # columns, keys, weights, household, format of the file
    "testdata": (["urbrur", "roof", "walls", "water", "relat", "sex", "expend", "ori_hid",
                  "sampling_weight"],
                 ["urbrur", "roof", "walls", "sex"], "sampling_weight", "ori_hid", ".sav"),
    "ghanaS": (["hhid", "region", "age", "sex", "relate", "income", "weight"],
               ["region", "sex", "relate"], "weight", "hhid", ".dta"),
    "eusilc": (["db030", "db040", "hsize", "age", "rb090", "pl030", "eqIncome", "rb050"],
               ["db040", "hsize", "rb090"], "rb050", "db030", ".csv"),
    "demo": (["db030", "db040", "age", "rb090", "pb220a", "netIncome", "rb050"],
             ["db040", "rb090", "age"], "rb050", "db030", ".parquet"),
}  # fmt: skip


def survey_file(name: str) -> pd.DataFrame:
    """Return a survey file; the demo survey comes with the package."""
    return load_demo_survey().frame if name == "demo" else survey_data(name)


def upload_of(name: str, folder: Path) -> tuple[pd.DataFrame, Path]:
    columns, suffix = FILES[name][0], FILES[name][-1]
    frame = survey_file(name)[columns]
    path = folder / f"{name}{suffix}"
    write_table(frame, path)
    return frame, path


@pytest.mark.parametrize("name", list(FILES))
def test_protect_a_survey_file(page: Any, tmp_path: Path, name: str) -> None:
    frame, path = upload_of(name, tmp_path)
    _, keys, weights, household, suffix = FILES[name]
    page.set_default_timeout(LONG)
    open_to_protect(page, path, f"{count(len(frame))} records, {len(frame.columns)} columns")
    page.click("#page-roles")
    give_role(page, weights, "weights")
    give_role(page, household, "household")
    for key in keys:
        give_role(page, key, "keys")
    page.wait_for_selector(f"tr.role-keys:has-text('{keys[-1]}')")
    below = k_anonymity(frame, keys, k=3).violations[3]
    page.wait_for_selector(f".bar:not(.older) .before:text-matches('^{count(below)}\\\\b')")
    page.click("#page-methods")
    page.click("#verb-local_suppression")
    page.click("#form-local_suppression #apply-step")
    page.wait_for_selector("#step-1")
    page.wait_for_selector(".bar:not(.older) .figure.met >> nth=0")
    assert violations(page).splitlines()[-1].split("→")[-1].strip().startswith("0 ")

    file = download_release(page)
    assert "<html" in download(page, "#report-internal").read_text()
    assert file.suffix == suffix
    released = read_table(file)
    assert len(released) == len(frame)
    assert k_anonymity(released, keys, k=3).violations[3] == 0


@pytest.mark.parametrize("name", ["eusilcS", "demo"])
def test_judge_a_release(page: Any, tmp_path: Path, name: str) -> None:
    page.set_default_timeout(LONG)
    frame = survey_file(name).iloc[:3000]
    income, columns = "netIncome", ["age", "rb090", "pl030", "netIncome"]
    original, release = tmp_path / "original.parquet", tmp_path / "release.csv"
    frame[columns].to_parquet(original)
    noise = np.random.default_rng(1).normal(1.0, 0.1, len(frame))
    frame[columns].assign(**{income: frame[income] * noise}).to_csv(release, index=False)
    page.click("#begin-judge")
    page.set_input_files("#original-file", original)
    page.wait_for_selector(f"text=Original: {count(3000)} records")
    page.set_input_files("#release-file", release)
    page.wait_for_selector("text=release: 3,000 records")
    page.click("#page-roles")
    page.click("#take-roles")
    page.wait_for_selector("tr[class^=role-]")
    page.click("#page-judgement")
    page.click("#judge-run")
    page.wait_for_selector("#judge-report-internal")
    text = download(page, "#judge-report-internal").read_text()
    assert income in text


@pytest.mark.parametrize("name", ["eusilcS", "ghanaS", "demo"])
def test_create_a_population(page: Any, tmp_path: Path, name: str) -> None:
    page.set_default_timeout(LONG)
    columns = ["db030", "db040", "age", "rb090", "rb050"]
    if name == "ghanaS":
        columns = ["hhid", "region", "age", "sex", "weight"]
    frame = survey_file(name)[columns]
    frame.to_parquet(tmp_path / "survey.parquet")
    page.click("#begin-create")
    page.set_input_files("#survey-file", tmp_path / "survey.parquet")
    page.click("#take-starter")
    page.click("#page-recipe")
    page.wait_for_selector("text=The recipe can be run.")
    page.click("#page-population")
    page.fill("#run-scale", "0.02")
    page.press("#run-scale", "Tab")
    page.click("#create-run")
    page.wait_for_selector("h2:has-text('How well it fits the survey')")
    assert "<html" in download(page, "#create-report-external").read_text()
    page.click("#page-release")
    population = pd.read_parquet(download(page, "#export-population"))
    size = 0.02 * float(frame[columns[-1]].sum())
    assert 0.8 * size < len(population) < 1.2 * size


def test_a_million_records(page: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = 1_000_000
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "region": rng.integers(1, 10, n),
            "age": rng.integers(0, 100, n),
            "sex": rng.integers(1, 3, n),
            "status": rng.integers(1, 8, n),
            "income": rng.gamma(2.0, 10_000.0, n).round(),
            "weight": rng.uniform(5.0, 15.0, n).round(2),
        }
    )
    path = tmp_path / "large.parquet"
    frame.to_parquet(path)
    page.set_default_timeout(2 * LONG)
    started = time.monotonic()
    open_to_protect(page, path, "1,000,000 records, 6 columns")
    opened = time.monotonic()
    page.click("#page-roles")
    page.wait_for_selector("#take-roles")
    suggested = time.monotonic()
    page.click("#take-roles")
    wait_for_risk(page)
    risk = time.monotonic()
    with capsys.disabled():
        print(
            f"\na million records: opened in {opened - started:.1f} s, roles suggested in "
            f"{suggested - opened:.1f} s, first risk in {risk - suggested:.1f} s"
        )
    assert "%" in violations(page)


def test_two_sessions_at_once_are_apart(page: Any, browser: Any, tmp_path: Path) -> None:
    from tests.synthpop.app.browsing import new_page
    from tests.synthpop.app.helpers import people

    for n in (240, 120):
        people(n).to_csv(tmp_path / f"people-{n}.csv", index=False)
    context = browser.new_context(locale="en-GB")

    class SameServer:
        address = page.url

    other = new_page(context, SameServer())  # type: ignore[arg-type]
    open_to_protect(page, tmp_path / "people-240.csv", "240 records, 7 columns")
    open_to_protect(other, tmp_path / "people-120.csv", "120 records, 7 columns")
    take_roles(page)
    take_roles(other)
    assert "240 (100 %)" in violations(page)
    assert "120 (100 %)" in violations(other)
    page.reload()
    assert "240 (100 %)" in violations(page)
    context.close()
