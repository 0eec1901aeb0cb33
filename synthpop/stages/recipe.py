"""From a survey and a list of stages to what the fit needs: checks, layout, coded sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthpop.conditional.members_before import GIVEN_MEMBERS
from synthpop.conditional.rules.enforce import check_rules_of_recipe
from synthpop.conditional.rules.syntax import Rule
from synthpop.conditional.schema import Schema
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.codes import smallest_int
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.frame.frames import check_size, n_columns
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.roles.survey import Survey, as_survey, unit_of_households
from synthpop.stages.base import BlockStage, after
from synthpop.stages.id_columns import PERSON_NAME, SIZE_NAME, IdColumns
from synthpop.stages.population_stages import (
    PopulationSchema,
    PopulationStage,
    SurveyStage,
    known_levels,
)
from synthpop.stages.structure import Structure

ALL = "all"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the survey that a recipe reads, taken apart into fields and arrays."""

    fields: dict[str, Field]
    arrays: dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Steps:
    """A recipe taken apart."""

    survey_stages: tuple[SurveyStage, ...]  # on the survey, before the fit
    stages: tuple[BlockStage, ...]  # block by block, `Structure` first
    population_stages: tuple[PopulationStage, ...]  # on the whole population
    # how many stages come before each population_stage; later ones draw for what it leaves
    places: tuple[int, ...] = ()


def split_recipe(recipe: Sequence[Any]) -> Steps:
    """Return the steps of a recipe by where they work, wherever they stand in it.

    A step for several variables (see `Categorical`) is taken apart into one for each. What is not
    a step is a fault.
    """
    _check_steps(recipe)
    survey_stages: list[SurveyStage] = []
    stages: list[BlockStage] = []
    population_stages: list[PopulationStage] = []
    places: list[int] = []
    for step in recipe:
        if isinstance(step, SurveyStage):
            survey_stages.append(step)
        elif isinstance(step, PopulationStage):
            population_stages.append(step)
            places.append(len(stages))
        else:
            stages += step.expand()
    return Steps(tuple(survey_stages), tuple(stages), tuple(population_stages), tuple(places))


def expanded(step: Any) -> Sequence[Any]:
    """Return a step for several variables as one step for each; any other as it is."""
    return step.expand() if isinstance(step, BlockStage) else (step,)


def _check_steps(recipe: Any) -> None:
    faults = Faults("recipe")
    if isinstance(recipe, (str, Mapping)) or not isinstance(recipe, Iterable):
        faults.add("recipe", f"is a {type(recipe).__name__}", hint="Give a list of steps.")
        faults.raise_if_any()
    for place, step in enumerate(recipe, 1):
        if not isinstance(step, (SurveyStage, BlockStage, PopulationStage)):
            hint = 'Give one with its options, as Structure(["age"]).'
            faults.add(f"step {place}", f"{step!r} is not a step", hint=hint)
    faults.raise_if_any()


def check_recipe(recipe: Sequence[Any], survey: Survey, rules: Sequence[Rule] = ()) -> Columns:
    """Return the columns that the stages read.

    Raises InputError: lists everything in the recipe that does not fit the survey.
    """
    faults = Faults("recipe")
    if not isinstance(survey, Survey):
        what = f"is a {type(survey).__name__}"
        faults.add("survey", what, hint="Give a Survey, which knows the column of weights.")
        faults.raise_if_any()
    steps = split_recipe(recipe)
    stages = steps.stages
    _check_places(faults, recipe)
    if not stages or not isinstance(stages[0], Structure):
        faults.add("recipe", "does not begin with Structure", hint="Put Structure first.")
        if not stages:
            faults.raise_if_any()
    names = [step.label for step in steps.survey_stages]
    for survey_stage in steps.survey_stages:
        survey_stage.expect(faults, survey)
    for label in sorted({name for name in names if names.count(name) > 1}):
        faults.add(label, "is in the recipe more than once", hint="Leave one of them.")
    columns = _encode(faults, stages, survey)
    known: dict[str, Field | None] = dict.fromkeys(map(str, survey.frame.columns))
    known |= columns.fields
    fixed = _fixed_names(survey)
    schema = Schema(known, fixed, fixed)
    used_names = {*fixed, survey.roles.person or PERSON_NAME}
    if survey.roles.household is not None:
        used_names.add(survey.roles.household)
    areas = tuple(name for item in steps.population_stages for name in item.provides)
    schemas = [schema]
    for number, stage in enumerate(stages):
        if number and isinstance(stage, Structure):
            faults.add("recipe", "has Structure twice", hint="Join their variables.")
            schemas.append(schema)
            continue
        later = tuple(name for item in stages[number + 1 :] for name in item.provides)
        stage.check(faults, replace(schema, later=(*later, *areas)))
        _check_revised(faults, stage, stages[:number])
        used_names |= _check_names(faults, stage, used_names)
        schema = after(schema, stage, first=number == 0)
        schemas.append(schema)
    fields = {name: schema.survey.get(name) for name in schema.available}
    check_rules_of_recipe(faults, rules, fields)
    _check_population_stages(faults, steps, schemas, survey, used_names)
    faults.raise_if_any()
    return columns


def _check_places(faults: Faults, recipe: Sequence[Any]) -> None:
    """Note survey stages that are not first and population stages before Structure."""
    for place, step in enumerate(recipe):
        if isinstance(step, SurveyStage):
            before = [item for item in recipe[:place] if not isinstance(item, SurveyStage)]
            if before:
                what = f"comes behind {before[0].label}, but it works on the survey"
                hint = "Put it at the beginning of the recipe, before Structure."
                faults.add(step.label, what, hint=hint)
        elif isinstance(step, PopulationStage) and not any(
            isinstance(item, Structure) for item in recipe[:place]
        ):
            what = "comes before Structure, but it works on whole households"
            hint = "Put it behind the steps whose variables it uses."
            faults.add(step.label, what, hint=hint)


def _check_names(faults: Faults, step: Any, names: set[str]) -> set[str]:
    """Note columns that the population already has; return those that the step makes."""
    for name in step.provides:
        if name in names:
            what = f"makes {name!r}, which the population already has"
            faults.add(step.label, what, hint="Choose another name.")
    return set(step.provides)


def _check_revised(faults: Faults, step: BlockStage, before: Sequence[BlockStage]) -> None:
    """Note columns that cannot be drawn again, and steps that have used what would change."""
    revised = step.revises
    if revised and any(item.label == step.label for item in before):
        faults.add(step.label, "is in the recipe more than once", hint="Give more passes.")
    for name in revised:
        maker = next((item for item in before if name in item.provides), None)
        if maker is not None and not step.can_revise(maker):
            what = f"{name!r} cannot be drawn again: {maker.label} makes it"
            faults.add(step.label, what, hint="Name variables of Categorical.")
        form = None if maker is None else maker.by_household
        if form is not None:
            what = f"{name!r} is a variable of the household: its members would differ"
            if form in GIVEN_MEMBERS:
                what = f"{name!r} is drawn given other members, which another draw forgets"
            faults.add(step.label, what, hint="Leave it out.")
        for item in before:
            if name in item.sources:
                what = f"{item.label} before it has used {name!r}, which would change"
                faults.add(step.label, what, hint=f"Move it before {item.label}.")


def _check_population_stages(
    faults: Faults, steps: Steps, schemas: Sequence[Schema], survey: Survey, names: set[str]
) -> None:
    varying = _varying(steps.stages, survey, schemas[-1])
    strata = survey.roles.strata
    households = survey.roles.household is not None
    areas: tuple[str, ...] = ()
    for number, (step, place) in enumerate(zip(steps.population_stages, steps.places, strict=True)):
        schema = schemas[place]
        levels = known_levels(schema)
        if strata in levels:
            present = survey.frame[strata].astype(object).unique().tolist()
            levels[strata] = tuple(level for level in levels[strata] if level in present)
        later_steps = (*steps.population_stages[number + 1 :], *steps.stages[place:])
        later = tuple(name for item in later_steps for name in item.provides)
        schema_of_step = replace(
            schema,
            survey={**schema.survey, **dict.fromkeys(areas)},
            available=(*schema.available, *areas),
            later=later,
        )
        step.expect(faults, PopulationSchema(schema_of_step, households, varying, strata, levels))
        names |= _check_names(faults, step, names)
        areas += step.provides


def _varying(stages: Sequence[BlockStage], survey: Survey, schema: Schema) -> frozenset[str]:
    """Variables that are known to differ between members of a household of the population.

    `Structure` copies whole households, so that its variables differ there where they differ in
    the survey. Of simulated variables it is known after the simulation only.
    """
    if survey.roles.household is None:
        return frozenset()
    known = [name for name in stages[0].provides if schema.survey.get(name) is not None]
    in_frame = [name for name in known if name in survey.frame.columns]
    return frozenset(name for name in in_frame if survey._differs_within_household(name).any())


def _encode(faults: Faults, stages: Sequence[BlockStage], survey: Survey) -> Columns:
    roles = survey.roles
    names_read = [name for stage in stages for name in stage.uses()]
    names_read += [name for name in (roles.strata, roles.household_size) if name is not None]
    columns = Columns({}, {})
    for name in dict.fromkeys(names_read):
        if n_columns(survey.frame.columns, name) > 1:
            faults.add(name, "several columns have this name", hint="Rename them.")
        elif name in survey.frame.columns:
            try:
                columns.fields[name], columns.arrays[name] = survey.field(name)
            except InputError as problem:
                faults.found.extend(problem.faults)
                continue
            values = columns.arrays[name]
            if values.dtype.kind == "f":
                check_size(faults, values, name)
    return columns


def _fixed_names(survey: Survey) -> tuple[str, ...]:
    """Variables that the population has from the start: stratum and household size."""
    roles = survey.roles
    size = (roles.household_size or SIZE_NAME) if roles.household is not None else None
    return tuple(name for name in (roles.strata, size) if name is not None)


def make_layout(survey: Survey, columns: Columns) -> IdColumns:
    """Return the fields of ids, stratum and household size."""
    roles, int32 = survey.roles, np.dtype(np.int32)
    household = size = strata = None
    largest = int(survey.household_sizes.max())
    if roles.household is not None:
        household = Field(roles.household, "numeric", int32, original="int64")
        if roles.household_size is not None:
            size = columns.fields[roles.household_size]
        else:
            size = Field(SIZE_NAME, "numeric", smallest_int(largest + 1), original="int64")
    if roles.strata is not None:
        strata = columns.fields[roles.strata]
        if strata.kind == "numeric":
            levels = tuple(np.unique(columns.arrays[roles.strata]).tolist())
            strata = replace(Field.categorical(strata.name, levels), original=strata.original)
    person = Field(roles.person or PERSON_NAME, "numeric", smallest_int(largest + 1))
    return IdColumns(household, strata, size, replace(person, original="int64"))


def make_sample(survey: Survey, columns: Columns, layout: IdColumns) -> Sample:
    """Return the survey as coded columns with the members of a household side by side."""
    order = survey.household_order
    arrays = {name: values[order] for name, values in columns.arrays.items()}
    fields = dict(columns.fields)
    strata, levels = np.zeros(survey.n_persons, dtype=np.int64), (ALL,)
    if layout.strata is not None:
        name, levels = layout.strata.name, layout.strata.levels
        codes = arrays[name]
        if fields[name].kind == "numeric":
            codes = np.searchsorted(np.asarray(levels), codes)
        fields[name] = layout.strata
        arrays[name] = codes.astype(layout.strata.dtype)
        strata = codes.astype(np.int64)
    if layout.size is not None and layout.size.name not in arrays:
        sizes = survey.household_sizes
        fields[layout.size.name] = layout.size
        arrays[layout.size.name] = np.repeat(sizes, sizes).astype(layout.size.dtype)
    fixed = _fixed_names(survey)
    return Sample(
        columns=arrays,
        fields=fields,
        weights=survey.weights[order],
        strata=strata,
        strata_levels=levels,
        offsets=survey.household_offsets,
        household_weights=survey.household_weights,
        rows=order,
        available=fixed,
        basic=fixed,
        strata_name=None if layout.strata is None else layout.strata.name,
        units=unit_of_households(survey),
    )


def extended(sample: Sample, stage: BlockStage, model: Any, first: bool) -> Sample:
    """Return the sample with the columns that the population has after this stage."""
    observed = stage.observed(model, sample)
    fields = {f.name: f for f in model.fields if f.name in observed}
    sample = sample.with_columns(fields, observed)
    rules = stage.structural_zeros
    if rules:
        new = dict.fromkeys(stage.provides, rules)
        sample = replace(sample, rules={**sample.rules, **new})
    return replace(sample, basic=sample.available) if first else sample


def storable(data: Any) -> Survey:
    """Return a survey, or a file with the roles of one, with levels that a population can hold.

    Anything else is returned as it is: a fault, which the check of the recipe notes.
    """
    survey: Survey = as_survey(data)
    return survey.storable() if isinstance(survey, Survey) else survey
