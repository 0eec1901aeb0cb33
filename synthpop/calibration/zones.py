"""Households of a survey allotted to zones, with known totals at several nested geographies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.calibrate_survey import calibrate
from synthpop.calibration.integer_weights import integerise
from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.parameters import Between
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import resolve_seed

ALLOTTED = "zone_household"
COUNT = "count"


@dataclass(frozen=True)
class ZoneHouseholds(Result):
    """How often each household of the survey is put into each zone.

    Attributes
    ----------
    survey : Survey
        One row a person, household and zone with a count above zero: the columns of the survey,
        those of the geography, ``zone_household`` (its household ids) and ``count`` (its weights).
    controls : DataFrame
        One row a known total: margin, cell, level, target, balanced (under the fractional
        weights), achieved (under the counts), gap (achieved - target), relative_gap, band (the gap
        that is accepted) and within (whether it is not exceeded).
    geography : tuple of str
        Columns of the geographies, the largest first; the last is the zone.
    seed : int
    converged : bool
        All totals that had to be met were met by the fractional weights.
    """

    survey: Survey = field(repr=False)
    controls: pd.DataFrame = field(repr=False)
    geography: tuple[str, ...]
    seed: int
    converged: bool

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
        if not self.converged:
            text += (
                " The fractional weights do not meet all totals: they contradict each other, or "
                "the survey has no household for them."
            )
        return text


@same_library
def balance_zones(
    survey: Survey,
    geography: Any,
    margins: Margin | Sequence[Margin],
    *,
    within: str | None = None,
    bands: float | Mapping[str, float] = 0.0,
    method: str = "raking",
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
    geography : DataFrame, one row a zone
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
    method, tolerance, max_iterations
        Of `calibrate`.
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
        Totals that had to be met were not.

    Notes
    -----
    All geographies are balanced at once: each household has a weight in each zone where it may
    live, the start weights are equal shares of its survey weight, and one calibration meets all
    totals (the entropy that PopulationSim minimises level by level; Paul, Doyle, Stabler, Freedman
    and Bettinardi 2018, Transportation Research Record). Weights are then rounded to whole numbers
    by controlled random rounding (`integerise`). The rounding keeps all totals at once; gaps below
    one remain, and larger ones where totals contradict each other.

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
    _check(faults, survey, table, items, within, only, previous)
    seed = resolve_seed(seed)
    other_zones, original = None, items
    if only is not None and previous is not None:
        zone = levels[-1]
        other_zones = previous.survey.frame[~previous.survey.frame[zone].isin(list(only))]
        table = table[table[zone].isin(list(only))].reset_index(drop=True)
        reduced = [_reduced(item, other_zones, table, zone) for item in items]
        items = [item for item in reduced if item is not None]
    spread = _spread(survey, table, within)
    fitted = calibrate(
        spread, items, method=method, tolerance=tolerance, max_iterations=max_iterations,
        household_equal=True,
    )  # fmt: skip
    integer_weights = integerise(fitted.survey, items, seed=seed)
    frame = integer_weights.survey.frame.reset_index(drop=True)
    frame[ALLOTTED] = pd.factorize(frame[ALLOTTED])[0]
    if other_zones is not None:
        shifted = other_zones.assign(
            **{ALLOTTED: other_zones[ALLOTTED] + int(frame[ALLOTTED].max()) + 1}
        )
        frame = pd.concat([frame, shifted], ignore_index=True)
    households = Survey(frame, weight=COUNT, household=ALLOTTED)
    controls = _gaps(original, households.frame, fitted.margins, other_zones is None)
    controls = _with_bands(controls, bands)
    return ZoneHouseholds(households, controls, levels, seed, bool(fitted.converged))


def _check(
    faults: Faults,
    survey: Survey,
    table: pd.DataFrame,
    margins: Sequence[Margin],
    within: str | None,
    only: Sequence[Any] | None,
    previous: ZoneHouseholds | None,
) -> None:
    levels = list(table.columns)
    zone = levels[-1]
    if table.isna().any().any():
        faults.add("geography", "has missing values", hint="Every zone lies somewhere.")
    if table[zone].duplicated().any():
        rows = np.flatnonzero(table[zone].duplicated())
        faults.add(str(zone), "is there more than once", rows=rows, hint="Give one row a zone.")
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
    faults.raise_if_any()
    if within is not None and not survey.frame[within].isin(set(table[within])).any():
        rows = np.arange(survey.n_persons)
        raise InputError.of("balance zones", within, "no household lies in any zone", rows=rows)


def _spread(survey: Survey, table: pd.DataFrame, within: str | None) -> Survey:
    """Every household in every zone where it may live, with an equal share of its weight."""
    zone = str(table.columns[-1])
    frame = survey.frame.drop(
        columns=[name for name in table.columns if name in survey.frame and name != within]
    )
    frame = frame.assign(**{ALLOTTED: survey.household_index, COUNT: survey.weights})
    if within is None:
        pairs = frame.merge(table, how="cross")
    else:
        keys = frame[within].astype(object)
        pairs = frame.assign(**{within: keys}).merge(table, on=within, how="inner")
    share = pairs.groupby(ALLOTTED)[zone].transform("nunique")
    identity = pairs.groupby([ALLOTTED, zone], sort=False, observed=True).ngroup()
    pairs = pairs.assign(**{COUNT: pairs[COUNT] / share, ALLOTTED: identity})
    return Survey(pairs, weight=COUNT, household=ALLOTTED)


def _cell_totals(item: Margin, frame: pd.DataFrame) -> np.ndarray:
    """Total of each cell of a margin under the counts, shape (cells,)."""
    columns = list(item.columns)
    rows = frame if item.level == "person" else frame.drop_duplicates(ALLOTTED)
    amounts = rows[COUNT].to_numpy(dtype=np.float64)
    if item.variable is not None:
        amounts = amounts * rows[item.variable].fillna(0).to_numpy(dtype=np.float64)
    if not columns:
        return np.array([amounts.sum()])
    keys = [rows[name].astype(object).astype(str) for name in columns]
    sums = pd.Series(amounts).groupby([key.to_numpy() for key in keys]).sum()
    cells = [item.frame[name].astype(object).astype(str) for name in columns]
    index = cells[0] if len(columns) == 1 else pd.MultiIndex.from_arrays(cells)
    return sums.reindex(index).fillna(0.0).to_numpy()


def _reduced(
    item: Margin, other_zones: pd.DataFrame, table: pd.DataFrame, zone: str
) -> Margin | None:
    """Known totals of the zones that are done anew, less what the others have; None without any."""
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


def _with_bands(controls: pd.DataFrame, bands: float | Mapping[str, float]) -> pd.DataFrame:
    """Add the gap that is accepted, at least half a unit, and whether a control keeps within it."""
    share: Any = bands
    if isinstance(bands, Mapping):
        share = controls["margin"].map(dict(bands)).fillna(0.0)
    band = (controls["target"].abs() * share).clip(lower=0.5)
    return controls.assign(band=band, within=controls["gap"].abs() <= band)


def _gaps(
    margins: Sequence[Margin], frame: pd.DataFrame, fitted: pd.DataFrame, is_complete: bool
) -> pd.DataFrame:
    """Table of all known totals with what the counts achieve."""
    tables = []
    for item in margins:
        columns = list(item.columns)
        cells = [
            ", ".join(f"{name} {value}" for name, value in zip(columns, row, strict=True)) or "all"
            for row in item.frame[columns].itertuples(index=False)
        ]
        achieved = _cell_totals(item, frame)
        tables.append(
            pd.DataFrame(
                {"margin": item.label, "cell": cells, "level": item.level,
                 "target": item.targets, "achieved": achieved}
            )
        )  # fmt: skip
    table = pd.concat(tables, ignore_index=True)
    balanced = fitted["achieved"].to_numpy() if is_complete else np.full(len(table), np.nan)
    table.insert(4, "balanced", balanced)
    table["gap"] = table["achieved"] - table["target"]
    base = table["target"].where(table["target"] != 0, 1.0)
    return table.assign(relative_gap=table["gap"] / base)
