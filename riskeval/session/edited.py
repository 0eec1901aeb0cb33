"""A file that was edited elsewhere, as a step of a session: kept whole, with a note."""

from __future__ import annotations

import base64
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.result import Protected, changed_cells, protected
from riskeval.session.roles import SessionRoles
from riskeval.session.steps import CONTENT, Step
from synthpop.microdata.formats.files import to_parquet
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import Faults, InputError, OutputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import join

EDITED = "replace"
"""Name of the step; it is no verb of ``riskeval.protect``."""
ALIKE = 0.5
"""Share of the cells that stay where an edited file is about the same records."""


def edited_step(current: pd.DataFrame, roles: SessionRoles, frame: Any, note: str) -> Step:
    """Return the step that puts a frame in the place of the current file; checked."""
    faults = Faults("ProtectionSession.replace")
    if not isinstance(note, str) or not note.strip():
        hint = "Say what was done: the report and the script show it."
        faults.add("note", f"is {note!r}", hint=hint)
    edited = frame if isinstance(frame, pd.DataFrame) else as_frame(frame, "frame")
    named = (*roles.keys, *roles.numeric, *roles.sensitive, *roles.pram, *roles.strata,
             roles.weights, roles.household)  # fmt: skip
    absent = [name for name in dict.fromkeys(named) if name is not None and name not in edited]
    if absent:
        faults.add("frame", f"lacks {join(absent)}", hint="They have a role in the session.")
    for name in (*roles.numeric, roles.weights):
        if name in edited and is_number(current[name]) and not is_number(edited[name]):
            faults.add("frame", f"{name} holds no numbers any more")
    rows = rows_of(current, edited)
    if rows is None:
        what = "has records that the current file does not have"
        faults.add("frame", what, hint="Keep the index of session.data: it tells the records.")
    faults.raise_if_any()
    assert rows is not None
    buffer = BytesIO()
    try:  # in the order of the current file, beside which it is measured record by record
        to_parquet(edited.iloc[np.argsort(rows)], buffer, "the edited file")
    except OutputError as error:
        raise InputError.of(faults.subject, "frame", f"cannot be kept: {error}") from error
    content = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Step(EDITED, {"note": note.strip(), CONTENT: content})


def rows_of(current: pd.DataFrame, edited: pd.DataFrame) -> np.ndarray | None:
    """Positions in the current file of the records of an edited one; None where it has others."""
    rows = np.arange(len(edited))
    if not edited.index.equals(current.index):
        plain = len(edited) == len(current) and edited.index.equals(pd.RangeIndex(len(edited)))
        if not plain and current.index.is_unique and edited.index.is_unique:
            rows = current.index.get_indexer(edited.index).astype(np.int64)
        elif not plain:
            return None
    if not len(rows) or (rows < 0).any():
        return None
    before = current.iloc[rows]
    shared = [name for name in edited if name in current]
    alike = [1 - changed_cells(before[name], edited[name]).mean() for name in shared]
    return rows if not alike or np.mean(alike) >= ALIKE else None  # labels of other records


def run_edited(step: Step, current: pd.DataFrame) -> Protected:
    """Put the kept file in the place of the current one, and count what differs."""
    edited = pd.read_parquet(BytesIO(base64.b64decode(step.parameters[CONTENT])))
    rows = rows_of(current, edited)
    if rows is None:
        what, hint = "is about other records than the steps before leave", "Edit the file anew."
        raise InputError.of("ProtectionSession.replace", "frame", what, hint)
    note = message(
        "Edited elsewhere, not repeatable by itself: {note}", note=step.parameters["note"]
    )
    before = current.iloc[rows]
    names = [
        str(name) for name in edited if name in before and not edited[name].equals(before[name])
    ]
    result = protected(
        before, edited, names, method=EDITED, parameters={"note": step.parameters["note"]},
        notes=[note], details={"rows": rows},
    )  # fmt: skip
    return replace(
        result, n_records=len(current), records_dropped=len(current) - len(rows), data=edited
    )
