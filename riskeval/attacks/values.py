"""Whether a column holds amounts or categories, and amounts as groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from riskeval.attacks.levels import LevelCoder, occurring_levels
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message

FLAGS = {"true": 1, "1": 1, "1.0": 1, "false": 0, "0": 0, "0.0": 0}
FEW_VALUES = 20
"""Up to so many different whole numbers may be codes of categories."""


def is_amount(values: pd.Series) -> bool:
    """Whether a column is numeric and has values that are not whole.

    Examples
    --------
    >>> is_amount(pd.Series([1.5, 2])), is_amount(pd.Series([1.0, None]))
    (True, False)
    """
    if not is_number(values):
        return False
    numbers = as_numbers(values.dropna())
    return bool((numbers != np.round(numbers)).any())


def flags_of(values: pd.Series) -> np.ndarray | None:
    """Return True and False, also as files have them: 1 and 0, or as text; None for others.

    Examples
    --------
    >>> flags_of(pd.Series(["True", "false"])).tolist(), flags_of(pd.Series([1, 0])).tolist()
    ([True, False], [True, False])
    >>> flags_of(pd.Series([True, None])) is None
    True
    """
    codes = values.astype(object).map(lambda value: FLAGS.get(str(value).lower(), -1))
    found = codes.to_numpy(dtype=np.int64)
    return None if (found < 0).any() else found == 1


def may_be_codes(values: pd.Series) -> bool:
    """Whether a numeric column has only a few whole values, as codes of categories have.

    Examples
    --------
    >>> may_be_codes(pd.Series([1, 2, 2, 4])), may_be_codes(pd.Series([0.5, 2]))
    (True, False)
    """
    if not is_number(values):
        return False
    distinct = np.unique(as_numbers(values.dropna()))
    return 0 < len(distinct) <= FEW_VALUES and bool((distinct == np.round(distinct)).all())


def codes_note(
    frame: pd.DataFrame, names: Sequence[str], categorical: Sequence[str], rule: str
) -> list[str]:
    """Name numeric columns that may be codes, the rule that treats them, and a hint what to do."""
    return [
        message(
            "{name} has only {n} different whole values and counts as an amount ({rule}); "
            "if these are codes of categories, declare it as categorical",
            name=name,
            n=frame[name].nunique(),
            rule=rule,
        )
        for name in names
        if name not in categorical and may_be_codes(frame[name])
    ]


def quantile_breaks(values: pd.Series, n_groups: int) -> np.ndarray:
    """Limits of groups of about equal size, without those that coincide; none without a number."""
    known = as_numbers(values.dropna())
    known = known[np.isfinite(known)]
    shares = np.arange(1, n_groups) / n_groups
    return np.unique(np.quantile(known, shares)) if len(known) else known


def number_groups(values: pd.Series, breaks: np.ndarray) -> pd.Series:
    """Group numbers at `breaks` (each group includes its upper limit); missing stays missing.

    Examples
    --------
    >>> number_groups(pd.Series([1.0, 5.0, None, 7.0]), np.array([5.0])).tolist()
    ['1', '1', nan, '2']
    """
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    names = np.array([str(group + 1) for group in range(len(breaks) + 1)], dtype=object)
    groups = pd.Series(names[np.searchsorted(breaks, numbers, side="left").clip(0, len(breaks))])
    return groups.where(~np.isnan(numbers)).set_axis(values.index)


def same_kind(
    faults: Faults,
    frames: Mapping[str, pd.DataFrame],
    names: Sequence[str],
    categorical: Sequence[str] = (),
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Bring columns of several files to the same kind, amounts or categories; name the amounts.

    A column is an amount when it is numeric in the first file, can be read as numbers in every
    other one, and is not declared categorical. Categories without any level in common are a fault.

    Examples
    --------
    >>> files = {"original": pd.DataFrame({"age": [1, 2]})}
    >>> files["release"] = pd.DataFrame({"age": ["2.0"]})
    >>> same, numeric = same_kind(Faults("attack"), files, ["age"])
    >>> same["release"]["age"].tolist(), numeric
    ([2.0], ['age'])
    """
    frames = dict(frames)
    first, *others = frames
    numeric = []
    for name in names:
        columns = {role: frame[name] for role, frame in frames.items()}
        for role, column in columns.items():
            if isinstance(column, pd.DataFrame):
                what = f"is there more than once in the {role} file"
                faults.add(name, what, hint="Rename one.")
        faults.raise_if_any()
        if name not in categorical and is_number(columns[first]):
            numbers = {role: pd.to_numeric(c, errors="coerce") for role, c in columns.items()}
            if all(numbers[role].notna().sum() == c.notna().sum() for role, c in columns.items()):
                numeric.append(name)
                for role in others:
                    if not is_number(columns[role]):
                        frames[role] = frames[role].assign(**{name: numbers[role]})
                continue
        for role in others:
            coder = LevelCoder(occurring_levels(columns[first]))
            coder.code(columns[role])
            both_numbers = is_number(columns[first]) and is_number(columns[role])
            if columns[role].notna().any() and not both_numbers:
                coder.check_common(faults, name, first, role)
    return frames, numeric
