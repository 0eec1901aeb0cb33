"""What makes a table, or an argument of a documented type, worse: odd types, names and numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from tests.fuzz.inputs import Maker
from tests.fuzz.results import everything

TEXTS = [
    "a\x00b", "\x00", "line\nbreak", "\r\n", "\u202eevil", "e\u0301", "\u00e9", " ", "\t", "'", '"',
    "x,y;z", "\ufeffa", "\U0001f600", "-0", "1e400", "inf", "true", "2020-01-01", "<NA>", "{{7*7}}",
]  # fmt: skip
HUGE = [1e308, -1e308, 1e300, 1e155, -1e155, 5e-324, 1e-200, float("inf"), float("-inf"), 2.0**63]
NAMES: list[Any] = [3, None, ("a", "b"), pd.Timestamp("2020-01-01"), 2.5, True, b"x", "a\nb", ""]
LIBRARIES = ("polars", "lazy polars", "arrow", "duckdb")


def _from(values: list[Any]) -> Callable[[Maker, int], Any]:
    def column(make: Maker, n: int) -> Any:
        result = np.empty(n, dtype=object)
        for i in range(n):
            result[i] = make.one_of(values)
        return result

    return column


def _numbers(make: Maker, n: int) -> np.ndarray:
    return make.rng.normal(size=n) * make.one_of([1, 1, 100])


def _whole(make: Maker, n: int) -> np.ndarray:
    return make.rng.integers(0, 5, n)


def _typed(dtype: Any, draw: Callable[[Maker, int], Any] = _whole) -> Callable[[Maker, int], Any]:
    return lambda make, n: pd.array(draw(make, n), dtype=dtype)


def _arrow(kind: str, draw: Callable[[Maker, int], Any] = _whole) -> Callable[[Maker, int], Any]:
    def column(make: Maker, n: int) -> Any:
        import pyarrow as pa

        values = [None if make.chance(0.1) else value for value in draw(make, n).tolist()]
        types = {"number": pa.float64(), "whole": pa.int32(), "text": pa.string(),
                 "level": pa.dictionary(pa.int32(), pa.string())}  # fmt: skip
        return pd.array(pa.array(values, types[kind]), dtype=pd.ArrowDtype(types[kind]))

    return column


def _intervals(make: Maker, n: int) -> Any:
    return pd.cut(pd.Series(_numbers(make, n)), [-1e9, 0, 1, 1e9])


def _seconds(make: Maker, n: int) -> pd.Series:
    return pd.Series(pd.to_datetime(make.rng.integers(0, 10**9, n), unit="s"))


COLUMNS: list[Callable[[Maker, int], Any]] = [
    _from(TEXTS),
    lambda make, n: pd.Categorical(_from(TEXTS)(make, n)),
    _from([pd.NA, None, np.nan, "a", 1]),
    _from([pd.NaT, None, date(2020, 1, 1)]),
    _from([True, False, None]),
    _from([2**70, 1, -(2**70)]),
    _from([Decimal("1.5"), Decimal("NaN"), Decimal(2)]),
    _from([b"a", b"\xff"]),
    _from([(1, 2), (1,), None]),
    _from([np.int64(1), np.float64(2), 3, True]),
    _from([["a"], [], {"b": 1}]),
    _from([1 + 2j]),
    lambda make, n: _numbers(make, n) + 1j,
    lambda make, n: _numbers(make, n).astype(np.float16),
    lambda make, n: _numbers(make, n).astype(np.float32),
    lambda make, n: _numbers(make, n).astype(np.longdouble),
    lambda make, n: make.rng.integers(0, 2**64, n, dtype=np.uint64),
    lambda make, n: make.rng.choice(np.array(HUGE), n),
    lambda make, n: np.full(n, make.one_of(HUGE)),
    lambda make, n: _seconds(make, n),
    lambda make, n: _seconds(make, n).dt.tz_localize("Europe/Vienna", ambiguous="NaT"),
    lambda make, n: pd.to_timedelta(make.rng.integers(0, 10**6, n), unit="s"),
    lambda make, n: pd.PeriodIndex(_seconds(make, n), freq="M"),
    _intervals,
    lambda make, n: pd.Categorical(_whole(make, n)),
    lambda make, n: pd.Categorical(_seconds(make, n)),
    lambda make, n: pd.Categorical([None] * n),
    lambda make, n: pd.Categorical(make.rng.choice(["b", "a"], n), ["z", "b", "a"], ordered=True),
    lambda make, n: pd.arrays.SparseArray(_whole(make, n).astype(float), fill_value=0.0),
    lambda make, n: pd.arrays.SparseArray(_whole(make, n)),
    _typed("UInt8"), _typed("Float32", _numbers), _typed("boolean", lambda m, n: _whole(m, n) > 1),
    _arrow("whole"), _arrow("number", _numbers),
    _arrow("text", lambda make, n: make.rng.choice(["a", "b"], n)),
    _arrow("level", lambda make, n: make.rng.choice(["a", "b"], n)),
]  # fmt: skip
"""Columns of types that pandas knows and few tables have."""


class HostileMaker(Maker):
    """Draws the parts of one input, and makes most of them worse."""

    def frame(self) -> pd.DataFrame:
        """Return a table with odd columns, weights, names, or an odd index."""
        return worse_table(self, super().frame())

    def argument(self, value: Any, annotation: str) -> Any:
        """Return an argument, sometimes as another one of a documented type."""
        if not self.chance(0.15) or (isinstance(value, pd.DataFrame) and "Frame" in annotation):
            return value
        return worse_value(self, value)

    def shown(self, result: Any) -> None:
        """Let a result do everything that it can."""
        everything(self, result)


def column(make: Maker, n: int) -> pd.Series:
    """Return a column of an odd type."""
    return pd.Series(make.one_of(COLUMNS)(make, n))


def worse_table(make: Maker, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with odd columns, weights, names, or an odd index."""
    frame, n = frame.copy(), len(frame)
    for _ in range(make.one_of([0, 0, 1, 1, 2, 4])):
        frame[make.one_of(frame.columns)] = column(make, n).set_axis(frame.index)
    if make.chance(0.12):
        weights = [-1.0, 0.0, 1e308, 5e-324, float("inf"), float("nan"), 1.0]
        odd = make.rng.choice(weights, n) if make.chance(0.5) else np.full(n, make.one_of(weights))
        frame["weight"] = odd
    if make.chance(0.1) and n and "income" in frame:
        some = make.rng.random(n) < make.one_of([0.1, 1.0])
        amounts = pd.to_numeric(frame["income"], errors="coerce").to_numpy(float, na_value=np.nan)
        frame["income"] = np.where(some, make.one_of(HUGE), amounts)
    if make.chance(0.05) and n:
        frame = frame.iloc[np.zeros(n, dtype=int)]
    if make.chance(0.03):
        frame = frame.astype(object).where(np.zeros(frame.shape, dtype=bool), None)
    if make.chance(0.05) and n:
        frame.index = make.one_of(
            [pd.Index(np.zeros(n)), pd.Index([f"r{i}" for i in range(n)], name="age"),
             pd.MultiIndex.from_arrays([np.arange(n), np.arange(n)])]
        )  # fmt: skip
    return _renamed(make, frame)


def _renamed(make: Maker, frame: pd.DataFrame) -> pd.DataFrame:
    names = list(frame.columns)
    if make.chance(0.06):
        names[make.whole(0, len(names) - 1)] = make.one_of(NAMES)
    if make.chance(0.05):
        names[make.whole(0, len(names) - 1)] = make.one_of(names)
    frame = frame.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1)
    if make.chance(0.01):
        frame.columns = pd.MultiIndex.from_arrays([[str(x) for x in names], ["x"] * len(names)])
    return frame


def in_library(make: Maker, frame: pd.DataFrame) -> Any:
    """Return a table in another library, where that can hold it."""
    library = make.one_of(LIBRARIES)
    try:
        if library == "arrow":
            import pyarrow as pa

            return pa.Table.from_pandas(frame, preserve_index=False)
        if library == "duckdb":
            import duckdb

            return duckdb.connect().from_df(frame)  # a failure of one table stays its own
        import polars as pl

        table = pl.from_pandas(frame)
        return table if library == "polars" else table.lazy()
    except Exception:  # noqa: BLE001 - that library refuses the table
        return frame


def worse_value(make: Maker, value: Any) -> Any:
    """Return an argument as another one of a documented type: its container, or its number."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return make.one_of(
            [np.int64(value % 2**62), np.int8(value % 100), 10**20, -(10**20), 2**31, 0]
        )
    if isinstance(value, float):
        return make.one_of([np.float64(value), np.float32(value), 0, 1, *HUGE, float("nan")])
    if isinstance(value, str):
        return make.one_of([np.str_(value), value, "", *TEXTS])
    if isinstance(value, list):
        texts = all(isinstance(item, str) for item in value)
        return make.one_of([tuple(value), [], value * 2, [*value, ""], pd.Index(value)]
                           if texts and value else [tuple(value), value])  # fmt: skip
    if isinstance(value, pd.DataFrame):
        return in_library(make, value)
    if isinstance(value, pd.Series | np.ndarray) and value.ndim == 1:
        return make.one_of(_arrays())(make, value)
    return value


def _arrays() -> list[Callable[[Maker, Any], Any]]:
    def of_polars(make: Maker, values: Any) -> Any:
        import polars as pl

        return pl.Series(values.tolist(), strict=False)

    def of_arrow(make: Maker, values: Any) -> Any:
        import pyarrow as pa

        return pa.array(values.tolist())

    return [
        of_polars, of_arrow,
        lambda make, values: values.tolist(),
        lambda make, values: tuple(values.tolist()),
        lambda make, values: np.asarray(values, dtype=object),
        lambda make, values: pd.Index(values),
        lambda make, values: values[:0],
        lambda make, values: values[:1],
        lambda make, values: np.full(len(values), make.one_of(HUGE)),
        lambda make, values: make.rng.choice(np.array(HUGE), len(values)),
        lambda make, values: np.full(len(values), np.nan),
        lambda make, values: np.full(len(values), 7.0),
        lambda make, values: column(make, len(values)),
    ]  # fmt: skip
