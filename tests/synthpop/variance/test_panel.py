"""Rotating panels: a household has one bootstrap factor in all years, as in surveysd."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Survey
from synthpop.variance.replicate_weights import replicate_weights


def panel(n: int = 400, shared: float = 0.75) -> pd.DataFrame:
    """Two years of n households each; three quarters stay, with nearly the same income."""
    rng = np.random.default_rng(1)
    stay = int(n * shared)
    level = rng.normal(100, 20, 2 * n - stay)
    first = pd.DataFrame({"hid": np.arange(n), "year": 1})
    second = pd.DataFrame({"hid": np.arange(n - stay, 2 * n - stay), "year": 2})
    both = pd.concat([first, second], ignore_index=True)
    both["income"] = level[both["hid"]] + rng.normal(0, 4, len(both))
    both["region"] = np.array(["a", "b"])[both["hid"] % 2]
    return both.assign(w=10.0)


def means(data: pd.DataFrame, weights: np.ndarray) -> dict[str, float]:
    years = {
        year: float(np.average(data["income"][rows], weights=weights[rows]))
        for year in (1, 2)
        if (rows := (data["year"] == year).to_numpy()).any()
    }
    return {
        "year 1": years[1],
        "year 2": years[2],
        "change": years[2] - years[1],
        "mean of both": (years[1] + years[2]) / 2,
    }


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_change_and_mean_of_years(method: str) -> None:
    frame = panel()
    survey = Survey(frame, weight="w", psu="hid", design_strata="region")
    made = replicate_weights(survey, method=method, replicates=400, seed=1)
    for _, rows in frame.groupby("hid").groups.items():
        assert np.ptp(made.weights[rows], axis=0).max() < 1e-9
    errors = made.estimate(means, survey)["standard_error"]
    # truth of independent households: sd 20.4 over sqrt(400) a year; the part that stays cancels
    year = np.sqrt(20**2 + 4**2) / 20
    stays, comes = 0.75 * 2 * 4**2, 0.25 * 2 * (20**2 + 4**2)
    assert errors["year 1"] == pytest.approx(year, rel=0.15)
    assert errors["change"] == pytest.approx(np.sqrt((stays + comes) / 400), rel=0.15)
    assert errors["change"] < 0.85 * np.sqrt(2) * year
    assert errors["mean of both"] > year / np.sqrt(2) * 1.15
