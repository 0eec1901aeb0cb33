"""Files side by side in the space of Gower distance: persons, or households as profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.levels import LevelCoder
from riskeval.attacks.neighbours import Neighbours
from riskeval.attacks.request import AttackRequest, check_households
from riskeval.attacks.targets import HouseholdNumbers
from riskeval.attacks.values import same_kind
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.runs.chunks import open_chunks
from synthpop.microdata.statistics.distances import known_ranges

TINY = 1e-9
AT_ONCE = 500


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """One file as arrays."""

    numbers: np.ndarray  # float64, shape (n, p): NaN is missing
    codes: np.ndarray  # int32, shape (n, q): -1 is missing; the same codes in every file
    # the variable of each column of both, where they are asked for; "" for the household's size
    number_names: tuple[str, ...] = ()
    code_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.numbers)


class Space:
    """Points of several files, with the ranges of the numbers over all of them.

    weights: of numbers and of codes, shapes (p,) and (q,)
    dimension: number of variables, for densities
    workers: threads; results do not depend on them
    step: called with the number of rows after each block of them
    """

    def __init__(
        self,
        points: Mapping[str, Points],
        weights: tuple[np.ndarray, np.ndarray],
        dimension: int,
        *,
        workers: int = 1,
        step: Callable[[int], None] | None = None,
    ) -> None:
        self.points = dict(points)
        self.weights = weights
        self.dimension, self.workers, self.step = dimension, workers, step
        self.ranges = known_ranges(np.concatenate([file.numbers for file in self.points.values()]))

    def nearest(
        self,
        base: str,
        role: str,
        rows: np.ndarray | None = None,
        *,
        among: np.ndarray | None = None,
        k: int = 2,
        leave_out: bool = False,
    ) -> np.ndarray:
        """Distances of records of `role` to the k nearest of `base`: shape (rows, k)."""
        records, points = self.points[base], self.points[role]
        rows = np.arange(len(points)) if rows is None else rows
        among = np.arange(len(records)) if among is None else among
        skip = np.full(len(rows), -1, dtype=np.int64)
        if leave_out:  # a record is not its own neighbour; both are sorted
            skip = np.searchsorted(among, rows).astype(np.int64)
        neighbours = Neighbours(
            records.numbers[among], records.codes[among], self.ranges, self.weights
        )

        def distances_of(begin: int) -> np.ndarray:
            block = slice(begin, begin + AT_ONCE)
            chosen = rows[block]
            return neighbours.nearest(points.numbers[chosen], points.codes[chosen], k, skip[block])

        blocks = [np.empty((0, k))]
        with ThreadPoolExecutor(self.workers) as pool:
            for distances in pool.map(distances_of, range(0, len(rows), AT_ONCE)):
                blocks.append(distances)
                if self.step is not None:
                    self.step(len(distances))
        return np.concatenate(blocks)

    def log_density(self, distances: np.ndarray, k: int) -> np.ndarray:
        """Log density by the k-th of `distances` to neighbours, or the last, up to a constant."""
        n_found = int(np.isfinite(distances[0]).sum()) if len(distances) else k
        distance = distances[:, min(k, n_found) - 1]
        return -self.dimension * np.log(distance + TINY)


def as_points(
    frames: Mapping[str, pd.DataFrame], request: AttackRequest
) -> tuple[dict[str, Points], tuple[np.ndarray, np.ndarray]]:
    """Return points of persons or households, and the weights of numbers and codes."""
    faults = Faults("distance")
    names = request.variables
    for name in request.categorical:
        if name not in names:
            faults.add("categorical", f"{name!r} is not a variable")
    frames, numeric = same_kind(faults, frames, names, request.categorical)
    faults.raise_if_any()
    if request.household is None:
        return person_points(frames, names, numeric)
    return household_points(frames, names, request.household, numeric)


def person_points(
    frames: Mapping[str, pd.DataFrame], names: Sequence[str], numeric: Sequence[str]
) -> tuple[dict[str, Points], tuple[np.ndarray, np.ndarray]]:
    """Return points of persons and weights of 1; variables that are not numeric are coded."""
    levels = {name: LevelCoder(()) for name in names if name not in numeric}
    named = tuple(numeric), tuple(levels)
    points = {}
    for role, frame in frames.items():
        numbers = [as_numbers(frame[name]) for name in numeric]
        codes = [coder.code(frame[name]) - 1 for name, coder in levels.items()]
        points[role] = Points(
            np.column_stack(numbers) if numbers else np.empty((len(frame), 0)),
            np.column_stack(codes) if codes else np.empty((len(frame), 0), dtype=np.int32),
            *named,
        )
    return points, (np.ones(len(numeric)), np.ones(len(levels)))


def household_points(
    frames: Mapping[str, pd.DataFrame], names: Sequence[str], household: str, numeric: Sequence[str]
) -> tuple[dict[str, Points], tuple[np.ndarray, np.ndarray]]:
    """Households as profiles: size; mean, smallest and largest of numbers; counts of levels.

    Every variable, and the size, has weight 1 in all; missing values of members are left out.
    """
    levels = {name: LevelCoder(()) for name in names if name not in numeric}
    codes = {
        role: {name: coder.code(frame[name]) for name, coder in levels.items()}
        for role, frame in frames.items()
    }
    n_columns = [1, *(3 for _ in numeric), *(coder.size - 1 for coder in levels.values())]
    variables = ("", *numeric, *levels)
    named = tuple(v for v, n in zip(variables, n_columns, strict=True) for _ in range(n))
    points = {}
    for role, frame in frames.items():
        home = HouseholdNumbers().number(frame[household])
        n = int(home.max(initial=-1)) + 1
        columns = [np.bincount(home, minlength=n).astype(np.float64)]
        for name in numeric:
            groups = pd.Series(as_numbers(frame[name])).groupby(home)
            columns += [groups.mean().to_numpy(), groups.min().to_numpy(), groups.max().to_numpy()]
        for name, coder in levels.items():
            size = coder.size
            table = np.bincount(home * size + codes[role][name], minlength=n * size)
            columns += list(table.reshape(n, size)[:, 1:].T.astype(np.float64))
        points[role] = Points(np.column_stack(columns), np.empty((n, 0), dtype=np.int32), named)
    weights = np.concatenate([np.full(n, 1 / max(n, 1)) for n in n_columns])
    return points, (weights, np.empty(0))


def draw_households(
    population: Any,
    name: str,
    columns: Sequence[str],
    household: str,
    most: int,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw at most so many households of a stream, each equally likely, with all their members.

    Returns the members, wherever in the stream they stood, and the numbers of their households.

    Examples
    --------
    >>> table = pd.DataFrame({"h": [7, 8, 7], "sex": ["f", "m", "f"]})
    >>> drawn = draw_households(table, "synthetic", ["sex"], "h", 1, np.random.default_rng(2))
    >>> drawn[0]["h"].nunique()
    1
    """
    homes = HouseholdNumbers()
    marks = np.empty(0)
    cut = np.inf
    frames: list[pd.DataFrame] = []
    for block in open_chunks(population, name, [*columns, household]):
        faults = Faults(name)
        check_columns(faults, block, columns, f"column of the {name} file")
        check_households(faults, block, household, f"{name} file")
        faults.raise_if_any()
        home = homes.number(block[household])
        marks = np.concatenate([marks, rng.random(homes.size - len(marks))])
        frame = block[[*columns, household]].assign(**{_HOME: home})
        frames.append(frame[marks[home] <= cut])
        if (marks <= cut).sum() > most:
            cut = np.partition(marks, most - 1)[most - 1]
            frames = [block[marks[block[_HOME].to_numpy()] <= cut] for block in frames]
    drawn = pd.concat(frames, ignore_index=True)
    return drawn.drop(columns=_HOME), drawn[_HOME].drop_duplicates().to_numpy()


_HOME = "\0household"
