"""Known totals from files: CSV, Excel and others in long or wide form, and SDMX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import long_table
from synthpop.microdata.formats.files import read_table
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean

SDMX = (".xml", ".json")
MESSAGE = ("STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "DATAFLOW")  # of SDMX-CSV
VALUE = "OBS_VALUE"
SHOWN = 5


def read_totals(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    codes: Mapping[str, Mapping[str, Any]] | None = None,
    where: Mapping[str, Any] | None = None,
    wide: Mapping[str, Mapping[str, Any]] | None = None,
    total: str = "total",
) -> pd.DataFrame:
    r"""Return a file of known totals as `Margin` takes it: one row per cell, a column of totals.

    Parameters
    ----------
    path : path
        A table that `read_table` reads (CSV, Excel, Parquet, ...), or SDMX: ``.xml`` and ``.json``
        (with the extra ``sdmx``), or SDMX-CSV, which has a column ``OBS_VALUE``.
    columns : dict, optional
        Column of the file -> column of the survey. Of SDMX, dimensions and attributes that are not
        named must have one value only, and are left out.
    codes : dict, optional
        Column of the survey -> code of the file -> value of the survey, by their text.
    where : dict, optional
        Column of the file -> the value, or list of values, of the rows that are used; a column
        with one value is then left out, unless `columns` names it.
    wide : dict, optional
        Of a table with one column per category: column of totals -> its categories, as
        `long_table` takes them.
    total : str
        Name of the column of totals in the result (and in a long table).

    Raises
    ------
    InputError
        Lists columns that are absent or not chosen, values without a code, and values of `where`
        that no row has; the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "census.csv"
    >>> text = "DATAFLOW,GEO,SEX,TIME,OBS_VALUE\nX,a,F,2025,8\nX,a,M,2025,9\nX,a,T,2025,17\n"
    >>> _ = file.write_text(text)
    >>> read_totals(
    ...     file, columns={"GEO": "zone", "SEX": "sex"}, where={"SEX": ["F", "M"]},
    ...     codes={"sex": {"F": "female", "M": "male"}},
    ... ).values.tolist()
    [['a', 'female', 8.0], ['a', 'male', 9.0]]
    """
    file, faults = Path(path), Faults("totals")
    names = dict(columns or {})
    frame = _read(file)
    is_message = VALUE in frame
    for name in [*names, *(where or {})]:
        if name not in frame:
            faults.add(name, f"is not a column of {file.name}", hint=did_you_mean(name, frame))
    faults.raise_if_any()
    frame = _chosen(faults, frame, where or {})
    used = [name for name in where or {} if name not in names and frame[name].nunique() == 1]
    frame = frame.drop(columns=used)
    if is_message:
        frame = _of_message(faults, frame, names).rename(columns={VALUE: total})
    faults.raise_if_any()
    if wide:
        frame = long_table(frame, wide, total=total)
    frame = frame.rename(columns=names)
    for name, values in (codes or {}).items():
        if name not in frame:
            hint = did_you_mean(name, frame)
            faults.add("codes", f"{name!r} is not a column of the totals", hint=hint)
            continue
        known = {level_text(code): value for code, value in values.items()}
        texts = frame[name].map(level_text)
        absent = texts[~texts.isin(known)].unique()
        if len(absent):
            hint = "Give each code a value, or leave its rows out by `where`."
            faults.add(name, f"no value for {', '.join(absent[:SHOWN])}", hint=hint)
        frame[name] = texts.map(known)
    faults.raise_if_any()
    return frame.reset_index(drop=True)


def _read(file: Path) -> pd.DataFrame:
    if file.suffix.lower() not in SDMX:
        return read_table(file)
    if not file.exists():
        raise InputError.of("totals", str(file), "there is no such file", "Check the path.")
    try:
        from pysdmx.errors import PysdmxError
        from pysdmx.io import read_sdmx
    except ImportError:
        hint = "Install the extra: pip install 'synthpop-riskeval[sdmx]'."
        raise InputError.of("totals", file.name, "pysdmx is not installed", hint) from None
    try:
        found = [item.data for item in read_sdmx(file, validate=False).data or []]
    except (PysdmxError, ValueError, KeyError, SyntaxError) as problem:
        what = f"is not an SDMX message of data: {str(problem).splitlines()[0]}"
        raise InputError.of("totals", file.name, what, "Repair the file.") from problem
    if len(found) != 1:
        hint = "Give a message with one."
        raise InputError.of("totals", file.name, f"has {len(found)} sets of data", hint)
    return pd.DataFrame(found[0])


def _chosen(faults: Faults, frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows that have one of the values of each column."""
    keep = np.ones(len(frame), dtype=bool)
    for name, values in where.items():
        listed = (
            values if isinstance(values, Sequence) and not isinstance(values, str) else [values]
        )
        texts, wanted = frame[name].map(level_text), [level_text(value) for value in listed]
        absent = [text for text in wanted if text not in set(texts)]
        if absent:
            what = f"no row has {', '.join(absent[:SHOWN])}"
            faults.add(name, what, hint=did_you_mean(absent[0], list(texts.unique()[:50])))
        keep &= texts.isin(wanted).to_numpy()
    return frame[keep].reset_index(drop=True)


def _of_message(faults: Faults, frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the named columns of SDMX and the values; notes others that are not constant."""
    for name in frame.columns:
        if name in names or name in MESSAGE or name == VALUE:
            continue
        if frame[name].nunique(dropna=False) > 1:
            hint = "Name it in `columns`, or choose one value by `where`."
            faults.add(str(name), f"has {frame[name].nunique(dropna=False)} values", hint=hint)
    values = pd.to_numeric(frame[VALUE], errors="coerce").astype(float)
    return frame[list(names)].astype(object).assign(**{VALUE: values})
