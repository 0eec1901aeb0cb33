"""The request of the five scenarios, checked once, every fault reported together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from riskeval.attacks.matching.models import check_model
from riskeval.attacks.request import check_households, check_rows, keys_and_targets
from riskeval.attacks.scenario import Scenario, to_scenario
from riskeval.attacks.targets import TREATMENTS
from riskeval.attacks.values import flags_of
from synthpop.microdata.frame.checks import as_frame, check_columns, check_numeric
from synthpop.microdata.frame.frames import as_numbers, check_size, is_number
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.parameters import OneOf, check, check_choice
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.runs.chunks import CHUNK, open_chunks
from synthpop.microdata.statistics.streams import resolve_seed

if TYPE_CHECKING:
    from riskeval.measures.uniqueness import PopulationUniqueness

ALL_SCENARIOS = (1, 2, 3, 4, 5)
NEED_INTERVALS = (1, 3)
SUBJECT = "intruder_scenarios"
PARAMETERS = {"missing": OneOf(*TREATMENTS), "open_interval": OneOf("value", "zero")}


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioRequest:
    """A checked request; `population` yields frames once."""

    scenario: Scenario  # what the intruder knows, whom they look for and what counts as success
    sample: pd.DataFrame
    holdout: pd.DataFrame | None  # real persons who are not in the sample
    population: Iterator[pd.DataFrame]
    categorical: frozenset[str]  # frozenset of str: targets that are categories
    # dict of target to (str, str): columns of the population with the bounds
    intervals: dict[str, tuple[str, str]]
    scenarios: tuple[int, ...]  # scenarios of the table
    weights: np.ndarray | None  # float64, shape (n,), or None
    # estimate of how many sample uniques are unique in the population
    uniqueness: PopulationUniqueness | None
    missing: str
    open_interval: str
    model: Any  # object: name of the model of scenario 5, or an estimator
    seed: int
    on_event: Listener

    def computed(self, target: str) -> tuple[int, ...]:
        """Scenarios of the table but those for which a target lacks intervals."""
        if target in self.categorical or target in self.intervals:
            return self.scenarios
        return tuple(number for number in self.scenarios if number not in NEED_INTERVALS)

    def accuracies(self, target: str) -> tuple[float, ...]:
        """Accuracies of a target; categories have one row, without any."""
        return (float("nan"),) if target in self.categorical else self.scenario.accuracy

    def bounds(self, target: str) -> tuple[str, str] | None:
        """Columns with the bounds of a target, when a scenario of the table uses them."""
        used = 1 in self.scenarios or 3 in self.scenarios
        return self.intervals.get(target) if used else None


class ScenarioOptions(TypedDict):
    """Options of `intruder_scenarios` as the user gave them."""

    accuracy: Sequence[float] | float | None
    intervals: Any
    scenarios: Sequence[int]
    weights: str | np.ndarray | None
    uniqueness: PopulationUniqueness | None
    missing: str
    open_interval: str
    holdout: Any
    model: Any
    seed: int | None
    on_event: Listener


def read_scenario_request(
    sample: Any,
    population: Any,
    keys: Scenario | Sequence[str] | str | None,
    target: Sequence[str] | str | None,
    **options: Unpack[ScenarioOptions],
) -> ScenarioRequest:
    """Check the arguments of `intruder_scenarios` and the first block of the population."""
    faults = Faults(SUBJECT)
    scenarios, holdout = options["scenarios"], options["holdout"]
    keys, target = keys_and_targets(sample, keys, target)
    scenario = _scenario(faults, keys, target, options["accuracy"])
    file = as_file(sample, faults, weights=options["weights"], subject="sample")
    files = {"sample": file.frame}
    if holdout is not None:
        files["hold-out"] = as_frame(holdout, "holdout")
    survey = files["sample"]
    bounds = _pairs(faults, options["intervals"], scenario.targets)
    household = [] if scenario.household is None else [scenario.household]
    columns = [*scenario.keys, *scenario.targets, *sum(bounds.values(), ()), *household]
    frames = open_chunks(population, columns=columns, rows=CHUNK)
    first = next(frames)
    categorical = _categorical(scenario, survey, first)
    chosen = tuple(scenarios) if isinstance(scenarios, Iterable) else (scenarios,)
    numeric = [name for name in scenario.targets if name not in categorical]
    _check_scenarios(faults, chosen, [name for name in numeric if name not in bounds])
    for name in sorted(set(bounds) & categorical):
        faults.add("intervals", f"{name!r} is a category, which has no intervals")
    check(faults, PARAMETERS, options)
    for role, frame in files.items():
        _check_persons(faults, frame, scenario, categorical, role)
    check_block(faults, first, scenario, categorical, bounds)
    check_model(faults, options["model"], len(numeric) > 0, len(categorical) > 0)
    _check_uniqueness(faults, scenario, options["uniqueness"])
    faults.raise_if_any()
    return ScenarioRequest(
        scenario, survey, files.get("hold-out"), chain([first], frames), categorical, bounds,
        chosen, file.weights, options["uniqueness"], options["missing"], options["open_interval"],
        options["model"], resolve_seed(options["seed"]), options["on_event"],
    )  # fmt: skip


def check_block(
    faults: Faults,
    block: pd.DataFrame,
    scenario: Scenario,
    categorical: frozenset[str],
    intervals: Mapping[str, tuple[str, str]],
) -> None:
    """Note columns that a block of the population lacks or that are not numbers."""
    check_columns(faults, block, scenario.keys, "key of the population")
    for target in scenario.targets:
        check = check_columns if target in categorical else check_numeric
        check(faults, block, [target], "target of the population")
        check_numeric(faults, block, list(intervals.get(target, ())), "bound of the intervals")
    if scenario.household is not None:
        check_columns(faults, block, [scenario.household], "household of the population")


def _scenario(
    faults: Faults,
    keys: Scenario | Sequence[str] | str,
    target: Sequence[str] | str | None,
    accuracy: Sequence[float] | float | None,
) -> Scenario:
    """Return the scenario; when it has faults, one that is good enough to find more of them."""
    try:
        scenario = to_scenario(SUBJECT, keys, target, accuracy=accuracy)
    except InputError as error:
        faults.found.extend(error.faults)
        try:
            scenario = to_scenario(SUBJECT, keys, target if isinstance(target, str) else None)
        except InputError:
            faults.raise_if_any()
            raise
    if not scenario.targets and not faults:
        faults.add("target", "is not given", hint="Name the column the intruder looks for.")
    return scenario


def _categorical(scenario: Scenario, sample: pd.DataFrame, block: pd.DataFrame) -> frozenset[str]:
    """Targets that are declared to be categories, or are not numbers in both files."""
    categories = {
        name
        for name in scenario.targets
        if name in sample and name in block
        if not any(_is_number(frame[name]) for frame in (sample, block))
    }
    return frozenset(categories | set(scenario.categorical))


def _is_number(column: pd.Series | pd.DataFrame) -> bool:
    """Whether a column is numeric; a name given twice is a fault of its own."""
    return isinstance(column, pd.Series) and is_number(column)


def _check_persons(
    faults: Faults, frame: pd.DataFrame, scenario: Scenario, categorical: frozenset[str], role: str
) -> None:
    check_columns(faults, frame, scenario.keys, f"key of the {role}")
    for target in scenario.targets:
        if target in categorical:
            check_columns(faults, frame, [target], f"target of the {role}")
        elif check_numeric(faults, frame, [target], f"target of the {role}"):
            check_size(faults, as_numbers(frame[target]), target, f"value of the {role}")
    if len(frame) == 0:
        faults.add(role, "has no records")
    if scenario.household is not None:
        check_households(faults, frame, scenario.household, role)
    rows = scenario.rows
    if rows is None or not check_rows(faults, frame, rows, role) or len(frame) == 0:
        return
    flags = flags_of(frame[rows])
    if flags is not None and not flags.any():
        faults.add(rows, f"no row of the {role} is True: nobody is looked for")


def _pairs(faults: Faults, intervals: Any, targets: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    if intervals is None:
        return {}
    if not isinstance(intervals, Mapping) and len(targets) > 1:
        hint = "Give a mapping of target to (lower, upper)."
        faults.add("intervals", "one pair is given for several targets", hint=hint)
        return {}
    if not isinstance(intervals, Mapping):
        intervals = dict.fromkeys(targets, intervals)
    pairs = {}
    for name, pair in intervals.items():
        if name not in targets:
            what = f"{name!r} is not a target"
            faults.add("intervals", what, hint=did_you_mean(name, targets))
        elif isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2:
            pairs[name] = (pair[0], pair[1])
        else:
            hint = "Give the names of two population columns: (lower, upper)."
            faults.add("intervals", f"{pair!r} is not a pair", hint=hint)
    return pairs


def _check_scenarios(faults: Faults, scenarios: tuple[int, ...], without: list[str]) -> None:
    if not scenarios:
        faults.add("scenarios", "no scenario is given", hint="There are: 1, 2, 3, 4, 5.")
    for number in dict.fromkeys(scenarios):
        check_choice(faults, "scenarios", number, ALL_SCENARIOS)
        if scenarios.count(number) > 1:
            faults.add("scenarios", f"{number!r} is given twice")
    lacking = [number for number in scenarios if number in NEED_INTERVALS and without]
    if lacking and scenarios != ALL_SCENARIOS:
        faults.add(
            "intervals",
            f"scenarios {' and '.join(map(str, lacking))} need intervals, none are given "
            f"for {', '.join(without)}",
            hint="Name the population columns with the bounds each value was drawn from.",
        )


def _check_uniqueness(faults: Faults, scenario: Scenario, uniqueness: Any) -> None:
    """The estimate must be one of persons with the same keys."""
    if uniqueness is None:
        return
    fields = ("tau1", "n_sample_uniques", "chosen", "keys")
    if not all(hasattr(uniqueness, name) for name in fields):
        hint = "Give the result of population_uniqueness."
        faults.add("uniqueness", f"{uniqueness!r} is not an estimate", hint=hint)
    elif set(uniqueness.keys) != set(scenario.keys):
        what = f"is for the keys {', '.join(uniqueness.keys)}, not {', '.join(scenario.keys)}"
        faults.add("uniqueness", what, hint="Estimate it with the keys of the intruder.")
    if scenario.unit == "household":
        faults.add("uniqueness", "is for persons, the attack is on households")
