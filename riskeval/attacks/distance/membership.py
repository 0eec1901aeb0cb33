"""Was a person in the original: membership inference by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.clusters import MOST_LAGS, are_neighbours_alike, clusters_of
from riskeval.attacks.compared import BASE, ComparedAttack, ComparedFiles, drawn, shown
from riskeval.attacks.distance.closest_record import DistanceScreen, distance_screen
from riskeval.attacks.distance.files import (
    HONOURED,
    NearnessFiles,
    Progress,
    check_numbers,
    members_nearest,
    read_nearness,
    without_constants,
)
from riskeval.attacks.distance.membership_result import Membership
from riskeval.attacks.distance.space import TINY, Points, Space
from riskeval.attacks.entry import COMPARED, AttackEntry, run_compared
from riskeval.attacks.numbers import AttackNumber, beside
from riskeval.attacks.request import keys_and_targets, read_request
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import FEW, Excess, auc, corrected
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.text import count
from synthpop.microdata.statistics.streams import Streams

__all__ = ["DistanceScreen", "Membership", "distance_screen", "membership"]

METHODS = ("panel", "nearest", "density")
_REAL = ("original", "holdout")
RELATED = 0.9
"""Confidence with which the reference must not be nearer to strangers than to members."""
RELATED_TEXT = (
    "persons of the hold-out are nearer to each other than to persons of the original, as members "
    "of one household are"
)
HOUSEHOLD_EFFECT = 3.5
"""Effect of households on variances where nothing tells who lives together."""
LEAST = 4
"""Persons of the hold-out, half of whom are the reference of method "density"."""


@same_library
def membership(
    original: Any,
    synthetic: Any,
    variables: Scenario | Sequence[str] | str | None = None,
    *,
    holdout: Any,
    method: str = "panel",
    neighbours: int = 5,
    household: str | None = None,
    categorical: Sequence[str] | str = (),
    most_records: int = 10_000,
    most_synthetic: int = 100_000,
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
    method : {"panel", "nearest", "density"}
        "nearest": score is minus the distance to the nearest synthetic record. "density": score is
        the log ratio of the density of the synthetic file and of a reference file at the person
        (half of the hold-out, drawn at random; the other half are the strangers), both from the
        distance to the k-th neighbour, after DOMIAS. "panel": the strongest of "nearest" and of
        "density" with one neighbour and with `neighbours`; of households also "members", minus the
        mean distance of the members to the nearest synthetic persons.
    neighbours : int, at least 1
        k of method "density".
    household : str, optional
        Column of all files with the number of the household: the unit is then the household,
        described by its size, by mean, smallest and largest value of each number over its members,
        and by the number of members of each level.
    categorical : names of variables, optional
        Numeric columns that are codes of categories.
    most_records : int
        Of original and hold-out at most so many records (households) are judged, drawn at random.
    most_synthetic : int
        At most so many synthetic records (households) are compared with, drawn at random. A copy
        is seen only when it is drawn, which the notes say.
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
        Missing columns, fewer than four hold-out records, values out of range, categories without
        any level in common.

    Notes
    -----
    Missing values are left out of the comparison of a pair, and variables that have one value in
    the synthetic file of all comparisons. All pairs are compared. With fewer than
    25 strangers the interval is Newcombe's (2006), which is wide. What these attacks cannot see:
    members whose records the generator changed more than strangers' differ from the nearest
    synthetic one. Persons of one household are not taken for independent: a household column is
    looked for by its name, and neighbouring records may be alike without one. Source: van Breugel
    et al. (2023), Membership inference attacks against synthetic data through overfitting
    detection; Yale et al. (2020), doi:10.1016/j.neucom.2019.12.136.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    >>> risk = membership(people[:300], people[:300], ["a", "b", "c"], holdout=people[300:], seed=1)
    >>> risk.auc, risk.excess.is_above
    (1.0, True)
    """
    faults = Faults("membership")
    variables, _ = keys_and_targets(original, variables, None)
    request = read_request(
        "membership", variables, household=household, categorical=categorical,
        honoured=HONOURED,
    )  # fmt: skip
    check_choice(faults, "method", method, METHODS)
    check_numbers(
        faults, confidence, neighbours=neighbours, most_records=most_records,
        most_synthetic=most_synthetic, workers=workers,
    )  # fmt: skip
    if isinstance(most_records, int) and most_records < LEAST:
        faults.add("most_records", f"is {most_records}", hint=f"Give {LEAST} or more.")
    files = read_nearness(
        faults, request, {"original": original, "holdout": holdout}, synthetic,
        least={"holdout": LEAST}, most_synthetic=most_synthetic, seed=seed,
    )  # fmt: skip
    points, streams = files.points, files.streams
    notes = []
    if len(points["synthetic"]) == most_synthetic:
        notes.append(
            message(
                "compared with at most {most_synthetic} synthetic {unit}",
                most_synthetic=count(most_synthetic),
                unit=request.unit,
            )
        )
    drawn = {role: drawn_rows(len(points[role]), most_records, streams.at("membership", role))
             for role in _REAL}  # fmt: skip
    compared = {role: Points(points[role].numbers[rows], points[role].codes[rows])
                for role, rows in drawn.items()} | {"synthetic": points["synthetic"]}  # fmt: skip
    by_members: list[np.ndarray] = []
    if request.household is not None and method == "panel":
        by_members = members_nearest(files, drawn, "synthetic", workers)
    panel = _panel(method, neighbours)
    households = _households(files, drawn)
    split = _split(
        compared["holdout"], households["holdout"], streams.at("membership", "reference")
    )
    progress = Progress("membership", _rows_to_compare(panel, compared, split), on_event)
    weights = without_constants(points["synthetic"], files.weights)
    space = Space(compared, weights, len(request.needed), workers=workers, step=progress.step)
    # 1. Scores of members and strangers by every attack
    scores = _all_scores(space, panel, by_members, split, notes)
    # 2. Nearness to both real files
    nan = float("nan")
    accuracies = (nan, nan) if method == "density" else _adversarial_accuracies(space, streams)
    progress.end()
    # 3. The strongest one
    return _strongest(scores, accuracies, drawn, households, confidence, files, notes)


def _strongest(
    scores: dict[str, _Scores], accuracies: tuple[float, float], drawn: dict[str, np.ndarray],
    households: dict[str, np.ndarray | None], confidence: float, files: NearnessFiles,
    notes: list[str],
) -> Membership:  # fmt: skip
    """What the attack with the largest lower end of its interval finds."""
    level = corrected(confidence, len(scores))
    areas = {
        name: auc(
            one.members, one.strangers, level,
            (households["original"],
             None if households["holdout"] is None else households["holdout"][one.places]),
            HOUSEHOLD_EFFECT if any(RELATED_TEXT in note for note in notes) else 1.0,
        )
        for name, one in scores.items()
    }  # fmt: skip
    best = max(areas, key=lambda name: areas[name][1])
    strongest, (area, low, high) = scores[best], areas[best]
    members, others = strongest.members, strongest.strangers
    if len(others) < FEW:
        notes.append(
            message(
                "the hold-out contains only {others} strangers, so the interval is wide",
                others=len(others),
            )
        )
    return Membership(
        auc=area,
        interval=(low, high),
        excess=Excess(
            area, 0.5, area - 0.5, low - 0.5, high - 0.5, len(members), len(others), confidence,
            len(scores), files.overlap,
        ),
        panel=pd.DataFrame(
            [(name, *areas[name], len(one.strangers)) for name, one in scores.items()],
            columns=["attack", "auc", "lower", "upper", "strangers"],
        ),
        advantage=_advantage(members, others),
        adversarial_accuracy=accuracies[0],
        adversarial_accuracy_holdout=accuracies[1],
        privacy_loss=accuracies[1] - accuracies[0],
        per_record=strongest.to_frame(drawn["original"], drawn["holdout"]),
        method=best,
        confidence=confidence,
        **files.about(*notes),
    )  # fmt: skip


def _households(files: NearnessFiles, drawn: dict[str, np.ndarray]) -> dict[str, np.ndarray | None]:
    """Households of the persons who are judged, where a column tells them; None for none."""
    found: dict[str, np.ndarray | None] = {}
    for role, rows in drawn.items():
        codes = clusters_of(files.frames[role]) if files.request.household is None else None
        found[role] = None if codes is None else codes[rows]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores of one attack: of members, and of the strangers at these places of the hold-out."""

    members: np.ndarray
    strangers: np.ndarray
    places: np.ndarray

    def to_frame(self, original: np.ndarray, holdout: np.ndarray) -> pd.DataFrame:
        """One row per judged unit, with its row in its file."""
        sizes = [len(self.members), len(self.strangers)]
        return pd.DataFrame(
            {
                "member": np.repeat([True, False], sizes),
                "row": np.concatenate([original, holdout[self.places]]),
                "score": np.concatenate([self.members, self.strangers]),
            }
        )


def _all_scores(
    space: Space,
    panel: dict[str, int],
    by_members: Sequence[np.ndarray],
    split: tuple[np.ndarray, np.ndarray],
    notes: list[str],
) -> dict[str, _Scores]:
    """Scores of every attack; half of the hold-out, drawn at random, is the density's reference."""
    reference, strangers = split
    everybody = np.arange(len(space.points["holdout"]))
    most = max(1, *panel.values())
    near = [space.nearest("synthetic", role, k=most) for role in _REAL]
    near_reference = [
        space.nearest("holdout", role, rows, among=reference, k=most)
        for role, rows in zip(_REAL, (None, strangers), strict=True) if max(panel.values())
    ]  # fmt: skip
    scores = {}
    for name, k in panel.items():
        if k == 0:
            members, others = (-distances[:, 0] for distances in near)
        else:
            released = [space.log_density(d, k) for d in (near[0], near[1][strangers])]
            referred = [space.log_density(d, k) for d in near_reference]
            if len(panel) > 1 and auc(referred[1], referred[0], RELATED)[1] > 0.5:
                notes.append(
                    message(
                        "{name} is left out: {related_text}", name=name, related_text=RELATED_TEXT
                    )
                )
                continue
            members, others = (one - two for one, two in zip(released, referred, strict=True))
        scores[name] = _Scores(members, others, strangers if k else everybody)
    if by_members:
        of_members, of_others = by_members
        scores["members"] = _Scores(-of_members, -of_others, everybody)
    return scores


def _panel(method: str, neighbours: int) -> dict[str, int]:
    """Attacks by name, with the number of neighbours; 0 for the nearest record."""
    density = {
        (
            message("density, {k} neighbours", k=k)
            if k > 1
            else message("density, {k} neighbour", k=k)
        ): k
        for k in (1, neighbours)
    }
    if method == "nearest":
        return {"nearest": 0}
    if method == "density":
        return {name: k for name, k in density.items() if k == neighbours}
    return {"nearest": 0} | density


def _split(
    holdout: Points, households: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Deal the hold-out into reference and strangers: whole households, or neighbours together.

    A stranger whose household is in the reference would seem less of a member than anybody.
    """
    m = len(holdout)
    units = np.arange(m) if households is None else households
    if households is None and are_neighbours_alike(holdout.codes):
        units = np.arange(m) // (2 * MOST_LAGS)
    order = rng.permutation(int(units.max()) + 1)
    place = np.argsort(order, kind="stable")[units]  # when the unit of each record is dealt
    rows = np.argsort(place, kind="stable")
    half = m // 2
    if len(order) < m:
        ends = np.flatnonzero(np.diff(place[rows])) + 1
        half = int(ends[np.argmin(np.abs(ends - half))]) if len(ends) else half
    return rows[:half], np.sort(rows[half:])


def _rows_to_compare(
    panel: dict[str, int], points: dict[str, Points], split: tuple[np.ndarray, np.ndarray]
) -> int:
    n, m = len(points["original"]), len(points["holdout"])
    total = n + m
    if max(panel.values()):
        total += n + len(split[1])
    if 0 in panel.values():
        total += 7 * min(len(file) for file in points.values())
    return total


def _adversarial_accuracies(space: Space, streams: Streams) -> tuple[float, float]:
    """Nearest-neighbour adversarial accuracy of both real files; all are cut to the smallest."""
    n = min(len(file) for file in space.points.values())
    rows = {
        role: drawn_rows(len(file), n, streams.at("membership", "equal size", role))
        for role, file in space.points.items()
    }
    inside_of = {
        role: space.nearest(role, role, chosen, among=chosen, k=1, leave_out=True)[:, 0]
        for role, chosen in rows.items()
    }
    values = []
    for real in _REAL:
        shares = []
        for table, other in ((real, "synthetic"), ("synthetic", real)):
            across = space.nearest(other, table, rows[table], among=rows[other], k=1)[:, 0]
            inside = inside_of[table]
            ties = np.abs(across - inside) <= TINY
            shares.append(np.where(ties, 0.5, across > inside).mean())
        values.append(float(np.mean(shares)))
    return values[0], values[1]


def _advantage(members: np.ndarray, others: np.ndarray) -> float:
    cuts = np.unique(np.concatenate([members, others]))
    caught = 1 - np.searchsorted(np.sort(members), cuts) / len(members)
    wrong = 1 - np.searchsorted(np.sort(others), cuts) / len(others)
    return float((caught - wrong).max())


MEMBERSHIP = attribution(
    "membership",
    "Membership",
    "probability that an intruder tells a member of the original from another person; 0.5"
    " is guessing",
    "van Breugel et al. 2023",
    "probability",
)


def membership_numbers(result: Any) -> list[AttackNumber]:
    """The area under the curve beside guessing."""
    one = Measurement(
        beside(MEMBERSHIP, message("area under the curve")), result.auc, lower=result.interval[0],
        upper=result.interval[1], baseline=0.5, against="guessing", note=result.method,
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


def _compared_membership(files: ComparedFiles, target: str) -> list[Measurement]:
    most = BASE * files.n_screened
    x = files.drawn_records(most, "screen")
    rows = drawn(len(x), files.n_screened, Streams(files.seed), "members")
    result = membership(
        x.iloc[rows], files.release, files.variables, holdout=files.holdout, most_records=most,
        seed=files.drawn_seed("screen"),
    )  # fmt: skip
    cut = len(rows) < len(files.original)
    sampled = message("{n} members drawn at random", n=count(len(rows))) if cut else ""
    number = membership_numbers(result)[0]
    return [
        shown(
            MEMBERSHIP, number, len(rows), sampled, message("strongest: {text}", text=result.method)
        )
    ]


ATTACK = AttackEntry(
    name="membership",
    rank=60,
    title="Membership inference",
    question="Can an intruder tell who was in the original?",
    story="asks whether somebody was in the survey at all",
    blind_spots=(
        "members whose records were changed more than those of strangers differ; what only "
        "several releases together tell"
    ),
    function=membership,
    target="none",
    honours=COMPARED,
    run=run_compared(membership),
    numbers=membership_numbers,
    needs_holdout=True,
    compared=ComparedAttack((MEMBERSHIP,), _compared_membership),
)
