"""Numbers of a session: the original file beside the current one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.measures.linkage.linkage import linkage_limit
from riskeval.measures.request import Limits
from riskeval.session.roles import SessionRoles
from riskeval.shared.measurement import Measurement, attempt
from riskeval.shared.show import lower
from riskeval.utility.entry import UtilityInput
from riskeval.utility.registry import UTILITIES
from riskeval.utility.release_numbers import IL1S
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, formatted, join, number, percent, plural
from synthpop.microdata.roles.microdata import Microdata

if TYPE_CHECKING:
    from riskeval.measures.individual_result import IndividualRisk


@dataclass(frozen=True)
class BeforeAfter(Result):
    """Numbers of the original file beside those of the current one.

    Attributes
    ----------
    table : DataFrame
        One row per number, with columns ``original`` and ``current``.
    text : str
    measurements : mapping of "original" and "current" to a mapping of row to Measurement
        What each number means; of utility, those of the registry by (about, number).
    """

    table: pd.DataFrame
    text: str
    measurements: Mapping[str, Mapping[Any, Measurement]] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def summary(self) -> str:
        """Return what the numbers mean."""
        return self.text


def compare_risks(
    before: Sequence[Measurement], now: Sequence[Measurement], roles: SessionRoles, uncertain: bool
) -> BeforeAfter:
    """Put the risks of two files side by side; `uncertain`: keys were exchanged at random."""
    columns = {
        file: {one.key: one for one in measured}
        for file, measured in (("original", before), ("current", now))
    }
    table = pd.DataFrame(
        {file: {key: one.value for key, one in ones.items()} for file, ones in columns.items()}
    )
    if not roles.keys:
        return BeforeAfter(table, _linked_text(table, roles), columns)
    first, last = (float(table[file]["expected_reidentifications"]) for file in columns)
    current = table["current"]
    if np.isnan([first, last, current["below_3"], current.get("below_3_after_recovery", 0)]).any():
        text = message("The risks of the two files are not defined on these data.")
        return BeforeAfter(table, text, columns)
    below = int(current["below_3"])
    again = int(current.get("below_3_after_recovery", below))
    text = message(
        "{first} re-identifications were expected in the original file, {last} now; "
        "{below} fewer than 3 on {keys} (3 and 5 are the customary limits)",
        first=formatted(first, ".2f"),
        last=formatted(last, ".2f"),
        below=plural(below, "record matches", "records match"),
        keys=", ".join(roles.keys),
    )
    if again != below:
        text += ", " + message(
            "{again} once missing values that follow from the file are filled in",
            again=count(again),
        )
    text += "."
    if uncertain:
        text += " " + message("Keys were post-randomised: the true risk is lower than this number.")
    return BeforeAfter(table, text, columns)


def _linked_text(table: pd.DataFrame, roles: SessionRoles) -> str:
    """Say what whoever knows the amounts of a file without keys finds."""
    names, files = ["record_linkage", "interval_disclosure"], ["original", "current"]
    values = table.reindex(index=names)[files].to_numpy(dtype=float)
    first, last = (float(x) for x in values[0])
    if np.isnan([first, last]).any():
        return message("The risks of the two files are not defined on these data.")
    return message(
        "Whoever knows the true amounts of {names} finds {last} of the records, or has them as the "
        "second nearest ({first} in the original file); {near} lie within 0.01 standard deviations "
        "of the truth in all of them.",
        names=join(roles.numeric),
        first=percent(first, 1),
        last=percent(last, 1),
        near=percent(float(values[1, 1]), 1),
    )


def compare_columns(
    original: pd.DataFrame, current: pd.DataFrame, roles: SessionRoles, changed: int, n_steps: int
) -> BeforeAfter:
    """Put filled cells, categories, means and information loss side by side."""
    listed = [*roles.keys, *roles.numeric, *roles.sensitive, *roles.pram]
    rows: dict[tuple[str, str], tuple[float, float]] = {}
    for name in dict.fromkeys(listed):
        before, after = describe(original[name]), describe(current[name])
        for what in dict.fromkeys([*before, *after]):
            rows[name, what] = (before.get(what, np.nan), after.get(what, np.nan))
    losses = _losses(original, current, roles)
    rows |= {label: (one.info.perfect, one.value) for label, one in losses.items()}
    table = pd.DataFrame(rows, index=["original", "current"]).T
    table.index.names = ["column", "number"]
    text = message(
        "{changed} of {size} cells differ from the original file after {n_steps}.",
        changed=count(changed),
        size=count(current.size),
        n_steps=plural(n_steps, "step"),
    )
    for il1s in (one.value for one in losses.values() if one.info is IL1S):
        names = [n for n in roles.numeric if is_number(current[n])]
        text += " " + message(
            "Values of {name} changed by {x} standard deviations on average (IL1s = {y}; "
            "there is no threshold).",
            name=join(names),
            x=number(2**0.5 * il1s),
            y=number(il1s),
        )
    return BeforeAfter(table, text, {"current": losses})


def risk_measurements(
    original: pd.DataFrame,
    file: pd.DataFrame,
    roles: SessionRoles,
    numbers: Collection[str] | None = None,
    limits: Limits | None = None,
) -> list[Measurement]:
    """Numbers of the risk of a file, by the registry, and what numeric keys give away.

    With `numbers`, measures that give none of them are not run. Values that an intruder fills in
    count where they are right, as in the check of local suppression.
    """
    from riskeval.measures.assess import file_measurements

    numeric = [n for n in roles.numeric if pd.api.types.is_numeric_dtype(file[n].dtype)]
    measured = file_measurements(
        Microdata(
            file, keys=roles.keys, weight=roles.weights, household=roles.household,
            sensitive=roles.sensitive, numeric=() if roles.keys else numeric,
        ),
        kind="perturbed",
        limits=limits or Limits(),
        options={"recovery": recovery_arguments(original, file, roles)},
        numbers=numbers,
    )  # fmt: skip
    if not numeric:
        return measured
    limit = linkage_limit(roles.keys, (limits or Limits()).record_risk)
    return [*measured, *_risk_of_numbers(original, file, numeric, limit)]


def _risk_of_numbers(
    original: pd.DataFrame, file: pd.DataFrame, numeric: list[str], limit: dict[str, Any]
) -> list[Measurement]:
    """Released numbers near the true ones, and records linked by all of them together."""
    from riskeval.measures.interval_disclosure import INTERVAL, interval_disclosure
    from riskeval.measures.linkage.linkage import LINKED, record_linkage

    interval = interval_disclosure(original, file, numeric)
    linkage = record_linkage(original, file, numeric)
    return [
        Measurement(INTERVAL, interval.rate, records=len(file)),
        Measurement(
            LINKED, linkage.expected_rate_two, records=len(file),
            baseline=min(2 * linkage.chance, 1.0), against=message("linking at random"), **limit,
        ),
    ]  # fmt: skip


def recovery_arguments(
    original: pd.DataFrame, file: pd.DataFrame, roles: SessionRoles
) -> dict[str, Any]:
    """Arguments of ``recover`` that the roles of a session know."""
    return {
        "original": in_released_levels(original, file, roles.keys),
        "strata": [name for name in roles.strata if name not in roles.keys],
        "household_variables": list(roles.household_variables),
        "components": roles.argument("components"),
    }


def in_released_levels(
    original: pd.DataFrame, file: pd.DataFrame, names: Sequence[str]
) -> pd.DataFrame:
    """Return the original with recoded columns in the levels of the file.

    A column is recoded when each of its levels stands for one level of the file, wherever the file
    has a value: an intruder who reads back "30-44" is right about somebody of 31.
    """
    truth = original.copy(deep=False)
    for name in names:
        if name not in file or name not in original:
            continue
        (codes, levels), (released, labels) = encode(original[name]), encode(file[name])
        visible = (codes >= 0) & (released >= 0)
        pairs = np.unique(np.column_stack([codes, released])[visible], axis=0)
        if len(pairs) and len(np.unique(pairs[:, 0])) == len(pairs):
            label_of = {levels[code]: labels[label] for code, label in pairs}
            if any(level != label for level, label in label_of.items()):
                texts = [label_of.get(level, level) for level in levels]
                truth[name] = np.array([*texts, None], dtype=object)[codes]
    return truth


def records_below(original: pd.DataFrame, file: pd.DataFrame, roles: SessionRoles, k: int) -> int:
    """Count the records that match fewer than k on the keys once holes are read back."""
    from riskeval.recovery.recover import recover

    result = recover(
        file,
        household=roles.household,
        weights=roles.weights,
        keys=roles.keys,
        k=k,
        suppressed=pd.DataFrame({n: np.full(len(file), n in roles.keys) for n in file}),
        **recovery_arguments(original, file, roles),
    )
    assert result.below is not None  # keys were given
    return result.below[1]


def describe(values: pd.Series) -> dict[str, float]:
    """Count filled and distinct values; mean and deviation of numbers."""
    numbers_of = {"filled": float(values.notna().sum()), "distinct": float(values.nunique())}
    if is_number(values):
        numbers = as_numbers(values)
        if not np.isnan(numbers).all():
            with np.errstate(invalid="ignore", over="ignore"):  # infinite values have no mean
                numbers_of["mean"] = float(np.nanmean(numbers))
                numbers_of["standard deviation"] = float(np.nanstd(numbers))
    return numbers_of


def _losses(
    original: pd.DataFrame, current: pd.DataFrame, roles: SessionRoles
) -> dict[tuple[str, str], Measurement]:
    """Numbers of the registry of utility that sessions show, by what they are about and title."""
    files = UtilityInput(
        original, current, roles.keys, roles.numeric, roles.sensitive, rows=np.arange(len(current))
    )
    return {
        (measure.about, lower(one.info.title)): one
        for measure in UTILITIES.values()
        if measure.session
        for one in attempt(measure.infos, "", partial(measure.run, files))
    }


def individual_risk_of(frame: pd.DataFrame, roles: SessionRoles) -> IndividualRisk:
    """Individual risk of a file by the roles of a session."""
    from riskeval.measures.individual import individual_risk

    return individual_risk(
        frame, list(roles.keys), weights=roles.weights, household=roles.household
    )
