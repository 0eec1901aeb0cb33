"""What offices do by hand in a session: leave out, round, recode, sample, edit elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, compare, protect
from synthpop.microdata.messages.errors import InputError


def people(n=120):
    rng = np.random.default_rng(6)
    return pd.DataFrame({
        "hid": np.repeat(np.arange(n // 3), 3), "size": np.repeat(rng.integers(1, 16, n // 3), 3),
        "age": rng.integers(0, 90, n), "land": rng.lognormal(1, 1, n).round(2),
        "region": pd.Categorical(rng.choice([*"ABC"], n)), "w": np.full(n, 10.0),
    }, index=pd.Index(np.arange(n) + 500))  # fmt: skip


def session(**roles):
    return ProtectionSession(
        people(), **{"keys": ["region", "age"], "numeric": ["land"], "weights": "w"} | roles
    )


def test_households_with_a_member_who_is_meant_leave_whole():
    data = people()
    job = session(household="hid")
    result = job.drop({"age": {"least": 80}, "region": ["A", "B"]})
    meant = data[(data["age"] >= 80) & data["region"].isin(["A", "B"])]
    left = data[~data["hid"].isin(meant["hid"])]
    pd.testing.assert_frame_equal(job.data, left)
    assert result.records_dropped == len(data) - len(left) > len(meant)
    assert f"{result.records_dropped} of 120 records leave the file" in result.summary()
    assert (
        len(protect.drop(data, {"age": {"least": 80, "most": 80}}).data)
        == (data["age"] != 80).sum()
    )


def test_a_shorter_file_is_judged_beside_its_own_records(tmp_path):
    job = session()
    job.drop({"size": {"least": 14}})
    table = job.risk().table
    assert table.loc["record_linkage", "current"] == pytest.approx(
        table.loc["record_linkage", "original"], abs=0.05
    )
    assert job.cells_changed == 0
    job.add_noise(level=0.3, seed=1)
    assert job.utility().table.loc[("numeric keys", "IL1s"), "current"] > 0
    assert job.report(tmp_path / "a.html").stat().st_size > 0
    again = ProtectionSession.load(job.save(tmp_path / "saved"))
    pd.testing.assert_frame_equal(again.data, job.data)
    assert len(job.undo(2).data) == 120


def test_a_sample_keeps_households_and_the_sum_of_weights():
    data = people()
    result = protect.sample(data, 0.25, household="hid", strata="size", weights="w", seed=2)
    counts = result.data.groupby("hid").size()
    assert set(counts) == {3}
    for size, homes in data.groupby("size")["hid"].nunique().items():
        taken = result.data.loc[result.data["size"] == size, "hid"].nunique()
        assert taken == max(round(0.25 * homes), 1)
    assert result.data["w"].sum() == pytest.approx(data["w"].sum())
    other = protect.sample(data, 0.25, household="hid", strata="size", weights="w", seed=3)
    assert not other.data.index.equals(result.data.index)


def test_rounding_by_size_and_recoding_by_ranges_as_in_the_guide():
    job = ProtectionSession(
        pd.DataFrame({"land": [0.26, 0.95, 3.4, 7.2, 19.0, 25.0, 81.0, np.nan], "k": 1}),
        keys=["k"], numeric=["land"],
    )  # fmt: skip
    job.round_to("land", 0.1, most=0.99)
    job.round_to("land", 1, least=1)
    job.recode_values("land", [[5, 19, 13], [20, 39, 30]])
    job.top_bottom_code("land", upper=40)
    expected = [0.3, 1.0, 3.0, 13.0, 13.0, 30.0, 40.0]
    assert job.data["land"].tolist()[:-1] == pytest.approx(expected, abs=0.101)
    assert job.data["land"].isna().tolist()[-1]


def test_single_values_by_a_table():
    data = people().assign(code=1)
    data.loc[505, "region"] = np.nan
    merged = protect.recode_values(data, "region", {"A": "AB", "B": "AB"}).data["region"]
    assert list(merged.cat.categories) == ["C", "AB"]
    assert merged.isna().sum() == 1
    table = pd.DataFrame([[1, 9]], columns=["old", "new"])
    assert protect.recode_values(data, "code", table).data["code"].dtype == "int64"
    for wrong in ([[1, 5, 9], [1, 1, 2]], {"Z": "A"}, [[1]]):
        column = "region" if isinstance(wrong, dict) else "code"
        with pytest.raises(InputError, match="table"):
            protect.recode_values(data, column, wrong)


def test_values_are_made_missing_where_it_is_said():
    data = people()
    result = protect.set_missing(data, ["land", "size"], where={"age": {"most": 17}})
    meant = data["age"] <= 17
    assert result.data.loc[meant, ["land", "size"]].isna().all().all()
    assert result.data.loc[~meant, ["land", "size"]].notna().all().all()
    assert protect.set_missing(data, "land").data["land"].isna().all()


def test_conditions_that_mean_nothing_are_faults():
    data = people()
    for where in ({}, {"ages": 1}, {"age": {"from": 3}}, {"region": "Z"}, {"region": {"least": 1}},
                  {"age": {"least": 0}}):  # fmt: skip
        with pytest.raises(InputError):
            protect.drop(data, where)
    with pytest.raises(InputError):
        protect.round_to(data, "land", 0)
    with pytest.raises(InputError):
        protect.sample(data, 1.0)


def test_a_file_that_was_edited_elsewhere_is_kept_with_its_note(tmp_path):
    job = session()
    edited = job.data.copy()
    edited.loc[503, "age"] = 40
    edited = edited.drop(index=[501])
    result = job.replace(edited, "age of a known person")
    assert (result.cells_changed, result.records_dropped) == (1, 1)
    assert "not repeatable by itself: age of a known person" in result.summary()
    pd.testing.assert_frame_equal(job.data, edited)
    assert job.cells_changed == 1
    job.local_suppression(k=2)
    again = ProtectionSession.load(job.save(tmp_path / "saved"))
    pd.testing.assert_frame_equal(again.data, job.data)
    assert again.history()["arguments"].tolist()[0] == "note='age of a known person'"
    assert "# Step 1 was edited elsewhere" in again.to_script()
    page = job.report(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "cannot be repeated by itself" in page


def test_an_edited_file_in_another_order_is_measured_beside_its_own_records():
    job, other = session(), session()
    job.replace(job.data.sample(frac=1, random_state=1), "sorted elsewhere")
    pd.testing.assert_frame_equal(job.data, people())
    assert job.cells_changed == 0
    pd.testing.assert_frame_equal(job.risk().table, other.risk().table)


def test_an_edited_file_that_cannot_be_kept_is_refused_in_our_words():
    job = session()
    with pytest.raises(InputError, match="the edited file cannot be written to Parquet"):
        job.replace(job.data.copy().assign(z=1j), "a complex number")


def test_a_missing_household_id_is_no_household():
    data = people().assign(hid=np.nan)
    assert len(protect.drop(data, {"age": {"least": 80}}, household="hid").data) == sum(
        data["age"] < 80
    )


@pytest.mark.parametrize(
    ("base", "expected"),
    [(0.3, [0.9, 0.3]), (0.1, [0.8, 0.3]), (2.5, [0.0, 0.0]), (0.25, [0.75, 0.25])],
)
def test_rounded_numbers_are_the_multiples_that_are_nearest(base, expected):
    data = pd.DataFrame({"land": [0.84, 0.31]})
    assert protect.round_to(data, "land", base).data["land"].tolist() == expected


def test_an_edited_file_of_other_records_is_refused():
    job = session()
    shuffled = (
        people().sample(frac=1, random_state=1).reset_index(drop=True).set_axis(people().index)
    )
    with pytest.raises(InputError, match="records that the current file does not have"):
        job.replace(shuffled, "shuffled")
    with pytest.raises(InputError) as problem:
        job.replace(people().drop(columns=["age", "w"]), " ")
    assert len(problem.value.faults) == 2
    assert job.steps == ()


def test_sessions_are_compared_by_their_current_files():
    first, second = session(), session()
    first.drop({"size": {"least": 14}})
    second.local_suppression(k=2)
    found = compare(people(), {"short": first, "holes": second}, keys=["region", "age"], seed=1)
    assert found.table["records"].tolist() == [120, len(first.data), 120]
    assert found.table["kind"].tolist()[1:] == ["perturbed"] * 2
    assert found.table["linkable"].all()
    assert found.table.loc["holes", "below_2"] == 0


def test_frames_of_polars_have_no_column_for_the_labels():
    pl = pytest.importorskip("polars")
    job = ProtectionSession(
        pl.from_pandas(people().reset_index(drop=True)), keys=["region", "age"], numeric=["land"]
    )
    result = job.drop({"size": {"least": 14}})
    assert list(result.data.columns) == list(people().columns)
    assert job.replace(job.data.with_columns(land=pl.col("land") * 2), "doubled").cells_changed > 0
    assert len(job.data) == len(result.data)


def test_writing_into_the_file_of_a_session_is_refused_with_the_remedy():
    job = session()
    with pytest.raises(InputError, match=r"session\.replace\(edited"):
        job.data["land"] = 1.0
    with pytest.raises(InputError, match="not changed in place"):
        job.data["new"] = 1
    copy = job.data.copy()
    copy["land"] = 1.0
    assert type(copy) is pd.DataFrame
    pd.testing.assert_frame_equal(people(), job.data)
    assert job.data.iloc[0]["land"] == people().iloc[0]["land"]
