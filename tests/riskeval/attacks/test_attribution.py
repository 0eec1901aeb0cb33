from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval import disco, replicated_uniques, tcap
from riskeval.attacks.values import number_groups
from synthpop.microdata.messages.errors import InputError


def files() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Keys A: 2 of 2 agree; B: one record; C: 2 differ; D: one, not in the synthetic file."""
    original = pd.DataFrame({"k": list("AABCCD"), "t": ["x", "x", "y", "x", "y", "z"]})
    synthetic = pd.DataFrame({"k": list("AAABCCE"), "t": ["x", "x", "y", "y", "y", "y", "z"]})
    return original, synthetic


def test_groups_of_numbers_are_counted_from_one_and_include_their_upper_limit() -> None:
    groups = number_groups(pd.Series([1.0, 5.0, np.nan, 7.0, 20.0]), np.array([5.0, 9.0]))
    assert groups.dropna().tolist() == ["1", "1", "2", "3"]


class TestWorkedByHand:
    def test_replicated_uniques(self) -> None:
        risk = replicated_uniques(*files(), ["k"])
        assert risk.per_record.tolist() == [False, False, True, False, False, False]
        assert risk.rate == pytest.approx(1 / 6)
        assert risk.unique_original == pytest.approx(2 / 6)
        assert risk.unique_in_synthetic == pytest.approx(1 / 6)
        assert risk.unique_synthetic == pytest.approx(2 / 7)  # B and E
        assert (risk.n_original, risk.n_synthetic) == (6, 7)

    def test_disco(self) -> None:
        risk = disco(*files(), "k", "t")
        assert risk.disclosive_original == pytest.approx(4 / 6)  # A, A, B, D
        assert risk.in_synthetic == pytest.approx(5 / 6)
        assert risk.disclosive_synthetic == pytest.approx(3 / 6)  # B, C, C
        assert risk.rate == pytest.approx(2 / 6)  # B and the y of C
        assert risk.disclosive_both == pytest.approx(1 / 6)  # B
        assert risk.per_record.tolist() == [False, False, True, False, True, False]
        assert risk.disclosive_in_synthetic == pytest.approx(4 / 7)  # B, C, C and E
        shares = risk.to_frame().set_index("measure")["share"]
        assert shares["DiSCO"] == risk.rate
        assert shares["Dsyn"] == risk.disclosive_in_synthetic

    def test_tcap(self) -> None:
        risk = tcap(*files(), "k", "t")
        assert risk.value("CAP_original") == pytest.approx((1 + 1 + 1 + 0.5 + 0.5 + 1) / 6)
        assert risk.value("DCAP") == pytest.approx((2 / 3 + 2 / 3 + 1 + 0 + 1 + 0) / 6)
        assert risk.value("DCAP_matched") == pytest.approx((2 / 3 + 2 / 3 + 1 + 0 + 1) / 5)
        assert risk.value("WEAP_original") == pytest.approx((2 / 3 + 2 / 3 + 1 + 1 + 1) / 5)
        assert risk.value("TCAP_original") == pytest.approx(2 / 3)  # B right, C half
        assert risk.value("WEAP") == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 + 1 + 1 + 1) / 7)
        assert risk.value("TCAP_synthetic") == pytest.approx((1 + 0.5 + 0.5) / 3)
        assert risk.value("TCAP_synthetic_all") == pytest.approx((1 + 0.5 + 0.5 + 0) / 4)
        assert risk.baseline == pytest.approx((9 + 4 + 1) / 36)
        assert risk.per_record["cap"].isna().tolist() == [False] * 5 + [True]

    def test_tau_widens_the_targeted_classes(self) -> None:
        risk = tcap(*files(), "k", "t", tau=0.6)
        assert risk.value("TCAP_original") == pytest.approx((2 + 1 + 1) / 5)
        assert risk.value("TCAP_synthetic") == pytest.approx((2 * 1 + 1 + 2 * 0.5) / 5)

    def test_words(self) -> None:
        text = replicated_uniques(*files(), "k", draws=0).summary()
        assert "16.67 % of 6 original records" in text
        assert "for 33.33 % of 6 original records" in disco(*files(), "k", "t", draws=0).summary()
        assert "WEAP at least 1" in tcap(*files(), "k", "t").summary()
        assert len(replicated_uniques(*files(), "k").to_frame()) == 4

    def test_identical_files_risk_what_the_original_risks(self) -> None:
        original, _ = files()
        risk = disco(original, original, "k", "t")
        assert risk.rate == risk.disclosive_original
        uniques = replicated_uniques(original, original, "k")
        assert uniques.rate == uniques.unique_original
        assert tcap(original, original, "k", "t").value("TCAP_original") == 1


LEVEL = st.sampled_from(["a", "b", None])


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(LEVEL, LEVEL, LEVEL), max_size=8),
    st.lists(st.tuples(LEVEL, LEVEL, LEVEL), max_size=10),
    st.sampled_from(["category", "unmatched"]),
)
def test_agree_with_record_by_record_counts(own, other, missing: str) -> None:
    anchor = ("z", "z", "a")
    own, other = [*own, anchor], [*other, anchor]
    original = pd.DataFrame(own, columns=["k", "m", "t"], dtype=object)
    synthetic = pd.DataFrame(other, columns=["k", "m", "t"], dtype=object)

    def class_of(row, rows):
        if missing == "unmatched" and None in row[:2]:
            return []
        return [r[2] for r in rows if r[:2] == row[:2]]

    uniques = replicated_uniques(original, synthetic, ["k", "m"], missing=missing)
    found = disco(original, synthetic, ["k", "m"], "t", missing=missing)
    caps = tcap(original, synthetic, ["k", "m"], "t", missing=missing)
    expected_unique, expected_disco, expected_cap = [], [], []
    for row in own:
        mine, theirs = class_of(row, own), class_of(row, other)
        expected_unique.append(len(mine) == 1 and len(theirs) == 1)
        expected_disco.append(len(set(theirs)) == 1 and theirs[0] == row[2])
        expected_cap.append(theirs.count(row[2]) / len(theirs) if theirs else math.nan)
    assert uniques.per_record.tolist() == expected_unique
    assert found.per_record.tolist() == expected_disco
    np.testing.assert_allclose(caps.per_record["cap"], expected_cap)
    single = [len(set(class_of(row, own))) == 1 for row in own]
    assert found.disclosive_original == pytest.approx(np.mean(single))
    in_original = [
        class_of(row, own).count(row[2]) / len(class_of(row, own)) if class_of(row, own) else 0
        for row in own
    ]
    assert caps.value("CAP_original") == pytest.approx(np.mean(in_original))


def test_blocks_and_new_levels_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    original, synthetic = files()
    synthetic.loc[0, "t"] = "new"
    whole = disco(original, synthetic, "k", "t", seed=1)
    monkeypatch.setattr("riskeval.attacks.counting.key_tables.CHUNK", 2)
    parts = disco(original, [synthetic.head(3), synthetic.tail(4)], "k", "t", seed=1)
    pd.testing.assert_frame_equal(whole.to_frame(), parts.to_frame())
    assert tcap(original, iter([synthetic]), "k", "t").n_synthetic == 7


class TestFaults:
    def test_columns(self) -> None:
        original, synthetic = files()
        with pytest.raises(InputError, match="Did you mean 'k'"):
            replicated_uniques(original, synthetic, ["kk"])
        with pytest.raises(InputError, match="target of the original"):
            disco(original, synthetic, "k", "tt")
        with pytest.raises(InputError, match="synthetic file"):
            disco(original, synthetic.drop(columns="t"), "k", "t")

    def test_arguments(self) -> None:
        original, synthetic = files()
        with pytest.raises(InputError, match="no key"):
            replicated_uniques(original, synthetic, [])
        with pytest.raises(InputError, match="given 2 times"):
            replicated_uniques(original, synthetic, ["k", "k"])
        with pytest.raises(InputError, match="is also a key"):
            disco(original, synthetic, ["k", "t"], "t")
        with pytest.raises(InputError, match="'drop' is not allowed"):
            disco(original, synthetic, "k", "t", missing="drop")
        for tau in (0, 1.5, True):
            with pytest.raises(InputError, match="tau"):
                tcap(original, synthetic, "k", "t", tau=tau)
        with pytest.raises(InputError, match="no such measure"):
            tcap(original, synthetic, "k", "t").value("cap")

    def test_files(self) -> None:
        original, synthetic = files()
        with pytest.raises(InputError, match="has no records"):
            replicated_uniques(original.head(0), synthetic, "k")
        with pytest.raises(InputError, match="has no records"):
            replicated_uniques(original, synthetic.head(0), "k")
        with pytest.raises(InputError, match="no level in common"):
            replicated_uniques(original, synthetic.assign(k=range(7)), "k")


@pytest.mark.parametrize("n", [50, 51])
def test_more_than_fifty_values_are_better_compared_in_groups(n: int) -> None:
    frame = pd.DataFrame({"k": np.arange(n) % 3, "y": np.arange(n) * 1.0})
    told = "Each of the 51 different values of y counts as a separate level"
    assert (told in disco(frame, frame, "k", "y", draws=0).summary()) == (n == 51)
    assert "groups" not in disco(frame, frame, "k", "y", draws=0, n_groups=n).summary()
    fewer = disco(frame, frame, "k", "y", draws=0, n_groups=n - 1).summary()
    assert f"Y is compared in {n - 1} groups, cut at quantiles of the original" in fewer
