"""The tables of a run file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as data_field
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field, model_validator

from synthpop.calibration.margins import Margin
from synthpop.calibration.total_files import read_totals
from synthpop.microdata.formats.tomlfile import Table
from synthpop.microdata.runs.fileinput import FileInput
from synthpop.pipeline.fingerprint import margin_to_dict
from synthpop.pipeline.fitted import ROWS_PER_BLOCK

READING = {"columns", "codes", "where", "wide"}  # keys of a margin that say how its file is read


class SurveyInput(FileInput):
    """The table ``[survey]``: where the data are, and the roles of their columns.

    The data are a ``file``, the folder of a ``population`` (which knows its roles), or those of
    ``demo = true``. With ``unweighted = true`` every row of the file counts 1; with
    ``household_weight = "mean of members"`` a household has the mean of the weights of its
    members. How the file is read says `FileInput`.
    """

    population: str | None = None
    demo: bool = False
    unweighted: bool = False
    weight: str | None = None
    household: str | None = None
    household_weight: str | None = None
    household_size: str | None = None
    person: str | None = None
    strata: str | None = None
    psu: str | None = None
    design_strata: str | None = None
    fpc: str | None = None

    def given_roles(self) -> dict[str, str]:
        """Return the roles that are named, as role -> column."""
        keys = {*FileInput.model_fields, "population", "demo", "unweighted"}
        return self.model_dump(exclude=keys, exclude_none=True)

    def roles(self) -> dict[str, str | None]:
        """Return the roles as arguments of `Survey`."""
        roles: dict[str, str | None] = {**self.given_roles()}
        return {**roles, "weight": None} if self.unweighted else roles


class RunOptions(Table):
    """The table ``[run]``."""

    seed: int | None = Field(default=None, ge=0)
    scale: float = Field(default=1.0, gt=0)
    rows_per_block: int = Field(default=ROWS_PER_BLOCK, ge=1)
    strata: list[str | int | float | bool] | None = None
    out: str | None = None


class MarginInput(Table):
    """A table ``[[calibrate.margin]]`` or an entry of ``margins`` of a stage: see `Margin`.

    Known totals are in a ``file``, or in the run file itself: ``table`` is the total of everybody
    or a list of cells, such as ``[{sex = "f", total = 510}, {sex = "m", total = 490}]``; a key
    that is left out of a cell stands for a missing value. ``columns``, ``codes``, ``where`` and
    ``wide`` say how a file becomes such cells (a table in wide form, SDMX): see `read_totals`.
    """

    file: str | None = None
    table: float | list[dict[str, Any]] | None = None
    level: Literal["person", "household"] = "person"
    total: str = "total"
    importance: float | None = Field(default=None, gt=0)
    variable: str | None = None
    size: float | None = Field(default=None, gt=0)
    name: str | None = None
    columns: dict[str, str] | None = None
    codes: dict[str, dict[str, Any]] | None = None
    where: dict[str, Any] | None = None
    wide: dict[str, dict[str, Any]] | None = None

    @model_validator(mode="after")
    def _one_table(self) -> MarginInput:
        if (self.file is None) == (self.table is None):
            raise ValueError("needs file or table: give exactly one of them")
        if self.file is None and self.model_dump(include=READING, exclude_none=True):
            raise ValueError("columns, codes, where and wide are of a file")
        return self

    def margin(self, folder: Path) -> MarginOfFile:
        """Return the margin; paths start at the folder of the run file."""
        reading = self.model_dump(include=READING, exclude_none=True)
        if self.file is not None:
            table: Any = read_totals(folder / self.file, **reading, total=self.total)
        elif isinstance(self.table, list):
            table = pd.DataFrame(self.table)
        else:
            table = self.table
        options = self.model_dump(exclude={"file", "table", *READING})
        return MarginOfFile(table, **options, file=self.file, reading=reading)


@dataclass(frozen=True, eq=False)
class MarginOfFile(Margin):
    """A margin that knows its file as the run file names it, and how it is read."""

    file: str | None = data_field(default=None, kw_only=True)
    reading: Mapping[str, Any] = data_field(default_factory=dict, kw_only=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarginOfFile):
            return NotImplemented
        same_file = self.file == other.file and self.reading == other.reading
        return same_file and margin_to_dict(self) == margin_to_dict(other)

    __hash__ = None  # type: ignore[assignment]


class CalibrateOptions(Table):
    """The table ``[calibrate]``: known totals for the weights; see `calibrate`."""

    margin: list[MarginInput] = Field(min_length=1)
    method: str = "raking"
    bounds: tuple[float, float] | None = None
    weight_bounds: tuple[float, float] | None = None
    tolerance: float = Field(default=1e-6, gt=0)
    max_iterations: int = Field(default=1000, ge=1)
    household_equal: bool = True
    distance_over: Literal["person", "household"] | None = None


class ZonesOptions(Table):
    """The table ``[zones]``: the population lives in zones with known totals.

    ``geography`` is a file with one row per zone: columns from the largest geography to the zone.
    Households are those that the ``"recipe"`` generates, or copies of those of the ``"survey"``.
    With a ``scale`` of ``[run]`` all totals are multiplied by it, for a trial run. ``ratio`` and
    ``weight`` are the limits of `WeightLimits`. ``places`` is a GeoJSON file whose features have
    the zone as a property, or a table with the zone, x and y: the page then has a map. See
    `populate_zones`.
    """

    geography: str
    margin: list[MarginInput] = Field(min_length=1)
    households: Literal["recipe", "survey"] = "recipe"
    within: str | None = None
    ratio: tuple[float, float] | None = None
    weight: tuple[float, float] | None = None
    places: str | None = None
    page: str = Field(default="zones.html", pattern=r"\.html$")


class RiskOptions(Table):
    """The table ``[risk]``: what the intruder of the five scenarios knows and looks for.

    With ``replicates`` the intruder also attacks so many further populations of the same fit: the
    report shows the mean over all populations and its interval.
    """

    keys: list[str]
    target: str
    accuracy: list[float] = Field(default=[0.01, 0.02, 0.05])
    intervals: list[str] | None = None
    replicates: int = Field(default=0, ge=0)


class ReportOptions(Table):
    """The table ``[report]``."""

    title: str | None = None
    file: str = Field(default="report.html", pattern=r"\.html$")
    audience: Literal["internal", "external"] = "internal"
    language: Literal["en", "de"] = "en"
    date: str | None = None


SECTIONS: dict[str, type[Table]] = {
    "survey": SurveyInput,
    "calibrate": CalibrateOptions,
    "run": RunOptions,
    "zones": ZonesOptions,
    "risk": RiskOptions,
    "report": ReportOptions,
}
