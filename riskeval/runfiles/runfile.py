"""Run files of the risk evaluation: what to assess, or how to protect a file, as TOML data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from riskeval.measures.assess import assess
from riskeval.measures.assessment import Assessment
from riskeval.protection.registry import VERBS
from synthpop.microdata.formats.tomlfile import Table, read_run_file, read_section, read_values
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.runs.fileinput import FileInput

Names = list[str]


class DataInput(FileInput):
    """The table ``[data]``: a file, or ``demo = true`` for the embedded survey."""

    demo: bool = False

    def read(self, folder: Path, on_event: Listener = silent) -> pd.DataFrame:
        """Read the file, or load the embedded survey."""
        if not self.demo:
            return super().read(folder, on_event)
        from synthpop.microdata.roles.demo_survey import load_demo_survey

        return load_demo_survey().frame


class AssessOptions(Table):
    """The table ``[assess]``; see `assess`."""

    keys: Names = Field(default_factory=list)
    weights: str | None = None
    household: str | None = None
    sensitive: str | Names = Field(default_factory=list)
    numeric: str | Names = Field(default_factory=list)
    measures: str | Names = "all"
    k: list[int] | int = Field(default=[2, 3, 5])
    missing: str = "wildcard"
    alpha: float = 1.0
    population_size: float | None = None


class RolesInput(Table):
    """The table ``[roles]``; see `ProtectionSession`."""

    keys: Names = Field(default_factory=list)
    numeric: Names = Field(default_factory=list)
    weights: str | None = None
    household: str | None = None
    strata: Names | str | None = None
    sensitive: Names = Field(default_factory=list)
    linked: dict[str, Names] | None = None
    pram: Names = Field(default_factory=list)
    household_variables: Names = Field(default_factory=list)
    household_keys: Names = Field(default_factory=list)
    components: dict[str, Names] | None = None


class ReleaseOptions(Table):
    """The table ``[release]``; see ``riskeval.protect.release_file``."""

    order: Literal["records", "households", "households and members", "keep"] | None = None
    identifiers: Names = Field(default_factory=list)
    drop: Names = Field(default_factory=list)


class PageOptions(Table):
    """The table ``[report]``."""

    title: str | None = None
    file: str | None = Field(default=None, pattern=r"\.html$")
    audience: Literal["internal", "external"] = "internal"
    language: Literal["en", "de"] = "en"

    def of_page(self) -> dict[str, Any]:
        """Return the arguments of the function that writes the page."""
        return {"title": self.title, "audience": self.audience, "language": self.language}


@dataclass(frozen=True, slots=True)
class AssessPlan:
    """What ``riskeval assess`` does."""

    data: DataInput
    arguments: AssessOptions
    limits: dict[str, Any]  # the table ``[limits]``; see `Limits`
    options: dict[str, dict[str, Any]]  # dict of dicts: the tables ``[options.<measure>]``
    report: PageOptions
    folder: Path  # where relative paths start

    def run(self, *, on_event: Listener | None = None) -> Assessment:
        """Read the file and measure it."""
        return assess(
            self.data.read(self.folder, on_event or silent),
            **self.arguments.model_dump(),
            limits=self.limits,
            options=self.options,
            on_event=on_event,
        )


@dataclass(frozen=True, slots=True)
class ProtectPlan:
    """What ``riskeval protect`` does."""

    data: DataInput
    roles: RolesInput
    steps: tuple[tuple[str, dict[str, Any]], ...]
    out: str | None  # protected file, ``.parquet`` or ``.csv``
    report: PageOptions
    folder: Path
    release: ReleaseOptions

    def read(self) -> pd.DataFrame:
        """Read the file."""
        return self.data.read(self.folder)


def load_assess_plan(path: Path | str) -> AssessPlan:
    """Read and check a run file of ``riskeval assess``; a `RunFileError` lists every fault."""
    data, faults = read_run_file(path, ["data", "assess", "limits", "options", "report"])
    source = read_source(faults, data)
    options = read_section(faults, data, "assess", AssessOptions)
    report = read_section(faults, data, "report", PageOptions)
    limits, measures = (read_values(faults, data, name) for name in ("limits", "options"))
    faults.raise_if_any()
    return AssessPlan(source, options, limits, measures, report, Path(path).parent)


def assess_file(path: Path | str) -> Assessment:
    r"""Run `assess` as a run file says.

    Parameters
    ----------
    path : path
        ``[data] file = "survey.parquet"`` (csv, parquet, sav, dta, sas7bdat; relative to the run
        file), ``[assess]`` with the arguments of `assess`, and where wanted ``[limits]`` ("none"
        for no limit) and ``[options.<measure>]``.

    Raises
    ------
    RunFileError
        Unknown tables or keys, or no data.
    InputError
        Faults in the data or the arguments.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "survey.csv").write_text("sex,age\n1,30\n1,30\n2,40\n")
    >>> text = '[data]\nfile = "survey.csv"\n[assess]\nkeys = ["sex", "age"]\n'
    >>> _ = (folder / "risk.toml").write_text(text + 'measures = ["frequencies"]')
    >>> assess_file(folder / "risk.toml").n_records
    3
    """
    return load_assess_plan(path).run()


def load_protect_plan(path: Path | str) -> ProtectPlan:
    """Read and check a run file of ``riskeval protect``.

    A `RunFileError` lists every fault that can be seen before the steps are run.
    """
    data, faults = read_run_file(path, ["data", "roles", "step", "out", "report", "release"])
    source = read_source(faults, data)
    roles = read_section(faults, data, "roles", RolesInput)
    report = read_section(faults, data, "report", PageOptions)
    release = read_section(faults, data, "release", ReleaseOptions)
    steps = read_steps(faults, data.get("step", []))
    out = data.get("out")
    if out is not None and not isinstance(out, str):
        faults.add("out", f"is {out!r}", hint="Give the name of a file.")
    faults.raise_if_any()
    return ProtectPlan(source, roles, steps, out, report, Path(path).parent, release)


def read_source(faults: Faults, data: Mapping[str, Any]) -> Any:
    """Read the table ``[data]``: exactly one of `file` and `demo`."""
    source = read_section(faults, data, "data", DataInput)
    if source is not None and source.demo == (source.file is not None):
        faults.add("[data]", "needs file or demo = true", hint="Give exactly one of them.")
    return source


def read_steps(
    faults: Faults, tables: Any, within: str = ""
) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Read a list of steps of protection: (verb, arguments); `within` says where they stand."""
    head = f"{within} [[step]]".strip()
    if not isinstance(tables, list) or not tables:
        faults.add(head, "there is none", hint='Give one, as verb = "local_suppression".')
        return ()
    steps = []
    for number, table in enumerate(tables, 1):
        if not isinstance(table, Mapping):
            faults.add(f"{head} {number}", f"is {table!r}, not a table")
            continue
        arguments = dict(table)
        verb = arguments.pop("verb", None)
        if not isinstance(verb, str) or verb not in VERBS:
            what = f"verb {verb!r} is unknown" if verb else "has no verb"
            faults.add(f"{head} {number}", what, hint=did_you_mean(verb, VERBS))
        steps.append((str(verb), arguments))
    return tuple(steps)
