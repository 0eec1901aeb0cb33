"""The page "Judgement": risk and utility of every release, attacks, and the report."""

from __future__ import annotations

from typing import Any

from htmltools import Tag, tags

from synthpop.app import elements as ui
from synthpop.app.judge.jobs import stamp_of
from synthpop.app.judge.needs import is_attacked
from synthpop.app.texts import said_here
from synthpop.app.view import View


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.judge
    stamp = stamp_of(state)
    is_asked = view.choice("judge-run") == stamp
    return tags.div(
        tags.h1(t("Judgement")),
        ui.card(
            t("Compare and attack"),
            tags.p(
                t("Every release is compared with the original; synthetic ones are attacked as "
                  "intruders would. The same seed gives the same numbers."),
                class_="lead",
            ),
            ui.entry("judge-seed", t("Seed"), state.seed, kind="number", min="0", step="1",
                     message=ui.command("judge.set_seed"), argument="seed"),
            tags.p(
                ui.button(t("Judge the releases"), {"action": "judge"}, kind="first",
                          key="judge-run", disabled=is_asked)
            ),
        ),
        *(_results(view, stamp) if is_asked else []),
    )  # fmt: skip


def judge(view: View, message: object) -> list[dict[str, Any]]:
    """Return the choice that the releases as they stand are judged."""
    return [ui.choose(**{"judge-run": stamp_of(view.project.judge)})]


def _results(view: View, stamp: str) -> list[Tag]:
    compared, attacked = view.value("judge.compare", stamp), view.value("judge.attack", stamp)
    if compared is None:
        cards = [_pending(view, "judge.compare", "Comparing the releases with the original")]
    else:
        cards = [_compared(view, compared)]
    if attacked is not None:
        cards += [_attacked(view, release) for release in attacked["results"]]
    elif compared is not None and is_attacked(view.project):
        cards.append(_pending(view, "judge.attack", "Attacking the synthetic files"))
    return cards


def _pending(view: View, job: str, title: str) -> Tag:
    t = view.t
    return ui.card(t(title), ui.pending(view, job, t("Computing"), retry=t("Try again")))


def _compared(view: View, result: dict[str, Any]) -> Tag:
    t = view.t
    verdict = result["verdict"]
    return ui.card(
        said_here(verdict["word"]).capitalize(),
        tags.div(
            tags.div(
                ui.sentence(verdict["reason"]),
                tags.ol(*[tags.li(said_here(text)) for text in result["reasons"]]),
                ui.sentence(result["left_out"]) if result["left_out"] else None,
            ),
            tags.div(*[ui.picture(svg) for svg in result["pictures"]]),
            class_="halves",
        ),
        ui.more(t("Details"), *[ui.sentence(text) for text in result["texts"]]),
        ui.more(t("All numbers"), *[ui.table(one, t("All numbers")) for one in result["tables"]]),
        tags.div(ui.report_buttons(t, "judge.report", key="judge-report")),
    )  # fmt: skip


def _attacked(view: View, one: dict[str, Any]) -> Tag:
    t = view.t
    return ui.card(
        t("Attacks on {name}", name=one["label"]),
        *[ui.sentence(text) for text in one["texts"]],
        ui.report_buttons(t, "judge.attack_report", name=one["label"], place=one["place"]),
        ui.more(t("All numbers"), ui.table(one["table"], t("All numbers"))),
    )
