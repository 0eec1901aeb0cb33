"""Tables and arguments drawn at random: usual ones, odd ones, and some that are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

TEXTS = ["a", "b", "", "ä€", "x" * 300, "=1+1", "NA", "nan", "1", "<b>", "a b", "\u202e", "None"]
NAMES = ["age", "sex", "region", "income", "weight", "household", "status", "group", "score", "x y"]
NUMBERS = [0, 1, -1, 2, 3, 5, 10, 0.5, 1e-9, 1e9, -0.5, 100, 1e300]
ODD: list[Any] = [
    None, True, False, "", "a", "mean", -1, 0, 1, 2.5, float("nan"), float("inf"), [], ["age"], {},
    {"age": 1}, (), (0, 1), 10**20, np.int64(3), np.float64(0.1),
]  # fmt: skip


class Maker:
    """Draws the parts of one input.

    Parameters
    ----------
    seed : sequence of int
        Seed, target and number of the input.
    odd : float
        How often an argument is of a type that is not documented.
    """

    def __init__(self, *seed: int, odd: float = 0.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.odd_share = odd

    def chance(self, share: float) -> bool:
        """Whether something that happens with a probability happens."""
        return bool(self.rng.random() < share)

    def one_of(self, values: Any) -> Any:
        """Return one of several values."""
        values = list(values)
        return values[int(self.rng.integers(len(values)))]

    def some_of(self, values: Any, most: int = 4) -> list[Any]:
        """Return a few of several values, each at most once."""
        values = list(values)
        n = int(self.rng.integers(0, min(most, len(values)) + 1))
        return [values[i] for i in self.rng.permutation(len(values))[:n]]

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from low to high."""
        return int(self.rng.integers(low, high + 1))

    def frame(self) -> pd.DataFrame:
        """Return a table of persons in households with columns of any type."""
        n = int(self.one_of([0, 1, 2, 3, 8, 20, 20, 40, 40, 60]))
        columns: dict[str, Any] = {
            "household": np.sort(self.rng.integers(0, max(n // 3, 1), n)),
            "weight": self.rng.uniform(1, 50, n).round(1),
            "age": self.rng.integers(0, 90, n),
            "sex": self.one_of([pd.Categorical, np.array])(self.rng.choice(["f", "m"], n)),
            "region": pd.Categorical(self.rng.choice([*"ABCD"], n), categories=[*"ABCDE"]),
            "income": self.rng.lognormal(9, 1, n).round(2),
        }
        for name in NAMES[6:]:
            if self.chance(0.4):
                columns[name] = self.column(n)
        for name in list(columns):
            if self.chance(0.06):
                columns[name] = self.column(n)
        frame = pd.DataFrame(columns)
        for name in frame:
            if n and self.chance(0.12):
                holes = self.rng.random(n) < self.one_of([0.1, 0.5, 1.0])
                frame[name] = frame[name].astype(object).where(~holes, None).infer_objects()
        if self.chance(0.1):
            frame.index = pd.Index(self.rng.permutation(n) * 3)
        return frame

    def column(self, n: int) -> Any:
        """Return a column of one of many types."""
        kind = self.whole(0, 15)
        draw = self.rng
        numbers = draw.choice(np.array(NUMBERS, dtype=float), n)
        if kind == 0:
            return numbers
        if kind == 1:
            return np.where(draw.random(n) < 0.3, np.nan, draw.normal(size=n))
        if kind == 2:
            return pd.array(draw.integers(0, 4, n), dtype="Int64")
        if kind == 3:
            return pd.array(draw.choice(["u", "v"], n), dtype="string")
        if kind == 4:
            return pd.Categorical(
                draw.choice([*"lmh"], n), categories=["l", "m", "h"], ordered=True
            )
        if kind == 5:
            return draw.random(n) < 0.5
        if kind == 6:
            return pd.to_datetime(draw.integers(0, 10**9, n), unit="s")
        if kind == 7:
            return np.array([self.one_of(TEXTS) for _ in range(n)], dtype=object)
        if kind == 8:
            return np.array([self.one_of([1, "a", None, 2.5]) for _ in range(n)], dtype=object)
        if kind == 9:
            return np.full(n, 7)
        if kind == 10:
            return np.full(n, np.nan)
        if kind == 11:
            return np.where(draw.random(n) < 0.1, np.inf, draw.normal(size=n))
        if kind == 12:
            return pd.array(draw.random(n) < 0.5, dtype="boolean")
        if kind == 13:
            return pd.Series(draw.integers(0, 5, n).astype(np.int8))
        if kind == 14:
            return pd.array(draw.normal(size=n), dtype="Float64")
        return draw.integers(-(2**62), 2**62, n)

    def name(self, frame: pd.DataFrame, *usual: str) -> Any:
        """Return the name of a column: one of the usual ones, any, or one that is not there."""
        if self.chance(0.04):
            return self.one_of(["nothing", "", 3])
        there = [one for one in usual if one in frame]
        return self.one_of(there) if there and self.chance(0.85) else self.one_of(frame.columns)

    def names(self, frame: pd.DataFrame, *usual: str) -> Any:
        """Return names of columns."""
        n = self.whole(1, 3)
        chosen = [self.name(frame, *usual) for _ in range(n)]
        chosen = chosen if self.chance(0.05) else list(dict.fromkeys(chosen))
        return chosen[0] if n == 1 and self.chance(0.3) else chosen

    def argument(self, value: Any, annotation: str) -> Any:
        """Return an argument as a function gets it; `annotation` says what it may be."""
        return value

    def shown(self, result: Any) -> None:
        """Let a result show itself as a user would see it."""
        for method in ("summary", "to_frame", "_repr_html_"):
            if hasattr(result, method) and not isinstance(result, type):
                getattr(result, method)()

    def odd(self) -> Any:
        """Return a value that the argument is not meant for."""
        return self.one_of(ODD)

    def released(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a release of a table: itself, shuffled, with holes, with noise, or another one."""
        kind = self.whole(0, 5)
        if kind == 0:
            return frame.copy()
        if kind == 1 and len(frame):
            return frame.iloc[self.rng.permutation(len(frame))].reset_index(drop=True)
        if kind == 2:
            other = frame.copy()
            name = self.one_of(other.columns)
            holes = self.rng.random(len(other)) < 0.3
            other[name] = other[name].astype(object).where(~holes, None).infer_objects()
            return other
        if kind == 3 and "income" in frame and pd.api.types.is_float_dtype(frame["income"].dtype):
            return frame.assign(income=frame["income"] * self.rng.uniform(0.9, 1.1, len(frame)))
        if kind == 4:
            return frame.iloc[: len(frame) // 2]
        return self.frame()
