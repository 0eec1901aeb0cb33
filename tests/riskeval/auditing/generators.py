"""Generators whose leaks are known, as functions of a survey and a seed, and the survey."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop import Survey


def survey(seed: int = 0, n: int = 400) -> Survey:
    """Return persons with a status and an income that goes with it."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 3, n)
    income = np.round(rng.lognormal(9 + 0.5 * job, 0.6), 2)
    data = pd.DataFrame({"w": 1.0, "pl030": pd.Series(job).map({0: "a", 1: "b", 2: "c"})})
    return Survey(data.assign(income=income), weight="w")


def clean(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Draw statuses by their shares and incomes from one lognormal distribution a status."""
    rng = np.random.default_rng(seed)
    job = rng.choice(frame["pl030"].to_numpy(), 2000)
    logs = np.log(frame["income"]).groupby(frame["pl030"]).agg(["mean", "std"])
    income = np.exp(rng.normal(logs.loc[job, "mean"], logs.loc[job, "std"])).round(2)
    return pd.DataFrame({"pl030": job, "income": income})


def copies_incomes(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Draw statuses by their shares, and the income of a respondent with that status."""
    made = clean(frame, seed)
    rng = np.random.default_rng(seed)
    for job, values in frame.groupby("pl030")["income"]:
        rows = made["pl030"] == job
        made.loc[rows, "income"] = rng.choice(values.to_numpy(), int(rows.sum()))
    return made


def copies_persons(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Copy respondents."""
    return frame.sample(2000, replace=True, random_state=seed).reset_index(drop=True)


def without_income(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Forget a column."""
    return frame.drop(columns="income")
