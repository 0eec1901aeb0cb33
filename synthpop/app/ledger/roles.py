"""The page "Roles": what an intruder knows of persons, and should not learn."""

from __future__ import annotations

from htmltools import Tag

from synthpop.app.ledger.needs import roles
from synthpop.app.role_table import roles_page
from synthpop.app.view import View

TITLES = {
    "": "no role",
    "keys": "known (key)",
    "sensitive": "looked for (target)",
    "household": "household",
}


def render(view: View) -> Tag:
    """Return the page."""
    t = view.t
    lead = t("What would an intruder know of a person, and what would he like to learn?")
    return roles_page(view, roles(view), TITLES, lead, t("Reading the file"))
