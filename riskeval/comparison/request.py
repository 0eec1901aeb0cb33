"""What is compared: roles, estimates, limits and how many records the slow measures take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.prediction.model import MODELS
from riskeval.measures.request import Limits, check_limit
from riskeval.utility.estimates import STATISTICS
from synthpop.microdata.frame.checks import as_frame, check_columns, check_numeric
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.parameters import OneOf, Whole, check, check_choice
from synthpop.microdata.statistics.formula import read_formula
from synthpop.microdata.statistics.robust import Scatter


@dataclass(frozen=True)
class Indicators:
    """Estimates whose confidence intervals are compared.

    Attributes
    ----------
    variable : str
        Numeric column.
    statistics : sequence of str
        See `riskeval.utility.indicator_comparison`.
    by : str or sequence of str, optional
        Domains.
    gender, men, women : optional
        Column and levels for the gender pay gap.
    """

    variable: str
    statistics: Sequence[str] = ("mean",)
    by: str | Sequence[str] | None = None
    gender: str | None = None
    men: Any = "male"
    women: Any = None


@dataclass(frozen=True)
class Regression:
    """A regression whose coefficients are compared.

    Attributes
    ----------
    formula : str
        See `riskeval.utility.regression_comparison`.
    family : {"linear", "logistic", "poisson", "gamma", "ordered"}
    """

    formula: str
    family: str = "linear"


@dataclass(frozen=True)
class SampleSizes:
    """Records that the slow measures take at most; larger files are cut by a random draw.

    The draw of the original is the same for every release, so that releases are compared on the
    same persons.

    Attributes
    ----------
    linkage : int
        Released records that are linked, each with all original ones.
    outliers : int
        Records for the robust Mahalanobis distance.
    prediction : int
        Original records that the intruder's model predicts; training takes as many.
    screen : int
        Records that are judged by nearness (distance screen, membership), each against four times
        as many of the other file.
    propensity : int
        Records of each file for the propensity score.
    model : {"panel", "nearest", "forest", "boosting", "tree", "linear"}
        The intruder's model that predicts; "panel" takes the strongest of the first three.
    """

    linkage: int = 10_000
    outliers: int = 20_000
    prediction: int = 5_000
    screen: int = 4_000
    propensity: int = 50_000
    model: str = "panel"


@dataclass(frozen=True, slots=True)
class DesignColumns:
    """Columns of the sampling design for variances: those that every file has in full."""

    strata: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CompareRequest:
    """Everything that was asked, checked once."""

    original: pd.DataFrame
    weights: np.ndarray | None  # float64, shape (n,), or None
    keys: tuple[str, ...]
    numeric: tuple[str, ...]
    sensitive: tuple[str, ...]
    household: str | None
    strata: str | None
    design: DesignColumns
    indicators: tuple[Indicators, ...]
    regressions: tuple[Regression, ...]
    holdout: pd.DataFrame | None
    limits: Limits
    sample_sizes: SampleSizes
    level: float  # of the confidence intervals
    seed: int
    # robust scatters by the hash of their values: releases of the same persons share one
    scatters: dict[str, Scatter] = field(default_factory=dict, init=False)

    def roles(self) -> dict[str, str]:
        """Every variable that plays a part, with its first role."""
        by_name: dict[str, str] = {}
        for names, role in (
            (self.keys, "key"),
            (self.numeric, "numeric"),
            (self.sensitive, "sensitive"),
            ([item.variable for item in self.indicators], "numeric"),
            ([name for item in self.indicators for name in domains_of(item)], "domain"),
            ([item.gender for item in self.indicators if item.gender], "gender"),
            ([name for item in self.regressions for name in columns_of(item)], "regression"),
        ):
            for name in names:
                by_name.setdefault(name, role)
        return by_name


def domains_of(item: Indicators) -> tuple[str, ...]:
    """Columns of the domains of an estimate."""
    return () if item.by is None else listed_names(item.by)


def columns_of(item: Regression) -> tuple[str, ...]:
    """Columns of a formula, response first."""
    from riskeval.utility.regression_models import ALLOWED

    formula = read_formula(Faults("formula"), item.formula, ALLOWED)
    if formula is None:
        return ()
    return tuple(dict.fromkeys(f.column for f in (*formula.responses, *formula.factors)))


def read_names(faults: Faults, frame: pd.DataFrame, names: Any, role: str) -> tuple[str, ...]:
    """Return names that are all there; note others and repetitions."""
    columns = _items(faults, names, role, (str,))
    for name in dict.fromkeys(columns):
        if columns.count(name) > 1:
            faults.add(role, f"{name!r} is given {columns.count(name)} times")
    exist = check_columns(faults, frame, columns, role)
    return columns if exist else ()


def _items(faults: Faults, value: Any, where: str, single: tuple[type, ...]) -> tuple[Any, ...]:
    """Return one item or a sequence of them as a tuple; note what is neither."""
    if value is None:
        return ()
    if isinstance(value, single):
        return (value,)
    if not isinstance(value, Iterable):
        faults.add(where, f"is {value!r}", hint="Give one, or a list of them.")
        return ()
    return tuple(value)


def read_indicators(
    faults: Faults,
    frame: pd.DataFrame,
    indicators: Any,
    numeric: tuple[str, ...],
    strata: str | None,
) -> tuple[Indicators, ...]:
    """Return the estimates that are asked for; by default the means of the numeric variables."""
    if indicators is None:
        return tuple(Indicators(name, by=strata) for name in numeric)
    items = _items(faults, indicators, "indicators", (Indicators, Mapping, str))
    records = [_record(faults, "indicators", Indicators, item) for item in items]
    valid = []
    for item in records:
        if item is None:
            continue
        names = _items(faults, item.statistics, "statistics of indicators", (str,))
        by = _items(faults, item.by, "by of indicators", (str,))
        for name in names:
            if name not in STATISTICS:
                faults.add(
                    "indicators", f"{name!r} is unknown", hint=did_you_mean(name, STATISTICS)
                )
        check_numeric(faults, frame, [item.variable], "variable of indicators")
        check_columns(faults, frame, by, "domain")
        if item.gender is not None:
            check_columns(faults, frame, [item.gender], "gender")
        elif "gender_pay_gap" in names:
            faults.add("gender", "is needed for the gender pay gap", hint="Name its column.")
        valid.append(replace(item, statistics=names, by=by or None))
    return tuple(valid)


def read_regressions(
    faults: Faults, frame: pd.DataFrame, regressions: Any
) -> tuple[Regression, ...]:
    """Return the regressions; a text is the formula of a linear one."""
    from riskeval.utility.families import FAMILIES
    from riskeval.utility.regression_models import ALLOWED

    records = []
    for item in _items(faults, regressions, "regressions", (str, Regression, Mapping)):
        record = (
            Regression(item)
            if isinstance(item, str)
            else _record(faults, "regressions", Regression, item)
        )
        if record is None:
            continue
        check_choice(faults, "family of the regression", record.family, FAMILIES)
        if read_formula(faults, record.formula, ALLOWED) is not None:
            check_columns(faults, frame, columns_of(record), f"part of {record.formula!r}")
        records.append(record)
    return tuple(records)


def read_sample_sizes(faults: Faults, sizes: Any) -> SampleSizes:
    """Return the numbers of records; note those that are not whole numbers of at least 100."""
    asked = {} if sizes is None else sizes
    sample_sizes: SampleSizes = _record(faults, "sample_sizes", SampleSizes, asked) or SampleSizes()
    for one in fields(sample_sizes):
        constraint = OneOf(*MODELS) if one.name == "model" else Whole(100)
        value = {f"sample_sizes {one.name}": getattr(sample_sizes, one.name)}
        check(faults, dict.fromkeys(value, constraint), value)
    return sample_sizes


def read_limits(faults: Faults, item: Any) -> Limits:
    """Return what is accepted."""
    limits: Limits = _record(faults, "limits", Limits, {} if item is None else item) or Limits()
    for one in fields(Limits):
        check_limit(faults, f"limits {one.name}", one.name, getattr(limits, one.name))
    return limits


def _record(faults: Faults, where: str, cls: type[Any], item: Any) -> Any:
    if isinstance(item, cls):
        return item
    if not isinstance(item, Mapping):
        faults.add(where, f"is {item!r}", hint=f"Give a mapping or {cls.__name__}(...).")
        return None
    known = [one.name for one in fields(cls)]
    unknown = [name for name in item if name not in known]
    for name in unknown:
        faults.add(f"{where} {name}", "is unknown", hint=did_you_mean(name, known))
    if unknown:
        return None
    try:
        return cls(**item)
    except TypeError:
        faults.add(where, f"needs {known[0]!r}")
        return None


def read_holdout(faults: Faults, holdout: Any, names: Sequence[str]) -> pd.DataFrame | None:
    """Return the hold-out; note columns that it lacks."""
    if holdout is None:
        return None
    frame = as_frame(holdout, "holdout")
    if len(frame) == 0:
        faults.add("holdout", "has no records")
    check_columns(faults, frame, names, "variable of the hold-out")
    return frame
