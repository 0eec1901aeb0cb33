"""Known totals as one step: calibrate the survey coarsely, exchange households to meet them.

Fine calibration of the weights of a small survey gives few households very large weights, and a
population of their copies. So the weights meet coarse tables only, in whose cells the survey has
enough persons, and the fine tables are met by exchanging households of the whole population, before
the steps that draw amounts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.dataset import restore_column
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import formatted, number
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.population.manifest import SurveyStepRecord
from synthpop.stages.annealing import Anneal
from synthpop.stages.derive import Derive
from synthpop.stages.recipe import extended
from synthpop.stages.structure import Structure

SMALLEST_CELL = 25  # survey persons (households) in each cell of a table for the weights
NAME = "known_totals"  # of the record
FittedT = TypeVar("FittedT", bound=FittedRecipe)
ROUNDING = 0.5  # persons or households
ALIKE = 1.25  # sizes of populations that differ by no larger factor may be those of one


def with_annealing(
    recipe: Sequence[Any], margins: Sequence[Margin], strata: str | None
) -> tuple[Any, ...]:
    """Return the recipe with a step that meets the totals, behind the last variable they name.

    Raises InputError: the recipe has such a step already.
    """
    if any(isinstance(step, Anneal) for step in recipe):
        what = "are given, and the recipe has a step Anneal"
        hint = "Give the totals in one of the two places."
        raise InputError.of("recipe", "known_totals", what, hint)
    named = {name for margin in margins for name in (*margin.columns, margin.variable) if name}
    split = strata if strata and all(strata in margin.columns for margin in margins) else None
    makers = [k for k, step in enumerate(recipe) if named & set(step.provides)]
    structure = [k for k, step in enumerate(recipe) if isinstance(step, Structure)]
    position = 1 + max([*makers, *structure], default=-1)
    step = Anneal(margins, split=split, split_upper=None if split is None else "all")
    return (*recipe[:position], step, *recipe[position:])


def calibrate_coarsely(
    survey: Survey, sample: Sample, stages: Sequence[Any], margins: Sequence[Margin]
) -> tuple[Survey, SurveyStepRecord]:
    """Return the survey with weights that meet coarse tables of the known totals.

    sample: the same persons, coded
    stages: columns that their `Derive` steps make are computed first
    Returns the survey and a record for the manifest: ``calibrated`` (the tables), the design effect
        of unequal weights before and after, ``size`` (totals in units of those that the weights of
        the survey give) and ``note`` where no weights could be found.
    """
    from synthpop.calibration.calibrate_survey import calibrate

    complete = _with_columns(survey, sample, stages, margins)
    first = np.zeros(survey.n_persons, dtype=bool)
    first[survey.household_order[survey.household_offsets[:-1]]] = True
    known = [margin for margin in margins if set(margin.columns) <= set(complete.frame.columns)]
    coarse = list(coarse_margins(complete.frame, known, survey.roles.strata, first))
    note = "no table has enough survey persons in each cell"
    details: dict[str, object] = {
        "calibrated": [], "design_effect_before": None, "design_effect": None,
        "size": _size(complete, known, first),
    }  # fmt: skip
    while coarse:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = calibrate(complete, coarse)
        except InputError as problem:
            note = message("weights were left unchanged: {reason}", reason=problem.faults[0])
        else:
            if result.converged:
                details["calibrated"] = [margin.label for margin in coarse]
                details["design_effect_before"] = result.start_design_effect
                details["design_effect"], note = result.design_effect, ""
                survey = _with_weights(survey, result.weights)
                break
        coarse = coarse[:-1]  # the tables contradict each other, or the sample cannot meet them
    return survey, SurveyStepRecord(NAME, details={**details, "note": note})


def scales_of(prepared: Sequence[SurveyStepRecord], scale: float) -> tuple[float, float]:
    """Return the scale of the simulation, and the factor on known totals, for a wanted scale.

    Totals of the country are scaled with the population. Totals that have the wanted scale already
    are taken as they are: weights that were calibrated to them give that population at scale 1.

    Raises InputError: the totals are those of neither.
    """
    record = next((one for one in prepared if one.stage == NAME), None)
    if record is None or scale == 1:
        return scale, 1.0
    size = record.details["size"] or 1.0
    if not _alike(size, 1) and _alike(size, scale):
        return (1.0 if record.details["calibrated"] else scale), 1.0
    if size * ALIKE < 1:  # larger ones: weights that do not stand for the country, as those of 1
        what = message(
            "add up to {size} times what the weights of the survey give", size=number(size)
        )
        hint = message(
            "Give totals of the whole country, or those of a population of scale {scale}.",
            scale=formatted(scale, "g"),
        )
        raise InputError.of("simulate", NAME, what, hint)
    return scale, scale


def at_scale(fitted: FittedT, scale: float) -> FittedT:
    """Return a fitted recipe with its known totals, and their record, for a scale.

    Tables of scaled totals are no whole numbers and agree but for rounding: they are met when their
    cells are, on average, within half a unit of what whole numbers can reach.
    """
    records = [one for one in fitted.prepared if one.stage == NAME]
    if not records or scale == 1:
        return fitted
    _, factor = scales_of(records, scale)
    details = {**records[0].details, "scale": scale, "factor": factor}
    prepared = [replace(x, details=details) if x is records[0] else x for x in fitted.prepared]
    stages = [
        _scaled(step, factor) if isinstance(step, Anneal) else step
        for step in fitted.population_stages
    ]
    return replace(fitted, prepared=tuple(prepared), population_stages=tuple(stages))


def _scaled(step: Anneal, factor: float) -> Anneal:
    margins = [one.scaled(factor) for one in margin_list(step.margins)]
    counts = [one.targets for one in margins if one.variable is None]
    whole = all(bool((targets == np.round(targets)).all()) for targets in counts)
    return replace(step, margins=margins, cell_gap=step.cell_gap if whole else ROUNDING)


def _alike(a: float, b: float) -> bool:
    return max(a, b) <= ALIKE * min(a, b)


def _size(survey: Survey, margins: Sequence[Margin], one_of_each: np.ndarray) -> float | None:
    """Return the totals of the tables of counts in units of what the survey's weights give."""
    ratios = []
    for margin in margins:
        rows = one_of_each if margin.level == "household" else np.ones(len(one_of_each), dtype=bool)
        cells = _texts(survey.frame, margin.columns)
        given = survey.weights[rows & cells.isin(_texts(margin.frame, margin.columns))].sum()
        if margin.variable is None and given > 0:
            ratios.append(float(margin.targets.sum() / given))
    return float(np.median(ratios)) if ratios and min(ratios) > 0 else None


def coarse_margins(
    frame: pd.DataFrame, margins: Sequence[Margin], strata: str | None, one_of_each: np.ndarray
) -> Iterator[Margin]:
    """Yield the finest tables in each of whose cells the survey has enough persons.

    Of each table: the table itself, else each variable with the strata, else each variable alone.

    margins: those of counts; sums of a variable are left to the exchange of households
    one_of_each: bool array, shape (n,); one person of each household, for tables of households

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "age": [*range(98), 1, 1]})
    >>> fine = people.groupby(["sex", "age"]).size().rename("total").reset_index()
    >>> [m.label for m in coarse_margins(people, [Margin(fine)], None, np.ones(100, dtype=bool))]
    ['persons by sex']
    """
    labels = set()
    for margin in margins:
        if margin.variable is not None:
            continue
        rows = frame[one_of_each] if margin.level == "household" else frame
        for columns in _groupings(margin, rows, strata):
            key = (margin.level, columns)
            if key not in labels:
                labels.add(key)
                yield _collapsed(margin, columns)


def _groupings(margin: Margin, rows: pd.DataFrame, strata: str | None) -> Iterator[tuple[str, ...]]:
    """Yield the columns of the coarse tables of one margin."""

    def fits(columns: tuple[str, ...]) -> bool:
        return _smallest_cell(_collapsed(margin, columns), rows, columns) >= SMALLEST_CELL

    if fits(margin.columns):
        yield margin.columns
        return
    others = [name for name in margin.columns if name != strata]
    pairs = [(strata, name) for name in others] if strata in margin.columns and strata else []
    fitting = [pair for pair in pairs if len(margin.columns) > 2 and fits(pair)]
    yield from fitting
    covered = {name for pair in fitting for name in pair}
    yield from ((name,) for name in margin.columns if name not in covered and fits((name,)))


def _smallest_cell(margin: Margin, rows: pd.DataFrame, columns: tuple[str, ...]) -> int:
    """Return the number of survey rows in the smallest cell; 0 for cells without a total."""
    cells = _texts(margin.frame, columns)
    if (margin.targets <= 0).any() or cells.duplicated().any():
        return 0
    counts = _texts(rows, columns).value_counts()
    if not counts.index.isin(cells).all():
        return 0  # rows of no cell: the table is not one of everybody
    return int(counts.reindex(cells, fill_value=0).min())


def _texts(frame: pd.DataFrame, columns: tuple[str, ...]) -> pd.Series:
    """Return the cell of each row as one text."""
    values = zip(*(frame[name].astype(object).tolist() for name in columns), strict=True)
    return pd.Series(["|".join(map(level_text, row)) for row in values], dtype=object)


def _collapsed(margin: Margin, columns: tuple[str, ...]) -> Margin:
    frame = margin.frame.assign(**{margin.total: margin.targets})
    summed = frame.groupby(list(columns), observed=True, sort=False)[margin.total].sum()
    return Margin(summed.reset_index(), level=margin.level, total=margin.total)


def _with_columns(
    survey: Survey, sample: Sample, stages: Sequence[Any], margins: Sequence[Margin]
) -> Survey:
    """Return the survey with the columns of the tables that only the population would have."""
    back = np.argsort(survey.household_order, kind="stable")
    names = list(dict.fromkeys(name for margin in margins for name in margin.columns))
    derived = {stage.name: stage for stage in stages if isinstance(stage, Derive)}
    needed = list(names)
    for name in needed:  # grows by what the columns are derived from
        needed += [n for n in derived[name].sources if n not in needed] if name in derived else []
    for name, stage in derived.items():
        if name in needed and set(stage.sources) <= set(sample.columns):
            sample = replace(sample, available=tuple(sample.columns))
            model = stage.fit(sample, Streams(0).at("derive"))
            sample = extended(sample, stage, model, False)
    for name in names:
        if name not in survey.frame.columns and name in sample.columns:
            column = restore_column(sample.fields[name], sample.columns[name][back])
            survey = survey.with_column(name, column)
    return survey


def _with_weights(survey: Survey, weights: np.ndarray) -> Survey:
    """Return the survey with other weights of persons and, with them, of households."""
    alone = survey.with_roles(household_weight=None)
    return alone.with_column(survey.roles.weight, weights)
