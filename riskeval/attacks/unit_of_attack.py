"""What an attack asks and about whom: keys, targets, and persons or households as the unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.indexer import BagNumberer, Numberer
from riskeval.attacks.matching.key_tree import KeyCoder
from riskeval.attacks.scenario import Scenario, to_scenario
from synthpop.microdata.checks import check_choice, check_columns
from synthpop.microdata.codes import cell_ids, encode, encode_keys
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.streams import Streams


@dataclass(frozen=True, slots=True)
class Ask:
    """A scenario, or keys and targets given plainly, as one record.

    Attributes
    ----------
    keys, targets : tuple of str
    household : str or None
        Column with the number of the household when that is the unit, else None.
    members : {"any", "every"}
        When a household counts as disclosed.
    errors : tuple of float
        Probability that the intruder's value of each key is wrong.
    coverage : float
        Share of the units that the intruder has in a register.
    who : {"everyone", "sample uniques"}
    rows : str or None
    accuracy : tuple of float
        Empty when given plainly.
    categorical : tuple of str
    story : str
        Empty when given plainly.
    """

    keys: tuple[str, ...]
    targets: tuple[str, ...] = ()
    household: str | None = None
    members: str = "any"
    errors: tuple[float, ...] = ()
    coverage: float = 1.0
    who: str = "everyone"
    rows: str | None = None
    accuracy: tuple[float, ...] = ()
    categorical: tuple[str, ...] = ()
    story: str = ""

    @property
    def unit(self) -> str:
        """Return what one attack is about, in the plural, for sentences."""
        return "records" if self.household is None else "households"

    @property
    def needed(self) -> tuple[str, ...]:
        """Return the columns that both files must have."""
        return (*self.keys, *self.targets, *([] if self.household is None else [self.household]))

    def about(self, target: str | None) -> Ask:
        """Return the same asked about one target, or about none."""
        targets = () if target is None else (target,)
        return replace(self, targets=targets)

    def told(self) -> str:
        """Return the story as a last sentence; empty when there is none."""
        return f" Asked: {self.story}" if self.story else ""


def read_ask(
    name: str,
    keys: Scenario | Sequence[str] | str,
    targets: Sequence[str] | str | None = None,
    *,
    household: str | None = None,
    members: str = "any",
    honoured: Sequence[str] | None = None,
    n_targets: int | None = None,
) -> Ask:
    """Read what a measure was given; a Scenario holds everything, so that nothing may be beside it.

    Raises
    ------
    InputError
        What `to_scenario` finds; a household or members beside a Scenario.
    """
    if not isinstance(keys, Scenario):
        wanted: Any = () if targets is None else targets
        return Ask(_tuple(keys), _tuple(wanted), household=household, members=members)
    faults = Faults(name)
    for argument, given in (("household", household is not None), ("members", members != "any")):
        if given:
            faults.add(argument, "is given beside a Scenario", remedy="The Scenario holds it.")
    faults.raise_if_any()
    asked = to_scenario(name, keys, targets, honoured=honoured, n_targets=n_targets)
    return Ask(
        asked.keys, asked.targets, asked.household, asked.members, tuple(asked.errors.values()),
        asked.coverage, asked.who, asked.rows, asked.accuracy, asked.categorical, asked.story(),
    )  # fmt: skip


def _tuple(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def check_ask(faults: Faults, ask: Ask, frame: pd.DataFrame) -> None:
    """Note what is wrong with keys, targets and households, and columns the original lacks."""
    if not ask.keys:
        faults.add("keys", "no key is given", remedy="Name the columns that the intruder knows.")
    for key in dict.fromkeys(ask.keys):
        if ask.keys.count(key) > 1:
            faults.add("keys", f"{key!r} is given {ask.keys.count(key)} times")
    for target in ask.targets:
        if target in ask.keys:
            faults.add("target", f"{target!r} is also a key", remedy="The intruder looks for it.")
    check_choice(faults, "members", ask.members, ["any", "every"])
    if ask.household is None and ask.members != "any":
        faults.add("members", "has no effect without households", remedy="Name the household.")
    check_columns(faults, frame, ask.keys, "key of the original")
    check_columns(faults, frame, ask.targets, "target of the original")
    if len(frame) == 0:
        faults.add("original", "has no records")
    if ask.household is not None:
        if ask.household in (*ask.keys, *ask.targets):
            what = f"{ask.household!r} is also a key or a target"
            faults.add("household", what, remedy="The number of a household is not known outside.")
        check_households(faults, frame, ask.household, "original")
    if ask.rows is not None and check_columns(faults, frame, [ask.rows], "rows looked for"):
        flags = frame[ask.rows]
        if not pd.api.types.is_bool_dtype(flags.dtype) or bool(flags.isna().any()):
            faults.add(ask.rows, "rows looked for are not True and False", remedy="Convert them.")


def check_households(faults: Faults, frame: pd.DataFrame, name: str, role: str) -> None:
    """Note a missing column of households, and persons without a household."""
    if not isinstance(name, str):
        remedy = did_you_mean(name, frame.columns)
        faults.add("household", f"{name!r} is not the name of a column", remedy=remedy)
    elif check_columns(faults, frame, [name], f"household of the {role}"):
        absent = frame[name].isna().to_numpy()
        if absent.any():
            what = f"number of the household is missing in the {role}"
            faults.add(name, what, rows=np.flatnonzero(absent), remedy="Give every person one.")


class Households:
    """Numbers the households of a file that is read in parts; members need not be neighbours."""

    def __init__(self) -> None:
        self._whole = Numberer()
        self._other = KeyCoder(())
        self._offset = 1 << 40

    def number(self, values: pd.Series) -> np.ndarray:
        """Return the household 0, 1, 2 ... of each person, in order of appearance."""
        if pd.api.types.is_integer_dtype(values.dtype):
            return self._whole.number(values.to_numpy(dtype=np.int64))
        codes = self._other.code(values).astype(np.int64)
        return self._whole.number(codes + self._offset)

    @property
    def size(self) -> int:
        """Return how many there are."""
        return self._whole.size


def wrong_codes(codes: np.ndarray, p: float, n_levels: int, rng: np.random.Generator) -> np.ndarray:
    """Codes of one key as the intruder knows them: some replaced by another level.

    Parameters
    ----------
    codes : integer, shape (n,)
        0 ... n_levels - 1; other codes (missing) stay as they are.
    p : float
        Probability of a replacement, by a level drawn in proportion to its frequency in `codes`
        among the others. A key with one level has no other: it stays.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 2])
    >>> wrong_codes(codes, 0.999999, 2, np.random.default_rng(1)).tolist()
    [1, 1, 0, 2]
    """
    counts = np.bincount(codes[codes < n_levels], minlength=n_levels).astype(np.float64)
    struck = (rng.random(len(codes)) < p) & (codes < n_levels)
    mark = rng.random(len(codes))
    result = codes.copy()
    top = np.cumsum(counts)
    own = codes[struck]
    others = top[-1] - counts[own] if n_levels else np.zeros(0)
    # a place on the line of all counts without the stretch of the own level
    place = mark[struck] * others
    place = np.where(place >= top[own] - counts[own], place + counts[own], place)
    drawn = np.minimum(np.searchsorted(top, place, side="right"), n_levels - 1)
    result[struck] = np.where(others > 0, drawn, own)
    return result


def joined(flags: np.ndarray, unit: np.ndarray, n_units: int, members: str) -> np.ndarray:
    """Whether any or every member's flag is set, bool, shape (n_units,); False without members."""
    count = np.bincount(unit, minlength=n_units)
    set_ = np.bincount(unit, weights=flags, minlength=n_units)
    found: np.ndarray = set_ > 0 if members == "any" else (set_ == count) & (count > 0)
    return found


def joint_chance(chances: np.ndarray, unit: np.ndarray, n_units: int, members: str) -> np.ndarray:
    """Probability that a draw is right for any or for every member, drawn one by one.

    Examples
    --------
    >>> joint_chance(np.array([0.5, 0.5, 1.0]), np.array([0, 0, 1]), 2, "any").tolist()
    [0.75, 1.0]
    """
    each = 1 - chances if members == "any" else chances
    with np.errstate(divide="ignore"):
        total = np.exp(np.bincount(unit, weights=np.log(each), minlength=n_units))
    found: np.ndarray = 1 - total if members == "any" else total
    empty = np.bincount(unit, minlength=n_units) == 0
    return np.where(empty, 0.0, found)


def as_believed(frame: pd.DataFrame, ask: Ask, seed: int) -> pd.DataFrame:
    """Return the persons with the keys that the intruder believes: some are wrong."""
    wrong = {}
    for key, p in zip(ask.keys, ask.errors or (0.0,) * len(ask.keys), strict=True):
        if p > 0:
            codes, levels = encode(frame[key])
            own = np.where(codes < 0, len(levels), codes).astype(np.int64)
            found = wrong_codes(
                own, p, len(levels), Streams(seed).at("intruder", "key errors", key)
            )
            first = np.zeros(len(levels) + 1, dtype=np.int64)
            first[own[::-1]] = np.arange(len(own))[::-1]
            wrong[key] = frame[key].iloc[first[found]].set_axis(frame.index)
    return frame.assign(**wrong)


def looked_for(frame: pd.DataFrame, ask: Ask) -> np.ndarray:
    """Which units of a file of real persons the intruder looks for: bool, shape (n_units,)."""
    unit = np.arange(len(frame))
    if ask.household is not None:
        unit = Households().number(frame[ask.household])
    n_units = int(unit.max(initial=-1)) + 1
    found = np.ones(n_units, dtype=np.bool_)
    if ask.who == "sample uniques":
        coded = encode_keys(frame, ask.keys)
        keys, _ = cell_ids(coded.codes, [len(levels) for levels in coded.levels])
        if ask.household is not None:
            keys = BagNumberer().number(keys, unit, n_units)
        found &= np.bincount(keys)[keys] == 1
    if ask.rows is not None:
        flags = frame[ask.rows].to_numpy(dtype=np.bool_)
        found &= joined(flags, unit, n_units, "any")
    return found
