"""`compare`: one original, several releases, the same measures on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.strangers import overlap_of
from riskeval.comparison.alignment import COLUMNS
from riskeval.comparison.estimates import OVERLAPS, REGRESSIONS, common_design
from riskeval.comparison.measure import MeasuredRelease, empty, measure_releases
from riskeval.comparison.release_evidence import release_verdict
from riskeval.comparison.releases import (
    OriginalFile,
    Release,
    ReleaseFile,
    check_finite,
    read_release,
)
from riskeval.comparison.request import (
    CompareRequest,
    DesignColumns,
    SampleSizes,
    read_holdout,
    read_indicators,
    read_limits,
    read_names,
    read_regressions,
    read_sample_sizes,
)
from riskeval.comparison.result import Comparison
from riskeval.comparison.worst_risk import worst_risk
from riskeval.measures.request import Limits
from riskeval.shared.files import check_level, check_numbers_of
from riskeval.shared.measurement import Measurement, text_frame
from riskeval.shared.show import ORIGINAL
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Listener, silent
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.roles.microdata import Microdata, as_file
from synthpop.microdata.runs.output import listener_of
from synthpop.microdata.statistics.streams import resolve_seed


@same_library
def compare(
    original: Any,
    releases: Mapping[str, Any],
    *,
    keys: Sequence[str] | None = None,
    numeric: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    weights: str | None = None,
    household: str | None = None,
    strata: str | None = None,
    indicators: Any = None,
    regressions: Any = (),
    holdout: Any = None,
    limits: Limits | Mapping[str, Any] | None = None,
    sample_sizes: SampleSizes | Mapping[str, int] | None = None,
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
        A frame, a Survey, a Population, a ``Protected``, a `ProtectionSession` (its current file),
        or a `Release` that says more. A frame
        with as many rows as the original counts as a perturbed copy, row by row, when the
        variables of both agree by 0.5 or more on average (0 is chance, 1 certainty); else as a
        synthetic file. `Release` overrules that. With ``Release(..., replicates=[...])`` every
        number is the mean over several files of the same method, with the interval of that mean.
    keys : sequence of str
        Categorical variables that an intruder is thought to know; none for files of amounts alone,
        as of enterprises, where `numeric` is what the intruder knows.
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
        What is accepted, as in `assess`; None for no limit. Risks that mean nothing for a kind of
        release (k-anonymity and individual risk of a synthetic file) are shown, and not judged.
    sample_sizes : SampleSizes or mapping, optional
        Records that the slow measures take at most.
    level : float
        Of the confidence intervals.
    workers : int
        Threads over the releases; the numbers do not depend on it.
    seed : int, optional
        Of the draws of records and of the models; recorded in the result.
    on_event : function of an Event
        Called when a release is done.

    Returns
    -------
    Comparison
        A number that cannot be measured on a release is missing, with the reason in `notes`.

    Raises
    ------
    InputError
        All faults of data and arguments together.

    Notes
    -----
    A release is compared with the original on the columns and levels that both have; see
    `riskeval.comparison.alignment` for the rule and `shared` for what it gave. The risk of the
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
    if weights is not None and not isinstance(weights, str):
        faults.add("weights", f"is a {type(weights).__name__}", hint="Name a column.")
        weights = None
    file = as_file(
        original, faults, keys=keys, numeric=numeric, weights=weights, household=household,
        subject="original", needs="keys or numbers",
    )  # fmt: skip
    frame, household, weights = file.frame, file.roles.household, file.roles.weight
    names = _names(faults, file, sensitive)
    if strata is not None:
        check_columns(faults, frame, [strata], "strata")
    check_level(faults, level)
    request = CompareRequest(
        frame, file.weights, **names, household=household,
        strata=strata, design=DesignColumns(), holdout=None, level=level, seed=resolve_seed(seed),
        indicators=read_indicators(faults, frame, indicators, names["numeric"], strata),
        regressions=read_regressions(faults, frame, regressions),
        limits=read_limits(faults, limits),
        sample_sizes=read_sample_sizes(faults, sample_sizes),
    )  # fmt: skip
    outside = read_holdout(faults, holdout, list(request.roles()))
    request = replace(request, holdout=outside)
    files = _release_files(faults, releases, request, file.index, weights)
    check(faults, {"workers": Whole(1)}, {"workers": workers})
    faults.raise_if_any()
    frames = [frame, *(file.frame for file in files)]
    request = replace(request, design=common_design(request, frames))
    baseline = ReleaseFile(
        ORIGINAL, frame, request.weights, np.arange(len(frame)), ORIGINAL, ORIGINAL, np.nan, {}, ()
    )
    measured = measure_releases([baseline, *files], request, workers, listener_of(on_event))
    return _result(measured, request, weights)


def _names(faults: Faults, file: Microdata, sensitive: Any) -> dict[str, tuple[str, ...]]:
    """Return the variables by role; a sensitive variable may be a key, or numeric, as well."""
    frame, roles = file.frame, file.roles
    if len(frame) == 0:
        faults.add("original", "has no records")
    named = [*roles.keys, *roles.numeric]
    usable = [one for one in named if check_columns(Faults("noted"), frame, [one], "column")]
    names = {
        "keys": tuple(name for name in roles.keys if name in usable),
        "numeric": tuple(n for n in roles.numeric if n in usable and is_number(frame[n])),
        "sensitive": read_names(faults, frame, sensitive or roles.sensitive, "sensitive"),
    }
    check_numbers_of(faults, frame, "original", names["numeric"], "numeric variable")
    others = dict.fromkeys([*names["keys"], *names["sensitive"]])
    others = {name: None for name in others if name not in names["numeric"]}
    check_finite(faults, frame, others, "the original")
    return names


def _release_files(
    faults: Faults, releases: Any, request: CompareRequest, index: pd.Index, weights: str | None
) -> list[ReleaseFile]:
    if not isinstance(releases, Mapping) or not releases:
        faults.add("releases", "there is none", hint="Give a mapping of names to releases.")
        return []
    variables = tuple(dict.fromkeys([*request.keys, *request.sensitive, *request.numeric]))
    others = (*request.roles(), request.household, request.strata)
    original = OriginalFile(request.original, index, variables, weights, others)
    listed = []
    for name, release in releases.items():
        if not isinstance(name, str) or name == ORIGINAL:
            faults.add("releases", f"{name!r} cannot be the name of a release")
            continue
        replicates = tuple(release.replicates) if isinstance(release, Release) else ()
        items = [release, *(replace(release, data=data) for data in replicates)]
        files_or_none = [read_release(faults, name, item, original) for item in items]
        files = [file for file in files_or_none if file is not None]
        if len(files) == len(items):
            listed.append(files[0].with_replicates(files[1:]))
    return listed


def _result(
    measured: list[MeasuredRelease], request: CompareRequest, weights: str | None
) -> Comparison:
    by_release = {of.release.name: {one.key: one for one in of.measurements} for of in measured}
    of_original = by_release[ORIGINAL]
    utilities = {
        key: one
        for ones in by_release.values()
        for key, one in ones.items()
        if one.info.group == "utility"
    }
    for ones in by_release.values():
        worst = worst_risk(ones, of_original)
        ones[worst.key] = worst
    for key, one in utilities.items():
        of_original[key] = Measurement(
            one.info, one.info.perfect, one.target, note=message("by definition")
        )
    known = {key: one for ones in by_release.values() for key, one in ones.items()}
    for ones in by_release.values():
        for key, one in known.items():
            if key not in ones:
                ones[key] = Measurement(
                    one.info, np.nan, one.target, note=message("not measured here")
                )
    verdicts = {
        of.release.name: release_verdict(
            of.release.kind, of.evidence, by_release[of.release.name].values()
        )
        for of in measured
        if of.release.name != ORIGINAL
    }
    rows = [_row(name, one) for name, ones in by_release.items() for one in ones.values()]
    measures = text_frame(
        rows, tuple(rows[0]), "title", "against", "limit_source", "meaning", "source", "note"
    )
    of_files = [_info(of.release, of.changes) for of in measured]
    infos = text_frame(of_files, tuple(of_files[0]), "notes")
    wide = measures.pivot(index="release", columns="name", values="value")
    wide = wide.reindex(index=infos["release"], columns=list(dict.fromkeys(measures["name"])))
    wide.columns.name = None
    head = infos.set_index("release")[["kind", "family", "parameter", "records", "linkable"]]
    order = {name: position for position, name in enumerate(infos["release"])}
    measures = measures.sort_values("release", key=lambda s: s.map(order), kind="stable")
    return Comparison(
        table=head.join(wide),
        measures=measures.reset_index(drop=True),
        overlaps=_stacked([of.overlaps for of in measured], OVERLAPS),
        regressions=_stacked([of.regressions for of in measured], REGRESSIONS),
        shared=text_frame([row for of in measured for row in of.shared], COLUMNS, "how"),
        releases=infos,
        roles={
            "keys": request.keys, "numeric": request.numeric, "sensitive": request.sensitive,
            "weights": weights, "household": request.household, "strata": request.strata,
            "indicators": request.indicators, "regressions": request.regressions,
            "design": asdict(request.design),
        },
        verdicts=MappingProxyType(verdicts),
        limits=request.limits,
        sample_sizes=request.sample_sizes,
        level=request.level,
        holdout=request.holdout is not None,
        seed=request.seed,
        no_strangers=overlap_of(request.original, request.holdout, list(request.roles())),
    )  # fmt: skip


def _stacked(tables: list[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else empty(columns)


def _row(release: str, one: Measurement) -> dict[str, Any]:
    value = float(one.share)
    return {
        "release": release,
        "group": "utility" if one.info.group == "utility" else "risk",
        "part": one.info.group,
        "measure": one.info.name,
        "target": one.target,
        "name": one.key,
        "title": one.title,
        "value": value,
        "unit": "share" if one.info.unit == "records" else one.info.unit,
        "records": one.records,
        "baseline": one.baseline,
        "against": one.against,
        "lower": one.lower,
        "upper": one.upper,
        "better": one.info.direction,
        "limit": np.nan if one.limit is None else one.limit,
        "within": one.within,
        "applies": one.applies,
        "single": one.info.single,
        "limit_source": one.limit_source if one.limit is not None else "",
        "meaning": one.info.meaning,
        "source": one.info.source,
        "note": one.note or (message("not defined on these data") if np.isnan(value) else ""),
    }


def _info(release: ReleaseFile, changes: list[str]) -> dict[str, Any]:
    return {
        "release": release.name,
        "kind": release.kind,
        "family": release.family,
        "parameter": release.parameter,
        "records": len(release.frame),
        "linkable": release.rows is not None,
        "weighted": release.weights is not None,
        "notes": joined_by("; ", release.notes),
        "few_changes": ", ".join(changes),
    }
