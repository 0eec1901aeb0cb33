"""Tables from and to files of every format that survey offices use, with their dictionaries."""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from synthpop.microdata.formats import labelled, labelled_write
from synthpop.microdata.formats.atomic import replacing
from synthpop.microdata.formats.delimited import CsvOptions, read_delimited, with_numbers
from synthpop.microdata.formats.fixed import read_fixed
from synthpop.microdata.formats.labelled import UserMissing
from synthpop.microdata.formats.rfiles import read_r, write_r
from synthpop.microdata.formats.size import check_size
from synthpop.microdata.formats.text_codes import mixed_numbers
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of, with_dictionary
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.roles.survey import Survey

DTA_VERSIONS = tuple(range(8, 16))
"""Versions of Stata for which files are written."""
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def read_survey(
    path: Path | str,
    *,
    csv: CsvOptions | None = None,
    user_missing: UserMissing = "missing",
    dictionary: Dictionary | None = None,
    **roles: Any,
) -> Survey:
    r"""Read a survey file and give its columns their roles.

    Parameters
    ----------
    path : path
        ``.csv``, ``.txt`` or ``.tsv`` (see `read_delimited`: a column becomes numbers only where
        nothing is lost), ``.parquet``, ``.arrow``, ``.feather`` (where all columns are text, their
        numbers are recognised as in delimited text), ``.xlsx``; SPSS ``.sav``,
        ``.zsav`` and ``.por``, Stata ``.dta``, SAS ``.sas7bdat`` and ``.xpt``, R ``.rds`` and
        ``.RData``; fixed format with mu-Argus metadata (``.asc`` beside ``.rda``). Labels, codes
        and missing codes are kept in the dictionary of the frame (`dictionary_of`). All but
        delimited text, Parquet and Arrow need the extra ``survey-files``.
    csv : CsvOptions, optional
        Separator, decimal sign, encoding, missing codes and types of delimited text.
    user_missing : {"missing", "level"}
        Missing codes become missing values, or levels of labelled variables; a number with several
        kinds of missing, ``income``, gets a column of these, ``income_missing``. Files of SPSS and
        Stata and delimited text get the codes back; the others have both columns.
    dictionary : Dictionary, optional
        Labels and missing codes that the file itself does not have, or instead of its own.
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
    frame = read_table(path, csv=csv, user_missing=user_missing, dictionary=dictionary)
    return Survey(frame, **roles)


def read_table(
    path: Path | str,
    *,
    csv: CsvOptions | None = None,
    user_missing: UserMissing = "missing",
    dictionary: Dictionary | None = None,
) -> pd.DataFrame:
    """Read a file as a frame; see `read_survey`."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in READERS:
        raise _fault(
            file,
            message("files of type {suffix} are not read", suffix=file.suffix or "(none)"),
            _KNOWN,
        )
    if user_missing not in ("missing", "level"):
        raise _fault(file, f"user_missing {user_missing!r}", "There are: missing, level.")
    if csv is not None and suffix not in DELIMITED:
        raise _fault(file, "is not a delimited text, and csv options are given", "Leave them out.")
    if not file.exists():
        raise _fault(file, "there is no such file", "Check the path.")
    check_size(file)
    try:
        options: dict[str, Any] = {}
        if suffix in DELIMITED:
            options["options"] = csv
        if suffix not in (".parquet", ".arrow", ".feather", ".asc"):
            options["user_missing"] = user_missing
        frame = READERS[suffix](file, **options)
    except ImportError as problem:
        hint = "Install the extra: pip install 'synthpop-riskeval[survey-files]'."
        raise _fault(file, f"needs the package {problem.name}", hint) from None
    except DAMAGED as problem:
        if isinstance(problem, InputError):
            raise
        hint = getattr(problem, "hint", "Open it and check.")
        raise _fault(file, message("cannot be read: {reason}", reason=problem), hint) from None
    if dictionary is not None:
        frame = _with_meanings(frame, dictionary, user_missing)
    elif suffix in (".parquet", ".arrow", ".feather"):
        frame = _with_meanings(frame, _undecoded(frame), user_missing)
    return with_whole_numbers(frame)


def read_with_kinds(path: Path) -> tuple[pd.DataFrame, UserMissing]:
    """Read a file, and say how: kinds of missing are levels where a column has several."""
    frame = read_table(path)
    if labelled.ONE_KIND not in frame.attrs:
        return frame, "missing"
    return read_table(path, user_missing="level"), "level"


def _undecoded(frame: pd.DataFrame) -> Dictionary:
    """Return the dictionary of the columns that still hold codes for missing."""
    dictionary = dictionary_of(frame)
    coded = [str(n) for n in frame.columns if not isinstance(frame[n].dtype, pd.CategoricalDtype)]
    return dictionary.only(
        [n for n in coded if n in dictionary and labelled.kinds_of_missing(frame[n], dictionary[n])]
    )


def _with_meanings(
    frame: pd.DataFrame, dictionary: Dictionary, user_missing: UserMissing
) -> pd.DataFrame:
    """Apply a dictionary: columns that still hold codes get labels and kinds of missing."""
    coded = [
        name for name in frame.columns
        if name in dictionary and not isinstance(frame[name].dtype, pd.CategoricalDtype)
    ]  # fmt: skip
    meant = dictionary_of(frame).updated(dictionary)
    if not coded:
        return with_dictionary(frame, meant)
    read = labelled.decoded_columns(frame[coded], dictionary, user_missing)
    whole = labelled.in_order([*map(str, frame.columns)], read, frame.drop(columns=coded))
    notes = [*frame.attrs.get("reading", []), *read.attrs.get("reading", [])]
    whole.attrs = {**frame.attrs, **read.attrs, **({"reading": notes} if notes else {})}
    return with_dictionary(whole, meant.updated(dictionary_of(read)))


def write_table(
    frame: Any,
    path: Path | str,
    *,
    private: bool = False,
    safe_csv: bool = False,
    csv: CsvOptions | None = None,
    dta_version: int | None = None,
) -> None:
    """Write a frame with the labels of its dictionary, whole or not at all.

    Parameters
    ----------
    frame : DataFrame, or a frame of another library
    path : path
        ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.xlsx``, ``.sav``, ``.zsav``, ``.dta``,
        ``.xpt`` or ``.rds``. Labelled files hold codes and labels; ``.rds`` holds factors;
        Parquet and Arrow hold the dictionary in their schema; text and sheets hold labels only.
    private : bool
        Only the user may read the file (mode 0600).
    safe_csv : bool
        In delimited text, put an apostrophe before text that a spreadsheet takes for a formula
        (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end).
    csv : CsvOptions, optional
        Separator, decimal sign and encoding of delimited text. Default: the comma (a tab in
        ``.tsv``), the point and UTF-8.
    dta_version : int, optional
        Stata that shall read a ``.dta``: 8 to 15, which is the default and what later ones read.

    Raises
    ------
    InputError
        A version that is not written, or one for another format.
    OutputError
        The file cannot be written, or a column holds what such a file cannot hold; all that does
        not fit is named before anything is written.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in WRITERS:
        raise OutputError(f"{file}: tables are written as {', '.join(WRITERS)}.")
    if dta_version is not None and not (kind == ".dta" and dta_version in DTA_VERSIONS):
        hint = f"Give {DTA_VERSIONS[0]} to {DTA_VERSIONS[-1]}, for .dta only."
        raise _fault(file, f"dta_version {dta_version!r}", hint)
    table = with_whole_numbers(as_frame(frame, "table"))
    is_text = kind in (".csv", ".tsv")
    table = without_formulas(table) if safe_csv and is_text else table
    options: dict[str, Any] = {"csv": csv} if is_text else {}
    if dta_version is not None:
        options["version"] = dta_version
    with replacing(file, private=private) as draft:
        try:
            WRITERS[kind](table, draft, file, **options)
        except UnicodeEncodeError as problem:
            sign = problem.object[problem.start]
            raise OutputError(
                f"cannot write {file}: the sign {sign!r} is not in {problem.encoding}."
            ) from None
        except ImportError as problem:
            extra = "pip install 'synthpop-riskeval[survey-files]'"
            needed = f"needs the package {problem.name}"
            raise OutputError(f"cannot write {file}: {needed}. Run {extra}.") from None


def with_whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which integers of the dictionary are integers, missing or not."""
    dictionary = dictionary_of(frame)
    whole_columns = {
        name: frame[name].astype("Int64")
        for name in frame.columns
        if str(name) in dictionary
        and dictionary[str(name)].kind == "integer"
        and pd.api.types.is_float_dtype(frame[name].dtype)
        and bool((frame[name].dropna() % 1 == 0).all())
        and bool((frame[name].dropna().abs() < 2**53).all())
    }
    return frame.assign(**whole_columns) if whole_columns else frame


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts and names no spreadsheet takes for formulas."""
    changed = frame.copy(deep=False)
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            texts = column.astype(object)
            changed.isetitem(place, texts.map(_as_text_cell).array)
    return changed.set_axis([_as_text_cell(name) for name in frame.columns], axis=1)


def _as_text_cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_SIGNS) else value


def _write_text(frame: pd.DataFrame, path: Path, target: Path, csv: CsvOptions | None) -> None:
    options = csv or CsvOptions()
    usual = "\t" if target.suffix.lower() == ".tsv" else ","
    frame = labelled.with_kinds_as_codes(frame)
    for name, variable in dictionary_of(frame).variables.items():
        code = variable.missing_code  # of numbers whose code for missing is a text
        if name in frame and isinstance(code, str) and is_number(frame[name]):
            column = frame[name].astype(object)
            frame = frame.assign(**{name: column.where(frame[name].notna(), code)})
    frame.to_csv(
        path, index=False, sep=options.separator or usual, decimal=options.decimal or ".",
        encoding=options.encoding,
    )  # fmt: skip


def _write_xlsx(frame: pd.DataFrame, path: Path, target: Path) -> None:
    if len(frame) >= 2**20 or frame.shape[1] > 2**14:
        raise OutputError(f"cannot write {target}: a sheet holds at most 1,048,575 rows.")
    with path.open("wb") as stream:
        frame.to_excel(stream, index=False)


def _write_arrow(frame: pd.DataFrame, path: Path, target: Path) -> None:
    import pyarrow as pa
    from pyarrow import feather

    try:
        if target.suffix.lower() == ".parquet":
            frame.to_parquet(path, index=False)
        else:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            feather.write_feather(with_dictionary(table, dictionary_of(frame)), path)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise OutputError(
            f"cannot write {target}: {reason}. Turn the column into text or numbers first."
        ) from None


def to_parquet(
    frame: pd.DataFrame, target: Path | BytesIO, what: str, index: bool | None = None
) -> None:
    """Write a frame as Parquet, with its index labels as pandas does; `what` is named in faults."""
    from pyarrow import ArrowException

    try:
        frame.to_parquet(target, index=index)
    except (ArrowException, ValueError, TypeError, OverflowError, NotImplementedError) as error:
        raise OutputError(f"{what} cannot be written to Parquet: {error}") from error


def _read_xlsx(path: Path, user_missing: UserMissing) -> pd.DataFrame:
    try:
        frame = pd.read_excel(path, engine="openpyxl")
    except BadZipFile:
        raise ValueError("it is not a sheet of this format") from None
    if len(frame) == 0:
        raise ValueError("there is a header but no row")
    return mixed_numbers(frame, user_missing)


def _fault(path: Path, what: str, hint: str) -> InputError:
    return InputError.of("survey file", str(path), what, hint)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return _with_types(pd.read_parquet(path, page_checksum_verification=True))
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        raise ValueError(f"what pandas noted in it is damaged ({problem!r})") from None


def _read_feather(path: Path) -> pd.DataFrame:
    from pyarrow import feather

    frame = pd.read_feather(path)  # older versions of pandas leave the dictionary out
    dictionary = dictionary_of(feather.read_table(path, columns=[]))
    return _with_types(with_dictionary(frame, dictionary) if len(dictionary) else frame)


def _with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose columns are all text as `read_delimited` would read it."""
    if frame.shape[1] < 2 or not all(pd.api.types.is_string_dtype(t) for t in frame.dtypes):
        return frame
    typed, guesses = with_numbers(frame, False)
    typed.attrs["reading"] = [message("all columns are text: numbers were recognised"), *guesses]
    return typed


DAMAGED = (
    OSError, ValueError, EOFError, LookupError, TypeError, AttributeError, AssertionError,
    ArithmeticError, RecursionError, NotImplementedError, zlib.error, lzma.LZMAError, struct.error,
)  # fmt: skip
"""What the readers of other libraries raise where bytes are damaged."""
DELIMITED = (".csv", ".txt", ".tsv")
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    **dict.fromkeys(DELIMITED, read_delimited),
    ".parquet": _read_parquet,
    ".arrow": _read_feather,
    ".feather": _read_feather,
    ".xlsx": _read_xlsx,
    **labelled.READERS,
    ".rds": read_r,
    ".rdata": read_r,
    ".rda": read_r,
    ".asc": read_fixed,
}
WRITERS: dict[str, Callable[..., None]] = {
    ".csv": _write_text,
    ".tsv": _write_text,
    ".parquet": _write_arrow,
    ".arrow": _write_arrow,
    ".xlsx": _write_xlsx,
    **labelled_write.WRITERS,
    ".rds": write_r,
}
_KNOWN = f"Give one of {', '.join(READERS)}."
