"""The page "Roles": which column is what, suggested from the data with the reason."""

from __future__ import annotations

from htmltools import Tag, tags

from synthpop.app.elements import card, command, entry
from synthpop.app.protect.needs import roles
from synthpop.app.role_table import roles_page
from synthpop.app.view import View

TITLES = {
    "": "no role",
    "keys": "key variable",
    "numeric": "numeric key",
    "weights": "weights",
    "household": "household",
    "sensitive": "sensitive",
    "strata": "strata",
    "pram": "to post-randomise",
    "household_variables": "household variable",
    "identifiers": "identifier, left out",
}
LIMITS = {
    "k": "Records that share a key (k)",
    "global_risk": "Mean risk",
    "record_risk": "Risk of a record",
    "l": "Distinct sensitive values (l)",
}


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    lead = t("What would an intruder know of a person? Those columns are the keys. Give each "
             "column its role; a change starts the steps again.")  # fmt: skip
    return roles_page(view, roles(view), TITLES, lead, t("Reading the file"), _limits(view))


def _limits(view: View) -> Tag:
    t, limits = view.t, view.project.protect.limits
    from riskeval.measures.request import Limits

    default = Limits()
    fields = [
        entry(
            f"limit-{name}", t(title), limits.get(name, getattr(default, name)), kind="number",
            message=command("protect.set_limit", name=name), step="any", min="0",
        )
        for name, title in LIMITS.items()
    ]  # fmt: skip
    return card(
        t("Limits of your office"),
        tags.p(t("What is accepted; empty: no limit. The defaults are customary."), class_="help"),
        tags.div(*fields, class_="fields"),
    )
