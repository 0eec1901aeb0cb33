"""Missing values of the survey filled from similar rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Impute,
    Pipeline,
    Structure,
    Survey,
    dump_runfile,
    load_runfile,
    open_population,
)
from synthpop.microdata.messages.errors import InputError
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame


def with_gaps(n: int = 600) -> pd.DataFrame:
    """Status is missing for children, and for a third of adults; size of dwelling by household."""
    frame = small_frame(n)
    rng = np.random.default_rng(1)
    frame["age_class"] = pd.cut(frame["age"], [-1, 15, 39, 64, 120], labels=[*"abcd"])
    frame["status"] = frame["status"].where(rng.random(len(frame)) > 1 / 3)
    frame["rooms"] = 1 + frame["size"]
    gone = frame["hid"].isin(frame["hid"].drop_duplicates().sample(frac=0.3, random_state=1))
    frame["rooms"] = frame["rooms"].where(~gone).astype("Int64")
    return frame


def filled(step: Impute, frame: pd.DataFrame | None = None, seed: int = 3):
    frame = with_gaps() if frame is None else frame
    fitted = Pipeline([step, Structure(["age"])]).fit(Survey(frame, **ROLES), seed=seed)
    return fitted.survey.frame, fitted.prepared[0]


def test_values_come_from_the_cell_and_who_was_not_asked_stays_missing() -> None:
    before = with_gaps()
    after, record = filled(Impute("status", given=["age_class", "sex"]))
    known = before["status"].notna()
    pd.testing.assert_series_equal(before["status"][known], after["status"][known])
    child = before["age"] < 16
    assert after.loc[child, "status"].isna().all()
    assert after.loc[~child, "status"].notna().all()
    old = after["age"] >= 65
    assert set(after.loc[old, "status"]) == {"retired"}
    assert not (after.loc[~old, "status"] == "retired").any()
    table = record.details["variables"][0]
    n_missing = int(before["status"].isna().sum())
    assert table == {
        "variable": "status",
        "n_missing": n_missing,
        "n_imputed": n_missing - int(child.sum()),
        "n_left_missing": int(child.sum()),
        "n_by_given_used": {"2": n_missing - int(child.sum()), "1": 0, "0": 0},
    }
    assert f"{n_missing - int(child.sum()):,} missing values filled" in record.summary


def test_widening_leaves_out_the_last_given_first() -> None:
    frame = with_gaps()
    frame["status"] = frame["status"].where((frame["sex"] == "f") | (frame["age_class"] != "c"))
    after, record = filled(Impute("status", given=["age_class", "sex"], empty="widen"), frame)
    assert after["status"].notna().all()
    men = (frame["sex"] == "m") & (frame["age_class"] == "c")
    used = record.details["variables"][0]["n_by_given_used"]
    assert used["1"] == men.sum()
    assert used["0"] == (frame["age"] < 16).sum()
    assert not (after.loc[men, "status"] == "retired").any()
    kept, _ = filled(Impute("status", given=["age_class", "sex"]), frame)
    assert kept.loc[men, "status"].isna().all()


def test_donors_are_drawn_by_weight_as_a_naive_hot_deck_does() -> None:
    frame = with_gaps(3000)
    frame["w"] = np.where(frame["hid"] % 2 == 0, 9.0, 1.0)
    frame["code"] = pd.Series(frame["hid"] % 2, dtype="float64").where(frame["status"].notna())
    after, _ = filled(Impute("code", given=["sex"]), frame)
    gone = frame["code"].isna()
    for sex in ("f", "m"):
        cell = frame[(frame["sex"] == sex) & ~gone]
        expected = np.average(cell["code"], weights=cell["w"])
        assert abs(after.loc[gone & (frame["sex"] == sex), "code"].mean() - expected) < 0.03


def test_variables_filled_first_are_complete_for_the_next() -> None:
    frame = with_gaps()
    frame["same"] = frame["status"]
    both, record = filled(Impute(["status", "same"], given=["age_class"]), frame)
    assert [table["variable"] for table in record.details["variables"]] == ["status", "same"]
    assert record.details["n_imputed"] == sum(t["n_imputed"] for t in record.details["variables"])
    adult = both["age"] >= 16
    assert both.loc[adult, ["status", "same"]].notna().all(axis=None)
    assert (both.loc[adult, "status"] != both.loc[adult, "same"]).any()


def test_numbers_are_cut_and_types_are_kept() -> None:
    frame = with_gaps()
    frame["income"] = frame["age"] * 1000.0
    frame.loc[::7, "income"] = np.nan
    after, _ = filled(Impute("income", given=["age"]), frame)
    assert after["income"].notna().all()
    assert (after["income"] / 1000 - after["age"]).abs().max() < 25
    for name in after.columns:
        if name in frame:
            assert after[name].dtype == frame[name].dtype, name


def test_one_value_for_a_household() -> None:
    frame = with_gaps()
    step = Impute("rooms", given=["size"], unit="household")
    after, record = filled(step, frame)
    assert after["rooms"].dtype == "Int64"
    assert (after["rooms"] == after["size"] + 1).all()
    assert (after.groupby("hid")["rooms"].nunique() == 1).all()
    frame.loc[frame.index[frame["rooms"].notna() & (frame["size"] > 1)][0], "rooms"] = pd.NA
    again, _ = filled(step, frame)  # one member does not say: the others do
    assert (again["rooms"] == again["size"] + 1).all()
    assert record.details["variables"][0]["n_left_missing"] == 0


def test_seeds_matter_and_are_recorded() -> None:
    step = Impute("status", given=["age_class"])
    one, record = filled(step)
    two, _ = filled(step)
    other, _ = filled(step, seed=4)
    assert_same_frame(one, two)
    assert (one["status"].astype(str) != other["status"].astype(str)).any()
    assert record.seed == 3


def test_later_steps_learn_from_filled_values_and_the_manifest_tells(tmp_path) -> None:
    steps = [
        Impute("status", given=["age_class"]),
        Structure(["age", "age_class"]),
        Categorical("status", predictors=["age_class"]),
    ]
    survey = Survey(with_gaps(), **ROLES)
    Pipeline(steps).fit(survey, seed=1).simulate(out=tmp_path / "p")
    population = open_population(tmp_path / "p")
    people = population.frame()
    assert people.loc[people["age"] >= 16, "status"].notna().all()
    assert population.manifest.prepared[0].details["n_imputed"] > 0
    assert population.manifest.identity.recipe[0]["type"] == "impute"


def test_nothing_known_and_nothing_missing() -> None:
    frame = with_gaps()
    frame["void"] = np.nan
    after, record = filled(Impute(["void", "age"], given=["sex"], empty="widen"), frame)
    assert after["void"].isna().all()
    assert [t["n_imputed"] for t in record.details["variables"]] == [0, 0]
    pd.testing.assert_series_equal(after["age"], frame["age"])


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Impute([], given=["sex"]), "needs distinct variables"),
        (Impute(["status", "status"], given=["sex"]), "needs distinct variables"),
        (Impute("statis", given=["sex"]), "Did you mean 'status'?"),
        (Impute("status", given=["sx"]), "Did you mean 'sex'?"),
        (Impute("status", given=["status"]), "'status' is given by itself"),
        (Impute("status", given=["sex"], empty="drop"), "'drop' is not allowed"),
        (Impute("status", given=["sex"], unit="family"), "'family' is not allowed"),
        (Impute("status", given=["sex"], unit="household"), "has several values in a household"),
        (Impute("size", given=["sex"]), "'size' is the household_size of the survey"),
    ],
)
def test_faults(step: Impute, message: str) -> None:
    with pytest.raises(InputError) as caught:
        filled(step)
    assert message in str(caught.value)


def test_households_are_needed_for_their_values_and_places_are_checked() -> None:
    frame = with_gaps().drop(columns=["hid", "size"])
    survey = Survey(frame, weight="w")
    step = Impute("rooms", given=["sex"], unit="household")
    with pytest.raises(InputError, match="the survey has no households"):
        Pipeline([step, Structure(["age"])]).fit(survey, seed=1)
    with pytest.raises(InputError, match="Put it at the beginning"):
        Pipeline([Structure(["age"]), Impute("rooms", given=["sex"])]).fit(survey, seed=1)


def test_the_way_to_a_run_file_and_back(tmp_path) -> None:
    text = """
[survey]
demo = true
[[stage]]
type = "impute"
variables = ["pl030"]
given = ["age", "rb090"]
empty = "widen"
[[stage]]
type = "structure"
variables = ["age"]
"""
    (tmp_path / "run.toml").write_text(text)
    plan = load_runfile(tmp_path / "run.toml")
    assert plan.stages[0] == Impute(["pl030"], given=["age", "rb090"], empty="widen")
    dump_runfile(plan, tmp_path / "again.toml")
    assert load_runfile(tmp_path / "again.toml").stages == plan.stages
