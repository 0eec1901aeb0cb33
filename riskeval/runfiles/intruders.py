"""Run files of ``riskeval intruders``: the five matching scenarios, as TOML data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from riskeval.attacks.matching.scenarios import IntruderRisk, intruder_scenarios
from riskeval.attacks.scenario import Scenario
from riskeval.runfiles.attack_files import (
    ReleasedFile,
    read_file_table,
    read_intruder,
    read_seed_and_out,
)
from riskeval.runfiles.runfile import DataInput, read_source
from synthpop.microdata.formats.tomlfile import Table, read_run_file, read_section
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.runs.engines import Workers
from synthpop.microdata.runs.fileinput import FileInput

SECTIONS = ["data", "population", "holdout", "intruder", "options", "seed", "out"]


class IntruderOptions(Table):
    """The table ``[options]``; see `intruder_scenarios`."""

    scenarios: list[int] = Field(default=[1, 2, 3, 4, 5])
    weights: str | None = None
    intervals: dict[str, tuple[str, str]] | None = None
    missing: Literal["wildcard", "category", "unmatched"] = "wildcard"
    open_interval: Literal["value", "zero"] = "value"
    model: Literal["linear", "stepwise", "forest", "boosting"] = "linear"


@dataclass(frozen=True, slots=True)
class IntrudersPlan:
    """What ``riskeval intruders`` does."""

    data: DataInput  # the sample
    population: ReleasedFile
    holdout: FileInput | None
    intruder: Scenario
    options: IntruderOptions
    seed: int | None
    out: str | None  # table of the scenarios, ``.csv`` or ``.parquet``
    folder: Path  # where relative paths start

    def sources(self) -> list[Path]:
        """Return every file that is read."""
        holdout = None if self.holdout is None else self.holdout.file
        names = [self.data.file, self.population.file, holdout]
        return [self.folder / name for name in names if name]

    def run(
        self, *, seed: int | None = None, workers: Workers = 1, on_event: Listener = silent
    ) -> IntruderRisk:
        """Read the files and measure; `seed` is taken instead of that of the plan."""
        options: dict[str, Any] = self.options.model_dump()
        scenarios = tuple(options.pop("scenarios"))
        return intruder_scenarios(
            self.data.read(self.folder, on_event),
            self.population.open(self.folder, on_event, workers),
            self.intruder,
            **options,
            scenarios=scenarios,
            holdout=None if self.holdout is None else self.holdout.read(self.folder, on_event),
            seed=self.seed if seed is None else seed,
            on_event=on_event,
        )


def load_intruders_plan(path: Path | str) -> IntrudersPlan:
    r"""Read and check a run file of ``riskeval intruders``.

    Parameters
    ----------
    path : path
        ``[data]`` (the sample: `file` or ``demo = true``), ``[population]`` (`file`, also a folder
        of Parquet files), where there is one ``[holdout]``, ``[intruder]`` with the fields of a
        `Scenario`, ``[options]`` with `scenarios`, `weights`, `intervals` (a table of target to two
        columns), `missing`, `open_interval` and `model` of `intruder_scenarios`. Further `seed`,
        and `out`, the file of the table. Relative paths start at the folder of the run file.

    Raises
    ------
    RunFileError
        Lists every fault that can be seen before files are read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "intruders.toml"
    >>> _ = file.write_text('data = {demo = true}\npopulation = {file = "population"}\n'
    ...     'intruder = {keys = ["age"], targets = ["netIncome"]}\noptions = {scenarios = [2, 4]}')
    >>> load_intruders_plan(file).options.scenarios
    [2, 4]
    """
    data, faults = read_run_file(path, SECTIONS)
    source = read_source(faults, data)
    population = read_file_table(faults, data, "population", ReleasedFile)
    holdout = read_file_table(faults, data, "holdout", FileInput, required=False)
    intruder = read_intruder(faults, data, "sample uniques")
    options = read_section(faults, data, "options", IntruderOptions)
    seed, out = read_seed_and_out(faults, data)
    faults.raise_if_any()
    assert intruder is not None  # or there was a fault
    folder = Path(path).parent
    return IntrudersPlan(source, population, holdout, intruder, options, seed, out, folder)
