"""Replicates that carry the uncertainty of the survey."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    Margin,
    Pipeline,
    PoolingOptions,
    Structure,
    Survey,
    write_report,
)
from synthpop.conditional.fallback import LevelFactors
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.pipeline import replicates as machinery
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.pipeline.learn import Earlier
from synthpop.pipeline.replicates import BootstrapReplicates, resampled
from synthpop.population.run_key import read_key
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame

pytestmark = pytest.mark.usefixtures("one_key")

STAGES = [
    Structure(["age", "sex"]),
    Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120]),
    Categorical("status", predictors=["age_class", "sex"], pooling="complete"),
]


def small_fit(frame: pd.DataFrame | None = None, **roles: str) -> FittedPipeline:
    frame = small_frame(150) if frame is None else frame
    return Pipeline(STAGES).fit(Survey(frame, **{**ROLES, **roles}), seed=1)


def retired(population) -> float:  # type: ignore[no-untyped-def]
    return float((population.frame(["status"])["status"] == "retired").mean())


def test_the_spread_is_the_sampling_error_and_not_the_noise_of_the_simulation() -> None:
    fitted = small_fit()
    bootstrap = list(fitted.replicates(25, refit="bootstrap", seed=3))
    noise = [retired(p) for p in fitted.replicates(15, seed=3)]
    spread = np.std([retired(p) for p in bootstrap], ddof=1)
    survey = fitted.survey
    share = (survey.frame["status"] == "retired").to_numpy(dtype=float)
    from synthpop import indicators

    linear = indicators.mean(share, survey.weights).with_variance(survey=survey).standard_error
    assert spread == pytest.approx(linear, rel=0.35)
    assert np.std(noise, ddof=1) < 0.4 * linear
    assert np.std([p.n_persons for p in bootstrap]) > 5
    totals = [resampled(survey, np.random.default_rng(k)).weights.sum() for k in range(25)]
    assert np.std([p.n_persons for p in bootstrap]) == pytest.approx(np.std(totals), rel=0.5)


def test_replicates_take_over_how_strongly_strata_are_held() -> None:
    step = Categorical("status", predictors=["age_class", "sex"])
    fitted = Pipeline([*STAGES[:2], step]).fit(Survey(small_frame(150), **ROLES), seed=1)
    chosen = fitted.pooling["categorical status"]
    sample = BootstrapReplicates(fitted, fitted.refit, 1, (), {}, None).survey(1)
    again, same = fitted.refit(sample, seed=9), fitted.refit(sample, seed=9, same_pooling=True)
    assert chosen.chosen == "cross-validated"
    assert same.pooling["categorical status"] == chosen
    assert again.pooling["categorical status"].scores != chosen.scores
    assert same.stages == again.stages == fitted.stages
    assert same.learned not in (again.learned, fitted.learned)


def test_replicates_start_from_the_factors_of_the_fit() -> None:
    frame = small_frame(150)
    steps = [
        *STAGES[:2],
        Categorical("status", ["age_class"], by_household="sequential", pooling="complete"),
        Continuous("income", predictors=["status"], means_by="status", pooling="complete"),
    ]
    fitted = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1)
    part = fitted.refit(Survey(frame.replace({"status": {"idle": "works"}}), **ROLES), seed=2)
    digits = partial(Earlier(fitted.models, fitted.sample).digits, part.sample)
    assert part.sample.fields["status"].levels == ("retired", "works")
    assert digits("status").tolist() == [0, 2, 3]
    # classes of a category by name, of first and other members
    factors = np.arange(8.0).reshape(2, 4)
    earlier = with_factors(fitted.models[2], factors=factors)
    start = fitted.stages[2].calibrate_as(part.models[2], earlier, digits)
    assert start.sequence.factors.tolist() == factors[:, [0, 2, 3]].tolist()
    # classes of a number by the mean of the class in the group
    known = fitted.models[3].means.class_means
    rising = LevelFactors(fitted.models[3].means.term, 1.0 + np.nan_to_num(known) / 1e6)
    earlier = with_factors(fitted.models[3], level_factors=rising)
    start = fitted.stages[3].calibrate_as(part.models[3], earlier, digits)
    means = part.models[3].means.class_means[2, 1:].clip(known[3, 1:].min(), known[3, 1:].max())
    np.testing.assert_allclose(start.sequence.level_factors.factors[2, 1:], 1.0 + means / 1e6)


def with_factors(model, **factors):  # type: ignore[no-untyped-def]
    return replace(model, sequence=replace(model.sequence, **factors))


def test_manifest_and_summary_say_what_the_replicates_show(tmp_path: Path) -> None:
    fitted = small_fit()
    plain = next(iter(fitted.replicates(1)))
    assert "noise of the simulation only" in plain.summary()
    assert plain.manifest.identity.replicate["number"] == 1
    full = next(iter(fitted.replicates(1, refit="bootstrap", out=tmp_path / "r")))
    assert "uncertainty of the survey" in full.summary()
    record = full.manifest.identity.replicate
    assert (record["refit"], record["number"]) == ("bootstrap", 1)
    assert record["seed"].startswith("sealed:")
    stored = read_key(tmp_path / "r" / "replicate-0001")
    assert stored is not None
    assert stored[1]["seed_of_replicates"] == 1
    assert fitted.simulate().manifest.identity.replicate is None


def test_the_page_says_what_a_replicate_shows(tmp_path: Path) -> None:
    fitted = small_fit()
    population = next(iter(fitted.replicates(1)))
    write_report(tmp_path / "r.html", survey=fitted.derived_survey(), population=population)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "It is replicate 1: replicates of one fit show the noise of the simulation only" in page


@pytest.mark.slow  # workers make replicates in processes of their own
def test_workers_change_nothing() -> None:
    call = {"refit": "bootstrap", "seed": 5, "scale": 0.5}
    one, two = ([p.frame() for p in small_fit().replicates(2, workers=n, **call)] for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert_same_frame(a, b)


def test_folder_and_number_change_nothing(tmp_path: Path) -> None:
    fitted = small_fit()
    call = {"refit": "bootstrap", "seed": 5, "scale": 0.5}
    one = [p.frame() for p in fitted.replicates(2, **call)]
    disk = [p.frame() for p in fitted.replicates(1, out=tmp_path / "r", **call)]
    assert_same_frame(one[0], disk[0])
    assert not one[0].equals(one[1])
    other = next(iter(fitted.replicates(1, refit="bootstrap", seed=6, scale=0.5)))
    assert not one[0].equals(other.frame())
    whole = next(iter(fitted.replicates(1, refit="bootstrap", seed=5)))
    assert whole.n_persons > 1.5 * len(one[0])


def test_finished_replicates_are_not_learned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = small_fit()
    call = {"refit": "bootstrap", "seed": 5, "scale": 0.5, "out": tmp_path / "r"}
    first = [p.frame() for p in fitted.replicates(2, **call)]
    numbers: list[int] = []
    learn = BootstrapReplicates._refitted

    def spy(self: BootstrapReplicates, number: int) -> FittedPipeline:
        numbers.append(number)
        return learn(self, number)

    monkeypatch.setattr(BootstrapReplicates, "_refitted", spy)
    again = [p.frame() for p in fitted.replicates(3, **call)]
    assert numbers == [3]
    assert_same_frame(first[1], again[1])
    for change in ({"scale": 0.4}, {"seed": 6}, {"margins": [known_margin()]}):
        with pytest.raises(OutputError, match="another run"):
            list(fitted.replicates(1, **{**call, **change}))
    towns = small_frame(150).assign(town=lambda f: f["hid"] // 3, country=1)
    other = small_fit(psu="town", design_strata="country", frame=towns)
    with pytest.raises(OutputError, match="another run"):
        list(other.replicates(1, **call))


def known_margin() -> Margin:
    return Margin(pd.DataFrame({"sex": ["f", "m"], "total": [2000.0, 1500.0]}))


def test_bootstrap_samples_meet_known_totals() -> None:
    fitted = small_fit()
    made = list(fitted.replicates(4, refit="bootstrap", margins=[known_margin()], seed=2))
    for population in made:
        counts = population.frame(["sex"])["sex"].value_counts()
        assert counts["f"] / counts["m"] == pytest.approx(2000 / 1500, rel=0.05)
        assert population.n_persons == pytest.approx(3500, rel=0.03)


def test_units_and_corrections_come_from_the_roles() -> None:
    frame = small_frame(150).assign(town=lambda f: f["hid"] // 5, share=1.0)
    rng = np.random.default_rng(1)
    towns = resampled(Survey(frame, weight="w", household="hid", psu="town"), rng)
    factor = (
        towns.weights
        / frame.set_index(["hid", "pid"])["w"]
        .reindex(pd.MultiIndex.from_frame(towns.frame[["hid", "pid"]]))
        .to_numpy()
    )
    spread = pd.Series(factor).groupby(towns.frame["town"]).agg(np.ptp)
    assert spread.max() < 1e-9
    census = Survey(frame, weight="w", household="hid", fpc="share")
    np.testing.assert_allclose(resampled(census, rng).weights, census.weights)
    double = frame.assign(hw=frame["w"] * 2)
    other = resampled(Survey(double, weight="w", household="hid", household_weight="hw"), rng)
    np.testing.assert_allclose(other.frame["hw"], 2 * other.frame["w"])


def test_a_sample_that_cannot_be_learned_from_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = small_fit()
    attempts = []
    draw = BootstrapReplicates.survey

    def fails(self: BootstrapReplicates, number: int, attempt: int = 0) -> Survey:
        attempts.append((number, attempt))
        if attempt < 2:
            raise InputError("calibrate", [])
        return draw(self, number, attempt)

    monkeypatch.setattr(BootstrapReplicates, "survey", fails)
    assert next(iter(fitted.replicates(1, refit="bootstrap"))).n_persons > 0
    assert attempts == [(1, 0), (1, 1), (1, 2)]
    monkeypatch.setattr(machinery, "MOST_ATTEMPTS", 2)
    with pytest.raises(InputError, match="2 bootstrap samples cannot be calibrated"):
        list(fitted.replicates(1, refit="bootstrap"))


@pytest.mark.parametrize("method", ["regression", "tree", "poisson", "pmm"])
def test_amounts_of_every_method_are_learned_from_a_bootstrap_sample(method: str) -> None:
    frame = small_frame(150).assign(jobs=lambda f: np.arange(len(f)) % 4)
    name = "jobs" if method == "poisson" else "income"
    step = Continuous(name, method, predictors=["age_class", "sex"], pooling="complete")
    fitted = Pipeline([*STAGES, step]).fit(Survey(frame, **ROLES), seed=1)
    one, two = (p.frame([name])[name].mean() for p in fitted.replicates(2, refit="bootstrap"))
    assert one != two
    assert one == pytest.approx(frame[name].mean(), rel=0.4)


def test_refit_learns_the_recipe_from_another_survey() -> None:
    fitted = small_fit()
    survey = Survey(small_frame(150, seed=7), **ROLES)
    refitted = fitted.refit(survey)
    assert refitted.seed == fitted.seed
    direct = Pipeline(STAGES).fit(survey, seed=1)
    assert_same_frame(refitted.simulate().frame(), direct.simulate().frame())


def test_faults() -> None:
    fitted = small_fit()
    with pytest.raises(InputError) as caught:
        fitted.replicates(0, refit="jackknife", margins=[3], scale=-1.0)  # type: ignore[list-item]
    assert len(caught.value.faults) == 4
    with pytest.raises(InputError, match="change nothing without refit"):
        fitted.replicates(2, margins=[known_margin()])
    torn = small_frame(150).assign(town=lambda f: np.arange(len(f)) // 3, country=1)
    with pytest.raises(InputError, match="differs between the members"):
        small_fit(torn, psu="town", design_strata="country").replicates(2, refit="bootstrap")


def test_pooling_that_is_given_is_fitted_again_to_the_coarser_tolerance() -> None:
    given = PoolingOptions(100.0, pairs=300.0)
    step = Categorical("status", predictors=["age_class", "sex"], pooling=given)
    fitted = Pipeline([*STAGES[:2], step]).fit(Survey(small_frame(150), **ROLES), seed=1)
    again, same = (fitted.refit(fitted.survey, same_pooling=flag) for flag in (False, True))
    sequences = [one.models[-1].sequence for one in (fitted, again, same)]
    assert sequences[0].pooled.sweeps == sequences[1].pooled.sweeps > sequences[2].pooled.sweeps
    assert sequences[2].pooling == sequences[0].pooling
    assert sequences[2].pooled.gap < 1e-4
