"""Random inputs of documented types: only our own errors come out, whatever the input."""

from pathlib import Path

import pytest

from tests.fuzz import __main__ as supervisor
from tests.fuzz.inputs import Maker
from tests.fuzz.run import try_input
from tests.fuzz.targets import LEFT_OUT, targets

pytestmark = pytest.mark.usefixtures("few_trees")

QUICK = 400
PARTS = 4
SLOW = 100_000


@pytest.mark.parametrize("part", range(PARTS))
def test_some_fixed_inputs_give_results_or_our_errors(part: int) -> None:
    names = list(targets())
    findings = [
        try_input(names[index % len(names)], 1, index // len(names))
        for index in range(part, QUICK, PARTS)
    ]
    assert [str(one) for one in findings if one] == []


REPAIRED = [  # (target, seed, number) of inputs that once ended in something else
    ("synthpop.indicators.equivalised_income", 7, 11),
    ("synthpop.indicators.gini", 7, 53),
    ("synthpop.heaping.correct_heaps", 7, 0),
    ("synthpop.heaping.correct_heaps", 7, 18),
    ("synthpop.sampling.horvitz_thompson", 7, 14),
    ("synthpop.sampling.horvitz_thompson", 7, 69),
    ("riskeval.membership", 7, 32),
    ("riskeval.interval_disclosure", 7, 33),
    ("riskeval.protect.weights", 7, 5),
    ("synthpop.breaks", 8, 19),
    ("riskeval.protect.pram", 8, 11),
    ("riskeval.distance_screen", 8, 22),
    ("synthpop.sampling.joint_probabilities_of", 8, 38),
    ("synthpop.weighted.correlation", 8, 68),
    ("session", 8, 72),
    ("synthpop.indicators.quantile_interval", 9, 5),
    ("riskeval.copied_values", 9, 71),
    ("file: run file", 9, 1),
    ("synthpop.weighted.variance", 9, 2),
    ("synthpop.sampling.draw_sample", 9, 3),
    ("riskeval.suda", 9, 86),
    ("riskeval.rapid", 9, 87),
    ("riskeval.membership", 9, 134),
    ("riskeval.assess_synthetic", 9, 137),
    ("synthpop.sampling.simulate_study", 102, 2),
    ("riskeval.classification_risk", 103, 10),
    ("riskeval.protect.local_recoding", 9, 79),
    ("session", 9, 98),
    ("session", 206, 21),
    ("synthpop.weighted.distribution", 212, 5),
    ("synthpop.indicators.pareto_tail", 212, 20),
    ("riskeval.utility.interval_overlap", 208, 20),
    ("riskeval.alpha_k_anonymity", 202, 27),
    ("synthpop.indicators.quantile_interval", 203, 26),
    ("riskeval.protect.household_file", 204, 25),
    ("session", 103, 11),
    ("riskeval.assess_synthetic", 203, 19),
    ("riskeval.compare", 208, 1),
    ("riskeval.protect.local_suppression", 301, 115),
    ("riskeval.compare", 301, 249),
    ("riskeval.compare", 301, 475),
    ("file: parquet", 301, 376),
    ("synthpop.indicators.design_variance", 301, 442),
    ("riskeval.protect.weights", 401, 380),
    ("synthpop.indicators.pareto_tail", 401, 482),
    ("recipe", 501, 188),
    ("riskeval.protect.shuffle", 501, 113),
    ("riskeval.recover", 501, 351),
    ("session", 501, 627),
    ("synthpop.profile_survey, hostile", 4, 14),
    ("riskeval.compare, hostile", 601, 181),
    ("synthpop.sampling.draw_unequal, hostile", 1, 15),
    ("synthpop.sampling.joint_probabilities, hostile", 1, 15),
    ("synthpop.indicators.quantile_interval, hostile", 1, 16),
    ("riskeval.utility.interval_overlap, hostile", 1, 22),
    ("riskeval.compare, hostile", 1, 32),
    ("riskeval.like, hostile", 1, 33),
    ("synthpop.indicators.quintile_share_ratio, hostile", 1, 49),
    ("synthpop.indicators.equivalised_size, hostile", 1, 54),
    ("synthpop.profile_survey, hostile", 1, 58),
    ("synthpop.like, hostile", 1, 77),
    ("synthpop.indicators.at_risk_of_poverty_threshold, hostile", 1, 78),
    ("synthpop.assess_fit, hostile", 1, 98),
]


@pytest.mark.parametrize(("target", "seed", "number"), REPAIRED)
def test_inputs_that_were_repaired(target: str, seed: int, number: int) -> None:
    assert try_input(target, seed, number) is None


@pytest.mark.slow
@pytest.mark.parametrize(("half", "number"), [("usual", SLOW), ("hostile", SLOW // 5)])
def test_a_hundred_thousand_give_results_or_our_errors(half: str, number: int) -> None:
    names = supervisor.HALVES[half]()
    findings = supervisor.supervised(names, ["--half", half], 1, number, 0.0)
    assert supervisor.summary(findings) == ""


def test_one_seed_target_and_number_give_one_input() -> None:
    first, again, other = (Maker(1, 2, n).frame() for n in (3, 3, 4))
    assert first.equals(again)
    assert not first.equals(other)


def test_every_public_function_is_a_target_or_excused() -> None:
    assert {"riskeval.assess", "riskeval.protect.pram", "synthpop.indicators.gini"} <= set(
        targets()
    )
    assert len(targets()) >= 250
    assert {"synthpop.indicators.bootstrap, hostile", "file: sav, hostile"} <= set(targets())
    assert all(reason for reason in LEFT_OUT.values())


def test_a_foreign_exception_a_warning_and_an_empty_error_are_findings(monkeypatch) -> None:
    import warnings

    from synthpop.microdata.messages.errors import InputError
    from tests.fuzz import run

    def foreign(make: Maker, folder: Path) -> None:
        raise KeyError("x")

    def warns(make: Maker, folder: Path) -> None:
        warnings.warn("of a library", RuntimeWarning, stacklevel=1)

    def empty(make: Maker, folder: Path) -> None:
        raise InputError("nothing", [])

    monkeypatch.setattr(run, "targets", lambda: {"a": foreign, "b": warns, "c": empty})
    assert [name for name in "abc" if try_input(name, 1, 0) is None] == []


def test_an_input_that_hangs_is_ended_and_named(monkeypatch, tmp_path) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        "import sys, json\n"
        "start = int(sys.argv[-2])\n"
        "if start == 0:\n"
        "    print(json.dumps({'next': 1}), flush=True)\n"
        "    while True: pass\n"
        "for i in range(start, int(sys.argv[-1])):\n"
        "    print(json.dumps({'next': i + 1}), flush=True)\n"
    )
    import subprocess
    import sys

    popen = subprocess.Popen
    monkeypatch.setattr(
        supervisor.subprocess,
        "Popen",
        lambda command, **more: popen([sys.executable, str(script), *command[-2:]], **more),
    )
    findings = supervisor.supervised(["a"], ["--target", "a"], 1, 4, 0.0, patience=1.0)
    assert [(one.number, one.what) for one in findings] == [(1, "hangs for 1 s")]
