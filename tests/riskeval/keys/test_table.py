"""The table of keys that comes with a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest

from riskeval.keys.table import key_table, tabulate
from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.attacker_risk import attacker_risk
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.delta_disclosure import delta_disclosure
from riskeval.measures.frequencies import frequency_counts
from riskeval.measures.individual import individual_risk
from riskeval.measures.k_anonymity import k_anonymity
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.risky_cells import risky_cells
from riskeval.measures.suda import suda
from riskeval.measures.t_closeness import t_closeness
from riskeval.measures.uniqueness import population_uniqueness
from riskeval.recovery.recover import recover
from synthpop.microdata.roles.microdata import Microdata

KEYS = ["region", "sex", "age"]


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "west"], n),
            "sex": rng.integers(1, 3, n).astype(float),
            "age": rng.integers(18, 60, n),
            "ill": rng.choice(["flu", "HIV", "none"], n),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.05).astype({"age": "Int64"})


def test_a_file_remembers_the_table_of_its_keys() -> None:
    frame = people()
    file = Microdata(frame, keys=KEYS)
    table = key_table(file)
    assert key_table(file) is table
    assert key_table(file.with_roles(sensitive="ill")) is table
    assert key_table(file.with_column("ill", frame["ill"])) is table
    assert key_table(file.with_column("sex", frame["sex"])) is not table
    for keys in (["sex"], KEYS[::-1]):
        other, fresh = key_table(file.with_roles(keys=keys)), tabulate(frame, keys)
        assert other.names == tuple(keys)
        np.testing.assert_array_equal(other.codes, fresh.codes)
        np.testing.assert_array_equal(other.cell, fresh.cell)


def _with_roles(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    def measure(data: Any, **roles: Any) -> Any:
        known = signature(function).parameters
        return function(data, **{k: v for k, v in roles.items() if k in known}, **options)

    return measure


MEASURES: dict[str, Callable[..., Any]] = {
    "l_diversity": _with_roles(l_diversity, missing="wildcard"),
    "t_closeness": _with_roles(t_closeness),
    "beta_likeness": _with_roles(beta_likeness),
    "delta_disclosure": _with_roles(delta_disclosure),
    "alpha_k_anonymity": _with_roles(alpha_k_anonymity, alpha=0.5, k=3),
    "risky_cells": _with_roles(risky_cells),
    "suda": _with_roles(suda, missing="wildcard"),
    "attacker_risk": _with_roles(attacker_risk),
    "population_uniqueness": _with_roles(population_uniqueness, population_size=5_000),
    "recover": _with_roles(recover),
    "frequency_counts": _with_roles(frequency_counts),
    "k_anonymity": _with_roles(k_anonymity),
    "individual_risk": _with_roles(individual_risk, weights=None),
}


def assert_same(left: Any, right: Any) -> None:
    assert left.summary() == right.summary()
    for field in fields(left):
        one, two = getattr(left, field.name), getattr(right, field.name)
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, two, check_exact=True)
        elif field.name not in ("counts", "keys"):
            np.testing.assert_equal(one, two)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_a_file_with_roles_measures_as_its_table_with_arguments(
    measure: Callable[..., Any],
) -> None:
    frame = people()
    file = Microdata(frame, keys=KEYS, sensitive="ill")
    with_arguments = measure(frame, keys=KEYS, sensitive="ill")
    assert_same(measure(file), with_arguments)
    assert_same(measure(file), with_arguments)  # from what is remembered
