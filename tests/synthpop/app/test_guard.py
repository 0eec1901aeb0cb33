"""Who may speak to the server, and what becomes of files."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("shiny")

from synthpop.app.folders import (
    PRIVATE,
    held_project,
    new_folder,
    new_key,
    pack,
    stored_name,
    too_large,
    unpack,
)
from synthpop.app.guard import Guard, new_token
from synthpop.app.project import load, save
from synthpop.app.server import make_app
from synthpop.app.tabs import Tabs
from synthpop.microdata.formats.lock import private_folder
from synthpop.microdata.messages.errors import InputError, OutputError
from tests.synthpop.app.helpers import protecting

TOKEN, PORT = new_token(), 4711
GOOD = f"127.0.0.1:{PORT}"


async def request(
    app: Any, path: str, *, method: str = "GET", kind: str = "http",
    headers: dict[str, str] | None = None, body: bytes = b"",
) -> tuple[int, bytes, dict[bytes, bytes]]:  # fmt: skip
    """Send one request to an ASGI application; returns status, body and headers."""
    scope = {
        "type": kind, "path": path, "raw_path": path.encode(), "method": method, "root_path": "",
        "query_string": b"", "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", PORT), "subprotocols": [],
        "headers": [(k.encode(), v.encode()) for k, v in (headers or {"host": GOOD}).items()],
    }  # fmt: skip
    sent: list[Any] = []
    inbox = [{"type": "websocket.connect" if kind == "websocket" else "http.request", "body": body}]

    async def receive() -> Any:
        return inbox.pop(0) if inbox else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    first = sent[0]
    content = b"".join(one.get("body", b"") for one in sent)
    return first.get("status", first.get("code", 0)), content, dict(first.get("headers", []))


async def inner(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept", "code": 200})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


@pytest.mark.parametrize(
    ("path", "method", "kind", "headers", "status"),
    [
        (f"/{TOKEN}/", "GET", "http", {"host": GOOD}, 200),
        (f"/{TOKEN}/", "GET", "http", {"host": f"localhost:{PORT}"}, 200),
        ("/", "GET", "http", {"host": GOOD}, 404),
        (f"/{TOKEN[:-1]}/", "GET", "http", {"host": GOOD}, 404),
        (f"/{TOKEN}/", "GET", "http", {"host": f"evil.example:{PORT}"}, 403),
        (f"/{TOKEN}/", "GET", "http", {"host": "127.0.0.1"}, 403),
        (f"/{TOKEN}/", "GET", "http", {"accept": "x"}, 403),
        (f"/{TOKEN}/upload/x", "POST", "http", {"host": GOOD}, 403),
        (f"/{TOKEN}/upload/x", "POST", "http", {"host": GOOD, "origin": "http://evil"}, 403),
        (f"/{TOKEN}/upload/x", "POST", "http", {"host": GOOD, "origin": f"http://{GOOD}"}, 200),
        (f"/{TOKEN}/websocket/", "GET", "websocket", {"host": GOOD}, 1008),
        (f"/{TOKEN}/websocket/", "GET", "websocket", {"host": GOOD, "origin": "http://e"}, 1008),
        ("/x/websocket/", "GET", "websocket", {"host": GOOD, "origin": f"http://{GOOD}"}, 1008),
        (f"/{TOKEN}/websocket/", "GET", "websocket",
         {"host": GOOD, "origin": f"http://{GOOD}"}, 200),
    ],
    ids=[f"request {number}" for number in range(14)],
)  # fmt: skip
def test_only_the_own_pages_reach_the_app(
    path: str, method: str, kind: str, headers: dict[str, str], status: int
) -> None:
    guarded = Guard(inner, TOKEN, PORT)
    result = asyncio.run(request(guarded, path, method=method, kind=kind, headers=headers))
    assert result[0] == status


def test_pages_load_nothing_from_elsewhere_and_send_no_referrer() -> None:
    _, _, headers = asyncio.run(request(Guard(inner, TOKEN, PORT), f"/{TOKEN}/"))
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert headers[b"referrer-policy"] == b"no-referrer"
    assert headers[b"cache-control"] == b"no-store"


def server(root: Path, limit: int = 1000) -> tuple[Tabs, Guard, str]:
    tabs = Tabs(root, limit)
    key, tab = tabs.get("")
    tab.worker.stop()
    return tabs, make_app(tabs, TOKEN, PORT), key


def post(app: Guard, key: str, name: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    sent = {"host": GOOD, "origin": f"http://{GOOD}", "x-name": name, **headers}
    status, content, _ = asyncio.run(
        request(app, f"/{TOKEN}/upload/{key}", method="POST", headers=sent, body=body)
    )
    return status, content


def test_uploads_are_private_and_have_a_limit(tmp_path: Path) -> None:
    tabs, app, key = server(tmp_path)
    folder = tabs.tabs[key].folder
    assert post(app, key, "a.csv", b"a,b\n1,2\n")[0] == 200
    stored = [item for item in folder.iterdir() if item.name.startswith("data-")]
    assert stat.S_IMODE(stored[0].stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for headers in ({"content-length": "1001"}, {}):  # announced, or found out
        status, content = post(app, key, "a.csv", b"x" * 1001, **headers)
        assert status == 413
        assert b"more than" in content
    assert post(app, key, "a.exe", b"x")[0] == 413
    assert post(app, key, "a.csv", b"")[0] == 413
    assert post(app, new_key(), "a.csv", b"x")[0] == 404
    assert [item.name for item in folder.iterdir() if item.name.startswith("data-")] == [
        stored[0].name
    ]
    tabs.close()
    assert not folder.exists()


def test_a_tab_gets_no_files_of_another(tmp_path: Path) -> None:
    tabs, app, first = server(tmp_path)
    second, other = tabs.get("")
    other.worker.stop()
    assert first != second
    out = tabs.tabs[first].folder / "out"
    out.mkdir()
    (out / "report.html").write_text("numbers")
    (tabs.tabs[first].folder / "data-1.csv").write_text("secret")

    def get(path: str) -> int:
        return asyncio.run(request(app, f"/{TOKEN}/files/{path}"))[0]

    assert get(f"{first}/report.html") == 200
    assert get(f"{second}/report.html") == 404
    assert get(f"{first}/..%2fdata-1.csv") == 404
    assert get(f"{first}/data-1.csv") == 404
    assert get(f"{first}/../data-1.csv") == 404


def test_the_folder_is_private_and_gone_at_the_end() -> None:
    with private_folder(PRIVATE) as root:
        folder = new_folder(root, new_key())
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not root.exists()


def test_the_folder_of_a_killed_app_goes_when_the_next_one_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import os\n"
        "from synthpop.microdata.formats.lock import private_folder\n"
        f"with private_folder({PRIVATE!r}) as root:\n"
        "    (root / 'data-1.csv').write_text('secret')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert ended.returncode == -9
    left = list(tmp_path.rglob("data-1.csv"))
    assert len(left) == 1
    (tmp_path / f"{PRIVATE}notes").mkdir()  # nobody held it
    with private_folder(PRIVATE) as first:
        assert not left[0].exists()
        with private_folder(PRIVATE) as second:
            assert first.exists()
            assert first != second
    assert [item.name for item in tmp_path.iterdir()] == [f"{PRIVATE}notes"]


def test_a_project_is_held_by_one_app_and_keeps_no_files_that_it_does_not_use(
    tmp_path: Path,
) -> None:
    tab = protecting(tmp_path)
    save(tab.project, tab.folder)
    used = sorted(item.name for item in tmp_path.iterdir() if item.is_file())
    for name in ("data-0f.csv", ".project.json-7-0123456789abcdef.tmp", "tmpabcd_123/start.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a copy")
    (tmp_path / "notes.txt").write_text("mine")
    with held_project(tmp_path):
        kept = sorted(item.name for item in tmp_path.iterdir() if item.is_file())
        assert kept == sorted([".lock", *used, "notes.txt"])
        assert not (tmp_path / "tmpabcd_123").exists()
        with pytest.raises(OutputError, match="another process"), held_project(tmp_path):
            pass
    (tmp_path / "project.json").write_text("{")
    (tmp_path / "data-0f.csv").write_text("a copy")
    with held_project(tmp_path):  # what cannot be read may use it
        assert (tmp_path / "data-0f.csv").exists()


def test_stored_names_say_nothing() -> None:
    name = stored_name("Aunt Mary's ../income.SAV")
    assert name.endswith(".sav")
    assert "ary" not in name
    with pytest.raises(InputError):
        stored_name("survey.exe")
    assert "more than" in str(too_large(3 << 20, 2 << 20))


def test_a_project_as_archive_comes_back_with_its_data(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    tab = protecting(tmp_path / "first")
    pack(tab.project, tab.folder, tmp_path / "project.zip")
    (tmp_path / "second").mkdir()
    project = unpack(tmp_path / "project.zip", tmp_path / "second", 10**7)
    assert project == tab.project
    assert (tmp_path / "second" / "data-1.parquet").is_file()
    with pytest.raises(InputError, match="more than"):
        unpack(tmp_path / "project.zip", tmp_path / "second", 10)


@pytest.mark.parametrize("name", ["../evil.csv", "/tmp/evil.csv", "evil.py", "a/b.csv"])
def test_archives_of_others_are_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("project.json", "{}")
        archive.writestr(name, "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        unpack(tmp_path / "x.zip", tmp_path / "folder", 10**6)
    assert list((tmp_path / "folder").iterdir()) == []
    (tmp_path / "y.zip").write_bytes(b"PK no")
    with pytest.raises(InputError):
        unpack(tmp_path / "y.zip", tmp_path / "folder", 10**6)


def archive(path: Path, members: dict[str, bytes | str], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write an archive with these members."""
    with zipfile.ZipFile(path, "w", kind) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def faulty_archives(tmp_path: Path, project: str) -> dict[str, Path]:
    """Return archives that name the data file of the open project, each with another fault."""
    evil = {"data-1.parquet": b"name,age\nEVIL,9\n"}
    sound = archive(tmp_path / "sound.zip", {**evil, "project.json": project})
    cut = tmp_path / "cut.zip"
    cut.write_bytes(sound.read_bytes().replace(b"PK\x05\x06", b"PK\x05\x07"))
    packed = archive(tmp_path / "lzma.zip", {**evil, "project.json": project}, zipfile.ZIP_LZMA)
    damaged = bytearray(packed.read_bytes())
    damaged[60:70] = b"0123456789"
    (tmp_path / "damaged.zip").write_bytes(bytes(damaged))
    return {
        "another format": archive(tmp_path / "f.zip", {**evil, "project.json": '{"format": 99}'}),
        "no JSON": archive(tmp_path / "j.zip", {**evil, "project.json": "{"}),
        "other data": sound,
        "cut": cut,
        "damaged": tmp_path / "damaged.zip",
        "without data": archive(tmp_path / "d.zip", {"project.json": project}),
        "a folder": archive(tmp_path / "x.zip", {**evil, "a/": "", "project.json": project}),
    }


def test_a_faulty_archive_leaves_the_open_project_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    tab = protecting(tmp_path / "open")
    save(tab.project, tab.folder)
    before = {item.name: item.read_bytes() for item in tab.folder.iterdir() if item.is_file()}
    for fault, source in faulty_archives(tmp_path, tab.project.model_dump_json()).items():
        with pytest.raises(InputError):
            unpack(source, tab.folder, 10**7)
        after = {item.name: item.read_bytes() for item in tab.folder.iterdir() if item.is_file()}
        assert after == before, fault
        assert load(tab.folder) == tab.project, fault


def test_an_archive_with_another_data_file_of_the_same_name_goes_to_a_new_tab(
    tmp_path: Path,
) -> None:
    (tmp_path / "open").mkdir()
    tab = protecting(tmp_path / "open")
    members = {"data-1.parquet": b"other", "project.json": tab.project.model_dump_json()}
    with pytest.raises(InputError, match="Open it in a new tab"):
        unpack(archive(tmp_path / "a.zip", members), tab.folder, 10**7)
    (tmp_path / "new").mkdir()
    assert unpack(tmp_path / "a.zip", tmp_path / "new", 10**7) == tab.project
