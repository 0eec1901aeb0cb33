"""Distance to the closest record: a screen for memorised records, never proof of safety."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.clusters import clusters_of
from riskeval.attacks.compared import BASE, ComparedAttack, ComparedFiles, beyond_strangers, shown
from riskeval.attacks.distance.files import (
    HONOURED,
    NearnessFiles,
    Progress,
    check_numbers,
    members_nearest,
    read_nearness,
)
from riskeval.attacks.distance.space import TINY, Space
from riskeval.attacks.entry import COMPARED, AttackEntry, run_compared
from riskeval.attacks.numbers import OUTSIDE, AttackNumber, beside
from riskeval.attacks.request import as_sentences, keys_and_targets, read_request
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, caution_of, corrected, excess
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.codes import cell_ids, encode, recode_to
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, percent, plural
from synthpop.microdata.statistics.intervals import wilson

CLOSE_SHARE = 0.05
"""Share of the baseline records below the cut, where no distances are equal."""


@dataclass(frozen=True, slots=True, eq=False)
class DistanceScreen(TableResult):
    """How near synthetic records are to original ones.

    Attributes
    ----------
    identical : float
        Share of synthetic records equal to an original one in all variables that both have.
    identical_baseline : float
        The same share of the baseline records.
    identical_interval : (float, float)
        Wilson interval of `identical`, corrected for two numbers.
    close : float
        Share of synthetic records nearer to an original record than the cut; records at the cut
        count one half (mid-p). The cut is the distance that 5 % of the baseline records reach.
    close_baseline : float
        The same share of the baseline records: 0.05 where no distances are equal, else more.
    close_interval : (float, float)
        Wilson interval of `close`, corrected for two numbers.
    excess : dict of "identical" and "close" to Excess
        Both shares beyond those of the hold-out; for households also "members", the share whose
        members are, on average, nearer to original persons than the same cut. Empty
        without a hold-out, since original records against each other allow no verdict.
    copied, nearer : Excess or None
        `identical` and `close` beyond those of the baseline, whichever it is.
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
    notes : tuple of str
    """

    identical: float
    identical_baseline: float
    identical_interval: tuple[float, float]
    close: float
    close_baseline: float
    close_interval: tuple[float, float]
    excess: dict[str, Excess]
    copied: Excess | None
    nearer: Excess | None
    table: pd.DataFrame
    per_record: pd.DataFrame
    baseline: str
    unit: str
    confidence: float
    seed: int
    variables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    footnote: str = ""

    def summary(self) -> str:
        """Say what the screen found, and what it can never show."""
        low, high = self.close_interval
        return message(
            "Distance screen: {identical} of the synthetic {unit} equal an original one in "
            "all of {variables} variables, against {identical_baseline} of the {baseline}; "
            "{close} ({confidence} interval {low} to {high}) are nearer to the original "
            "than the nearest {close_share} of the {baseline} {unit}, which themselves "
            "reach {close_baseline}. {verdict} This is a screen for memorised records "
            "only: a file that passes is NOT shown to be safe, since distances miss leaks "
            "that membership and attribute attacks find (arXiv:2505.01524). There is no "
            "published threshold.{notes}{footnote}",
            identical=percent(self.identical),
            unit=message(self.unit),
            variables=len(self.variables),
            identical_baseline=percent(self.identical_baseline),
            baseline=self.baseline,
            close=percent(self.close),
            confidence=percent(self.confidence, 0),
            low=percent(low),
            high=percent(high),
            close_share=percent(CLOSE_SHARE, 0),
            close_baseline=percent(self.close_baseline),
            verdict=self._verdict(),
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )

    def _verdict(self) -> str:
        above = [name for name, one in self.excess.items() if one.is_above]
        caution = caution_of(self.excess.values())
        if above:
            return message(
                "More {above} than strangers: the file repeats records.{caution}",
                above=" and ".join(above),
                caution=caution,
            )
        if self.excess:
            return caution.lstrip() or message("Neither is clearly higher than for strangers.")
        hint = ""
        if self.copied is not None and self.copied.is_above:
            hint = ", " + message(
                "but more records are identical than among the original ones: look for copies"
            )
        elif self.nearer is not None and self.nearer.is_above:
            hint = ", " + message(
                "but more records are near to an original one than the original ones are to "
                "each other: look for copies that were hardly changed"
            )
        return message("Without a hold-out there is no verdict{hint}.", hint=hint)


@same_library
def distance_screen(
    original: Any,
    synthetic: Any,
    variables: Scenario | Sequence[str] | str | None = None,
    *,
    holdout: Any = None,
    household: str | None = None,
    categorical: Sequence[str] | str = (),
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
        compared with the other original ones, and there is no verdict.
    household, categorical
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
        Missing columns, empty files, fewer than two original records, categories without any level
        in common.

    Notes
    -----
    Missing values are left out of the comparison of a pair. The screen cannot see what is told by
    records that are changed more than strangers differ, or by relations between variables.
    Never proof of safety: Yao et al. (2025), arXiv:2505.01524.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> original = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    >>> distance_screen(original, original, ["a", "b"], seed=1).identical
    1.0
    """
    faults = Faults("distance_screen")
    variables, _ = keys_and_targets(original, variables, None)
    request = read_request(
        "distance_screen", variables, household=household, categorical=categorical,
        honoured=HONOURED,
    )  # fmt: skip
    check_numbers(faults, confidence, most_records=most_records, workers=workers)
    real = {"original": original} | ({} if holdout is None else {"holdout": holdout})
    base = "original" if holdout is None else "holdout"
    files = read_nearness(
        faults, request, real, synthetic, least={"original": 2}, most_synthetic=most_records,
        seed=seed,
    )  # fmt: skip
    points = files.points
    rows = drawn_rows(len(points[base]), most_records, files.streams.at("distance_screen", base))
    progress = Progress("distance_screen", len(points["synthetic"]) + len(rows), on_event)
    space = Space(points, files.weights, len(request.needed), workers=workers, step=progress.step)
    released = space.nearest("original", "synthetic")
    strangers = space.nearest("original", base, rows, leave_out=holdout is None)
    progress.end()
    shares = {
        "identical": [(near[:, 0] <= TINY).astype(float) for near in (released, strangers)],
        "close": _below_cut(released[:, 0], strangers[:, 0]),
    }
    if request.household is not None:
        drawn = {"synthetic": np.arange(len(points["synthetic"])), base: rows}
        shares["members"] = _below_cut(*members_nearest(files, drawn, "original", workers))
    nearness = {"dcr": released[:, 0], "nndr": _ratio(released)}
    return DistanceScreen(
        **_compared(shares, confidence, files, None if holdout is None else rows),
        table=pd.DataFrame([_distances("synthetic", released), _distances("baseline", strangers)]),
        per_record=pd.DataFrame({"row": files.positions, **nearness}),
        baseline="original" if holdout is None else "hold-out",
        confidence=confidence,
        **files.about(),
    )


def _compared(
    shares: dict[str, list[np.ndarray]], confidence: float, files: NearnessFiles,
    strangers: np.ndarray | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the shares of released and of baseline records, and their differences."""
    level = corrected(confidence, len(shares))
    homes = None
    if strangers is not None and files.request.household is None:
        homes = clusters_of(files.frames["holdout"])
    clusters = None, homes if homes is None else homes[strangers]
    comparison = {
        name: excess(
            released,
            baseline,
            confidence,
            n_tests=len(shares),
            overlap=files.overlap,
            clusters=clusters,
        )
        for name, (released, baseline) in shares.items()
    }
    numbers: dict[str, Any] = {}
    for name in ("identical", "close"):
        released, baseline = shares[name]
        numbers |= {
            name: float(released.mean()),
            f"{name}_baseline": float(baseline.mean()),
            f"{name}_interval": wilson(released.sum(), len(released), level),
        }
    beyond = {name: one for name, one in comparison.items() if one is not None}
    return numbers | {
        "excess": {} if strangers is None else beyond,
        "copied": comparison["identical"],
        "nearer": comparison["close"],
    }


def _below_cut(released: np.ndarray, strangers: np.ndarray) -> list[np.ndarray]:
    """Who is nearer than the distance that so many strangers reach, on both sides."""
    cut = float(np.quantile(strangers, CLOSE_SHARE))
    return [_mid_p(distances, cut) for distances in (released, strangers)]


def _mid_p(distances: np.ndarray, cut: float) -> np.ndarray:
    """1 below the cut, one half at the cut, 0 above."""
    below = (distances < cut - TINY).astype(np.float64)
    below[np.abs(distances - cut) <= TINY] = 0.5
    return below


def _ratio(distances: np.ndarray) -> np.ndarray:
    first, second = distances[:, 0], distances[:, 1]
    return np.divide(first, second, out=np.ones(len(first)), where=second > 0)


def _distances(name: str, distances: np.ndarray) -> dict[str, Any]:
    row: dict[str, Any] = {"file": name}
    for q in (0.01, 0.05, 0.25, 0.5):
        row[f"dcr_{q:g}"] = float(np.quantile(distances[:, 0], q))
    row["nndr"] = float(np.median(_ratio(distances)))
    return row


YAO = "Yao et al. 2025, arXiv:2505.01524 (a screen, never proof of safety)"
CLOSE = attribution(
    "close",
    "Nearer than chance",
    "share of the released records nearer to an original one than the nearest 5 % of "
    "other persons are (of the hold-out, else of the original itself)",
    YAO,
)
MEMBERS = attribution(
    "members",
    "Members nearer than chance",
    "households whose members are nearer to original persons than the nearest 5 % of the baseline",
    "",
)
IDENTICAL = attribution(
    "identical",
    "Identical records",
    "share of the released records equal to an original one in all variables",
    YAO,
)


def screen_numbers(result: Any) -> list[AttackNumber]:
    """Shares of near and of identical records beside those of the baseline."""
    numbers = []
    beyond = result.excess.get("members")
    if beyond is not None:
        one = Measurement(
            beside(MEMBERS, message("members nearer than the baseline")), beyond.rate,
            baseline=beyond.holdout_rate, against=message("records of the hold-out"),
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    for info, title in ((CLOSE, message("nearer than the baseline")), (IDENTICAL, "identical")):
        name = info.name
        low, high = getattr(result, f"{name}_interval")
        one = Measurement(
            beside(info, title), getattr(result, name), lower=low, upper=high,
            baseline=getattr(result, f"{name}_baseline"),
            against=message("records of the {baseline}", baseline=result.baseline),
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", result.excess.get(name)))
    return numbers


def _compared_screen(files: ComparedFiles, target: str) -> list[Measurement]:
    """Compare all shared variables of records, and count equal ones."""
    most, y, names = files.n_screened, files.release, files.variables
    x = files.drawn_records(BASE * most, "screen")
    result = distance_screen(
        x, y, names, holdout=files.holdout, most_records=most, seed=files.drawn_seed("screen")
    )
    close = next(one for one in screen_numbers(result) if one.measurement.info.name == "close")
    cut = max(len(files.original), len(y)) > most
    sampled = (
        message("{most} against {n}, drawn at random", most=plural(most, "record"), n=count(len(x)))
        if cut
        else ""
    )
    twins, against = (
        float(files.original.duplicated(names, keep=False).mean()),
        message("the original"),
    )
    if files.holdout is not None:
        twins, against = identical(files.original, files.holdout, names), OUTSIDE
    return [
        Measurement(
            IDENTICAL, identical(files.original, y, names), records=len(y),
            baseline=twins, against=against,
        ),
        shown(CLOSE, close, min(most, len(y)), sampled, beyond_strangers(close.excess)),
    ]  # fmt: skip


def identical(x: pd.DataFrame, y: pd.DataFrame, names: list[str]) -> float:
    """Share of the records of `y` that equal one of `x` in all columns; missing equals missing.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [30, 41, 41], "sex": list("fmf")})
    >>> identical(table, pd.DataFrame({"age": [41.0, 30.0], "sex": ["m", "m"]}), ["age", "sex"])
    0.5
    """
    ids, n_cells = cell_ids(np.column_stack([_encoded_together(x[n], y[n]) for n in names]))
    occupied = np.zeros(n_cells, dtype=bool)
    occupied[ids[: len(x)]] = True
    return float(occupied[ids[len(x) :]].mean())


def _encoded_together(x: pd.Series, y: pd.Series) -> np.ndarray:
    """Code one column of two files, the second below the first."""
    if is_number(x) and is_number(y):
        return encode(pd.concat([x, y]))[0]
    codes, levels = encode(x)
    others, unknown = recode_to(y, levels)
    return np.concatenate([codes, np.where(unknown, len(levels), others)])


ATTACK = AttackEntry(
    name="distance_screen",
    rank=70,
    title="Distance screen",
    question="Are released records nearer to the original persons than those of strangers are?",
    story="looks for copied records (a screen, never proof of safety)",
    blind_spots=(
        "everything but records that are repeated nearly as they were; of large files, copies"
        " that are not drawn"
    ),
    function=distance_screen,
    target="none",
    honours=COMPARED,
    run=run_compared(distance_screen),
    numbers=screen_numbers,
    compared=ComparedAttack((IDENTICAL, CLOSE), _compared_screen),
)
