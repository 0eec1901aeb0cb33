"""Households of a survey allotted to zones, with known totals at several nested geographies."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin, margin_list
from synthpop.calibration.zone_allotment import allot, persons_of
from synthpop.calibration.zone_problem import texts_of
from synthpop.calibration.zone_solver import WeightLimits
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import (
    ConvergenceWarning,
    Faults,
    InputError,
    MicrodataWarning,
    did_you_mean,
)
from synthpop.microdata.messages.parameters import Between
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams, resolve_seed

ALLOTTED = "zone_household"
COUNT = "count"
SHOWN = 3


@dataclass(frozen=True)
class ZoneHouseholds(Result):
    """How often each household of the survey is put into each zone.

    Attributes
    ----------
    survey : Survey
        One row per person, household and zone with a count above zero: the columns of the survey,
        those of the geography, ``zone_household`` (its household ids) and ``count`` (its weights).
    controls : DataFrame
        One row per known total: margin, cell, level, geography and area (where it is a total of),
        target, balanced (under the fractional weights; missing where none were made), achieved
        (under the counts), gap (achieved - target), relative_gap, band (the gap that is accepted)
        and within (whether it is not exceeded).
    geography : tuple of str
        Columns of the geographies, the largest first; the last is the zone.
    seed : int
    converged : bool
        All totals that had to be met were met by the fractional weights.
    borrowed : dict
        Region of `within` without a household in the survey -> regions whose households it has.
    kept : int, optional
        Of `adjust_zones`: households that stay where they are.
    """

    survey: Survey = field(repr=False)
    controls: pd.DataFrame = field(repr=False)
    geography: tuple[str, ...]
    seed: int
    converged: bool
    borrowed: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)
    kept: int | None = None

    @property
    def zone(self) -> str:
        """Column of the zones."""
        return self.geography[-1]

    def to_frame(self) -> pd.DataFrame:
        """Return the table of known totals (`controls`)."""
        return self.controls

    def persons(self) -> pd.DataFrame:
        """Return the population: every person of every copy of a household, with new ids."""
        frame = self.survey.frame
        copies = frame.loc[frame.index.repeat(frame[COUNT].to_numpy(dtype=np.int64))]
        number_of_copy = copies.groupby(level=0).cumcount().to_numpy()
        copies = copies.drop(columns=COUNT).assign(copy=number_of_copy)
        keys = copies.groupby([ALLOTTED, "copy"], sort=False).ngroup()
        copies = copies.drop(columns="copy").assign(**{ALLOTTED: keys})
        order = np.argsort(keys.to_numpy(), kind="stable")
        return copies.iloc[order].reset_index(drop=True)

    def worst(self, n: int = 5) -> pd.DataFrame:
        """Return the n totals with the largest relative gap."""
        order = np.argsort(-self.controls["relative_gap"].abs().to_numpy(), kind="stable")
        return self.controls.iloc[order[:n]]

    def fit(self, by: str = "margin") -> pd.DataFrame:
        """Return how near the totals of each margin are, as population syntheses are reported.

        by: "margin", or "area" for one row per zone and larger area.
        One row a margin: totals, exact (gap below one half), within_1, within_5, within_10 (shares
        of totals above zero whose relative gap is at most so many percent), largest (gap), srmse
        (root mean squared gap over the mean total; Pritchard and Miller 2012,
        doi:10.1007/s11116-011-9367-4) and r2 (of achieved against target totals).
        """
        return measures_of_fit(self.controls, by)

    def copies(self) -> pd.DataFrame:
        """Return one row a zone: its households, and how many different ones of the survey."""
        households = self.survey.frame.drop_duplicates(ALLOTTED)
        return copies_by_zone(households[self.zone], households[COUNT])

    def conflict(self) -> str:
        """Name the totals that cannot be met together, those that are missed most first."""
        table, nearest = self.controls, "balanced" if self.kept is None else "achieved"
        missed = (table[nearest] - table["target"]).abs()
        order = np.argsort(-(missed / table["target"].clip(lower=1.0)).to_numpy(), kind="stable")
        worst = [
            f"{row.margin}: {row.cell} (target {number(row.target, 6)}, nearest "
            f"{number(row.nearest, 6)})"
            for row in table.assign(nearest=table[nearest]).iloc[order[:3]].itertuples()
        ]
        what = (
            "The weights do not meet all totals: they contradict each other, or more iterations "
            "are needed. The households are the nearest to all of them."
            if self.kept is None
            else "The households do not meet all totals: they contradict each other, or exchanges "
            "of single households come no nearer."
        )
        return (
            f"{what} Missed most: {'; '.join(worst)}. Give an importance to totals that may be "
            "missed."
        )

    def borrowing(self) -> str:
        """Name the regions that the survey has no household of, and whose households they have."""
        pairs = [f"{region} from {', '.join(map(str, o))}" for region, o in self.borrowed.items()]
        more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        return (
            f"The survey has no household of {plural(len(pairs), 'region')}, which borrow them "
            f"from the regions with the most similar totals: {'; '.join(pairs[:SHOWN])}{more}."
        )

    def summary(self) -> str:
        """Return how well the totals are met, in sentences."""
        counts = self.survey.household_weights
        gaps = self.controls["gap"].abs()
        worst = self.worst(1).iloc[0]
        n_zones = self.survey.frame[self.zone].nunique()
        text = (
            f"{count(int(counts.sum()))} households in {plural(n_zones, 'zone')}: of "
            f"{plural(len(gaps), 'known total')} {count(int((gaps < 0.5).sum()))} are met "
            f"exactly and {count(int(self.controls['within'].sum()))} within their bands, the "
            f"largest gap is {number(float(gaps.max()))}. The largest relative gap is at "
            f"{worst['margin']}: {worst['cell']} (target {number(worst['target'], 6)}, achieved "
            f"{number(worst['achieved'], 6)}). Seed {self.seed}."
        )
        if self.kept is not None:
            text += f" {count(self.kept)} households stay where they are."
        if not self.converged:
            text += f" {self.conflict()}"
        if self.borrowed:
            text += f" {self.borrowing()}"
        return text


def measures_of_fit(controls: pd.DataFrame, by: str = "margin") -> pd.DataFrame:
    """Return the measures of `ZoneHouseholds.fit` of a table of known totals."""
    keys = {"margin": ["margin"], "area": ["geography", "area"]}
    if by not in keys:
        raise InputError.of("fit", "by", f"{by!r}", did_you_mean(by, list(keys)))
    rows = []
    for names, part in controls.groupby(keys[by], sort=False, observed=True):
        target, gap = part["target"].to_numpy(), part["gap"].to_numpy()
        relative = np.abs(gap[target > 0]) / target[target > 0]
        spread = float(((target - target.mean()) ** 2).sum())
        shares = {
            f"within_{p}": float((relative <= p / 100).mean()) if len(relative) else np.nan
            for p in (1, 5, 10)
        }
        squared, mean = float((gap**2).sum()), float(target.mean())
        row = {**dict(zip(keys[by], names, strict=True)), "totals": len(part),
               "exact": int((np.abs(gap) < 0.5).sum())}  # fmt: skip
        srmse = np.sqrt(squared / len(part)) / mean if mean else np.nan
        r2 = 1 - squared / spread if spread else np.nan
        rows.append(
            {**row, **shares, "largest": float(np.abs(gap).max()), "srmse": srmse, "r2": r2}
        )
    return pd.DataFrame(rows)


@same_library
def balance_zones(
    survey: Survey,
    geography: Any,
    margins: Margin | Sequence[Margin],
    *,
    within: str | None = None,
    bands: float | Mapping[str, float] = 0.0,
    bounds: tuple[float, float] | WeightLimits | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 1000,
    only: Sequence[Any] | None = None,
    previous: ZoneHouseholds | None = None,
    seed: int | None = None,
) -> ZoneHouseholds:
    """Put households of a survey into zones so that known totals of all geographies are met.

    Parameters
    ----------
    survey : Survey
    geography : DataFrame, one row per zone
        Columns from the largest geography to the zone (country, region, zone): which zone lies
        where.
    margins : Margin or list of Margin
        Known totals; the geographies are columns of their tables like any other (persons by zone
        and sex, households by region and size). A margin without geography is of all zones
        together. With an `importance` a total is balanced against the others where they conflict.
    within : str, optional
        Geography that the survey knows too: households are put only into zones of their own region.
        Default: into every zone.
    bands : float or dict
        Relative gap of a total that is accepted: one for all, or by the name of the margin (others
        0). At least half a unit is accepted, since counts are whole. It changes no weight: the
        table of controls has each band, and whether the gap lies within it.
    bounds : (low, high) or WeightLimits, optional
        Least and largest ratio of the weight of a household in a zone to its start weight there:
        its weight of the survey times the zone's share of the households of its region. Counts are
        within them but for rounding. A `WeightLimits` limits the weights themselves too.
    tolerance : float
        Largest relative gap of the fractional weights to totals that must be met.
    max_iterations : int
        Newton steps at most.
    only : list of zones, optional
        Put households into these zones anew, and keep those of `previous` in the others: totals of
        larger geographies are met by the two together.
    previous : ZoneHouseholds, optional
        Needed with `only`.
    seed : int, optional
        Of the rounding to whole numbers.

    Returns
    -------
    ZoneHouseholds

    Raises
    ------
    InputError
        A zone that lies in two regions, absent columns, households without a zone, and as
        `calibrate`.

    Warns
    -----
    ConvergenceWarning
        Totals that had to be met cannot be met together: the households are the nearest to all of
        them, and the warning names those that are missed most.
    MicrodataWarning
        The survey has no household of some regions, which borrow those of similar ones.

    Notes
    -----
    All geographies are balanced at once: each household has a weight in each zone where it may
    live, the start weights are equal shares of its survey weight, and one Newton iteration on the
    tree of areas meets all totals (`synthpop.calibration.zone_solver`): the entropy that
    PopulationSim minimises level by level (Paul, Doyle, Stabler, Freedman and Bettinardi 2018,
    Transportation Research Record). Weights are then rounded zone by zone, and households exchanged
    until the totals of the zone, and what larger areas are still short of, are as near as they can
    be. Randomness: one stream a zone, and one for which of equal households is copied.

    Examples
    --------
    >>> frame = pd.DataFrame({"hid": [1, 2, 2, 3, 3, 3], "w": 10.0})
    >>> survey = Survey(frame, weight="w", household="hid")
    >>> zones = pd.DataFrame({"region": ["n", "n"], "zone": ["n1", "n2"]})
    >>> persons = Margin(pd.DataFrame({"zone": ["n1", "n2"], "total": [30.0, 45.0]}))
    >>> homes = Margin(pd.DataFrame({"region": ["n"], "total": [40.0]}), level="household")
    >>> result = balance_zones(survey, zones, [persons, homes], seed=1)
    >>> result.controls["achieved"].tolist()
    [30.0, 45.0, 40.0]
    """
    items = margin_list(list(margins) if not isinstance(margins, Margin) else margins)
    table = as_frame(geography, "geography").reset_index(drop=True)
    levels = tuple(str(name) for name in table.columns)
    faults = Faults("balance zones")
    _check_bands(faults, bands, items)
    _check_some(faults, table, items, only, previous)
    check_geography(faults, survey, table, within)
    seed = resolve_seed(seed)
    other_zones, original = None, items
    if only is not None and previous is not None:
        zone = levels[-1]
        other_zones = previous.survey.frame[~previous.survey.frame[zone].isin(list(only))]
        table = table[table[zone].isin(list(only))].reset_index(drop=True)
        reduced = [_reduced(item, other_zones, table, zone) for item in items]
        items = [item for item in reduced if item is not None]
    limits = None if bounds is None else weight_limits(bounds)
    made = allot(
        survey, table, items, within, Streams(seed), limits=limits,
        stop=(tolerance, max_iterations),
    )  # fmt: skip
    frame = households_there(survey, table, made.zone, made.household)
    achieved, balanced = made.achieved, made.balanced
    if other_zones is not None:
        shifted = other_zones.assign(
            **{ALLOTTED: other_zones[ALLOTTED] + int(frame[ALLOTTED].max()) + 1}
        )
        frame = pd.concat([frame, shifted], ignore_index=True)
        achieved = np.concatenate([_cell_totals(item, frame) for item in original])
        balanced = np.full(len(achieved), np.nan)
    controls = with_bands(table_of_gaps(original, balanced, achieved, levels), bands)
    households = Survey(frame, weight=COUNT, household=ALLOTTED)
    borrowed = names_of_regions(table, within, made.borrowed)
    result = ZoneHouseholds(households, controls, levels, seed, made.converged, borrowed)
    if not made.converged:
        warnings.warn(result.conflict(), ConvergenceWarning, stacklevel=3)
    if borrowed:
        warnings.warn(result.borrowing(), MicrodataWarning, stacklevel=3)
    return result


def weight_limits(bounds: tuple[float, float] | WeightLimits) -> WeightLimits:
    """Return limits as such; two numbers are of the ratio."""
    return bounds if isinstance(bounds, WeightLimits) else WeightLimits(bounds)


def names_of_regions(
    table: pd.DataFrame, within: str | None, borrowed: Mapping[int, tuple[int, ...]]
) -> dict[Any, tuple[Any, ...]]:
    """Return the regions that borrow households, by name."""
    names = [] if within is None else table[within].unique().tolist()
    return {names[k]: tuple(names[j] for j in others) for k, others in borrowed.items()}


def _check_some(
    faults: Faults,
    table: pd.DataFrame,
    margins: Sequence[Margin],
    only: Sequence[Any] | None,
    previous: ZoneHouseholds | None,
) -> None:
    zone = table.columns[-1]
    if (only is None) != (previous is None):
        faults.add("only, previous", "go together", hint="Give both, or neither.")
    elif only is not None:
        unknown = [name for name in only if name not in set(table[zone])]
        if unknown or not len(only):
            faults.add("only", f"{unknown or 'nothing'} is not a zone", hint="Name zones.")
        for margin in margins:
            if margin.variable is not None and zone not in margin.columns:
                what = f"{margin.label} is a sum over larger geographies"
                faults.add("margins", what, hint="Balance all zones at once.")


def check_geography(
    faults: Faults, survey: Survey, table: pd.DataFrame, within: str | None
) -> None:
    """Raise all faults where zones are not nested, or no household lies in any of them."""
    levels = list(table.columns)
    zone = levels[-1]
    if table.isna().any().any():
        faults.add("geography", "has missing values", hint="Every zone lies somewhere.")
    if table[zone].duplicated().any():
        rows = np.flatnonzero(table[zone].duplicated())
        faults.add(str(zone), "is there more than once", rows=rows, hint="Give one row per zone.")
    for outer, inner in itertools.pairwise(levels):
        several = table.groupby(inner, observed=True)[outer].nunique() > 1
        if several.any():
            names = list(several.index[several])[:3]
            faults.add(str(inner), f"{names} lie in several of {outer!r}", hint="Nest them.")
    if within is not None:
        if within not in levels:
            faults.add("within", f"{within!r} is not a geography", hint=f"Choose of {levels}.")
        else:
            check_columns(faults, survey.frame, [within], "within")
    faults.raise_if_any()
    if within is not None and not survey.frame[within].isin(set(table[within])).any():
        rows = np.arange(survey.n_persons)
        raise InputError.of("balance zones", within, "no household lies in any zone", rows=rows)


def households_there(
    survey: Survey, table: pd.DataFrame, zone: np.ndarray, household: np.ndarray
) -> pd.DataFrame:
    """Return one row per person, household and zone with the count of the household there."""
    pairs, count_of = np.unique(zone * survey.n_households + household, return_counts=True)
    of_zone, chosen = np.divmod(pairs, survey.n_households)
    persons, sizes = persons_of(survey, chosen)
    names = [name for name in table.columns if name in survey.frame]
    frame = survey.frame.iloc[persons].drop(columns=names).reset_index(drop=True)
    places = table.iloc[np.repeat(of_zone, sizes)].reset_index(drop=True)
    allotted = {
        ALLOTTED: np.repeat(np.arange(len(pairs)), sizes),
        COUNT: np.repeat(count_of, sizes),
    }
    return pd.concat([frame, places, pd.DataFrame(allotted)], axis=1)


def _cell_totals(item: Margin, frame: pd.DataFrame) -> np.ndarray:
    """Total of each cell of a margin under the counts, shape (cells,)."""
    columns = list(item.columns)
    rows = frame if item.level == "person" else frame.drop_duplicates(ALLOTTED)
    amounts = rows[COUNT].to_numpy(dtype=np.float64)
    if item.variable is not None:
        amounts = amounts * rows[item.variable].fillna(0).to_numpy(dtype=np.float64)
    if not columns:
        return np.array([amounts.sum()])
    sums = pd.Series(amounts).groupby([texts_of(rows[name]) for name in columns]).sum()
    cells = [texts_of(item.frame[name]) for name in columns]
    index = cells[0] if len(columns) == 1 else pd.MultiIndex.from_arrays(cells)
    return sums.reindex(index).fillna(0.0).to_numpy()


def _reduced(
    item: Margin, other_zones: pd.DataFrame, table: pd.DataFrame, zone: str
) -> Margin | None:
    """Known totals of the zones that are done again, less what the others have; or None."""
    left = item.targets.copy()
    frame = item.frame.copy()
    rows = np.ones(len(frame), dtype=bool)
    if zone not in item.columns:
        left = np.maximum(left - _cell_totals(item, other_zones), 0.0)
    for name in table.columns:
        if name in frame:
            rows &= frame[name].isin(set(table[name])).to_numpy()
    frame[item.total] = left
    if not rows.any():
        return None
    return replace(item, table=frame[rows].reset_index(drop=True), size=None)


def _check_bands(
    faults: Faults, bands: float | Mapping[str, float], margins: Sequence[Margin]
) -> None:
    labels = [item.label for item in margins]
    values = bands if isinstance(bands, Mapping) else {"all": bands}
    for name, value in values.items():
        if isinstance(bands, Mapping) and name not in labels:
            faults.add("bands", f"{name!r} is not a margin", hint=did_you_mean(name, labels))
        if not Between(0, None).allows(value):
            faults.add("bands", f"{name}: {value!r}", hint="Give a share such as 0.02.")


def with_bands(controls: pd.DataFrame, bands: float | Mapping[str, float]) -> pd.DataFrame:
    """Add the gap that is accepted, at least half a unit, and whether a control keeps within it."""
    share: Any = bands
    if isinstance(bands, Mapping):
        share = controls["margin"].map(dict(bands)).fillna(0.0)
    band = (controls["target"].abs() * share).clip(lower=0.5)
    return controls.assign(band=band, within=controls["gap"].abs() <= band)


def table_of_gaps(
    margins: Sequence[Margin],
    balanced: np.ndarray,
    achieved: np.ndarray,
    geography: Sequence[str],
) -> pd.DataFrame:
    """Table of all known totals with what weights and counts achieve.

    geography: columns of the geographies, the largest first
    """
    tables = []
    for item in margins:
        texts = {name: texts_of(item.frame[name]) for name in item.columns}
        labels = [name + " " + text for name, text in texts.items()]
        cells: Any = labels[0] if labels else "all"
        for label in labels[1:]:
            cells = cells + ", " + label
        finest = next((name for name in reversed(geography) if name in texts), "")
        tables.append(
            pd.DataFrame(
                {"margin": item.label, "cell": cells, "level": item.level, "geography": finest,
                 "area": texts.get(finest, "all"), "target": item.targets},
                index=range(len(item.frame)),
            )
        )  # fmt: skip
    table = pd.concat(tables, ignore_index=True)
    table = table.assign(balanced=balanced, achieved=achieved, gap=achieved - table["target"])
    base = table["target"].where(table["target"] != 0, 1.0)
    return table.assign(relative_gap=table["gap"] / base)


def copies_by_zone(zone: pd.Series, times: pd.Series) -> pd.DataFrame:
    """Return households of each zone, how many different ones, and copies of the most frequent.

    zone, times: of each household of the survey in a zone, and how often it is there
    """
    by_zone = times.groupby(zone, sort=False, observed=True)
    table = by_zone.agg(households="sum", different="size", most="max")
    return table.rename_axis(str(zone.name)).reset_index()
