"""Holes until nobody is rare on visible values: beside the rule in plain words, and counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from riskeval.measures.k_anonymity import k_anonymity
from riskeval.protection.suppression.suppress import local_suppression
from riskeval.protection.suppression.visible import hide_until_shown


def shown_by(codes: np.ndarray, row: int) -> int:
    """Records that show every value that the record shows."""
    has = codes[row] >= 0
    return int((codes[:, has] == codes[row, has]).all(axis=1).sum())


def naive(codes: np.ndarray, k: int) -> np.ndarray:
    """The same rule for a file without holes, record by record."""
    codes, m = codes.copy(), codes.shape[1]
    fails = [shown_by(codes, i) < k for i in range(len(codes))]
    for size in range(1, m + 1):
        while True:
            best = (0.0, 0, [], [])
            for hidden in combinations(range(m), size):
                left = [j for j in range(m) if j not in hidden]
                here = [i for i in range(len(codes)) if (codes[i, left] >= 0).all()]
                helped = [
                    i for i in here
                    if fails[i] and sum((codes[h, left] == codes[i, left]).all() for h in here) >= k
                ]  # fmt: skip
                worth = len(helped) ** 2 / max(size * len(helped), 1)
                best = max(best, (worth, -sum(1 << j for j in left), helped, list(hidden)))
            if not best[2]:
                break
            codes[np.ix_(best[2], best[3])] = -1
            for i in best[2]:
                fails[i] = False
    return codes


@pytest.mark.parametrize("seed", range(6))
def test_the_same_cells_as_the_rule_in_plain_words(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 2 + seed % 2
    codes = np.column_stack([rng.integers(0, levels, 40) for levels in (2, 3, 4, 5)])
    ones = np.ones(4)
    result = hide_until_shown(codes, np.zeros(40, dtype=int), k, 0 * ones, ones)
    assert (result < 0).any()
    assert np.array_equal(result, naive(codes, k))


def test_holes_strata_locks_ranks_and_costs_are_honoured() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, (60, 3))
    codes[rng.random((60, 3)) < 0.1] = -1
    strata = np.repeat([0, 1], 30)
    none, ones = np.zeros(3), np.ones(3)
    result = hide_until_shown(codes, strata, 2, none, ones)
    for stratum in (0, 1):
        part = result[strata == stratum]
        assert min(shown_by(part, i) for i in range(30)) >= 2
    assert ((result == codes) | (result < 0)).all()
    locked = np.zeros((60, 3), dtype=bool)
    locked[:, 0] = True
    stays = hide_until_shown(codes, strata, 2, none, ones, locked)
    assert (stays[:, 0] == codes[:, 0]).all()
    for favoured, asked in ((0, (np.array([1.0, 2, 3]), ones)), (2, (none, np.array([1.0, 1, 9])))):
        new = (hide_until_shown(codes, strata, 2, *asked) < 0) & (codes >= 0)
        plain = (result < 0) & (codes >= 0)
        assert new[:, favoured].sum() < plain[:, favoured].sum()


def test_the_summary_counts_visible_values_beside_wildcards() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 6, (200, 3)).astype(str), columns=list("abc"))
    result = local_suppression(frame, list("abc"), k=3)
    left = k_anonymity(result.data, list("abc"), k=(2, 3)).visible_violations
    assert left[2] > 0
    said = f"{left[2]} records are alone and {left[3]} records match fewer than 3"
    assert f"On the values that they show, {said}." in result.summary()
    shown = local_suppression(frame, list("abc"), k=3, targets={"visible k": 2})
    assert "On the values that they show, 0 records are alone" in shown.summary()
    by_part = local_suppression(frame, ["a", "b"], k=3, strata="c")
    alone = sum(
        k_anonymity(part, ["a", "b"], k=2).visible_violations[2]
        for _, part in by_part.data.groupby("c")
    )
    assert f"they show, {alone} record" in by_part.summary()
