"""Results of long studies, stored beside the documentation whose pages show them.

A study is a file `docs/results/STUDY.json`; each of its tables says when, with which version and by
which command it was measured. The script of a study stores what it prints when it is called with
``--store``; a page reads the table from there, so that page and script cannot disagree::

    from benchmarks.results import says, stored
    stored("truth", "eusilcP").rows("gini", "poverty rate")        # shown by the page
    says("methods/closer-to-the-truth.md", f"nearer in {n} of 35")  # or the build stops
"""

from __future__ import annotations

import html
import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pandas as pd

from synthpop.microdata.version import __version__

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER = DOCS / "results"
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class StoredTable:
    """A table of text as a study printed it; the first column names the rows."""

    table: pd.DataFrame
    measured: str
    version: str
    command: str

    def rows(self, *names: str) -> StoredTable:
        """Return the rows with these names, in this order."""
        first = self.table.iloc[:, 0]
        numbers = [first[first == name].index[0] for name in names]
        return replace(self, table=self.table.loc[numbers])

    def where(self, column: str, *values: str) -> StoredTable:
        """Return the rows that have one of these values in a column."""
        return replace(self, table=self.table[self.table[column].isin(values)])

    def renamed(self, names: Mapping[str, str]) -> StoredTable:
        """Return the table with other names of rows and columns."""
        table = self.table.rename(columns=dict(names))
        table.iloc[:, 0] = table.iloc[:, 0].replace(dict(names))
        return replace(self, table=table)

    def number(self, row: str, column: str) -> float:
        """Return the first number of a cell."""
        text = NUMBER.search(self.rows(row).table[column].iloc[0])
        assert text is not None, f"no number in {row}, {column}"
        return float(text[0].replace(",", ""))

    def source(self) -> str:
        """Return when, with which version and how the table was measured."""
        return f"Measured on {self.measured} with version {self.version}: {self.command}."

    def _repr_html_(self) -> str:
        table = self.table.to_html(index=False, border=0, justify="left")
        return f"{table}<p><em>{html.escape(self.source())}</em></p>"

    def __repr__(self) -> str:
        return f"{self.table.to_string(index=False)}\n{self.source()}"


def _read(study: str) -> dict:
    file = FOLDER / f"{study}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def stored(study: str, name: str) -> StoredTable:
    """Return a table of a study."""
    content = dict(_read(study)[name])
    table = pd.DataFrame(content.pop("rows"), columns=content.pop("columns"))
    return StoredTable(table, **content)


def store(study: str, name: str, table: pd.DataFrame) -> None:
    """Keep a table of text under its name, with the command that this process was called by."""
    arguments = [text for text in sys.orig_argv[1:] if text != "--store"]
    content = _read(study)
    content[name] = {
        "measured": date.today().isoformat(),
        "version": __version__,
        "command": shlex.join(["python", *arguments]),
        "columns": [str(column) for column in table],
        "rows": [[str(cell) for cell in row] for row in table.itertuples(index=False)],
    }
    FOLDER.mkdir(exist_ok=True)
    lines = []
    for key, entry in content.items():
        rows = ",\n   ".join(json.dumps(row, ensure_ascii=False) for row in entry["rows"])
        head = {field: entry[field] for field in ("measured", "version", "command", "columns")}
        text = json.dumps(head, ensure_ascii=False)[:-1]
        lines.append(f' {json.dumps(key)}: {text},\n  "rows": [\n   {rows}]}}')
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / f"{study}.json").write_text(text, encoding="utf-8")


def store_if_asked(study: str, name: str, table: pd.DataFrame) -> None:
    """Print a table as Markdown, and store it where the command says ``--store``."""
    print("| " + " | ".join(map(str, table)) + " |")
    print("| --- |" + " ---: |" * (table.shape[1] - 1))
    for row in table.itertuples(index=False):
        print("| " + " | ".join(map(str, row)) + " |")
    if "--store" in sys.argv:
        store(study, name, table)


def says(page: str, *sentences: str) -> None:
    """Stop unless the prose of a page has each of these sentences, made from today's numbers."""
    text = BLOCK.sub("", (DOCS / page).read_text(encoding="utf-8"))
    text = " ".join(re.sub("[`*]", "", text).split())
    for sentence in sentences:
        assert sentence in text, f"{page} does not say: {sentence}"
