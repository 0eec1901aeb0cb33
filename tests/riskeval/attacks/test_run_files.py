"""Run files of the attacks, and the commands `riskeval judge` and `riskeval intruders`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import load_intruders_plan, load_judge_plan
from riskeval.attacks.assess_synthetic import assess_synthetic
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.scenario import Scenario
from riskeval.cli import main
from riskeval.runfiles import attack_files, judge
from synthpop.microdata.messages.errors import InputError, RunFileError
from synthpop.microdata.runs.engines import map_blocks
from tests import console

call = partial(console.call, main)
JUDGE = """
seed = 3
attacks = ["replicated_uniques", "disco", "distance_screen"]
n_groups = 5

[data]
file = "survey.csv"

[synthetic]
file = "synthetic.csv"
replicates = ["more.csv"]

[holdout]
file = "others.csv"

[intruder]
keys = ["age", "sex"]
targets = ["status", "income"]
"""
INTRUDERS = """
seed = 3
out = "table.csv"

[data]
file = "survey.csv"

[population]
file = "population"

[intruder]
keys = ["age", "sex"]
targets = ["income"]
accuracy = [0.1]
key_errors = {age = 0.1}

[options]
scenarios = [2, 4, 5]
weights = "w"
"""


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "status": rng.choice(["works", "studies"], n),
            "income": rng.lognormal(7, 1, n).round(2),
            "w": 10.0,
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate(("survey", "synthetic", "more", "others"), 1):
        people(120, number).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "population" / "a").mkdir(parents=True)
    for part, name in enumerate(("a/part-0.parquet", "part-1.parquet")):
        people(300, 10 + part).to_parquet(tmp_path / "population" / name)
    (tmp_path / "judge.toml").write_text(JUDGE)
    (tmp_path / "intruders.toml").write_text(INTRUDERS)
    return tmp_path


class TestJudge:
    def test_the_plan_is_the_call(self, folder: Path) -> None:
        plan = load_judge_plan(folder / "judge.toml")
        risk = plan.run()
        intruder = Scenario(["age", "sex"], ["status", "income"], who="everyone")
        direct = assess_synthetic(
            people(120, 1), people(120, 2), intruder, holdout=people(120, 4), n_groups=5, seed=3,
            replicates=[people(120, 3)],
            attacks=["replicated_uniques", "disco", "distance_screen"],
        )  # fmt: skip
        pd.testing.assert_frame_equal(risk.table, direct.table)
        assert [path.name for path in plan.sources()] == [
            "survey.csv", "synthetic.csv", "more.csv", "others.csv",
        ]  # fmt: skip
        assert plan.run(seed=4).seed == 4

    def test_command(self, folder: Path) -> None:
        run = call("judge", str(folder / "judge.toml"), "--seed", "5", cwd=folder)
        assert run.returncode == 0, run.stderr
        assert "of the synthetic records are as near to an original one" in run.stdout
        assert "Seed 5 repeats it" in run.stdout
        assert "Attacks on a synthetic file" in (folder / "judge.html").read_text(encoding="utf-8")
        table = pd.read_csv(folder / "judge.csv")
        assert set(table["attack"]) == {"replicated_uniques", "disco", "distance_screen"}
        with (folder / "judge.toml").open("a", encoding="utf-8") as file:
            file.write(
                '\n[report]\ntitle = "Foreign data"\nfile = "page.html"\naudience = "external"\n'
            )
        (folder / "judge.csv").unlink()
        run = call("judge", str(folder / "judge.toml"), cwd=folder)
        assert run.returncode == 0, run.stderr
        page = (folder / "page.html").read_text(encoding="utf-8")
        assert "<h1>Foreign data</h1>" in page
        assert "for external readers" in page
        assert not (folder / "judge.csv").exists()
        kept = call(
            "judge", str(folder / "judge.toml"), "--out", str(folder / "survey.csv"), cwd=folder
        )
        assert kept.returncode == 1
        assert "which would be lost" in kept.stderr

    def test_the_workers_of_the_command_read_a_folder(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = folder / "judge.toml"
        text = file.read_text().replace("synthetic.csv", "population")
        file.write_text(text.replace(', "distance_screen"', ""))
        readers, attackers = [], []

        def read(function, plans, workers, **options):
            readers.append(workers)
            return map_blocks(function, plans, 1, **options)

        def attack(*arguments, workers, **options):
            attackers.append(workers)
            return assess_synthetic(*arguments, workers=workers, **options)

        monkeypatch.setattr(attack_files, "map_blocks", read)
        monkeypatch.setattr(judge, "assess_synthetic", attack)
        tables = []
        for workers in ("1", "processes:3"):
            run = call("judge", str(file), "--workers", workers, cwd=folder)
            assert run.returncode == 0, run.stderr
            tables.append((folder / "judge.csv").read_bytes())
        assert tables[0] == tables[1]
        assert set(readers) == {1, "processes:3"}
        assert attackers == [1, 3]
        run = call("judge", str(file), "--workers", "many", cwd=folder)
        assert run.returncode != 0
        assert "not understood" in run.stderr

    @pytest.mark.slow
    def test_processes_and_no_cluster(self, folder: Path) -> None:
        file = folder / "judge.toml"
        file.write_text(file.read_text().replace("synthetic.csv", "population"))
        tables = []
        for workers in ("1", "processes:2"):
            run = call("judge", str(file), "--workers", workers, cwd=folder)
            assert run.returncode == 0, run.stderr
            tables.append((folder / "judge.csv").read_bytes())
        assert tables[0] == tables[1]
        run = call("judge", str(file), "--workers", "dask://127.0.0.1:9", cwd=folder)
        assert run.returncode == 1
        assert "127.0.0.1:9" in run.stderr

    def test_every_fault_at_once(self, folder: Path) -> None:
        text = JUDGE.replace("seed = 3", "seed = -1\nout = 3").replace('"disco"', '"discoo"')
        text = text.replace("n_groups = 5", "n_groups = 1").replace("keys", "kees")
        text = text.replace('file = "synthetic.csv"\n', "") + "\n[extra]\n"
        (folder / "bad.toml").write_text(text)
        with pytest.raises(RunFileError) as caught:
            load_judge_plan(folder / "bad.toml")
        message = str(caught.value)
        for part in ("seed", "out", "discoo", "n_groups", "kees", "[synthetic] file", "[extra]"):
            assert part in message
        (folder / "none.toml").write_text('data = {demo = true}\nsynthetic = {file = "s.csv"}')
        with pytest.raises(RunFileError, match=r"\[intruder\]: is missing"):
            load_judge_plan(folder / "none.toml")


class TestIntruders:
    def test_the_plan_is_the_call(self, folder: Path) -> None:
        risk = load_intruders_plan(folder / "intruders.toml").run()
        intruder = Scenario(["age", "sex"], "income", accuracy=0.1, key_errors={"age": 0.1})
        population = [people(300, 10), people(300, 11)]
        direct = intruder_scenarios(
            people(120, 1), population, intruder, scenarios=(2, 4, 5), weights="w", seed=3
        )
        pd.testing.assert_frame_equal(risk.table, direct.table)
        assert risk.n_population == 600

    def test_command(self, folder: Path) -> None:
        run = call("intruders", str(folder / "intruders.toml"), cwd=folder)
        assert run.returncode == 0, run.stderr
        assert "Scenario 4" in run.stdout
        assert pd.read_csv(folder / "table.csv")["scenario"].tolist() == [2, 4, 5]

    def test_faults(self, folder: Path) -> None:
        (folder / "bad.toml").write_text(INTRUDERS.replace('weights = "w"', 'model = "magic"'))
        with pytest.raises(RunFileError, match=r"\[options\] model"):
            load_intruders_plan(folder / "bad.toml")
        (folder / "empty").mkdir()
        (folder / "empty.toml").write_text(INTRUDERS.replace('"population"', '"empty"'))
        with pytest.raises(InputError, match="holds no Parquet file"):
            load_intruders_plan(folder / "empty.toml").run()
