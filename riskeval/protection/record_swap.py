"""Targeted record swapping: risky households exchange their place with similar ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, check_seed, own_frame, protected
from riskeval.protection.swap_places import Places, read_own_risk, read_places
from synthpop.microdata.checks import check_columns
from synthpop.microdata.codes import cell_ids, encode
from synthpop.microdata.errors import Faults, GuaranteeError
from synthpop.microdata.frames import listed_names
from synthpop.microdata.native import same_library
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.text import count as count_text
from synthpop.microdata.text import percent


@same_library
def record_swap(
    data: Any,
    *,
    household: str,
    hierarchy: Sequence[str],
    similar: Sequence[str] | Sequence[Sequence[str]],
    risk_keys: Sequence[str] = (),
    k: int = 3,
    rate: float = 0.05,
    carry_along: Sequence[str] = (),
    household_keys: Sequence[str] = (),
    risk: Any = None,
    risk_threshold: float | None = None,
    seed: int | None = None,
) -> Protected:
    """Let households exchange their geography with similar households elsewhere.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records (persons)
    household : str
        Column of household ids; members need not be neighbours in the file.
    hierarchy : sequence of str
        Geographic columns from coarse to fine; the same for all members, never missing.
    similar : sequence of str, or of such sequences
        Household columns that partners must agree in. Of several profiles the first is tried
        first, the next for households that found no partner; a name beside a list is a profile of
        one column.
    risk_keys : sequence of str
        Person columns that an intruder may know.
    k : int
        A household must be swapped when at some level fewer than k records share the risk keys
        and the area with one of its members. 0 or 1: nobody must.
    rate : float
        Share of all households that are swapped, both partners counted, 0 to 1. More are swapped
        only if more must be.
    carry_along : sequence of str
        Further household columns that move with the place (grid cells, degree of urbanisation).
    household_keys : sequence of str
        Household columns that an intruder may know, besides the area and the risk keys of all
        members: a household must also be swapped when fewer than k households of an area share
        these and the make-up of the risk keys (whoever has which).
    risk : array or table of shape (n, levels), or (n,) for all levels, optional
        Risk of each record at each level of the hierarchy, from 0 to 1, in place of 1 / count:
        that of a household is the largest of its members.
    risk_threshold : float, optional
        With `risk`: a household with a risk above it at some level must be swapped; k asks for
        nothing then.
    seed : int, optional

    Returns
    -------
    Protected
        Only hierarchy and carry-along columns change, with their types. ``details``: ``swaps``
        (table of household, partner, level, must), ``households``, ``swapped_households``,
        ``must_swap``, ``without_partner`` (ids of households that had to be swapped and found
        none). Every area keeps its number of households, and of households of each kind of the
        coarsest profile.

    Raises
    ------
    InputError
        Unknown columns, hierarchy, similar or carry-along columns that differ within a household,
        missing areas, rate outside 0 to 1.
    GuaranteeError
        The count of households by area changed (this is never expected).

    Notes
    -----
    Targeted record swapping as used for the European census 2021 (Shlomo, Tudor and Groom 2010,
    doi:10.1007/978-3-642-15838-4_4). The risk of a household at a level is the largest of
    1 / count over its members (records, or households with `household_keys`). Level by level
    from the coarsest, households with a count below k get a partner in another area of that level;
    then further households of the finest areas are swapped until the rate is reached, those with
    high risk first: the order is that of risk / E with E standard exponential, so that risk acts
    as a weight in sampling without replacement. A household that must be swapped and finds
    nobody in another area of its level looks in the next finer one. A partner is the free
    household of the same profile with the highest such value.

    Examples
    --------
    >>> people = pd.DataFrame({"hid": [1, 2, 3, 4], "region": [*"aabb"], "size": [1, 1, 1, 1],
    ...                        "age": [30, 95, 30, 30]})
    >>> result = record_swap(people, household="hid", hierarchy=["region"], similar=["size"],
    ...                      risk_keys=["age"], k=2, rate=0, seed=1)
    >>> result.data["region"].tolist()[1], result.details["swapped_households"]
    ('b', 4)
    """
    frame = own_frame(data)
    profiles = _profiles(similar)
    geo, keys, along, known = (
        list(listed_names(names)) for names in (hierarchy, risk_keys, carry_along, household_keys)
    )
    faults = Faults("record_swap")
    _check(faults, frame, household, geo, profiles, keys, along, k, rate, known)
    risks = read_own_risk(faults, risk, risk_threshold, len(frame), len(geo))
    check_seed(faults, seed)
    faults.raise_if_any()
    seed = resolve_seed(seed)
    places = read_places(frame, household, geo, profiles, keys, known, k, risks, risk_threshold)
    partner, level, must, alone = _paired(places, rate, Streams(seed))
    source = np.where(partner >= 0, partner, np.arange(len(partner)))
    rows = places.first[source][places.of_record]
    released = frame.copy(deep=False)
    for column in [*geo, *along]:
        taken = frame[column].take(rows)
        taken.index = frame.index
        released[column] = taken
    _verify(partner, places)
    ids = frame[household].to_numpy()[places.first]
    swapped = np.flatnonzero(partner >= 0)
    n_households = len(partner)
    return protected(
        frame,
        released,
        [*geo, *along],
        method="record_swap",
        parameters={
            "household": household,
            "hierarchy": geo,
            "similar": profiles,
            "risk_keys": keys,
            "k": k,
            "rate": rate,
            "carry_along": along,
            "household_keys": known,
            "risk": None if risks is None else risks.tolist(),
            "risk_threshold": risk_threshold,
        },
        seed=seed,
        notes=[
            f"{count_text(len(swapped))} of {count_text(n_households)} households were swapped "
            f"({percent(len(swapped) / max(n_households, 1))}, {percent(rate)} asked for); "
            f"{count_text(int(must.sum()))} had to be, {count_text(len(alone))} of them "
            "found no similar household "
            "elsewhere.",
            "Every area has as many households as before.",
        ],
        details={
            "swaps": pd.DataFrame(
                {
                    "household": ids[swapped],
                    "partner": ids[partner[swapped]],
                    "level": np.array(geo, dtype=object)[level[swapped]],
                    "must": must[swapped],
                }
            ),
            "households": n_households,
            "swapped_households": len(swapped),
            "must_swap": int(must.sum()),
            "without_partner": ids[alone].tolist(),
        },
    )


def _profiles(similar: str | Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """Profiles as lists: names alone are one profile, names beside lists one each."""
    items = listed_names(similar)
    if all(isinstance(item, str) for item in items):
        return [[str(item) for item in items]]
    return [list(listed_names(item)) for item in items]


def _check(
    faults: Faults,
    frame: pd.DataFrame,
    household: str,
    geo: list[str],
    profiles: list[list[str]],
    keys: list[str],
    along: list[str],
    k: int,
    rate: float,
    known: list[str],
) -> None:
    if not geo:
        faults.add("hierarchy", "no column is given", remedy="Name at least one.")
    if not profiles or not all(profiles):
        faults.add("similar", "a profile names no column", remedy="Name at least one.")
    fine = check_columns(faults, frame, [household], "household")
    for role, names in (("hierarchy", geo), ("risk key", keys), ("carried along", along)):
        check_columns(faults, frame, dict.fromkeys(names), role)
    check_columns(faults, frame, dict.fromkeys(known), "household key")
    shared = dict.fromkeys(
        [*geo, *along, *known, *(name for profile in profiles for name in profile)]
    )
    others = [name for name in shared if name not in [*geo, *along, *known]]
    check_columns(faults, frame, others, "similar")
    for name in {*geo, *along} & {household, *keys, *(n for p in profiles for n in p)}:
        faults.add(name, "is swapped and also household, risk key or similar")
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 0:
        faults.add("k", f"is {k!r}", remedy="Give a whole number from 0.")
    number = isinstance(rate, (int, float, np.number)) and not isinstance(rate, bool)
    if not number or not 0 <= rate <= 1:
        faults.add("rate", f"is {rate!r}", remedy="Give the share of households, 0 to 1.")
    if not fine:
        return
    if not len(frame):
        faults.add("data", "have no records")
    missing = frame[household].isna().to_numpy()
    if missing.any():
        faults.add(household, "household is missing", rows=np.flatnonzero(missing))
    for name in shared:
        if (frame.columns == name).sum() != 1:
            continue
        codes, _ = encode(frame[name])
        lead = pd.Series(codes).groupby(encode(frame[household])[0]).transform("first").to_numpy()
        if (codes != lead).any():
            faults.add(name, "differs within a household", rows=np.flatnonzero(codes != lead))
        if name in geo and (codes < 0).any():
            faults.add(name, "area is missing", rows=np.flatnonzero(codes < 0))


def _paired(
    places: Places, rate: float, streams: Streams
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Partner and level of each household, who had to be swapped, and who of them was not."""
    n, n_levels = places.area.shape
    partner = np.full(n, -1, dtype=np.int64)
    level = np.zeros(n, dtype=np.int64)
    must = np.asarray(places.must.any(axis=1))
    worst = np.where(must, places.must.argmax(axis=1), n_levels)
    for step in range(n_levels):
        priority = _priority(places.risk[:, step], streams.at("record_swap", "must", step))
        who = np.flatnonzero((worst <= step) & (partner < 0))
        n_areas = int(places.area[:, step].max(initial=-1)) + 1
        quota = np.full(n_areas, n, dtype=np.int64)
        _pair(places, step, who, priority, quota, np.array([n]), partner, level)
    alone = np.flatnonzero(must & (partner < 0))
    last = n_levels - 1
    rng = streams.at("record_swap", "more")
    priority = _priority(places.risk[:, last], rng)
    quota = _quota(places.area[:, last], partner, rate, rng)
    budget = np.array([quota.sum()])
    # areas whose households find no partner leave their part to the others
    for limits in (quota, np.full(len(quota), n)):
        free = np.flatnonzero(partner < 0)
        _pair(places, last, free, priority, limits, budget, partner, level)
    return partner, level, must, alone


def _priority(risk: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return risk / rng.standard_exponential(len(risk))


def _quota(
    area: np.ndarray, partner: np.ndarray, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Pairs that each area starts, so that the rate is met in all: random systematic rounding."""
    n_areas = int(area.max(initial=-1)) + 1
    n_pairs = max(0, round((rate * len(area) - float((partner >= 0).sum())) / 2))
    done = np.bincount(area[partner >= 0], minlength=n_areas)
    short = np.maximum(rate * np.bincount(area, minlength=n_areas) - done, 0.0)
    if n_pairs == 0 or short.sum() == 0:
        return np.zeros(n_areas, dtype=np.int64)
    order = rng.permutation(n_areas)
    steps = np.cumsum(short[order]) * (n_pairs / short.sum())
    edges = np.floor(np.append(0.0, steps) + rng.random())
    edges[-1] = edges[0] + n_pairs
    quota = np.zeros(n_areas, dtype=np.int64)
    quota[order] = np.diff(edges)
    return quota


def _pair(
    places: Places,
    step: int,
    who: np.ndarray,
    priority: np.ndarray,
    quota: np.ndarray,
    budget: np.ndarray,
    partner: np.ndarray,
    level: np.ndarray,
) -> None:
    from riskeval.kernels.swap_records import pair_up

    before = partner >= 0
    area = np.ascontiguousarray(places.area[:, step])
    starters = who[np.argsort(-priority[who], kind="stable")]
    for profile in places.profiles:
        members = np.lexsort((-priority, profile))
        first = np.searchsorted(profile[members], np.arange(int(profile.max()) + 2))
        pair, n_pairs = cell_ids(
            np.column_stack([profile, area]), [int(profile.max()) + 1, len(quota)]
        )
        open_now = partner < 0
        left = np.bincount(pair[open_now], minlength=n_pairs)
        free = np.bincount(profile[open_now], minlength=len(first) - 1)
        pair_up(starters, area, profile, members, first, pair, left, free, quota, budget, partner)
    level[(partner >= 0) & ~before] = step


def _verify(partner: np.ndarray, places: Places) -> None:
    swapped = np.flatnonzero(partner >= 0)
    mutual = np.array_equal(partner[partner[swapped]], swapped)
    finest = places.area[:, -1]
    moved = np.where(partner >= 0, finest[partner], finest)
    if not mutual or not np.array_equal(np.bincount(moved), np.bincount(finest)):
        raise GuaranteeError("record_swap: the number of households by area changed")
