"""An intruder written from scratch: what `riskeval.recover` should not have overlooked."""

from __future__ import annotations

import numpy as np
import pandas as pd

SURE, LEAST = 0.99, 20


def filled_in(
    released: pd.DataFrame, original: pd.DataFrame, keys: list[str], household: str | None
) -> dict[tuple[str, str], int]:
    """Count suppressed keys that a column, members, rows, places or roles give back rightly.

    Returns (source, key) -> number of right values, of the sources that the intruder can trust on
    the values that are left.
    """
    sources = {name: released[name] for name in released.columns}
    if household is not None:
        home = released.groupby(household)[household]
        sources |= {"rows": home.transform("size"), "place": home.cumcount()}
    result = {}
    for key in keys:
        gone = released[key].isna() & original[key].notna()
        if not gone.any():
            continue
        for name, source in sources.items():
            if name != key:
                result[name, key] = _by_group(released[key], source, original[key], gone)
        if household is not None:
            result["role", key] = _by_role(released, key, household, original[key], gone)
    return {pair: right for pair, right in result.items() if right}


def _by_group(values: pd.Series, source: pd.Series, truth: pd.Series, gone: pd.Series) -> int:
    group, value = pd.factorize(source)[0], pd.factorize(values)[0]
    both = (group >= 0) & (value >= 0)
    if len(set(group[both])) > 0.9 * both.sum():
        return 0
    counts = pd.Series(1, index=[group[both], value[both]]).groupby(level=[0, 1]).sum()
    by_group = counts.groupby(level=0)
    total, most = by_group.sum(), by_group.max()
    pure = most == total
    # each visible value left out: what would the others of its group have said?
    right = int(total[pure & (total > 1)].sum())
    one_off = ~pure & (total - most == 1)
    wrong = int(one_off.sum() + (one_off & (total == 2)).sum())
    if not _trusted(right, wrong, values):
        return 0
    first = counts.reset_index().drop_duplicates("level_0").set_index("level_0")["level_1"]
    told = pd.Series(group[gone]).map(first[pure])
    shown = np.append(values.astype(object).dropna().unique(), None)
    guess = shown[told.fillna(len(shown) - 1).astype(int)]
    return int((guess == truth[gone].astype(object).to_numpy()).sum())


def _by_role(
    released: pd.DataFrame, key: str, household: str, truth: pd.Series, gone: pd.Series
) -> int:
    home = released[household]
    unknown = released[key].isna().groupby(home).transform("sum")
    n_right = 0
    for level in released[key].dropna().unique():
        times = (released[key] == level).groupby(home).transform("sum")
        complete = unknown == 0
        right = int((complete & (released[key] == level) & (times == 1)).sum())
        if _trusted(right, int((complete & (times == 0)).sum()), released[key]):
            rows = gone & (unknown == 1) & (times == 0)
            n_right += int((truth[rows] == level).sum())
    return n_right


def _trusted(right: int, wrong: int, values: pd.Series) -> bool:
    cases = right + wrong
    by_guessing = 1 - values.value_counts(normalize=True).max()
    return cases >= LEAST and wrong <= min(1 - SURE, by_guessing / 10) * cases


def smallest_count(released: pd.DataFrame, keys: list[str]) -> int:
    """Smallest number of records that a record matches; a missing value matches every value."""
    codes = np.column_stack([pd.factorize(released[key])[0] for key in keys])
    patterns, sizes = np.unique(codes, axis=0, return_counts=True)
    smallest = len(codes)
    for pattern in patterns:
        agree = (patterns == pattern) | (patterns < 0) | (pattern < 0)
        smallest = min(smallest, int(sizes[agree.all(axis=1)].sum()))
    return smallest
