"""A synthetic population, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from synthpop.microdata.formats.places import Place, arrow_dataset, place
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.dataset import Field, restore_column
from synthpop.microdata.frame.dictionary import Dictionary, with_dictionary
from synthpop.microdata.messages.errors import Faults, OutputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.engines import Workers, check_workers, map_blocks
from synthpop.population.columns import REPAIR, column_values, read_part
from synthpop.population.manifest import Manifest
from synthpop.population.run_identity import StoredRoles
from synthpop.population.storage import read_finished
from synthpop.population.verify import missing_parts

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

SHOWN = 3


class Population(Result):
    """A synthetic population of persons, in households where the survey has them.

    Attributes
    ----------
    n_persons, n_households : int
    path : path or None
        Folder of a population on disk or in object storage.
    manifest : Manifest
        Recipe, seed, versions, columns, blocks and hashes: all that is needed to repeat the run.
    workers : int or str
        What reads the blocks of a folder, see `open_population`.

    Notes
    -----
    Rows are sorted by stratum and household. Columns come back with the type that they have in the
    survey; text comes back as a categorical.
    """

    def __init__(
        self,
        manifest: Manifest,
        *,
        columns: Mapping[str, np.ndarray] | None = None,
        path: Place | None = None,
        workers: Workers = 1,
    ) -> None:
        self.manifest = manifest
        self.path = path
        self._folder = None if path is None else path.absolute()  # for readers elsewhere
        self.workers = workers
        self._columns = columns
        self._checked: set[str] = set()

    @property
    def fields(self) -> tuple[Field, ...]:
        """What each column holds."""
        return self.manifest.columns

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where data were too sparse for the stratum's own model, and what was used instead."""
        return self.manifest.fallbacks

    @property
    def roles(self) -> StoredRoles:
        """Columns of ids, stratum and household size."""
        return self.manifest.roles

    @cached_property
    def dictionary(self) -> Dictionary:
        """Labels, codes and missing codes of the columns, as the survey had them."""
        return Dictionary.from_dict(self.manifest.dictionary)

    @property
    def in_memory(self) -> bool:
        """Whether the columns are in memory, also where they lie in a folder as well."""
        return self._columns is not None

    def __len__(self) -> int:
        return self.n_persons

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return self.manifest.n_persons

    @property
    def n_households(self) -> int:
        """Number of households."""
        return self.manifest.n_households

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(field.name for field in self.fields)

    def frame(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the persons as one frame, all columns or some.

        The frame is the caller's own: changes to it leave the population as it is.

        Examples
        --------
        >>> from synthpop import Pipeline, Structure, Survey
        >>> data = pd.DataFrame({"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "age": [40, 9, 71]})
        >>> survey = Survey(data, weight="w", household="hid")
        >>> population = Pipeline([Structure(["age"])]).fit(survey, seed=1).simulate()
        >>> population.frame(["hid", "age"]).age.tolist()
        [71, 71, 71, 40, 9, 40, 9]
        """
        fields = self._chosen(columns)
        if self._columns is not None:
            columns_by_name = {f.name: column_values(f, self._columns[f.name]) for f in fields}
            return self._with_dictionary(pd.DataFrame(columns_by_name, copy=False))
        blocks = list(self.iter_blocks([field.name for field in fields]))
        if not blocks:
            empty = {f.name: restore_column(f, np.empty(0, dtype=f.dtype)) for f in fields}
            blocks = [pd.DataFrame(empty)]
        return self._with_dictionary(pd.concat(blocks, ignore_index=True))

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the coded columns of a population in memory, each shape (n_persons,).

        Raises
        ------
        TypeError
            The population lies in a folder.
        """
        if self._columns is None:
            raise TypeError("a population on disk has no arrays: use iter_blocks")
        return self._columns

    def iter_blocks(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the persons block by block; on disk each worker reads one block at a time."""
        read = partial(self.read_block, columns=self._names(columns))
        numbers = range(len(self.manifest.blocks))
        yield from map(read, numbers[:1])  # here, for those who look at the first one only
        yield from map_blocks(read, numbers[1:], self.workers, in_order=True)

    @cached_property
    def block_starts(self) -> list[int]:
        """Number of the first row of each block, and at the end the number of persons."""
        return [0, *np.cumsum([block.n_persons for block in self.manifest.blocks]).tolist()]

    def read_block(self, number: int, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the persons of one block, numbered from 0."""
        fields = self._chosen(columns)
        if self._columns is not None:
            start, stop = self.block_starts[number : number + 2]
            data = {f.name: column_values(f, self._columns[f.name][start:stop]) for f in fields}
        else:
            assert self._folder is not None
            block = self.manifest.blocks[number]
            data = read_part(self._folder, block, fields, is_new=block.file not in self._checked)
            self._checked.add(block.file)
        return self._with_dictionary(pd.DataFrame(data, copy=False))

    def _with_dictionary(self, frame: pd.DataFrame) -> pd.DataFrame:
        return with_dictionary(frame, self.dictionary) if len(self.dictionary) else frame

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the persons as one Arrow table, all columns or some; levels as dictionaries."""
        return presenter("Population.to_arrow")(self, self._names(columns))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the persons to polars, DuckDB, pandas ... block by block, without a copy of all."""
        stream = presenter("Population.__arrow_c_stream__")(self)
        return stream.__arrow_c_stream__(requested_schema)

    def scan(self) -> ds.Dataset:
        """Return the persons as an Arrow dataset, of which readers take the columns they need.

        A population on disk is not read for it: ``polars.scan_pyarrow_dataset(p.scan())``, or a
        query of DuckDB on ``people = p.scan()``.
        """
        import pyarrow.dataset as ds

        if self._folder is None:
            return ds.dataset(self.to_arrow())
        return arrow_dataset([self._folder / block.file for block in self.manifest.blocks])

    def to_parquet(self, path: Place | str, columns: Sequence[str] | None = None) -> Place:
        """Write the persons to one Parquet file, whole or not at all.

        Raises
        ------
        OutputError
            The file cannot be written, or its name does not end in ``.parquet``.
        """
        return presenter("Population.to_parquet")(self, path, self._names(columns))

    def to_csv(
        self,
        path: Place | str,
        columns: Sequence[str] | None = None,
        *,
        sep: str = ",",
        decimal: str = ".",
        safe: bool = False,
    ) -> Place:
        """Write the persons to one CSV file (UTF-8), whole or not at all.

        Parameters
        ----------
        path : path
        columns : sequence of str, optional
        sep, decimal : str
            Separator of columns and sign of decimals.
        safe : bool
            Put an apostrophe before text that a spreadsheet takes for a formula.

        Raises
        ------
        OutputError
            The file cannot be written, or its name does not end in ``.csv``.
        """
        write = presenter("Population.to_csv")
        return write(self, path, self._names(columns), sep=sep, decimal=decimal, safe=safe)

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        return [field.name for field in self._chosen(columns)]

    def households(self, columns: Sequence[str] | Literal["shared"] = ()) -> pd.DataFrame:
        """Return one row per household: its id, stratum and size, and columns that members share.

        Parameters
        ----------
        columns : sequence of str or "shared"
            Further columns, which must be the same for all members; "shared": every such column.

        Raises
        ------
        InputError
            An unknown column, or one in which members of a household differ.

        Examples
        --------
        >>> from synthpop import Pipeline, Structure, Survey
        >>> data = pd.DataFrame({"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "age": [40, 9, 71],
        ...                      "tenure": ["owner", "owner", "tenant"]})
        >>> survey = Survey(data, weight="w", household="hid")
        >>> population = Pipeline([Structure(["age", "tenure"])]).fit(survey, seed=1).simulate()
        >>> population.households("shared").columns.tolist()
        ['hid', 'hsize', 'tenure']
        """
        shared = columns == "shared"
        names = self.columns if shared else self._names(columns)
        return presenter("Population.households")(self, names, shared)

    def survey(self, columns: Sequence[str] | None = None) -> Survey:
        """Return the persons as a survey in which every row counts 1, to learn from.

        The roles are those of the population: household, household size, stratum, person.

        Parameters
        ----------
        columns : sequence of str, optional
            Those to take besides the columns of the roles; default: all.

        Examples
        --------
        >>> from synthpop import Pipeline, Structure, Survey
        >>> data = pd.DataFrame({"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "age": [40, 9, 71]})
        >>> survey = Survey(data, weight="w", household="hid")
        >>> population = Pipeline([Structure(["age"])]).fit(survey, seed=1).simulate()
        >>> population.survey().summary()
        'Survey of 7 persons in 5 households, standing for 7 persons.'
        """
        columns_of = {
            "household": self.roles.household,
            "household_size": self.roles.size,
            "strata": self.roles.strata,
            "person": self.roles.person,
        }
        roles = {role: name for role, name in columns_of.items() if name}
        if columns is not None:
            columns = list(dict.fromkeys([*roles.values(), *columns]))
        return Survey(self.frame(columns), weight=None, **roles)

    def guessed_draws(self) -> tuple[str, ...]:
        """Return what a few hundred guesses of its draws give; see `synthpop.guessed_draws`."""
        found: tuple[str, ...] = presenter("Population.guessed_draws")(self)
        return found

    def summary(self) -> str:
        """Return what the population is, in a few sentences."""
        identity, sample = self.manifest.identity, self.manifest.sample
        text = message(
            "Synthetic population of {n_persons} in {n_households}, simulated with {value} "
            "from a sample of {n_persons_2}.",
            n_persons=plural(self.n_persons, "person"),
            n_households=plural(self.n_households, "household"),
            value="a secret key" if identity.sealed else f"seed {identity.seed}",
            n_persons_2=plural(sample.n_persons, "person"),
        )
        if identity.replicate is not None:
            record = identity.replicate
            text += " " + message(
                "It is replicate {number}: {note}.", number=record["number"], note=record["note"]
            )
        if self.path is not None:
            text += " " + message("Written to {path}.", path=self.path)
        for step in self.manifest.steps:
            text += f" {step.stage.capitalize()}: {step.summary}"
        if self.manifest.finished is not None and not self.manifest.steps:
            text += f" {self.manifest.finished.summary}"
        if self.fallbacks:
            fallbacks_text = plural(len(self.fallbacks), "fallback was", "fallbacks were")
            text += " " + message("{fallbacks} needed: see fallbacks.", fallbacks=fallbacks_text)
        return text

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def to_frame(self) -> pd.DataFrame:
        """Return what the columns are: name, label, kind, levels; one row per column."""
        roles = {name: role for role, name in asdict(self.roles).items() if name}
        rows = [
            {
                "column": item.name,
                "label": self.dictionary[item.name].label,
                "role": roles.get(item.name, ""),
                "kind": item.kind,
                "levels": ", ".join(map(str, item.levels)),
            }
            for item in self.fields
        ]
        return pd.DataFrame(rows, columns=["column", "label", "role", "kind", "levels"])

    def _chosen(self, columns: Sequence[str] | None) -> list[Field]:
        if columns is None:
            return list(self.fields)
        by_name = {field.name: field for field in self.fields}
        faults = Faults("population")
        for name in columns:
            if name not in by_name:
                faults.add(name, "is not a column", hint=did_you_mean(name, by_name))
        faults.raise_if_any()
        return [by_name[name] for name in dict.fromkeys(columns)]


def open_population(path: Place | str, *, workers: Workers = 1) -> Population:
    """Return a population that was written to a folder.

    Parameters
    ----------
    path : path or str
        A folder, or an address in object storage: ``s3://bucket/folder``, also ``gs://`` and
        ``abfs://``, with the options of the Arrow file system after a question mark
        (``?region=eu-central-1``, ``?endpoint_override=host:9000&scheme=http``). Credentials come
        from the environment, as for other tools of that storage.
    workers : int or str
        What reads the blocks whenever somebody asks for them (`assess_fit`, intruder scenarios,
        key-based risks, samples, reports): a number of threads; ``"processes:4"``; or
        ``"dask://host:port"``, an existing cluster that sees the folder at the same path. Counts
        of `assess_fit` and `check_rules` and the rows of a sample are made there too. Numbers do
        not depend on it.

    Raises
    ------
    InputError
        `workers` is not understood.
    OutputError
        The folder holds no population, or an unfinished one, or parts of it are gone.
    """
    check_workers(workers)
    folder = place(path)
    manifest = read_finished(folder)
    problems = missing_parts(folder, manifest)
    if problems:
        further = (
            (" " + message("and {n} more", n=len(problems) - SHOWN))
            if len(problems) > SHOWN
            else ""
        )
        raise OutputError(
            f"{folder} is not complete: {'; '.join(problems[:SHOWN])}{further}. {REPAIR}"
        )
    return Population(manifest, path=folder, workers=workers)
