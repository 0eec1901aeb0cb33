"""The page "Make this file pass": a search for plans that meet limits, to take with a click."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import Tag, tags

from synthpop.app import elements as ui
from synthpop.app.jobs import BackgroundJob, JobRequest
from synthpop.app.protect.session import recorded_step, session_of, steps_stamp
from synthpop.app.view import View
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Event
from synthpop.microdata.messages.text import number, short_percent

SECONDS, MOST_SECONDS = 60, 3600


def render(view: View) -> Tag:
    """Return the page."""
    t, k = view.t, view.project.protect.k
    fields = [
        ui.entry("search-k", t("Records that share a key (k)"), k, name="k", kind="number", min="2",
                 step="1"),
        ui.entry("search-cells", t("Maximum share of cells suppressed (%)"), "1", name="cells",
                 kind="number", min="0", max="100", step="any"),
        ui.entry("search-seconds", t("Seconds to search"), SECONDS, name="seconds", kind="number",
                 min="1", max=str(MOST_SECONDS), step="1"),
    ]  # fmt: skip
    return tags.div(
        tags.h1(t("Make this file pass")),
        ui.card(
            t("Limits"),
            tags.p(
                t("Recodings, suppressions, noise, microaggregation and swapping are tried from "
                  "the current state of the file; every plan that is shown was carried out, "
                  "attacked and measured."),
                class_="lead",
            ),
            ui.form(
                {"action": "search"}, t("Search"), tags.div(*fields, class_="fields"),
                kind="first", key="search-plans", busy="protect.search" in view.busy,
            ),
        ),
        _result(view),
    )  # fmt: skip


def _result(view: View) -> Tag | None:
    t, result = view.t, view.value("protect.search")
    if "protect.search" in view.busy:
        return ui.card(t("Plans"), ui.waiting(t("Looking for plans")))
    if result is None:
        return None
    is_current = result["stamp"] == steps_stamp(view.project.protect)
    rows = [_row(view, plan, result["best"], is_current) for plan in result["plans"]]
    names = [t("Plan"), t("Steps"), t("Risk"), t("Loss"), t("Cells lost"), t("Meets the limits"),
             t("Take it")]  # fmt: skip
    return ui.card(
        t("Plans"),
        *[ui.sentence(line) for line in result["text"].splitlines()],
        ui.picture(result["picture"]),
        ui.framed_table(t("Plans on the front of risk and loss"), names, rows),
        None if is_current else
        tags.p(t("The file has changed since: search again."), class_="help"),
    )  # fmt: skip


def _row(view: View, plan: Mapping[str, Any], best: int | None, is_current: bool) -> Tag:
    t = view.t
    return tags.tr(
        tags.th(str(plan["plan"]), scope="row"),
        tags.td(plan["text"]),
        tags.td(number(plan["risk"]), class_="number"),
        tags.td(number(plan["loss"]), class_="number"),
        tags.td(short_percent(plan["cells_lost"]), class_="number"),
        tags.td(t("yes") if plan["within"] else t("no")),
        tags.td(
            ui.button(
                t("Take it"), {"action": "take_plan", "plan": plan["plan"]},
                disabled=not is_current,
                kind="small first" if plan["plan"] == best else "small",
                key=f"take-plan-{plan['plan']}", label=f"{t('Take it')}: {plan['plan']}",
            )
        ),
    )  # fmt: skip


def search(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that looks for plans."""
    entries, faults = message["entries"], Faults("search")
    values: dict[str, float] = {}
    for name, least, most in (("k", 2, 1000), ("cells", 0, 100), ("seconds", 1, MOST_SECONDS)):
        try:
            values[name] = float(entries.get(name, ""))
        except ValueError:
            faults.add(name, "is not given", hint="Fill it in.")
            continue
        if not least <= values[name] <= most:
            faults.add(name, f"is {values[name]:g}", hint=f"Give {least} to {most}.")
    faults.raise_if_any()
    return [ui.ask("protect.search", **values)]


def take_plan(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the job that runs the steps of a plan."""
    plans = view.value("protect.search")["plans"]
    plan = next(row for row in plans if row["plan"] == message["plan"])
    return [ui.ask("protect.take_plan", steps=plan["steps"])]


def run_search(request: JobRequest) -> Any:
    """Look for plans; returns those on the front with their steps."""
    from riskeval.session.search import search_plans
    from riskeval.session.steps import to_json
    from synthpop.microdata.messages.pictures import to_svg

    seconds = float(request.arguments["seconds"])

    def progress(plans: int, past: float) -> None:
        done = min(int(past), int(seconds))
        request.listen(Event("progress", "search", done, int(seconds), str(plans)))

    limits = {"k": int(request.arguments["k"]), "cells_lost": request.arguments["cells"] / 100}
    session = session_of(request.workspace, request.project.protect)
    search_result = search_plans(
        session,
        limits=limits if session.roles.keys else None,
        seconds=seconds,
        progress=progress,
    )
    best, table = search_result.best, search_result.plans
    table = table[table["front"] | (table["plan"] == best)]

    def recorded(step: Any) -> dict[str, Any]:
        parameters = {key: to_json(value) for key, value in step.parameters.items()}
        return {"verb": step.verb, "parameters": parameters}

    plans = [
        {
            "plan": int(row["plan"]),
            "text": str(row["steps"]),
            **{name: float(row[name]) for name in ("risk", "loss", "cells_lost")},
            "within": bool(row["within"]),
            "steps": [recorded(step) for step in search_result.steps[int(row["plan"])]],
        }
        for row in table.sort_values("loss").to_dict("records")
    ]
    text = search_result.summary()
    return {
        "plans": plans,
        "best": best,
        "text": text,
        "picture": to_svg(search_result.figure(), "front", text),
        "stamp": steps_stamp(request.project.protect),
    }


def run_plan(request: JobRequest) -> Any:
    """Run the steps of a plan on the current file; returns them as they are recorded."""
    from riskeval.session.steps import from_json

    session = session_of(request.workspace, request.project.protect)
    steps, recorded = request.arguments["steps"], []
    for place, step in enumerate(steps):
        request.listen(Event("progress", "plan", place, len(steps), step["verb"]))
        parameters = {name: from_json(value) for name, value in step["parameters"].items()}
        recorded.append(recorded_step(session, session.apply(step["verb"], **parameters)))
    return {"steps": recorded}


JOBS: dict[str, BackgroundJob] = {
    "search": BackgroundJob(run_search, "Looking for plans"),
    "take_plan": BackgroundJob(
        run_plan, "Protecting the file", lambda plan: [("protect.take_steps", plan)]
    ),
}
