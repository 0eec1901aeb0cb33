"""Population uniqueness against exact expectations, simulated models and a known population."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.special import gammaln
from scipy.stats import hypergeom

from riskeval.measures.uniqueness import population_uniqueness
from riskeval.measures.uniqueness_models import (
    pitman_fit,
    pitman_uniques,
    snb_uniques,
    zayatz_uniques,
)
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import survey_data


def expected_singletons(theta, alpha, n):
    """Seat n persons one by one: the chain that defines Pitman's formula."""
    states = {(1,): 1.0}
    for seated in range(1, n):
        following = {}
        for sizes, probability in states.items():
            ways = [(*sizes, 1)]
            chances = [theta + alpha * len(sizes)]
            for i, size in enumerate(sizes):
                ways.append((*sizes[:i], size + 1, *sizes[i + 1 :]))
                chances.append(size - alpha)
            for way, chance in zip(ways, chances, strict=True):
                state = tuple(sorted(way))
                gain = probability * chance / (theta + seated)
                following[state] = following.get(state, 0.0) + gain
        states = following
    return sum(p * sizes.count(1) for sizes, p in states.items())


@pytest.mark.parametrize("n", [2, 5, 9])
def test_pitman_expectation_of_a_fitted_model(n):
    counts = np.array([1] * 12 + [2] * 5 + [3] * 2 + [9])
    theta, alpha = pitman_fit(counts)
    assert pitman_uniques(counts, n) == pytest.approx(expected_singletons(theta, alpha, n))


def test_pitman_estimates_maximise_the_likelihood():
    counts = np.array([1] * 30 + [2] * 9 + [4] * 3 + [20, 31])

    def likelihood(theta, alpha):
        n, u = counts.sum(), len(counts)
        new = np.log(theta + alpha * np.arange(1, u)).sum()
        inside = (gammaln(counts - alpha) - gammaln(1 - alpha)).sum()
        return new - np.log(theta + np.arange(1, n)).sum() + inside

    theta, alpha = pitman_fit(counts)
    best = likelihood(theta, alpha)
    for step in (0.9, 1.1):
        assert likelihood(theta * step, alpha) < best
        assert likelihood(theta, alpha * step) < best


def test_pitman_without_a_maximum():
    assert pitman_fit(np.ones(5, dtype=int)) is None
    assert pitman_fit(np.array([7])) is None
    assert np.isnan(pitman_uniques(np.ones(5, dtype=int), 100))


def test_pitman_with_a_finite_number_of_keys():
    """Keys of about equal size: the Dirichlet-multinomial branch, alpha below 0."""
    rng = np.random.default_rng(2)
    people = rng.choice(500, size=40_000, p=rng.dirichlet(np.full(500, 0.8)))
    sizes = np.bincount(people)
    counts = np.bincount(rng.permutation(people)[:4_000])
    theta, alpha = pitman_fit(counts[counts > 0])
    assert alpha == pytest.approx(-0.8, rel=0.25)
    assert theta / -alpha == pytest.approx(500, rel=0.15)
    found = pitman_uniques(counts[counts > 0], 40_000)
    assert abs(found - (sizes == 1).sum()) < 12
    tiny = np.array([1] * 946 + [2] * 95 + [3] * 11)  # cannot tell: stays with alpha >= 0
    assert pitman_fit(tiny)[1] >= 0


def counts_of_nearly_all_keys(k: int, largest: int) -> np.ndarray:
    return np.array([1] * k + [2] * (k - 1) + [3] * (k - 2) + [4] * (k - 1) + [6, 6, largest])


@pytest.mark.parametrize(("k", "largest", "finite"), [(8, 20, True), (7, 20, False)])
def test_a_finite_number_of_keys_has_to_be_clearly_more_likely(k, largest, finite):
    """It gains 2.01 and 1.54 in log-likelihood; one more parameter needs 1.92."""
    counts = counts_of_nearly_all_keys(k, largest)
    n, u = counts.sum(), len(counts)

    def gain(b, m):
        """Of m keys of equal weight, over theta persons with keys of their own and alpha = 0."""
        finite = (u - 1) * np.log(b) + gammaln(m) - gammaln(m - u + 1)
        finite += gammaln(m * b + 1) - gammaln(m * b + n)
        finite += (gammaln(counts + b) - gammaln(1 + b)).sum()
        theta = optimize.brentq(lambda t: (t / (t + np.arange(n))).sum() - u, 1e-3, 1e3)
        return finite - (
            (u - 1) * np.log(theta) - np.log(theta + np.arange(1, n)).sum() + gammaln(counts).sum()
        )

    best = optimize.minimize(lambda x: -gain(np.exp(x[0]), u + np.exp(x[1])), [0.0, 1.0], tol=1e-9)
    b, m = np.exp(best.x[0]), u + np.exp(best.x[1])
    assert (gain(b, m) > 1.92) == finite
    theta, alpha = pitman_fit(counts)
    if finite:
        assert (theta, alpha) == pytest.approx((m * b, -b), rel=1e-4)
    else:
        assert 0 <= alpha < 1e-6


def test_keys_that_are_all_about_equally_frequent_count_as_open_ended():
    """A finite number of keys gains 2.78 in log-likelihood here, with a shape above 10."""
    assert pitman_fit(np.array([1, 2, 2, 3, 3, 3]))[1] >= 0


def test_zayatz_by_its_definition():
    counts = np.array([1, 1, 1, 2, 2, 5])
    n, big, u = 12, 40, 6
    shares = {1: 3 / u, 2: 2 / u, 5: 1 / u}
    one = {j: hypergeom(big, j, n).pmf(1) for j in shares}
    probability = shares[1] * one[1] / sum(shares[j] * one[j] for j in shares)
    assert zayatz_uniques(counts, big) == pytest.approx(3 * probability * big / n)


def test_zayatz_of_a_file_of_nearly_everybody():
    """Nobody but the uniques can come from a class of which one person was left in the file."""
    counts = np.array([1, 1, 2, 3])
    assert zayatz_uniques(counts, 7.4) == pytest.approx(2 * 7.4 / 7)
    assert zayatz_uniques(counts, 7.0) == pytest.approx(2)


def test_slide_negative_binomial_finds_its_own_parameters():
    rng = np.random.default_rng(7)
    sizes = 1 + rng.negative_binomial(0.4, 1 / (1 + 5.0), 300_000)
    sample = rng.binomial(sizes, 0.3)
    found = snb_uniques(sample[sample > 0], sizes.sum())
    assert found == pytest.approx((sizes == 1).sum(), rel=0.02)


DATA = pd.DataFrame({"key": [1, 1, 1, 2, 2, 3, 4, None], "w": [2.5] * 8})


def test_rule_of_dankar():
    small = population_uniqueness(DATA, ["key"], population_size=80)
    large = population_uniqueness(DATA, ["key"], population_size=79)
    assert small.fraction == 0.1
    assert small.chosen == "pitman"
    two = large.table.loc[["zayatz", "snb"], "population_uniques"]
    assert large.chosen == two.idxmin()
    assert large.population_uniques == two.min()
    assert "since the sampling fraction is above 0.1 and it is the smaller" in large.summary()
    assert "Method: pitman, since the sampling fraction is at most 0.1 (rule of" in small.summary()
    assert small.tau1_range == (
        small.table["sample_uniques"].min(),
        small.table["sample_uniques"].max(),
    )
    np.testing.assert_allclose(
        small.table["sample_uniques"], np.minimum(small.table["population_uniques"] / 10, 3)
    )
    unsolved = population_uniqueness(pd.DataFrame({"k": [1, 2, 3]}), ["k"], population_size=50)
    assert unsolved.chosen == "zayatz"
    assert unsolved.table.loc["pitman", "note"] != ""


def test_population_from_weights_or_number():
    by_weights = population_uniqueness(DATA, ["key"], weights="w")
    by_number = population_uniqueness(DATA, ["key"], population_size=20)
    pd.testing.assert_frame_equal(by_weights.table, by_number.table)
    both = population_uniqueness(DATA, ["key"], weights="w", population_size=200)
    assert both.population_size == 200


def test_missing_key_is_a_category():
    assert population_uniqueness(DATA, ["key"], weights="w").n_sample_uniques == 3
    assert population_uniqueness(DATA, ["key"], weights="w").n_keys == 5


def test_census_and_no_uniques():
    census = population_uniqueness(DATA, ["key"], population_size=8)
    assert census.population_uniques == census.tau1 == 3
    assert set(census.table["note"]) == {"the file is the population"}
    pairs = population_uniqueness(pd.DataFrame({"k": [1, 1]}), ["k"], population_size=9)
    assert pairs.tau1 == 0
    assert set(pairs.table["note"]) == {"no record is unique"}


def test_empty_file():
    empty = population_uniqueness(DATA.iloc[:0], ["key"], population_size=10)
    assert empty.tau1 == 0
    assert "empty" in empty.summary()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "population_size: is not given"),
        ({"population_size": 7}, "fewer than the 8 records"),
        ({"weights": "ww"}, "ww"),
    ],
)
def test_faults(arguments, message):
    with pytest.raises(InputError, match=message):
        population_uniqueness(DATA, ["key"], **arguments)


def test_known_population():
    population = survey_data("eusilcP")
    keys = ["region", "hsize", "age", "gender", "ecoStat", "citizenship"]
    true = (
        population.groupby(keys, observed=True, dropna=False)["hid"].transform("size") == 1
    ).sum()
    taken = np.random.default_rng(3).permutation(len(population))[: len(population) // 10]
    result = population_uniqueness(population.iloc[taken], keys, population_size=len(population))
    assert result.chosen == "pitman"
    assert result.population_uniques == pytest.approx(true, rel=0.25)
    zayatz = float(result.table.loc["zayatz", "population_uniques"])
    assert zayatz > 2 * true  # far too high for small samples
