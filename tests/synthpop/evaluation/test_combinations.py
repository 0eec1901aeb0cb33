"""Precision and recall of combinations beside sets of tuples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, InputError, Pipeline, Structure, Survey, compare_combinations

COLUMNS = ["zone", "age", "sex"]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"zone": rng.integers(0, 9, n), "age": rng.integers(0, 9, n)})
    frame["sex"] = rng.choice(["f", "m", None], n, p=[0.6, 0.3, 0.1])
    return frame


def test_numbers_are_those_of_sets() -> None:
    made, true, survey = people(300, 1), people(500, 2), people(60, 3)
    sets = [list(map(tuple, f[COLUMNS].fillna("?").to_numpy())) for f in (made, true, survey)]
    result = compare_combinations(made, true, COLUMNS, survey=survey).to_frame()
    for row, keep in zip(
        result.to_dict("records"),
        (lambda _: True, lambda c: c in sets[2], lambda c: c not in sets[2]), strict=True,
    ):  # fmt: skip
        m, t = ([c for c in part if keep(c)] for part in sets[:2])
        assert row["made"] == len(set(m))
        assert row["true"] == len(set(t))
        assert row["both"] == len(set(m) & set(t))
        precision, recall = np.mean([c in set(t) for c in m]), np.mean([c in set(m) for c in t])
        assert row["precision"] == pytest.approx(precision)
        assert row["recall"] == pytest.approx(recall)
        shares = np.array([[part.count(c) / len(part) for part in (m, t)] for c in set(m) | set(t)])
        mean_square = np.mean((shares[:, 0] - shares[:, 1]) ** 2)
        assert row["srmse"] == pytest.approx(np.sqrt(mean_square) * len(shares))
        assert row["f1"] == pytest.approx(2 * precision * recall / (precision + recall))


def test_the_truth_itself_has_both_at_one_and_codes_match_by_text() -> None:
    true = people(200, 4)
    same = true.assign(age=true["age"].astype(float), zone=true["zone"].astype(str))
    row = compare_combinations(same, true, COLUMNS).to_frame().iloc[0]
    assert (row["precision"], row["recall"], row["f1"]) == (1.0, 1.0, 1.0)
    assert compare_combinations(same, true, ["age"]).to_frame()["made"][0] == true["age"].nunique()
    other = compare_combinations(true.assign(age=99), true, COLUMNS)
    assert other.to_frame()["f1"][0] == 0
    assert "0.00 %" in other.summary()


def test_a_model_finds_combinations_that_its_survey_lacks() -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, [8, 2, 4], (4000, 3))
    true = pd.DataFrame(values, columns=["age", "sex", "job"]).assign(hid=np.arange(4000))
    frame = true.sample(80, random_state=1).assign(w=50.0)
    survey = Survey(frame, weight="w", household="hid")
    stages = [Structure(["age", "sex"]), Categorical("job", predictors=["sex"])]
    made = Pipeline(stages).fit(survey, seed=1).simulate(seed=1)
    copied = compare_combinations(survey, true, ["age", "sex", "job"], survey=survey)
    result = compare_combinations(made, true, ["age", "sex", "job"], survey=survey)
    assert copied.to_frame()["made"].tolist()[2] == 0
    assert result.to_frame()["recall"][0] > 1.1 * copied.to_frame()["recall"][0]
    assert result.to_frame()["both"][2] > 5
    assert "that the survey lacks" in result.summary()


def test_faults_name_each_file() -> None:
    true = people(20, 1)
    with pytest.raises(InputError) as caught:
        compare_combinations(true.drop(columns="age"), true.drop(columns="sex"), COLUMNS)
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="none"):
        compare_combinations(true, true, [])
