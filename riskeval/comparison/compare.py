"""`compare`: one original, several releases, the same measures on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.alignment import COLUMNS, align
from riskeval.comparison.attribution_risk import attribution_risk
from riskeval.comparison.catalogue import CATALOGUE
from riskeval.comparison.estimates import (
    OVERLAPS,
    REGRESSIONS,
    common_design,
    compare_estimates,
    compare_regressions,
)
from riskeval.comparison.file_risk import file_risk
from riskeval.comparison.link_risk import link_risk
from riskeval.comparison.loss import loss
from riskeval.comparison.numbers import Number
from riskeval.comparison.releases import Side, check_finite, read_release
from riskeval.comparison.request import (
    Effort,
    Request,
    read_effort,
    read_holdout,
    read_indicators,
    read_limits,
    read_names,
    read_regressions,
)
from riskeval.comparison.result import ORIGINAL, Comparison, group_of, limits_of
from riskeval.measures.request import Limits
from riskeval.utility.pairs import check_level, check_numbers_of, read_weights
from synthpop.microdata.checks import as_frame, check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.streams import resolve_seed


def compare(
    original: Any,
    releases: Mapping[str, Any],
    *,
    keys: Sequence[str],
    numeric: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    weights: str | None = None,
    household: str | None = None,
    strata: str | None = None,
    indicators: Any = None,
    regressions: Any = (),
    holdout: Any = None,
    limits: Limits | Mapping[str, Any] | None = None,
    effort: Effort | Mapping[str, int] | None = None,
    level: float = 0.95,
    workers: int = 1,
    seed: int | None = None,
    on_event: Listener = silent,
) -> Comparison:
    """Compare several releases of one original by the same measures of risk and utility.

    Parameters
    ----------
    original : DataFrame, Survey or Arrow table, n records
    releases : mapping of name to release
        A frame, a Survey, a Population, a ``Protected``, or a `Release` that says more. A frame
        with as many rows as the original counts as a perturbed copy, row by row, when the
        variables of both agree by 0.5 or more on average (0 is chance, 1 certainty); else as a
        synthetic file. `Release` overrules that.
    keys : sequence of str
        Categorical variables that an intruder is thought to know.
    numeric, sensitive : sequence of str
        Numeric variables; sensitive variables (categories, or numbers to predict).
    weights : str, optional
        Column of the original's weights; a Survey brings its own. A release without weights counts
        every record once.
    household : str, optional
        Column of households: household risk, and clusters of the variances; a Survey brings its
        own.
    strata : str, optional
        Column of strata: of the variances, and the domains of the default indicators.
    indicators : Indicators, mapping, or sequence of these, optional
        Estimates whose confidence intervals are compared. Default: the means of the numeric
        variables, by strata.
    regressions : formula, Regression, mapping, or sequence of these
    holdout : DataFrame, optional
        Persons of the population who are not in the original, for membership inference and RAPID.
    limits : Limits or mapping, optional
        What is accepted: k (2, 3 or 5), mean individual risk, and l up to 2; None for no limit.
    effort : Effort or mapping, optional
        Records that the slow measures take at most.
    level : float
        Of the confidence intervals.
    workers : int
        Threads over the releases; the numbers do not depend on it.
    seed : int, optional
        Of the draws of records, of models and starts; recorded.
    on_event : function of an Event
        Told when a release is done.

    Returns
    -------
    Comparison
        A number that a release does not allow is missing, with the reason in `notes`.

    Raises
    ------
    InputError
        All faults of data and arguments together.

    Notes
    -----
    A release is compared with the original on the columns and levels that both have; see
    `riskeval.comparison.alignment` for the rule and `shared` for what it came to. The risk of the
    file itself (k-anonymity, individual risk) is measured on its own levels. Measures that link
    records need a release whose records are those of the original. Maps and Pareto front: Templ
    (2017), section 2.5; Duncan, Keller-McNulty and Stokes (2001).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": rng.integers(20, 60, 200), "pay": rng.normal(50, 9, 200)})
    >>> grouped = people.assign(age=people["age"] // 10 * 10)
    >>> found = compare(people, {"grouped": grouped}, keys=["age"], numeric=["pay"], seed=1)
    >>> found.table[["records", "linkable"]].values.tolist()
    [[200, True], [200, True]]
    >>> found.table["below_3"].round(3).tolist()
    [0.02, 0.0]
    """
    faults = Faults("comparison of releases")
    frame = as_frame(original, "original")
    index = original.index if isinstance(original, pd.DataFrame) else pd.RangeIndex(len(frame))
    roles = getattr(original, "roles", None)  # those of a Survey
    if weights is not None and not isinstance(weights, str):
        faults.add("weights", f"is a {type(weights).__name__}", remedy="Name a column.")
        weights = None
    weights = weights or getattr(roles, "weight", None)
    household = household or getattr(roles, "household", None)
    request = _request(
        faults, frame, keys, numeric, sensitive, weights, household, strata, indicators,
        regressions, holdout, limits, effort, level, seed,
    )  # fmt: skip
    sides = _sides(faults, releases, request, index, weights)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        faults.add("workers", f"is {workers!r}", remedy="Give a whole number from 1 on.")
    faults.raise_if_any()
    frames = [frame, *(side.frame for side in sides)]
    request = replace(request, design=common_design(request, frames))
    own = Side(
        ORIGINAL, frame, request.weights, np.arange(len(frame)), ORIGINAL, ORIGINAL, np.nan, {}, ()
    )
    measured = _run([own, *sides], request, workers, on_event)
    return _result(measured, request, weights)


def _request(
    faults: Faults,
    frame: pd.DataFrame,
    keys: Any,
    numeric: Any,
    sensitive: Any,
    weights: str | None,
    household: str | None,
    strata: str | None,
    indicators: Any,
    regressions: Any,
    holdout: Any,
    limits: Any,
    effort: Any,
    level: float,
    seed: int | None,
) -> Request:
    if len(frame) == 0:
        faults.add("original", "has no records")
    names = {
        "keys": read_names(faults, frame, keys, "keys"),
        "numeric": read_names(faults, frame, numeric, "numeric"),
        "sensitive": read_names(faults, frame, sensitive, "sensitive"),
    }
    if keys is None or (hasattr(keys, "__len__") and len(keys) == 0):
        faults.add("keys", "no key is given", remedy="Name the columns that an intruder knows.")
    check_numbers_of(faults, frame, "original", names["numeric"], "numeric variable")
    others = dict.fromkeys([*names["keys"], *names["sensitive"]])
    others = {name: None for name in others if name not in names["numeric"]}
    check_finite(faults, frame, others, "the original")
    for role, name in (("household", household), ("strata", strata)):
        if name is not None:
            check_columns(faults, frame, [name], role)
    check_level(faults, level)
    values = read_weights(faults, frame, weights, "weights")
    request = Request(
        frame, values, **names, household=household, strata=strata, design={},
        indicators=read_indicators(faults, frame, indicators, names["numeric"], strata),
        regressions=read_regressions(faults, frame, regressions),
        holdout=None, limits=read_limits(faults, limits), effort=read_effort(faults, effort),
        level=level, seed=resolve_seed(seed),
    )  # fmt: skip
    held = read_holdout(faults, holdout, list(request.roles()))
    return replace(request, holdout=held)


def _sides(
    faults: Faults,
    releases: Any,
    request: Request,
    index: pd.Index,
    weights: str | None,
) -> list[Side]:
    if not isinstance(releases, Mapping) or not releases:
        faults.add("releases", "there is none", remedy="Give a mapping of names to releases.")
        return []
    variables = tuple(dict.fromkeys([*request.keys, *request.sensitive, *request.numeric]))
    found = []
    for name, given in releases.items():
        if not isinstance(name, str) or name == ORIGINAL:
            faults.add("releases", f"{name!r} cannot be the name of a release")
            continue
        side = read_release(faults, name, given, request.original, index, variables, weights)
        if side is not None:
            found.append(side)
    return found


Measured = tuple[Side, list[Number], pd.DataFrame, pd.DataFrame, list[dict[str, Any]]]


def _run(sides: list[Side], request: Request, workers: int, on_event: Listener) -> list[Measured]:
    done = 0

    def told(side: Side) -> Measured:
        nonlocal done
        on_event(Event("start", "compare", done, len(sides), side.name))
        found = measure_release(side, request)
        done += 1
        on_event(Event("progress", "compare", done, len(sides), side.name))
        return found

    if workers == 1:
        return [told(side) for side in sides]
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=workers, backend="threading")(delayed(told)(s) for s in sides))


def measure_release(side: Side, request: Request) -> Measured:
    """Measure everything on one release; of the original, its risk alone."""
    aligned = align(request.original, side, request.roles())
    found = file_risk(request, side.frame, side.weights, side.kind)
    found += link_risk(request, aligned) + attribution_risk(request, aligned)
    if side.kind == ORIGINAL:
        return side, found, _empty(OVERLAPS), _empty(REGRESSIONS), []
    found += loss(request, aligned)
    more, overlaps = compare_estimates(request, aligned)
    rest, regressions = compare_regressions(request, aligned)
    return side, [*found, *more, *rest], overlaps, regressions, aligned.shared


def _empty(columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(columns=list(columns))


def _result(measured: list[Measured], request: Request, weights: str | None) -> Comparison:
    accepted = limits_of(request.limits)
    named = [(side.name, number) for side, numbers, *_ in measured for number in numbers]
    utilities = dict.fromkeys(
        (number.measure, number.target)
        for _, number in named
        if group_of(number.measure) == "utility"
    )
    named += [
        (ORIGINAL, Number(measure, CATALOGUE[measure].perfect, target, note="by definition"))
        for measure, target in utilities
    ]
    measures = pd.DataFrame([_row(name, number, accepted) for name, number in named])
    infos = pd.DataFrame([_info(side) for side, *_ in measured])
    wide = measures.pivot(index="release", columns="name", values="value")
    wide = wide.reindex(index=infos["release"], columns=list(dict.fromkeys(measures["name"])))
    wide.columns.name = None
    head = infos.set_index("release")[["kind", "family", "parameter", "records", "linkable"]]
    order = {name: place for place, name in enumerate(infos["release"])}
    measures = measures.sort_values("release", key=lambda s: s.map(order), kind="stable")
    return Comparison(
        table=head.join(wide),
        measures=measures.reset_index(drop=True),
        overlaps=_stacked([item[2] for item in measured], OVERLAPS),
        regressions=_stacked([item[3] for item in measured], REGRESSIONS),
        shared=pd.DataFrame([row for item in measured for row in item[4]], columns=list(COLUMNS)),
        releases=infos,
        roles={
            "keys": request.keys, "numeric": request.numeric, "sensitive": request.sensitive,
            "weights": weights, "household": request.household, "strata": request.strata,
            "indicators": request.indicators, "regressions": request.regressions,
            "design": request.design,
        },
        limits=request.limits,
        effort=request.effort,
        level=request.level,
        holdout=request.holdout is not None,
        seed=request.seed,
    )  # fmt: skip


def _stacked(parts: list[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else _empty(columns)


def _row(release: str, number: Number, accepted: dict[str, tuple[float, str]]) -> dict[str, Any]:
    kind = CATALOGUE[number.measure]
    limit, source = accepted.get(number.measure, (np.nan, ""))
    known = not (np.isnan(limit) or np.isnan(number.value))
    target = f": {number.target}" if number.target else ""
    return {
        "release": release,
        "group": group_of(number.measure),
        "measure": number.measure,
        "target": number.target,
        "name": number.measure + target,
        "title": kind.title + target.replace(": ", ", "),
        "value": float(number.value),
        "baseline": number.baseline,
        "against": number.against,
        "lower": number.lower,
        "upper": number.upper,
        "better": kind.better,
        "limit": limit,
        "within": bool(number.value <= limit + 1e-12) if known else None,
        "limit_source": source,
        "note": number.note or ("not defined on these data" if np.isnan(number.value) else ""),
    }


def _info(side: Side) -> dict[str, Any]:
    return {
        "release": side.name,
        "kind": side.kind,
        "family": side.family,
        "parameter": side.parameter,
        "records": len(side.frame),
        "linkable": side.rows is not None,
        "weighted": side.weights is not None,
        "notes": "; ".join(side.notes),
    }
