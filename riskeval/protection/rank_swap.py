"""Rank swapping: values change places with values of nearby rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from riskeval.protection.amount_targets import Strength, read_amount_targets
from riskeval.protection.entry import OF_NUMBERS, ProtectionMethod
from riskeval.protection.household.once import read_layer
from riskeval.protection.numeric import (
    check_strata,
    numeric_names,
    put_numbers,
    read_numbers,
    strata_of,
    with_signs,
)
from riskeval.protection.result import Protected, protected
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.frames import numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import Options
from synthpop.microdata.messages.parameters import NONE, POSITIVE, SHARE, Between
from synthpop.microdata.messages.text import count, percent, plural
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.streams import Streams

USUAL_P, MOST_P = 0.05, 0.999
USEFUL_REACH = 3
LEAST_TAIL = 3
STEPS = 12
TAIL = Between(0, 0.5, open="high")


@dataclass(frozen=True)
class _Job(Options):
    """How far values may go, and what is done to the tails before."""

    PARAMETERS: ClassVar = {
        "top": TAIL, "bottom": TAIL, "keep_correlation": Between(0, 1, open="low") | NONE,
        "keep_means": POSITIVE | NONE,
    }  # fmt: skip

    p: float | None
    top: float
    bottom: float
    keep_correlation: float | None
    keep_means: float | None
    strata: str | Sequence[str] | None
    keep_signs: tuple[str, ...]
    streams: Streams
    aims: bool = False  # whether p is sought by targets

    def check(self, faults: Faults, label: str) -> None:
        """Note shares that are none, and more than one rule of the distance."""
        if self.p is not None and not SHARE.allows(self.p):
            hint = "It is a share of the records, not a percentage"
            looks = isinstance(self.p, (int, float)) and self.p >= 1
            hint += f": for {self.p:g} percent give {self.p / 100:g}." if looks else "."
            faults.add("p", f"{self.p!r} is not between 0 and 1 (exclusive)", hint=hint)
        super().check(faults, label)
        rules = (self.p, self.keep_correlation, self.keep_means)
        if sum(rule is not None for rule in rules) + self.aims > 1:
            rules_of = "p, keep_correlation, keep_means, targets"
            faults.add(rules_of, "exclude each other", hint="Give one.")


@same_library
def rank_swap(
    data: Any,
    variables: Sequence[str] | None = None,
    *,
    p: float | None = None,
    strata: str | Sequence[str] | None = None,
    top: float = 0.0,
    bottom: float = 0.0,
    keep_correlation: float | None = None,
    keep_means: float | None = None,
    household: str | None = None,
    household_variables: Sequence[str] = (),
    components: Mapping[str, Sequence[str]] | None = None,
    keep_signs: Sequence[str] = (),
    targets: Mapping[str, float] | None = None,
    seed: int | None = None,
) -> Protected:
    """Swap each value with one whose rank differs by at most a share p of the records.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    variables : names of numeric columns, each swapped for itself
    p : float, between 0 and 1, optional
        Largest difference in rank as a share of the records with a value: 0.05 (the default) is
        5 percent. Numbers of 1 and more are refused, since they look like percentages.
    strata : column or columns, optional
        Swap within strata only; p is then a share of the stratum.
    top, bottom : float, from 0 to 0.5
        Share of the records at each end whose values become their mean before swapping (per
        stratum). Default none: the largest values stay in the file.
    keep_correlation : float, above 0 and at most 1, optional
        Instead of p: the largest p for which the correlation of each pair of variables is at least
        this share of the original one (the constant R0 of Moore 1996).
    keep_means : float, above 0, optional
        Instead of p: the largest p for which the mean of a subset of N records stays within
        2 K0 |mean| / sqrt(N) of the original one in about 95 % of the subsets (the constant K0).
    household : str, optional
        Column of household ids. A variable that is the same for all members (found, or declared
        as `household_variables`) is swapped among households and copied to all members.
    household_variables : sequence of str, optional
        Variables that must have one value in each household.
    components : mapping, optional
        Total -> its parts. Where they add up before they add up afterwards: the total follows
        its parts, or, if the parts are not variables here, they change in proportion to it.
    keep_signs : sequence of str, optional
        Variables of which negative, zero and positive values are swapped apart.
    targets : mapping, optional
        Instead of p: the smallest p at which the file holds these, as in `add_noise`:
        ``{"record_linkage": 0.1}``.
    seed : int, optional
        Recorded in the result.

    Returns
    -------
    Protected
        ``details``: table ``ranks`` with one row per variable: ``p``, ``reach`` (largest difference
        allowed, in the largest stratum), ``not_swapped`` (records that found nobody), ``narrow``
        (records in strata with a reach below 3), ``extremes_stayed`` (strata whose largest or
        smallest value is still on its own record), ``correlation`` (of the released with the
        original values). With targets also ``p`` and ``targets`` (what was reached).

    Raises
    ------
    InputError
        Faulty columns, p not a share, a tail with fewer than 3 records.

    Notes
    -----
    Without `top` and `bottom` every value stays in the file: margins are kept exactly, relations
    between variables are weakened as p grows. Missing values stay where they are and are not
    counted. Equal values take their ranks in random order. Pairing starts at a random rank; a
    record that is left over enters a pair, whose three values go round. Margins and differences
    in rank are checked on the released values.

    A reach below 3 ranks protects hardly anything: whoever knows the method tries a few
    neighbours. The summary says so first.

    Source: Moore (1996), Controlled data-swapping techniques for masking public use microdata
    sets; Hundepool et al. (2012), section 3.6.3.

    Examples
    --------
    >>> people = pd.DataFrame({"income": [10.0, 40.0, 20.0, 30.0]})
    >>> swapped = rank_swap(people, ["income"], p=0.25, seed=1)
    >>> sorted(swapped.data["income"]), swapped.details["ranks"]["narrow"].tolist()
    ([10.0, 20.0, 30.0, 40.0], [4])
    """
    faults = Faults("rank_swap")
    file = as_file(data, faults, household=household)
    frame, names = file.indexed, numeric_names(faults, file, variables)
    streams = read_secret(faults, seed)
    read_numbers(faults, frame, names, "variable")
    check_strata(faults, frame, strata)
    layer = read_layer(
        faults, file, names, household_variables=household_variables,
        components=components, strata=strata, keep_signs=keep_signs,
    )  # fmt: skip
    aims = bool(targets)
    signs = layer.keep_signs
    job = _Job(p, top, bottom, keep_correlation, keep_means, strata, signs, streams, aims)
    wanted = read_amount_targets(faults, frame, names, targets)
    job.check(faults, "")
    if keep_correlation is not None and len(names) < 2:
        faults.add("keep_correlation", "needs two variables")
    faults.raise_if_any()

    def at(job: _Job) -> Protected:
        return layer.run(lambda table, some, members: _swapped(table, some, job))

    if not wanted:
        return at(job)
    least = 1.0 / max(len(frame), 2)
    return wanted.weakest(lambda p: at(replace(job, p=p)), Strength("p", least, MOST_P))


def _swapped(frame: pd.DataFrame, names: Sequence[str], job: _Job) -> Protected:
    values = numbers(frame, names)
    ids, labels = strata_of(frame, job.strata)
    coded, tails = _coded_tails(values, names, ids, job)
    strata = [
        with_signs(ids, labels, coded[:, [j]]) if name in job.keep_signs else (ids, labels)
        for j, name in enumerate(names)
    ]
    p = _share(coded, strata, names, job)
    released, rows = frame.copy(deep=False), []
    for j, name in enumerate(names):
        source = _sources(coded[:, j], *strata[j], p, name, job.streams)
        column = frame[name]
        if tails[j].any():
            column = put_numbers(column, coded[:, j], tails[j])
        released[name] = taken(column, source)
        within = strata[j][0]
        _verify(name, coded[:, j], coded[source, j], within, p)
        rows.append((name, p, *_facts(coded[:, j], values[:, j], source, within, p)))
    columns = ["variable", "p", "reach", "not_swapped", "narrow", "extremes_stayed", "correlation"]
    ranks = pd.DataFrame(rows, columns=columns)
    return protected(
        frame,
        released,
        names,
        method="rank_swap",
        parameters={
            "variables": list(names),
            "p": p if job.keep_correlation is None and job.keep_means is None else None,
            "strata": job.strata, "top": job.top, "bottom": job.bottom,
            "keep_correlation": job.keep_correlation, "keep_means": job.keep_means,
            "keep_signs": list(job.keep_signs),
            "seed": job.streams.seed,
        },
        seed=job.streams.seed,
        notes=_notes(ranks, p, job, tails, names),
        details={"ranks": ranks},
    )  # fmt: skip


def _notes(
    ranks: pd.DataFrame, p: float, job: _Job, tails: list[np.ndarray], names: Sequence[str]
) -> list[str]:
    notes = []
    row: Any
    for row in ranks.itertuples():
        if row.narrow:
            notes.append(
                message(
                    "Little protection: {narrow} of {variable} could move by fewer than "
                    "{useful_reach} ranks only; raise p or join strata.",
                    narrow=plural(row.narrow, "value"),
                    variable=row.variable,
                    useful_reach=USEFUL_REACH,
                )
            )
        if row.extremes_stayed:
            where = plural(row.extremes_stayed, "stratum (or the file)", "strata")
            notes.append(
                message(
                    "The largest or smallest {variable} is still on its own record in {where}: "
                    "give top and bottom.",
                    variable=row.variable,
                    where=where,
                )
            )
        if row.not_swapped:
            notes.append(
                message(
                    "{not_swapped} of {variable} found no partner.",
                    not_swapped=plural(row.not_swapped, "value"),
                    variable=row.variable,
                )
            )
    correlation = zip(ranks["variable"], ranks["correlation"].to_numpy(float), strict=True)
    correlations = ", ".join(
        f"{name} {value:.4f}"
        if np.isfinite(value)
        else message("{name} undefined (it has one value)", name=name)
        for name, value in correlation
    )
    what = message("every value is still in the file")
    if any(tail.any() for tail in tails):
        counts = [
            f"{name} {count(int(tail.sum()))}" for name, tail in zip(names, tails, strict=True)
        ]
        what = message("values at the ends became their mean ({counts})", counts=", ".join(counts))
    return [
        *notes,
        message(
            "Ranks differ by at most {p} of the records (checked afterwards), {what}.",
            p=percent(p),
            what=what,
        ),
        message("Correlation with the original: {correlations}.", correlations=correlations),
    ]


def _coded_tails(
    values: np.ndarray, names: Sequence[str], ids: np.ndarray, job: _Job
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Values with the mean of each tail in it, and which cells were in a tail."""
    faults = Faults("rank_swap")
    coded = values.copy()
    tails = [np.zeros(len(values), dtype=bool) for _ in names]
    if not job.top and not job.bottom:
        return coded, tails
    for j, name in enumerate(names):
        small = 0
        for rows in _filled_strata(values[:, j], ids):
            order = rows[np.argsort(values[rows, j], kind="stable")]
            for share, end in ((job.bottom, order), (job.top, order[::-1])):
                size = int(np.ceil(share * len(order)))
                small += 0 < size < LEAST_TAIL
                if size >= LEAST_TAIL:
                    coded[end[:size], j] = values[end[:size], j].mean()
                    tails[j][end[:size]] = True
        if small:
            faults.add(
                name,
                f"a tail has fewer than {LEAST_TAIL} records, so that its mean tells a value",
                hint="Give larger shares for top and bottom, or join strata.",
            )
    faults.raise_if_any()
    return coded, tails


def _share(
    values: np.ndarray, strata: list[tuple[np.ndarray, list[str]]], names: Sequence[str], job: _Job
) -> float:
    """Return p as given, or the largest that keeps correlations or means; by halving."""
    if job.keep_correlation is None and job.keep_means is None:
        return USUAL_P if job.p is None else float(job.p)
    low, high = 1.0 / max(len(values), 2), MOST_P
    for _ in range(STEPS):
        middle = float(np.sqrt(low * high))
        swapped = np.column_stack(
            [
                values[_sources(values[:, j], *strata[j], middle, name, job.streams), j]
                for j, name in enumerate(names)
            ]
        )
        low, high = (middle, high) if _keeps(values, swapped, job) else (low, middle)
    return low


def _keeps(before: np.ndarray, after: np.ndarray, job: _Job) -> bool:
    complete = ~np.isnan(before).any(axis=1)
    x, y = before[complete], after[complete]
    if job.keep_means is not None:
        moved = np.sqrt(np.square(x - y).mean(axis=0))
        return bool((moved <= job.keep_means * np.abs(x.mean(axis=0))).all())
    pairs = np.triu_indices(x.shape[1], 1)
    old, new = (np.corrcoef(values, rowvar=False)[pairs] for values in (x, y))
    return bool((new / old >= float(job.keep_correlation or 0.0)).all())


def taken(values: pd.Series, source: np.ndarray) -> pd.Series:
    """Return the values of other rows, of the same type and under the old index."""
    return pd.Series(values.array.take(source), index=values.index, name=values.name)


def _sources(
    values: np.ndarray, ids: np.ndarray, labels: list[str], p: float, name: str,
    streams: Streams,
) -> np.ndarray:  # fmt: skip
    """Row that each row takes its value from."""
    from riskeval.kernels.rank_swapping import swap_ranks

    source = np.arange(len(values))
    for rows in _filled_strata(values, ids):
        rng = streams.at("rank_swap", name, labels[ids[rows[0]]])
        ordered = rows[np.lexsort((rng.random(len(rows)), values[rows]))]
        source[ordered] = ordered[swap_ranks(len(rows), _reach(p, len(rows)), rng)]
    return source


def _facts(
    values: np.ndarray, original: np.ndarray, source: np.ndarray, ids: np.ndarray, p: float
) -> tuple[int, int, int, int, float]:
    """Reach, idle and narrow values, strata with an extreme in place, correlation."""
    reach = idle = narrow = stayed = 0
    for rows in _filled_strata(values, ids):
        steps = _reach(p, len(rows))
        reach = max(reach, steps)
        idle += int((source[rows] == rows).sum())
        narrow += len(rows) if steps < USEFUL_REACH else 0
        ends = rows[[values[rows].argmin(), values[rows].argmax()]]
        alone = [(values[rows] == values[end]).sum() == 1 for end in ends]
        stayed += bool((alone & (source[ends] == ends)).any())
    return reach, idle, narrow, stayed, _correlation(original, values[source])


def _filled_strata(values: np.ndarray, ids: np.ndarray) -> list[np.ndarray]:
    filled = np.flatnonzero(~np.isnan(values))
    order = filled[np.argsort(ids[filled], kind="stable")]
    return [rows for rows in np.split(order, np.flatnonzero(np.diff(ids[order])) + 1) if len(rows)]


def _reach(p: float, n: int) -> int:
    return max(1, int(p * n + 1e-9))


def _verify(name: str, before: np.ndarray, after: np.ndarray, ids: np.ndarray, p: float) -> None:
    """Check on values alone that margins are kept and ranks are near."""
    for rows in _filled_strata(before, ids):
        ordered, reach = np.sort(before[rows]), _reach(p, len(rows))
        low = np.searchsorted(ordered, before[rows], side="left") - reach
        high = np.searchsorted(ordered, before[rows], side="right") - 1 + reach
        inside = after[rows] >= ordered[np.maximum(low, 0)]
        inside &= after[rows] <= ordered[np.minimum(high, len(rows) - 1)]
        if not inside.all() or not np.array_equal(ordered, np.sort(after[rows])):
            raise AssertionError(f"swapping {name!r} broke its promise")


def _correlation(before: np.ndarray, after: np.ndarray) -> float:
    filled = ~np.isnan(before)
    x, y = before[filled], after[filled]
    if len(x) < 2 or x.std() == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


METHOD = ProtectionMethod(
    run=rank_swap,
    rank=140,
    title="Rank swapping",
    question="Which amounts change place with others of nearby rank?",
    blind_spots=(
        "the values themselves, which all stay in the file: a rare amount is still there; "
        "records at the ends, which have few ranks to move to"
    ),
    example={"variables": ["hincome"]},
    roles=OF_NUMBERS,
)
