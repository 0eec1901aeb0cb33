"""Frames of other libraries (polars, Arrow, DuckDB, Modin ...) in, and the same kind out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from synthpop.microdata.frame.dictionary import dictionary_of, schema_metadata
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message

P = ParamSpec("P")
R = TypeVar("R")


def to_pandas(data: Any) -> pd.DataFrame | None:
    """Return a frame of any library that narwhals knows as pandas; None for anything else.

    Lazy frames are collected. Whole numbers and truth values with missing ones get the nullable
    type of pandas; text, categories and dates keep what they are as far as pandas can hold it.
    """
    import narwhals as nw

    frame = nw.from_native(data, pass_through=True)
    if not isinstance(frame, (nw.DataFrame, nw.LazyFrame)):
        return None
    try:
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if frame.implementation.is_pyarrow() or frame.implementation.is_polars():
            return from_arrow(frame.to_arrow(), dates=frame.implementation.is_pyarrow())
        converted: pd.DataFrame = frame.to_pandas()
    except MemoryError:
        raise
    except Exception as problem:  # noqa: BLE001  (a lazy table computes here, a database may fail)
        what = message(
            "cannot be read: {reason}",
            reason=(str(problem) or type(problem).__name__).splitlines()[0],
        )
        raise InputError.of("data", type(data).__name__, what, "Give it as pandas.") from None
    return converted


def from_arrow(table: Any, dates: bool = True) -> pd.DataFrame:
    """Return an Arrow table as pandas; `dates` gives days as ``datetime.date``, else as timestamps.

    Whole numbers and truth values with missing ones get a nullable type, for they would be floats
    and objects otherwise.
    """
    import pyarrow as pa

    frame = _to_pandas(table, dates)
    if len(frame.columns) < len(table.column_names) or not frame.columns.is_unique:
        return frame
    names = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    nullable: dict[Any, Any] = {
        getattr(pa, n.lower())(): pd.api.types.pandas_dtype(n) for n in names
    }
    nullable[pa.bool_()] = pd.BooleanDtype()
    new = {
        name: column.to_pandas(types_mapper=nullable.get).set_axis(frame.index)
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.null_count and column.type in nullable and isinstance(frame[name].dtype, np.dtype)
    }
    return frame.assign(**new) if new else frame


def _to_pandas(table: Any, dates: bool) -> pd.DataFrame:
    """Convert without what pandas noted in the table, where pandas cannot read that again."""
    try:
        frame: pd.DataFrame = table.to_pandas(date_as_object=dates)
    except (TypeError, ValueError, NotImplementedError):
        try:
            frame = table.to_pandas(date_as_object=dates, ignore_metadata=True)
        except (TypeError, ValueError, NotImplementedError) as problem:
            what = f"has a column that pandas cannot hold ({problem})"
            raise InputError.of("data", "table", what, "Give text or numbers.") from None
    return frame


@dataclass(frozen=True)
class Library:
    """The library that a frame came from."""

    implementation: Any
    is_lazy: bool
    # types of the columns that came in; a column of the same kind goes out with them
    schema: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the library, as a file may hold it; not the types of the columns."""
        return {"name": self.implementation.name, "lazy": self.is_lazy}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Library:
        """Return the library of a name; one that cannot be imported is a ValueError."""
        import narwhals as nw

        implementation = nw.Implementation[record["name"]]
        module = implementation.name.lower()
        if find_spec(module) is None:
            raise ValueError(f"it holds a frame of {module}, which is not installed")
        return cls(implementation, bool(record["lazy"]), {})

    def frame(self, frame: pd.DataFrame) -> Any:
        """Return a pandas frame as one of the library; an index that is not a count is a column."""
        import narwhals as nw

        table = _to_arrow(frame, self.schema)
        library = self.implementation
        if library.is_pyarrow() or library.is_duckdb() or library.is_ibis():
            return table
        if library.is_polars():
            result = nw.from_arrow(table, backend="polars").to_native()
            return result.lazy() if self.is_lazy else result
        if self.is_lazy:
            return table
        return nw.from_arrow(table, backend=library).to_native()


def library_of(data: Any) -> Library | None:
    """Return the library of a frame; None for pandas and for what is not a frame of others."""
    if data is None or isinstance(data, pd.DataFrame | str):
        return None
    if isinstance(getattr(data, "library", None), Library):  # a Survey
        known: Library = data.library
        return known
    import narwhals as nw

    source = nw.from_native(data, pass_through=True)
    if not isinstance(source, nw.DataFrame | nw.LazyFrame):
        return None
    if source.implementation.is_pandas():
        return None
    library, schema = source.implementation, {}
    if isinstance(source, nw.DataFrame) and (library.is_polars() or library.is_pyarrow()):
        table = source.head(0).to_arrow()
        schema = dict(zip(table.column_names, table.schema.types, strict=True))
    return Library(library, isinstance(source, nw.LazyFrame), schema)


def like(data: Any, frame: pd.DataFrame) -> Any:
    """Return a frame in the library of other data: polars for polars, Arrow for Arrow.

    Parameters
    ----------
    data : frame of any library
        A lazy polars frame gives a lazy one; a relation of DuckDB gives an Arrow table, which
        DuckDB reads.
    frame : DataFrame
        What to convert, such as a result's table. Its dictionary stays with pandas and Arrow.

    Returns
    -------
    frame of the library of `data`; `frame` itself where that is pandas or no frame at all

    Examples
    --------
    >>> import pyarrow as pa
    >>> like(pa.table({"x": [1]}), pd.DataFrame({"age": [40, 9]})).column_names
    ['age']
    """
    library = library_of(data)
    return frame if library is None else library.frame(frame)


def same_library(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function return frames of the library that its first argument came from.

    What is a frame itself, the ``data`` of a result and its ``to_frame()`` are converted; pandas
    stays as it is, so that functions may call each other.
    """
    first = next(iter(signature(function).parameters))

    @wraps(function)
    def call(*args: P.args, **parameters: P.kwargs) -> R:
        library = library_of(args[0] if args else parameters.get(first))
        result = function(*args, **parameters)
        return result if library is None else in_library(library, result)

    return call


def in_library(library: Library, result: Any) -> Any:
    """Return a result whose frames are of a library; see `same_library`."""
    if isinstance(result, pd.DataFrame):
        return library.frame(result)
    if hasattr(result, "to_frame"):
        object.__setattr__(result, "_library", library)  # results are frozen
        if isinstance(getattr(result, "data", None), pd.DataFrame):
            object.__setattr__(result, "data", library.frame(result.data))
    return result


def _to_arrow(frame: pd.DataFrame, schema: dict[str, Any]) -> Any:
    """Return an Arrow table, with the types of `schema` where they fit; mixed types as text."""
    import pyarrow as pa

    dictionary = dictionary_of(frame)
    if frame.columns.nlevels > 1:
        frame = frame.set_axis([" ".join(map(str, name)) for name in frame.columns], axis=1)
    counted = frame.index.equals(pd.RangeIndex(len(frame))) and frame.index.nlevels == 1
    if frame.index.name is not None or frame.index.nlevels > 1 or not counted:
        frame = frame.reset_index(names=_names_of_index(frame))
    arrays = []
    for j, name in enumerate(frame.columns):
        column = _column_to_arrow(frame.iloc[:, j])
        field = schema.get(str(name))
        if field is not None and field != column.type and _same_kind(field, column.type):
            with suppress(pa.ArrowInvalid):  # values that the type cannot hold
                column = column.cast(field)
        arrays.append(column)
    table = pa.table(arrays, names=[str(name) for name in frame.columns])
    return table.replace_schema_metadata(schema_metadata(dictionary))


def _names_of_index(frame: pd.DataFrame) -> list[Any]:
    """Names for the levels of the index that no column has."""
    names: list[Any] = []
    for level, name in enumerate(frame.index.names):
        free = ("index" if frame.index.nlevels == 1 else f"level_{level}") if name is None else name
        while free in frame.columns or free in names:
            free = f"{free}_"
        names.append(free)
    return names


def _column_to_arrow(column: pd.Series) -> Any:
    import pyarrow as pa

    try:
        result = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        text = [None if pd.api.types.is_scalar(x) and pd.isna(x) else str(x) for x in column]
        result = pa.array(text, type=pa.string())
    return result


def _same_kind(one: Any, other: Any) -> bool:
    """Whether columns of two Arrow types hold the same kind of values."""
    import pyarrow.types as kinds

    tests: tuple[Callable[[Any], bool], ...] = (
        kinds.is_integer,
        kinds.is_floating,
        kinds.is_temporal,
        lambda kind: kinds.is_string(kind) or kinds.is_large_string(kind),
    )
    return any(test(one) and test(other) for test in tests)
