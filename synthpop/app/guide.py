"""The guided way through a journey: one question a page, what was decided, and the full form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from htmltools import Tag, TagChild, tags

from synthpop.app.elements import button, choose, command
from synthpop.app.jobs import Need, Page
from synthpop.app.view import View

GUIDE = "guide"
"""Name of the page."""


@dataclass(frozen=True, slots=True)
class GuideQuestion:
    """One question of a guided way."""

    text: str
    why: str  # what hangs on the answer, and what is customary
    page: str  # the full form
    decided: Callable[[View], str]  # the answer so far, in words; "" without one
    ask: Callable[[View], TagChild] | None = None  # a simpler form; None shows the page itself
    needs: Callable[[View], list[Need]] | None = None  # of the simpler form
    decides: bool = False  # whether the simpler form has a button of its own that goes on


def guided(title: str, questions: Sequence[GuideQuestion], pages: Mapping[str, Page]) -> Page:
    """Return the page that asks the questions one after another."""

    def place_of(view: View) -> int:
        """Return the question that is shown: none behind one whose page is not ready yet."""
        wanted = int(view.choice(f"guide-{view.project.journey}", 0))
        ready = [pages[one.page].ready(view.project) for one in questions]
        reachable = ready.index(False) if False in ready else len(questions)
        return max(0, min(wanted, reachable - 1))

    def needs(view: View) -> list[Need]:
        question = questions[place_of(view)]
        return (question.needs or pages[question.page].needs)(view)

    def render(view: View) -> Tag:
        t, place = view.t, place_of(view)
        question, last = questions[place], len(questions) - 1
        ready = place < last and pages[questions[place + 1].page].ready(view.project)
        key = f"guide-{view.project.journey}"
        if question.ask is not None:
            body: list[TagChild] = [tags.div(question.ask(view), class_="card")]
        else:
            body = list(pages[question.page].render(view).children[1:])  # without its heading
        steps = [
            button(t("Back"), choose(**{key: place - 1}), key="guide-back", disabled=place == 0),
            button(t("Next question"), choose(**{key: place + 1}), key="guide-next", kind="first",
                   disabled=not ready) if place < last and not question.decides else None,
            button(t("Open the full form"), command("choose_page", page=question.page),
                   kind="quiet", key="guide-full"),
        ]  # fmt: skip
        return tags.div(
            tags.h1(t(title)),
            tags.p(t("Question {n} of {all}", n=place + 1, all=len(questions)), class_="help"),
            tags.h2(t(question.text)),
            tags.p(t(question.why), class_="lead"),
            *body,
            tags.p(
                t("Something is missing before the next question: look at your answers."),
                class_="fault",
            )
            if int(view.choice(key, 0)) > place
            else None,
            tags.div(*steps, class_="pair"),
            _decided(view, questions),
            class_="guide",
        )

    return Page(title, render, needs)


def _decided(view: View, questions: Sequence[GuideQuestion]) -> Tag | None:
    """Return what was decided, with the reason behind each answer."""
    t = view.t
    answers = [(one, one.decided(view)) for one in questions]
    items: list[TagChild] = []
    for place, (question, answer) in enumerate(answers):
        if answer:
            go = choose(**{f"guide-{view.project.journey}": place})
            items += [
                tags.dt(button(t(question.text), go, kind="quiet", key=f"guide-{place}")),
                tags.dd(answer, tags.span(t(question.why), class_="help")),
            ]
    if not items:
        return None
    return tags.section(tags.h2(t("Decided so far")), tags.dl(*items), class_="card decided")
