"""The app in Chromium: a server of its own, pages that note what must not happen."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WAIT = 20_000  # milliseconds; kernels are compiled before
FIRST_RUN = 120_000
"""Where a run may have to compile its kernels, in an environment that was just made."""
OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")


class Server:
    """An app in a process of its own."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "synthpop", "app", "--no-browser", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def stop(self) -> str:
        """Stop as Ctrl-C does; returns everything that the app has said."""
        self.process.send_signal(signal.SIGINT)
        said, log = self.process.communicate(timeout=120)
        return str(said + log)


def new_page(context: Any, server: Server) -> Any:
    """Open the app in a tab that notes faults and requests to elsewhere."""
    page = context.new_page()
    page.elsewhere, page.errors = [], []
    page.on("request", lambda one: one.url.startswith(OWN) or page.elsewhere.append(one.url))
    page.on("pageerror", lambda problem: page.errors.append(str(problem)))
    page.set_default_timeout(WAIT)
    page.goto(server.address)
    page.wait_for_selector("h1")
    return page


def download(page: Any, selector: str) -> Path:
    """Click, and return the file that comes, under the name that the app suggests."""
    with page.expect_download() as event:
        page.click(selector)
    path = Path(event.value.path())
    return path.rename(path.with_name(event.value.suggested_filename))


def download_release(page: Any) -> Path:
    """Write the file from its page, against the verdict where that stands in the way."""
    page.click("#page-release")
    page.wait_for_selector("#export:not([aria-disabled]), #override")
    if page.query_selector("#override"):
        page.fill("#override-name", "A. Officer")
        page.fill("#override-reason", "invented persons")
        page.click("#override")
        page.wait_for_selector("#export:not([aria-disabled])")
    return download(page, "#export")


def open_to_protect(page: Any, path: Path, records: str) -> None:
    """Begin to protect a file, and wait until all of it was read."""
    page.click("#begin-protect")
    page.set_input_files("#data-file", path)
    page.wait_for_selector(f"text={records}")


def take_roles(page: Any) -> None:
    """Take the roles that are suggested, and wait for the first numbers of the risk."""
    page.click("#page-roles")
    page.click("#take-roles")
    wait_for_risk(page)


def give_role(page: Any, column: str, role: str) -> None:
    """Give a column a role."""
    page.get_by_label(f"Role of {column}", exact=True).select_option(role)


def wait_for_risk(page: Any) -> None:
    """Wait until the numbers in view are those of the present state."""
    page.wait_for_selector(".bar:not(.older) .figure")


def violations(page: Any) -> str:
    """Return the first number in view: records below k, original and current."""
    wait_for_risk(page)
    return str(page.inner_text(".figure >> nth=0"))
