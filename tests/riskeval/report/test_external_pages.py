"""An attacker tries to get planted values back from the pages for external readers."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval import Indicators, ProtectionSession, Release, assess, write_assessment
from riskeval.report.comparison import comparison_facts
from riskeval.report.external import external_view
from riskeval.report.protection import protection_facts
from tests.riskeval.comparison.cases import SAMPLE_SIZES

PLANTED = 777_123.0
N = 200


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "reg": rng.choice(["north", "south", "west"], N),
            "age": rng.integers(0, 5, N),
            "ill": rng.choice(["no", "yes"], N, p=[0.9, 0.1]),
            "income": rng.integers(200, 900, N) * 100.0,
        }
    )
    # a domain of six records, of which one has an income
    data.loc[:5, "reg"] = "tiny"
    data.loc[1:5, "income"] = np.nan
    data.loc[0, "income"] = PLANTED
    data.loc[0, "ill"] = "leprosy"
    return data


def numbers_of(page: str) -> np.ndarray:
    """Every number of a page, those inside of attributes and figures too."""
    found = re.findall(r"(?<![\w#.-])\d[\d,]*(?:\.\d+)?", page)
    return np.unique([float(text.replace(",", "")) for text in found])


def values_by_subtraction(page: str, released: pd.DataFrame, sizes: list[int]) -> np.ndarray:
    """Single values that differences of shown totals give, with what the released file tells."""
    shown = numbers_of(re.sub(r"<style.*?</style>", "", page, flags=re.S))
    known = [released["income"].mean(), *released.groupby("reg")["income"].mean()]
    totals = np.concatenate([n * np.concatenate([shown, known]) for n in sizes])
    gaps = np.abs(np.subtract.outer(totals, totals)).ravel()
    extra = [released["income"].max(), 100_000.0, 0.0]
    return np.concatenate([totals, *(gaps + x for x in extra)])


def test_comparison_page_does_not_tell_the_income_of_one_person(tmp_path) -> None:
    original = people()
    release = original.assign(income=original["income"] * 1.01)
    result = riskeval.compare(
        original, {"noisy": release}, keys=["age"], numeric=["income"], sensitive=["ill"],
        strata="reg", sample_sizes=SAMPLE_SIZES, seed=1,
    )  # fmt: skip
    rows = result.overlaps.set_index("domain")
    assert rows.loc["tiny", "records"] == 1
    assert not rows.loc["tiny", "safe"]
    assert not rows.loc[["north", "south", "west"], "safe"].all()  # one hides what tiny is
    page = result.report(tmp_path / "c.html", audience="external").read_text(encoding="utf-8")
    for word in ("777,123", "777123", "784,894", "tiny", "leprosy", "Seed"):
        assert word not in page
    domains = set(re.findall(r">(north|south|west|all)<", page))
    hidden = {"north", "south", "west"} - domains
    assert hidden
    # what is left after all visible domains holds more than the planted value
    rest = original[original["reg"].isin([*hidden, "tiny"])]["income"].dropna()
    assert len(rest) >= 6
    inside = result.report(tmp_path / "i.html").read_text(encoding="utf-8")
    assert "777,123" in inside


def test_comparison_page_does_not_tell_a_top_coded_value(tmp_path) -> None:
    original = people()
    original["income"] = original["income"].fillna(50_000.0)
    release = original.assign(income=original["income"].clip(upper=100_000))
    result = riskeval.compare(
        original, {"coded": release}, keys=["age"], numeric=["income"],
        indicators=Indicators("income"), sample_sizes=SAMPLE_SIZES, seed=1,
    )  # fmt: skip
    assert result.releases.set_index("release").loc["coded", "few_changes"] == "income"
    page = result.report(tmp_path / "c.html", audience="external").read_text(encoding="utf-8")
    body = page.split("<main")[1]
    assert f"{original['income'].mean():,.0f}" not in body
    assert "not shown" in body
    found = values_by_subtraction(body, release, [N])
    near = found[np.abs(found - PLANTED) < 0.002 * PLANTED]
    chance = values_by_subtraction(body, release, [N + 7])  # numbers that mean nothing
    assert len(near) <= 2 * len(chance[np.abs(chance - PLANTED) < 0.002 * PLANTED]) + 5


def test_figures_of_external_pages_show_rounded_risks_only(tmp_path) -> None:
    original = people().dropna().reset_index(drop=True)
    release = original.copy()
    release["income"] += np.random.default_rng(1).normal(0, 60_000, len(release))
    result = riskeval.compare(
        original, {"noisy": Release(release, kind="perturbed")}, keys=["age", "reg"],
        numeric=["income"], sample_sizes={**SAMPLE_SIZES, "linkage": 1_000}, seed=1,
    )  # fmt: skip
    view = external_view(result)
    risks = view.measures[(view.measures["group"] == "risk") & (view.measures["unit"] == "share")]
    counts = (risks["value"] * risks["records"]).dropna()
    assert len(counts) > 5
    np.testing.assert_allclose(counts / 5, (counts / 5).round(), atol=1e-9)
    assert (view.measures["note"] == "").all()
    assert view.regressions.empty
    page = result.report(tmp_path / "c.html", audience="external").read_text(encoding="utf-8")
    assert "<title>" in page
    assert not re.search(r"<metadata>|<desc>.*\d", page)


def test_assessment_page_does_not_tell_small_counts_or_levels(tmp_path) -> None:
    data = people().assign(w=5.0)
    result = assess(
        data, keys=["reg", "age"], weights="w", sensitive=["ill"], numeric=["income"], k=(2, 3, 4)
    )
    page = write_assessment(tmp_path / "a.html", result, audience="external")
    body = page.read_text(encoding="utf-8").split("<main")[1]
    for word in ("tiny", "leprosy", "777,123"):
        assert word not in body
    cells = re.findall(r'<(?:td|span class="n[^"]*")>([\d,]+)</', body)
    assert len(cells) > 3
    counts = [int(cell.replace(",", "")) for cell in cells]
    assert all(value % 5 == 0 for value in counts)
    for one, two in combinations(counts, 2):
        assert abs(one - two) == 0 or abs(one - two) >= 5


def test_comparison_page_does_not_tell_a_change_by_complement(tmp_path) -> None:
    rng = np.random.default_rng(2)
    region = np.repeat(["north", "south", "west"], [20, 22, 18])
    original = pd.DataFrame(
        {"reg": region, "age": np.arange(60) % 5, "income": rng.integers(300, 700, 60) * 100.0}
    )
    original.loc[0, "income"] = PLANTED  # the only one that changes in the north
    release = original.copy()
    release.loc[0, "income"] = 150_000.0
    release.loc[20:36, "income"] += 20_000.0
    result = riskeval.compare(
        original, {"coded": release}, keys=["age"], numeric=["income"], strata="reg",
        sample_sizes=SAMPLE_SIZES, seed=1,
    )  # fmt: skip
    safe = result.overlaps.set_index("domain")["safe"]
    assert safe["all"]  # 18 values changed, none dominates
    assert not safe[["north", "south"]].any()  # all less the others would tell the change
    view = external_view(result).overlaps.set_index("domain")
    change = view["released"] - view["original"]
    sizes = original["reg"].value_counts()
    told = len(original) * change["all"] - sum(
        sizes[name] * change[name] for name in view.index.drop("all")
    )
    assert abs(told - (150_000 - PLANTED)) > 0.3 * (PLANTED - 150_000)


def test_limits_of_single_records_count_where_their_values_are_hidden(tmp_path) -> None:
    data = people().assign(w=50.0)
    limits = {"k": None, "global_risk": 0.5, "record_risk": 0.01, "l": None}
    result = assess(data, keys=["reg", "age"], weights="w", limits=limits,
                    measures=["individual_risk"])  # fmt: skip
    page = write_assessment(tmp_path / "a.html", result, audience="external")
    text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8").split("<main")[1])
    assert "Numbers of single records, which are not shown, exceed their limits" in text
    assert "Highest risk of a record: not shown, at most 0.01 accepted" in text
    assert f"{result.table.set_index('name').loc['record_risk', 'value']:.3g}" not in text
    release = data.assign(income=1.0)
    compared = riskeval.compare(
        data, {"coded": release}, keys=["reg", "age"], weights="w", limits=limits,
        sample_sizes=SAMPLE_SIZES, seed=1,
    )  # fmt: skip
    facts = comparison_facts(compared, external=True)
    assert facts["judged"]["word"] == "exceeds your limits"
    assert "Highest risk of a record" in facts["reasons"][0]["sentence"]
    session = ProtectionSession(data.assign(w=2.0), keys=["reg", "age"], weights="w")
    texts = [item["sentence"] for item in protection_facts(session, True)["worst"]]
    assert any(text.startswith("Highest risk of a record: not shown") for text in texts)


@pytest.mark.parametrize("limit", [100_000, 300_000])
def test_protection_page_does_not_tell_a_top_coded_value(tmp_path, limit: int) -> None:
    original = people()
    session = ProtectionSession(original, keys=["age"], numeric=["income"], sensitive=["ill"])
    session.top_bottom_code("income", upper=limit, replacement=limit)
    page = session.report(tmp_path / "p.html", audience="external").read_text(encoding="utf-8")
    body = page.split("<main")[1]
    known = int(original["income"].notna().sum())
    found = values_by_subtraction(body, session.data.assign(reg=original["reg"]), [known, N])
    assert not (np.abs(found - PLANTED) < 0.001 * PLANTED).any()
    for word in ("leprosy", "777,123", str(limit), f"{limit:,}"):
        assert word not in body
