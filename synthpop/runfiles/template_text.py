"""Values of a template as TOML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthpop.microdata.frame.dictionary import toml_value
from synthpop.profile.columns import SurveyProfile


def rounded_up(value: float, digits: int = 2) -> float:
    """Round a positive number up to some significant digits: 123456 to 130000."""
    if value <= 0:
        return 0.0
    step = 10.0 ** (np.floor(np.log10(value)) - digits + 1)
    return float(np.ceil(value / step) * step)


def profile_table(profile: SurveyProfile) -> str:
    """Return the columns as a text table for the screen: column, use, why."""
    table = profile.to_frame()
    notes = table["note"].where(table["note"] == "", "; " + table["note"])
    rows = list(zip(table["column"], table["use"], table["why"] + notes, strict=True))
    rows.insert(0, ("Column", "Use", "Why"))
    widths = [max(len(str(row[k])) for row in rows) for k in (0, 1)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)


def quoted(value: object) -> str:
    """Return a text in quotation marks."""
    return toml_value(str(value))


def listed(names: Sequence[Any]) -> str:
    """Return names as a TOML list."""
    return toml_value([str(name) for name in names])


def number_list(values: Sequence[float]) -> str:
    """Return numbers as a TOML list, whole ones without decimals."""
    numbers = [float(value) for value in values]
    return toml_value([int(x) if x.is_integer() else x for x in numbers])


def plain(text: object) -> str:
    """Return text for a comment: without line breaks and characters that TOML refuses."""
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(printable.split())
