"""An attacker tries to get planted values back from the external page of a population."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synthpop import Pipeline, Structure, Survey, assess_fit, write_report
from synthpop.report.risk import risk_facts
from synthpop.report.verdicts import risk_verdict

PLANTED = 98_765_432.0
N = 240


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"hid": np.arange(N), "w": 1.0, "region": rng.choice([*"abc"], N),
         "job": rng.choice(["x", "y", "z"], N).astype(object), "age": rng.integers(0, 90, N),
         "income": rng.lognormal(9.5, 0.5, N).round()}
    )  # fmt: skip
    frame.loc[3, "income"] = PLANTED
    frame.loc[:2, "job"] = "rare"
    frame["wage"] = (0.7 * frame["income"]).round()
    frame["rent"] = frame["income"] - frame["wage"]
    survey = Survey(frame, weight="w", household="hid", strata="region")
    names = ["job", "age", "income", "wage", "rent"]
    population = Pipeline([Structure(names)]).fit(survey, seed=4).simulate()
    fit = assess_fit(survey, population, components={"income": ["wage", "rent"]})
    path = tmp_path_factory.mktemp("page") / "x.html"
    write_report(path, survey, population, fit=fit, audience="external")
    return re.sub(r"<(style|script).*?</\1>", "", path.read_text("utf-8"), flags=re.S)


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page, flags=re.S)
    return [re.findall(r"<td[^>]*>([^<]*)<", row) for row in rows]


def test_no_mean_or_total_tells_the_largest_income(page: str) -> None:
    numbers = {float(it.replace(",", "")) for it in re.findall(r"\d[\d,]*(?:\.\d+)?", page)}
    tries = np.array([number * times for number in numbers for times in (1, N, 1 / 0.7, 1 / 0.3)])
    assert not (np.abs(tries - PLANTED) < 0.1 * PLANTED).any()
    shown = [row for row in cells(page) if row and row[0] == "Mean"]
    assert sorted(row[1] == "–" for row in shown) == [False, True, True, True]  # all but age


def test_what_is_left_of_a_grouping_is_no_small_group(page: str) -> None:
    names = {"rare", "x", "y", "z"}
    groups = [row for row in cells(page) if row and row[0] in names and len(row) == 7]
    assert len(groups) == 8  # age and income by job
    sizes = [[row[1] for row in part if row[1] != "–"] for part in (groups[:4], groups[4:])]
    # "rare" is hidden with another group, so that neither is what the mean of all leaves
    assert [len(part) for part in sizes] == [2, 2]
    assert all(int(n) % 5 == 0 for part in sizes for n in part)


def test_numbers_of_intruders_are_rounded_as_everywhere() -> None:
    rows = [
        {"scenario": 2, "accuracy": p, "tau": tau, "rate": tau / 400, "tau_zero": 6.0,
         "tau_expected": 7.3, "rate_holdout": 1 / 3, "note": ""}
        for p, tau in ((0.01, 76.0), (0.02, 77.0), (0.05, 78.0))
    ]  # fmt: skip
    copies = pd.DataFrame(
        {"kind": ["amounts"], "variables": ["income"], "n": [58], "copied": [57],
         "rate": [57 / 58], "by_chance": [0.1]}
    )  # fmt: skip
    risk = SimpleNamespace(table=pd.DataFrame(rows), copies=copies, target="", summary=lambda: "")
    facts = risk_facts(risk, external=True)
    row = facts["table"]["rows"][0]
    assert row[2:9] == ["75", "75", "80", "20 %", "–", "5", "5"]
    assert "75 others found that are not zero, 5 true zeros" in row[9] or "75" in str(row[9])
    assert facts["copies"]["rows"][0][1:4] == ["60", "55", "94.8 %"]
    texts = [facts["scenarios"][0]["sentence"], risk_verdict(risk, 400, True)[1]]
    for text in texts:
        assert re.search(r"\b80 (of the value of )?|80 survey", text)
        assert not re.search(r"\b(76|77|78|6|7\.3)\b", text)
