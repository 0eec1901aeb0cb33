"""assess_fit against reference values, against naive formulas, and each of its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop import Categorical, Components, Continuous, Derive, Pipeline, Structure, Survey
from synthpop.evaluation.assess_fit import FitReport, assess_fit
from synthpop.evaluation.factors import make_classes, make_factor
from synthpop.evaluation.grid import make_grid
from synthpop.evaluation.propensity import RIDGE, pmse_of_codes
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.text import short_percent
from synthpop.microdata.statistics import distances
from synthpop.microdata.statistics.logistic import Categories, fit_logistic
from tests.reference_data import golden, survey_data
from tests.same import assert_same_frame

pytestmark = pytest.mark.usefixtures("one_key")

ROLES = {"weight": "rb050", "strata": "db040", "household": "db030", "household_size": "hsize"}
AGE_LIMITS = [-2, 15, 30, 45, 60, 75, 100]
AGE_LABELS = ["0-15", "16-30", "31-45", "46-60", "61-75", "76+"]
PARTS = ["py010n", "py050n", "py090n", "py100n", "py110n", "py120n", "py130n", "py140n"]


def adults(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["age"] >= 16].copy()
    frame["agec"] = pd.cut(frame["age"], AGE_LIMITS, labels=AGE_LABELS)
    frame["hs5"] = frame["hsize"].clip(upper=5)
    return frame


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    """Metrics of the first seed, by population."""
    metrics = golden("pop", "g_simulation_per_seed.json")
    return {name: metrics[name]["1"] for name in ("cat_multinom", "conf_lm", "fullf")}


@pytest.fixture(scope="module")
def adult_survey() -> Survey:
    data = adults(survey_data("eusilcS"))
    return Survey(data, weight="rb050", strata="db040")


@pytest.fixture(scope="module")
def full_fit(adult_survey: Survey) -> FitReport:
    population = adults(golden("pop", "g_pop_fullf_seed1.parquet"))
    return assess_fit(adult_survey, population, components={"netIncome": PARTS})


def row(fit: FitReport, measure: str, variable: str, crossed: str = "", scope: str = "all") -> Any:
    table = fit.distances
    mine = table[
        (table["measure"] == measure)
        & (
            table["variable"].isin([variable, crossed])
            if crossed
            else table["variable"].eq(variable)
        )
        & (table["crossed"].isin([variable, crossed]) if crossed else table["crossed"].eq(""))
        & (table["scope"] == scope)
    ]
    assert len(mine) == 1
    return mine.iloc[0]


@pytest.mark.parametrize("variable", ["pl030", "pb220a"])
@pytest.mark.parametrize("scenario", ["cat_multinom", "fullf"])
def test_shares_agree_with_the_reference(
    scenario: str, variable: str, reference: dict[str, Any], adult_survey: Survey
) -> None:
    population = adults(golden("pop", f"g_pop_{scenario}_seed1.parquet"))
    names = ["rb090", "pl030", "pb220a", "agec", "hs5"]
    fit = assess_fit(adult_survey, population, variables=names)
    wanted = reference[scenario]["categorical"][variable]
    assert fit.tvd[variable] == pytest.approx(wanted["tvd"], abs=1e-12)
    assert row(fit, "tvd", variable)["expected_simulation_error"] == pytest.approx(
        wanted["tvd_floor"], rel=1e-9
    )
    by_stratum = fit.tables["tvd_by_stratum"]
    by_stratum = by_stratum[by_stratum["variable"] == variable].set_index("level")["value"]
    assert by_stratum.to_dict() == pytest.approx(wanted["tvd_by_stratum"], abs=1e-12)
    mean = row(fit, "tvd", variable, scope="mean over db040")
    assert mean["value"] == pytest.approx(wanted["tvd_by_stratum_mean"], abs=1e-12)
    assert mean["expected_simulation_error"] == pytest.approx(
        wanted["tvd_by_stratum_floor_mean"], rel=1e-9
    )
    largest = row(fit, "tvd", variable, scope="largest over db040")
    assert largest["value"] == pytest.approx(wanted["tvd_by_stratum_max"], abs=1e-12)
    for other in {"rb090", "agec", "hs5", "pb220a"} - {variable}:
        pair = row(fit, "tvd", variable, other)
        assert pair["value"] == pytest.approx(wanted[f"tvd_with_{other}"], abs=1e-12)
        assert pair["expected_simulation_error"] == pytest.approx(
            wanted[f"tvd_floor_with_{other}"], rel=1e-9
        )


@pytest.mark.parametrize("scenario", ["conf_lm", "fullf"])
def test_income_agrees_with_the_reference(
    scenario: str, reference: dict[str, Any], adult_survey: Survey
) -> None:
    population = adults(golden("pop", f"g_pop_{scenario}_seed1.parquet"))
    names = ["rb090", "pl030", "agec", "netIncome"]
    fit = assess_fit(adult_survey, population, variables=names, by=["db040", *names[:3]])
    wanted = reference[scenario]["continuous"]
    assert fit.ks["netIncome"] == pytest.approx(wanted["ks"], abs=1e-12)
    table = fit.tables["statistics"].set_index("statistic")
    for ours, theirs in {
        "mean": "mean", "sd": "sd", "zero": "zero_share", "negative": "neg_share", "largest": "max"
    }.items():  # fmt: skip
        assert table.loc[ours, "sample"] == pytest.approx(wanted[f"sample_{theirs}"], rel=1e-9)
        assert table.loc[ours, "population"] == pytest.approx(wanted[f"pop_{theirs}"], rel=1e-9)
    assert table.loc["gini", "sample"] == pytest.approx(wanted["sample_gini"], abs=1e-10)
    assert table.loc["gini", "population"] == pytest.approx(wanted["pop_gini"], abs=1e-5)
    quantiles = fit.tables["quantiles"]
    found = quantiles["sample"].tolist()
    assert found == pytest.approx(list(wanted["sample_quantiles"].values()), rel=1e-9)
    values = np.sort(population["netIncome"].to_numpy())
    for p, ours, theirs in zip(
        quantiles["p"], quantiles["population"], wanted["pop_quantiles"].values(), strict=True
    ):
        rank = p * len(values)
        tie = abs(rank - round(rank)) < 1e-6  # there the reference takes the next value
        first = round(rank) if tie else int(np.ceil(rank))
        assert ours == values[first - 1]
        assert theirs == pytest.approx(values[first] if tie else ours, rel=1e-9)
    groups = fit.tables["groups"]
    for by, key in {"db040": "region", "rb090": "rb090", "pl030": "pl030", "agec": "agec"}.items():
        mine = groups[groups["by"] == by].set_index("level")
        assert mine["value"].to_dict() == pytest.approx(wanted[f"ks_by_{key}"], abs=1e-12)
        relative = mine["relative_mean"].to_dict()
        assert relative == pytest.approx(wanted[f"rel_err_mean_by_{key}"], abs=1e-9)
        mean = row(fit, "ks", "netIncome", scope=f"mean over {by}")
        assert mean["value"] == pytest.approx(wanted[f"ks_by_{key}_mean"], abs=1e-12)
    share = fit.tables["association"].set_index("by").loc["agec"]
    assert share["population"] == pytest.approx(wanted["pop_eta2_agec"], abs=1e-9)
    assert share["sample"] == pytest.approx(wanted["sample_eta2_agec"], abs=1e-9)


def test_components_agree_with_the_reference(
    full_fit: FitReport, reference: dict[str, Any]
) -> None:
    table = full_fit.tables["components"].set_index("part").drop("netIncome")
    wanted = reference["fullf"]["components"]
    for part in PARTS:
        assert table.loc[part, "population_share"] == pytest.approx(
            wanted[part]["pop_share_of_total"], rel=1e-9
        )
        assert table.loc[part, "sample_share"] == pytest.approx(
            wanted[part]["sample_share_of_total"], rel=1e-9
        )
        assert full_fit.ks[part] == pytest.approx(wanted[part]["ks"], abs=1e-12)
    gap = (table["population_share"] - table["sample_share"]).abs().sum()
    assert gap == pytest.approx(wanted["sum_abs_diff_share"], abs=1e-10)
    sums = full_fit.tables["sums"].iloc[0]
    assert sums["population"] == pytest.approx(wanted["identity_max_abs_pop"], abs=1e-10)
    assert sums["sample"] == pytest.approx(wanted["identity_max_abs_sample"], abs=1e-10)
    groups = full_fit.tables["components_by"]
    groups = groups[(groups["part"] != "netIncome") & (groups["by"] == "pl030")]
    gap = (groups["population_share"] - groups["sample_share"]).abs().groupby(groups["level"]).sum()
    assert gap.to_dict() == pytest.approx(wanted["sum_abs_diff_share_by_pl030"], abs=1e-10)


def test_households_agree_with_the_reference() -> None:
    data = survey_data("eusilcS")
    survey = Survey(data, household_weight="db090", **ROLES)
    population = golden("pop", "g_pop_cat_multinom_seed1.parquet")
    wanted = golden("pop", "g_simulation_per_seed.json")["str_direct"]["1"]["structure"]
    fit = assess_fit(survey, population, variables=["age", "hsize"])
    found = row(fit, "tvd", "hsize", "db040", scope="households")
    assert found["value"] == pytest.approx(wanted["tvd_households_region_hsize"], rel=0.02)
    assert found["expected_simulation_error"] == pytest.approx(
        wanted["tvd_floor_households_region_hsize"], rel=1e-3
    )
    assert fit.tvd["db040"] == pytest.approx(wanted["tvd_persons_region"], abs=1e-9)
    assert row(fit, "tvd", "db040")["expected_simulation_error"] == pytest.approx(
        wanted["tvd_floor_persons_region"], rel=1e-9
    )
    sizes = fit.tables["sizes"]
    assert sizes["population"].sum() == wanted["n_households"]
    assert len(sizes) == wanted["household_cells"]
    gap = (sizes["population"] - sizes["estimate"] / fit.scale).abs().max()
    assert gap == pytest.approx(wanted["household_cells_max_abs_diff_to_HT"], abs=1e-6)


# the main job in small, and naive formulas


def small_data(n_households: int = 150, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n_households)
    hid = np.repeat(np.arange(n_households), sizes)
    n = len(hid)
    pay = np.where(rng.random(n) < 0.6, rng.lognormal(9, 0.5, n), 0.0)
    rent = np.where(rng.random(n) < 0.2, rng.lognormal(6, 1.0, n) - 500, 0.0)
    data = pd.DataFrame(
        {
            "hid": hid,
            "region": np.repeat(np.where(rng.random(n_households) < 0.3, "N", "S"), sizes),
            "w": np.repeat(rng.uniform(2, 6, n_households), sizes),
            "age": rng.integers(0, 90, n),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "job": rng.choice(np.array(["works", "rests", None], dtype=object), n),
            "pay": pay,
            "rent": rent,
            "income": pay + rent,
        }
    )
    data.loc[data["age"] < 16, ["pay", "rent", "income"]] = np.nan
    return data


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey(small_data(), weight="w", household="hid", strata="region")


def pipeline(survey: Survey) -> Any:
    return Pipeline(
        [
            Structure(["age", "sex"]),
            Derive("age_class", source="age", breaks=[0, 15, 30, 60, 100]),
            Categorical("job", predictors=["age_class", "sex"]),
            Continuous("income", predictors=["age_class", "job"]),
            Components("income", parts=["pay", "rent"], by=["job"]),
        ]
    ).fit(survey, seed=1)


@pytest.fixture(scope="module")
def fitted(survey: Survey) -> Any:
    return pipeline(survey)


@pytest.fixture(scope="module")
def fit(survey: Survey, fitted: Any) -> FitReport:
    return assess_fit(survey, fitted.simulate(scale=3.0))


def naive_ks(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    points = np.unique(np.concatenate([x, y]))
    f = np.array([(x <= point).mean() for point in points])
    g = np.array([w[y <= point].sum() / w.sum() for point in points])
    return float(np.abs(f - g).max())


def test_agrees_with_naive_formulas(survey: Survey, fitted: Any, fit: FitReport) -> None:
    population, sample = fitted.simulate(scale=3.0).frame(), survey.frame
    x = population["income"].dropna().to_numpy()
    there = sample["income"].notna().to_numpy()
    y, w = sample["income"][there].to_numpy(), survey.weights[there]
    assert fit.ks["income"] == pytest.approx(naive_ks(x, y, w), abs=1e-12)
    table = fit.tables["statistics"].query("variable == 'income'").set_index("statistic")
    assert table.loc["mean", "population"] == pytest.approx(x.mean())
    assert table.loc["sd", "population"] == pytest.approx(x.std(ddof=1))
    assert table.loc["missing", "population"] == pytest.approx(population["income"].isna().mean())
    gini = distances.gini(x, np.ones(len(x)))
    assert table.loc["gini", "population"] == pytest.approx(gini, abs=1e-4)
    p = population["job"].astype(object).fillna("?").value_counts(normalize=True)
    q = survey.weights / survey.weights.sum()
    q = pd.Series(q).groupby(sample["job"].fillna("?")).sum()
    assert fit.tvd["job"] == pytest.approx(0.5 * (p - q).abs().sum(), abs=1e-12)


def test_the_recipe_tells_what_it_derived_and_split(fit: FitReport) -> None:
    assert {"age_class", "hsize", "region"} <= set(fit.tvd.index)
    assert fit.tvd["age_class"] < 0.1
    assert dict(fit.components) == {"income": ("pay", "rent")}
    assert fit.tables["sums"]["population"].iloc[0] < 1e-6
    assert fit.scale == 3.0
    assert not {"hid", "w", "pid"} & set(fit.distances["variable"])


def test_disk_memory_and_block_size_give_the_same(
    survey: Survey, fitted: Any, fit: FitReport, tmp_path: Any
) -> None:
    on_disk = fitted.simulate(scale=3.0, out=tmp_path / "out")
    again = assess_fit(survey, on_disk)
    assert_same_frame(again.distances, fit.distances)
    frame = assess_fit(survey, on_disk.frame(), components={"income": ["pay", "rent"]})
    common = ["measure", "variable", "crossed", "scope", "where", "value"]
    ours = fit.distances.query("variable != 'age_class' and crossed != 'age_class'")[common]
    ours = ours[~ours["scope"].str.endswith("age_class") & ours["scope"].ne("households")]
    theirs = frame.distances[common]
    merged = ours.merge(theirs, on=common[:5], suffixes=("", "_frame"))
    assert len(merged) == len(ours)
    assert merged["value"].to_numpy() == pytest.approx(merged["value_frame"].to_numpy())


def test_a_derived_variable_by_mapping() -> None:
    data = small_data().dropna(subset="job")
    survey = Survey(data.assign(size_code=data["age"] % 3), weight="w")
    survey = survey.with_column("kind", np.where(survey.frame["age"] > 50, "old", "young"))
    stages = [
        Structure(["kind", "sex"]),
        Derive("group", source="kind", mapping={"old": "A", "young": "B"}),
    ]
    fit = assess_fit(survey, Pipeline(stages).fit(survey, seed=1).simulate())
    assert fit.tvd["group"] == pytest.approx(fit.tvd["kind"], abs=1e-12)
    assert set(fit.tables["one_way"].query("variable == 'group'")["level"]) == {"A", "B"}


def test_variables_chooses(survey: Survey, fitted: Any) -> None:
    fit = assess_fit(survey, fitted.simulate(), variables=["job"])
    assert set(fit.tvd.index) == {"region", "hsize", "job"}  # stratum and size always
    assert fit.ks.empty
    assert fit.quantile_errors.empty


def test_by_chooses_groups_and_cuts_numbers(survey: Survey, fitted: Any) -> None:
    fit = assess_fit(survey, fitted.simulate(), variables=["income"], by=["sex", "age"])
    assert fit.by == ("sex", "age in classes")
    assert set(fit.tables["groups"]["by"]) == {"sex", "age in classes"}
    assert fit.tables["groups"].query("by == 'age in classes'")["level"].nunique() >= 5


def test_components_can_be_named(survey: Survey, fitted: Any) -> None:
    population = fitted.simulate().frame()
    assert assess_fit(survey, population).tables["components"].empty
    fit = assess_fit(survey, population, components={"income": ["pay", "rent"]})
    shares = fit.tables["components"].set_index("part")["population_share"]
    expected = population["pay"].sum() / population["income"].abs().sum()
    assert shares["pay"] == pytest.approx(expected)


def test_faults_are_listed_together(survey: Survey, fitted: Any) -> None:
    population = fitted.simulate()
    with pytest.raises(InputError) as caught:
        assess_fit(survey, population, variables=["jobb"], by=["sexx"], components={"a": ["pay"]})
    assert [fault.where for fault in caught.value.faults] == ["variables", "by", "components"]
    assert "Did you mean 'job'" in str(caught.value)
    with pytest.raises(InputError, match="Give a Survey"):
        assess_fit(survey.frame, population)
    with pytest.raises(InputError, match="is empty"):
        assess_fit(survey, population, variables=[])
    with pytest.raises(InputError, match="no variable in common"):
        assess_fit(survey, pd.DataFrame({"x": [1]}))
    with pytest.raises(InputError, match="is a number in the survey"):
        assess_fit(survey, pd.DataFrame({"income": ["much", "little"]}))


def test_levels_that_only_the_population_has(survey: Survey) -> None:
    population = pd.DataFrame({"job": ["works", "sails", None, "works"]})
    fit = assess_fit(survey, population)
    one_way = fit.tables["one_way"].set_index("level")["population"]
    assert one_way.to_dict() == {
        "rests": 0.0, "works": 0.5, "missing": 0.25, "not in the survey": 0.25
    }  # fmt: skip


def test_extreme_populations_work(survey: Survey) -> None:
    population = pd.DataFrame(
        {"income": [np.inf, -1e12, 0.0, np.nan, 1e300], "job": [None] * 5, "region": ["N"] * 5}
    )
    fit = assess_fit(survey, population)
    assert 0 < fit.ks["income"] <= 1
    nothing = assess_fit(survey, pd.DataFrame({"income": [np.nan], "region": ["S"]}))
    assert np.isnan(nothing.ks["income"])


def test_summary_has_the_numbers_and_their_meaning(fit: FitReport) -> None:
    text = fit.summary()
    assert f"{fit.n_population:,} persons" in text
    assert short_percent(fit.tvd.max(), 2) in text
    assert short_percent(fit.ks.max(), 2) in text
    assert "Sampling error of the survey" in text
    assert f"an AUC of {fit.auc['persons']:.2f}" in text
    assert fit.to_frame() is fit.distances


# propensity, conditional distances, tables of the reference


def drawn(rng: np.random.Generator, n: int, shift: float = 0.0) -> list[np.ndarray]:
    a = rng.choice(4, n, p=np.array([0.4 + shift, 0.3 - shift, 0.2, 0.1]))
    return [a, rng.choice(3, n), np.where(rng.random(n) < 0.7, a, rng.choice(4, n))]


def test_scores_are_those_of_a_logistic_regression() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    codes, member = drawn(rng, 800), rng.integers(0, 2, 800).astype(float)
    w = rng.uniform(0.5, 3, 800)
    design = Categories([*codes, codes[0] // 2], 800)  # the last tells nothing new
    found = fit_logistic(design, member, w, ridge=RIDGE)
    x = pd.get_dummies(pd.DataFrame(codes).T.astype("category"), drop_first=True).to_numpy(float)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(x, member, w)
    np.testing.assert_allclose(found.probabilities, model.predict_proba(x)[:, 1], atol=1e-5)
    assert found.rank == x.shape[1] + 1
    assert found.converged


def test_pmse_ratio_is_one_by_chance_and_grows_with_a_fault() -> None:
    rng = np.random.default_rng(2)
    n, size = 3000, 10_000
    sample = drawn(rng, n)
    weights = rng.uniform(1, 4, n)
    fair, shifted = [], []
    for _ in range(15):
        rows = rng.choice(n, size, p=weights / weights.sum())
        fair.append(pmse_of_codes(sample, [c[rows] for c in sample], weights, n).ratio)
        shifted.append(pmse_of_codes(sample, drawn(rng, size, 0.1), weights, n).ratio)
    assert np.mean(fair) == pytest.approx(1, abs=0.1)
    assert min(shifted) > 5
    small = [
        pmse_of_codes(sample, [c[rows] for c in sample], weights, n)
        for rows in (rng.choice(n, n, p=weights / weights.sum()) for _ in range(60))
    ]
    assert np.mean([p.ratio for p in small]) == pytest.approx(1, abs=0.15)
    assert np.mean([p.pmse / p.expected_simulation_error for p in small]) == pytest.approx(
        1, abs=0.15
    )


def test_levels_that_one_side_alone_has_are_no_trouble() -> None:
    found = pmse_of_codes([np.zeros(50, int)], [np.ones(500, int)], np.ones(50), 50.0)
    assert found.pmse == pytest.approx(0.25, abs=1e-3)
    nothing = pmse_of_codes([np.zeros(50, int)], [np.zeros(500, int)], np.ones(50), 50.0)
    assert nothing.pmse == pytest.approx(0, abs=1e-12)
    assert np.isnan(nothing.ratio)


def test_the_report_has_the_propensity_of_all_variables(fit: FitReport) -> None:
    row = fit.tables["propensity"].iloc[0]
    assert row["ratio"] == fit.pmse_ratio
    assert row["converged"]
    assert 0 < row["pmse"] < 0.01


def test_the_propensity_sees_what_single_distances_see(survey: Survey) -> None:
    frame = survey.frame.drop(columns=["hid"], errors="ignore")
    same = pd.concat([frame.sample(n=20_000, replace=True, weights=survey.weights, random_state=k)
                      for k in (1, 2)])  # fmt: skip
    names = ["sex", "job"]
    good = assess_fit(survey, same, variables=names)
    wrong = assess_fit(survey, same.assign(sex="f"), variables=names)
    assert 0.2 < good.pmse_ratio < 3
    assert wrong.pmse_ratio > 20 * good.pmse_ratio
    assert good.tables["propensity"]["n_population"].iloc[0] == 40_000


def test_conditional_distances_are_those_inside_the_levels(survey: Survey, fitted: Any) -> None:
    fit = assess_fit(survey, fitted.simulate(), variables=["job", "sex"])
    row = fit.tables["conditional"].query("variable == 'job' and given == 'sex'").iloc[0]
    s, p = survey.frame.assign(w=survey.weights), fitted.simulate().frame().assign(w=1.0)
    found, shares = [], []
    for level, part in s.groupby("sex", observed=True):
        q = part.assign(job=part["job"].astype(object).fillna("?")).groupby("job")["w"].sum()
        other = p[p["sex"] == level]
        r = other.assign(job=other["job"].astype(object).fillna("?")).groupby("job")["w"].sum()
        found.append(0.5 * (q / q.sum()).sub(r / r.sum(), fill_value=0).abs().sum())
        shares.append(part["w"].sum())
    assert row["value"] == pytest.approx(np.average(found, weights=shares))
    assert row["largest"] in [pytest.approx(value) for value in found]


def test_expected_counts_are_those_of_the_reference() -> None:
    survey = Survey(survey_data("eusilcS"), weight="rb050", strata="db040")
    fit = assess_fit(survey, survey_data("eusilcS"), variables=["rb090", "db040"])
    table = fit.tables["two_way"]
    found = (table["sample"] * survey.weights.sum()).round()
    a, b = table["a"].iloc[0], table["b"].iloc[0]
    mine = dict(zip(zip(table["level_a"], table["level_b"], strict=True), found, strict=True))
    for cell in golden("pop", "i_utilities.json")["spTable"]["expected"]:
        assert mine[cell[a], cell[b]] == pytest.approx(cell["Freq"], abs=1)


# the parts


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=40),
    st.lists(st.floats(-1e7, 1e7, allow_nan=False), min_size=1, max_size=40),
)
def test_grid_locates_as_bisection_does(points: list[float], values: list[float]) -> None:
    grid = make_grid(np.array(points), np.ones(len(points)))
    x = np.array([*values, *points, np.inf, -np.inf])
    at = np.searchsorted(grid.points, x)
    hit = np.append(grid.points, np.nan)[at] == x
    assert grid.locate(x).tolist() == (2 * at + hit).tolist()


def test_grid_with_many_equal_bins_falls_back_to_bisection() -> None:
    points = np.concatenate([np.linspace(0, 1e-9, 3000), np.linspace(1e6, 1e9, 3000)])
    grid = make_grid(points, np.ones(len(points)))
    at = np.searchsorted(grid.points, points)
    assert (grid.locate(points) == 2 * at + 1).all()


@pytest.mark.parametrize("points", [[0.0, 5e-324], [1e-300, 2e-300], [1e300, -1e300], [7.0]])
def test_grid_of_extreme_points(points: list[float]) -> None:
    grid = make_grid(np.array(points), np.ones(len(points)))
    x = np.array([*points, 0.0, 1.0, -1e308, 1e308])
    at = np.searchsorted(grid.points, x)
    hit = np.append(grid.points, np.nan)[at] == x
    assert grid.locate(x).tolist() == (2 * at + hit).tolist()


def test_a_thinned_grid_stays_within_its_bound() -> None:
    rng = np.random.default_rng(1)
    sample, population = rng.normal(size=30_000), rng.normal(0.02, 1, size=50_000)
    survey = Survey(pd.DataFrame({"x": sample, "w": 1.0}), weight="w")
    found = assess_fit(survey, pd.DataFrame({"x": population})).ks["x"]
    both = np.sort(np.concatenate([sample, population]))
    f = np.searchsorted(np.sort(population), both, side="right") / len(population)
    g = np.searchsorted(np.sort(sample), both, side="right") / len(sample)
    exact = np.abs(f - g).max()
    assert exact - 1e-4 <= found <= exact + 1e-12


def test_floor_is_the_mean_distance_of_independent_draws() -> None:
    rng = np.random.default_rng(5)
    q = np.array([0.5, 0.3, 0.15, 0.05])
    draws = rng.multinomial(2000, q, size=4000) / 2000
    mean = np.mean([distances.total_variation(p, q) for p in draws])
    assert distances.expected_total_variation(q, 2000) == pytest.approx(mean, rel=0.03)
    u = np.sort(rng.random((2000, 400)), axis=1)
    steps = np.arange(400) / 400
    ks = np.maximum(u - steps, steps + 1 / 400 - u).max(axis=1)
    assert distances.expected_ks(400) == pytest.approx(ks.mean(), rel=0.04)


def test_classes_have_a_class_of_zeros_and_cover_everything() -> None:
    values = pd.Series([-5.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, np.nan], name="x")
    factor = make_classes(values, np.ones(8))
    codes = factor.code(pd.Series([-1e9, 0.0, 1e9, np.nan]))
    assert factor.labels[codes[1]] == "0"
    assert factor.labels[codes[3]] == "missing"
    assert len(set(codes.tolist())) == 4


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["b", "a", None]),
        pd.Series(["b", "a", None], dtype="category"),
        pd.Series([True, False, None], dtype=object),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1.0, 2.0, np.nan]),
        pd.Series([10, 2_000_000, 10]),
    ],
)
def test_factors_of_any_type_code_their_own_values(values: pd.Series) -> None:
    factor = make_factor(values.rename("x"))
    labels = np.array(factor.labels)[factor.code(values)]
    for value, label in zip(values, labels, strict=True):
        assert label == ("missing" if pd.isna(value) else str(value).removesuffix(".0"))
