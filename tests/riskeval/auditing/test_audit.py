"""Audits of generators whose leaks are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.audit import honest, leaking, survey_of
from riskeval import Audit, audit, write_audit
from synthpop import Categorical, InputError, Pipeline, Structure
from tests.riskeval.auditing.generators import (
    clean,
    copies_incomes,
    copies_persons,
    survey,
    without_income,
)

N_REFITS = 24
STAGES = {"pl030": ["pl030"], "income": ["income"]}


def rates(result: Audit) -> dict[tuple[str, str], float]:
    """Return what the strongest attack on each group recognises at one false alarm in a hundred."""
    return {
        (one.stage, one.kind): one.strongest.at_one_percent.value
        for one in result.groups
        if one.strongest
    }


@pytest.mark.parametrize("seed", range(3))
def test_what_copies_incomes_is_named_and_nothing_else_of_it(seed: int) -> None:
    result = audit(copies_incomes, survey(seed), stages=STAGES, n_refits=N_REFITS, seed=seed)
    assert "income" in result.leaking
    assert "pl030" not in result.leaking
    assert rates(result)["income", "planted"] > 0.9
    assert result.epsilon > 2


@pytest.mark.parametrize("seed", range(3))
def test_a_clean_generator_is_not_named(seed: int) -> None:
    result = audit(clean, survey(seed), n_refits=N_REFITS, seed=seed)
    assert result.leaking == ()
    assert "None of them" in result.summary()
    assert "safe" not in result.summary()


def test_copied_persons_are_recognised_at_random() -> None:
    result = audit(copies_persons, survey(), n_refits=N_REFITS, seed=1)
    assert {"income", "release"} <= set(result.leaking)
    assert rates(result)["release", "random"] > 0.9
    reconstructed = {one.stage: one for one in result.groups if one.kind == "planted"}["pl030"]
    assert reconstructed.reconstructed > reconstructed.reconstructed_without


def test_results_do_not_depend_on_the_workers() -> None:
    one, two, three = (
        audit(clean, survey(), n_refits=20, seed=3, workers=workers)
        for workers in (1, 2, "processes:2")
    )
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), check_exact=True)
    pd.testing.assert_frame_equal(one.to_frame(), three.to_frame(), check_exact=True)
    other = audit(clean, survey(), n_refits=20, seed=4).to_frame()
    assert not one.to_frame()["auc"].equals(other["auc"])


def test_every_number_that_is_asked_for_counts() -> None:
    seen: list[int] = []

    def counting(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
        seen.append(len(frame))
        return clean(frame, seed)

    events = []
    options = {"n_targets": 5, "share": 0.9, "limit": 0.999, "confidence": 0.8}
    result = audit(counting, survey(), n_refits=20, seed=1, on_event=events.append, **options)
    assert len(seen) == result.n_refits == len(events) == 20
    assert 300 < np.mean(seen) < 400
    assert {one.n_targets for one in result.groups} == {5}
    copied = audit(copies_incomes, survey(), n_refits=20, seed=1, limit=0.999)
    assert (copied.leaking, copied.limit) == ((), 0.999)
    wide = audit(clean, survey(), n_refits=20, seed=1, confidence=0.99).to_frame()
    narrow = audit(clean, survey(), n_refits=20, seed=1, confidence=0.8).to_frame()
    assert (wide["at_10_percent_upper"] > narrow["at_10_percent_upper"]).all()


def test_stages_of_a_function_are_what_is_said() -> None:
    result = audit(
        clean, survey(), stages={"all at once": ["pl030", "income"]}, n_refits=20, seed=1
    )
    assert {one.stage for one in result.groups} == {"all at once", "release"}


def test_a_recipe_knows_its_stages_and_scale() -> None:
    recipe = Pipeline([Structure(["sex"]), Categorical("edu", predictors=["sex"], pooling=100.0)])
    data = survey_of(1, 150)
    result = audit(recipe, data, n_refits=20, n_targets=10, persons=500, seed=1)
    assert [one.stage for one in result.groups][:2] == ["structure", "categorical edu"]
    assert result.scale == pytest.approx(500 / data.weights.sum())


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(InputError) as problem:
        audit(3, survey(n=10), n_refits=5, share=0, workers="many", stages={"a": ["absent"]})
    text = str(problem.value)
    for part in ("pipeline", "10 households", "n_refits", "share", "workers", "absent"):
        assert part in text
    with pytest.raises(InputError, match="stages"):
        audit(honest(1), survey(), stages={"a": ["pl030"]})
    with pytest.raises(InputError, match="income"):
        audit(without_income, survey(), n_refits=20, seed=1)


def test_the_page_names_the_stage(tmp_path) -> None:
    result = audit(copies_incomes, survey(), stages=STAGES, n_refits=20, seed=1)
    page = write_audit(tmp_path / "audit.html", result, title="Ours").read_text(encoding="utf-8")
    assert "Named: income" in page
    assert "Ours" in page
    german = write_audit(tmp_path / "de.html", result, language="de").read_text(encoding="utf-8")
    assert "Genannt: income" in german


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["copier", "pmm", "tree"])
def test_leaking_recipes_are_named_each_time(kind: str) -> None:
    recipe, label = leaking(kind)
    for seed in range(5):
        assert label in audit(recipe, survey_of(seed), n_refits=40, seed=seed).leaking


@pytest.mark.slow
def test_honest_recipes_are_seldom_named() -> None:
    found = [audit(honest(k), survey_of(k), n_refits=40, seed=k).leaking for k in range(10)]
    assert sum(map(bool, found)) <= 1
