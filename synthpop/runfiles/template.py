"""A first run file for a survey: what its columns are, a recipe, and the reason of each choice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.conditional.members_before import SEQUENTIAL
from synthpop.microdata.atomic import relative_path
from synthpop.microdata.files import DELIMITED, read_table
from synthpop.microdata.frames import as_numbers, is_number
from synthpop.microdata.missing_codes import suspected_missing_codes
from synthpop.microdata.names import ROLES
from synthpop.microdata.text import count, join
from synthpop.profile.ages import class_labels
from synthpop.profile.columns import ColumnProfile, SurveyProfile
from synthpop.profile.profile import profile_survey, simulation_order
from synthpop.stages.id_columns import SIZE_NAME

TAIL_RATIO, FEWEST_FOR_TAIL = 2.5, 200
ABOVE_LARGEST = 1.2
MOST_GROUPS, LEAST_SHARE_TOLD = 20, 0.01
AGE_CLASS = "age_class"


def starter_runfile(survey: Path, folder: Path) -> str:
    """Return the text of a run file for a survey.

    Parameters
    ----------
    survey : path of the survey file
    folder : folder of the run file, from which the path to the survey starts

    Raises
    ------
    InputError
        The file has no rows, or cannot be read.
    """
    return write_template(survey, folder)[0]


def write_template(survey: Path, folder: Path) -> tuple[str, SurveyProfile]:
    """Return the text of a run file, and the profile of the survey that it was made from."""
    frame = read_table(survey)
    profile = profile_survey(frame)
    return template_text(frame, profile, relative_path(survey, folder)), profile


def template_text(frame: pd.DataFrame, profile: SurveyProfile, path: str) -> str:
    """Return the run file of a profile.

    Parameters
    ----------
    frame : DataFrame
        The survey, for the largest values of numbers.
    profile : SurveyProfile
    path : str
        The survey's file as the run file names it.
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    return "\n".join(
        [
            *_head(path, profile),
            *_missing_codes(path, frame, profile),
            *_run(),
            *_columns_left_out(profile),
            *_imputation(frame, profile),
            *_structure(profile),
            *_age_classes(profile, frame),
            *_variables(frame, profile),
            *_second_pass(profile),
            *_more_tables(profile),
        ]
    )


def _head(path: str, profile: SurveyProfile) -> list[str]:
    lines = [
        "# Run file of synthpop. Run it with: synthpop run THIS_FILE",
        "",
        "[survey]",
        f"file = {_text(path)}",
        "# Which column plays which part. Only weight is needed; without household every person",
        "# stands alone, without strata there is one stratum.",
    ]
    for role in ROLES:
        name = profile.roles.get(role)
        lines.append(f"{role} = {_text(name)}" if name else f'# {role} = "..."')
    if "weight" not in profile.roles:
        lines += ["# No column of weights was recognised: every row counts 1.", "unweighted = true"]
    for stratum, persons in profile.small_strata.items():
        lines.append(f"# Stratum {_line(stratum)} has {count(persons)} sample persons only: models")
        lines.append("# borrow from the others there.")
    return lines


def _missing_codes(path: str, frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the table that declares codes such as -9, to be switched on by the reader."""
    columns = [c.name for c in profile.with_use("categorical", "continuous")]
    numbers = {name: as_numbers(frame[name]) for name in columns if is_number(frame[name])}
    codes = {name: suspected_missing_codes(values) for name, values in numbers.items()}
    entries = [f"{_text(name)} = {_numbers(values)}" for name, values in codes.items() if values]
    if not entries or Path(path).suffix.lower() not in DELIMITED:
        return []
    return [
        "",
        "# These codes may stand for no answer. Where they do, take away the # before both lines:",
        "# [survey.csv]",
        f"# missing = {{ {', '.join(entries)} }}",
    ]


def _run() -> list[str]:
    return [
        "",
        "[run]",
        "seed = 1",
        "scale = 1.0            # 0.1 makes a population of a tenth of the size",
        '# strata = ["..."]     # only these, as they are in the whole population',
        "",
        "# Stages run in this order; each may use what the stages before it have made.",
        "",
    ]


def _columns_left_out(profile: SurveyProfile) -> list[str]:
    items = profile.with_use("left out")
    if not items:
        return []
    lines = ["# Not simulated:"]
    lines += [f"# {_line(item.name)}: is left out, {_line(item.why)}" for item in items]
    return [*lines, ""]


def _imputation(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return a stage as a comment: whether a missing value is an answer, only the user knows."""
    drawn = profile.with_use("categorical", "continuous")
    gaps = [item.name for item in drawn if frame[item.name].isna().any()]
    basic = _basic(profile)
    if not gaps or not basic:
        return []
    return [
        "# A missing value is a level of its own, as for children, who were not asked. Where an",
        "# answer was not given, fill it first from similar rows:",
        "# [[stage]]",
        '# type = "impute"',
        f"# variables = {_list(gaps)}",
        f"# given = {_list(basic)}",
        "",
    ]


def _basic(profile: SurveyProfile) -> list[str]:
    return [name for name in (profile.age, profile.sex) if name]


def _structure(profile: SurveyProfile) -> list[str]:
    variables = [item.name for item in profile.with_use("structure")]
    lines = [
        "# Whole households are resampled within stratum and size, with these variables of all",
        "# members. Keep them few.",
    ]
    constant = [i.name for i in profile.with_use("structure") if i.together == "shared"]
    if profile.relation:
        lines.append(f"# {profile.relation}: each household has one reference person.")
    if constant:
        lines.append(f"# One value in each household: {join(map(_line, constant))}.")
    lines += ["[[stage]]", 'type = "structure"', f"variables = {_list(variables)}"]
    if profile.age is not None and profile.age_breaks and profile.age in variables:
        key = json.dumps(profile.age, ensure_ascii=False)
        lines.append(f"jitter = {{ {key} = 2 }}     # ages up to four years from the copied ones")
    return [*lines, ""]


def _age_classes(profile: SurveyProfile, frame: pd.DataFrame) -> list[str]:
    if profile.age is None or not profile.age_breaks:
        return []
    return [
        "# Five-year classes, finer where something begins in the survey: nobody gets what no",
        "# person of that age has.",
        "[[stage]]",
        'type = "derive"',
        f"name = {_text(_age_class(profile, frame))}",
        f"source = {_text(profile.age)}",
        f"breaks = {_numbers(profile.age_breaks)}",
        f"labels = {_list(class_labels(profile.age_breaks))}",
        "",
    ]


def _age_class(profile: SurveyProfile, frame: pd.DataFrame) -> str:
    """Return the name of the age classes, with underscores behind it where it is taken."""
    name = AGE_CLASS
    while name in frame.columns:
        name += "_"
    return name


def _always(profile: SurveyProfile, frame: pd.DataFrame) -> list[str]:
    """Return the predictors of every stage: age, sex, household size, relation."""
    age = _age_class(profile, frame) if profile.age_breaks else profile.age
    size = profile.roles.get("household_size", SIZE_NAME)
    households = "household" in profile.roles
    names = [age, profile.sex, size if households else None, profile.relation]
    return [name for name in names if name]


def _variables(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the stages of all variables, each followed by what is derived from it."""
    lines: list[str] = []
    always = _always(profile, frame)
    for name in simulation_order(list(profile.columns)):
        item = profile.column(name)
        predictors = list(dict.fromkeys([*always, *profile.predictors.get(name, ())]))
        if item.use == "categorical":
            lines += _categorical(item, predictors)
        else:
            group = _means_by(frame, profile, name, predictors)
            lines += _continuous(frame[name], item, predictors, group)
            lines += _derived_from(name, profile)
    for name in [n for n in profile.derived if profile.column(n).detail not in _drawn(profile)]:
        lines += _derive(name, profile)
    for name in simulation_order(list(profile.columns)):
        if profile.column(name).use == "categorical":
            lines += _derived_from(name, profile)
    lines += _components(profile, always)
    return lines


def _drawn(profile: SurveyProfile) -> set[str]:
    return {item.name for item in profile.with_use("categorical", "continuous")}


def _derived_from(source: str, profile: SurveyProfile) -> list[str]:
    names = [name for name in profile.derived if profile.column(name).detail == source]
    return [line for name in names for line in _derive(name, profile)]


def _derive(name: str, profile: SurveyProfile) -> list[str]:
    item, rule = profile.column(name), profile.derived[name]
    lines = [f"# {_line(name)}: {_line(item.why)}.", "[[stage]]", 'type = "derive"']
    lines.append(f"name = {_text(name)}")
    if "expression" in rule:
        return [*lines, f"expression = {_text(rule['expression'])}", ""]
    lines.append(f"source = {_text(item.detail)}")
    if "breaks" in rule:
        lines += [f"breaks = {_numbers(rule['breaks'])}", f"labels = {_list(rule['labels'])}"]
    else:
        pairs = [f"{_text(old)} = {_text(new)}" for old, new in rule["mapping"].items()]
        lines.append(f"mapping = {{ {', '.join(pairs)} }}")
    return [*lines, ""]


def _categorical(item: ColumnProfile, predictors: Sequence[str]) -> list[str]:
    return [*_reasons(item), "[[stage]]", 'type = "categorical"', f"name = {_text(item.name)}",
            f"predictors = {_list(predictors)}", *_household(item), ""]  # fmt: skip


def _reasons(item: ColumnProfile) -> list[str]:
    lines = [f"# {_line(item.name)}: {_line(item.why)}."]
    if item.note:
        lines.append(f"# {_line(item.note)}.")
    return lines


def _household(item: ColumnProfile) -> list[str]:
    if item.together == "shared":
        return ['by_household = "shared"     # one value in each household']
    if item.together == "first":
        return [f"by_household = {_text(SEQUENTIAL)}  # members of a household go together"]
    return []


def _means_by(
    frame: pd.DataFrame, profile: SurveyProfile, name: str, predictors: Sequence[str]
) -> str | None:
    """Return the categorical predictor that tells most of the mean of a number."""
    coded = [item.name for item in profile.with_use("categorical") if item.name in predictors]
    values = frame[name].to_numpy(dtype=np.float64)
    best, most = None, LEAST_SHARE_TOLD
    for predictor in coded:
        codes = pd.factorize(frame[predictor].where(frame[name].notna()))[0]
        some = codes >= 0
        if not some.any() or codes.max() >= MOST_GROUPS:
            continue
        count = np.bincount(codes[some])
        means = np.bincount(codes[some], values[some]) / np.maximum(count, 1)
        variance = float(values[some].var())
        share = float(means[codes[some]].var()) / variance if variance > 0 else 0.0
        if share > most:
            best, most = predictor, share
    return best


def _continuous(
    column: pd.Series, item: ColumnProfile, predictors: Sequence[str], group: str | None
) -> list[str]:
    values: np.ndarray = column.dropna().to_numpy(dtype=np.float64)
    largest = float(values.max())
    positive = values[values > 0]
    lines = [*_reasons(item), "[[stage]]", 'type = "continuous"', f"name = {_text(item.name)}",
             f"predictors = {_list(predictors)}"]  # fmt: skip
    heavy = len(positive) >= FEWEST_FOR_TAIL and largest > TAIL_RATIO * np.quantile(positive, 0.95)
    if heavy:
        cap = rounded_up(ABOVE_LARGEST * largest)
        lines.append("# a Pareto tail in the top class, up to the largest value that may be drawn")
        lines.append(f'method = {{type = "binned", tail = "gpd", upper = {cap!r}}}')
    if group is not None and item.together != "shared":
        lines.append(f"means_by = {_text(group)}     # its means by this category are held")
    return [*lines, *_household(item), ""]


def rounded_up(value: float, digits: int = 2) -> float:
    """Round a positive number up to some significant digits.

    Examples
    --------
    >>> rounded_up(123456.0), rounded_up(0.0)
    (130000.0, 0.0)
    """
    if value <= 0:
        return 0.0
    step = 10.0 ** (np.floor(np.log10(value)) - digits + 1)
    return float(np.ceil(value / step) * step)


def _components(profile: SurveyProfile, always: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for total in _outer_first(profile.totals):
        by = [*(profile.split_by.get(total) or always[:1]), total]
        parts = profile.totals[total]
        lines += [
            f"# {_line(total)} is the sum of these columns in the survey: it is drawn as a whole",
            "# and split, so that the parts add up.",
            "[[stage]]",
            'type = "components"',
            f"total = {_text(total)}",
            f"parts = {_list(parts)}",
            f"by = {_list(by)}",
            "",
        ]
    return lines


def _outer_first(totals: Mapping[str, Sequence[str]]) -> list[str]:
    """Return totals such that one comes before its parts that are totals too."""
    inner = {part for parts in totals.values() for part in parts}
    return sorted(totals, key=lambda total: total in inner)


def _second_pass(profile: SurveyProfile) -> list[str]:
    coded = [item.name for item in profile.with_use("categorical") if item.together is None]
    if len(coded) < 2:
        return []
    return [
        "# Stages know nothing of later ones. A second pass draws variables again given all others",
        "# (but those with by_household):",
        "# [[stage]]",
        '# type = "gibbs_pass"',
        f"# variables = {_list(coded)}",
        "# passes = 2",
        "",
    ]


def _more_tables(profile: SurveyProfile) -> list[str]:
    """Return known totals, risk and report as comments."""
    keys = [profile.roles.get("strata"), profile.sex]
    coded = [item.name for item in profile.with_use("categorical")]
    numbers = [item.name for item in profile.with_use("continuous")]
    keys = [name for name in (*keys, *coded[:2]) if name]
    margin = [name for name in (profile.roles.get("strata"), profile.sex) if name]
    columns = ", ".join(map(_line, [*margin, "total"]))
    lines = [
        "# Totals known from elsewhere bring two-way tables a quarter to a third nearer to the",
        f"# country. One CSV file a table, with the columns {columns}:",
        "# [[calibrate.margin]]",
        '# file = "totals.csv"',
        "",
    ]
    if keys and numbers:
        lines += [
            "# What would an intruder learn who knows the keys of persons in the survey?",
            "# [risk]",
            f"# keys = {_list(keys)}",
            f"# target = {_text(numbers[0])}",
            "",
        ]
    return [*lines, "# [report]", '# title = "..."', '# audience = "external"', ""]


def profile_table(profile: SurveyProfile) -> str:
    """Return the columns as a text table for the screen: column, use, why."""
    table = profile.to_frame()
    notes = table["note"].where(table["note"] == "", "; " + table["note"])
    rows = list(zip(table["column"], table["use"], table["why"] + notes, strict=True))
    rows.insert(0, ("Column", "Use", "Why"))
    widths = [max(len(str(row[k])) for row in rows) for k in (0, 1)]
    return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}".rstrip() for a, b, c in rows)


def _text(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(names: Sequence[Any]) -> str:
    return f"[{', '.join(map(_text, names))}]"


def _numbers(values: Sequence[float]) -> str:
    return f"[{', '.join(_toml_number(value) for value in values)}]"


def _toml_number(value: float) -> str:
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{int(value)}" if float(value).is_integer() else repr(float(value))


def _line(text: object) -> str:
    """Return text for a comment: without line breaks and characters that TOML refuses."""
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    return " ".join(printable.split())


__all__ = ["profile_table", "starter_runfile", "template_text", "write_template"]
