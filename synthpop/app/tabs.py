"""All tabs of a server, by keys that only their browsers know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synthpop.app.folders import new_folder, new_key
from synthpop.app.tab import Tab


class Tabs:
    """All tabs of a server, by the keys that only their browsers know.

    The first tab opens `project`, a folder that stays; `limit` is the largest upload in bytes.
    """

    def __init__(self, root: Path, limit: int, project: Path | None = None) -> None:
        self.root = root
        self.limit = limit
        self.project = project
        self.tabs: dict[str, Tab] = {}
        self.sessions: dict[str, Any] = {}

    def get(self, key: str) -> tuple[str, Tab]:
        """Return the tab of a key, or a new one with a new key."""
        if key in self.tabs:
            return key, self.tabs[key]
        for known, tab in self.tabs.items():
            if not tab.temporary and known not in self.sessions:
                return known, tab  # the project, which no page shows
        key = new_key()
        if self.project is not None and not any(not tab.temporary for tab in self.tabs.values()):
            self.project.mkdir(parents=True, exist_ok=True, mode=0o700)
            tab = Tab(self.project, temporary=False)
        else:
            tab = Tab(new_folder(self.root, key))
        self.tabs[key] = tab
        tab.worker.start()
        return key, tab

    def forget(self, key: str) -> None:
        """Close a tab that nobody shows; its private folder is removed."""
        if key in self.tabs and key not in self.sessions:
            self.tabs.pop(key).close()

    def close(self) -> None:
        """Close all tabs."""
        for tab in self.tabs.values():
            tab.close()
        self.tabs.clear()
