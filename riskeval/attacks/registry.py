"""The attacks on a release: how each is run, and which of its numbers to show.

A new attack is one more entry of `ATTACKS`; nothing else has to know it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from riskeval.attacks.compared import IN_COMPARISONS
from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.counting.copies import copied_values
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.entry import AttackEntry, AttackInput, AttackNumber
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.matching.strongest import ACCURACY
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.values import is_amount
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.text import short_percent

COUNTED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
UNIQUE = ("key_errors", "coverage", "who", "rows", "unit", "household")
PREDICTED = (*COUNTED, "accuracy")
COMPARED = ("unit", "household", "categorical")


OUTSIDE = "persons outside the original"
RAAB = "Raab, Nowok and Dibben (2024), arXiv:2406.16826"
TAUB = "Taub, Elliot, Pampaka and Smith (2018), doi:10.1007/978-3-319-99771-1_9"
ROWS: tuple[tuple[Any, ...], ...] = (
    ("repU", "repU", "records that are unique in both files with the same keys", RAAB),
    ("DiSCO", "DiSCO", "records whose target follows, rightly, from the keys", RAAB),
    ("DCAP", "DCAP", "probability to draw the right level", RAAB, "probability"),
    ("TCAP_original", "TCAP", "records of targeted classes whose level is attributed", TAUB),
    ("predicted", "predicted", "records whose target is predicted too well",
     "Templ, Thees and Müller (2026), arXiv:2602.09235"),
    ("scenario", "scenario", "records disclosed by an intruder who matches or predicts",
     "Templ (2017), equations 6.17 to 6.26"),
    ("auc", "area under the curve", "probability to tell a member from a stranger",
     "van Breugel et al. (2023)", "probability"),
    ("close", "nearer than the baseline", "synthetic records nearer than the nearest 5 % of the "
     "baseline", "Yao et al. (2025), arXiv:2505.01524"),
    ("members", "members nearer than the baseline", "households whose members are nearer to "
     "original persons than the nearest 5 % of the baseline", ""),
    ("copied", "copied", "persons (or households) with something that nobody else has who have it "
     "in the release exactly", ""),
    ("identical", "identical", "synthetic records equal to an original one", ""),
)  # fmt: skip
INFOS = {row[0]: attribution(*row) for row in ROWS}
"""Name, title, meaning, source and unit of the numbers of the attacks."""


def _counting(measure: Callable[..., Any]) -> Callable[[AttackInput, str], Any]:
    """Run a counting measure on one target."""

    def run(inputs: AttackInput, target: str) -> Any:
        keys = inputs.scenario_about(COUNTED, [target])
        n_groups = None if target in inputs.categorical else inputs.n_groups
        return measure(
            inputs.original, inputs.synthetic, keys, inputs.named(target), holdout=inputs.holdout,
            n_groups=n_groups, replicates=inputs.replicates, seed=inputs.seed,
        )  # fmt: skip

    return run


def _uniques(inputs: AttackInput, target: str) -> Any:
    return replicated_uniques(
        inputs.original, inputs.synthetic, inputs.scenario_about(UNIQUE, []),
        holdout=inputs.holdout, replicates=inputs.replicates, seed=inputs.seed,
    )  # fmt: skip


def _scenarios(inputs: AttackInput, target: str) -> Any:
    keys = inputs.scenario_about(PREDICTED, [target])
    if inputs.scenario is None:
        keys = Scenario(inputs.keys, target, accuracy=ACCURACY, categorical=inputs.codes([target]))
    return intruder_scenarios(
        inputs.original, inputs.synthetic, keys, holdout=inputs.holdout, seed=inputs.seed
    )


def _rapid(inputs: AttackInput, target: str) -> Any:
    return rapid(
        inputs.original, inputs.synthetic, inputs.scenario_about(PREDICTED, [target]),
        inputs.named(target), holdout=inputs.holdout,
        categorical=inputs.codes((*inputs.keys, target)), workers=inputs.workers,
        on_event=inputs.on_event, seed=inputs.seed,
    )  # fmt: skip


def _compared(measure: Callable[..., Any]) -> Callable[[AttackInput, str], Any]:
    """Run an attack by distance on keys and targets together."""

    def run(inputs: AttackInput, target: str) -> Any:
        variables = inputs.scenario_about(COMPARED, inputs.targets)
        if inputs.scenario is None:
            variables = (*inputs.keys, *inputs.targets)
        return measure(
            inputs.original, inputs.synthetic, variables, holdout=inputs.holdout,
            categorical=inputs.codes((*inputs.keys, *inputs.targets)), workers=inputs.workers,
            on_event=inputs.on_event, seed=inputs.seed,
        )  # fmt: skip

    return run


def _copies(inputs: AttackInput, target: str) -> Any:
    variables = dict.fromkeys((*inputs.keys, *inputs.targets))
    codes = inputs.scenario.categorical if inputs.scenario else inputs.categorical
    amounts = [n for n in variables if n not in codes and is_amount(inputs.original[n])]
    return copied_values(
        inputs.original, inputs.synthetic, list(variables), amounts=amounts,
        household=inputs.scenario.household if inputs.scenario else None, holdout=inputs.holdout,
    )  # fmt: skip


def _copied_numbers(result: Any) -> list[AttackNumber]:
    numbers = []
    for row in result.table[result.table["n"] > 0].to_dict("records"):
        info = attribution("copied", f"copied {row['kind']}", INFOS["copied"].meaning, "")
        beyond = result.excess.get(row["kind"])
        by_chance = (row["by_chance"], "values close by")
        baseline, against = by_chance if beyond is None else (row["holdout"], OUTSIDE)
        one = Measurement(
            info, row["rate"], records=int(row["n"]), lower=row["lower"], upper=row["upper"],
            baseline=baseline, against="" if np.isnan(baseline) else against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _disco_numbers(result: Any) -> list[AttackNumber]:
    one = Measurement(
        INFOS["DiSCO"], result.rate, result.target, records=result.n_original,
        lower=result.interval[0], upper=result.interval[1],
        baseline=result.disclosive_original, against="the original (Dorig)",
    )  # fmt: skip
    return [AttackNumber(one, "original", result.excess)]


def _unique_numbers(result: Any) -> list[AttackNumber]:
    one = Measurement(
        INFOS["repU"], result.rate, records=result.n_original, lower=result.interval[0],
        upper=result.interval[1], baseline=result.unique_original,
        against="uniques of the original (UiO)",
    )  # fmt: skip
    return [AttackNumber(one, "original", result.excess)]


def _tcap_numbers(result: Any) -> list[AttackNumber]:
    numbers = []
    for name in ("DCAP", "TCAP_original"):
        low, high = result.intervals.of(name)
        beyond = result.excess.get(name)
        baseline, against = result.baseline, "drawing without keys"
        if beyond is not None and name == "DCAP":
            baseline, against = beyond.holdout_rate, OUTSIDE
        one = Measurement(
            INFOS[name], result.value(name), result.target, lower=low, upper=high,
            baseline=baseline, against=against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _rapid_numbers(result: Any) -> list[AttackNumber]:
    baseline, against = result.permuted_rate, "shuffled target"
    if result.excess is not None:
        baseline, against = result.holdout_rate, OUTSIDE
    one = Measurement(
        INFOS["predicted"], result.rate, result.target, records=result.n_judged,
        lower=result.interval[0], upper=result.interval[1], baseline=baseline, against=against,
        note=result.model,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


def _scenario_numbers(result: Any) -> list[AttackNumber]:
    table = result.table.dropna(subset="rate")
    if len(table) and table["accuracy"].notna().any():
        table = table[table["accuracy"] == table["accuracy"].max()]
    numbers = []
    for row in table.to_dict("records"):
        within = "" if np.isnan(row["accuracy"]) else f" within {short_percent(row['accuracy'])}"
        baseline, against = row.get("rate_holdout", np.nan), OUTSIDE
        if np.isnan(baseline):
            baseline = row.get("rate_baseline", np.nan)
            against = "" if np.isnan(baseline) else "guessing the commonest level"
        info = attribution("scenario", f"scenario {row['scenario']}{within}",
                     INFOS["scenario"].meaning, INFOS["scenario"].source)  # fmt: skip
        one = Measurement(
            info, row["rate"], result.target, lower=row["lower"], upper=row["upper"],
            baseline=baseline, against=against,
        )  # fmt: skip
        accuracy = None if np.isnan(row["accuracy"]) else row["accuracy"]
        beyond = result.excess.get((result.target, row["scenario"], accuracy))
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _membership_numbers(result: Any) -> list[AttackNumber]:
    one = Measurement(
        INFOS["auc"], result.auc, lower=result.interval[0], upper=result.interval[1],
        baseline=0.5, against="guessing", note=result.method,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


def _screen_numbers(result: Any) -> list[AttackNumber]:
    numbers = []
    beyond = result.excess.get("members")
    if beyond is not None:
        one = Measurement(
            INFOS["members"], beyond.rate, baseline=beyond.holdout_rate,
            against="records of the hold-out",
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    for name in ("close", "identical"):
        low, high = getattr(result, f"{name}_interval")
        one = Measurement(
            INFOS[name], getattr(result, name), lower=low, upper=high,
            baseline=getattr(result, f"{name}_baseline"),
            against=f"records of the {result.baseline}",
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", result.excess.get(name)))
    return numbers


ATTACKS: dict[str, AttackEntry] = {
    "replicated_uniques": AttackEntry(
        "Replicated uniques",
        "finds exactly one synthetic person with the keys of somebody unique",
        "none", False, UNIQUE, True, _uniques, _unique_numbers,
        "keys that are changed; whether the other values of the match are right",
        exact_keys=True,
        compared=IN_COMPARISONS["replicated_uniques"],
    ),
    "disco": AttackEntry(
        "DiSCO",
        "believes what all synthetic persons with somebody's keys agree on",
        "categorical", False, COUNTED, True, _counting(disco), _disco_numbers,
        "keys that are changed; beliefs that are likely but not certain",
        exact_keys=True,
        compared=IN_COMPARISONS["disco"],
    ),
    "tcap": AttackEntry(
        "Correct attribution",
        "draws one of the synthetic persons with somebody's keys",
        "categorical", False, COUNTED, True, _counting(tcap), _tcap_numbers,
        "keys that are changed; relations between records with different keys",
        exact_keys=True,
        compared=IN_COMPARISONS["tcap"],
    ),
    "scenarios": AttackEntry(
        "Matching scenarios",
        "looks up somebody unique in the survey, or predicts with a linear model",
        "any", False, PREDICTED, False, _scenarios, _scenario_numbers,
        "keys that are changed; amounts on which several matches differ; predictions that no "
        "linear model makes",
        exact_keys=True,
        compared=IN_COMPARISONS["scenarios"],
    ),
    "rapid": AttackEntry(
        "RAPID",
        "looks for the nearest keys, or trains a model, and predicts real persons",
        "any", False, PREDICTED, False, _rapid, _rapid_numbers,
        "what a stronger model than those of the panel learns; anything but the target",
        compared=IN_COMPARISONS["rapid"],
    ),
    "membership": AttackEntry(
        "Membership inference",
        "asks whether somebody was in the survey at all",
        "none", True, COMPARED, False, _compared(membership), _membership_numbers,
        "members whose records were changed more than those of strangers differ",
        compared=IN_COMPARISONS["membership"],
    ),
    "distance_screen": AttackEntry(
        "Distance screen",
        "looks for copied records (a screen, never proof of safety)",
        "none", False, COMPARED, False, _compared(distance_screen), _screen_numbers,
        "everything but records that are repeated nearly as they were",
        compared=IN_COMPARISONS["distance_screen"],
    ),
    "copies": AttackEntry(
        "Exact copies",
        "looks for amounts, shares of amounts and the characteristics of somebody, to the letter",
        "none", False, ("unit", "household", "categorical"), False, _copies, _copied_numbers,
        "everything that is not repeated exactly",
        blind_to=("noise", "holes"),
        compared=False,
    ),
}  # fmt: skip
