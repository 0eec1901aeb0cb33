"""What every attack found on one synthetic file: the verdict, each number, what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.synthetic_verdict import synthetic_verdict
from riskeval.verdict.verdict import Finding, ReleaseVerdict
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import formatted, percent, plural


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRisk(TableResult):
    """What several intruders learn from a synthetic file.

    Attributes
    ----------
    table : DataFrame
        One row per number: `attack`, `target` (empty for attacks on the file), `measure`, `value`,
        `lower`, `upper` (interval of the value), `baseline`, `against` (what the baseline is),
        `excess`, `excess_lower`, `excess_upper` (success on the original beyond that on the
        hold-out), `above_among_all` (whether the excess is clear even as the most striking of all
        attacks), `reading` (how the value stands to its baseline), `detail` (such as the
        strongest model).
    results : dict
        Result of each attack, by (attack, target).
    skipped : dict
        Why an attack was left out, by (attack, target).
    notes : dict
        What an attack leaves aside of the scenario or of the replicates, and the rules that its
        numbers rest on, by (attack, target).
    story : str
        The scenario in sentences; empty for plain keys.
    seed : int
    no_strangers : str
        Why the hold-out holds no strangers: records of the original are in it, or the synthetic
        file tells clearly more about it than about the original. Empty where neither shows.
    """

    table: pd.DataFrame
    results: dict[tuple[str, str], Any]
    skipped: dict[tuple[str, str], str]
    notes: dict[tuple[str, str], str]
    story: str
    seed: int
    no_strangers: str = ""
    dropped: tuple[str, ...] = ()
    file_evidence: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> ReleaseVerdict:
        """What speaks against publishing the file; without a hold-out it cannot be cleared."""
        return synthetic_verdict(self, self.file_evidence)

    @property
    def above(self) -> list[str]:
        """Attacks that find clearly more on the original than on strangers, each by itself."""
        return self.titles(self.table["excess_lower"] > 0)

    @property
    def above_together(self) -> list[str]:
        """Those of them that chance does not explain even as the most striking of all attacks."""
        return self.titles(self.table["above_among_all"])

    @property
    def copies(self) -> str:
        """Sentence on copied records, where more equal an original one than chance explains.

        The comparison is that of the distance screen: with strangers of a hold-out, without one
        with the records of the original among themselves.
        """
        screen = self.results.get(("distance_screen", ""))
        if screen is None or screen.copied is None or not screen.copied.is_above:
            return ""
        outside = screen.baseline == "hold-out"
        against = (
            message("strangers") if outside else message("the original records among themselves")
        )
        return message(
            "{identical} of the synthetic records equal an original one, compared with "
            "{identical_baseline} of {against}",
            identical=percent(screen.identical, 1),
            identical_baseline=percent(screen.identical_baseline, 1),
            against=against,
        )

    @property
    def near_copies(self) -> str:
        """Sentence on records that are nearer to original ones than chance explains."""
        screen = self.results.get(("distance_screen", ""))
        if screen is None or screen.nearer is None or not screen.nearer.is_above:
            return ""
        others = (
            "strangers"
            if screen.baseline == "hold-out"
            else message("the original records themselves")
        )
        return message(
            "{close} of the synthetic records are as near to an original one as only "
            "{close_baseline} of {others} are",
            close=percent(screen.close, 1),
            close_baseline=percent(screen.close_baseline, 1),
            others=others,
        )

    def title(self, attack: str, target: str) -> str:
        """Return the name of an attack with its target."""
        return title_of(attack, target)

    def titles(self, rows: pd.Series) -> list[str]:
        """Return the attacks of some rows of the table."""
        named = zip(self.table["attack"], self.table["target"], rows, strict=True)
        return list(dict.fromkeys(title_of(attack, of) for attack, of, chosen in named if chosen))

    def summary(self) -> str:
        """Say what each attack found, one line a number, and what was left out."""
        n_attacks = plural(len(self.results), "attack")
        skipped = f", {len(self.skipped)} {gettext('left out')}" if self.skipped else ""
        lines = [self.verdict.summary(), f"{n_attacks}{skipped}."]
        if self.no_strangers and self.above:
            lines.append(f"{self.no_strangers}.")
        if self.dropped:
            lines.append(
                message(
                    "Left out, since no value of the original stands in the synthetic file: "
                    "{dropped}.",
                    dropped=", ".join(self.dropped),
                )
            )
        if self.story:
            lines.append(self.story)
        for row in self.table.to_dict("records"):
            text = f"{title_of(row['attack'], row['target'])}: {row['measure']} {row['value']:.3g}"
            if not np.isnan(row["lower"]):
                text += " " + message(
                    "({lower} to {upper})",
                    lower=formatted(row["lower"], ".3g"),
                    upper=formatted(row["upper"], ".3g"),
                )
            if row["against"]:
                text += f"; {row['against']}: {row['baseline']:.3g}"
            if row["reading"]:
                text += f"; {row['reading']}"
            lines.append(text + ".")
        for (attack, target), why in self.notes.items():
            lines.append(f"{title_of(attack, target)}: {why}.")
        for (attack, target), why in self.skipped.items():
            lines.append(
                message("{attack} was left out: {why}.", attack=title_of(attack, target), why=why)
            )
        lines.append(
            message(
                "No number proves the file safe: each tells one story of an intruder, and none "
                "of these measures has a published threshold. Compare with the baselines, with "
                "the original, and with other ways to make the file."
            )
        )
        return joined_by("\n", lines)


def title_of(attack: str, target: str) -> str:
    """Return the name of an attack, with its target where it has one."""
    title = message(ATTACKS[attack].title)
    return message("{attack} on {target}", attack=title, target=target) if target else title
