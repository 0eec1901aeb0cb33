"""Every block that `synthpop init` proposes as a comment runs, on files of each format."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synthpop.cli
from synthpop import open_population, write_table
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary
from tests import console
from tests.small import small_frame

FORMATS = (".csv", ".sav", ".dta", ".xlsx", ".parquet")
PROPOSED = re.compile(r"^# (?=\[|[a-z_]+ = )", re.MULTILINE)
QUICK = ((".csv", True),)
CASES = [
    pytest.param(suffix, holes, marks=() if (suffix, holes) in QUICK else pytest.mark.slow)
    for suffix in FORMATS
    for holes in (False, True)
]
BLOCKS = {"calibrate", "risk", "report"}


def survey(holes: bool) -> pd.DataFrame:
    """Return a survey of two regions; with empty cells, and a code for refused amounts."""
    frame = small_frame(150).rename(columns={"hid": "household", "w": "weight"})
    rng = np.random.default_rng(1)
    amount = rng.lognormal(7, 0.6, len(frame)).round()
    frame = frame[["household", "weight", "region", "age", "sex"]].assign(
        work=np.where(frame["age"] < 16, "child", rng.choice(["yes", "no"], len(frame))),
        tenure=rng.choice(["owner", "tenant"], len(frame)),
        income=np.where(frame["age"] < 16, 0, amount),
    )
    if holes:
        frame["income"] = frame["income"].mask(rng.random(len(frame)) < 0.1, -9)
        frame["income"] = frame["income"].mask(rng.random(len(frame)) < 0.1)
        frame["work"] = frame["work"].mask(rng.random(len(frame)) < 0.1)
    refused = Variable("income", missing=((-9, "refused"),), kind="integer") if holes else None
    return with_dictionary(frame, Dictionary([refused] if refused else []))


def switched_on(text: str) -> str:
    """Return a run file with all proposals in force, but for roles that nobody has."""
    lines = [
        line for line in text.splitlines() if not re.match(r'# (?!title)\w+ = .*"\.\.\."', line)
    ]
    text = PROPOSED.sub("", "\n".join(lines))
    return text.replace("scale = 1.0 ", "scale = 0.1 ")


@pytest.mark.parametrize(("suffix", "holes"), CASES)
def test_all_proposals_run(suffix: str, holes: bool, tmp_path: Path) -> None:
    frame = survey(holes)
    write_table(frame, tmp_path / f"s{suffix}")
    done = console.call(synthpop.cli.main, "init", f"s{suffix}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file = tmp_path / "s.toml"
    file.write_text(switched_on(file.read_text(encoding="utf-8")), encoding="utf-8")
    plan = tomllib.loads(file.read_text(encoding="utf-8"))
    assert set(plan) >= BLOCKS
    margin = [name for name in ("region", "sex") if name in file.read_text(encoding="utf-8")]
    totals = frame.groupby(margin)["weight"].sum().rename("total").reset_index()
    totals.to_csv(tmp_path / "totals.csv", index=False)
    done = console.call(synthpop.cli.main, "run", "s.toml", "--out", "people", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    people = open_population(tmp_path / "people").frame()
    assert {"region", "age", "sex", "work", "tenure", "income"} <= set(people)
    assert (tmp_path / "people" / "report.html").exists()
