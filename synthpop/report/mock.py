"""The page of a mock file: the four checks, and how each column was made."""

from __future__ import annotations

from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import table, verdict
from synthpop.profile.mock import MockFile

NAMES = {
    "labelling": "Labelling",
    "disclosure": "Disclosure",
    "structure": "Structure",
    "documentation": "Documentation",
}


def write_mock_page(path: Place | str, mock: MockFile, *, language: str = "en") -> Place:
    """Write the four checks of a mock file and the list of its columns as one HTML file."""
    return write_for(
        path, "synthpop", "mock.html.j2", lambda external: _facts(mock),
        title=None, audience="external", language=language,
    )  # fmt: skip


def _facts(mock: MockFile) -> dict[str, object]:
    rows = [
        verdict(NAMES[check], "passed" if passed else "look", "good" if passed else "look", what)
        for check, passed, what in mock.checks.itertuples(index=False)
    ]
    columns = [(name, gettext(how), gettext(used)) for name, how, used in
               mock.table.itertuples(index=False)]  # fmt: skip
    return {
        "title": gettext("Mock file"),
        "cards": [],
        "lead": mock.summary(),
        "verdicts": rows,
        "columns": table(["Column", "Values", "Taken from the data"], columns, text_columns=3),
    }
