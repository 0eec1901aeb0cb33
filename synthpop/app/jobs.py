"""What a journey declares: its pages, the jobs of its child process, and what these lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synthpop.microdata.events import Listener

if TYPE_CHECKING:
    from htmltools import Tag, TagList

    from synthpop.app.project import Project
    from synthpop.app.view import View
    from synthpop.app.workspace import Workspace

JobFunction = Callable[["Workspace", "Project", dict[str, Any], Listener], Any]
Commands = list[tuple[str, dict[str, Any]]]
Action = Callable[["View", Mapping[str, Any]], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Something that the child process computes.

    Attributes
    ----------
    function : callable
        Takes the workspace, the project, plain arguments and a listener; returns plain values.
    title : str
        What the page says while it runs.
    then : callable, optional
        Commands that follow from the result, as (name, arguments).
    """

    function: JobFunction
    title: str
    then: Callable[[Any], Commands] | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """A job whose result the page shows, computed in the background.

    Attributes
    ----------
    job : str
        Its name, as "protect.risk".
    stamp : str
        What the result depends on: it is computed again when this changes.
    arguments : mapping
    """

    job: str
    stamp: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a journey.

    Attributes
    ----------
    render : callable
        The page as HTML.
    needs : callable
        Jobs whose results the page shows.
    ready : callable
        Whether the page makes sense for a state, as one without a file does not.
    """

    title: str
    render: Callable[[View], Tag]
    needs: Callable[[View], list[Need]] = lambda view: []
    ready: Callable[[Project], bool] = lambda project: True


@dataclass(frozen=True, slots=True)
class Journey:
    """A way through the app.

    Attributes
    ----------
    title, text : str
        Its name, and a sentence for the start.
    pages : mapping of name to Page
        In their order.
    jobs : mapping of name to BackgroundJob
    needs : callable
        Jobs whose results every page shows.
    bar : callable
        Numbers that are always in view; None for none.
    side : callable
        What stands beside every page, such as the history; None for none.
    actions : mapping of name to callable
        What forms of the pages ask for: from the view and the message of the browser to commands
        and jobs, as messages.
    """

    title: str
    text: str
    pages: Mapping[str, Page]
    jobs: Mapping[str, BackgroundJob] = field(default_factory=dict)
    needs: Callable[[View], list[Need]] = lambda view: []
    bar: Callable[[View], Tag | None] = lambda view: None
    side: Callable[[View], Tag | TagList | None] = lambda view: None
    actions: Mapping[str, Action] = field(default_factory=dict)
