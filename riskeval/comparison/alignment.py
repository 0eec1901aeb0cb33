"""What a release shares with the original: columns, and levels on which both can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.releases import Side
from riskeval.keys.near import near_levels
from riskeval.utility.tables import common_levels
from synthpop.microdata.codes import encode, level_text
from synthpop.microdata.frames import is_number
from synthpop.microdata.text import plural

COLUMNS = (
    "release", "variable", "role", "compared", "how", "levels_original", "levels_release",
    "levels_shared",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """Original and release on what they share."""

    side: Side
    # x, y: original and release for measures of utility: the shared columns. A column
    # that the release recoded to other levels has these levels in `x` too.
    x: pd.DataFrame
    y: pd.DataFrame
    # original for measures that match levels: numeric columns that the release coarsened are
    # coarsened too, as an intruder who knows a person would do
    x_keys: pd.DataFrame
    shared: list[dict[str, Any]]  # one row a variable: see `COLUMNS`
    not_compared: dict[str, str]  # why a variable is not compared
    # original level -> level, by variable, where the original was brought to other levels
    rules: dict[str, Mapping[Any, Any]]

    def translate(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Bring other records of the population, as a hold-out, to the levels of `x_keys`."""
        columns = {}
        for name in self.x_keys:
            column = frame[name]
            if name in self.rules:
                codes, levels = encode(column)
                rule = self.rules[name]
                images = np.array([rule.get(level) for level in levels] + [None], dtype=object)
                column = pd.Series(images[codes])
            columns[name] = column
        return pd.DataFrame(columns)

    def has(self, names: Sequence[str]) -> str:
        """Why these variables cannot all be compared; empty when they can."""
        absent = [
            f"{name} {self.not_compared[name]}" for name in names if name in self.not_compared
        ]
        return "; ".join(absent)


def align(original: pd.DataFrame, side: Side, roles: Mapping[str, str]) -> Aligned:
    """Bring original and release to the levels that both have.

    original: DataFrame, n records
    roles: variable -> "key", "numeric", "sensitive" or another role

    Notes
    -----
    A column that is numeric in both is compared as it is. Other columns: where every record of the
    original level a became level b, a is compared as b (learned from linked records, or given with
    the release). Without such a rule the levels are taken as they are, and a column without a
    common level is left out.
    """
    x, y, keys = {}, {}, {}
    rows: list[dict[str, Any]] = []
    not_compared: dict[str, str] = {}
    rules: dict[str, Mapping[Any, Any]] = {}
    for name, role in roles.items():
        row: dict[str, Any] = {"release": side.name, "variable": name, "role": role}
        if name not in side.frame:
            not_compared[name] = "is not in the release"
            levels = len(encode(original[name])[1])
            rows.append(row | _row(False, not_compared[name], levels, 0, 0))
            continue
        one, two = original[name], side.frame[name]
        if role == "numeric":
            if not is_number(side.frame[name]):
                not_compared[name] = "is not numeric in the release"
                rows.append(row | _row(False, not_compared[name], 0, 0, 0))
                continue
            x[name], y[name] = one, two
            keys[name] = one
            rows.append(row | _row(True, "as numbers", 0, 0, 0))
            continue
        matched = match_levels(one, two, side.rows, side.levels.get(name))
        if matched.reason:
            not_compared[name] = matched.reason
        else:
            numeric = is_number(original[name]) and is_number(side.frame[name])
            y[name], keys[name] = matched.y, matched.x
            x[name] = one if numeric else matched.x
            if matched.rule is not None:
                rules[name] = matched.rule
        rows.append(row | _row(not matched.reason, matched.reason or matched.how, *matched.counts))
    length, m = len(original), len(side.frame)
    return Aligned(
        side,
        pd.DataFrame(x, index=pd.RangeIndex(length)),
        pd.DataFrame(y, index=pd.RangeIndex(m)),
        pd.DataFrame(keys, index=pd.RangeIndex(length)),
        rows,
        not_compared,
        rules,
    )


def _row(compared: bool, how: str, original: int, release: int, shared: int) -> dict[str, Any]:
    return {
        "compared": compared,
        "how": how,
        "levels_original": original,
        "levels_release": release,
        "levels_shared": shared,
    }


@dataclass(frozen=True, slots=True, eq=False)
class MatchedLevels:
    """One column of both files on common levels, and how that was reached."""

    x: pd.Series
    y: pd.Series
    # how, reason: `reason` says why the column cannot be compared
    how: str
    reason: str
    # (int, int, int): levels that occur in the original, in the release, and in both once brought
    # together
    counts: tuple[int, int, int]
    rule: Mapping[Any, Any] | None = None  # what each level of the original became


def match_levels(
    x: pd.Series, y: pd.Series, rows: np.ndarray | None, declared: Mapping[Any, Any] | None = None
) -> MatchedLevels:
    """Bring one column of both files to common levels.

    Examples
    --------
    >>> ages = pd.Series([21, 25, 64, 67])
    >>> found = match_levels(ages, pd.Series(["young", "young", "old", None]), np.arange(4))
    >>> found.x.tolist()[:3], found.how
    (['young', 'young', 'old'], '4 levels of the original count as 2; 1 has no counterpart')
    """
    x_codes, x_levels = _used(x)
    y_codes, y_levels = _used(y)
    counts = (len(x_levels), len(y_levels))
    if not y_levels:
        return MatchedLevels(x, y, "", "is missing in all records of the release", (*counts, 0))
    both = set(x_levels) & set(y_levels)
    if not both and not declared:
        by_text = _by_text(x, y, x_levels, y_levels)
        if by_text is not None:
            how = "levels were compared by their text"
            text = {level: level_text(level) for level in x_levels}
            return MatchedLevels(
                *by_text, how, "", (*counts, len(common_levels(*by_text)[0])), text
            )
    rule: Mapping[Any, Any] | None = _as_levels(declared, x_levels, y_levels)
    if rule is None and rows is not None:
        rule = learn(x_codes[rows], y_codes, x_levels, y_levels)
    if rule is not None:
        return _mapped(x_codes, x_levels, y, y_levels, rule, counts)
    if not both:
        reason = "has no level in common with the original"
        reason += "" if rows is None else ", and one level became several"
        return MatchedLevels(x, y, "", reason, (*counts, 0))
    new = len(y_levels) - len(both)
    how = (
        "the same levels"
        if len(x_levels) == len(y_levels) == len(both)
        else (f"{plural(len(both), 'level')} in common")
    )
    if new:
        how += f"; {new} of the release are not in the original"
        near = near_levels(y_levels, x_levels)
        if near:
            how += f" ({len(near)} nearly, for instance {near[0][0]!r} and {near[0][1]!r})"
    return MatchedLevels(x, y, how, "", (*counts, len(both)))


def _as_levels(
    declared: Mapping[Any, Any] | None, x_levels: Sequence[Any], y_levels: Sequence[Any]
) -> dict[Any, Any] | None:
    """The rule that was given, on the levels as they are: those of a run file come as text."""
    if not declared:
        return None
    images = {str(level): level for level in y_levels}
    by_level = {}
    for level in x_levels:
        key = level if level in declared else str(level)
        if key in declared:
            image = declared[key]
            by_level[level] = image if image in y_levels else images.get(str(image), image)
    return by_level


def _used(values: pd.Series) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Codes and the levels that occur."""
    codes, levels = encode(values)
    codes = codes.astype(np.int64)
    present = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
    place = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
    return place[codes], tuple(
        level for level, occurs in zip(levels, present, strict=True) if occurs
    )


def _by_text(
    x: pd.Series, y: pd.Series, x_levels: tuple[Any, ...], y_levels: tuple[Any, ...]
) -> tuple[pd.Series, pd.Series] | None:
    """Both columns as text, where the levels differ in type only ("1" and 1)."""
    if not {level_text(level) for level in x_levels} & {level_text(level) for level in y_levels}:
        return None
    pairs = []
    for column in (x, y):
        codes, levels = encode(column)
        text = [level_text(level) for level in levels]
        if len(set(text)) < len(text):
            return None
        pairs.append(pd.Series(pd.Categorical.from_codes(codes, pd.Index(text))))
    return pairs[0], pairs[1]


def learn(
    x: np.ndarray, y: np.ndarray, x_levels: Sequence[Any], y_levels: Sequence[Any]
) -> dict[Any, Any] | None:
    """Learn "level a became level b" from codes of linked records, -1 missing; None for no rule.

    None where one level became several, where nothing changed, or where a rule on the same levels
    is not a coarsening (as after an exchange of values).

    Examples
    --------
    >>> learn(np.array([0, 1, 2]), np.array([0, 0, 1]), ("a", "b", "c"), ("a+b", "c"))
    {'a': 'a+b', 'b': 'a+b', 'c': 'c'}
    """
    known = (x >= 0) & (y >= 0)
    pairs = np.unique(x[known] * max(len(y_levels), 1) + y[known])
    source, target = np.divmod(pairs, max(len(y_levels), 1))
    if not len(source) or len(np.unique(source)) < len(source):
        return None
    rule = {x_levels[a]: y_levels[b] for a, b in zip(source, target, strict=True)}
    if all(level == image for level, image in rule.items()):
        return None
    if set(y_levels) <= set(x_levels):
        fixed = all(rule.get(image, image) == image for image in rule.values())
        return rule if fixed and len(set(rule.values())) < len(rule) else None
    return rule


def _mapped(
    x_codes: np.ndarray,
    x_levels: tuple[Any, ...],
    y: pd.Series,
    y_levels: tuple[Any, ...],
    rule: Mapping[Any, Any],
    counts: tuple[int, int],
) -> MatchedLevels:
    codes = _in_order(y, y_levels)
    levels: tuple[Any, ...] = (
        *codes,
        *(b for b in dict.fromkeys(rule.values()) if b not in set(codes)),
    )
    categories: Any = pd.Index(list(levels), dtype=None if levels else object)
    place = {level: code for code, level in enumerate(levels)}
    table = np.array([place.get(rule.get(a), -1) for a in x_levels] + [-1])
    x = pd.Series(pd.Categorical.from_codes(table[x_codes], categories))
    used = np.array([place[level] for level in y_levels] + [-1])
    coded = pd.Series(pd.Categorical.from_codes(used[_used(y)[0]], categories))
    n_unmapped = sum(level not in rule for level in x_levels)
    how = f"{plural(len(x_levels), 'level')} of the original count as {len(set(rule.values()))}"
    if n_unmapped:
        how += f"; {n_unmapped} {'has' if n_unmapped == 1 else 'have'} no counterpart"
    shared = len(common_levels(x, coded)[0])
    if not shared:
        return MatchedLevels(x, coded, "", "has no level in common with the original", (*counts, 0))
    return MatchedLevels(x, coded, how, "", (*counts, shared), rule)


def _in_order(y: pd.Series, levels: tuple[Any, ...]) -> tuple[Any, ...]:
    used = set(levels)
    return tuple(level for level in encode(y)[1] if level in used)
