"""Estimates with intervals from both files, over all records and by domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import FilePair, check_both
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.statistics.indicators.measures import (
    gender_pay_gap,
    gini,
    mean,
    median,
    quintile_share_ratio,
)
from synthpop.microdata.statistics.indicators.poverty import at_risk_of_poverty, poverty_gap
from synthpop.microdata.statistics.indicators.results import OVERALL, Indicator

STATISTICS: dict[str, Callable[..., Indicator]] = {
    "mean": mean,
    "median": median,
    "gini": gini,
    "at_risk_of_poverty": at_risk_of_poverty,
    "poverty_gap": poverty_gap,
    "quintile_share_ratio": quintile_share_ratio,
    "gender_pay_gap": gender_pay_gap,
}
POVERTY = ("at_risk_of_poverty", "poverty_gap")


@dataclass(frozen=True, slots=True, eq=False)
class EstimateRequest:
    """What to estimate from both files."""

    files: FilePair
    # gender, men, women: as in ``indicators.gender_pay_gap``
    gender: str | None
    men: Any
    women: Any
    strata: str | None
    cluster: str | None
    level: float
    # {"own", "original"}: poverty line of the release: from its own median, or that of the
    # original
    line: str = "own"
    # pair of Series or None: domain of each record of original and release
    domains: tuple[pd.Series | None, pd.Series | None] = (None, None)


def with_domains(
    faults: Faults, request: EstimateRequest, by: Sequence[str] | str | None
) -> EstimateRequest:
    """Note columns that either file lacks, and code the domains."""
    files = request.files
    names = () if by is None else as_names(faults, by, "by")
    usable = check_both(faults, files, names, "by")
    roles = {"gender": request.gender, "strata": request.strata, "cluster": request.cluster}
    for role, name in roles.items():
        if name is not None:
            check_both(faults, files, [name], role)
    if names and usable:
        return replace(request, domains=(_domains(files.x, names), _domains(files.y, names)))
    return request


def _domains(frame: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """One label a record; missing where one of the columns is."""
    if len(names) == 1:
        return frame[names[0]]
    is_missing = np.zeros(len(frame), dtype=bool)
    label = pd.Series("", index=frame.index, dtype=object)
    for j, name in enumerate(names):
        codes, levels = encode(frame[name])
        text = np.array([str(level) for level in levels] + [""], dtype=object)
        label = label + (":" if j else "") + text[codes]
        is_missing |= codes < 0
    return label.where(~is_missing, None)


def estimate(
    request: EstimateRequest,
    statistic: str,
    values: pd.Series,
    file: int,
    threshold: float | None = None,
) -> Indicator:
    """One indicator of one file (0: original, 1: release), with its variance."""
    frame, weights = request.files.frames[file], request.files.weights[file]
    options: dict[str, object] = {"by": request.domains[file]}
    if statistic == "gender_pay_gap" and request.gender is not None:
        options.update(gender=frame[request.gender], men=request.men, women=request.women)
    if threshold is not None:
        options["threshold"] = threshold
    value = STATISTICS[statistic](values, weights, **options)
    return value.with_variance(
        strata=None if request.strata is None else frame[request.strata],
        cluster=None if request.cluster is None else frame[request.cluster],
        level=request.level,
    )


def domain_table(
    request: EstimateRequest, statistic: str, term: str, x: pd.Series, y: pd.Series
) -> pd.DataFrame:
    """Estimates, standard errors and bounds of both files, one row per domain, "all" first."""
    first = estimate(request, statistic, x, 0)
    same_line = statistic in POVERTY and request.line == "original"
    threshold = first.threshold if same_line else None
    second = estimate(request, statistic, y, 1, threshold)
    domains = [*first.domains, *[d for d in second.domains if d not in first.domains]]
    columns: dict[str, object] = {"term": term, "domain": [OVERALL, *domains]}
    for estimates, role in ((first, "original"), (second, "released")):
        place_of = {domain: j + 1 for j, domain in enumerate(estimates.domains)}
        rows = np.array([0, *[place_of.get(domain, -1) for domain in domains]])
        errors = estimates.standard_errors
        bounds = estimates.intervals
        assert errors is not None and bounds is not None  # noqa: PT018
        ends = {"": estimates.values, "se_": errors, "lower_": bounds[:, 0], "upper_": bounds[:, 1]}
        for prefix, values in ends.items():
            columns[f"{prefix}{role}"] = np.where(rows >= 0, values[rows], np.nan)
    return pd.DataFrame(columns)
