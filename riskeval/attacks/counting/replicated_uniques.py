"""Replicated uniques: original persons or households that are unique in both files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.key_tables import KeyTable, count_keys
from riskeval.attacks.intervals import Intervals, Ratio, check_intervals, over_files, over_units
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.unit_of_attack import Ask, read_ask
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.streams import resolve_seed


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedUniques(Result):
    """Original records or households that are unique in both files on the keys.

    Attributes
    ----------
    rate : float
        repU: share of original units that are unique in the original and unique in the
        synthetic file with the same keys.
    unique_original : float
        UiO, the baseline: share of original units that are unique in the original.
    unique_in_synthetic : float
        UiOiS: share of original units that are unique in the original and whose keys occur in
        the synthetic file at all.
    unique_synthetic : float
        UiS: share of synthetic units that are unique in the synthetic file.
    intervals : Intervals
        Of UiO, UiOiS and repU.
    per_record : bool, shape (n_units,)
        Which original records (households, in order of appearance) are replicated uniques.
    looked_for : bool, shape (n_units,)
        Whom the intruder looks for; shares are of these, times the coverage.
    n_original, n_synthetic : int
        Units looked for, and units of the synthetic file.
    unit : {"records", "households"}
    keys : tuple of str
    seed : int
    """

    rate: float
    unique_original: float
    unique_in_synthetic: float
    unique_synthetic: float
    intervals: Intervals
    per_record: np.ndarray
    looked_for: np.ndarray
    n_original: int
    n_synthetic: int
    unit: str
    keys: tuple[str, ...]
    seed: int
    told: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of repU."""
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
        return (
            f"Replicated uniques: {self.rate:.2%}{self.intervals.told('repU')} of "
            f"{self.n_original:,} original {self.unit} are "
            f"unique in both files on {', '.join(self.keys)}; {self.unique_original:.2%} are "
            f"unique in the original, which is what releasing it would risk, and "
            f"{self.unique_in_synthetic:.2%} of all are such and have their keys in the synthetic "
            f"file ({self.n_synthetic:,} {self.unit}, {self.unique_synthetic:.2%} of them unique "
            f"there). A replicated unique looks like a real {person}; "
            f"whether its other values are that {person}'s is what DiSCO and TCAP measure. There "
            f"is no published threshold.{self.told}"
        )


def with_intervals(shares: dict[str, float], intervals: Intervals) -> pd.DataFrame:
    """Return one row a measure: ``measure``, ``share``, ``mean``, ``lower``, ``upper``."""
    found = intervals.table.reindex(list(shares)).reset_index(drop=True)
    names = pd.DataFrame({"measure": list(shares), "share": list(shares.values())})
    return pd.concat([names, found], axis=1)


HONOURED = ("key_errors", "coverage", "who", "rows", "unit", "household", "members", "categorical")
"""Fields of a Scenario that the counting measures follow."""


def replicated_uniques(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
    *,
    missing: str = "category",
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
    missing : {"category", "unmatched"}
        Missing keys are a value of their own, or match nothing (such a record is never unique).
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
    honoured = [name for name in HONOURED if name not in ("members", "categorical")]
    ask = read_ask(
        "replicated_uniques", keys, household=household, honoured=honoured,
        n_targets=0 if isinstance(keys, Scenario) else None,
    )  # fmt: skip
    faults = Faults("replicated_uniques")
    further = check_intervals(faults, draws, confidence, replicates)
    faults.raise_if_any()
    seed = resolve_seed(seed)
    table = count_keys("replicated_uniques", original, synthetic, ask, missing, seed)
    ratios, replicated, unique_synthetic = _measured(table, ask)
    values = {name: ratio.value for name, ratio in ratios.items()} | {"UiS": unique_synthetic}
    if further:
        found = [values]
        for file in further:
            other = count_keys("replicated_uniques", original, file, ask, missing, seed)
            more, _, theirs = _measured(other, ask)
            found.append({name: it.value for name, it in more.items()} | {"UiS": theirs})
        intervals = over_files(found, confidence=confidence, seed=seed)
    else:
        intervals = over_units(
            ratios, {"UiS": unique_synthetic}, unit=ask.unit, draws=draws, confidence=confidence,
            seed=seed,
        )  # fmt: skip
    return ReplicatedUniques(
        rate=values["repU"],
        unique_original=values["UiO"],
        unique_in_synthetic=values["UiOiS"],
        unique_synthetic=unique_synthetic,
        intervals=intervals,
        per_record=replicated,
        looked_for=table.looked_for,
        n_original=int(table.looked_for.sum()),
        n_synthetic=table.n_synthetic,
        unit=ask.unit,
        keys=ask.keys,
        seed=seed,
        told=ask.told(),
    )


def _measured(table: KeyTable, ask: Ask) -> tuple[dict[str, Ratio], np.ndarray, float]:
    """Return the measures, which units are replicated uniques, and UiS."""
    right = table.asked_class == table.own_class
    theirs = table.asked(table.class_synthetic)
    present = table.alone & right & (theirs > 0)
    replicated = table.alone & right & (theirs == 1)
    found = {"UiO": table.alone, "UiOiS": present, "repU": replicated}
    ratios = {n: share_of(f, table.looked_for, ask.coverage) for n, f in found.items()}
    unique = float((table.class_synthetic == 1).sum() / max(table.n_synthetic, 1))
    return ratios, replicated & table.looked_for, unique
