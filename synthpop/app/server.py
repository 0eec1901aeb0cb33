"""The server: one page as a projection of the state of a tab, drawn by its differences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from htmltools import Tag, TagList, tags
from shiny import App, Inputs, Session, reactive, ui
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from synthpop.app import shell
from synthpop.app.folders import pack, too_large, unpack
from synthpop.app.guard import Guard
from synthpop.app.registry import journey_of
from synthpop.app.tab import Tab
from synthpop.app.tabs import Tabs
from synthpop.app.texts import APP_LANGUAGES
from synthpop.app.transfers import download_route, upload_route
from synthpop.app.workspace import OUT
from synthpop.microdata.messages.errors import MicrodataError
from synthpop.microdata.messages.language import use_language

STATIC = Path(__file__).parent / "static"
FORGOTTEN_AFTER = 3600.0
TITLE = "synthpop · riskeval"
TEXTS = {
    "lost": "The app does not answer. The page comes back when it does. If it was ended, start it "
    "again with the same folder: your steps are there at the same address.",
    "skip": "Skip to the page",
}
TEXTS_OF_TEMPORARY = {
    "lost": "The app does not answer. The page comes back when it does. If it was ended, start it "
    "again: projects that were saved can be opened there, others are gone.",
}
DRAWN: dict[str, Callable[[Tab], Tag | TagList | None]] = {
    "head": lambda tab: shell.render_head(tab.view()),
    "rail": lambda tab: shell.render_rail(tab.view(), tab.page_name()),
    "page": lambda tab: shell.render_page(tab.view(), tab.page()),
    "side": lambda tab: journey_of(tab.project).side(tab.view()),
    "bar": lambda tab: journey_of(tab.project).bar(tab.view()),
    "status": lambda tab: shell.render_status(tab.view(), tab.running),
    "notice": lambda tab: shell.render_notice(tab.view(), tab.notice),
}
AT_WORK = ("status",)  # parts that change while a job goes on


def make_app(tabs: Tabs, token: str, port: int) -> Guard:
    """Return the ASGI application, guarded."""
    shiny_app = App(
        _frame, lambda input, output, session: _Connection(tabs, input, session).connect()
    )
    shiny_app.sanitize_errors = True
    prefix = f"/{token}"
    routes = [
        Mount(f"{prefix}/static", StaticFiles(directory=STATIC)),
        Route(f"{prefix}/alive", lambda request: PlainTextResponse("yes")),
        Route(f"{prefix}/upload/{{key}}", upload_route(tabs), methods=["POST"]),
        Route(f"{prefix}/files/{{key}}/{{name}}", download_route(tabs)),
        Mount(prefix, shiny_app),
    ]
    return Guard(Starlette(routes=routes), token, port)


def _frame(request: Request) -> Tag:
    """Return the page without its parts, which follow through the connection."""
    return ui.page_fluid(
        ui.head_content(
            tags.link(rel="stylesheet", href="static/app.css"),
            tags.link(rel="icon", href="data:,"),
            tags.script(src="static/app.js", defer=""),
            tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
        ),
        ui.busy_indicators.use(spinners=False, pulse=False),
        tags.div("", id="lost", role="alert", hidden=""),
        tags.a(TEXTS["skip"], href="#main", class_="skip", id="skip"),
        tags.header(tags.div(id="part-head"), tags.div(id="part-bar")),
        tags.div(
            tags.div(id="part-rail", class_="rail-place"),
            tags.main(
                tags.div(id="part-notice"), tags.div(id="part-page"), id="main", tabindex="-1"
            ),
            tags.aside(id="part-side"),
            class_="columns",
        ),
        tags.div(id="part-status", role="status", aria_live="polite"),
        title=TITLE,
        lang="en",
    )


class _Connection:
    """A browser page that shows a tab."""

    def __init__(self, tabs: Tabs, input: Inputs, session: Session) -> None:
        self.tabs = tabs
        self.input = input
        self.session: Any = session
        self.key = ""
        self.tab: Tab | None = None
        self.loop = asyncio.get_running_loop()
        self.stale: set[str] = set()
        self.drawn: dict[str, str] = {}
        self.drawing: asyncio.Task[None] | None = None

    def connect(self) -> None:
        """Listen to what the browser sends."""

        @reactive.effect
        @reactive.event(self.input.client)
        async def _() -> None:
            await self._open(self.input.client())

        @reactive.effect
        @reactive.event(self.input.message)
        def _() -> None:
            if self.tab is not None:
                self._act(self.tab, dict(self.input.message()))

        self.session.on_ended(self._ended)

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
        language = client.get("language")
        if language in APP_LANGUAGES[1:] and not self.tab.project.record:
            self.tab.command("choose_language", {"language": language})
        self.tab.show()

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
            tab.tell("fault", str(too_large(int(message["size"]), self.tabs.limit)))
        elif action == "refused":
            tab.tell("fault", str(message.get("text") or "The upload did not arrive. Try again."))
        else:
            tab.act(message)

    def changed(self, what: str) -> None:
        """Draw the page soon, with all that changes until then."""
        self.stale.add(what)
        if self.drawing is None or self.drawing.done():
            self.drawing = self.loop.create_task(self._draw())

    async def _draw(self) -> None:
        """Send the parts whose HTML has changed, and again each second while a job runs."""
        await asyncio.sleep(0.02)
        tab = self.tab
        session: Any = self.session
        while tab is not None and self.tabs.sessions.get(self.key) == session:
            what, self.stale = self.stale, set()
            names = AT_WORK if what <= {*AT_WORK} else tuple(DRAWN)
            html = {name: _html(tab, name) for name in names}
            parts = {name: text for name, text in html.items() if self.drawn.get(name) != text}
            self.drawn |= parts
            texts = TEXTS | (TEXTS_OF_TEMPORARY if tab.temporary else {})
            texts = {name: tab.view().t(text) for name, text in texts.items()}
            message = {"parts": parts, "language": tab.project.language, "texts": texts}
            await session.send_custom_message("draw", message)
            if "download" in what and tab.download:
                await session.send_custom_message("download", {"file": tab.download})
                tab.download = ""
            waited = 0.0
            while not self.stale and tab.running is not None and waited < shell.HEARTBEAT:
                await asyncio.sleep(0.02)
                waited += 0.02
            if not self.stale and tab.running is None:
                return

    def _ended(self) -> None:
        if self.tabs.sessions.get(self.key) is self.session:
            del self.tabs.sessions[self.key]
            self.loop.call_later(FORGOTTEN_AFTER, self.tabs.forget, self.key)


def _html(tab: Tab, part: str) -> str:
    """Return a part of the page; a fault of the program is said where it happened."""
    try:
        with use_language(tab.project.language):
            return TagList(DRAWN[part](tab)).get_html_string()
    except Exception as problem:  # noqa: BLE001  (a traceback in the log could hold values)
        text = f"This is a fault of the program ({type(problem).__name__})."
        return str(tags.p(text, class_="fault"))


def _open_project(tab: Tab, file: str, limit: int) -> None:
    upload = tab.folder / Path(file).name
    try:
        tab.replace(unpack(upload, tab.folder, limit))
    except MicrodataError as problem:
        tab.tell("fault", str(problem))
    finally:
        upload.unlink(missing_ok=True)
