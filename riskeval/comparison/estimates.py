"""Estimates and regressions from the original and from a release, with interval overlaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.changes import is_safe_pair
from riskeval.comparison.request import (
    CompareRequest,
    DesignColumns,
    Indicators,
    Regression,
    columns_of,
    domains_of,
)
from riskeval.shared.measurement import MeasureInfo, Measurement, not_measured
from riskeval.utility.indicators import indicator_comparison
from riskeval.utility.overlaps import mean_of
from riskeval.utility.regressions import regression_comparison
from synthpop.microdata.frame.codes import cell_ids, encode
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.suppression import is_safe_statistic, safe_domains
from synthpop.microdata.statistics.indicators.results import OVERALL

OVERLAP = MeasureInfo(
    "overlap", "utility", "high", "overlap",
    "mean overlap of the confidence intervals of the estimates, all domains",
    "Karr et al. 2006", "Interval overlap, estimates", perfect=1.0,
)  # fmt: skip
OVERLAP_DOMAINS = MeasureInfo(
    "overlap_domains", "utility", "high", "overlap",
    "mean overlap of the confidence intervals over the single domains",
    "Karr et al. 2006", "Interval overlap, domains", perfect=1.0,
)  # fmt: skip
DIFFERENCE = MeasureInfo(
    "difference", "utility", "low", "loss",
    "mean relative difference of the estimates, as a share",
    "Templ 2017, section 5.5.2", "Change of the estimates", perfect=0.0,
)  # fmt: skip
REGRESSION_OVERLAP = MeasureInfo(
    "regression_overlap", "utility", "high", "overlap",
    "mean overlap of the intervals of the coefficients",
    "Karr et al. 2006", "Interval overlap, regression", perfect=1.0,
)  # fmt: skip
SAME_CONCLUSIONS = MeasureInfo(
    "same_conclusions", "utility", "high", "overlap",
    "share of the coefficients with the same conclusion about their sign",
    "Templ 2017, section 5.5.5", "Same conclusions", perfect=1.0,
)  # fmt: skip
OVERLAPS = [
    "release", "variable", "indicator", "domain", "records", "safe", "original", "released",
    "relative", "lower_original", "upper_original", "lower_released", "upper_released", "overlap",
    "note",
]  # fmt: skip
REGRESSIONS = [
    "release", "formula", "family", "term", "original", "released", "se_original", "se_released",
    "lower_original", "upper_original", "lower_released", "upper_released", "overlap",
    "same_conclusion", "note",
]  # fmt: skip


def common_design(request: CompareRequest, frames: Sequence[pd.DataFrame]) -> DesignColumns:
    """Strata and households for the variances: those that every file has, without gaps.

    Strata that a household lies across (as after an exchange of regions) are left out. One design
    for all, so that the intervals of the original are the same beside every release.
    """
    strata, cluster = (
        name
        if name is not None and all(name in f and f[name].notna().all() for f in frames)
        else None
        for name in (request.strata, request.household)
    )
    if strata and cluster and not all(_nested(f[cluster], f[strata]) for f in frames):
        strata = None
    return DesignColumns(strata, cluster)


def _nested(inner: pd.Series, outer: pd.Series) -> bool:
    """Whether every value of `inner` occurs with one value of `outer`."""
    codes = pd.factorize(inner)[0]
    others = pd.factorize(outer)[0]
    first = np.zeros(codes.max(initial=-1) + 1, dtype=np.int64)
    first[codes] = others
    return bool((first[codes] == others).all())


def with_design(aligned: Aligned, request: CompareRequest) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both files with the columns of the design beside those that are compared."""
    frames = []
    for frame, file in ((aligned.x, request.original), (aligned.y, aligned.release.frame)):
        design_columns = {
            name: file[name]
            for name in (request.design.strata, request.design.cluster)
            if name is not None and name not in frame
        }
        frames.append(frame.assign(**design_columns))
    return frames[0], frames[1]


def _inference(request: CompareRequest, aligned: Aligned) -> dict[str, Any]:
    """Weights, level and design, as the comparisons of estimates take them."""
    return {
        "weights": request.weights, "released_weights": aligned.release.weights,
        "level": request.level, "strata": request.design.strata,
        "cluster": request.design.cluster,
    }  # fmt: skip


def compare_estimates(
    request: CompareRequest, aligned: Aligned
) -> tuple[list[Measurement], pd.DataFrame]:
    """Overlap of the confidence intervals of the estimates: numbers, and one row per estimate."""
    infos = [OVERLAP, OVERLAP_DOMAINS, DIFFERENCE]
    if not request.indicators:
        return not_measured(infos, message("no estimate was specified")), pd.DataFrame(
            columns=OVERLAPS
        )
    x, y = with_design(aligned, request)
    tables = [_estimate(request, aligned, item, x, y) for item in request.indicators]
    table = _stacked(tables, request.indicators)
    notes = joined_by("; ", dict.fromkeys(note for note in table["note"] if note))
    inner = table.loc[table["domain"] != OVERALL, "overlap"]
    nowhere = notes or message("no domain was named")
    return [
        Measurement(OVERLAP, mean_of(table["overlap"].astype(float)), note=notes),
        Measurement(
            OVERLAP_DOMAINS, mean_of(inner.astype(float)), note=notes if len(inner) else nowhere
        ),
        Measurement(DIFFERENCE, mean_of(table["relative"].astype(float)) / 100, note=notes),
    ], table


def _stacked(tables: Sequence[pd.DataFrame], items: Sequence[Indicators]) -> pd.DataFrame:
    """All estimates: those over all records once, equal labels of other domains told apart."""
    domains = [":".join(domains_of(item)) for item in items]
    labelled = [one.assign(by=by) for one, by in zip(tables, domains, strict=True)]
    table = pd.concat(labelled, ignore_index=True)
    names, over_all = ["variable", "indicator", "domain"], table["domain"] == OVERALL
    table = table[~(over_all & table.duplicated([*names, "original", "released", "note"]))]
    again = table.duplicated(names, keep=False) & (table["domain"] != OVERALL)
    labels = table["by"] + ": " + table["domain"].astype(str)
    table = table.assign(domain=table["domain"].astype(object).where(~again, labels))
    return table.drop(columns="by").reset_index(drop=True)


def _estimate(
    request: CompareRequest, aligned: Aligned, item: Indicators, x: pd.DataFrame, y: pd.DataFrame
) -> pd.DataFrame:
    by: tuple[str, ...] | None = domains_of(item) or None
    notes = []
    if by is not None and aligned.has(by):
        notes.append(f"no domains: {aligned.has(by)}")
        by = None
    statistics = list(item.statistics)
    reasons = aligned.has([item.variable])
    if item.gender is not None and aligned.has([item.gender]) and "gender_pay_gap" in statistics:
        notes.append(f"no gender pay gap: {aligned.has([item.gender])}")
        statistics.remove("gender_pay_gap")
    if reasons or not statistics:
        return _nothing(aligned, item, reasons or joined_by("; ", notes))
    try:
        result = indicator_comparison(
            x,
            y,
            item.variable,
            indicators=statistics,
            by=by,
            gender=item.gender if "gender_pay_gap" in statistics else None,
            men=item.men,
            women=item.women,
            **_inference(request, aligned),
        )
    except InputError as problem:
        return _nothing(aligned, item, f"{problem.faults[0].where}: {problem.faults[0].what}")
    known = x[x[item.variable].notna()]
    sizes = Counter({OVERALL: len(known)})
    if by is not None:
        sizes.update(domain_labels(known, by))
    safe = _safe_domains(request, aligned, item, x, by)
    table = result.table.assign(
        release=aligned.release.name,
        variable=item.variable,
        records=[sizes[str(domain)] for domain in result.table["domain"]],
        safe=[str(domain) in safe for domain in result.table["domain"]],
        note=joined_by("; ", notes),
    )
    return table.reindex(columns=OVERLAPS)


def _safe_domains(
    request: CompareRequest,
    aligned: Aligned,
    item: Indicators,
    x: pd.DataFrame,
    by: tuple[str, ...] | None,
) -> set[str]:
    """Domains whose estimates an external page may show (`microdata.messages.suppression`).

    Domains inside those of another estimate of the same variable are never shown beside them.
    """
    values = as_numbers(x[item.variable])
    weighted = values if request.weights is None else values * request.weights
    rows = aligned.release.rows
    linked = None
    if rows is not None:
        linked = x.iloc[rows].reset_index(drop=True)
        released = aligned.y[item.variable].reset_index(drop=True)
    safe = {OVERALL} if is_safe_statistic(weighted) else set()
    if by is not None and OVERALL in safe and not _is_inside(item, request.indicators):
        labels = domain_labels(x, by)
        safe |= {str(label) for label in safe_domains(labels, weighted)}
    if linked is None:
        return safe
    labels = domain_labels(linked, by) if by is not None else np.full(len(linked), OVERALL)
    return _safe_changes(safe, np.asarray(labels), linked[item.variable], released)


def _safe_changes(
    safe: set[str], labels: np.ndarray, original: pd.Series, released: pd.Series
) -> set[str]:
    """Domains whose change tells no value, nor that of what is left beside them.

    1. A domain with few changes, or a dominant one, is hidden.
    2. What all changed less the domains that are shown is the change of the others: while it tells
       a value, the smallest domain shown is hidden too.
    """
    if OVERALL not in safe or not is_safe_pair(original, released):
        return set()
    codes, names = pd.factorize(labels)
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    visible = [
        code
        for code in sorted(range(len(names)), key=lambda it: (-int(sizes[it]), names[it]))
        if names[code] in safe - {OVERALL}
        and is_safe_pair(original[codes == code], released[codes == code])
    ]
    while visible:
        not_visible = ~np.isin(codes, visible)
        if is_safe_pair(original[not_visible], released[not_visible]):
            break
        visible.pop()
    return {*(str(names[code]) for code in visible), OVERALL}


def _is_inside(item: Indicators, others: Sequence[Indicators]) -> bool:
    """Whether domains of another estimate of the variable are unions of the domains of this one."""
    domains = set(domains_of(item))
    return any(
        other.variable == item.variable
        and set(domains_of(other))
        and set(domains_of(other)) < domains
        for other in others
    )


def domain_labels(frame: pd.DataFrame, by: Sequence[str]) -> np.ndarray:
    """Label of the domain of each record, such as "f:a"; None where a level is missing."""
    columns, levels = zip(*(encode(frame[name]) for name in by), strict=True)
    codes = np.column_stack(columns)
    cells, n_cells = cell_ids(codes, [len(names) for names in levels])
    rows = np.zeros(n_cells, dtype=np.int64)
    rows[cells] = np.arange(len(frame))
    labels = np.empty(n_cells, dtype=object)
    for cell, cell_codes in enumerate(codes[rows].tolist()):
        parts = [str(names[code]) for names, code in zip(levels, cell_codes, strict=True)]
        labels[cell] = None if min(cell_codes) < 0 else ":".join(parts)
    return labels[cells]


def _nothing(aligned: Aligned, item: Indicators, why: str) -> pd.DataFrame:
    table = pd.DataFrame({"indicator": list(item.statistics)})
    table = table.assign(
        release=aligned.release.name, variable=item.variable, domain=OVERALL, note=why
    )
    return table.reindex(columns=OVERLAPS)


def compare_regressions(
    request: CompareRequest, aligned: Aligned
) -> tuple[list[Measurement], pd.DataFrame]:
    """Overlap of the intervals of coefficients: numbers, and one row per coefficient."""
    infos = [REGRESSION_OVERLAP, SAME_CONCLUSIONS]
    if not request.regressions:
        return not_measured(infos, message("no regression was named")), pd.DataFrame(
            columns=REGRESSIONS
        )
    x, y = with_design(aligned, request)
    tables = [_regression(request, aligned, item, x, y) for item in request.regressions]
    table = pd.concat(tables, ignore_index=True)
    notes = joined_by("; ", dict.fromkeys(note for note in table["note"] if note))
    known = table[table["overlap"].notna()]
    return [
        Measurement(REGRESSION_OVERLAP, mean_of(table["overlap"].astype(float)), note=notes),
        Measurement(SAME_CONCLUSIONS, mean_of(known["same_conclusion"].astype(float)), note=notes),
    ], table


def _regression(
    request: CompareRequest, aligned: Aligned, item: Regression, x: pd.DataFrame, y: pd.DataFrame
) -> pd.DataFrame:
    names = columns_of(item)
    empty = pd.DataFrame({"term": [""]}).assign(
        release=aligned.release.name, formula=item.formula, family=item.family
    )
    if aligned.has(names):
        return empty.assign(note=aligned.has(names)).reindex(columns=REGRESSIONS)
    try:
        result = regression_comparison(
            x, y, item.formula, family=item.family, **_inference(request, aligned)
        )
    except InputError as problem:
        why = f"{problem.faults[0].where}: {problem.faults[0].what}"
        return empty.assign(note=why).reindex(columns=REGRESSIONS)
    dropped = (
        message("not in both files: {levels}", levels=", ".join(result.dropped))
        if result.dropped
        else ""
    )
    table = result.table.assign(
        release=aligned.release.name, formula=item.formula, family=item.family, note=dropped
    )
    return table.reindex(columns=REGRESSIONS)
