"""Attribution probabilities: what drawing among synthetic persons with somebody's keys tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.disco import Disco, disco, read_counting
from riskeval.attacks.counting.key_tables import KeyTable, count_keys
from riskeval.attacks.counting.replicated_uniques import ReplicatedUniques, replicated_uniques
from riskeval.attacks.intervals import Intervals, Ratio, over_files, over_units
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.unit_of_attack import Ask, joined, joint_chance
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result

__all__ = ["Attribution", "Disco", "ReplicatedUniques", "disco", "replicated_uniques", "tcap"]

MEANINGS = {
    "CAP_original": "draw among originals of the same keys",
    "DCAP": "draw among synthetics, 0 where there are none",
    "DCAP_matched": "draw among synthetics, where there are any",
    "WEAP": "share of a synthetic record's own level in its class",
    "WEAP_original": "share of the frequent level, originals with a class",
    "TCAP_original": "targeted originals whose own level is the frequent one",
    "TCAP_synthetic": "targeted synthetics with an original of their keys, share of originals",
    "TCAP_synthetic_all": "the same, 0 for those without an original of their keys",
    "baseline": "draw from the distribution of the target, no keys",
}


@dataclass(frozen=True, slots=True, eq=False)
class Attribution(Result):
    """Probabilities that an intruder attributes the right target value.

    Attributes
    ----------
    table : DataFrame
        ``measure``, ``value``, ``n`` (units or records it is a mean over), ``meaning``, ``mean``,
        ``lower``, ``upper``; see `tcap`.
    per_record : DataFrame
        One row an original person, looked for or not. ``cap``: probability to draw the right level
        among synthetic records with the same keys,
        NaN where there are none; ``weap``: share of the most frequent level among them (NaN
        likewise); ``targeted``: `weap` reaches `tau`; ``right``: the most frequent level is the
        record's own (the first level when several are as frequent). With households also
        ``household`` (0, 1, ... in order of appearance).
    baseline : float
        Probability to be right by drawing from the distribution of the target in the original,
        without any key.
    intervals : Intervals
        Of the measures over original units.
    looked_for : bool, shape (n_units,)
    tau : float
    unit : {"records", "households"}
    members : {"any", "every"}
    keys : tuple of str
    target : str
    n_synthetic : int
    seed : int
    """

    table: pd.DataFrame
    per_record: pd.DataFrame
    baseline: float
    intervals: Intervals
    looked_for: np.ndarray
    tau: float
    unit: str
    members: str
    keys: tuple[str, ...]
    target: str
    n_synthetic: int
    seed: int
    told: str = ""

    def value(self, measure: str) -> float:
        """Return one measure by name."""
        found = self.table.loc[self.table["measure"] == measure, "value"]
        if found.empty:
            faults = Faults("Attribution")
            faults.add(measure, "no such measure", remedy=f"There are: {[*self.table['measure']]}.")
            faults.raise_if_any()
        return float(found.iloc[0])

    def to_frame(self) -> pd.DataFrame:
        """Return the table of measures."""
        return self.table

    def summary(self) -> str:
        """Say what the main measures mean."""
        n_targeted = int(self.table.loc[self.table["measure"] == "TCAP_original", "n"].iloc[0])
        right = "is right"
        if self.unit == "households":
            right = f"is right for {self.members} member of a household"
        return (
            f"Correct attribution of {self.target} from {', '.join(self.keys)}: an intruder who "
            f"draws among the synthetic persons with the same keys {right} with probability "
            f"{self.value('DCAP_matched'):.3f}{self.intervals.told('DCAP_matched')} where there "
            f"are any ({self.value('DCAP'):.3f} over "
            f"all original {self.unit}); drawing without keys {self.baseline:.3f}; drawing in the "
            f"original itself {self.value('CAP_original'):.3f}. For the {n_targeted:,} "
            f"{self.unit} whose "
            f"synthetic class points to one level (WEAP at least {self.tau:g}) it is right for a "
            f"share of {self.value('TCAP_original'):.3f} (TCAP over original {self.unit}; over "
            f"synthetic records {self.value('TCAP_synthetic'):.3f}). Compare with the baseline: "
            f"there is no published threshold.{self.told}"
        )


def tcap(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
    target: str | None = None,
    *,
    tau: float = 1.0,
    missing: str = "category",
    household: str | None = None,
    members: str = "any",
    replicates: Iterable[Any] = (),
    draws: int = 200,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Attribution:
    """Attribution probabilities CAP, DCAP, TCAP and WEAP, each variant under its own name.

    Parameters
    ----------
    original, synthetic, keys, target, missing, household, replicates, draws, confidence, seed
        As in `disco`. Probabilities are of an attack on somebody who is looked for: the coverage of
        a Scenario multiplies CAP_original and DCAP only, which are means over all.
    members : {"any", "every"}
        The intruder draws for each member of a household apart, among synthetic persons of the
        same keys in households of the same multiset of keys. A household's probability is that of
        being right for any or for every member; it is targeted when any or every member is, and
        right when any or every targeted member is.
    tau : float in (0, 1]
        WEAP from which a class is targeted: the share of its most frequent target level.

    Returns
    -------
    Attribution
        Measures of `table`, d and s being counts of both files by keys q and target t:

        CAP_original
            Mean over original records of d_tq / d_q: the intruder holds the original.
        DCAP
            Mean over all original records of s_tq / s_q, 0 where s_q is 0 (Raab et al.).
        DCAP_matched
            The same over original records with s_q above 0 (Taub et al.: others undefined).
        WEAP
            Mean over synthetic records of s_tq / s_q for their own t (Taub et al.).
        WEAP_original
            Mean over original records with s_q above 0 of max_t s_tq / s_q.
        TCAP_original
            Share of original records in targeted classes whose own level is the most frequent one
            of the class (Raab et al.).
        TCAP_synthetic
            Mean over synthetic records with s_tq / s_q of at least tau of d_tq / d_q, those without
            any original of the same keys left out (Taub et al.).
        TCAP_synthetic_all
            The same with 0 for those.
        baseline
            Mean over original records of the share of their level in the original.

    Raises
    ------
    InputError
        As `disco`; `tau` not in (0, 1].

    Notes
    -----
    A mean over no record is NaN. Source: Elliot (2014); Taub, Elliot, Pampaka and
    Smith (2018), doi:10.1007/978-3-319-99771-1_9; Little, Allmendinger and Elliot (2025),
    doi:10.1177/0282423X241266523; Raab, Nowok and Dibben (2024), arXiv:2406.16826. The household
    as unit is ours.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["n", "n", "y", "n"]})
    >>> synthetic = pd.DataFrame({"age": [1, 1, 2], "ill": ["n", "y", "y"]})
    >>> risk = tcap(original, synthetic, ["age"], "ill", seed=1)
    >>> risk.value("CAP_original"), risk.value("DCAP"), risk.value("TCAP_original")
    (0.75, 0.5, 0.5)
    """
    if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not 0 < tau <= 1:
        faults = Faults("tcap")
        faults.add("tau", f"{tau!r} is not above 0 and at most 1")
        faults.raise_if_any()
    ask, further, seed = read_counting(
        "tcap", keys, target, household, members, replicates, draws, confidence, seed
    )
    table = count_keys("tcap", original, synthetic, ask, missing, seed)
    records = _records(table, tau, ask)
    ratios, theirs = _over_originals(table, records, ask), _over_synthetics(table, tau)
    values = {name: ratio.value for name, ratio in (ratios | theirs).items()}
    if further:
        found = [values]
        for file in further:
            more = count_keys("tcap", original, file, ask, missing, seed)
            both = _over_originals(more, _records(more, tau, ask), ask) | _over_synthetics(
                more, tau
            )
            found.append({name: ratio.value for name, ratio in both.items()})
        intervals = over_files(found, confidence=confidence, seed=seed)
    else:
        others = {name: ratio.value for name, ratio in theirs.items()}
        intervals = over_units(
            ratios, others, unit=ask.unit, draws=draws, confidence=confidence, seed=seed
        )
    return Attribution(
        table=_as_frame(ratios | theirs, intervals),
        per_record=records,
        baseline=values["baseline"],
        intervals=intervals,
        looked_for=table.looked_for,
        tau=float(tau),
        unit=ask.unit,
        members=ask.members,
        keys=ask.keys,
        target=ask.targets[0],
        n_synthetic=table.n_synthetic,
        seed=seed,
        told=ask.told(),
    )


def _records(table: KeyTable, tau: float, ask: Ask) -> pd.DataFrame:
    largest, level = table.most(table.synthetic)
    in_class = table.asked(table.class_synthetic)
    weap = _share(table.asked(largest), in_class)
    records = pd.DataFrame(
        {
            "cap": _share(table.of_cells(table.synthetic), in_class),
            "weap": weap,
            "targeted": weap >= tau - 1e-12,
            "right": (table.asked(level) == table.level) & (in_class > 0),
        }
    )
    if ask.household is not None:
        records["household"] = table.unit
    return records


def _over_originals(table: KeyTable, records: pd.DataFrame, ask: Ask) -> dict[str, Ratio]:
    """Measures over original units as ratios of sums over them."""
    kept, n_units, among = table.judged, len(table.looked_for), table.looked_for
    unit, how = table.unit[kept], ask.members
    cap = records["cap"].to_numpy()[kept]
    in_original = _share(table.of_cells(table.original), table.asked(table.class_original))[kept]
    shares = np.bincount(table.level[kept]) / max(int(kept.sum()), 1)
    targeted = records["targeted"].to_numpy()[kept]
    right = records["right"].to_numpy()[kept]
    met = among & joined(~np.isnan(cap), unit, n_units, "any")
    aimed = among & joined(targeted, unit, n_units, how)
    found = {
        "CAP_original": (np.nan_to_num(in_original), among, ask.coverage),
        "DCAP": (np.nan_to_num(cap), among, ask.coverage),
        "DCAP_matched": (np.nan_to_num(cap), met, 1.0),
        "baseline": (shares[table.level[kept]], among, 1.0),
    }
    ratios = {}
    for name, (chance, whom, factor) in found.items():
        together = chance
        if ask.household is not None:
            together = joint_chance(chance, unit, n_units, how)
        ratios[name] = share_of(together, whom, factor)
    weap = np.nan_to_num(records["weap"].to_numpy()[kept])
    mean_weap = np.bincount(unit, weights=weap, minlength=n_units)
    with_class = np.bincount(unit, weights=~np.isnan(cap), minlength=n_units)
    ratios["WEAP_original"] = Ratio(np.where(met, mean_weap, 0), np.where(met, with_class, 0))
    wins = joined(targeted & right, unit, n_units, how) & aimed
    ratios["TCAP_original"] = Ratio(wins.astype(np.float64), aimed.astype(np.float64))
    return ratios


def _over_synthetics(table: KeyTable, tau: float) -> dict[str, Ratio]:
    """Measures over synthetic records as ratios of sums over cells."""
    cell = table.cell_class
    own_share = _share(table.synthetic, table.class_synthetic[cell])
    in_original = _share(table.original, table.class_original[cell])
    counts = table.synthetic.astype(np.float64)
    aimed = np.where(own_share >= tau - 1e-12, counts, 0.0)
    matched = np.where(table.class_original[cell] > 0, aimed, 0.0)
    hits = aimed * np.nan_to_num(in_original)
    return {
        "WEAP": Ratio(counts * np.nan_to_num(own_share), counts),
        "TCAP_synthetic": Ratio(hits, matched),
        "TCAP_synthetic_all": Ratio(hits, aimed),
    }


def _as_frame(ratios: dict[str, Ratio], intervals: Intervals) -> pd.DataFrame:
    rows = [(name, ratios[name].value, ratios[name].bottom.sum(), MEANINGS[name])
            for name in MEANINGS]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["measure", "value", "n", "meaning"])
    frame = frame.astype({"value": np.float64, "n": np.int64})
    found = intervals.table.reindex(list(MEANINGS)).reset_index(drop=True)
    return pd.concat([frame, found], axis=1)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    result = np.full(len(part), np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result
