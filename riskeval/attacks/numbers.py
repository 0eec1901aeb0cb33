"""The numbers of each attack: what they mean, and what they are read against.

One table says what every number is; attacks on one file and comparisons of releases read it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskeval.attacks.shares import Excess
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import percent, short_percent

OUTSIDE = "persons outside the original"
RAAB = "Raab, Nowok and Dibben 2024, arXiv:2406.16826"
TAUB = "Taub, Elliot, Pampaka and Smith 2018, doi:10.1007/978-3-319-99771-1_9"
YAO = "Yao et al. 2025, arXiv:2505.01524 (a screen, never proof of safety)"
DISCLOSED = "records disclosed by an intruder who matches or predicts"
ROWS: tuple[tuple[Any, ...], ...] = (
    ("replicated_uniques", "Replicated uniques", "repU",
     "share of the original records that are unique on the keys in both files (repU)", RAAB),
    ("disco", "DiSCO", "DiSCO",
     "share of the original records whose keys lead to their own value, and no other, in the "
     "release", RAAB),
    ("dcap", "Correct attribution (DCAP)", "DCAP", "probability to draw the right level", RAAB,
     "probability"),
    ("tcap", "Correct attribution (TCAP)", "TCAP",
     "share of right values among the original records whose keys lead to one released value",
     TAUB),
    ("rapid", "Prediction (RAPID)", "predicted",
     "share of the original records whose value a model trained on the release predicts",
     "Templ, Thees and Müller 2026, arXiv:2602.09235"),
    ("scenarios", "Matching scenarios", "scenario",
     "share of the original records that are unique on the keys and whose value an intruder who "
     "matches them with the release, or predicts by a linear model, finds; amounts within 5 %",
     "Templ 2017, equations 6.17 to 6.26; Templ and Alfons 2010"),
    ("membership", "Membership", "area under the curve",
     "probability that an intruder tells a member of the original from another person; 0.5 is "
     "guessing", "van Breugel et al. 2023", "probability"),
    ("close", "Nearer than chance", "nearer than the baseline",
     "share of the released records nearer to an original one than the nearest 5 % of other "
     "persons are (of the hold-out, else of the original itself)", YAO),
    ("members", "Members nearer than chance", "members nearer than the baseline",
     "households whose members are nearer to original persons than the nearest 5 % of the "
     "baseline", ""),
    ("copied", "Exact copies", "copied", "persons (or households) with something that nobody else "
     "has who have it in the release exactly", ""),
    ("identical", "Identical records", "identical",
     "share of the released records equal to an original one in all variables", YAO),
)  # fmt: skip
"""Name, title by itself, title beside the name of the attack, meaning, source, unit."""
INFOS = {name: attribution(name, title, *rest) for name, title, _, *rest in ROWS}
"""What each number is, under its title by itself."""
OF_ATTACK = {row[0]: replace(INFOS[row[0]], title=row[2]) for row in ROWS}
"""The same under its title beside the name of the attack."""


@dataclass(frozen=True, slots=True)
class AttackNumber:
    """One number of an attack, and what it is read against."""

    # its baseline is what an intruder reaches on persons who were not in the original, without
    # the release, or with the original itself
    measurement: Measurement
    # {"strangers", "original", ""}: what the baseline is. "original": the value is a part of what
    # the original itself tells.
    kind: str = ""
    # the attack on the original beyond that on strangers; only this allows a verdict
    excess: Excess | None = None

    @property
    def is_above(self) -> bool:
        """Whether strangers are clearly attacked with less success."""
        return self.excess is not None and self.excess.is_above

    def reading(self) -> str:
        """Say in a few words how the value stands to its baseline; empty where nothing can be said.

        Examples
        --------
        >>> from riskeval.shared.measurement import MeasureInfo
        >>> info = MeasureInfo("auc", "attribution risk", "low", "probability", "...")
        >>> beyond = Excess(0.7, 0.5, 0.2, 0.1, 0.3, 90, 90, 0.95)
        >>> AttackNumber(Measurement(info, 0.7), "strangers", beyond).reading()
        'above the hold-out'
        >>> AttackNumber(Measurement(info, 0.01, baseline=0.04), "original").reading()
        '25 % of what the original tells; no verdict without a hold-out'
        """
        one = self.measurement
        if np.isnan(one.value):
            return ""
        verdict = message("no verdict without a hold-out")
        if self.excess is not None:
            verdict = self.excess.verdict
        if self.kind == "original" and one.baseline > 0:
            return message(
                "{share} of what the original reveals; {verdict}",
                share=percent(one.value / one.baseline, 0),
                verdict=verdict,
            )
        return verdict


def copied_numbers(result: Any) -> list[AttackNumber]:
    """Rates of exact copies, beside values close by or strangers."""
    numbers = []
    for row in result.table[result.table["n"] > 0].to_dict("records"):
        info = replace(INFOS["copied"], title=message("copied {what}", what=message(row["kind"])))
        beyond = result.excess.get(row["kind"])
        by_chance = (row["by_chance"], message("neighbouring values"))
        baseline, against = by_chance if beyond is None else (row["holdout"], OUTSIDE)
        one = Measurement(
            info, row["rate"], records=int(row["n"]), lower=row["lower"], upper=row["upper"],
            baseline=baseline, against="" if np.isnan(baseline) else against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def disco_numbers(result: Any) -> list[AttackNumber]:
    """DiSCO beside what the keys determine in the original."""
    one = Measurement(
        OF_ATTACK["disco"], result.rate, result.target, records=result.n_original,
        lower=result.interval[0], upper=result.interval[1],
        baseline=result.disclosive_original, against=message("the original (Dorig)"),
    )  # fmt: skip
    return [AttackNumber(one, "original", result.excess)]


def unique_numbers(result: Any) -> list[AttackNumber]:
    """RepU beside the uniques of the original."""
    one = Measurement(
        OF_ATTACK["replicated_uniques"], result.rate, records=result.n_original,
        lower=result.interval[0], upper=result.interval[1], baseline=result.unique_original,
        against=message("uniques of the original (UiO)"),
    )  # fmt: skip
    return [AttackNumber(one, "original", result.excess)]


def tcap_numbers(result: Any) -> list[AttackNumber]:
    """DCAP and TCAP beside drawing without keys, or strangers."""
    numbers = []
    for name, measure in (("dcap", "DCAP"), ("tcap", "TCAP_original")):
        low, high = result.intervals.of(measure)
        beyond = result.excess.get(measure)
        baseline, against = result.baseline, message("drawing without keys")
        if beyond is not None and name == "dcap":
            baseline, against = beyond.holdout_rate, OUTSIDE
        one = Measurement(
            OF_ATTACK[name], result.value(measure), result.target, lower=low, upper=high,
            baseline=baseline, against=against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def rapid_numbers(result: Any) -> list[AttackNumber]:
    """The strongest model beside strangers, or a shuffled target."""
    baseline, against = result.permuted_rate, message("shuffled target")
    if result.excess is not None:
        baseline, against = result.holdout_rate, OUTSIDE
    one = Measurement(
        OF_ATTACK["rapid"], result.rate, result.target, records=result.n_judged,
        lower=result.interval[0], upper=result.interval[1], baseline=baseline, against=against,
        note=result.model,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


def scenario_numbers(result: Any) -> list[AttackNumber]:
    """The scenarios at the largest accuracy beside strangers, or guessing."""
    table = result.table.dropna(subset="rate")
    if len(table) and table["accuracy"].notna().any():
        table = table[table["accuracy"] == table["accuracy"].max()]
    numbers = []
    for row in table.to_dict("records"):
        within = (
            ""
            if np.isnan(row["accuracy"])
            else (" " + message("within {p}", p=short_percent(row["accuracy"])))
        )
        baseline, against = row.get("rate_holdout", np.nan), OUTSIDE
        if np.isnan(baseline):
            baseline = row.get("rate_baseline", np.nan)
            against = "" if np.isnan(baseline) else message("guessing the commonest level")
        title = message("scenario {scenario}{within}", scenario=row["scenario"], within=within)
        info = attribution(
            "scenario", title, DISCLOSED, message("Templ (2017), equations 6.17 to 6.26")
        )
        one = Measurement(
            info, row["rate"], result.target, lower=row["lower"], upper=row["upper"],
            baseline=baseline, against=against,
        )  # fmt: skip
        accuracy = None if np.isnan(row["accuracy"]) else row["accuracy"]
        beyond = result.excess.get((result.target, row["scenario"], accuracy))
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def membership_numbers(result: Any) -> list[AttackNumber]:
    """The area under the curve beside guessing."""
    one = Measurement(
        OF_ATTACK["membership"], result.auc, lower=result.interval[0], upper=result.interval[1],
        baseline=0.5, against="guessing", note=result.method,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


def screen_numbers(result: Any) -> list[AttackNumber]:
    """Shares of near and of identical records beside those of the baseline."""
    numbers = []
    beyond = result.excess.get("members")
    if beyond is not None:
        one = Measurement(
            OF_ATTACK["members"], beyond.rate, baseline=beyond.holdout_rate,
            against=message("records of the hold-out"),
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    for name in ("close", "identical"):
        low, high = getattr(result, f"{name}_interval")
        one = Measurement(
            OF_ATTACK[name], getattr(result, name), lower=low, upper=high,
            baseline=getattr(result, f"{name}_baseline"),
            against=message("records of the {baseline}", baseline=result.baseline),
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", result.excess.get(name)))
    return numbers
