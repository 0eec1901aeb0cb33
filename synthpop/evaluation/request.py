"""From a survey, a population and options to what is compared: checks, roles, factors, grids."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.factors import Factor, make_classes, make_factor
from synthpop.evaluation.grid import make_grid
from synthpop.evaluation.source import PopulationChunks, make_source
from synthpop.evaluation.tabulate import TabulationPlan
from synthpop.microdata.frame.checks import check_names
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.frame.frames import as_numbers, has_numbers, listed_names
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.reading.kinds import are_seldom_equal
from synthpop.microdata.roles.survey import Survey, as_survey
from synthpop.microdata.statistics.distances import effective_size
from synthpop.microdata.statistics.weighted import mean
from synthpop.stages.derive import DeriveModel, derive

FEW_VALUES = 20
MOST_GROUPS = 20
MOST_LEVELS = 60
SIZE_NAME = "hsize"


@dataclass(frozen=True, slots=True, eq=False)
class FitRequest:
    """What `assess_fit` compares."""

    survey: Survey
    source: PopulationChunks
    # the sample with the variables that the recipe derives and the household size
    frame: pd.DataFrame
    plan: TabulationPlan
    names: tuple[str, ...]  # factors that are compared as variables
    strata: str | None
    size: str | None
    components: Mapping[str, tuple[str, ...]]  # total -> its parts

    @property
    def parts(self) -> set[str]:
        """Parts of all totals."""
        return {part for names in self.components.values() for part in names}

    @property
    def main_numbers(self) -> tuple[str, ...]:
        """Numbers of which some are finite, without the parts of totals."""
        names = [name for name in self.plan.grids if name not in self.parts]
        return tuple(name for name in names if np.isfinite(as_numbers(self.frame[name])).any())

    def categories(self, most_levels: float = np.inf) -> dict[str, Factor]:
        """Return the factors that are compared as variables and are no number in classes."""
        factors = {name: self.plan.factors[name] for name in self.names}
        return {
            name: factor
            for name, factor in factors.items()
            if factor.limits is None and len(factor.levels) <= most_levels
        }

    @property
    def effective(self) -> float:
        """Effective size of the sample."""
        return effective_size(self.survey.weights)

    def codes(self) -> dict[str, np.ndarray]:
        """Return the codes of the sample for each factor."""
        return {key: f.code(self.frame[f.name]) for key, f in self.plan.factors.items()}


def make_request(
    survey: Any,
    population: Any,
    variables: Sequence[str] | None,
    by: Sequence[str] | None,
    components: Mapping[str, Sequence[str]] | None,
) -> FitRequest:
    """Check everything, with every fault in one InputError, and fix what is counted."""
    faults = Faults("assess_fit")
    survey = as_survey(survey)
    if not isinstance(survey, Survey):
        what = f"is a {type(survey).__name__}"
        raise InputError.of("assess_fit", "survey", what, "Give a Survey.")
    source = make_source(population)
    frame, size = _with_size(survey)
    source = _sized(survey, source, size)
    frame = _with_derived(frame, source)
    check_names(faults, frame)
    faults.raise_if_any()
    common = [name for name in source.columns if name in _comparable(survey, source, frame)]
    chosen = _chosen(faults, "variables", variables, common)
    groups = None if by is None else _chosen(faults, "by", by, common)
    parts = _components(faults, components, source, common)
    strata = survey.roles.strata if survey.roles.strata in common else None
    faults.raise_if_any()
    size = size if size in common else None
    return _resolve(survey, source, frame, chosen, groups, parts, strata, size)


def _resolve(
    survey: Survey,
    source: PopulationChunks,
    frame: pd.DataFrame,
    chosen: Sequence[str],
    groups: Sequence[str] | None,
    parts: Mapping[str, tuple[str, ...]],
    strata: str | None,
    size: str | None,
) -> FitRequest:
    needed = dict.fromkeys([*chosen, *(groups or ()), *filter(None, [strata, size])])
    for total, names in parts.items():
        needed |= dict.fromkeys([total, *names]) if total in chosen else {}
    is_factor = {name: _is_factor(frame[name], source.fields.get(name)) for name in needed}
    factors = {}
    for name in needed:
        if is_factor[name]:
            field = source.fields.get(name)
            factors[name] = make_factor(frame[name], field.levels if field else ())
    keys = []
    for name in groups or ():
        keys.append(name if is_factor[name] else message("{concept} in classes", concept=name))
        if not is_factor[name]:
            factors[keys[-1]] = make_classes(frame[name], survey.weights)
    if groups is None:
        small = [k for k, f in factors.items() if len(f.levels) <= MOST_GROUPS]
        first = [strata] if strata is not None and strata in small else []
        keys = [*first, *(k for k in small if k != strata)]
    numbers = [name for name in needed if not is_factor[name]]
    columns = {name: as_numbers(frame[name]) for name in numbers}
    _check_numbers(source, numbers)
    numeric_parts = {t: p for t, p in parts.items() if {t, *p} <= set(numbers)}
    grids = {name: make_grid(columns[name], survey.weights) for name in numbers}
    centres = {name: _centre(columns[name], survey.weights) for name in numbers}
    crossable = [k for k, f in factors.items() if len(f.levels) <= MOST_LEVELS]
    pairs = set(itertools.combinations(crossable, 2))
    if strata is not None:  # by stratum, however many levels
        pairs |= {(strata, k) for k in factors if k != strata and (k, strata) not in pairs}
    ordered = tuple(sorted(pairs, key=lambda pair: [list(factors).index(k) for k in pair]))
    plan = TabulationPlan(factors, ordered, grids, tuple(keys), centres, numeric_parts)
    names = tuple(k for k in factors if k in chosen or k in keys or k in (strata, size))
    return FitRequest(
        survey, source, frame, plan, names, strata, size if size in factors else None, numeric_parts
    )


def _centre(values: np.ndarray, weights: np.ndarray) -> float:
    centre = mean(values, weights)
    return centre if np.isfinite(centre) else 0.0


def _with_size(survey: Survey) -> tuple[pd.DataFrame, str | None]:
    roles = survey.roles
    if roles.household is None:
        return survey.frame, None
    if roles.household_size is not None:
        return survey.frame, roles.household_size
    if SIZE_NAME in survey.frame.columns:
        return survey.frame, None
    sizes = survey.household_sizes[survey.household_index]
    return survey.frame.assign(**{SIZE_NAME: sizes}), SIZE_NAME


def _sized(survey: Survey, source: PopulationChunks, size: str | None) -> PopulationChunks:
    """Return the source; a frame with household ids but without sizes gets them."""
    household = survey.roles.household
    if size is None or size in source.columns or not isinstance(source.data, pd.DataFrame):
        return source
    if household not in source.columns or source.data[household].isna().any():
        return source
    ids = source.data[household]
    sizes = ids.map(ids.value_counts()).to_numpy()
    return replace(
        source, data=source.data.assign(**{size: sizes}), columns=(*source.columns, size)
    )


def _with_derived(frame: pd.DataFrame, source: PopulationChunks) -> pd.DataFrame:
    """Return the sample with the variables that the recipe derived, by the same rule."""
    for stage in source.recipe:
        if stage["type"] != "derive" or stage["name"] in frame.columns:
            continue
        if stage.get("source") is None:  # an expression: compared where the survey has it too
            continue
        field = source.fields[stage["name"]]
        if stage.get("breaks") is not None:
            limits = np.asarray(stage["breaks"], dtype=np.float64)
            model = DeriveModel((field,), limits, None, Field.number(stage["source"]))
            codes = derive(model, as_numbers(frame[stage["source"]]))
        else:
            position = {str(level): code for code, level in enumerate(field.levels)}
            to = {old: position[str(new)] for old, new in stage["mapping"].items()}
            values = frame[stage["source"]].astype(object)
            codes = values.map(lambda value, to=to: to.get(str(value), -1))
        dtype = pd.CategoricalDtype(list(field.levels), ordered=field.ordered)
        column = pd.Categorical.from_codes(np.asarray(codes, dtype=np.int64), dtype=dtype)
        frame = frame.assign(**{stage["name"]: column})
    return frame


def _comparable(survey: Survey, source: PopulationChunks, frame: pd.DataFrame) -> set[str]:
    roles = survey.roles
    apart = {roles.weight, roles.household, roles.household_weight, roles.person, roles.psu}
    apart -= {roles.strata, roles.household_size}
    return set(map(str, frame.columns)) - apart - source.ids


def _chosen(
    faults: Faults, argument: str, names: Sequence[str] | None, common: Sequence[str]
) -> list[str]:
    if names is None:
        if not common:
            faults.add(argument, "survey and population have no variable in common")
        return list(common)
    names = listed_names(names)
    _check_common(faults, argument, names, common)
    if not names and argument == "variables":
        faults.add(argument, "is empty", hint="Leave it out to compare all.")
    return list(dict.fromkeys(names))


def _check_common(
    faults: Faults, argument: str, names: Sequence[str], common: Sequence[str]
) -> None:
    for name in names:
        if name not in common:
            what = f"{name!r} is not a variable that survey and population both have"
            faults.add(argument, what, hint=did_you_mean(name, common))


def _components(
    faults: Faults,
    components: Mapping[str, Sequence[str]] | None,
    source: PopulationChunks,
    common: Sequence[str],
) -> dict[str, tuple[str, ...]]:
    if components is None:
        stages = [stage for stage in source.recipe if stage["type"] == "components"]
        totals = {stage["total"]: tuple(stage["parts"]) for stage in stages}
        return {t: p for t, p in totals.items() if {t, *p} <= set(common)}
    for total, parts in components.items():
        _check_common(faults, "components", (total, *parts), common)
    return {total: tuple(parts) for total, parts in components.items()}


def _is_factor(values: pd.Series, field: Field | None) -> bool:
    if not has_numbers(values):
        return True
    if field is not None and field.kind == "categorical":
        return True
    numbers = as_numbers(values)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    few = 0 < len(distinct) <= FEW_VALUES and bool(np.all(distinct == np.rint(distinct)))
    return few and not are_seldom_equal(numbers)


def _check_numbers(source: PopulationChunks, numbers: Sequence[str]) -> None:
    if not isinstance(source.data, pd.DataFrame):
        return
    faults = Faults("assess_fit")
    for name in numbers:
        if not has_numbers(source.data[name]):
            what = f"is a number in the survey and {source.data[name].dtype} in the population"
            faults.add(name, what, hint="Convert one of them.")
    faults.raise_if_any()
