"""Judging a population in a folder: block by block, or by the columns that are needed alone."""

from __future__ import annotations

import contextlib
import shutil
import threading

import pandas as pd
import pytest

import riskeval
from riskeval.attacks.entry import GroupedFile
from riskeval.runfiles.attack_files import ParquetFolder
from synthpop import Population, assess_fit, check_rules, open_population
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.runs import chunks
from synthpop.microdata.runs.chunks import open_chunks
from synthpop.report.write import write_report
from synthpop.sampling import Cluster, SimpleRandom, draw_setup, simulate_study, study_samples
from synthpop.sampling.draw import draw_sample
from synthpop.sampling.source import PopulationSource
from tests.small import small_pipeline, small_survey

pytestmark = pytest.mark.usefixtures("few_trees", "one_key")

KEYS = ["age", "sex"]
BLOCKWISE = {
    "assess_fit": lambda survey, people: assess_fit(survey, people),
    "check_rules": lambda survey, people: check_rules(people),
    "scenarios": lambda survey, people: riskeval.intruder_scenarios(
        survey.frame, people, KEYS, "income"
    ),
    "disco": lambda survey, people: riskeval.disco(survey.frame, people, KEYS, "status", seed=1),
    "tcap": lambda survey, people: riskeval.tcap(survey.frame, people, KEYS, "status", seed=1),
    "replicated_uniques": lambda survey, people: riskeval.replicated_uniques(
        survey.frame, people, KEYS, seed=1
    ),
    "copied_values": lambda survey, people: riskeval.copied_values(
        survey.frame, people, ["income", "wage"]
    ),
}
BY_COLUMN = {
    "k_anonymity": lambda people: riskeval.k_anonymity(people, KEYS),
    "frequency_counts": lambda people: riskeval.frequency_counts(people, KEYS),
    "suda": lambda people: riskeval.suda(people, KEYS),
    "l_diversity": lambda people: riskeval.l_diversity(people, KEYS, "status"),
    "t_closeness": lambda people: riskeval.t_closeness(people, KEYS, "status"),
    "risky_cells": lambda people: riskeval.risky_cells(people, KEYS),
    "attacker_risk": lambda people: riskeval.attacker_risk(people, KEYS),
    "population_uniqueness": lambda people: riskeval.population_uniqueness(
        people, KEYS, population_size=10_000
    ),
    "draw_sample": lambda people: draw_sample(people, Cluster("hid", SimpleRandom(20)), seed=1),
}


@pytest.fixture(scope="module")
def survey():
    return small_survey(60)


@pytest.fixture(scope="module")
def people(survey, tmp_path_factory):
    folder = tmp_path_factory.mktemp("people") / "p"
    fitted = small_pipeline().fit(survey, seed=1)
    fitted.simulate(out=folder, rows_per_block=300)
    return open_population(folder, workers=3)


@pytest.fixture(scope="module")
def in_memory(survey):
    return small_pipeline().fit(survey, seed=1).simulate(rows_per_block=300)


@pytest.mark.slow  # worker processes are slow to start
def test_processes_give_the_same_numbers(people, monkeypatch) -> None:
    monkeypatch.setattr(chunks, "PORTION_ROWS", 500)
    processes = open_population(people.path, workers="processes:2")
    rules = ["age < 50", "at most one retired"]
    assert check_rules(processes, rules).broken == check_rules(people, rules).broken


def test_portions_and_blocks_are_given_to_the_workers(survey, people, monkeypatch) -> None:
    threads = set()
    read = Population.read_block

    def noted(self, number, columns=None):
        threads.add(threading.current_thread().name)
        return read(self, number, columns)

    monkeypatch.setattr(Population, "read_block", noted)
    monkeypatch.setattr(chunks, "PORTION_ROWS", 500)
    for name in ("check_rules", "scenarios", "disco", "copied_values"):
        measure = BLOCKWISE[name]
        threads.clear()
        measure(survey, people)
        assert any(thread.startswith("synthpop") for thread in threads), name
    with pytest.raises(InputError, match="'two' is not understood"):
        open_population(people.path, workers="two")


def refuse(self, columns=None) -> None:
    raise AssertionError("the whole population was read")


@pytest.mark.parametrize("name", BLOCKWISE)
def test_block_by_block(name, survey, people, in_memory, monkeypatch) -> None:
    assert len(people.manifest.blocks) > 3
    monkeypatch.setattr(chunks, "PORTION_ROWS", 500)
    whole = BLOCKWISE[name](survey, in_memory)
    monkeypatch.setattr(Population, "frame", refuse)
    blockwise = BLOCKWISE[name](survey, people)
    assert blockwise.to_frame().equals(whole.to_frame())


@pytest.mark.parametrize("name", BY_COLUMN)
def test_by_column(name, people, monkeypatch) -> None:
    whole, read, frame = BY_COLUMN[name](people.frame()), [], Population.frame

    def some(self, columns=None):
        assert columns is not None
        read.extend(columns)
        return frame(self, columns)

    monkeypatch.setattr(Population, "frame", some)
    result = BY_COLUMN[name](people)
    if name == "draw_sample":
        assert result.frame.reset_index(drop=True).equals(whole.frame.reset_index(drop=True))
    else:
        assert result.summary() == whole.summary()
    assert 0 < len(set(read)) <= 3


def mean_age(survey) -> float:
    return float((survey.weights * survey.frame["age"]).sum() / survey.weights.sum())


def women(survey) -> dict[str, float]:
    return survey.frame["sex"].value_counts(normalize=True).to_dict()


@pytest.mark.parametrize("rows", [1, 500, 1_000_000])  # drawn rows that are in memory together
def test_a_study_reads_the_drawn_rows(rows, people, in_memory, monkeypatch, tmp_path) -> None:
    call = {
        "estimators": [mean_age, women], "repetitions": 12, "seed": 1, "columns": ["hid", *KEYS],
        "design": Cluster("hid", SimpleRandom(20)), "truth": {"mean_age": 40.0},
    }  # fmt: skip
    whole = simulate_study(in_memory, **call)
    sizes, take, frame = [], PopulationSource.take, Population.frame
    monkeypatch.setattr(study_samples, "ROWS", rows)

    def counted(self, rows):
        sizes.append(len(rows))
        return take(self, rows)

    def of_the_design(self, columns=None):
        assert columns == ["hid"]
        return frame(self, columns)

    monkeypatch.setattr(PopulationSource, "take", counted)
    monkeypatch.setattr(Population, "frame", of_the_design)
    study = simulate_study(people, **call, workers=2, out=tmp_path / "study")
    assert study.estimates.equals(whole.estimates)
    assert len(sizes) == {1: 12, 500: 2, 1_000_000: 1}[rows]
    assert max(sizes) < 0.9 * len(people)
    monkeypatch.setattr(PopulationSource, "take", refuse)
    again = simulate_study(people, **call, out=tmp_path / "study")
    assert again.estimates.equals(whole.estimates)


def test_a_study_of_stored_samples_on_disk(people, in_memory) -> None:
    samples = draw_setup(people, SimpleRandom(20), n_samples=3, seed=1)
    call = {"repetitions": 3, "seed": 1, "columns": KEYS}
    names = [lambda survey: len(survey.frame.columns), mean_age]
    study, whole = (simulate_study(one, samples, names, **call) for one in (people, in_memory))
    assert study.estimates.equals(whole.estimates)
    assert study.truth.equals(whole.truth)
    assert study.estimates["estimate"].iloc[0] == len(KEYS) + 2  # with weight and probability


def test_compare_reads_the_columns_of_its_roles(survey, people, in_memory, monkeypatch) -> None:
    def compared(release):
        return riskeval.compare(
            survey, {"a": release}, keys=KEYS, numeric=["income"], seed=1,
            sample_sizes={"model": "nearest"},
        )  # fmt: skip

    read, frame = [], Population.frame
    whole = compared(in_memory.frame())
    monkeypatch.setattr(
        Population, "frame", lambda p, names: (read.extend(names), frame(p, names))[1]
    )
    assert compared(people).table.equals(whole.table)
    assert set(read) == {"age", "sex", "income", "hid"}


def test_a_folder_named_in_a_run_file_is_read_by_columns_and_never_as_other_data(
    people, tmp_path
) -> None:
    shutil.copytree(people.path, tmp_path / "p")
    folder = ParquetFolder(tmp_path / "p")
    assert folder.columns == people.columns
    whole = pd.concat(open_chunks(folder, columns=KEYS))
    assert list(whole.columns) == KEYS
    assert len(whole) == len(people)
    grouped = GroupedFile(folder, lambda frame: frame.assign(age="1"))
    assert {tuple(frame) for frame in open_chunks(grouped, columns=["age"])} == {("age",)}
    part = sorted((tmp_path / "p").rglob("*.parquet"))[1]
    content, silent = part.read_bytes(), 0
    for bit in range(0, 8 * len(content), 8 * len(content) // 60):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        part.write_bytes(damaged)
        with contextlib.suppress(InputError):
            pd.concat(ParquetFolder(tmp_path / "p").iter_blocks(KEYS))
            silent += 1
    assert silent == 0
    part.write_bytes(content)
    (tmp_path / "p" / "manifest.json").write_text("half")
    with pytest.raises(InputError, match="not a manifest of a population"):
        next(ParquetFolder(tmp_path / "p").iter_blocks())


def test_the_page(survey, people, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(Population, "frame", refuse)
    assert write_report(tmp_path / "page.html", survey, people).exists()


def test_a_column_twice_is_read_once(people) -> None:
    assert list(people.frame(["age", "age"]).columns) == ["age"]
