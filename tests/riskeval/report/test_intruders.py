"""The table of intruders on the pages of files, judgements and comparisons."""

from __future__ import annotations

import re

import pytest

from riskeval import assess, assess_synthetic, compare
from riskeval.report.assessment import assessment_facts
from riskeval.report.comparison import comparison_facts
from riskeval.report.judgement import judgement_facts
from tests.riskeval.verdict.corpus import AMOUNTS, KEYS, SENSITIVE, fresh, original, strangers

HEAD = ["An intruder", "Assumption", "Expected right links", "Most exposed record"]


def test_a_file() -> None:
    people = original().assign(w=1000.0)
    measures = ["individual_risk", "population_risk"]
    found = assess(people, keys=KEYS, weights="w", measures=measures)
    shown = assessment_facts(found, external=False)["intruders"]
    assert shown["head"] == HEAD
    assert len(shown["rows"]) == 3
    assert shown["rows"][0][3] == "1"  # somebody is alone in the file


def test_releases() -> None:
    people = original().assign(w=1000.0)
    releases = {"noise": people.assign(income=people["income"] * 1.02), "fresh": fresh()}
    asked = {"keys": KEYS, "numeric": AMOUNTS, "sensitive": SENSITIVE, "weights": "w", "seed": 1}
    releases["fresh"] = releases["fresh"].assign(w=1000.0)
    found = compare(people, releases, sample_sizes={"model": "nearest"}, **asked)
    shown = comparison_facts(found, external=False)["intruders"]
    assert shown["head"] == ["Release", *HEAD]
    assert [row[0] for row in shown["rows"]] == ["noise"] * 4  # nobody stands behind a fresh record
    keys = people.groupby(KEYS).ngroups
    assert [shown["rows"][0][i] for i in (3, 4)] == [str(keys), "1"]
    assert shown["rows"][3][3:] == [str(len(people)), "1"]  # all numbers link everybody
    assert comparison_facts(found, external=True)["intruders"] is None


@pytest.mark.parametrize("with_strangers", [True, False])
def test_attacks(with_strangers: bool) -> None:
    found = assess_synthetic(
        original(), original().sample(frac=1, random_state=1), KEYS, SENSITIVE, seed=1,
        attacks=["disco", "membership", "distance_screen"],
        holdout=strangers() if with_strangers else None,
    )  # fmt: skip
    shown = judgement_facts(found, external=False)["intruders"]
    assert shown["head"][2] == "Expected right answers"
    by_story = {row[0].split(" ")[2]: row for row in shown["rows"]}
    assert len(by_story) == (2 if with_strangers else 1)  # an area counts nobody
    beyond = r"; \d+ beyond strangers" if with_strangers else ""
    assert all(re.fullmatch(rf"\d+ of \d+{beyond}", row[2]) for row in shown["rows"])
    assert judgement_facts(found, external=True)["intruders"] is None
