"""One call over all measures: the numbers are those of the single measures."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from riskeval.measures import registry
from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.assess import assess, file_measurements
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.individual import individual_risk
from riskeval.measures.k_anonymity import k_anonymity
from riskeval.measures.registry import MEASURES
from riskeval.measures.request import Limits
from riskeval.measures.uniqueness import population_uniqueness
from riskeval.report.assessment import write_assessment
from riskeval.report.assessment_texts import CAPTIONS, RULES
from riskeval.report.riskiest import riskiest_records
from riskeval.runfiles.runfile import assess_file
from synthpop.microdata.messages.errors import InputError, OutputError, RunFileError
from synthpop.microdata.roles.microdata import Microdata

BASIC = ["frequencies", "k_anonymity", "individual_risk", "risky_cells"]


def survey(n=120):
    rng = np.random.default_rng(8)
    data = pd.DataFrame(
        {
            "region": rng.choice(list("abc"), n),
            "age": rng.integers(0, 12, n).astype(float),
            "sex": rng.integers(0, 2, n),
            "ill": rng.choice(["no", "yes"], n, p=[0.8, 0.2]),
            "income": rng.gamma(2, 500, n).round(),
            "hh": np.arange(n) // 2,
            "w": rng.uniform(20, 60, n),
        }
    )
    data.loc[[3, 17], "age"] = np.nan
    return data


DATA, KEYS = survey(), ["region", "age", "sex"]


def value_of(result, number):
    return float(result.table.set_index("number").loc[number, "value"])


@pytest.fixture(scope="module")
def whole():
    """An assessment by all measures, from which nothing is taken away."""
    before = DATA.copy(deep=True)
    result = assess(DATA, keys=KEYS, weights="w", household="hh", sensitive=["ill", "income"])
    pd.testing.assert_frame_equal(DATA, before)
    return result


def test_all_measures_run_and_speak(whole):
    result = whole
    assert set(result.results) | set(result.skipped) == set(MEASURES)
    assert set(result.skipped) == {
        "alpha_k_anonymity",
        "outlier_risk",
        "shared_amounts",
        "dominance",
    }
    assert result.table["meaning"].str.len().min() > 20
    for name, measured in result.results.items():
        assert measured.summary() in result.summary()
        assert f"## {MEASURES[name].title}" in result.to_markdown()
        assert MEASURES[name].question in result.to_markdown()


def test_the_note_on_outliers_has_their_number_and_its_limits():
    lone = DATA.assign(income=np.r_[np.arange(1_000.0, 1_000 + len(DATA) - 1), 90_000.0])
    result = assess(lone, keys=KEYS, numeric=["income"], measures=["outlier_risk"])
    row = result.table.iloc[0]
    assert row["value"] == 1
    assert row["note"] == "2 records at or above the 99 % percentile; near is within 5 %"


def test_records_without_any_key_are_counted_apart():
    """Ten records may be anybody: alone each is a match of all; the others are judged without."""
    lone = DATA.assign(age=np.arange(len(DATA)))
    lone.loc[:9, KEYS] = np.nan
    file, about = Microdata(lone, keys=KEYS), {"kind": "protected"}
    measured = {one.info.name: one for one in file_measurements(file, **about)}
    one = measured["below_3_visible"]
    assert (one.value, one.records) == (110, 120)
    assert one.note == "10 records have every key missing"
    assert measured["below_3"].value == 0
    blank = Microdata(lone[:10], keys=KEYS)
    nothing = file_measurements(blank, **about, numbers={"below_3"})
    notes = {one.info.name: one.note for one in nothing}
    assert "below_3_visible" not in notes
    for k in (2, 3, 5):
        assert "nothing is disclosed through these keys" in notes[f"below_{k}"]


def test_comparisons_count_below_2_3_5_and_the_accepted_k():
    file = Microdata(DATA, keys=KEYS)
    about = {"kind": "protected", "numbers": {"below_3"}}
    plain = {one.info.name: one.value for one in file_measurements(file, **about)}
    assert {2, 3, 5} == {k for k in range(2, 9) if f"below_{k}" in plain}
    counted = k_anonymity(DATA, KEYS, k=(2, 3, 5, 7)).violations
    assert [plain[f"below_{k}"] for k in (2, 3, 5)] == [counted[k] for k in (2, 3, 5)]
    judged = file_measurements(file, limits=Limits(k=7), **about)
    assert {one.info.name: one.value for one in judged}["below_7"] == counted[7]


def test_numbers_are_those_of_the_single_measures():
    result = assess(DATA, keys=KEYS, weights="w", household="hh", measures=BASIC)
    risk = individual_risk(DATA, KEYS, weights="w", household="hh")
    assert value_of(result, "Expected re-identifications") == risk.expected_reidentifications
    assert value_of(result, "Expected re-identified households") == risk.expected_households
    assert value_of(result, "Mean household risk") == risk.household_global_risk
    assert value_of(result, "Violations of 3-anonymity") == k_anonymity(DATA, KEYS).violations[3]
    np.testing.assert_array_equal(result.results["individual_risk"].risk, risk.risk)


def test_measures_that_lack_something_are_left_out_with_the_reason():
    result = assess(DATA, keys=KEYS)
    assert result.skipped["l_diversity"] == "it needs sensitive variables."
    assert result.skipped["loglinear"] == "it needs weights."
    assert (
        result.skipped["population_uniqueness"] == "it needs weights or the size of the population."
    )
    assert "was left out: it needs sensitive variables." in result.summary()
    assert "## Left out" in result.to_markdown()
    assert "Expected re-identified households" not in set(result.table["number"])


def test_a_measure_that_fails_on_the_data_does_not_stop_the_others(monkeypatch):
    def refuse(request):
        individual_risk(request.frame, ["nothing"], weights=None)

    broken = replace(MEASURES["risky_cells"], run=refuse)
    monkeypatch.setitem(registry.MEASURES, "risky_cells", broken)
    result = assess(DATA, keys=KEYS, measures=["risky_cells", "frequencies"])
    assert "'nothing': column given as key is not in the data" in result.skipped["risky_cells"]
    assert list(result.results) == ["frequencies"]


def test_limits_decide_what_is_kept():
    strict = assess(DATA, keys=KEYS, weights="w", measures=BASIC, limits={"global_risk": 1e-6})
    loose = assess(DATA, keys=KEYS, weights="w", measures=BASIC, limits=Limits(global_risk=1.0))
    assert "Mean individual risk" in set(strict.exceeded["number"])
    assert "Mean individual risk" not in set(loose.exceeded["number"])
    assert strict.summary().startswith("This file exceeds ")
    none = assess(DATA, keys=KEYS, weights="w", measures=["k_anonymity"], limits={"k": None})
    assert none.table["limit"].isna().all()
    assert none.exceeded.empty


def test_limits_say_where_they_come_from():
    def sources(**limits):
        measured = assess(DATA, keys=KEYS, weights="w", measures=["individual_risk"], limits=limits)
        by_number = measured.table.set_index("number")["limit_source"]
        return by_number[["Mean individual risk", "Highest risk of a record"]].tolist()

    known = ["0.01 is sdcMicro's default", "0.09: European Medicines Agency, Policy 0070"]
    assert sources() == sources(global_risk=0.01, record_risk=0.09) == known
    assert sources(global_risk=0.02, record_risk=0.1) == ["as asked", "as asked"]


def test_limits_on_sensitive_values():
    result = assess(
        DATA,
        keys=["sex"],
        sensitive="ill",
        measures=["l_diversity", "t_closeness"],
        limits={"l": 3, "t": 0.0001},
    )
    assert result.exceeded["number"].tolist() == [
        "Records that violate l-diversity of ill",
        "t of ill",
    ]


def row_of(result, number):
    return result.table.set_index("number").loc[number]


def test_special_uniques_are_those_of_fewer_keys():
    result = assess(DATA, keys=KEYS, measures=["frequencies", "suda"])
    special = value_of(result, "Special uniques")
    assert 0 < special < value_of(result, "Unique records")
    found = result.results["suda"]
    assert special == ((found.smallest_msu > 0) & (found.smallest_msu < len(KEYS))).sum()


def test_a_page_counts_uniques_once():
    for missing in ("wildcard", "own-category"):
        result = assess(DATA, keys=KEYS, measures=["frequencies", "suda"], missing=missing)
        uniques = int(value_of(result, "Unique records"))
        assert (result.results["suda"].n_msu > 0).sum() == uniques
        assert f"of {uniques} unique record" in row_of(result, "Special uniques")["note"]
    whole = assess(DATA, keys=KEYS, weights="w", k=2, limits={"k": 2})
    assert whole.table["name"].is_unique
    assert bool(row_of(whole, "Unique records")["within"]) is False
    for name in ("Unique records", "Special uniques", "Population uniques in the file"):
        assert "missing key" in row_of(whole, name)["note"]
    complete = assess(DATA.dropna(), keys=KEYS, measures=["frequencies", "suda"])
    assert not complete.table["note"].str.contains("missing").any()


def test_a_unique_match_in_a_census_is_right():
    data = pd.DataFrame({"age": np.arange(300) // 2, "sex": np.arange(300) % 2})
    for more in ({}, {"population_size": 300}):
        result = assess(data, keys=["age", "sex"], measures=["individual_risk", "suda"], **more)
        assert value_of(result, "Expected re-identifications") == 300
        assert result.results["suda"].dis == 1
        assert value_of(result, "Highest DIS-SUDA score") == 1
    sample = assess(data, keys=["age", "sex"], measures=["suda"], population_size=3_000)
    assert sample.results["suda"].dis_fraction == 0.1


def test_weights_and_the_size_of_the_population_must_agree():
    with pytest.raises(InputError, match="the weights add up to"):
        assess(DATA, keys=KEYS, weights="w", population_size=len(DATA))
    size = DATA["w"].sum() * 1.02
    given = {"keys": KEYS, "weights": "w", "measures": ["frequencies"]}
    assert assess(DATA, **given, population_size=size).population_size == size


def test_the_benchmark_is_no_limit():
    data = pd.DataFrame({"id": range(50)})
    result = assess(data, keys=["id"], measures=["individual_risk"])
    row = row_of(result, "Records above the benchmark")
    assert row["within"] is None
    assert "which no risk can reach" in row["note"]
    assert set(result.exceeded["number"]) == {"Mean individual risk", "Highest risk of a record"}


def test_households_are_judged_by_the_limits_of_persons():
    data = pd.DataFrame({"age": np.arange(40) // 20, "hh": np.arange(40) // 10, "w": 1.0})
    limits = {"global_risk": 0.1, "record_risk": 0.1}
    arguments = {"keys": ["age"], "weights": "w", "measures": ["individual_risk"]}
    persons = assess(data, limits=limits, **arguments)
    assert persons.exceeded.empty
    result = assess(data, limits=limits, household="hh", **arguments)
    assert result.exceeded["number"].tolist() == ["Mean household risk", "Highest household risk"]
    risks = result.results["individual_risk"].household_risk
    assert value_of(result, "Highest household risk") == risks.max()


def test_population_uniques_have_a_range():
    result = assess(DATA, keys=KEYS, weights="w", measures=["population_uniqueness"])
    row = row_of(result, "Population uniques in the file")
    table = result.results["population_uniqueness"].table["sample_uniques"]
    assert (row["lower"], row["upper"]) == (table.min(), table.max())
    assert "the three methods give" in row["note"]
    assert "order of magnitude" in result.results["population_uniqueness"].summary()


def test_blank_records_do_not_calm():
    seven = pd.DataFrame({"a": [*"abcdefg", None, None], "b": [*"abcdefg", None, None]})
    result = assess(seven, keys=["a", "b"], measures=["k_anonymity"], k=3)
    assert value_of(result, "Violations of 3-anonymity") == 0
    assert result.exceeded["number"].tolist() == ["Violations of 3-anonymity on the values shown"]


def test_outliers_of_numeric_keys():
    data = DATA.assign(income=np.r_[1e6, np.linspace(1000, 1100, len(DATA) - 1)])
    result = assess(data, keys=KEYS, numeric="income", measures=["outlier_risk"])
    assert value_of(result, "Isolated outliers") == 1
    assert "at or above the 99 % percentile" in row_of(result, "Isolated outliers")["note"]
    assert assess(data, keys=KEYS).skipped["outlier_risk"] == "it needs numeric key variables."
    with pytest.raises(InputError, match="sex_"):
        assess(data, keys=KEYS, numeric=["sex_"])


def test_arguments_reach_the_measures():
    base = assess(DATA, keys=KEYS, weights="w", measures=BASIC)
    own = assess(DATA, keys=KEYS, weights="w", measures=BASIC, missing="own-category")
    half = assess(DATA, keys=KEYS, weights="w", measures=BASIC, alpha=0.5)
    risks = [value_of(x, "Expected re-identifications") for x in (base, half, own)]
    assert risks[0] < risks[1] < risks[2]
    more = assess(DATA, keys=KEYS, measures=["k_anonymity"], k=7)
    assert more.table["number"].tolist() == [
        "Violations of 3-anonymity",
        "Violations of 3-anonymity on the values shown",
        "Violations of 7-anonymity",
        "Violations of 7-anonymity on the values shown",
    ]
    size = assess(DATA, keys=KEYS, measures=["population_uniqueness"], population_size=9_000)
    direct = population_uniqueness(DATA, KEYS, population_size=9_000)
    assert value_of(size, "Population uniques in the file") == direct.tau1
    by_array = assess(DATA, keys=KEYS, weights=DATA["w"].to_numpy(), measures=BASIC)
    pd.testing.assert_frame_equal(by_array.table, base.table)


def test_dominant_values_when_a_limit_is_given():
    result = assess(
        DATA,
        keys=["sex"],
        sensitive=["ill", "income"],
        measures=["beta_likeness", "alpha_k_anonymity"],
        limits={"alpha": 0.5, "k": 4},
    )
    ill = alpha_k_anonymity(DATA, ["sex"], "ill", alpha=0.5, k=4)
    assert value_of(result, "Largest share of a value of ill") == ill.largest_share
    assert value_of(result, "beta of income") == beta_likeness(DATA, ["sex"], "income").beta
    assert result.exceeded["number"].tolist() == ["Largest share of a value of ill"]
    both = result.results["alpha_k_anonymity"]
    assert list(both.to_frame().columns.levels[0]) == ["ill", "income"]
    assert "(0.5, 4)-anonymity" in both.summary()
    assert "more than 50 % of the records" in both.summary()


def test_options_reach_single_measures():
    options = {
        "individual_risk": {"quality": 0.5},
        "risky_cells": {"max_dimension": 1, "threshold": 1},
        "t_closeness": {"distance": "equal"},
        "l_diversity": {"missing_sensitive": "ignore"},
    }
    given = {"keys": KEYS, "weights": "w", "sensitive": "income", "measures": [*options]}
    base = assess(DATA, **given)
    changed = assess(DATA, **given, options=options)
    name = "Expected re-identifications"
    assert value_of(changed, name) == pytest.approx(value_of(base, name) / 2)
    assert len(changed.results["risky_cells"].table) == 3
    assert changed.results["t_closeness"].distance == {"income": "equal"}
    assert changed.results["l_diversity"].missing_sensitive == "ignore"


def test_figures(whole):
    drawn = whole.figures()
    expected = {"risk_distribution", "sample_against_population", "cell_sizes"}
    assert expected | ({"suda_by_record"} & set(drawn)) == set(drawn)
    persons, households = drawn["risk_distribution"].axes[0].patches[:2]
    assert persons.get_xy()[:, 1].max() > 0
    assert households.get_xy()[:, 1].max() > 0
    for figure in drawn.values():
        figure.canvas.draw()
    assert "sample_against_population" not in assess(DATA, keys=KEYS, measures=BASIC).figures()
    assert assess(DATA, keys=KEYS, measures="risky_cells").figures() == {}


def test_the_page_has_figures_captions_and_rules_with_their_source(tmp_path, whole):
    result = whole
    text = write_assessment(tmp_path / "a.html", result).read_text(encoding="utf-8")
    assert set(result.figures()) == set(CAPTIONS)
    assert text.count("<figure") == text.count("<figcaption>") == len(CAPTIONS)
    assert "mathdefault" not in text
    for measure, rule, source in RULES:
        for part in (measure, rule, source):
            assert escape(part) in text
    outside = write_assessment(tmp_path / "b.html", result, audience="external")
    page = outside.read_text(encoding="utf-8")
    assert "<figure" not in page
    assert "Highest risk of a record" not in page
    assert "Rules of thumb" in page


def test_the_page_shows_each_number_once_and_the_riskiest_records(tmp_path):
    result = assess(
        DATA, keys=KEYS, weights="w", household="hh", sensitive="ill", limits={"record_risk": 1}
    )
    text = write_assessment(tmp_path / "a.html", result).read_text(encoding="utf-8")
    for one in result.measurements:
        assert text.count(f'<span class="title">{escape(one.title)}</span>') == 1
    assert '<span class="limit-mark bad">exceeded</span>' in text
    assert '<span class="limit-mark good">met</span>' in text
    table = riskiest_records(result.results["individual_risk"])
    assert table["head"][:4] == ["Record", *KEYS]
    risk = result.results["individual_risk"].risk
    shown = [int(row[0]) - 1 for row in table["rows"]]
    assert risk[shown[0]] == risk.max()
    assert (np.diff(risk[shown]) <= 0).all()
    assert str(DATA.loc[shown[0], "region"]) == table["rows"][0][1]
    assert "Riskiest records and keys" in text


def test_external_pages_show_no_small_count_and_nothing_to_compute_one_from(tmp_path):
    # 40 of 44 records share a key, 3 another one, 1 is alone
    data = pd.DataFrame({"key": ["a"] * 40 + ["b"] * 3 + ["astronaut"], "w": 10.0, "ill": "no"})
    data.loc[43, "ill"] = "secret illness"
    result = assess(data, keys=["key"], weights="w", sensitive="ill", k=(2, 4, 41))
    page = write_assessment(tmp_path / "a.html", result, audience="external")
    body = page.read_text(encoding="utf-8").split("<main")[1]
    cells = re.findall(r'<span class="n[^"]*">([^<]*)</span>', body)
    numbers = [int(cell) for cell in cells if cell.isdigit()]
    assert all(value == 0 or value % 5 == 0 for value in numbers)
    assert "&lt; 5" in cells
    for word in ("astronaut", "secret illness", "<svg", "<figure", "In words", "Riskiest"):
        assert word not in body
    risk = result.results["individual_risk"]
    for value in (risk.global_risk, risk.expected_reidentifications, risk.risk.max()):
        assert f"{value:.3g}" not in cells
    assert os.stat(write_assessment(tmp_path / "b.html", result)).st_mode & 0o077 == 0


def test_figures_without_records():
    empty = assess(DATA.iloc[:0], keys=KEYS, weights="w", measures=BASIC)
    for figure in empty.figures().values():
        figure.canvas.draw()
    assert value_of(empty, "Mean individual risk") == 0


RUN_FILE = """
[data]
file = "survey.csv"

[assess]
keys = ["region", "age", "sex"]
weights = "w"
sensitive = "ill"
measures = ["k_anonymity", "individual_risk", "l_diversity"]

[limits]
k = "none"
l = 3

[options.individual_risk]
attempt = 0.5
"""


def test_run_file(tmp_path):
    DATA.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "risk.toml").write_text(RUN_FILE)
    result = assess_file(tmp_path / "risk.toml")
    direct = assess(
        DATA,
        keys=KEYS,
        weights="w",
        sensitive="ill",
        measures=["k_anonymity", "individual_risk", "l_diversity"],
        limits={"k": None, "l": 3},
        options={"individual_risk": {"attempt": 0.5}},
    )
    assert result.limits == direct.limits
    np.testing.assert_allclose(result.table["value"], direct.table["value"])


def test_run_file_with_faults(tmp_path):
    text = RUN_FILE.replace("keys =", "kees =").replace("[data]", "[dat]")
    (tmp_path / "risk.toml").write_text(text)
    with pytest.raises(RunFileError) as caught:
        assess_file(tmp_path / "risk.toml")
    for part in ("Did you mean 'data'", "Did you mean 'keys'"):
        assert part in str(caught.value)


def test_saved_folder(tmp_path):
    result = assess(DATA, keys=KEYS, weights="w", measures=BASIC)
    folder = result.save(tmp_path / "new" / "risk")
    assert {file.name for file in folder.iterdir()} == {
        "risk.md",
        "risk.csv",
        *(f"{name}.png" for name in result.figures()),
    }
    assert (folder / "risk.md").read_text().startswith("# Disclosure risk")
    with pytest.raises(OutputError, match="holds something"):
        result.save(folder)
    (tmp_path / "empty").mkdir()
    assert result.save(tmp_path / "empty").joinpath("risk.csv").exists()
    with pytest.raises(OutputError, match="cannot write"):
        result.save(tmp_path / "empty" / "risk.csv" / "below")
    assert {file.name for file in tmp_path.iterdir()} == {"new", "empty"}


def test_order_of_records_does_not_matter(whole):
    order = np.random.default_rng(5).permutation(len(DATA))
    arguments = {"keys": KEYS, "weights": "w", "household": "hh", "sensitive": ["ill", "income"]}
    mixed = assess(DATA.iloc[order], **arguments).table
    assert whole.table["number"].tolist() == mixed["number"].tolist()
    np.testing.assert_allclose(whole.table["value"], mixed["value"], rtol=1e-6)


def test_all_faults_at_once():
    with pytest.raises(InputError) as caught:
        assess(
            DATA,
            keys=["regoin"],
            weights="ww",
            household="hhh",
            sensitive="il",
            measures=["k_anonimity"],
            k=0,
            population_size=3,
            limits={"kk": 3, "t": -1},
            options={"suda": {"maxsize": 3}},
        )
    text = str(caught.value)
    for part in (
        "Did you mean 'region'",
        "'ww'",
        "Did you mean 'hh'",
        "Did you mean 'ill'",
        "Did you mean 'k_anonymity'",
        "k: is 0",
        "is 3 for 120 records",
        "'kk' is not allowed",
        "limits.t: is -1",
        "Did you mean 'max_size'",
    ):
        assert part in text, part


def test_arguments_of_the_wrong_kind_are_faults_too():
    with pytest.raises(InputError) as caught:
        assess(DATA, keys=3, sensitive=4, measures=5, k="x")
    text = str(caught.value)
    for part in ("3: column given as key", "4: column given as sensitive", "5 is not", "k: is 'x'"):
        assert part in text, part


@pytest.mark.parametrize(
    ("name", "value"),
    [("global_risk", -1), ("record_risk", 1.5), ("k", 0), ("l", np.inf), ("t", -0.1), ("alpha", 2)],
)
def test_limits_that_nothing_could_keep_or_break(name, value):
    with pytest.raises(InputError, match=rf"limits\.{name}: is"):
        assess(DATA, keys=KEYS, measures=BASIC, limits={name: value})


def test_values_that_follow_from_other_columns_exceed_the_limit():
    k, rng = 5, np.random.default_rng(1)
    data = pd.DataFrame(
        {"region": rng.integers(0, 6, 900), "age": rng.integers(18, 80, 900), "w": 900.0}
    )
    released = protect.local_suppression(data, ["region", "age"], k=k).data
    hidden = released["age"].isna()
    assert hidden.any()
    limits = {"k": k, "global_risk": None, "record_risk": None}
    arguments = {"keys": ["region", "age"], "weights": "w", "limits": limits}
    name = f"below_{k}_after_recovery"
    assert name not in assess(released, **arguments).exceeded["name"].tolist()
    forgotten = released.assign(born=2026 - data["age"])
    result = assess(forgotten, **arguments)
    row = result.table.set_index("name").loc[name]
    assert row["value"] > 0
    assert row["within"] is False
    assert name in result.exceeded["name"].tolist()
    assert result.verdict.fatal
    assert result.verdict.evidence[0].name == "suppressed values that follow"
    assert result.summary().startswith("Do not publish this file: ")
