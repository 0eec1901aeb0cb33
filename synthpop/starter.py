"""A first run file for a survey: roles guessed from names, a comment on every choice."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop.microdata.io import read_table

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
    lines = [*_head(os.path.relpath(survey, folder), roles), *_structure(basic)]
    predictors = list(basic)
    if age is not None and _numeric(frame[age]):
        lines += _age_classes(frame, age)
        predictors = ["age_class", *(name for name in basic if name != age)]
    for name in rest:
        lines += _stage(frame, str(name), predictors)
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
    return [
        *lines,
        "",
        "[run]",
        "seed = 1",
        "scale = 1.0            # 0.1 makes a population of a tenth of the size",
        "",
        "# Stages run in this order; each may use what the stages before it have made.",
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


def _age_classes(frame: pd.DataFrame, age: str) -> list[str]:
    low, high = float(np.floor(frame[age].min())), float(np.ceil(frame[age].max()))
    breaks = [low, *(b for b in (15, 24, 34, 44, 54, 64, 74) if low < b < high), high]
    return [
        "[[stage]]",
        'type = "derive"',
        'name = "age_class"',
        f"source = {_text(age)}",
        f"breaks = [{', '.join(f'{b:g}' for b in breaks)}]",
        "",
    ]


def _stage(frame: pd.DataFrame, name: str, predictors: list[str]) -> list[str]:
    series = frame[name]
    n_values = series.nunique()
    listed = f"predictors = [{', '.join(map(_text, predictors))}]"
    if _numeric(series) and n_values > FEW_NUMBERS:
        kind, more = "continuous", ['tail = "gpd"       # Pareto tail in the top class']
    elif pd.api.types.is_datetime64_any_dtype(series.dtype) or n_values > MOST_LEVELS:
        return [f"# {name} is left out: {n_values} distinct values", ""]
    else:
        kind, more = "categorical", []
    return ["[[stage]]", f'type = "{kind}"', f"name = {_text(name)}", listed, *more, ""]


def _numeric(series: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(
        series.dtype
    )


def _text(value: object) -> str:
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
