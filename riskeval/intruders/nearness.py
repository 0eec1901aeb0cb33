"""Was a person in the original, and did the generator memorise records: attacks by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.blocks import draw_records
from riskeval.intruders.shares import auc, newcombe
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed

TINY = 1e-9
CLOSE_SHARE = 0.05


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
        ``member`` (original or hold-out record), ``row``, ``score`` of each judged person.
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
    method: str
    confidence: float
    seed: int
    variables: tuple[str, ...]

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
        text = (
            f"Membership inference ({self.method}): shown a person of the original and one who was "
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
        return text


def membership(
    original: Any,
    synthetic: Any,
    variables: Sequence[str] | str,
    *,
    holdout: Any,
    method: str = "density",
    neighbours: int = 5,
    most_records: int = 10_000,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Membership:
    """Membership inference with a hold-out.

    Parameters
    ----------
    original, synthetic, holdout : DataFrame
        The survey the synthetic file was made from, the synthetic file (which may also be an
        object with ``iter_blocks()`` or an iterable of frames), and other persons of the same
        population who were not in the survey.
    variables : names of columns of all three
        What the intruder knows about a person; numbers and categories (Gower distance).
    method : {"density", "nearest"}
        "density": score is the log ratio of the density of the synthetic file and of a reference
        file at the person (half of the hold-out, drawn at random; the other half are the
        strangers), both from the distance to the k-th neighbour, after DOMIAS. "nearest": score is
        minus the distance to the nearest synthetic record; with it nearest-neighbour adversarial
        accuracy.
    neighbours : int, at least 1
        k of method "density".
    most_records : int
        Of each file at most so many records are used, drawn at random; method "nearest" draws as
        many from each as the smallest has.
    confidence : float in (0, 1)
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
    names = (variables,) if isinstance(variables, str) else tuple(variables)
    check_choice(faults, "method", method, ["density", "nearest"])
    _check_numbers(faults, confidence, neighbours=neighbours, most_records=most_records)
    parts = {"original": original, "holdout": holdout}
    frames = _frames(faults, parts, names, least={"holdout": 4})
    seed = resolve_seed(seed)
    streams = Streams(seed)
    frames["synthetic"] = _synthetic(synthetic, names, most_records, streams)
    if method == "nearest":  # nearness inside and between files compares files of equal size
        most_records = min(most_records, *map(len, frames.values()))
    drawn = {
        role: _sample(len(frame), most_records, streams.at("membership", role))
        for role, frame in frames.items()
    }
    space = _Space({role: frames[role].iloc[rows] for role, rows in drawn.items()}, names)
    accuracy = accuracy_holdout = float("nan")
    strangers = np.arange(len(drawn["holdout"]))
    if method == "density":
        order = streams.at("membership", "reference").permutation(len(strangers))
        reference, strangers = order[: len(order) // 2], np.sort(order[len(order) // 2 :])
        scores = [
            space.log_density("synthetic", None, role, rows, neighbours)
            - space.log_density("holdout", reference, role, rows, neighbours)
            for role, rows in (("original", None), ("holdout", strangers))
        ]
    else:
        scores = [-space.nearest("synthetic", role)[:, 0] for role in ("original", "holdout")]
        accuracy = _adversarial_accuracy(space, "original")
        accuracy_holdout = _adversarial_accuracy(space, "holdout")
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
        method=method,
        confidence=confidence,
        seed=seed,
        variables=names,
    )


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
        ``row`` of the synthetic file, ``dcr``, ``nndr`` (1 where both distances are 0).
    baseline : {"hold-out", "original"}
        Records of the hold-out, or each original record against the other ones.
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
    confidence: float
    seed: int
    variables: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the table of distances."""
        return self.table

    def summary(self) -> str:
        """Say what the screen found, and what it can never show."""
        low, high = self.close_interval
        return (
            f"Distance screen: {self.identical:.2%} of the synthetic records equal an original one "
            f"in all of {len(self.variables)} variables; {self.close:.2%} ({self.confidence:.0%} "
            f"interval {low:.2%} to {high:.2%}) are nearer to the original than 5% of the "
            f"{self.baseline} records are, where 5.00% is expected. This is a screen for memorised "
            "records only. A file that passes is NOT shown to be safe: distances miss leaks that "
            "membership and attribute attacks find (arXiv:2505.01524)."
        )


def distance_screen(
    original: Any,
    synthetic: Any,
    variables: Sequence[str] | str,
    *,
    holdout: Any = None,
    most_records: int = 10_000,
    confidence: float = 0.95,
    seed: int | None = None,
) -> DistanceScreen:
    """Distance to the closest record and distance ratio, as a screen for memorised records.

    Parameters
    ----------
    original, synthetic : DataFrame
        The survey and the synthetic file made from it (also an object with ``iter_blocks()`` or an
        iterable of frames).
    variables : names of columns of both
        Numbers and categories (Gower distance).
    holdout : DataFrame, optional
        Other persons of the same population; the baseline. Without it, each original record is
        compared with the other original ones.
    most_records : int
        At most so many synthetic and baseline records are judged, drawn at random; each is compared
        with every original record.
    confidence : float in (0, 1)
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
    names = (variables,) if isinstance(variables, str) else tuple(variables)
    _check_numbers(faults, confidence, most_records=most_records)
    parts = {"original": original}
    if holdout is not None:
        parts["holdout"] = holdout
    frames = _frames(faults, parts, names, least={"original": 2})
    seed = resolve_seed(seed)
    streams = Streams(seed)
    frames["synthetic"] = _synthetic(synthetic, names, most_records, streams)
    base = "original" if holdout is None else "holdout"
    rows = _sample(len(frames[base]), most_records, streams.at("distance_screen", base))
    space = _Space(frames, names)
    ours = space.nearest("original", "synthetic")
    theirs = space.nearest("original", base, rows, leave_out=holdout is None)
    cut = np.quantile(theirs[:, 0], CLOSE_SHARE)
    below, expected = int((ours[:, 0] < cut).sum()), int((theirs[:, 0] < cut).sum())
    low, high = newcombe(below, len(ours), expected, len(theirs), confidence)
    share = expected / len(theirs)
    return DistanceScreen(
        identical=float((ours[:, 0] <= TINY).mean()),
        close=below / len(ours),
        close_interval=(max(0.0, share + low), min(1.0, share + high)),
        table=pd.DataFrame([_distances("synthetic", ours), _distances("baseline", theirs)]),
        per_record=pd.DataFrame(
            {"row": frames["synthetic"].index, "dcr": ours[:, 0], "nndr": _ratio(ours)}
        ),
        baseline="original" if holdout is None else "hold-out",
        confidence=confidence,
        seed=seed,
        variables=names,
    )


def _check_numbers(faults: Faults, confidence: object, **counts: object) -> None:
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            faults.add(name, f"{count!r} is not a whole number of at least 1")
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        faults.add("confidence", f"{confidence!r} is not a number between 0 and 1")


def _frames(
    faults: Faults, parts: dict[str, Any], names: tuple[str, ...], least: dict[str, int]
) -> dict[str, pd.DataFrame]:
    if not names:
        faults.add("variables", "no column is named")
    frames = {role: as_frame(data, role) for role, data in parts.items()}
    for role, frame in frames.items():
        check_columns(faults, frame, names, f"variable of the {role}")
        if len(frame) < least.get(role, 1):
            faults.add(role, f"{len(frame)} records are too few")
    faults.raise_if_any()
    return frames


def _synthetic(synthetic: Any, names: tuple[str, ...], most: int, streams: Streams) -> pd.DataFrame:
    drawn = draw_records(synthetic, "synthetic", names, most, streams.at("synthetic", "draw"))
    if len(drawn) == 0:
        faults = Faults("synthetic")
        faults.add("synthetic", "has no records")
        faults.raise_if_any()
    return drawn


def _sample(n: int, most: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.choice(n, most, replace=False) if n > most else np.arange(n)
    ordered: np.ndarray = np.sort(rows)
    return ordered


class _Space:
    """Files side by side in the space of Gower distance."""

    def __init__(self, frames: dict[str, pd.DataFrame], names: tuple[str, ...]) -> None:
        self.numbers: dict[str, np.ndarray] = {}
        self.codes: dict[str, np.ndarray] = {}
        numeric = [name for name in names if all(_is_number(f[name]) for f in frames.values())]
        coded = [name for name in names if name not in numeric]
        offsets = np.cumsum([0, *map(len, frames.values())])
        numbers = _stack(frames, numeric)
        codes = np.empty((offsets[-1], len(coded)), dtype=np.int64)
        for k, name in enumerate(coded):
            column = pd.concat([f[name].astype(object) for f in frames.values()])
            text = column.astype(str).where(column.notna(), None)
            codes[:, k] = pd.factorize(text)[0]
        for role, start, stop in zip(frames, offsets, offsets[1:], strict=False):
            self.numbers[role], self.codes[role] = numbers[start:stop], codes[start:stop]
        self.ranges = np.array(
            [np.ptp(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in numbers.T]
        )
        self.dimension = len(names)

    def nearest(
        self,
        base: str,
        asked: str,
        rows: np.ndarray | None = None,
        *,
        among: np.ndarray | None = None,
        k: int = 2,
        leave_out: bool = False,
    ) -> np.ndarray:
        """Distances of records of `asked` to the k nearest of `base`: shape (rows, k)."""
        from riskeval.kernels.linkage import gower_nearest

        rows = np.arange(len(self.numbers[asked])) if rows is None else rows
        among = np.arange(len(self.numbers[base])) if among is None else among
        skip = rows.astype(np.int64) if leave_out else np.full(len(rows), -1, dtype=np.int64)
        ones = np.ones(len(self.ranges)), np.ones(self.codes[base].shape[1])
        found: np.ndarray = gower_nearest(
            self.numbers[base][among], self.numbers[asked][rows], self.ranges, ones[0],
            self.codes[base][among], self.codes[asked][rows], ones[1], skip, k,
        )  # fmt: skip
        return found

    def log_density(
        self, base: str, among: np.ndarray | None, asked: str, rows: np.ndarray | None, k: int
    ) -> np.ndarray:
        """Log density of `base` at records of `asked`, up to a constant, by the k-th neighbour."""
        size = len(self.numbers[base]) if among is None else len(among)
        k = min(k, size)
        distance = self.nearest(base, asked, rows, among=among, k=k)[:, k - 1]
        density: np.ndarray = -self.dimension * np.log(distance + TINY)
        return density


def _stack(frames: dict[str, pd.DataFrame], names: list[str]) -> np.ndarray:
    columns = [
        np.concatenate([f[name].to_numpy(np.float64, na_value=np.nan) for f in frames.values()])
        for name in names
    ]
    total = sum(map(len, frames.values()))
    return np.column_stack(columns) if columns else np.empty((total, 0))


def _is_number(values: pd.Series) -> bool:
    dtype = values.dtype
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)


def _adversarial_accuracy(space: _Space, real: str) -> float:
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
