"""What an audit found: for each stage, how well each attack recognises who was in the survey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import pandas as pd

from synthpop.microdata.messages.message import joined_by, message, sentences
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import formatted, percent, plural, short_percent

WHOLE = "release"
"""In place of the label of a stage: all columns together."""
WHO = {
    "planted": "persons with a planted value",
    "unique": "households with members as few others have",
    "outlier": "the most unusual households",
    "random": "random households",
}


class Rate(NamedTuple):
    """A share with its interval."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class AttackResult:
    """How well one attack tells in which refits a household was, of one group."""

    attack: str
    auc: float
    auc_lower: float
    auc_upper: float
    at_one_percent: Rate  # recognised, at one false alarm in a hundred
    at_ten_percent: Rate
    epsilon: float  # at least; 0 where nothing is proven
    roc: tuple[tuple[float, float], ...] = field(repr=False)  # false alarms, true ones


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What all attacks find about the households that were looked for in one way.

    Attributes
    ----------
    stage : str
        Label of the stage; "release" for all columns together.
    kind : {"planted", "unique", "outlier", "random"}
    n_targets : int
        Households looked for.
    attacks : tuple of AttackResult
    reconstructed, reconstructed_without : float
        Mean share of the released persons nearest in the known columns who have the value looked
        for, in refits with it and without it; NaN where nothing is known.
    """

    stage: str
    kind: str
    n_targets: int
    attacks: tuple[AttackResult, ...]
    reconstructed: float
    reconstructed_without: float

    @property
    def strongest(self) -> AttackResult | None:
        """The attack that recognises most at one false alarm in a hundred."""
        if not self.attacks:
            return None
        return max(self.attacks, key=lambda one: (one.at_one_percent.lower, one.auc))

    @property
    def epsilon(self) -> float:
        """The largest lower bound of epsilon that an attack proves."""
        return max((one.epsilon for one in self.attacks), default=0.0)


@dataclass(frozen=True, slots=True)
class Audit(Result):
    """What refits with and without households have shown about a generator.

    Attributes
    ----------
    groups : tuple of GroupResult
        Stages in their order, then the release as a whole.
    limit : float
        A stage is named where clearly more than this share is recognised at one false alarm in a
        hundred.
    n_refits, n_failed : int
        Refits, and draws of households from which the recipe could not be learned.
    share : float
        Of the other households in each refit.
    scale : float
        Of the populations that were attacked.
    confidence : float
        Of all intervals and bounds together.
    seed : int
    recipe : tuple
        Steps of the recipe with their options; empty for a function.
    survey : str
        Fingerprint of the survey; empty for a function.
    """

    groups: tuple[GroupResult, ...]
    limit: float
    n_refits: int
    n_failed: int
    share: float
    scale: float
    confidence: float
    seed: int
    recipe: tuple[object, ...] = field(default=(), repr=False)
    survey: str = field(default="", repr=False)

    @property
    def leaking(self) -> tuple[str, ...]:
        """Stages that give respondents away; "release" where all columns together do."""
        return tuple(dict.fromkeys(one.stage for one in self.groups if self.gives_away(one)))

    def gives_away(self, group: GroupResult) -> bool:
        """Whether clearly more than the limit are recognised, corrected for all attacks."""
        best = group.strongest
        return best is not None and best.at_one_percent.lower > self.limit

    @property
    def epsilon(self) -> float:
        """Lower bound of epsilon of the generator: the largest of all groups; 0 proves nothing."""
        return max((one.epsilon for one in self.groups), default=0.0)

    def to_frame(self) -> pd.DataFrame:
        """Return every attack on every group: area, successes with intervals, epsilon."""
        rows = [
            {
                "stage": group.stage, "looked_for": group.kind, "n_targets": group.n_targets,
                "attack": one.attack, "auc": one.auc, "auc_lower": one.auc_lower,
                "auc_upper": one.auc_upper, "at_1_percent": one.at_one_percent.value,
                "at_1_percent_lower": one.at_one_percent.lower,
                "at_1_percent_upper": one.at_one_percent.upper,
                "at_10_percent": one.at_ten_percent.value,
                "at_10_percent_lower": one.at_ten_percent.lower,
                "at_10_percent_upper": one.at_ten_percent.upper,
                "epsilon_at_least": one.epsilon, "reconstructed": group.reconstructed,
                "reconstructed_without": group.reconstructed_without,
            }
            for group in self.groups
            for one in group.attacks
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Say which stages give respondents away, and how much was tried."""
        tried = message(
            "Audit of {n_groups} by {attacks} in {refits}.",
            n_groups=plural(len(self.groups), "group of households", "groups of households"),
            attacks=plural(len({a.attack for g in self.groups for a in g.attacks}), "attack"),
            refits=plural(self.n_refits, "refit"),
        )
        found = [one for one in self.groups if self.gives_away(one)]
        texts = [finding_text(one) for one in found]
        if not found:
            texts = [
                message(
                    "None of them clearly recognises more than {limit} of the households that were "
                    "in, at one false alarm in a hundred. Other attacks, and other households, may "
                    "show more.",
                    limit=percent(self.limit, 0),
                )
            ]
        return sentences(tried, joined_by(" ", texts), self.bound_text())

    def bound_text(self) -> str:
        """Say what is proven about epsilon."""
        return bound_text(self.epsilon, self.confidence)


def bound_text(epsilon: float, confidence: float) -> str:
    """Say what a lower bound of epsilon proves."""
    if epsilon <= 0:
        return message("No lower bound of epsilon above 0 is proven, which proves no privacy.")
    return message(
        "Epsilon of the generator, for one household, is at least {epsilon} ({confidence} "
        "confidence); it may be anything above.",
        epsilon=formatted(epsilon, ".2f"),
        confidence=percent(confidence, 0),
    )


def stage_text(stage: str) -> str:
    """Return the name of a stage; what is the release as a whole in the reader's language."""
    return message("whole release") if stage == WHOLE else stage


def finding_text(group: GroupResult) -> str:
    """Say what the strongest attack on a group recognises."""
    best = group.strongest
    assert best is not None
    rate = best.at_one_percent
    return message(
        "{stage}: {who} are recognised in {rate} of the cases ({low} to {high}) at one false "
        "alarm in a hundred, by {attack}.",
        stage=stage_text(group.stage),
        who=message(WHO[group.kind]),
        rate=short_percent(rate.value),
        low=short_percent(rate.lower),
        high=short_percent(rate.upper),
        attack=message(best.attack),
    )
