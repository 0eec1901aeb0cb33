"""The survey and its checks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import Categorical, Pipeline, Structure, Survey, indicators, read_survey
from synthpop.microdata.messages.errors import InputError
from tests.small import ROLES, small_frame, small_survey


def faults_of(frame: pd.DataFrame, **roles: str) -> str:
    with pytest.raises(InputError) as caught:
        Survey(frame, **{**ROLES, **roles})
    return str(caught.value)


def test_households_are_found_whatever_the_order_of_rows() -> None:
    frame = small_frame(50)
    shuffled = frame.sample(frac=1, random_state=1)
    one, two = Survey(frame, **ROLES), Survey(shuffled, **ROLES)
    assert one.n_households == two.n_households == 50
    assert sorted(one.household_sizes) == sorted(two.household_sizes)
    order = two.household_order
    ids = two.frame["hid"].to_numpy()[order]
    assert (np.diff(two.household_offsets) == two.household_sizes).all()
    for a, b in zip(two.household_offsets[:-1], two.household_offsets[1:], strict=True):
        assert len(set(ids[a:b])) == 1


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (0.0, "zero"),
        (-2.0, "negative"),
        (np.nan, "missing"),
        (np.inf, "infinite"),
        (-np.inf, "infinite"),
    ],
)
def test_faulty_weights_are_named_with_rows(value: float, what: str) -> None:
    frame = small_frame(20)
    frame.loc[3, "w"] = value
    text = faults_of(frame)
    assert f"w: weight is {what} (1 row: 3)" in text


def test_all_faults_come_together() -> None:
    frame = small_frame(20)
    frame.loc[0, "w"] = 0.0
    frame.loc[1, "w"] = np.nan
    rows = np.flatnonzero(frame["size"] > 1)
    frame.loc[rows[0], "region"] = "west" if frame["region"][rows[0]] != "west" else "north"
    text = faults_of(frame)
    assert "weight is zero" in text
    assert "weight is missing" in text
    assert "region: changes within 1 household" in text


def test_a_missing_column_is_named() -> None:
    assert "Did you mean 'region'?" in faults_of(small_frame(5), strata="regoin")


def test_a_missing_column_hides_nothing_else() -> None:
    frame = small_frame(20)
    frame.loc[0, "w"] = 0.0
    rows = np.flatnonzero(frame["size"] > 1)
    frame.loc[rows[0], "region"] = "west" if frame["region"][rows[0]] != "west" else "north"
    frame.loc[rows[1], "pid"] = frame["pid"][rows[0]]
    frame.loc[rows[1], "hid"] = frame["hid"][rows[0]]
    text = faults_of(frame, psu="village")
    assert "'village': column given as psu is not in the data" in text
    assert "weight is zero" in text
    assert "region: changes within 1 household" in text
    assert "persons are in the file more than once" in text
    text = faults_of(frame, weight="weihgt", household_size="sise")
    assert "'weihgt'" in text
    assert "'sise'" in text
    assert "region: changes" in text


def test_a_missing_id_silences_no_check_of_other_households() -> None:
    frame = small_frame(20).assign(hw=lambda d: d["w"])
    rows = np.flatnonzero(frame["size"] > 1)
    frame.loc[rows[0], "hw"] += 1
    frame["hid"] = frame["hid"].astype(float)
    frame.loc[np.flatnonzero(frame["hid"] != frame["hid"][rows[0]])[0], "hid"] = np.nan
    last = frame.iloc[[len(frame) - 1]]
    frame = pd.concat([frame, last], ignore_index=True)
    text = faults_of(frame, household_weight="hw")
    assert "hid: household is missing (1 row" in text
    assert "hw: changes within 1 household" in text
    assert "does not equal the number of rows" in text
    assert f"more than once (1 row: {len(frame) - 1})" in text


def test_missing_ids_are_no_repeated_persons() -> None:
    frame = small_frame(20)
    frame["pid"] = np.nan
    text = faults_of(frame)
    assert "person is missing" in text
    assert "more than once" not in text


def test_household_weights_of_single_persons_are_checked() -> None:
    frame = pd.DataFrame({"w": [1.0, 2.0], "hw": ["a", "b"]})
    with pytest.raises(InputError, match="hw: weights are not numbers"):
        Survey(frame, weight="w", household_weight="hw")


def test_household_weight_must_not_differ() -> None:
    frame = small_frame(20).assign(hw=lambda d: d["w"])
    row = int(np.flatnonzero(frame["size"] > 1)[0])
    frame.loc[row, "hw"] += 1
    text = faults_of(frame, household_weight="hw")
    assert "hw: changes within 1 household" in text


def test_household_size_must_agree_with_rows() -> None:
    frame = small_frame(20)
    frame["size"] = frame["size"] + 1
    assert "does not equal the number of rows" in faults_of(frame)
    assert Survey(frame, weight="w", household="hid").n_households == 20


def test_persons_twice() -> None:
    frame = small_frame(5)
    twice = pd.concat([frame, frame.iloc[[0]]], ignore_index=True)
    text = faults_of(twice.assign(size=twice.groupby("hid")["hid"].transform("size")))
    assert "more than once" in text


def test_empty_ids_and_strata() -> None:
    frame = small_frame(10)
    frame.loc[2, "hid"] = np.nan
    frame.loc[4, "region"] = np.nan
    text = faults_of(frame)
    assert "hid: household is missing" in text
    assert "region: strata is missing" in text


def test_no_rows() -> None:
    assert "there are no rows" in faults_of(small_frame(5).iloc[:0])


def test_person_weights_that_differ_need_a_household_weight() -> None:
    frame = small_frame(20)
    frame["w"] = np.arange(1.0, len(frame) + 1)
    survey = Survey(frame, **ROLES)
    with pytest.raises(InputError, match="household_weight"):
        _ = survey.household_weights


def test_flat_file_every_person_alone() -> None:
    survey = Survey(pd.DataFrame({"w": [1.0, 2.0]}), weight="w")
    assert survey.n_households == 2
    assert survey.household_weights.tolist() == [1.0, 2.0]


def test_with_weights_replaces_both_columns_and_leaves_the_survey_alone() -> None:
    frame = small_frame(20).assign(hw=lambda d: d["w"])
    survey = Survey(frame, **{**ROLES, "household_weight": "hw"})
    new = survey.with_weights(survey.weights * 2)
    assert np.allclose(new.weights, 2 * survey.weights)
    assert np.allclose(new.household_weights, 2 * survey.household_weights)
    assert np.allclose(survey.frame["w"], frame["w"])


def test_with_column_of_a_wrong_length() -> None:
    with pytest.raises(InputError, match="1 value for"):
        small_survey(10).with_column("x", [1])


def test_summary_says_what_it_stands_for() -> None:
    survey = Survey(pd.DataFrame({"w": [1.5, 2.5]}), weight="w")
    assert str(survey) == "Survey of 2 persons in 2 households, standing for 4 persons."


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".dta", ".sav"])
def test_read_survey_files(tmp_path, suffix: str) -> None:
    frame = small_frame(10)
    plain = frame.assign(region=frame["region"].astype(str), status=frame["status"].fillna(""))
    path = tmp_path / f"survey{suffix}"
    if suffix == ".csv":
        plain.to_csv(path, sep=";", index=False)
    elif suffix == ".parquet":
        plain.to_parquet(path)
    else:
        pyreadstat = pytest.importorskip("pyreadstat")
        labels = {
            "size": {1: "one", 2: "two", 3: "three", 4: "four"},
            "age": {0: "born this year"},  # the label of one value makes no category
        }
        write = pyreadstat.write_dta if suffix == ".dta" else pyreadstat.write_sav
        write(plain, str(path), variable_value_labels=labels, column_labels={"w": "Weight"})
    roles = {k: v for k, v in ROLES.items() if k != "household_size"}
    survey = read_survey(path, **roles)
    assert survey.n_persons == len(frame)
    assert np.allclose(survey.weights, frame["w"])
    if suffix in (".dta", ".sav"):
        assert "two" in set(survey.frame["size"])
        assert survey.frame["age"].tolist() == frame["age"].tolist()
        assert survey.dictionary["w"].label == "Weight"


def test_read_survey_says_what_is_wrong(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_survey(tmp_path / "none.csv", weight="w")
    with pytest.raises(InputError, match="not read"):
        read_survey(tmp_path / "survey.xyz", weight="w")
    (tmp_path / "bad.parquet").write_text("no parquet")
    with pytest.raises(InputError, match="cannot be read"):
        read_survey(tmp_path / "bad.parquet", weight="w")


def test_csv_with_decimal_commas(tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("w;x\n1,5;a\n2,5;b\n")
    assert read_survey(path, weight="w").weights.tolist() == [1.5, 2.5]


@pytest.mark.parametrize("role", ["hid", "region", "pid", "size"])
def test_lists_in_a_column_with_a_role_are_a_fault(role: str) -> None:
    frame = small_frame(20)
    frame[role] = [[value] for value in frame[role]]
    assert f"'{role}': holds values of the kind list" in faults_of(frame)


def test_lists_are_a_fault_where_a_step_reads_the_column_and_only_there() -> None:
    frame = small_frame(20)
    frame["note"] = [{"a": value} for value in frame["age"]]
    survey = Survey(frame, **ROLES)
    assert Pipeline([Structure(["sex"])]).fit(survey, seed=1).simulate(scale=0.1).n_persons
    steps = [Structure(["sex", "note"]), Categorical("nowhere")]
    with pytest.raises(InputError) as caught:
        Pipeline(steps).fit(survey, seed=1)
    assert "note: holds values of the kind dict" in str(caught.value)
    assert "'nowhere' is not a column" in str(caught.value)


def designed(**changes: object) -> Survey:
    frame = pd.DataFrame(
        {
            "w": np.arange(1.0, 13.0),
            "hid": np.repeat(np.arange(6), 2),
            "region": np.repeat(["a", "b"], 6),
            "town": [1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4],
            "stratum": np.repeat(["a", "b"], 6),
            "share": np.repeat([0.5, 0.25], 6),
        }
    )
    return Survey(frame.assign(**changes), weight="w", household="hid")


def test_the_design_of_a_survey_gives_its_sampled_units() -> None:
    survey = designed()
    assert len(survey.sampled_units.stratum) == 6
    persons = Survey(survey.frame, weight="w").sampled_units
    assert persons.unit is None
    roles = {"weight": "w", "household": "hid", "strata": "region"}
    full = Survey(survey.frame, **roles, psu="town", design_strata="stratum", fpc="share")
    assert full.sampled_units.fraction.tolist() == [0.5, 0.25]
    assert full.sampled_units.stratum.tolist() == [0, 0, 1, 1]
    y = np.arange(12.0) ** 2
    result = indicators.mean(y, full.weights).with_variance(survey=full)
    by_hand = indicators.mean(y, full.weights).with_variance(
        strata=full.frame["stratum"], cluster=full.frame["town"], fpc=full.frame["share"]
    )
    assert result.standard_error == by_hand.standard_error
    assert full.with_weights(np.ones(12)).roles == full.roles
    with pytest.raises(InputError, match="besides survey"):
        indicators.mean(y).with_variance(survey=full, fpc=0.5)
    with pytest.raises(InputError, match="missing"):
        Survey(survey.frame.assign(share=np.nan), weight="w", fpc="share")
    torn = Survey(survey.frame.assign(town=1), weight="w", strata="region", psu="town")
    with pytest.raises(InputError, match="two strata"):
        assert torn.sampled_units


def test_a_survey_brings_weights_and_design_to_the_bootstrap() -> None:
    survey = designed()
    full = Survey(survey.frame, weight="w", household="hid", strata="region", fpc="share")

    def mean(data: pd.DataFrame, weights: np.ndarray) -> float:
        return float(np.average(data["stratum"] == "a", weights=weights))

    got = indicators.bootstrap(mean, full, replicates=20, seed=1)
    same = indicators.bootstrap(
        mean, full.frame, weights="w", strata="region", cluster="hid", fpc="share",
        replicates=20, seed=1,
    )  # fmt: skip
    np.testing.assert_array_equal(got.replicates, same.replicates)
    with pytest.raises(InputError, match="has its design"):
        indicators.bootstrap(mean, full, cluster="hid")
    with pytest.raises(InputError, match="are not given"):
        indicators.bootstrap(mean, full.frame)


def test_households_have_the_mean_weight_of_their_members() -> None:
    frame = pd.DataFrame({"home": [1, 1, 2], "w": [2.0, 4.0, 5.0], "household_weight": 0.0})
    survey = Survey(frame, weight="w", household="home", household_weight="mean of members")
    assert survey.household_weights.tolist() == [3.0, 5.0]
    assert survey.frame["household_weight"].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InputError, match="household_weight"):
        Survey(frame, weight="w", household_weight="mean of members")
