"""Mondrian: multidimensional recoding by median cuts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import Households, read_households
from riskeval.protection.read_back import known_codes
from riskeval.protection.result import Protected, categorical_column, protected
from riskeval.protection.targets import Constraints, read_constraints
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import as_file

Holds = Callable[[np.ndarray, np.ndarray], bool]


@same_library
def mondrian(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    k: int,
    household: str | None = None,
    targets: Mapping[str, float] | None = None,
) -> Protected:
    """Cut the file into regions of at least k records and give each region one value a key.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    keys : sequence of str
        Key columns. Values are taken in their order: numbers by size, ordered categories by their
        order, other categories by that of their levels.
    k : int
        Records in each region.
    household : str, optional
        Column of household ids. Keys that are the same for all members are cut first, into regions
        of at least k households, so that members stay alike; the other keys then within these.
    targets : mapping, optional
        What every region must hold beside k, as in `local_suppression`: ``{"t: income": 0.2}``. A
        cut is made only where both parts do.

    Returns
    -------
    Protected
        Keys become categorical columns of text: the value itself where a region has one value,
        "20-39" for numbers and ordered categories ("low - high"), "a, b" for unordered ones. A
        missing value comes before all others in the order: a region that has some says "or
        missing", a region of missing values only stays missing. A key that is nowhere
        generalised is left alone, with its type. ``details``: ``region`` (int array, shape (n,)),
        ``n_regions``, ``discernibility`` (sum of squared region sizes), ``targets`` (records that
        fail each, counted on the released values). Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown or repeated keys, k below 1, fewer than k records or households.
    GuaranteeError
        The count at the end found a smaller group (this is never expected).

    Notes
    -----
    The strict algorithm of LeFevre et al. (2006, doi:10.1109/ICDE.2006.101): a region is cut at
    the median of the key with the widest range, relative to the range in the file; the next key is
    tried when a part would have fewer than k records; equal values are never separated.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [20, 24, 31, 39, 40, 62], "sex": [*"mfmfmf"]})
    >>> mondrian(people, ["age", "sex"], k=3).data["age"].tolist()
    ['20-31', '20-31', '20-31', '39-62', '39-62', '39-62']
    """
    faults = Faults("mondrian")
    file = as_file(data, faults, keys=keys, household=household)
    frame, names, household = file.indexed, list(file.roles.keys), file.roles.household
    check(faults, {"k": Whole(1)}, {"k": k})
    homes = read_households(faults, file, names)
    if Whole(1).allows(k) and len(homes) < k:
        what = f"is {k}, the file has {plural(len(homes), homes.unit)}"
        faults.add("k", what, hint="Lower k.")
    constraints = read_constraints(faults, file, names, targets)
    faults.raise_if_any()
    coded = file.coded(names)
    places, spans = _positions(frame, names, coded.codes, coded.levels)
    shared = homes.are_shared(names)
    outer, region = _nested(places, spans, k, shared, homes, constraints)
    released = frame.copy(deep=False)
    for j, name in enumerate(names):
        where = outer if shared[j] else region
        released[name] = _labelled(frame[name], coded.codes[:, j], coded.levels[j], where)
    sizes = np.bincount(region)
    groups = released[names].groupby(names, dropna=False, observed=True).size()
    if len(groups) and int(groups.min()) < k:
        raise GuaranteeError(f"mondrian: a group of {int(groups.min())} records is left")
    result = protected(
        frame,
        released,
        names,
        method="mondrian",
        parameters={"keys": names, "k": k, "household": household},
        notes=[
            message(
                "{n} of {min} to {n_2}; recounted, every combination of the keys has at "
                "least {k} records.",
                n=plural(len(sizes), "region"),
                min=sizes.min(),
                n_2=plural(sizes.max(), "record"),
                k=k,
            ),
            *homes.notes(),
        ],
        details={
            "region": region,
            "n_regions": len(sizes),
            "discernibility": float((sizes.astype(np.float64) ** 2).sum()),
        },
    )
    return constraints.verified(result, coded.codes, known_codes(released, names))


def _nested(
    places: np.ndarray,
    spans: np.ndarray,
    k: int,
    shared: np.ndarray,
    homes: Households,
    constraints: Constraints,
) -> tuple[np.ndarray, np.ndarray]:
    """Regions of the household keys (one number for members), and regions of all keys in them."""
    if not shared.any():
        region = regions(places, spans, k, constraints.hold_apart)
        return region, region

    def households_hold(rows: np.ndarray, low: np.ndarray) -> bool:
        members = [homes.members[home] for home in rows]
        part = np.repeat(low, homes.size[rows])
        return constraints.hold_apart(np.concatenate(members), part)

    homes_of = regions(places[homes.first][:, shared], spans[shared], k, households_hold)
    outer = homes_of[homes.number]
    if shared.all():
        return outer, outer
    region = np.zeros(len(places), dtype=np.int64)
    order = np.argsort(outer, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(outer[order])) + 1):

        def members_hold(some: np.ndarray, low: np.ndarray, rows: np.ndarray = rows) -> bool:
            return constraints.hold_apart(rows[some], low)

        inner = regions(places[rows][:, ~shared], spans[~shared], k, members_hold)
        region[rows] = inner + region.max() + 1
    return outer, np.unique(region, return_inverse=True)[1].reshape(-1)


def _positions(
    frame: pd.DataFrame, names: list[str], codes: np.ndarray, levels: Sequence[tuple[Any, ...]]
) -> tuple[np.ndarray, np.ndarray]:
    """Place of each value on the axis of its key, and length of the axes."""
    places = codes.astype(np.float64)
    for j, name in enumerate(names):
        if is_number(frame[name]) and len(levels[j]) > 1:
            values = np.array(levels[j], dtype=np.float64)
            before = values[0] - (values[-1] - values[0]) / (len(values) - 1)
            places[:, j] = np.append(values, before)[codes[:, j]]
    spans = places.max(axis=0) - places.min(axis=0)
    return places, np.where(spans > 0, spans, 1.0)


def regions(places: np.ndarray, spans: np.ndarray, k: int, hold: Holds | None = None) -> np.ndarray:
    """Number the regions of the strict median cuts, in the order in which they become final.

    hold: whether both parts of some rows hold what is asked, of rows and of which are the low part
    """
    region = np.zeros(len(places), dtype=np.int64)
    waiting, n_regions = [np.arange(len(places))], 0
    while waiting:
        rows = waiting.pop()
        cuts = _cuts(places[rows], spans, k) if len(rows) >= 2 * k else iter(())
        low = next((low for low in cuts if hold is None or hold(rows, low)), None)
        if low is None:
            region[rows] = n_regions
            n_regions += 1
        else:
            waiting += [rows[~low], rows[low]]
    return region


def _cuts(block: np.ndarray, spans: np.ndarray, k: int) -> Iterator[np.ndarray]:
    """Which records belong to the low part, of the cuts that leave k on both sides."""
    with np.errstate(invalid="ignore"):  # infinite values: no cut along this key
        widths = np.nan_to_num((block.max(axis=0) - block.min(axis=0)) / spans)
    for j in np.argsort(-widths, kind="stable"):
        if widths[j] == 0:
            return
        column = block[:, j]
        middle = np.partition(column, (len(column) - 1) // 2)[(len(column) - 1) // 2]
        for low in (column <= middle, column < middle):
            if k <= int(low.sum()) <= len(column) - k:
                yield np.asarray(low)


def _labelled(
    values: pd.Series, codes: np.ndarray, levels: tuple[Any, ...], region: np.ndarray
) -> pd.Series:
    n_regions = int(region.max()) + 1
    pairs = np.unique(np.column_stack([region, codes.astype(np.int64)]), axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(n_regions + 1))
    if len(pairs) == n_regions:
        return values
    categorical = isinstance(values.dtype, pd.CategoricalDtype)
    interval = (categorical and bool(values.cat.ordered)) or (
        not categorical and pd.api.types.is_numeric_dtype(values.dtype)
    )
    dash = " - " if categorical else "-"
    texts = [
        _text(pairs[start:stop, 1], levels, dash if interval else None)
        for start, stop in pairwise(starts)
    ]
    lowest: dict[str, int] = {}
    for text, start in zip(texts, starts, strict=False):
        if text is not None:
            lowest.setdefault(text, int(pairs[start, 1]))
    order = sorted(lowest, key=lowest.__getitem__)
    place = {text: j for j, text in enumerate(order)}
    table = np.array([-1 if text is None else place[text] for text in texts], dtype=np.int64)
    return categorical_column(table[region], order, ordered=False, index=values.index)


def _text(inside: np.ndarray, levels: tuple[Any, ...], dash: str | None) -> str | None:
    filled = inside[inside >= 0]
    if len(filled) == 0:
        return None
    if len(filled) == 1:
        text = str(levels[filled[0]])
    elif dash is not None:
        text = f"{levels[filled[0]]}{dash}{levels[filled[-1]]}"
    else:
        text = ", ".join(str(levels[code]) for code in filled)
    return message("{text} or missing", text=text) if len(filled) < len(inside) else text


METHOD = ProtectionMethod(
    run=mondrian,
    rank=70,
    title="Mondrian",
    question="Which ranges of the keys hold at least k records each?",
    blind_spots=(
        "sensitive values that all records of a region share; intruders who know more than the keys"
    ),
    example={"keys": ["age", "rb090"], "k": 5},
    roles=roles_named("keys", "household"),
    new_types=True,
)
