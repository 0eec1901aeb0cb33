"""What the model of scenario 5 finds when it is fitted to other persons of the survey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from riskeval.attacks.matching.scenarios import IntruderRisk, intruder_scenarios
from synthpop.microdata.messages.errors import InputError

MODEL_SCENARIO = 5


def with_survey_baseline(
    risk: IntruderRisk, sample: pd.DataFrame, household: str | None = None
) -> IntruderRisk:
    """Add what scenario 5 reaches with a model of other survey persons instead of the population.

    The survey is halved, every second household in the order of the file, and each half is
    predicted by the linear model of the other one. Nothing of a person reaches the model that
    predicts it: what it finds, the keys tell of anybody. A level that the other half does not have
    is not predicted. A risk with errors in the keys, several targets, or halves without a level in
    common is returned as it is.

    Examples
    --------
    >>> sample = pd.DataFrame({"age": [20, 20, 30, 30, 40], "pay": [10.0, 10.0, 20.0, 20.0, 30.0]})
    >>> risk = intruder_scenarios(sample, sample, ["age"], "pay", accuracy=0.05)
    >>> with_survey_baseline(risk, sample).table["tau_baseline"].dropna().tolist()
    [0.0]
    """
    table = risk.table
    of_model = table["scenario"].to_numpy() == MODEL_SCENARIO
    if not of_model.any() or table["accuracy"].isna().any() or "target" in table:
        return risk
    accuracy = table.loc[of_model, "accuracy"].to_numpy(dtype=np.float64)
    units = np.arange(len(sample))
    if household is not None:
        units = pd.factorize(sample[household])[0]
    unique = risk.per_record["sample_unique"].to_numpy(dtype=bool)
    tau = np.zeros(len(accuracy))
    for parity in (0, 1):
        one = units % 2 == parity
        try:
            result = intruder_scenarios(
                sample[one].reset_index(drop=True), sample[~one].reset_index(drop=True),
                list(risk.keys), risk.target, accuracy=accuracy.tolist(),
                scenarios=[MODEL_SCENARIO],
            )  # fmt: skip
        except InputError:
            return risk
        names = [f"scenario_{MODEL_SCENARIO}_{value:.12g}" for value in accuracy]
        tau += result.per_record[names].to_numpy(dtype=np.float64)[unique[one]].sum(axis=0)
    table = table.assign(tau_baseline=np.nan, rate_baseline=np.nan)
    table.loc[of_model, "tau_baseline"] = tau
    table.loc[of_model, "rate_baseline"] = tau / risk.n_sample
    return replace(risk, table=table)
