"""The same indicator by several domains: one row each, and a page that can be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from riskeval import Indicators, compare


def two_domains() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 200),
            "owner": rng.choice(["yes", "no"], 200),
            "car": rng.choice(["yes", "no"], 200),
            "pay": rng.normal(50, 9, 200),
        }
    )


def test_estimates_of_two_domains_are_told_apart(tmp_path: Path) -> None:
    people = two_domains()
    moved = people.assign(pay=people["pay"] + 1)
    wanted = [Indicators("pay", by=name) for name in ("sex", "owner", "car")]
    found = compare(people, {"moved": moved}, keys=["sex"], indicators=wanted, seed=1)
    assert found.overlaps["domain"].tolist() == [
        "all", "f", "m", "owner: no", "owner: yes", "car: no", "car: yes",
    ]  # fmt: skip
    # The estimate over all records counts once.
    value = found.table.loc["moved", "overlap"]
    assert value == found.overlaps["overlap"].mean()
    single = compare(people, {"moved": moved}, keys=["sex"], indicators=wanted[:1], seed=1)
    assert single.overlaps["domain"].tolist() == ["all", "f", "m"]
    page = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "owner: yes" in page
