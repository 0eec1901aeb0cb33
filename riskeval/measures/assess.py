"""One call over all measures of categorical keys: `assess`, and `assess_file` for a run file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import check_treatment
from riskeval.measures.assessment import Assessment
from riskeval.measures.counts import counts_of
from riskeval.measures.entry import Measure
from riskeval.measures.registry import MEASURES
from riskeval.measures.request import LIMITS, AssessRequest, Limits, read_limits
from riskeval.shared.measurement import Measurement, measurement_table, not_measured
from riskeval.verdict.file import columns_not_tried, file_evidence, recovery_evidence
from riskeval.verdict.verdict import ReleaseVerdict, verdict_of
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, MicrodataError
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check_choice
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.roles.microdata import Microdata, as_file
from synthpop.microdata.runs.output import listener_of

NEEDS = {
    "keys": "categorical keys",
    "sensitive": "sensitive variables",
    "numeric": "numeric key variables",
    "weights": "weights",
    "household": "a column of households",
    "population": "weights or the size of the population",
    "alpha": "a limit alpha",
}


@same_library
def assess(
    data: Any,
    *,
    keys: Sequence[str] | None = None,
    weights: Any = None,
    household: str | None = None,
    sensitive: str | Sequence[str] = (),
    numeric: str | Sequence[str] = (),
    measures: str | Sequence[str] = "all",
    k: int | Sequence[int] = (2, 3, 5),
    missing: str = "wildcard",
    alpha: float = 1.0,
    population_size: float | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    on_event: Listener | None = None,
) -> Assessment:
    """Measure the disclosure risk of a file, by every measure that fits its keys and amounts.

    Parameters
    ----------
    data, keys, weights, household, sensitive, numeric
        The file and its roles: see `Microdata`. Measures that need a role that is not there are
        left out; a file of amounts alone, as of enterprises, needs no keys.
    measures : "all" or sequence of str
        Names in ``riskeval.measures.registry.MEASURES``.
    k : int or sequence of int, default (2, 3, 5)
        For k-anonymity; the k of `limits` is added.
    missing, alpha
        Treatment of missing keys in all counts of keys, SUDA included: see `frequency_counts`.
        Groups of sensitive values are those with the same key pattern, and models of the
        population (population uniqueness, log-linear) need tables without overlap: where keys are
        missing each number says how they were treated.
    population_size : float, optional
        Persons of the population; the sum of the weights when not given. Weights that add up to
        another number are a fault.
    limits : Limits or mapping, optional
        What is accepted: see `Limits`.
    options : mapping of measure to mapping, optional
        More arguments of single measures, for instance ``{"suda": {"max_size": 3}}``.
    on_event : callable, optional
        Receives an `Event` for each measure; without one a notebook shows a bar.

    Returns
    -------
    Assessment
        The file is tabulated once. A measure that cannot work on the data is left out, with the
        reason in ``skipped``. Nothing is drawn at random.

    Raises
    ------
    InputError
        All faults of data and arguments together.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"sex": [1, 1, 2, 2], "age": [30, 30, 40, 50], "ill": [0, 0, 1, 0],
    ...                      "w": [50.0, 60.0, 70.0, 20.0]})
    >>> result = assess(data, keys=["sex", "age"], weights="w", sensitive="ill",
    ...                 measures=["k_anonymity", "individual_risk", "l_diversity"])
    >>> result.exceeded["number"].tolist()[:3]
    ['Violations of 3-anonymity', 'Mean individual risk', 'Highest risk of a record']
    """
    faults = Faults("assessment")
    file = as_file(
        data, faults, keys=keys, weights=weights, sensitive=sensitive, numeric=numeric,
        household=household, needs="keys or numbers",
    )  # fmt: skip
    check_treatment(faults, missing, alpha)
    chosen = list(MEASURES) if measures == "all" else list(listed_names(measures))
    _check_options(faults, chosen, options or {})
    accepted = read_limits(faults, limits)
    size = _population_size(faults, file, population_size)
    sizes = _group_sizes(faults, k, accepted)
    faults.raise_if_any()
    counts = counts_of(file, missing, alpha)
    request = AssessRequest(file, counts, size, sizes, accepted, options or {})
    results, skipped, measured = measure_file(request, chosen, on_event)
    measurements = tuple(one for _, one in measured)
    verdict = _verdict(request, results, skipped, measurements)
    return Assessment(
        table=_table(measured),
        results=MappingProxyType(results),
        skipped=MappingProxyType(skipped),
        measurements=measurements,
        verdict=verdict,
        keys=file.roles.keys,
        sensitive=file.roles.sensitive,
        numeric=file.roles.numeric,
        n_records=len(file),
        population_size=size,
        limits=accepted,
    )


def _verdict(
    request: AssessRequest,
    results: Mapping[str, Any],
    skipped: Mapping[str, str],
    measurements: Sequence[Measurement],
) -> ReleaseVerdict:
    """Judge the limits, and what all columns of the file give away."""
    said = request.file.roles
    weights = said.weight if said.weight in request.frame else None
    named = (*said.keys, *said.sensitive, *said.numeric, weights, said.household)
    roles = {name for name in named if name is not None}
    found = file_evidence(
        request.frame, said.keys, roles=roles, weights=weights, household=said.household,
        k=request.limits.k or 3,
    )  # fmt: skip
    found += recovery_evidence(results.get("recovery"))
    left_out = [
        message("{title} was left out: {why}", title=MEASURES[name].title, why=why)
        for name, why in skipped.items()
        if (said.keys if MEASURES[name].of_keys else said.numeric)
    ]
    if not said.numeric and any(not MEASURES[name].of_keys for name in skipped):
        left_out.append(message("no numeric key is named: what amounts give away was not tried"))
    if not said.keys:
        left_out.append(message(
            "no categorical key is named: what an intruder finds by region, industry or size was "
            "not tried"
        ))  # fmt: skip
    open_ends = [*left_out, *columns_not_tried(request.frame, roles)]
    return verdict_of(found, measurements, not_tried=open_ends)


def _check_options(faults: Faults, measures: Sequence[str], options: Mapping[str, Any]) -> None:
    for name in measures:
        check_choice(faults, "measures", name, MEASURES)
    for name, arguments in options.items():
        check_choice(faults, "options", name, MEASURES)
        if not isinstance(arguments, Mapping):
            faults.add(f"options.{name}", f"is {arguments!r}", hint="Give argument = value.")
            continue
        for argument in arguments if name in MEASURES else ():
            check_choice(faults, f"options.{name}", argument, MEASURES[name].options)


def _group_sizes(faults: Faults, k: Any, limits: Limits) -> tuple[int, ...]:
    """Return the sizes of groups that are counted, with that of the limit, in order."""
    sizes = {*(k if isinstance(k, Iterable) else [k]), limits.k} - {None}
    if not all(Whole(1).allows(size) for size in sizes):
        faults.add("k", f"is {k!r}", hint="Give whole numbers from 1 on.")
        return ()
    return tuple(sorted(int(one) for one in sizes if one is not None))


COLUMNS = (
    "measure", "number", "name", "target", "value", "unit", "records", "lower", "upper", "limit",
    "within", "meaning", "note", "limit_source", "source",
)  # fmt: skip


def measure_file(
    request: AssessRequest, chosen: Sequence[str], on_event: Listener | None = None
) -> tuple[dict[str, object], dict[str, str], list[tuple[str, Measurement]]]:
    """Run measures: results, reasons of those left out, and pairs (measure, number).

    A number that two measures give is there once.
    """
    results: dict[str, object] = {}
    skipped: dict[str, str] = {}
    measured: dict[str, tuple[str, Measurement]] = {}
    listen = listener_of(on_event)
    for number, name in enumerate(chosen):
        listen(Event("progress", "assess", number, len(chosen), name))
        _run_measure(request, name, results, skipped, measured)
    listen(Event("end", "assess", len(chosen), len(chosen)))
    return results, skipped, list(measured.values())


def _run_measure(
    request: AssessRequest,
    name: str,
    results: dict[str, object],
    skipped: dict[str, str],
    measured: dict[str, tuple[str, Measurement]],
) -> None:
    """Add the result and the numbers of one measure, or the reason why it was left out."""
    measure = MEASURES[name]
    lacking = _lacking(request, measure)
    if lacking:
        skipped[name] = lacking
        return
    try:
        result = measure.run(request)
        numbers = measure.measurements(result, request)
    except MicrodataError as error:
        skipped[name] = " ".join(str(error).split())
        return
    results[name] = result
    for one in numbers:
        measured.setdefault(one.key, (name, one))


def file_measurements(
    file: Microdata,
    *,
    kind: str,
    limits: Limits | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    numbers: Collection[str] | None = None,
) -> list[Measurement]:
    """Run the measures that comparisons and sessions run on every file.

    Without limits nothing is judged; with `numbers`, measures that give none of them are not run.
    What cannot be measured has no value and the reason as note.
    """
    accepted = limits or Limits(**dict.fromkeys(LIMITS))
    request = AssessRequest(
        file=file,
        counts=counts_of(file, "wildcard", 1.0),
        population_size=_weighted_size(file),
        k=tuple(sorted({2, 3, 5, accepted.k or 3})),
        limits=accepted,
        options=options or {},
        kind=kind,
    )
    wanted = None if numbers is None else {name.partition(":")[0] for name in numbers}
    chosen = [
        name
        for name, measure in MEASURES.items()
        if (measure.compared if file.roles.keys else not measure.of_keys)
        and (
            wanted is None
            or not measure.infos
            or any(info.name in wanted for info in measure.infos)
        )
    ]
    _, skipped, measured = measure_file(request, chosen)
    not_run = []
    for name, why in skipped.items():
        measure = MEASURES[name]
        if not _lacking(request, measure):
            targets = request.sensitive if "sensitive" in measure.needs else ("",)
            not_run += not_measured(measure.infos, why, targets)
    return [one for _, one in measured] + not_run


def _lacking(request: AssessRequest, measure: Measure) -> str:
    """Why a measure cannot run on this request; empty when it can."""
    available = {
        "keys": bool(request.file.roles.keys),
        "weights": request.file.weights is not None,
        "household": request.file.roles.household is not None,
        "sensitive": bool(request.file.roles.sensitive),
        "numeric": bool(request.file.roles.numeric),
        "population": request.population_size is not None,
        "alpha": request.limits.alpha is not None,
    }
    for need in (*(("keys",) if measure.of_keys else ()), *measure.needs):
        if not available[need]:
            return message("it needs {needs}.", needs=message(NEEDS[need]))
    return ""


def _table(measured: Sequence[tuple[str, Measurement]]) -> pd.DataFrame:
    table = measurement_table(one for _, one in measured)
    table = table.rename(columns={"title": "number"}).assign(measure=[name for name, _ in measured])
    return table[list(COLUMNS)]


def _weighted_size(file: Microdata) -> float | None:
    return None if file.weights is None else max(float(np.sum(file.weights)), len(file))


def _population_size(faults: Faults, file: Microdata, value: float | None) -> float | None:
    n, values = len(file), file.weights
    if value is None:
        return _weighted_size(file)
    if not isinstance(value, (int, float)) or value < n:
        faults.add(
            "population_size", f"is {value!r} for {plural(n, 'record')}", hint="It is at least n."
        )
        return None
    size = float(value)
    total = float("nan") if values is None else float(np.sum(values))
    if abs(total - size) > 0.1 * size:
        faults.add(
            "population_size",
            f"is {count(size)}, but the weights add up to {count(total)}",
            hint="Scale the weights to the population, or leave out population_size.",
        )
    return size
