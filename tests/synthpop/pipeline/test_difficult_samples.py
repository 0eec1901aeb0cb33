"""A matrix of difficult samples and every way to model a variable: no traceback of a library.

Each recipe yields a population, with fallbacks recorded where a sample is too sparse, or says in
one `InputError` why it cannot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from synthpop import (
    Anneal,
    Categorical,
    Components,
    Continuous,
    CorrectHeaping,
    Derive,
    Distribute,
    Margin,
    Pipeline,
    Population,
    Relation,
    Structure,
    Survey,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.stages.gibbs import GibbsPass
from synthpop.stages.impute import Impute
from tests.continuous import continuous
from tests.small import ROLES, small_frame
from tests.synthpop.pipeline.test_recipe import (
    DIFFICULT,
    all_missing,
    all_zero,
    many_levels,
    tiny_stratum,
)

AGE = Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120])


def constant(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(status="works", income=500.0, sex="f")


def level_of_one_stratum(frame: pd.DataFrame) -> pd.DataFrame:
    """A level of a predictor that one stratum alone has, and one that one person alone has."""
    sex = frame["sex"].where(frame["region"] != "west", "x")
    sex.iloc[0] = "alone"
    return frame.assign(sex=sex)


def categorical_types(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        sex=pd.Categorical(frame["sex"], ["m", "f", "never"], ordered=True),
        status=frame["status"].astype("category"),
        region=frame["region"].cat.as_ordered(),
    )


def text_types(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        sex=frame["sex"].astype("string[pyarrow]"),
        status=frame["status"].astype("string"),
        region=frame["region"].astype("string"),
        hid=frame["hid"].map("household {}".format).astype("string"),
    )


def arrow_types(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.convert_dtypes(dtype_backend="pyarrow")


def true_and_false(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(sex=frame["sex"] == "f", status=frame["status"].eq("works"))


DAMAGES: list[Callable[[pd.DataFrame], pd.DataFrame]] = [
    *DIFFICULT,
    constant,
    level_of_one_stratum,
    categorical_types,
    text_types,
    arrow_types,
    true_and_false,
]
QUICK_FOREST = RandomForestClassifier(5, min_samples_leaf=5, random_state=1)


def damaged(damage: Callable[[pd.DataFrame], pd.DataFrame]) -> Survey:
    """A small sample with the damage; 300 levels need as many persons."""
    frame = damage(small_frame(125 if damage is many_levels else 40)).reset_index(drop=True)
    head = frame["pid"].astype(int) == 1
    frame["role"] = np.where(head, "head", "member")
    whole = pd.to_numeric(frame["income"], errors="coerce").astype(float)
    frame["count"] = (whole.abs() / 5000).round()
    return Survey(frame, **ROLES)


def run(survey: Survey, *stages: Any) -> Population:
    base = [Structure(["age", "sex", "role"]), AGE]
    return Pipeline([*base, *stages]).fit(survey, seed=1).simulate(scale=0.5)


def levels(survey: Survey, name: str) -> set[Any]:
    return set(survey.frame[name].dropna().astype(object))


def every_sample(number: int, but: Any = None) -> pytest.MarkDecorator:
    """Every damage in the slow suite; the quick one has every sixth, others for the next test."""
    damages = [
        damage if (k + number) % 6 == 0 else pytest.param(damage, marks=pytest.mark.slow)
        for k, damage in enumerate(DAMAGES)
        if damage is not but
    ]
    return pytest.mark.parametrize("damage", damages, ids=lambda f: f.__name__)


# warnings of scikit-learn about many levels in few rows, and of a classifier of the user's own
pytestmark = [
    pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning"),
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning:sklearn"),
]


@every_sample(1, but=many_levels)  # see tests/synthpop/pipeline/test_recipe.py
def test_categorical(damage: Any) -> None:
    """Every model, each for a copy of the variable, and numbers by their values."""
    survey = damaged(damage)
    given = ["age_class", "sex", "size"]
    stages = []
    for number, model in enumerate(MODELS):
        survey = survey.with_column(f"v{number}", survey.frame["status"])
        stages.append(Categorical(f"v{number}", predictors=given, model=model))
    for model in ("multinomial", "tree"):
        survey = survey.with_column(model, survey.frame["status"])
        stages.append(Categorical(model, predictors=["age", "sex"], model=model, numeric="values"))
    for number, model in enumerate(("multinomial", "empirical", "tree")):
        survey = survey.with_column(f"head{number}", survey.frame["status"])
        stages.append(
            Categorical(f"head{number}", predictors=given, model=model, by_household="first")
        )
        survey = survey.with_column(f"by{number}", survey.frame["status"])
        stages.append(Categorical(f"by{number}", predictors=given, model=model, by="role"))
    population = run(survey, *stages)
    people, known = population.frame(), levels(survey, "status")
    for stage in stages:
        assert set(people[stage.provides[0]].dropna().astype(object)) <= known
        if damage is tiny_stratum and stage.by is None:
            notes = [item.what for item in population.fallbacks if item.stage == stage.label]
            assert any("pooled over strata" in what for what in notes)


MODELS = ["multinomial", "empirical", "tree", QUICK_FOREST, "boosting", GaussianNB()]


WAYS: dict[str, dict[str, Any]] = {
    "binned": {},
    "gpd": {"tail": "gpd"},
    "pareto": {"tail": "pareto", "upper": 1e6},
    "values": {"numeric": "values"},
    "regression": {"method": "regression"},
    "log": {"method": "regression", "log": True},
    "normal": {"method": "regression", "residuals": "normal"},
    "binned+regression": {"method": "binned+regression"},
    "pmm": {"method": "pmm"},
    "forest": {"method": RandomForestRegressor(5, min_samples_leaf=5, random_state=1)},
    "regressor": {"method": LinearRegression()},
    "sum": {"by_household": "sum"},
    "shared": {"by_household": "shared"},
    "first": {"by_household": "first"},
    "head, gpd": {"by_household": "first", "tail": "gpd"},
    "head, values": {"by_household": "first", "numeric": "values"},
    "head, regression": {"by_household": "first", "method": "regression", "log": True},
    "head, pmm": {"by_household": "first", "method": "pmm"},
    "by": {"by": "role"},
    "by, regression": {"by": "role", "method": "regression", "by_household": "first"},
}


def quick_part(damage: Any) -> list[str]:
    """Every third way, others for the next sample."""
    return [*WAYS][DAMAGES.index(damage) % 3 :: 3]


@every_sample(2)
@pytest.mark.parametrize(
    "part", ["some", pytest.param("all", marks=pytest.mark.slow)], ids=lambda part: f"{part} ways"
)
def test_continuous(damage: Any, part: str) -> None:
    """Every method, each for a copy of the variable."""
    survey, stages = damaged(damage), []
    ways = quick_part(damage) if part == "some" else [*WAYS]
    for way in ways:
        options = WAYS[way]
        survey = survey.with_column(way, survey.frame["income"])
        given = ["age", "sex"] if "values" in way else ["age_class", "sex"]
        stages.append(continuous(way, predictors=given, **options))
    people = run(survey, *stages).frame()
    observed = survey.frame["income"].to_numpy(dtype=float, na_value=np.nan)
    for way in ways:
        values = people[way].to_numpy(dtype=float, na_value=np.nan)
        assert not np.isinf(values).any(), way
        if np.isnan(observed).all():
            assert np.isnan(values).all(), way
        elif damage is all_zero:
            assert set(np.unique(values[~np.isnan(values)])) <= {0.0}, way


@every_sample(3)
def test_counts(damage: Any) -> None:
    survey, stages = damaged(damage), []
    for method in ("poisson", "negative-binomial"):
        for zeros, form in ((True, None), (None, None), (None, "first")):
            name = f"{method} {zeros} {form}"
            survey = survey.with_column(name, survey.frame["count"])
            stages.append(
                continuous(name, method=method, predictors=["sex"], zeros=zeros, by_household=form)
            )
    people = run(survey, *stages).frame()
    for stage in stages:
        values = people[stage.name].dropna().to_numpy(dtype=float)
        assert (values == np.round(values)).all()
        assert (values >= 0).all()


@every_sample(4)
def test_relation(damage: Any) -> None:
    """Every model, and values handed on."""
    survey, stages = damaged(damage), []
    there = "member" in set(survey.frame["role"])
    quick = ("multinomial", "empirical", "tree")
    jobs = [*((model, []) for model in quick), ("multinomial", ["member"] if there else [])]
    for number, (model, direct) in enumerate(jobs):
        survey = survey.with_column(f"v{number}", survey.frame["status"])
        stages.append(
            Relation(f"v{number}", relationship="role", head="head", direct=direct, model=model,
                     predictors=["sex"])
        )  # fmt: skip
    people, known = run(survey, *stages).frame(), levels(survey, "status")
    for stage in stages:
        assert set(people[stage.name].dropna().astype(object)) <= known
    if there:
        assert (people.groupby("hid")[stages[-1].name].nunique(dropna=False) == 1).all()


@every_sample(5)
def test_components(damage: Any) -> None:
    survey = damaged(damage)
    frame = survey.frame.copy()
    total, wage = (pd.to_numeric(frame[x]).astype(float) for x in ("income", "wage"))
    wage = wage.where(wage.notna() | total.isna(), 0.0)
    frame["income"], frame["wage"], frame["other"] = total, wage, total - wage
    survey = Survey(frame, **ROLES)
    stages = [
        Continuous("income", predictors=["sex"]),
        Components("income", parts=["wage", "other"], by=["sex", "income"]),
    ]
    if total.isna().all() or (total.dropna() == 0).all():
        with pytest.raises(InputError, match="there are no fractions"):
            run(survey, *stages)
        return
    people = run(survey, *stages).frame()
    gap = people["wage"] + people["other"] - people["income"]
    assert (gap.abs().dropna() <= 1e-6 * people["income"].abs().clip(lower=1).dropna()).all()


@every_sample(6)
def test_revisit(damage: Any) -> None:
    survey = damaged(damage)
    survey = survey.with_column("other", survey.frame["role"].astype(str) + "!")
    population = run(
        survey,
        Categorical("status", predictors=["sex"]),
        Categorical("other", predictors=["sex", "status"]),
        GibbsPass(["status", "other"], passes=2),
    )
    assert set(population.frame()["other"].dropna().astype(object)) <= levels(survey, "other")


@every_sample(7)
def test_steps_before_and_behind(damage: Any) -> None:
    """Heaps corrected, areas given, known totals met, in one recipe."""
    survey = damaged(damage)
    regions = pd.unique(survey.frame["region"].astype(object))
    areas = pd.DataFrame(
        [
            {"region": region, "area": f"{region} {k}", "total": 10.0}
            for region in regions
            for k in (1, 2)
        ]
    )
    plain = Pipeline([CorrectHeaping("age"), Structure(["age", "sex"])]).fit(survey, seed=1)
    people = plain.simulate(scale=0.5).frame()
    totals = people.groupby("sex", observed=True).size().rename("total").reset_index()
    population = (
        Pipeline(
            [
                CorrectHeaping("age"),
                Structure(["age", "sex"]),
                Distribute("area", within="region", margins=Margin(areas, level="household")),
                Anneal(Margin(totals)),
            ]
        )
        .fit(survey, seed=1)
        .simulate(scale=0.5)
    )
    assert population.frame()["area"].notna().all()


@every_sample(8)
def test_imputation(damage: Any) -> None:
    survey = damaged(damage)
    recipe = Pipeline(
        [Impute(["status"], given=["sex"]), Structure(["age", "sex"]), Categorical("status")]
    )
    status = recipe.fit(survey, seed=1).simulate(scale=0.5).frame()["status"]
    assert status.isna().all() == survey.frame["status"].isna().all()


@every_sample(9)
def test_structure(damage: Any) -> None:
    survey = damaged(damage)
    for method in ("direct", "distribution"):
        fitted = Pipeline([Structure(["age", "sex", "role"], method=method)]).fit(survey, seed=1)
        frame = fitted.simulate(scale=2).frame()
        sizes = frame.groupby(ROLES["household"])["size"].agg(["first", "size"])
        assert (sizes["first"].astype(int) == sizes["size"]).all()


def test_all_missing_is_in_the_matrix() -> None:
    assert all_missing in DAMAGES
    assert len({damage.__name__ for damage in DAMAGES}) == len(DAMAGES) >= 19
