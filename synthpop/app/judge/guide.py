"""Is this release safe? In three questions."""

from __future__ import annotations

from synthpop.app.guide import GuideQuestion
from synthpop.app.judge.jobs import stamp_of
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.text import join


def _files(view: View) -> str:
    state = view.project.judge
    names = [release.source.name for release in state.releases]
    return f"{state.original.name} → {join(names)}" if state.original and names else ""


def _verdict(view: View) -> str:
    compared = view.value("judge.compare", stamp_of(view.project.judge))
    return said_here(compared["verdict"]["reason"]) if compared else ""


QUESTIONS = (
    GuideQuestion(
        "Which file is to go out, and what was it made from?",
        "Without the original nobody can tell what a release gives away. Persons who were not in "
        "the survey (a hold-out) separate what it tells of its members from what it tells of all.",
        "files", _files,
    ),
    GuideQuestion(
        "What may an intruder know, and what should nobody learn?",
        "The attacks start from the columns that an intruder knows and look for the confidential "
        "ones.",
        "roles", lambda view: str(join(view.project.judge.roles.keys)),
    ),
    GuideQuestion(
        "Is it safe?",
        "The verdict names the reasons that weigh most; all numbers and the report stand below.",
        "judgement", _verdict,
    ),
)  # fmt: skip
