"""The journey "ledger" in a browser: two releases of one survey, and what they tell together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("shiny")

from riskeval import Ledger
from tests.synthpop.app.browsing import FIRST_RUN, give_role
from tests.synthpop.app.test_ledger_journey import KEYS, first, release

pytestmark = pytest.mark.browser


def test_a_release_is_laid_beside_earlier_ones_and_recorded(page: Any, tmp_path: Path) -> None:
    first(tmp_path / "ledger")
    release(3, 1, 2).to_parquet(tmp_path / "second.parquet")
    page.set_default_timeout(FIRST_RUN)
    page.click("#begin-ledger")
    page.fill("#ledger-folder", str(tmp_path / "ledger"))
    page.press("#ledger-folder", "Tab")
    page.wait_for_selector("td:has-text('University of Northport')")
    page.set_input_files("#ledger-file", tmp_path / "second.parquet")
    page.wait_for_selector("p:has-text('second.parquet')")
    page.click("#page-roles")
    for key in KEYS:
        give_role(page, key, "keys")
    give_role(page, "hid", "household")
    page.click("#page-verdict")
    page.wait_for_selector("p.fault:has-text('Do not publish this file')")
    page.fill("#release-recipients", "everybody")
    page.fill("#release-despite", "a contract")
    page.click("#record")
    page.wait_for_selector("td:has-text('a contract')")
    page.select_option("#language", "de")
    page.wait_for_selector("text=Die Datei ist festgehalten")
    row = Ledger(tmp_path / "ledger").releases.iloc[1]
    assert [row["name"], row["recipients"], row["despite"]] == ["second", "everybody", "a contract"]
