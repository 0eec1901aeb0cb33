"""Comparisons that need whole households: of members, of sums, and by a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from synthpop.evaluation import classifier, detector
from synthpop.evaluation.factors import Factor, make_classes
from synthpop.evaluation.household_rows import HouseholdRows, rows_of_population, rows_of_survey
from synthpop.evaluation.households import COLUMNS, HouseholdPair, household_distances
from synthpop.evaluation.request import MOST_GROUPS, FitRequest
from synthpop.evaluation.source import every_kth
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.reading.columns import ColumnReader
from synthpop.microdata.reading.households import relation_column
from synthpop.microdata.statistics.distances import effective_size
from synthpop.profile.profile import profile_survey

MOST_COUNTED_LEVELS = 12
MOST_PERSONS = 100_000
SUM_TOLERANCE = 1e-6
SUMS_COLUMNS = ["total", "sample", "population", "sample_share_off", "population_share_off"]


def household_tables(request: FitRequest) -> dict[str, pd.DataFrame]:
    """Return the tables ``households``, ``classifier``, ``detector`` and ``sums_off``.

    At most 50,000 households of the population (or as many as the sample has) are read, evenly
    spaced in its order; no randomness.
    """
    sample, population = _sides(request)
    numbers = request.main_numbers
    known = _age_and_relation(request)
    result = {
        "households": pd.DataFrame(columns=COLUMNS),
        "classifier": _classifier(request, sample, population, numbers),
        "sums_off": _sums_off(request, sample, population),
        "detector": _detector(request, sample, population, *known),
    }
    if request.survey.roles.household is not None and len(population.sizes):
        result["households"] = household_distances(
            _pair(request, sample, population, numbers, *known)
        )
    return result


def _detector(
    request: FitRequest,
    sample: HouseholdRows,
    population: HouseholdRows,
    age: str | None,
    relation: str | None,
) -> pd.DataFrame:
    """Return all comparisons of the detector; not of what the recipe derived."""
    derived = {stage["name"] for stage in request.source.recipe if stage["type"] == "derive"}
    names = [*request.categories(), *request.plan.grids]
    columns = [n for n in dict.fromkeys(names) if n != request.size and n not in derived]
    if not columns or not len(population.sizes):
        return pd.DataFrame(columns=detector.COLUMNS)
    return detector.detect(
        sample, population, columns,
        age=age if age in request.plan.grids else None,
        relation=relation,
        strata=request.strata if request.strata in columns else None,
        totals=request.components or _sums_of_survey(request, columns),
    )  # fmt: skip


def _sums_of_survey(request: FitRequest, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the totals that add up in the survey, where no recipe says which do."""
    if request.source.recipe:
        return {}
    known = request.survey.roles.named()
    names = dict.fromkeys([*known.values(), *columns])
    frame = request.survey.frame
    found = profile_survey(frame[[name for name in names if name in frame.columns]], known=known)
    return {t: p for t, p in found.totals.items() if {t, *p} <= set(columns)}


def _sides(request: FitRequest) -> tuple[HouseholdRows, HouseholdRows]:
    """Return both sides; without households every person stands alone."""
    survey, columns = request.survey, request.plan.source_columns()
    household = survey.roles.household
    if household is not None:
        population = rows_of_population(request.source, columns, household, survey.n_households)
        if population is not None:
            return rows_of_survey(survey, request.frame, columns), population
    most = max(survey.n_persons, MOST_PERSONS)
    frame = every_kth(request.source, columns, min(1.0, most / max(len(request.source.data), 1)))
    sample = _persons(request.frame[columns].reset_index(drop=True), survey.weights)
    return sample, _persons(frame, np.ones(len(frame)))


def _persons(frame: pd.DataFrame, weights: np.ndarray) -> HouseholdRows:
    n = len(frame)
    return HouseholdRows(frame, np.arange(n), np.ones(n, dtype=np.int64), weights, weights)


def _categories(request: FitRequest, most_levels: int) -> dict[str, Factor]:
    """Factors that are compared as variables; not household size and strata, equal by design."""
    factors = request.categories(most_levels)
    return {n: f for n, f in factors.items() if n not in (request.size, request.strata)}


def _pair(
    request: FitRequest,
    sample: HouseholdRows,
    population: HouseholdRows,
    numbers: tuple[str, ...],
    age: str | None,
    relation: str | None,
) -> HouseholdPair:
    factors = _categories(request, MOST_GROUPS)
    weights = request.survey.weights
    classes = {name: make_classes(request.frame[name], weights) for name in numbers}
    return HouseholdPair(
        sample,
        population,
        {**factors, **classes},
        tuple(factors),
        tuple(name for name in numbers if name != age),
        age if age in numbers else None,
        relation if relation in factors else None,
    )


def _age_and_relation(request: FitRequest) -> tuple[str | None, str | None]:
    """Return the ages in years and the relation, whatever their names are.

    They are recognised in the survey as a new run file recognises them.
    """
    roles = request.survey.roles
    known = {"household": roles.household, "weight": roles.weight, "strata": roles.strata}
    named = [name for name in known.values() if name is not None]
    columns = dict.fromkeys([*named, *request.plan.source_columns()])
    frame = request.survey.frame
    reader = ColumnReader(frame[[name for name in columns if name in frame.columns]], known=known)
    age = None if reader.years is None or reader.survey_year is not None else reader.age
    if reader.index is None:
        return age, None
    return age, relation_column(
        frame, [name for name in request.categories() if name in frame.columns], reader.index
    )


def _classifier(
    request: FitRequest, sample: HouseholdRows, population: HouseholdRows, numbers: tuple[str, ...]
) -> pd.DataFrame:
    """Area under the ROC curve for persons and, where there are households, for households."""
    rows: list[dict[str, object]] = []
    factors = request.categories()
    grids = list(request.plan.grids)
    if not (factors or grids) or not len(population.sizes):
        return pd.DataFrame(rows, columns=classifier.COLUMNS)
    s = classifier.thinned(sample, classifier.MOST_PERSONS)
    p = classifier.thinned(population, classifier.MOST_PERSONS)
    features = [_person_features(side, factors, grids) for side in (s, p)]
    auc = classifier.auc_of_groups(features[0], features[1], s.person_weights, s.index, p.index)
    rows.append(_auc_row("persons", auc, s.person_weights, len(p.frame), features[0].shape[1]))
    if request.survey.roles.household is not None and (sample.sizes > 1).any():
        counted = _categories(request, MOST_COUNTED_LEVELS)
        features = [classifier.household_features(side, counted, numbers) for side in (s, p)]
        auc = classifier.auc_of_groups(
            features[0], features[1], s.weights, np.arange(len(s.sizes)), np.arange(len(p.sizes))
        )
        rows.append(_auc_row("households", auc, s.weights, len(p.sizes), features[0].shape[1]))
    return pd.DataFrame(rows, columns=classifier.COLUMNS)


def _person_features(
    side: HouseholdRows, factors: Mapping[str, Factor], grids: list[str]
) -> pd.DataFrame:
    codes = {key: f.code(side.frame[f.name]).astype(float) for key, f in factors.items()}
    return pd.DataFrame({**codes, **{name: as_numbers(side.frame[name]) for name in grids}})


def _auc_row(
    units: str, auc: float, weights: np.ndarray, m: int, variables: int
) -> dict[str, object]:
    """Expected |AUC - 1/2| of two samples of one country: variance (1/n + 1/m) / 12."""
    n = effective_size(weights)
    error = float(np.sqrt(2 / np.pi * (1 / n + 1 / m) / 12))
    return {
        "units": units, "auc": auc, "expected_error": error, "n_sample": len(weights),
        "n_population": m, "variables": variables,
    }  # fmt: skip


def _sums_off(
    request: FitRequest, sample: HouseholdRows, population: HouseholdRows
) -> pd.DataFrame:
    """Share of persons whose parts do not add up to their total."""
    rows = []
    for total, parts in request.components.items():
        gaps = []
        for side in (sample, population):
            parts_sum = np.nansum([as_numbers(side.frame[part]) for part in parts], axis=0)
            gap = np.abs(parts_sum - as_numbers(side.frame[total]))
            gaps.append(np.where(np.isnan(gap), 0.0, gap))
        scale = max(1.0, float(np.nanmax(np.abs(as_numbers(sample.frame[total])), initial=1.0)))
        limit = max(1.5 * float(np.quantile(gaps[0], 0.999)), SUM_TOLERANCE * scale)
        off = [
            float(np.average(gap > limit, weights=side.person_weights)) if len(gap) else 0.0
            for gap, side in zip(gaps, (sample, population), strict=True)
        ]
        rows.append([total, *(float(g.max(initial=0.0)) for g in gaps), *off])
    return pd.DataFrame(rows, columns=SUMS_COLUMNS)
