"""What a release shares with the original: columns, and levels on which both can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.comparison.releases import ReleaseFile
from riskeval.keys.near import near_levels
from riskeval.utility.tables import common_levels
from synthpop.microdata.frame.codes import encode, level_text
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import plural

COLUMNS = (
    "release", "variable", "role", "compared", "how", "levels_original", "levels_release",
    "levels_shared",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """Original and release on what they share."""

    release: ReleaseFile
    # x, y: original and release for measures of utility: the shared columns. A column
    # that the release recoded to other levels has these levels in `x` too.
    x: pd.DataFrame
    y: pd.DataFrame
    # original for measures that match levels: numeric columns that the release coarsened are
    # coarsened too, as an intruder who knows a person would do
    x_keys: pd.DataFrame
    shared: list[dict[str, Any]]  # one row per variable: see `COLUMNS`
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
        absent = [name for name in names if name in self.not_compared]
        return joined_by("; ", [f"{name} " + self.not_compared[name] for name in absent])


def align(original: pd.DataFrame, release: ReleaseFile, roles: Mapping[str, str]) -> Aligned:
    """Bring original and release to the levels that both have; `roles`: variable -> its role.

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
        before, after = original[name], release.frame.get(name)
        how, reason, counts = message("as numbers"), "", (0, 0, 0)
        if after is None:
            reason, counts = message("is not in the release"), (len(encode(before)[1]), 0, 0)
        elif role != "numeric":
            matched = match_levels(before, after, release.rows, release.levels.get(name))
            how, reason, counts = matched.how, matched.reason, matched.counts
            if not reason:
                x[name] = before if is_number(before) and is_number(after) else matched.x
                y[name], keys[name] = matched.y, matched.x
            if matched.rule is not None:
                rules[name] = matched.rule
        elif is_number(after):
            x[name], y[name], keys[name] = before, after, before
        else:
            reason = message("is not numeric in the release")
        if reason:
            not_compared[name] = reason
        cells = (release.name, name, role, not reason, reason or how, *counts)
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    index, released = pd.RangeIndex(len(original)), pd.RangeIndex(len(release.frame))
    return Aligned(
        release, pd.DataFrame(x, index=index), pd.DataFrame(y, index=released),
        pd.DataFrame(keys, index=index), rows, not_compared, rules,
    )  # fmt: skip


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
    """Bring one column of both files to common levels."""
    x_codes, x_levels = _used(x)
    y_codes, y_levels = _used(y)
    counts = (len(x_levels), len(y_levels))
    if not y_levels:
        return MatchedLevels(
            x, y, "", message("is missing in all records of the release"), (*counts, 0)
        )
    both = set(x_levels) & set(y_levels)
    if not both and not declared:
        by_text = _by_text(x, y, x_levels, y_levels)
        if by_text is not None:
            how, n_both = (
                message("levels were compared by their text"),
                len(common_levels(*by_text)[0]),
            )
            text = {level: level_text(level) for level in x_levels}
            return MatchedLevels(*by_text, how, "", (*counts, n_both), text)
    rule: Mapping[Any, Any] | None = _as_levels(declared, x_levels, y_levels)
    if rule is None and rows is not None:
        rule = learn(x_codes[rows], y_codes, x_levels, y_levels)
    if rule is not None:
        return _mapped(x_codes, x_levels, y_codes, y_levels, rule)
    if not both:
        reason = message("has no level in common with the original")
        reason += "" if rows is None else (", " + message("and one level became several"))
        return MatchedLevels(x, y, "", reason, (*counts, 0))
    new = len(y_levels) - len(both)
    how = message("{n} in common", n=plural(len(both), "level"))
    if len(x_levels) == len(y_levels) == len(both):
        how = message("the same levels")
    if new:
        how += "; " + message("{m} of the release are not in the original", m=new)
        near = near_levels(y_levels, x_levels)
        if near:
            how += " " + message(
                "({n} nearly, for instance {a} and {b})",
                n=len(near),
                a=repr(near[0][0]),
                b=repr(near[0][1]),
            )
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
    position = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
    return position[codes], tuple(
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
    y_codes: np.ndarray,
    y_levels: tuple[Any, ...],
    rule: Mapping[Any, Any],
) -> MatchedLevels:
    levels = list(dict.fromkeys([*y_levels, *rule.values()]))
    code_of = {level: code for code, level in enumerate(levels)}
    table = np.array([code_of.get(rule.get(level), -1) for level in x_levels] + [-1])
    x, y = (
        pd.Series(pd.Categorical.from_codes(codes, pd.Index(levels)))
        for codes in (table[x_codes], y_codes)
    )
    n_unmapped = sum(level not in rule for level in x_levels)
    how = message(
        "{n} of the original count as {values}",
        n=plural(len(x_levels), "level"),
        values=len(set(rule.values())),
    )
    if n_unmapped:
        how += "; " + (
            message("{n_unmapped} has no counterpart", n_unmapped=n_unmapped)
            if n_unmapped == 1
            else message("{n_unmapped} have no counterpart", n_unmapped=n_unmapped)
        )
    counts = (len(x_levels), len(y_levels), len(common_levels(x, y)[0]))
    if not counts[2]:
        return MatchedLevels(x, y, "", message("has no level in common with the original"), counts)
    return MatchedLevels(x, y, how, "", counts, rule)
