"""A second pass over variables: what it mends, what it keeps, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    GibbsPass,
    Pipeline,
    PoolingOptions,
    Relation,
    Structure,
    Survey,
    dump_runfile,
    load_runfile,
)
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import survey_data
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame

pytestmark = pytest.mark.usefixtures("one_key")

AGE_CLASS = Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120])
FIRST = Categorical(["one", "two", "three"], predictors="basic")


def triples(n: int = 900) -> pd.DataFrame:
    """Three variables, each going with the next, whatever age and sex are; children have none."""
    frame = small_frame(n)
    rng = np.random.default_rng(3)

    def near(values: np.ndarray) -> np.ndarray:
        return np.where(rng.random(len(frame)) < 0.85, values, rng.choice([*"pqr"], len(frame)))

    one = rng.choice([*"pqr"], len(frame), p=[0.5, 0.3, 0.2])
    two = near(one)
    adult = frame["age"] >= 16
    columns = {"one": one, "two": two, "three": near(two)}
    return frame.assign(**{k: pd.Series(v).where(adult) for k, v in columns.items()})


def survey_of(frame: pd.DataFrame) -> Survey:
    return Survey(frame, **ROLES)


def people(*steps, survey: Survey | None = None, seed: int = 4, scale: float = 3.0, **options):
    survey = survey or survey_of(triples())
    fitted = Pipeline([Structure(["age", "sex"]), AGE_CLASS, *steps]).fit(survey, seed=1)
    return fitted.simulate(seed=seed, scale=scale, **options)


def distance(frame: pd.DataFrame, *names: str) -> float:
    """Total variation distance of a table of the population from that of the sample."""
    sample = triples()
    keys = list(names)
    q = sample.groupby(keys, dropna=False)["w"].sum() / sample["w"].sum()
    plain = frame[keys].astype(object).where(frame[keys].notna(), None)
    p = plain.groupby(keys, dropna=False).size() / len(frame)
    return float(p.subtract(q, fill_value=0).abs().sum() / 2)


def test_pairs_that_no_step_looked_at_come_near_those_of_the_sample() -> None:
    first = people(FIRST).frame()
    again = people(FIRST, GibbsPass(["one", "two", "three"], passes=3)).frame()
    for pair in (("one", "two"), ("two", "three")):
        assert distance(first, *pair) > 0.2
        assert distance(again, *pair) < 0.04
    assert distance(again, "one", "two", "three") < distance(first, "one", "two", "three") / 4
    assert distance(again, "one", "sex") < 0.03
    assert again.columns.tolist() == first.columns.tolist()
    child = again["age"] < 16
    assert again.loc[child, ["one", "two", "three"]].isna().all(axis=None)
    assert again.loc[~child, ["one", "two", "three"]].notna().all(axis=None)


def test_passes_and_predictors_and_model_are_honoured() -> None:
    one = people(FIRST, GibbsPass(["one", "two"])).frame()
    two = people(FIRST, GibbsPass(["one", "two"], passes=2)).frame()
    assert (one["one"].astype(str) != two["one"].astype(str)).any()
    basic = people(FIRST, GibbsPass(["one", "two"], predictors="basic")).frame()
    assert distance(basic, "one", "two") < 0.1  # given each other, whatever predictors says
    assert distance(basic, "two", "three") > 0.2
    alone = people(FIRST, GibbsPass(["two"])).frame()
    assert distance(alone, "two", "three") < 0.2 < distance(people(FIRST).frame(), "two", "three")
    table = people(FIRST, GibbsPass(["one", "two"], model="empirical")).frame()
    assert (table["one"].astype(str) != one["one"].astype(str)).any()
    pooled = people(
        FIRST, GibbsPass(["one", "two"], pooling=PoolingOptions(smallest_stratum=10**6))
    )
    assert any("pooled" in f.what and "gibbs_pass" in f.stage for f in pooled.fallbacks)


def test_pooling_is_honoured_and_told() -> None:
    """A region whose sexes differ from those of the others keeps that, or gives it up."""
    frame = triples()
    p = np.where((frame["sex"] == "f") == (frame["region"] == "north"), 0.9, 0.1)
    frame["one"] = np.where(np.random.default_rng(5).random(len(frame)) < p, "p", "q")
    survey, first = survey_of(frame), Categorical("one", predictors=[])

    def gap(**options) -> float:
        made = people(
            first, GibbsPass(["one"], predictors=["sex"], **options), survey=survey
        ).frame()
        north, women = made["region"] == "north", made["sex"] == "f"
        has = made["one"] == "p"
        return float(has[north & women].mean() - has[north & ~women].mean())

    assert gap(pooling="none") > 0.6
    assert gap() > 0.5  # the default: as much pooling as cross-validation finds useful
    assert gap(pooling=np.inf) < 0.2
    assert gap(pooling="complete") < 0.2
    steps = [Structure(["age", "sex"]), first, GibbsPass(["one"], predictors=["sex"], pooling=7.0)]
    assert Pipeline(steps).fit(survey, seed=1).pooling["gibbs_pass one: one"].amount == 7.0
    steps[2] = GibbsPass(["one"], model="tree", pooling=7.0)
    assert Pipeline(steps).fit(survey, seed=1).pooling["gibbs_pass one: one"].way == "mixture"
    steps[2] = GibbsPass(["one"], pooling=-7.0)
    with pytest.raises(InputError, match="gibbs_pass one: pooling: is -7"):
        Pipeline(steps).fit(survey)


def test_numbers_by_their_values() -> None:
    frame = triples()
    rng = np.random.default_rng(6)
    old = rng.random(len(frame)) < 1 / (1 + np.exp(4 - frame["age"] / 10))
    frame["one"] = np.where(old, "p", "q")
    first = Categorical("one", predictors=[])
    survey = survey_of(frame[["hid", "pid", "size", "region", "age", "sex", "one", "w"]])
    given = {"predictors": ["age"]}

    def slope(*steps) -> float:
        """Rise of the share from 41 to 47, ages of one class of the default."""
        found = people(*steps, survey=survey, scale=8.0).frame()
        shares = [
            (found.loc[found["age"].between(a, a + 1), "one"] == "p").mean() for a in (41, 46)
        ]
        return float(shares[1] - shares[0])

    assert slope(first, GibbsPass(["one"], numeric="values", **given)) > 0.08
    assert abs(slope(first, GibbsPass(["one"], **given))) < 0.04


def test_variables_made_after_the_revised_one_count() -> None:
    frame = triples()
    income = np.where(frame["one"] == "p", 10.0, 20.0)
    frame["income"] = pd.Series(income).where(frame["one"].notna())
    steps = [Categorical("one", predictors="basic"), Continuous("income", predictors=["age_class"])]
    kept = people(*steps, survey=survey_of(frame)).frame()
    again = people(*steps, GibbsPass(["one"]), survey=survey_of(frame)).frame()

    def agreement(d: pd.DataFrame) -> float:
        adult = d[d["one"].notna()]
        return float(((adult["one"] == "p") == (adult["income"] <= 15)).mean())

    assert agreement(kept) < 0.7
    assert agreement(again) == 1.0
    pd.testing.assert_series_equal(kept["income"], again["income"])


def test_rules_are_kept_in_both_directions() -> None:
    own = {"levels": ["p"], "when": {"sex": ["f"]}}
    of_two = {"levels": ["q"], "when": {"one": ["r"]}}
    steps = [
        Categorical("one", predictors=["sex"], impossible=[own]),
        Categorical("two", predictors=["sex", "one"], impossible=[of_two]),
    ]
    for variables in (["one"], ["two"], ["one", "two"]):
        found = people(*steps, GibbsPass(variables, passes=2)).frame()
        assert not ((found["one"] == "p") & (found["sex"] == "f")).any()
        assert not ((found["two"] == "q") & (found["one"] == "r")).any()
        assert (found["two"] == "q").any()
        assert (found["one"] == "r").any()


def test_a_value_is_kept_where_no_model_has_an_answer() -> None:
    frame = triples()
    frame["three"] = frame["three"].where(~((frame["one"] == "p") & (frame["sex"] == "f")), "r")
    frame["three"] = frame["three"].where(~((frame["one"] == "q") & (frame["sex"] == "f")), "p")
    frame = frame[frame["age"] >= 16].drop(columns="size").reset_index(drop=True)
    roles = {k: v for k, v in ROLES.items() if k != "household_size"}
    model = GibbsPass(["two"], predictors=["sex", "one", "three"], model="empirical")
    steps = [Categorical("one", predictors=["sex"]), Categorical(["two", "three"], predictors=[])]
    before = people(*steps, survey=Survey(frame, **roles))
    after = people(*steps, model, survey=Survey(frame, **roles))
    notes = [f for f in after.fallbacks if f.what.endswith("the value is kept")]
    assert notes
    a, b = before.frame(), after.frame()
    absent = (b["sex"] == "f") & (b["one"] == "p") & (b["three"] != "r")
    assert absent.sum() > 0
    assert (a.loc[absent, "two"].astype(str) == b.loc[absent, "two"].astype(str)).all()
    assert sum(f.n_persons for f in notes) >= absent.sum()


@pytest.mark.parametrize("workers", [2, pytest.param("processes:2", marks=pytest.mark.slow)])
def test_workers_and_folders_hold_the_same(tmp_path, workers) -> None:
    steps = (FIRST, GibbsPass(["three", "one"]))
    one = people(*steps, rows_per_block=300, scale=0.4)
    two = people(*steps, rows_per_block=300, scale=0.4, workers=workers, out=tmp_path / "p")
    assert len(one.manifest.blocks) > 6
    assert_same_frame(one.frame(), two.frame())
    assert one.manifest.columns == two.manifest.columns


def test_it_is_part_of_the_identity_of_a_run() -> None:
    recipe = people(FIRST, GibbsPass(["one"], passes=2), scale=0.2).manifest.identity.recipe
    assert recipe[-1]["type"] == "gibbs_pass"
    assert recipe[-1]["passes"] == 2


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([FIRST, GibbsPass([])], "needs distinct variables"),
        ([FIRST, GibbsPass(["one", "one"])], "needs distinct variables"),
        ([FIRST, GibbsPass(["one"], passes=0)], "passes: is 0"),
        ([FIRST, GibbsPass(["one"], passes=1.5)], "passes: is 1.5"),  # type: ignore[arg-type]
        ([FIRST, GibbsPass(["one"], model="florest")], "Did you mean 'forest'?"),
        (
            [FIRST, GibbsPass(["one"], pooling=PoolingOptions(smallest_stratum=-1))],
            "is -1",
        ),
        ([FIRST, GibbsPass(["one"], numeric="value")], "numeric: 'value' is not allowed"),
        ([FIRST, GibbsPass(["one"], predictors=["income"])], "will not have it here"),
        ([FIRST, GibbsPass(["one"]), GibbsPass(["one"])], "more than once"),
        ([GibbsPass(["one"]), FIRST], "'one' is made by a later step"),
        ([FIRST, GibbsPass(["sex"])], "'sex' cannot be drawn again: structure makes it"),
        (
            [Categorical("one", by_household="shared"), GibbsPass(["one"])],
            "'one' is a variable of the household",
        ),
        ([FIRST, GibbsPass(["age_class"])], "derive age_class makes it"),
        (
            [FIRST, Derive("d", source="one", mapping={"p": "x"}), GibbsPass(["one"])],
            "derive d before it has used 'one'",
        ),
        (
            [FIRST, Relation("status", relationship="one", head="p"), GibbsPass(["one"])],
            "relation status before it has used 'one'",
        ),
    ],
)
def test_faults(steps: list, message: str) -> None:
    with pytest.raises(InputError) as caught:
        people(*steps)
    assert message in str(caught.value)


def test_the_way_to_a_run_file_and_back(tmp_path) -> None:
    text = """
[survey]
demo = true
[[stage]]
type = "structure"
variables = ["age"]
[[stage]]
type = "categorical"
name = ["pl030", "pb220a"]
predictors = "basic"
[[stage]]
type = "gibbs_pass"
variables = ["pl030", "pb220a"]
passes = 2
"""
    (tmp_path / "run.toml").write_text(text)
    plan = load_runfile(tmp_path / "run.toml")
    assert plan.stages[2] == GibbsPass(["pl030", "pb220a"], passes=2)
    dump_runfile(plan, tmp_path / "again.toml")
    assert load_runfile(tmp_path / "again.toml").stages == plan.stages


def test_status_and_citizenship_of_a_real_survey() -> None:
    """Independent given age and sex they are 0.024 apart from the survey; 0.005 is chance."""
    frame = survey_data("eusilcS")
    roles = {"weight": "rb050", "household": "db030", "household_size": "hsize", "strata": "db040"}
    given = ["age_class", "rb090", "hsize"]
    steps = [
        Structure(["age", "rb090"]),
        Derive("age_class", source="age", breaks=[-1, 15, 20, 30, 40, 50, 60, 70, 80, 100]),
        Categorical(["pl030", "pb220a"], predictors=given),
    ]
    survey = Survey(frame, household_weight="db090", **roles)
    again = GibbsPass(["pl030", "pb220a"], predictors=given)

    def gap(*recipe) -> float:
        people = Pipeline(recipe).fit(survey, seed=1).simulate(seed=2).frame()
        keys = ["pl030", "pb220a"]
        q = frame.groupby(keys, observed=True)["rb050"].sum()
        p = people.groupby(keys, observed=True).size()
        return float((p / p.sum()).subtract(q / q.sum(), fill_value=0).abs().sum() / 2)

    assert gap(*steps) > 0.018
    assert gap(*steps, again) < 0.008
