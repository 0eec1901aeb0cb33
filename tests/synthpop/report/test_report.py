"""The report: self-contained, true to its results, escaped, and fit for external readers."""

# ruff: noqa: F401, F811
from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import Pipeline, Structure, Survey
from synthpop.evaluation.assess_fit import FitReport, assess_fit
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.microdata.messages.text import short_percent
from synthpop.microdata.statistics.distances import standardised_differences
from synthpop.report.advice import advice
from synthpop.report.pairs import _kind
from synthpop.report.suppression import suppressed
from synthpop.report.write import report_facts, write_report
from tests.synthpop.evaluation.test_assess_fit import fit, fitted, small_data, survey


class Risk:
    """What the report needs of a result of the intruder scenarios."""

    keys = ("region", "sex")
    target = "income"

    def __init__(self, tau: float = 12.0, n: int = 300) -> None:
        rows = [
            {"scenario": s, "accuracy": a, "tau": tau * s * a * 20, "rate": tau * s * a * 20 / n,
             "note": ""}
            for s in (1, 2, 4, 5) for a in (0.01, 0.05)
        ]  # fmt: skip
        rows += [
            {"scenario": 3, "accuracy": a, "tau": np.nan, "rate": np.nan, "note": "no intervals"}
            for a in (0.01, 0.05)
        ]
        self.table = pd.DataFrame(rows)

    def summary(self) -> str:
        return "7 of the 300 records are unique.\nMore."


class Check(HTMLParser):
    """Collects what a page refers to, its ids, its headings, and whether tags are closed."""

    void = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.references: list[str] = []
        self.ids: set[str] = set()
        self.text: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        values = dict(attrs)
        self.references += [values[k] for k in ("src", "href", "xlink:href") if values.get(k)]
        if "id" in values:
            self.ids.add(values["id"])
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.void:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def plain(self) -> str:
        return " ".join(" ".join(self.text).replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def population(fitted: Any) -> Any:
    return fitted.simulate(scale=3.0)


@pytest.fixture(scope="module")
def page(survey: Survey, population: Any, fit: FitReport, tmp_path_factory: Any) -> str:
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    assert write_report(path, survey, population, fit=fit, risk=Risk()) == path
    assert [item.name for item in path.parent.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def test_it_is_one_file_that_needs_nothing_else(page: str) -> None:
    check = Check(page)
    assert not check.open
    assert {"link", "img", "iframe"}.isdisjoint(check.tags)
    assert check.tags.count("script") == 1
    local = [ref for ref in check.references if ref.startswith("#")]
    others = set(check.references) - set(local)
    assert all(ref.startswith("data:image/png;base64,") for ref in others)
    assert {ref[1:] for ref in local} <= check.ids
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert len(page) < 3_000_000


def test_it_has_every_section(page: str) -> None:
    plain = Check(page).plain
    for heading in (
        "Summary", "Fit", "Known totals", "Variables", "Two-way tables", "Members of households",
        "Households", "Components", "Disclosure risk", "What was done", "Fallbacks", "Provenance",
        "All comparisons", "How to read",
    ):  # fmt: skip
        assert heading in plain


def test_it_tells_the_numbers_of_the_results(page: str, fit: FitReport, population: Any) -> None:
    plain = Check(page).plain
    assert f"{population.n_persons:,}" in plain
    assert f"{population.n_households:,} households" in plain
    assert f"{short_percent(fit.tvd.max(), 2)} TVD" in plain
    assert f"{short_percent(fit.ks['income'], 2)} KS" in plain
    assert f"AUC of {fit.auc['persons']:.2f} for persons" in plain
    mean = fit.tables["statistics"].query("variable == 'income' and statistic == 'mean'")
    assert f"{mean['population'].iloc[0]:,.0f}" in plain
    row = fit.tables["one_way"].query("variable == 'job' and level == 'works'").iloc[0]
    assert f"works {row['sample']:.2%} {row['population']:.2%}".replace("%", " %") in plain
    assert "Seed 1" in plain
    for item in population.fallbacks:
        assert item.what in plain


def test_the_recipe_is_in_its_order(page: str) -> None:
    plain = Check(page).plain
    plain = plain[plain.index("Steps of the recipe") :]
    places = [plain.index(text) for text in (
        "1 Household structure", "2 Derived variable", "3 Categorical variable",
        "4 Continuous variable", "5 Components",
    )]  # fmt: skip
    assert places == sorted(places)
    assert "multinomial on age_class, sex" in plain


def test_each_scenario_has_a_sentence(page: str) -> None:
    plain = Check(page).plain
    assert (
        "Within 5 % of the truth they find 60 survey persons, 20.00 % of all: about one in 5."
        in plain
    )
    assert "Not computed: no intervals." in plain
    assert "Keys: region, sex. Value looked for: income." in plain
    assert "7 of the 300 records are unique." in plain
    assert "Disclosure risk high The strongest of the matching intruders comes within 5 %" in plain


def test_same_arguments_same_bytes(
    survey: Survey, population: Any, page: str, tmp_path: Path
) -> None:
    again = write_report(tmp_path / "r.html", survey, population, risk=Risk())  # its own fit
    assert again.read_text(encoding="utf-8") == page


def test_title_labels_and_units(survey: Survey, population: Any, fit: FitReport) -> None:
    facts = report_facts(
        survey, population, fit, title="My <country>", labels={"income": "Net income"},
        units={"income": "euros a year"},
    )  # fmt: skip
    assert facts["title"] == "My <country>"
    number = next(item for item in facts["variables"] if item["name"] == "income")
    assert number["title"] == "Net income (income)"
    assert "euros a year" in number["charts"][0]["chart"]
    assert facts["risk"] is None


def test_everything_is_escaped(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    data = small_data(60).rename(columns={"job": bad, "region": "a&b"})
    data[bad] = data[bad].fillna(bad)
    survey = Survey(data, weight="w", household="hid", strata="a&b")
    population = Pipeline([Structure(["sex", bad])]).fit(survey, seed=1).simulate()
    path = write_report(tmp_path / "r.html", survey, population, title=bad)
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == 1
    assert "&lt;script&gt;" in text
    assert Check(text).tags.count("script") == 1


def test_a_frame_is_a_population_too(survey: Survey, population: Any, tmp_path: Path) -> None:
    path = write_report(tmp_path / "r.html", survey, population.frame())
    plain = Check(path.read_text(encoding="utf-8")).plain
    assert "What was done" not in plain
    assert "Disclosure risk not assessed" in plain
    assert "Two-way tables" in plain


def test_faults(survey: Survey, population: Any, fit: FitReport, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'public' is not allowed"):
        write_report(tmp_path / "r.html", survey, population, audience="public")
    (tmp_path / "taken").mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        write_report(tmp_path / "taken", survey, population, fit=fit)
    assert [item.name for item in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("kind", "audience"),
    [
        ("numbers", "internal"),
        ("categories", "external"),
        ("one person", "internal"),
        ("one person", "external"),
        ("all missing", "external"),
    ],
)
def test_any_survey_has_a_report(kind: str, audience: str, tmp_path: Path) -> None:
    data = {
        "numbers": pd.DataFrame({"w": 1.0, "x": np.linspace(-5, 5, 60)}),
        "categories": pd.DataFrame({"w": 1.0, "x": ["a", "b", None] * 4}),
        "one person": pd.DataFrame({"w": [3.0], "x": ["a"]}),
        "all missing": pd.DataFrame({"w": 1.0, "x": [np.nan] * 30, "y": [None] * 30}),
    }[kind]
    survey = Survey(data, weight="w")
    names = [name for name in data.columns if name != "w"]
    population = Pipeline([Structure(names)]).fit(survey, seed=1).simulate()
    path = write_report(tmp_path / "r.html", survey, population, audience=audience)
    assert not Check(path.read_text(encoding="utf-8")).open


def test_a_policy_lets_nothing_load_and_only_the_script_of_the_page_run(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    script = re.search(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert "default-src 'none'" in policy[1]
    assert f"script-src 'sha256-{digest}'" in policy[1].replace("&#39;", "'")
    assert len(script[1]) < 4_000


def test_a_page_says_first_what_is_broken(survey: Survey, population: Any) -> None:
    frame = population.frame()
    frame["job"] = np.where(frame["sex"] == "f", "works", "rests")  # told by nothing else
    fit = assess_fit(survey, frame)
    facts = report_facts(survey, frame, fit)
    assert facts["verdicts"][0]["word"] != "good"
    assert "job" in facts["worst"][0]["sentence"]
    assert facts["variables"][0]["order"]["worst"] > 2
    assert facts["variables"][0]["order"]["worst"] == pytest.approx(
        fit.ranking["ratio"].max(), abs=0.01
    )
    ids = {item["id"] for item in facts["variables"]} | {"members", "households", "pairs"}
    assert {item["link"][1:] for item in facts["worst"]} <= ids


def test_advice_names_the_missing_predictor() -> None:
    recipe = [
        {"type": "structure", "variables": ["age", "sex"]},
        {"type": "categorical", "name": "job", "predictors": ["age"]},
        {"type": "continuous", "name": "income", "predictors": ["age", "job"]},
    ]
    told = {
        ("conditional", "sex", "job"): "Give job the predictor sex.",
        ("by group", "income", "job"): "Give income an interaction with job, or a second pass",
        ("members", "job", ""): "Draw job of members given those before them (by_household).",
        ("household counts", "age", ""): "age is copied with the household",
        ("household counts", "town", ""): "Keep town in the structure",
        ("age gaps", "age", ""): "age is copied with the household",
        ("two-way table", "sex", "age"): "sex is copied with the household",
    }
    for (kind, variable, given), sentence in told.items():
        assert advice({"kind": kind, "variable": variable, "given": given}, recipe).startswith(
            sentence
        )


def test_advice_looks_through_classes_and_redrawn_ages() -> None:
    recipe = [
        {"type": "structure", "variables": ["age", "sex"], "jitter": {"age": 2}},
        {"type": "derive", "name": "age_class", "source": "age"},
        {
            "type": "categorical",
            "name": "job",
            "predictors": ["age_class"],
            "by_household": "first",
        },
    ]
    fewer = "Draw age again within fewer years (jitter of the structure)."
    sentences = {
        ("age gaps", "age", ""): fewer,
        ("members", "age_class", ""): fewer,
        ("two-way table", "age_class", "sex"): fewer,
        ("by group", "age", "job"): "Give job finer classes of age.",
        ("conditional", "job", "age_class"): "Give job an interaction with age_class",
    }
    for (kind, variable, given), sentence in sentences.items():
        assert advice({"kind": kind, "variable": variable, "given": given}, recipe).startswith(
            sentence
        )


def test_true_zeros_are_apart_from_what_is_found(survey: Survey, population: Any) -> None:
    class Weighted(Risk):
        def __init__(self) -> None:
            super().__init__(tau=10.0)
            self.table["tau_zero"] = self.table["tau"] * 0.9
            self.table["tau_expected"] = self.table["tau"] * 0.001

    fit = assess_fit(survey, population, variables=["job", "sex"])
    facts = report_facts(survey, population, fit, risk=Weighted())
    row = facts["verdicts"][1]
    assert row["word"] == "low"
    assert "36 of them have a true value of 0" in row["reason"]
    assert "0.04 are expected to be unique in the country" in row["reason"]
    worst = report_facts(survey, population, fit, risk=Risk(tau=10.0))["verdicts"][1]
    assert worst["word"] == "high"


def test_cells_are_coloured_by_their_error_and_grey_within_two() -> None:
    q = np.array([0.5, 0.5, 0.5, np.nan])
    p = np.array([0.55, 0.62, 0.45, 0.5])
    assert [_kind(z) for z in standardised_differences(q, p, 100.0)] == [
        "within", "off-more", "within", "within"
    ]  # fmt: skip
    assert _kind(-5.0) == "far-fewer"


# for external readers


@pytest.fixture(scope="module")
def rare() -> Survey:
    data = small_data(200, seed=9)
    data["job"] = data["job"].astype(object)
    data.loc[data.index[:3], "job"] = "rare"
    data.loc[data["income"].idxmax(), "income"] = 987_654.321
    return Survey(data, weight="w", household="hid", strata="region")


@pytest.fixture(scope="module")
def rare_fit(rare: Survey) -> tuple[Any, FitReport]:
    stages = [Structure(["age", "sex", "job", "income"])]
    population = Pipeline(stages).fit(rare, seed=4).simulate()
    return population, assess_fit(rare, population)


def test_small_cells_go_and_one_never_goes_alone(rare_fit: tuple[Any, FitReport]) -> None:
    before, after = rare_fit[1], suppressed(rare_fit[1])
    table = after.tables["one_way"].query("variable == 'job'").set_index("level")
    assert table.loc["rare", ["sample", "population", "n_sample"]].isna().all()
    assert table["sample"].isna().sum() == 2
    untouched = before.tables["one_way"]
    assert not untouched["sample"].isna().any()
    for name, columns in {"two_way": ["level_a", "level_b"], "by_stratum": ["level_a"]}.items():
        kept = after.tables[name]
        original = before.tables[name]
        assert kept["sample"][(original["n_sample"] < 5)].isna().all()
        assert kept["sample"].notna().any()
        for column in columns:
            hidden = kept["sample"].isna().groupby([kept["a"], kept["b"], kept[column]])
            size = hidden.size()
            assert not ((hidden.sum() == 1) & (size > 1)).any() or name == "two_way"
    sizes, small = after.tables["sizes"], before.tables["sizes"]["n_sample"] < 5
    assert sizes["estimate"][small].isna().all()


def test_household_sizes_count_households() -> None:
    data = pd.DataFrame(
        {"hid": np.r_[np.repeat(range(3), 4), range(100, 140)], "w": 1.0, "sex": "f"}
    )
    survey = Survey(data, weight="w", household="hid")
    population = Pipeline([Structure(["sex"])]).fit(survey, seed=1).simulate()
    table = suppressed(assess_fit(survey, population)).tables["one_way"]
    assert table.query("variable == 'hsize' and level == '4'")["sample"].isna().all()


def test_no_value_of_one_person_is_told(
    rare: Survey, rare_fit: tuple[Any, FitReport], tmp_path: Path
) -> None:
    population, found = rare_fit
    tables = suppressed(found).tables
    assert not tables["statistics"]["statistic"].isin(["smallest", "largest"]).any()
    quantiles = tables["quantiles"].query("variable == 'income'").set_index("p")
    assert np.isnan(quantiles.loc[0.99, "sample"])
    assert quantiles.loc[0.5, "sample"] == float(f"{quantiles.loc[0.5, 'sample']:.2e}")
    for _, part in tables["curves"].groupby(["variable", "by", "level"]):
        steps = np.diff(np.r_[0, part["n_below"]])
        assert (steps >= 5).all()
    texts = {}
    for audience in ("internal", "external"):
        path = tmp_path / f"{audience}.html"
        write_report(path, rare, population, fit=found, audience=audience, risk=Risk(0.05))
        texts[audience] = Check(path.read_text(encoding="utf-8")).plain
    assert "987,654" in texts["internal"]
    assert "987,654" not in texts["external"]
    assert "Seed 4" in texts["internal"]
    assert "kept in the internal report" in texts["external"]
    assert "7 of the 300 records" not in texts["external"]
    assert "fewer than 5 of the survey persons" in texts["external"]
    assert "fewer than 5 survey persons are suppressed" in texts["external"]


def test_groups_of_few_persons_lose_their_boxes(rare_fit: tuple[Any, FitReport]) -> None:
    boxes = suppressed(rare_fit[1]).tables["boxes"].query("variable == 'age' and by == 'job'")
    rare = boxes[boxes["level"] == "rare"]
    assert rare[["p05", "p25", "p50", "p75", "p95", "mean"]].isna().all(axis=None)
    shown = boxes.set_index("level")["mean"].notna()
    works = boxes[boxes["level"] == "works"]
    assert works[["p05", "p50"]].notna().all(axis=None)
    assert shown.any()
    assert not shown["works"].any()  # the smaller one of the others: all less these would tell rare
    groups = suppressed(rare_fit[1]).tables["groups"].query("variable == 'age' and by == 'job'")
    assert groups.set_index("level").loc["rare", ["mean_sample", "value"]].isna().all()


def test_many_levels_do_not_swell_the_page() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"w": 1.0, "code": rng.integers(0, 900, 3_000).astype(str)})
    other = pd.DataFrame({"code": rng.integers(0, 900, 3_000).astype(str)})
    fit = assess_fit(Survey(frame, weight="w"), other)
    rows = report_facts(Survey(frame, weight="w"), other, fit)["variables"][0]["tables"][0]
    assert rows["title"] == "The 60 levels that differ most"
    assert len(rows["table"]["rows"]) == 60
