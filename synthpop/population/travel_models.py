"""Households and persons as travel demand models read them: ActivitySim and eqasim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.delimited import CsvOptions
from synthpop.microdata.formats.files import write_table
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.errors import Faults, did_you_mean

Derive = Callable[[pd.DataFrame], np.ndarray | None]
FULL_TIME = 35  # hours a week from which the census counts full-time work
SHOWN = 5


@dataclass(frozen=True)
class TravelTables:
    """Two tables that belong together.

    Attributes
    ----------
    households : DataFrame, one row per household
    persons : DataFrame, one row per person
    separator : str
        Between the columns of the CSV files that the model reads.

    Examples
    --------
    >>> import tempfile
    >>> people = pd.DataFrame({"hid": [1], "zone": "z", "age": 30, "sex": "male", "studies": False,
    ...                        "employed": True, "socioprofessional_class": 3,
    ...                        "number_of_vehicles": 1})
    >>> folder = Path(tempfile.mkdtemp())
    >>> travel_tables(people, "eqasim", household="hid", zone="zone").write(folder)
    >>> sorted(file.name for file in folder.iterdir())
    ['households.csv', 'persons.csv']
    """

    households: pd.DataFrame
    persons: pd.DataFrame
    separator: str

    def write(self, folder: Path | str) -> None:
        """Write ``households.csv`` and ``persons.csv`` to a folder that is there."""
        csv = CsvOptions(separator=self.separator)
        write_table(self.households, Path(folder) / "households.csv", csv=csv)
        write_table(self.persons, Path(folder) / "persons.csv", csv=csv)


@dataclass(frozen=True)
class _Model:
    """What a travel model reads."""

    zone: str  # column of households with their zone
    households: tuple[str, ...]
    persons: tuple[str, ...]
    allowed: Mapping[str, Sequence[Any]]  # values of a column
    derived: Mapping[str, Derive]  # what follows from other columns where it is not given
    separator: str
    optional: tuple[str, ...] = field(default=())  # derived too, but not asked for


def travel_tables(
    persons: Any,
    model: str = "activitysim",
    *,
    household: str,
    zone: str,
    columns: Mapping[str, str] | None = None,
    codes: Mapping[str, Mapping[Any, Any]] | None = None,
) -> TravelTables:
    """Return a population as the tables of households and persons that a travel model reads.

    Parameters
    ----------
    persons : DataFrame, one row per person
        As `ZoneHouseholds.persons` or `Population.frame` return it.
    model : "activitysim" or "eqasim"
    household, zone : str
        Columns of the household and of the zone that it lives in.
    columns : dict, optional
        Column of the model -> column of the population. Columns that have the model's name need no
        entry; names that the model does not know are written too (of households where all members
        agree, otherwise of persons).
    codes : dict, optional
        Column of the model -> value of the population -> code of the model. Values match by their
        text (``1``, ``1.0`` and ``"1"`` are one); ``""`` stands for a missing value.

    Returns
    -------
    TravelTables

    Raises
    ------
    InputError
        Lists every column that is absent and does not follow from others, has values that are
        missing, without a code, or that are no code of the model, and household values in which
        members differ.

    Notes
    -----
    Households and persons are numbered from 1. For ActivitySim (columns and codes of its example
    ``prototype_mtc``): ``home_zone_id``, ``hhsize``, ``PNUM``, ``num_workers``, ``pemploy`` (from
    ``employed`` and ``hours``: full-time from 35 hours a week), ``ptype`` (from age, pemploy and
    pstudent) and ``hinccat1`` (from income) follow from others where they are not given; its own
    model replaces ``auto_ownership``. For eqasim (the columns that its pipeline makes of a census):
    ``household_size``, ``consumption_units`` (1, then 0.5 for each further person from 14 years,
    0.3 below) and the numbers of the census records.

    Examples
    --------
    >>> people = pd.DataFrame(
    ...     {"hid": [7, 7, 9], "taz": [1, 1, 2], "age": [40, 9, 70], "sex": ["m", "f", "f"],
    ...      "employed": [True, False, False], "hours": [38, 0, 0], "pstudent": [3, 1, 3],
    ...      "income": [52000, 52000, 18000], "HHT": [2, 2, 6], "VEH": [1, 1, 0]}
    ... )
    >>> tables = travel_tables(
    ...     people, household="hid", zone="taz", columns={"auto_ownership": "VEH"},
    ...     codes={"sex": {"m": 1, "f": 2}},
    ... )
    >>> tables.persons[["household_id", "PNUM", "pemploy", "ptype"]].values.tolist()
    [[1, 1, 1, 1], [1, 2, 4, 7], [2, 1, 3, 5]]
    >>> tables.households[["home_zone_id", "hhsize", "num_workers"]].values.tolist()
    [[1, 2, 1], [2, 1, 0]]
    """
    faults = Faults("travel tables")
    frame = as_frame(persons, "persons").reset_index(drop=True)
    if model not in MODELS:
        faults.add("model", repr(model), hint=did_you_mean(model, list(MODELS)))
        faults.raise_if_any()
    reads, given = MODELS[model], dict(columns or {})
    check_columns(faults, frame, [household, zone, *given.values()], "columns")
    faults.raise_if_any()
    if frame[household].isna().any() or frame[zone].isna().any():
        faults.add(
            f"{household}, {zone}", "has missing values", hint="Every person lives somewhere."
        )
        faults.raise_if_any()
    home = pd.factorize(frame[household])[0]
    frame = frame.iloc[np.argsort(home, kind="stable")].reset_index(drop=True)
    made = _numbered(frame, np.sort(home), zone, reads)
    names = [*reads.households, *reads.persons, *reads.optional, "employed", "hours", *given]
    for name in dict.fromkeys(names):
        source = given.get(name, name)
        if name not in made and source in frame:
            made[name] = _coded(faults, name, frame[source], (codes or {}).get(name))
    for name in codes or {}:
        if name not in made:
            hint = did_you_mean(name, names)
            faults.add("codes", f"{name!r} is not a column of the model here", hint=hint)
    for name, derive in reads.derived.items():
        if name not in made and (values := derive(made)) is not None:
            made[name] = values
    _check(faults, made, reads)
    faults.raise_if_any()
    further = [name for name in [*reads.optional, *given] if name in made]
    shared = [name for name in further if _agree(made, name)]
    own = dict.fromkeys([*reads.persons, *(name for name in further if name not in shared)])
    of_home = dict.fromkeys([*reads.households, *(n for n in shared if n not in own)])
    homes = made.drop_duplicates("household_id")[list(of_home)].reset_index(drop=True)
    return TravelTables(homes, made[list(own)].reset_index(drop=True), reads.separator)


def _numbered(frame: pd.DataFrame, home: np.ndarray, zone: str, reads: _Model) -> pd.DataFrame:
    """Return ids and the zone; home: number of the household of each row, sorted."""
    made = pd.DataFrame({"household_id": home + 1, "person_id": np.arange(1, len(frame) + 1)})
    made[reads.zone] = frame[zone].to_numpy()
    if "PNUM" in reads.persons:
        made["PNUM"] = made.groupby("household_id").cumcount() + 1
    return made


def _coded(
    faults: Faults, name: str, values: pd.Series, codes: Mapping[Any, Any] | None
) -> np.ndarray:
    """Return values as the codes of the model; notes values without a code."""
    if codes is None:
        return values.to_numpy()
    known = {_text(value): code for value, code in codes.items()}
    cell, levels = pd.factorize(values.astype(object), use_na_sentinel=False)
    texts = [_text(level) for level in levels]
    absent = [text for text in texts if text and text not in known]
    if absent:
        hint = "Give each value a code of the model."
        faults.add(name, f"no code for {', '.join(absent[:SHOWN])}", hint=hint)
    return pd.Series([known.get(text) for text in texts], dtype=object).to_numpy()[cell]


def _text(value: Any) -> str:
    """Return a value as text, a missing one as nothing."""
    return "" if pd.isna(value) else level_text(value)


HINT = "Say which column it is: columns={...}, or [columns] in the file of --columns."


def _check(faults: Faults, made: pd.DataFrame, reads: _Model) -> None:
    for name in dict.fromkeys([*reads.households, *reads.persons]):
        if name not in made:
            what = "is not a column of the population, and does not follow from others"
            faults.add(name, what, hint=HINT)
            continue
        missing = made[name].isna().to_numpy()
        if missing.any():
            faults.add(name, "has missing values", rows=np.flatnonzero(missing), hint="Fill them.")
        elif name in reads.allowed:
            allowed = reads.allowed[name]
            wrong = ~made[name].isin(allowed).to_numpy()
            if wrong.any():
                found = made[name][wrong].iloc[0]
                what = f"{found} is none of {', '.join(map(str, allowed))}"
                hint = f"Give codes={{'{name}': {{...}}}}."
                faults.add(name, what, rows=np.flatnonzero(wrong), hint=hint)
        if name in reads.households and not _agree(made, name):
            faults.add(name, "differs between members of a household", hint="Give one value each.")


def _agree(made: pd.DataFrame, name: str) -> bool:
    cell = pd.factorize(made[name])[0]
    first = ~made.duplicated("household_id").to_numpy()
    return bool((cell == cell[first][made["household_id"].to_numpy() - 1]).all())


def _of_home(made: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    """Add values of persons up by household, one per person."""
    return np.bincount(made["household_id"], weights=values)[made["household_id"]]


def _size(made: pd.DataFrame) -> np.ndarray:
    return _of_home(made, np.ones(len(made))).astype(np.int64)


def _pemploy(made: pd.DataFrame) -> np.ndarray | None:
    if not {"age", "employed", "hours"} <= set(made):
        return None
    works = made["employed"].fillna(False).to_numpy(dtype=bool)
    hours = made["hours"].fillna(0).to_numpy(dtype=np.float64)
    return np.select([made["age"] < 16, ~works, hours >= FULL_TIME], [4, 3, 1], 2)


def _ptype(made: pd.DataFrame) -> np.ndarray | None:
    """Person type: workers before students, students before others, children by age."""
    if not {"age", "pemploy", "pstudent"} <= set(made):
        return None
    age, work, school = made["age"], made["pemploy"], made["pstudent"]
    cases = [age < 6, age < 16, work == 1, school == 2, school == 1, work == 2, age >= 65]
    return np.select(cases, [8, 7, 1, 3, 6, 2, 5], 4)


def _workers(made: pd.DataFrame) -> np.ndarray | None:
    if "pemploy" not in made:
        return None
    return _of_home(made, made["pemploy"].isin([1, 2]).to_numpy(dtype=float)).astype(np.int64)


def _income_class(made: pd.DataFrame) -> np.ndarray | None:
    if "income" not in made:
        return None
    return np.searchsorted([20_000, 50_000, 100_000], made["income"], side="right") + 1


def _units(made: pd.DataFrame) -> np.ndarray | None:
    """Consumption units of the household, modified OECD scale."""
    if "age" not in made:
        return None
    adult = made["age"].to_numpy() >= 14
    adults, children = _of_home(made, adult), _of_home(made, ~adult)
    return 1 + 0.5 * np.maximum(adults - 1, 0) + 0.3 * (children - (adults == 0))


MODELS: dict[str, _Model] = {
    "activitysim": _Model(
        "home_zone_id",
        (
            "household_id",
            "home_zone_id",
            "income",
            "hhsize",
            "HHT",
            "auto_ownership",
            "num_workers",
        ),
        ("person_id", "household_id", "age", "PNUM", "sex", "pemploy", "pstudent", "ptype"),
        {
            "sex": range(1, 3),
            "pemploy": range(1, 5),
            "pstudent": range(1, 4),
            "ptype": range(1, 9),
            "HHT": range(8),
        },
        {
            "hhsize": _size,
            "pemploy": _pemploy,
            "ptype": _ptype,
            "num_workers": _workers,
            "hinccat1": _income_class,
        },
        ",",
        ("hinccat1",),
    ),
    "eqasim": _Model(
        "iris_id",
        (
            "household_id",
            "iris_id",
            "household_size",
            "number_of_vehicles",
            "consumption_units",
            "census_household_id",
        ),
        (
            "person_id",
            "household_id",
            "age",
            "sex",
            "employed",
            "studies",
            "socioprofessional_class",
            "census_person_id",
        ),
        {"sex": ("male", "female"), "employed": (False, True), "studies": (False, True)},
        {
            "household_size": _size,
            "consumption_units": _units,
            "census_household_id": lambda made: made["household_id"].to_numpy(),
            "census_person_id": lambda made: made["person_id"].to_numpy(),
        },
        ";",
    ),
}
