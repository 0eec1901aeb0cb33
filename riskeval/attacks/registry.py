"""The attacks on a release: how each is run, and which of its numbers to show.

A new attack is one more entry of `ATTACKS`; nothing else has to know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.compared import IN_COMPARISONS, N_GROUPS, ComparedAttack
from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.matching.scenarios import intruder_scenarios
from riskeval.attacks.matching.strongest import ACCURACY
from riskeval.attacks.prediction.rapid import rapid
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess
from riskeval.attacks.values import is_amount, number_groups
from riskeval.measurement import MeasureInfo, Measurement
from synthpop.microdata.chunks import open_chunks
from synthpop.microdata.events import Listener, silent
from synthpop.microdata.frames import as_numbers
from synthpop.microdata.text import percent

COUNTED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
UNIQUE = ("key_errors", "coverage", "who", "rows", "unit", "household")
PREDICTED = (*COUNTED, "accuracy")
COMPARED = ("unit", "household", "categorical")


@dataclass(frozen=True, slots=True, eq=False)
class AttackInput:
    """What is attacked; `synthetic` can be read more than once.

    Attributes
    ----------
    original : DataFrame
    synthetic : anything that `synthpop.microdata.chunks.open_chunks` reads
    keys, targets : tuple of str
    holdout : DataFrame or None
    seed : int
    scenario : Scenario or None
        Says more than keys and targets: whom the intruder looks for, wrong keys, households ...
    replicates : tuple
        Further synthetic files of the same fit.
    categorical : tuple of str
        Numeric columns that are codes of categories, without a scenario.
    n_groups : int
        Groups in which measures that count compare a numeric target.
    workers : int
    on_event : callable
    """

    original: pd.DataFrame
    synthetic: Any
    keys: tuple[str, ...]
    targets: tuple[str, ...]
    holdout: pd.DataFrame | None
    seed: int
    scenario: Scenario | None = None
    replicates: tuple[Any, ...] = ()
    categorical: tuple[str, ...] = ()
    n_groups: int = N_GROUPS
    workers: int = 1
    on_event: Listener = silent

    def scenario_about(self, honours: Sequence[str], targets: Sequence[str]) -> Any:
        """Return keys, or the scenario about some targets with the fields an attack honours."""
        if self.scenario is None:
            return self.keys
        plain = self.scenario.to_dict()
        fields = {name: plain[name] for name in honours if name in plain}
        if "categorical" in fields:
            fields["categorical"] = [name for name in fields["categorical"] if name in targets]
        if fields.get("unit") != "household":
            fields.pop("members", None)
        return Scenario(self.keys, tuple(targets), **fields)

    def named(self, target: str) -> str | None:
        """Return the target as an argument: a scenario holds its own."""
        return target if self.scenario is None else None

    def codes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of some columns that are declared codes, as an argument beside plain keys."""
        return tuple(name for name in self.categorical if name in names)

    def with_groups(self) -> tuple[AttackInput, tuple[str, ...]]:
        """Return the same with amounts among the keys in groups, and the keys that are amounts.

        Amounts are numeric keys with values that are not whole. The groups are cut at quantiles of
        the original.
        """
        breaks = {}
        for key in self.keys:
            if key not in self.categorical and is_amount(self.original[key]):
                values = as_numbers(self.original[key].dropna())
                cuts = np.quantile(values, np.arange(1, self.n_groups) / self.n_groups)
                breaks[key] = np.unique(cuts)

        def grouped(frame: pd.DataFrame) -> pd.DataFrame:
            return frame.assign(
                **{key: number_groups(frame[key], cuts) for key, cuts in breaks.items()}
            )

        if not breaks:
            return self, ()
        files = [GroupedFile(file, grouped) for file in (self.synthetic, *self.replicates)]
        holdout = None if self.holdout is None else grouped(self.holdout)
        inputs = replace(
            self, original=grouped(self.original), synthetic=files[0],
            replicates=tuple(files[1:]), holdout=holdout,
        )  # fmt: skip
        return inputs, tuple(breaks)

    def left_out(self, honours: Sequence[str]) -> list[str]:
        """Return the fields of the scenario that say something and have no part in an attack."""
        if self.scenario is None:
            return []
        plain = self.scenario.to_dict()
        return [name for name in plain if name not in ("keys", "targets", *honours)]


@dataclass(frozen=True, slots=True, eq=False)
class GroupedFile:
    """A release whose frames are changed one by one as they are read."""

    file: Any
    change: Callable[[pd.DataFrame], pd.DataFrame]

    def iter_blocks(self) -> Iterator[pd.DataFrame]:
        """Yield the frames."""
        return (self.change(frame) for frame in open_chunks(self.file, "synthetic"))


@dataclass(frozen=True, slots=True)
class AttackNumber:
    """One number of an attack, and what it is read against.

    Attributes
    ----------
    measurement : Measurement
        Its baseline is what an intruder reaches on persons who were not in the original, without
        the release, or with the original itself.
    kind : {"strangers", "original", ""}
        What the baseline is. "original": the value is a part of what the original itself tells.
    excess : Excess or None
        The attack on the original beyond that on strangers; only this allows a verdict.
    """

    measurement: Measurement
    kind: str = ""
    excess: Excess | None = None

    @property
    def is_above(self) -> bool:
        """Whether strangers are clearly attacked with less success."""
        return self.excess is not None and self.excess.is_above

    def reading(self) -> str:
        """Say in a few words how the value stands to its baseline; empty where nothing can be said.

        Examples
        --------
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
        verdict = "no verdict without a hold-out"
        if self.excess is not None:
            verdict = "above the hold-out" if self.is_above else "not clearly above the hold-out"
        if self.kind == "original" and one.baseline > 0:
            return f"{percent(one.value / one.baseline, 0)} of what the original tells; {verdict}"
        return verdict


@dataclass(frozen=True, slots=True)
class AttackEntry:
    """One entry of the registry.

    Attributes
    ----------
    title, story : str
    target : {"none", "categorical", "any"}
        Kinds of target it is run on, once for each; "none": once for the file. "categorical"
        compares numbers in groups.
    needs_holdout : bool
    honours : tuple of str
        Fields of a Scenario, beside keys and targets, that it follows.
    replicates : bool
        Whether it makes use of further synthetic files.
    run : function of an AttackInput and a target to a result
    numbers : function of the result to a list of AttackNumber
    blind_spot : str
        What it cannot see.
    exact_keys : bool
        Whether it looks for the very same keys, so that amounts among them are compared in groups.
    blind_to : tuple of str
        Of "half" (half of the records copied), "holes" (one suppressed cell a record) and "noise"
        (of 0.1 %): files that give persons away and that it does not see. The self-test of
        the attacks asks for all others.
    compared : ComparedAttack or bool
        How a comparison of releases runs it: with sample sizes of its own, as it is (True), or
        not at all (False).
    """

    title: str
    story: str
    target: str
    needs_holdout: bool
    honours: tuple[str, ...]
    replicates: bool
    run: Callable[[AttackInput, str], Any]
    numbers: Callable[[Any], Sequence[AttackNumber]]
    blind_spot: str
    exact_keys: bool = False
    blind_to: tuple[str, ...] = ()
    compared: ComparedAttack | bool = True


def _info(name: str, title: str, meaning: str, source: str, unit: Any = "share") -> MeasureInfo:
    return MeasureInfo(name, "attribution risk", "low", unit, meaning, source, title)


RAAB = "Raab, Nowok and Dibben (2024), arXiv:2406.16826"
TAUB = "Taub, Elliot, Pampaka and Smith (2018), doi:10.1007/978-3-319-99771-1_9"
INFOS = {
    "repU": _info("repU", "repU", "records that are unique in both files with the same keys", RAAB),
    "DiSCO": _info("DiSCO", "DiSCO", "records whose target follows, rightly, from the keys", RAAB),
    "DCAP": _info("DCAP", "DCAP", "probability to draw the right level", RAAB, "probability"),
    "TCAP_original": _info(
        "TCAP_original", "TCAP", "records of targeted classes whose level is attributed", TAUB
    ),
    "predicted": _info(
        "predicted", "predicted", "records whose target is predicted too well",
        "Templ, Thees and Müller (2026), arXiv:2602.09235",
    ),
    "scenario": _info(
        "scenario", "scenario", "records disclosed by an intruder who matches or predicts",
        "Templ (2017), equations 6.17 to 6.26",
    ),
    "auc": _info(
        "auc", "area under the curve", "probability to tell a member from a stranger",
        "van Breugel et al. (2023)", "probability",
    ),
    "close": _info(
        "close", "nearer than the baseline", "synthetic records nearer than the nearest 5 % of "
        "the baseline", "Yao et al. (2025), arXiv:2505.01524",
    ),
    "members": _info(
        "members", "members nearer than the baseline", "households whose members are nearer to "
        "original persons than the nearest 5 % of the baseline", "",
    ),
    "identical": _info(
        "identical", "identical", "synthetic records equal to an original one", ""
    ),
}  # fmt: skip


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
            baseline, against = beyond.holdout_rate, "persons outside the original"
        one = Measurement(
            INFOS[name], result.value(name), result.target, lower=low, upper=high,
            baseline=baseline, against=against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _rapid_numbers(result: Any) -> list[AttackNumber]:
    baseline, against = result.permuted_rate, "shuffled target"
    if result.excess is not None:
        baseline, against = result.holdout_rate, "persons outside the original"
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
        within = "" if np.isnan(row["accuracy"]) else f" within {row['accuracy']:g}"
        baseline, against = row.get("rate_holdout", np.nan), "persons outside the original"
        if np.isnan(baseline):
            baseline = row.get("rate_baseline", np.nan)
            against = "" if np.isnan(baseline) else "guessing the commonest level"
        info = _info("scenario", f"scenario {row['scenario']}{within}",
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
}  # fmt: skip
