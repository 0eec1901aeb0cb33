"""Start the app on the loopback interface, and open the browser."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from synthpop.app.folders import ADDRESS, MEBI, PRIVATE, address_of, held_project, keep_address
from synthpop.app.guard import new_token
from synthpop.app.project import FILE
from synthpop.app.server import make_app
from synthpop.app.tabs import Tabs
from synthpop.microdata.formats.lock import LOCK, private_folder
from synthpop.microdata.messages.errors import InputError

UPLOAD_LIMIT = 2048
LOOPBACK = "127.0.0.1"


def run_app(
    *,
    port: int = 0,
    project: Path | None = None,
    upload_limit: int = UPLOAD_LIMIT,
    browser: bool = True,
    say: Callable[[str], object] = lambda text: None,
) -> None:
    """Serve the app on the loopback interface until it is stopped.

    port: 0 takes a free one
    project: folder where the first tab keeps its project, which has the same address the next
        time; without one nothing outlives the app
    upload_limit: largest upload in MB
    browser: whether the browser is opened
    say: takes lines for the user
    """
    import uvicorn

    names = {file.name for file in project.glob("*")} if project is not None else set()
    if names - {LOCK, ADDRESS} and FILE not in names:
        raise InputError.of("app", str(project), "holds other files", "Give a new folder.")
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    os.umask(0o077)  # whatever the app writes, only the user may read
    project_held = nullcontext() if project is None else held_project(project)
    former = None if project is None else address_of(project)
    with (
        project_held, private_folder(PRIVATE) as root,
        _listening(port, former[0] if former else 0) as listener,
    ):  # fmt: skip
        tempfile.tempdir = str(root)
        token, number = former[1] if former else new_token(), listener.getsockname()[1]
        if project is not None:
            keep_address(project, number, token)
        tabs = Tabs(root, upload_limit * MEBI, project)
        address = f"http://{LOOPBACK}:{number}/{token}/"
        config = uvicorn.Config(
            make_app(tabs, token, number), log_level="error", access_log=False, ws_max_size=2**20,
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        say(f"The app runs at {address}")
        say("Only you may know this address. Stop the app with Ctrl-C.")
        if browser:
            _open_browser(root, address)
        try:
            asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
        finally:
            tabs.close()
            tempfile.tempdir = None


def _listening(port: int, former: int) -> socket.socket:
    """Listen at a port; with 0 at the one of the former app, or at a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port or former))
    except OSError:
        if port:
            raise
        listener.bind((LOOPBACK, 0))  # somebody else has it
    listener.listen(128)  # connections wait until the server answers
    return listener


def _open_browser(root: Path, address: str) -> None:
    """Open the address through a private file: command lines can be read by other users."""
    page = root / "open.html"
    page.touch(mode=0o600)
    page.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
        f'<a href="{address}">synthpop</a>',
        encoding="utf-8",
    )
    webbrowser.open(page.as_uri())
