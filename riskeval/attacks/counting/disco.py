"""DiSCO: a target that follows, rightly, from somebody's keys in the synthetic file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.key_tables import KeyTable, count_keys
from riskeval.attacks.counting.replicated_uniques import HONOURED, with_intervals
from riskeval.attacks.intervals import Intervals, Ratio, check_intervals, over_files, over_units
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.unit_of_attack import Ask, joined, read_ask
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.streams import resolve_seed


@dataclass(frozen=True, slots=True, eq=False)
class Disco(Result):
    """Original persons or households whose target follows, rightly, from the synthetic file.

    Attributes
    ----------
    rate : float
        DiSCO, disclosive in synthetic, correct in original: share of original records whose keys
        lead to one single target level in the synthetic file, and it is their own.
    disclosive_original : float
        Dorig, the baseline: share whose keys lead to one single level in the original.
    in_synthetic : float
        iS: share whose keys occur in the synthetic file.
    disclosive_in_synthetic : float
        Dsyn: share of synthetic records whose keys lead to one single level there.
    disclosive_synthetic : float
        DiS: share of original records whose keys lead to one single level there, right or wrong.
    disclosive_both : float
        DiSDiO: DiSCO records that are disclosive in the original as well.
    intervals : Intervals
        Of the measures over original units.
    per_record : bool, shape (n_units,)
        Which original records (households, in order of appearance) are DiSCO.
    looked_for : bool, shape (n_units,)
        Whom the intruder looks for; shares of original units are of these, times the coverage.
    n_original, n_synthetic : int
        Units looked for, and records (members of households) of the synthetic file.
    unit : {"records", "households"}
    members : {"any", "every"}
    keys : tuple of str
    target : str
    seed : int
    """

    rate: float
    disclosive_original: float
    in_synthetic: float
    disclosive_in_synthetic: float
    disclosive_synthetic: float
    disclosive_both: float
    intervals: Intervals
    per_record: np.ndarray
    looked_for: np.ndarray
    n_original: int
    n_synthetic: int
    unit: str
    members: str
    keys: tuple[str, ...]
    target: str
    seed: int
    told: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of DiSCO."""
        return self.intervals.of("DiSCO")

    def to_frame(self) -> pd.DataFrame:
        """Return the six shares with their intervals."""
        shares = {
            "Dorig": self.disclosive_original,
            "Dsyn": self.disclosive_in_synthetic,
            "iS": self.in_synthetic,
            "DiS": self.disclosive_synthetic,
            "DiSCO": self.rate,
            "DiSDiO": self.disclosive_both,
        }
        return with_intervals(shares, self.intervals)

    def summary(self) -> str:
        """Say what the share means and what to compare it with."""
        whom = f"persons with the same {', '.join(self.keys)} agree in {self.target}"
        if self.unit == "households":
            whom = (
                f"households with the same {', '.join(self.keys)} of all members agree in the "
                f"{self.target} of {self.members} member"
            )
        return (
            f"DiSCO: for {self.rate:.2%}{self.intervals.told('DiSCO')} of {self.n_original:,} "
            f"original {self.unit} all synthetic {whom}, and rightly so. "
            f"In the original itself the keys determine {self.target} for "
            f"{self.disclosive_original:.2%}; the synthetic file seems to determine it for "
            f"{self.disclosive_synthetic:.2%}, right or wrong. A level that nearly everybody has, "
            f"or that follows from the keys by common knowledge, counts too: look at the records "
            f"before judging. There is no published threshold.{self.told}"
        )


def disco(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
    target: str | None = None,
    *,
    missing: str = "category",
    household: str | None = None,
    members: str = "any",
    replicates: Iterable[Any] = (),
    draws: int = 200,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Disco:
    """Disclosive in synthetic, correct in original (DiSCO), with its companions.

    Parameters
    ----------
    original, synthetic, missing, replicates, draws, confidence
        As in `replicated_uniques`.
    keys : names of columns of both, or a Scenario with one target
        With wrong keys the intruder looks up what they believe, in the original (Dorig) too.
    target : str
        Column of both files that the intruder wants to know; every distinct value is a level, and
        missing is one. Group a numeric target first. None with a Scenario.
    household : str, optional
        Column of both files with the number of the household. A member is then looked up among
        the synthetic persons who have the same keys and live in a household with the same
        multiset of keys; members without a true value are left out.
    members : {"any", "every"}
        A household is disclosed when this is so for any or for every member.
    seed : int, optional
        Of the bootstrap and of wrong keys.

    Returns
    -------
    Disco

    Raises
    ------
    InputError
        As `replicated_uniques`; the target is also a key.

    Notes
    -----
    With d and s the counts of the original and the synthetic file by keys q and target t: DiSCO
    sums d_tq over the classes in which s_tq equals s_q, Dorig over those in which
    d_tq equals d_q; both are divided by the number of original records. Source: Raab, Nowok and
    Dibben (2024), arXiv:2406.16826. The household as unit is ours.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["n", "n", "y", "n"]})
    >>> synthetic = pd.DataFrame({"age": [1, 1, 2], "ill": ["n", "y", "y"]})
    >>> risk = disco(original, synthetic, ["age"], "ill", seed=1)
    >>> risk.disclosive_original, risk.disclosive_synthetic, risk.rate
    (0.5, 0.5, 0.25)
    """
    ask, further, seed = read_counting(
        "disco", keys, target, household, members, replicates, draws, confidence, seed
    )
    ratios, hit, theirs, table = _measured(original, synthetic, ask, missing, seed)
    if further:
        found = [{name: it.value for name, it in ratios.items()} | {"Dsyn": theirs}]
        for file in further:
            more, _, other, _ = _measured(original, file, ask, missing, seed)
            found.append({name: it.value for name, it in more.items()} | {"Dsyn": other})
        intervals = over_files(found, confidence=confidence, seed=seed)
    else:
        intervals = over_units(
            ratios, {"Dsyn": theirs}, unit=ask.unit, draws=draws, confidence=confidence, seed=seed
        )
    return Disco(
        rate=ratios["DiSCO"].value,
        disclosive_original=ratios["Dorig"].value,
        in_synthetic=ratios["iS"].value,
        disclosive_in_synthetic=theirs,
        disclosive_synthetic=ratios["DiS"].value,
        disclosive_both=ratios["DiSDiO"].value,
        intervals=intervals,
        per_record=hit,
        looked_for=table.looked_for,
        n_original=int(table.looked_for.sum()),
        n_synthetic=table.n_synthetic,
        unit=ask.unit,
        members=ask.members,
        keys=ask.keys,
        target=ask.targets[0],
        seed=seed,
        told=ask.told(),
    )


def read_counting(
    name: str,
    keys: Scenario | Sequence[str] | str,
    target: str | None,
    household: str | None,
    members: str,
    replicates: Any,
    draws: int,
    confidence: float,
    seed: int | None,
) -> tuple[Ask, tuple[Any, ...], int]:
    """Check what a counting measure of one target was given; return it with files and seed."""
    ask = read_ask(
        name, keys, target, household=household, members=members, honoured=HONOURED, n_targets=1
    )
    faults = Faults(name)
    if len(ask.targets) != 1:
        what = f"{len(ask.targets)} targets are given, 1 wanted"
        faults.add("target", what, remedy="Name what the intruder looks for.")
    further = check_intervals(faults, draws, confidence, replicates)
    faults.raise_if_any()
    return ask, further, resolve_seed(seed)


def _measured(
    original: Any, synthetic: Any, ask: Ask, missing: str, seed: int
) -> tuple[dict[str, Ratio], np.ndarray, float, KeyTable]:
    """Return the measures over original units, which units are DiSCO, Dsyn, and the counts."""
    table = count_keys("disco", original, synthetic, ask, missing, seed)
    largest, level = table.most(table.synthetic)
    single = (table.class_synthetic > 0) & (largest == table.class_synthetic)
    most_own, own_level = table.most(table.original)
    single_own = (table.class_original > 0) & (most_own == table.class_original)
    hit = table.asked(single) & (table.asked(level) == table.level)
    hit_own = table.asked(single_own) & (table.asked(own_level) == table.level)
    flags = {
        "Dorig": hit_own,
        "iS": table.asked(table.class_synthetic > 0),
        "DiS": table.asked(single),
        "DiSCO": hit,
        "DiSDiO": hit & hit_own,
    }
    kept, n_units = table.judged, len(table.looked_for)
    units = {
        name: joined(flag[kept], table.unit[kept], n_units, ask.members)
        for name, flag in flags.items()
    }
    ratios = {name: share_of(it, table.looked_for, ask.coverage) for name, it in units.items()}
    theirs = float(table.class_synthetic[single].sum() / max(table.n_synthetic, 1))
    return ratios, units["DiSCO"] & table.looked_for, theirs, table
