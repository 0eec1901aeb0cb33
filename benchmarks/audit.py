"""Audits of generators known to leak and known not to: `python -m benchmarks.audit [what ...]`.

    honest   40 recipes that copy nobody, on surveys of 700 households: how many are named
    leaking  a copier, predictive mean matching and an unpooled tree, five seeds each
    cost     processor time of 200 refits of the demo recipe on the demo survey

Households of the honest surveys have three persons at most, so that many have the same
members: `Structure` copies compositions, and rare ones are given away by their being there.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from riskeval import audit
from synthpop import Binned, Categorical, Continuous, Pipeline, Structure, Survey, load_demo_survey
from synthpop.runfiles.demo import demo_runfile

N_HOUSEHOLDS, N_REFITS = 700, 60


def survey_of(seed: int, n_households: int = N_HOUSEHOLDS) -> Survey:
    """Return a survey whose variables hang together: sex, education, job, income."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 3], n_households, p=[0.4, 0.4, 0.2])
    household = np.repeat(np.arange(n_households), size)
    n = len(household)
    sex, edu = rng.choice(["f", "m"], n), rng.integers(1, 5, n)
    job = np.minimum(rng.poisson(0.4 * edu, n), 4)
    income = np.round(rng.lognormal(9 + 0.2 * edu + 0.1 * job, 0.5), 2)
    data = pd.DataFrame({
        "hid": household, "w": np.repeat(rng.uniform(20, 60, n_households), size),
        "age": rng.integers(16, 80, n), "sex": sex, "edu": edu.astype(str),
        "job": job.astype(str), "income": income,
    })  # fmt: skip
    return Survey(data, weight="w", household="hid")


def honest(seed: int) -> Pipeline:
    """Return one of the recipes that copy nobody."""
    rng = np.random.default_rng(seed)
    pooling = float(rng.choice([100.0, 1000.0, np.inf]))
    model = str(rng.choice(["multinomial", "empirical"]))
    given = [["sex"], ["sex", "edu"]][int(rng.integers(2))]
    within = str(rng.choice(["steps", "uniform"]))
    method = Binned(within_class=within, tail="gpd", upper=1e6)
    return Pipeline([
        Structure(["sex"]),
        Categorical("edu", predictors=["sex"], model=model, pooling=pooling),
        Categorical("job", predictors=given, model=model, pooling=pooling),
        Continuous("income", predictors=["edu"], method=method, pooling=pooling),
    ])  # fmt: skip


def leaking(kind: str) -> tuple[Pipeline, str]:
    """Return a recipe with one stage that gives respondents away, and its label."""
    edu = Categorical("edu", predictors=["sex"], pooling=1000.0)
    tree = DecisionTreeClassifier(min_samples_leaf=1, random_state=0)
    if kind == "copier":
        return Pipeline([Structure(["sex", "age", "job", "income"]), edu]), "structure"
    if kind == "pmm":
        income = Continuous("income", method="pmm", predictors=["edu"], pooling="none")
        return Pipeline([Structure(["sex"]), edu, income]), "continuous income"
    job = Categorical("job", predictors=["sex", "edu", "age"], model=tree, pooling="none")
    return Pipeline([Structure(["sex", "age"]), edu, job]), "categorical job"


def run_honest(n: int = 40) -> None:
    named = []
    for seed in range(n):
        result = audit(honest(seed), survey_of(1000 + seed), n_refits=N_REFITS, seed=seed)
        best = max(one.strongest.at_one_percent.lower for one in result.groups if one.strongest)
        named += [seed] if result.leaking else []
        print(f"honest {seed}: {result.leaking} {best:.3f} epsilon {result.epsilon:.2f}",
              flush=True)  # fmt: skip
    print(f"named: {len(named)} of {n}")


def run_leaking() -> None:
    for kind in ("copier", "pmm", "tree"):
        for seed in range(5):
            recipe, label = leaking(kind)
            result = audit(recipe, survey_of(seed), n_refits=40, seed=seed)
            found = {one.stage: one for one in result.groups}[label]
            assert found.strongest is not None
            rate = found.strongest.at_one_percent
            print(f"{kind} {seed}: {result.leaking} {rate.value:.2f} ({rate.lower:.2f} to "
                  f"{rate.upper:.2f}) epsilon {found.epsilon:.2f}", flush=True)  # fmt: skip


def run_cost(n_refits: int = 200) -> None:
    survey, recipe = load_demo_survey(), demo_runfile().pipeline()
    started = time.process_time()
    recipe.fit(survey, seed=1)
    first = time.process_time() - started
    started = time.process_time()
    result = audit(recipe, survey, n_refits=n_refits, seed=1)
    whole = time.process_time() - started
    print(f"cost: {whole:.0f} processor seconds for {n_refits} refits, of which fit {first:.1f}")
    print(result.summary())


if __name__ == "__main__":
    jobs = {"honest": run_honest, "leaking": run_leaking, "cost": run_cost}
    for what in sys.argv[1:] or jobs:
        jobs[what]()
