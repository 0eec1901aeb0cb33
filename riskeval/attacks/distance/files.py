"""What the attacks by distance read: files checked, units drawn, progress reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.distance.space import (
    Points,
    Space,
    draw_households,
    household_points,
    person_points,
)
from riskeval.attacks.indexer import number_rows
from riskeval.attacks.prediction.features import check_size
from riskeval.attacks.request import AttackRequest, check_households
from riskeval.attacks.targets import units_of
from riskeval.attacks.values import same_kind
from synthpop.microdata.checks import as_frame, check_columns
from synthpop.microdata.chunks import draw_records
from synthpop.microdata.distances import known_ranges
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.parameters import SHARE, Whole, check
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import plural

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


def variables_of(request: AttackRequest) -> tuple[str, ...]:
    """Return the columns that are compared."""
    return (*request.keys, *request.targets)


def footnote_of(request: AttackRequest) -> str:
    """Return the scenario, and what of it has no part here."""
    if not request.story:
        return ""
    return f"{request.footnote} Everybody is judged, whomever the scenario looks for."


def check_numbers(faults: Faults, confidence: object, **counts: object) -> None:
    """Note a confidence outside (0, 1) and counts below 1."""
    check(faults, dict.fromkeys(counts, Whole(1)), counts)
    check(faults, {"confidence": SHARE}, {"confidence": confidence})


def read_frames(
    faults: Faults, parts: dict[str, Any], request: AttackRequest, least: dict[str, int]
) -> dict[str, pd.DataFrame]:
    """Check the files of real persons; raise every fault."""
    names = variables_of(request)
    if not names:
        faults.add("variables", "no column is named")
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            faults.add("variables", f"{name!r} is given {names.count(name)} times")
    frames = {role: as_frame(data, role) for role, data in parts.items()}
    for role, frame in frames.items():
        check_columns(faults, frame, names, f"variable of the {role}")
        check_size(faults, frame, names, role)
        if request.household is not None:
            check_households(faults, frame, request.household, role)
        if len(frame) < least.get(role, 1):
            faults.add(role, f"{plural(len(frame), 'record is', 'records are')} too few")
    faults.raise_if_any()
    return frames


def check_units(points: dict[str, Points], least: dict[str, int]) -> None:
    """Refuse files with too few units."""
    faults = Faults("distance")
    for role, n in least.items():
        if len(points[role]) < n:
            faults.add(
                role, f"{plural(len(points[role]), 'household is', 'households are')} too few"
            )
    faults.raise_if_any()


def draw_synthetic(
    synthetic: Any, request: AttackRequest, most: int, streams: Streams
) -> tuple[pd.DataFrame, np.ndarray]:
    """Synthetic records or households drawn at random, and which of the file they are."""
    faults = Faults("synthetic")
    names, rng = variables_of(request), streams.at("synthetic", "draw")
    if request.household is None:
        drawn = draw_records(synthetic, "synthetic", names, most, rng)
        positions = drawn.index.to_numpy()
    else:
        drawn, positions = draw_households(
            synthetic, "synthetic", names, request.household, most, rng
        )
    if len(drawn) == 0:
        faults.add("synthetic", "has no records")
    check_size(faults, drawn, names, "synthetic file")
    faults.raise_if_any()
    return drawn, positions


def as_points(
    frames: dict[str, pd.DataFrame], request: AttackRequest
) -> tuple[dict[str, Points], tuple[np.ndarray, np.ndarray]]:
    """Return points of persons or households, and the weights of numbers and codes."""
    faults = Faults("distance")
    names = variables_of(request)
    for name in request.categorical:
        if name not in names:
            faults.add("categorical", f"{name!r} is not a variable")
    frames, numeric = same_kind(faults, frames, names, request.categorical)
    faults.raise_if_any()
    if request.household is None:
        return person_points(frames, names, numeric)
    return household_points(frames, names, request.household, numeric)


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
    if not any(side.any() for side in varying):
        return weights
    return weights[0] * varying[0], weights[1] * varying[1]


def shared_records(
    original: pd.DataFrame, holdout: pd.DataFrame, request: AttackRequest
) -> tuple[np.ndarray, np.ndarray]:
    """Which hold-out records equal an original one in all columns, and which originals another."""
    frames = {"original": original, "holdout": holdout}
    points, _ = as_points(frames, replace(request, household=None))
    both = [np.column_stack([np.nan_to_num(file.numbers, nan=np.inf), file.codes])
            for file in (points["original"], points["holdout"])]  # fmt: skip
    number = number_rows(np.vstack(both) + 0.0)[0]  # one zero, whatever its sign
    n = len(original)
    sizes = np.bincount(number[:n], minlength=int(number.max(initial=-1)) + 1)
    return sizes[number[n:]] > 0, sizes[number[:n]] > 1


def sample(n: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Draw at most so many of n rows, in order."""
    rows = rng.choice(n, most, replace=False) if n > most else np.arange(n)
    return np.sort(rows)


def members_nearest(
    frames: dict[str, pd.DataFrame],
    request: AttackRequest,
    drawn: dict[str, np.ndarray],
    base: str,
    workers: int,
) -> list[np.ndarray]:
    """Mean distance of members of households to the nearest other persons of `base`, by file."""
    persons, weights = as_points(frames, replace(request, household=None))
    if base == "synthetic":
        weights = without_constants(persons[base], weights)
    space = Space(persons, weights, len(request.needed), workers=workers)
    means = []
    for role, chosen in drawn.items():
        unit = units_of(frames[role], request.household)
        rows = np.flatnonzero(np.isin(unit, chosen))
        near = space.nearest(base, role, rows, leave_out=role == base)[:, 0]
        total = np.bincount(unit[rows], weights=near, minlength=int(unit.max()) + 1)
        size = np.bincount(unit[rows], minlength=len(total))
        means.append((total / np.maximum(size, 1))[chosen])
    return means
