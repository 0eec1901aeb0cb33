"""Attacks on a server that really runs: strangers, other pages, paths, sizes, logs, the end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("shiny")
pytest.importorskip("websockets")

from tests.synthpop.app.helpers import do

SECRET = "Adamska-4711"  # a value of the data, and the name of a file
CSV = f"name,age,region\n{SECRET},34,A\nother,35,B\n".encode()


def terminal_that_can_be_closed() -> None:
    """Start the app as from a terminal, also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class RunningApp:
    """An app in a process of its own, with a temporary folder that can be looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened = ExitStack()
        command = [sys.executable, "-m", "synthpop", "app", "--no-browser", "--upload-limit", "1"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(folder)}, umask=0o022,
            preexec_fn=terminal_that_can_be_closed,
        )  # fmt: skip
        assert self.process.stdout is not None
        address = self.process.stdout.readline().split()[-1]
        self.host, self.token = address.split("/")[2:4]

    def http(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Send a request as it stands, without any tidying of its path."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": self.host, **(headers or {})}.items():
            connection.putheader(name, value)
        connection.endheaders(body, encode_chunked="Transfer-Encoding" in (headers or {}))
        answer = connection.getresponse()
        result = answer.status, answer.read(), answer.msg
        connection.close()
        return result

    def upload(self, key: str, name: str, body: Any, **headers: str) -> tuple[int, Any]:
        size = {} if headers else {"Content-Length": str(len(body))}
        sent = {"Origin": f"http://{self.host}", "X-Name": name, **size, **headers}
        status, content, _ = self.http("POST", f"/{self.token}/upload/{key}", sent, body)
        return status, json.loads(content)

    def socket(self, *, token: str = "", origin: str | None = "") -> Any:
        """Open a websocket, as a page of the app would by default."""
        from websockets.sync.client import connect

        shown = f"http://{self.host}" if origin == "" else origin
        address = f"ws://{self.host}/{token or self.token}/websocket/"
        return self.opened.enter_context(connect(address, origin=shown))  # type: ignore[arg-type]


class Page:
    """What the script of a page does: it opens a tab, sends messages and gets its parts."""

    def __init__(self, app: RunningApp, key: str = "") -> None:
        self.socket = app.socket()
        self.drawn = ""
        data = {"client": {"tab": key, "language": "en"}}
        self.socket.send(json.dumps({"method": "init", "data": data}))
        self.key = self.wait('{"tab"')["custom"]["tab"]["key"]

    def wait(self, text: str) -> Any:
        """Return the first message that holds a text."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            message = self.socket.recv(timeout=120)
            self.drawn += message
            if text in message:
                return json.loads(message)
        raise AssertionError(f"{text} did not come")

    def send(self, message: dict[str, Any]) -> None:
        self.socket.send(json.dumps({"method": "update", "data": {"message": message}}))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    running = RunningApp(tmp_path_factory.mktemp("attacked"))
    yield running
    running.opened.close()
    running.process.kill()
    running.process.communicate()


@pytest.fixture(scope="module")
def page(app: RunningApp) -> Page:
    """A tab with a file, whose rows are shown."""
    opened = Page(app)
    status, answer = app.upload(opened.key, f"{SECRET}.csv", CSV)
    assert status == 200
    opened.send(do("choose_journey", journey="protect"))
    opened.send(do("protect.open_file", name=f"{SECRET}.csv", file=answer["file"]))
    opened.wait("2 records, 3 columns")
    return opened


def test_strangers_are_refused(app: RunningApp) -> None:
    good, own = f"/{app.token}/", f"http://{app.host}"
    port = app.host.split(":")[1]
    cases: list[tuple[str, str, dict[str, str], int]] = [
        ("GET", good, {}, 200),
        ("GET", good, {"Host": f"localhost:{port}"}, 200),
        ("GET", "/", {}, 404),
        ("GET", f"/{app.token[:-1]}~/", {}, 404),
        ("GET", f"/{app.token}x/", {}, 404),
        ("GET", f"/?token={app.token}", {}, 404),
        ("GET", f"/static/../{app.token}/", {}, 404),
        ("GET", good, {"Host": f"rebound.example:{port}"}, 403),
        ("GET", good, {"Host": "127.0.0.1"}, 403),
        ("GET", good, {"Origin": "http://evil.example"}, 403),
        ("GET", good, {"Origin": "null"}, 403),
        ("POST", f"{good}upload/x", {"Content-Length": "0"}, 403),
        ("POST", f"{good}upload/x", {"Content-Length": "0", "Origin": "http://evil.example"}, 403),
        ("POST", f"{good}upload/x", {"Content-Length": "0", "Origin": own}, 404),
        ("TRACE", good, {"Origin": own}, 404),
    ]
    for method, path, headers, status in cases:
        answer, content, shown = app.http(method, path, headers)
        assert answer == status, (method, path, headers)
        assert app.token.encode() not in content.replace(good.encode(), b"") or status == 200
        if status == 200:
            assert shown["referrer-policy"] == "no-referrer"
            assert "default-src 'self'" in shown["content-security-policy"]


def test_no_other_page_opens_a_connection(app: RunningApp) -> None:
    from websockets.exceptions import InvalidStatus

    app.socket().close()
    wrong: list[dict[str, Any]] = [
        {"origin": "http://evil.example"}, {"origin": None}, {"origin": "null"},
        {"token": "x" * len(app.token)},
    ]  # fmt: skip
    for case in wrong:
        with pytest.raises(InvalidStatus, match=r"40[34]"):
            app.socket(**case)
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
               "Host": "rebound.example", "Origin": "http://rebound.example"}  # fmt: skip
    assert app.http("GET", f"/{app.token}/websocket/", headers)[0] == 403


def test_no_path_leads_out_of_the_folder(app: RunningApp, page: Page) -> None:
    root = next(app.folder.glob("synthpop-app-*"))
    data = next((root / page.key).glob("data-*.csv")).name
    before = {item for item in app.folder.rglob("*") if item.suffix == ".csv"}
    for name in ("../evil.csv", "%2e%2e%2fevil.csv", "/etc/evil.csv", "..\\evil.csv"):
        status, answer = app.upload(page.key, name, CSV)
        assert status == 200
        assert answer["file"].startswith("data-")
    new = {item for item in app.folder.rglob("*") if item.suffix == ".csv"} - before
    assert {item.parent for item in new} == {root / page.key}
    assert not any("evil" in item.name for item in new)
    paths = [
        f"files/{page.key}/{data}", f"files/{page.key}/../{data}", f"files/{page.key}/..%2f{data}",
        f"files/{page.key}/%2e%2e/{data}", f"files/../{page.key}/{data}", "files/x/project.json",
        f"files/{page.key}/project.json", "static/../guard.py", "static/%2e%2e/guard.py",
        "static/..%2fguard.py", "static//etc/passwd", f"upload/{page.key}",
    ]  # fmt: skip
    for path in paths:
        status, content, _ = app.http("GET", f"/{app.token}/{path}")
        assert status in (404, 405), path
        assert SECRET.encode() not in content


def test_a_large_upload_gets_a_clear_message(app: RunningApp, page: Page) -> None:
    chunk = b"x" * 2**18
    announced = app.upload(page.key, "a.csv", b"", **{"Content-Length": str(2**21)})
    sent = app.upload(page.key, "a.csv", iter([chunk] * 5), **{"Transfer-Encoding": "chunked"})
    for status, answer in (announced, sent):
        assert status == 413
        assert "more than 1 MB" in answer["text"]
        assert "--upload-limit" in answer["text"]
    root = next(app.folder.glob("synthpop-app-*"))
    assert all(item.stat().st_size < 10_000 for item in (root / page.key).glob("data-*"))


def test_two_sessions_do_not_see_each_other(app: RunningApp, page: Page) -> None:
    page.send({"action": "save"})
    name = page.wait('{"download"')["custom"]["download"]["file"]
    other = Page(app)
    assert other.key != page.key
    other.send(do("choose_journey", journey="protect"))
    other.wait("Open a file")
    assert SECRET not in other.drawn
    stored = next((next(app.folder.glob("synthpop-app-*")) / page.key).glob("data-*.csv")).name
    other.send(do("protect.open_file", name="x.csv", file=f"../{page.key}/{stored}"))
    other.wait("should match")
    assert app.http("GET", f"/{app.token}/files/{page.key}/{name}")[0] == 200
    assert app.http("GET", f"/{app.token}/files/{other.key}/{name}")[0] == 404
    other.socket.close()


def test_only_the_user_reads_the_files(app: RunningApp, page: Page) -> None:
    root = next(app.folder.glob("synthpop-app-*"))
    items = [root, *root.rglob("*")]
    assert len(items) > 4
    for item in items:
        wanted = 0o700 if item.is_dir() else 0o600
        assert stat.S_IMODE(item.stat().st_mode) == wanted, item


def test_nothing_is_written_to_logs_and_nothing_is_left(app: RunningApp, page: Page) -> None:
    bad: list[Any] = [
        do("protect.open_file", name=SECRET), do("protect.no_such", value=SECRET),
        do("protect.set_reading", separator=SECRET), {"action": SECRET},
        do("protect.set_meaning", column="age", entry={"values": SECRET}),
    ]  # fmt: skip
    for message in bad:
        page.send(message)
    page.wait("fault")
    page.socket.send(f"{SECRET} is not JSON")  # ends this connection, not the app
    again = Page(app, page.key)
    assert again.key == page.key
    again.wait("2 records, 3 columns")  # the session lives on
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes()
        except OSError:
            continue
        assert app.token.encode() not in line
        assert SECRET.encode() not in line
    app.process.send_signal(signal.SIGHUP)  # the terminal is closed
    said, log = app.process.communicate(timeout=120)
    assert app.token not in said + log
    assert SECRET not in said + log
    assert list(app.folder.iterdir()) == []
    assert tempfile.gettempdir() != str(app.folder)
