"""What an attack is given, and its entry in the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from riskeval.attacks.compared import N_GROUPS, ComparedAttack
from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.values import is_amount, number_groups, quantile_breaks
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.entries import NamedEntry
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.runs.chunks import open_chunks


@dataclass(frozen=True, slots=True, eq=False)
class AttackInput:
    """What is attacked; `synthetic` can be read more than once."""

    original: pd.DataFrame
    synthetic: Any  # anything that `synthpop.microdata.runs.chunks.open_chunks` reads
    keys: tuple[str, ...]
    targets: tuple[str, ...]
    holdout: pd.DataFrame | None
    seed: int
    # says more than keys and targets: whom the intruder looks for, wrong keys, households ...
    scenario: Scenario | None = None
    replicates: tuple[Any, ...] = ()  # further synthetic files of the same fit
    # numeric columns that are codes of categories, without a scenario
    categorical: tuple[str, ...] = ()
    n_groups: int = N_GROUPS  # groups in which measures that count compare a numeric target
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
        if "key_errors" in fields:  # of keys that are left out, too
            errors = fields["key_errors"].items()
            fields["key_errors"] = {name: one for name, one in errors if name in self.keys}
        if fields.get("unit") != "household":
            fields.pop("members", None)
        return Scenario(self.keys, tuple(targets), **fields)

    @property
    def is_plain(self) -> bool:
        """Whether keys and targets say all: everybody is looked for, by keys that are right."""
        said = set() if self.scenario is None else set(self.scenario.to_dict())
        plain = said <= {"keys", "targets", "who", "accuracy", "categorical"}
        return plain and (self.scenario is None or self.scenario.who == "everyone")

    def is_code(self, name: str) -> bool:
        """Whether a column was declared to be codes of categories."""
        declared = () if self.scenario is None else self.scenario.categorical
        return name in self.categorical or name in declared

    def named(self, target: str) -> str | None:
        """Return the target as an argument: a scenario holds its own."""
        return target if self.scenario is None else None

    def codes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of some columns that are declared codes, as an argument beside plain keys."""
        return tuple(name for name in self.categorical if name in names)

    def with_groups(self) -> tuple[AttackInput, tuple[str, ...]]:
        """Return the same with amounts among the keys in groups, and the keys that are amounts.

        Amounts are numeric keys with values that are not whole, in the original or in the first
        block of the release. The groups are cut at quantiles of the original.
        """
        first = next(iter(open_chunks(self.synthetic, "synthetic", self.keys)))
        breaks = {}
        for key in self.keys:
            column = self.original[key]
            noisy = is_number(column) and is_amount(first[key])  # whole numbers with noise
            if key not in self.categorical and (noisy or is_amount(column)):
                breaks[key] = quantile_breaks(column, self.n_groups)

        def grouped(frame: pd.DataFrame) -> pd.DataFrame:
            columns = {
                key: number_groups(frame[key], cuts) for key, cuts in breaks.items() if key in frame
            }
            return frame.assign(**columns)

        if not breaks:
            return self, ()
        release, *others = (
            GroupedFile(file, grouped) for file in (self.synthetic, *self.replicates)
        )
        inputs = replace(
            self, original=grouped(self.original), synthetic=release, replicates=tuple(others),
            holdout=None if self.holdout is None else grouped(self.holdout),
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

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, where the file has them."""
        return tuple(getattr(self.file, "columns", ()))

    def iter_blocks(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the frames."""
        frames = open_chunks(self.file, "synthetic", columns or ())
        return (self.change(frame) for frame in frames)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackEntry(NamedEntry):
    """One attack: of ``assess_synthetic``, ``compare``, run files, the app and their pages."""

    name: str  # its key in run files
    function: Callable[..., Any]  # the public function
    story: str  # what the intruder does, behind "The intruder"
    # {"none", "categorical", "any"}: kinds of target it is run on, once for each; "none": once
    # for the file. "categorical" compares numbers in groups.
    target: str
    honours: tuple[str, ...]  # fields of a Scenario, beside keys and targets, that it follows
    run: Callable[[AttackInput, str], Any]  # function of an AttackInput and a target to a result
    # function of the result to a list of AttackNumber
    numbers: Callable[[Any], Sequence[AttackNumber]]
    needs_holdout: bool = False
    replicates: bool = False  # whether it makes use of further synthetic files
    # whether it looks for the very same keys, so that amounts among them are compared in groups
    exact_keys: bool = False
    # Of "half" (half of the records copied), "holes" (one suppressed cell a record) and "noise"
    # (of 0.1 %): files that give persons away and that it does not see. The self-test of the
    # attacks asks for all others.
    blind_to: tuple[str, ...] = ()
    # ComparedAttack or bool: how a comparison of releases runs it: with sample sizes of its own,
    # as it is (True), or not at all (False)
    compared: ComparedAttack | bool = True


COUNTED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
PREDICTED = (*COUNTED, "accuracy")
COMPARED = ("unit", "household", "categorical")


def run_counting(measure: Callable[..., Any]) -> Callable[[AttackInput, str], Any]:
    """Run a counting measure on one target."""

    def run(inputs: AttackInput, target: str) -> Any:
        keys = inputs.scenario_about(COUNTED, [target])
        n_groups = None if target in inputs.categorical else inputs.n_groups
        return measure(
            inputs.original, inputs.synthetic, keys, inputs.named(target), holdout=inputs.holdout,
            n_groups=n_groups, replicates=inputs.replicates, seed=inputs.seed,
        )  # fmt: skip

    return run


def run_compared(measure: Callable[..., Any]) -> Callable[[AttackInput, str], Any]:
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
