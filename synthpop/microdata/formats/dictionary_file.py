"""Dictionaries of variables as files that people edit: TOML, or a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from synthpop.microdata.formats.atomic import replacing
from synthpop.microdata.frame.dictionary import Dictionary
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.microdata.messages.message import message


def read_dictionary(path: Path | str) -> Dictionary:
    """Read a dictionary from a TOML file or a table (``.csv``, ``.xlsx``).

    See `Dictionary.to_toml` and `Dictionary.to_frame`, or `write_dictionary`, for what they hold.

    Raises
    ------
    InputError
        The file cannot be read, or lists every entry that is faulty.
    """
    file = Path(path)
    try:
        if file.suffix.lower() == ".csv":
            table = pd.read_csv(
                file, sep=None, engine="python", dtype=str, keep_default_na=False,
                encoding="utf-8-sig",
            )  # fmt: skip
            return Dictionary.from_frame(table)
        if file.suffix.lower() == ".xlsx":
            return Dictionary.from_frame(pd.read_excel(file, dtype=str, keep_default_na=False))
        text = file.read_text(encoding="utf-8-sig")
    except InputError:
        raise
    except (OSError, ValueError, ImportError) as problem:
        what = message("cannot be read: {reason}", reason=problem)
        raise InputError.of("dictionary", str(file), what, "Check the path.") from None
    return Dictionary.from_toml(text)


def write_dictionary(dictionary: Dictionary, path: Path | str) -> Path:
    """Write a dictionary to edit: ``.toml``, or a table ``.csv`` or ``.xlsx``.

    Raises
    ------
    OutputError
        The file cannot be written, or its name has another ending.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".toml", ".csv", ".xlsx"):
        raise OutputError(f"{file}: dictionaries are written as .toml, .csv or .xlsx.")
    with replacing(file) as draft:
        if kind == ".toml":
            draft.write_text(dictionary.to_toml() + "\n", encoding="utf-8")
        elif kind == ".csv":
            dictionary.to_frame().to_csv(draft, index=False, encoding="utf-8-sig")
        else:
            with draft.open("wb") as stream:
                dictionary.to_frame().to_excel(stream, index=False)
    return file
