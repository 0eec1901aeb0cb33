"""What `init`, `run`, `riskeval init`, `assess` and `protect` make of files that nobody prepared.

    python -m benchmarks.any_file [--store] [--households N] [FILE ...]

Each file of ../shared/zoo and ../shared/data that is microdata is written as its readers would have
it (Parquet as CSV), and the commands run with what they wrote themselves. With ``--households``,
the first N households, or 3 N rows where there are none. A row says whether every command ended
well, whether the roles are right, which columns the population lacks, and how plausible its ages
are beside the survey's.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.eusilc import DATA
from benchmarks.results import FOLDER, store_if_asked, stored
from synthpop import open_population, read_table, write_table

SHARED = DATA.parents[1]
ROWS_A_HOUSEHOLD = 3
YOUNGEST_PARENT, YOUNGEST_SPOUSE, ADULT = 12, 15, 15


@dataclass(frozen=True, slots=True)
class File:
    """A file and what somebody who knows it would say; "" where it has no such column."""

    title: str
    path: str
    household: str = ""
    weight: str = ""
    age: str = ""
    sex: str = ""
    relation: str = ""
    levels: tuple[str, str, str] = ("", "", "")  # reference person, spouse, child
    twin: str = ""  # another column with the same ages

    def frame(self, households: int | None) -> pd.DataFrame:
        """Return the rows: all, or those of the first households."""
        frame = read_table(SHARED / self.path)
        if households is None:
            return frame
        if not self.household:
            return frame.head(ROWS_A_HOUSEHOLD * households)
        return frame[frame[self.household].isin(frame[self.household].unique()[:households])]


FILES = (
    File("NIST excerpts of it", "zoo/nist_national2019.parquet", "", "PWGTP", "AGEP", "SEX"),
    File("PSRC, persons", "zoo/psrc_persons.parquet", "household_id", "", "age", "sex"),
    File("SANDAG, persons", "zoo/sandag_persons.parquet", "household_id", "", "age", "sex"),
    File("French SPSS file", "zoo/enquete.sav", "NUM_MEN", "POIDS", "AGE", "SEXE"),
    File("German CSV file", "zoo/erhebung.csv", "Haushalts-Nr.", "Personengewicht",
         "Alter (Jahre)", "Geschlecht"),
    File("EU-SILC of simPop", "data/eusilcS.parquet", "db030", "rb050", "age", "rb090"),
    File("EU-SILC of laeken", "data/laeken_eusilc.parquet", "db030", "rb050", "age", "rb090"),
    File("EU-SILC 2013, public use", "data/eusilc13puf.parquet", "db030", "rb050", "age",
         "rb090", twin="rx020"),
    File("Population of simPop", "data/eusilcP.parquet", "hid", "", "age", "gender"),
    File("Living standards, Ghana", "data/ghanaS.parquet", "hhid", "weight", "age", "sex",
         "relate", ("head", "spouse", "child")),
    File("Structure of earnings", "data/ses.parquet", "", "weights", "age", "sex"),
    File("Household survey of sdcMicro", "data/testdata.parquet", "ori_hid", "household_weights",
         "age", "sex", "relat", ("1", "2", "3")),
    File("Its extract of 93 rows", "data/testdata2.parquet", "ori_hid", "sampling_weight", "age",
         "sex"),
    File("mu-Argus demonstration", "data/free1.parquet", "", "WEIGHT", "AGE", "SEX"),
    File("American Community Survey, 101 columns", "zoo/acs_pums.parquet", "SERIALNO", "PWGTP",
         "AGEP", "SEX", "RELP", ("0", "1", "2")),
    File("PSRC, households", "zoo/psrc_households.parquet"),
    File("SANDAG, households", "zoo/sandag_households.parquet"),
    File("EU-SILC of sdcMicro", "data/eusilc.parquet", "db030", "rb050", "age", "rb090"),
    File("Structure of earnings of laeken", "data/laeken_ses.parquet", "", "weights", "age", "sex"),
    File("Census reference file, 13 amounts", "data/CASCrefmicrodata.parquet", "", "AFNLWGT"),
    File("Electric utilities", "data/EIA.parquet"),
    File("Companies of Tarragona", "data/Tarragona.parquet"),
    File("Eight records of a paper", "data/francdat.parquet", "", "w"),
    File("Thirteen records", "data/casc1.parquet"),
    File("Thirteen records, five amounts", "data/microData.parquet"),
)  # fmt: skip
"""All files of these folders but tables of known totals (totalsRG, totalsRGtab)."""


def copy(file: File, folder: Path, households: int | None) -> Path:
    """Write a file, or its first households, as a stranger has it."""
    source = SHARED / file.path
    target = folder / source.name
    if source.suffix == ".parquet":
        target = target.with_suffix(".csv")
        file.frame(households).to_csv(target, index=False)
    elif households is None:
        target.write_bytes(source.read_bytes())
    elif source.suffix == ".csv":  # the same signs: the lines of these households
        lines = source.read_bytes().splitlines(keepends=True)
        target.write_bytes(b"".join(lines[: 1 + len(file.frame(households))]))
    else:
        write_table(file.frame(households), target)
    return target


def run_all(path: Path) -> list[tuple[str, int, float, str]]:
    """Return command, exit status, processor seconds and last error of what a stranger types."""
    stem = path.stem
    commands = {
        "init": f"synthpop init {path.name} --out made.toml",
        "run": "synthpop run made.toml --seed 1 --out people",
        "riskeval init": f"riskeval init {path.name}",
        "assess": f"riskeval assess {stem}-assess.toml",
        "protect": f"riskeval protect {stem}-protect.toml",
    }
    results = []
    for verb, command in commands.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=path.parent, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        results.append((verb, done.returncode, seconds, done.stderr + done.stdout))
    return results


def roles_wrong(file: File, folder: Path, stem: str) -> list[str]:
    """Return what the two plans say other than somebody who knows the file."""
    wrong = []
    plan = tomllib.loads((folder / "made.toml").read_text())
    roles = plan["survey"]
    structure = next(one for one in plan["stage"] if one["type"] == "structure")["variables"]
    assess = tomllib.loads((folder / f"{stem}-assess.toml").read_text())["assess"]
    for package, found, weight, named in (
        ("synthpop", roles, "weight", structure),
        ("riskeval", assess, "weights", assess["keys"]),
    ):
        for role, column in (("household", file.household), (weight, file.weight)):
            if found.get(role, "") != column:
                wrong.append(f"{package}: {role} is {found.get(role, 'absent')}")
        age = file.twin if file.twin in named else file.age
        wrong += [f"{package}: {c} not seen" for c in (age, file.sex) if c not in (*named, "")]
    return wrong


def lacking(file: File, columns: list[str], folder: Path) -> tuple[list[str], list[str]]:
    """Return the columns that the population lacks, and those no line of the run file names."""
    text = (folder / "made.toml").read_text()
    people = open_population(folder / "people").frame()
    absent = [c for c in columns if c not in people.columns]
    roles = tomllib.loads(text)["survey"].values()
    return [c for c in absent if c not in roles], [c for c in columns if c not in text]


def plausibility(file: File, people: pd.DataFrame) -> Mapping[str, float]:
    """Return, per 10,000 persons, what does not occur in households; and the gap of spouses."""
    found: dict[str, float] = {}
    if not (file.household and file.age):
        return found
    age, household = pd.to_numeric(people[file.age], errors="coerce"), people[file.household]
    if age.nunique() < 20:
        return found
    per = 10_000 / len(people)
    oldest = age.groupby(household).transform("max")
    found["without an adult"] = float((oldest < ADULT).sum() * per)
    two = people[household.groupby(household).transform("size") == 2].sort_values(
        file.household, kind="stable"
    )
    ages = pd.to_numeric(two[file.age], errors="coerce").to_numpy().reshape(-1, 2)
    sex = two[file.sex].to_numpy().reshape(-1, 2)
    adult = (ages.min(axis=1) >= 25) & (sex[:, 0] != sex[:, 1])
    if adult.any():
        found["years between two adults"] = float(np.abs(np.diff(ages[adult], axis=1)).mean())
    if not file.relation:
        return found
    reference, spouse, child = file.levels
    relation = people[file.relation].astype(str).str.replace(r"\.0$", "", regex=True)
    parent = household.map(age[relation == reference].groupby(household).first())
    found["child too old"] = float(
        ((relation == child) & (parent - age < YOUNGEST_PARENT)).sum() * per
    )
    found["spouse under 15"] = float(((relation == spouse) & (age < YOUNGEST_SPOUSE)).sum() * per)
    return found


def row(file: File, households: int | None) -> dict[str, str]:
    """Run everything on one file."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        path = copy(file, folder, households)
        survey = read_table(path)
        results = run_all(path)
        failed = [verb for verb, code, *_ in results if code]
        for verb, code, _, error in results:
            if code:
                print(f"-- {file.title}: {verb}\n{error[-2000:]}")
        cells = {
            "file": file.title,
            "rows, columns": f"{len(survey):,}, {survey.shape[1]}",
            "commands that fail": ", ".join(failed) or "none",
            "processor seconds": ", ".join(f"{seconds:.0f}" for _, _, seconds, _ in results),
        }
        if {"init", "riskeval init"} & set(failed):
            return cells
        cells["roles"] = "; ".join(roles_wrong(file, folder, path.stem)) or "right"
        if "run" in failed:
            return cells
        absent, unnamed = lacking(file, list(map(str, survey.columns)), folder)
        cells["not simulated, each with a reason"] = ", ".join(absent) or "none"
        if unnamed:
            cells["roles"] += f"; no line names {', '.join(unnamed)}"
        people = open_population(folder / "people").frame()
        pairs = [plausibility(file, frame) for frame in (survey, people)]
        cells["survey → population"] = "; ".join(
            f"{name} {pairs[0][name]:.1f} → {pairs[1].get(name, np.nan):.1f}" for name in pairs[0]
        )
        return cells


def main() -> None:
    """Print one row per file, or per file named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--households", type=int)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names
    rows = earlier_rows() if names else {}
    for file in FILES:
        if names and not any(name in file.path for name in names):
            continue
        rows[file.title] = row(file, options.households)
        print("\n".join(f"{k}: {v}" for k, v in rows[file.title].items()), "\n", flush=True)
        in_order = [rows[one.title] for one in FILES if one.title in rows]
        store_if_asked("any-file", "files", pd.DataFrame(in_order).fillna(""))


def earlier_rows() -> dict[str, dict[str, str]]:
    """Return the rows that are stored: those of other files stay where some are named."""
    if not (FOLDER / "any-file.json").exists():
        return {}
    table = stored("any-file", "files").table
    return {one["file"]: one for one in table.to_dict("records")}


if __name__ == "__main__":
    main()
