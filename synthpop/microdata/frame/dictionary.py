"""The dictionary of variables: labels, codes and missing codes, from file to file.

A dictionary travels with a frame in ``frame.attrs["dictionary"]``, as plain values, so that it
survives copies, selections and Parquet.
"""

from __future__ import annotations

import json
import pickle
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import pandas as pd

from synthpop.microdata.frame.dictionary_table import pairs_text, read_pairs
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message

ATTRIBUTE = "dictionary"
SCHEMA_KEY = b"PANDAS_ATTRS"  # of Parquet and Arrow: where pandas keeps ``frame.attrs``
MEASURES = ("nominal", "ordinal", "scale")
BARE = re.compile(r"[\w-]+", re.ASCII)  # keys of TOML without quotes
KINDS = ("integer", "number", "text", "date", "time")

Code = int | float | str
Frame = TypeVar("Frame")


@dataclass(frozen=True, slots=True)
class Variable:
    """What a column of a file means.

    Attributes
    ----------
    name : str
        The column.
    label : str
        The question or a description; empty where there is none.
    values : tuple of pairs (code, label)
        Value labels in the order of the file.
    missing : tuple of pairs (code, meaning)
        Codes that stand for a kind of missing answer.
    missing_ranges : tuple of pairs (low, high)
        Ranges of such codes, ends included.
    unit : str
        "EUR a year", "hours a week"; empty where there is none.
    measure : {"nominal", "ordinal", "scale"} or None
        Measurement level.
    decimals : int or None
        Digits after the decimal point that the file prints.
    kind : {"integer", "number", "text", "date", "time"} or None
        What the codes or values are in the file.
    missing_code : int, float, str or None
        The one code that stood for all missing values of the file that was read; missing values
        are written as this code where a format can say that it means missing.

    Examples
    --------
    >>> sex = Variable("sex", label="Sex", values=((1, "male"), (2, "female")), missing=((-9, ""),))
    >>> sex.label_of(2), sex.code_of("male"), sex.is_missing(-9)
    ('female', 1, True)
    """

    name: str
    label: str = ""
    values: tuple[tuple[Code, str], ...] = ()
    missing: tuple[tuple[Code, str], ...] = ()
    missing_ranges: tuple[tuple[float, float], ...] = ()
    unit: str = ""
    measure: str | None = None
    decimals: int | None = None
    kind: str | None = None
    missing_code: Code | None = None

    def label_of(self, code: Code) -> str | None:
        """Return the label of a code; None where it has none."""
        return dict(self.values).get(code)

    def code_of(self, label: str) -> Code | None:
        """Return the code of a label; None where no code has it."""
        return {text: code for code, text in self.values}.get(label)

    def is_missing(self, code: Any) -> bool:
        """Tell whether a code stands for a missing answer."""
        if any(code == missing for missing, _ in self.missing):
            return True
        if isinstance(code, str | bool):
            return False
        return any(low <= code <= high for low, high in self.missing_ranges)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without those that say nothing."""
        entry: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "name" or value is None or value in ("", ()):
                continue
            entry[item.name] = [list(pair) for pair in value] if isinstance(value, tuple) else value
        return entry

    @classmethod
    def from_dict(cls, name: str, entry: Mapping[str, Any]) -> Variable:
        """Return the variable that `to_dict` described.

        Raises
        ------
        InputError
            For an unknown entry, a measure or kind that does not exist, labels that are not pairs.
        """
        faults = Faults("dictionary")
        entries = {item.name for item in fields(cls)} - {"name"}
        for key in entry.keys() - entries:
            faults.add(f"{name}.{key}", "is unknown", hint=did_you_mean(key, sorted(entries)))
        for key, allowed in (("measure", MEASURES), ("kind", KINDS)):
            if entry.get(key) is not None and entry[key] not in allowed:
                hint = f"There are: {', '.join(allowed)}."
                faults.add(
                    f"{name}.{key}",
                    message("{value} is not allowed", value=repr(entry[key])),
                    hint=hint,
                )
        values = dict(entry)
        for key in ("values", "missing", "missing_ranges"):
            pairs = _pairs(entry.get(key, ()))
            if pairs is None:
                hint = 'Give [[1, "male"], ...].'
                faults.add(f"{name}.{key}", "is not a list of pairs", hint=hint)
            else:
                values[key] = pairs
        faults.raise_if_any()
        return cls(name, **values)


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The variables of a file by name.

    Examples
    --------
    >>> dictionary = Dictionary([Variable("sex", values=((1, "male"), (2, "female")))])
    >>> dictionary["sex"].label_of(1), "age" in dictionary
    ('male', False)
    >>> print(dictionary.to_toml())
    [sex]
    values = [[1, "male"], [2, "female"]]
    """

    variables: Mapping[str, Variable] = field(default_factory=dict)

    def __init__(self, variables: Iterable[Variable] | Mapping[str, Variable] = ()) -> None:
        items = variables.values() if isinstance(variables, Mapping) else variables
        object.__setattr__(self, "variables", {item.name: item for item in items})

    def __getitem__(self, name: str) -> Variable:
        """Return the variable; an empty one where the dictionary says nothing of it."""
        return self.variables.get(name, Variable(name))

    def __contains__(self, name: object) -> bool:
        return name in self.variables

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def updated(self, other: Dictionary) -> Dictionary:
        """Return this dictionary with the variables of another in place of its own."""
        return Dictionary({**self.variables, **other.variables})

    def only(self, names: Iterable[str]) -> Dictionary:
        """Return the variables of these columns."""
        return Dictionary([self.variables[name] for name in names if name in self.variables])

    def renamed(self, names: Mapping[str, str]) -> Dictionary:
        """Return the dictionary of a file whose columns have other names."""
        return Dictionary(
            [replace(v, name=names.get(v.name, v.name)) for v in self.variables.values()]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as for JSON or TOML."""
        return {name: variable.to_dict() for name, variable in self.variables.items()}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Mapping[str, Any]]) -> Dictionary:
        """Return the dictionary that `to_dict` described."""
        return cls([Variable.from_dict(name, entry) for name, entry in entries.items()])

    def to_toml(self) -> str:
        """Return the dictionary as text that can be edited and read again."""
        lines = []
        for name, entry in self.to_dict().items():
            is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
            lines.append(f"[{name if is_bare else toml_value(name)}]")
            lines.extend(f"{key} = {toml_value(value)}" for key, value in entry.items())
            lines.append("")
        return "\n".join(lines).rstrip()

    @classmethod
    def from_toml(cls, text: str) -> Dictionary:
        """Read what `to_toml` wrote.

        Raises
        ------
        InputError
            The text is not TOML, or an entry is unknown.
        """
        try:
            entries = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
            what = f"is not TOML: {problem}"
            raise InputError.of("dictionary", "text", what, "Check the line.") from None
        faults = Faults("dictionary")
        for name, entry in entries.items():
            if not isinstance(entry, dict):
                faults.add(name, "is not a table", hint=f"Begin it with [{name}].")
        faults.raise_if_any()
        return cls.from_dict(entries)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per variable, labels as text "1 = male; 2 = female"; see `from_frame`."""
        rows = [
            {
                "variable": v.name,
                "label": v.label,
                "values": pairs_text(v.values),
                "missing": pairs_text(v.missing, v.missing_ranges),
                "unit": v.unit,
                "measure": v.measure or "",
                "decimals": v.decimals,
                "kind": v.kind or "",
                "missing_code": pairs_text(
                    [] if v.missing_code is None else [(v.missing_code, "")]
                ),
            }
            for v in self.variables.values()
        ]
        table = pd.DataFrame(rows, columns=_COLUMNS)
        return table.astype({"decimals": "Int64"})

    @classmethod
    def from_frame(cls, table: pd.DataFrame) -> Dictionary:
        """Return the dictionary of a table as `to_frame` writes it; columns may be left out.

        Raises
        ------
        InputError
            Lists unknown columns, variables that stand twice, and cells that cannot be read.
        """
        faults = Faults("dictionary")
        for column in table.columns:
            if column not in _COLUMNS:
                faults.add(str(column), "is unknown", hint=did_you_mean(column, _COLUMNS))
        if "variable" not in table.columns:
            what = "is not a column of the table"
            faults.add("variable", what, hint="Name the variables there.")
        faults.raise_if_any()
        entries: dict[str, dict[str, Any]] = {}
        for row in table.to_dict("records"):
            cells = {str(k): x for k, x in row.items() if not (x is None or x == "" or x != x)}
            name = str(cells.pop("variable", ""))
            if not name or name in entries:
                what = "stands in the table twice" if name else "a row has no variable"
                faults.add(name or "variable", what, hint="Give one row per variable.")
                continue
            entries[name] = _entry_of_row(faults, name, cells)
        with faults.gathering():
            dictionary = cls.from_dict(entries)
        faults.raise_if_any()
        return dictionary


_COLUMNS = [
    "variable", "label", "values", "missing", "unit", "measure", "decimals", "kind", "missing_code"
]  # fmt: skip


def _entry_of_row(faults: Faults, name: str, cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a variable from the cells of its row; note what cannot be read."""
    entry: dict[str, Any] = dict(cells)
    for key in ("values", "missing", "missing_code"):
        if key not in cells:
            continue
        try:
            pairs, ranges = read_pairs(str(cells[key]))
        except ValueError as problem:
            faults.add(f"{name}.{key}", str(problem))
            del entry[key]
            continue
        entry[key] = pairs
        if key == "missing_code":
            entry[key] = pairs[0][0]
        elif ranges:
            entry["missing_ranges"] = ranges
    if "decimals" in cells:
        try:
            entry["decimals"] = int(float(cells["decimals"]))
        except (TypeError, ValueError):
            faults.add(
                f"{name}.decimals",
                message("{value} is not a whole number", value=repr(cells["decimals"])),
            )
            del entry["decimals"]
    for key in ("label", "unit"):
        if key in entry:
            entry[key] = str(entry[key])
    return entry


class Entries(dict[str, Any]):
    """The plain values of a dictionary: pandas copies ``attrs`` for each column that is taken."""

    def __deepcopy__(self, memo: Any) -> Entries:
        """Copy all values, ten times as fast as `copy.deepcopy`."""
        return Entries(pickle.loads(pickle.dumps({**self})))

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        """Pickle as the plain values."""
        return dict, ({**self},)


def dictionary_of(frame: Any) -> Dictionary:
    """Return the dictionary that travels with a pandas frame or an Arrow table, or an empty one.

    Examples
    --------
    >>> frame = with_dictionary(pd.DataFrame({"sex": [1]}), Dictionary([Variable("sex", "Sex")]))
    >>> dictionary_of(frame)["sex"].label
    'Sex'
    """
    if hasattr(frame, "replace_schema_metadata"):
        return dictionary_of_schema(frame.schema.metadata)
    entries = getattr(frame, "attrs", {}).get(ATTRIBUTE)
    return Dictionary.from_dict(entries) if isinstance(entries, Mapping) else Dictionary()


def with_dictionary(frame: Frame, dictionary: Dictionary) -> Frame:
    """Return a pandas frame or an Arrow table with a dictionary of its columns.

    The frame that is given stays as it is. Frames of other libraries have no room for a
    dictionary and are refused.
    """
    if not isinstance(frame, pd.DataFrame):
        return _described(frame, dictionary)
    copy = frame.copy(deep=False)
    entries = Entries(dictionary.only(map(str, frame.columns)).to_dict())
    copy.attrs = {**frame.attrs, ATTRIBUTE: entries}
    return copy


def _described(table: Any, dictionary: Dictionary) -> Any:
    if not hasattr(table, "replace_schema_metadata"):
        what, hint = "has no room for it", "Give a pandas DataFrame or an Arrow table."
        raise InputError.of("dictionary", type(table).__name__, what, hint=hint)
    metadata = schema_metadata(dictionary.only(table.schema.names)) or {}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})


def schema_metadata(dictionary: Dictionary) -> dict[bytes, bytes] | None:
    """Return the dictionary as metadata of a Parquet or Arrow schema; None for an empty one."""
    if not len(dictionary):
        return None
    text = json.dumps({ATTRIBUTE: dictionary.to_dict()}, ensure_ascii=False)
    return {SCHEMA_KEY: text.encode()}


def dictionary_of_schema(metadata: Mapping[bytes, bytes] | None) -> Dictionary:
    """Return the dictionary in the metadata of a schema; an empty one where there is none."""
    try:
        entries = json.loads((metadata or {}).get(SCHEMA_KEY, b"{}")).get(ATTRIBUTE, {})
        return Dictionary.from_dict(entries)
    except (ValueError, AttributeError):
        return Dictionary()


def _pairs(value: Any) -> tuple[tuple[Any, Any], ...] | None:
    if not isinstance(value, list | tuple):
        return None
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        return None
    return tuple((first, second) for first, second in value)


def toml_value(value: Any) -> str:
    """Return a text, a number, a flag, or a list or table of such as TOML in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, Mapping):
        names = (
            str(name) if BARE.fullmatch(str(name)) else toml_value(str(name)) for name in value
        )
        pairs = zip(names, value.values(), strict=True)
        return f"{{{', '.join(f'{name} = {toml_value(item)}' for name, item in pairs)}}}"
    if isinstance(value, str):
        escapes: dict[str, str | int | None] = {
            sign: f"\\U{ord(sign):08x}" for sign in value if not sign.isprintable()
        }
        escapes |= {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
        return f'"{value.translate(str.maketrans(escapes))}"'
    return str(value)
