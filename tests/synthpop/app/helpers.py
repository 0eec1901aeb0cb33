"""A tab without a browser: the child's jobs run in the test process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.app.child import run_job
from synthpop.app.tab import Tab
from synthpop.app.worker import Progress, WorkerAnswer
from synthpop.app.workspace import Workspace


class InProcess:
    """A worker that does its jobs at once, as the child would."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self.jobs: list[str] = []
        self.number = 0

    def start(self) -> None:
        """Nothing has to be started."""

    def warm(self, journey: str) -> None:
        """Kernels are compiled when they are used."""

    def call(
        self, job: str, project: Mapping[str, Any], arguments: Mapping[str, Any],
        progress: Progress = lambda event: None,
    ) -> WorkerAnswer:  # fmt: skip
        """Run a job and return its answer."""
        self.number += 1
        self.jobs.append(job)
        messages: list[dict[str, Any]] = []
        request = {
            "number": self.number, "job": job, "project": project, "arguments": dict(arguments),
        }  # fmt: skip
        run_job(self.workspace, request, messages.append)
        for message in messages[:-1]:
            progress(message)
        last = messages[-1]
        if last["event"] == "fault":
            return WorkerAnswer(fault=last["message"])
        return WorkerAnswer(last["value"], notes=tuple(last["notes"]))

    def cancel(self) -> None:
        """Nothing runs in the background."""

    def stop(self) -> None:
        """Nothing has to be stopped."""


def people(n: int = 240) -> pd.DataFrame:
    """Return a small survey of households, the same each time."""
    row = pd.RangeIndex(n).to_series()
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "hid": row // 2 + 1,
            "region": pd.Categorical.from_codes(row // 2 % 4, list("ABCD")),
            "sex": (row % 2).map({0: "female", 1: "male"}),
            "age": row * 7 % 83,
            "job": pd.Categorical.from_codes(rng.integers(0, 3, n), ["yes", "no", "other"]),
            "income": 1000.0 + rng.gamma(2.0, 300.0, n).round(),
            "weight": 5.0 + row // 2 % 3,
        }
    )


def open_tab(folder: Path, frame: pd.DataFrame | None = None, name: str = "survey.parquet") -> Tab:
    """Return a tab with a file in its folder."""
    tab = Tab(folder, temporary=False)
    tab.worker = InProcess(folder)  # type: ignore[assignment]
    stored = f"data-1{Path(name).suffix}"
    if frame is not None:
        if stored.endswith(".csv"):
            frame.to_csv(folder / stored, index=False)
        else:
            frame.to_parquet(folder / stored)
    return tab


def play(tab: Tab, messages: Iterable[Mapping[str, Any]]) -> None:
    """Send messages as the browser does, and wait for all that follows."""

    async def run() -> None:
        for message in messages:
            tab.act(message)
            while tab._task is not None and not tab._task.done():
                await asyncio.sleep(0.001)

    asyncio.run(run())


def do(name: str, /, **arguments: Any) -> dict[str, Any]:
    """Return the message of a command."""
    return {"action": "command", "name": name, "arguments": arguments}


def released(**arguments: Any) -> list[dict[str, Any]]:
    """Return messages that write the file although its amounts are unchanged."""
    decision = {"name": "A. Officer", "reason": "invented persons"}
    return [
        do("choose_page", page="release"), {"action": "override", "entries": decision},
        {"action": "job", "name": "protect.export", "arguments": arguments},
    ]  # fmt: skip


def protecting(
    folder: Path, name: str = "survey.parquet", frame: pd.DataFrame | None = None
) -> Tab:
    """Return a tab in the journey "protect", with a file and roles."""
    tab = open_tab(folder, people() if frame is None else frame, name)
    roles = {
        "region": "keys", "sex": "keys", "age": "keys", "income": "numeric", "weight": "weights",
        "hid": "household", "job": "sensitive",
    }  # fmt: skip
    play(
        tab,
        [
            do("choose_journey", journey="protect"),
            do("protect.open_file", name=name, file=f"data-1{Path(name).suffix}"),
            do("protect.set_roles", roles=roles),
        ],
    )
    return tab
