"""Chapters 3 to 5 and section 8.7 of Templ (2017), replayed: the printed numbers beside ours.

Writes the tables to ``replay_book.md`` in the current folder.

    python examples/replay_book.py                       # small examples, whose data are printed
    python examples/replay_book.py --data folder         # and those on eusilc and testdata
    python examples/replay_book.py --data folder --pages docs/replays    # and write the pages

The folder holds ``eusilc.parquet``, ``testdata.parquet`` and ``eusilc13puf.parquet``, public data
sets of the R packages laeken, sdcMicro and simPop. They are no part of this repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replay import book


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, and write them into the pages on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the survey files")
    parser.add_argument("--pages", type=Path, help="folder of the pages whose tables are written")
    options = parser.parse_args(arguments)
    tables = {name: book.markdown(rows()) for name, rows in book.TABLES.items()}
    if options.data:
        for name, function in book.FILE_TABLES.items():
            tables[name] = book.markdown(function(options.data))
    text = "\n\n".join(tables.values()) + "\n"
    print(text)
    Path("replay_book.md").write_text(text, encoding="utf-8")
    for page in book.pages(options.pages) if options.pages else []:
        text = page.read_text(encoding="utf-8")
        page.write_text(book.filled(text, tables), encoding="utf-8")


if __name__ == "__main__":
    main()
