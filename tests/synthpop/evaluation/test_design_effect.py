"""The sampling error that a fit is compared with follows the design of the survey."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Pipeline, Structure, Survey, assess_fit
from synthpop.evaluation.design_effect import design_effective_size
from synthpop.evaluation.jackknife import group_jackknife
from synthpop.microdata.messages.errors import SparseDataWarning
from synthpop.microdata.statistics.design_variance import design_variance, sampled_units
from synthpop.microdata.statistics.distances import expected_total_variation
from tests.same import assert_same_frame


def villages(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Villages of 12 persons; three of four have the religion of the village."""
    village = np.repeat(np.arange(n), 12)
    main = rng.integers(0, 4, n)[village]
    religion = np.where(rng.random(len(village)) < 0.75, main, rng.integers(0, 4, len(village)))
    income = rng.normal(size=len(village)) + 2 * rng.normal(size=n)[village]
    return pd.DataFrame({"village": village, "religion": religion, "income": income})


def test_the_formula_is_the_sum_of_design_variances() -> None:
    rng = np.random.default_rng(1)
    frame = villages(40, rng)
    weights = rng.uniform(1, 3, len(frame))
    strata, cluster = frame["village"] % 5, frame["village"]
    units = sampled_units(len(frame), strata=strata, cluster=cluster, fpc=0.3)
    level = frame["religion"].to_numpy()
    shares = np.bincount(level, weights) / weights.sum()
    variances = [
        design_variance(
            ((level == k) - p) / weights.sum(), weights, strata=strata, cluster=cluster, fpc=0.3
        )
        for k, p in enumerate(shares)
    ]
    expected = np.sum(shares * (1 - shares)) / np.sum(variances)
    assert design_effective_size(level, weights, units) == pytest.approx(expected)


def test_expected_distance_of_clustered_samples() -> None:
    rng = np.random.default_rng(2)
    people = villages(4000, rng)
    truth = people["religion"].value_counts(normalize=True).sort_index().to_numpy()
    apart, expected, simple = [], [], []
    for _ in range(60):
        drawn = rng.choice(4000, 40, replace=False)
        sample = people[people["village"].isin(drawn)]
        shares = np.bincount(sample["religion"], minlength=4) / len(sample)
        apart.append(0.5 * np.abs(shares - truth).sum())
        units = sampled_units(len(sample), cluster=sample["village"])
        size = design_effective_size(sample["religion"].to_numpy(), np.ones(len(sample)), units)
        expected.append(expected_total_variation(shares, size))
        simple.append(expected_total_variation(shares, len(sample)))
    assert np.mean(expected) == pytest.approx(np.mean(apart), rel=0.12)
    assert np.mean(simple) < 0.5 * np.mean(apart)


def test_report_of_a_clustered_survey() -> None:
    frame = villages(40, np.random.default_rng(3)).astype({"religion": str})
    frame = frame.assign(w=2.0, sex=np.tile(["f", "m"], len(frame) // 2))
    reports = {}
    for name, roles in (("plain", {}), ("clustered", {"psu": "village"})):
        survey = Survey(frame, weight="w", **roles)
        recipe = Pipeline([Structure(["religion", "sex", "income"])])
        population = recipe.fit(survey, seed=1).simulate(seed=1)
        distances = assess_fit(survey, population).distances
        distances = distances[distances["scope"] == "all"]
        reports[name] = distances.set_index(["variable", "crossed"])["expected_sampling_error"]
    ratio = reports["clustered"] / reports["plain"]
    assert ratio["religion", ""] > 2
    assert ratio["income", ""] > 1.5
    assert ratio["sex", ""] == pytest.approx(1)  # does not vary between villages


def test_jackknife_leaves_out_whole_units() -> None:
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(40), 10)
    level = rng.normal(size=40)[unit]
    by_household = group_jackknife(lambda used: float(level[used].mean()), 400)
    by_unit = group_jackknife(lambda used: float(level[used].mean()), 400, units=unit)
    assert by_unit == pytest.approx(level[::10].std(ddof=1) / np.sqrt(40), rel=0.01)
    assert by_unit > 2.5 * by_household


def test_a_design_that_cannot_be_used_is_named_and_left_out() -> None:
    frame = villages(20, np.random.default_rng(5)).astype({"religion": str})
    frame = frame.assign(w=2.0, region=np.where(np.arange(len(frame)) % 12 < 6, "a", "b"))
    survey = Survey(frame, weight="w", strata="region", psu="village")
    recipe = Pipeline([Structure(["religion"])])
    population = recipe.fit(survey, seed=1).simulate(seed=1)
    with pytest.warns(SparseDataWarning, match="some lie in two strata"):
        report = assess_fit(survey, population)
    plain = assess_fit(Survey(frame, weight="w", strata="region"), population)
    assert_same_frame(report.distances, plain.distances)
