"""How far the sensitive values of a group differ from those of the whole file.

t-closeness, (alpha, k)-anonymity, beta-likeness; and delta-presence, which compares a release with
the population.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.diversity import Segments, per_cell, read_sensitive
from riskeval.measures.frequencies import match_counts, read_keys, tabulate
from synthpop.microdata.checks import as_frame, check_columns
from synthpop.microdata.codes import MISSING, cell_ids, encode
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.results import Result

Hierarchy = Mapping[Any, Sequence[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class TCloseness(Result):
    """Distance between the sensitive values of each group and those of the file.

    Attributes
    ----------
    t : float
        Largest distance over the groups, from 0 (same distribution) to 1: the file is t-close.
    per_record : DataFrame, n rows
        For each sensitive variable, the distance of the group of each record.
    distance : dict of str to str
        For each variable "equal", "ordered" or "hierarchical".
    keys : tuple of str
    missing : str
    """

    t: float
    per_record: pd.DataFrame
    distance: dict[str, str]
    keys: tuple[str, ...]
    missing: str

    def violations(self, t: float) -> dict[str, int]:
        """Number of records whose group is further than `t`, for each sensitive variable."""
        limit = t + 1e-12
        return {str(name): int((self.per_record[name] > limit).sum()) for name in self.per_record}

    def to_frame(self) -> pd.DataFrame:
        """`per_record`."""
        return self.per_record

    def summary(self) -> str:
        """Return the largest distance and what it means."""
        parts = [
            f"{name} ({kind} distance): at most {self.per_record[name].max():.3f}"
            for name, kind in self.distance.items()
            if len(self.per_record)
        ]
        return (
            f"The file is t-close with t = {self.t:.3f}: who knows the keys of a person changes "
            "the distribution of the sensitive value by no more than that, on a scale from 0 "
            f"(nothing learned) to 1. {'; '.join(parts)}. There is no agreed limit: it is a "
            "decision of the office (Li et al. 2007)."
        )


def t_closeness(
    data: Any,
    keys: Sequence[str],
    sensitive: str | Sequence[str],
    *,
    distance: str | Hierarchy | Mapping[str, str | Hierarchy] | None = None,
    missing: str = "wildcard",
) -> TCloseness:
    """Measure the earth mover's distance between each group and the file (Li et al. 2007).

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables.
    sensitive : str or sequence of str
    distance : {"equal", "ordered"}, hierarchy, or dict of variable to one of these, optional
        "equal": all values are equally far apart. "ordered": values are equally spaced in their
        order. A hierarchy maps each value to its ancestors, nearest first, all of the same
        number; two values are as far apart as the height of their lowest common ancestor (the
        root, above all, need not be named). None: "ordered" for numbers and ordered
        categories, "equal" for others.
    missing : str, default "wildcard"
        Treatment of missing keys: see `frequency_counts`.

    Returns
    -------
    TCloseness
        Missing sensitive values are left out, of the groups and of the file; a group without any
        value has distance 0. Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, a distance that does not fit the variable, values without ancestors.

    Notes
    -----
    Li, Li and Venkatasubramanian (2007), doi:10.1109/ICDE.2007.367856. Equal: half the sum of
    absolute differences. Ordered with m values: sum of absolute differences of the cumulative
    distributions, divided by m - 1. Hierarchical with heights 0 ... H: the cost of the paper
    equals 1/(2H) times the sum over all nodes below the root of their absolute differences.

    Examples
    --------
    The two groups of the paper:

    >>> import pandas as pd
    >>> salary = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    >>> data = pd.DataFrame({"zip": [1, 1, 1, 2, 2, 2, 3, 3, 3], "salary": salary})
    >>> result = t_closeness(data, ["zip"], "salary")
    >>> result.per_record["salary"].round(3).tolist()[:4]
    [0.375, 0.375, 0.375, 0.167]
    """
    frame = as_frame(data)
    faults = Faults("t-closeness")
    names = read_keys(faults, frame, keys, missing, 1.0)
    variables = read_sensitive(faults, frame, names, sensitive)
    asked = _distances(faults, frame, variables, distance)
    faults.raise_if_any()
    table = tabulate(frame, names)
    columns, kinds = {}, {}
    for name in variables:
        codes, levels = encode(frame[name])
        kind = asked[name]
        kinds[name] = kind if isinstance(kind, str) else "hierarchical"
        measured = _distance_of(codes.astype(np.int64), levels, kind)
        cells = per_cell(table, measured.codes, measured.n_values, missing, measured, 1)
        columns[name] = cells[table.cell, 0]
    per_record = pd.DataFrame(columns)
    largest = float(per_record.to_numpy().max()) if len(per_record) else 0.0
    return TCloseness(largest, per_record, kinds, names, missing)


@dataclass(frozen=True, slots=True, eq=False)
class _Distance:
    """Distance of groups from the file, for one variable and one kind of distance."""

    codes: np.ndarray
    n_values: int
    q: np.ndarray
    node_of: np.ndarray | None

    def __call__(self, segments: Segments) -> np.ndarray:
        from riskeval.kernels.diversity import group_ordered_distance, group_tree_distance

        out = np.zeros(len(segments.cells))
        if self.node_of is None:
            below = np.cumsum(self.q)
            summed = np.concatenate([[0.0], np.cumsum(below)])
            group_ordered_distance(*segments.arrays, below, summed, out)
            return out
        n_nodes = int(self.node_of.max()) + 1
        q = np.stack([np.bincount(row, weights=self.q, minlength=n_nodes) for row in self.node_of])
        group_tree_distance(*segments.arrays, self.node_of, q, out)
        return out


def _distance_of(codes: np.ndarray, levels: tuple[Any, ...], kind: str | Hierarchy) -> _Distance:
    """Drop levels that no record has, then set up the distance."""
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    present = np.flatnonzero(counts)
    place = np.full(len(levels) + 1, MISSING)
    place[present] = np.arange(len(present))
    q = counts[present] / max(counts.sum(), 1)
    n = max(len(present), 1)
    q = q if len(present) else np.ones(1)
    if kind == "ordered":
        node_of = None
    elif kind == "equal":
        node_of = np.arange(n)[None, :]
    else:
        paths = [[levels[v], *kind[levels[v]]] for v in present]
        depth = len(next(iter(kind.values()))) + 1  # type: ignore[union-attr]
        if depth > 1 and len({path[-1] for path in kind.values()}) == 1:  # type: ignore[union-attr]
            depth -= 1  # the root is named
        node_of = np.zeros((depth, n), dtype=np.int64)
        for h in range(depth):
            above = [tuple(path[h:]) for path in paths]  # a node is its way to the root
            numbers = {node: i for i, node in enumerate(dict.fromkeys(above))}
            node_of[h, : len(above)] = [numbers[node] for node in above]
    return _Distance(place[codes], n, q, node_of)


def _distances(
    faults: Faults,
    frame: pd.DataFrame,
    variables: tuple[str, ...],
    distance: str | Hierarchy | Mapping[str, str | Hierarchy] | None,
) -> dict[str, str | Hierarchy]:
    found: dict[str, str | Hierarchy] = {}
    named = isinstance(distance, Mapping) and bool(distance) and set(distance) <= set(variables)
    by_name: Any = distance if named else None
    for name in variables:
        if (frame.columns == name).sum() != 1:
            continue
        one: Any = distance if by_name is None else by_name.get(name)
        if one is None:
            dtype = frame[name].dtype
            ordered = getattr(dtype, "ordered", False) or (
                pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
            )
            one = "ordered" if ordered else "equal"
        if isinstance(one, Mapping):
            _check_hierarchy(faults, frame[name], name, one)
        elif one not in ("equal", "ordered"):
            remedy = did_you_mean(one, ["equal", "ordered", "a hierarchy"])
            faults.add("distance", f"{one!r} is not allowed", remedy=remedy)
        found[name] = one
    return found


def _check_hierarchy(faults: Faults, values: pd.Series, name: str, hierarchy: Hierarchy) -> None:
    present = [value for value in values.dropna().unique().tolist() if value not in hierarchy]
    if present:
        faults.add(
            "distance",
            f"{len(present)} values of {name!r} have no ancestors: {present[:5]}",
            remedy="Give every value its ancestors, nearest first.",
        )
    lengths = {len(path) for path in hierarchy.values() if not isinstance(path, str)}
    if len(lengths) != 1 or any(isinstance(path, str) for path in hierarchy.values()):
        faults.add(
            "distance",
            f"the values of {name!r} have different numbers of ancestors",
            remedy="Give each value a tuple of the same length; repeat a level that is missing.",
        )


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
                else f"For {self.n_above_log:,} records the gain is above -log of the share in the "
                "file, so enhanced beta-likeness does not hold."
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


@dataclass(frozen=True, slots=True, eq=False)
class DeltaPresence(Result):
    """How sure an intruder can be that a person of the population is in the release.

    Attributes
    ----------
    delta_min, delta_max : float
        Smallest and largest probability over the persons of the population: the release is
        (delta_min, delta_max)-present.
    probability : float64 array, shape (N,)
        Probability that each person of the population is in the release.
    n_unmatched : int
        Records of the release whose key nobody in the population has.
    keys : tuple of str
    """

    delta_min: float
    delta_max: float
    probability: np.ndarray
    n_unmatched: int
    keys: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row a person of the population: `probability`."""
        return pd.DataFrame({"probability": self.probability})

    def summary(self) -> str:
        """Return the range of the probabilities and who is certain to be in."""
        sure = int((self.probability >= 1 - 1e-12).sum())
        return (
            f"For a person of the population the probability to be in the release is between "
            f"{self.delta_min:.3f} and {self.delta_max:.3f}; {sure:,} of "
            f"{len(self.probability):,} persons are certainly in it. This matters where taking "
            "part is itself sensitive; the limits are a decision of the office (Nergiz et al. "
            "2007)."
            + (
                f" {self.n_unmatched:,} records of the release match nobody in the population."
                if self.n_unmatched
                else ""
            )
        )


def delta_presence(data: Any, population: Any, keys: Sequence[str]) -> DeltaPresence:
    """Measure the probability that a person of the population is in the release.

    Parameters
    ----------
    data : table of n records
        The release. A missing key is a suppressed one: the record may be anybody who agrees with
        it on the others, and counts for each of them with equal probability.
    population : table of N records
        Everybody, with the same keys; a missing key is a value of its own here.
    keys : sequence of str

    Returns
    -------
    DeltaPresence
        Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Nergiz, Atzori and Clifton (2007), doi:10.1145/1247480.1247554: released records with a key
    divided by persons with that key, at most 1.

    Examples
    --------
    >>> import pandas as pd
    >>> everybody = pd.DataFrame({"age": [30, 30, 30, 40, 50]})
    >>> result = delta_presence(pd.DataFrame({"age": [30, 40]}), everybody, ["age"])
    >>> round(result.delta_min, 3), result.delta_max
    (0.0, 1.0)
    """
    release, everybody = as_frame(data), as_frame(population, "population")
    faults = Faults("delta-presence")
    names = read_keys(faults, release, keys, "wildcard", 1.0)
    check_columns(faults, everybody, dict.fromkeys(names), "key of the population")
    faults.raise_if_any()
    n = len(release)
    codes = np.empty((n + len(everybody), len(names)), dtype=np.int64)
    sizes = []
    for j, name in enumerate(names):
        both = pd.concat([release[name].astype(object), everybody[name].astype(object)])
        codes[:, j], levels = encode(both.reset_index(drop=True))
        sizes.append(len(levels))
    expected = np.zeros(len(everybody))
    unmatched = 0
    patterns, pattern_of = np.unique(codes[:n] >= 0, axis=0, return_inverse=True)
    for p, observed in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.reshape(-1) == p)
        both_rows = np.concatenate([rows, np.arange(n, len(codes))])
        shared = np.flatnonzero(observed)
        ids, n_ids = cell_ids(codes[np.ix_(both_rows, shared)], [sizes[j] for j in shared])
        released = np.bincount(ids[: len(rows)], minlength=n_ids)
        persons = np.bincount(ids[len(rows) :], minlength=n_ids)
        unmatched += int(released[persons == 0].sum())
        expected += (released / np.maximum(persons, 1))[ids[len(rows) :]]
    probability = np.minimum(expected, 1.0)
    return DeltaPresence(
        delta_min=float(probability.min()) if len(probability) else 0.0,
        delta_max=float(probability.max()) if len(probability) else 0.0,
        probability=probability,
        n_unmatched=unmatched,
        keys=names,
    )
