"""Generalised Gower distance between the records of the original and the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.shared.files import (
    FilePair,
    check_both,
    check_numbers,
    check_paired,
    ones,
    read_files,
)
from riskeval.utility.tables import coded_alike
from synthpop.microdata.frame.codes import encode, recode_to
from synthpop.microdata.frame.frames import as_names, as_numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import POSITIVE, check, check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import formatted, percent
from synthpop.microdata.statistics.distances import known_ranges

TYPES = ("numeric", "nominal", "ordinal", "semicontinuous")
SCALES = ("range", "arctan")


@dataclass(frozen=True, slots=True, eq=False)
class GowerDistance(Result):
    """Distance of each released record from its original; 0 is no change, 1 the largest.

    Attributes
    ----------
    distance : float
        Mean over records (weighted where weights were given).
    per_record : float64, shape (n,)
        Equation 5.11.
    by_variable : DataFrame
        `variable`, `type`, `importance`, `distance` (mean contribution), `capped` (values so far
        outside the original range that they count 1), `one_missing`.
    scale : str
    """

    distance: float
    per_record: np.ndarray
    by_variable: pd.DataFrame
    scale: str

    def to_frame(self) -> pd.DataFrame:
        """Return `by_variable`."""
        return self.by_variable

    def summary(self) -> str:
        """Return the mean distance and the variable that moved most."""
        worst = self.by_variable.iloc[int(np.argmax(self.by_variable["distance"].to_numpy()))]
        unchanged = float(np.mean(self.per_record == 0))
        return message(
            "Released records are {distance} away from their originals on average "
            "(generalised Gower distance, Templ 2017, equation 5.11: 0 no change, 1 the "
            "largest); {unchanged} did not change. {variable} changed most ({farthest}). "
            "There is no threshold: compare releases of the same file.",
            distance=formatted(self.distance, ".4g"),
            unchanged=percent(unchanged, 1),
            variable=worst["variable"],
            farthest=formatted(worst["distance"], ".4g"),
        )


@same_library
def gower(
    original: Any,
    released: Any,
    variables: Sequence[str] | str,
    *,
    types: Mapping[str, str] | None = None,
    special: Mapping[str, float] | None = None,
    importance: Mapping[str, float] | None = None,
    scale: str = "range",
    weights: Any = None,
) -> GowerDistance:
    """Measure the distance of each released record from its original, for mixed types.

    Parameters
    ----------
    original, released : tables of n records
        Row i of both is the same unit.
    variables : sequence of str, length p
    types : dict, optional
        Type of a variable: "numeric", "nominal", "ordinal" or "semicontinuous". Default: numeric
        for numbers, ordinal for ordered categories, nominal for the rest. Numbers can be
        ordinal: their distinct values are then the ranks.
    special : dict, optional
        Value with a mass of its own, for semi-continuous variables only; default 0.
    importance : dict, optional
        Weight w_k of a variable; default 1.
    scale : {"range", "arctan"}
        Numeric differences divided by the range in the original, or (2 / pi) arctan(difference),
        which needs no range but depends on the unit.
    weights : str or array, optional
        Weights of the original records, shape (n,), for the means over records.

    Returns
    -------
    GowerDistance
        A value missing in both files is no difference; missing in one it is the largest possible.
        A level of an ordinal variable that the original does not have counts 1. With "range" a
        difference larger than the range counts 1 and is counted in `capped`.

    Raises
    ------
    InputError
        Files of different length, unknown columns, types or options, importance not positive.

    Notes
    -----
    Templ (2017), equations 5.11 to 5.14; Gower (1971). "arctan": Mlodak (2020).

    Examples
    --------
    >>> x = pd.DataFrame({"age": [20, 30, 60], "sex": list("fmf")})
    >>> y = pd.DataFrame({"age": [20, 40, 60], "sex": list("fmm")})
    >>> gower(x, y, ["age", "sex"]).per_record.tolist()
    [0.0, 0.125, 0.5]
    """
    faults = Faults("Gower distance")
    files = read_files(faults, original, released, weights, None)
    names = as_names(faults, variables, "variables")
    check_paired(faults, files)
    check_choice(faults, "scale", scale, SCALES)
    marks: dict[str, Mapping[str, Any]] = {
        "types": types or {}, "special": special or {}, "importance": importance or {},
    }  # fmt: skip
    _check_marks(faults, marks, names)
    kinds = {}
    if check_both(faults, files, names, "variable"):
        kinds = {name: marks["types"].get(name, _type(files, name)) for name in names}
        for name in marks["special"]:
            if kinds.get(name, "semicontinuous") != "semicontinuous":
                what = f"{name!r} is {kinds[name]}: a value with a mass of its own has no effect"
                hint = f'Add types={{{name!r}: "semicontinuous"}}.'
                faults.add("special", what, hint=hint)
        numeric = [n for n in names if kinds[n] in ("numeric", "semicontinuous")]
        check_numbers(faults, files, numeric, "variable")
    faults.raise_if_any()
    factors = np.array([float(marks["importance"].get(name, 1.0)) for name in names])
    values = {name: float(marks["special"].get(name, 0.0)) for name in names}
    contributions = (_contribution(files, n, kinds[n], values[n], scale) for n in names)
    columns, capped, single = zip(*contributions, strict=True)
    deltas = np.column_stack(columns)
    per_record = deltas @ factors / factors.sum()
    w = ones(len(files.x), files.wx)
    table = {"variable": names, "type": [kinds[name] for name in names], "importance": factors}
    means = w @ deltas / w.sum()
    return GowerDistance(
        distance=float(np.average(per_record, weights=w)),
        per_record=per_record,
        by_variable=pd.DataFrame({**table, "distance": means, "capped": capped,
                                  "one_missing": single}),
        scale=scale,
    )  # fmt: skip


def _check_marks(
    faults: Faults, marks: Mapping[str, Mapping[str, Any]], names: Sequence[str]
) -> None:
    for argument, columns in marks.items():
        for name in columns:
            if name not in names:
                faults.add(argument, f"{name!r} is not among the variables",
                           hint=did_you_mean(name, names))  # fmt: skip
    for name, kind in marks["types"].items():
        check_choice(faults, f"types[{name!r}]", kind, TYPES)
    for name, weight in marks["importance"].items():
        check(faults, {f"importance[{name!r}]": POSITIVE}, {f"importance[{name!r}]": weight})


def _type(files: FilePair, name: str) -> str:
    if files.numeric([name]):
        return "numeric"
    dtype = files.x[name].dtype
    ordered = isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)
    return "ordinal" if ordered else "nominal"


def _contribution(
    files: FilePair, name: str, kind: str, special: float, scale: str
) -> tuple[np.ndarray, int, int]:
    """Contribution of a variable to each record, values capped, and values missing in one file."""
    if kind == "nominal":
        _, a, b = coded_alike(files, name)
        return (a != b).astype(np.float64), 0, int(((a < 0) != (b < 0)).sum())
    if kind == "ordinal":
        codes, levels = encode(files.x[name])
        released_codes, unknown = recode_to(files.y[name], levels)
        a = np.where(codes < 0, np.nan, codes.astype(np.float64))
        b = np.where(released_codes < 0, np.nan, released_codes.astype(np.float64))
        delta, _, single = _scaled(a, b, max(len(levels) - 1, 1), "range")
        return np.where(unknown, 1.0, delta), 0, single - int((unknown & (codes >= 0)).sum())
    a, b = as_numbers(files.x[name]), as_numbers(files.y[name])
    if kind == "numeric":
        return _scaled(a, b, known_ranges(a[:, None])[0], scale)
    width = known_ranges(a[a != special][:, None])[0]
    one_special = ((a == special) != (b == special)) & ~np.isnan(a) & ~np.isnan(b)
    delta, capped, single = _scaled(np.where(one_special, b, a), b, width, scale)
    return np.where(one_special, 1.0, delta), capped, single


def _scaled(a: np.ndarray, b: np.ndarray, width: float, scale: str) -> tuple[np.ndarray, int, int]:
    gap_a, gap_b = np.isnan(a), np.isnan(b)
    moved = np.where(gap_a | gap_b, 0.0, np.abs(a - b))
    one_missing = gap_a != gap_b
    if scale == "arctan":
        largest = 0.0
        if not gap_a.all() and not gap_b.all():
            largest = max(abs(np.nanmax(a) - np.nanmin(b)), abs(np.nanmin(a) - np.nanmax(b)))
        delta = 2 / np.pi * np.arctan(np.where(one_missing, largest, moved))
        return delta, 0, int(one_missing.sum())
    # a constant variable that changed is as far away as can be
    delta = moved / width if width > 0 else (moved > 0).astype(np.float64)
    scaled = np.where(one_missing, 1.0, np.minimum(delta, 1.0))
    return scaled, int((delta > 1).sum()), int(one_missing.sum())
