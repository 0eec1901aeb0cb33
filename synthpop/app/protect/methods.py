"""The page "Protect": every method of ``riskeval.protect`` with its options and help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from htmltools import Tag, tags

from synthpop.app.elements import ask, button, card, choose, form, menu, option_fields
from synthpop.app.forms import protection_forms, read_form
from synthpop.app.jobs import Need
from synthpop.app.protect import needs as shown
from synthpop.app.protect import recode
from synthpop.app.view import View

FIRST = "global_recode"
forms = cache(protection_forms)


def needs(view: View) -> list[Need]:
    """Return what the page shows."""
    dragged = recode.needs(view) if view.choice("verb", FIRST) == recode.VERB else []
    return [*shown.columns(view), *dragged]


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    method = forms().get(view.choice("verb", FIRST), forms()[FIRST])
    buttons = [
        button(t(one.title), choose(verb=name), key=f"verb-{name}", pressed=name == method.name)
        for name, one in forms().items()
    ]
    options = form(
        {"action": "apply", "verb": method.name}, t("Apply"),
        option_fields(method, view.column_names(), t, {}),
        kind="first", key="apply-step", busy="protect.apply" in view.busy,
        id=f"form-{method.name}",
    )  # fmt: skip
    content = tags.div(
        recode.render(view) if method.name == recode.VERB else None,
        card(t(method.title), tags.p(t(method.help), class_="lead"), options),
    )
    return tags.div(
        tags.h1(t("Protect")), tags.div(menu(t("Methods"), buttons), content, class_="two")
    )


def apply(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that runs a method with the entries of its form."""
    verb = message["verb"]
    arguments = read_form(forms()[verb], message.get("entries", {}))
    return [ask("protect.apply", verb=verb, arguments=arguments)]
