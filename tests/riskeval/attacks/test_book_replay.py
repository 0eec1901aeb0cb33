"""The printed table of the intruder scenarios, replayed with public data (see the docs page)."""

from __future__ import annotations

import pandas as pd
import pytest

from riskeval.attacks.matching.replicates import scenario_replicates
from synthpop import Binned, Categorical, Continuous, Pipeline, Structure, Survey
from tests.reference_data import survey_data

KEYS = ["db040", "hsize", "age_class", "rb090", "pl030", "pb220a"]


@pytest.mark.slow
def test_scenario_4_is_flat_because_of_true_zeros() -> None:
    data = survey_data("eusilc")
    components = [name for name in data if name.startswith("py")]
    data["income"] = data[components].sum(axis=1, min_count=1)
    limits = [-2, *range(15, 85, 5), 98]
    data["age_class"] = pd.cut(data["age"], limits).astype(str)
    survey = Survey(
        data[["db030", "age", "income", "rb050", *KEYS]],
        weight="rb050", household="db030", strata="db040",
    )  # fmt: skip
    basic = ["age_class", "rb090", "hsize"]
    classes = Binned(zeros=True, tail="gpd", upper=500_000, intervals=("low", "high"))
    income = Continuous("income", classes, [*basic, "pl030", "pb220a"], pooling="none")
    recipe = [
        Structure(["age", "age_class", "rb090"]),
        Categorical("pl030", predictors=basic, pooling="none"),
        Categorical("pb220a", predictors=[*basic, "pl030"], pooling="none"),
        income,
    ]
    fitted = Pipeline(recipe).fit(survey, seed=1)
    risk = scenario_replicates(
        data, (fitted.simulate(seed=seed) for seed in (1, 2)), KEYS, "income",
        intervals=("low", "high"), weights="rb050",
    )  # fmt: skip
    table = risk.table.set_index(["scenario", "accuracy"])
    flat = table.loc[4]
    assert flat["tau"].max() - flat["tau"].min() < 2
    assert (flat["tau_zero"] > 0.9 * flat["tau"]).all()
    assert (table.loc[3, "tau"] - table.loc[3, "tau_zero"]).max() < 1
    assert table.loc[(5, 0.05), "tau"] == pytest.approx(84, abs=10)
    assert table.loc[(4, 0.05), "tau_expected"] < 0.2
