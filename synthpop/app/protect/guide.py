"""A public-use file in eight questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from htmltools import Tag, tags

from synthpop.app import elements as ui
from synthpop.app.guide import GuideQuestion
from synthpop.app.protect import needs
from synthpop.app.protect.session import decision_on, release_stamp
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.text import count, join

TITLES = {
    5: "Everybody: a public-use file (each record like 5)",
    3: "Researchers under contract: a scientific-use file (each record like 3)",
}


def _file(view: View) -> str:
    source, described = view.project.protect.source, view.value("protect.columns")
    if source is None:
        return ""
    return source.name if described is None else view.t(
        "{name}: {n} records", name=source.name, n=count(described["records"])
    )  # fmt: skip


def _users(view: View) -> Tag:
    k = view.project.protect.k
    buttons = [
        ui.button(view.t(text), ui.command("protect.set_k", k=one), key=f"guide-k-{one}",
                  pressed=one == k)
        for one, text in TITLES.items()
    ]  # fmt: skip
    return tags.div(*buttons)


def _who(view: View) -> str:
    k = view.project.protect.k
    if not needs.has_file(view.project):
        return ""
    return view.t(TITLES[k]) if k in TITLES else view.t("each record like {k}", k=k)


def _columns(*roles: str) -> Callable[[View], str]:
    """Return the columns that have one of the roles, in words."""

    def decided(view: View) -> str:
        found = [getattr(view.project.protect.roles, role) for role in roles]
        return str(
            join([n for one in found for n in ((one,) if isinstance(one, str) else one or ())])
        )

    return decided


def _choice(*roles: str) -> Callable[[View], Tag]:
    """Return a form of boxes for each of some roles; suggested columns are ticked at first."""

    def ask(view: View) -> Tag:
        t, names = view.t, view.column_names()
        suggested = (view.value("protect.suggest") or {}).get("columns", {})
        if not names or not suggested:
            return ui.pending(view, "protect.suggest", t("Looking for roles"))
        fields = []
        for role in roles:
            present = getattr(view.project.protect.roles, role)
            chosen = [present] if isinstance(present, str) else list(present or ())
            chosen = chosen or [name for name in names if suggested[name]["role"] == role]
            title = t(ROLE_TITLES[role])
            if role in ("household", "weights"):
                first = chosen[0] if chosen else ""
                fields.append(ui.select(f"guide-{role}", title, ui.named(names), first, name=role))
                continue
            fields.append(ui.checks(f"guide-{role}", title, names, chosen, role))
            why = [t("{name}: {why}", name=n, why=said_here(suggested[n]["why"])) for n in chosen]
            fields.append(tags.ul(*[tags.li(text) for text in why], class_="help"))
        message = {"action": "guide_roles", "roles": list(roles)}
        return ui.form(message, t("Decide and go on"), *fields, kind="first", key="guide-decide")

    return ask


ROLE_TITLES = {
    "identifiers": "Columns that name a person or an address", "keys": "Known to an intruder",
    "numeric": "Amounts that others know too", "sensitive": "What nobody should learn",
    "household": "Household", "weights": "Weights",
}  # fmt: skip


def set_roles(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the commands for the roles of a question, and for the next one."""
    roles, entries = view.project.protect.roles, message.get("entries", {})
    changes: dict[str, str] = {}
    for role in message["roles"]:
        entry = entries.get(role) or []
        chosen = [entry] if isinstance(entry, str) else list(entry)
        for name in view.column_names():
            if name in chosen:
                changes[name] = role
            elif roles.of(name) == role and changes.get(name) is None:
                changes[name] = ""
    changes = {name: role for name, role in changes.items() if roles.of(name) != role}
    place = int(view.choice("guide-protect", 0))
    go_on = ui.choose(**{"guide-protect": place + 1})
    return [*([ui.command("protect.set_roles", roles=changes)] if changes else []), go_on]


def _plan(view: View) -> str:
    from riskeval.protection.registry import VERBS

    return str(join([view.t(VERBS[step.verb].title) for step in view.project.protect.active]))


def _verdict(view: View) -> str:
    state = view.project.protect
    judged = view.value("protect.verdict", release_stamp(state))
    if judged is None:
        return ""
    decided = decision_on(state)
    told = said_here(judged["sentence"])
    return told if decided is None else f"{told} {decided.name}: {decided.reason}"


QUESTIONS = (
    GuideQuestion(
        "Which file is to be released?",
        "Everything is computed on this machine; the file itself is never changed.",
        "data", _file,
    ),
    GuideQuestion(
        "Who may use it?",
        "The freer the access, the more records must look alike: 5 is customary for public files, "
        "3 for files under contract.",
        "roles", _who, _users, needs.columns,
    ),
    GuideQuestion(
        "Which columns name a person directly?",
        "Names, addresses and numbers of persons never leave the office: they are left out of "
        "the file.",
        "roles", _columns("identifiers"), _choice("identifiers"), needs.roles,
        decides=True,
    ),
    GuideQuestion(
        "What may an intruder know about a person?",
        "Age, sex, place and the like are known to neighbours and colleagues, or stand in "
        "registers: the risk is counted on these columns together.",
        "roles", _columns("keys"), _choice("keys"), needs.roles,
        decides=True,
    ),
    GuideQuestion(
        "Who lives together, and whom does a record stand for?",
        "Members of a household give each other away; weights tell how many persons of the "
        "population look like a record.",
        "roles", _columns("household", "weights"), _choice("household", "weights"), needs.roles,
        decides=True,
    ),
    GuideQuestion(
        "Which values are confidential?",
        "Amounts that others know too are masked; what nobody should learn is watched for groups "
        "in which all have the same value.",
        "roles", _columns("numeric", "sensitive"), _choice("numeric", "sensitive"), needs.roles,
        decides=True,
    ),
    GuideQuestion(
        "How much may be lost?",
        "Plans of recodings, suppressions and masking are carried out, attacked and measured; take "
        "the one that loses least within your limits.",
        "search", _plan,
    ),
    GuideQuestion(
        "May it go out?",
        "The verdict names what speaks against the file. With it go the report for your board and "
        "the script that repeats every step.",
        "release", _verdict,
    ),
)  # fmt: skip
