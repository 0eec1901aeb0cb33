"""Every attack of the registry: inputs unchanged, the same twice, missing values, words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.intruders.judge import judge_synthetic
from riskeval.intruders.registry import INTRUDERS, Case
from synthpop.microdata.errors import InputError


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "status": rng.choice(["works", "studies", "retired"], n),
            "income": rng.lognormal(7, 1, n),
        }
    )
    frame.loc[rng.random(n) < 0.05, "status"] = None
    frame.loc[rng.random(n) < 0.05, "income"] = np.nan
    frame.loc[rng.random(n) < 0.05, "sex"] = None
    return frame


def case() -> Case:
    keys, targets = ("age", "sex"), ("status", "income")
    return Case(people(150, 1), people(200, 2), keys, targets, people(120, 3), 7)


@pytest.mark.parametrize("name", INTRUDERS)
class TestEveryIntruder:
    def target(self, name: str) -> str:
        kinds = {"categorical": "status", "any": "status", "numeric": "income", "none": ""}
        return kinds[INTRUDERS[name].target]

    def test_inputs_are_unchanged_and_runs_repeat(self, name: str) -> None:
        asked, fresh = case(), case()
        first = INTRUDERS[name].run(asked, self.target(name))
        for part in ("original", "synthetic", "holdout"):
            pd.testing.assert_frame_equal(getattr(asked, part), getattr(fresh, part))
        again = INTRUDERS[name].run(fresh, self.target(name))
        pd.testing.assert_frame_equal(first.to_frame(), again.to_frame())

    def test_words_and_findings(self, name: str) -> None:
        result = INTRUDERS[name].run(case(), self.target(name))
        assert len(result.summary()) > 80
        assert "<table" in result._repr_html_()
        for finding in INTRUDERS[name].findings(result):
            assert 0 <= finding.value <= 1
            assert not finding.lower > finding.value
            assert not finding.upper < finding.value

    def test_blocks_give_the_same(self, name: str) -> None:
        whole = INTRUDERS[name].run(case(), self.target(name))
        given = case()
        blocks = [given.synthetic.iloc[:70], given.synthetic.iloc[70:]]
        parts = Case(given.original, blocks, given.keys, given.targets, given.holdout, given.seed)
        found = INTRUDERS[name].run(parts, self.target(name))
        pd.testing.assert_frame_equal(whole.to_frame(), found.to_frame())

    def test_one_record_each(self, name: str) -> None:
        given = case()
        few = Case(
            given.original.head(2), given.original.head(1), given.keys, given.targets,
            given.holdout, 1,
        )  # fmt: skip
        assert INTRUDERS[name].run(few, self.target(name)).summary()


class TestJudge:
    def ask(self, **options):
        given = case()
        return judge_synthetic(
            given.original, given.synthetic, given.keys, given.targets, seed=1, **options
        )

    def test_all_attacks(self) -> None:
        risk = self.ask(holdout=people(120, 3))
        assert set(risk.table["attack"]) == set(INTRUDERS)
        assert set(risk.table.loc[risk.table["attack"] == "rapid", "target"]) == {
            "status", "income",
        }  # fmt: skip
        assert risk.skipped[("disco", "income")].startswith("it needs a categorical target")
        assert "No number proves the file safe" in risk.summary()
        assert "DiSCO on income was left out" in risk.summary()
        rapid = risk.table[risk.table["attack"] == "rapid"]
        assert (rapid["against"] == "persons outside the original").all()

    def test_without_holdout(self) -> None:
        risk = self.ask(attacks=["membership", "rapid"])
        assert risk.skipped == {("membership", ""): "it needs a hold-out"}
        assert (risk.table["against"] == "shuffled target").all()

    def test_attacks_and_seed(self) -> None:
        one = self.ask(attacks="replicated_uniques")
        assert list(one.results) == [("replicated_uniques", "")]
        assert one.seed == 1

    def test_faults_together(self) -> None:
        given = case()
        with pytest.raises(InputError) as caught:
            judge_synthetic(
                given.original, iter([given.synthetic]), "aged", "state", attacks=["magic"]
            )
        text = str(caught.value)
        for part in ("'aged'", "'state'", "'magic'", "can be read only once"):
            assert part in text
