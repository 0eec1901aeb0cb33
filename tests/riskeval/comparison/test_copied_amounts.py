"""Amounts in no role: a synthetic release must not hold the original's; weights may stand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import Release, compare

ROLES = {"keys": ["region", "sex"], "weights": "w", "seed": 1, "sample_sizes": {"model": "nearest"}}


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    keys = {"region": rng.choice(list("abcde"), 300), "sex": rng.choice(["f", "m"], 300)}
    weights, income = rng.uniform(50, 150, 300).round(3), rng.lognormal(10, 0.7, 300).round(2)
    return pd.DataFrame({**keys, "w": weights, "income": income})


@pytest.mark.parametrize(
    ("copied", "kind", "named"),
    [
        (["income"], "synthetic", True),
        (["w"], "synthetic", False),
        ([], "synthetic", False),
        (["income"], "perturbed", False),  # a record of its own may keep what nobody knows
    ],
)
def test_amounts_of_a_synthetic_release_in_no_role(
    copied: list[str], kind: str, named: bool
) -> None:
    original = people(1)
    order = np.random.default_rng(2).permutation(300)
    release = people(3)
    release[copied] = (
        original[copied].iloc[order if kind == "synthetic" else slice(None)].to_numpy()
    )
    verdict = compare(original, {"r": Release(release, kind=kind)}, **ROLES).verdicts["r"]
    assert any(one.name == "copied amounts" for one in verdict.evidence) == named
    assert verdict.fatal == named
