"""Columns with their roles and reasons, for every journey that asks for roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from htmltools import Tag, tags

from synthpop.app import elements as ui
from synthpop.app.jobs import Need
from synthpop.app.sparks import spark_bars
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.text import count


def roles_page(
    view: View, needs: list[Need], titles: Mapping[str, str], lead: str, reading: str, *more: Tag
) -> Tag:
    """Return the page of the roles of a file: suggestions and the table.

    needs: for the columns and for the suggested roles
    reading: what is done until the columns are known
    """
    t, journey = view.t, view.project.journey
    columns, suggest = needs
    described, suggested = (view.value(need.job, need.stamp) for need in needs)
    if described is None:
        return tags.div(tags.h1(t("Roles")), ui.pending(view, columns.job, reading))
    if suggested is None:
        reasons, suggestion = {}, [ui.pending(view, suggest.job, t("Looking for roles"))]
    else:
        text = t("Take the suggestions")
        take = ui.button(text, {"action": "roles"}, kind="first", key="take-roles")
        reasons, suggestion = suggested["columns"], [ui.sentence(suggested["text"]), take]
    role_of = getattr(view.project, journey).roles.of
    return tags.div(
        tags.h1(t("Roles")),
        tags.p(lead, class_="lead"),
        ui.card(t("Suggested from the data"), *suggestion),
        role_table(view, described, reasons, role_of, titles, f"{journey}.set_role"),
        *more,
    )


def role_table(
    view: View,
    described: Mapping[str, Any],
    reasons: Mapping[str, Any],
    role_of: Callable[[str], str],
    titles: Mapping[str, str],
    name: str,
) -> Tag:
    """Return one row per column: its role to choose, what it holds, and why a role is suggested.

    described: what ``describe_columns`` returns; name: command that gives a column its role
    """
    t = view.t
    pairs = [(role, t(title)) for role, title in titles.items()]
    rows = []
    for place, one in enumerate(described["columns"]):
        column, role = one["name"], role_of(one["name"])
        rows.append(
            tags.tr(
                tags.th(
                    column, tags.span(one.get("meaning", {}).get("label", ""), class_="label"),
                    scope="row",
                ),
                tags.td(
                    ui.select(
                        f"role-{place}", t("Role of {name}", name=column), pairs, role,
                        message=ui.command(name, column=column), argument="role", hidden_label=True,
                    )
                ),
                tags.td(t(one["type"])),
                tags.td(spark_bars(one["spread"])),
                tags.td(count(one["distinct"]), class_="number"),
                tags.td(said_here(reasons.get(column, {}).get("why", ""))),
                class_=f"role-{role}" if role else None,
            )
        )  # fmt: skip
    title = t("Columns and their roles")
    names = [t("Column"), t("Role"), t("Type"), t("Values"), t("Distinct"),
             t("Why it is suggested")]  # fmt: skip
    return ui.card(title, ui.framed_table(title, names, rows, hidden_caption=True))


def take_suggestions(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the command that gives every column the role that was suggested."""
    journey = view.project.journey
    suggested = view.value(f"{journey}.suggest")
    if suggested is None:
        return []
    roles = {name: suggestion["role"] for name, suggestion in suggested["columns"].items()}
    return [ui.command(f"{journey}.set_roles", roles=roles)]
