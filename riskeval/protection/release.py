"""The one way out for a protected file: nothing of its history travels with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.household.layer import read_households
from riskeval.protection.identifiers import create_new_id
from riskeval.recovery.columns import names_of
from riskeval.shared.files import read_secret
from synthpop.microdata.formats.files import write_table
from synthpop.microdata.frame.checks import as_frame, check_columns, check_names
from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of, with_dictionary
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.frame.native import like, same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.roles.microdata import as_file

ORDERS = ("records", "households", "households and members", "keep")


@same_library
def release_file(
    data: Any,
    *,
    household: str | None = None,
    identifiers: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    order: str | None = None,
    seed: int | None = None,
    dictionary: Dictionary | None = None,
) -> Any:
    """Return a file as it may leave the office.

    Categories that no record has, the index, and everything in ``attrs`` but the dictionary are
    gone; the order of the records is random; identifiers are new random numbers. Of the dictionary
    (`dictionary_of`) labels of variables, units and the labels of codes that occur are left.

    Parameters
    ----------
    data : DataFrame, or a frame of another library, n records
    household : str, optional
        Column of household ids: it gets new numbers, and members stay together.
    identifiers : str or sequence of str, optional
        Further columns whose values become new random numbers (equal values equal numbers).
    drop : str or sequence of str, optional
        Columns to leave out, as names and addresses.
    order : str, optional
        "records": all records in random order; "households": households in random order, members
        as they stood; "households and members": members in random order too; "keep": as it is,
        which tells the place of each record. Default: "households and members" with a household,
        else "records".
    seed : int, optional
        Leave it out: the order is then drawn from 128 bits of the operating system and nobody can
        redo it. A seed of 64 bits or less can be guessed, and gives the order back.
    dictionary : Dictionary, optional
        Labels and codes of the variables; default: the one that travels with the file.

    Returns
    -------
    frame of the library of `data`, n records

    Raises
    ------
    InputError
        Unknown columns or order, a missing household id.

    Examples
    --------
    >>> people = pd.DataFrame({"home": [8, 8, 9], "age": [1, 2, 3]}, index=["AT1", "AT2", "AT3"])
    >>> file = release_file(people, household="home")
    >>> file.index.tolist(), sorted(file["home"].unique().tolist()), sorted(file["age"])
    ([0, 1, 2], [1, 2], [1, 2, 3])
    """
    faults = Faults("release_file")
    file = as_file(data, faults, household=household)
    frame, household = file.frame, file.roles.household
    check_names(faults, frame)
    if not faults:
        check_columns(faults, frame, frame.columns, "column")
    dropped, ids = names_of(drop), names_of(identifiers)
    check_columns(faults, frame, dict.fromkeys([*dropped, *ids]), "column")
    order = order or ("records" if household is None else "households and members")
    check_choice(faults, "order", order, ORDERS)
    if household is None and order in ORDERS[1:3]:
        faults.add("order", f"{order!r} without a household", hint="Give household.")
    homes = read_households(faults, file)
    streams = read_secret(faults, seed)
    faults.raise_if_any()
    rng = streams.at("release", "order")
    # 1. order of the records
    n = len(frame)
    rows = rng.permutation(n) if order == "records" else np.arange(n)
    if order in ORDERS[1:3]:
        position = rng.permutation(len(homes))[homes.number]
        within = rng.random(n) if order == ORDERS[2] else np.arange(n)
        rows = np.lexsort((within, position))
    released = frame.iloc[rows].drop(columns=dropped).reset_index(drop=True)
    # 2. new identifiers, drawn apart from the order
    for column in dict.fromkeys([*([] if household is None else [household]), *ids]):
        if column in released:
            stream = streams.number("release", "ids", column)
            released = create_new_id(released, column, seed=stream).data
    # 3. traces in the metadata
    for column in released.columns:
        if isinstance(released[column].dtype, pd.CategoricalDtype):
            released[column] = released[column].cat.remove_unused_categories()
    meanings = dictionary_of(frame) if dictionary is None else dictionary
    released.attrs = {}
    meanings = released_dictionary(released, meanings)
    if len(meanings):
        released = with_dictionary(released, meanings)
    return like(data, released)


def released_dictionary(file: pd.DataFrame, dictionary: Dictionary) -> Dictionary:
    """Return what a released file may say of its variables: labels of codes that records have.

    Missing values of a protected file may be suppressed ones: none is written as the code of a
    missing answer.
    """
    variables = []
    for name in file.columns:
        if str(name) not in dictionary:
            continue
        variable, values = dictionary[str(name)], file[name].dropna()
        present = {str(value) for value in values.unique()}
        numeric = is_number(file[name])
        variables.append(
            replace(
                variable,
                values=tuple(
                    (code, label)
                    for code, label in variable.values
                    if (str(code) if numeric else label) in present
                ),
                kind=variable.kind if numeric else None,
                decimals=variable.decimals if numeric else None,
                missing_code=None,
            )
        )
    return Dictionary(variables)


def write_release(path: Path | str, data: Any, **options: Any) -> Path:
    """Write a file as `release_file` returns it.

    Parameters
    ----------
    path : str or Path
        As in ``write_table``: ``.csv``, ``.parquet``, ``.sav``, ``.dta`` and others.
    data, options : as in `release_file`

    Returns
    -------
    Path

    Raises
    ------
    InputError
        Faulty options.
    OutputError
        The file cannot be written; nothing half-written is left.

    Examples
    --------
    >>> import tempfile
    >>> people = pd.DataFrame({"job": pd.Categorical(["clerk"], ["clerk", "minister"])})
    >>> path = write_release(Path(tempfile.mkdtemp()) / "file.parquet", people)
    >>> b"minister" in path.read_bytes()
    False
    """
    target = Path(path)
    write_table(as_frame(release_file(data, **options)), target)
    return target
