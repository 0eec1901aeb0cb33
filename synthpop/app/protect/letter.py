"""The letter to the disclosure review board: the file, what was done, what speaks against it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from synthpop.app.jobs import JobRequest
from synthpop.app.protect.exports import stem
from synthpop.app.protect.roles import LIMITS
from synthpop.app.protect.session import decision_on, session_of
from synthpop.app.protect.state import ProtectState
from synthpop.app.state import opened
from synthpop.app.texts import said_here, t
from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.messages.language import current_language
from synthpop.microdata.messages.text import count, join, number

if TYPE_CHECKING:
    from riskeval.verdict.verdict import ReleaseVerdict

ROLE_TITLES = {
    "identifiers": "Left out of the file: {names}", "keys": "Known to an intruder: {names}",
    "numeric": "Amounts that others know too: {names}",
    "sensitive": "What nobody should learn: {names}", "household": "Household: {names}",
    "weights": "Weights: {names}",
}  # fmt: skip


def letter(request: JobRequest) -> Any:
    """Write the letter, in the language of the page."""
    state = request.project.protect
    session = session_of(request.workspace, state)
    records, columns = session.current_frame().shape
    text = letter_text(state, session.verdict(state.limits), records, columns)
    name = f"{stem(state)}-letter.txt"
    write_text(request.workspace.target(name), text, private=True)
    return {"file": name, "text": text}


def letter_text(state: ProtectState, judged: ReleaseVerdict, records: int, columns: int) -> str:
    """Return the letter of a file with so many records and columns."""
    source = opened(state.source, "file")
    parts = {
        "The file": [
            t("{name}: {n} records, {m} columns", name=source.name, n=count(records),
              m=count(columns - len(state.roles.identifiers))),
            *([t("Only some of the records of the original were taken.")]
              if state.subset or state.sample is not None else []),
        ],
        "What an intruder may know": list(_roles(state)),
        "What was done to the file": list(_steps(state)),
        "Limits of your office": list(_limits(state)),
        "Verdict": list(_verdict(state, judged)),
        "What this letter does not say": [
            t("The verdict holds for the intruder described above and for the measures that were "
              "tried. Earlier releases of the same survey were not looked at."),
        ],
    }  # fmt: skip
    body = [f"{t(title).upper()}\n" + "\n".join(f"  {line}" for line in lines)
            for title, lines in parts.items()]  # fmt: skip
    return "\n\n".join([
        t("To the disclosure review board"),
        t("Confidential: this letter names the steps of protection; it is no part of the release."),
        *body,
        t("The decision of the board:") + " " + "_" * 40 + "\n\n"
        + t("Date and signature:") + " " + "_" * 40,
    ]) + "\n"  # fmt: skip


def _roles(state: ProtectState) -> Iterator[str]:
    named = state.roles.model_dump(include=set(ROLE_TITLES))
    for role, title in ROLE_TITLES.items():
        names = (named[role],) if isinstance(named[role], str) else named[role]
        if names:
            yield t(title, names=join(names))


def _steps(state: ProtectState) -> Iterator[str]:
    if state.persons is not None:
        yield t("The work is on the household file; steps on the persons are not listed.")
    for place, step in enumerate(state.active, 1):
        said = step.summaries.get(current_language()) or step.summaries.get("en") or step.verb
        yield f"{place}. {' '.join(said.split())}"
    if not state.active:
        yield t("Nothing: the file is as it was read.")


def _limits(state: ProtectState) -> Iterator[str]:
    from riskeval.measures.request import Limits

    customary = Limits()
    for name, title in LIMITS.items():
        value = state.limits.get(name, getattr(customary, name))
        yield f"{t(title)}: {t('no limit') if value is None else number(value)}"


def _verdict(state: ProtectState, judged: ReleaseVerdict) -> Iterator[str]:
    yield said_here(judged.summary())
    decided = decision_on(state)
    if decided is not None:
        told = decided.model_dump(include={"name", "reason"})
        yield t("{name} releases it all the same: {reason}", **told)
    for text in judged.not_tried:
        yield t("Not looked at: {what}", what=said_here(text))
