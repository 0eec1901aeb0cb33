"""A hold-out that holds records of the original is not a comparison, whoever is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import membership
from riskeval.attacks.entry import AttackInput
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.shares import excess
from riskeval.attacks.strangers import overlap_of
from riskeval.comparison.compare import compare

NAMES = ("age", "reg", "income")
FACT = "100 of 200 records of the hold-out equal a record of the original"


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"age": rng.integers(18, 80, 200), "reg": rng.choice([*"abcdefgh"], 200),
         "income": rng.lognormal(10, 0.6, 200).round(), "ill": rng.choice(["no", "flu"], 200)}
    )  # fmt: skip


ORIGINAL, FRESH, STRANGERS = (people(seed) for seed in (1, 2, 3))
MIXED = pd.concat([STRANGERS[:100], ORIGINAL[:100]])
HALF = pd.concat([ORIGINAL[:100], FRESH[100:]])


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_says_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riskeval.attacks.prediction.model.TREES", 10)
    attack = ATTACKS[name]
    for holdout, is_mixed in ((MIXED, True), (STRANGERS, False)):
        inputs = AttackInput(ORIGINAL, HALF, NAMES, ("ill",), holdout, 1)
        result = attack.run(inputs, "" if attack.target == "none" else "ill")
        assert (FACT in result.summary()) == is_mixed
        readings = [it.reading() for it in attack.numbers(result) if it.excess]
        assert readings
        without = any("no verdict: the hold-out contains no strangers" in it for it in readings)
        assert without == is_mixed
        if is_mixed:
            assert not any("not clearly" in text for text in readings)


def test_a_release_made_from_the_holdout_is_nearer_to_it() -> None:
    risk = membership(ORIGINAL, STRANGERS, [*NAMES, "ill"], holdout=STRANGERS, seed=1)
    assert risk.excess.verdict == "below the hold-out"
    assert "No verdict: the release reveals more about the hold-out" in risk.summary()


def test_an_excess_that_is_clear_all_the_same_stays_one() -> None:
    one = excess(np.ones(90), np.zeros(90), 0.95, overlap="9 of 90 are shared")
    assert one is not None
    assert one.verdict == "above the hold-out"
    assert one.caution == "Caution: 9 of 90 are shared, which hides part of the excess."


def test_coincidences_are_no_overlap() -> None:
    twins = pd.concat([ORIGINAL] * 2)
    assert overlap_of(twins, STRANGERS, ["reg", "ill"]) == ""
    assert overlap_of(ORIGINAL, None, NAMES) == ""
    assert FACT in overlap_of(ORIGINAL, MIXED, NAMES)


def test_a_comparison_says_so(tmp_path: Path) -> None:
    result = compare(
        ORIGINAL, {"fresh": FRESH}, keys=["reg"], numeric=["income"], sensitive=["ill"],
        holdout=MIXED, seed=1, sample_sizes={"model": "nearest"},
    )  # fmt: skip
    assert FACT in result.summary().splitlines()[1]
    assert result.measures["note"].str.contains("the hold-out contains no strangers").any()
    assert FACT in result.report(tmp_path / "i.html").read_text(encoding="utf-8")
    page = result.report(tmp_path / "x.html", audience="external").read_text(encoding="utf-8")
    assert "The hold-out holds no strangers" in page
    assert FACT not in page
