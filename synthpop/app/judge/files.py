"""The page "Files": the original, the releases and persons who were not in the original."""

from __future__ import annotations

from htmltools import Tag, TagChild, tags

from synthpop.app.elements import button, card, command, pending, select, upload
from synthpop.app.judge import needs as shown
from synthpop.app.protect.data import FORMATS
from synthpop.app.view import View
from synthpop.microdata.messages.text import count

KINDS = {
    "found": "found from the records",
    "perturbed": "changed records of the original",
    "synthetic": "synthetic records",
}


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.judge
    return tags.div(
        tags.h1(t("Files")),
        card(
            t("The original"),
            tags.p(state.original.name) if state.original is not None else None,
            upload("original-file", t("Confidential file"), command("judge.open_original"),
                   FORMATS),
        ),
        card(
            t("Releases to judge"),
            *_releases(view),
            upload("release-file", t("Synthetic or protected file"), command("judge.add_release"),
                   FORMATS),
        ),
        card(
            t("Persons who were not in the original"),
            tags.p(
                t("With such a hold-out the attacks tell what the release gives away of those who "
                  "took part. It may be left out."),
                class_="help",
            ),
            tags.div(
                tags.p(state.holdout.name),
                button(t("Remove"), command("judge.remove_holdout"), kind="small"),
            ) if state.holdout is not None else None,
            upload("holdout-file", t("Hold-out file"), command("judge.open_holdout"), FORMATS),
        ),
        _described(view),
    )  # fmt: skip


def _releases(view: View) -> list[TagChild]:
    t = view.t
    pairs = [(kind, t(text)) for kind, text in KINDS.items()]
    return [
        tags.div(
            select(
                f"kind-{place}", release.source.name, pairs, release.kind,
                message=command("judge.set_kind", place=place), argument="kind",
            ),
            button(t("Remove"), command("judge.remove_release", place=place), kind="small",
                   key=f"remove-release-{place}", label=f"{t('Remove')} {release.source.name}"),
            class_="row",
        )
        for place, release in enumerate(view.project.judge.releases)
    ]  # fmt: skip


def _described(view: View) -> Tag | None:
    t = view.t
    if view.project.judge.original is None:
        return None
    described = view.value("judge.columns", shown.files_stamp(view.project))
    if described is None:
        inner = pending(view, "judge.columns", t("Reading the files"))
        return card(t("What the files hold"), inner)
    names = [one["name"] for one in described["columns"]]
    text = t("Original: {n} records, {m} columns", n=count(described["records"]), m=len(names))
    lines = [tags.li(text)]
    for one in described["releases"]:
        missing_names = [name for name in names if name not in one["columns"]]
        text = t("{name}: {n} records", name=one["label"], n=count(one["records"]))
        if missing_names:
            text += "; " + t("without {names}", names=", ".join(missing_names[:12]))
        lines.append(tags.li(text))
    return card(t("What the files hold"), tags.ul(*lines))
