"""Replicated uniques: original persons or households that are unique in both files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.compared import ComparedAttack, ComparedFiles, shown_beyond
from riskeval.attacks.counting.key_tables import CrossTable, FileClasses
from riskeval.attacks.counting.request import CountingResult, read_counting
from riskeval.attacks.entry import AttackEntry, AttackInput
from riskeval.attacks.intervals import Intervals, Ratio
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.numbers import RAAB, AttackNumber, beside
from riskeval.attacks.request import as_sentences
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, caution_of, excess
from riskeval.attacks.targets import clusters_among
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, formatted, percent


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedUniques(CountingResult):
    """Original records or households that are unique in both files on the keys.

    Attributes
    ----------
    rate : float
        repU: share of original units that are unique in the original and unique in the
        synthetic file with the same keys. With replicates the mean over all files, as the other
        shares.
    unique_original : float
        UiO, the baseline: share of original units that are unique in the original.
    unique_in_synthetic : float
        UiOiS: share of original units that are unique in the original and whose keys occur in
        the synthetic file at all.
    unique_synthetic : float
        UiS: share of synthetic units that are unique in the synthetic file.
    rate_judged : float
        repU among the original uniques whose keys occur in the synthetic file at all.
    intervals : Intervals
        Of UiO, UiOiS and repU.
    excess : Excess or None
        Share of units found exactly once, among those that are unique in original and hold-out
        together, against the same share of the hold-out. None without a hold-out.
    per_record : bool, shape (n_units,)
        Which original records (households, in order of appearance) are replicated uniques; of
        several files, in the first.
    looked_for : bool, shape (n_units,)
        Whom the intruder looks for; shares are of these, times the coverage.
    n_original, n_synthetic : int
        Units looked for, and units of the synthetic file.
    unit : {"records", "households"}
    keys : tuple of str
    seed : int
    notes : tuple of str
        What the numbers leave out, or rest on.
    """

    rate: float
    unique_original: float
    unique_in_synthetic: float
    unique_synthetic: float
    rate_judged: float
    excess: Excess | None
    per_record: np.ndarray
    n_original: int

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of repU."""
        return self.intervals.of("repU")

    def to_frame(self) -> pd.DataFrame:
        """Return the four shares with their intervals."""
        shares = {
            "UiO": self.unique_original,
            "UiS": self.unique_synthetic,
            "UiOiS": self.unique_in_synthetic,
            "repU": self.rate,
        }
        return with_intervals(shares, self.intervals)

    def summary(self) -> str:
        """Say what the share means and what to compare it with."""
        person = "person" if self.unit == "records" else "household"
        return message(
            "Replicated uniques: {rate}{interval} of {n_original} original {unit} are "
            "unique in both files on {keys}; {unique_original} are unique in the original, "
            "which is what releasing it would risk, and {unique_in_synthetic} of all are "
            "unique and have their keys in the synthetic file ({n_synthetic} {unit}, "
            "{unique_synthetic} of them unique there). A replicated unique looks like a "
            "real {person}; whether its other values are that {person}'s is what DiSCO and "
            "TCAP measure. {excess}There is no published threshold.{notes}{footnote}",
            rate=percent(self.rate),
            interval=self.intervals.sentence("repU"),
            n_original=count(self.n_original),
            unit=message(self.unit),
            keys=", ".join(self.keys),
            unique_original=percent(self.unique_original),
            unique_in_synthetic=percent(self.unique_in_synthetic),
            n_synthetic=count(self.n_synthetic),
            unique_synthetic=percent(self.unique_synthetic),
            person=person,
            excess=excess_sentence(self.excess, self.unit),
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )


def with_intervals(shares: dict[str, float], intervals: Intervals) -> pd.DataFrame:
    """Return one row per measure: ``measure``, ``share``, ``mean``, ``lower``, ``upper``."""
    table = intervals.table.reindex(list(shares)).reset_index(names="measure")
    table.insert(1, "share", list(shares.values()))
    return table


def excess_sentence(one: Excess | None, unit: str) -> str:
    """Say how far an attack does better on the original than on strangers; empty without them."""
    if one is None:
        return ""
    verdict = "less" if one.is_below else message("not clearly more")
    verdict = "more" if one.is_above else verdict
    return (
        message(
            "Of the {n} {unit} that can be compared the attack finds {rate}, of "
            "{n_holdout} outside the original {holdout_rate}: {verdict} (difference "
            "{difference} points, {confidence} interval {lower} to {upper}).{caution}",
            n=count(one.n),
            unit=unit,
            rate=percent(one.rate),
            n_holdout=count(one.n_holdout),
            holdout_rate=percent(one.holdout_rate),
            verdict=verdict,
            difference=formatted(100 * one.difference, "+.2f"),
            confidence=percent(one.confidence, 0),
            lower=formatted(100 * one.lower, "+.2f"),
            upper=formatted(100 * one.upper, "+.2f"),
            caution=caution_of([one]),
        )
        + " "
    )


@same_library
def replicated_uniques(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str | None = None,
    *,
    holdout: Any = None,
    missing: str = "wildcard",
    household: str | None = None,
    replicates: Iterable[Any] = (),
    draws: int = 200,
    confidence: float = 0.95,
    seed: int | None = None,
) -> ReplicatedUniques:
    """Share of original persons, or households, that are unique on the keys in both files (repU).

    Parameters
    ----------
    original : DataFrame, n rows
    synthetic : DataFrame, object with ``iter_blocks()``, or iterable of frames
        Read once, block by block; any generator's file.
    keys : names of columns of both, or a Scenario
        Categorical; levels are compared by value. A Scenario (without targets) says who is looked
        for, which keys are wrong, and how many are in the intruder's register; a wrong key finds
        nobody that counts, and shares of original units are multiplied by the coverage.
    holdout : DataFrame, optional
        Real persons who are not in the original: how often they are found the same way. Without
        them there is no verdict.
    missing : {"wildcard", "category", "unmatched"}
        What a missing key of the synthetic file matches. "wildcard": anything, where no record has
        the keys themselves; of several, those with the fewest holes. A record without any key
        matches nobody. "category": missing keys only. "unmatched": nothing (and a record with a
        missing key is never unique).
    household : str, optional
        Column of both files with the number of the household. The unit is then the household,
        described by the multiset of the keys of its members: two households are alike when their
        members can be paired so that each pair has the same keys (so they are of the same size).
    replicates : list of synthetic files, optional
        Further files of the same fit: the intervals are then those of the mean over all.
    draws : int
        Bootstrap draws over units when there are no replicates; 0 for no interval.
    confidence : float in (0, 1)
    seed : int, optional
        Of the bootstrap and of wrong keys.

    Returns
    -------
    ReplicatedUniques

    Raises
    ------
    InputError
        Missing columns, no keys, a key without any common level, persons without a household, a
        field of the Scenario that has no part here.

    Notes
    -----
    Memory is that of the distinct key combinations; with households also a few numbers a person.
    Source: Raab, Nowok and Dibben (2024), arXiv:2406.16826. The household as unit is ours.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [30, 30, 41, 52]})
    >>> synthetic = pd.DataFrame({"age": [30, 41, 52, 52]})
    >>> risk = replicated_uniques(original, synthetic, ["age"], seed=1)
    >>> risk.unique_original, risk.unique_in_synthetic, risk.rate
    (0.5, 0.5, 0.25)
    """
    counting = read_counting(
        "replicated_uniques", original, synthetic, keys, n_targets=0, holdout=holdout,
        missing=missing, household=household, replicates=replicates, draws=draws,
        confidence=confidence, seed=seed,
    )  # fmt: skip
    tables = list(counting.counts())
    coverage = counting.request.coverage
    ratios = [_ratios(table, coverage) for table in tables]
    others = [
        {"UiS": float((table.released.total == 1).sum() / max(table.n_released, 1))}
        for table in tables
    ]
    intervals = counting.intervals(ratios, others)
    people = tables[0].people
    replicated = _replicated(tables[0], people) & people.targets.unique & people.looked_for
    comparison = None
    if holdout is not None:
        files = list(tables[0].files.values())
        among = [one.looked_for & one.targets.unique_in_all for one in files]
        members, strangers = (
            _replicated(tables[0], one)[rows] for one, rows in zip(files, among, strict=True)
        )
        comparison = excess(
            members, strangers, confidence, coverage=coverage, overlap=counting.overlap,
            clusters=clusters_among([one.targets for one in files], among),
        )  # fmt: skip
    present = intervals.means["UiOiS"]
    return ReplicatedUniques(
        rate=intervals.means["repU"],
        unique_original=intervals.means["UiO"],
        unique_in_synthetic=present,
        unique_synthetic=intervals.means["UiS"],
        rate_judged=intervals.means["repU"] / present if present > 0 else float("nan"),
        intervals=intervals,
        excess=comparison,
        per_record=replicated,
        n_original=int(people.looked_for.sum()),
        **counting.about(tables[0]),
    )


def _matches(table: CrossTable, people: FileClasses) -> tuple[np.ndarray, np.ndarray]:
    """Units that are looked up by their true keys, and released units that match each."""
    return people.believed_class == people.true_class, table.matched.in_class(people.believed_class)


def _replicated(table: CrossTable, people: FileClasses) -> np.ndarray:
    is_right, n_matches = _matches(table, people)
    return is_right & (n_matches == 1)


def _ratios(table: CrossTable, coverage: float) -> dict[str, Ratio]:
    people = table.people
    is_right, n_matches = _matches(table, people)
    unique = people.targets.unique
    flags = {
        "UiO": unique,
        "UiOiS": unique & is_right & (n_matches > 0),
        "repU": unique & is_right & (n_matches == 1),
    }
    return {name: share_of(flag, people.looked_for, coverage) for name, flag in flags.items()}


UNIQUES = attribution(
    "replicated_uniques",
    "Replicated uniques",
    "share of the original records that are unique on the keys in both files (repU)",
    RAAB,
)


def unique_numbers(result: Any) -> list[AttackNumber]:
    """RepU beside the uniques of the original."""
    one = Measurement(
        beside(UNIQUES, "repU"), result.rate, records=result.n_original,
        lower=result.interval[0], upper=result.interval[1], baseline=result.unique_original,
        against=message("uniques of the original (UiO)"),
    )  # fmt: skip
    return [AttackNumber(one, "original", result.excess)]


def _run(inputs: AttackInput, target: str) -> Any:
    return replicated_uniques(
        inputs.original, inputs.synthetic, inputs.scenario_about(HONOURED, []),
        holdout=inputs.holdout, replicates=inputs.replicates, seed=inputs.seed,
    )  # fmt: skip


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    result = replicated_uniques(*files.by_keys, holdout=files.holdout, draws=0)
    return shown_beyond(files, UNIQUES, unique_numbers(result)[0], result)


HONOURED = ("key_errors", "coverage", "who", "rows", "unit", "household")
ATTACK = AttackEntry(
    name="replicated_uniques",
    rank=10,
    title="Replicated uniques",
    question=(
        "How many persons who are unique in the original are unique in the release with the "
        "same keys?"
    ),
    story="finds exactly one synthetic person with the keys of somebody unique",
    blind_spots=(
        "keys that are changed (noise, swapping, PRAM); whether the other values of the match"
        " are right"
    ),
    function=replicated_uniques,
    target="none",
    honours=HONOURED,
    run=_run,
    numbers=unique_numbers,
    replicates=True,
    exact_keys=True,
    compared=ComparedAttack((UNIQUES,), _compared),
)
