"""The child process of a tab: reads jobs as JSON lines, writes events and results as JSON lines.

Started as ``python -m synthpop.app.child FOLDER`` with pipes; it ends with its parent, and can be
killed at any time: everything it remembers can be computed again.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from synthpop.app.jobs import JobRequest
from synthpop.app.project import Project
from synthpop.app.registry import JOBS
from synthpop.app.workspace import Workspace
from synthpop.microdata.messages.errors import MicrodataError, MicrodataWarning
from synthpop.microdata.messages.events import Event
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.messages.message import Message

WARM = "warm up"  # name of the thread that compiles kernels; its warnings are nobody's
Send = Callable[[dict[str, Any]], None]


def run_job(workspace: Workspace, request: dict[str, Any], send: Send) -> None:
    """Run one job and send its result, or what was wrong."""
    number = request["number"]
    notes: list[str] = []

    def note(message: Warning | str, category: type[Warning], *place: object) -> None:
        if issubclass(category, MicrodataWarning) and threading.current_thread().name != WARM:
            notes.append(str(message))

    def listen(event: Event) -> None:
        progress = {name: getattr(event, name) for name in ("job", "done", "total", "detail")}
        send({"number": number, "event": "progress", **progress})

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", MicrodataWarning)
            warnings.showwarning = note  # type: ignore[assignment]
            project = Project.model_validate(request["project"])
            job = JOBS[request["job"]]
            with use_language(project.language):
                job_request = JobRequest(workspace, project, request["arguments"], listen)
                value = finite(job.function(job_request))
    except MicrodataError as problem:
        with use_language(request["project"]["language"]):
            fault = str(problem)
    except MemoryError:
        fault = "The memory is not enough for this. Choose fewer columns or a smaller file."
    except Exception as problem:  # noqa: BLE001  (the tab lives on whatever a job does)
        fault = f"This is a fault of the program ({type(problem).__name__}: {problem})."
    else:
        result = {"value": value, "notes": list(dict.fromkeys(notes))}
        send({"number": number, "event": "result", **result})
        return
    send({"number": number, "event": "fault", "message": fault})


def finite(value: Any) -> Any:
    """Return plain values, messages written, with None for numbers that JSON does not have.

    Examples
    --------
    >>> finite({"a": [1.5, float("nan")]})
    {'a': [1.5, None]}
    """
    if isinstance(value, Message):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if hasattr(value, "item"):
        return finite(value.item())
    return value


def warm_up(journey: str, folder: Path) -> None:
    """Compile the kernels that the first clicks need, while the user still assigns roles."""
    from synthpop.app.warm import compile_kernels

    with suppress(Exception):  # only time is lost
        compile_kernels(journey, folder)


def serve(folder: Path) -> None:
    """Read jobs until the parent closes the pipe."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    lock = threading.Lock()

    def send(message: dict[str, Any]) -> None:
        with lock:
            answers.write(json.dumps(message, allow_nan=False) + "\n")
            answers.flush()

    requests: queue.Queue[dict[str, Any]] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            request = json.loads(line)
            if "warm" in request:
                arguments = (request["warm"], folder)
                threading.Thread(target=warm_up, args=arguments, name=WARM, daemon=True).start()
            else:
                requests.put(request)
        os._exit(0)  # the parent is gone

    workspace = Workspace(folder)
    threading.Thread(target=read, daemon=True).start()
    while True:
        run_job(workspace, requests.get(), send)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
