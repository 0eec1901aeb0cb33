"""Records that the states of all journeys share: a source file and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pydantic import Field

from synthpop.microdata.formats.delimited import CsvOptions
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.frame.dictionary import Dictionary, Variable
from synthpop.microdata.messages.errors import Faults, InputError

if TYPE_CHECKING:
    import pandas as pd

STORED = r"^data-[a-z0-9]+\.[a-z0-9]+$"
Command = Callable[..., Any]


class Source(Table):
    """A data file of a project and how it is read.

    ``name`` is what the user calls the file, ``file`` its name in the folder of the project. What
    is None is found out from the file. ``labels`` holds entries of the dictionary of variables
    that the user changed, by column.
    """

    name: str
    file: str = Field(pattern=STORED)
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    types: dict[str, str] = Field(default_factory=dict)
    user_missing: Literal["missing", "level"] = "missing"
    labels: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """Format of the file, as ".csv"."""
        return "." + self.file.rsplit(".", 1)[1]

    @property
    def is_text(self) -> bool:
        """Whether separator, decimal sign and encoding matter."""
        return self.suffix in (".csv", ".txt", ".tsv")

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame with the types that the user chose; text files are read with them."""
        if self.is_text or not self.types:
            return frame
        import pandas as pd

        faults, changed = Faults("types"), dict[str, Any]()
        for name, kind in self.types.items():
            texts = frame[name].astype("string")
            if kind == "text":
                changed[name] = texts
            elif kind == "category":
                changed[name] = frame[name].astype("category")
            else:
                changed[name] = pd.to_numeric(texts, errors="coerce")
                rows = (changed[name].isna() & texts.notna()).to_numpy().nonzero()[0]
                if len(rows):
                    faults.add(name, "is not a number", rows=rows, hint="Leave it as it is.")
        faults.raise_if_any()
        return frame.assign(**changed)

    def text_options(self) -> dict[str, Any]:
        """Return the options of delimited text that the user chose, by name."""
        names = (*TEXT_OPTIONS, "missing", "types") if self.is_text else ()
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def run_file_table(self, file: str) -> dict[str, Any]:
        """Return the file and how it is read, as a table of a run file."""
        options = self.text_options()
        csv_table = {k: list(v) if isinstance(v, tuple) else v for k, v in options.items()}
        table = {"file": file, "csv": csv_table, "user_missing": self.user_missing}
        defaults = {"csv": {}, "user_missing": "missing"}
        return {key: value for key, value in table.items() if value != defaults.get(key)}

    def reading(self) -> dict[str, Any]:
        """Return the options of ``read_table``, or raise InputError where they do not fit."""
        csv = CsvOptions(**self.text_options()) if self.is_text else None
        dictionary = None
        if self.labels:
            dictionary = Dictionary(
                [Variable.from_dict(name, entry) for name, entry in self.labels.items()]
            )
        return {"csv": csv, "user_missing": self.user_missing, "dictionary": dictionary}


def opened(source: Source | None, noun: str) -> Source:
    """Return a file of the project, which must have been opened."""
    if source is None:
        raise InputError.of("project", noun, "is not opened yet", "Open it first.")
    return source


Item = TypeVar("Item")


def changed_at(
    items: tuple[Item, ...], place: int, noun: str, change: Callable[[Item], Item] | None = None
) -> tuple[Item, ...]:
    """Return the items with the one at a place changed, or without it."""
    if not 0 <= place < len(items):
        raise InputError.of("project", noun, f"there is none at place {place}")
    changed = () if change is None else (change(items[place]),)
    return (*items[:place], *changed, *items[place + 1 :])


class ColumnRoles(Table):
    """Columns by role: one column, or any number of them."""

    def of(self, column: str) -> str:
        """Return the role of a column; "" without one."""
        for role, value in self:
            if column == value or (isinstance(value, tuple) and column in value):
                return role
        return ""

    def with_roles(self, roles: Mapping[str, str]) -> Self:
        """Return the roles with columns in others than before; "" stands for none."""
        values = self.model_dump()
        for column, role in roles.items():
            values = {
                known: tuple(name for name in value if name != column)
                if isinstance(value, tuple)
                else (None if value == column else value)
                for known, value in values.items()
            }
            if role:
                is_tuple = isinstance(values[role], tuple)
                values[role] = (*values[role], column) if is_tuple else column
        return type(self)(**values)


TEXT_OPTIONS = ("separator", "decimal", "thousands", "encoding")


def with_reading(source: Source, options: Mapping[str, str]) -> Source:
    """Return a source with other import options; an empty text stands for "find out".

    Examples
    --------
    >>> with_reading(Source(name="a.csv", file="data-1.csv"), {"decimal": ",", "missing": "-9, 99"})
    Source(name='a.csv', file='data-1.csv', separator=None, decimal=',', thousands=None, \
encoding=None, missing=('-9', '99'), types={}, user_missing='missing', labels={})
    """
    values: dict[str, Any] = {
        name: (options[name] or None) for name in TEXT_OPTIONS if name in options
    }
    if "missing" in options:
        codes = [code.strip() for code in options["missing"].split(",")]
        values["missing"] = tuple(code for code in codes if code)
    if "user_missing" in options:
        values["user_missing"] = options["user_missing"]
    return Source(**(source.model_dump() | values))


def with_type(source: Source, column: str, kind: str) -> Source:
    """Return a source with a column read as "number", "text" or "category"; "" finds out."""
    types = {name: value for name, value in source.types.items() if name != column}
    return source.model_copy(update={"types": types | ({column: kind} if kind else {})})


def with_meaning(source: Source, column: str, entry: Mapping[str, Any]) -> Source:
    """Return a source with label, value labels or missing codes of a column changed."""
    meaning = source.labels.get(column, {}) | dict(entry)
    Variable.from_dict(column, meaning)
    return source.model_copy(update={"labels": source.labels | {column: meaning}})
