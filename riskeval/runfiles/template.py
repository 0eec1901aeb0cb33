"""First run files for a file of one's own: suggested roles with their reasons, steps to begin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.keys.suggest import RoleSuggestions
from riskeval.protection.registry import VERBS
from synthpop.microdata.formats.labelled import UserMissing
from synthpop.microdata.frame.dictionary import toml_value
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.text import number
from synthpop.microdata.reading.kinds import look_like_codes
from synthpop.microdata.reading.lexicon import concept_of

MANY_LEVELS = 30
WIDTH = 5
PLANS = ("assess", "protect")


def plan_text(
    plan: str,
    frame: pd.DataFrame,
    roles: RoleSuggestions,
    path: str,
    user_missing: UserMissing = "missing",
) -> str:
    """Return a run file of ``riskeval assess`` or ``riskeval protect`` for a file.

    user_missing: how the file was read
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    is_level = user_missing == "level"
    lines = [
        f"# Run file of riskeval. Run it with: riskeval {plan} THIS_FILE",
        "# The roles are suggestions from names, labels and values: check each of them. Who may",
        "# know what of a person is a question about the world, not about the file.",
        "",
        "[data]",
        f"file = {toml_value(path)}",
        *(['user_missing = "level"   # kinds of missing answers are kept apart'] * is_level),
        "",
        *(_assess(roles) if plan == "assess" else _protect(frame, roles)),
        "",
        *_other_columns(roles),
        "# [report]",
        '# title = "..."',
        '# audience = "external"',
    ]
    return "\n".join([*lines, ""])


def _keys(roles: RoleSuggestions) -> list[str]:
    """Return the list of keys, one a line with its reason."""
    items = [item for item in roles.columns if item.role == "key"]
    if not items and roles.numeric and not roles.stand_ins():
        return [
            "# A file of amounts, which are what an intruder knows: see numeric below. Name",
            "# region, industry or size of the units where the file has them.",
            "keys = []",
        ]
    if not items:
        return [
            "# No key variable was recognised. These stand in: name what an intruder may know.",
            f"keys = {toml_value(list(roles.stand_ins()))}",
        ]
    lines = ["keys = ["]
    for item in items:
        less = f"; {number(item.uniques)} points of the sample uniques" if item.uniques else ""
        lines.append(f"    {toml_value(item.name)},  # {_line(item.why)}{less}")
    return [*lines, "]"]


def _named(roles: RoleSuggestions, role: str) -> list[str]:
    items = [item for item in roles.columns if item.role == role]
    if not items:
        return [f"# {role} = []"]
    reasons = list(dict.fromkeys(_line(item.why) for item in items))
    taken = roles.stand_ins()
    names = toml_value([item.name for item in items if item.name not in taken])
    return [f"# {'; '.join(reasons[:3])}", f"{role} = {names}"]


def _roles(roles: RoleSuggestions) -> list[str]:
    return [
        *_keys(roles),
        *(
            f"{argument} = {toml_value(name)}" if name else f'# {argument} = "..."'
            for argument, name in (("weights", roles.weights), ("household", roles.household))
        ),
        *_named(roles, "sensitive"),
        *_named(roles, "numeric"),
        "",
    ]


def _assess(roles: RoleSuggestions) -> list[str]:
    return [
        "[assess]",
        *_roles(roles),
        "# What is accepted; the report says where the limits come from.",
        "# [limits]",
        "# k = 3",
    ]


def _protect(frame: pd.DataFrame, roles: RoleSuggestions) -> list[str]:
    lines, proposed = ["[roles]", *_roles(roles)], VERBS["local_suppression"].proposed
    for name in roles.keys:
        breaks = _breaks(frame[name])
        if breaks:
            lines += [
                f"# {_line(name)}: {number(frame[name].nunique())} values, in classes of {WIDTH}.",
                "[[step]]",
                'verb = "global_recode"',
                f"column = {toml_value(name)}",
                f"breaks = {toml_value(breaks)}",
                "",
            ]
    by_keys = bool(roles.keys or roles.stand_ins())
    if not by_keys:
        lines += [
            "# Mean of twelve similar units each: whoever knows all amounts finds one in twelve.",
            "[[step]]",
            'verb = "microaggregate"',
            "k = 12",
            "",
        ]
    else:
        lines += [
            "# Suppress single values of keys until every record shares its keys with two others.",
            "# The target leaves nobody alone with the values that a record shows; without it",
            "# records pass because others have missing values. The summary names the cells that",
            "# it costs.",
            "[[step]]",
            'verb = "local_suppression"',
            *(f"{name} = {toml_value(value)}" for name, value in proposed.items()),
            "",
        ]
    if roles.numeric and by_keys:
        lines += [
            "# Numeric keys: mean of three similar records each.",
            "# [[step]]",
            '# verb = "microaggregate"',
            f"# variables = {toml_value(list(roles.numeric))}",
            "",
        ]
    drop = [item.name for item in roles.columns if item.role in ("identifier", "design")]
    drop = [name for name in drop if name != roles.household]
    if drop:
        lines += [
            "# Identifiers and columns of the sample design stay in the office.",
            "[release]",
            f"drop = {toml_value(drop)}",
        ]
    return lines


def _breaks(column: pd.Series) -> list[int]:
    """Return limits of classes of five for whole numbers with many values."""
    if not is_number(column) or column.nunique() <= MANY_LEVELS:
        return []
    values = as_numbers(column)
    found = concept_of(str(column.name))
    if (found is not None and found[0].is_codes) or look_like_codes(values):
        return []  # neighbouring codes have nothing in common
    known = values[np.isfinite(values)]
    if not np.array_equal(known, np.rint(known)) or np.ptp(known) > 50 * WIDTH:
        return []
    low = int(np.floor(known.min() / WIDTH) * WIDTH)
    high = int(known.max())
    return [low, *range(low + WIDTH - 1, high, WIDTH), high]


def _other_columns(roles: RoleSuggestions) -> list[str]:
    items = [item for item in roles.columns if item.role in ("none", "identifier", "design")]
    if not items:
        return []
    return [
        "# Columns without a role above:",
        *(f"# {_line(item.name)}: {item.role}, {_line(item.why)}" for item in items),
        "",
    ]


def _line(text: str) -> str:
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split())


def roles_table(roles: RoleSuggestions) -> str:
    """Return the suggestions as a text table for the screen: column, role, why."""
    rows: Sequence[tuple[str, str, str]] = [
        ("Column", "Role", "Why"),
        *((item.name, item.role, item.why) for item in roles.columns),
    ]
    widths = [max(len(row[k]) for row in rows) for k in (0, 1)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)
