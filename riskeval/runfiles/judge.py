"""Run files of ``riskeval judge``: all attacks on a synthetic file, as TOML data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from riskeval.attacks.assess_synthetic import assess_synthetic
from riskeval.attacks.compared import N_GROUPS
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.synthetic_risk import SyntheticRisk
from riskeval.runfiles.attack_files import (
    ReleasedFile,
    read_file_table,
    read_intruder,
    read_seed_and_out,
)
from riskeval.runfiles.runfile import DataInput, PageOptions, read_source
from synthpop.microdata.formats.tomlfile import read_run_file, read_section
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.parameters import Whole, check, check_choice
from synthpop.microdata.runs.engines import Workers, threads
from synthpop.microdata.runs.fileinput import FileInput

SECTIONS = [
    "data", "synthetic", "holdout", "intruder", "attacks", "n_groups", "seed", "out", "report",
]  # fmt: skip


class SyntheticInput(ReleasedFile):
    """The table ``[synthetic]``; `replicates` are further files of the same fit."""

    replicates: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JudgePlan:
    """What ``riskeval judge`` does."""

    data: DataInput  # the original
    synthetic: SyntheticInput
    holdout: FileInput | None
    intruder: Scenario
    attacks: list[str] | str  # "all" or list of str
    n_groups: int
    seed: int | None
    out: str | None  # table of all numbers, ``.csv`` or ``.parquet``
    report: PageOptions  # page: title, file, audience
    folder: Path  # where relative paths start

    def sources(self) -> list[Path]:
        """Return every file that is read."""
        names = [self.data.file, self.synthetic.file, *self.synthetic.replicates]
        names.append(None if self.holdout is None else self.holdout.file)
        return [self.folder / name for name in names if name]

    def run(
        self, *, seed: int | None = None, workers: Workers = 1, on_event: Listener = silent
    ) -> SyntheticRisk:
        """Read the files and run the attacks; `seed` is taken instead of that of the plan.

        workers: who reads folders of Parquet files; attacks run in as many threads of this process
        """
        replicates = [
            self.synthetic.model_copy(update={"file": name}).open(self.folder, on_event, workers)
            for name in self.synthetic.replicates
        ]
        return assess_synthetic(
            self.data.read(self.folder, on_event),
            self.synthetic.open(self.folder, on_event, workers),
            self.intruder,
            holdout=None if self.holdout is None else self.holdout.read(self.folder, on_event),
            replicates=replicates,
            attacks=self.attacks,
            n_groups=self.n_groups,
            workers=threads(workers),
            seed=self.seed if seed is None else seed,
            on_event=on_event,
        )


def load_judge_plan(path: Path | str) -> JudgePlan:
    r"""Read and check a run file of ``riskeval judge``.

    Parameters
    ----------
    path : path
        ``[data]`` (the original: `file` or ``demo = true``), ``[synthetic]`` (`file`, also a folder
        of Parquet files, and `replicates`), where there is one ``[holdout]``, and ``[intruder]``
        with the fields of a `Scenario` (here everybody is looked for unless `who` says otherwise).
        Further `attacks` (names; all without it), `n_groups`, `seed`, `out`, the file of the
        table, and ``[report]`` with `title`, `file` and `audience` of the page.
        Relative paths start at the folder of the run file.

    Raises
    ------
    RunFileError
        Lists every fault that can be seen before files are read.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "judge.toml"
    >>> _ = file.write_text('attacks = ["disco"]\ndata = {demo = true}\n'
    ...     'synthetic = {file = "synthetic.parquet"}\n'
    ...     'intruder = {keys = ["age"], targets = ["pl030"]}\n')
    >>> load_judge_plan(file).intruder.who
    'everyone'
    """
    data, faults = read_run_file(path, SECTIONS)
    source = read_source(faults, data)
    synthetic = read_file_table(faults, data, "synthetic", SyntheticInput)
    holdout = read_file_table(faults, data, "holdout", FileInput, required=False)
    intruder = read_intruder(faults, data, "everyone")
    attacks = data.get("attacks", "all")
    if attacks != "all":
        attacks = attacks if isinstance(attacks, list) else [attacks]
        for name in attacks:
            check_choice(faults, "attacks", name, ATTACKS)
    check(faults, {"n_groups": Whole(2)}, data)
    seed, out = read_seed_and_out(faults, data)
    report = read_section(faults, data, "report", PageOptions)
    faults.raise_if_any()
    assert intruder is not None  # or there was a fault
    return JudgePlan(
        source, synthetic, holdout, intruder, attacks, data.get("n_groups", N_GROUPS), seed, out,
        report, Path(path).parent,
    )  # fmt: skip
