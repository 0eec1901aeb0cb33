"""Reading survey files: CSV, Parquet, SPSS, Stata, SAS; labels are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from synthpop.microdata.atomic import replacing
from synthpop.microdata.delimited import read_delimited
from synthpop.microdata.errors import Fault, InputError, OutputError
from synthpop.microdata.survey import Survey

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def read_survey(path: Path | str, **roles: Any) -> Survey:
    r"""Read a survey file and give its columns their roles.

    Parameters
    ----------
    path : path
        ``.csv`` (see `read_delimited`: a column becomes numbers only where nothing is lost),
        ``.parquet``, ``.sav``, ``.dta`` or ``.sas7bdat``. The last three need the extra
        ``survey-files``. Value labels become categories; labels of variables are kept
        in ``survey.frame.attrs["labels"]``. User-missing codes of SPSS are missing.
    **roles
        As in `Survey`: weight, household, household_weight, household_size, person, strata, psu,
        design_strata, fpc.

    Raises
    ------
    InputError
        The file is not there, cannot be read, or does not fit the roles.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "survey.csv").write_text("hid;w;age\n1;10.5;40\n1;10.5;9\n")
    >>> read_survey(folder / "survey.csv", weight="w", household="hid").n_persons
    2
    """
    return Survey(read_table(path), **roles)


def read_table(path: Path | str) -> pd.DataFrame:
    """Read a file as a frame; see `read_survey`."""
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise _fault(file, f"files of type {file.suffix or '(none)'} are not read", _KNOWN)
    if not file.exists():
        raise _fault(file, "there is no such file", "Check the path.")
    try:
        return reader(file)
    except ImportError:
        remedy = "Install the extra: pip install 'synthpop-riskeval[survey-files]'."
        raise _fault(file, "needs the package pyreadstat", remedy) from None
    except (OSError, ValueError) as problem:
        raise _fault(file, f"cannot be read: {problem}", "Open it and check.") from None


def write_table(
    frame: pd.DataFrame, path: Path | str, *, private: bool = False, safe_csv: bool = False
) -> None:
    """Write a frame as ``.csv`` or ``.parquet``, whole or not at all.

    Parameters
    ----------
    frame : DataFrame
    path : path
    private : bool
        Only the user may read the file (mode 0600).
    safe_csv : bool
        In a ``.csv``, put an apostrophe before text that a spreadsheet takes for a formula (it
        begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end).

    Raises
    ------
    OutputError
        The file cannot be written, or a column holds what such a file cannot hold.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise OutputError(f"{file}: tables are written as .csv or .parquet.")
    with replacing(file, private=private) as draft:
        if kind == ".csv":
            (without_formulas(frame) if safe_csv else frame).to_csv(draft, index=False)
            return
        import pyarrow as pa

        try:
            frame.to_parquet(draft, index=False)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            reason = str(problem).splitlines()[0]
            raise OutputError(
                f"cannot write {file}: {reason}. Turn the column into text or numbers first."
            ) from None


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts and names no spreadsheet takes for formulas.

    Examples
    --------
    >>> without_formulas(pd.DataFrame({"=a": ["=1+1", "b"]}))["'=a"].tolist()
    ["'=1+1", 'b']
    """
    changed = frame.copy(deep=False)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            texts = column.astype(object)
            changed.isetitem(place, texts.map(_as_text_cell).array)
    return changed.set_axis([_as_text_cell(name) for name in frame.columns], axis=1)


def _as_text_cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value


def _read_parquet(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)


def _read_labelled(name: str) -> Callable[[Path], pd.DataFrame]:
    def read(path: Path) -> pd.DataFrame:
        import pyreadstat

        options = {} if name == "read_sas7bdat" else {"apply_value_formats": True}
        try:
            frame, meta = getattr(pyreadstat, name)(str(path), **options)
        except pyreadstat.ReadstatError as problem:
            raise ValueError(str(problem)) from None
        frame.attrs["labels"] = dict(meta.column_names_to_labels)
        return frame

    return read


def _fault(path: Path, what: str, remedy: str) -> InputError:
    return InputError("survey file", [Fault(str(path), what, remedy=remedy)])


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": read_delimited,
    ".parquet": _read_parquet,
    ".sav": _read_labelled("read_sav"),
    ".dta": _read_labelled("read_dta"),
    ".sas7bdat": _read_labelled("read_sas7bdat"),
}
_KNOWN = f"Give one of {', '.join(READERS)}."
