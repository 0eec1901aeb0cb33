"""What a journey declares: its pages, the jobs of its child process, and what these lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.app.texts import report_language
from synthpop.microdata.messages.events import Listener

if TYPE_CHECKING:
    from htmltools import Tag, TagList

    from synthpop.app.project import Project
    from synthpop.app.view import View
    from synthpop.app.workspace import Workspace

Commands = list[tuple[str, dict[str, Any]]]
Action = Callable[["View", Mapping[str, Any]], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What a job works on, and who listens to its progress."""

    workspace: Workspace
    project: Project
    arguments: dict[str, Any] = field(default_factory=dict)  # plain values
    listen: Listener = lambda event: None


def written_report(
    request: JobRequest, stem: str, write: Callable[[Path, str, str], object]
) -> dict[str, str]:
    """Let a report be written for the audience that is asked for, and return its file.

    write: of the path, the audience and the language
    """
    external = request.arguments.get("audience") == "external"
    audience = "external" if external else "internal"
    name = f"{stem}-{audience}.html"
    write(request.workspace.target(name), audience, report_language())
    return {"file": name}


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Something that the child process computes."""

    function: Callable[[JobRequest], Any]  # returns plain values
    title: str  # what the page says while it runs
    # commands that follow from the result, as (name, arguments)
    then: Callable[[Any], Commands] | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """A job whose result the page shows, computed in the background."""

    job: str  # its name, as "protect.risk"
    stamp: str  # what the result depends on: it is computed again when this changes
    arguments: Mapping[str, Any] = field(default_factory=dict)  # mapping
    # whether the stamp says all that the result depends on, so that it may be shown again later
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a journey."""

    title: str
    render: Callable[[View], Tag]  # the page as HTML
    needs: Callable[[View], list[Need]] = lambda view: []  # jobs whose results the page shows
    # whether the page makes sense for a state, as one without a file does not
    ready: Callable[[Project], bool] = lambda project: True


@dataclass(frozen=True, slots=True)
class Journey:
    """A way through the app."""

    # title, text: its name, and a sentence for the start
    title: str
    text: str
    pages: Mapping[str, Page]  # in their order
    jobs: Mapping[str, BackgroundJob] = field(default_factory=dict)
    needs: Callable[[View], list[Need]] = lambda view: []  # jobs whose results every page shows
    # numbers that are always in view; None for none
    bar: Callable[[View], Tag | None] = lambda view: None
    # what stands beside every page, such as the history; None for none
    side: Callable[[View], Tag | TagList | None] = lambda view: None
    # what forms of the pages ask for: from the view and the message of the browser to commands
    # and jobs, as messages
    actions: Mapping[str, Action] = field(default_factory=dict)
