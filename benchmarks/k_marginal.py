"""The k-marginal score of NIST's Collaborative Research Cycle, and what else its report counts.

The score compares, in each area, the shares of all cells of two further features (three-way tables
with the area): 1,000 where all agree, 0 where the files have no cell in common,

    score = mean over areas a and pairs (i, j) of  500 (2 - sum over cells |p_a - q_a|).

Numbers enter by twenty classes of equal shares of the target, a code ("N") by a class of its own;
features that follow from others (density, industry code) and weights are left out, so that 19
features make 171 pairs. NIST draws 50 of the pairs (SDNist, public domain); here all are used.
Source: Task, Bhagat and Howarth, SDNist v2: Deidentified Data Report Tool, doi 10.18434/mds2-2943.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

AREA, NOT_APPLICABLE = "PUMA", "N"
NUMBERS = ("AGEP", "PINCP", "POVPIP", "PWGTP", "WGTP")
LEFT_OUT = ("DENSITY", "INDP", "PWGTP", "WGTP")
CLASSES = 20
CHILDREN_HAVE_NO = ("DVET", "MSP", "PINCP", "PINCP_DECILE", "INDP", "INDP_CAT")
TOP_CODE = {"POVPIP": 501.0}  # a code for all above: a class of its own
PROPENSITY_DEPTH = 5


def as_published(frame: pd.DataFrame) -> pd.DataFrame:
    """Return every value as the publisher writes it: text, whole numbers plain, "N" for none."""
    columns = {}
    for name in frame:
        column = frame[name].astype(object).where(frame[name].notna(), NOT_APPLICABLE)
        text = column.astype(str).str.strip().str.replace(r"\.0+$", "", regex=True)
        columns[name] = text.replace({"": NOT_APPLICABLE, "nan": NOT_APPLICABLE})
    return pd.DataFrame(columns)


def class_limits(target: pd.Series, top_code: float | None = None) -> np.ndarray:
    """Return the largest number of each class of a target, but of the last."""
    numbers = pd.to_numeric(target, errors="coerce").dropna()
    if top_code is not None:
        numbers = numbers[numbers != top_code]
    rank = np.minimum((CLASSES * numbers.rank(pct=True)).astype(int), CLASSES - 1)
    return np.unique(numbers.groupby(rank).max().to_numpy())[:-1]


def classed(frame: pd.DataFrame, target: pd.DataFrame) -> pd.DataFrame:
    """Return codes of the levels of each feature, numbers in the classes of the target."""
    codes = {}
    for name in target:
        if name not in NUMBERS:
            levels = pd.Index(sorted({*target[name], *frame[name]}))
            codes[name] = levels.get_indexer(frame[name])
            continue
        top = TOP_CODE.get(name)
        numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
        code = np.searchsorted(class_limits(target[name], top), numbers) + 1
        code = np.where(numbers == top, CLASSES + 1, code)
        codes[name] = np.where(np.isnan(numbers), 0, code)
    return pd.DataFrame(codes)


def k_marginal(
    target: pd.DataFrame, released: pd.DataFrame, *, by_area: bool = True,
    features: Sequence[str] | None = None,
) -> float:  # fmt: skip
    """Return the score of a released file, 0 to 1,000, over all pairs of features.

    target, released: as `as_published` returns them
    by_area: three-way tables with the area; else two-way tables, the area a feature like others
    features: default: all of the target that are in the release, but `LEFT_OUT`
    """
    names = [str(n) for n in features or target if n in released and n not in LEFT_OUT]
    left, right = (classed(side[names], target[names]) for side in (target, released))
    if not by_area:
        return float(np.mean([_agreement(left, right, pair) for pair in combinations(names, 2)]))
    others = [name for name in names if name != AREA]
    pairs = list(combinations(others, 2))
    return float(np.mean([_agreement(left, right, pair, AREA) for pair in pairs]))


def k_marginal_of_nist(target: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return what the score published by NIST's report tool is expected to be.

    All features that the release has enter, and the two of a table are drawn with replacement, so
    that a feature is crossed with itself now and then.
    """
    names = [str(name) for name in target if name in released]
    left, right = (classed(side[names], target[names]) for side in (target, released))
    others = [name for name in names if name != AREA]
    m = len(others)
    crossed = np.sum([_agreement(left, right, pair, AREA) for pair in combinations(others, 2)])
    alone = np.sum([_agreement(left, right, [name], AREA) for name in others])
    return float((2 * crossed + alone) / m**2)


def _agreement(
    left: pd.DataFrame, right: pd.DataFrame, names: Sequence[str], area: str | None = None
) -> float:
    """Return the mean score over areas of the tables of some coded features."""
    cells = [np.zeros(len(side), dtype=np.int64) for side in (left, right)]
    for name in names:
        size = 1 + max(int(side[name].max()) for side in (left, right))
        cells = [
            c * size + side[name].to_numpy() for c, side in zip(cells, (left, right), strict=True)
        ]
    n_cells = 1 + max(int(c.max()) for c in cells)
    if area is None:
        areas = [np.zeros(len(side), dtype=np.int64) for side in (left, right)]
    else:
        areas = [side[area].to_numpy() for side in (left, right)]
    n_areas = 1 + max(int(a.max()) for a in areas)
    shares, persons = [], []
    for c, a in zip(cells, areas, strict=True):
        counts = np.bincount(a * n_cells + c, minlength=n_areas * n_cells).reshape(n_areas, -1)
        persons.append(counts.sum(axis=1))
        shares.append(counts / np.maximum(persons[-1], 1)[:, None])
    distance = np.abs(shares[0] - shares[1]).sum(axis=1)[persons[0] > 0]
    return float(500.0 * (2.0 - distance.mean()))


def propensity_error(target: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return the mean squared error of the propensity scores of a tree of depth five."""
    names = [name for name in target if name in released]
    x = np.vstack([_numbers(side[names], target[names]) for side in (target, released)])
    is_released = np.arange(len(x)) >= len(target)
    tree = DecisionTreeClassifier(max_depth=PROPENSITY_DEPTH, random_state=0).fit(x, is_released)
    scores = tree.predict_proba(x)[:, 1]
    return float(np.mean((scores - is_released.mean()) ** 2))


def _numbers(frame: pd.DataFrame, target: pd.DataFrame) -> np.ndarray:
    return np.column_stack([as_ordered(target[name], frame[name])[0] for name in frame])


def as_ordered(target: pd.Series, column: pd.Series) -> tuple[np.ndarray, bool]:
    """Return a column as numbers, "N" below all; texts are places in the order of the target's.

    Also whether the values are numbers.
    """
    coded = [side.replace(NOT_APPLICABLE, "-1") for side in (target, column)]
    if pd.to_numeric(coded[0], errors="coerce").notna().all():
        return pd.to_numeric(coded[1], errors="coerce").fillna(-1).to_numpy(np.float64), True
    return pd.Index(sorted(target.unique())).get_indexer(column).astype(np.float64), False


def inconsistent(frame: pd.DataFrame) -> np.ndarray:
    """Return which records break a rule of NIST's list of inconsistencies, shape (n,)."""
    numbers = {n: pd.to_numeric(frame[n], errors="coerce") for n in ("AGEP", *NUMBERS)}
    has = {n: frame[n] != NOT_APPLICABLE for n in frame}
    code = {n: pd.to_numeric(frame[n], errors="coerce").fillna(-1) for n in frame if n != AREA}
    age, quarters = numbers["AGEP"], code["HOUSING_TYPE"] > 1
    rich = numbers["PINCP"] > 3_000_000
    rules = [
        *((age < 15) & has[n] for n in CHILDREN_HAVE_NO if n in has),
        (age < 15) & (code["EDU"] >= 12),
        *((age < 5) & has[n] for n in ("DPHY", "DREM")),
        (age < 5) & (code["EDU"] >= 5),
        (age < 3) & has["EDU"],
        rich & ((code["POVPIP"] != 501) | (code["PINCP_DECILE"] <= 1)),
        has["NOC"] & has["NPF"] & (code["NOC"] >= code["NPF"]),
        quarters & (has["NOC"] | has["NPF"] | code["OWN_RENT"].isin([1, 2])),
        (code["HOUSING_TYPE"] == 1) & ((code["OWN_RENT"] == 0) | ~has["NOC"]),
    ]
    if "INDP" in frame and "INDP_CAT" in frame:
        rules.append(has["INDP"] != has["INDP_CAT"])
    return np.logical_or.reduce([rule.to_numpy() for rule in rules])
