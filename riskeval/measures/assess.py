"""One call over all measures of categorical keys: `assess`, and `assess_file` for a run file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.keys.table import read_keys, read_weights, tabulate
from riskeval.measures.frequencies import count_keys
from riskeval.measures.l_diversity import read_sensitive
from riskeval.measures.registry import MEASURES
from riskeval.measures.request import Headline, Limits, Measure, Request, check_limit
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import (
    Faults,
    MicrodataError,
    OutputError,
)
from synthpop.microdata.results import Result
from synthpop.microdata.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODULES = {"suda": "riskeval.measures.suda", "loglinear": "riskeval.measures.loglinear.model"}


WORDS = {
    "sensitive": "sensitive variables",
    "population": "weights or the size of the population",
    "alpha": "a limit alpha",
}


@dataclass(frozen=True, slots=True, eq=False)
class Assessment(Result):
    """Everything that was measured, number by number.

    Attributes
    ----------
    table : DataFrame
        One row a number: ``measure``, ``number`` (its name), ``value``, ``limit``, ``within``
        (True, False, or missing where nothing is asked), ``meaning`` and ``limit_source``.
    results : mapping of str to result
        Result of each measure, under its name in the registry.
    skipped : mapping of str to str
        Measures that were left out, with the reason.
    keys, sensitive : tuple of str
    n_records : int
    population_size : float or None
    limits : Limits
    """

    table: pd.DataFrame
    results: Mapping[str, Any]
    skipped: Mapping[str, str]
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    n_records: int
    population_size: float | None
    limits: Limits

    @property
    def exceeded(self) -> pd.DataFrame:
        """Rows of `table` whose limit is not kept."""
        return self.table[[within is False for within in self.table["within"]]]

    def to_frame(self) -> pd.DataFrame:
        """`table`."""
        return self.table

    def summary(self) -> str:
        """Return which limits are kept, then the sentence of each measure."""
        asked = sum(within is not None for within in self.table["within"])
        broken = self.exceeded
        lines = [
            f"{plural(self.n_records, 'record')}, keys {', '.join(self.keys)}: "
            f"{asked - len(broken)} of {asked} limits are kept."
            + ("" if broken.empty else f" Not kept: {'; '.join(broken['number'])}.")
        ]
        for name, result in self.results.items():
            lines.append(f"{MEASURES[name].title}: {result.summary()}")
        lines += [
            f"{MEASURES[name].title} was left out: {why}" for name, why in self.skipped.items()
        ]
        return "\n".join(lines)

    def to_markdown(self) -> str:
        """Return a summary page: each measure with its question, numbers and sentence.

        The page holds counts and means only, nothing of single records.
        """
        parts = ["# Disclosure risk of the categorical keys", "", self.summary().splitlines()[0]]
        for name, result in self.results.items():
            measure = MEASURES[name]
            parts += ["", f"## {measure.title}", "", f"*{measure.question}*", ""]
            parts += [
                "| number | value | limit | kept | meaning |",
                "| --- | ---: | ---: | --- | --- |",
            ]
            for row in self.table[self.table["measure"] == name].to_dict("records"):
                parts.append(_markdown_row(row))
            parts += ["", result.summary(), "", f"Source: {measure.source}."]
        if self.skipped:
            parts += ["", "## Left out", ""]
            parts += [f"* {MEASURES[name].title}: {why}" for name, why in self.skipped.items()]
        return "\n".join(parts) + "\n"

    def figures(self) -> dict[str, Figure]:
        """Return the figures that the results allow, as matplotlib figures by name.

        ``risk_distribution``, ``sample_against_population`` (with weights), ``cell_sizes`` and
        ``suda_by_record``.
        """
        from riskeval.measures import figures

        drawn: dict[str, Figure] = {}
        if "individual_risk" in self.results:
            drawn["risk_distribution"] = figures.risk_distribution(self.results["individual_risk"])
        if "frequencies" in self.results:
            counts = self.results["frequencies"]
            if counts.weighted:
                drawn["sample_against_population"] = figures.sample_against_population(counts)
            drawn["cell_sizes"] = figures.cell_sizes(counts)
        if "suda" in self.results:
            drawn["suda_by_record"] = figures.suda_by_record(self.results["suda"])
        return drawn

    def save(self, folder: Path | str) -> Path:
        """Write the page, the table and the figures into a new or empty folder.

        Parameters
        ----------
        folder : path

        Returns
        -------
        Path
            The folder, with ``risk.md``, ``risk.csv`` and one PNG a figure. Page and table hold
            totals only; the figures show distinct keys and records as points, without names.

        Raises
        ------
        OutputError
            The folder holds something already. Nothing is written then.
        """
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise OutputError(f"{target} holds something already: name a new or an empty folder.")
        target.parent.mkdir(parents=True, exist_ok=True)
        from matplotlib import rc_context

        from synthpop.microdata.pictures import RC

        drawn = self.figures()
        with TemporaryDirectory(dir=target.parent) as workshop:
            made = Path(workshop) / "made"
            made.mkdir()
            pictures = "".join(f"\n![{name}]({name}.png)\n" for name in drawn)
            (made / "risk.md").write_text(self.to_markdown() + pictures, encoding="utf-8")
            self.table.to_csv(made / "risk.csv", index=False)
            with rc_context(RC):
                for name, figure in drawn.items():
                    figure.savefig(made / f"{name}.png", dpi=150)
            if target.exists():
                target.rmdir()
            made.rename(target)
        return target


def assess(
    data: Any,
    *,
    keys: Sequence[str],
    weights: Any = None,
    household: str | None = None,
    sensitive: str | Sequence[str] = (),
    measures: str | Sequence[str] = "all",
    k: int | Sequence[int] = (2, 3, 5),
    missing: str = "wildcard",
    alpha: float = 1.0,
    population_size: float | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Assessment:
    """Measure the disclosure risk of a file with categorical keys, by every measure that fits.

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables: what an intruder is thought to know.
    weights : str or array of shape (n,), optional
        Sampling weights. Without them the file counts as the whole population.
    household : str, optional
        Column with the household of each person.
    sensitive : str or sequence of str
        Sensitive variables; without them the measures that need them are left out.
    measures : "all" or sequence of str
        Names in ``riskeval.measures.registry.MEASURES``.
    k : int or sequence of int, default (2, 3, 5)
        For k-anonymity; the k of `limits` is added.
    missing, alpha
        Treatment of missing keys: see `frequency_counts`.
    population_size : float, optional
        Persons of the population; the sum of the weights when not given.
    limits : Limits or mapping, optional
        What is accepted: see `Limits`.
    options : mapping of measure to mapping, optional
        More arguments of single measures, for instance ``{"suda": {"max_size": 3}}``.

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
    ['violations of 3-anonymity', 'global risk', 'highest risk of a record']
    """
    frame = as_frame(data)
    faults = Faults("assessment")
    names = read_keys(faults, frame, keys, missing, alpha)
    values = read_weights(faults, frame, weights)
    nothing = isinstance(sensitive, Sequence) and not len(sensitive)
    variables = () if nothing else read_sensitive(faults, frame, names, sensitive)
    if household is not None:
        check_columns(faults, frame, [household], "household")
    chosen = list(MEASURES) if measures == "all" else _listed(measures)
    for name in chosen:
        check_choice(faults, "measures", name, MEASURES)
    for name, given in (options or {}).items():
        check_choice(faults, "options", name, MEASURES)
        for argument in given if name in MEASURES else ():
            check_choice(faults, f"options.{name}", argument, MEASURES[name].options)
    accepted = _read_limits(faults, limits)
    size = _population_size(faults, len(frame), values, population_size)
    wanted = {*(k if isinstance(k, Iterable) else [k]), accepted.k} - {None}
    if not all(isinstance(one, (int, np.integer)) and one >= 1 for one in wanted):
        faults.add("k", f"is {k!r}", remedy="Give whole numbers from 1 on.")
    faults.raise_if_any()
    request = Request(
        frame=frame,
        keys=names,
        sensitive=variables,
        weights=weights,
        household=household,
        counts=count_keys(tabulate(frame, names, values), missing, alpha, values is not None),
        population_size=size,
        k=tuple(sorted(int(one) for one in wanted if one is not None)),
        limits=accepted,
        options=options or {},
    )
    results, skipped, rows = _run(request, chosen)
    columns = ["measure", "number", "value", "limit", "within", "meaning", "limit_source"]
    return Assessment(
        table=pd.DataFrame(rows, columns=columns),
        results=MappingProxyType(results),
        skipped=MappingProxyType(skipped),
        keys=names,
        sensitive=variables,
        n_records=len(frame),
        population_size=size,
        limits=accepted,
    )


def _run(
    request: Request, chosen: Iterable[str]
) -> tuple[dict[str, Any], dict[str, str], list[tuple[Any, ...]]]:
    results: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    rows: list[tuple[Any, ...]] = []
    for name in chosen:
        measure = MEASURES[name]
        lacking = _lacking(request, name, measure)
        if lacking:
            skipped[name] = lacking
            continue
        try:
            results[name] = measure.run(request)
        except MicrodataError as error:
            skipped[name] = " ".join(str(error).split())
            continue
        rows += [_row(name, headline) for headline in measure.headlines(results[name], request)]
    return results, skipped, rows


def _lacking(request: Request, name: str, measure: Measure) -> str:
    """Why a measure cannot run on this request; empty when it can."""
    there = {
        "weights": request.weights is not None,
        "sensitive": bool(request.sensitive),
        "population": request.population_size is not None,
        "alpha": request.limits.alpha is not None,
    }
    for need in measure.needs:
        if not there[need]:
            return f"it needs {WORDS.get(need, need)}."
    if name in MODULES and find_spec(MODULES[name]) is None:
        return "it is not part of this version."
    return ""


def _row(name: str, headline: Headline) -> tuple[Any, ...]:
    return (
        name,
        headline.name,
        float(headline.value),
        headline.limit,
        headline.within,
        headline.meaning,
        headline.source if headline.limit is not None else "",
    )


def _markdown_row(row: Mapping[Any, Any]) -> str:
    limit = "" if pd.isna(row["limit"]) else f"{row['limit']:g}"
    kept = {True: "yes", False: "**no**"}.get(row["within"], "")
    return f"| {row['number']} | {row['value']:.6g} | {limit} | {kept} | {row['meaning']} |"


def _listed(measures: str | Sequence[str]) -> list[str]:
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        return [measures]
    return list(measures)


def _read_limits(faults: Faults, limits: Limits | Mapping[str, Any] | None) -> Limits:
    if limits is None:
        return Limits()
    if isinstance(limits, Limits):
        given = {field.name: getattr(limits, field.name) for field in fields(Limits)}
    else:
        given = dict(limits)
    allowed = {field.name for field in fields(Limits)}
    for name, value in given.items():
        check_choice(faults, "limits", name, sorted(allowed))
        if name in allowed:
            check_limit(faults, f"limits.{name}", name, value)
    return Limits() if faults else Limits(**given)


def _population_size(
    faults: Faults, n: int, values: np.ndarray | None, given: float | None
) -> float | None:
    if given is None:
        return None if values is None else max(float(np.sum(values)), n)
    if not isinstance(given, (int, float)) or given < n:
        faults.add(
            "population_size", f"is {given!r} for {plural(n, 'record')}", remedy="It is at least n."
        )
        return None
    return float(given)
