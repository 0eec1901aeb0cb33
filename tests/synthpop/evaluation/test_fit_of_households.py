"""What assess_fit says of broken associations and of households that do not belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Survey, load_demo_survey
from synthpop.evaluation.assess_fit import FitReport, assess_fit
from synthpop.evaluation.classifier import auc_of_groups
from synthpop.evaluation.households import ks_of_values, member_pairs
from synthpop.evaluation.jackknife import group_jackknife
from synthpop.evaluation.ranking import rank_comparisons, worst_comparisons
from synthpop.evaluation.shares import ORDER

VARIABLES = ["age", "rb090", "relation", "pl030", "pb190", "netIncome"]


@pytest.fixture(scope="module")
def halves() -> tuple[Survey, pd.DataFrame]:
    """Half of the demo survey's households, and a population of households like the others."""
    survey = load_demo_survey()
    frame = survey.frame[[*VARIABLES, "db030", "db040", "hsize", "rb050"]]
    first = frame["db030"].rank(method="dense").astype(int) % 2 == 0
    roles = {"household": "db030", "strata": "db040", "household_size": "hsize"}
    return Survey(frame[first], weight="rb050", **roles), replicated(frame[~first])


def replicated(frame: pd.DataFrame) -> pd.DataFrame:
    """Households drawn with their weights, each under a number of its own."""
    households = frame.groupby("db030", sort=False)["rb050"].first()
    drawn = households.sample(5_000, replace=True, weights=households, random_state=1)
    numbers = pd.DataFrame({"db030": drawn.index, "copy": np.arange(len(drawn))})
    merged = numbers.merge(frame, on="db030").sort_values("copy", kind="stable")
    return merged.drop(columns=["db030", "rb050"]).rename(columns={"copy": "db030"})


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    """Economic status and income of another person."""
    order = np.random.default_rng(1).permutation(len(frame))
    taken = frame[["pl030", "netIncome"]].iloc[order].reset_index(drop=True)
    return frame.assign(pl030=taken["pl030"], netIncome=taken["netIncome"])


def torn(frame: pd.DataFrame) -> pd.DataFrame:
    """Members dealt to other households of the same size and region."""
    rng = np.random.default_rng(1)
    ids = frame["db030"].to_numpy().copy()
    for rows in frame.groupby(["db040", "hsize"], observed=True).indices.values():
        ids[rows] = rng.permutation(ids[rows])
    return frame.assign(db030=ids)


@pytest.fixture(scope="module")
def fits(halves: tuple[Survey, pd.DataFrame]) -> dict[str, FitReport]:
    survey, other = halves
    populations = {"other half": other, "shuffled": shuffled(other), "torn": torn(other)}
    return {name: assess_fit(survey, frame) for name, frame in populations.items()}


def test_another_sample_of_the_country_is_close(fits: dict[str, FitReport]) -> None:
    fit = fits["other half"]
    # each household stands there twice: known as copies, and half as many as they seem to be
    assert fit.verdict().word == "usable with these limits"
    assert set(fit.verdict().findings["kind"]) <= {"copies", "table"}
    assert fit.ranking["ratio"].median() < 1.8  # both have a sampling error
    assert fit.ranking["ratio"].max() < 6
    assert fit.auc["persons"] < 0.57
    assert fit.auc["households"] < 0.65  # copies of a household are known again


def test_the_summary_of_a_shuffled_population_begins_with_the_lost_association(
    fits: dict[str, FitReport],
) -> None:
    fit = fits["shuffled"]
    lines = fit.summary().splitlines()
    assert lines[0].startswith("Fit: not usable.")
    assert any("pl030" in line or "netIncome" in line for line in lines[1:6])
    assert fit.ranking["ratio"].iloc[0] > 3 * fits["other half"].ranking["ratio"].iloc[0]
    assert fit.auc["persons"] > 0.8
    status = fit.ranking.query("variable == 'pl030' and given == 'relation'")
    assert status["ratio"].max() > 5


def test_the_summary_of_torn_households_begins_with_the_households(
    fits: dict[str, FitReport],
) -> None:
    fit = fits["torn"]
    lines = fit.summary().splitlines()
    assert lines[0].startswith("Fit: not usable.")
    assert any(line.startswith("- relation of members of one household") for line in lines[1:6])
    assert set(fit.ranking["kind"].head(5)) <= {"members", "household counts", "age gaps"}
    persons = fit.ranking[fit.ranking["kind"].isin(["variable", "two-way table", "conditional"])]
    other = fits["other half"].ranking
    persons_of_other = other[other["kind"].isin(["variable", "two-way table", "conditional"])]
    assert persons["ratio"].max() == pytest.approx(persons_of_other["ratio"].max(), abs=1e-9)
    assert fit.auc["households"] > 0.8
    assert fit.auc["persons"] == pytest.approx(fits["other half"].auc["persons"], abs=0.05)


def test_no_number_below_one_is_sold_as_quality(fits: dict[str, FitReport]) -> None:
    assert "pMSE" not in fits["shuffled"].summary()
    assert fits["shuffled"].pmse_ratio < 5  # main effects do not see the shuffle


def test_household_indicators_equal_their_definitions(
    halves: tuple[Survey, pd.DataFrame], fits: dict[str, FitReport]
) -> None:
    table = fits["other half"].tables["households"]
    heads = table.query("scope == 'members per household' and where == 'head'").iloc[0]
    assert heads["value"] == 0
    other = halves[1]
    two = other[other["hsize"] == 2].groupby("db030")["rb090"].nunique()
    assert len(two) > 50
    sums = other.groupby("db030").agg(income=("netIncome", "sum"), size=("hsize", "first"))
    equivalised = (sums["income"] / np.sqrt(sums["size"])).to_numpy()
    persons = sums["size"].to_numpy()
    order = np.argsort(equivalised)
    reached = np.cumsum(persons[order]) / persons.sum()
    median = equivalised[order][np.searchsorted(reached, 0.5 - 1e-12)]
    poor = persons[equivalised < 0.6 * median].sum() / persons.sum()
    row = table.query("where == 'poverty rate'").iloc[0]
    assert row["population"] == pytest.approx(poor, abs=1e-9)


def test_pairs_of_members() -> None:
    first, second, household = member_pairs(np.array([2, 1, 3]), np.array([0, 2, 3]))
    assert sorted(zip(first.tolist(), second.tolist(), household.tolist(), strict=True)) == [
        (0, 1, 0), (3, 4, 2), (3, 5, 2), (4, 5, 2)
    ]  # fmt: skip


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    x = np.random.default_rng(3).normal(size=4_000)
    error = group_jackknife(lambda used: float(x[used].mean()), len(x), groups=200)
    assert error == pytest.approx(x.std() / np.sqrt(len(x)), rel=0.2)


def test_distance_of_weighted_samples_is_that_of_their_distribution_functions() -> None:
    rng = np.random.default_rng(4)
    p, q = rng.integers(0, 6, 50).astype(float), rng.integers(0, 6, 40).astype(float)
    wp, wq = rng.random(50), rng.random(40)
    naive = max(abs(wp[p <= x].sum() / wp.sum() - wq[q <= x].sum() / wq.sum()) for x in range(6))
    assert ks_of_values(p, wp, q, wq) == pytest.approx(naive, abs=1e-12)


def test_a_classifier_that_sees_everything_has_an_auc_of_one() -> None:
    n = 300
    a, b = pd.DataFrame({"x": np.zeros(n)}), pd.DataFrame({"x": np.ones(n)})
    groups = np.arange(n)
    assert auc_of_groups(a, b, np.ones(n), groups, groups) == 1.0


def row(kind: str, value: float, expected: float, crossed: str = "") -> dict[str, object]:
    scope = "all" if kind == "all" else kind
    values = ["tvd", kind, crossed, scope, value, expected, expected, ""]
    return dict(zip(ORDER, values, strict=True))


def test_an_empty_difference_is_no_difference_and_an_impossible_one_is_large() -> None:
    rows = pd.DataFrame(
        [row("all", 0.0, 0.0, "other"), row("all", 0.01, 0.0), row("all", 0.02, 0.01)]
    )
    conditional = pd.DataFrame(columns=["variable", "given", "value"])
    sums = pd.DataFrame(columns=["total", "sample_share_off", "population_share_off"])
    ranking = rank_comparisons(rows, conditional, sums, frozenset(), 1000.0)
    assert ranking["ratio"].tolist() == [20.0, 2.0, 0.0]
    assert worst_comparisons(ranking, 5, 1.0)["ratio"].tolist() == [20.0]


def test_components_that_do_not_add_up_are_told() -> None:
    rng = np.random.default_rng(5)
    n = 500
    parts = rng.integers(1, 9, (n, 2)) * 1000.5
    frame = pd.DataFrame({"a": parts[:, 0], "b": parts[:, 1], "w": 1.0})
    frame["total"] = frame["a"] + frame["b"]
    other = frame.copy()
    other.loc[:99, "a"] = 3.0
    fit = assess_fit(Survey(frame, weight="w"), other, components={"total": ["a", "b"]})
    assert fit.ranking["kind"].iloc[0] == "components"
    assert fit.tables["sums"]["population_share_off"].iloc[0] == pytest.approx(0.2)
    assert "the parts do not add up for 20 % of the persons" in fit.summary()


def test_boosted_trees_grow_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_info

    threads: list[int] = []
    fit = HistGradientBoostingClassifier.fit

    def noted(self: object, *arguments: object, **options: object) -> object:
        info = threadpool_info()
        threads.extend(it["num_threads"] for it in info if it["user_api"] == "openmp")
        return fit(self, *arguments, **options)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", noted)
    same, groups = pd.DataFrame({"x": np.arange(40) % 5}), np.arange(40)
    auc_of_groups(same, same, np.ones(40), groups, groups, iterations=2)
    assert set(threads) == {1}
