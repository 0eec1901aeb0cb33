"""Excess over strangers and areas under curves: worked numbers and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from riskeval.attacks.counting.replicated_uniques import excess_sentence
from riskeval.attacks.shares import FEW, Excess, auc, caution_of, corrected, excess
from synthpop.microdata.statistics.intervals import newcombe

Z = 1.959963984540054


def test_bonferroni() -> None:
    assert corrected(0.9, 4) == pytest.approx(0.975)
    assert corrected(0.9, 1) == corrected(0.9, 0) == pytest.approx(0.9)


def test_an_excess_is_a_difference_of_shares() -> None:
    """30 of 40 persons against 10 of 50 strangers; a register holds half of the population."""
    members, strangers = np.arange(40) < 30, np.arange(50) < 10
    low, high = newcombe(30, 40, 10, 50, 0.95)
    plain = excess(members, strangers, 0.95)
    assert plain is not None
    assert (plain.rate, plain.holdout_rate) == (0.75, 0.2)
    assert plain.difference == pytest.approx(0.55)
    assert (plain.lower, plain.upper, plain.n, plain.n_holdout) == (low, high, 40, 50)
    half = excess(members, strangers, 0.95, coverage=0.5)
    assert half is not None
    assert (half.rate, half.holdout_rate) == (0.375, 0.1)
    assert half.difference == pytest.approx(0.275)
    assert (half.lower, half.upper) == (0.5 * low, 0.5 * high)
    several = excess(members, strangers, 0.95, n_tests=5)
    assert several is not None
    assert (several.lower, several.upper) == newcombe(30, 40, 10, 50, corrected(0.95, 5))


def test_one_person_on_either_side_is_enough_and_none_is_not() -> None:
    one, none = np.ones(1), np.ones(0)
    assert excess(one, one, 0.95) is not None
    assert excess(none, one, 0.95) is None
    assert excess(one, none, 0.95) is None


def ends(lower: float, upper: float, overlap: str = "") -> Excess:
    return Excess(0.5, 0.4, (lower + upper) / 2, lower, upper, 9, 9, 0.95, 1, overlap)


def test_an_interval_that_begins_at_zero_is_not_clear() -> None:
    touching = ends(0.0, 0.0)
    assert not touching.is_above
    assert not touching.is_below
    assert touching.verdict == "not clearly above the hold-out"
    assert touching.caution == ""
    above, below = ends(1e-9, 0.2), ends(-0.2, -1e-9)
    assert above.is_above
    assert below.is_below
    assert (above.verdict, below.verdict) == ("above the hold-out", "below the hold-out")


def test_one_among_several_attacks_needs_a_wider_interval() -> None:
    """Half-width 0.1 at 95 %; among four attacks at 98.75 %: 0.1 z(0.99375) / z(0.975)."""
    wide = 0.1 * norm.ppf(0.99375) / Z
    for middle, clear in ((wide + 1e-6, True), (wide - 1e-6, False)):
        one = ends(middle - 0.1, middle + 0.1)
        assert one.is_above_among(1)
        assert one.is_above_among(4) == clear
        other = ends(-middle - 0.1, -middle + 0.1)
        assert other.is_below_among(1)
        assert other.is_below_among(4) == clear
        assert not one.is_below_among(1)
        assert not other.is_above_among(1)
    # the limit itself is not clear
    assert not ends(0.0, 0.2).is_above_among(1)
    assert not ends(-0.2, 0.0).is_below_among(1)


def test_intervals_that_are_corrected_already_are_stretched_from_there() -> None:
    """Two numbers of each of three attacks: from 97.5 % to 99 1/6 %."""
    wide = 0.1 * norm.ppf(1 - 0.05 / 12) / norm.ppf(1 - 0.05 / 4)
    for middle, clear in ((wide + 1e-6, True), (wide - 1e-6, False)):
        one = Excess(0.5, 0.4, middle, middle - 0.1, middle + 0.1, 9, 9, 0.95, 2)
        assert one.is_above_among(3) == clear


def test_the_first_caution_is_told() -> None:
    none, first = ends(0.1, 0.2), ends(0.1, 0.2, "half of them are in it")
    second = ends(-0.1, 0.1, "all of them are in it")
    assert caution_of([]) == caution_of([None, none]) == ""
    told = " Caution: half of them are in it, which hides part of the excess."
    assert caution_of([None, none, first, second]) == told
    assert caution_of([second, first]) == " No verdict: all of them are in it."


def test_an_excess_in_a_sentence() -> None:
    low, high = newcombe(30, 40, 10, 50, 0.95)
    one = excess(np.arange(40) < 30, np.arange(50) < 10, 0.95)
    assert excess_sentence(one, "records") == (
        "Of the 40 records that can be compared the attack finds 75.00 %, of 50 outside the "
        "original "
        f"20.00 %: more (difference +55.00 points, 95 % interval {100 * low:+.2f} to "
        f"{100 * high:+.2f}). "
    )
    assert ": not clearly more (difference +0.00" in excess_sentence(ends(-0.1, 0.1), "records")
    below = excess_sentence(ends(-0.3, -0.1), "records")
    assert ": less (difference -20.00 points, 95 % interval -30.00 to -10.00). No v" in below
    assert excess_sentence(None, "records") == ""


def test_the_area_counts_pairs_and_halves_ties() -> None:
    """Of the pairs (2, 1), (2, 2), (2, 5), (4, 1), (4, 2), (4, 5) three and a half are ordered."""
    area, low, high = auc(np.array([2.0, 4.0]), np.array([1.0, 2.0, 5.0]), 0.95)
    assert area == pytest.approx(3.5 / 6)
    for end in (low, high):  # Newcombe's equation holds at both ends
        half = 5 / 2 - 1
        factor = 1 + half * (1 - end) / (2 - end) + half * end / (1 + end)
        assert (area - end) ** 2 == pytest.approx(Z**2 * end * (1 - end) * factor / 6, rel=1e-9)
    assert low < area < high


def test_the_interval_of_delong_by_its_definition() -> None:
    rng = np.random.default_rng(1)
    members, others = rng.normal(0.5, 1, FEW), rng.normal(0, 1, FEW + 5)
    pairs = (members[:, None] > others).astype(float)
    area, low, high = auc(members, others, 0.95)
    assert area == pytest.approx(pairs.mean())
    variance = pairs.mean(axis=1).var(ddof=1) / FEW + pairs.mean(axis=0).var(ddof=1) / (FEW + 5)
    assert low == pytest.approx(area - Z * np.sqrt(variance))
    assert high == pytest.approx(area + Z * np.sqrt(variance))
    # one score less: Newcombe's interval
    few, few_low, _ = auc(members[1:], others, 0.95)
    half = (FEW - 1 + FEW + 5) / 2 - 1
    factor = 1 + half * (1 - few_low) / (2 - few_low) + half * few_low / (1 + few_low)
    bound = Z**2 * few_low * (1 - few_low) * factor / ((FEW - 1) * (FEW + 5))
    assert (few - few_low) ** 2 == pytest.approx(bound, rel=1e-9)


def test_separated_scores_have_an_interval_on_one_side() -> None:
    scores = np.arange(30.0)
    area, low, high = auc(scores + 30, scores, 0.95)
    assert (area, high) == (1.0, 1.0)
    assert 0.85 < low < 0.97
    area, mirrored_low, mirrored_high = auc(scores, scores + 30, 0.95)
    assert (area, mirrored_low) == (0.0, 0.0)
    assert mirrored_high == pytest.approx(1 - low)


def test_the_ends_of_delong_stay_within_zero_and_one() -> None:
    scores = np.arange(float(FEW))
    mixed = np.append(scores[1:] + 100, 0.5)  # one of 25 persons lies low
    area, low, high = auc(mixed, scores, 0.95)
    assert area == pytest.approx(1 - 24 / 625)
    assert high == 1.0
    assert low > 0.8
    area, low, high = auc(scores, mixed, 0.95)
    assert low == 0.0
    assert high < 0.2


def test_persons_of_one_household_are_no_independent_draws() -> None:
    """Four members who all succeed or all fail tell as much as one person."""
    homes = np.repeat(np.arange(60), 4)
    members, strangers = np.repeat(np.arange(60) < 33, 4), np.repeat(np.arange(60) < 25, 4)
    plain = excess(members, strangers, 0.95)
    robust = excess(members, strangers, 0.95, clusters=(homes, homes))
    assert plain is not None
    assert robust is not None
    assert plain.is_above
    assert not robust.is_above
    assert robust.difference == plain.difference
    one = newcombe(33, 60, 25, 60, 0.95)
    assert robust.lower == pytest.approx(one[0], abs=0.01)
    shuffled = np.random.default_rng(1).permutation(len(homes))
    again = excess(members[shuffled], strangers, 0.95, clusters=(homes[shuffled], homes))
    assert again is not None
    assert (again.lower, again.upper) == pytest.approx((robust.lower, robust.upper))
    neighbours = excess(members[::-1], strangers[::-1], 0.95, clusters=(None, None))
    assert neighbours is not None
    assert neighbours.upper - neighbours.lower > 1.3 * (plain.upper - plain.lower)
