"""The public contest of NIST: our file beside a plain CART and independent margins, scored alike.

    python -m benchmarks.nist [--store] [--target FILE] [--control FILE] [NAME=FILE ...]

The target is the excerpt "national2019" of NIST's Collaborative Research Cycle (public domain), by
default beside the repository in ../shared/zoo; where it is absent the job says so and ends. Our
file is made by ``synthpop init --unweighted`` and ``synthpop run`` with nothing edited. Files of
other systems are scored with ``NAME=FILE``. With ``--control``, another year with the same columns,
files are compared with people whom no system has seen. Without it each generator also learns a half
of the target, and the other half are the strangers.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.eusilc import DATA
from benchmarks.k_marginal import (
    LEFT_OUT,
    as_published,
    inconsistent,
    k_marginal,
    k_marginal_of_nist,
    propensity_error,
)
from benchmarks.nist_peers import independent, plain_cart
from benchmarks.results import store_if_asked
from riskeval import disco, replicated_uniques
from synthpop import open_population, read_table

TARGET = DATA.parents[1] / "zoo" / "nist_national2019.parquet"
KEYS = ("PUMA", "AGEP", "SEX", "RAC1P", "MSP", "EDU")
SECRET = "PINCP_DECILE"
OURS, CART, MARGINS = "synthpop, init and run unedited", "plain CART", "independent margins"
SEED = 1


@dataclass(frozen=True, slots=True)
class Made:
    """A file and the processor seconds that it took; NaN for files made elsewhere."""

    frame: pd.DataFrame
    seconds: float


def read(path: Path) -> pd.DataFrame:
    """Return a file with the publisher's texts."""
    return as_published(read_table(path))


def processor_seconds() -> float:
    """Return the processor seconds of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def ours(target: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the file of `init` and `run`, as a stranger types them."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        target.to_csv(folder / "survey.csv", index=False)
        for command in (
            "init survey.csv --unweighted --out survey.toml",
            f"run survey.toml --seed {seed} --out people",
        ):
            arguments = [sys.executable, "-m", "synthpop", *command.split()]
            subprocess.run(arguments, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return open_population(folder / "people").frame()


GENERATORS: dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]] = {
    OURS: ours,
    CART: plain_cart,
    MARGINS: independent,
}


def made(name: str, target: pd.DataFrame) -> Made:
    """Return the file of a generator, with the features of the target that it has."""
    before = processor_seconds()
    frame = GENERATORS[name](target, SEED)
    seconds = processor_seconds() - before
    return Made(as_published(frame[[n for n in target if n in frame]]), seconds)


def returned(people: pd.DataFrame, released: pd.DataFrame) -> tuple[int, int]:
    """Return how many people are unique on all features but weights, and how many come back."""
    names = [n for n in people if (n in released and n not in LEFT_OUT) or n == "INDP"]
    rows, others = (side[names].agg("|".join, axis=1) for side in (people, released))
    unique = rows[~rows.duplicated(keep=False)]
    return len(unique), int(unique.isin(set(others)).sum())


def row(name: str, target: pd.DataFrame, one: Made) -> dict[str, str]:
    """Return the numbers of a file as text."""
    frame = one.frame
    uniques, verbatim = returned(target, frame)
    repeated = replicated_uniques(target, frame, KEYS, seed=SEED, draws=2).rate
    disclosed = disco(target, frame, KEYS, SECRET, seed=SEED, draws=2).rate
    return {
        "file": name,
        "features": f"{frame.shape[1]} of {target.shape[1]}",
        "published score": f"{k_marginal_of_nist(target, frame):.1f}",
        "3-way": f"{k_marginal(target, frame):.1f}",
        "2-way": f"{k_marginal(target, frame, by_area=False):.1f}",
        "pMSE": f"{propensity_error(target, frame):.4f}",
        "inconsistent": f"{inconsistent(frame).sum():,}",
        f"verbatim of {uniques:,}": f"{verbatim:,}",
        "repU": f"{repeated:.1%}",
        "DiSCO": f"{disclosed:.1%}",
        "processor s": "" if np.isnan(one.seconds) else f"{one.seconds:.0f}",
    }


def beyond_members(
    name: str, members: pd.DataFrame, strangers: pd.DataFrame, one: Made
) -> dict[str, str]:
    """Return how a file stands to those whom the generator saw, and to strangers."""
    seen, found = returned(members, one.frame)
    unseen, by_chance = returned(strangers, one.frame)
    ratio = f"{(found / seen) / (by_chance / unseen):.2f}" if by_chance else ""
    return {
        "file": name,
        "3-way, members": f"{k_marginal(members, one.frame):.1f}",
        "3-way, strangers": f"{k_marginal(strangers, one.frame):.1f}",
        "uniques that come back, members": f"{found:,} of {seen:,}",
        "of strangers": f"{by_chance:,} of {unseen:,}",
        "ratio": ratio,
    }


def main() -> None:
    """Print and store one row a file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--target", type=Path, default=TARGET)
    parser.add_argument("--control", type=Path)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if not options.target.exists():
        print(f"skipped: {options.target} is not there; NIST publishes it, see docs")
        return
    target = read(options.target)
    files = {name: made(name, target) for name in GENERATORS}
    for text in options.files:
        name, _, path = text.partition("=")
        frame = read(Path(path))
        files[name] = Made(frame[[n for n in target if n in frame]], np.nan)
    rows = [row(name, target, one) for name, one in files.items()]
    store_if_asked("nist", "files", pd.DataFrame(rows))
    if options.control is not None:
        members, strangers = target, read(options.control)
    else:
        members = target.sample(frac=0.5, random_state=SEED)
        strangers = target.drop(members.index).reset_index(drop=True)
        members = members.reset_index(drop=True)
        files = {name: made(name, members) for name in GENERATORS}
    rows = [beyond_members(name, members, strangers, one) for name, one in files.items()]
    rows.append(beyond_members("the members themselves", members, strangers, Made(members, np.nan)))
    store_if_asked("nist", "strangers", pd.DataFrame(rows))


if __name__ == "__main__":
    main()
