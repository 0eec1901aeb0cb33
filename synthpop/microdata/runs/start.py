"""Start a command line, which can be stopped while its modules are imported."""

from __future__ import annotations

import sys
from importlib import import_module


def start(package: str) -> None:
    """Run the command line of a package."""
    try:
        main = import_module(f"{package}.cli").main
    except KeyboardInterrupt:  # signals are taken over when the command line runs
        print(f"{package}: stopped.", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    main()
