"""What an intruder reads back of values that a verb removed, and what is removed instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from riskeval.protection.household.layer import Households
from riskeval.protection.suppression.attack_back import Attack, suppress_under_attack
from riskeval.protection.suppression.plan import SuppressionPlan
from riskeval.protection.suppression.suppress import SuppressionJob, withstanding_notes
from riskeval.protection.targets import Constraints
from riskeval.recovery.recover import recover
from riskeval.recovery.result import Recovery, read_back_text, with_values
from synthpop.microdata.frame.codes import encode_keys
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, plural


def read_back(
    frame: pd.DataFrame, released: pd.DataFrame, names: Sequence[str], homes: Households, k: int
) -> tuple[Recovery, list[str]]:
    """Attack the values that are missing now, by other members, rows, columns and order."""
    hidden = {n: (released[n].isna() & frame[n].notna()).to_numpy() for n in names}
    recovery = recover(
        released,
        household=homes.column,
        original=frame,
        suppressed=pd.DataFrame(hidden),
        household_variables=homes.variables,
        keys=names,
        k=k,
    )
    if not recovery.n_right:
        return recovery, []
    below = records_below(recovery)
    hint = "drop what tells them, or give hierarchies with coarser values"
    hint = f": {hint if homes.column else 'give household, or ' + hint}" if below else ""
    return recovery, [
        f"But {read_back_text(recovery, 'missing value')}, and then "
        f"{plural(below, 'record matches', 'records match')} fewer than {k}{hint}."
    ]


def records_below(recovery: Recovery) -> int:
    """Records below k once what can be read back is filled in."""
    assert recovery.below is not None  # keys were given
    return recovery.below[1]


def known_codes(
    released: pd.DataFrame, names: Sequence[str], recovery: Recovery | None = None
) -> np.ndarray:
    """Codes of keys with what can be read back filled in, integers (n, m), -1 missing."""
    if recovery is not None and recovery.n_right:
        released = with_values(released, recovery.cells[recovery.cells["right"]])
    return encode_keys(released, list(names)).codes


def withstanding(
    frame: pd.DataFrame,
    released: pd.DataFrame,
    names: Sequence[str],
    homes: Households,
    k: int,
    constraints: Constraints,
) -> tuple[pd.DataFrame, Recovery, list[str]]:
    """Attack what a verb removed, and repair it as local suppression does where records are rare.

    Values that can be read back are shown again, other keys become missing instead, until every
    record matches at least k after the attack or nothing more helps; a missing value matches all.
    """
    recovery, notes = read_back(frame, released, names, homes, k)
    fails = recovery.n_right and constraints.any_failing(known_codes(released, names, recovery))
    if not recovery.n_right or not (records_below(recovery) or np.any(fails)):
        return released, recovery, notes
    # 1. the file without holes, in the levels of the release
    filled = released
    for name in names:
        holes = np.flatnonzero((released[name].isna() & frame[name].notna()).to_numpy())
        values = frame[name].iloc[holes].tolist()
        recoded = released[name].dtype != frame[name].dtype
        if recoded and not pd.api.types.is_numeric_dtype(released[name].dtype):
            values = [str(value) for value in values]
        column = pd.Series(values, dtype=object)
        cells = pd.DataFrame({"row": holes, "column": name, "value": column})
        filled = with_values(filled, cells)
    codes = encode_keys(filled, list(names)).codes
    holes = np.column_stack([released[name].isna().to_numpy() for name in names])
    # 2. suppression that withstands the attack, from what is missing already
    plan = SuppressionPlan(list(names), k, household=homes.column)
    attack = Attack(filled, homes, plan)
    strata = np.zeros(len(codes), dtype=np.int64)
    shown = replace(constraints, missing="visible")  # no hole counts in favour of anybody
    job = SuppressionJob(plan, np.zeros(len(names)), strata, shown)
    start = np.where(holes, -1, codes)
    outcome = suppress_under_attack(codes, start, attack, job.suppress, job.short)
    hidden = (outcome.codes < 0) & (codes >= 0)
    # 3. say what was done, and what holds
    below = int(job.short(outcome.believed).sum())
    who = (
        message("all records but {below} match", below=count(below))
        if below
        else message("every record matches")
    )
    text = message(
        "Since {recovery}, {n} became missing and {shown_again} are shown again; {who} "
        "at least {k} now, where a missing value matches all.",
        recovery=read_back_text(recovery, "missing value"),
        n=plural(int((hidden & ~holes).sum()), "further value"),
        shown_again=count(int((holes & ~hidden & (codes >= 0)).sum())),
        who=who,
        k=k,
    )
    return outcome.released, outcome.recovery, [text, *withstanding_notes(outcome, below)]
