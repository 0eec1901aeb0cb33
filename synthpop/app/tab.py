"""One tab of a browser: its project, its folder, its child process and their results.

A tab knows no browser. Whoever shows it is told which part changed ("page", "bar", "status",
"notice", "download") and renders that part anew.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from synthpop.app.jobs import Need, Page
from synthpop.app.project import Project, load, perform, save
from synthpop.app.registry import JOBS, JOURNEYS, journey_of
from synthpop.app.view import JobOutcome, Notice, Running, View
from synthpop.app.worker import Worker, WorkerAnswer
from synthpop.microdata.messages.errors import MicrodataError, WorkerError

Listener = Callable[[str], None]
KEPT = 400
"""Results of former states that a tab keeps, so that going back to one is instant."""


class Tab:
    """The project of one tab and everything that is computed for it.

    A project that the folder holds is opened; a temporary folder is removed with the tab.
    """

    def __init__(self, folder: Path, *, temporary: bool = True) -> None:
        self.folder = folder
        self.temporary = temporary
        self.project = load(folder) if (folder / "project.json").exists() else Project()
        self.chosen: dict[str, Any] = {}
        self.outcomes: dict[str, JobOutcome] = {}
        self._kept: dict[tuple[str, str, str], JobOutcome] = {}
        self.running: Running | None = None
        self.notice: Notice | None = None
        self.download = ""
        self.listener: Listener = lambda part: None
        self.worker = Worker(folder)
        self.worker.warm(self.project.journey)
        self._waiting: list[Need] = []
        self._task: asyncio.Task[None] | None = None
        self._usual: dict[str, float] = {}

    def view(self) -> View:
        """Return what pages are rendered from."""
        busy = {need.job for need in self._waiting}
        if self.running is not None:
            busy.add(self.running.job)
        return View(self.project, self.chosen, self.outcomes, frozenset(busy))

    def page_name(self) -> str:
        """Return the name of the page that is shown; "" at the start."""
        pages, name = journey_of(self.project).pages, self.project.page
        if name in pages and pages[name].ready(self.project):
            return name
        return next(iter(pages), "")

    def page(self) -> Page | None:
        """Return the page that is shown; None at the start."""
        return journey_of(self.project).pages.get(self.page_name())

    def act(self, message: Mapping[str, Any]) -> None:
        """Do what the user asks for; faults become a notice and change nothing."""
        try:
            self._act(message)
        except MicrodataError as problem:
            self.tell("fault", str(problem))
        except (KeyError, TypeError, AttributeError):
            self.tell("fault", "The browser sent something that the app does not know.")

    def _act(self, message: Mapping[str, Any]) -> None:
        action = message["action"]
        if action == "command":
            self.command(message["name"], message.get("arguments", {}))
        elif action == "choose":
            self.chosen.update(message["values"])
            self._changed()
        elif action == "job":
            self.ask(message["name"], message.get("arguments", {}))
        elif action == "again":
            self.outcomes.pop(message["job"], None)
            self._changed()
        elif action == "cancel":
            self.cancel()
        elif action == "dismiss":
            self.notice = None
            self.listener("notice")
        else:
            journey = JOURNEYS[self.project.journey]
            for step in journey.actions[action](self.view(), message):
                self._act(step)

    def command(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Carry out a command, save the project and compute what follows."""
        self.project = perform(self.project, name, arguments)
        save(self.project, self.folder)
        if name == "choose_journey":
            self.worker.warm(self.project.journey)
        outdated = name == "choose_language"  # a message of the other language
        if self.notice is not None and (outdated or self.notice.kind == "fault"):
            self.notice = None
            self.listener("notice")
        self._changed()

    def ask(self, job: str, arguments: Mapping[str, Any]) -> None:
        """Ask for a job whose result is not a part of a page, such as a step or a report."""
        JOBS[job]
        self._waiting.append(Need(job, "", arguments))
        self._work()

    def cancel(self) -> None:
        """Stop the job that runs and forget those that wait; the project stays as it is."""
        self._waiting.clear()
        if self.running is not None:
            self.worker.cancel()

    def close(self) -> None:
        """End the child; a temporary folder is removed."""
        if self._task is not None:
            self._task.cancel()
        self.worker.cancel()
        self.worker.stop()
        if self.temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def replace(self, project: Project) -> None:
        """Put another project in place, one that was loaded."""
        self.project, self.outcomes, self.chosen = project, {}, {}
        self._kept.clear()
        save(project, self.folder)
        self._changed()

    def _changed(self) -> None:
        self._recall()
        self.listener("page")
        self.listener("bar")
        self._work()

    def tell(self, kind: str, text: str) -> None:
        """Show a message: "done" or "fault"."""
        self.notice = Notice(kind, text)
        self.listener("notice")

    def needs(self) -> list[Need]:
        """Return the jobs whose results are shown, those of the page first."""
        view, page = self.view(), self.page()
        if page is None:
            return []
        return [*page.needs(view), *journey_of(self.project).needs(view)]

    def _recall(self) -> None:
        """Show at once what was computed before for the present state."""
        for need in self.needs():
            kept = self._kept.get(_key(need, self.project.language))
            if kept is not None:
                self.outcomes[need.job] = kept

    def _next(self) -> tuple[Need, bool] | None:
        """Return the job to do next, and whether it runs in the background."""
        if self._waiting:
            return self._waiting.pop(0), False
        self._recall()
        for need in self.needs():
            outcome = self.outcomes.get(need.job)
            state = (need.stamp, self.project.language)
            if outcome is None or (outcome.stamp, outcome.language) != state:
                return need, True
        return None

    def _work(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work_off())

    async def _work_off(self) -> None:
        while (following := self._next()) is not None:
            need, background = following
            await self._do(need, background)

    async def _do(self, need: Need, background: bool) -> None:
        loop = asyncio.get_running_loop()
        job = JOBS[need.job]
        running = Running(
            need.job, job.title, time.monotonic(), usual=self._usual.get(need.job),
            background=background,
        )  # fmt: skip
        self.running = running
        self.listener("status" if background else "page")

        def progress(event: dict[str, Any]) -> None:
            running.done, running.total = event["done"], event["total"]
            running.detail = event["detail"]
            loop.call_soon_threadsafe(self.listener, "status")

        language = self.project.language
        project = self.project.model_dump(mode="json", exclude={"record"})
        answer: WorkerAnswer | None = None
        try:
            answer = await asyncio.to_thread(
                self.worker.call, need.job, project, dict(need.arguments), progress
            )
        except WorkerError as problem:  # also where the user cancelled it
            answer = WorkerAnswer(fault=str(problem))
        finally:
            self._usual[need.job] = running.seconds()
            self.running = None
            self.listener("status")
        if background:
            outcome = self.outcomes[need.job] = JobOutcome(need.stamp, language, answer)
            if need.kept and not answer.fault:
                self._kept[_key(need, language)] = outcome
                while len(self._kept) > KEPT:
                    del self._kept[next(iter(self._kept))]
            self.listener("page")
            self.listener("bar")
        else:
            self._finish(need, language, answer)

    def _finish(self, need: Need, language: str, answer: WorkerAnswer) -> None:
        """Use the result of a job that the user asked for."""
        if answer.fault:
            self.tell("fault", answer.fault)
            return
        value, then = answer.value, JOBS[need.job].then
        self.notice = None
        self.listener("notice")
        texts = []
        if isinstance(value, dict) and ("summary" in value or "summaries" in value):
            texts = [value.get("summaries", {}).get(self.project.language) or value["summary"]]
        if then is not None:
            for name, arguments in then(value):
                self.command(name, arguments)
        if texts or answer.notes:
            kind = "fault" if isinstance(value, dict) and value.get("missed") else "done"
            self.tell(kind, "\n".join([*texts, *answer.notes]))
        self.outcomes[need.job] = JobOutcome("", language, answer)
        if isinstance(value, dict) and "file" in value:
            self.download = value["file"]
            self.listener("download")
        self._changed()


def _key(need: Need, language: str) -> tuple[str, str, str]:
    """Return what a result is kept by."""
    return need.job, need.stamp + json.dumps(dict(need.arguments), sort_keys=True), language
