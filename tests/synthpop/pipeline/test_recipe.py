"""Recipes are checked as a whole, and difficult samples pass through every stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Components,
    Continuous,
    Derive,
    GibbsPass,
    Impute,
    Pipeline,
    PoolingOptions,
    Relation,
    Structure,
    Survey,
    load_demo_survey,
)
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Event
from synthpop.runfiles.stage_tables import read_stages
from synthpop.stages.registry import STAGES
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame, small_pipeline, small_stages, small_survey


def test_every_fault_of_a_recipe_comes_in_one_message() -> None:
    stages = [
        Structure(["age", "sx"], method="indirect"),
        Categorical("status", predictors=["income"]),
        Continuous("incme"),
        Components("wage", parts=["other"], by=["nothing"]),
    ]
    with pytest.raises(InputError) as caught:
        Pipeline(stages).fit(small_survey(), seed=1)
    text = str(caught.value)
    for part in (
        "Did you mean 'sex'?",
        "'indirect' is not allowed",
        "predictor 'income' is in the survey, but the population will not have it here",
        "Did you mean 'income'?",
        "total 'wage'",
        "by 'nothing' is unknown",
        "two or more distinct parts",
    ):
        assert part in text
    assert len(caught.value.faults) >= 7


def test_a_predictor_made_by_a_later_step() -> None:
    stages = [Structure(["age"]), Categorical("status", predictors=["sex"]), Categorical("sex")]
    with pytest.raises(InputError, match="'sex' is made by a later step"):
        Pipeline(stages).fit(small_survey(), seed=1)


@pytest.mark.parametrize(
    "stages", [[], [Categorical("sex")], [Structure(["age"]), Structure(["sex"])]]
)
def test_structure_comes_first_and_once(stages: list) -> None:
    with pytest.raises(InputError, match="Structure"):
        Pipeline(stages).fit(small_survey(), seed=1)


@pytest.mark.parametrize("name", ["hid", "pid", "size", "region"])
def test_names_that_the_population_has_anyway(name: str) -> None:
    with pytest.raises(InputError, match="already has"):
        Pipeline([Structure(["age"]), Derive(name, source="age", breaks=[0, 99])]).fit(
            small_survey(), seed=1
        )


def test_events_tell_the_progress() -> None:
    seen: list[Event] = []
    small_pipeline().fit(small_survey(), seed=1, on_event=seen.append).simulate(
        on_event=seen.append
    )
    assert {event.job for event in seen} == {"fit", "simulate"}
    last = seen[-1]
    assert last.done == last.total == 3


def test_the_survey_is_not_changed() -> None:
    frame = small_frame()
    before = frame.copy(deep=True)
    small_pipeline().fit(Survey(frame, **ROLES), seed=1).simulate()
    assert_same_frame(frame, before)


def test_the_derived_survey_has_the_new_columns_in_its_own_order() -> None:
    shuffled = small_frame().sample(frac=1, random_state=2)
    fitted = small_pipeline().fit(Survey(shuffled, **ROLES), seed=1)
    survey = fitted.derived_survey()
    expected = pd.cut(shuffled["age"], [0, 15, 39, 64, 120], include_lowest=True).cat.codes
    assert survey.frame["age_class"].cat.codes.tolist() == expected.tolist()


def one_level_stratum(frame: pd.DataFrame) -> pd.DataFrame:
    frame.loc[frame["region"] == "west", "status"] = "idle"
    return frame


def many_levels(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(status=[f"level {i % 300}" for i in range(len(frame))])


def tiny_stratum(frame: pd.DataFrame) -> pd.DataFrame:
    west = frame["region"] == "west"
    keep = frame.loc[west, "hid"].iloc[0]
    return frame[~west | (frame["hid"] == keep)]


def separated(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(status=np.where(frame["sex"] == "f", "works", "idle"))


def all_zero(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(income=0.0)


def all_missing(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(status=None, income=np.nan)


def extreme_weights(frame: pd.DataFrame) -> pd.DataFrame:
    w = frame["w"].to_numpy().copy()
    w[frame["hid"] == frame["hid"].iloc[0]] = 1e5
    w[frame["hid"] == frame["hid"].iloc[-1]] = 1e-6
    return frame.assign(w=w)


def strange_labels(frame: pd.DataFrame) -> pd.DataFrame:
    names = {"works": "arbeitet, «größtenteils»", "idle": "無職", "retired": "7"}
    region = frame["region"].cat.rename_categories(["nörd/lich", "sü d", "100 % west?"])
    return frame.assign(status=frame["status"].map(names), region=region)


def nullable_types(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        age=frame["age"].astype("Int16"),
        sex=frame["sex"].astype("string"),
        income=frame["income"].astype("Float64"),
        size=frame["size"].astype("UInt8"),
        w=frame["w"].astype("Float32"),
    )


def numeric_levels(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(status=frame["status"].map({"works": 1, "idle": 2, "retired": 3}))


def unused_levels(frame: pd.DataFrame) -> pd.DataFrame:
    region = frame["region"].cat.add_categories(["east"])
    return frame.assign(
        region=region, status=pd.Categorical(frame["status"], ["x", "works", "idle", "retired"])
    )


def one_household(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["hid"] == frame["hid"].iloc[0]]


def one_person(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["size"] == 1].iloc[:1]


DIFFICULT = [
    one_level_stratum,
    many_levels,
    tiny_stratum,
    separated,
    all_zero,
    all_missing,
    extreme_weights,
    strange_labels,
    nullable_types,
    numeric_levels,
    unused_levels,
    one_household,
    one_person,
]


@pytest.mark.parametrize("damage", DIFFICULT, ids=lambda f: f.__name__)
def test_difficult_samples_pass_through_every_stage(damage, tmp_path) -> None:
    homes = {many_levels: 125, one_level_stratum: 300}.get(damage, 60)
    frame = damage(small_frame(homes)).reset_index(drop=True)
    stages = small_stages()
    if damage in (all_zero, all_missing, one_household, one_person):
        stages = stages[:-1]  # there is nothing to split, which is a fault of its own
    population = (
        Pipeline(stages).fit(Survey(frame, **ROLES), seed=1).simulate(out=tmp_path / "p", scale=3)
    )
    people = population.frame()
    assert population.n_persons == len(people)
    there = frame["status"].dropna().unique()
    assert set(people["status"].dropna().astype(object)) <= set(there)
    if damage is tiny_stratum:
        assert any("only" in item.what for item in population.fallbacks)
    if damage is one_level_stratum:
        assert set(people.loc[people["region"] == "west", "status"].dropna()) == {"idle"}


def example_of(kind: str, frame: pd.DataFrame) -> list[Any]:
    """The example of a stage behind those that it needs, as a run file has them."""
    after = STAGES[kind].entry.after
    names = [*after, kind] if after or kind == "structure" else [kind, "structure"]
    tables = [{"type": name, **STAGES[name].entry.table(frame)} for name in names]
    faults = Faults("recipe")
    steps = read_stages(faults, tables, Path())
    faults.raise_if_any()
    return [*steps]


@pytest.mark.parametrize("kind", STAGES)
def test_conformance(kind: str) -> None:
    """Declared columns come back; same twice; options are frozen; the label names the stage."""
    demo = load_demo_survey()
    homes = demo.frame["db030"].drop_duplicates().sample(150, random_state=1)
    frame = demo.frame[demo.frame["db030"].isin(homes)]
    roles = {"household": "db030", "household_size": "hsize", "person": "pid"}
    survey = Survey(frame, weight="rb050", strata="db040", **roles)
    steps = example_of(kind, frame)
    stage = next(step for step in steps if step.kind == kind)
    scale = 1 if "margins" in stage.entry.example else 0.05  # known totals are those of everybody
    one, two = (Pipeline(steps).fit(survey, seed=1).simulate(scale=scale) for _ in range(2))
    assert set(stage.provides) <= set(one.columns)
    assert_same_frame(one.frame(), two.frame())
    with pytest.raises(AttributeError):
        setattr(stage, next(iter(type(stage).__dataclass_fields__)), "x")
    assert stage.label.startswith(kind)
    assert "Examples" in str(type(stage).__doc__)
    assert stage.entry.question.endswith("?")
    assert len(stage.entry.blind_spots) > 20


def test_a_list_of_names_is_not_held() -> None:
    """What the caller does with the list afterwards changes no recipe."""
    names = ["age", "sex"]
    steps = [
        Structure(names),
        Categorical(names),
        Impute(names, given=names),
        GibbsPass(names),
        Components("income", parts=names, by=names),
    ]
    names.append("more")
    assert steps[0].provides == steps[1].provides == steps[3].revises == ("age", "sex")
    assert tuple(steps[2].variables) == tuple(steps[2].given) == ("age", "sex")
    assert tuple(steps[4].parts) == tuple(steps[4].by) == ("age", "sex")


@pytest.mark.parametrize("value", ["many", None, -1, True, float("nan")])
def test_a_smallest_stratum_that_is_no_number_of_persons(value) -> None:
    options = {"pooling": PoolingOptions(smallest_stratum=value)}
    stages = [
        Structure(["age", "sex"]),
        Categorical("status", **options),
        Relation("region", relationship="sex", head="f", **options),
        GibbsPass("status", **options),
        Continuous("income", **options),
    ]
    with pytest.raises(InputError) as caught:
        Pipeline(stages).fit(small_survey(), seed=1)
    told = [fault for fault in caught.value.faults if "smallest_stratum" in str(fault)]
    assert len(told) == 4


def test_rules_that_are_no_list() -> None:
    stages = [Structure(["age", "sex"]), Categorical("status", impossible=3)]
    with pytest.raises(InputError, match="impossible is 3"):
        Pipeline(stages).fit(small_survey(), seed=1)
