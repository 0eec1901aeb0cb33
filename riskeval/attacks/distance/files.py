"""What the attacks by distance read: files checked, units drawn, progress reported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.distance.space import Points, Space, as_points, draw_households
from riskeval.attacks.prediction.features import check_size
from riskeval.attacks.request import AttackRequest, check_households
from riskeval.attacks.strangers import overlap_of
from riskeval.attacks.targets import units_of
from riskeval.attacks.values import codes_note
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import SHARE, Whole, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.runs.chunks import draw_records
from synthpop.microdata.statistics.distances import known_ranges
from synthpop.microdata.statistics.streams import Streams, resolve_seed

HONOURED = ("unit", "household", "who", "categorical")
"""Fields of a Scenario that the attacks by distance follow, or say that they do not."""


class Progress:
    """Reports rows done to a listener."""

    def __init__(self, job: str, total: int, on_event: Listener | None) -> None:
        self.job, self.total, self.done = job, total, 0
        self.listener = on_event or silent
        self.listener(Event("start", job, 0, total, "comparing"))

    def step(self, rows: int) -> None:
        """Note that so many rows are done."""
        self.done += rows
        self.listener(Event("progress", self.job, self.done, self.total, "comparing"))

    def end(self) -> None:
        """Say that all is done."""
        self.listener(Event("end", self.job, self.total, self.total))


def check_numbers(faults: Faults, confidence: object, **counts: object) -> None:
    """Note a confidence outside (0, 1) and counts below 1."""
    check(faults, dict.fromkeys(counts, Whole(1)), counts)
    check(faults, {"confidence": SHARE}, {"confidence": confidence})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NearnessFiles:
    """The files of an attack by distance, as they are and as points."""

    request: AttackRequest
    frames: dict[str, pd.DataFrame]  # "original", "holdout" where it is given, "synthetic"
    positions: np.ndarray  # which units of the synthetic file were drawn
    points: dict[str, Points]
    weights: tuple[np.ndarray, np.ndarray]  # of numbers and of codes
    notes: list[str]
    overlap: str  # that the hold-out holds no strangers; empty where nothing shows it
    streams: Streams

    def about(self, *notes: str) -> dict[str, Any]:
        """What every result says of the request: also what of a scenario has no part here."""
        request, footnote = self.request, self.request.footnote
        if footnote:
            footnote += " " + message("Everybody is judged, whomever the scenario looks for.")
        return {
            "unit": request.unit, "seed": self.streams.seed, "variables": request.variables,
            "notes": (*self.notes, *notes), "footnote": footnote,
        }  # fmt: skip


def read_nearness(
    faults: Faults,
    request: AttackRequest,
    real: dict[str, Any],
    synthetic: Any,
    *,
    least: dict[str, int],
    most_synthetic: int,
    seed: int | None,
) -> NearnessFiles:
    """Check the files of real persons, draw synthetic units, bring all to the same points.

    real: files of real persons by role
    least: how many units of a role are wanted; 1 where it is not named
    """
    names = as_names(faults, request.variables, "variables")
    frames = {role: as_frame(file, role) for role, file in real.items()}
    for role, frame in frames.items():
        check_columns(faults, frame, names, f"variable of the {role}")
        check_size(faults, frame, names, role)
        if request.household is not None:
            check_households(faults, frame, request.household, role)
        if len(frame) < least.get(role, 1):
            faults.add(role, f"{plural(len(frame), 'record is', 'records are')} too few")
    faults.raise_if_any()
    streams = Streams(resolve_seed(seed))
    frames["synthetic"], positions = draw_synthetic(synthetic, request, most_synthetic, streams)
    points, weights = as_points(frames, request)
    for role, n in least.items():
        if len(points[role]) < n:
            what = f"{plural(len(points[role]), 'household is', 'households are')} too few"
            raise InputError.of("distance", role, what)
    return NearnessFiles(
        request=request,
        frames=frames,
        positions=positions,
        points=points,
        weights=weights,
        notes=codes_note(frames["original"], names, request.categorical, "by its gap"),
        overlap=overlap_of(frames["original"], frames.get("holdout"), names, request.categorical),
        streams=streams,
    )


def draw_synthetic(
    synthetic: Any, request: AttackRequest, most: int, streams: Streams
) -> tuple[pd.DataFrame, np.ndarray]:
    """Synthetic records or households drawn at random, and which of the file they are."""
    names, rng = request.variables, streams.at("synthetic", "draw")
    if request.household is None:
        drawn = draw_records(synthetic, "synthetic", names, most, rng)
        positions = drawn.index.to_numpy()
    else:
        drawn, positions = draw_households(
            synthetic, "synthetic", names, request.household, most, rng
        )
    faults = Faults("synthetic")
    if len(drawn) == 0:
        faults.add("synthetic", "has no records")
    check_size(faults, drawn, names, "synthetic file")
    faults.raise_if_any()
    return drawn, positions


def without_constants(
    points: Points, weights: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of 0 for variables with one value in a file, unless no variable varies.

    Examples
    --------
    >>> points = Points(np.array([[1.0, 5.0], [2.0, 5.0]]), np.zeros((2, 1), dtype=np.int64))
    >>> without_constants(points, (np.ones(2), np.ones(1)))
    (array([1., 0.]), array([0.]))
    """
    codes = np.where(points.codes < 0, np.nan, points.codes.astype(np.float64))
    varying = [known_ranges(columns) > 0 for columns in (points.numbers, codes)]
    if not any(columns.any() for columns in varying):
        return weights
    return weights[0] * varying[0], weights[1] * varying[1]


def members_nearest(
    files: NearnessFiles, drawn: dict[str, np.ndarray], base: str, workers: int
) -> list[np.ndarray]:
    """Mean distance of members of households to the nearest other persons of `base`, by file."""
    request = files.request
    persons, weights = as_points(files.frames, replace(request, household=None))
    if base == "synthetic":
        weights = without_constants(persons[base], weights)
    space = Space(persons, weights, len(request.needed), workers=workers)
    means = []
    for role, chosen in drawn.items():
        unit = units_of(files.frames[role], request.household)
        rows = np.flatnonzero(np.isin(unit, chosen))
        near = space.nearest(base, role, rows, leave_out=role == base)[:, 0]
        total = np.bincount(unit[rows], weights=near, minlength=int(unit.max()) + 1)
        size = np.bincount(unit[rows], minlength=len(total))
        means.append((total / np.maximum(size, 1))[chosen])
    return means
