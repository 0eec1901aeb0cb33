"""(alpha, k)-anonymity and beta-likeness: sensitive values that dominate a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import read_keys, tabulate
from riskeval.measures.l_diversity import Segments, per_cell, read_sensitive
from synthpop.microdata.checks import as_frame
from synthpop.microdata.codes import encode
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.results import Result
from synthpop.microdata.text import plural


@dataclass(frozen=True, slots=True, eq=False)
class AlphaKAnonymity(Result):
    """Rare keys and dominant sensitive values together.

    Attributes
    ----------
    holds : bool
        Whether every group has at least k records and no watched value has more than the share
        alpha in it.
    alpha, k : float, int
        What was asked for.
    share : float64 array, shape (n,)
        Largest share of a watched value in the group of each record.
    f : float64 array, shape (n,)
        Size of the group of each record.
    largest_share : float
        Smallest alpha that the file satisfies.
    n_rare, n_dominated, n_violating : int
        Records with f < k, with share > alpha, with either.
    keys : tuple of str
    sensitive : str
    """

    holds: bool
    alpha: float
    k: int
    share: np.ndarray
    f: np.ndarray
    largest_share: float
    n_rare: int
    n_dominated: int
    n_violating: int
    keys: tuple[str, ...]
    sensitive: str

    def to_frame(self) -> pd.DataFrame:
        """One row a record: `f` and `share`."""
        return pd.DataFrame({"f": self.f, "share": self.share})

    def summary(self) -> str:
        """Return how many records violate either condition."""
        return (
            f"({self.alpha:g}, {self.k})-anonymity {'holds' if self.holds else 'does not hold'}: "
            f"{self.n_rare:,} of {len(self.f):,} records are in groups of fewer than {self.k}, and "
            f"{self.n_dominated:,} in groups in which one value of {self.sensitive} has more than "
            f"{self.alpha:.0%} of the records. The most dominant value of a group has "
            f"{self.largest_share:.1%}. Alpha and k are chosen by the office (Wong et al. 2006)."
        )


def alpha_k_anonymity(
    data: Any,
    keys: Sequence[str],
    sensitive: str,
    *,
    alpha: float,
    k: int,
    values: Sequence[Any] | None = None,
    missing: str = "wildcard",
) -> AlphaKAnonymity:
    """Check that groups are large and that no sensitive value dominates them.

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
    sensitive : str
    alpha : float
        Largest share of a sensitive value in a group, from 0 to 1.
    k : int
        Smallest group, at least 1.
    values : sequence, optional
        Sensitive values to watch; all of them when not given.
    missing : str, default "wildcard"
        Treatment of missing keys: see `frequency_counts`.

    Returns
    -------
    AlphaKAnonymity
        Shares are of the records with a sensitive value. Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Wong, Li, Fu and Wang (2006), doi:10.1145/1150402.1150499.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"zip": [1, 1, 2, 2], "ill": ["HIV", "flu", "HIV", "HIV"]})
    >>> result = alpha_k_anonymity(data, ["zip"], "ill", alpha=0.5, k=2, values=["HIV"])
    >>> result.holds, result.n_dominated, result.largest_share
    (False, 2, 1.0)
    """
    frame = as_frame(data)
    faults = Faults("(alpha, k)-anonymity")
    names = read_keys(faults, frame, keys, missing, 1.0)
    (variable,) = read_sensitive(faults, frame, names, sensitive)[:1] or ("",)
    if not 0 <= alpha <= 1:
        faults.add("alpha", f"is {alpha!r}", remedy="Give a share from 0 to 1.")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        faults.add("k", f"is {k!r}", remedy="Give a whole number from 1 on.")
    faults.raise_if_any()
    gains = _gains(frame, names, variable, missing, values)
    rare = gains.f < k
    dominated = gains.share > alpha * (1 + 1e-12)
    return AlphaKAnonymity(
        holds=not bool((rare | dominated).any()),
        alpha=float(alpha),
        k=int(k),
        share=gains.share,
        f=gains.f,
        largest_share=float(gains.share.max()) if len(gains.share) else 0.0,
        n_rare=int(rare.sum()),
        n_dominated=int(dominated.sum()),
        n_violating=int((rare | dominated).sum()),
        keys=names,
        sensitive=variable,
    )


@dataclass(frozen=True, slots=True, eq=False)
class BetaLikeness(Result):
    """Largest relative gain of an intruder about a sensitive value.

    Attributes
    ----------
    beta : float
        Largest (p - q) / q over groups and values: basic beta-likeness.
    enhanced : bool
        Whether no gain is above -log q: enhanced beta-likeness holds for `beta` (and for no
        beta otherwise).
    gain : float64 array, shape (n,)
        Largest gain in the group of each record.
    n_above_log : int
        Records in groups with a gain above -log q.
    keys : tuple of str
    sensitive : str
    """

    beta: float
    enhanced: bool
    gain: np.ndarray
    n_above_log: int
    keys: tuple[str, ...]
    sensitive: str

    def violations(self, beta: float) -> int:
        """Number of records in groups with a gain above `beta`."""
        return int((self.gain > beta * (1 + 1e-12)).sum())

    def to_frame(self) -> pd.DataFrame:
        """One row a record: `gain`."""
        return pd.DataFrame({"gain": self.gain})

    def summary(self) -> str:
        """Return the largest gain and what it means."""
        return (
            f"Knowing the keys raises the probability of a value of {self.sensitive} by at most "
            f"{self.beta:.1%} of what it is in the file (beta = {self.beta:.3f}). "
            + (
                "Enhanced beta-likeness holds: no gain is above -log of the share in the file."
                if self.enhanced
                else f"For {plural(self.n_above_log, 'record')} "
                "the gain is above -log of the share in the file, so enhanced beta-likeness does "
                "not hold."
            )
            + " The limit is a decision of the office (Cao and Karras 2012)."
        )


def beta_likeness(
    data: Any, keys: Sequence[str], sensitive: str, *, missing: str = "wildcard"
) -> BetaLikeness:
    """Measure how much more likely a sensitive value becomes when the keys are known.

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
    sensitive : str
    missing : str, default "wildcard"
        Treatment of missing keys: see `frequency_counts`.

    Returns
    -------
    BetaLikeness
        Missing sensitive values are left out. Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Cao and Karras (2012), doi:10.14778/2350229.2350255: basic likeness asks (p - q)/q <= beta for
    every value whose share p in a group is above its share q in the file, enhanced likeness
    (p - q)/q <= min(beta, -log q).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"zip": [1, 1, 2, 2], "ill": ["flu", "flu", "flu", "HIV"]})
    >>> result = beta_likeness(data, ["zip"], "ill")
    >>> result.beta, result.enhanced
    (1.0, False)
    """
    frame = as_frame(data)
    faults = Faults("beta-likeness")
    names = read_keys(faults, frame, keys, missing, 1.0)
    (variable,) = read_sensitive(faults, frame, names, sensitive)[:1] or ("",)
    faults.raise_if_any()
    gains = _gains(frame, names, variable, missing, None)
    return BetaLikeness(
        beta=float(gains.gain.max()) if len(gains.gain) else 0.0,
        enhanced=not bool((gains.broken > 0).any()),
        gain=gains.gain,
        n_above_log=int((gains.broken > 0).sum()),
        keys=names,
        sensitive=variable,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Gains:
    share: np.ndarray
    gain: np.ndarray
    broken: np.ndarray
    f: np.ndarray


def _gains(
    frame: pd.DataFrame,
    keys: tuple[str, ...],
    sensitive: str,
    missing: str,
    values: Sequence[Any] | None,
) -> _Gains:
    from riskeval.kernels.diversity import group_gain

    codes, levels = encode(frame[sensitive])
    counts = np.bincount(codes[codes >= 0], minlength=max(len(levels), 1))
    q = counts / max(counts.sum(), 1)
    watched = np.ones(len(q), dtype=bool)
    if values is not None:
        unknown = [value for value in values if value not in levels]
        if unknown:
            faults = Faults("(alpha, k)-anonymity")
            faults.add(
                "values", f"{unknown[0]!r} does not occur", remedy=did_you_mean(unknown[0], levels)
            )
            faults.raise_if_any()
        watched[: len(levels)] = [level in set(values) for level in levels]

    def measure(segments: Segments) -> np.ndarray:
        out = np.empty((len(segments.cells), 3))
        group_gain(*segments.arrays, q, watched, out)
        return out

    table = tabulate(frame, keys)
    cells = per_cell(table, codes.astype(np.int64), len(q), missing, measure, 3)
    f, _ = match_counts(table, missing)
    share, gain, broken = cells[table.cell].T
    return _Gains(share, gain, broken, f[table.cell])
