"""Releases that share no column, linked through a third one that shares some with each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import Ledger

K = 3
TWINS = 0.1
"""A few with the same amounts are not linked and may be anybody, which hides some others."""
N = 1_500


def people(seed: int = 1) -> pd.DataFrame:
    """Persons with keys, and two amounts by which files can be joined."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "region": rng.integers(0, 6, N), "age": rng.integers(18, 90, N),
        "job": rng.integers(0, 12, N), "sex": rng.integers(0, 2, N),
        "pay": rng.lognormal(10, 0.6, N).round(3), "rent": rng.lognormal(7, 0.5, N).round(4),
        "wealth": rng.lognormal(11, 1, N).round(2),
    })  # fmt: skip


def file_of(frame: pd.DataFrame, *columns: str, seed: int = 0) -> pd.DataFrame:
    return frame[list(columns)].sample(frac=1, random_state=seed).reset_index(drop=True)


def rare(frame: pd.DataFrame, *keys: str) -> int:
    """Count records that fewer than K share on keys which nobody hides."""
    return int((frame.groupby(list(keys))[keys[0]].transform("size") < K).sum())


def test_a_third_release_links_two_that_share_nothing(tmp_path: Path) -> None:
    """The new file has jobs and pay, an old one ages and rents; a third has pay and rents."""
    everybody = people()
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(file_of(everybody, "age", "region", "rent", seed=1), "ages", keys=["age", "region"])
    new = file_of(everybody, "job", "sex", "pay", seed=2)
    before = ledger.check(new, keys=["job", "sex"], k=K)
    assert before.links["linked"].tolist() == [0]
    assert int(before.below.sum()) == rare(everybody, "job", "sex") == 0
    ledger.add(file_of(everybody, "pay", "rent", seed=3), "amounts")
    check = ledger.check(new, keys=["job", "sex"], k=K)
    assert check.links["through"].tolist() == ["amounts", ""]
    assert check.links["linked"].min() > 0.95 * N
    together = rare(everybody, "job", "sex", "age", "region")
    assert int(check.below.sum()) == pytest.approx(together, rel=TWINS)
    assert check.verdict.level == "do not publish"


def test_chains_have_any_length(tmp_path: Path) -> None:
    everybody = people()
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(file_of(everybody, "age", "region", "wealth", seed=1), "ages", keys=["age"])
    ledger.add(file_of(everybody, "wealth", "rent", seed=2), "wealth")
    ledger.add(file_of(everybody, "rent", "pay", seed=3), "rents")
    check = ledger.check(file_of(everybody, "job", "sex", "pay", seed=4), keys=["job", "sex"], k=K)
    assert check.links["through"].tolist() == ["wealth", "rents", ""]
    together = rare(everybody, "job", "sex", "age")
    assert int(check.below.sum()) == pytest.approx(together, rel=TWINS)


def test_numbers_of_persons_in_two_earlier_releases_make_a_chain(tmp_path: Path) -> None:
    everybody = people().assign(persid=np.arange(N) + 100)
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(file_of(everybody, "persid", "age", "region", seed=1), "ages",
               keys=["age", "region"])  # fmt: skip
    ledger.add(file_of(everybody, "persid", "region", "pay", seed=2), "pay")
    check = ledger.check(file_of(everybody, "job", "sex", "pay", seed=3), keys=["job", "sex"], k=K)
    assert check.links["through"].tolist() == ["pay", ""]
    together = rare(everybody, "job", "sex", "age", "region")
    assert int(check.below.sum()) == pytest.approx(together, rel=TWINS)


def test_other_persons_make_no_chain_and_do_not_alarm(tmp_path: Path) -> None:
    """The third release is of the persons of the new one; the first is of others."""
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(file_of(people(2), "age", "region", "rent", "wealth", seed=1), "others",
               keys=["age", "region"])  # fmt: skip
    ledger.add(file_of(people(), "pay", "rent", "wealth", seed=2), "amounts")
    check = ledger.check(file_of(people(), "job", "sex", "pay", seed=3), keys=["job", "sex"], k=K)
    assert check.links["linked"].tolist()[0] == 0
    assert check.links["through"].tolist() == ["", ""]
    assert check.verdict.level == "no objection found by what was tried", check.summary()
