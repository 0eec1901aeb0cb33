"""Write the pages of reference of the run files.

``python -m tests.run_file_reference`` brings them up to date; a test says when they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from riskeval.runfiles.schema import plans_page
from synthpop.runfiles.schema import runfile_page

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "run-file.md": runfile_page,
    "run-files-of-riskeval.md": plans_page,
}

if __name__ == "__main__":
    for name, text in PAGES.items():
        (FOLDER / name).write_text(text(), encoding="utf-8")
