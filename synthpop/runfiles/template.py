"""A first run file for a survey: what its columns are, a recipe, and the reason of each choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop.conditional.members_before import SEQUENTIAL
from synthpop.logic.learn import learn_rules
from synthpop.logic.states import level_condition
from synthpop.microdata.formats.atomic import relative_path
from synthpop.microdata.formats.files import DELIMITED, read_with_kinds
from synthpop.microdata.formats.labelled import UserMissing, plain_code
from synthpop.microdata.frame.dictionary import toml_value
from synthpop.microdata.frame.frames import as_numbers, is_date, is_number
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join
from synthpop.microdata.reading.lexicon import REGION, ROLES, concept_of
from synthpop.microdata.reading.missing_codes import suspected_missing_codes
from synthpop.microdata.roles.survey import MEAN_OF_MEMBERS
from synthpop.profile.ages import class_labels
from synthpop.profile.columns import ColumnProfile, SurveyProfile
from synthpop.profile.household_sums import word
from synthpop.profile.profile import profile_survey, simulation_order
from synthpop.profile.reader import POSSIBLE_WEIGHT
from synthpop.runfiles.template_text import listed, number_list, plain, quoted, rounded_up
from synthpop.stages.id_columns import SIZE_NAME

TAIL_RATIO, FEWEST_FOR_TAIL = 2.5, 200
ABOVE_LARGEST, MOST_CANDIDATES = 1.2, 5
MOST_GROUPS, LEAST_SHARE_NAMED = 20, 0.01
AGE_CLASS = "age_class"
FEWEST_OF_AREA = 100  # persons, in the mean, for tables by area
ADULT, LEAST_SHARE_OF_HOUSEHOLDS = 18, 0.1
MOST_PERSONS = 10_000_000  # that the first run makes


def starter_runfile(survey: Path, folder: Path) -> str:
    """Return the text of a run file in a folder for the file of a survey.

    Raises InputError: the file has no rows, cannot be read, or has nothing to simulate.
    """
    frame, user_missing = read_with_kinds(survey)
    profile = profile_survey(frame)
    return template_text(frame, profile, relative_path(survey, folder), user_missing)


def template_text(
    frame: pd.DataFrame, profile: SurveyProfile, path: str, user_missing: UserMissing = "missing"
) -> str:
    """Return the run file of a profile.

    frame: the survey, for the largest values of numbers
    path: the survey's file as the run file names it
    user_missing: how it was read
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if not profile.with_use("structure", "categorical", "continuous"):
        reasons = "; ".join(f"{item.name}: {item.why}" for item in profile.columns[:5])
        raise InputError.of(
            "survey", "columns", message("none can be simulated ({reasons})", reasons=reasons),
            "Give a file with at least one variable of the persons.",
        )  # fmt: skip
    lines = [
        "# Run file of synthpop. Run it with: synthpop run THIS_FILE",
        "",
        *_rules(frame, profile),
        *_head(path, profile, user_missing),
        *_missing_codes(path, frame, profile),
        *_run(frame, profile),
        *_columns_left_out(profile),
        *_imputation(frame, profile),
        *_structure(profile),
        *_age_classes(profile, frame),
        *_variables(frame, profile),
        *(_table_pass(frame, profile) if _is_flat(profile) else _second_pass(profile)),
        *_more_tables(profile),
    ]
    return "\n".join(lines)


def _rules(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the rules that the survey keeps; those that some break as comments."""
    roles = profile.roles
    columns = [item.name for item in profile.with_use("structure")]
    columns += simulation_order(list(profile.columns))
    columns += [item.name for item in profile.with_use("components")]
    age = profile.age if profile.survey_year is None else None
    rules = learn_rules(frame, columns, household=roles.get("household"), age=age,
                        relation=profile.relation, totals=profile.totals)  # fmt: skip
    sums = [f"{' + '.join(map(word, parts))} = {word(total)}" for total, parts in
            (*profile.totals.items(), *profile.further_totals)]  # fmt: skip
    if not rules and not sums:
        return []
    lines = [
        "# What the survey keeps without an exception, and chance does not explain; the population",
        "# keeps it too. Behind each rule: persons whom it is about. Strike out what you doubt.",
        "rules = [",
        *(f"  {quoted(text)}," for text in sums),
    ]
    for rule in rules:
        broken = f", {count(rule.exceptions)} break it" if rule.exceptions else ""
        lines.append(
            f"{'# ' if broken else ''}  {quoted(rule.text)},  # {count(rule.support)}{broken}"
        )
    return [*lines, "]", ""]


def _head(path: str, profile: SurveyProfile, user_missing: UserMissing) -> list[str]:
    lines = ["[survey]", f"file = {quoted(path)}"]
    if user_missing == "level":
        lines += [
            "# Kinds of missing answers are levels of categories; those of a number, a column:",
            'user_missing = "level"',
        ]
    lines += [
        "# Which column plays which part. Only weight is needed; without household every person",
        "# stands alone, without strata there is one stratum.",
    ]
    for role in ROLES:
        name = profile.roles.get(role)
        if role == "household_weight" and any(
            column.note.startswith("differs between members") for column in profile.with_use("role")
        ):
            lines.append("# Weights differ between members: a household has their mean.")
            name = MEAN_OF_MEMBERS
        lines.append(f"{role} = {quoted(name)}" if name else f'# {role} = "..."')
    if "weight" not in profile.roles:
        lines.append("# No column of weights was recognised: every row counts 1.")
        names = [plain(c.name) for c in profile.columns if POSSIBLE_WEIGHT in c.note]
        if names:
            lines.append(f"# It may be {' or '.join(names)}: name it above then, not below.")
        lines.append("unweighted = true")
    lines += _questions(profile)
    for stratum, persons in profile.small_strata.items():
        lines.append(f"# Stratum {plain(stratum)} has {count(persons)} sample persons only: models")
        lines.append("# borrow from the others there.")
    return lines


def _questions(profile: SurveyProfile) -> list[str]:
    """Return what only somebody who knows the file can say, as comments."""
    lines = []
    taken_for = {**profile.roles, "age": profile.age, "sex": profile.sex}
    for question in profile.questions:
        names = " or ".join(plain(name) for name in question.candidates[:MOST_CANDIDATES])
        if taken_for.get(question.role):
            lines.append(f"# Is {names} the {question.role}? It was taken for it: {question.why}.")
        elif question.role != "weight":  # which is said above
            lines.append(f"# Which column is the {question.role}? It may be {names}.")
    return lines


def _missing_codes(path: str, frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the table that declares codes such as -9, to be switched on by the reader."""
    columns = [c.name for c in profile.with_use("categorical", "continuous")]
    numbers = {name: as_numbers(frame[name]) for name in columns if is_number(frame[name])}
    codes = {name: suspected_missing_codes(values) for name, values in numbers.items()}
    entries = [f"{quoted(name)} = {number_list(c)}" for name, c in codes.items() if c]
    if not entries or Path(path).suffix.lower() not in DELIMITED:
        return []
    return [
        "",
        "# These codes may stand for no answer. Where they do, take away the # before both lines:",
        "# [survey.csv]",
        f"# missing = {{ {', '.join(entries)} }}",
    ]


def _columns_left_out(profile: SurveyProfile) -> list[str]:
    items = profile.with_use("left out")
    if not items:
        return []
    lines = ["# Not simulated:"]
    lines += [f"# {plain(item.name)}: is left out, {plain(item.why)}" for item in items]
    return [
        *lines,
        '# To bring one in, add [[stage]] type = "categorical" or "continuous" with its name.',
        "",
    ]


def _imputation(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return a stage as a comment: whether a missing value is an answer, only the user knows."""
    simulated = profile.with_use("categorical", "continuous")
    gaps = [item.name for item in simulated if frame[item.name].isna().any()]
    basic = _basic(profile)
    if not gaps or not basic:
        return []
    return [
        "# A missing value is a level of its own, as for children, who were not asked. Where an",
        "# answer was not given, fill it first from similar rows:",
        "# [[stage]]",
        '# type = "impute"',
        f"# variables = {listed(gaps)}",
        f"# given = {listed(basic)}",
        "",
    ]


def _run(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the table of the run: the whole population, or a part of an immense one."""
    weight = profile.roles.get("weight")
    persons = float(len(frame) if weight is None else as_numbers(frame[weight]).sum())
    scale, why = 1.0, "0.1 makes a population of a tenth of the size"
    if persons > MOST_PERSONS:
        scale = 10.0 ** -np.ceil(np.log10(persons / MOST_PERSONS))
        why = f"a part of {count(round(persons))} persons, which 1.0 makes"
    return [
        "",
        "[run]",
        "# seed = 1             # the same models in every run; "
        "without it a new one, kept in run.key",
        f"{f'scale = {scale:.9g}' if scale < 1 else 'scale = 1.0':<23}# {why}",
        '# strata = ["..."]     # only these, as they are in the whole population',
        "",
        "# Stages run in this order; each may use what the stages before it have made.",
        "",
    ]


def _basic(profile: SurveyProfile) -> list[str]:
    return [name for name in (profile.age, profile.sex) if name]


def _structure(profile: SurveyProfile) -> list[str]:
    items = profile.with_use("structure")
    variables = [item.name for item in items]
    lines = [
        "# Whole households are resampled within stratum and size, with these variables of all",
        "# members. Keep them few.",
    ]
    constant = [item.name for item in items if item.together == "shared"]
    if profile.relation:
        lines.append(f"# {profile.relation}: each household has one reference person.")
    if constant:
        lines.append(f"# One value in each household: {join(map(plain, constant))}.")
    lines += ["[[stage]]", 'type = "structure"', f"variables = {listed(variables)}"]
    if profile.survey_year is not None:
        lines.insert(
            2, f"# {profile.age}: the year of birth; ages are those of {profile.survey_year:.0f}."
        )
    if profile.age is not None and profile.age_breaks and profile.age in variables:
        jitter = f"{{ {quoted(profile.age)} = 2 }}"
        lines.append(f"jitter = {jitter}     # ages up to four years from the copied ones")
    return [*lines, ""]


def _age_classes(profile: SurveyProfile, frame: pd.DataFrame) -> list[str]:
    if profile.age is None or not profile.age_breaks:
        return []
    of_birth = profile.survey_year is not None
    return [
        "# Five-year classes, finer where something begins in the survey: nobody gets what no",
        "# person of that age has.",
        "[[stage]]",
        'type = "derive"',
        f"name = {quoted(_age_class(profile, frame))}",
        f"source = {quoted(profile.age)}",
        f"breaks = {number_list(profile.age_breaks)}",
        f"labels = {listed(class_labels(profile.age_breaks, of_birth=of_birth))}",
        "",
    ]


def _age_class(profile: SurveyProfile, frame: pd.DataFrame) -> str:
    """Return the name of the age classes."""
    return _new_name(AGE_CLASS, frame)


def _new_name(name: str, frame: pd.DataFrame) -> str:
    """Return a name, with underscores behind it where it is taken."""
    while name in frame.columns:
        name += "_"
    return name


def _counts_of_members(profile: SurveyProfile, frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Return what counts of members tell of a household: its children, and who has a partner.

    Names of new variables, with the condition that is counted.
    """
    if "household" not in profile.roles:
        return []
    counts = []
    if profile.age_breaks:
        child = f"{word(str(profile.age))} < {ADULT}"
        if profile.survey_year is not None:
            child = f"{word(str(profile.age))} > {profile.survey_year - ADULT:.0f}"
        counts.append((_new_name("children", frame), child))
    if profile.relation is not None:
        by_household = pd.crosstab(frame[profile.roles["household"]], frame[profile.relation])
        share = (by_household > 0).mean()[by_household.max() == 1]
        levels = share[(share > LEAST_SHARE_OF_HOUSEHOLDS) & (share < 1)]
        if len(levels):
            level = level_condition(profile.relation, levels.idxmax())
            counts += [(_new_name("couple", frame), level)] if level else []
    return counts


def _composition(profile: SurveyProfile, frame: pd.DataFrame) -> list[str]:
    lines = []
    for name, condition in _counts_of_members(profile, frame):
        lines += [
            f"# Members of the household with {plain(condition)}, for what depends on them.",
            "[[stage]]",
            'type = "derive"',
            f"name = {quoted(name)}",
            f"expression = {quoted(f'count({condition})')}",
            f"breaks = {number_list([-1, 0, 1, 2, 1000])}",
            f"labels = {listed(['0', '1', '2', '3 or more'])}",
            "",
        ]
    return lines


def _always(profile: SurveyProfile, frame: pd.DataFrame) -> list[str]:
    """Return the predictors of every stage: age, sex, household size, relation."""
    age = _age_class(profile, frame) if profile.age_breaks else profile.age
    size = profile.roles.get("household_size", SIZE_NAME)
    households = "household" in profile.roles
    names = [age, profile.sex, size if households else None, profile.relation]
    return [name for name in names if name]


def _variables(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the stages of all variables, each followed by what is derived from it."""
    lines = _composition(profile, frame)
    always = _always(profile, frame)
    composition = [name for name, _ in _counts_of_members(profile, frame)]
    order = simulation_order(list(profile.columns))
    flat = ['pooling = "complete"'] if _is_flat(profile) else []
    for name in order:
        item = profile.column(name)
        together = composition if item.together else []
        predictors = [*always, *together, *profile.predictors.get(name, ())]
        predictors = list(dict.fromkeys(predictors))
        if item.use == "categorical":
            lines += _categorical(item, predictors, flat)
        else:
            offset = profile.offsets.get(name)
            group = None if offset else _means_by(frame, profile, name, predictors)
            lines += _continuous(frame[name], item, predictors, group, offset, flat)
            lines += _derived_from(name, profile)
    for name in order:
        if profile.column(name).use == "categorical":
            lines += _derived_from(name, profile)
    lines += _components(frame, profile, always)
    last = [n for n in profile.derived if profile.column(n).detail not in order]
    while last:  # what follows from a derived column comes after it
        ready = [n for n in last if profile.column(n).detail not in last] or last
        lines += [line for name in ready for line in _derive(name, profile)]
        last = [n for n in last if n not in ready]
    return lines


def _derived_from(source: str, profile: SurveyProfile) -> list[str]:
    names = [name for name in profile.derived if profile.column(name).detail == source]
    return [line for name in names for line in _derive(name, profile)]


def _derive(name: str, profile: SurveyProfile) -> list[str]:
    item, rule = profile.column(name), profile.derived[name]
    lines = [f"# {plain(name)}: {plain(item.why)}.", "[[stage]]", 'type = "derive"']
    lines.append(f"name = {quoted(name)}")
    if "expression" in rule:
        lines.append(f"expression = {quoted(rule['expression'])}")
    else:
        lines.append(f"source = {quoted(item.detail)}")
    if "breaks" in rule:
        lines += [f"breaks = {number_list(rule['breaks'])}", f"labels = {listed(rule['labels'])}"]
    if "mapping" in rule:
        mapping = rule["mapping"].items()
        pairs = [f"{quoted(old)} = {toml_value(plain_code(new))}" for old, new in mapping]
        lines.append(f"mapping = {{ {', '.join(pairs)} }}")
    return [*lines, ""]


def _categorical(
    item: ColumnProfile, predictors: Sequence[str], pooling: Sequence[str]
) -> list[str]:
    return [*_reasons(item), "[[stage]]", 'type = "categorical"', f"name = {quoted(item.name)}",
            f"predictors = {listed(predictors)}", *(_model(item) or pooling), *_household(item),
            ""]  # fmt: skip


def _model(item: ColumnProfile) -> list[str]:
    """Return the model of codes with many levels; others have the default."""
    if item.within:
        return ['model = "tree"', f"by = {quoted(item.within)}",
                'pooling = {amount = "none", smallest_stratum = 1}']  # fmt: skip
    return ['model = "nested"'] if item.nested else []


def _reasons(item: ColumnProfile) -> list[str]:
    lines = [f"# {plain(item.name)}: {plain(item.why)}."]
    if item.note:
        lines.append(f"# {plain(item.note)}.")
    return lines


def _household(item: ColumnProfile) -> list[str]:
    if item.together == "shared":
        return ['by_household = "shared"     # one value in each household']
    if item.together == "first":
        return [f"by_household = {quoted(SEQUENTIAL)}  # members of a household go together"]
    return []


def _means_by(
    frame: pd.DataFrame, profile: SurveyProfile, name: str, predictors: Sequence[str]
) -> str | None:
    """Return the categorical predictor that tells most of the mean of a number."""
    coded = [item.name for item in profile.with_use("categorical") if item.name in predictors]
    values = as_numbers(frame[name])
    best, most = None, LEAST_SHARE_NAMED
    for predictor in coded:
        codes = pd.factorize(frame[predictor].where(frame[name].notna()))[0]
        has_level = codes >= 0
        if not has_level.any() or codes.max() >= MOST_GROUPS:
            continue
        count = np.bincount(codes[has_level])
        means = np.bincount(codes[has_level], values[has_level]) / np.maximum(count, 1)
        variance = float(values[has_level].var())
        share = float(means[codes[has_level]].var()) / variance if variance > 0 else 0.0
        if share > most:
            best, most = predictor, share
    return best


def _continuous(
    column: pd.Series,
    item: ColumnProfile,
    predictors: Sequence[str],
    group: str | None,
    offset: str | None,
    pooling: Sequence[str],
) -> list[str]:
    values = as_numbers(column.dropna())
    largest = float(values.max())
    positive = values[values > 0]
    lines = [*_reasons(item), "[[stage]]", 'type = "continuous"', f"name = {quoted(item.name)}",
             f"predictors = {listed(predictors)}", *pooling]  # fmt: skip
    heavy = (
        not is_date(column)
        and len(positive) >= FEWEST_FOR_TAIL
        and largest > TAIL_RATIO * np.quantile(positive, 0.95)
    )
    if heavy:
        cap = rounded_up(ABOVE_LARGEST * largest)
        lines.append("# a Pareto tail in the top class, up to the largest value that may be drawn")
        lines.append(f'method = {{type = "binned", tail = "gpd", upper = {cap!r}}}')
    if offset is not None:
        lines.append(f"offset = {quoted(offset)}     # it is drawn as so many days from there")
    if group is not None and item.together != "shared":
        lines.append(f"means_by = {quoted(group)}     # its means by this category are calibrated")
    return [*lines, *_household(item), ""]


def _components(frame: pd.DataFrame, profile: SurveyProfile, always: Sequence[str]) -> list[str]:
    lines: list[str] = []
    first = [(total, profile.totals[total]) for total in _outer_first(profile.totals)]
    for total, parts in (*first, *profile.further_totals):
        by = [*(profile.split_by.get(total) or always[:1]), total]
        lines += [
            f"# {plain(total)} is the sum of these columns in the survey: it is drawn as a whole",
            "# and split, so that the parts add up.",
            "[[stage]]",
            'type = "components"',
            f"total = {quoted(total)}",
            f"parts = {listed(parts)}",
            f"by = {listed(by)}",
            'empty = "sequential"   # donors from elsewhere: of the same first category',
        ]
        has_total = frame[total].notna() & (frame[total] != 0)
        if (has_total & ~frame[list(parts)].fillna(0).any(axis=1)).any():
            lines.append("unsplit = true      # some have a total and no parts, as in the survey")
        lines.append("")
    return lines


def _outer_first(totals: Mapping[str, Sequence[str]]) -> list[str]:
    """Return totals such that one comes before its parts that are totals too."""
    inner = {part for parts in totals.values() for part in parts}
    return sorted(totals, key=lambda total: total in inner)


def _is_flat(profile: SurveyProfile) -> bool:
    """Whether the file has neither weights nor households: a file of that size is wanted again."""
    return not {"weight", "household"} & {*profile.roles}


def _table_pass(frame: pd.DataFrame, profile: SurveyProfile) -> list[str]:
    """Return the step that brings the tables of all pairs of variables near, by area."""
    sources = {profile.column(name).detail for name in profile.derived}
    parts = {name for total in profile.totals.items() for name in (total[0], *total[1])}
    order = simulation_order(list(profile.columns))
    free = [name for name in order if not {name} & (sources | parts)]
    areas = [
        item.name
        for item in profile.with_use("categorical")
        if (found := concept_of(item.name)) is not None
        and found[0].name == REGION
        and len(frame) / max(frame[item.name].nunique(), 1) >= FEWEST_OF_AREA
    ]
    variables = [name for name in free if name not in areas[:1]]
    if len(variables) < 2:
        return []
    of_areas = f", by {plain(areas[0])}" if areas else ""
    return [
        f"# Models of single variables miss some of the tables of all pairs{of_areas}, and chance",
        "# moves those of a file that is as small as the survey: values are exchanged until the",
        "# tables are near what the survey tells of them, and no nearer.",
        "[[stage]]",
        'type = "table_pass"',
        f"variables = {listed(variables)}",
        *([f"by = {quoted(areas[0])}"] if areas else []),
        "",
    ]


def _second_pass(profile: SurveyProfile) -> list[str]:
    free = [item for item in profile.with_use("categorical") if item.together is None]
    coded = [item.name for item in free if not item.nested]
    if len(coded) < 2:
        return []
    return [
        "# Stages know nothing of later ones. A second pass draws variables again given all others",
        "# (but those with by_household):",
        "# [[stage]]",
        '# type = "gibbs_pass"',
        f"# variables = {listed(coded)}",
        "# passes = 2",
        "",
    ]


def _more_tables(profile: SurveyProfile) -> list[str]:
    """Return known totals, risk and report as comments."""
    coded = [item.name for item in profile.with_use("categorical")]
    numbers = [item.name for item in profile.with_use("continuous")]
    margin = [name for name in (profile.roles.get("strata"), profile.sex) if name]
    keys = [*margin, *coded[:2]]
    columns = ", ".join(map(plain, [*margin, "total"]))
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
            f"# keys = {listed(keys)}",
            f"# target = {quoted(numbers[0])}",
            "",
        ]
    return [*lines, "# [report]", '# title = "..."', '# audience = "external"', ""]
