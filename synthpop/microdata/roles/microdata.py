"""A file with its roles: a table, what its columns are for, and their codes, read once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypedDict, TypeVar, Unpack

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_frame, check_columns, check_numeric, check_weights
from synthpop.microdata.frame.codes import CodedKeys, Codes, encode, side_by_side
from synthpop.microdata.frame.dataset import Field, encode_column
from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import Library, library_of
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import join, plural

T = TypeVar("T")
Kind = TypeVar("Kind", bound="Microdata")


class _NotSaid:
    """What an argument is where nobody gave it."""

    def __repr__(self) -> str:
        return "that of the file"


NOT_ASKED: Any = _NotSaid()
"""In place of a weight: that of before."""
FROM_FILE: Any = _NotSaid()
"""Default of a role that must be said: None says that there is none, a `Microdata` may name it."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns play which part; None, or an empty tuple, where there is none."""

    weight: str | None = None
    household: str | None = None
    household_weight: str | None = None
    household_size: str | None = None
    person: str | None = None
    strata: str | None = None
    psu: str | None = None
    design_strata: str | None = None
    fpc: str | None = None
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()

    def given(self) -> dict[str, Any]:
        """Return the roles that are given, as role -> column, or -> columns."""
        pairs = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {role: names for role, names in pairs if names is not None and names != ()}

    def named(self) -> dict[str, str]:
        """Return the roles of one column that are given, as role -> column."""
        return {role: name for role, name in self.given().items() if role not in SEVERAL}


SEVERAL = {"keys": "key", "sensitive": "sensitive variable", "numeric": "numeric key"}
"""Roles of several columns, and what one of these is called."""


class Microdata(Result):
    """A file of records and the roles of its columns, read and checked once.

    Every function of both packages that takes a table takes one of these in its place. Arguments
    that name roles may then be left out; those that are given count for this call. Codes of
    columns and tables of keys are remembered, so that the next function need not make them again.

    Parameters
    ----------
    data : table of n records
        Of pandas, polars, Arrow, DuckDB and others that narwhals knows, a `Population`, or another
        file with its roles. Names of columns that are not text, as 5, become text.
    weight : str or array of shape (n,), optional
        Sampling weights, positive and finite: persons of the population that a record stands for.
        Without them a file counts as the whole population.
    household : str, optional
        Column of household ids.
    keys : str or sequence of str
        Categorical key variables: what an intruder is thought to know.
    sensitive : str or sequence of str
        What nobody should learn about a person; none of the keys.
    numeric : str or sequence of str
        Numeric key variables, as income.
    household_weight, household_size, person, strata, psu, design_strata, fpc : str, optional
        Roles of a sample, as in `Survey`, which checks more.

    Raises
    ------
    InputError
        Lists every fault: absent columns, columns of lists, weights that are not positive, keys
        that are sensitive, numeric variables that are no numbers.

    Notes
    -----
    Missing values are allowed in every role but the weight; each function says what it does with
    them. Nothing is drawn at random. Data and roles stay as they are: ``with_roles``,
    ``with_column`` and ``with_weights`` return a new file, which shares what has not changed.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": [1, 1, 2], "age": [30, 30, 71], "w": [50.0, 60.0, 9.0]})
    >>> file = Microdata(people, weight="w", keys=["sex", "age"])
    >>> print(file.summary())
    File of 3 records: weight w; keys sex and age.
    >>> file.with_roles(keys="age").roles.keys
    ('age',)
    """

    subject: ClassVar[str] = "file"

    roles: Roles
    weights: np.ndarray | None  # float64 array, shape (n,), of the role or as given
    library: Library | None  # of the table that came in; None for pandas
    index: pd.Index  # of the table that came in

    def __init__(
        self,
        data: Any,
        *,
        weight: Any = None,
        household: str | None = None,
        household_weight: str | None = None,
        household_size: str | None = None,
        person: str | None = None,
        strata: str | None = None,
        psu: str | None = None,
        design_strata: str | None = None,
        fpc: str | None = None,
        keys: str | Sequence[str] | None = (),
        sensitive: str | Sequence[str] | None = (),
        numeric: str | Sequence[str] | None = (),
    ) -> None:
        self._read(data, self.subject)
        roles = Roles(
            None, household, household_weight, household_size, person, strata, psu, design_strata,
            fpc, some_names(keys), some_names(sensitive), some_names(numeric),
        )  # fmt: skip
        faults = Faults(self.subject)
        self._take(faults, roles, weight, "weight", roles.given())
        faults.raise_if_any()

    def _read(self, data: Any, subject: str, columns: Sequence[Any] = ()) -> None:
        """Read the table."""
        frame = as_frame(data, subject, columns)
        index = data.index if isinstance(data, pd.DataFrame | Microdata) else frame.index
        self._set(
            _frame=frame, library=library_of(data), index=index, roles=Roles(), weights=None,
            _remembered={},
        )  # fmt: skip

    def _set(self, **state: Any) -> None:
        """Set what the file is made of; nothing else does."""
        vars(self).update(state)
        object.__setattr__(self, "_library", self.library)  # of the tables of results

    def _take(
        self, faults: Faults, roles: Roles, weight: Any, said: str, asked: Iterable[str]
    ) -> None:
        """Take roles over, and check those that are asked for; `said` is the argument of weights.

        A weight is a name, an array, or `NOT_ASKED` for that of before.
        """
        if weight is not NOT_ASKED:
            roles = replace(roles, weight=weight if isinstance(weight, str) else None)
        self._set(roles=roles)
        self._check(faults, set(asked))
        if weight is not NOT_ASKED:
            self._set(weights=read_weights(faults, self.frame, weight, said))

    def _check(self, faults: Faults, asked: Collection[str]) -> None:
        """Note what is wrong with the roles that are asked for, the weight apart."""
        for role in ("keys", "sensitive", "numeric"):
            if role in asked:
                _check_several(faults, self.frame, getattr(self.roles, role), role)
        if not {"keys", "sensitive"}.isdisjoint(asked):
            for name in sorted({*self.roles.keys} & {*self.roles.sensitive}, key=str):
                faults.add(name, "is a key and sensitive", hint="It can be only one of them.")
        self._check_single(faults, asked)

    def _check_single(self, faults: Faults, asked: Collection[str]) -> dict[str, str]:
        """Note roles of one column that is not there, the weight apart; return the others."""
        present: dict[str, str] = {}
        for role, name in self.roles.named().items():
            if role not in asked or role == "weight":
                continue
            if not isinstance(name, str):
                faults.add(role, f"is {name!r}", hint="Give the name of a column.")
            elif check_columns(faults, self.frame, [name], role):
                present[role] = name
        return present

    def __setattr__(self, name: str, value: Any) -> None:
        what = "is not changed in place"
        raise InputError.of(self.subject, name, what, "with_roles and with_column return a new one")

    @property
    def frame(self) -> pd.DataFrame:
        """The records, rows numbered from 0; a column that is set in this frame is not set here."""
        frame: pd.DataFrame = vars(self)["_frame"]
        return frame.copy(deep=False)

    @property
    def data(self) -> Any:
        """The records in the library that they came from: polars for polars, Arrow for Arrow."""
        return self.frame if self.library is None else self.library.frame(self.frame)

    def in_library(self, library: Library | None) -> Self:
        """Return the file as if its table had come from a library; None for pandas."""
        file = self._as(type(self))
        file._set(library=library)
        return file

    @property
    def indexed(self) -> pd.DataFrame:
        """The frame with the index of the table that came in; its columns may be replaced."""
        return self.frame.set_axis(self.index, axis=0)

    @property
    def dictionary(self) -> Dictionary:
        """Labels, levels and kinds of missing values of the columns."""
        return dictionary_of(self.frame)

    def __len__(self) -> int:
        return len(vars(self)["_frame"])

    def remembered(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what was made before of these columns, or make it; `what` begins with a name.

        All files that share a table share what is remembered of it.
        """
        memory: dict[Hashable, T] = vars(self)["_remembered"]
        if what not in memory:
            memory[what] = make()
        return memory[what]

    def codes(self, name: str) -> Codes:
        """Return a column as codes and levels (see `encode`), made once; not to be changed."""
        return self.remembered(("codes", (name,)), lambda: encode(self.frame[name]))

    def field(self, name: str) -> tuple[Field, np.ndarray]:
        """Return a column as its field and array (see `encode_column`); not to be changed."""
        return self.remembered(("field", (name,)), lambda: encode_column(self.frame[name]))

    def coded(self, names: Sequence[str]) -> CodedKeys:
        """Return several columns as a new matrix of codes, shape (n, m), and their levels."""
        return side_by_side(names, [self.codes(name) for name in names], len(self))

    @cached_property
    def household_index(self) -> np.ndarray:
        """Household of each record, int64, shape (n,), in order of first appearance.

        -1 where the id is missing; every record is a household where the file has none.
        """
        name = self.roles.household
        if name is None:
            return np.arange(len(self))
        index = self.remembered(("household", (name,)), lambda: pd.factorize(self.frame[name])[0])
        return index.astype(np.int64, copy=False)

    def with_roles(self, **roles: Any) -> Self:
        """Return the file with other roles, those that are not named as before.

        Raises InputError: an unknown role, or what is wrong with the roles that are named.
        """
        faults = Faults(self.subject)
        known = {item.name for item in fields(Roles)}
        for role in roles.keys() - known:
            faults.add(role, "is no role", hint=f"There are: {', '.join(sorted(known))}.")
        faults.raise_if_any()
        file = self._with_roles(faults, type(self), roles, "weight")
        faults.raise_if_any()
        return file

    def _with_roles(
        self, faults: Faults, kind: type[Kind], changed: dict[str, Any], said: str
    ) -> Kind:
        """Return a file of some kind with these roles changed, and checked."""
        named = dict(changed)
        weight = named.pop("weight", NOT_ASKED)
        for role in SEVERAL.keys() & named.keys():
            named[role] = some_names(named[role])
        file = self._as(kind)
        file._take(faults, replace(self.roles, **named), weight, said, named)
        return file

    def _as(self, kind: type[Kind]) -> Kind:
        """Return the file as one of some kind, without what was made of its roles."""
        file = kind.__new__(kind)
        file._set(**{name: vars(self)[name] for name in STATE})
        return file

    def with_weights(self, weights: Any) -> Self:
        """Return the file with other weights, shape (n,), in their column if it has one."""
        name = self.roles.weight
        return self.with_roles(weight=weights) if name is None else self.with_column(name, weights)

    def with_column(self, name: str, values: Any) -> Self:
        """Return the file with one column added or replaced; `values` has one entry a record."""
        if len(values) != len(self):
            what = f"has {plural(len(values), 'value')} for {plural(len(self), 'record')}"
            raise InputError.of(self.subject, name, what)
        if isinstance(values, pd.Series) and isinstance(values.dtype, np.dtype):
            values = values.to_numpy()
        column = pd.Series(values).reset_index(drop=True)
        return self.with_frame(
            self.frame.assign(**{name: column}), kept=set(map(str, self.frame)) - {name}
        )

    def with_frame(self, frame: pd.DataFrame, kept: Iterable[str] = ()) -> Self:
        """Return the same roles on another table; columns that are `kept` have the same values."""
        file = self._as(type(self))
        memory = vars(self)["_remembered"]
        columns = set(kept)
        if self.weights is not None and self.roles.weight is None and len(frame) != len(self):
            what, hint = "are an array of other rows", "Make them a column first."
            raise InputError.of(self.subject, "weights", what, hint)
        file._set(
            _frame=as_frame(frame, self.subject),
            index=self.index if len(frame) == len(self) else frame.index,
            _remembered={what: memory[what] for what in memory if columns.issuperset(what[1])},
        )
        faults, roles = Faults(self.subject), self.roles
        weight = NOT_ASKED if roles.weight is None else roles.weight
        file._take(faults, roles, weight, "weight", roles.given())
        faults.raise_if_any()
        return file

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in STATE} | {"_remembered": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    def summary(self) -> str:
        """Return what the file holds, in a sentence."""
        text = f"{self.subject.capitalize()} of {plural(len(self), 'record')}"
        roles = [
            f"{role.replace('_', ' ')} {names if isinstance(names, str) else join(names)}"
            for role, names in self.roles.given().items()
        ]
        return f"{text}: {'; '.join(roles)}." if roles else f"{text}."

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return what the columns are: name, label, role, type, values, missing."""
        roles = {name: role for role, name in self.roles.named().items()}
        for role, word in SEVERAL.items():
            roles |= dict.fromkeys(getattr(self.roles, role), word)
        dictionary = self.dictionary
        rows = [
            {
                "column": str(name),
                "label": dictionary[str(name)].label,
                "role": roles.get(str(name), ""),
                "type": str(column.dtype),
                "values": int(column.nunique()),
                "missing": int(column.isna().sum()),
            }
            for name, column in self.frame.items()  # two columns may have one name
        ]
        return pd.DataFrame(rows)


STATE = ("_frame", "roles", "weights", "library", "index", "_remembered")
"""What a file is made of; everything else follows from it."""


class AskedRoles(TypedDict, total=False):
    """Roles that a function reads, as the user gave them."""

    keys: Any
    weights: Any
    sensitive: Any
    numeric: Any
    household: Any


def as_file(
    data: Any,
    faults: Faults,
    *,
    columns: Sequence[Any] | None = None,
    needs: Literal["keys", "keys or numbers", "nothing"] = "keys",
    subject: str = "data",
    said: str = "weights",
    **asked: Unpack[AskedRoles],
) -> Microdata:
    """Return a table with the roles that a function reads; a file with roles fills the others in.

    A role that is not given (None, an empty list) is that of the file; faults of those that are
    given are noted (`said` is the argument of the weights). A function that reads nothing but its
    roles and some `columns` names these: a population that can read some columns alone reads no
    others. A function that `needs` keys or numbers takes files of amounts alone, as of enterprises.
    """
    given = {role: value for role, value in asked.items() if not _is_left_out(value)}
    file = data
    if not isinstance(data, Microdata):
        file = Microdata.__new__(Microdata)
        file._read(data, subject, () if columns is None else [*given.values(), *columns])
    if given:
        given["weight"] = given.pop("weights", NOT_ASKED)
        file = file._with_roles(faults, Microdata, given, said)
    if "keys" in asked and not file.roles.keys and needs != "nothing":
        if needs == "keys":
            faults.add("keys", "no key is given", hint="Name at least one column.")
        elif not file.roles.numeric:
            hint = "Name at least one key, or numeric keys."
            faults.add("keys", "no key is given", hint=hint)
    return file


def file_with_said_weights(
    data: Any, faults: Faults, columns: Sequence[Any], **asked: Unpack[AskedRoles]
) -> Microdata:
    """Return `as_file` of a function where weights of None say that a file is the population.

    Left out, the weights are those of the file, and a fault where it has none.
    """
    weights = asked["weights"]
    file = as_file(data, faults, columns=columns, **asked)
    if weights is None and file.weights is not None:
        return file._with_roles(faults, Microdata, {"weight": None}, "weights")
    if weights is FROM_FILE and file.weights is None:
        hint = "Give a column, or weights=None where the file is the whole population."
        faults.add("weights", "are not given", hint=hint)
    return file


def some_names(names: Any) -> tuple[Any, ...]:
    """Return one name, several or none as a tuple."""
    return () if names is None else listed_names(names)


def _is_left_out(value: Any) -> bool:
    if value is None or value is FROM_FILE:
        return True
    return isinstance(value, list | tuple) and not value


def _check_several(faults: Faults, frame: pd.DataFrame, names: tuple[str, ...], role: str) -> None:
    """Note columns of a role that are absent, named twice, or no numbers where they must be."""
    check = check_numeric if role == "numeric" else check_columns
    check(faults, frame, tuple(dict.fromkeys(names)), SEVERAL[role])
    if len(set(names)) < len(names):
        what = "key" if role == "keys" else "variable"
        faults.add(role, "a column is named twice", hint=f"Name each {what} once.")


def read_weights(
    faults: Faults, frame: pd.DataFrame, weights: Any, argument: str = "weights"
) -> np.ndarray | None:
    """Weights from a column name or from an array of the length of the file; checked."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if not check_columns(faults, frame, [weights], argument):
            return None
        return check_weights(faults, frame[weights], weights)
    array = np.asarray(weights)
    if array.ndim != 1:
        faults.add(argument, "are not one column", hint="Give a column or its name.")
        return None
    values = pd.Series(array)
    if len(values) != len(frame):
        faults.add(
            argument,
            f"has {plural(len(values), 'value')} for {plural(len(frame), 'record')}",
            hint="Give one weight a record.",
        )
        return None
    return check_weights(faults, values, argument)
