"""Folders of PopulationSim (settings, controls, tables) read as they are, and its output files."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin
from synthpop.calibration.zone_solver import WeightLimits
from synthpop.calibration.zones import ZoneHouseholds, balance_zones
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.roles.survey import Survey

HOUSEHOLD = "household_of_seed"
CONTROL_COLUMNS = ("target", "geography", "seed_table", "importance", "control_field", "expression")
LONGEST_EXPRESSION = 2_000
EXPANDED = "expanded_household_ids"
EXPANSION = {
    "min_expansion_factor": 0.0,
    "max_expansion_factor": np.inf,
    "absolute_lower_bounds": 0.0,
    "absolute_upper_bounds": np.inf,
}


@dataclass(frozen=True)
class ZoneFolder:
    """What a folder of PopulationSim asks for.

    Attributes
    ----------
    survey : Survey
        Persons of the seed with the columns of their household, and one column for each control.
    geography : DataFrame, one row per zone
        The geographies, the largest first.
    margins : list of Margin
    within : str
        The seed geography: households stay inside of theirs.
    households, persons : DataFrame
        The seed tables.
    settings : dict
    """

    survey: Survey
    geography: pd.DataFrame
    margins: list[Margin]
    within: str
    households: pd.DataFrame
    persons: pd.DataFrame
    settings: Mapping[str, Any]

    def balance(
        self, *, seed: int | None = None, only: list[Any] | None = None,
        previous: ZoneHouseholds | None = None,
    ) -> ZoneHouseholds:  # fmt: skip
        """Put the households of the seed into the zones (`balance_zones`)."""
        return balance_zones(
            self.survey, self.geography, self.margins, within=self.within, only=only,
            bounds=self.limits(), previous=previous, seed=seed,
        )  # fmt: skip

    def limits(self) -> WeightLimits | None:
        """Return the expansion factors and absolute bounds where they are of the zones."""
        if self.within != self.geography.columns[-1]:
            return None
        low, high, least, most = (
            self.settings.get(name, default) for name, default in EXPANSION.items()
        )
        limits = WeightLimits(ratio=(low, high), weight=(least, most))
        return None if limits == WeightLimits() else limits

    def tables(self, result: ZoneHouseholds) -> dict[str, pd.DataFrame]:
        """Return the files that the settings ask for: households, persons and summaries by area."""
        wanted = self.settings.get("output_synthetic_population", {})
        name = str(wanted.get("household_id", "household_id"))
        copies = result.persons().rename(columns={"zone_household": name})
        copies[name] += 1
        places = list(self.geography.columns)
        households = copies.drop_duplicates(name)
        tables = {}
        for kind, rows in (("households", households), ("persons", copies)):
            of_kind = wanted.get(kind, {})
            every = self.households if kind == "households" else self.persons
            columns = [column for column in of_kind.get("columns", every) if column in rows]
            first = [name, *(places if kind == "households" else [])]
            tables[str(of_kind.get("filename", f"synthetic_{kind}.csv"))] = rows[
                [*first, *(column for column in columns if column not in first)]
            ].reset_index(drop=True)
        if EXPANDED in self.settings.get("output_tables", {}).get("tables", []):
            key = str(self.settings["household_id_col"])
            tables[f"final_{EXPANDED}.csv"] = households[[*places[::-1], key]]
        for area, part in result.controls.groupby(result.controls["cell"].str.partition(" ")[0]):
            wide = part.assign(id=part["cell"].str.partition(" ")[2]).pivot_table(
                index="id", columns="margin", values=["target", "achieved"], sort=False
            )
            summary = pd.DataFrame({"geography": area, "id": wide.index})
            for margin in dict.fromkeys(part["margin"]):
                target, achieved = wide["target", margin], wide["achieved", margin]
                summary[f"{margin}_control"] = target.to_numpy()
                summary[f"{margin}_result"] = achieved.to_numpy()
                summary[f"{margin}_diff"] = (achieved - target).to_numpy()
            tables[f"final_summary_{area}.csv"] = summary
        return tables


def read_zone_folder(
    folder: Path | str, *, configs: str = "configs", data: str = "data", repop: bool = False
) -> ZoneFolder:
    """Read the settings, controls and tables of a PopulationSim run.

    Parameters
    ----------
    folder : path
    configs, data : str
        Folders in it with ``settings.yaml`` and the controls, and with the tables.
    repop : bool
        Controls and zones of the step that gives some zones a new population.

    Raises
    ------
    InputError
        What is absent, or is not understood, with file and line of the controls. Settings that
        change how PopulationSim computes (integers, sub-balancing) are not used: all geographies
        are balanced at once.

    Notes
    -----
    Expressions are parsed, never evaluated as code: comparisons, arithmetic, ``&``, ``|``, ``~``,
    ``isin([...])``, ``between(a, b)``, ``isna()``, ``notna()`` and ``np.inf``.
    """
    home, source = Path(folder) / configs, Path(folder) / data
    settings = _settings(home / "settings.yaml")
    if settings.get("inherit_settings"):
        settings = {**_settings(Path(folder) / "configs" / "settings.yaml"), **settings}
        home = home if (home / "controls.csv").exists() else Path(folder) / "configs"
    _check_settings(settings)
    tables = _tables(settings, source, repop)
    geographies = [str(name) for name in settings["geographies"]]
    walk = tables["geo_cross_walk"].dropna(subset=geographies)[geographies]
    order = walk.nunique().sort_values(kind="stable").index  # nested: fewer areas are larger ones
    geography = walk[list(order)].drop_duplicates().reset_index(drop=True)
    within = str(settings["seed_geography"])
    name = "repop_control_file_name" if repop else "control_file_name"
    default = "repop_controls.csv" if repop else "controls.csv"
    controls = _read(home / str(settings.get(name, default)))
    households, persons = tables["households"], tables["persons"]
    faults = Faults("controls")
    _check_controls(faults, controls, geographies)
    faults.raise_if_any()
    total = str(settings.get("total_hh_control", ""))
    key = str(settings["household_id_col"])
    households = households.assign(**{HOUSEHOLD: np.arange(len(households))})
    own = [column for column in persons if column not in households or column == key]
    frame = persons[own].merge(households, on=key, validate="many_to_one")
    margins = []
    for row in _rows(controls):
        source_table = households if row.seed_table == "households" else persons
        value = _values(faults, row, {"households": households, "persons": persons}, source_table)
        targets = tables.get(f"{row.geography}_control_data")
        if targets is None or row.control_field not in targets:
            where = f"line {row.Index + 2}: control_field {row.control_field!r}"
            hint = f"Give it in the table {row.geography}_control_data."
            faults.add(str(row.target), f"{where} is in no table", hint=hint)
        if value is None or targets is None or row.control_field not in targets:
            continue
        if row.seed_table == "households":
            column = frame[HOUSEHOLD].map(pd.Series(value, index=households[HOUSEHOLD]))
        else:
            column = pd.Series(value).groupby(persons[key].to_numpy()).sum()
            column = frame[key].map(column).fillna(0.0)
        frame[str(row.target)] = column.to_numpy(dtype=np.float64)
        table = targets[[row.geography, row.control_field]].set_axis(
            [row.geography, "total"], axis=1
        )
        table = table[table[row.geography].isin(set(geography[row.geography]))]
        importance = None if row.target == total else float(row.importance)
        margins.append(
            Margin(table, level="household", variable=str(row.target), importance=importance,
                   name=str(row.target))
        )  # fmt: skip
    faults.raise_if_any()
    geography = _with_households(geography, tables) if total else geography
    survey = Survey(frame, weight=str(settings["household_weight_col"]), household=key)
    return ZoneFolder(survey, geography, margins, within, households, persons, settings)


def _with_households(geography: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Leave out zones that no table controls: they have no households."""
    zone = str(geography.columns[-1])
    known = tables.get(f"{zone}_control_data")
    if known is None:
        return geography
    return geography[geography[zone].isin(set(known[zone]))].reset_index(drop=True)


def _settings(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        hint = "Install the extra: pip install 'synthpop-riskeval[zones]'."
        raise InputError.of("settings", path.name, "PyYAML is not installed", hint) from None
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        hint = "Give the folders of settings and data with --configs and --data."
        raise InputError.of("settings", str(path), "is not there", hint) from None
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        what = f"is not YAML: {str(problem).splitlines()[0]}"
        raise InputError.of("settings", path.name, what, "Repair the file.") from problem
    if not isinstance(settings, dict):
        raise InputError.of("settings", path.name, "has no settings", "Repair the file.")
    return settings


def _check_settings(settings: Mapping[str, Any]) -> None:
    faults = Faults("settings")
    for name in ("geographies", "seed_geography", "household_weight_col", "household_id_col",
                 "input_table_list"):  # fmt: skip
        if name not in settings:
            faults.add(name, "is not in settings.yaml", hint="Add it.")
    faults.raise_if_any()


def _tables(settings: Mapping[str, Any], folder: Path, repop: bool) -> dict[str, pd.DataFrame]:
    items = list(settings["input_table_list"])
    if repop:
        items += list(settings.get("repop_input_table_list", []))
    tables = {}
    for item in items:
        types = {name: str for name, kind in item.get("dtypes", {}).items() if kind == "str"}
        table = _read(folder / str(item["filename"]), types)
        table = table.drop(columns=item.get("drop_columns", []), errors="ignore")
        tables[str(item["tablename"])] = table.rename(columns=item.get("rename_columns", {}))
    absent = {"households", "persons", "geo_cross_walk"} - tables.keys()
    if absent:
        what = f"{', '.join(sorted(absent))} is not in input_table_list"
        raise InputError.of("settings", "input_table_list", what, "Name its file.")
    return tables


def _read(path: Path, types: Mapping[str, type] | None = None) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, comment="#", skip_blank_lines=True, dtype=dict(types or {}))
    except FileNotFoundError:
        raise InputError.of("tables", path.name, "is not there", "Add the file.") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as problem:
        what = "is not a table of comma-separated values"
        raise InputError.of("tables", path.name, what, "Open and repair it.") from problem
    table.columns = table.columns.str.strip()
    return table.dropna(how="all").reset_index(drop=True)


def _rows(table: pd.DataFrame) -> list[Any]:
    return list(table.itertuples())


def _check_controls(faults: Faults, controls: pd.DataFrame, geographies: list[str]) -> None:
    for name in CONTROL_COLUMNS:
        if name not in controls:
            faults.add(name, "is not a column of the controls", hint="Add it.")
    faults.raise_if_any()
    for row in _rows(controls):
        if row.geography not in geographies:
            what = f"line {row.Index + 2}: {row.geography!r} is not a geography"
            faults.add(str(row.target), what, hint=did_you_mean(str(row.geography), geographies))
        if row.seed_table not in ("households", "persons"):
            what = f"line {row.Index + 2}: seed_table {row.seed_table!r}"
            faults.add(str(row.target), what, hint="Write households or persons.")


def _values(
    faults: Faults, row: Any, tables: Mapping[str, pd.DataFrame], own: pd.DataFrame
) -> np.ndarray | None:
    """Values of the expression of a control, one a row of its table; notes what is wrong."""
    try:
        value = evaluate(str(row.expression), tables)
    except ValueError as problem:
        where = f"line {row.Index + 2}: {row.expression!r}"
        hint = "Compare columns of households or persons with numbers or texts."
        faults.add(str(row.target), f"{where}: {problem}", hint=hint)
        return None
    if np.shape(value) != (len(own),):
        what = f"line {row.Index + 2}: is not one value for each row of {row.seed_table}"
        faults.add(str(row.target), what, hint=f"Use columns of {row.seed_table} only.")
        return None
    return np.nan_to_num(np.asarray(value, dtype=np.float64))


OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Invert: operator.invert, ast.USub: operator.neg,
}  # fmt: skip

IS_MISSING = {"isna": True, "isnull": True, "notna": False, "notnull": False}


def evaluate(expression: str, tables: Mapping[str, pd.DataFrame]) -> Any:
    """Evaluate an expression on columns of tables, from its tree: nothing of it runs as code.

    Examples
    --------
    >>> homes = pd.DataFrame({"NP": [1, 2, 5]})
    >>> evaluate("(households.NP >= 2) & ~households.NP.isin([5])", {"households": homes})
    array([False,  True, False])
    """
    if len(expression) > LONGEST_EXPRESSION:
        raise ValueError(f"is longer than {LONGEST_EXPRESSION} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        return _value(tree, tables)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("is not understood") from None
    except TypeError:
        raise ValueError("compares what cannot be compared") from None


def _value(node: ast.expr, tables: Mapping[str, pd.DataFrame]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, tables) for item in items]
        case ast.Attribute(value=ast.Name(id="np"), attr="inf"):
            return np.inf
        case (
            ast.Attribute(value=ast.Name(id=table), attr=column)
            | ast.Subscript(value=ast.Name(id=table), slice=ast.Constant(value=str() as column))
        ):
            if table not in tables or column not in tables[table]:
                raise ValueError(f"{table}.{column} is not a column")
            return tables[table][column].to_numpy()
        case ast.Compare(left=left, ops=[comparison], comparators=[right]) if (
            type(comparison) in OPERATORS
        ):
            return OPERATORS[type(comparison)](_value(left, tables), _value(right, tables))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, tables), _value(right, tables))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(operand, tables))
        case ast.Call(func=ast.Attribute(value=of, attr=attr), args=[], keywords=[]) if (
            attr in IS_MISSING
        ):
            return pd.isna(_value(of, tables)) == IS_MISSING[attr]
        case ast.Call(func=ast.Attribute(value=of, attr="isin"), args=[values], keywords=[]):
            return np.isin(_value(of, tables), _value(values, tables))
        case ast.Call(func=ast.Attribute(value=of, attr="between"), args=[a, b], keywords=[]):
            value = _value(of, tables)
            return (value >= _value(a, tables)) & (value <= _value(b, tables))
    raise ValueError(f"{ast.unparse(node)} is not understood")
