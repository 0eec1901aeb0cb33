"""The section of the report on known totals says what the results say, and no more."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Anneal,
    Categorical,
    Distribute,
    GibbsPass,
    Impute,
    Margin,
    Pipeline,
    Structure,
    Survey,
    calibrate,
    write_report,
)
from synthpop.evaluation.assess_fit import assess_fit
from synthpop.figures.names import FigureNames
from synthpop.figures.objective_trace import objective_trace
from synthpop.microdata.messages.errors import ConvergenceWarning
from synthpop.population.manifest import SurveyStepRecord
from synthpop.report.recipe import fallbacks
from synthpop.report.recipe import steps as steps_table
from synthpop.report.totals import _Cells, prepared_part, totals_facts, totals_pictures
from synthpop.stages.heaping import CorrectHeaping
from tests.small import ROLES, small_frame, small_survey

SEX = pd.DataFrame(
    {"region": np.repeat(["north", "south", "west"], 2), "sex": list("fm") * 3,
     "total": [2000.0, 2100.0, 1100.0, 1250.0, 750.0, 800.0]}
)  # fmt: skip
AREAS = pd.DataFrame(
    {"region": ["north", "north", "south", "west"], "area": ["n1", "n2", "s", "w"],
     "total": [1400.0, 3.0, 900.0, 600.0]}
)  # fmt: skip
GIVEN = AREAS.assign(total=[1400.0, 3.4, 990.0, 600.0])  # the south has fewer households


@pytest.fixture(scope="module")
def calibration() -> Any:
    return calibrate(small_survey(), [Margin(SEX), Margin(AREAS[["region", "total"]].groupby(
        "region", as_index=False).sum(), level="household")])  # fmt: skip


@pytest.fixture(scope="module")
def fitted(calibration: Any) -> Any:
    stages = [
        CorrectHeaping("age"),
        Structure(["age", "sex"]),
        Categorical("status", predictors=["sex"]),
        Anneal(Margin(SEX), split="region", tolerance=0.001),
        Distribute("area", within="region", margins=Margin(GIVEN, level="household")),
    ]
    return Pipeline(stages).fit(calibration.survey, seed=1)


@pytest.fixture(scope="module")
def population(fitted: Any) -> Any:
    return fitted.simulate()


def plain(facts: dict[str, Any]) -> str:
    parts = facts["parts"]
    told = [text for part in parts for text in (part["title"], *part["sentences"])]
    cells = [
        cell
        for part in parts
        for item in part["tables"]
        for row in item["table"]["rows"]
        for cell in row
    ]
    return " | ".join([*told, *cells]).replace("\u00a0", " ")


def test_nothing_known_no_section(population: Any) -> None:
    assert totals_facts(None, None, FigureNames(), False) is None
    without = Pipeline([Structure(["age"])]).fit(small_survey(), seed=1).simulate()
    assert totals_facts(None, without, FigureNames(), False) is None
    assert totals_pictures(None) == {} == totals_pictures(without)


def test_it_tells_the_numbers_of_the_manifest(calibration: Any, population: Any) -> None:
    facts = totals_facts(calibration, population, FigureNames({"area": "District"}), False)
    assert facts is not None
    titles = [part["title"] for part in facts["parts"]]
    assert titles == [
        "Heaped ages: age",
        "Calibration of the weights (raking)",
        "Households exchanged (annealing)",
        "Small areas: District (area)",
    ]
    text = plain(facts)
    prepared = population.manifest.prepared[0]
    assert f"{prepared.details['n_changed']} ages of the survey were corrected" in text
    assert "The weights of the survey meet 9 of 9 known totals" in text
    assert f"{calibration.effective_sample_size:,.0f}" in text
    assert f"Ratios of new to old weights lie between {calibration.g.min():.3g}" in text
    step = population.manifest.steps[0]
    cells = pd.DataFrame(step.margins)
    met = int((cells["difference"].abs() <= 0.5).sum())
    assert f"{met} of 6 known totals are met to the nearest whole number" in text
    relative = (cells["difference"] / cells["target"]).abs()
    worst = cells.iloc[int(relative.argmax())]
    if relative.max() > 0:
        assert f"persons by region x sex: {worst['cell']}" in text
        assert f"{relative.max():.2%}".replace("%", " %") in text
    exchanged = sum(step.details["regions"]["exchanged"])
    assert f"{exchanged:,} of {population.n_households:,} households were exchanged" in text
    changes = pd.DataFrame(step.details["distances"]).query("not controlled")
    worst = changes.iloc[int(changes["distance"].argmax())]
    assert (
        f"{worst['variable']} changed most: distance {worst['distance']:.2%}".replace("%", " %")
        in text
    )
    areas = pd.DataFrame(population.manifest.steps[1].margins)
    sums = areas.groupby(["margin", "region", "cell"])[["given", "target"]].sum()
    is_scaled = bool(((sums["given"] / sums["target"] - 1.0).abs() > 0).any())
    told = "were scaled to the households and persons of each region" in text
    assert told == is_scaled
    assert facts["memory"].startswith("finished in memory:")
    assert facts["parts"][2]["picture"] in totals_pictures(population)
    assert len(facts["parts"]) == 4


def test_outsiders_see_neither_small_totals_nor_single_weights(
    calibration: Any, population: Any
) -> None:
    inside = plain(totals_facts(calibration, population, FigureNames(), False) or {})
    outside = plain(totals_facts(calibration, population, FigureNames(), True) or {})
    cells = pd.DataFrame(
        {"margin": "m", "cell": ["n1", "n2"], "target": [50.0, 3.0], "achieved": [48.0, 2.0]}
    )
    shown = [[row[1] for row in _Cells(cells, e).grid()["rows"]] for e in (False, True)]
    assert shown == [["n2", "n1"], ["n1"]]
    assert "| n2 |" not in outside
    for text in ("Ratios of new to old weight", "Mean of the ages"):
        assert text not in outside
    assert "Ratios of new to old weight" in inside
    assert "of the cells that may be shown" in outside


@pytest.mark.filterwarnings("ignore::synthpop.microdata.messages.errors.SparseDataWarning")
def test_what_is_not_met_is_said() -> None:
    cells = pd.DataFrame({"sex": ["f", "m"], "total": [5000.0, 0.0]})
    more = pd.DataFrame({"sex": ["f"], "total": [4000.0]})
    step = Anneal([Margin(cells), Margin(more)], tolerance=0.0, max_proposals=3000, max_copies=50)
    with pytest.warns(ConvergenceWarning):
        population = Pipeline([Structure(["sex"]), step]).fit(small_survey(), seed=1).simulate()
    text = plain(totals_facts(None, population, FigureNames(), False) or {})
    assert "NOT met everywhere" in text
    record = pd.DataFrame(population.manifest.steps[0].margins)
    left = record["achieved"][1]
    if left:
        assert f"A total of 0 is not met: {record['margin'][1]}: sex=m, reached" in text


def test_weights_that_do_not_converge_are_said() -> None:
    regions = pd.DataFrame({"region": ["north", "south"], "total": [4500.0, 2000.0]})
    sexes = pd.DataFrame({"sex": ["f", "m"], "total": [4500.0, 3500.0]})
    with pytest.warns(ConvergenceWarning):
        result = calibrate(
            small_survey(), [Margin(regions), Margin(sexes)], method="ipu", max_iterations=1
        )
    text = plain(totals_facts(result, None, FigureNames(), False) or {})
    assert "did NOT converge" in text
    met = int((result.margins["relative_error"].abs() <= result.tolerance).sum())
    assert met < 4
    assert f"meet {met} of 4 known totals" in text


@pytest.mark.filterwarnings("ignore::synthpop.microdata.messages.errors.SparseDataWarning")
def test_totals_that_a_later_step_moved_are_said() -> None:
    strong = SEX.assign(total=SEX["total"] * np.tile([1.2, 0.8], 3))
    stages = [
        Structure(["age", "sex"]),
        Distribute("area", within="region", margins=Margin(GIVEN, level="household")),
        Anneal(Margin(strong), split="region", tolerance=0.01),
    ]
    with pytest.warns(ConvergenceWarning, match="moved the totals"):
        population = Pipeline(stages).fit(small_survey(), seed=1).simulate()
    facts = totals_facts(None, population, FigureNames(), False)
    assert facts is not None
    assert "right after this step: later steps changed them" in facts["parts"][0]["sentences"][0]


def test_the_page_has_the_section(
    calibration: Any, fitted: Any, population: Any, tmp_path: Path
) -> None:
    survey = fitted.derived_survey()
    fit = assess_fit(survey, population, variables=["sex"])
    texts = {}
    for key, given in (("with", calibration), ("without", None)):
        path = write_report(
            tmp_path / f"{key}.html", survey, population, fit=fit, calibration=given
        )
        texts[key] = path.read_text(encoding="utf-8")
    page = texts["with"]
    section = page[page.index('<section id="totals">') :]
    section = section[: section.index("</section>")]
    assert '<a href="#totals">Known totals</a>' in page
    assert "<svg" in section
    assert "Calibration of the weights" in section
    assert "Calibration of the weights" not in texts["without"]
    done = unescape(re.sub(r"<[^>]+>", " ", page[page.index('id="done"') :]))
    for words in ("Heaped ages", "Small areas", "Households allocated within region by 4 known"):
        assert words in done
    for open_, close in (("<div", "</div>"), ("<section", "</section>"), ("<p", "</p>")):
        tags = len(re.findall(rf"{open_}[ >]", page))
        assert tags == page.count(close)


def test_steps_in_words(population: Any) -> None:
    rows = steps_table(population.manifest.identity.recipe, FigureNames())["rows"]
    assert rows[0][1:] == [
        "Heaped ages", "age",
        "Ages of the survey corrected before the fit (lognormal draws, 5year)",
    ]  # fmt: skip
    assert rows[3][2] == "region, sex"
    assert rows[3][3].replace("\u00a0", " ") == (
        "Whole households exchanged within region until 6 known totals are met, within 0.10 %"
    )


def test_steps_say_how_strata_were_pooled() -> None:
    recipe = [
        {"type": "impute", "variables": ["edu"]},
        {"type": "categorical", "name": "a", "predictors": "all", "model": "multinomial"},
        {"type": "categorical", "name": "b", "predictors": "all", "model": "tree"},
        {"type": "gibbs_pass", "variables": ["a"], "passes": 2, "model": "multinomial"},
        {"type": "continuous", "name": "x", "predictors": "all", "method": "regression"},
    ]
    pooling = {
        "continuous x": {"kind": "partial", "amount": 10.0},
        "continuous x (values)": {"kind": "partial", "amount": 1000.0},
        "categorical a": {"kind": "partial", "amount": 30.0},
        "categorical b": {"kind": "none", "amount": 0.0},
        "gibbs_pass a: a": {"kind": "partial", "amount": "infinite"},
    }
    told = steps_table(recipe, FigureNames(), pooling)["rows"]
    assert told[0][1:3] == ["Missing values filled", "edu"]
    assert told[1][3].endswith(
        "model of each stratum shrunk towards the pooled one (prior size 30 persons)"
    )
    assert "stratum" not in told[2][3]
    assert (
        "model of each stratum shrunk towards the pooled one (prior size 10 persons)" in told[4][3]
    )
    last = "regression of each stratum shrunk towards the pooled one (prior size 1,000 persons)"
    assert told[4][3].endswith(last)
    assert told[3][3].replace("\u00a0", " ") == (
        "Drawn again given all others (multinomial on all), 2 passes; "
        "one model for all strata (complete pooling)"
    )


def test_steps_tell_their_own_pooling_in_plain_numbers() -> None:
    recipe = [
        {"type": "structure", "variables": ["age"], "method": "direct"},
        {"type": "relation", "name": "a", "predictors": "all", "model": "multinomial"},
        {"type": "gibbs_pass", "variables": ["a", "b"], "passes": 1, "model": "multinomial"},
        {"type": "gibbs_pass", "variables": ["a"], "passes": 1, "model": "multinomial"},
    ]
    pooling = {
        "structure": {"kind": "partial", "amount": 113.4},
        "relation a (heads)": {"kind": "partial", "amount": 30.0},
        "relation a (others)": {"kind": "none", "amount": 0.0},
        "gibbs_pass a, b: a": {"kind": "partial", "amount": 10.0},
        "gibbs_pass a, b: b": {"kind": "none", "amount": 0.0},
        "gibbs_pass a: a": {"kind": "partial", "amount": 300.0},
    }
    told = [row[3] for row in steps_table(recipe, FigureNames(), pooling)["rows"]]
    assert "(prior size 113 households)" in told[0]
    near = "; model of each stratum shrunk towards the pooled one (prior size {} persons)"
    for text, amount in zip(told[1:], (30, 10, 300), strict=True):
        assert text.endswith(near.format(amount))


def test_fallbacks_of_levels_are_not_told_as_strata() -> None:
    frame = small_frame().assign(group=lambda f: np.where(f.index < 3, "few", "many"))
    steps = [Structure(["group", "sex"]), Categorical("status", predictors=["sex"], by="group")]
    people = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1).simulate()
    assert {item.stratum for item in people.fallbacks} == {"group = few"}
    for external, head in ((True, "Strata or levels"), (False, "Stratum or level")):
        told = fallbacks(people, external)
        assert head in told["table"]["head"]
        assert "in 1 stratum" not in told["sentence"]
    many = len(people.fallbacks)
    assert f"{many} fallback{'s were' if many > 1 else ' was'} needed" in people.summary()


def test_the_trace_has_a_line_for_each_region() -> None:
    trace = pd.DataFrame(
        {"region": list("aabb"), "proposals": [0, 10, 0, 20], "objective": [9.0, 0.0, 7.0, 1.0]}
    )
    axes = objective_trace(trace).axes[0]
    lines = [line.get_ydata().tolist() for line in axes.lines]
    assert lines == [[9.0, 0.0], [0.0], [7.0, 1.0], [1.0]]
    many = pd.DataFrame({"region": range(30), "proposals": 1, "objective": 1.0})
    assert len(objective_trace(many).axes[0].lines) == 60


def test_filled_values_are_told_and_their_counts_stay_inside(tmp_path: Path) -> None:
    frame = small_frame(300)
    frame.loc[frame.index[::4], "status"] = None
    steps = [
        Impute("status", given=["age", "sex"]),
        Structure(["age", "sex"]),
        Categorical("status"),
        GibbsPass("status"),
    ]
    fitted = Pipeline(steps).fit(Survey(frame, **ROLES), seed=1)
    population = fitted.simulate()
    facts = totals_facts(None, population, FigureNames({"status": "Status"}), False)
    assert facts is not None
    assert facts["parts"][0]["title"] == "Missing values filled: Status (status)"
    assert facts["parts"][0]["sentences"][0].startswith("Missing")
    row = population.manifest.prepared[0].details["variables"][0]
    cells = facts["parts"][0]["tables"][0]["table"]["rows"][0]
    assert cells[1:] == [str(row[key]) for key in ("n_missing", "n_imputed", "n_left_missing")]
    outside = totals_facts(None, population, FigureNames(), True)
    assert outside is not None
    assert outside["parts"][0]["tables"] == []
    for audience in ("internal", "external"):
        page = write_report(
            tmp_path / f"{audience}.html", fitted.survey, population, audience=audience
        )
        assert "Missing values filled" in unescape(page.read_text(encoding="utf-8"))


def test_a_step_on_the_survey_of_somebody_else_says_its_summary() -> None:
    record = SurveyStepRecord("polish age", "12 ages polished.", 3, {"n": 12})
    assert SurveyStepRecord.from_dict(record.to_dict()) == record
    assert prepared_part(record, FigureNames(), False)["sentences"] == ["12 ages polished."]
    assert "12" not in str(prepared_part(record, FigureNames(), True))
