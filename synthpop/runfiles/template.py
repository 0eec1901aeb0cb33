"""A first run file for a survey: roles guessed from names, a comment on every choice."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop.microdata.files import read_table

ROLES: dict[str, tuple[str, ...]] = {
    "weight": ("rb050", "weight", "weights", "w", "pw", "person_weight", "pb040"),
    "household": ("db030", "hid", "hhid", "household", "household_id", "hh_id"),
    "household_weight": ("db090", "hweight", "household_weight", "hw"),
    "household_size": ("hsize", "hhsize", "household_size", "size"),
    "person": ("pid", "rb030", "person", "person_id"),
    "strata": ("db040", "strata", "stratum", "region"),
}
AGE = ("age", "rx020", "alter")
SEX = ("rb090", "sex", "gender", "geschlecht")
MOST_LEVELS = 30
FEW_NUMBERS = 12


def starter_runfile(survey: Path, folder: Path) -> str:
    """Return the text of a run file for a survey.

    Parameters
    ----------
    survey : path of the survey file
    folder : folder of the run file, from which the path to the survey starts
    """
    frame = read_table(survey)
    roles = {role: _first(names, frame.columns) for role, names in ROLES.items()}
    taken = {name for name in roles.values() if name}
    age, sex = _first(AGE, frame.columns), _first(SEX, frame.columns)
    basic = [name for name in (age, sex) if name]
    rest = [name for name in frame.columns if name not in taken and name not in basic]
    gaps = [str(name) for name in rest if frame[name].isna().any()]
    lines = [*_head(os.path.relpath(survey, folder), roles), *_imputation(gaps, basic)]
    lines += _structure(basic)
    predictors = list(basic)
    breaks = [] if age is None else _age_breaks(frame[age])
    if age is not None and breaks:
        name = _free("age_class", frame.columns)
        lines += _age_classes(name, age, breaks)
        predictors = [name, *(other for other in basic if other != age)]
    for name in rest:
        lines += _stage(frame, str(name), predictors, roles["household"] is not None)
    coded = [str(name) for name in rest if _kind(frame[name]) == "categorical"]
    lines += _second_pass(coded)
    return "\n".join(lines) + "\n"


def _first(names: Iterable[str], columns: Iterable[str]) -> str | None:
    lower = {str(column).lower(): str(column) for column in columns}
    return next((lower[name] for name in names if name in lower), None)


def _head(path: str, roles: dict[str, str | None]) -> list[str]:
    lines = [
        "# Run file of synthpop. Run it with: synthpop run THIS_FILE",
        "",
        "[survey]",
        f"file = {_text(path)}",
        "# Which column plays which part. Only weight is needed; without household every person",
        "# stands alone, without strata there is one stratum.",
    ]
    for role, name in roles.items():
        lines.append(f"{role} = {_text(name)}" if name else f'# {role} = "..."')
    if roles["weight"] is None:
        lines.append("# unweighted = true     # instead of weight: every row counts 1")
    return [
        *lines,
        "",
        "[run]",
        "seed = 1",
        "scale = 1.0            # 0.1 makes a population of a tenth of the size",
        '# strata = ["..."]     # only these, as they are in the whole population',
        "",
        "# Stages run in this order; each may use what the stages before it have made.",
        "",
    ]


def _imputation(gaps: list[str], basic: list[str]) -> list[str]:
    """Return a step as a comment: whether a missing value is an answer, only the user knows."""
    if not gaps:
        return []
    return [
        "# A missing value is a level of its own, as for children, who were not asked. Where an",
        "# answer was not given, fill it first from similar rows:",
        "# [[stage]]",
        '# type = "impute"',
        f"# variables = [{', '.join(map(_text, gaps))}]",
        f"# given = [{', '.join(map(_text, basic))}]",
        "",
    ]


def _second_pass(coded: list[str]) -> list[str]:
    if len(coded) < 2:
        return []
    return [
        "# Steps know nothing of later ones. A second pass draws variables again given all others",
        "# (but those with by_household):",
        "# [[stage]]",
        '# type = "revisit"',
        f"# variables = [{', '.join(map(_text, coded))}]",
        "# passes = 2",
        "",
    ]


def _structure(basic: list[str]) -> list[str]:
    return [
        "# Whole households are resampled within stratum and size. Keep the variables few.",
        "[[stage]]",
        'type = "structure"',
        f"variables = [{', '.join(map(_text, basic))}]",
        "",
    ]


def _age_breaks(ages: pd.Series) -> list[float]:
    """Return limits of classes; none where ages are no numbers, missing or all the same."""
    values = ages.dropna()
    if not _numeric(ages) or values.nunique() < 2:
        return []
    low, high = float(np.floor(values.min())), float(np.ceil(values.max()))
    return [low, *(b for b in (15, 24, 34, 44, 54, 64, 74) if low < b < high), high]


def _free(name: str, columns: Iterable[str]) -> str:
    """Return the name, with underscores behind it where a column has it already."""
    taken = set(map(str, columns))
    while name in taken:
        name += "_"
    return name


def _age_classes(name: str, age: str, breaks: list[float]) -> list[str]:
    return [
        "[[stage]]",
        'type = "derive"',
        f"name = {_text(name)}",
        f"source = {_text(age)}",
        f"breaks = [{', '.join(f'{b:g}' for b in breaks)}]",
        "",
    ]


def _stage(frame: pd.DataFrame, name: str, predictors: list[str], households: bool) -> list[str]:
    kind = _kind(frame[name])
    listed = f"predictors = [{', '.join(map(_text, predictors))}]"
    if kind is None:
        return [
            f"# {' '.join(name.split())} is left out: {frame[name].nunique()} distinct values",
            "",
        ]
    more = ['tail = "gpd"       # Pareto tail in the top class'] if kind == "continuous" else []
    if households:
        off = "# " if kind == "categorical" else ""
        more.append(
            f'{off}by_household = "head"    # members given the first one: they go together'
        )
    return ["[[stage]]", f'type = "{kind}"', f"name = {_text(name)}", listed, *more, ""]


def _kind(series: pd.Series) -> str | None:
    """Return the stage that simulates a column; None where there is none."""
    n_values = series.nunique()
    if _numeric(series) and n_values > FEW_NUMBERS:
        return "continuous"
    dates = pd.api.types.is_datetime64_any_dtype(series.dtype)
    return None if dates or n_values > MOST_LEVELS else "categorical"


def _numeric(series: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(
        series.dtype
    )


def _text(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
