"""An amount that the key tells within a few units is named on every front; a clean one is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, assess, compare
from riskeval.measures.amount_groups import AMOUNT_TOLD

KEYS = ["region", "sex"]


def people(*, told: bool) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"region": rng.choice(list("abcde"), 200), "sex": rng.choice(["f", "m"], 200), "w": 100.0}
    )
    group = pd.factorize(frame["region"] + frame["sex"])[0]
    near = 20_000 + 5_000 * group + rng.uniform(-0.5, 0.5, 200)
    return frame.assign(income=near if told else rng.lognormal(10, 0.7, 200))


@pytest.mark.parametrize("told", [True, False])
def test_amounts_that_are_constant_up_to_half_a_unit_are_named(told: bool) -> None:
    data = people(told=told)
    noise = np.random.default_rng(2).uniform(-0.4, 0.4, len(data))
    release = data.assign(income=data["income"] + noise)
    roles = {"keys": KEYS, "sensitive": ["income"], "weights": "w"}
    verdicts = [
        assess(data, **roles).verdict,
        ProtectionSession(data, **roles).verdict(),
        *(
            compare(
                data, {"r": release}, numeric=numeric, seed=1, sample_sizes={"model": "nearest"},
                **roles,
            ).verdicts["r"]
            for numeric in ([], ["income"])
        ),
    ]  # fmt: skip
    for verdict in verdicts:
        assert any(AMOUNT_TOLD.title in one.name for one in verdict.evidence) == told
