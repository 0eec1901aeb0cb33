"""What every page says of small files, as it was last read by a person.

    python -m tests.page_snapshots

writes the texts of the pages to `tests/pages/`; read the difference before you commit it.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

FOLDER = Path(__file__).parent / "pages"
NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?")
VERSIONS = re.compile(r"\d+\.\d+\.\d|\b[0-9a-f]{12,}\b|\d\d:\d\d|Python|Linux|macOS|Windows")
"""Texts with versions, hashes, times and machines differ from one run to the next."""


def texts_of(page: str) -> list[str]:
    """Texts between the tags, of charts too, and what is read to those who cannot see them."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    spoken = re.findall(r'(?:aria-label|title|data-label)="([^"]*)"', page)
    return [
        " ".join(html.unescape(text).split()) for text in [*re.split(r"<[^>]*>", page), *spoken]
    ]


def facts_of(page: str) -> list[str]:
    """Texts of a page that are the same in every run."""
    return [text for text in texts_of(page) if text and not VERSIONS.search(text)]


def same_fact(one: str, other: str) -> bool:
    """Whether words are equal and numbers nearly so: libraries differ in their last digits."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    numbers = [
        np.array([float(it.replace(",", "").replace("−", "-")) for it in NUMBER.findall(text)])
        for text in (one, other)
    ]
    return bool(np.allclose(*numbers, rtol=0.02, atol=0.01))


def snapshot_of(name: str) -> Path:
    """File of the texts of a page."""
    return FOLDER / f"{name.replace(' ', '-')}.txt"


def main() -> None:
    """Write the texts of all pages."""
    from tests.test_pages_in_a_browser import PAGES

    FOLDER.mkdir(exist_ok=True)
    for name, (write, audience) in PAGES.items():
        with TemporaryDirectory() as folder:
            write(Path(folder) / "page.html", audience)
            page = (Path(folder) / "page.html").read_text(encoding="utf-8")
        snapshot_of(name).write_text("\n".join(facts_of(page)) + "\n", encoding="utf-8")
        print(snapshot_of(name), file=sys.stderr)


if __name__ == "__main__":
    main()
