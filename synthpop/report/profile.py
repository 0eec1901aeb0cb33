"""The page of a survey before anything is simulated: what each column is, and what to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.places import Place
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import joined_by, message, sentence
from synthpop.microdata.messages.text import count, join, number, percent, plural, short_percent
from synthpop.microdata.pages.charts import columns as column_chart
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import card, finding, folding_row, row_id, table, verdict
from synthpop.profile.columns import STEPS, ColumnProfile, SurveyProfile
from synthpop.profile.profile import profile_survey

MOST_LEVELS, CLASSES, MOST_FINDINGS = 30, 24, 5
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
NEEDED = ("weight", "household")
MISSING_CODE = "code for missing"  # in the note of a column
SHORT_NOTES = (
    (message("one value only"), "constant"),
    ("no value", "empty"),
    ("an id", "id"),
    ("further weight", "weight"),
    ("tells the same", "copy"),
    (message("too many"), "too many levels"),
    (message("household sum"), message("household sum")),
    ("a part of", message("part of a sum")),
    ("classes of", "classes"),
    ("a function of", "derived"),
)
"""Words of the reason of a column, and what the last cell of its row says."""


def write_profile(
    path: Place | str,
    data: Any,
    *,
    profile: SurveyProfile | None = None,
    title: str | None = None,
    language: str = "en",
) -> Place:
    """Write what the columns of a survey are as one self-contained HTML file.

    Parameters
    ----------
    path : path
    data : DataFrame or another table
        One row per person.
    profile : SurveyProfile, optional
        Default `profile_survey` of the data.
    title : str, optional
    language : {"en", "de"}
        Language of the page and of its numbers.

    Returns
    -------
    path
        The file, readable by the user alone: it shows rare levels and extreme values.

    Raises
    ------
    InputError
        The table has no rows, an unknown language.
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> frame = pd.DataFrame({"hid": [1, 1, 2, 2], "weight": 2.0, "sex": list("fmfm"), "c": 1})
    >>> page = write_profile(tempfile.mkdtemp() + "/profile.html", frame)
    >>> "One value only" in page.read_text(encoding="utf-8")
    True
    """
    frame = as_frame(data, "survey")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    return write_for(
        path, "synthpop", "profile.html.j2",
        lambda external: profile_facts(frame, profile or profile_survey(frame)),
        title=title, audience="internal", language=language,
    )  # fmt: skip


def profile_facts(frame: pd.DataFrame, profile: SurveyProfile) -> dict[str, Any]:
    """Return everything that the page says, as text ready to be set."""
    rows = [_row(frame, item, profile) for item in profile.columns]
    rows.sort(key=lambda row: -row["order"]["look"])
    n_simulated, n_left_out = len(profile.with_use(*STEPS)), len(profile.with_use("left out"))
    uses = message("{a} to simulate, {b} left out", a=n_simulated, b=n_left_out)
    missing = short_percent(float(frame.isna().to_numpy().mean()), 2)
    return {
        "title": gettext("Columns of a survey"),
        "cards": [
            card("Rows", count(len(frame)), "one a person"),
            card("Columns", count(len(profile.columns)), uses),
            card("Cells missing", missing, "of all"),
        ],
        "verdicts": verdict_rows(frame, profile),
        "worst": _worst(frame, profile),
        "rows": rows,
        "relations": _relations(profile),
        "predictors": _predictors(profile),
    }


def verdict_rows(frame: pd.DataFrame, profile: SurveyProfile) -> list[dict[str, str]]:
    """Return the three rows: roles, values and strata.

    Roles are "complete" with weight and household; values ask for a look where numbers may stand
    for missing or levels have fewer than five persons; strata where they have fewer than 30.
    """
    missing_roles = [role for role in NEEDED if role not in profile.roles]
    if missing_roles:
        listed = join(message(role_text(role)) for role in missing_roles)
        reason = message("Not recognised: {roles}. Name them in the table [survey].", roles=listed)
        roles = verdict("Roles", "incomplete", "bad", reason, "#columns")
    else:
        recognised = join(
            f"{message(role_text(role))} {column}" for role, column in profile.roles.items()
        )
        roles = verdict(
            "Roles",
            "complete",
            "good",
            message("Recognised: {roles}.", roles=recognised),
            "#columns",
        )
    codes = [item.name for item in profile.columns if MISSING_CODE in item.note]
    columns_by_problem: dict[str, list[Any]] = {
        "values that may stand for missing in {names}": codes,
        "rare levels in {names}": [item.name for item in profile.columns if "rare" in item.note],
        "no values at all in {names}": [name for name in frame if frame[name].isna().all()],
    }
    problems = [
        message(text, names=join(names)) for text, names in columns_by_problem.items() if names
    ]
    values = verdict("Values", "plain", "good", "No codes for missing values, no rare levels.")
    if problems:
        level, reason = "bad" if codes else "look", _as_sentence(joined_by("; ", problems))
        values = verdict("Values", "need a look", level, reason, "#columns")
    return [roles, values, _strata(profile)]


def _strata(profile: SurveyProfile) -> dict[str, str]:
    if "strata" not in profile.roles:
        return verdict("Strata", "none", "none", "One model for the whole country will be fitted.")
    if not profile.small_strata:
        return verdict("Strata", "large enough", "good", "Every stratum has at least 30 persons.")
    strata_text = join(f"{name} ({n})" for name, n in list(profile.small_strata.items())[:8])
    reason = message(
        "Fewer than 30 persons: {few}. Their models will fall back on those of all strata.",
        few=strata_text,
    )
    return verdict("Strata", "some small", "look", reason)


def _worst(frame: pd.DataFrame, profile: SurveyProfile) -> list[dict[str, str]]:
    """Return what the user should decide before the first run, the most urgent first."""
    rows = []
    for item in sorted(profile.columns, key=lambda one: -_urgency(frame, one)):
        if _urgency(frame, item) < 1:
            break
        text = f"{item.name}: {item.note}"
        if MISSING_CODE in item.note:
            advice = message("Declare the code as missing when the file is read.")
        elif item.note.startswith("rare"):
            advice = message("Group rare levels before they are simulated.")
        else:
            text = message("{name} is left out: {why}", name=item.name, why=item.why)
            advice = message("Group its levels, or leave it out on purpose.")
        rows.append(finding(text, f"#{row_id(item.name)}", advice))
    return rows[:MOST_FINDINGS]


def _urgency(frame: pd.DataFrame, item: ColumnProfile) -> float:
    """Return 3 for codes of missing values, 2 for too many levels, 1 for rare levels, or less."""
    if MISSING_CODE in item.note:
        return 3.0
    if item.use == "left out" and message("too many") in item.why:
        return 2.0
    if item.note.startswith("rare"):
        return 1.0
    return 0.5 * float(frame[item.name].isna().mean())


def _row(frame: pd.DataFrame, item: ColumnProfile, profile: SurveyProfile) -> dict[str, Any]:
    column = frame[item.name]
    missing = float(column.isna().mean())
    use: str = message(item.use)
    if item.use == "role":
        use = message("role: {role}", role=message(role_text(item.detail)))
    urgency = _urgency(frame, item)
    sentences = [_as_sentence(item.why), _as_sentence(item.note)]
    if item.together == "shared":
        sentences.append(message("All members of a household have the same value."))
    elif item.together:
        sentences.append(message("Members of a household are more alike than age and sex explain."))
    if profile.predictors.get(item.name):
        sentences.append(
            message("Strongest predictors: {names}.", names=join(profile.predictors[item.name]))
        )
    has_many_values = is_number(column) and column.nunique() > MOST_LEVELS
    return folding_row(
        item.name,
        item.name,
        use,
        _plot(column, has_many_values, item),
        [count(column.nunique()), percent(missing, 1), _short_note(item)],
        {"look": urgency, "missing": missing},
        flagged=urgency >= 1,
        sentences=sentences,
        tables=[{"title": "", "table": _numbers(column) if has_many_values else _levels(column)}],
    )


def _as_sentence(text: str) -> str:
    return sentence(text) if text else ""


def role_text(role: str) -> str:
    """Return the name of a role in words."""
    return role.replace("_", " ")


def _short_note(item: ColumnProfile) -> str:
    """Return what the last cell of a row says: one or two words."""
    if MISSING_CODE in item.note:
        return message("missing code?")
    if item.note.startswith("rare"):
        return message("rare levels")
    default = message("one per household") if item.together == "shared" else ""
    return next((text for words, text in SHORT_NOTES if words in item.why), default)


def _plot(column: pd.Series, many: bool, item: ColumnProfile) -> str:
    filled = column.dropna()
    if not len(filled) or (not many and filled.nunique() > MOST_LEVELS):
        return ""
    if many:
        values = filled.to_numpy(dtype=np.float64)
        values = values[np.isfinite(values)]
        low, high = np.quantile(values, [0.01, 0.99])
        counts = np.histogram(values, CLASSES, (low, high if high > low else low + 1))[0]
        return column_chart(
            counts.tolist(), message("{name}: distribution, 1 % to 99 % quantile", name=item.name)
        )
    persons = filled.value_counts(sort=False).tolist()
    return column_chart(
        persons, message("{name}: persons in {n}", name=item.name, n=plural(len(persons), "level"))
    )


def _numbers(column: pd.Series) -> dict[str, Any]:
    values = column.dropna().to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    rows = [
        ["Mean", number(values.mean(), 4)],
        [message("Standard deviation"), number(values.std(), 4)],
        ["Zeros", percent(float(np.mean(values == 0)), 1)],
        [message("Below zero"), percent(float(np.mean(values < 0)), 1)],
    ]
    names = {0.0: "Smallest", 0.5: "Median", 1.0: "Largest"}
    for q, value in zip(QUANTILES, np.quantile(values, QUANTILES), strict=True):
        rows.append([names.get(q, message("{p} quantile", p=percent(q, 0))), number(value, 5)])
    return table(["Statistic", "Value"], rows, words=1)


def _levels(column: pd.Series) -> dict[str, Any]:
    counts = column.value_counts()
    rows = [
        [level_text(level), count(n), percent(n / max(len(column), 1), 1)]
        for level, n in counts.head(MOST_LEVELS).items()
    ]
    if len(counts) > MOST_LEVELS:
        n_others = int(counts.iloc[MOST_LEVELS:].sum())
        rows.append([message("and {n} more", n=count(len(counts) - MOST_LEVELS)), count(n_others),
                     percent(n_others / max(len(column), 1), 1)])  # fmt: skip
    return table(["Level", "Rows", "Share"], rows)


def _relations(profile: SurveyProfile) -> dict[str, Any] | None:
    """Return how columns follow from each other: sums, classes, functions, copies."""
    rows = [
        [total, message("is the sum of"), join(parts)] for total, parts in profile.totals.items()
    ]
    rows += [
        [item.name, item.why, ""]
        for item in profile.columns
        if item.detail and item.use in ("derive", "left out")
    ]
    if profile.relation:
        rows.append([profile.relation, message("is the relation to the reference person"), ""])
    return table(["Column", "Relation", "Columns"], rows, text_columns=3) if rows else None


def _predictors(profile: SurveyProfile) -> dict[str, Any] | None:
    rows = [[name, join(names)] for name, names in profile.predictors.items() if names]
    head = ["Variable", message("Predictors, the strongest first")]
    return table(head, rows, text_columns=2) if rows else None
