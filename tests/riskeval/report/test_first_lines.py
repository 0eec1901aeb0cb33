"""An officer who reads the first lines only is not calmed by a file that is (nearly) a copy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from riskeval import (
    ProtectionSession,
    Release,
    assess_synthetic,
    compare,
    copied_values,
    distance_screen,
    intruder_scenarios,
)
from riskeval.attacks.entry import AttackInput
from riskeval.report.comparison import comparison_facts
from riskeval.report.judgement import judgement_facts
from riskeval.report.protection import protection_facts
from synthpop.report.verdicts import risk_verdict

N = 200
KEYS = ["age", "sex"]


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"age": rng.integers(18, 90, N), "sex": rng.choice(["f", "m"], N),
         "ill": rng.choice(["no", "flu"], N), "income": rng.lognormal(8, 1, N).round(2)}
    )  # fmt: skip


def noisy(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    noise = 1 + rng.normal(0, 0.001, (N, 2))
    return frame.assign(age=frame["age"] * noise[:, 0], income=frame["income"] * noise[:, 1])


def test_near_copies_are_named_without_a_holdout() -> None:
    original = people(1)
    names = ["age", "sex", "income"]
    for release, is_near in ((noisy(original), True), (people(2), False)):
        risk = assess_synthetic(
            original, release, KEYS, "income", attacks=["distance_screen"], seed=1
        )
        first = risk.summary().splitlines()[0]
        assert ("as near to an original one as only" in first) == is_near
        row = judgement_facts(risk, False)["verdicts"][0]
        assert (row["word"], row["level"]) == (
            ("nearly copies", "look") if is_near else ("none", "good")
        )
        text = distance_screen(original, release, names, seed=1).summary()
        assert ("copies that were hardly changed" in text) == is_near


def test_what_attacks_found_on_strangers_is_told_of_strangers() -> None:
    original = people(1)
    risk = assess_synthetic(
        original, original, ["age", "income"], "ill", holdout=people(3), seed=1,
        attacks=["replicated_uniques", "membership"], categorical=["age"],
    )  # fmt: skip
    texts = [item["sentence"] for item in judgement_facts(risk, False)["reasons"]]
    result = risk.results["replicated_uniques", ""]
    assert result.excess.holdout_rate < 0.5 < result.unique_original
    of_uniques = next(text for text in texts if text.startswith("RepU"))
    assert f"{100 * result.excess.holdout_rate:.3g} % of strangers" in of_uniques
    assert any("where guessing reaches 0.5" in text for text in texts)


def test_whole_keys_with_noise_are_attacked_in_groups() -> None:
    original = people(1)
    inputs = AttackInput(original, noisy(original), ("age", "sex"), ("ill",), None, 1)
    assert inputs.with_groups()[1] == ("age",)
    plain = AttackInput(original, original, ("age", "sex"), ("ill",), None, 1)
    assert plain.with_groups()[1] == ()


def test_a_comparison_with_a_copy_is_never_green() -> None:
    original = people(1)
    files = {"copy": original, "fresh": people(2)}
    result = compare(
        original, {name: Release(file, kind="synthetic") for name, file in files.items()},
        keys=KEYS, numeric=["income"], sensitive=["ill"], seed=1,
        sample_sizes={"model": "nearest"},
    )  # fmt: skip
    facts = comparison_facts(result, False)
    rows = [facts["judged"], *facts["verdicts"]]
    assert rows[0]["word"] == "do not publish"
    assert "Do not publish: copy" in rows[0]["reason"]
    assert facts["reasons"][0]["sentence"].startswith("copy: 100.0 % of the records equal")
    assert facts["left_out"] == ""
    assert result.verdicts["fresh"].level == "no objection found by what was tried"
    assert (rows[1]["what"], rows[1]["word"]) == ("Risk left", "as the original")
    assert all(row["level"] != "good" for row in rows[:3])
    worst = result.values("worst_risk")
    assert worst["fresh"] < 0.9 < worst["copy"]
    line = next(text for text in result.summary().splitlines() if text.startswith("copy:"))
    assert "Do not publish this file: 100.0 % of the records equal a record" in line


def rows_of(session: ProtectionSession) -> dict[str, dict[str, str]]:
    return {row["what"]: row for row in protection_facts(session, False)["verdicts"]}


def test_amounts_that_link_records_are_not_green_because_none_is_exact() -> None:
    original = people(1).assign(
        rent=lambda x: x["income"].sample(frac=1, random_state=1).to_numpy()
    )
    session = ProtectionSession(original, keys=["sex"], numeric=["income", "rent"])
    session.add_noise(level=0.02, seed=1)
    risk = session.risk().table["current"]
    assert risk["interval_disclosure"] < 0.02
    assert risk["record_linkage"] > 0.2
    row = rows_of(session)["Amounts"]
    assert (row["word"], row["level"]) == ("lower", "look")
    session.rank_swap(p=0.9, seed=1)
    assert rows_of(session)["Amounts"]["level"] == "good"


def test_an_unchanged_risk_is_never_green() -> None:
    original = people(1).assign(w=5_000.0)
    session = ProtectionSession(original, keys=KEYS, numeric=["income"], weights="w")
    session.add_noise(level=0.5, seed=1)
    risk = session.risk().table["current"]
    assert risk["record_risk"] < 0.01
    row = rows_of(session)["Identity disclosure"]
    assert (row["word"], row["level"]) == ("unchanged", "look")


def test_households_and_amounts_that_nobody_named_are_looked_at() -> None:
    original = people(1).assign(home=np.arange(N) // 5, w=8.0)
    session = ProtectionSession(original, keys=KEYS, household="home", weights="w")
    session.global_recode("age", breaks=[0, 54, 99])
    risk = session.risk().table["current"]
    assert max(risk["global_risk"], risk["record_risk"]) < 0.01 < risk["household_risk"]
    rows = rows_of(session)
    assert rows["Identity disclosure"]["level"] == "look"
    assert "mean household risk is above 0.01" in rows["Identity disclosure"]["reason"]
    assert (rows["Amounts"]["word"], rows["Amounts"]["level"]) == ("not assessed", "look")
    assert rows["Amounts"]["reason"].endswith("its own value: income.")


def test_a_population_of_copies_is_not_of_low_risk_because_the_country_is_large() -> None:
    original = people(1).assign(w=50_000.0)
    for seed, word in ((1, "raised"), (2, "low")):
        population = pd.concat([people(seed)] * 3, ignore_index=True)
        risk = intruder_scenarios(
            original, population, KEYS, "income", accuracy=0.05, weights="w", seed=1
        )
        assert risk_verdict(risk, N, False)[0] == "low"  # few persons are alone in the country
        copies = copied_values(original, population, "income", amounts="income").table
        stored = SimpleNamespace(table=risk.table, copies=copies)
        assert risk_verdict(stored, N, False)[0] == word
    assert (
        "100 % of the survey persons"
        in risk_verdict(
            SimpleNamespace(table=risk.table, copies=copies.assign(copied=N, rate=1.0)), N, False
        )[1]
    )


def test_a_comparison_of_perturbed_files_says_which_attacks_were_left_out() -> None:
    original = people(1)
    result = compare(
        original, {"noisy": Release(noisy(original), kind="perturbed")}, keys=KEYS,
        numeric=["income"], sensitive=["ill"], seed=1, sample_sizes={"model": "nearest"},
    )  # fmt: skip
    text = comparison_facts(result, False)["left_out"]
    assert text.startswith("Left out for noisy: ")
    assert "Membership inference" in text
    assert "DiSCO" not in text
