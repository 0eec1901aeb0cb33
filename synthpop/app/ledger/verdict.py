"""The page "Verdict": what the file tells together with earlier ones; record it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from htmltools import Tag, tags

from synthpop.app import elements as ui
from synthpop.app.ledger.files import headed, listed
from synthpop.app.ledger.jobs import stamp_of
from synthpop.app.ledger.needs import is_recorded
from synthpop.app.texts import said_here
from synthpop.app.view import View


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.ledger
    if is_recorded(view.project):
        text = t("The file is recorded. Open the next one on the page Files.")
        return tags.div(
            tags.h1(t("Verdict")), ui.card(t("The ledger"), tags.p(text), *listed(view))
        )
    judged = view.value("ledger.check", stamp_of(state))
    return tags.div(
        tags.h1(t("Verdict")),
        ui.card(
            t("The question"),
            tags.div(
                ui.entry("ledger-k", t("Records that must share their keys"), state.k,
                         kind="number", min="2", step="1",
                         message=ui.command("ledger.set_question"), argument="k"),
                ui.entry("ledger-wave", t("Time of the data"), state.wave,
                         message=ui.command("ledger.set_question"), argument="wave",
                         help_text=t("Values of another time, such as 2026, are no noise.")),
                class_="fields",
            ),
        ),
        _together(view, judged),
        _record(view, judged) if judged is not None else None,
        ui.card(t("The ledger"), *listed(view)),
    )  # fmt: skip


def _together(view: View, judged: dict[str, Any] | None) -> Tag:
    t, title = view.t, view.t("Together with all earlier releases")
    if judged is None:
        text = t("Laying the file beside all earlier ones")
        return ui.card(title, ui.pending(view, "ledger.check", text, retry=t("Try again")))
    parts: list[Any] = [ui.sentence(judged["text"], class_="fault" if judged["fatal"] else "lead")]
    if judged["found"]:
        parts.append(tags.ul(*(tags.li(said_here(text)) for text in judged["found"])))
    if judged["links"]["rows"]:
        parts.append(ui.table(headed(view, judged["links"]), t("Records that were linked")))
    if judged["not_tried"]:
        items = [tags.li(said_here(text)) for text in judged["not_tried"]]
        parts.append(ui.more(t("Not looked at ({n})", n=len(items)), tags.ul(*items)))
    if judged["found"] and view.project.ledger.kind == "protected":
        parts.append(ui.button(t("Write a file that tells nothing more"),
                               ui.ask("ledger.consistent"), key="consistent"))  # fmt: skip
    return ui.card(title, *parts)


def _record(view: View, judged: dict[str, Any]) -> Tag:
    t, release = view.t, view.project.ledger.release
    name = "" if release is None else Path(release.name).stem
    fields = [
        ui.entry("release-name", t("Name of the release"), name, name="name", required=""),
        ui.entry("release-recipients", t("Who gets it"), name="recipients", required=""),
        ui.entry("release-recodings", t("What was done to it"), name="recodings",
                 help_text=t("Several are separated by ;")),
    ]  # fmt: skip
    if judged["fatal"]:
        fields.append(ui.entry("release-despite", t("Why it goes out all the same"), name="despite",
                               required=""))  # fmt: skip
    return ui.card(
        t("Record that it goes out"),
        ui.form({"action": "record"}, t("Record the release"), tags.div(*fields, class_="fields"),
                kind="first", key="record"),
    )  # fmt: skip


def record(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that records the file."""
    entries = message.get("entries", {})
    names = ("name", "recipients", "recodings", "despite")
    return [ui.ask("ledger.record", **{name: entries.get(name, "") for name in names})]
