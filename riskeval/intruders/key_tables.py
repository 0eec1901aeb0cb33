"""Counts of original and synthetic persons by key combination and level of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.attack import CHUNK
from riskeval.intruders.blocks import iter_frames
from riskeval.intruders.key_tree import KeyCoder, key_tree
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.codes import MISSING, cell_ids, encode_keys
from synthpop.microdata.errors import Faults

MOST_CELLS = 100_000_000


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """Both files by key combination of the original (q) and level of the target (t).

    Attributes
    ----------
    original, synthetic : int64, shape (q, t)
        Persons; without a target there is one level. Missing is a level of its own.
    combination, level : int64, shape (n,)
        Row and column of each original record; combination -1 where a key is missing and missing
        keys match nothing.
    n_synthetic : int
        All synthetic records, also those with keys that no original record has.
    """

    original: np.ndarray
    synthetic: np.ndarray
    combination: np.ndarray
    level: np.ndarray
    n_synthetic: int

    def of_records(self, by_combination: np.ndarray) -> np.ndarray:
        """Spread values of combinations, shape (q,), over records; 0 or False where none."""
        padded = np.append(by_combination, np.zeros(1, dtype=by_combination.dtype))
        return padded[self.combination]


def count_keys(
    name: str,
    original: Any,
    synthetic: Any,
    keys: Sequence[str] | str,
    target: str | None,
    missing: str,
) -> KeyTable:
    """Count both files by the keys of the original; `synthetic` is streamed.

    Raises
    ------
    InputError
        Missing columns, no keys, a key without any common level, a target with too many levels.
    """
    faults = Faults(name)
    frame = as_frame(original, "original")
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    columns = (*names, *([] if target is None else [target]))
    frames = iter_frames(synthetic, "synthetic", columns)
    _check(faults, frame, names, target, missing)
    faults.raise_if_any()
    coded = encode_keys(frame, names)
    coders = [KeyCoder(levels) for levels in coded.levels]
    ids, n_cells = cell_ids(coded.codes, [len(levels) for levels in coded.levels])
    first = np.zeros(n_cells, dtype=np.int64)
    first[ids] = np.arange(len(ids))
    known = np.array([coder.n_known for coder in coders], dtype=np.int32)
    own_codes = np.where(coded.codes == MISSING, known, coded.codes)[first]
    used = np.ones(n_cells, dtype=np.bool_)
    if missing == "unmatched":  # no path of the tree leads to a combination with a missing key
        used = (coded.codes[first] != MISSING).all(axis=1)
        ids = np.where(used[ids], ids, -1)
    rows = np.flatnonzero(used)
    tree = key_tree(own_codes[rows], [coder.radix for coder in coders])
    target_coder, level = _target(frame, target)
    counts = np.zeros((n_cells, target_coder.size), dtype=np.int64)
    n_synthetic = 0
    for block in frames:
        _check_block(block, columns)
        for begin in range(0, len(block), CHUNK):
            chunk = block.iloc[begin : begin + CHUNK]
            states = _states(chunk, names, coders, tree)
            t = np.zeros(len(chunk), dtype=np.int64)
            if target is not None:
                t = target_coder.code(chunk[target]).astype(np.int64)
            if target_coder.size > counts.shape[1]:
                counts = np.pad(counts, ((0, 0), (0, target_coder.size - counts.shape[1])))
            _check_size(name, target, counts)
            found = states >= 0
            np.add.at(counts, (rows[states[found]], t[found]), 1)
        n_synthetic += len(block)
    _check_common(name, names, coders, n_synthetic)
    own = np.zeros_like(counts)
    np.add.at(own, (ids[ids >= 0], level[ids >= 0]), 1)
    return KeyTable(own, counts, ids, level, n_synthetic)


def _target(frame: pd.DataFrame, target: str | None) -> tuple[KeyCoder, np.ndarray]:
    if target is None:
        coder = KeyCoder(())
        return coder, np.zeros(len(frame), dtype=np.int64)
    coded = encode_keys(frame, [target])
    coder = KeyCoder(coded.levels[0])
    return coder, coder.code(frame[target]).astype(np.int64)


def _states(
    chunk: pd.DataFrame, names: tuple[str, ...], coders: list[KeyCoder], tree: Any
) -> np.ndarray:
    from riskeval.kernels.scenarios import find_block

    codes = np.empty((len(names), len(chunk)), dtype=np.int32)
    for row, k in enumerate(tree.order):
        codes[row] = coders[k].code(chunk[names[k]])
    states = np.empty(len(chunk), dtype=np.int64)
    find_block(codes, tree.radix, tree.start, tree.tree, states)
    return states


def _check(
    faults: Faults, frame: pd.DataFrame, names: tuple[str, ...], target: str | None, missing: str
) -> None:
    if not names:
        faults.add("keys", "no key is given", remedy="Name the columns that the intruder knows.")
    for key in dict.fromkeys(names):
        if names.count(key) > 1:
            faults.add("keys", f"{key!r} is given {names.count(key)} times")
    if target in names:
        faults.add("target", f"{target!r} is also a key", remedy="The intruder looks for it.")
    check_choice(faults, "missing", missing, ["category", "unmatched"])
    check_columns(faults, frame, names, "key of the original")
    if target is not None:
        check_columns(faults, frame, [target], "target of the original")
    if len(frame) == 0:
        faults.add("original", "has no records")


def _check_block(block: pd.DataFrame, columns: tuple[str, ...]) -> None:
    faults = Faults("synthetic")
    check_columns(faults, block, columns, "key or target of the synthetic file")
    faults.raise_if_any()


def _check_size(name: str, target: str | None, counts: np.ndarray) -> None:
    if counts.size > MOST_CELLS:
        faults = Faults(name)
        what = f"{counts.shape[1]:,} levels by {counts.shape[0]:,} key combinations are too many"
        faults.add(str(target), what, remedy="Group the values of the target first.")
        faults.raise_if_any()


def _check_common(
    name: str, names: tuple[str, ...], coders: list[KeyCoder], n_synthetic: int
) -> None:
    faults = Faults(name)
    if n_synthetic == 0:
        faults.add("synthetic", "has no records")
    for key, coder in zip(names, coders, strict=True):
        if n_synthetic and coder.n_known and not coder.met_known:
            faults.add(
                key,
                "original and synthetic file have no level in common "
                f"({coder.shown_known()} in the original, {coder.shown_new()} in the other)",
                remedy="Code the key in the same way in both files.",
            )
    faults.raise_if_any()
