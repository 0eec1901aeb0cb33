"""A session: roles, history, undo and redo, scripts, saved folders, reports."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from riskeval import protect
from riskeval.measures.request import Limits
from riskeval.protection.methods import InvariantMatrix
from riskeval.session.session import ProtectionSession
from riskeval.session.steps import Step, from_json, plain, source, to_json
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.messages.errors import GuaranteeError, InputError, OutputError
from synthpop.microdata.messages.text import number
from tests.reference_data import survey_data


def people(n=400):
    rng = np.random.default_rng(7)
    household = np.sort(rng.integers(0, n // 3, n))
    return pd.DataFrame(
        {
            "hid": household,
            "region": pd.Categorical(np.array([*"BCA"])[household % 3], categories=[*"CAB"]),
            "age": pd.array(rng.integers(0, 90, n), dtype="Int64"),
            "sex": rng.choice(["male", "female"], n),
            "status": pd.Categorical(rng.choice([*"uvw"], n), ordered=True),
            "status_label": rng.choice(["one", "two"], n),
            "income": rng.lognormal(10, 1, n).round(2),
            "w": rng.uniform(5, 20, n),
        },
        index=pd.RangeIndex(10, 10 + n, name="row"),
    )


def session(**options):
    roles = {
        "keys": ["region", "age", "sex"],
        "numeric": ["income"],
        "weights": "w",
        "household": "hid",
        "sensitive": ["status"],
        "pram": ["status"],
        **options,
    }
    return ProtectionSession(people(), **roles)


def worked(**options):
    job = session(**options)
    job.global_recode("age", breaks=[0, 14, 29, 44, 64, np.inf])
    job.local_suppression(k=4)
    job.pram(matrix=InvariantMatrix(alpha=0.9))
    job.top_bottom_code("income", upper=1e5, replacement="mean", weights="w")
    job.suppress_risky("sex", threshold=0.02)
    return job


def test_every_verb_is_a_method_and_equals_the_function():
    job = session()
    for verb in protect.VERBS:
        assert callable(getattr(job, verb))
        assert verb in getattr(ProtectionSession, verb).__doc__
    result = job.group_categories("region", groups={"AB": ["A", "B"]})
    direct = protect.group_categories(people(), "region", groups={"AB": ["A", "B"]})
    pd.testing.assert_frame_equal(result.data, direct.data)
    pd.testing.assert_frame_equal(job.data, direct.data)


def test_roles_fill_arguments_that_are_not_given():
    job = session(strata="region", keys=["age", "sex"], linked={"sex": "status_label"})
    job.local_suppression(k=3)
    given = job.steps[0].parameters
    assert given["keys"] == ["age", "sex"]
    assert given["strata"] == ["region"]
    assert given["linked"] == {"sex": ["status_label"]}
    job.pram(seed=3)
    assert job.steps[1].parameters["columns"] == ["status"]
    job.local_suppression(["sex"], k=2, strata=None)
    assert job.steps[2].parameters["keys"] == ["sex"]
    assert job.steps[2].parameters["strata"] is None
    job.record_swap(hierarchy=["region"], similar=["hid"], k=0, rate=0.0)
    assert job.steps[3].parameters["household"] == "hid"
    assert job.steps[3].parameters["risk_keys"] == ["age", "sex"]


def test_continuous_verbs_take_the_numeric_role_and_replay():
    job = session(strata="region")
    job.microaggregate(k=4)
    job.add_noise(level=0.05)
    job.rank_swap(p=0.05)
    job.mv_top_code()
    job.shuffle(formula="income ~ sex")
    given = [step.parameters for step in job.steps]
    assert all(parameters["variables"] == ["income"] for parameters in given[:4])
    assert given[0]["strata"] == ["region"]
    after = job.data
    pd.testing.assert_frame_equal(job.go_to(0).go_to(5).data, after)
    assert job.risk().table.loc["interval_disclosure", "current"] < 0.5


def test_undo_and_redo_to_any_point_replay_the_same_file():
    job = worked()
    states = [job.go_to(position).data for position in range(6)]
    pd.testing.assert_frame_equal(states[0], people())
    for position in (3, 1, 5, 0, 4):
        pd.testing.assert_frame_equal(job.go_to(position).data, states[position])
        assert len(job.steps) == position
        assert len(job.undone) == 5 - position
    job.redo()
    pd.testing.assert_frame_equal(job.data, states[5])
    pd.testing.assert_frame_equal(job.undo(2).data, states[3])
    for wrong, told in (
        (lambda: job.undo(9), "steps: is 9. Give a whole number from 0 to 3"),
        (lambda: job.redo(3), "steps: is 3. Give a whole number from 0 to 2"),
        (lambda: job.go_to("x"), "position: is 'x'. Give a whole number from 0 to 5"),
    ):
        with pytest.raises(InputError, match=told):
            wrong()
    job.mondrian(["age", "sex"], k=5)  # a new step after undo forgets the undone ones
    assert [step.verb for step in job.steps][-1] == "mondrian"
    assert job.undone == ()


def test_the_original_is_never_changed_and_only_two_frames_are_held():
    data = people()
    job = ProtectionSession(data, keys=["region", "age"])
    job.local_suppression(k=3)
    pd.testing.assert_frame_equal(data, people())
    pd.testing.assert_frame_equal(job.original, data)
    given = job.data
    given["w"] = 0.0
    assert (job.data["w"] > 0).all()
    held = [value for value in vars(job).values() if isinstance(value, pd.DataFrame)]
    assert len(held) == 2


def test_seeds_are_resolved_recorded_and_used():
    first, second = session(), session()
    a, b = first.pram(), second.pram()
    assert a.seed is not None
    assert a.seed == first.steps[0].seed != b.seed
    again = session()
    pd.testing.assert_frame_equal(again.pram(seed=a.seed).data, a.data)
    assert a.seed.bit_length() == 128  # nobody guesses it, and nothing shows it
    assert first.history()["seed"].isna().all()
    assert again.history()["seed"].isna().all()
    assert str(a.seed) not in a.summary()
    known = session()
    known.pram(seed=5)
    assert known.history()["seed"].tolist() == [5]
    assert session().steps == ()


def test_a_fault_leaves_the_history_as_it_was():
    job = worked()
    before = job.data
    for wrong, text in (
        (lambda: job.global_recode("agee", breaks=3), "not in the data"),
        (lambda: job.apply("recode"), "Did you mean"),
        (lambda: job.pram(matrx=1), "Did you mean 'matrix'"),
        (lambda: job.global_recode("age", "sex", breaks=1), "arguments without a name"),
        (lambda: job.global_recode("age", column="age", breaks=1), "given twice"),
        (lambda: job.record_swap(similar=["hid"]), "needs 'hierarchy'"),
        (lambda: job.suppress_risky("sex", risk=object(), threshold=1), "cannot be recorded"),
    ):
        with pytest.raises(InputError, match=text):
            wrong()
    assert len(job.steps) == 5
    pd.testing.assert_frame_equal(job.data, before)


def test_risk_and_utility_are_lazy_and_follow_the_steps(monkeypatch):
    from riskeval.session import session as module

    job = session()
    calls = []
    measure = module.risk_measurements
    monkeypatch.setattr(
        module, "risk_measurements", lambda *given: calls.append(1) or measure(*given)
    )
    first = job.risk()
    assert (first.table["original"] == first.table["current"]).all()
    assert job.risk() is first
    job.global_recode("age", breaks=[0, 29, 59, np.inf])
    job.local_suppression(k=3)
    table = job.risk().table
    assert len(calls) == 2
    assert job.undo(2).risk() is first
    assert job.redo(2).risk().table is table
    assert len(calls) == 2
    assert table.loc["below_3", "current"] == 0 < table.loc["below_3", "original"]
    fewer = table.loc["expected_reidentifications"]
    assert fewer["current"] < fewer["original"]
    assert table.loc["interval_disclosure", "current"] == 1.0
    assert table.loc["household_risk", "original"] > table.loc["global_risk", "original"]
    assert "smallest_l: status" in table.index
    utility = job.utility().table
    assert utility.loc[("age", "distinct"), "current"] == 3
    assert "cells differ" in job.utility().summary()
    assert job.undo(2).risk().table.equals(first.table)
    job.pram(columns=["sex"])
    assert "post-randomised" in job.risk().summary()


def test_without_weights_household_or_numbers():
    job = ProtectionSession(people(), keys="sex")
    assert {"household_risk", "interval_disclosure"}.isdisjoint(job.risk().table.index)
    assert "1 step," in repr((job.mondrian(k=2), job)[1])


def test_script_repeats_the_result_byte_for_byte(tmp_path, monkeypatch):
    job = worked()
    job.minimal_generalization(
        {"region": pd.DataFrame({"r": [*"ABC"], "s": [*"xxy"], "t": ["*"] * 3}), "sex": ["*"]},
        k=5,
        suppression_limit=5,
    )
    levels = job.data["status"].cat.categories
    matrix = pd.DataFrame(np.eye(3) * 0.4 + 0.2, index=levels, columns=levels)
    job.pram(matrix=matrix, seed=4)
    job.create_new_id("hid", seed=5)
    job.undo()
    job.original.to_parquet(tmp_path / "original.parquet")
    job.data.to_parquet(tmp_path / "expected.parquet")
    script = job.to_script()
    assert script.count("data = protect.") == 7
    monkeypatch.chdir(tmp_path)
    exec(compile(script, "script", "exec"), {})
    written = (tmp_path / "protected.parquet").read_bytes()
    assert written == (tmp_path / "expected.parquet").read_bytes()
    other = job.to_script(source_path="in.parquet", target_path="out.parquet")
    assert "read_parquet('in.parquet')" in other
    assert "to_parquet('out.parquet')" in other


def test_saved_session_comes_back_with_its_undone_steps(tmp_path):
    job = worked().undo()
    folder = job.save(tmp_path / "job")
    assert sorted(item.name for item in folder.iterdir()) == ["original.parquet", "session.json"]
    again = ProtectionSession.load(folder)
    assert again.roles == job.roles
    assert again.steps == job.steps
    assert again.undone == job.undone
    pd.testing.assert_frame_equal(again.data, job.data)
    pd.testing.assert_frame_equal(again.redo().data, job.redo().data)
    pd.testing.assert_frame_equal(again.history(), job.history())
    job.save(folder)  # a session may replace itself


def test_a_saved_session_gives_frames_of_the_library_that_came_in(tmp_path):
    table = pa.table({"sex": ["f", "m", "f", "m"], "age": [30, None, 30, 41]})
    ProtectionSession(table, keys=["sex"]).save(tmp_path / "session")
    loaded = ProtectionSession.load(tmp_path / "session")
    assert isinstance(loaded.data, pa.Table)
    assert loaded.data.to_pydict() == table.to_pydict()
    loaded.save(tmp_path / "again")
    assert isinstance(ProtectionSession.load(tmp_path / "again").original, pa.Table)


def test_text_columns_of_any_kind_survive_a_saved_session(tmp_path):
    data = pd.DataFrame({"a": np.array(["x", None, "y"], dtype=object), "b": [1, 2, 2]})
    job = ProtectionSession(data, keys=["a", "b"])
    job.local_suppression(k=2)
    assert ProtectionSession.load(job.save(tmp_path / "s")).data["a"].isna().tolist() == (
        job.data["a"].isna().tolist()
    )


def test_what_was_tampered_with_is_not_loaded(tmp_path):
    folder = worked().save(tmp_path / "job")
    text = (folder / "session.json").read_text()
    (folder / "session.json").write_text(
        text.replace('"local_suppression"', '"global_suppression"')
    )
    with pytest.raises(InputError, match="does not agree with its hash"):
        ProtectionSession.load(folder)
    record = without_hash(json.loads(text))
    forged = json.loads(json.dumps(record).replace("local_supp", "global_supp"))
    (folder / "session.json").write_text(json.dumps(with_hash(forged)))
    with pytest.raises(InputError, match="Did you mean 'local_suppression'"):
        ProtectionSession.load(folder)
    (folder / "session.json").write_text(json.dumps(record | {"format": 1}))  # of an older version
    assert len(ProtectionSession.load(folder).steps) == len(record["steps"])
    record["result"] = "0"
    (folder / "session.json").write_text(json.dumps(with_hash(record)))
    with pytest.raises(GuaranteeError, match="another result"):
        ProtectionSession.load(folder)
    (folder / "session.json").write_text("{}")
    with pytest.raises(InputError, match="not a saved session"):
        ProtectionSession.load(folder)
    (folder / "session.json").write_text(text)
    people(50).to_parquet(folder / "original.parquet")
    with pytest.raises(InputError, match="not the file that was saved"):
        ProtectionSession.load(folder)
    with pytest.raises(InputError, match=r"has no session\.json"):
        ProtectionSession.load(tmp_path)


def test_save_refuses_foreign_folders_and_unwritable_columns(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="other files"):
        session().save(tmp_path)
    with pytest.raises(OutputError, match="give a folder"):
        session().save(tmp_path / "notes.txt")
    mixed = people().assign(odd=[1, "a"] * 200)
    with pytest.raises(OutputError, match="cannot be written"):
        ProtectionSession(mixed, keys=["sex"]).save(tmp_path / "mixed")
    assert not any((tmp_path / "mixed").iterdir())


def test_reports_for_two_audiences(tmp_path):
    job = worked()
    seed = str(job.steps[2].seed)
    inside = job.report(tmp_path / "in.html").read_text()
    outside = job.report(tmp_path / "out.html", audience="external").read_text()
    assert seed not in inside
    assert "secret" in inside
    assert seed not in outside
    assert "breaks" in inside
    assert "breaks" not in outside
    assert "global_recode" in outside
    assert "400 records" in outside
    for page in (inside, outside):
        assert page.startswith("<!doctype html>")
        assert page.rstrip().endswith("</html>")
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "How to read this" in page
        assert "Values were exchanged at random" in page
    assert inside.count("<svg") > 20
    assert "<svg" not in outside
    assert "probability of a correct link" in outside
    assert "Highest risk of a record" in inside
    assert "Highest risk of a record" not in outside
    with pytest.raises(InputError, match="not allowed"):
        job.report(tmp_path / "x.html", audience="public")


def row_of(name: str, page: str) -> str:
    return page.split(f'<details class="var" id="v-{name}"')[1].split("</details>")[0]


def test_external_reports_hide_small_counts(tmp_path):
    data = pd.DataFrame({"a": [1] * 50 + [2, 3, 4], "b": "x"})
    job = ProtectionSession(data, keys=["a"])
    job.local_suppression(k=2)
    text = job.report(tmp_path / "r.html", audience="external").read_text()
    assert "&lt; 5" in text
    rows = [row for row in re.findall(r"<tr>.*?</tr>", text) if "distinct values" not in row]
    assert [row for row in rows if re.search(r"<td[^>]*>3</td>", row)] == []
    inside = job.report(tmp_path / "i.html").read_text()
    assert "3 (5.66\N{NO-BREAK SPACE}%)" in inside


def test_external_reports_do_not_give_a_changed_value_away(tmp_path):
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"age": rng.integers(0, 5, 60), "income": rng.normal(56_000, 9_000, 60)})
    data.loc[7, "income"] = 1_234_500.0
    job = ProtectionSession(data, keys=["age"], numeric=["income"])
    job.top_bottom_code("income", upper=100_000, replacement=100_000)
    text = job.report(tmp_path / "r.html", audience="external").read_text()
    assert row_of("income", text).count("not shown") == 4
    assert "IL1" not in text
    for word in (f"{data['income'].mean():,.0f}", f"{data['income'].std():,.0f}", "1,234"):
        assert word not in text
    inside = job.report(tmp_path / "i.html").read_text()
    assert f"{data['income'].mean():,.0f}" in inside
    # noise on every value hides each of them
    noisy = ProtectionSession(data.drop(index=7), keys=["age"], numeric=["income"])
    noisy.add_noise(level=0.3, seed=1)
    page = noisy.report(tmp_path / "n.html", audience="external").read_text()
    assert "not shown" not in row_of("income", page)
    assert "Mean, unweighted" in row_of("income", page)
    assert "IL1s" in page


def test_codes_have_no_means(tmp_path):
    text = session().report(tmp_path / "r.html").read_text()
    assert "Distinct values" in row_of("sex", text)
    assert "Mean" not in row_of("sex", text)


def test_a_session_without_steps_or_roles_has_a_report(tmp_path):
    job = ProtectionSession(people(), keys="sex")
    text = job.report(tmp_path / "new" / "r.html").read_text()
    assert "the file is the original" in text
    assert "No weights were given" in text
    assert "No household was declared" in text
    with pytest.raises(OutputError, match="cannot write"):
        job.report(tmp_path / "new")


def test_utility_has_the_information_loss_of_the_numeric_keys():
    job = session()
    job.add_noise(level=0.2, seed=1)
    from riskeval.utility import information_loss

    loss = information_loss(job.original, job.data, ["income"])
    table = job.utility().table
    assert table.loc[("numeric keys", "IL1s"), "current"] == loss.il1s > 0
    assert table.loc[("numeric keys", "IL1"), "current"] == loss.il1
    assert table.loc[("numeric keys", "IL1s"), "original"] == 0
    assert f"IL1s = {number(loss.il1s)}" in job.utility().summary()
    assert "1 step." in job.utility().summary()
    job.global_recode("income", breaks=3)  # no number any more
    assert "numeric keys" not in job.utility().table.index.get_level_values(0)


@pytest.mark.parametrize(
    ("roles", "text"),
    [
        ({"keys": [], "numeric": ()}, "no key"),
        ({"keys": ["ages"]}, "Did you mean 'age'"),
        ({"numeric": ["sex"]}, "must be numeric"),
        ({"weights": "income_"}, "Did you mean 'income'"),
        ({"household": "x"}, "given as household"),
        ({"strata": "x"}, "given as strata"),
        ({"sensitive": "age"}, "a key and sensitive"),
        ({"linked": {"status": "sex"}}, "not a key"),
        ({"pram": "x"}, "given as pram"),
    ],
)
def test_faulty_roles_are_named(roles, text):
    with pytest.raises(InputError, match=text):
        session(**roles)


def test_values_of_steps_go_through_json_and_source():
    table = pd.DataFrame([[1, "a"]], index=["r"], columns=["u", 2])
    value = plain("x", {1: (np.int64(2), [float("-inf"), None, True]), "t": table})
    again = from_json(json.loads(json.dumps(to_json(value))))
    assert again[1] == value[1] == [2, [float("-inf"), None, True]]
    pd.testing.assert_frame_equal(again["t"], value["t"])
    back = eval(source(value), {"pd": pd})
    assert back[1] == value[1]
    pd.testing.assert_frame_equal(back["t"], value["t"])
    assert str(Step("mondrian", {"keys": ["a"], "k": 3})) == "mondrian(keys=['a'], k=3)"


def test_book_section_on_the_earnings_survey():
    """Recode, suppress, microaggregate: fewer risky records than the book's own run."""
    job = ProtectionSession(
        survey_data("ses"),
        keys=["size", "age", "location", "occupation"],
        numeric=["earningsHour", "earnings"],
        weights="weights",
    )
    table = job.risk().table
    assert table.loc[[f"below_{k}" for k in (2, 3, 5)], "original"].tolist() == [243, 509, 1055]
    job.local_suppression(k=3)
    after = job.risk().table
    assert after.loc["below_3", "current"] == 0
    assert job.steps[0].verb == "local_suppression"
    assert job.history().loc[0, "cells"] <= 513


@pytest.mark.slow
def test_steps_of_the_book_on_the_earnings_survey(tmp_path):
    """Section 8.3 as it goes: recode, suppress, microaggregate the earnings."""
    data = survey_data("ses")
    job = ProtectionSession(
        data,
        keys=["size", "age", "location", "occupation"],
        numeric=["earningsHour", "earnings"],
        weights="weights",
    )
    before = job.risk().table["original"]
    locations = [str(name) for name in data["location"].astype("category").cat.categories]
    assert before["below_3"] == 509
    job.group_categories("location", groups={"any": locations})
    recoded = job.risk().table["current"]
    assert recoded["below_3"] < 509
    assert job.local_suppression(k=3).cells_changed < 509
    job.microaggregate(k=3, seed=1)
    after = job.risk().table["current"]
    assert after["below_3"] == 0
    assert after["expected_reidentifications"] < before["expected_reidentifications"]
    assert 0 < job.utility().table.loc[("numeric keys", "IL1s"), "current"] < 0.1
    assert "509 to 0" in job.report(tmp_path / "ses.html").read_text()


def test_columns_that_never_leave_are_not_judged(tmp_path):
    frame = people().assign(phone=[f"+43 1 555 {n:04d}" for n in range(400)])
    roles = {"keys": ["region", "sex"], "weights": "w", "household": "hid"}
    assert "phone" in ProtectionSession(frame, **roles).verdict().summary()
    job = ProtectionSession(frame, **roles, drop="phone")
    assert "phone" not in job.verdict().summary()
    assert ProtectionSession.load(job.save(tmp_path / "saved")).roles.drop == ("phone",)
    assert "Left out of the release" in job.report(tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(InputError, match="'sex' is a key"):
        ProtectionSession(frame, **roles, drop=["sex"])
    without = ProtectionSession(frame, **roles, drop=["phone", "w", "hid"]).verdict()
    assert not any({"w", "hid"} & set(found.columns) for found in without.evidence)


def test_the_verdict_is_by_the_limits_of_the_office():
    job = ProtectionSession(people(), keys=["region", "sex"], weights="w")
    usual, strict = job.verdict(), job.verdict({"k": 100, "global_risk": None})
    assert "Violations of 100-anonymity" in strict.reasons(9)
    assert "Violations of 100-anonymity" not in usual.reasons(9)
    assert job.verdict(Limits()) is usual
    with pytest.raises(InputError, match="kk"):
        job.verdict({"kk": 3})
