"""German texts of the app, by the English ones."""

from __future__ import annotations

GERMAN: dict[str, str] = {
    "Cancel": "Abbrechen",
}
