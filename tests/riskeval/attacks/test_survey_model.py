"""The baseline of scenario 5: a model of other survey persons."""

from __future__ import annotations

import numpy as np
import pandas as pd

from riskeval import intruder_scenarios
from riskeval.attacks.matching.survey_model import with_survey_baseline


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age, region = rng.integers(0, 40, 300), rng.integers(0, 5, 300)
    pay = 1000.0 + 100 * age + 500 * region
    return pd.DataFrame({"hid": np.arange(300) // 2, "age": age, "region": region, "pay": pay})


def test_what_the_keys_tell_of_anybody_is_found_without_the_population() -> None:
    sample = survey()
    risk = intruder_scenarios(sample, sample, ["age", "region"], "pay", accuracy=[0.01, 0.05])
    rows = with_survey_baseline(risk, sample, "hid").table.set_index("scenario")
    model = rows.loc[5]
    assert rows.drop(index=5)["tau_baseline"].isna().all()
    assert (model["tau"] > 50).all()
    assert (model["tau_baseline"] >= 0.8 * model["tau"]).all()  # but rare ages
    assert (model["rate_baseline"] == model["tau_baseline"] / 300).all()


def test_what_only_the_population_tells_is_not_in_the_baseline() -> None:
    sample = survey()
    sample["pay"] = np.random.default_rng(4).lognormal(9, 1, 300)  # the keys tell nothing
    copies = pd.concat([sample] * 3, ignore_index=True)
    risk = intruder_scenarios(sample, copies, ["age", "region"], "pay", accuracy=0.05)
    rows = with_survey_baseline(risk, sample).table.set_index("scenario")
    assert rows.loc[4, "tau"] > 50
    assert rows.loc[5, "tau_baseline"] < 10


def test_members_of_a_household_are_in_one_half() -> None:
    sample = survey()
    sample["twin"] = sample["hid"].astype(str)  # known from the other member only
    risk = intruder_scenarios(sample, sample, ["age", "twin"], "pay", accuracy=0.05)
    assert with_survey_baseline(risk, sample, "hid") is risk  # no level of the key in both halves


def test_a_category_has_its_baseline_already() -> None:
    sample = survey().assign(status=lambda f: np.where(f["age"] > 20, "a", "b"))
    risk = intruder_scenarios(sample, sample, ["age", "region"], "status")
    assert with_survey_baseline(risk, sample, "hid") is risk
