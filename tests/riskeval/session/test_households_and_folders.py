"""Sessions on household files, and folders that somebody tampered with or that a crash left."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, protect, recover
from riskeval.session.verbs import SessionVerbs
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.formats.lock import only_writer
from synthpop.microdata.messages.errors import InputError, OutputError


def people(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    size = rng.integers(1, 5, n)
    home = np.repeat(np.arange(n), size)
    wages = rng.lognormal(8, 0.5, len(home)).round(2)
    rent = rng.lognormal(6, 0.5, len(home)).round(2)
    region = rng.choice([*"abcd"], n, p=[0.5, 0.3, 0.15, 0.05])[home]
    return pd.DataFrame(
        {
            "home": home,
            "region": region,
            "size": size[home],
            "age": rng.choice(["child", "adult", "old"], len(home)),
            "status": rng.choice([*"xyz"], len(home), p=[0.8, 0.15, 0.05]),
            "house": rng.lognormal(10, 0.4, n)[home].round(),
            "wages": wages,
            "rent": rent,
            "income": wages + rent,
            "w": pd.Series(region).map({"a": 10.0, "b": 11.0, "c": 12.0, "d": 13.0}),
        }
    )


def session(**more) -> ProtectionSession:
    roles = {
        "keys": ["region", "size", "age", "status"], "numeric": ["house", "wages", "rent"],
        "weights": "w", "household": "home", "pram": ["region"],
        "components": {"income": ["wages", "rent"]}, "household_variables": ["region", "house"],
    }  # fmt: skip
    return ProtectionSession(people(), **{**roles, **more})


def test_roles_of_a_household_reach_every_verb():
    job = session()
    job.local_suppression(k=3)
    step = job.steps[0].parameters
    assert (step["household"], step["weights"]) == ("home", "w")
    assert step["household_variables"] == ["region"]
    attack = recover(job.data, household="home", weights="w", original=people(), keys=step["keys"])
    assert attack.below == (0, 0)
    table = job.risk().table["current"]
    assert table["below_3"] == table["below_3_after_recovery"] == 0
    for verb, options in (
        ("add_noise", {"seed": 1}),
        ("microaggregate", {"k": 3, "seed": 1}),
        ("rank_swap", {"seed": 1}),
        ("shuffle", {"formula": "house + wages ~ rent", "seed": 1}),
        ("mv_top_code", {"alpha": 0.2, "covariance": "classical"}),
    ):
        job.apply(verb, **options)
        assert job.steps[-1].parameters["household_variables"] == ["house"]
        after = job.data
        assert after.groupby("home")["house"].nunique().max() == 1
        np.testing.assert_allclose(after["income"], after["wages"] + after["rent"])
        job.undo()
    job.top_bottom_code("wages", upper=3000)
    np.testing.assert_allclose(job.data["income"], job.data["wages"] + job.data["rent"])
    job.undo()
    job.pram(seed=2, matrix={"type": "invariant", "alpha": 1.0})
    assert job.data.groupby("home")["region"].nunique().max() <= 1
    job.weights(strata=["region"])
    assert job.data["w"].nunique() == 1


def test_the_session_counts_what_a_suppression_without_households_gives_away():
    job = session()
    job.local_suppression(
        k=3, household=None, household_variables=[], weights=None, components=None
    )
    table = job.risk().table["current"]
    assert table["below_3"] == 0 < table["below_3_after_recovery"]
    assert "once missing values that follow from the file are filled in" in job.risk().summary()


def test_faulty_household_roles_are_named():
    with pytest.raises(InputError, match=r"differs within a household in .* \(home"):
        session(household_variables=["age"])
    with pytest.raises(InputError, match="household is missing"):
        ProtectionSession(people().assign(home=np.nan), keys=["age"], household="home")
    with pytest.raises(InputError, match="is not given"):
        session(household=None)
    with pytest.raises(InputError, match="is not a key"):
        session(household_keys=["wages"])


def test_every_verb_is_written_out_and_nothing_else():
    assert set(protect.VERBS) == set(vars(SessionVerbs)) & set(protect.VERBS)


def test_a_verb_that_is_none() -> None:
    with pytest.raises(AttributeError):
        session().locl_suppression(k=3)


def test_a_parameter_name_of_a_tampered_file_never_becomes_code(tmp_path):
    job = session()
    job.local_suppression(k=2)
    folder = job.save(tmp_path / "job")
    record = without_hash(json.loads((folder / "session.json").read_text()))
    code = "k=3)\n__import__('os').system('true')\n#"
    record["steps"].append(
        {"verb": "mondrian", "parameters": {"type": "mapping", "items": [[code, 1]]}}
    )
    (folder / "session.json").write_text(json.dumps(with_hash(record)))
    with pytest.raises(InputError, match="is not allowed"):
        ProtectionSession.load(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"position": 7},
        {"position": "1"},
        {"position": True},
        {"roles": {"keys": 3}},
        {"roles": {"keys": ["region"], "colour": ["red"]}},
        {"roles": {"keys": ["region"], "weights": ["w"]}},
        {"roles": {"keys": ["region"], "linked": [1]}},
        {"roles": 5},
        {"steps": [{"verb": "pram"}]},
        {"steps": [{"verb": "mondrian", "parameters": {"type": "mapping", "items": []}}]},
        {"steps": {"a": 1}},
        {"steps": [{"verb": "pram", "parameters": {"type": "colour"}}]},
        {"original": None},
    ],
)
def test_whatever_is_changed_in_a_saved_session_is_an_input_error(tmp_path, change):
    job = session()
    job.mondrian(k=3)
    folder = job.save(tmp_path / "job")
    record = without_hash(json.loads((folder / "session.json").read_text()))
    (folder / "session.json").write_text(json.dumps(with_hash({**record, **change})))
    with pytest.raises(InputError):
        ProtectionSession.load(folder)


def test_a_folder_survives_what_a_crash_left_and_follows_no_links(tmp_path):
    job = session()
    folder = job.save(tmp_path / "job")
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (folder / ".original.parquet-77-0123456789abcdef.tmp").write_text("half")
    job.mondrian(k=3)
    assert job.save(folder) == folder
    assert ProtectionSession.load(folder).data.equals(job.data)
    (folder / "session.json").unlink()
    (folder / "session.json").symlink_to(victim)
    job.save(folder)
    assert victim.read_text() == "mine"


def test_copies_that_a_killed_save_left_go_at_the_next_save_or_load(tmp_path):
    job = session()
    folder = job.save(tmp_path / "job")
    left = [folder / f".{name}-77-0123456789abcdef.tmp" for name in sorted(os.listdir(folder))]
    foreign = folder / ".notes.txt-77-0123456789abcdef.tmp"
    for action in (lambda: job.save(folder), lambda: ProtectionSession.load(folder)):
        for path in left:
            path.write_bytes((folder / "original.parquet").read_bytes())
        action()
        assert sorted(os.listdir(folder)) == ["original.parquet", "session.json"]
    left[0].write_text("half")
    with only_writer(folder):  # somebody saves: that file may be his
        ProtectionSession.load(folder)
        assert left[0].exists()
        with pytest.raises(OutputError, match="another process is writing here"):
            job.save(folder)
    foreign.write_text("mine")
    ProtectionSession.load(folder)
    assert foreign.read_text() == "mine"
    assert not left[0].exists()


@pytest.mark.slow  # a second process; tests/test_crash.py has every state in this one
def test_a_save_that_was_killed_leaves_nothing_behind_the_next_one(tmp_path):
    folder = session().save(tmp_path / "job")
    code = (
        "import os, sys\n"
        "from riskeval.session.session import ProtectionSession\n"
        "job = ProtectionSession.load(sys.argv[1])\n"
        "os.fsync = lambda file: os.kill(os.getpid(), 9)\n"
        "job.save(sys.argv[1])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, folder], check=False)
    assert ended.returncode == -9
    assert any(name.endswith(".tmp") for name in os.listdir(folder))
    session().save(folder)
    assert sorted(os.listdir(folder)) == ["original.parquet", "session.json"]


def test_only_the_user_reads_the_original(tmp_path):
    folder = session().save(tmp_path / "job")
    for name in ("session.json", "original.parquet"):
        assert stat.S_IMODE(os.stat(folder / name).st_mode) == 0o600


def test_columns_that_parquet_cannot_hold_are_an_output_error(tmp_path):
    data = people().assign(band=pd.cut(people()["wages"], 3))
    with pytest.raises(OutputError, match="cannot be written to Parquet"):
        ProtectionSession(data, keys=["region"]).save(tmp_path / "job")


def test_what_is_read_back_of_recoded_keys_counts_as_right() -> None:
    """Sizes of 8 and 9 were coded as 6: who counts the rows and says 6 is right."""
    size = np.array([8, 9, *[2] * 60])
    home = np.repeat(np.arange(62), size)
    people = pd.DataFrame({"hid": home, "hsize": size[home], "age": np.arange(len(home)) % 8})
    session = ProtectionSession(people, keys=["hsize", "age"], household="hid")
    session.top_bottom_code("hsize", upper=6, replacement=6)
    coded = session.data
    session.local_suppression(k=3, household=None, importance={"age": 1, "hsize": 2})
    assert session.data["hsize"].isna().sum() == 14
    attack = recover(session.data, household="hid", original=coded, keys=["hsize", "age"])
    risk = session.risk()
    assert attack.below == (0, 14)
    assert risk.table.loc["below_3_after_recovery", "current"] == 14
    assert risk.measurements["current"]["below_3_after_recovery"].applies
