"""The page of a comparison: one file, decision first, nothing of single records outside."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import riskeval
from riskeval import Indicators, Release, protect
from riskeval.shared.show import shown
from synthpop.microdata.messages.errors import InputError, OutputError
from tests.riskeval.comparison.cases import ROLES, grouped, people, suppressed


@pytest.fixture(scope="module")
def found() -> riskeval.Comparison:
    original = people()
    base = suppressed(original)
    micro = {
        f"micro {k}": Release(
            protect.microaggregate(base, ["pay", "rent"], k=k, seed=1), family="micro", parameter=k
        )
        for k in (3, 8)
    }
    releases = {
        **micro,
        "grouped <b>": grouped(original),
        "synthetic": people(300, seed=9).drop(columns="rent"),
    }
    return riskeval.compare(
        original,
        releases,
        **ROLES,
        household="hid",
        strata="region",
        indicators=Indicators("pay", ["mean", "gini"], by=["region", "sex"]),
        regressions=["log(pay) ~ sex + age"],
        limits={"k": 3, "global_risk": 0.02},
    )


def text_of(page: str) -> str:
    body = re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_one_file_with_the_decision_first(found: riskeval.Comparison, tmp_path: Path) -> None:
    page = found.report(tmp_path / "page.html", title="Five files").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    assert page.count("<script") == 1
    assert page.count("<svg") == 10  # four maps in two sizes, the first twice
    heads = re.findall(r"<h[12][^>]*>(.*?)</h", page)
    assert heads == [
        "Five files", "Releases", "Scenario and limits", "Risk and utility",
        "Risk before and after", "Utility",
        "Estimates and their confidence intervals", "Regressions", "What was compared",
        "How it was measured",
    ]  # fmt: skip
    first = page[page.index("Scenario and limits</h2>") : page.index("Risk and utility</h2>")]
    places = [first.index(f"{head}</h3>") for head in ("come from", "Caveats")]
    assert places == sorted(places)
    text = text_of(page)
    for part in ("grouped &lt;b&gt;", "52 levels of the original count as 4", "as asked",
                 "rent is not in the release", "Seed 1 repeats"):  # fmt: skip
        assert part in text
    assert "<b>" not in page


def test_a_model_on_other_levels_has_its_own_table(
    found: riskeval.Comparison, tmp_path: Path
) -> None:
    text = text_of(found.report(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "log(pay) ~ sex + age (synthetic)" in text
    assert "log(pay) ~ sex + age (micro 3, micro 8, grouped &lt;b&gt;)" in text


def test_external_readers_see_no_small_counts_and_no_seed(
    found: riskeval.Comparison, tmp_path: Path
) -> None:
    page = found.report(tmp_path / "page.html", audience="external").read_text(encoding="utf-8")
    text = text_of(page)
    assert "Seed" not in text
    assert "rows agree" not in text
    assert "for external readers" in text
    few = found.measures[(found.measures["measure"] == "expected_reidentifications")]
    small = few["value"].between(0, 5, inclusive="neither")
    assert small.any()
    assert "< 5" in text.replace("&lt;", "<")


def test_domains_of_few_records_are_inside_only(tmp_path: Path) -> None:
    original = people(120)
    original.loc[[3, 9], "region"] = "islet"
    result = riskeval.compare(
        original, {"same": original}, **ROLES, indicators=Indicators("pay", by="region")
    )
    assert result.overlaps.set_index("domain").loc["islet", "records"] == 2
    inside = result.report(tmp_path / "in.html").read_text(encoding="utf-8")
    outside = result.report(tmp_path / "out.html", audience="external").read_text(encoding="utf-8")
    assert "islet" in inside
    assert "islet" not in outside


def test_how_numbers_are_hidden() -> None:
    def text(value: float, external: bool, **more: object) -> str:
        row = {"value": value, "unit": "share", "group": "risk", "records": 1_000, **more}
        return shown(pd.Series(row), external)

    assert text(3 / 1_000, True) == "< 0.5 %"
    assert text(3 / 1_000, False) == "0.3 %"
    assert text(0.0, True) == "0 %"
    assert text(0.997, True) == "99.5 %"
    assert text(3.2, True, unit="persons") == "< 5"
    assert text(0.001, True, group="utility", unit="overlap") == "0.1 %"


def test_small_counts_of_a_drawn_part_are_hidden(
    found: riskeval.Comparison, tmp_path: Path
) -> None:
    measures, table = found.measures.copy(), found.table.copy()
    place = (measures["release"] == "micro 3") & (measures["measure"] == "record_linkage")
    measures.loc[place, "value"] = table.loc["micro 3", "record_linkage"] = 0.02
    seen = replace(found, measures=measures, table=table)  # 4 of 200 that were drawn, of 400
    assert found.sample_sizes.linkage == 200
    inside = seen.report(tmp_path / "in.html").read_text(encoding="utf-8")
    outside = seen.report(tmp_path / "out.html", audience="external").read_text(encoding="utf-8")
    rows = [
        text_of(page.split(">Record linkage</t")[1].split("</tr>")[0]) for page in (inside, outside)
    ]
    assert " 2 %" in rows[0]
    assert " 2 %" not in rows[1]
    assert "&lt; 2.5 %" in rows[1]


def test_faults(found: riskeval.Comparison, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="audience"):
        found.report(tmp_path / "page.html", audience="public")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        found.report(tmp_path / "file" / "page.html")
