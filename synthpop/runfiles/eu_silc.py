"""Join the four files of EU-SILC and keep the variables of the book, under the names it uses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from synthpop.microdata.formats.files import read_table
from synthpop.microdata.messages.errors import Faults, InputError

FILES = ("D", "H", "R", "P")
KEYS = {"D": ("db030",), "H": ("hb030",), "R": ("rb030",), "P": ("pb030",)}
HOUSEHOLD_OF_PERSON = ("rx030", "rb040")
AGE, BIRTH_YEAR, SURVEY_YEAR = "rx020", "rb080", "rb010"
STATUS = ("pl031", "pl030", "pl032")
KEPT = {
    "D": ("db040", "db060", "db090", "db100"),
    "H": ("hx050", "hh010", "hh020", "hh021", "hs120"),
    "R": ("rb050", "rb090"),
    "P": ("pb190", "pb220a", "pe040", "pe041", "pl111", "pl060", "ph010"),
}
PERSON_PARTS = ("py010", "py021", "py050", "py080", "py090", "py100", "py110", "py120", "py130",
                "py140")  # fmt: skip
HOUSEHOLD_PARTS = ("hy040", "hy050", "hy060", "hy070", "hy080", "hy090", "hy110")
HOUSEHOLD_OUTLAYS = ("hy120", "hy130", "hy140")


def read_eu_silc(paths: Sequence[Path]) -> pd.DataFrame:
    """Return one row per person from the files D, H, R and P, or from one joined file.

    paths: four paths in the order D, H, R, P, or one; any format that `read_survey` knows. Case of
        the column names does not matter.
    Returns DataFrame: households first: ``db030`` (household), ``db040`` (region), ``db060`` (PSU),
        ``db090``, ``hsize``; persons: ``pid``, ``rb050`` (weight), ``age``, ``rb090`` (sex),
        economic status, citizenship, marital status, education, NACE; ``income`` with its
        components (gross where the file has them, else net); ``hgrossIncome`` and ``hgrossminus``,
        the sums of the household's components. Flags (columns that end in ``_f``) are left out.
    Raises InputError: a file has no key column, a key occurs twice, or persons belong to no
        household of D.

    Variables: EU-SILC, description of target variables (Eurostat, doc. 065), and section 8.7 of
    Templ (2017), Statistical Disclosure Control for Microdata. Ages are those of the end of the
    income reference period (RX020), or year of the survey less year of birth less one.
    """
    if len(paths) not in (1, len(FILES)):
        hint = "Give D, H, R and P in this order, or one joined file."
        raise InputError.of("EU-SILC", "files", f"{len(paths)} files are given", hint)
    tables = [_lower(read_table(Path(path))) for path in paths]
    if len(tables) == 1:
        return _variables(tables[0])
    named = dict(zip(FILES, tables, strict=True))
    faults = Faults("EU-SILC")
    for name, table in named.items():
        _check_key(faults, name, table)
    faults.raise_if_any()
    return _variables(_joined(named))


def _lower(table: pd.DataFrame) -> pd.DataFrame:
    table = table.rename(columns={name: str(name).lower() for name in table.columns})
    return table[[name for name in table.columns if not name.endswith("_f")]]


def _check_key(faults: Faults, name: str, table: pd.DataFrame) -> None:
    key = KEYS[name][0]
    if key not in table.columns:
        hint = "Give the files in the order D, H, R, P."
        faults.add(f"file {name}", f"has no column {key.upper()}", hint=hint)
    elif table[key].duplicated().any():
        rows = table.index[table[key].duplicated()].tolist()[:5]
        faults.add(f"file {name}", f"{key.upper()} occurs twice", rows=rows,
                   hint="Give the file of one year and country.")  # fmt: skip


def _joined(named: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Join persons with their interview, their household, and its interview."""
    register = named["R"]
    link = next((name for name in HOUSEHOLD_OF_PERSON if name in register.columns), None)
    if link is None:
        what = "has no column RX030 with the household"
        raise InputError.of("EU-SILC", "file R", what, "Add it from DB030.")
    frame = register.assign(db030=register[link])
    unknown = ~frame["db030"].isin(named["D"]["db030"])
    if unknown.any():
        rows = frame.index[unknown].tolist()[:5]
        what = "has persons of households that D does not have"
        raise InputError.of("EU-SILC", "file R", what, rows=rows)
    for name, left, right in (
        ("P", "rb030", "pb030"),
        ("D", "db030", "db030"),
        ("H", "db030", "hb030"),
    ):
        table = named[name]
        new = [column for column in table.columns if column not in frame.columns or column == right]
        table = table[list(dict.fromkeys([right, *new]))]
        frame = frame.merge(table, how="left", left_on=left, right_on=right)
    return frame.sort_values("db030", kind="stable").reset_index(drop=True)


def _variables(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the variables of the book that the file has."""
    if "db030" not in frame.columns or "rb050" not in frame.columns:
        missing = [name.upper() for name in ("db030", "rb050") if name not in frame.columns]
        raise InputError.of("EU-SILC", "columns", f"{', '.join(missing)} are missing")
    variables: dict[str, pd.Series] = {"db030": frame["db030"]}
    variables |= _present(frame, KEPT["D"])
    variables["hsize"] = frame.groupby("db030")["db030"].transform("size")
    if "rb030" in frame.columns:
        variables["pid"] = frame["rb030"]
    variables |= _present(frame, KEPT["R"])
    age = _age(frame)
    if age is not None:
        variables["age"] = age
    variables |= _present(frame, next(((name,) for name in STATUS if name in frame.columns), ()))
    variables |= _present(frame, KEPT["P"])
    variables |= _sum_of(frame, "income", PERSON_PARTS)
    variables |= _present(frame, _columns(frame, PERSON_PARTS))
    variables |= _present(frame, KEPT["H"])
    variables |= _sum_of(frame, "hgrossIncome", HOUSEHOLD_PARTS)
    variables |= _sum_of(frame, "hgrossminus", HOUSEHOLD_OUTLAYS)
    return pd.DataFrame(variables)


def _present(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, pd.Series]:
    return {name: frame[name] for name in names if name in frame.columns}


def _age(frame: pd.DataFrame) -> pd.Series | None:
    for name in (AGE, "age"):
        if name in frame.columns:
            return frame[name].clip(lower=0)
    if {BIRTH_YEAR, SURVEY_YEAR} <= set(frame.columns):
        return (frame[SURVEY_YEAR] - frame[BIRTH_YEAR] - 1).clip(lower=0)
    return None


def _columns(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the columns of components: gross where there are such, else net."""
    for ending in ("g", "n"):
        present = [f"{name}{ending}" for name in names if f"{name}{ending}" in frame.columns]
        if present:
            return present
    return []


def _sum_of(frame: pd.DataFrame, name: str, names: Sequence[str]) -> dict[str, pd.Series]:
    parts = _columns(frame, names)
    return {name: frame[parts].sum(axis=1, min_count=1)} if parts else {}
