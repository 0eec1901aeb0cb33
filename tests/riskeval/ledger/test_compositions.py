"""Households that recur in synthetic files of one survey, and those that only look alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import Ledger

N = 1500


def households(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return ages of couples with two children, with gaps; half of the first ages are heaped."""
    first = rng.integers(25, 60, n)
    first = np.where(rng.random(n) < 0.5, first // 5 * 5, first)
    return np.column_stack([
        first, first + rng.integers(-5, 6, n), first - rng.integers(20, 34, n),
        first - rng.integers(22, 38, n),
    ])  # fmt: skip


def file(ages: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Return persons of households, members in random order."""
    shuffled = rng.permuted(ages, axis=1)
    return pd.DataFrame({"hid": np.repeat(np.arange(len(ages)), 4), "age": shuffled.ravel() * 1.0})


def released(kind: str, seed: int) -> pd.DataFrame:
    """Return a file of one survey of 600 households."""
    survey, rng = households(np.random.default_rng(0), 600), np.random.default_rng(seed)
    if kind == "drawn":
        return file(households(rng, N), rng)
    in_refit = survey[rng.random(600) < 0.63] if kind == "refit" else survey
    ages = in_refit[rng.integers(0, len(in_refit), N)]
    if kind == "jittered":
        ages = ages + rng.integers(-2, 3, ages.shape)
    return file(ages, rng)


@pytest.mark.parametrize("kind", ["copied", "refit", "jittered", "drawn"])
def test_copied_households_recur_and_others_do_not_alarm(kind: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(released(kind, 1), "first", household="hid", synthetic=True)
    check = ledger.check(released(kind, 2), household="hid", synthetic=True)
    found = [one for one in check.verdict.evidence if one.name == "households that recur"]
    if kind in ("jittered", "drawn"):
        assert found == []
        return
    (finding,) = found
    assert finding.columns == ("age",)
    assert finding.value > (0.8 if kind == "copied" else 0.5)
    assert check.verdict.level == "exceeds your limits"


def test_households_have_to_be_named_in_both_files(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(released("copied", 1), "first", synthetic=True)
    check = ledger.check(released("copied", 2), household="hid", synthetic=True)
    assert "households that recur" not in {one.name for one in check.verdict.evidence}


def test_the_same_file_in_another_order_tells_nothing_more(tmp_path: Path) -> None:
    one = released("jittered", 1)
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(one, "first", household="hid", synthetic=True)
    again = one.assign(hid=one["hid"].max() - one["hid"]).sample(frac=1, random_state=1)
    check = ledger.check(again, household="hid", synthetic=True)
    assert "households that recur" not in {found.name for found in check.verdict.evidence}
