"""Cross-validation: scores as printed, households kept whole, the better candidate found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import synthpop
from synthpop import (
    Categorical,
    Continuous,
    Derive,
    PoolingOptions,
    Relation,
    Structure,
    Survey,
    cross_validate,
)
from synthpop.evaluation.candidates import grid
from synthpop.evaluation.crossvalidation import beside_the_best
from synthpop.evaluation.holdout import assign_households, subsample
from synthpop.evaluation.scores import (
    brier_scores,
    crps_of_draws,
    log_scores,
    pinball_of_draws,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.streams import Streams
from synthpop.pipeline.pipeline import Pipeline
from synthpop.stages.heaping import CorrectHeaping
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame, small_survey

STATUS = {
    "age and sex": Categorical("status", predictors=["age", "sex"]),
    "sex": Categorical("status", predictors=["sex"]),
}
STATUS_BY_AGE = Categorical("status", predictors=["age"])


def naive_crps(draws: np.ndarray, y: float) -> float:
    x = draws[~np.isnan(draws)]
    m = len(x)
    apart = sum(abs(a - b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j)
    return float(np.mean(np.abs(x - y)) - apart / (2 * m * (m - 1)))


def test_scores_are_those_of_the_papers() -> None:
    rng = np.random.default_rng(1)
    draws, values = rng.normal(size=(7, 30)), rng.normal(size=30)
    draws[rng.random(draws.shape) < 0.2] = np.nan
    expected = [naive_crps(draws[:, i], values[i]) for i in range(30)]
    np.testing.assert_allclose(crps_of_draws(draws, values), expected)
    p = rng.dirichlet(np.ones(4), 30)
    truth = rng.integers(0, 4, 30)
    hit = np.eye(4)[truth]
    np.testing.assert_allclose(brier_scores(p, truth), ((p - hit) ** 2).sum(axis=1))
    np.testing.assert_allclose(log_scores(p, truth, 1e-9), -np.log((p * hit).sum(axis=1)))
    for share in (0.1, 0.5, 0.9):
        for i, found in enumerate(pinball_of_draws(draws, values, share)):
            x = np.sort(draws[~np.isnan(draws[:, i]), i])
            q = x[int(np.ceil(share * len(x) - 1e-9)) - 1]
            loss = share * (values[i] - q) if values[i] >= q else (1 - share) * (q - values[i])
            assert found == pytest.approx(loss)


def test_the_crps_of_draws_is_that_of_the_distribution() -> None:
    """Normal distribution: sigma (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))."""
    draws = np.random.default_rng(2).normal(size=(40, 20_000))
    for y in (0.0, 1.5):
        z = y
        exact = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)
        assert crps_of_draws(draws, np.full(20_000, y)).mean() == pytest.approx(exact, abs=0.01)


def test_too_few_draws_have_no_score() -> None:
    draws = np.array([[1.0, np.nan, 1.0], [np.nan, np.nan, 2.0]])
    assert np.isnan(crps_of_draws(draws, np.array([1.0, 1.0, np.nan]))).all()
    assert np.isnan(pinball_of_draws(draws, np.array([1.0, 1.0, np.nan]), 0.5)).all()


def prepared(survey: Survey):
    return Pipeline([Structure(["age", "sex"]), Categorical("status")]).fit(survey, seed=1).sample


def test_folds_hold_whole_households_and_spread_over_strata() -> None:
    sample = prepared(small_survey())
    fold = assign_households(sample, 4, np.random.default_rng(1))
    assert np.ptp(np.bincount(fold)) <= 1
    strata = sample.strata[sample.offsets[:-1]]
    for stratum in range(3):
        assert np.ptp(np.bincount(fold[strata == stratum], minlength=4)) <= 1
    part = subsample(sample, fold == 2)
    assert part.n_persons == np.diff(sample.offsets)[fold == 2].sum() == part.offsets[-1]
    np.testing.assert_array_equal(part.household_weights, sample.household_weights[fold == 2])
    np.testing.assert_array_equal(
        part.weights[part.offsets[:-1]], sample.weights[sample.offsets[:-1]][fold == 2]
    )


def naive_frequencies(frame: pd.DataFrame, fold: np.ndarray, folds: int) -> dict[str, float]:
    """The weighted distribution of status by region and sex, learned without the fold."""
    logs, briers, weights = [], [], []
    levels = ["idle", "retired", "works", None]
    frame = frame.assign(status=frame["status"].astype(object).where(frame["status"].notna(), None))
    for number in range(folds):
        train, test = frame[fold != number], frame[fold == number]
        smallest = 1 / (2 * len(train))
        for row in test.itertuples():
            cell = train[(train["region"] == row.region) & (train["sex"] == row.sex)]
            total = cell["w"].sum()
            p = [
                cell.loc[[value is level or value == level for value in cell["status"]], "w"].sum()
                / total
                for level in levels
            ]
            mine = levels.index(row.status)
            logs.append(-np.log(max(p[mine], smallest)))
            briers.append(sum((q - (i == mine)) ** 2 for i, q in enumerate(p)))
            weights.append(row.w)
    return {
        "log_score": np.average(logs, weights=weights),
        "brier": np.average(briers, weights=weights),
    }


def test_the_table_is_that_of_a_naive_version() -> None:
    frame = small_frame(80)
    survey = Survey(frame, **ROLES)
    stage = Categorical(
        "status", predictors=["sex"], model="empirical", pooling=PoolingOptions(smallest_stratum=0)
    )
    found = cross_validate(survey, "status", [stage], folds=3, seed=5)
    sample = prepared(survey)
    fold = assign_households(sample, 3, Streams(5).at("cross-validation", "folds", 3))
    of_person = np.empty(len(frame), dtype=int)
    of_person[sample.rows] = np.repeat(fold, np.diff(sample.offsets))
    expected = naive_frequencies(frame, of_person, 3)
    for score, value in expected.items():
        assert found.table[score].iloc[0] == pytest.approx(value)


def test_the_candidate_that_knows_more_wins() -> None:
    found = cross_validate(small_survey(), "status", STATUS, seed=1)
    assert found.best == "age and sex"
    assert found.best_stage is STATUS["age and sex"]
    table = found.table.set_index("candidate")
    assert table.loc["sex", "difference"] > 2 * table.loc["sex", "standard_error"] > 0
    assert table.loc["age and sex", ["difference", "standard_error"]].tolist() == [0.0, 0.0]
    assert table.loc["age and sex", "brier"] < table.loc["sex", "brier"]
    assert "Lowest log score: age and sex" in found.summary()
    assert "1 other candidate is worse by more than two standard errors" in found.summary()
    assert found.to_frame() is found.table


def test_the_error_is_that_over_folds() -> None:
    found = cross_validate(small_survey(), "status", STATUS, seed=1, folds=4)
    wide = found.by_fold.pivot(index="fold", columns="candidate", values="log_score")
    gap = wide["sex"] - wide["age and sex"]
    assert len(gap) == 4
    error = found.table.set_index("candidate").loc["sex", "standard_error"]
    assert error == pytest.approx(gap.std(ddof=1) / 2)


@pytest.mark.parametrize("method", ["binned", "pmm", LinearRegression()])
def test_every_way_to_draw_numbers_is_judged(method) -> None:
    stages = {
        "status": Continuous("income", method=method, predictors=["status"]),
        "nothing": Continuous("income", method=method, predictors=[]),
    }
    found = cross_validate(small_survey(150), "income", stages, seed=1, draws=40)
    assert found.best == "status"
    assert found.score == "crps"
    row = found.table.set_index("candidate")
    assert row.loc["status", "pinball_50"] < row.loc["nothing", "pinball_50"]
    assert row.loc["status", "brier_missing"] < 0.01 < row.loc["nothing", "brier_missing"]
    assert "continuous ranked probability score" in found.summary()


def test_who_gets_no_value_is_compared_with_all_values() -> None:
    """In the sample nobody of group b has a value but one: its fold has no draw for it."""
    frame = pd.DataFrame({"w": 1.0, "group": ["a"] * 40 + ["b"] * 20, "x": 1.0})
    frame.loc[frame["group"] == "b", "x"] = np.nan
    frame.loc[59, "x"] = 3.0
    stage = Continuous("x", method="regression", predictors=["group"])
    found = cross_validate(Survey(frame, weight="w"), "x", [stage], seed=1, draws=10, folds=6)
    assert found.table["zero"].iloc[0] == pytest.approx(1 / 60, abs=1e-9)
    assert found.table["crps"].iloc[0] == pytest.approx(2 / 41, rel=0.2)


def test_weights_are_honoured() -> None:
    frame = pd.DataFrame({"x": ["a"] * 60 + ["b"] * 60, "w": [3.0] * 60 + [1.0] * 60})
    stage = [Categorical("x", predictors=[])]
    found = cross_validate(Survey(frame, weight="w"), "x", stage, seed=1).table.iloc[0]
    assert found["log_score"] == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25), abs=0.01)


def test_impossible_values_count_as_the_smallest_probability() -> None:
    frame = pd.DataFrame({"x": ["a"] * 59 + ["b"], "w": 1.0})
    survey = Survey(frame, weight="w")
    stage = [Categorical("x", predictors=[], model="empirical")]
    small, large = (
        cross_validate(survey, "x", stage, seed=1, smallest_probability=p) for p in (1e-6, 0.5)
    )
    gap = (np.log(0.5) - np.log(1e-6)) / 60
    assert small.table["log_score"][0] - large.table["log_score"][0] == pytest.approx(gap)
    assert small.table["zero"][0] == pytest.approx(1 / 60)
    assert small.table["brier"][0] == large.table["brier"][0]
    assert "Predicted zero probability" in small.summary()
    assert "model='empirical', predictors=[] (1.67 %)" in small.summary()
    assert "counts as probability 1e-06" in small.summary()
    assert cross_validate(survey, "x", stage, seed=1).smallest_probability == pytest.approx(
        5 / (2 * 4 * 60)
    )


def test_the_same_twice_and_whatever_else_is_compared() -> None:
    survey = small_survey(100)
    stages = grid(Continuous("income", predictors=["status"]), {"method": ["binned", "pmm"]})
    both = cross_validate(survey, "income", stages, seed=3, draws=20)
    again = cross_validate(survey, "income", stages, seed=3, draws=20)
    assert_same_frame(both.table, again.table)
    alone = cross_validate(survey, "income", {"method='pmm'": stages["method='pmm'"]}, seed=3,
                           draws=20)  # fmt: skip
    mine = both.table.set_index("candidate").loc["method='pmm'", "crps"]
    assert alone.table["crps"][0] == mine
    other = cross_validate(survey, "income", stages, seed=4, draws=20)
    assert other.table["crps"].tolist() != both.table["crps"].tolist()
    more = cross_validate(survey, "income", stages, seed=3, draws=21)
    assert more.table["crps"].tolist() != both.table["crps"].tolist()
    assert cross_validate(survey, "income", stages, draws=20).seed != 3


def test_before_gives_the_predictors_of_a_recipe() -> None:
    before = [Structure(["age", "sex"]), Derive("old", source="age", breaks=[0, 64, 120])]
    stages = grid(Categorical("status"), {"predictors": ["basic", "all", ["old"], "~ age:sex"]})
    found = cross_validate(small_survey(), "status", stages, before=before, seed=1)
    scores = found.table.set_index("candidate")["log_score"]
    assert scores.nunique() == 4
    direct = cross_validate(
        small_survey(), "status", {"x": Categorical("status", predictors=["size", "age", "sex"])},
        seed=1,
    )  # fmt: skip
    assert scores["predictors='basic'"] == pytest.approx(direct.table["log_score"][0])


def test_numbers_with_levels_that_a_fold_has_alone() -> None:
    frame = small_frame(60)
    frame["code"] = np.where(frame["sex"] == "f", 1, 2)
    frame.loc[0, "code"] = 17
    stage = Categorical(
        "code", predictors=["sex"], impossible=[{"levels": [2], "when": {"sex": ["f"]}}]
    )
    found = cross_validate(Survey(frame, **ROLES), "code", [stage], seed=1)
    w = frame["w"].to_numpy()
    assert found.table["zero"][0] == pytest.approx(w[0] / w.sum())


def test_a_relation_is_judged_by_its_draws() -> None:
    rng = np.random.default_rng(0)
    frame = small_frame(150)
    heads = rng.choice(["x", "y"], frame["hid"].nunique())
    frame["faith"] = np.repeat(heads, frame.groupby("hid").size())
    frame["role"] = np.where(frame["pid"] == 1, "head", "child")
    stages = {
        "handed on": Relation("faith", relationship="role", head="head", direct=["child"],
                              predictors=[]),
        "given head": Relation("faith", relationship="role", head="head", predictors=[]),
        "by region": Categorical("faith", predictors=[]),
    }  # fmt: skip
    found = cross_validate(Survey(frame, **ROLES), "faith", stages, seed=1, draws=50)
    scores = found.table.set_index("candidate")["log_score"]
    assert scores.between(0.5, 0.75).all()  # the head's value is not known to any
    assert (found.table["zero"] == 0).all()
    survey = Survey(frame.assign(faith="x"), **ROLES)
    one = cross_validate(survey, "faith", {"a": stages["handed on"]}, seed=1, draws=50)
    assert one.table["log_score"][0] == pytest.approx(-np.log(50.5 / 51))  # level and missing


def test_by_household_compares_with_the_value_of_the_household() -> None:
    stages = [Continuous("income", predictors=["sex"], by_household=how) for how in ("sum",)]
    found = cross_validate(small_survey(), "income", stages, seed=1, draws=20)
    alone = cross_validate(
        small_survey(), "income", [Continuous("income", predictors=["sex"])], seed=1, draws=20
    )
    assert found.table["crps"][0] > 1.2 * alone.table["crps"][0]


@pytest.mark.parametrize("household", [{}, {"by_household": "sequential"}], ids=["read", "drawn"])
def test_lower_levels_of_the_fallback_are_told(household: dict[str, str]) -> None:
    """A share of persons, whether probabilities are read from the model or counted in 7 draws."""
    frame = small_frame(60)
    frame["code"] = [f"c{i}" for i in range(len(frame))]
    stage = Categorical("status", predictors=["code"], model="empirical", **household)
    found = cross_validate(Survey(frame, **ROLES), "status", [stage], seed=1, draws=7)
    assert found.table["fallbacks"][0] == pytest.approx(1.0)


@pytest.mark.parametrize(("method", "notes"), [("binned", 1), ("regression", 2)])
def test_fallbacks_of_amounts_are_counted_per_person(method: str, notes: int) -> None:
    """Each person is drawn 20 times; regression has a model of the kind of value beside its own."""
    frame = small_frame(60)
    frame["code"] = [f"c{i}" for i in range(len(frame))]
    unseen = Continuous("income", method=method, predictors=["code"])
    known = Continuous("income", method=method, predictors=["sex"])
    scores = cross_validate(Survey(frame, **ROLES), "income", [unseen, known], seed=1, draws=20)
    fallbacks = scores.table.set_index("candidate")["fallbacks"].sort_values().tolist()
    assert fallbacks[0] < 0.2  # pairs of region and sex that the training part lacks
    assert fallbacks[1] == pytest.approx(1.0) if notes == 1 else 1.0 < fallbacks[1] <= notes


def labels(*stages) -> list[str]:
    return list(cross_validate(small_survey(30), "status", stages, folds=2, seed=1).candidates)


def test_labels_of_a_list_are_the_options_in_which_candidates_differ() -> None:
    sex = Categorical("status", predictors=["sex"])
    tree = DecisionTreeClassifier(max_depth=2)
    assert labels(sex, replace(sex, model=tree)) == [
        "model='multinomial'",
        "model=DecisionTreeClassifier(max_depth=2)",
    ]
    assert labels(sex, replace(sex, predictors=["age", "sex"])) == [
        "predictors=['sex']",
        "predictors=['age', 'sex']",
    ]
    assert labels(sex, replace(sex, numeric="values")) == ["numeric='classes'", "numeric='values'"]
    assert labels(sex) == ["model='multinomial', predictors=['sex']"]
    other = Relation("status", relationship="sex", head="f", predictors=["sex"])
    assert labels(sex, other) == ["Categorical", "Relation"]


def test_a_list_of_one_name_is_that_name() -> None:
    listed = Categorical(["status"], predictors=["sex"])
    found = cross_validate(small_survey(30), "status", {"a": listed}, folds=2, seed=1)
    assert found.best_stage == Categorical("status", predictors=["sex"])
    assert labels(listed) == ["model='multinomial', predictors=['sex']"]
    several = Categorical(["status", "sex"], predictors=["age"])
    with pytest.raises(InputError, match="makes 'status', 'sex', not 'status'"):
        labels(several)
    with pytest.raises(InputError, match=r"name: is \['status'\]. Give the name of one variable"):
        cross_validate(small_survey(30), ["status"], {"a": listed})  # type: ignore[arg-type]


def test_the_summary_speaks_of_one_candidate_and_of_several() -> None:
    sex = Categorical("status", predictors=["sex"])
    survey = small_survey(60)
    alone = cross_validate(survey, "status", [sex], folds=2, seed=1).summary()
    assert "1 candidate judged on 2 folds" in alone
    assert "standard error" not in alone
    stages = {"a": sex, "again": sex, "nothing": replace(sex, predictors=[]), "age": STATUS_BY_AGE}
    told = cross_validate(survey, "status", stages, seed=1).summary()
    assert "4 candidates judged on 5 folds" in told
    assert "Lowest log score: age (" in told
    assert "3 other candidates are worse by more than two standard errors" in told
    del stages["age"], stages["nothing"]
    told = cross_validate(survey, "status", stages, seed=1).summary()
    assert "Lowest log score: a (" in told
    assert "The same score: again." in told
    assert "worse" not in told


def test_the_summary_tells_who_is_near() -> None:
    columns = ["candidate", "difference", "standard_error"]
    rows = [("a", 0.0, 0.0), ("b", 0.1, 0.06), ("c", 0.1, 0.05), ("d", 0.1, 0.04)]
    near, *rest = beside_the_best(pd.DataFrame(rows, columns=columns))
    assert near == "Not significantly different (within two standard errors): b; c."
    assert (
        rest[0] == "1 other candidate is worse by more than two standard errors of the difference."
    )


def test_all_faults_at_once() -> None:
    survey = small_survey(20)
    bad = {
        "a": Categorical("sex", predictors=["age"]),
        "b": Continuous("status", predictors=["age"]),
        "c": "tree",
    }
    with pytest.raises(InputError) as caught:
        cross_validate(survey, "status", bad, folds=1, draws=0, smallest_probability=2.0)  # type: ignore[arg-type]
    text = str(caught.value)
    for part in (
        "makes 'sex', not 'status'",
        "'tree' is not a candidate",
        "their scores cannot be compared",
        "folds: is 1",
        "draws: is 0",
        "smallest_probability: is 2.0",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("candidates", "options", "message"),
    [
        ([], {}, "there are none"),
        ("status", {}, "there are none"),
        ([STATUS["sex"], STATUS["sex"]], {}, "is there twice"),
        ([Categorical("status")], {}, "Name the predictors"),
        ([STATUS["sex"]], {"folds": 500}, "500 folds of 20 households"),
        ([STATUS["sex"]], {"before": [Structure(["age"])]}, "predictor 'sex'"),
        ([STATUS["sex"]], {"before": [CorrectHeaping("age"), Structure(["sex"])]}, "works on"),
        ([Categorical("stats", predictors=["sex"])], {}, "makes 'stats'"),
        ([Continuous("status", predictors=["sex"])], {}, "'status' is not numeric"),
        (
            [Categorical("status", predictors=["sex"], model="magic")],
            {},
            "'magic' is not allowed",
        ),
        ([STATUS["sex"]], {"seed": -1}, "must not be negative"),
    ],
)
def test_faults(candidates, options, message) -> None:
    with pytest.raises(InputError, match=message):
        cross_validate(small_survey(20), "status", candidates, **options)


def test_something_else_than_a_survey() -> None:
    with pytest.raises(InputError, match="Give a Survey"):
        cross_validate(small_frame(), "status", STATUS)  # type: ignore[arg-type]


def test_household_forms_are_not_mixed() -> None:
    stages = [Continuous("income", by_household=how, predictors=[]) for how in (None, "sum")]
    with pytest.raises(InputError, match="differ in by_household"):
        cross_validate(small_survey(20), "income", stages)


def test_a_grid_checks_its_options() -> None:
    with pytest.raises(InputError, match="no option 'modl'") as caught:
        grid(Categorical("status"), {"modl": ["tree"], "model": "tree"})
    assert "Give a list of values" in str(caught.value)


def test_the_name_is_public() -> None:
    assert synthpop.cross_validate is cross_validate


def test_a_shared_category_is_announced_given_the_first_member() -> None:
    rng = np.random.default_rng(5)
    home = np.repeat(np.arange(200), 3)
    kind = rng.choice(["a", "b"], 600)
    first = np.repeat(kind[::3], 3)
    own = np.where(np.repeat(rng.random(200), 3) < 0.9, first, np.where(first == "a", "b", "a"))
    frame = pd.DataFrame({"hid": home, "w": 1.0, "kind": kind, "tenure": own})
    survey = Survey(frame, weight="w", household="hid")
    ways = {
        "first": Categorical("tenure", predictors=["kind"], by_household="shared"),
        "nothing": Categorical("tenure", predictors=[], by_household="shared"),
    }
    table = cross_validate(survey, "tenure", ways, folds=3, seed=1).table.set_index("candidate")
    assert table.loc["first", "log_score"] < 0.4  # entropy 0.33; 0.69 knows nothing
    assert table.loc["nothing", "log_score"] == pytest.approx(0.69, abs=0.02)
