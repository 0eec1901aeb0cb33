"""Start of the app, for the command lines of both packages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from synthpop.microdata.errors import OutputError


def start_app(
    project: Path | None,
    *,
    port: int,
    upload_limit: int,
    browser: bool,
    say: Callable[[str], object],
) -> None:
    """Serve the app until it is stopped; see `run_app`.

    Raises
    ------
    OutputError
        Shiny is not installed.
    """
    try:
        import shiny  # noqa: F401
    except ImportError:
        raise OutputError(
            "the app needs the package shiny. Run: pip install 'synthpop-riskeval[app]'."
        ) from None
    from synthpop.app.server import run_app

    run_app(port=port, project=project, upload_limit=upload_limit, browser=browser, say=say)
