"""Single flipped bits of everything that is stored: each must be noticed, or change nothing.

python -m tests.flipped_bits --number 1500 --seed 1

A flip is "silent" where the reader gives other values without an error, and "foreign" where it ends
in an error that is not ours.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskeval.runfiles.attack_files import ParquetFolder
from riskeval.session.session import ProtectionSession
from synthpop import Pipeline, Structure, open_population
from synthpop.evaluation.assess_fit import assess_fit
from synthpop.microdata.messages.errors import MicrodataError
from synthpop.population.storage import add_file, read_manifest
from synthpop.population.verify import verify
from synthpop.report.stored import FILE, load_report, store_report
from synthpop.report.write import report_source
from synthpop.sampling import SimpleRandom, draw_setup, simulate_study
from synthpop.sampling.setup_file import read_setup
from tests.small import small_survey

PEOPLE = pd.DataFrame({"age": np.arange(60) % 7, "sex": ["f", "m"] * 30, "income": np.arange(60.0)})


class Damaged(MicrodataError):
    """`verify` names the file."""


def make(folder: Path, *, report: bool = True) -> None:
    """Write one of everything, or of all but the facts of a report."""
    survey = small_survey(20)
    pipeline = Pipeline([Structure(["age", "sex", "status"])], rules=["age < 100"])
    population = pipeline.fit(survey, seed=1).simulate(out=folder / "p", rows_per_block=400)
    if report:
        source = report_source(survey, population, assess_fit(survey, population))
        add_file(folder / "p", store_report(folder / "p", source))
    (folder / "p" / "report.html").write_text("<p>What the page says.</p>" * 50, encoding="utf-8")
    add_file(folder / "p", folder / "p" / "report.html")
    job = ProtectionSession(PEOPLE, keys=["age", "sex"])
    job.global_recode("age", breaks=[0, 4, 9])
    job.local_suppression(k=2)
    job.undo()  # steps behind the position are stored too
    job.save(folder / "session")
    study(folder)
    draw_setup(PEOPLE, SimpleRandom(9), n_samples=2, seed=1).write(folder / "setup.parquet")


def study(folder: Path) -> str:
    """Run, or read, a study."""
    result = simulate_study(
        PEOPLE, SimpleRandom(9), {"income": _income}, repetitions=6, seed=1, out=folder / "study"
    )
    return result.estimates.to_csv() + result.failures.to_csv()


def _income(survey: Any) -> float:
    return float(survey.frame["income"].mean())


def _persons(folder: Path) -> Any:
    return open_population(folder / "p").frame().to_csv()


def _persons_of_a_run_file(folder: Path) -> Any:
    return pd.concat(ParquetFolder(folder / "p").iter_blocks()).to_csv()


def _verified(folder: Path) -> Any:
    problems = verify(folder / "p")
    if problems:
        raise Damaged("; ".join(problems))
    return "complete and unchanged"


def _session(folder: Path) -> Any:
    job = ProtectionSession.load(folder / "session")
    steps = [(step.verb, step.parameters) for step in job._steps]
    return job.data.to_csv(), repr(job.roles), repr(steps), job._position


def _setup(folder: Path) -> Any:
    setup = read_setup(folder / "setup.parquet")
    rest = (setup.n_samples, setup.n_population, setup.seed, setup.roles, setup.strata_names)
    return setup.samples.to_csv(), rest, setup.replace


def _report(folder: Path) -> Any:
    stored = load_report(folder / "p")
    tables = [(name, table.to_csv()) for name, table in stored.fit.tables.items()]
    return tables, repr(stored.survey), repr(stored.provenance)


FACTS = "facts of the report"
Reader = Callable[[Path], Any]
KINDS: dict[str, tuple[str, str, Reader]] = {  # files, text that comes before, reader
    "part": ("p/**/*.parquet", "", _persons),
    "part, riskeval": ("p/**/*.parquet", "", _persons_of_a_run_file),
    "manifest": ("p/manifest.json", "", lambda folder: read_manifest(folder / "p")),
    "levels": ("p/manifest.json", '"levels"', lambda folder: read_manifest(folder / "p")),
    "types": ("p/manifest.json", '"original"', lambda folder: read_manifest(folder / "p")),
    "rules": ("p/manifest.json", '"rules"', lambda folder: read_manifest(folder / "p")),
    "key": ("p/run.key", '"key"', _verified),
    "record": ("p/records/**/*.json", "", _verified),
    FACTS: (f"p/{FILE}", "", _report),
    "page": ("p/report.html", "", _verified),
    "session": ("session/session.json", "", _session),
    "original of a session": ("session/original.parquet", "", _session),
    "study": ("study/study.json", "", study),
    "part of a study": ("study/*.parquet", "", study),
    "set-up of samples": ("setup.parquet", "", _setup),
}
NEAR = 60
"""Bytes behind a text within which a bit is flipped."""


def flip(kind: str, folder: Path, rng: np.random.Generator, wholes: dict[str, Any]) -> str:
    """Flip one bit and read: "noticed", "nothing changed", "silent" or "foreign"."""
    pattern, before, read = KINDS[kind]
    if kind not in wholes:
        wholes[kind] = read(folder)
    files = sorted(folder.glob(pattern))
    file = files[int(rng.integers(len(files)))]
    data = file.read_bytes()
    first, last = 0, len(data)
    if before:
        places = [at for at in range(len(data)) if data.startswith(before.encode(), at)]
        first = places[int(rng.integers(len(places)))] + len(before)
        last = min(first + NEAR, len(data))
    bit = int(rng.integers(8 * first, 8 * last))
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    present = set(folder.rglob("*"))
    file.write_bytes(bytes(changed))
    try:
        return "nothing changed" if read(folder) == wholes[kind] else "silent"
    except MicrodataError:
        return "noticed"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        print(f"{kind}: bit {bit} of {file.name}: {type(error).__name__}: {error}", file=sys.stderr)
        return "foreign"
    finally:
        file.write_bytes(data)
        for new in set(folder.rglob("*")) - present:
            new.unlink()


def flips(folder: Path, number: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> Counter:
    """Flip bits of each kind in turn; return how often each kind ended how."""
    make(folder, report=FACTS in kinds)
    rng, wholes = np.random.default_rng(seed), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Counter(
            (kinds[k % len(kinds)], flip(kinds[k % len(kinds)], folder, rng, wholes))
            for k in range(number)
        )


def main() -> None:
    """Flip bits and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        counts = flips(Path(folder), wanted.number, wanted.seed)
    ends = ("noticed", "nothing changed", "silent", "foreign")
    print("| stored | " + " | ".join(ends) + " |\n|---|" + "---|" * len(ends))
    for kind in KINDS:
        print(f"| {kind} | " + " | ".join(str(counts[kind, end]) for end in ends) + " |")
    bad = sum(n for (_, end), n in counts.items() if end in ("silent", "foreign"))
    seconds = time.process_time() - start
    print(
        f"{wanted.number:,} flips, seed {wanted.seed}, {seconds:.0f} processor seconds: {bad} bad"
    )


if __name__ == "__main__":
    main()
