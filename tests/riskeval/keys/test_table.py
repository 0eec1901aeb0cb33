"""The table of keys that comes with a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest

from riskeval.keys.table import TabulatedFile, table_of, tabulate
from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.attacker_risk import attacker_risk
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.delta_disclosure import delta_disclosure
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.risky_cells import risky_cells
from riskeval.measures.suda import suda
from riskeval.measures.t_closeness import t_closeness
from riskeval.measures.uniqueness import population_uniqueness
from riskeval.recovery.recover import recover

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


def test_a_table_is_taken_for_its_own_keys_only() -> None:
    frame = people()
    file = TabulatedFile(frame, tabulate(frame, KEYS))
    assert table_of(file, frame, KEYS) is file.keys
    assert table_of(frame, frame, KEYS) is not file.keys
    for keys in (["sex"], KEYS[::-1]):
        table, fresh = table_of(file, frame, keys), tabulate(frame, keys)
        assert table.names == tuple(keys)
        np.testing.assert_array_equal(table.codes, fresh.codes)
        np.testing.assert_array_equal(table.cell, fresh.cell)


MEASURES: dict[str, Callable[[Any], Any]] = {
    "l_diversity": lambda data: l_diversity(data, KEYS, "ill", missing="wildcard"),
    "t_closeness": lambda data: t_closeness(data, KEYS, "ill"),
    "beta_likeness": lambda data: beta_likeness(data, KEYS, "ill"),
    "delta_disclosure": lambda data: delta_disclosure(data, KEYS, "ill"),
    "alpha_k_anonymity": lambda data: alpha_k_anonymity(data, KEYS, "ill", alpha=0.5, k=3),
    "risky_cells": lambda data: risky_cells(data, KEYS),
    "suda": lambda data: suda(data, KEYS, missing="wildcard"),
    "attacker_risk": lambda data: attacker_risk(data, KEYS),
    "population_uniqueness": lambda data: population_uniqueness(data, KEYS, population_size=5_000),
    "recover": lambda data: recover(data, keys=KEYS),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_a_file_and_its_table_measure_as_the_file_alone(measure: Callable[[Any], Any]) -> None:
    frame = people()
    alone = measure(frame)
    # a table with weights serves measures that count records
    table = tabulate(frame, KEYS, np.arange(1.0, len(frame) + 1))
    with_table = measure(TabulatedFile(frame, table))
    assert with_table.summary() == alone.summary()
    for field in fields(alone):
        left, right = getattr(with_table, field.name), getattr(alone, field.name)
        if isinstance(right, pd.DataFrame):
            pd.testing.assert_frame_equal(left, right, check_exact=True)
        else:
            np.testing.assert_equal(left, right)
