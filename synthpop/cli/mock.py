"""Make the mock file of a survey file, with its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synthpop.microdata.formats.dictionary_file import read_dictionary
from synthpop.microdata.formats.files import read_table, write_table
from synthpop.microdata.messages.errors import Faults, OutputError
from synthpop.profile.mock import MockFile, mock
from synthpop.report.mock import write_mock_page


def mock_file(
    file: Path, dictionary: Path | None, out: Path | None, *,
    ranges: list[str], **options: Any,
) -> tuple[MockFile, Path, Path]:  # fmt: skip
    """Write ``mock-NAME`` and ``mock-NAME.html``; return what was made and where it is."""
    target = out or file.with_name(f"mock-{file.name}")
    page = target.with_suffix(".html")
    if "mock" not in target.name.lower():
        raise OutputError(f"{target}: a mock file says so in its name. Put 'mock' into it.")
    for path in (target, page):
        if path.exists():
            raise OutputError(f"{path} exists already. Choose another file with --out.")
    limits = _limits(ranges)
    known = None if dictionary is None else read_dictionary(dictionary)
    made = mock(read_table(file, dictionary=known), ranges=limits, **options)
    write_table(made.data, target)
    write_mock_page(page, made)
    return made, target, page


def _limits(texts: list[str]) -> dict[str, tuple[float, float]]:
    faults, limits = Faults("mock"), {}
    for text in texts:
        name, _, pair = text.rpartition("=")
        low, _, high = pair.partition(":")
        try:
            limits[name] = float(low), float(high)
        except ValueError:
            faults.add("--range", f"is {text!r}", hint="Give NAME=LOW:HIGH, as AGE=0:99.")
    faults.raise_if_any()
    return limits
