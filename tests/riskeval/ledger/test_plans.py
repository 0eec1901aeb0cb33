"""A plan that is offered, applied: no record is below k in all releases together."""

from __future__ import annotations

from pathlib import Path

import pytest

from riskeval import Ledger
from riskeval.protect import global_recode, local_suppression
from tests.riskeval.ledger.test_ledger import KEYS, noisy, shuffled, survey

TENS = [-1, *range(9, 80, 10), 200]
FIVES = [-1, *range(4, 85, 10), 200]
PLANS = {
    "other cells": (TENS, [4, 3, 2, 1], "hide the same cells"),
    "crossing classes": (FIVES, [4, 3, 2, 1], "use its classes"),
    "finer classes": ([-1, *range(4, 80, 5), 200], [1, 3, 2, 4], "use its classes"),
}


def release(breaks: list[int], importance: list[int], seed: int):
    """Ages in classes, cells suppressed until 3 agree, noise of its own in income."""
    people = noisy(survey(), seed, ["netIncome"])
    people = global_recode(people, "age", breaks=breaks).data
    return shuffled(local_suppression(people, KEYS, k=3, importance=importance).data)


@pytest.mark.parametrize("title", PLANS)
def test_a_plan_leaves_no_record_below_k_together(title: str, tmp_path: Path) -> None:
    breaks, importance, what = PLANS[title]
    ledger = Ledger(tmp_path / "ledger")
    ledger.add(release(TENS, [1, 2, 3, 4], 1), "first", keys=KEYS, household="db030")
    second = release(breaks, importance, 2)
    before = ledger.check(second, keys=KEYS, household="db030")
    assert before.verdict.fatal
    assert int(before.below_alone.sum()) == 0
    consistent, plan = ledger.consistent(second, keys=KEYS, household="db030")
    assert {what, "use its values"} <= set(plan["what"])
    after = ledger.check(consistent, keys=KEYS, household="db030")
    assert int(after.below.sum()) == 0
    assert after.verdict.level == "no objection found by what was tried", after.summary()
    hidden = consistent[KEYS].isna().to_numpy().mean() - second[KEYS].isna().to_numpy().mean()
    assert hidden < 0.1  # the plan keeps what it can
