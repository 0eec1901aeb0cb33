"""Disclosure by looking up keys in a synthetic file: replicated uniques, DiSCO, DCAP and TCAP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.key_tables import KeyTable, count_keys
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedUniques(Result):
    """Original records that are unique in both files on the keys.

    Attributes
    ----------
    rate : float
        repU: share of original records that are unique in the original and unique in the
        synthetic file with the same keys.
    unique_original : float
        UiO, the baseline: share of original records that are unique in the original.
    unique_in_synthetic : float
        UiOiS: share of original records that are unique in the original and whose keys occur in
        the synthetic file at all.
    per_record : bool, shape (n,)
        Which original records are replicated uniques.
    n_original, n_synthetic : int
    keys : tuple of str
    """

    rate: float
    unique_original: float
    unique_in_synthetic: float
    per_record: np.ndarray
    n_original: int
    n_synthetic: int
    keys: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return the three shares."""
        values = [self.unique_original, self.unique_in_synthetic, self.rate]
        return pd.DataFrame({"measure": ["UiO", "UiOiS", "repU"], "share": values})

    def summary(self) -> str:
        """Say what the share means and what to compare it with."""
        return (
            f"Replicated uniques: {self.rate:.2%} of {self.n_original:,} original records are "
            f"unique in both files on {', '.join(self.keys)}; {self.unique_original:.2%} are "
            f"unique in the original, which is what releasing it would risk, and "
            f"{self.unique_in_synthetic:.2%} of all are such and have their keys in the synthetic "
            f"file ({self.n_synthetic:,} records). A replicated unique looks like a real person; "
            "whether its other values are that person's is what DiSCO and TCAP measure. There is "
            "no published threshold."
        )


def replicated_uniques(
    original: Any, synthetic: Any, keys: Sequence[str] | str, *, missing: str = "category"
) -> ReplicatedUniques:
    """Share of original records that are unique on the keys in both files (repU).

    Parameters
    ----------
    original : DataFrame, n rows
    synthetic : DataFrame, object with ``iter_blocks()``, or iterable of frames
        Read once, block by block; any generator's file.
    keys : names of columns of both
        Categorical; levels are compared by value.
    missing : {"category", "unmatched"}
        Missing keys are a value of their own, or match nothing (such a record is never unique).

    Returns
    -------
    ReplicatedUniques

    Raises
    ------
    InputError
        Missing columns, no keys, a key without any common level.

    Notes
    -----
    No randomness. Source: Raab, Nowok and Dibben (2024), arXiv:2406.16826.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [30, 30, 41, 52]})
    >>> synthetic = pd.DataFrame({"age": [30, 41, 52, 52]})
    >>> risk = replicated_uniques(original, synthetic, ["age"])
    >>> risk.unique_original, risk.unique_in_synthetic, risk.rate
    (0.5, 0.5, 0.25)
    """
    table = count_keys("replicated_uniques", original, synthetic, keys, None, missing)
    own, other = table.original.sum(axis=1), table.synthetic.sum(axis=1)
    unique = table.of_records(own == 1)
    present = unique & table.of_records(other > 0)
    replicated = unique & table.of_records(other == 1)
    return ReplicatedUniques(
        rate=float(replicated.mean()),
        unique_original=float(unique.mean()),
        unique_in_synthetic=float(present.mean()),
        per_record=replicated,
        n_original=len(unique),
        n_synthetic=table.n_synthetic,
        keys=_names(keys),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Disco(Result):
    """Original records whose target follows, rightly, from their keys in the synthetic file.

    Attributes
    ----------
    rate : float
        DiSCO, disclosive in synthetic, correct in original: share of original records whose keys
        lead to one single target level in the synthetic file, and it is their own.
    disclosive_original : float
        Dorig, the baseline: share whose keys lead to one single level in the original.
    in_synthetic : float
        iS: share whose keys occur in the synthetic file.
    disclosive_synthetic : float
        DiS: share whose keys lead to one single level there, right or wrong.
    disclosive_both : float
        DiSDiO: DiSCO records that are disclosive in the original as well.
    per_record : bool, shape (n,)
        Which original records are DiSCO.
    n_original, n_synthetic : int
    keys : tuple of str
    target : str
    """

    rate: float
    disclosive_original: float
    in_synthetic: float
    disclosive_synthetic: float
    disclosive_both: float
    per_record: np.ndarray
    n_original: int
    n_synthetic: int
    keys: tuple[str, ...]
    target: str

    def to_frame(self) -> pd.DataFrame:
        """Return the five shares."""
        shares = {
            "Dorig": self.disclosive_original,
            "iS": self.in_synthetic,
            "DiS": self.disclosive_synthetic,
            "DiSCO": self.rate,
            "DiSDiO": self.disclosive_both,
        }
        return pd.DataFrame({"measure": list(shares), "share": list(shares.values())})

    def summary(self) -> str:
        """Say what the share means and what to compare it with."""
        return (
            f"DiSCO: for {self.rate:.2%} of {self.n_original:,} original records all synthetic "
            f"persons with the same {', '.join(self.keys)} agree in {self.target}, and rightly so. "
            f"In the original itself the keys determine {self.target} for "
            f"{self.disclosive_original:.2%}; the synthetic file seems to determine it for "
            f"{self.disclosive_synthetic:.2%}, right or wrong. A level that nearly everybody has, "
            f"or that follows from the keys by common knowledge, counts too: look at the records "
            "before judging. There is no published threshold."
        )


def disco(
    original: Any,
    synthetic: Any,
    keys: Sequence[str] | str,
    target: str,
    *,
    missing: str = "category",
) -> Disco:
    """Disclosive in synthetic, correct in original (DiSCO), with its companions.

    Parameters
    ----------
    original, synthetic, keys, missing
        As in `replicated_uniques`.
    target : str
        Column of both files that the intruder wants to know; every distinct value is a level, and
        missing is one. Group a numeric target first.

    Returns
    -------
    Disco

    Raises
    ------
    InputError
        As `replicated_uniques`; the target is also a key, or has too many levels.

    Notes
    -----
    No randomness. With d and s the counts of the original and the synthetic file by keys q and
    target t: DiSCO sums d_tq over the classes in which s_tq equals s_q, Dorig over those in which
    d_tq equals d_q; both are divided by the number of original records. Source: Raab, Nowok and
    Dibben (2024), arXiv:2406.16826.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["n", "n", "y", "n"]})
    >>> synthetic = pd.DataFrame({"age": [1, 1, 2], "ill": ["n", "y", "y"]})
    >>> risk = disco(original, synthetic, ["age"], "ill")
    >>> risk.disclosive_original, risk.disclosive_synthetic, risk.rate
    (0.5, 0.5, 0.25)
    """
    table = count_keys("disco", original, synthetic, keys, target, missing)
    own, other = table.original, table.synthetic
    single_own = own.max(axis=1) == own.sum(axis=1)
    present = other.sum(axis=1) > 0
    single_other = present & (other.max(axis=1) == other.sum(axis=1))
    right = table.level == table.of_records(other.argmax(axis=1))
    hit = table.of_records(single_other) & right
    matched = table.combination >= 0
    return Disco(
        rate=float(hit.mean()),
        disclosive_original=float((table.of_records(single_own) & matched).mean()),
        in_synthetic=float(table.of_records(present).mean()),
        disclosive_synthetic=float(table.of_records(single_other).mean()),
        disclosive_both=float((hit & table.of_records(single_own)).mean()),
        per_record=hit,
        n_original=len(hit),
        n_synthetic=table.n_synthetic,
        keys=_names(keys),
        target=target,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Attribution(Result):
    """Probabilities that an intruder attributes the right target value.

    Attributes
    ----------
    table : DataFrame
        ``measure``, ``value``, ``n`` (records it is a mean over) and ``meaning``; see `tcap`.
    per_record : DataFrame
        ``cap``: probability to draw the right level among synthetic records with the same keys,
        NaN where there are none; ``weap``: share of the most frequent level among them (NaN
        likewise); ``targeted``: `weap` reaches `tau`; ``right``: the most frequent level is the
        record's own (the first level when several are as frequent).
    baseline : float
        Probability to be right by drawing from the distribution of the target in the original,
        without any key.
    tau : float
    keys : tuple of str
    target : str
    n_synthetic : int
    """

    table: pd.DataFrame
    per_record: pd.DataFrame
    baseline: float
    tau: float
    keys: tuple[str, ...]
    target: str
    n_synthetic: int

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
        targeted = int(self.per_record["targeted"].sum())
        return (
            f"Correct attribution of {self.target} from {', '.join(self.keys)}: an intruder who "
            f"draws among the synthetic persons with the same keys is right with probability "
            f"{self.value('DCAP_matched'):.3f} where there are any ({self.value('DCAP'):.3f} over "
            f"all original records); drawing without keys {self.baseline:.3f}; drawing in the "
            f"original itself {self.value('CAP_original'):.3f}. For the {targeted:,} records whose "
            f"synthetic class points to one level (WEAP at least {self.tau:g}) it is right for a "
            f"share of {self.value('TCAP_original'):.3f} (TCAP over original records; over "
            f"synthetic records {self.value('TCAP_synthetic'):.3f}). Compare with the baseline: "
            "there is no published threshold."
        )


def tcap(
    original: Any,
    synthetic: Any,
    keys: Sequence[str] | str,
    target: str,
    *,
    tau: float = 1.0,
    missing: str = "category",
) -> Attribution:
    """Attribution probabilities CAP, DCAP, TCAP and WEAP, each variant under its own name.

    Parameters
    ----------
    original, synthetic, keys, target, missing
        As in `disco`.
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
            Mean over original records with s_q above 0 of max_t s_tq / s_q.
        TCAP_original
            Share of original records in targeted classes whose own level is the most frequent one
            of the class (Raab et al.).
        TCAP_synthetic
            Mean over synthetic records with the most frequent level of a targeted class that the
            original has, of d_tq / d_q (Taub et al.; synthetic records without any
            original of the same keys left out).
        baseline
            Sum over levels of the squared share in the original.

    Raises
    ------
    InputError
        As `disco`; `tau` not in (0, 1].

    Notes
    -----
    A mean over no record is NaN. No randomness. Source: Elliot (2014); Taub, Elliot, Pampaka and
    Smith (2018), doi:10.1007/978-3-319-99771-1_9; Raab, Nowok and Dibben (2024), arXiv:2406.16826.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["n", "n", "y", "n"]})
    >>> synthetic = pd.DataFrame({"age": [1, 1, 2], "ill": ["n", "y", "y"]})
    >>> risk = tcap(original, synthetic, ["age"], "ill")
    >>> risk.value("CAP_original"), risk.value("DCAP"), risk.value("TCAP_original")
    (0.75, 0.5, 0.5)
    """
    if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not 0 < tau <= 1:
        faults = Faults("tcap")
        faults.add("tau", f"{tau!r} is not above 0 and at most 1")
        faults.raise_if_any()
    table = count_keys("tcap", original, synthetic, keys, target, missing)
    weap = _share(table.synthetic.max(axis=1), table.synthetic.sum(axis=1))
    records = _records(table, weap, tau)
    shares = np.bincount(table.level) / len(table.level)
    baseline = float((shares**2).sum())
    return Attribution(
        table=_measures(table, weap, records, baseline, tau),
        per_record=records,
        baseline=baseline,
        tau=float(tau),
        keys=_names(keys),
        target=target,
        n_synthetic=table.n_synthetic,
    )


def _records(table: KeyTable, weap: np.ndarray, tau: float) -> pd.DataFrame:
    padded = np.vstack([table.synthetic, np.zeros((1, table.synthetic.shape[1]), dtype=np.int64)])
    hits = padded[table.combination, table.level]
    in_class = padded.sum(axis=1)[table.combination]
    class_weap = np.append(weap, np.nan)[table.combination]
    modal = np.append(table.synthetic.argmax(axis=1), -1)[table.combination]
    targeted = class_weap >= tau - 1e-12
    return pd.DataFrame(
        {
            "cap": _share(hits, in_class),
            "weap": class_weap,
            "targeted": targeted,
            "right": (modal == table.level) & ~np.isnan(class_weap),
        }
    )


def _measures(
    table: KeyTable, weap: np.ndarray, records: pd.DataFrame, baseline: float, tau: float
) -> pd.DataFrame:
    own, other = table.original, table.synthetic
    n = len(records)
    rows = np.arange(len(own))
    modal = other.argmax(axis=1)
    targeted = (weap >= tau - 1e-12) & (own.sum(axis=1) > 0)
    right_of_class = _share(own[rows, modal], own.sum(axis=1))
    weight = np.where(targeted, other[rows, modal], 0)
    in_original = _share((own**2).sum(axis=1), own.sum(axis=1))
    matched, hit = ~np.isnan(records["cap"]), records["targeted"]
    found = [
        ("CAP_original", np.nansum(in_original) / n, n, "draw among originals of the same keys"),
        ("DCAP", records["cap"].sum() / n, n, "draw among synthetics, 0 where there are none"),
        ("DCAP_matched", _mean(records["cap"][matched]), matched.sum(), "where there are any"),
        ("WEAP", _mean(records["weap"][matched]), matched.sum(), "share of the frequent level"),
        ("TCAP_original", _mean(records["right"][hit]), hit.sum(), "targeted originals, right"),
        (
            "TCAP_synthetic",
            np.nansum(weight * right_of_class) / weight.sum() if weight.sum() else np.nan,
            weight.sum(),
            "targeted synthetics, share of originals with that level",
        ),
        ("baseline", baseline, n, "draw from the distribution of the target, no keys"),
    ]
    frame = pd.DataFrame(found, columns=["measure", "value", "n", "meaning"])
    return frame.astype({"value": np.float64, "n": np.int64})


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    result = np.full(len(part), np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def _mean(values: pd.Series) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _names(keys: Sequence[str] | str) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)
