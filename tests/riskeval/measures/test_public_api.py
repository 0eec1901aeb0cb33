"""Public names, arguments and fields that scripts of users rely on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import pytest

import riskeval
from synthpop.microdata.roles.microdata import FROM_FILE

KEYS = ["region", "age", "sex"]
RNG = np.random.default_rng(8)
N = 120
DATA = pd.DataFrame(
    {
        "region": RNG.choice(["north", "south", "west"], N),
        "age": RNG.integers(3, 9, N) * 10,
        "sex": RNG.choice(["f", "m"], N),
        "ill": RNG.choice(["no", "flu", "cancer"], N),
        "income": RNG.integers(1, 5, N),
        "household": np.arange(N) // 2,
        "w": RNG.uniform(20, 200, N),
    }
)

# name -> (positional arguments, keyword-only arguments with their defaults)
SIGNATURES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "frequency_counts": (["data", "keys"], {"weights": None, "missing": "wildcard", "alpha": 1.0}),
    "k_anonymity": (["data", "keys"], {"k": (2, 3, 5), "missing": "wildcard", "alpha": 1.0}),
    "l_diversity": (
        ["data", "keys", "sensitive"],
        {"recursive_c": 2.0, "missing": "own-category", "missing_sensitive": "ignore"},
    ),
    "t_closeness": (["data", "keys", "sensitive"], {"distance": None, "missing": "own-category"}),
    "individual_risk": (
        ["data", "keys"],
        {
            "weights": FROM_FILE,
            "household": None,
            "missing": "wildcard",
            "alpha": 1.0,
            "quality": None,
            "coverage": None,
            "attempt": None,
        },
    ),
    "suda": (
        ["data", "keys"],
        {"max_size": None, "dis_fraction": 0.01, "normalise": "original", "missing": "exclude"},
    ),
    "loglinear_risk": (
        ["data", "keys"],
        {"weights": None, "formula": None, "method": "poisson", "bound": np.inf},
    ),
    "classification_risk": (["original", "released", "keys"], {"weights": "maximal"}),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_and_defaults(name: str) -> None:
    positional, keywords = SIGNATURES[name]
    parameters = inspect.signature(getattr(riskeval, name)).parameters
    free = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert free == positional
    for argument, default in keywords.items():
        assert parameters[argument].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[argument].default == default


@pytest.mark.parametrize("name", [name for name in riskeval.__all__ if name[0] != "_"])
def test_every_name_is_there_and_described(name: str) -> None:
    assert (getattr(riskeval, name).__doc__ or "").strip()
    assert name in dir(riskeval)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no_such_measure"):
        riskeval.no_such_measure  # noqa: B018


def test_frequency_counts() -> None:
    counts = riskeval.frequency_counts(DATA, KEYS, weights="w")
    assert counts.f.shape == counts.F.shape == (N,)
    assert {*KEYS, "f", "F"} <= set(counts.table.columns)
    assert counts.table["records"].sum() == N
    assert {"size", "cells"} <= set(counts.cell_sizes.columns)


def test_k_anonymity() -> None:
    result = riskeval.k_anonymity(DATA, KEYS)
    assert list(result.violations) == [2, 3, 5]
    f = riskeval.frequency_counts(DATA, KEYS).f
    assert result.violations == {k: int((f < k).sum()) for k in (2, 3, 5)}


def test_l_diversity_and_t_closeness() -> None:
    result = riskeval.l_diversity(DATA, KEYS, ["ill", "income"])
    assert result.per_record.columns.tolist() == [
        *(f"{name}_{kind}" for name in ("ill", "income") for kind in KINDS),
        "multi_entropy",
        "multi_recursive",
    ]
    assert len(result.per_record) == N
    close = riskeval.t_closeness(DATA, KEYS, "income")
    assert close.per_record.columns.tolist() == ["income"]
    assert 0 <= close.t <= 1


KINDS = ("distinct", "entropy", "recursive")


def test_individual_risk() -> None:
    result = riskeval.individual_risk(DATA, KEYS, weights="w", household="household")
    assert result.risk.shape == result.household_risk.shape == result.f.shape == (N,)
    assert result.F.shape == (N,)
    assert result.global_risk == pytest.approx(result.risk.mean())
    assert result.expected_reidentifications == pytest.approx(result.risk.sum())
    assert result.household_global_risk == pytest.approx(result.household_risk.mean())
    assert result.expected_household_reidentifications == pytest.approx(result.household_risk.sum())
    assert isinstance(result.above_benchmark, int)
    threshold = result.threshold_for(result.global_risk / 2)
    assert np.minimum(result.risk, threshold).mean() <= result.global_risk / 2
    assert result.count_above(threshold) == (result.risk > threshold).sum() > 0


def test_suda() -> None:
    result = riskeval.suda(DATA, KEYS)
    assert result.score.shape == result.dis_score.shape == result.n_msu.shape == (N,)
    assert result.contribution.shape == (N, len(KEYS))
    assert len(result.attribute_contribution) == len(KEYS)
    assert set(result.level_contribution.iloc[:, 0]) == set(KEYS)


def test_loglinear_risk() -> None:
    for method in ("poisson", "clogg-eliason", "pseudo-ml", "weighted", "ipf"):
        result = riskeval.loglinear_risk(DATA, KEYS, weights="w", method=method)
        assert 0 <= result.tau1 <= result.tau2 <= result.n_uniques
        assert result.lambda_.shape == (N,)
        assert np.isfinite(result.lambda_).all()


def test_classification_risk() -> None:
    released = DATA.assign(age=DATA["age"] // 30 * 30)
    result = riskeval.classification_risk(DATA, released, KEYS)
    assert result.matrix.to_numpy().sum() == N
    assert 0 <= result.minimal <= result.maximal <= 1
    assert result.weighted == pytest.approx(result.maximal)


RESULTS: dict[str, Callable[[], Any]] = {
    "frequency_counts": lambda: riskeval.frequency_counts(DATA, KEYS),
    "k_anonymity": lambda: riskeval.k_anonymity(DATA, KEYS),
    "l_diversity": lambda: riskeval.l_diversity(DATA, KEYS, "ill"),
    "t_closeness": lambda: riskeval.t_closeness(DATA, KEYS, "ill"),
    "individual_risk": lambda: riskeval.individual_risk(DATA, KEYS, weights="w"),
    "suda": lambda: riskeval.suda(DATA, KEYS),
    "loglinear_risk": lambda: riskeval.loglinear_risk(DATA, KEYS, weights="w"),
    "classification_risk": lambda: riskeval.classification_risk(DATA, DATA, KEYS),
    "risky_cells": lambda: riskeval.risky_cells(DATA, KEYS),
    "beta_likeness": lambda: riskeval.beta_likeness(DATA, KEYS, "ill"),
    "alpha_k_anonymity": lambda: riskeval.alpha_k_anonymity(DATA, KEYS, "ill", alpha=0.8, k=2),
    "delta_presence": lambda: riskeval.delta_presence(DATA.head(30), DATA, KEYS),
    "attacker_risk": lambda: riskeval.attacker_risk(DATA.head(30), KEYS, population=DATA),
    "population_uniqueness": lambda: riskeval.population_uniqueness(DATA, KEYS, weights="w"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_speak_and_stay_as_they_are(name: str) -> None:
    result = RESULTS[name]()
    assert len(result.summary()) > 40
    assert len(result.to_frame())
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        result.extra = 1
    field = next(iter(type(result).__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(result, field, None)
