"""How close a population is to the survey it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation import shares, tables, values
from synthpop.evaluation.design_effect import design_ratios, quantile_classes
from synthpop.evaluation.household_tables import household_tables
from synthpop.evaluation.propensity import propensity_table
from synthpop.evaluation.quantiles import population_quantiles
from synthpop.evaluation.request import FitRequest, make_request
from synthpop.evaluation.result import FitReport
from synthpop.evaluation.shares import ShareTables
from synthpop.evaluation.tabulate import ALL, count, count_population
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.distances import effective_size


@same_library
def assess_fit(
    survey: Survey,
    population: Any,
    *,
    variables: Sequence[str] | None = None,
    by: Sequence[str] | None = None,
    components: Mapping[str, Sequence[str]] | None = None,
) -> FitReport:
    """Compare a population with the weighted sample it was made from.

    Parameters
    ----------
    survey : Survey
    population : Population or DataFrame
        In memory or on disk; it is read block by block, up to four times: for the counts, for
        quantiles, for the propensity distance and for the households. A DataFrame is any other
        population with one row per person; its households are compared where it has the column of
        the survey's household numbers.
    variables : list of str, optional
        What to compare; default everything that both have, ids and weights left out. Numbers with
        at most 20 distinct whole values are compared as categories. Variables that the recipe
        derived are derived in the sample too.
    by : list of str, optional
        Groups inside which numbers are compared; default the strata and every categorical
        variable with at most 20 levels. A number is cut into weighted fifths of the sample, zero
        apart.
    components : dict, optional
        Total -> list of its parts; default those of the recipe. Of a table the detector alone takes
        those that add up in the survey.

    Returns
    -------
    FitReport

    Raises
    ------
    InputError
        Lists everything that the survey and the population do not share.

    Notes
    -----
    Expected sampling errors are those of the design where the survey names primary sampling units
    or design strata (`psu`, `design_strata`); otherwise those of a simple random sample of the
    effective size of Kish.

    No randomness; the same result for any size of block. Missing values of a categorical variable
    are a level; of a number they are left out, and their share is compared. **Exactness**: counts,
    means, standard deviations, quantiles and Kolmogorov-Smirnov distances are exact: the
    population is counted at and between the distinct values of the sample, and a second pass
    collects the few values between which a quantile lies (a sample with more than 20,000 distinct
    values is thinned to as many quantiles, which moves a distance by at most 1/20,000). The Gini
    coefficient of the population takes the Lorenz curve as straight between these points. Memory
    does not grow with the population but for those few values.

    The **propensity distance** takes every k-th person of the population, 100,000 or as many as
    the sample has, the larger: a weighted logistic regression with the main effects of the
    categorical variables with at most 60 levels, and of numbers (but parts of a total) in classes.
    It is blind to associations. The **classifier** is not: boosted trees learn from one half of
    the households to tell 6,000 persons of each side apart, and are judged on the other half.

    **Households** (50,000 of the population at most, evenly spaced): the levels of two members of
    a household crossed, their agreement and correlation; how many members have each level, a value
    other than zero, or are below 16; household sums with their Gini coefficient and poverty rate;
    age gaps. Age and relation are known by their names (`synthpop.microdata.frame.names`).

    Definitions: total variation distance 0.5 sum |p - q| over the cells; its floor
    0.5 sum sqrt(2 q (1 - q) / (pi N)); KS = sup |F_P - F_S| with weights; quantile p is the first
    sorted value whose cumulated share of weight is at least p; see ``docs/methods/assess-fit.md``.

    Examples
    --------
    >>> from synthpop import Pipeline, Structure, Survey
    >>> data = pd.DataFrame({"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "sex": ["f", "m", "f"]})
    >>> survey = Survey(data, weight="w", household="hid")
    >>> population = Pipeline([Structure(["sex"])]).fit(survey, seed=1).simulate()
    >>> assess_fit(survey, population).tvd.round(3).to_dict()
    {'hsize': 0.0, 'sex': 0.0}
    """
    request = make_request(survey, population, variables, by, components)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values are counted, not averaged
        return _compare(request)


def _compare(request: FitRequest) -> FitReport:
    plan, weights = request.plan, request.survey.weights
    columns = plan.source_columns()
    frame = request.frame[columns]
    sample = count(plan, [(frame, weights)])
    rows = count(plan, [(frame, None)])
    counted = count_population(plan, request.source)
    codes = request.codes()
    effective_by = {
        by: np.array([effective_size(weights[codes[by] == g]) for g in range(factor.n_codes)])
        for by, factor in plan.factors.items()
    }
    scale = request.source.scale
    if scale is None:
        scale = counted.n / float(weights.sum())
    design = {**codes, **{name: quantile_classes(request.frame[name]) for name in plan.grids}}
    ratios = design_ratios(request.survey, design, plan.pairs)
    sides = ShareTables(plan, sample, rows, counted, request.effective, effective_by, scale, ratios)
    return _report(request, sides, codes)


def _report(request: FitRequest, sides: ShareTables, codes: Mapping[str, np.ndarray]) -> FitReport:
    plan, weights, strata = request.plan, request.survey.weights, request.strata
    numbers = {name: as_numbers(request.frame[name]) for name in plan.grids}
    parts = request.parts
    probs_by_group = {
        name: {ALL: values.PROBS, **({} if name in parts else dict.fromkeys(plan.by, values.BOX))}
        for name in plan.grids
    }
    sizes = {name: factor.n_codes for name, factor in plan.factors.items()}
    of_sample = values.sample_quantiles(numbers, codes, weights, probs_by_group, sizes)
    of_population = population_quantiles(plan, sides.population, probs_by_group, request.source)
    of_groups = {
        (name, by): values.by_group(sides, name, by) for name in plan.grids for by in plan.by
    }
    pairs = [pair for pair in plan.pairs if set(pair) <= set(request.names)]
    distances = shares.share_distances(sides, request.names, pairs, strata)
    size_table, size_row = tables.household_sizes(request, sides)
    of_households = household_tables(request)
    distances += size_row + values.ks_distances(sides, of_groups)
    distances += shares.household_rows(of_households["households"])
    results = {
        "sizes": size_table,
        "households_by_size": tables.margin(size_table, "size"),
        "households_by_stratum": tables.margin(size_table, "stratum"),
        "one_way": shares.one_way(sides, request.names),
        "two_way": shares.two_way(sides, pairs),
        "by_stratum": shares.within(sides, strata, request.names) if strata else pd.DataFrame(),
        "tvd_by_stratum": tables.tvd_by_stratum(sides, request),
        "statistics": values.statistics(sides, list(plan.grids), numbers, weights),
        "quantiles": values.quantile_table(sides, of_sample, of_population),
        "groups": tables.joined(list(of_groups.values())),
        "safe": values.safe_numbers(plan, numbers, codes, weights),
        "boxes": tables.boxes(sides, probs_by_group, of_sample, of_population),
        "curves": tables.curves(sides, request, parts, of_sample),
        "components": tables.components(request, sides, [ALL]),
        "components_by": tables.components(request, sides, plan.by),
        "sums": tables.sums(sides, of_households["sums_off"]),
        "association": tables.association(sides),
        "conditional": shares.conditional(sides, pairs),
        "propensity": propensity_table(request, round(sides.population.n)),
        "households": of_households["households"],
        "classifier": of_households["classifier"],
        "detector": of_households["detector"],
    }
    return FitReport(
        distances=pd.DataFrame(distances, columns=shares.ORDER),
        tables=results,
        n_sample=request.survey.n_persons,
        n_population=int(sides.population.n),
        effective_size=sides.effective,
        scale=sides.scale,
        strata=strata,
        size=request.size,
        by=plan.by,
        components=dict(request.components),
    )


__all__ = ["FitReport", "assess_fit"]
