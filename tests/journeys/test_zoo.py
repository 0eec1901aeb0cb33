"""Files that nobody prepared: `init` alone tells the roles, and its file runs to the end."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pandas as pd
import pytest

import riskeval.cli
import synthpop.cli
from tests import console
from tests.reference_data import SHARED

ROLES = {
    # file: household, weight, age, sex; "" where the file has none
    "zoo/acs_pums.parquet": ("SERIALNO", "PWGTP", "AGEP", "SEX"),
    "zoo/nist_national2019.parquet": ("", "PWGTP", "AGEP", "SEX"),
    "zoo/psrc_persons.parquet": ("household_id", "", "age", "sex"),
    "zoo/sandag_persons.parquet": ("household_id", "", "age", "sex"),
    "zoo/enquete.sav": ("NUM_MEN", "POIDS", "AGE", "SEXE"),
    "zoo/erhebung.csv": ("Haushalts-Nr.", "Personengewicht", "Alter (Jahre)", "Geschlecht"),
    "data/eusilcS.parquet": ("db030", "rb050", "age", "rb090"),
    "data/laeken_eusilc.parquet": ("db030", "rb050", "age", "rb090"),
    "data/eusilc13puf.parquet": ("db030", "rb050", "age", "rb090"),
    "data/ghanaS.parquet": ("hhid", "weight", "age", "sex"),
    "data/ses.parquet": ("", "weights", "age", "sex"),
    "data/testdata.parquet": ("ori_hid", "household_weights", "age", "sex"),
    "data/free1.parquet": ("", "WEIGHT", "AGE", "SEX"),
}
QUICK = ("zoo/enquete.sav", "zoo/erhebung.csv", "zoo/sandag_persons.parquet")
ROWS = 6_000
every = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ROLES]
)


@pytest.fixture(name="file")
def _file(name: str, tmp_path: Path) -> Path:
    """Return a small copy as a stranger has it: Parquet as CSV, whole households."""
    source = SHARED / name
    if not source.exists():
        pytest.skip(f"{name} is not beside the repository")
    target = tmp_path / source.name
    if source.suffix != ".parquet":
        target.write_bytes(source.read_bytes())
        return target
    target = target.with_suffix(".csv")
    pd.read_parquet(source).head(ROWS).to_csv(target, index=False)
    return target


def call(main, *arguments: object, folder: Path) -> console.Completed:
    done = console.call(main, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


@every
def test_both_packages_tell_the_roles(name: str, file: Path) -> None:
    household, weight, age, sex = ROLES[name]
    call(synthpop.cli.main, "init", file.name, "--out", "made.toml", folder=file.parent)
    text = (file.parent / "made.toml").read_text()
    plan = tomllib.loads(text)
    roles = plan["survey"]
    assert (roles.get("household", ""), roles.get("weight", "")) == (household, weight)
    structure = next(one for one in plan["stage"] if one["type"] == "structure")
    assert {age, sex} <= set(structure["variables"])
    for column in (
        pd.read_csv(file, nrows=1, encoding="latin-1", sep=None, engine="python")
        if (file.suffix == ".csv")
        else ()
    ):
        assert str(column) in text  # each is simulated, or a line says why not
    call(riskeval.cli.main, "init", file.name, folder=file.parent)
    plan = tomllib.loads((file.parent / f"{file.stem}-assess.toml").read_text())
    assert (plan["assess"].get("household", ""), plan["assess"].get("weights", "")) == (
        household,
        weight,
    )
    assert {age, sex} <= set(plan["assess"]["keys"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ROLES)
def test_what_init_writes_runs(name: str, file: Path) -> None:
    folder = file.parent
    household, _, age, sex = ROLES[name]
    call(synthpop.cli.main, "init", file.name, "--out", "made.toml", folder=folder)
    call(synthpop.cli.main, "run", "made.toml", "--seed", 1, "--out", "people", folder=folder)
    people = synthpop.open_population(folder / "people").frame()
    assert people[[age, sex]].notna().mean().min() > 0.99
    if household:
        assert people.groupby(synthpop.open_population(folder / "people").roles.household).ngroups
    call(riskeval.cli.main, "init", file.name, folder=folder)
    for verb in ("assess", "protect"):
        call(riskeval.cli.main, verb, f"{file.stem}-{verb}.toml", folder=folder)
