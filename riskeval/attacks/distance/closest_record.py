"""Distance to the closest record: a screen for memorised records, never proof of safety."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.distance.files import (
    HONOURED,
    Watch,
    as_points,
    check_numbers,
    check_units,
    draw_synthetic,
    read_frames,
    sample,
    told_of,
    variables_of,
)
from riskeval.attacks.distance.space import TINY, Space
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.unit_of_attack import read_ask
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Listener
from synthpop.microdata.intervals import newcombe
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed

CLOSE_SHARE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class DistanceScreen(Result):
    """How near synthetic records are to original ones.

    Attributes
    ----------
    identical : float
        Share of synthetic records equal to an original one in all variables.
    close : float
        Share of synthetic records nearer to an original record than 5 % of the baseline records
        are; 0.05 is expected when the generator memorised nothing.
    close_interval : (float, float)
        Interval of `close`, the draw of the baseline records behind the cut included (Newcombe).
    table : DataFrame
        ``file`` ("synthetic", "baseline"), quantiles 0.01, 0.05, 0.25, 0.5 of the distance to the
        closest original record (``dcr_<q>``) and median ratio of the distances to the closest
        and second closest (``nndr``).
    per_record : DataFrame
        ``row`` of the synthetic file (with households the household, in order of appearance),
        ``dcr``, ``nndr`` (1 where both distances are 0).
    baseline : {"hold-out", "original"}
        Records of the hold-out, or each original record against the other ones.
    unit : {"records", "households"}
    confidence : float
    seed : int
    variables : tuple of str
    """

    identical: float
    close: float
    close_interval: tuple[float, float]
    table: pd.DataFrame
    per_record: pd.DataFrame
    baseline: str
    unit: str
    confidence: float
    seed: int
    variables: tuple[str, ...]
    told: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the table of distances."""
        return self.table

    def summary(self) -> str:
        """Say what the screen found, and what it can never show."""
        low, high = self.close_interval
        return (
            f"Distance screen: {self.identical:.2%} of the synthetic {self.unit} equal an original "
            f"one in all of {len(self.variables)} variables; {self.close:.2%} "
            f"({self.confidence:.0%} interval {low:.2%} to {high:.2%}) are nearer to the original "
            f"than 5% of the {self.baseline} {self.unit} are, where 5.00% is expected. This is a "
            "screen for memorised records only. A file that passes is NOT shown to be safe: "
            "distances miss leaks that membership and attribute attacks find "
            f"(arXiv:2505.01524). There is no published threshold.{self.told}"
        )


def distance_screen(
    original: Any,
    synthetic: Any,
    variables: Scenario | Sequence[str] | str,
    *,
    holdout: Any = None,
    household: str | None = None,
    most_records: int = 10_000,
    confidence: float = 0.95,
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> DistanceScreen:
    """Distance to the closest record and distance ratio, as a screen for memorised records.

    Parameters
    ----------
    original, synthetic : DataFrame
        The survey and the synthetic file made from it (also an object with ``iter_blocks()`` or an
        iterable of frames).
    variables : names of columns of both, or a Scenario
        Numbers and categories (Gower distance). Of a Scenario: keys and targets, the household if
        that is the unit, and which numbers are categories; whom it looks for has no part here,
        which the summary says.
    holdout : DataFrame, optional
        Other persons of the same population; the baseline. Without it, each original record is
        compared with the other original ones.
    household : str, optional
        As in `membership`.
    most_records : int
        At most so many synthetic and baseline records (households) are judged, drawn at random;
        each is compared with every original one.
    confidence : float in (0, 1)
    workers, on_event
        As in `membership`.
    seed : int, optional

    Returns
    -------
    DistanceScreen

    Raises
    ------
    InputError
        Missing columns, empty files, fewer than two original records.

    Notes
    -----
    Missing values are left out of the comparison of a pair. Never proof of safety: Yao et al.
    (2025), arXiv:2505.01524.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> original = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    >>> distance_screen(original, original, ["a", "b"], seed=1).identical
    1.0
    """
    faults = Faults("distance_screen")
    ask = read_ask("distance_screen", variables, household=household, honoured=HONOURED)
    check_numbers(faults, confidence, most_records=most_records, workers=workers)
    parts = {"original": original}
    if holdout is not None:
        parts["holdout"] = holdout
    frames = read_frames(faults, parts, ask, least={"original": 2})
    seed = resolve_seed(seed)
    streams = Streams(seed)
    frames["synthetic"], positions = draw_synthetic(synthetic, ask, most_records, streams)
    base = "original" if holdout is None else "holdout"
    points, weights = as_points(frames, ask)
    check_units(points, {"original": 2})
    rows = sample(len(points[base]), most_records, streams.at("distance_screen", base))
    watch = Watch("distance_screen", len(points["synthetic"]) + len(rows), on_event)
    space = Space(points, weights, len(ask.needed), workers=workers, step=watch.step)
    ours = space.nearest("original", "synthetic")
    theirs = space.nearest("original", base, rows, leave_out=holdout is None)
    watch.end()
    cut = np.quantile(theirs[:, 0], CLOSE_SHARE)
    below, expected = int((ours[:, 0] < cut).sum()), int((theirs[:, 0] < cut).sum())
    low, high = newcombe(below, len(ours), expected, len(theirs), confidence)
    share = expected / len(theirs)
    return DistanceScreen(
        identical=float((ours[:, 0] <= TINY).mean()),
        close=below / len(ours),
        close_interval=(max(0.0, share + low), min(1.0, share + high)),
        table=pd.DataFrame([_distances("synthetic", ours), _distances("baseline", theirs)]),
        per_record=pd.DataFrame({"row": positions, "dcr": ours[:, 0], "nndr": _ratio(ours)}),
        baseline="original" if holdout is None else "hold-out",
        unit=ask.unit,
        confidence=confidence,
        seed=seed,
        variables=variables_of(ask),
        told=told_of(ask),
    )


def _ratio(distances: np.ndarray) -> np.ndarray:
    first, second = distances[:, 0], distances[:, 1]
    ratio: np.ndarray = np.divide(first, second, out=np.ones(len(first)), where=second > 0)
    return ratio


def _distances(name: str, found: np.ndarray) -> dict[str, Any]:
    row: dict[str, Any] = {"file": name}
    for q in (0.01, 0.05, 0.25, 0.5):
        row[f"dcr_{q:g}"] = float(np.quantile(found[:, 0], q))
    row["nndr"] = float(np.median(_ratio(found)))
    return row
