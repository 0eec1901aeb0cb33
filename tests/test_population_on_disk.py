"""Judging a population in a folder: block by block, or by the columns that are needed alone."""

from __future__ import annotations

import pytest

import riskeval
from synthpop import Population, assess_fit, check_rules, open_population
from synthpop.report.write import write_report
from synthpop.sampling import Cluster, SimpleRandom
from synthpop.sampling.draw import draw_sample
from tests.small import small_pipeline, small_survey

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
    return open_population(folder)


@pytest.fixture(scope="module")
def in_memory(survey):
    return small_pipeline().fit(survey, seed=1).simulate(rows_per_block=300)


def refuse(self, columns=None) -> None:
    raise AssertionError("the whole population was read")


@pytest.mark.parametrize("name", BLOCKWISE)
def test_block_by_block(name, survey, people, in_memory, monkeypatch) -> None:
    assert len(people.manifest.blocks) > 3
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


def test_the_page(survey, people, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(Population, "frame", refuse)
    assert write_report(tmp_path / "page.html", survey, people).exists()


def test_a_column_twice_is_read_once(people) -> None:
    assert list(people.frame(["age", "age"]).columns) == ["age"]
