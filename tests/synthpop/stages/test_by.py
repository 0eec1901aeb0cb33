"""Models fitted to the levels of a variable instead of the strata."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    Pipeline,
    PoolingOptions,
    Relation,
    Structure,
    Survey,
)
from synthpop.conditional.encodings import sample_digits
from synthpop.conditional.fallback import predict_with_fallback
from synthpop.evaluation.crossvalidation import cross_validate
from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.errors import InputError
from synthpop.models.multinomial import fit_multinomial, predict_multinomial
from synthpop.report.recipe import steps
from synthpop.runfiles.runfile import parse_runfile
from tests.continuous import continuous
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame
from tests.synthpop.stages.continuous_cases import EVERY

AGE = Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120])
BASE = [Structure(["age", "sex", "job", "role"]), AGE]


def frame_by_job(n: int = 700) -> pd.DataFrame:
    """What sex tells about colour, pay and visits is turned round between jobs; some have none."""
    frame = small_frame(n)
    rng = np.random.default_rng(4)
    frame["job"] = rng.choice(["a", "b", "c", "none"], len(frame), p=[0.45, 0.3, 0.15, 0.1])
    frame["job"] = frame["job"].where(frame["job"] != "none")
    woman, a = frame["sex"] == "f", frame["job"].isin(["a"])
    frame["colour"] = np.where(
        rng.random(len(frame)) < np.where(woman == a, 0.9, 0.1), "red", "blue"
    )
    frame["pay"] = np.where(woman == a, 3000.0, 1000.0) * rng.lognormal(0, 0.2, len(frame))
    frame["pay"] = frame["pay"].where(rng.random(len(frame)) > 0.1, 0.0).round(2)
    frame["visits"] = rng.poisson(np.where(woman == a, 8, 2))
    frame["code"] = frame["job"].map({"a": 1, "b": 2, "c": 3})
    frame["role"] = np.where(frame["pid"] == 1, "head", "member")
    return frame


def fitted(stage: Any, frame: pd.DataFrame | None = None, roles: Any = ROLES, **options: Any):
    survey = Survey(frame_by_job() if frame is None else frame, **roles)
    return Pipeline([*BASE, stage]).fit(survey, seed=1, **options)


def shares(people: pd.DataFrame, weight: str | None = None) -> pd.Series:
    jobs = people["job"].astype(object).fillna("none")
    w = people[weight] if weight else pd.Series(1.0, people.index)
    total = w.groupby([jobs, people["sex"].astype(str)]).sum()
    return (w * (people["colour"] == "red")).groupby(
        [jobs, people["sex"].astype(str)]
    ).sum() / total


STAGES = [
    Categorical("colour", predictors=["sex"], by="job", pooling="none"),
    Categorical("colour", predictors=["sex"], by="job", pooling=2),
    Categorical("colour", predictors=["sex"], by="job", model="empirical"),
    Categorical("colour", predictors=["sex"], by="job", model="tree"),
    Categorical("colour", predictors=["sex"], by="job", by_household="first", pooling="none"),
    Relation("colour", relationship="role", head="head", predictors=["sex"], by="job"),
]


@pytest.mark.parametrize("stage", STAGES, ids=[str(k) for k in range(len(STAGES))])
def test_each_level_has_a_model_of_its_own(stage: Any) -> None:
    """Without it the effects of sex cancel out."""
    frame = frame_by_job()
    people = fitted(stage, frame).simulate().frame()
    assert (shares(people) - shares(frame, "w")).abs().max() < 0.1
    without = type(stage)(**{**{k: getattr(stage, k) for k in stage.__slots__}, "by": None})
    people = fitted(without, frame).simulate().frame()
    assert (shares(people) - shares(frame, "w")).abs().max() > 0.25


def test_models_are_those_of_the_parts_of_the_sample() -> None:
    """Golden: a multinomial model fitted to the persons of each job, one after the other."""
    found = fitted(Categorical("colour", predictors=["sex", "age_class"], by="job", pooling="none"))
    model, sample = found.models[2], found.sample
    digits = sample_digits(sample, model.encodings)
    classes = sample.columns["colour"].astype(np.int64) + 1
    job = sample.columns["job"]
    assert model.encodings.groups == ("job missing", "job = a", "job = b", "job = c")
    for code in (-1, 0, 1, 2):
        here = job == code
        own = fit_multinomial(digits[here], classes[here], sample.weights[here],
                              model.encodings.sizes, 3)  # fmt: skip
        cells = np.unique(digits[here], axis=0)
        expected, _ = predict_multinomial(own, cells)
        got, step = predict_with_fallback(model.sequence, code + 1, cells)
        np.testing.assert_allclose(got, expected, atol=1e-6)
        assert not step.any()


@pytest.mark.parametrize("options", [{"pooling": "none"}, {"pooling": 25}, {"model": "empirical"}],
                         ids=["none", "25", "table"])  # fmt: skip
def test_it_is_as_if_the_variable_were_the_strata(options: dict[str, Any]) -> None:
    frame = frame_by_job().assign(job=lambda x: x["job"].fillna("none"))
    frame["job"] = frame["job"].groupby(frame["hid"]).transform("first")
    roles = {**ROLES, "strata": "job"}
    with_by = fitted(Categorical("colour", predictors=["sex", "size"], by="job", **options), frame)
    steps = [
        Structure(["age", "sex"]),
        Categorical("colour", predictors=["sex", "size"], **options),
    ]
    by_strata = Pipeline(steps).fit(Survey(frame, **roles), seed=1)
    one, two = with_by.models[2], by_strata.models[1]
    cells = np.array([[sex, size] for sex in (1, 2) for size in (1, 2, 3, 4)])
    for number, level in enumerate(by_strata.sample.strata_levels):
        place = one.encodings.groups.index(f"job = {level}")
        got, _ = predict_with_fallback(one.sequence, place, cells)
        expected, _ = predict_with_fallback(two.sequence, number, cells)
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_the_stratum_is_a_predictor_like_any_other() -> None:
    frame = frame_by_job()
    frame["colour"] = np.where(frame["region"] == "north", "red", "blue")
    for predictors in ("all", "basic", ["region"]):
        stage = Categorical("colour", predictors=predictors, by="job", pooling="none")
        names = [item.name for item in fitted(stage, frame).models[2].encodings.variables]
        assert "region" in names
        people = fitted(stage, frame).simulate().frame()
        assert ((people["colour"] == "red") == (people["region"] == "north")).mean() > 0.99
    terms = fitted(Categorical("colour", by="job"), frame).models[2].encodings
    assert terms.group not in [j for term in terms.terms for j in term]
    plain = fitted(Categorical("colour"), frame).models[2].encodings
    assert "region" not in [item.name for item in plain.variables]


def test_a_number_with_few_values_and_one_with_many() -> None:
    frame = frame_by_job()
    base = [Structure(["age", "sex", "code"])]
    one = Pipeline([*base, Categorical("colour", predictors=["sex"], by="code", pooling="none")])
    two = fitted(Categorical("colour", predictors=["sex"], by="job", pooling="none"), frame)
    model = one.fit(Survey(frame, **ROLES), seed=1).models[1]
    assert model.encodings.groups[1:] == ("code = 1.0", "code = 2.0", "code = 3.0")
    for group in range(4):
        got = predict_with_fallback(model.sequence, group, np.array([[1], [2]]))[0]
        expected = predict_with_fallback(two.models[2].sequence, group, np.array([[1], [2]]))[0]
        np.testing.assert_allclose(got, expected, atol=1e-9)
    with pytest.raises(InputError, match=r"'age', a number with \d+ distinct values"):
        fitted(Categorical("colour", predictors=["sex"], by="age"), frame)


def test_small_levels_are_recorded_by_name() -> None:
    frame = frame_by_job()
    few = frame.index[frame["job"] == "c"][12:]
    frame.loc[few, "job"] = "a"
    for stage in (
        Categorical("colour", predictors=["sex"], by="job"),
        Continuous("pay", predictors=["sex"], by="job"),
        Continuous("pay", predictors=["sex"], by="job", method="regression"),
        Relation("colour", relationship="role", head="head", predictors=["sex"], by="job"),
    ):
        notes = [note for note in fitted(stage, frame).fallbacks if note.stage == stage.label]
        assert {note.stratum for note in notes} == {"job = c"}
        assert any("pooled over levels of job" in note.what for note in notes)
        assert not any("strata" in note.what for note in notes)
    stage = Categorical(
        "colour", predictors=["sex"], by="job", pooling=PoolingOptions(smallest_stratum=5)
    )
    assert not fitted(stage, frame).fallbacks


def test_combinations_without_an_answer_are_recorded_by_level() -> None:
    frame = frame_by_job()
    frame = frame[~((frame["job"] == "b") & (frame["sex"] == "f"))].copy()
    frame["size"] = frame.groupby("hid")["hid"].transform("size")
    stages = [
        Categorical("gender", predictors=["size"]),
        Categorical("colour", predictors=["gender"], by="job", model="empirical"),
        Continuous("pay", predictors=["gender"], by="job", method="regression"),
    ]
    frame["gender"] = frame["sex"]
    survey = Survey(frame, **ROLES)
    people = Pipeline([Structure(["age", "job"]), *stages]).fit(survey, seed=1).simulate()
    for stage in stages[1:]:
        notes = [note for note in people.fallbacks if note.stage == stage.label and note.n_persons]
        assert {note.stratum for note in notes} == {"job = b"}
        assert all("pooled over levels of job" in note.what for note in notes)
        made = people.frame()
        without = ((made["job"] == "b") & (made["gender"] == "f")).sum()
        if stage.label.startswith("categorical"):
            assert sum(note.n_persons for note in notes) == without > 0


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_every_method_of_numbers(method: Any) -> None:
    frame = frame_by_job()
    name = "visits" if method in ("poisson", "negative-binomial") else "pay"
    given = {"predictors": ["sex"], "method": method, "pooling": "none"}
    people = fitted(continuous(name, by="job", **given), frame).simulate().frame()
    assert gap_of_means(people, frame, name) < 0.2
    alone = fitted(continuous(name, **given), frame).simulate().frame()
    assert gap_of_means(alone, frame, name) > 0.3


def gap_of_means(people: pd.DataFrame, frame: pd.DataFrame, name: str) -> float:
    keys = ["job", "sex"]
    made = people.astype({"job": object, "sex": object}).groupby(keys)[name].mean()
    weighted = (frame[name] * frame["w"]).groupby([frame["job"], frame["sex"]]).sum()
    held = weighted / frame["w"].groupby([frame["job"], frame["sex"]]).sum()
    return float((made / held - 1).abs().max())


NUMBER = Continuous("pay", predictors=["sex"], by="job", method="regression")


@pytest.mark.parametrize("stage", [STAGES[1], STAGES[4], NUMBER], ids=["one", "head", "number"])
def test_the_same_for_any_workers(stage: Any) -> None:
    model = fitted(stage)
    one = model.simulate(rows_per_block=600).frame()
    two = model.simulate(rows_per_block=600, workers=2).frame()
    assert_same_frame(one, two)


def test_rules_and_cross_validation() -> None:
    frame = frame_by_job()
    rule = {"levels": ["red"], "when": {"job": ["a"]}}
    stage = Categorical("colour", predictors=["sex"], by="job", impossible=[rule])
    people = fitted(stage, frame).simulate().frame()
    assert set(people.loc[people["job"] == "a", "colour"]) == {"blue"}
    with_by = Categorical("colour", predictors=["sex"], by="job")
    alone = Categorical("colour", predictors=["sex"])
    found = cross_validate(Survey(frame, **ROLES), "colour", {"by": with_by, "alone": alone},
                           folds=3, seed=1)  # fmt: skip
    assert found.best == "by"


def test_run_files_and_faults() -> None:
    stages = [
        {"type": "structure", "variables": ["age", "rb090"]},
        {"type": "categorical", "name": "pl030", "predictors": ["age"], "by": "rb090"},
        {"type": "continuous", "name": "netIncome", "predictors": ["age"], "by": "pl030"},
    ]
    run = parse_runfile({"survey": {"demo": True}, "stage": stages})
    assert [stage.by for stage in run.stages[1:]] == ["rb090", "pl030"]
    manifest = fitted(STAGES[1]).simulate().manifest
    text = str(steps(manifest.identity.recipe, FigureNames(), manifest.pooling))
    assert "a model for each level of" in text
    assert "model of each stratum shrunk towards the pooled one" in text
    with pytest.raises(InputError, match="by 'income' is in the survey, but the population"):
        fitted(Categorical("colour", predictors=["sex"], by="income"))
    with pytest.raises(InputError, match="by names 'pay', which this step makes"):
        fitted(Continuous("pay", predictors=["sex"], by="pay"))
    with pytest.raises(InputError, match="by is 3"):
        fitted(Categorical("colour", predictors=["sex"], by=3))
