"""Frames of other libraries (polars, Arrow, DuckDB, Modin ...) in, and the same kind out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from synthpop.microdata.dictionary import dictionary_of, schema_metadata


def to_pandas(data: Any) -> pd.DataFrame | None:
    """Return a frame of any library that narwhals knows as pandas; None for anything else.

    Lazy frames are collected. Columns of text, categories, dates and whole numbers keep what they
    are as far as pandas can hold it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> to_pandas(pa.table({"age": [40, 9]}))["age"].tolist()
    [40, 9]
    """
    import narwhals as nw

    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    converted: pd.DataFrame = frame.to_pandas()
    return converted


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
    if isinstance(data, pd.DataFrame):
        return frame
    import narwhals as nw

    source = nw.from_native(data, pass_through=True)
    if not isinstance(source, nw.DataFrame | nw.LazyFrame):
        return frame
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata(schema_metadata(dictionary_of(frame)))
    library = source.implementation
    if library.is_pyarrow() or library.is_duckdb() or library.is_ibis():
        return table
    if library.is_polars():
        result = nw.from_arrow(table, backend="polars").to_native()
        return result.lazy() if isinstance(source, nw.LazyFrame) else result
    if isinstance(source, nw.LazyFrame):
        return table
    return nw.from_arrow(table, backend=library).to_native()
