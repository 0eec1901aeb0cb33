"""Five releases of one file: the four of Tables 5.1 to 5.5, and a synthetic one."""

from __future__ import annotations

import pandas as pd

from replay.earnings import KEYS, NUMERIC
from riskeval.recovery.recover import recover
from riskeval.session.session import ProtectionSession
from synthpop import Binned, Categorical, Continuous, Pipeline, Structure, Survey
from synthpop.sampling import Stratified, draw_sample

# The program of the book mixes 0.995 of the deviation from the mean with 0.1 of the noise.
SHARE = 0.1
NOISE = SHARE**2 / (1 - SHARE**2)
GROUPS = 5
# 1 is kept longest: the keys with the fewest categories.
IMPORTANCE = {"location": 1, "size": 2, "age": 3, "NACE1": 4}
# Table 5.5 says what was post-randomised: coefficients of branch and location shrink, no others.
PRAM = ("size", "location", "NACE1")
SHUFFLED = "earningsHour + earnings ~ sex + age + education"
SHUFFLED_WELL = "earningsHour + earnings ~ " + " + ".join(
    ["sex", "age", "education", "location", "size", "NACE1", "occupation", "fullPart"]
)


def declare(file: pd.DataFrame) -> ProtectionSession:
    """Return a session with the roles of the columns."""
    return ProtectionSession(
        file, keys=list(KEYS), numeric=list(NUMERIC), weights="weights", pram=list(PRAM)
    )


def perturbed(file: pd.DataFrame, seed: int) -> dict[str, ProtectionSession]:
    """Return a session for each of the four releases of the book, and a better shuffling."""
    found = {}
    for name in ("rec+ls+ma", "rec+ls+noise", "pram+ma", "rec+ls+shuffle", "rec+ls+shuffle 2"):
        session = found[name] = declare(file)
        if name == "pram+ma":
            session.pram(matrix="invariant", seed=seed)
        else:
            # as published: without what the weights give back
            session.local_suppression(k=3, importance=IMPORTANCE, weights=None)
        if name.endswith("ma"):
            session.microaggregate(k=GROUPS, seed=seed)
        elif name.endswith("noise"):
            session.add_noise(method="correlated2", level=NOISE, seed=seed)
        else:
            formula = SHUFFLED_WELL if name.endswith("2") else SHUFFLED
            session.shuffle(formula=formula, seed=seed)
    return found


def read_back(file: pd.DataFrame) -> pd.DataFrame:
    """Return what an intruder reads back of the suppression as published, and of ours."""
    rows = {}
    for name, weights in (("as published", None), ("attacked first", "weights")):
        session = declare(file)
        session.local_suppression(k=3, importance=IMPORTANCE, weights=weights)
        attack = recover(session.data, weights="weights", original=file, keys=list(KEYS))
        assert attack.below is not None  # keys were given
        rows[name] = {
            "suppressed": attack.n_holes,
            "read back": attack.n_right,
            "below 3": attack.below[0],
            "below 3 after recovery": attack.below[1],
        }
    return pd.DataFrame(rows).T


def synthetic(file: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a sample of a synthetic population, of the size of the file, with design weights.

    Employees are the units: the file has some employees of each enterprise only, so that whole
    enterprises cannot be resampled. Location, size and branch are copied together; everything else
    is drawn from models given what is known before it. The sample has as many employees of each
    location and size as the file.
    """
    known = ["location", "size", "NACE1"]
    stages: list[Structure | Categorical | Continuous] = [Structure(list(known))]
    for name in ("sex", "age", "education", "occupation", "fullPart"):
        stages.append(Categorical(name, predictors=list(known)))
        known.append(name)
    stages.append(Continuous("earningsHour", method=Binned(tail="gpd"), predictors=known))
    stages.append(
        Continuous(
            "earnings", method=Binned(tail="gpd"), predictors=["earningsHour", "fullPart", "age"]
        )
    )
    population = Pipeline(stages).fit(Survey(file, weight="weights"), seed=seed).simulate()
    counts = file.groupby(["location", "size"], observed=True).size()
    design = Stratified({cell: int(n) for cell, n in counts.items()}, by=["location", "size"])
    drawn = draw_sample(population, design, seed=seed)
    return drawn.frame.assign(weights=drawn.weights)[list(file.columns)]
