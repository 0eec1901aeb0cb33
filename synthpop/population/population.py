"""A synthetic population, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.block import Fallback
from synthpop.microdata.codes import recode_to
from synthpop.microdata.dataset import Field, restore_column
from synthpop.microdata.errors import Faults, OutputError, did_you_mean
from synthpop.microdata.results import Result
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import plural
from synthpop.population.storage import read_manifest


class Population(Result):
    """A synthetic population of persons, in households where the survey has them.

    Attributes
    ----------
    n_persons, n_households : int
    path : Path or None
        Folder of a population on disk.
    manifest : dict
        Recipe, seed, versions, columns, blocks and hashes: all that is needed to repeat the run.
    fallbacks : tuple of Fallback
        Where data were too sparse for the stratum's own model, and what was used instead.

    Notes
    -----
    Rows are sorted by stratum and household. Columns come back with the type that they have in the
    survey; text comes back as a categorical.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        manifest: Mapping[str, Any],
        fallbacks: Sequence[Fallback],
        *,
        columns: Mapping[str, np.ndarray] | None = None,
        path: Path | None = None,
    ) -> None:
        self.fields = tuple(fields)
        self.manifest = dict(manifest)
        self.fallbacks = tuple(fallbacks)
        self.path = path
        self._columns = columns

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return sum(block["n_persons"] for block in self.manifest["blocks"])

    @property
    def n_households(self) -> int:
        """Number of households."""
        return sum(block["n_households"] for block in self.manifest["blocks"])

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
            data = {f.name: _own(f, self._columns[f.name]) for f in fields}
            return pd.DataFrame(data, copy=False)
        parts = list(self.iter_blocks([field.name for field in fields]))
        if not parts:
            return pd.DataFrame(
                {field.name: restore_column(field, _empty(field)) for field in fields}
            )
        return pd.concat(parts, ignore_index=True)

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
        """Yield the persons block by block; on disk only one block is read at a time."""
        fields = self._chosen(columns)
        start = 0
        for block in self.manifest["blocks"]:
            if self._columns is not None:
                stop = start + block["n_persons"]
                data = {f.name: _own(f, self._columns[f.name][start:stop]) for f in fields}
                start = stop
            else:
                data = self._read(block["file"], fields)
            yield pd.DataFrame(data, copy=False)

    def households(self) -> pd.DataFrame:
        """Return one row a household: its id, stratum and size."""
        roles = self.manifest["roles"]
        names = [roles[role] for role in ("household", "strata", "size") if roles.get(role)]
        if not roles.get("household"):
            names = [roles[role] for role in ("person", "strata") if roles.get(role)]
        parts = [
            part.drop_duplicates(names[0], ignore_index=True) for part in self.iter_blocks(names)
        ]
        return pd.concat(parts, ignore_index=True) if parts else self.frame(names)

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
        held = self.manifest["roles"]
        names = {"household": "household", "size": "household_size"}
        names |= {"strata": "strata", "person": "person"}
        roles = {role: held[key] for key, role in names.items() if held.get(key)}
        if columns is not None:
            columns = list(dict.fromkeys([*roles.values(), *columns]))
        return Survey(self.frame(columns), weight=None, **roles)

    def summary(self) -> str:
        """Return what the population is, in a few sentences."""
        manifest = self.manifest
        text = (
            f"Synthetic population of {plural(self.n_persons, 'person')} in "
            f"{plural(self.n_households, 'household')}, simulated with seed "
            f"{manifest['identity']['seed']} from a sample of "
            f"{plural(manifest['sample']['n_persons'], 'person')}."
        )
        if self.path is not None:
            text += f" It lies in {self.path}."
        for step in self.manifest.get("finished", {}).get("steps", ()):
            text += f" {step['stage'].capitalize()}: {step['summary']}"
        if self.fallbacks:
            many = plural(len(self.fallbacks), "fallback was", "fallbacks were")
            text += f" {many} needed: see fallbacks."
        return text

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _chosen(self, columns: Sequence[str] | None) -> list[Field]:
        if columns is None:
            return list(self.fields)
        by_name = {field.name: field for field in self.fields}
        faults = Faults("population")
        for name in columns:
            if name not in by_name:
                faults.add(name, "is not a column", remedy=did_you_mean(name, by_name))
        faults.raise_if_any()
        return [by_name[name] for name in columns]

    def _read(self, file: str, fields: Sequence[Field]) -> dict[str, Any]:
        import pyarrow.parquet as pq

        assert self.path is not None
        table = pq.read_table(self.path / file, columns=[f.name for f in fields], partitioning=None)
        return {field.name: _from_arrow(field, table[field.name]) for field in fields}


def open_population(path: Path | str) -> Population:
    """Return a population that was written to a folder.

    Raises
    ------
    OutputError
        The folder holds no population, or an unfinished one.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest.get("status") != "complete":
        raise OutputError(f"{folder} holds an unfinished run: run it again to complete it.")
    fields = [Field.from_dict(item) for item in manifest["columns"]]
    fallbacks = [Fallback(**item) for item in manifest["fallbacks"]]
    return Population(fields, manifest, fallbacks, path=folder)


def _own(field: Field, values: np.ndarray) -> Any:
    """Return a column that its reader may change: nothing of it is memory of the population."""
    column = restore_column(field, values)
    memory = column.codes if isinstance(column, pd.Categorical) else column
    if isinstance(memory, np.ndarray) and np.may_share_memory(memory, values):
        return column.copy()
    return column


def _from_arrow(field: Field, column: Any) -> Any:
    if field.kind == "categorical":
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_dictionary(column.type):  # Parquet keeps dictionaries of text only
            codes, _ = recode_to(column.to_pandas(), field.levels)
            return restore_column(field, codes.astype(field.dtype))
        array = column.combine_chunks()
        codes = pc.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
        return restore_column(field, codes.astype(field.dtype))
    values = column.to_numpy()
    return _own(field, values.astype(field.dtype, copy=False))


def _empty(field: Field) -> np.ndarray:
    return np.empty(0, dtype=field.dtype)
