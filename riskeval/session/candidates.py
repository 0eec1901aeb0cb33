"""Steps that a search may take: recodings of a key, suppression, and treatments of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.amount_targets import AMOUNT_TARGETS
from riskeval.protection.registry import VERBS
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.message import message

Arguments = tuple[str, dict[str, Any]]
"""A verb of ``riskeval.protect`` with its arguments, before roles fill the others."""

MANY_CODES = 30
"""Whole numbers with more distinct values are amounts or ages, with fewer they are codes."""
CLASSES = (20, 12, 8, 5, 3)
"""Numbers of classes that the recodings of a number aim at, from fine to coarse."""
MOST_JOINED = 6
"""Groupings tried for one categorical key."""
NICE = (1.0, 2.0, 5.0)
NOISE = (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0)
GROUP_SIZES = (3, 5, 8, 12, 20, 40)
RANK_SHARES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.2)
TARGET_OF = {"smallest_l": "distinct_l", "t_closeness": "t", "beta_likeness": "beta"}
"""Measure of a session -> the target that enforces a limit of it."""
ENFORCING = ("local_suppression", "local_recoding", "mondrian")
"""Verbs that are asked for targets, at k."""


def key_recodings(values: pd.Series, wanted: Sequence[Any] | None = None) -> list[Arguments]:
    """Return recodings of a key from fine to coarse, each starting from the column as it is.

    Classes of equal width for numbers; for categories the rarest ones joined, two, three and more
    of them (neighbours only where the categories are ordered). `wanted` are breaks or mappings to
    take instead.
    """
    name = str(values.name)
    if wanted is not None:
        return [_named(name, one) for one in wanted]
    if is_amount(values):
        return [("global_recode", {"column": name, "breaks": b}) for b in _breaks(values)]
    return [("group_categories", {"column": name, "groups": g}) for g in _groupings(values)]


def is_amount(values: pd.Series) -> bool:
    """Whether a column holds ages or amounts, and no codes of categories."""
    return is_number(values) and values.nunique() > MANY_CODES


def number_treatments(names: Sequence[str], limits: Mapping[str, float]) -> list[list[Arguments]]:
    """Return ways to mask numeric keys, the first of which leaves them as they are.

    Each verb is asked first for the least that keeps the limits of amounts.
    """
    ways: list[list[Arguments]] = [[]]
    wanted = {name: limit for name, limit in limits.items() if name in AMOUNT_TARGETS}
    if names:
        if wanted:
            verbs = ("add_noise", "microaggregate", "rank_swap")
            ways += [[(verb, {"targets": wanted})] for verb in verbs]
        ways += [[("add_noise", {"level": level})] for level in NOISE]
        ways += [[("microaggregate", {"k": k})] for k in GROUP_SIZES]
        ways += [[("rank_swap", {"p": p})] for p in RANK_SHARES]
    return ways


def targets_of(limits: Mapping[str, float]) -> dict[str, float]:
    """Return the limits that are targets of verbs, by the names that these have."""
    named = [(*name.partition(": "), limit) for name, limit in limits.items()]
    return {
        f"{TARGET_OF[measure]}: {column}": limit
        for measure, _, column, limit in named
        if measure in TARGET_OF and column
    }


def key_endings(k: int, targets: Mapping[str, float]) -> list[Arguments]:
    """Return what follows the recodings of the keys: suppression at k, then stricter ones.

    With targets these are asked of every verb that can enforce them, each tried at k first.
    """
    proposed = VERBS["local_suppression"].proposed
    shown = {f"visible {name}": limit for name, limit in targets.items()}
    wanted = {**proposed, "targets": {**proposed["targets"], **shown}}
    stricter = (k + 1, k + 2, 2 * k, 3 * k - 1, 3 * k + 1, 5 * k, 7 * k - 1, 10 * k)
    first, *others = [
        ("local_suppression", {**wanted, "k": size}) for size in dict.fromkeys([k, *stricter])
    ]
    if not targets:
        return [first, *others]
    return [
        first,
        *((verb, {"k": k, "targets": dict(targets)}) for verb in ENFORCING[1:]),
        *others,
    ]


def _named(name: str, recoding: Any) -> Arguments:
    if isinstance(recoding, Mapping):
        return "group_categories", {"column": name, "groups": dict(recoding)}
    return "global_recode", {"column": name, "breaks": list(recoding)}


def _breaks(values: pd.Series) -> list[list[float]]:
    """Limits of classes of equal, readable width; the last class is open."""
    numbers = as_numbers(values)
    numbers = numbers[np.isfinite(numbers)]
    is_whole = bool(np.all(numbers == np.round(numbers)))
    low, high = float(numbers.min()), float(np.quantile(numbers, 0.99))
    recodings: list[list[float]] = []
    for n_classes in CLASSES:
        width = _nice((high - low) / n_classes)
        if is_whole and width < 2:
            continue
        start = np.floor(low / width) * width
        limits = np.arange(start, max(high, start + width), width)
        if is_whole:  # classes are "0-4", "5-9": each ends below the next multiple of the width
            limits[1:] -= 1
        breaks: list[float] = [int(x) if is_whole else float(x) for x in limits]
        if len(breaks) > 1 and [*breaks, np.inf] not in recodings:
            recodings.append([*breaks, float("inf")])
    return recodings


def _nice(width: float) -> float:
    """Round a width up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(width))
    return float(next((n * power for n in NICE if n * power >= width * (1 - 1e-9)), 10 * power))


def _groupings(values: pd.Series) -> list[dict[Any, list[Any]]]:
    """Groups of the rarest categories, from two to all but one."""
    codes, levels = encode(values)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    ordered = isinstance(values.dtype, pd.CategoricalDtype) and bool(values.cat.ordered)
    filled = [j for j in range(len(levels)) if counts[j]]
    if len(filled) < 3:
        return []
    chains = _neighbours(filled, counts) if ordered else _rarest(filled, counts)
    if len(chains) > MOST_JOINED:
        positions = np.unique(np.linspace(0, len(chains) - 1, MOST_JOINED).round().astype(int))
        chains = [chains[position] for position in positions]
    return [{_joined([levels[j] for j in g]): [levels[j] for j in g] for g in c} for c in chains]


def _rarest(filled: list[int], counts: np.ndarray) -> list[list[list[int]]]:
    rare = sorted(filled, key=lambda j: (counts[j], j))
    return [[sorted(rare[:n])] for n in range(2, len(filled))]


def _neighbours(filled: list[int], counts: np.ndarray) -> list[list[list[int]]]:
    """Join the rarest group with its smaller neighbour, again and again."""
    groups = [[j] for j in filled]
    chains = []
    while len(groups) > 2:
        sizes = [int(counts[group].sum()) for group in groups]
        position = int(np.argmin(sizes))
        beside = [p for p in (position - 1, position + 1) if 0 <= p < len(groups)]
        other = min(beside, key=lambda p: sizes[p])
        first, last = sorted((position, other))
        groups = [*groups[:first], [*groups[first], *groups[last]], *groups[last + 1 :]]
        chains.append([list(group) for group in groups if len(group) > 1])
    return chains


def _joined(levels: list[Any]) -> str:
    names = [str(level) for level in levels]
    if len(names) <= 4:
        return " or ".join(names)
    return message(
        "{names}, {names_2} or {names_3} others",
        names=names[0],
        names_2=names[1],
        names_3=len(names) - 2,
    )
