"""Known totals: what calibration, annealing and the allotment to areas met, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthpop.figures.names import FigureNames
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.suppression import SMALLEST_COUNT
from synthpop.microdata.messages.text import change, count, formatted, number, percent, plural
from synthpop.microdata.pages.page_facts import table
from synthpop.population.manifest import StepRecord, SurveyStepRecord
from synthpop.population.population import Population
from synthpop.report.stored import StoredCalibration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CELLS, MOST_REGIONS, MOST_VARIABLES = 12, 40, 15
EXACT, HALF = 1e-9, 0.5
HEADS = {
    "margin": "Table", "cell": "Cell", "area": "Area", "target": message("Known total"),
    "before": "Before", "achieved": "Reached",
}  # fmt: skip
LARGEST_ERRORS = "Known totals with the largest errors"


def totals_facts(
    calibration: Any, population: Population | None, names: FigureNames, external: bool
) -> dict[str, object] | None:
    """Return the section on known totals: its parts; None where there were none.

    external: totals below 5 are not shown, and no ratio of a single person's weights
    """
    manifest = None if population is None else population.manifest
    prepared = () if manifest is None else manifest.prepared
    parts = [prepared_part(item, names, external) for item in prepared]
    errors: list[float] = []
    if calibration is not None:
        parts.append(_calibration(StoredCalibration.of(calibration), external))
        errors.append(_Cells(calibration.margins, external).largest_error())
    for place, step in enumerate(() if manifest is None else manifest.steps):
        parts.append(_step(step, place, names, external))
        errors.append(_Cells(pd.DataFrame(step.margins), external).largest_error())
    if not parts:
        return None
    finished = None if manifest is None else manifest.finished
    return {
        "parts": parts,
        "memory": "" if finished is None else finished.summary,
        "largest_error": errors[-1] if errors else None,
    }


def totals_pictures(population: Population | None) -> dict[str, Figure]:
    """Return the trace of the objective of each annealing."""
    steps = () if population is None else population.manifest.steps
    pictures = {}
    for place, step in enumerate(steps):
        trace = pd.DataFrame(step.details.get("trace", {}))
        if len(trace):
            from synthpop.figures.objective_trace import objective_trace

            pictures[f"trace {place}"] = objective_trace(trace)
    return pictures


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of known totals and how far the result is from them."""

    table: pd.DataFrame
    external: bool

    @property
    def target(self) -> np.ndarray:
        return self.table["target"].to_numpy(dtype=np.float64)

    @property
    def gap(self) -> np.ndarray:
        return self.table["achieved"].to_numpy(dtype=np.float64) - self.target

    @property
    def relative(self) -> np.ndarray:
        """Relative error of each cell; NaN where the target is 0."""
        error = np.full(len(self.table), np.nan)
        np.divide(self.gap, np.abs(self.target), out=error, where=self.target != 0)
        return error

    @property
    def shown(self) -> np.ndarray:
        """Cells that may be named."""
        n = len(self.table)
        return np.abs(self.target) >= SMALLEST_COUNT if self.external else np.ones(n, dtype=bool)

    def met(self, relative: float, absolute: float) -> int:
        """Return how many targets are met within either tolerance."""
        return int((np.abs(self.gap) <= np.maximum(relative * np.abs(self.target), absolute)).sum())

    def largest_error(self) -> float:
        """Return the largest relative error, half a unit being none; infinite for a missed 0."""
        gap = np.where(np.abs(self.gap) <= HALF, 0.0, np.abs(self.gap))
        size = np.abs(self.target)
        error = np.divide(gap, size, out=np.where(gap > 0, np.inf, 0.0), where=size > 0)
        return float(error.max(initial=0.0))

    def order(self) -> np.ndarray:
        """Positions of the cells that may be named, the largest relative error first."""
        size = np.where(self.target != 0, np.abs(self.relative), np.where(self.gap, np.inf, 0.0))
        order = np.lexsort([-np.abs(self.gap), -size])
        return order[self.shown[order]]

    def largest(self) -> str:
        """Return the largest relative error in a sentence."""
        order = self.order()
        if not len(order):
            return message("All totals are too small to be named.")
        k = int(order[0])
        row = self.table.iloc[k]
        where = "" if self.shown.all() else (" " + message("of the cells that may be shown"))
        cell, reached = (
            f"{row['margin']}: {row['cell']}",
            message("reached {n}", n=number(row["achieved"], 4)),
        )
        if self.target[k] == 0 and self.gap[k] != 0:
            return message(
                "A total of 0 is not met: {cell}, {reached}.", cell=cell, reached=reached
            )
        if self.gap[k] == 0:
            return message("The largest relative error{where} is 0.", where=where)
        return message(
            "The largest relative error{where} is {relative}, at {cell} (target {target}, "
            "{reached}).",
            where=where,
            relative=_error(self.relative[k]),
            cell=cell,
            target=number(row["target"], 4),
            reached=reached,
        )

    def grid(self) -> dict[str, object]:
        """Return the table of the cells with the largest errors."""
        texts = [name for name in ("margin", "cell", "area") if name in self.table]
        numbers = [name for name in ("target", "before", "achieved") if name in self.table]
        order = self.order()
        rows = []
        for k in order[np.abs(self.gap[order]) > EXACT][:MOST_CELLS].tolist():
            row = self.table.iloc[k]
            figures = [number(row[name], 4) for name in numbers]
            rows.append([*(str(row[name]) for name in texts), *figures, _error(self.relative[k])])
        head = [*(HEADS[name] for name in (*texts, *numbers)), message("Relative error")]
        return table(head, rows, text_columns=len(texts))


def _error(value: float) -> str:
    if not np.isfinite(value):
        return "–"
    if 0 < abs(value) < 0.5e-4:
        return f"{value:.1e}".replace("-", "−")
    return change(value, 2)


def _part(
    title: str, sentences: list[str], tables: Mapping[str, Any] | None = None, picture: str = ""
) -> dict[str, object]:
    """Return a part of the section; `tables` by their captions."""
    captioned = [{"caption": text, "table": grid} for text, grid in (tables or {}).items()]
    return {"title": title, "sentences": sentences, "tables": captioned, "picture": picture}


def _calibration(calibration: StoredCalibration, external: bool) -> dict[str, object]:
    cells = _Cells(calibration.margins, external)
    n_met = cells.met(calibration.tolerance, EXACT)
    sentences = [
        message(
            "The weights of the survey meet {n_met} of {n} within a relative error of "
            "{tolerance}. {largest}",
            n_met=count(n_met),
            n=plural(len(cells.table), "known total"),
            tolerance=formatted(calibration.tolerance, "g"),
            largest=cells.largest(),
        )
    ]
    if not calibration.converged:
        sentences.append(
            message("The iteration did NOT converge: the weights do not meet the given totals.")
        )
    if calibration.margins["importance"].notna().any():
        sentences.append(message("Totals with an importance were balanced against each other."))
    effect, before = number(calibration.design_effect), number(calibration.start_design_effect)
    sentences.append(
        message(
            "The design effect of unequal weights (Kish) is {effect}, previously {before}: "
            "{n_persons} count as {effective_sample_size}.",
            effect=effect,
            before=before,
            n_persons=plural(calibration.n_persons, "survey person"),
            effective_sample_size=count(calibration.effective_sample_size),
        )
    )
    if not external:
        low, high = calibration.g_range
        sentences.append(
            message(
                "Ratios of new to old weights lie between {low} and {high}.",
                low=number(low),
                high=number(high),
            )
        )
    title = message("Calibration of the weights ({method})", method=calibration.method)
    return _part(title, sentences, {LARGEST_ERRORS: cells.grid()})


def _step(step: StepRecord, place: int, names: FigureNames, external: bool) -> dict[str, object]:
    cells = _Cells(pd.DataFrame(step.margins), external)
    total = float(np.abs(cells.target).sum())
    annealed = "trace" in step.details
    name = step.stage.partition(" ")[2]
    title = (
        message("Households exchanged (annealing)")
        if annealed
        else message("Small areas: {name}", name=names.title(name))
    )
    left = message(
        "{gap} ({share} of the totals)",
        gap=number(step.gap),
        share=percent(step.gap / max(total, 1e-300)),
    )
    n_met = message(
        "{n} of {all}", n=count(cells.met(0.0, HALF)), all=plural(len(cells.table), "known total")
    )
    first = message(
        "{n_met} are met to the nearest whole number; absolute differences add up to {left}",
        n_met=n_met,
        left=left,
    )
    if annealed:
        first += ", " + message(
            "previously {gap_before}", gap_before=number(step.details["gap_before"])
        )
    sentences = [f"{first}. {cells.largest()}", _verdict(step)]
    if step.moved_later > 0:
        sentences[0] += " " + message(
            "These numbers are from right after this step: later steps changed them by "
            "{moved_later} in total (the manifest has the cells of the final population).",
            moved_later=number(step.moved_later),
        )
    if not annealed:
        sentences += _scaled(cells.table)
    tables = {LARGEST_ERRORS: cells.grid()}
    if annealed:
        sentences += _changes(step, names)
        tables["Regions"] = _regions(pd.DataFrame(step.details["regions"]))
        tables[message("Change of the variables")] = _distances(step, names)
    picture = f"trace {place}" if annealed and len(step.details["trace"].get("region", ())) else ""
    return _part(title, sentences, tables, picture)


def _scaled(cells: pd.DataFrame) -> list[str]:
    """Return how far the given totals of areas are from those of the regions' population."""
    sums = cells.groupby(["margin", "region", "cell"])[["given", "target"]].sum()
    off = (sums["given"] / sums["target"] - 1.0).abs()
    off = off[np.isfinite(off)]
    if off.empty or off.max() == 0:
        return []
    return [
        message(
            "The known totals of the areas were scaled to the households and persons of "
            "each region, by up to {max}; the table shows the scaled totals.",
            max=percent(float(off.max())),
        )
    ]


def _verdict(step: StepRecord) -> str:
    limit = message("no differences")
    if step.tolerance:
        limit = message(
            "differences of at most {tolerance} of the totals", tolerance=percent(step.tolerance)
        )
    if step.converged:
        return message("The limit in each table and region, {limit}, is met.", limit=limit)
    return message(
        "The limit in each table and region, {limit}, is NOT met everywhere. The "
        "result is the nearest that was found; tables that contradict each other, or "
        "cells without households, cannot be met.",
        limit=limit,
    )


def _changes(step: StepRecord, names: FigureNames) -> list[str]:
    regions = pd.DataFrame(step.details["regions"])
    exchanged, households = int(regions["exchanged"].sum()), int(regions["households"].sum())
    sentences = [
        message(
            "{exchanged} of {households} were exchanged; every household is one that was "
            "simulated, with all its members.",
            exchanged=count(exchanged),
            households=plural(households, "household"),
        )
    ]
    changes = pd.DataFrame(step.details["distances"])
    free = changes[~changes["controlled"].astype(bool)]
    if len(free):
        worst = free.iloc[int(np.argmax(free["distance"].to_numpy()))]
        sentences.append(
            message(
                "Of the variables without a known total, {variable} changed most: distance "
                "{distance} between before and after.",
                variable=names.short(str(worst["variable"])),
                distance=percent(worst["distance"]),
            )
        )
    return sentences


def _regions(regions: pd.DataFrame) -> dict[str, object]:
    order = np.argsort(-regions["gap_after"].to_numpy(dtype=float), kind="stable")
    places = sorted(order[:MOST_REGIONS].tolist())
    rows = [
        [str(row["region"]), count(row["households"]), count(row["exchanged"]),
         number(row["gap_before"]), number(row["gap_after"]), "yes" if row["converged"] else "no"]
        for row in regions.iloc[places].to_dict("records")
    ]  # fmt: skip
    if len(regions) > len(rows):
        rows.append(
            [
                message("and {n} with smaller differences", n=count(len(regions) - len(rows))),
                "",
                "",
                "",
                "",
                "",
            ]
        )
    head = ["Region", "Households", "Exchanged", message("Differences before"), "after", "Met"]
    return table(head, rows)


def _distances(step: StepRecord, names: FigureNames) -> dict[str, object]:
    changes = pd.DataFrame(step.details["distances"])
    order = np.argsort(-changes["distance"].to_numpy(dtype=float), kind="stable")
    rows = [
        [names.title(str(row["variable"])), "yes" if row["controlled"] else "no",
         str(row["measure"]), percent(row["distance"])]
        for row in changes.iloc[order[:MOST_VARIABLES]].to_dict("records")
    ]  # fmt: skip
    return table(
        ["Variable", message("Has a known total"), "Measure", "Distance"], rows, text_columns=3
    )


def prepared_part(
    record: SurveyStepRecord, names: FigureNames, external: bool
) -> dict[str, object]:
    """Say what a step on the survey did."""
    describe = PREPARED.get(record.stage.partition(" ")[0])
    if describe is None:  # a stage of somebody else
        text = (
            message("This step changed the survey before the fit.") if external else record.summary
        )
        return _part(record.stage, [text])
    return describe(record, names, external)


def _calibrated_coarsely(
    step: SurveyStepRecord, names: FigureNames, external: bool
) -> dict[str, object]:
    """Say which coarse tables of the known totals the weights of the survey meet."""
    record = step.details
    text = message(
        "The weights of the survey were left unchanged: {reason}.", reason=record.get("note")
    )
    if record["calibrated"]:
        before, after = record["design_effect_before"], record["design_effect"]
        text = message(
            "The weights of the survey meet {calibrated}; the design effect of unequal "
            "weights (Kish) is {after}, previously {before}. The finer tables are met by "
            "exchanging households of the population.",
            calibrated=", ".join(record["calibrated"]),
            after=number(after),
            before=number(before),
        )
    sentences = [text]
    if "factor" in record:
        scale, factor = number(record["scale"]), record["factor"]
        sentences.append(
            message(
                (
                    "The totals are those of the country and were scaled with the population, by "
                    "{scale}."
                )
                if factor != 1
                else ("The totals were taken as those of a population of scale {scale}."),
                scale=scale,
            )
        )
    return _part(message("Known totals: weights of the survey"), sentences)


def _imputed(record: SurveyStepRecord, names: FigureNames, external: bool) -> dict[str, object]:
    """Say which missing values were filled; counts of survey persons stay inside."""
    variables = record.details["variables"]
    titles = [names.title(str(row["variable"])) for row in variables]
    sentences = [
        message(
            "Missing values of the survey were imputed from similar rows before the fit, "
            "and count as observed from then on."
        )
    ]
    tables = {}
    if not external:
        rows = [
            [title, *(count(row[key]) for key in ("n_missing", "n_imputed", "n_left_missing"))]
            for title, row in zip(titles, variables, strict=True)
        ]
        head = ["Variable", message("Missing values"), "Filled", message("Left missing")]
        tables[message("Missing values")] = table(head, rows)
    return _part(
        message("Missing values filled: {titles}", titles=", ".join(titles)), sentences, tables
    )


def _heaps(step: SurveyStepRecord, names: FigureNames, external: bool) -> dict[str, object]:
    name, record = step.stage.partition(" ")[2], step.details
    before, after = record["weighted_whipple_before"], record["weighted_whipple_after"]
    sentences = [
        message(
            "{n} ages of the survey were corrected before the fit. Whipple's index "
            "(weighted) fell from {before} to {after}: 100 means no preference for ages "
            "that end in 0 or 5, 500 that all do.",
            n=count(record["n_changed"]),
            before=number(before),
            after=number(after),
        )
    ]
    tables = {}
    if not external:
        rows = [
            [number(age), count(n), number(expected), count(moved)]
            for age, n, expected, moved in zip(
                *(record["heaps"][key] for key in ("age", "persons", "expected", "moved")),
                strict=True,
            )
        ]
        head = ["Age", message("Survey persons"), message("Mean of the neighbouring ages"), "Moved"]
        tables["Heaps"] = table(head, rows)
    return _part(message("Heaped ages: {name}", name=names.title(name)), sentences, tables)


PREPARED = {
    "correct_heaping": _heaps, "impute": _imputed, "known_totals": _calibrated_coarsely,
}  # fmt: skip
"""Kind of a step on the survey -> what the page says of it."""
