"""The rule set: levels, order of harm, what counts as met, and who hands the verdict on."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from riskeval import ProtectionSession, Release, assess, compare
from riskeval.measures.entry import person_risk
from riskeval.shared.measurement import Measurement
from riskeval.verdict.verdict import CLEAR, EXCEEDED, STOP, UNKNOWN, Finding, verdict_of
from tests.riskeval.verdict.corpus import COARSE, KEYS, original, protected

INFO = person_risk("risk", "Risk", "probability", "a risk", "")


def number(value: float, limit: float | None = 0.1, **more: object) -> Measurement:
    return Measurement(INFO, value, limit=limit, **more)


def test_levels_in_order_of_harm() -> None:
    stop, unknown = Finding("names", "it names persons"), Finding("code", "it is coded", UNKNOWN)
    verdict = verdict_of([unknown, stop], [number(0.2), number(0.05)])
    assert verdict.level == STOP
    assert verdict.fatal
    assert [one.level for one in verdict.evidence] == [STOP, EXCEEDED, UNKNOWN]
    assert verdict.summary() == (
        "Do not publish this file: it names persons. It also exceeds 1 limit."
    )
    assert verdict_of([], [number(0.2), number(0.05)]).summary().startswith(
        "This file exceeds 1 of 2 limits: Risk 0.2 > 0.1"
    )  # fmt: skip
    assert verdict_of([unknown], [number(0.05)]).level == UNKNOWN
    assert verdict_of([], [number(0.05)]).level == CLEAR


def test_what_cannot_be_measured_or_does_not_apply_is_never_met() -> None:
    verdict = verdict_of([], [number(np.nan, note="no keys"), number(0.01, applies=False)])
    assert verdict.level == UNKNOWN
    assert verdict.met == ()
    assert verdict.not_tried == ("Risk: no keys", "Risk: does not apply")
    assert verdict_of([], [number(0.01, limit=None)]).level == UNKNOWN


def test_a_verdict_is_plain_data() -> None:
    verdict = verdict_of([Finding("names", "it names persons", columns=("a", "b"))], [number(0.2)])
    plain = json.loads(json.dumps(verdict.to_dict()))
    assert plain["level"] == STOP
    assert plain["evidence"][0]["columns"] == "a, b"
    assert plain["evidence"][1]["limit"] == 0.1


def test_a_session_judges_all_columns_of_its_current_file() -> None:
    people = original().drop(columns="hid")
    session = ProtectionSession(people, keys=KEYS, numeric=["income"])
    assert session.verdict().level == STOP  # the incomes are unchanged
    session.microaggregate(["income"], k=5)
    assert session.verdict().level == EXCEEDED
    named = ProtectionSession(
        people.assign(email=[f"p{i}@mail.org" for i in range(len(people))]), keys=KEYS
    )
    assert "direct identifier" in {one.name for one in named.verdict().evidence}


def test_releases_of_every_kind_have_one_rule_set() -> None:
    people, other = original(), protected(3)
    shuffled = people.sample(frac=1, random_state=1)
    arguments = {"keys": KEYS, "numeric": ["income"], "sensitive": ["ill"], "seed": 1}
    result = compare(
        people, {"row by row": people.copy(), "shuffled": shuffled,
                 "synthetic": Release(people, kind="synthetic")}, **arguments,
    )  # fmt: skip
    assert {one.level for one in result.verdicts.values()} == {STOP}
    assert result.table["kind"].to_dict()["shuffled"] == "perturbed"  # found by its values
    nothing = assess(other, keys=COARSE, measures=["frequencies"], limits={"k": None})
    assert nothing.verdict.level == UNKNOWN
    assert nothing.summary().startswith("This file cannot be judged: no limit applies")


def test_columns_outside_the_roles_are_told() -> None:
    file = protected().assign(rent=np.random.default_rng(1).normal(500, 50, len(protected())))
    verdict = assess(file, keys=COARSE, measures=["k_anonymity"]).verdict
    assert any("rent" in text and "not among the roles" in text for text in verdict.not_tried)
    lists = file.assign(notes=pd.Series([["a"]] * len(file)))
    verdict = assess(lists, keys=COARSE, measures=["k_anonymity"]).verdict
    assert any(text.startswith("notes cannot be read") for text in verdict.not_tried)
