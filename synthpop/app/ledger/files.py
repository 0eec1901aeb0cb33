"""The page "Files": the register and the file that is to go out."""

from __future__ import annotations

from typing import Any

from htmltools import Tag, TagChild, tags

from synthpop.app.elements import card, command, entry, pending, select, sentence, table, upload
from synthpop.app.ledger import needs as shown
from synthpop.app.protect.data import FORMATS
from synthpop.app.view import View

TEXTS = {
    "number": "No.", "date": "Date", "name": "Name", "recipients": "Recipients",
    "wave": "Time of the data", "records": "Records", "verdict": "Verdict",
    "despite": "Reason to release it all the same", "release": "Release",
    "linked": "Linked records", "right": "Share that is no chance", "by": "Linked by",
    "through": "Through",
}  # fmt: skip
KINDS = {"protected": "records of the survey", "synthetic": "synthetic records"}


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.ledger
    kinds = [(kind, t(text)) for kind, text in KINDS.items()]
    return tags.div(
        tags.h1(t("Files")),
        card(
            t("The ledger"),
            tags.p(
                t("A private folder that remembers what went out of a survey, one for each survey. "
                  "It holds the released records: keep it as confidential as they are."),
                class_="lead",
            ),
            entry("ledger-folder", t("Folder of the ledger"), state.folder,
                  message=command("ledger.choose_folder"), argument="folder",
                  help_text=t("The whole path on this machine, such as ~/survey-ledger. It is made "
                              "when the first release is recorded.")),
            *listed(view),
        ),
        card(
            t("The file that is to go out"),
            tags.p(state.release.name) if state.release is not None else None,
            upload("ledger-file", t("The file as it leaves"), command("ledger.open_release"),
                   FORMATS),
            select("ledger-kind", t("Its records"), kinds, state.kind,
                   message=command("ledger.set_kind"), argument="kind"),
        ),
    )  # fmt: skip


def listed(view: View) -> list[TagChild]:
    """Return what went out so far."""
    t = view.t
    if not view.project.ledger.folder:
        return []
    known = view.value("ledger.releases", shown.ledger_stamp(view.project))
    if known is None:
        return [pending(view, "ledger.releases", t("Reading the ledger"), retry=t("Try again"))]
    lines = [sentence(text) for text in known["texts"]]
    tables = [headed(view, one) for one in known["tables"] if one["rows"]]
    return [*lines, *(table(one, t("Releases so far")) for one in tables)]


def headed(view: View, one: dict[str, Any]) -> dict[str, Any]:
    """Return a table with heads in the language of the page."""
    return {**one, "head": [view.t(TEXTS[name]) for name in one["head"]]}
