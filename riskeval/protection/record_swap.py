"""Targeted record swapping: risky households exchange their place with similar ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import (
    Households,
    needing_household,
    note_differing,
    read_households,
)
from riskeval.protection.household.places import Places, SwapRequest, read_own_risk, read_places
from riskeval.protection.result import Protected, protected
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import cell_ids
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import percent
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.statistics.streams import Streams


@same_library
def record_swap(
    data: Any,
    *,
    household: str | None = None,
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
    faults = Faults("record_swap")
    file = needing_household(data, faults, household)
    frame, household = file.indexed, str(file.roles.household)
    geo = list(listed_names(hierarchy))
    request = SwapRequest(
        household, geo, _profiles(similar), list(listed_names(risk_keys)), k, rate,
        list(listed_names(carry_along)), list(listed_names(household_keys)),
        read_own_risk(faults, risk, risk_threshold, len(frame), len(geo)), risk_threshold,
    )  # fmt: skip
    homes = _check(faults, file, request)
    streams = read_secret(faults, seed)
    faults.raise_if_any()
    places = read_places(frame, homes, request)
    partner, level, must, alone = _paired(places, rate, streams)
    _verify(partner, places)
    source = np.where(partner >= 0, partner, np.arange(len(partner)))
    rows = places.first[source][places.of_record]
    released = frame.assign(**frame[request.moved].take(rows).set_axis(frame.index))
    ids = frame[household].to_numpy()[places.first]
    n_swapped = int((partner >= 0).sum())
    levels = [geo[place] for place in level]
    swaps = {"household": ids, "partner": ids[partner], "level": levels, "must": must}
    return protected(
        frame,
        released,
        request.moved,
        method="record_swap",
        parameters=request.parameters(),
        seed=streams.seed,
        notes=[
            message(
                "{n_swapped} of {n} households were swapped ({share}, {rate} requested); "
                "{required} had to be, and {unpaired} of them found no similar household "
                "elsewhere.",
                n_swapped=count_text(n_swapped),
                n=count_text(len(homes)),
                share=percent(n_swapped / max(len(homes), 1)),
                rate=percent(rate),
                required=count_text(int(must.sum())),
                unpaired=count_text(len(alone)),
            ),
            message("Every area has as many households as before."),
        ],
        details={
            "swaps": pd.DataFrame(swaps)[partner >= 0].reset_index(drop=True),
            "households": len(homes),
            "swapped_households": n_swapped,
            "must_swap": int(must.sum()),
            "without_partner": ids[alone].tolist(),
        },
    )


def _profiles(similar: str | Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """Profiles as lists: names alone are one profile, names beside lists one each."""
    several = isinstance(similar, Iterable) and not isinstance(similar, str)
    if not several or all(isinstance(item, str) for item in similar):
        return [list(listed_names(similar))]
    return [list(listed_names(item)) for item in similar]


def _check(faults: Faults, file: Microdata, request: SwapRequest) -> Households:
    """Note what is wrong with a request; return the households."""
    frame = file.indexed
    profiles = [name for profile in request.similar for name in profile]
    if not request.hierarchy:
        faults.add("hierarchy", "no column is given", hint="Name at least one.")
    if not request.similar or not all(request.similar):
        faults.add("similar", "a profile names no column", hint="Name at least one.")
    roles = {
        "hierarchy": request.hierarchy, "risk key": request.risk_keys,
        "carried along": request.carry_along, "household key": request.household_keys,
        "similar": profiles,
    }  # fmt: skip
    fine = all([check_columns(faults, frame, dict.fromkeys(roles[role]), role) for role in roles])
    for name in {*request.moved} & {request.household, *request.risk_keys, *profiles}:
        faults.add(name, "is swapped and also household, risk key or similar")
    request.check(faults, "")
    if not len(frame):
        faults.add("data", "have no records")
    homes = read_households(faults, file)
    for name in request.shared if fine else ():
        codes = file.codes(name)[0] + 1  # missing is a value too
        note_differing(faults, name, codes, homes, "differs within a household")
        if name in request.hierarchy and frame[name].isna().any():
            faults.add(name, "area is missing", rows=np.flatnonzero(frame[name].isna()))
    return homes


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
        rng = streams.at("record_swap", "must", step)
        priority = places.risk[:, step] / rng.standard_exponential(n)
        who = np.flatnonzero((worst <= step) & (partner < 0))
        n_areas = int(places.area[:, step].max(initial=-1)) + 1
        quota = np.full(n_areas, n, dtype=np.int64)
        _pair(places, step, who, priority, quota, np.array([n]), partner, level)
    alone = np.flatnonzero(must & (partner < 0))
    finest = n_levels - 1
    rng = streams.at("record_swap", "more")
    priority = places.risk[:, finest] / rng.standard_exponential(n)
    quota = _quota(places.area[:, finest], partner, rate, rng)
    budget = np.array([quota.sum()])
    # areas whose households find no partner leave their part to the others
    for limits in (quota, np.full(len(quota), n)):
        free = np.flatnonzero(partner < 0)
        _pair(places, finest, free, priority, limits, budget, partner, level)
    return partner, level, must, alone


def _quota(
    area: np.ndarray, partner: np.ndarray, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Pairs that each area starts, so that the rate is met in all: random systematic rounding."""
    n_areas = int(area.max(initial=-1)) + 1
    n_pairs = max(0, round((rate * len(area) - float((partner >= 0).sum())) / 2))
    n_swapped = np.bincount(area[partner >= 0], minlength=n_areas)
    short = np.maximum(rate * np.bincount(area, minlength=n_areas) - n_swapped, 0.0)
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
        pair, n_pairs = cell_ids(np.column_stack([profile, area]))
        open_now = partner < 0
        n_open = np.bincount(pair[open_now], minlength=n_pairs)
        free = np.bincount(profile[open_now], minlength=len(first) - 1)
        pair_up(starters, area, profile, members, first, pair, n_open, free, quota, budget, partner)
    level[(partner >= 0) & ~before] = step


def _verify(partner: np.ndarray, places: Places) -> None:
    swapped = np.flatnonzero(partner >= 0)
    mutual = np.array_equal(partner[partner[swapped]], swapped)
    finest = places.area[:, -1]
    moved = np.where(partner >= 0, finest[partner], finest)
    if not mutual or not np.array_equal(np.bincount(moved), np.bincount(finest)):
        raise GuaranteeError("record_swap: the number of households by area changed")


METHOD = ProtectionMethod(
    run=record_swap,
    rank=100,
    title="Record swapping",
    question="Which households exchange their place of residence with similar ones?",
    blind_spots=(
        "households that keep their place, which are all but the share that is swapped; "
        "whoever is recognised without the place"
    ),
    example={
        "household": "db030",
        "hierarchy": ["db040"],
        "similar": ["hsize"],
        "risk_keys": ["age"],
        "rate": 0.3,
    },
    roles={"risk_keys": "keys"} | roles_named("household", "household_keys"),
)
