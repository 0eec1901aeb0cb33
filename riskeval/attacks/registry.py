"""The attacks on a release: how each is run, and which of its numbers to show.

A new attack is one more entry of `ATTACKS`; nothing else has to know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from riskeval.attacks.compared import IN_COMPARISONS
from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.counting.copies import copied_values
from riskeval.attacks.counting.subsets import LEAST_KEYS, fewer_keys
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.entry import AttackEntry, AttackInput
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.matching.strongest import ACCURACY
from riskeval.attacks.numbers import (
    copied_numbers,
    disco_numbers,
    fewer_key_numbers,
    membership_numbers,
    rapid_numbers,
    scenario_numbers,
    screen_numbers,
    tcap_numbers,
    unique_numbers,
)
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.values import is_amount
from synthpop.microdata.messages.errors import InputError

COUNTED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
UNIQUE = ("key_errors", "coverage", "who", "rows", "unit", "household")
PREDICTED = (*COUNTED, "accuracy")
COMPARED = ("unit", "household", "categorical")


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


def _fewer_keys(inputs: AttackInput, target: str) -> Any:
    if len(inputs.keys) <= LEAST_KEYS:
        raise InputError.of("fewer keys", "keys", f"are {len(inputs.keys)}: there are no fewer")

    def attack(keys: tuple[str, ...]) -> Any:
        fewer = replace(inputs, keys=keys)
        n_groups = None if target in inputs.categorical else inputs.n_groups
        return disco(
            inputs.original, inputs.synthetic, fewer.scenario_about(COUNTED, [target]),
            fewer.named(target), holdout=inputs.holdout, n_groups=n_groups, draws=0,
            seed=inputs.seed,
        )  # fmt: skip

    result = fewer_keys(attack, inputs.keys, target)
    if result is None:
        raise InputError.of("fewer keys", "hold-out", "has nobody to compare with")
    return result


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


ATTACKS: dict[str, AttackEntry] = {
    "replicated_uniques": AttackEntry(
        "Replicated uniques",
        "finds exactly one synthetic person with the keys of somebody unique",
        "none", False, UNIQUE, True, _uniques, unique_numbers,
        "keys that are changed; whether the other values of the match are right",
        exact_keys=True,
        compared=IN_COMPARISONS["replicated_uniques"],
    ),
    "disco": AttackEntry(
        "DiSCO",
        "believes what all synthetic persons with somebody's keys agree on",
        "categorical", False, COUNTED, True, _counting(disco), disco_numbers,
        "keys that are changed; beliefs that are likely but not certain",
        exact_keys=True,
        compared=IN_COMPARISONS["disco"],
    ),
    "tcap": AttackEntry(
        "Correct attribution",
        "draws one of the synthetic persons with somebody's keys",
        "categorical", False, COUNTED, True, _counting(tcap), tcap_numbers,
        "keys that are changed; relations between records with different keys",
        exact_keys=True,
        compared=IN_COMPARISONS["tcap"],
    ),
    "scenarios": AttackEntry(
        "Matching scenarios",
        "looks up somebody unique in the survey, or predicts with a linear model",
        "any", False, PREDICTED, False, _scenarios, scenario_numbers,
        "keys that are changed; amounts on which several matches differ; predictions that no "
        "linear model makes",
        exact_keys=True,
        compared=IN_COMPARISONS["scenarios"],
    ),
    "fewer_keys": AttackEntry(
        "Fewer keys",
        "forgets some of the keys, and believes what all synthetic persons with the rest agree on",
        "categorical", True, COUNTED, False, _fewer_keys, fewer_key_numbers,
        "keys that are changed; subsets beyond the sixty that are tried",
        exact_keys=True,
        blind_to=("half", "holes", "noise"),
        compared=False,
    ),
    "rapid": AttackEntry(
        "RAPID",
        "looks for the nearest keys, or trains a model, and predicts real persons",
        "any", False, PREDICTED, False, _rapid, rapid_numbers,
        "what a stronger model than those of the panel learns; anything but the target",
        compared=IN_COMPARISONS["rapid"],
    ),
    "membership": AttackEntry(
        "Membership inference",
        "asks whether somebody was in the survey at all",
        "none", True, COMPARED, False, _compared(membership), membership_numbers,
        "members whose records were changed more than those of strangers differ",
        compared=IN_COMPARISONS["membership"],
    ),
    "distance_screen": AttackEntry(
        "Distance screen",
        "looks for copied records (a screen, never proof of safety)",
        "none", False, COMPARED, False, _compared(distance_screen), screen_numbers,
        "everything but records that are repeated nearly as they were",
        compared=IN_COMPARISONS["distance_screen"],
    ),
    "copies": AttackEntry(
        "Exact copies",
        "looks for amounts, shares of amounts and the characteristics of somebody, to the letter",
        "none", False, ("unit", "household", "categorical"), False, _copies, copied_numbers,
        "everything that is not repeated exactly",
        blind_to=("noise", "holes"),
        compared=False,
    ),
}  # fmt: skip
