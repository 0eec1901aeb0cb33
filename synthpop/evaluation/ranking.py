"""All comparisons of a fit in one list, the farthest for its sampling error first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = [
    "kind", "measure", "variable", "given", "where", "value", "expected_simulation_error",
    "expected_sampling_error", "ratio",
]  # fmt: skip
LARGE = 1e6
MOST_OF_ONE = 2


def rank_comparisons(
    distances: pd.DataFrame,
    conditional: pd.DataFrame,
    sums_off: pd.DataFrame,
    parts: frozenset[str],
    n_effective: float,
) -> pd.DataFrame:
    """Return one row per comparison, sorted by `ratio`.

    distances, conditional, sums_off: tables of a `FitReport`
    parts: set of str; parts of totals: left out of the comparisons by group
    n_effective: effective size of the sample
    Returns DataFrame: `kind` ("variable", "two-way table", "conditional", "by group", "members",
        "household counts", "household sums", "age gaps", "households", "components"), `measure`,
        `variable`, `given` (the second variable), `where`, `value`, the two expected errors, and
        `ratio`: value / max(expected sampling error, expected simulation error).

    A comparison that is exact on both sides has ratio 0, whatever its expected error. An expected
    error of less than one person in 2 n (n the effective sample size) counts as that.
    """
    rows: list[Any] = [_of_distance(row) for row in distances.to_dict("records")]
    rows += conditional.assign(kind="conditional", measure="tvd").to_dict("records")
    rows += [_of_sum(row) for row in sums_off.to_dict("records")]
    known = [
        row
        for row in rows
        if row is not None and not (row["variable"] in parts and row["kind"] == "by group")
    ]
    table = pd.DataFrame(known, columns=COLUMNS[:-1])
    table = table.dropna(subset="value").reset_index(drop=True)
    table["ratio"] = ratios(table, n_effective).clip(upper=LARGE)
    return table.sort_values("ratio", ascending=False, kind="stable").reset_index(drop=True)


def ratios(table: pd.DataFrame, n_effective: float) -> pd.Series:
    """Return the value of each row over the larger of its expected errors; see above."""
    expected = table[["expected_simulation_error", "expected_sampling_error"]].max(axis=1)
    least = 0.5 / max(n_effective, 1.0)
    ratio: pd.Series = table["value"].astype(float) / np.maximum(
        expected.fillna(least).astype(float), least
    )
    return ratio.where(table["value"] > 0, 0.0)


KINDS = {
    "households": "households",
    "pairs of members": "members",
    "members per household": "household counts",
    "household sums": "household sums",
    "age gaps": "age gaps",
}


def _of_distance(row: Mapping[Any, Any]) -> dict[str, object] | None:
    scope = str(row["scope"])
    base = {key: row[key] for key in ("measure", "variable", "where", "value")}
    base |= {k: row[k] for k in ("expected_simulation_error", "expected_sampling_error")}
    if scope in KINDS:
        return {**base, "kind": KINDS[scope], "given": ""}
    if scope.startswith("mean over "):
        return {**base, "kind": "by group", "given": scope.removeprefix("mean over ")}
    if scope != "all":
        return None
    kind = "two-way table" if row["crossed"] else "variable"
    return {**base, "kind": kind, "given": row["crossed"]}


def _of_sum(row: Mapping[Any, Any]) -> dict[str, object]:
    return {
        "kind": "components", "measure": "share", "variable": row["total"], "given": "",
        "where": "", "value": max(0.0, row["population_share_off"] - row["sample_share_off"]),
        "expected_simulation_error": 0.0, "expected_sampling_error": 0.0,
    }  # fmt: skip


def worst_comparisons(ranking: pd.DataFrame, most: int, least_ratio: float) -> pd.DataFrame:
    """Return the first rows beyond a ratio; each set of variables, and each kind of one, once.

    A variable stands in at most two rows, so that one fault does not hide the others.
    """
    positions: list[int] = []
    listed: set[tuple[frozenset[str], bool]] = set()
    times: dict[str, int] = {}
    for at, row in enumerate(ranking.to_dict("records")):
        if row["ratio"] <= least_ratio or len(positions) == most:
            break
        variables = frozenset({str(row["variable"]), str(row["given"])} - {""})
        key = (variables, row["kind"] in KINDS.values())
        if key in listed or any(times.get(name, 0) >= MOST_OF_ONE for name in variables):
            continue
        listed.add(key)
        for name in variables:
            times[name] = times.get(name, 0) + 1
        positions.append(at)
    return ranking.iloc[positions].reset_index(drop=True)
