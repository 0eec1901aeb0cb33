"""Replicated uniques leave a synthetic file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import protect, replicated_uniques
from synthpop.microdata.messages.errors import InputError


def files():
    rng = np.random.default_rng(8)

    def made(n):
        return pd.DataFrame({"age": rng.integers(0, 40, n), "job": rng.choice([*"abcdef"], n),
                             "hid": np.arange(n) // 2})  # fmt: skip

    return made(300), made(240)


def test_what_leaves_is_what_the_attack_finds():
    original, synthetic = files()
    result = protect.remove_replicated_uniques(synthetic, original, keys=["age", "job"])
    keys = ["age", "job"]
    counts = [frame.groupby(keys).size() for frame in (original, synthetic)]
    both = set(counts[0][counts[0] == 1].index) & set(counts[1][counts[1] == 1].index)
    gone = synthetic.index.difference(result.data.index)
    assert set(map(tuple, synthetic.loc[gone, keys].to_numpy().tolist())) == both != set()
    assert result.records_dropped == len(both)
    found = replicated_uniques(original, synthetic, keys, seed=1)
    assert result.records_dropped == found.per_record.sum()
    assert replicated_uniques(original, result.data, keys, seed=1).rate == 0


def test_households_go_whole_and_all_shared_columns_are_keys():
    original, synthetic = files()
    result = protect.remove_replicated_uniques(
        synthetic, original, keys=["age", "job"], household="hid"
    )
    assert set(result.data.groupby("hid").size()) == {2}
    alone = protect.remove_replicated_uniques(original, original.iloc[:5])
    assert alone.records_dropped == 5
    assert protect.remove_replicated_uniques(
        original.drop(columns="hid"), original.drop(columns="hid")
    ).parameters["keys"] == ["age", "job"]


def test_faults():
    original, synthetic = files()
    with pytest.raises(InputError, match="Did you mean 'age'"):
        protect.remove_replicated_uniques(synthetic, original, keys=["agee"])
    with pytest.raises(InputError, match="every record"):
        protect.remove_replicated_uniques(original, original)
