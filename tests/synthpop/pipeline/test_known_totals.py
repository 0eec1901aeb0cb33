"""Known totals as one step: coarse weights, households exchanged, nearer to the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    Margin,
    Pipeline,
    Structure,
    Survey,
    dump_runfile,
    load_runfile,
    run,
)
from synthpop.microdata.messages.errors import InputError, RunFileError
from synthpop.pipeline.known_totals import coarse_margins
from tests.small import ROLES, small_frame

STAGES = [
    Structure(["age", "sex"]),
    Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120]),
    Categorical("status", predictors=["age_class", "sex"]),
    Continuous("income", predictors=["status"]),
]


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    """The country that a sample is drawn from; ages depend on the region."""
    frame = small_frame(4000, seed=5)
    frame["age_class"] = pd.cut(frame["age"], [-1, 15, 39, 64, 120]).cat.codes
    return frame


@pytest.fixture(scope="module")
def survey(truth) -> Survey:
    chosen = np.random.default_rng(3).choice(truth["hid"].unique(), 400, replace=False)
    frame = truth[truth["hid"].isin(chosen)].drop(columns="age_class")
    return Survey(frame.assign(w=10.0).reset_index(drop=True), **ROLES)


def counts(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame.groupby(list(columns), observed=True).size().rename("total").reset_index()


@pytest.fixture(scope="module")
def margins(truth, survey) -> list[Margin]:
    classes = Pipeline(STAGES[:2]).fit(survey, seed=1).simulate().frame(["age_class"])
    levels = classes["age_class"].cat.categories
    known = truth.assign(age_class=pd.Categorical.from_codes(truth["age_class"], levels))
    heads = truth.drop_duplicates("hid")
    return [
        Margin(counts(known, "region", "age_class", "sex")),
        Margin(counts(heads, "region", "size"), level="household"),
    ]


def test_totals_are_met_exactly_and_amounts_are_drawn_afterwards(survey, margins) -> None:
    fitted = Pipeline(STAGES, known_totals=margins).fit(survey, seed=1)
    order = [step.label.partition(" ")[0] for step in fitted.steps]
    assert order == ["structure", "derive", "anneal", "categorical", "continuous"]
    population = fitted.simulate()
    people = population.frame()
    known = margins[0].frame.set_index(["region", "age_class", "sex"])["total"]
    fresh = people.groupby(["region", "age_class", "sex"], observed=True).size()
    assert (fresh.reindex(known.index).fillna(0) == known).all()
    heads = people.drop_duplicates("hid").groupby(["region", "size"], observed=True).size()
    sizes = margins[1].frame.set_index(["region", "size"])["total"]
    assert (heads.reindex(sizes.index).fillna(0) == sizes).all()
    record = population.manifest.prepared[0]
    assert record.details["calibrated"] == [
        "persons by region x age_class",
        "persons by region x sex",
        "households by region",
        "households by size",
    ]
    assert 1.0 < record.details["design_effect"] < 1.3
    assert not fitted.survey.frame["w"].eq(10.0).all()
    assert fitted.survey.frame.columns.tolist() == survey.frame.columns.tolist()


def test_other_tables_come_nearer_to_the_truth(survey, margins, truth) -> None:
    def distance(people: pd.DataFrame) -> float:
        pairs = []
        for columns in (["region", "status"], ["size", "status"], ["sex", "size"]):
            tables = [f.assign(status=f["status"].astype(str)).groupby(columns, observed=True)
                      .size() / len(f) for f in (truth, people)]  # fmt: skip
            pairs.append(tables[0].sub(tables[1], fill_value=0).abs().sum() / 2)
        return float(np.mean(pairs))

    plain = Pipeline(STAGES).fit(survey, seed=1).simulate().frame()
    known = Pipeline(STAGES, known_totals=margins).fit(survey, seed=1).simulate().frame()
    assert distance(known) < 0.85 * distance(plain)


def test_what_is_derived_from_simulated_amounts_is_no_hindrance(survey, margins) -> None:
    steps = [*STAGES, Derive("hincome", expression="sum(income)")]
    steps.append(Derive("class", expression="sum(income)", breaks=[-1e9, 1e4, 1e9]))
    plain = Pipeline(STAGES, known_totals=margins).fit(survey, seed=1)
    fitted = Pipeline(steps, known_totals=margins).fit(survey, seed=1)
    assert fitted.prepared == plain.prepared
    assert fitted.simulate().manifest.steps[0].converged
    # a table of a class that is derived from an amount, of which the survey has both
    totals = 10 * fitted.derived_survey().frame["class"].value_counts().rename("total")
    named = Pipeline(steps, known_totals=[Margin(totals)]).fit(survey, seed=1)
    assert named.prepared[0].details["calibrated"] == ["persons by class"]
    assert named.simulate().manifest.steps[0].converged


@pytest.mark.parametrize("scale", [0.1, 0.45, 2.0])
def test_totals_of_the_country_are_scaled_with_the_population(survey, margins, scale) -> None:
    fitted = Pipeline(STAGES, known_totals=margins).fit(survey, seed=1)
    population = fitted.simulate(scale=scale)
    step, record = population.manifest.steps[0], population.manifest.prepared[0].details
    assert step.converged
    exact = scale == 2
    assert ("Every cell is met exactly" if exact else "the accepted gaps") in step.summary
    assert (record["scale"], record["factor"]) == (scale, scale)
    given = [scale * total for margin in margins for total in margin.targets]
    np.testing.assert_allclose(step.margins["target"], given)
    people = population.frame()
    for margin, rows in zip(margins, (people, people.drop_duplicates("hid")), strict=True):
        known = margin.frame.set_index(list(margin.columns))["total"] * scale
        fresh = rows.groupby(list(margin.columns), observed=True).size()
        gaps = (fresh.reindex(known.index).fillna(0) - known).abs()
        assert gaps.mean() < 0.75
        assert gaps.max() < 3
    page = "".join(str(part) for part in totals_page(population))
    assert f"scaled with the population, by {scale:g}" in page
    whole = fitted.simulate()
    assert "scale" not in whole.manifest.prepared[0].details


def totals_page(population) -> list:  # type: ignore[no-untyped-def]
    from synthpop.report.totals import PREPARED

    return [PREPARED[step.stage](step, None, False) for step in population.manifest.prepared]


def test_totals_of_the_scaled_population_are_taken_as_they_are(survey, margins) -> None:
    tenth = [Margin(m.frame.assign(total=m.frame["total"] * 0.1), level=m.level) for m in margins]
    fitted = Pipeline(STAGES, known_totals=tenth).fit(survey, seed=1)
    population = fitted.simulate(scale=0.1)
    assert population.manifest.steps[0].converged
    record = population.manifest.prepared[0].details
    assert (record["scale"], record["factor"]) == (0.1, 1.0)
    assert record["size"] == pytest.approx(0.1, rel=0.1)
    assert population.n_persons == pytest.approx(tenth[0].targets.sum(), abs=5)
    assert "as those of a population of scale 0.1" in str(totals_page(population))
    with pytest.raises(InputError, match=r"known_totals: add up to .* times what the weights"):
        fitted.simulate(scale=0.5)
    ones = Survey(survey.frame.assign(w=1.0), **ROLES)  # weights that do not stand for the country
    scaled = Pipeline(STAGES, known_totals=margins).fit(ones, seed=1).simulate(scale=0.1)
    assert scaled.n_persons == pytest.approx(tenth[0].targets.sum(), abs=5)


def test_a_recipe_with_its_own_anneal_is_refused(survey, margins) -> None:
    from synthpop import Anneal

    with pytest.raises(InputError, match="known_totals: are given, and the recipe has a step"):
        Pipeline([*STAGES, Anneal(margins)], known_totals=margins).fit(survey, seed=1)


def test_tables_that_contradict_each_other_leave_what_can_be_met(survey, margins) -> None:
    wrong = margins[1].frame.assign(total=margins[1].frame["total"] * 3)
    fitted = Pipeline(
        STAGES, known_totals=[margins[0], Margin(wrong, level="household")]
    ).fit(survey, seed=1)  # fmt: skip
    assert fitted.prepared[0].details["calibrated"][0] == "persons by region x age_class"
    with pytest.raises(InputError, match="the known totals ask for"):
        fitted.simulate()


def test_a_small_sample_is_calibrated_to_single_variables(truth) -> None:
    few = truth[truth["hid"].isin(truth["hid"].unique()[:60])]
    fine = Margin(counts(truth, "region", "age_class", "sex"))
    everybody = np.ones(len(few), dtype=bool)
    labels = [m.label for m in coarse_margins(few, [fine], "region", everybody)]
    assert "persons by sex" in labels or "persons by region x sex" in labels
    assert fine.label not in labels
    income = Margin(truth.groupby("region")["income"].sum().rename("total"), variable="income")
    assert list(coarse_margins(few, [income], "region", everybody)) == []


TEXT = """
known_totals = [{file = "ages.csv"}, {file = "sizes.csv", level = "household"}]
[survey]
file = "survey.parquet"
weight = "w"
household = "hid"
household_size = "size"
strata = "region"
person = "pid"
[run]
seed = 1
[[stage]]
type = "structure"
variables = ["age", "sex"]
[[stage]]
type = "categorical"
name = "status"
predictors = ["sex"]
"""


def test_run_files_take_known_totals(survey, margins, truth, tmp_path) -> None:
    survey.frame.to_parquet(tmp_path / "survey.parquet")
    counts(truth, "region", "sex").to_csv(tmp_path / "ages.csv", index=False)
    margins[1].frame.to_csv(tmp_path / "sizes.csv", index=False)
    (tmp_path / "run.toml").write_text(TEXT)
    plan = load_runfile(tmp_path / "run.toml")
    population = run(plan)
    assert population.manifest.steps[0].converged
    assert (population.n_persons, population.n_households) == (len(truth), truth["hid"].nunique())
    (tmp_path / "again.toml").write_text(dump_runfile(plan))
    assert load_runfile(tmp_path / "again.toml").known_totals == plan.known_totals
    (tmp_path / "run.toml").write_text(TEXT.replace("sizes.csv", "nowhere.csv"))
    with pytest.raises(RunFileError, match=r"\[\[known_totals\]\] 2 .*there is no such file"):
        load_runfile(tmp_path / "run.toml")
