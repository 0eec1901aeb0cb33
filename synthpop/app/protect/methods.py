"""The page "Protect": every method of ``riskeval.protect`` with its options and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from htmltools import Tag, tags

from synthpop.app.elements import ask, button, card, choose, form, menu, option_fields, sending
from synthpop.app.forms import Form, first_entries, protection_forms, read_form
from synthpop.app.jobs import Need
from synthpop.app.picks import Rows, shown_rows
from synthpop.app.protect import limits, recode, trial
from synthpop.app.protect import needs as shown
from synthpop.app.view import View
from synthpop.microdata.messages.errors import InputError

FIRST = "global_recode"
IN_FILES = "merge_household_file"  # the household file has a place of its own


@cache
def forms() -> dict[str, Form]:
    """Return the forms of the methods that work on the file."""
    return {name: form for name, form in protection_forms().items() if name != IN_FILES}


def needs(view: View) -> list[Need]:
    """Return what the page shows."""
    verb = view.choice("verb", FIRST)
    dragged = recode.needs(view) if verb == recode.VERB else []
    dragged += limits.needs(view) if verb == limits.VERB else []
    return [*shown.columns(view), *dragged, *trial.needs(view, verb, _arguments(view, verb))]


def _arguments(view: View, verb: str) -> dict[str, Any] | None:
    """Return what the form holds at present; None where it cannot be applied."""
    if verb == recode.VERB:
        return recode.arguments_of(view)
    tried, method = view.choice("try", {}), forms()[verb]
    entries = tried.get("entries", {}) if tried.get("verb") == verb else first_entries(method)
    try:
        return read_form(method, entries)
    except InputError:
        return None


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    method = _without_roles(view, forms().get(view.choice("verb", FIRST), forms()[FIRST]))
    buttons = [
        button(t(one.title), choose(verb=name), key=f"verb-{name}", pressed=name == method.name)
        for name, one in forms().items()
    ]
    options = form(
        {"action": "apply", "verb": method.name}, t("Apply"),
        option_fields(method, view.column_names(), t, {}, _rows(view, method)),
        limits.render(view) if method.name == limits.VERB else None,
        kind="first", key="apply-step", busy="protect.apply" in view.busy,
        id=f"form-{method.name}", data_try=sending({"action": "try", "verb": method.name}),
    )  # fmt: skip
    lead = tags.p(t(method.help), class_="lead")
    # below the button: what comes in while it is pressed does not move it
    effect = trial.render(view, method.name, _arguments(view, method.name))
    if method.name == recode.VERB:
        content = recode.render(view, lead, effect)
    else:
        content = card(t(method.title), lead, options, effect)
    return tags.div(
        tags.h1(t("Protect")), tags.div(menu(t("Methods"), buttons), content, class_="two")
    )


def _without_roles(view: View, method: Form) -> Form:
    """Return the form with entries in sight that no role of the file fills."""
    roles = view.project.protect.roles.model_dump()
    options = tuple(
        replace(one, main=one.main or (one.needed and not roles.get(one.from_role, True)))
        for one in method.options
    )
    return replace(method, options=options)


def _rows(view: View, method: Form) -> dict[str, Rows]:
    """Return the names that get a value in the entries that are picked."""
    roles = view.project.protect.roles
    return {
        one.name: shown_rows(one.name, roles.keys, roles.sensitive, view.t)
        for one in method.options
        if one.kind == "picks"
    }


def apply(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that runs a method with the entries of its form."""
    verb = message["verb"]
    arguments = read_form(forms()[verb], message.get("entries", {}))
    return [ask("protect.apply", verb=verb, arguments=arguments)]


def attempt(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the choice of what the form holds now, so that its effect is shown."""
    return [choose(**{"try": {"verb": message["verb"], "entries": message.get("entries", {})}})]
