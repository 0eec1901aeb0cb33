"""The page "Protect": every method of ``riskeval.protect`` with its options and help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from htmltools import Tag, tags

from synthpop.app.elements import ask, button, card, choose, option_fields, sending
from synthpop.app.forms import Form, protection_forms, read_form
from synthpop.app.jobs import Need
from synthpop.app.protect import needs as shown
from synthpop.app.protect import recode
from synthpop.app.view import View

FIRST = "global_recode"


@lru_cache(maxsize=1)
def forms() -> dict[str, Form]:
    """Return the forms of all methods, made once."""
    return protection_forms()


def needs(view: View) -> list[Need]:
    """Return what the page shows."""
    dragged = recode.needs(view) if view.choice("verb", FIRST) == recode.VERB else []
    return [*shown.columns(view), *dragged]


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    verb = view.choice("verb", FIRST)
    form = forms().get(verb, forms()[FIRST])
    return tags.div(
        tags.h1(t("Protect")),
        tags.div(
            tags.nav(
                tags.ul(
                    *[
                        tags.li(
                            button(
                                t(_title(name)), choose(verb=name), key=f"verb-{name}",
                                pressed=name == form.name,
                            )
                        )
                        for name in forms()
                    ]
                ),
                aria_label=t("Methods"), class_="verbs",
            ),
            tags.div(
                recode.render(view) if form.name == recode.VERB else None,
                card(
                t(_title(form.name)),
                tags.p(t(form.help), class_="lead"),
                tags.form(
                    option_fields(form, shown.names(view), t, {}),
                    tags.button(
                        t("Apply"), type="submit", class_="button first", id="apply-step",
                        aria_disabled="true" if "protect.apply" in view.busy else None,
                    ),
                    data_send=sending({"action": "apply", "verb": form.name}),
                    id=f"form-{form.name}",
                ),
                ),
            ),
            class_="two",
        ),
    )  # fmt: skip


def _title(verb: str) -> str:
    return verb.replace("_", " ").capitalize()


def apply(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that runs a method with the entries of its form."""
    verb = message["verb"]
    arguments = read_form(forms()[verb], message.get("entries", {}))
    return [ask("protect.apply", verb=verb, arguments=arguments)]
