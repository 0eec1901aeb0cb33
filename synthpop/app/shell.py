"""The frame around all pages: start, list of pages, numbers that stay in view, state of work."""

from __future__ import annotations

from htmltools import Tag, TagChild, tags

from synthpop.app.elements import button, command, select, sentence
from synthpop.app.guide import GUIDE
from synthpop.app.jobs import Page
from synthpop.app.registry import JOURNEYS, journey_of
from synthpop.app.texts import language_names
from synthpop.app.view import Notice, Running, View
from synthpop.microdata.messages.text import number

HEARTBEAT = 1.0


def render_head(view: View) -> Tag:
    """Return the first line: name, journeys, language, project."""
    t, project = view.t, view.project
    title = journey_of(project).title
    return tags.div(
        button("synthpop · riskeval", command("choose_journey", journey=""), kind="brand",
               label=t("To the start")),
        tags.span(t(title) if title else "", class_="where"),
        tags.div(
            button(t("Save project"), {"action": "save"}, kind="quiet", key="save-project"),
            select(
                "language", t("Language"), language_names(), project.language,
                message=command("choose_language"), argument="language", hidden_label=True,
            ),
            class_="right",
        ),
        class_="head",
    )  # fmt: skip


def render_rail(view: View, current: str) -> Tag | None:
    """Return the list of pages of the journey."""
    t, project, items = view.t, view.project, []
    for place, (name, page) in enumerate(journey_of(project).pages.items(), 1):
        item = button(
            f"{place}  {t(page.title)}",
            command("choose_page", page=name),
            key=f"page-{name}",
            disabled=not page.ready(project),
        )
        if name == current:
            item.attrs["aria-current"] = "page"
        items.append(tags.li(item))
    return tags.nav(tags.ol(*items), aria_label=t("Pages"), class_="rail") if items else None


def render_start(view: View) -> Tag:
    """Return the page of the start: the journeys, and projects that were saved."""
    t = view.t
    cards = [
        tags.section(
            tags.h2(t(journey.title)),
            tags.p(t(journey.text)),
            button(t("Begin"), command("choose_journey", journey=name), kind="first",
                   key=f"begin-{name}", label=f"{t('Begin')}: {t(journey.title)}"),
            button(t(journey.pages[GUIDE].title),
                   command("choose_journey", journey=name, page=GUIDE), key=f"guide-{name}")
            if GUIDE in journey.pages else None,
            class_="card journey",
        )
        for name, journey in JOURNEYS.items()
        if journey.pages
    ]  # fmt: skip
    return tags.div(
        tags.h1(t("What would you like to do?")),
        tags.div(*cards, class_="journeys"),
        tags.section(
            tags.h2(t("Go on with a project")),
            tags.div(
                tags.label(t("A project that was saved (.zip)"), for_="open-project"),
                tags.input(
                    id="open-project", type="file", accept=".zip",
                    data_upload='{"action": "open_project"}',
                ),
                tags.progress(max="1", value="0", hidden="", aria_label=t("Upload")),
                class_="field upload",
            ),
            class_="card",
        ),
        tags.p(
            t("Everything stays on this machine: files are kept in a private folder, which is "
              "removed when the app ends, or when it starts again if it was killed."),
            class_="help",
        ),
        class_="start",
    )  # fmt: skip


def render_page(view: View, page: Page | None) -> Tag:
    """Return the page, or the start."""
    return render_start(view) if page is None else page.render(view)


def render_status(view: View, running: Running | None) -> Tag | None:
    """Return what runs, for how long it will, and the way to stop it."""
    if running is None:
        return None
    t = view.t
    left = running.seconds_left()
    times = [t("{n} s so far", n=f"{running.seconds():.0f}")]
    if left is not None:
        times.append(t("about {n} s left", n=number(max(1, round(left)))))
    if running.detail:
        times.append(running.detail)
    bar: TagChild = tags.progress(
        max=str(running.total), value=str(running.done), aria_label=t("Progress")
    )
    return tags.div(
        bar if running.total else tags.span(class_="spinner", aria_hidden="true"),
        tags.span(t(running.title)),
        tags.span(" · ".join(times), aria_hidden="true"),  # not read aloud each second
        button(t("Cancel"), {"action": "cancel"}, kind="small", key="cancel"),
        class_="status",
    )


def render_notice(view: View, notice: Notice | None) -> Tag | None:
    """Return the last message: what was done, or what is wrong and how to mend it."""
    if notice is None:
        return None
    lines = notice.text.splitlines()
    return tags.div(
        *[sentence(line.strip(" -")) for line in lines],
        button(view.t("Close"), {"action": "dismiss"}, kind="small", key="close-notice"),
        class_=f"notice {notice.kind}",
        role="alert" if notice.kind == "fault" else "status",
    )
