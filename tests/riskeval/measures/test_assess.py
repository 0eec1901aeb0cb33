"""One call over all measures: the numbers are those of the single measures."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import pytest

from riskeval.measures import registry
from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.assess import assess
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.individual import individual_risk
from riskeval.measures.k_anonymity import k_anonymity
from riskeval.measures.registry import MEASURES, Headline, Limits
from riskeval.measures.uniqueness import population_uniqueness
from riskeval.report.assessment import CAPTIONS, RULES, write_assessment
from riskeval.runfiles.runfile import assess_file
from synthpop.microdata.errors import InputError, OutputError, RunFileError

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


def test_all_measures_run_and_speak():
    result = assess(DATA, keys=KEYS, weights="w", household="hh", sensitive=["ill", "income"])
    assert set(result.results) | set(result.skipped) == set(MEASURES)
    assert not set(result.skipped) - {"suda", "loglinear", "alpha_k_anonymity"}
    assert result.table["meaning"].str.len().min() > 20
    for name, measured in result.results.items():
        assert measured.summary() in result.summary()
        assert f"## {MEASURES[name].title}" in result.to_markdown()
        assert MEASURES[name].question in result.to_markdown()


def test_numbers_are_those_of_the_single_measures():
    result = assess(DATA, keys=KEYS, weights="w", household="hh", measures=BASIC)
    risk = individual_risk(DATA, KEYS, weights="w", household="hh")
    assert value_of(result, "expected re-identifications") == risk.expected_reidentifications
    assert value_of(result, "expected re-identified households") == risk.expected_households
    assert value_of(result, "household risk") == risk.household_global_risk
    assert value_of(result, "violations of 3-anonymity") == k_anonymity(DATA, KEYS).violations[3]
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
    assert "expected re-identified households" not in set(result.table["number"])


def test_a_measure_that_fails_on_the_data_does_not_stop_the_others(monkeypatch):
    def refuse(request):
        individual_risk(request.frame, ["nothing"], weights=None)

    broken = replace(MEASURES["risky_cells"], run=refuse)
    monkeypatch.setitem(registry.MEASURES, "risky_cells", broken)
    result = assess(DATA, keys=KEYS, measures=["risky_cells", "frequencies"])
    assert "'nothing': column given as key is not in the data" in result.skipped["risky_cells"]
    assert list(result.results) == ["frequencies"]


def test_new_measure_is_one_more_entry(monkeypatch):
    entry = registry.Measure(
        "Rows",
        "How long is the file?",
        (),
        lambda request: request.counts,
        lambda result, request: [Headline("rows", len(request.frame), "records in the file")],
        "none",
    )
    monkeypatch.setitem(registry.MEASURES, "rows", entry)
    assert value_of(assess(DATA, keys=KEYS, measures="rows"), "rows") == len(DATA)


def test_limits_decide_what_is_kept():
    strict = assess(DATA, keys=KEYS, weights="w", measures=BASIC, limits={"global_risk": 1e-6})
    loose = assess(DATA, keys=KEYS, weights="w", measures=BASIC, limits=Limits(global_risk=1.0))
    assert "global risk" in set(strict.exceeded["number"])
    assert "global risk" not in set(loose.exceeded["number"])
    assert "Not kept: " in strict.summary()
    none = assess(
        DATA,
        keys=KEYS,
        weights="w",
        measures=["k_anonymity"],
        limits={"k": None},
    )
    assert none.table["limit"].isna().all()
    assert none.exceeded.empty


def test_limits_on_sensitive_values():
    result = assess(
        DATA,
        keys=["sex"],
        sensitive="ill",
        measures=["l_diversity", "t_closeness"],
        limits={"l": 3, "t": 0.0001},
    )
    assert result.exceeded["number"].tolist() == ["smallest distinct l of ill", "t of ill"]


@pytest.mark.parametrize(
    ("at_least", "value", "within"), [(False, 2, True), (False, 2.1, False), (True, 1.9, False)]
)
def test_headline_within(at_least, value, within):
    assert Headline("x", value, "x", limit=2, at_least=at_least).within is within
    assert Headline("x", value, "x").within is None


def test_arguments_reach_the_measures():
    base = assess(DATA, keys=KEYS, weights="w", measures=BASIC)
    own = assess(DATA, keys=KEYS, weights="w", measures=BASIC, missing="own-category")
    half = assess(DATA, keys=KEYS, weights="w", measures=BASIC, alpha=0.5)
    risks = [value_of(x, "expected re-identifications") for x in (base, half, own)]
    assert risks[0] < risks[1] < risks[2]
    more = assess(DATA, keys=KEYS, measures=["k_anonymity"], k=7)
    assert more.table["number"].tolist() == [
        "violations of 3-anonymity",
        "violations of 7-anonymity",
    ]
    size = assess(DATA, keys=KEYS, measures=["population_uniqueness"], population_size=9_000)
    direct = population_uniqueness(DATA, KEYS, population_size=9_000)
    assert value_of(size, "population uniques in the file") == direct.tau1
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
    assert value_of(result, "largest share of a value of ill") == ill.largest_share
    assert value_of(result, "beta of income") == beta_likeness(DATA, ["sex"], "income").beta
    assert result.exceeded["number"].tolist() == ["largest share of a value of ill"]
    both = result.results["alpha_k_anonymity"]
    assert list(both.to_frame().columns.levels[0]) == ["ill", "income"]
    assert "(0.5, 4)-anonymity" in both.summary()


def test_options_reach_single_measures():
    base = assess(DATA, keys=KEYS, weights="w", sensitive="income")
    changed = assess(
        DATA,
        keys=KEYS,
        weights="w",
        sensitive="income",
        options={
            "individual_risk": {"quality": 0.5},
            "risky_cells": {"max_dimension": 1, "threshold": 1},
            "t_closeness": {"distance": "equal"},
            "l_diversity": {"missing_sensitive": "ignore"},
        },
    )
    name = "expected re-identifications"
    assert value_of(changed, name) == pytest.approx(value_of(base, name) / 2)
    assert len(changed.results["risky_cells"].table) == 3
    assert changed.results["t_closeness"].distance == {"income": "equal"}
    assert changed.results["l_diversity"].missing_sensitive == "ignore"


def test_figures():
    result = assess(DATA, keys=KEYS, weights="w", household="hh", sensitive="ill")
    drawn = result.figures()
    expected = {"risk_distribution", "sample_against_population", "cell_sizes"}
    assert expected | ({"suda_by_record"} & set(drawn)) == set(drawn)
    persons, households = drawn["risk_distribution"].axes[0].patches[:2]
    assert persons.get_xy()[:, 1].max() > 0
    assert households.get_xy()[:, 1].max() > 0
    for figure in drawn.values():
        figure.canvas.draw()
    assert "sample_against_population" not in assess(DATA, keys=KEYS, measures=BASIC).figures()
    assert assess(DATA, keys=KEYS, measures="risky_cells").figures() == {}


def test_the_page_has_figures_captions_and_rules_with_their_source(tmp_path):
    result = assess(DATA, keys=KEYS, weights="w", household="hh", sensitive="ill")
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
    assert "highest risk of a record" not in page
    assert "Rules of thumb" in page


def test_figures_without_records():
    empty = assess(DATA.iloc[:0], keys=KEYS, weights="w", measures=BASIC)
    for figure in empty.figures().values():
        figure.canvas.draw()
    assert value_of(empty, "global risk") == 0


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
    for part in ("Did you mean 'data'", "Did you mean 'keys'", "[assess] keys: field required"):
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
    assert {file.name for file in tmp_path.iterdir()} == {"new", "empty"}


def test_order_of_records_does_not_matter():
    order = np.random.default_rng(5).permutation(len(DATA))
    arguments = {"keys": KEYS, "weights": "w", "household": "hh", "sensitive": ["ill", "income"]}
    whole = assess(DATA, **arguments).table
    mixed = assess(DATA.iloc[order], **arguments).table
    assert whole["number"].tolist() == mixed["number"].tolist()
    np.testing.assert_allclose(whole["value"], mixed["value"], rtol=1e-6)


def test_input_is_not_changed():
    before = DATA.copy(deep=True)
    assess(DATA, keys=KEYS, weights="w", household="hh", sensitive="ill")
    pd.testing.assert_frame_equal(DATA, before)


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
