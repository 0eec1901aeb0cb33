"""Files that come from the browser and go to it, in the private folder of a tab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from synthpop.app.folders import stored_name, too_large
from synthpop.app.tabs import Tabs
from synthpop.app.workspace import OUT
from synthpop.microdata.formats.atomic import replacing
from synthpop.microdata.messages.errors import InputError, MicrodataError


def upload_route(tabs: Tabs) -> Callable[[Request], Any]:
    """Return what takes a file of the browser into the folder of its tab, up to the limit."""

    async def upload(request: Request) -> Response:
        tab = tabs.tabs.get(request.path_params["key"])
        if tab is None:
            return JSONResponse({"text": "Load the page again."}, 404)
        try:
            size = int(request.headers.get("content-length", "0"))
            if size > tabs.limit:
                raise too_large(size, tabs.limit)
            name = unquote(request.headers.get("x-name", ""))
            target = tab.folder / stored_name(name)
            await _store(request, target, tabs.limit)
        except (MicrodataError, OSError, ValueError) as problem:
            text = str(problem) if isinstance(problem, MicrodataError) else "The disk is full."
            return JSONResponse({"text": text}, 413)
        return JSONResponse({"file": target.name})

    return upload


async def _store(request: Request, target: Path, limit: int) -> None:
    size = 0
    with replacing(target, private=True) as draft, draft.open("wb") as stream:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_large(size, limit)
            stream.write(chunk)
        if size == 0:
            hint = "Choose a file with a header and rows."
            raise InputError.of("upload", "file", "is empty", hint)


def download_route(tabs: Tabs) -> Callable[[Request], Any]:
    """Return what gives the browser a file that its own tab has written for it."""

    async def download(request: Request) -> Response:
        tab = tabs.tabs.get(request.path_params["key"])
        name = Path(request.path_params["name"]).name
        if tab is None or not (tab.folder / OUT / name).is_file():
            return PlainTextResponse("There is no such file.", 404)
        return FileResponse(tab.folder / OUT / name, filename=name)

    return download
