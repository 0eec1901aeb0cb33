"""Run files of the risk evaluation: what to assess, or how to protect a file, as TOML data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from riskeval.measures.assess import assess
from riskeval.measures.assessment import Assessment
from riskeval.protection.registry import VERBS, method_named
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.events import Listener, silent
from synthpop.microdata.fileinput import FileInput
from synthpop.microdata.tomlfile import (
    Table,
    check_sections,
    faults_of,
    read_toml,
    read_values,
    validate,
)

Names = list[str]


class DataInput(FileInput):
    """The table ``[data]``: a file, or ``demo = true`` for the embedded survey."""

    demo: bool = False


class AssessOptions(Table):
    """The table ``[assess]``; see `assess`."""

    keys: Names
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

    keys: Names
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
        data = read_data(self.data, self.folder, on_event or silent)
        return assess(
            data,
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
        return read_data(self.data, self.folder)


def load_assess_plan(path: Path | str) -> AssessPlan:
    r"""Read and check a run file of ``riskeval assess``.

    Raises
    ------
    RunFileError
        Lists every fault.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "assess.toml"
    >>> _ = file.write_text('data = {demo = true}\nassess = {keys = ["db040", "age"]}')
    >>> load_assess_plan(file).arguments.keys
    ['db040', 'age']
    """
    file = Path(path)
    data = read_toml(file)
    faults = faults_of(f"run file {file.name}", data)
    check_sections(faults, data, ["data", "assess", "limits", "options", "report"])
    source = read_source(faults, data)
    options = validate(faults, "[assess]", AssessOptions, data.get("assess", {}))
    report = validate(faults, "[report]", PageOptions, data.get("report", {}))
    limits, measures = (read_values(faults, data, name) for name in ("limits", "options"))
    faults.raise_if_any()
    return AssessPlan(source, options, limits, measures, report, file.parent)


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
    r"""Read and check a run file of ``riskeval protect``: ``[data]``, ``[roles]``, ``[[step]]``.

    Raises
    ------
    RunFileError
        Lists every fault that can be seen before the steps are run.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plan.toml"
    >>> _ = file.write_text('data = {demo = true}\nroles = {keys = ["age"]}\n[[step]]\n'
    ...                     'verb = "local_suppression"\nk = 3\n')
    >>> load_protect_plan(file).steps
    (('local_suppression', {'k': 3}),)
    """
    file = Path(path)
    data = read_toml(file)
    faults = faults_of(f"run file {file.name}", data)
    check_sections(faults, data, ["data", "roles", "step", "out", "report", "release"])
    source = read_source(faults, data)
    roles = validate(faults, "[roles]", RolesInput, data.get("roles", {}))
    report = validate(faults, "[report]", PageOptions, data.get("report", {}))
    release = validate(faults, "[release]", ReleaseOptions, data.get("release", {}))
    steps = read_steps(faults, data.get("step", []))
    out = data.get("out")
    if out is not None and not isinstance(out, str):
        faults.add("out", f"is {out!r}", remedy="Give the name of a file.")
    faults.raise_if_any()
    return ProtectPlan(source, roles, steps, out, report, file.parent, release)


def read_source(faults: Faults, data: Mapping[str, Any]) -> Any:
    """Read the table ``[data]``: exactly one of `file` and `demo`."""
    source = validate(faults, "[data]", DataInput, data.get("data", {}))
    if source is not None and source.demo == (source.file is not None):
        faults.add("[data]", "needs file or demo = true", remedy="Give exactly one of them.")
    return source


def read_steps(
    faults: Faults, tables: Any, within: str = ""
) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Read a list of steps of protection: (verb, arguments); `within` says where they stand."""
    head = f"{within} [[step]]".strip()
    if not isinstance(tables, list) or not tables:
        faults.add(head, "there is none", remedy='Give one, as verb = "local_suppression".')
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
            faults.add(f"{head} {number}", what, remedy=did_you_mean(verb, VERBS))
        steps.append((str(verb), arguments))
    return tuple(steps)


def read_data(source: DataInput, folder: Path, on_event: Listener = silent) -> pd.DataFrame:
    """Read the file that ``[data]`` names."""
    if source.demo:
        from synthpop.microdata.demo_survey import load_demo_survey

        return load_demo_survey().frame
    return source.read(folder, on_event)


def takes_seed(verb: str) -> bool:
    """Whether a verb of ``riskeval.protect`` draws.

    Examples
    --------
    >>> takes_seed("pram"), takes_seed("global_recode")
    (True, False)
    """
    return "seed" in inspect.signature(method_named(verb)).parameters
