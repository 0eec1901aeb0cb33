from __future__ import annotations

import itertools

import numpy as np
import pytest

from synthpop.microdata.messages.errors import InputError
from synthpop.sampling import (
    draw_unequal,
    horvitz_thompson,
    inclusion_probabilities,
    joint_probabilities,
)


def test_simple_random_sampling_is_the_textbook_formula() -> None:
    y, n, size = np.array([3.0, 5.0, 10.0, 4.0]), 4, 20
    p = np.full(4, n / size)
    joint = np.full((4, 4), n * (n - 1) / (size * (size - 1)))
    textbook = size**2 * (1 - n / size) * y.var(ddof=1) / n
    for method in ("sen-yates-grundy", "horvitz-thompson"):
        total = horvitz_thompson(y, p, joint=joint, method=method)
        assert total.estimate == pytest.approx(20 * y.mean())
        assert total.variance == pytest.approx(textbook)
    assert horvitz_thompson(y, p).variance == pytest.approx(textbook)
    assert horvitz_thompson(y, p).method == "deville"
    assert horvitz_thompson(y, p, joint=joint).method == "sen-yates-grundy"


def test_variance_estimators_are_unbiased_over_all_samples() -> None:
    p = inclusion_probabilities([1.0, 2.0, 3.0, 2.5, 1.5], 3)
    y = np.array([4.0, 9.0, 7.0, 12.0, 1.0])
    joint = joint_probabilities(p, method="sampford")
    odds = p / (1 - p)
    samples = list(itertools.combinations(range(5), 3))
    chance = np.array([np.prod(odds[list(s)]) * (1 - p[list(s)]).sum() for s in samples])
    chance /= chance.sum()
    totals = [horvitz_thompson(y[list(s)], p[list(s)]).estimate for s in samples]
    truth = float(np.dot(chance, (np.array(totals) - y.sum()) ** 2))
    assert np.dot(chance, totals) == pytest.approx(y.sum())
    for method in ("sen-yates-grundy", "horvitz-thompson"):
        estimates = [
            horvitz_thompson(
                y[list(s)], p[list(s)], joint=joint[np.ix_(s, s)], method=method
            ).variance
            for s in samples
        ]
        assert np.dot(chance, estimates) == pytest.approx(truth)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sampford", "brewer", "tille", "pivotal"])
def test_coverage_without_joint_probabilities(method: str) -> None:
    rng = np.random.default_rng(1)
    size = rng.lognormal(0, 0.6, 1000)
    y = 10 * size + rng.normal(0, 5, 1000)
    p = inclusion_probabilities(size, 120)
    hits = 0
    for _ in range(1500):
        rows = draw_unequal(p, rng, method=method)
        low, high = horvitz_thompson(y[rows], p[rows]).interval
        hits += low <= y.sum() <= high
    assert 0.93 <= hits / 1500 <= 0.97


def test_arguments_and_faults() -> None:
    y, p = [1.0, 5.0, 9.0], [0.2, 0.3, 0.4]
    base = horvitz_thompson(y, p)
    wide = horvitz_thompson(y, p, level=0.99)
    assert wide.interval[0] < base.interval[0]
    assert "95 %" in base.summary()
    assert base.standard_error == pytest.approx(np.sqrt(base.variance))
    with pytest.raises(InputError) as caught:
        horvitz_thompson([np.nan, 1.0], [0.5], joint=[[1.0]], level=7)
    assert len(caught.value.faults) == 4
    with pytest.raises(InputError, match="is needed"):
        horvitz_thompson(y, p, method="horvitz-thompson")
    with pytest.raises(InputError, match="cannot be drawn"):
        horvitz_thompson(y, p, joint=np.zeros((3, 3)))
    with pytest.raises(InputError, match="not allowed"):
        horvitz_thompson(y, p, method="jackknife")
    with pytest.raises(InputError, match="between 0 and 1"):
        horvitz_thompson(y, [0.0, 0.3, 0.4])


def test_certain_units_add_nothing() -> None:
    """The first number is that of sampling::varest in R, the second of Hájek's formula by hand."""
    y, p = [10.0, 20.0, 5.0, 7.0, 8.0], [1.0, 1.0, 0.3, 0.5, 0.2]
    deville = horvitz_thompson(y, p).variance
    assert deville == pytest.approx(441.1, abs=0.05)
    hajek = horvitz_thompson(y, p, method="hajek").variance
    assert hajek == pytest.approx(433.3, abs=0.05)
    without = [
        horvitz_thompson(y[2:], p[2:], method=name).variance for name in ("deville", "hajek")
    ]
    assert [deville, hajek] == pytest.approx(without)
    assert horvitz_thompson(y[:2], p[:2]).variance == 0
    single = horvitz_thompson(y[:3], p[:3])
    assert np.isnan(single.variance)
    assert np.isnan(single.interval).all()
    assert "cannot be estimated" in single.summary()


@pytest.mark.slow
def test_many_certain_units() -> None:
    """The count of certain units in the factor made it 0.82 of the true variance."""
    rng = np.random.default_rng(2)
    size = np.concatenate([np.full(50, 1e6), rng.lognormal(0, 0.5, 150)])
    p, y = inclusion_probabilities(size, 55), np.concatenate([np.full(50, 3.0), size[50:] * 2 + 1])
    totals, variances = [], []
    for _ in range(3000):
        rows = draw_unequal(p, rng)
        total = horvitz_thompson(y[rows], p[rows])
        totals.append(total.estimate)
        variances.append(total.variance)
    assert np.mean(variances) / np.var(totals) == pytest.approx(1.0, abs=0.08)
