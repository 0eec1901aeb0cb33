"""What a report says, stored beside a population: its page can be written again without a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.evaluation.result import FitReport
from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.statistics.intervals import interval_of_mean
from synthpop.report.risk_records import key_combinations, key_contributions, riskiest_records

FILE = "report-facts.json"
VERSION = 2


@dataclass(frozen=True, slots=True)
class SurveySize:
    """How large the survey is: what a page says of it."""

    n_households: int
    total_weight: float


@dataclass(frozen=True, slots=True)
class StoredRisk:
    """A result of the intruder scenarios: its table and what it says of itself."""

    table: pd.DataFrame
    keys: tuple[str, ...]
    target: str
    text: str
    riskiest: pd.DataFrame | None = None  # see `synthpop.report.risk_records`
    contributions: pd.DataFrame | None = None  # see `synthpop.report.risk_records`
    # what of single survey persons the population repeats: kind, n, copied, by_chance
    copies: pd.DataFrame | None = None
    combinations: pd.DataFrame | None = None  # see `synthpop.report.risk_records`

    def summary(self) -> str:
        """Return what the scenarios found."""
        return self.text


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration without its weights."""

    margins: pd.DataFrame
    method: str
    tolerance: float
    converged: bool
    design_effect: float
    start_design_effect: float
    effective_sample_size: float
    n_persons: int
    g_range: tuple[float, float]  # (float, float): smallest and largest ratio of new to old weight

    @classmethod
    def of(cls, result: Any) -> StoredCalibration:
        """Return the record of a `Calibration`; a record as it is."""
        if isinstance(result, cls):
            return result
        return cls(
            result.margins, result.method, float(result.tolerance), bool(result.converged),
            float(result.design_effect), float(result.start_design_effect),
            float(result.effective_sample_size), len(result.weights),
            (float(result.g.min()), float(result.g.max())),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredReport:
    """Everything that a page on a population is made from, but the population itself."""

    fit: FitReport
    survey: SurveySize
    risk: StoredRisk | None = None
    calibration: StoredCalibration | None = None
    title: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)


def stored_risk(
    risk: Any, frame: pd.DataFrame, copies: pd.DataFrame | None = None
) -> StoredRisk | None:
    """Return the record of results of the intruder scenarios: one, or one a replicate."""
    if risk is None or isinstance(risk, StoredRisk):
        return risk
    risk, *further = risk if isinstance(risk, (list, tuple)) else [risk]
    keys = tuple(map(str, getattr(risk, "keys", ())))
    riskiest = riskiest_records(risk, frame)
    contributions = combinations = None
    if riskiest is not None:
        names = [name for name in keys if name in frame]
        contributions = key_contributions(frame, names)
        records = (riskiest["record"] - 1).tolist()
        combinations, riskiest["singled_out_by"] = key_combinations(frame, names, records)
    target = str(getattr(risk, "target", ""))
    table = _over_replicates([risk.table, *(replicate.table for replicate in further)])
    return StoredRisk(
        table, keys, target, risk.summary(), riskiest, contributions, copies, combinations
    )


def _over_replicates(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Add mean and interval of what a scenario finds over populations of the same fit."""
    first = tables[0]
    if len(tables) == 1:
        return first
    correlations = np.stack([table["tau"].to_numpy(dtype=np.float64) for table in tables])
    mean, low, high = interval_of_mean(correlations)
    return first.assign(
        tau_mean=mean, tau_low=np.clip(low, 0, None), tau_high=high, populations=len(tables)
    )


def store_report(folder: Place | str, report: StoredReport) -> Place:
    """Write the facts of a report beside a population, readable by the user alone: small cells too.

    Raises OutputError: the file cannot be written.
    """
    path = place(folder) / FILE
    tables = dict(report.fit.tables)
    if "by" in tables["curves"]:  # curves inside groups are for figures, no page shows them
        tables["curves"] = tables["curves"][tables["curves"]["by"] == ""]
    report = replace(report, fit=replace(report.fit, tables=tables))
    data = {"version": VERSION, **{f.name: _plain(getattr(report, f.name)) for f in fields(report)}}
    write_text(path, json.dumps(with_hash(data), ensure_ascii=False), private=True)
    return path


def load_report(folder: Place | str) -> StoredReport:
    """Read what `store_report` wrote.

    Raises OutputError: there is no such file, or it is damaged.
    """
    path = place(folder) / FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] == 1:  # without a hash
            raise OutputError(f"{path} was written by another version: run the run file again.")
        data = without_hash(data)
        if data.pop("version") != VERSION:
            raise OutputError(f"{path} was written by another version: run the run file again.")
        values = {name: _read(value) for name, value in data.items()}
        kinds = {"fit": FitReport, "survey": SurveySize, "risk": StoredRisk,
                 "calibration": StoredCalibration}  # fmt: skip
        for name, kind in kinds.items():
            if values[name] is not None:
                values[name] = kind(**values[name])
        return StoredReport(**values)
    except FileNotFoundError:
        text = f"{path} is missing: run the run file again to write it."
        raise OutputError(text) from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise OutputError(f"{path} cannot be read: {problem}") from None


def _plain(value: Any) -> Any:
    """Return JSON values; tables, tuples and records are tagged."""
    if isinstance(value, pd.DataFrame):
        return {"columns": [[str(name), _kind(value[name]), _cells(value[name])] for name in value]}
    if hasattr(value, "__dataclass_fields__"):
        return {"fields": {f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Mapping):
        return {"map": [[str(key), _plain(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is pd.NA:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _kind(column: pd.Series) -> str:
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    return {"f": "float64", "i": "int64", "b": "bool"}.get(kind, "object")


def _cells(column: pd.Series) -> list[Any]:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return list(column.tolist())
    return [_plain(value) for value in column.astype(object).tolist()]


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "columns":
        return pd.DataFrame(
            {name: pd.Series([_read(x) for x in cells], dtype=kind)
             for name, kind, cells in content}
        )  # fmt: skip
    if tag == "tuple":
        return tuple(_read(item) for item in content)
    if tag == "fields":
        return {name: _read(item) for name, item in content.items()}
    return {name: _read(item) for name, item in content}
