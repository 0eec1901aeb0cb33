"""The scorer of the public contest: by hand, and beside what NIST has published."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import nist
from benchmarks.k_marginal import (
    as_published,
    class_limits,
    inconsistent,
    k_marginal,
    k_marginal_of_nist,
)
from benchmarks.nist_peers import independent, plain_cart
from synthpop import read_table
from tests.reference_data import zoo_file

PUBLISHED_40_PERCENT = 925  # SDNist's report on a simple random sample of 40 % of national2019


def small(third: str = "0011") -> pd.DataFrame:
    columns = {"PUMA": list("aabb"), "SEX": list("1212"), "MSP": list(third)}
    return pd.DataFrame(columns)


def test_k_marginal_by_hand() -> None:
    target, released = small(), small("0111")
    assert k_marginal(target, target) == 1000.0
    # area a: one of two persons in a cell that the other file does not have; area b: none
    assert k_marginal(target, released) == pytest.approx(750.0)
    # tables (SEX, SEX), (SEX, MSP) twice, (MSP, MSP)
    assert k_marginal_of_nist(target, released) == pytest.approx((1000 + 750 + 750 + 750) / 4)
    assert k_marginal(target, released, by_area=False) == pytest.approx((1000 + 750 + 750) / 3)
    assert k_marginal(target, released, features=["PUMA", "SEX"], by_area=False) == 1000.0


def test_classes_hold_equal_shares_and_a_top_code_is_alone() -> None:
    numbers = pd.Series([str(n) for n in range(100)] + ["501"] * 50 + ["N"])
    assert len(class_limits(numbers, 501.0)) == 19
    assert class_limits(numbers, 501.0)[0] == 3


def test_published_texts_return() -> None:
    frame = pd.DataFrame({"PINCP": [1000.0, float("nan")], "AGEP": [3, 4]})
    assert as_published(frame).to_numpy().tolist() == [["1000", "3"], ["N", "4"]]


def test_a_sample_has_its_published_score_and_the_target_no_inconsistent_record() -> None:
    target = as_published(read_table(zoo_file("nist_national2019.parquet")))
    assert inconsistent(target).sum() == 0
    child = target.head(1).assign(AGEP="3", MSP="1")
    assert inconsistent(child).all()
    sample = target.sample(frac=0.4, random_state=1)
    names = ["PUMA", "AGEP", "SEX", "PINCP", "POVPIP", "INDP"]
    assert k_marginal(target, sample, features=names) < k_marginal(target, target, features=names)


@pytest.mark.slow
def test_a_sample_of_two_fifths_has_its_published_score() -> None:
    target = as_published(read_table(zoo_file("nist_national2019.parquet")))
    score = k_marginal_of_nist(target, target.sample(frac=0.4, random_state=1))
    assert score == pytest.approx(PUBLISHED_40_PERCENT, abs=2)


def test_peers_keep_margins_and_only_the_tree_keeps_more() -> None:
    one = pd.DataFrame({"PUMA": ["a", "b"] * 200, "SEX": ["1", "2"] * 200})
    drawn, torn = plain_cart(one, 1), independent(one, 1)
    assert k_marginal(one, drawn, by_area=False) > 900 > k_marginal(one, torn, by_area=False)


def test_the_job_skips_with_a_reason(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["nist", "--target", "nowhere.csv"])
    nist.main()
    assert "skipped: nowhere.csv is not there" in capsys.readouterr().out
