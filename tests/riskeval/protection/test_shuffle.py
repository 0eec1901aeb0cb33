"""Shuffling: values stay, relations to other variables stay, formulas are read and never run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.protection.design import design
from riskeval.protection.shuffle import METHODS, normal_scores, shuffle
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.statistics.formula import read_formula
from tests.reference_data import golden, survey_data


def people(n: int = 600, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, n), rng.choice(["m", "f"], n)
    base = 0.05 * age + (sex == "m")
    income = np.exp(base + rng.normal(0, 0.6, n))
    savings = np.round(100 * (base + 0.5 * np.log(income) + rng.normal(0, 1, n)))
    return pd.DataFrame(
        {"age": age, "sex": sex, "income": income, "savings": savings.astype(int)},
        index=range(7, 7 + n),
    )


FORMULA = "income + savings ~ age + sex"


@pytest.mark.parametrize("method", METHODS)
def test_values_and_relations_stay(method):
    data = people(3000)
    before = data.copy(deep=True)
    result = shuffle(data, formula=FORMULA, method=method, seed=1)
    pd.testing.assert_frame_equal(data, before)
    for name in ("income", "savings"):
        assert sorted(result.data[name]) == sorted(data[name])
    assert list(result.data.dtypes) == list(data.dtypes)
    assert result.data[["age", "sex"]].equals(data[["age", "sex"]])
    now, was = (
        table[["income", "savings", "age"]].corr("spearman") for table in (result.data, data)
    )
    assert np.abs(now - was).to_numpy().max() < 0.04
    medians, were = (table.groupby("sex")["income"].median() for table in (result.data, data))
    np.testing.assert_allclose(medians["m"] / medians["f"], were["m"] / were["f"], rtol=0.2)
    pd.testing.assert_frame_equal(result.details["rank_correlation_before"], was.iloc[:2])
    pd.testing.assert_frame_equal(result.details["rank_correlation_after"], now.iloc[:2])
    assert "exactly the values it had" in result.summary()


@pytest.mark.parametrize("method", METHODS)
def test_new_values_are_independent_of_the_old_ones_given_the_others(method):
    data = people(3000)
    result = shuffle(data, formula=FORMULA, method=method, seed=1)
    rest = [
        values - np.poly1d(np.polyfit(data["age"] + 20 * (data["sex"] == "m"), values, 1))(
            data["age"] + 20 * (data["sex"] == "m")
        )
        for values in (np.log(data["income"]), np.log(result.data["income"]))
    ]  # fmt: skip
    assert abs(np.corrcoef(rest)[0, 1]) < 0.06


@pytest.mark.parametrize("method", METHODS)
def test_without_predictors_only_their_own_relation_stays(method):
    data = people(3000)
    result = shuffle(data, formula="income + savings ~ 1", method=method, seed=1)
    assert abs(result.data["income"].corr(data["income"], method="spearman")) < 0.06
    now = result.data["income"].corr(result.data["savings"], method="spearman")
    was = data["income"].corr(data["savings"], method="spearman")
    assert now == pytest.approx(was, abs=0.04)
    assert result.details["explained"].max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_prestige_data_against_the_reference(method):
    reference = golden("sdc", "i4_shuffle.json")["prestige"]
    data = golden("sdc", "data_prestige.parquet")
    statistics = []
    for seed in range(20):
        table = shuffle(data, formula=reference["form"], method=method, seed=seed).data
        assert sorted(table["income"]) == sorted(data["income"])
        rho = table[["income", "education", "women", "prestige"]].corr("spearman")
        pairs = [("income", "education"), ("income", "women"), ("education", "prestige")]
        statistics.append([rho.loc[pair] for pair in pairs])
    found = np.mean(statistics, axis=0)
    np.testing.assert_allclose(found, reference["original"], atol=0.08)
    np.testing.assert_allclose(found, reference["mean20"], atol=0.08)


def test_margins_of_the_test_file():
    data = survey_data("testdata")
    result = shuffle(
        data, formula="expend + income + savings ~ age + urbrur + water + electcon + sex", seed=1
    )
    for name in ("expend", "income", "savings"):
        assert sorted(result.data[name]) == sorted(data[name])
    assert result.details["explained"].max() < 0.01
    after = result.data[["expend", "income", "savings"]].corr("spearman").to_numpy()
    assert np.abs(after - np.eye(3)).max() < 5 / np.sqrt(len(data))


def test_rank_and_regression_agree_on_a_normal_copula():
    rng = np.random.default_rng(4)
    z = rng.multivariate_normal([0, 0, 0], [[1, 0.7, 0.3], [0.7, 1, 0.5], [0.3, 0.5, 1]], 4000)
    data = pd.DataFrame({"x": np.exp(z[:, 0]), "y": z[:, 1] ** 3, "s": z[:, 2]})
    found = [shuffle(data, formula="x + y ~ s", method=m, seed=1) for m in METHODS]
    for result in found:
        rho = result.data.corr("spearman").to_numpy()
        np.testing.assert_allclose(rho, data.corr("spearman").to_numpy(), atol=0.04)
        assert result.details["explained"]["y"] == pytest.approx(0.25, abs=0.04)
    assert not found[0].data.equals(found[1].data)


def test_interactions_count():
    rng = np.random.default_rng(2)
    group, z = rng.choice(["a", "b"], 2000), rng.normal(size=2000)
    y = np.where(group == "a", z, -z) + rng.normal(0, 0.3, 2000)
    data = pd.DataFrame({"g": group, "z": z, "y": y})
    plain = shuffle(data, formula="y ~ z + g", seed=1).data
    crossed = shuffle(data, formula="y ~ z + g + z:g", seed=1).data
    inside = group == "a"
    assert abs(plain["y"][inside].corr(plain["z"][inside])) < 0.2
    assert crossed["y"][inside].corr(crossed["z"][inside]) > 0.85


@pytest.mark.parametrize("method", METHODS)
def test_missing_values(method):
    data = people(400)
    data["age"] = data["age"].astype(float)
    data.iloc[0, 0] = np.nan
    data.loc[data.index[1:5], "sex"] = None
    data.iloc[5, 2] = np.nan
    result = shuffle(data, formula=FORMULA, method=method, seed=2)
    assert result.data.isna().equals(data.isna())
    changed = result.data["savings"] != data["savings"]
    assert changed.iloc[[0, 1, 2, 3, 4, 5]].sum() >= 4
    assert result.data["income"].iloc[0] != data["income"].iloc[0]


def test_seeds_and_arguments():
    data = people(100)
    first = shuffle(data, formula=FORMULA, seed=1)
    assert first.data.equals(shuffle(data, formula=FORMULA, seed=1).data)
    for other in (
        {"seed": 2},
        {"method": "rank"},
        {"formula": "income + savings ~ age"},
    ):
        options = {"formula": FORMULA, "seed": 1, **other}
        assert not first.data.equals(shuffle(data, **options).data)
    assert first.parameters["seed"] == first.seed == 1


def test_degenerate_columns():
    data = people(60).assign(one=1.0, level="x", twice=lambda d: 2 * d["age"])
    for method in METHODS:
        result = shuffle(data, formula="income + one ~ age + twice + level", method=method, seed=1)
        assert sorted(result.data["income"]) == sorted(data["income"])
        assert (result.data["one"] == 1).all()
    gone = pd.DataFrame({"y": [np.nan, np.nan], "x": [1, 2]})
    assert shuffle(gone, formula="y ~ x", seed=1).cells_changed == 0


# formulas


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("income", "no left side"),
        (3, "it is not text"),
        ("income ~ __import__('os')", "not available"),
        ("income ~ log(age)", "not available"),
        ("income ~ age +", "missing beside"),
        ("income:savings ~ age", "left side"),
        ("income + income ~ age", "twice on the left side"),
        ("income ~ income", "both sides"),
        ("income ~ agee", "Did you mean 'age'"),
        ("sex ~ age", "must be numeric"),
    ],
)
def test_faulty_formulas(formula, text):
    with pytest.raises(InputError, match=text):
        shuffle(people(50), formula=formula)


def test_too_many_predictors():
    data = people(12).assign(code=[str(i) for i in range(12)])
    with pytest.raises(InputError, match="11 columns on the right for 12 records"):
        shuffle(data, formula="income ~ code")
    with pytest.raises(InputError, match="Did you mean 'rank'"):
        shuffle(data, formula="income ~ age", method="ranks")


def test_design_of_the_right_side():
    frame = pd.DataFrame({"x": [1.0, 3.0, np.nan], "g": ["a", None, "b"], "k": [1, 1, 1]})
    columns, continuous = design(Faults("f"), frame, read_formula(Faults("f"), "x + g + k"))
    np.testing.assert_allclose(columns, [[-1, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1]])
    assert continuous.tolist() == [True, False, False, False]


def test_normal_scores_share_ties():
    scores = normal_scores(np.array([[1.0], [1.0], [np.nan], [5.0]]))
    assert scores[0, 0] == scores[1, 0] < scores[3, 0]
    assert np.isnan(scores[2, 0])


class TestHouseholds:
    def families(self) -> pd.DataFrame:
        frame = people(600)
        home = np.arange(600) // 3
        frame["h"] = home
        frame["rent"] = np.exp(np.random.default_rng(2).normal(6, 1, 200)).round()[home]
        frame["bills"] = frame["rent"] * 0.5
        return frame

    def test_a_household_variable_is_shuffled_once_a_household(self) -> None:
        frame = self.families()
        asked = {"formula": "rent + income ~ age + sex", "seed": 1}
        plain = shuffle(frame, **asked).data
        assert (plain.groupby("h")["rent"].nunique() > 1).any()
        result = shuffle(frame, **asked, household="h")
        assert (result.data.groupby("h")["rent"].nunique() == 1).all()
        once = result.data.drop_duplicates("h")["rent"]
        assert sorted(once) == sorted(frame.drop_duplicates("h")["rent"])
        assert sorted(result.data["income"]) == sorted(frame["income"])
        assert result.parameters["household"] == "h"
        assert list(result.details["explained"].index) == ["rent", "income"]
        assert set(result.details["household_details"]["explained"].index) == {"rent"}

    @pytest.mark.parametrize("method", ["regression", "rank"])
    def test_values_of_persons_follow_the_new_value_of_their_household(self, method: str) -> None:
        rng = np.random.default_rng(6)
        home = np.repeat(np.arange(700), 3)
        frame = pd.DataFrame({"h": home, "sex": rng.choice(["f", "m"], len(home))})
        frame["rent"] = rng.lognormal(6, 1, 700)[home]
        frame["wage"] = frame["rent"] * rng.lognormal(0, 0.5, len(home))
        asked = {"formula": "rent + wage ~ sex", "method": method, "household": "h", "seed": 1}
        result = shuffle(frame, **asked)
        before, after = (
            result.details[f"rank_correlation_{when}"].loc["rent", "wage"]
            for when in ("before", "after")
        )
        assert before > 0.8
        assert after == pytest.approx(before, abs=0.03)
        assert abs(frame["wage"].rank().corr(result.data["wage"].rank())) < 0.1

    def test_sums_stay(self) -> None:
        frame = self.families().assign(total=lambda f: f["rent"] + f["bills"])
        result = shuffle(
            frame, formula="rent ~ age", household="h", seed=1,
            components={"total": ["rent", "bills"]},
        )  # fmt: skip
        np.testing.assert_allclose(result.data["total"], result.data["rent"] + result.data["bills"])

    def test_declared_variables_that_differ_are_named(self) -> None:
        with pytest.raises(InputError, match="differs within a household in 200 households"):
            shuffle(
                self.families(), formula="income ~ age", household="h",
                household_variables=["income"],
            )  # fmt: skip
