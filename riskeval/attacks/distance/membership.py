"""Was a person in the original: membership inference by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.distance.closest_record import DistanceScreen, distance_screen
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
from riskeval.attacks.distance.space import Points, Space
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import auc
from riskeval.attacks.unit_of_attack import read_ask
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Listener
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed

__all__ = ["DistanceScreen", "Membership", "distance_screen", "membership"]


@dataclass(frozen=True, slots=True, eq=False)
class Membership(Result):
    """How well an intruder tells members of the original from other people.

    Attributes
    ----------
    auc : float
        Probability that a member of the original gets a higher score than a person of the
        hold-out: 0.5 is guessing, 1 is certainty.
    interval : (float, float)
        DeLong interval of `auc`.
    advantage : float
        Largest difference of true and false positive rates over all cuts of the score; above 0 by
        chance too.
    adversarial_accuracy, adversarial_accuracy_holdout, privacy_loss : float
        Method "nearest": share of records that are nearer to their own file than to the other one,
        mean of both files, for original against synthetic and hold-out against synthetic; and the
        second minus the first. Near 0 loss: the synthetic file is no nearer to the original than to
        strangers. NaN for method "density".
    per_record : DataFrame
        ``member`` (original or hold-out), ``row`` (with households the household, in order of
        appearance), ``score`` of each judged unit.
    unit : {"records", "households"}
    method : str
    confidence : float
    seed : int
    variables : tuple of str
    """

    auc: float
    interval: tuple[float, float]
    advantage: float
    adversarial_accuracy: float
    adversarial_accuracy_holdout: float
    privacy_loss: float
    per_record: pd.DataFrame
    unit: str
    method: str
    confidence: float
    seed: int
    variables: tuple[str, ...]
    told: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the measures."""
        rows = {
            "auc": self.auc,
            "auc lower": self.interval[0],
            "auc upper": self.interval[1],
            "advantage": self.advantage,
            "adversarial accuracy, original": self.adversarial_accuracy,
            "adversarial accuracy, hold-out": self.adversarial_accuracy_holdout,
            "privacy loss": self.privacy_loss,
        }
        return pd.DataFrame({"measure": list(rows), "value": list(rows.values())})

    def summary(self) -> str:
        """Say what the area means."""
        low, high = self.interval
        one = "person" if self.unit == "records" else "household"
        text = (
            f"Membership inference ({self.method}): shown a {one} of the original and one that was "
            f"not in it, an intruder with the synthetic file picks the right one with probability "
            f"{self.auc:.3f} ({self.confidence:.0%} interval {low:.3f} to {high:.3f}; 0.5 is "
            f"guessing)."
        )
        if low <= 0.5:
            text += " This attack does not tell them apart; a stronger one might."
        else:
            text += " The synthetic file gives away who was in the survey."
        if not np.isnan(self.privacy_loss):
            text += (
                f" Nearest-neighbour privacy loss {self.privacy_loss:+.3f} (0: no nearer to "
                "members than to strangers)."
            )
        return f"{text} There is no published threshold.{self.told}"


def membership(
    original: Any,
    synthetic: Any,
    variables: Scenario | Sequence[str] | str,
    *,
    holdout: Any,
    method: str = "density",
    neighbours: int = 5,
    household: str | None = None,
    most_records: int = 10_000,
    confidence: float = 0.95,
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> Membership:
    """Membership inference with a hold-out.

    Parameters
    ----------
    original, synthetic, holdout : DataFrame
        The survey the synthetic file was made from, the synthetic file (which may also be an
        object with ``iter_blocks()`` or an iterable of frames), and other persons of the same
        population who were not in the survey.
    variables : names of columns of all three, or a Scenario
        What the intruder knows about a person; numbers and categories (Gower distance). Of a
        Scenario: keys and targets, the household if that is the unit, and which numbers are
        categories; whom it looks for has no part here, which the summary says.
    method : {"density", "nearest"}
        "density": score is the log ratio of the density of the synthetic file and of a reference
        file at the person (half of the hold-out, drawn at random; the other half are the
        strangers), both from the distance to the k-th neighbour, after DOMIAS. "nearest": score is
        minus the distance to the nearest synthetic record; with it nearest-neighbour adversarial
        accuracy.
    neighbours : int, at least 1
        k of method "density".
    household : str, optional
        Column of all files with the number of the household: the unit is then the household, told
        by its size, by mean, smallest and largest value of each number over its members, and by
        the number of members of each level.
    most_records : int
        Of each file at most so many records (households) are used, drawn at random; method
        "nearest" draws as many from each as the smallest has.
    confidence : float in (0, 1)
    workers : int
        Threads; the result does not depend on them.
    on_event : callable, optional
        Listener of progress: records compared.
    seed : int, optional
        Of all draws.

    Returns
    -------
    Membership

    Raises
    ------
    InputError
        Missing columns, fewer than four hold-out records, values out of range.

    Notes
    -----
    Missing values are left out of the comparison of a pair. All pairs are compared. Source: van
    Breugel et al. (2023), Membership inference attacks against synthetic data through overfitting
    detection; Yale et al. (2020), doi:10.1016/j.neucom.2019.12.136.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    >>> risk = membership(people[:300], people[:300], ["a", "b", "c"], holdout=people[300:],
    ...                   method="nearest", seed=1)
    >>> risk.auc
    1.0
    """
    faults = Faults("membership")
    ask = read_ask("membership", variables, household=household, honoured=HONOURED)
    check_choice(faults, "method", method, ["density", "nearest"])
    check_numbers(
        faults, confidence, neighbours=neighbours, most_records=most_records, workers=workers
    )
    parts = {"original": original, "holdout": holdout}
    frames = read_frames(faults, parts, ask, least={"holdout": 4})
    seed = resolve_seed(seed)
    streams = Streams(seed)
    frames["synthetic"], _ = draw_synthetic(synthetic, ask, most_records, streams)
    points, weights = as_points(frames, ask)
    check_units(points, {"holdout": 4})
    if method == "nearest":  # nearness inside and between files compares files of equal size
        most_records = min(most_records, *map(len, points.values()))
    drawn = {
        role: sample(len(it), most_records, streams.at("membership", role))
        for role, it in points.items()
    }
    taken = {role: Points(points[role].numbers[r], points[role].codes[r])
             for role, r in drawn.items()}  # fmt: skip
    n, m, t = (len(drawn[role]) for role in ("original", "holdout", "synthetic"))
    watch = Watch("membership", 2 * (n + m - m // 2) if method == "density" else 3 * n + 3 * m
                   + 4 * t, on_event)  # fmt: skip
    space = Space(taken, weights, len(ask.needed), workers=workers, step=watch.step)
    accuracy = accuracy_holdout = float("nan")
    strangers = np.arange(m)
    if method == "density":
        order = streams.at("membership", "reference").permutation(m)
        reference, strangers = order[: m // 2], np.sort(order[m // 2 :])
        scores = [
            space.log_density("synthetic", None, role, rows, neighbours)
            - space.log_density("holdout", reference, role, rows, neighbours)
            for role, rows in (("original", None), ("holdout", strangers))
        ]
    else:
        scores = [-space.nearest("synthetic", role)[:, 0] for role in ("original", "holdout")]
        accuracy = _adversarial_accuracy(space, "original")
        accuracy_holdout = _adversarial_accuracy(space, "holdout")
    watch.end()
    area, low, high = auc(scores[0], scores[1], confidence)
    per_record = pd.DataFrame(
        {
            "member": np.repeat([True, False], [len(scores[0]), len(scores[1])]),
            "row": np.concatenate([drawn["original"], drawn["holdout"][strangers]]),
            "score": np.concatenate(scores),
        }
    )
    return Membership(
        auc=area,
        interval=(low, high),
        advantage=_advantage(scores[0], scores[1]),
        adversarial_accuracy=accuracy,
        adversarial_accuracy_holdout=accuracy_holdout,
        privacy_loss=accuracy_holdout - accuracy,
        per_record=per_record,
        unit=ask.unit,
        method=method,
        confidence=confidence,
        seed=seed,
        variables=variables_of(ask),
        told=told_of(ask),
    )


def _adversarial_accuracy(space: Space, real: str) -> float:
    """Nearest-neighbour adversarial accuracy of a real file against the synthetic one."""
    shares = []
    for own, other in ((real, "synthetic"), ("synthetic", real)):
        across = space.nearest(other, own)[:, 0]
        inside = space.nearest(own, own, leave_out=True)[:, 0]
        shares.append((across > inside).mean())
    return float(np.mean(shares))


def _advantage(members: np.ndarray, others: np.ndarray) -> float:
    cuts = np.unique(np.concatenate([members, others]))
    caught = 1 - np.searchsorted(np.sort(members), cuts) / len(members)
    wrong = 1 - np.searchsorted(np.sort(others), cuts) / len(others)
    return float((caught - wrong).max())
