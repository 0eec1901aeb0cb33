"""Recoding by dragging: categories as chips, moved into groups by mouse or by selection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList, tags

from synthpop.app.elements import ask, button, card, choose, entry, named, pending, select
from synthpop.app.jobs import JobRequest, Need
from synthpop.app.protect.session import session_of, steps_stamp
from synthpop.app.view import View
from synthpop.microdata.messages.text import count

VERB = "group_categories"
MOST_LEVELS = 80


def needs(view: View) -> list[Need]:
    """Return the levels of the chosen column."""
    column = view.choice("recode", "")
    if not column:
        return []
    stamp = steps_stamp(view.project.protect) + json.dumps(column)
    return [Need("protect.levels", stamp, {"column": column}, kept=True)]


def groups_of(view: View) -> dict[str, str]:
    """Return the group of each level that was moved, for the chosen column."""
    moves = view.choice("recode-groups", {})
    return dict(moves.get("groups", {})) if moves.get("column") == view.choice("recode") else {}


def arguments_of(view: View) -> dict[str, Any] | None:
    """Return column and groups, categories as texts; None while none was moved."""
    groups: dict[str, list[str]] = {}
    for level, group in groups_of(view).items():
        groups.setdefault(group, []).append(level)
    return {"column": view.choice("recode"), "groups": groups} if groups else None


def render(view: View, lead: Tag, effect: Tag) -> Tag:
    """Return the part of the page where categories are dragged into groups, and the effect."""
    t, column = view.t, view.choice("recode", "")
    pairs = named(view.column_names())
    return card(
        t("Drag categories into groups"),
        lead,
        select("recode-column", t("Column"), pairs, column, message=choose(), argument="recode"),
        _groups(view, effect) if column else None,
    )


def _groups(view: View, effect: Tag) -> Tag | TagList:
    t = view.t
    levels = view.value("protect.levels", needs(view)[0].stamp)
    if levels is None:
        return pending(view, "protect.levels", t("Reading the file"))
    moved = groups_of(view)
    groups = list(dict.fromkeys([*view.choice("recode-new", []), *moved.values()]))
    boxes: list[TagChild] = [_box(view, "", t("As they are"), levels, moved, groups)]
    boxes += [_box(view, group, group, levels, moved, groups) for group in groups]
    return tags.div(
        entry("recode-group", t("New group"), "", message={"action": "new_group"},
              argument="group", data_clear="",
              help_text=t("Type a name and press Enter; then drag or select.")),
        tags.div(*boxes, class_="groups"),
        button(t("Apply"), {"action": "recode"}, kind="first", key="apply-groups",
               disabled=not moved),
        effect,
        class_="inner",
    )  # fmt: skip


def _box(
    view: View, group: str, title: str, levels: list[list[Any]], moved: Mapping[str, str],
    groups: list[str],
) -> Tag:  # fmt: skip
    t = view.t
    pairs = [("", t("As they are")), *((name, name) for name in groups)]
    chips = [
        tags.li(
            tags.span(f"{level} ({count(records)})", draggable="true", data_level=level,
                      class_="chip"),
            select(
                f"move-{place}", t("Group of {name}", name=level), pairs, group,
                message={"action": "move_level", "level": level}, argument="group",
                hidden_label=True,
            ) if groups else None,
        )
        for place, (level, records) in enumerate(levels)
        if moved.get(level, "") == group
    ]  # fmt: skip
    return tags.section(
        tags.h3(title),
        tags.ul(*chips, class_="levels"),
        class_="group",
        data_group=group,
        data_drop=json.dumps({"action": "move_level"}),
    )


def new_group(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the choice of one more group."""
    name = str(message["arguments"]["group"]).strip()
    groups = view.choice("recode-new", [])
    return [choose(**{"recode-new": [*groups, name]})] if name and name not in groups else []


def move_level(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the choice with a level in another group; "" leaves it as it is."""
    group = message.get("group", message.get("arguments", {}).get("group", ""))
    moved = {level: name for level, name in groups_of(view).items() if level != message["level"]}
    if group:
        moved[str(message["level"])] = str(group)
    return [choose(**{"recode-groups": {"column": view.choice("recode"), "groups": moved}})]


def recode(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that joins the categories."""
    return [
        ask("protect.apply", verb=VERB, arguments=arguments_of(view)),
        choose(**{"recode-groups": {}, "recode-new": []}),
    ]


def levels(request: JobRequest) -> Any:
    """Return the levels of a column of the current file, with their records."""
    session = session_of(request.workspace, request.project.protect)
    counts = session.data[request.arguments["column"]].value_counts().sort_index()
    return [[str(level), int(records)] for level, records in counts.items()][:MOST_LEVELS]
