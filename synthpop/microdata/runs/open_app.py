"""The command `app` of both packages: start the app, without importing Shiny before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.runs.output import say


def open_app(
    project: Annotated[
        Path | None, typer.Argument(help="Folder of a project that stays; without one, none does.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 0,
    upload_limit: Annotated[int, typer.Option(help="Largest file to open, in MB.")] = 2048,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Serve the app until it is stopped; see `synthpop.app`."""
    try:
        import shiny  # noqa: F401
    except ImportError:
        raise OutputError(
            "the app needs the package shiny. Run: pip install 'synthpop-riskeval[app]'."
        ) from None
    run_app = presenter("app")
    run_app(port=port, project=project, upload_limit=upload_limit, browser=browser, say=say)
