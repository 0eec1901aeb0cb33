"""Run files of ``riskeval compare``: an original, and releases as files or as steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from riskeval.comparison.compare import compare
from riskeval.comparison.releases import Release
from riskeval.comparison.result import Comparison
from riskeval.runfiles.attack_files import SEED, read_file_table
from riskeval.runfiles.runfile import DataInput, Names, PageOptions, read_source, read_steps
from riskeval.session.running import with_seed
from riskeval.session.session import ProtectionSession
from riskeval.shared.show import ORIGINAL
from synthpop.microdata.formats.tomlfile import (
    Table,
    read_run_file,
    read_section,
    read_values,
    validate,
)
from synthpop.microdata.messages.errors import Faults, InputError, RunFileError, did_you_mean
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.parameters import check
from synthpop.microdata.runs.fileinput import FileInput, read_noted
from synthpop.microdata.statistics.streams import Streams, resolve_seed

SECTIONS = [
    "data", "roles", "release", "indicators", "regressions", "limits", "sample_sizes", "holdout",
    "level", "seed", "report",
]  # fmt: skip


class CompareRoles(Table):
    """The table ``[roles]``; see `compare`."""

    keys: Names = Field(default_factory=list)
    numeric: Names = Field(default_factory=list)
    sensitive: Names = Field(default_factory=list)
    weights: str | None = None
    household: str | None = None
    strata: str | None = None


class ReleaseInput(Table):
    """A table ``[[release]]``: a file, or steps from the original or from another release."""

    name: str
    file: str | None = None
    base: str | None = None
    step: list[dict[str, Any]] | None = None
    kind: Literal["perturbed", "synthetic"] | None = None
    family: str | None = None
    parameter: float | None = None
    weights: str | None = None
    linkable: bool | None = None
    identifier: str | None = None
    levels: dict[str, dict[str, Any]] = Field(default_factory=dict)
    replicates: list[str] = Field(default_factory=list)


Steps = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class ComparePlan:
    """What ``riskeval compare`` does."""

    data: DataInput
    roles: CompareRoles
    releases: tuple[tuple[ReleaseInput, Steps], ...]  # steps are (verb, arguments); none for a file
    # `indicators`, `regressions`, `limits`, `sample_sizes` and `level`, as `compare` takes them
    options: dict[str, Any]
    holdout: FileInput | None
    seed: int | None
    report: PageOptions
    folder: Path  # where relative paths start

    def sources(self) -> list[Path]:
        """Return every file that is read: the original, the releases and the hold-out."""
        releases = [
            file for release, _ in self.releases for file in (release.file, *release.replicates)
        ]
        holdout = None if self.holdout is None else self.holdout.file
        names = [self.data.file, *releases, holdout]
        return [self.folder / name for name in names if name]

    def run(
        self, *, seed: int | None = None, workers: int = 1, on_event: Listener = silent
    ) -> Comparison:
        """Read the files, make the releases given as steps, and compare; all draw from one seed."""
        used = resolve_seed(self.seed if seed is None else seed)
        original = self.data.read(self.folder, on_event)
        return compare(
            original,
            self._releases(original, used, on_event),
            **self.roles.model_dump(),
            **self.options,
            holdout=None if self.holdout is None else self.holdout.read(self.folder, on_event),
            workers=workers,
            seed=used,
            on_event=on_event,
        )

    def _releases(
        self, original: pd.DataFrame, seed: int, on_event: Listener
    ) -> dict[str, Release]:
        frames: dict[str, pd.DataFrame] = {}
        by_name: dict[str, Release] = {}
        for entry, steps in self.releases:
            if entry.file is not None:
                frame = read_noted(self.folder / entry.file, on_event)
            else:
                base = original if entry.base is None else frames[entry.base]
                frame = self._protect(base, entry.name, steps, seed)
            frames[entry.name] = frame
            kind: str | None = entry.kind
            if entry.file is None:
                # steps keep the rows of what they start from
                kind = kind or ("perturbed" if entry.base is None else by_name[entry.base].kind)
            by_name[entry.name] = Release(
                frame, kind, entry.family, entry.parameter, entry.weights, entry.linkable,
                entry.identifier, entry.levels,
                [read_noted(self.folder / file, on_event) for file in entry.replicates],
            )  # fmt: skip
        return by_name

    def _protect(self, base: pd.DataFrame, name: str, steps: Steps, seed: int) -> pd.DataFrame:
        roles = self.roles

        def present(names: Names) -> Names:
            return [name for name in names if name in base]

        session = ProtectionSession(
            base,
            keys=present(roles.keys),
            numeric=present(roles.numeric),
            sensitive=present(roles.sensitive),
            weights=roles.weights if roles.weights in base else None,
            household=roles.household if roles.household in base else None,
        )
        for number, (verb, arguments) in enumerate(steps, 1):
            rng = Streams(seed).at("release", name, number)
            try:
                session.apply(verb, **with_seed(verb, arguments, rng))
            except InputError as problem:
                where = f"[[release]] {name}, step {number}"
                raise RunFileError(f"{where}: {problem.subject}", problem.faults) from None
        return session.data


def load_compare_plan(path: Path | str) -> ComparePlan:
    r"""Read and check a run file of ``riskeval compare``.

    Parameters
    ----------
    path : path
        ``[data]`` (the original: `file` or ``demo = true``), ``[roles]``, and one ``[[release]]``
        each: `name` and either `file` or ``[[release.step]]`` (from the original, or from the
        release named by `base`). Steps know the keys, numeric and sensitive variables, weights and
        household of ``[roles]``; strata are those that the step names. Where wanted a release has
        `kind`, `family`, `parameter`, `weights`, `linkable`, `identifier`, `levels`. Further
        ``[[indicators]]``, ``[[regressions]]``, ``[limits]`` ("none" for no limit),
        ``[sample_sizes]``, ``[holdout]`` with `file` and its reading, `level`, `seed`,
        ``[report]``. Relative paths start at the folder of the run file.

    Raises
    ------
    RunFileError
        Lists every fault that can be seen before files are read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "plan.toml"
    >>> _ = file.write_text('data = {demo = true}\nroles = {keys = ["age"]}\n[[release]]\n'
    ...                     'name = "top"\n[[release.step]]\nverb = "top_bottom_code"\n'
    ...                     'column = "age"\nupper = 80\n')
    >>> load_compare_plan(file).releases[0][1]
    (('top_bottom_code', {'column': 'age', 'upper': 80}),)
    """
    data, faults = read_run_file(path, SECTIONS)
    source = read_source(faults, data)
    roles = read_section(faults, data, "roles", CompareRoles)
    report = read_section(faults, data, "report", PageOptions)
    releases = _read_releases(faults, data.get("release", []))
    options = _options(faults, data)
    holdout = read_file_table(faults, data, "holdout", FileInput, required=False)
    check(faults, SEED, data)
    faults.raise_if_any()
    return ComparePlan(
        source, roles, releases, options, holdout, data.get("seed"), report, Path(path).parent
    )


def _options(faults: Faults, data: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `compare` that need no reading; it checks them itself."""
    options: dict[str, Any] = {
        name: read_values(faults, data, name) for name in ("limits", "sample_sizes") if name in data
    }
    return options | {n: data[n] for n in ("indicators", "regressions", "level") if n in data}


def _read_releases(faults: Faults, tables: Any) -> tuple[tuple[ReleaseInput, Steps], ...]:
    if not isinstance(tables, list) or not tables:
        faults.add("[[release]]", "there is none", hint="Give one, with name and file or steps.")
        return ()
    releases: list[tuple[ReleaseInput, Steps]] = []
    names: list[str] = []
    for number, table in enumerate(tables, 1):
        where = f"[[release]] {number}"
        release = validate(faults, where, ReleaseInput, table)
        if release is None:
            continue
        if release.name in names or release.name == ORIGINAL:
            faults.add(where, f"the name {release.name!r} is taken", hint="Give another one.")
        steps: Steps = ()
        if (release.file is None) == (release.step is None):
            faults.add(where, "needs file or [[release.step]]", hint="Give exactly one of them.")
        elif release.step is not None:
            steps = read_steps(faults, release.step, where)
        if release.base is not None and release.file is not None:
            faults.add(where, "a file has no base", hint="Leave base out.")
        elif release.replicates and release.file is None:
            faults.add(where, "steps have no replicates", hint="Give a file beside them.")
        elif release.base is not None and release.base not in names:
            what = f"base {release.base!r} is not a release before this one"
            faults.add(where, what, hint=did_you_mean(release.base, names))
        names.append(release.name)
        releases.append((release, steps))
    return tuple(releases)
