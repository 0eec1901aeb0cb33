"""How close a population is to the survey it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthpop.evaluation import shares, values
from synthpop.evaluation.distances import (
    effective_size,
    expected_total_variation,
    total_variation,
)
from synthpop.evaluation.propensity import propensity_table
from synthpop.evaluation.quantiles import population_quantiles
from synthpop.evaluation.request import Request, make_request
from synthpop.evaluation.shares import Sides
from synthpop.evaluation.tabulate import ALL, Counts, count, numbers_of
from synthpop.microdata.results import Result
from synthpop.microdata.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synthpop.microdata.survey import Survey


@dataclass(frozen=True, slots=True, eq=False)
class FitReport(Result):
    """A population beside the weighted sample it was made from.

    Attributes
    ----------
    distances : DataFrame
        One row a comparison: `measure` ("tvd" total variation, "ks" Kolmogorov-Smirnov),
        `variable`, `crossed` (the second variable of a two-way table, else ""), `scope` ("all",
        "households", "mean over <group>", "largest over <group>"), `value`, `floor` (what
        independent draws of this many persons differ by chance), `noise` (what a simple random
        survey of the effective size differs from its country by chance) and `where` (the group
        with the largest distance).
    tables : dict of DataFrame
        ``sizes`` households by stratum and size (also ``households_by_size`` and
        ``households_by_stratum``), ``one_way`` shares of levels, ``by_stratum``
        shares inside strata, ``two_way`` shares of crossed levels, ``statistics`` and
        ``quantiles`` of numbers, ``groups`` numbers by group, ``tvd_by_stratum``, ``boxes``,
        ``curves``, ``components``, ``components_by``, ``sums``, ``association``, ``conditional``
        (distances of a variable inside the levels of another: mean weighted with their shares, and
        the largest), ``propensity`` (one row). ``n_sample`` columns count sample persons,
        unweighted.
    n_sample, n_population : int
    effective_size : float
        Effective size of the sample, (sum w)^2 / sum w^2.
    scale : float
        Persons of the population for one unit of weight.
    strata, size : str or None
        Columns of strata and household size.
    by : tuple of str
        Variables that numbers are compared by, those that explain most of them first.
    components : dict of tuple of str
        Total -> its parts.
    """

    distances: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    n_sample: int
    n_population: int
    effective_size: float
    scale: float
    strata: str | None
    size: str | None
    by: tuple[str, ...]
    components: Mapping[str, tuple[str, ...]]

    def to_frame(self) -> pd.DataFrame:
        """Return the table of distances."""
        return self.distances

    @property
    def tvd(self) -> pd.Series:
        """Total variation distance of each categorical variable over all persons."""
        return self._overall("tvd")

    @property
    def ks(self) -> pd.Series:
        """Kolmogorov-Smirnov distance of each number over all persons."""
        return self._overall("ks")

    @property
    def quantile_errors(self) -> pd.DataFrame:
        """Relative error of quantiles: variables in rows, shares p in columns.

        NaN where the quantile of the sample is 0.
        """
        return self.tables["quantiles"].pivot(index="variable", columns="p", values="relative")

    @property
    def standardised_pmse(self) -> float:
        """Propensity distance of all variables: 1 where only chance tells the sides apart.

        Standardised pMSE of Snoke and others (2018), doi:10.1111/rssa.12358, of a part of the
        population as large as the sample; NaN where nothing is compared.
        """
        table = self.tables["propensity"]
        return float(table["standardised"].iloc[0]) if len(table) else float("nan")

    def _overall(self, measure: str) -> pd.Series:
        table = self.distances
        mine = (table["measure"] == measure) & (table["crossed"] == "") & (table["scope"] == "all")
        return table[mine].set_index("variable")["value"]

    def figures(self) -> dict[str, Figure]:
        """Return all pictures by name, with titles; they are drawn from the tables.

        Save one for print as ``fit.figures()["distances"].savefig("distances.pdf")``.
        """
        from synthpop.figures.gallery import draw_all, with_titles
        from synthpop.figures.style import Names

        return with_titles(draw_all(self), Names())

    def summary(self) -> str:
        """Say how close the population is, in sentences."""
        lines = [
            f"{plural(self.n_population, 'person')} of the population beside {self.n_sample:,} of "
            f"the sample (effective size {self.effective_size:,.0f})."
        ]
        single = self.distances[(self.distances["crossed"] == "")]
        for measure, told in (("tvd", _TVD), ("ks", _KS)):
            mine = single[(single["measure"] == measure) & (single["scope"] == "all")]
            if len(mine):
                worst = mine.iloc[int(mine["value"].to_numpy().argmax())]
                lines.append(
                    told.format(name=worst["variable"], value=worst["value"])
                    + f" Independent draws differ by {worst['floor']:.2%} by chance; a survey of "
                    f"this size differs from its country by about {worst['noise']:.2%}."
                )
        found = self.tables["propensity"]
        if len(found):
            lines.append(_PMSE.format_map({str(k): v for k, v in found.iloc[0].items()}))
        return "\n".join(lines)


_PMSE = (
    "Propensity distance: a logistic model of {variables} variables ({coefficients} coefficients) "
    "tells persons of the population from those of the sample {standardised:.2f} times as well as "
    "it would by chance (standardised pMSE of Snoke and others, 2018: about 1 is the best)."
)
_TVD = (
    "Total variation distance: at most {value:.2%} ({name}) of the persons would have to change "
    "category for the shares of a variable to be those of the weighted sample."
)
_KS = (
    "Kolmogorov-Smirnov distance: the share of persons below any value differs by at most "
    "{value:.2%} ({name})."
)


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
        In memory or on disk; it is read block by block, twice where numbers are compared, and
        once more for the propensity distance. A
        DataFrame is any other population with one row a person.
    variables : list of str, optional
        What to compare; default everything that both have, ids and weights left out. Numbers with
        at most 20 distinct whole values are compared as categories. Variables that the recipe
        derived are derived in the sample too.
    by : list of str, optional
        Groups inside which numbers are compared; default the strata and every categorical
        variable with at most 20 levels. A number is cut into weighted fifths of the sample, zero
        apart.
    components : dict, optional
        Total -> list of its parts; default those of the recipe.

    Returns
    -------
    FitReport

    Raises
    ------
    InputError
        Lists everything that the survey and the population do not share.

    Notes
    -----
    No randomness; the same result for any size of block. Missing values of a categorical variable
    are a level; of a number they are left out, and their share is compared. **Exactness**: counts,
    means, standard deviations, quantiles and Kolmogorov-Smirnov distances are exact: the
    population is counted at and between the distinct values of the sample, and a second pass
    collects the few values between which a quantile lies (a sample with more than 20,000 distinct
    values is thinned to as many quantiles, which moves a distance by at most 1/20,000). The Gini
    coefficient of the population takes the Lorenz curve as straight between these points. Memory
    does not grow with the population but for those few values.

    The propensity distance takes every k-th person of the population, 100,000 or as many as the
    sample has, the larger; main effects of the categorical variables with at most 60 levels, and
    of numbers (but parts of a total) in classes, are told apart by a weighted logistic regression.

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


def _compare(request: Request) -> FitReport:
    plan, weights = request.plan, request.survey.weights
    columns = plan.source_columns()
    frame = request.frame[columns]
    sample = count(plan, [(frame, weights)])
    rows = count(plan, [(frame, None)])
    counted = count(plan, ((part, None) for part in request.source.chunks(columns)))
    codes = request.codes()
    effective_by = {
        by: np.array([effective_size(weights[codes[by] == g]) for g in range(factor.n_codes)])
        for by, factor in plan.factors.items()
    }
    scale = request.source.scale
    if scale is None:
        scale = counted.n / float(weights.sum())
    sides = Sides(plan, sample, rows, counted, request.effective, effective_by, scale)
    return _report(request, sides, codes)


def _report(request: Request, sides: Sides, codes: Mapping[str, np.ndarray]) -> FitReport:
    plan, weights, strata = request.plan, request.survey.weights, request.strata
    numbers = {name: numbers_of(request.frame[name]) for name in plan.grids}
    parts = {part for group in request.components.values() for part in group}
    wanted = {
        name: {ALL: values.PROBS, **({} if name in parts else dict.fromkeys(plan.by, values.BOX))}
        for name in plan.grids
    }
    sizes = {name: factor.n_codes for name, factor in plan.factors.items()}
    of_sample = values.sample_quantiles(numbers, codes, weights, wanted, sizes)
    of_population = population_quantiles(plan, sides.population, wanted, request.source.chunks)
    groups = _concat([values.by_group(sides, name, by) for name in plan.grids for by in plan.by])
    pairs = [pair for pair in plan.pairs if set(pair) <= set(request.names)]
    distances = shares.share_distances(sides, request.names, pairs, strata)
    size_table, size_row = _household_sizes(request, sides)
    distances += size_row + values.ks_distances(sides, groups)
    tables = {
        "sizes": size_table,
        "households_by_size": _margin(size_table, "size"),
        "households_by_stratum": _margin(size_table, "stratum"),
        "one_way": shares.one_way(sides, request.names),
        "two_way": shares.two_way(sides, pairs),
        "by_stratum": shares.within(sides, strata, request.names) if strata else pd.DataFrame(),
        "tvd_by_stratum": _tvd_by_stratum(sides, request),
        "statistics": values.statistics(sides, list(plan.grids), numbers, weights),
        "quantiles": values.quantile_table(sides, of_sample, of_population),
        "groups": groups,
        "boxes": _boxes(sides, wanted, of_sample, of_population),
        "curves": _curves(sides, request, parts, of_sample),
        "components": _components(request, sides, [ALL]),
        "components_by": _components(request, sides, plan.by),
        "sums": _sums(request, sides),
        "association": _association(sides),
        "conditional": shares.conditional(sides, pairs),
        "propensity": propensity_table(request, round(sides.population.n)),
    }
    return FitReport(
        distances=pd.DataFrame(distances, columns=shares.ORDER),
        tables=tables,
        n_sample=request.survey.n_persons,
        n_population=int(sides.population.n),
        effective_size=sides.effective,
        scale=sides.scale,
        strata=strata,
        size=request.size,
        by=plan.by,
        components=dict(request.components),
    )


def _concat(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    parts = [part for part in parts if len(part)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_ALWAYS)


_ALWAYS = [
    "variable",
    "by",
    "level",
    "total",
    "part",
    "n_sample",
    "value",
    "floor",
    "noise",
]  # also in tables without rows


def _household_sizes(request: Request, sides: Sides) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Households by stratum and size: estimated from the household weights, and counted."""
    survey, size, strata = request.survey, request.size, request.strata
    if size is None:
        return pd.DataFrame(), []
    plan, first = sides.plan, survey.household_order[survey.household_offsets[:-1]]
    groups = plan.factors[strata].labels if strata else ("all",)
    size_codes = plan.factors[size].code(request.frame[size])[first]
    group_codes = np.zeros(len(first), dtype=np.int64)
    persons = sides.population.single[size][None, :]
    if strata is not None:
        group_codes = plan.factors[strata].code(request.frame[strata])[first]
        persons = shares.side_pair(sides.population, strata, size)
    labels = plan.factors[size].labels
    cell = group_codes * len(labels) + size_codes
    estimate = np.bincount(cell, survey.household_weights, minlength=persons.size) * sides.scale
    rows = np.bincount(cell, minlength=persons.size)
    members = np.array([_number(level) for level in labels])
    households = (persons / members).ravel()
    table = pd.DataFrame(
        {
            "stratum": np.repeat(np.array(groups, dtype=object), len(labels)),
            "size": np.tile(np.array(labels, dtype=object), len(groups)),
            "members": np.tile(members, len(groups)),
            "estimate": estimate,
            "population": np.nan_to_num(households),
            "n_sample": rows,
        }
    )
    table = table[(table["estimate"] > 0) | (table["population"] > 0)].reset_index(drop=True)
    q = shares.shares(table["estimate"].to_numpy())
    p = table["population"].to_numpy()
    row = {
        "measure": "tvd",
        "variable": size,
        "crossed": strata or "",
        "scope": "households",
        "value": total_variation(shares.shares(p), q),
        "floor": expected_total_variation(q, float(p.sum())),
        "noise": expected_total_variation(q, effective_size(survey.household_weights)),
        "where": "",
    }
    return table, [row]


def _margin(sizes: pd.DataFrame, column: str) -> pd.DataFrame:
    if sizes.empty:
        return pd.DataFrame()
    sums = ["estimate", "population", "n_sample"]
    table = sizes.groupby([column], sort=False)[sums].sum().reset_index()
    if column == "size":
        members = table["size"].map(sizes.groupby("size")["members"].first())
        table = table.iloc[np.argsort(members.to_numpy(), kind="stable")]
    return table.reset_index(drop=True)


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return float("nan")


def _tvd_by_stratum(sides: Sides, request: Request) -> pd.DataFrame:
    strata = request.strata
    if strata is None:
        return pd.DataFrame()
    names = [name for name in request.names if name != strata]
    return _concat([shares.tvd_by_level(sides, name, strata) for name in names])


def _boxes(
    sides: Sides,
    wanted: Mapping[str, Mapping[str, Sequence[float]]],
    sample: values.Quantiles,
    population: values.Quantiles,
) -> pd.DataFrame:
    return _concat(
        [
            values.boxes(sides, name, by, sample, population)
            for name, groupings in wanted.items()
            for by in groupings
            if by != ALL
        ]
    )


def _curves(
    sides: Sides, request: Request, parts: set[str], sample: values.Quantiles
) -> pd.DataFrame:
    tables = []
    for name in sides.plan.grids:
        low, high = sample[name, ALL][0][[0, -1]]
        if not np.isfinite(low):
            continue
        if name in parts:  # mostly zeros: show the part that is not
            held = sides.sample.numbers[name]
            low, high = min(low, 0.0), max(high, _share_of_largest(held.high))
        ends = _rounded(low, high)
        tables += [
            values.curve(sides, name, by, ends)
            for by in (ALL, *(() if name in parts else sides.plan.by))
        ]
    return _concat(tables)


def _share_of_largest(high: float) -> float:
    return high / 2 if np.isfinite(high) else 0.0


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Round outwards to two digits, so that axis ends are no values of the data."""
    reach = max(abs(low), abs(high), 1e-12)
    step = 10.0 ** (np.floor(np.log10(reach)) - 1)
    a, b = np.floor(low / step) * step, np.ceil(high / step) * step
    return (float(a), float(b)) if a < b else (float(a), float(a + step))


def _components(request: Request, sides: Sides, groupings: Sequence[str]) -> pd.DataFrame:
    """Totals of parts, and their share of the sum of the absolute values of the total."""
    tables = []
    for total, parts in request.components.items():
        for by in groupings:
            labels = ("all",) if by == ALL else sides.plan.factors[by].labels
            q0, p0 = (
                values.moments(side, sides, total, by)["absolute"]
                for side in (sides.sample, sides.population)
            )
            n_rows = values.moments(sides.rows, sides, total, by)["n"]
            for part in (*parts, total):
                q, p = (
                    values.moments(side, sides, part, by)["total"]
                    for side in (sides.sample, sides.population)
                )
                users = _users(sides.rows, sides, part, by)
                table = {
                    "total": total,
                    "part": part,
                    "by": by,
                    "level": labels,
                    "sample": q * sides.scale,
                    "population": p,
                    "sample_share": q / q0.where(q0 > 0),
                    "population_share": p / p0.where(p0 > 0),
                    "n_sample": n_rows.astype(np.int64),
                    "n_with_value": users,
                }
                tables.append(pd.DataFrame(table)[(q0 > 0) | (p0 > 0)])
    return _concat(tables)


def _users(counts: Counts, sides: Sides, name: str, by: str) -> np.ndarray:
    """Return how many sample persons have a value other than zero."""
    cells = counts.numbers[name].cells[by]
    with_value = cells.sum(axis=1) - cells[:, sides.plan.grids[name].zero_cell]
    return with_value.astype(np.int64)


def _sums(request: Request, sides: Sides) -> pd.DataFrame:
    rows = [
        {
            "total": total,
            "sample": sides.sample.largest_gap[total],
            "population": sides.population.largest_gap[total],
        }
        for total in request.components
    ]
    return pd.DataFrame(rows, columns=["total", "sample", "population"])


def _association(sides: Sides) -> pd.DataFrame:
    """Share of the variance of each number between the groups of each factor."""
    rows: list[dict[str, Any]] = []
    for name, centre in sides.plan.centres.items():
        for by in sides.plan.by:
            q, p = (
                values.eta_squared(side, centre, name, by)
                for side in (sides.sample, sides.population)
            )
            rows.append({"variable": name, "by": by, "sample": q, "population": p})
    return pd.DataFrame(rows, columns=["variable", "by", "sample", "population"])
