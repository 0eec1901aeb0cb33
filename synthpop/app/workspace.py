"""What a child process remembers between jobs: frames that were read, and whatever jobs keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.app.state import Source

if TYPE_CHECKING:
    import pandas as pd

OUT = "out"
REMEMBERED = 12


class Workspace:
    """The folder of a project, and a small memory of what was computed from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory: dict[str, Any] = {}

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return what was computed for a key, or compute it; old entries are forgotten."""
        if key not in self.memory:
            value = compute()
            while len(self.memory) >= REMEMBERED:
                self.memory.pop(next(iter(self.memory)))
            self.memory[key] = value
        return self.memory[key]

    def frame(self, source: Source) -> pd.DataFrame:
        """Return the data of a source, read as it says."""
        from synthpop.microdata.formats.files import read_table

        key = f"frame {source.model_dump_json()}"

        def read() -> pd.DataFrame:
            return source.typed(read_table(self.folder / source.file, **source.reading()))

        return self.once(key, read)

    def target(self, name: str) -> Path:
        """Return the path of a file that the user may download."""
        folder = self.folder / OUT
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name
