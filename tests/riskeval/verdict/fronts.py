"""Every front that a deception can be shown to, and what it says of it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from riskeval import ProtectionSession, assess_synthetic, compare
from riskeval.cli import main
from riskeval.verdict.verdict import ReleaseVerdict
from synthpop.microdata.frame.dictionary import toml_value
from tests import console
from tests.riskeval.verdict.corpus import (
    AMOUNTS,
    COARSE,
    KEYS,
    SENSITIVE,
    original,
    protected,
    strangers,
)
from tests.riskeval.verdict.deceptions import BIRTH, FILES, IDENTIFIER, RELEASES, SYNTHETIC
from tests.riskeval.verdict.test_deceptions import MEASURES, assessed, compared, file_roles

ATTACKS = ["disco", "fewer_keys", "copies", "distance_screen", "membership", "tcap",
           "linkability", "singling_out"]  # fmt: skip
QUICK = {"model": "nearest"}
COLUMNS_ALONE = (IDENTIFIER, "free text", BIRTH, "code for missing")
"""Findings of single columns, which synthetic files are looked through for, too."""
ALIKE = [
    {"copied records", "copied amounts", "copied shares", "unchanged amounts",
     "nearly copied records", "more than about strangers"},
]  # fmt: skip
"""Findings by which a copy may be named: which one depends on what the front is given."""
command = partial(console.call, main)


@dataclass(frozen=True)
class Said:
    """What a front says of a file."""

    level: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, verdict: ReleaseVerdict | Mapping[str, Any]) -> Said:
        """Read a verdict, or one as ``--json`` writes it."""
        if isinstance(verdict, ReleaseVerdict):
            return cls(verdict.level, tuple(one.name for one in verdict.evidence))
        return cls(verdict["level"], tuple(one["name"] for one in verdict["evidence"]))

    def is_named(self, finding: str) -> bool:
        """Whether the file is objected to, by the finding where there is one."""
        wanted = {finding}.union(*(group for group in ALIKE if finding in group))
        objected = self.level != "no objection found by what was tried"
        return objected and bool(self.names) and (not finding or bool(wanted & {*self.names}))


Front = Callable[[str, Path], Said]


def session(name: str, folder: Path) -> Said:
    """Judge the file of a session, as the page "Release" of the app does."""
    roles = file_roles(name)
    file = ProtectionSession(FILES[name][0](), **roles)
    return Said.of(file.verdict())


def assess_command(name: str, folder: Path) -> Said:
    """Run ``riskeval assess``: JSON, exit status and page."""
    return _command(folder, "assess", {"data": FILES[name][0]()},
                    {"assess": file_roles(name) | {"measures": MEASURES}})  # fmt: skip


def file_compared(name: str, folder: Path) -> Said:
    """Compare with the file that the deception was made from."""
    roles = {role: value for role, value in file_roles(name).items() if role != "household"}
    file = FILES[name][0]()
    base = protected()
    if not all(name in base and {*base[name]} & {*file[name]} for name in roles["keys"]):
        base = file
    roles["sensitive"] = [one for one in roles["sensitive"] if one in base]
    return Said.of(
        compare(base, {"file": file}, seed=1, sample_sizes=QUICK, **roles).verdicts["file"]
    )


def file_attacked(name: str, folder: Path) -> Said:
    """Attack the file as if it were synthetic: single columns are read."""
    found = assess_synthetic(
        protected(), FILES[name][0](), COARSE, attacks=["replicated_uniques"], seed=1
    )
    return Said.of(found.verdict)


def attacked(files: Mapping[str, Any], name: str, folder: Path) -> Said:
    """Attack the file beside strangers."""
    return Said.of(
        assess_synthetic(
            original(), files[name][0](), KEYS, [*SENSITIVE, *AMOUNTS], holdout=strangers(),
            seed=1, categorical=["educ"], attacks=ATTACKS,
        ).verdict
    )  # fmt: skip


def synthetic_compared(name: str, folder: Path) -> Said:
    """Compare with the original, beside strangers."""
    return Said.of(
        compare(
            original(), {"release": SYNTHETIC[name][0]()}, keys=KEYS, numeric=AMOUNTS,
            sensitive=SENSITIVE, holdout=strangers(), seed=1, sample_sizes=QUICK,
        ).verdicts["release"]
    )  # fmt: skip


def judge_command(name: str, folder: Path) -> Said:
    """Run ``riskeval judge``: JSON, exit status and page."""
    files = {"data": original(), "synthetic": SYNTHETIC[name][0](), "holdout": strangers()}
    intruder = {"keys": KEYS, "targets": [*SENSITIVE, *AMOUNTS], "who": "everyone"}
    return _command(folder, "judge", files, {"intruder": intruder},
                    f"attacks = {toml_value(ATTACKS)}\nseed = 1\n")  # fmt: skip


def compare_command(name: str, folder: Path) -> Said:
    """Run ``riskeval compare``: JSON, exit status and page."""
    RELEASES[name][0]().to_parquet(folder / "release.parquet")
    roles = {"keys": KEYS, "numeric": AMOUNTS, "sensitive": SENSITIVE}
    tables = {"roles": roles, "sample_sizes": QUICK}
    release = '[[release]]\nname = "release"\nfile = "release.parquet"\n'
    return _command(folder, "compare", {"data": original()}, tables, "seed = 1\n", release)


def _command(
    folder: Path, verb: str, files: Mapping[str, pd.DataFrame],
    tables: Mapping[str, Mapping[str, Any]], head: str = "", tail: str = "",
) -> Said:  # fmt: skip
    """Run a command on stored files; its page and its exit status say what its JSON says."""
    lines = [head]
    for name, frame in files.items():
        frame.reset_index(drop=True).to_parquet(folder / f"{name}.parquet")
        lines.append(f'[{name}]\nfile = "{name}.parquet"\n')
    for name, table in tables.items():
        lines.append(f"[{name}]\n")
        lines += [f"{key} = {toml_value(value)}\n" for key, value in table.items()
                  if value is not None]  # fmt: skip
    (folder / "plan.toml").write_text("".join([*lines, tail]), encoding="utf-8")
    done = command(verb, "plan.toml", "--fail-on-limit", "--json", cwd=folder)
    assert done.returncode == 3, done.stderr + done.stdout
    answer = json.loads(done.stdout)
    verdict = answer.get("verdict") or answer["verdicts"]["release"]
    page = html.unescape(Path(folder / answer["report"]).read_text(encoding="utf-8"))
    assert verdict["evidence"][0]["text"] in page.replace("\xa0", " ")
    return Said.of(verdict)


def app(name: str, folder: Path) -> Said:
    """Show the file to the app: its page "Release" says it, and writes nothing without a reason."""
    from synthpop.app.protect.session import session_of
    from tests.synthpop.app.helpers import do, open_tab, play

    tab = open_tab(folder, FILES[name][0]().reset_index(drop=True))
    roles = {column: role for role, columns in file_roles(name).items() if columns
             for column in ([columns] if isinstance(columns, str) else columns)}  # fmt: skip
    play(tab, [
        do("choose_journey", journey="protect"),
        do("protect.open_file", name="survey.parquet", file="data-1.parquet"),
        do("protect.set_roles", roles=roles), do("choose_page", page="release"),
    ])  # fmt: skip
    judged = session_of(tab.worker.workspace, tab.project.protect).verdict()
    page = tab.page()
    assert page is not None
    text = html.unescape(str(page.render(tab.view())))
    assert judged.summary() in text.replace("\xa0", " ")
    if judged.fatal:  # nothing is written without a name and a reason
        play(tab, [{"action": "job", "name": "protect.export", "arguments": {"format": ".csv"}}])
        assert not list(folder.glob("out/*protected*"))
    return Said.of(judged)


ACCEPT: dict[str, tuple[Mapping[str, tuple[Any, str]], Front]] = {
    "assess": (FILES, lambda name, folder: Said.of(assessed(name))),
    "session": (FILES, session),
    "riskeval assess": (FILES, assess_command),
    "compare of a file": (FILES, file_compared),
    "assess_synthetic of a file": (FILES, file_attacked),
    "assess_synthetic": (SYNTHETIC, partial(attacked, SYNTHETIC)),
    "compare beside strangers": (SYNTHETIC, synthetic_compared),
    "riskeval judge": (SYNTHETIC, judge_command),
    "compare": (RELEASES, lambda name, folder: Said.of(compared(name))),
    "assess_synthetic of a release": (RELEASES, partial(attacked, RELEASES)),
    "riskeval compare": (RELEASES, compare_command),
}
"""Fronts, the deceptions that each accepts, and how it is asked."""
EVERY: Sequence[tuple[str, str]] = [
    (front, name) for front, (files, _) in ACCEPT.items() for name in files
]


def wanted(front: str, name: str) -> str:
    """Return the finding that a front must name; empty where it may say that it cannot judge."""
    finding = ACCEPT[front][0][name][1]
    if front == "assess_synthetic of a file" and finding not in COLUMNS_ALONE:
        return ""
    if front == "compare of a file" and "household" in finding:
        return ""  # households are not declared there
    if front == "compare of a file" and finding == "repeated records":
        return "copied amounts"  # two records for each one of the original are nobody's own
    if front in ("compare beside strangers", "assess_synthetic of a release"):
        return finding if finding in ALIKE[0] or finding in COLUMNS_ALONE else ""
    return finding
