"""The server: one Shiny page as a projection of the state of a tab, uploads and downloads."""

from __future__ import annotations

import asyncio
import logging
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from htmltools import Tag, TagList, tags
from shiny import App, Inputs, Outputs, Session, reactive, render, ui
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from synthpop.app import shell
from synthpop.app.folders import (
    MEBI,
    new_folder,
    new_key,
    pack,
    private_root,
    stored_name,
    too_large,
    unpack,
)
from synthpop.app.guard import Guard, new_token
from synthpop.app.project import FILE
from synthpop.app.tab import Tab
from synthpop.app.workspace import OUT
from synthpop.microdata.errors import Faults, MicrodataError
from synthpop.microdata.language import use_language

STATIC = Path(__file__).parent / "static"
PARTS = ("page", "bar", "status", "notice")
FORGOTTEN_AFTER = 3600.0
UPLOAD_LIMIT = 2048
LOOPBACK = "127.0.0.1"


class Tabs:
    """All tabs of a server, by the keys that only their browsers know.

    Parameters
    ----------
    root : Path
        Private folder of the server.
    limit : int
        Largest upload in bytes.
    project : Path, optional
        Folder of a project that the first tab opens and that is not removed.
    """

    def __init__(self, root: Path, limit: int, project: Path | None = None) -> None:
        self.root = root
        self.limit = limit
        self.project = project
        self.tabs: dict[str, Tab] = {}
        self.sessions: dict[str, Any] = {}

    def get(self, key: str) -> tuple[str, Tab]:
        """Return the tab of a key, or a new one with a new key."""
        if key in self.tabs:
            return key, self.tabs[key]
        key = new_key()
        if self.project is not None and not any(not tab.temporary for tab in self.tabs.values()):
            self.project.mkdir(parents=True, exist_ok=True, mode=0o700)
            tab = Tab(self.project, temporary=False)
        else:
            tab = Tab(new_folder(self.root, key))
        self.tabs[key] = tab
        tab.worker.start()
        return key, tab

    def forget(self, key: str) -> None:
        """Close a tab that nobody shows; its private folder is removed."""
        if key in self.tabs and key not in self.sessions:
            self.tabs.pop(key).close()

    def close(self) -> None:
        """Close all tabs."""
        for tab in self.tabs.values():
            tab.close()
        self.tabs.clear()


def make_app(tabs: Tabs, token: str, port: int) -> Guard:
    """Return the ASGI application, guarded."""
    shiny_app = App(_page, _server(tabs))
    shiny_app.sanitize_errors = True
    prefix = f"/{token}"
    routes = [
        Mount(f"{prefix}/static", StaticFiles(directory=STATIC)),
        Route(f"{prefix}/alive", lambda request: PlainTextResponse("yes")),
        Route(f"{prefix}/upload/{{key}}", _upload(tabs), methods=["POST"]),
        Route(f"{prefix}/files/{{key}}/{{name}}", _download(tabs)),
        Mount(prefix, shiny_app),
    ]
    return Guard(Starlette(routes=routes), token, port)


def _page(request: Request) -> Tag:
    return ui.page_fluid(
        ui.head_content(
            tags.link(rel="stylesheet", href="static/app.css"),
            tags.link(rel="icon", href="data:,"),
            tags.script(src="static/app.js", defer=""),
            tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
        ),
        ui.busy_indicators.use(spinners=False, pulse=False),
        tags.div(
            "The connection to the app is lost. The page comes back when the app answers; your "
            "steps are kept.",
            id="lost", role="alert", hidden="",
        ),
        tags.a("Skip to the page", href="#main", class_="skip"),
        tags.header(ui.output_ui("head"), ui.output_ui("bar")),
        tags.div(
            ui.output_ui("rail", class_="rail-place"),
            tags.main(ui.output_ui("notice"), ui.output_ui("page"), id="main", tabindex="-1"),
            tags.aside(ui.output_ui("side"), aria_label="History"),
            class_="columns",
        ),
        tags.div(ui.output_ui("status"), role="status", aria_live="polite", class_="status-place"),
        title="synthpop · riskeval",
        lang="en",
    )  # fmt: skip


def _server(tabs: Tabs) -> Callable[[Inputs, Outputs, Session], None]:
    def server(input: Inputs, output: Outputs, session: Session) -> None:
        _Connection(tabs, input, output, session).connect()

    return server


class _Connection:
    """A browser page that shows a tab."""

    def __init__(self, tabs: Tabs, input: Inputs, output: Outputs, session: Session) -> None:
        self.tabs = tabs
        self.input = input
        self.output = output
        self.session: Any = session
        self.key = ""
        self.tab: Tab | None = None
        self.signals = {part: reactive.Value(0) for part in PARTS}
        self.loop = asyncio.get_running_loop()
        self.tasks: set[asyncio.Task[None]] = set()
        self.stale: set[str] = set()

    def connect(self) -> None:
        """Register what the browser sends and what it is shown."""
        self._listen()
        self._show()
        self.session.on_ended(self._ended)

    def _listen(self) -> None:
        @reactive.effect
        @reactive.event(self.input.client)
        async def _() -> None:
            await self._open(self.input.client())

        @reactive.effect
        @reactive.event(self.input.message)
        async def _() -> None:
            if self.tab is not None:
                self._act(self.tab, dict(self.input.message()))

    async def _open(self, client: dict[str, Any]) -> None:
        self.key, self.tab = self.tabs.get(str(client.get("tab", "")))
        former: Any = self.tabs.sessions.get(self.key)
        self.tabs.sessions[self.key] = self.session
        self.tab.listener = self.changed
        if former is not None and former is not self.session:
            await former.send_custom_message("elsewhere", {})
            await former.close()
        message = {"key": self.key, "limit": self.tabs.limit}
        await self.session.send_custom_message("tab", message)
        if client.get("language") == "de" and not self.tab.project.record:
            self.tab.command("choose_language", {"language": "de"})
        for part in PARTS:
            self.changed(part)

    def _act(self, tab: Tab, message: dict[str, Any]) -> None:
        message.pop("counter", None)
        action = message.get("action")
        if action == "save":
            target = tab.folder / OUT / "project.zip"
            target.parent.mkdir(mode=0o700, exist_ok=True)
            pack(tab.project, tab.folder, target)
            tab.download = target.name
            self.changed("download")
        elif action == "open_project":
            tab.act({"action": "choose", "values": {}})
            _open_project(tab, message["arguments"]["file"], self.tabs.limit)
        elif action == "too_large":
            tab._tell("fault", str(too_large(int(message["size"]), self.tabs.limit)))
        elif action == "refused":
            tab._tell("fault", str(message.get("text") or "The upload did not arrive. Try again."))
        else:
            tab.act(message)

    def changed(self, part: str) -> None:
        """Render a part anew, soon and together with others."""
        self.stale.add(part)
        if len(self.stale) == 1:
            task = self.loop.create_task(self._flush())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _flush(self) -> None:
        await asyncio.sleep(0.02)
        parts, self.stale = self.stale, set()
        tab = self.tab
        session: Any = self.session
        if tab is None or self.tabs.sessions.get(self.key, None) != session:
            return
        async with reactive.lock():
            for part in parts & set(PARTS):
                self.signals[part].set(_next(self.signals[part]))
            await reactive.flush()
        if "download" in parts and tab.download:
            await session.send_custom_message("download", {"file": tab.download})
            tab.download = ""
        language = {"language": tab.project.language, "title": "synthpop · riskeval"}
        await session.send_custom_message("language", language)

    def _show(self) -> None:
        visible = self.output(suspend_when_hidden=False)

        @visible
        @render.ui
        def head() -> Any:
            return self._part("page", lambda tab: shell.render_head(tab.view()))

        @visible
        @render.ui
        def rail() -> Any:
            return self._part("page", lambda tab: shell.render_rail(tab.view(), _name(tab)))

        @visible
        @render.ui
        def page() -> Any:
            return self._part("page", _render_page)

        @visible
        @render.ui
        def side() -> Any:
            return self._part("bar", lambda tab: shell.render_side(tab.view()))

        @visible
        @render.ui
        def bar() -> Any:
            return self._part("bar", lambda tab: shell.render_bar(tab.view()))

        @visible
        @render.ui
        def status() -> Any:
            if self.tab is not None and self.tab.running is not None:
                reactive.invalidate_later(shell.HEARTBEAT)
            return self._part("status", lambda tab: shell.render_status(tab.view(), tab.running))

        @visible
        @render.ui
        def notice() -> Any:
            return self._part("notice", lambda tab: shell.render_notice(tab.view(), tab.notice))

    def _part(self, part: str, draw: Callable[[Tab], Tag | TagList | None]) -> Any:
        self.signals[part]()
        if self.tab is None:
            return None
        try:
            with use_language(self.tab.project.language):
                return draw(self.tab)
        except Exception as problem:  # noqa: BLE001  (a traceback in the log could hold values)
            return tags.p(
                f"This is a fault of the program ({type(problem).__name__}).", class_="fault"
            )

    def _ended(self) -> None:
        if self.tabs.sessions.get(self.key) is self.session:
            del self.tabs.sessions[self.key]
            self.loop.call_later(FORGOTTEN_AFTER, self.tabs.forget, self.key)


def _next(signal: reactive.Value[int]) -> int:
    with reactive.isolate():
        return signal() + 1


def _name(tab: Tab) -> str:
    from synthpop.app.registry import JOURNEYS

    page = tab.page()
    journey = JOURNEYS.get(tab.project.journey)
    pages = {} if journey is None else journey.pages
    return next((name for name, one in pages.items() if one is page), "")


def _render_page(tab: Tab) -> Tag:
    page = tab.page()
    view = tab.view()
    return shell.render_start(view) if page is None else page.render(view)


def _open_project(tab: Tab, file: str, limit: int) -> None:
    try:
        tab.replace(unpack(tab.folder / Path(file).name, tab.folder, limit))
    except MicrodataError as problem:
        tab._tell("fault", str(problem))


def _upload(tabs: Tabs) -> Callable[[Request], Any]:
    async def upload(request: Request) -> Response:
        tab = tabs.tabs.get(request.path_params["key"])
        if tab is None:
            return JSONResponse({"text": "Load the page again."}, 404)
        target: Path | None = None
        try:
            size = int(request.headers.get("content-length", "0"))
            if size > tabs.limit:
                raise too_large(size, tabs.limit)
            name = unquote(request.headers.get("x-name", ""))
            target = tab.folder / stored_name(name)
            await _store(request, target, tabs.limit)
        except (MicrodataError, OSError, ValueError) as problem:
            if target is not None:
                target.unlink(missing_ok=True)
            text = str(problem) if isinstance(problem, MicrodataError) else "The disk is full."
            return JSONResponse({"text": text}, 413)
        return JSONResponse({"file": target.name})

    return upload


async def _store(request: Request, target: Path, limit: int) -> None:
    target.touch(mode=0o600)
    size = 0
    with target.open("wb") as stream:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_large(size, limit)
            stream.write(chunk)
    if size == 0:
        faults = Faults("upload")
        faults.add("file", "is empty", remedy="Choose a file with a header and rows.")
        faults.raise_if_any()


def _download(tabs: Tabs) -> Callable[[Request], Any]:
    async def download(request: Request) -> Response:
        tab = tabs.tabs.get(request.path_params["key"])
        name = Path(request.path_params["name"]).name
        if tab is None or not (tab.folder / OUT / name).is_file():
            return PlainTextResponse("There is no such file.", 404)
        return FileResponse(tab.folder / OUT / name, filename=name)

    return download


def run_app(
    *,
    port: int = 0,
    project: Path | None = None,
    upload_limit: int = UPLOAD_LIMIT,
    browser: bool = True,
    say: Callable[[str], object] = lambda text: None,
) -> None:
    """Serve the app on the loopback interface until it is stopped.

    Parameters
    ----------
    port : int
        0 takes a free one.
    project : Path, optional
        Folder where the first tab keeps its project; without one nothing outlives the app.
    upload_limit : int
        Largest upload in MB.
    browser : bool
        Whether the browser is opened.
    say : callable
        Takes lines for the user.
    """
    import uvicorn

    if project is not None and project.exists() and any(project.iterdir()):
        faults = Faults("app")
        if not (project / FILE).is_file():
            faults.add(str(project), "holds other files", remedy="Give a new folder.")
        faults.raise_if_any()
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    with private_root() as root, _listening(port) as listener:
        tempfile.tempdir = str(root)
        token, number = new_token(), listener.getsockname()[1]
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


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((LOOPBACK, port))
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
