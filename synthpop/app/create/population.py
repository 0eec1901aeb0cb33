"""The pages "Population" and "Risk": run the recipe, see the fit, attack and take it out."""

from __future__ import annotations

from htmltools import Tag, tags

from synthpop.app import elements as ui
from synthpop.app.create.jobs import FORMATS
from synthpop.app.create.recipe import recipe_stamp
from synthpop.app.view import View


def render(view: View) -> Tag:
    """Return the page of the run."""
    t, state = view.t, view.project.create
    stamp = recipe_stamp(state)
    is_asked = view.choice("create-run") == stamp
    return tags.div(
        tags.h1(t("Population")),
        ui.card(
            t("Run the recipe"),
            tags.div(
                ui.entry("run-seed", t("Seed"), state.seed, kind="number", min="0", step="1",
                         message=ui.command("create.set_run"), argument="seed"),
                ui.entry("run-scale", t("Size, as a factor"), state.scale, kind="number", min="0",
                         step="any", message=ui.command("create.set_run"), argument="scale",
                         help_text=t("1 makes a population of the size that the weights say")),
                class_="fields",
            ),
            ui.button(t("Create the population"), {"action": "run"}, kind="first",
                      key="create-run", disabled=is_asked),
        ),
        _result(view, stamp) if is_asked else None,
    )  # fmt: skip


def _result(view: View, stamp: str) -> Tag:
    t, described = view.t, view.value("create.run", stamp)
    if described is None:
        fault = view.fault("create.run")
        if not fault:
            return ui.card(t("Fit"), ui.waiting(t("Creating the population")))
        lines = [ui.sentence(line, class_="fault") for line in fault.splitlines()]
        retry = ui.button(t("Go on"), {"action": "again", "job": "create.run"}, key="run-again")
        return ui.card(t("Fit"), *lines, retry)
    pictures = zip(described["names"], described["pictures"], strict=True)
    return ui.card(
        t("How well it fits the survey"),
        *[ui.sentence(text) for text in described["texts"]],
        ui.report_buttons(t, "create.report", key="create-report"),
        *[tags.div(tags.h3(name), ui.picture(svg)) for name, svg in pictures],
    )


def render_risk(view: View) -> Tag:
    """Return the page of the five scenarios."""
    t, state = view.t, view.project.create
    stamp = state.model_dump_json()
    is_asked = view.choice("create-scenarios") == stamp
    names, numbers = view.column_names(), ui.named(view.column_names("number"))
    ready = bool(state.keys and state.target)
    return tags.div(
        tags.h1(t("Risk")),
        ui.card(
            t("Five intruders"),
            tags.p(
                t("What would somebody learn from the population who knows these variables of a "
                  "person in the survey?"),
                class_="lead",
            ),
            ui.form(
                {"action": "intruder"}, t("Choose"),
                ui.checks("intruder-keys", t("Known to the intruder"), names, state.keys, "keys"),
                ui.select("intruder-target", t("Looked for"), numbers, state.target, name="target"),
                key="choose-intruder",
            ),
            ui.button(t("Attack the population"), {"action": "attack"},
                      kind="first", key="create-scenarios", disabled=is_asked or not ready),
        ),
        _scenarios(view, stamp) if is_asked else None,
    )  # fmt: skip


def _scenarios(view: View, stamp: str) -> Tag:
    t, result = view.t, view.value("create.scenarios", stamp)
    if result is None:
        text, retry = t("Attacking the population"), t("Try again")
        return ui.card(
            t("What they learn"), ui.pending(view, "create.scenarios", text, retry=retry)
        )
    return ui.card(
        t("What they learn"),
        *[ui.sentence(text) for text in result["texts"]],
        *[ui.table(one, t("Five intruders")) for one in result["tables"]],
    )


def render_out(view: View) -> Tag:
    """Return the page where files are taken out."""
    t = view.t
    suffix = view.choice("population-format", FORMATS[0])
    n = view.choice("sample-size", 500)
    text = view.value("create.run_file")
    return tags.div(
        tags.h1(t("Release")),
        ui.card(
            t("The population"),
            ui.select("population-format", t("Format"), [(one, one) for one in FORMATS], suffix,
                      message=ui.choose(), argument="population-format"),
            ui.button(t("Write the population"), ui.ask("create.export", format=suffix),
                      kind="first", key="export-population"),
        ),
        ui.card(
            t("A sample of it"),
            ui.entry("sample-size", t("Households to draw"), n, kind="number", min="1", step="1",
                     message=ui.choose(), argument="sample-size"),
            ui.button(t("Draw and write the sample"), ui.ask("create.export", format=suffix, n=n),
                      key="export-sample"),
        ),
        ui.card(
            t("Repeat it without the app"),
            ui.button(t("Run file for synthpop run"), ui.ask("create.run_file"),
                      key="create-run-file"),
            tags.pre(tags.code(text["text"]), tabindex="0", aria_label=t("Run file"))
            if text is not None
            else None,
        ),
    )  # fmt: skip


def run(view: View, message: object) -> list[dict[str, object]]:
    """Return the choice that the recipe as it stands is run."""
    return [ui.choose(**{"create-run": recipe_stamp(view.project.create)})]


def attack(view: View, message: object) -> list[dict[str, object]]:
    """Return the choice that the population of the recipe as it stands is attacked."""
    return [ui.choose(**{"create-scenarios": view.project.create.model_dump_json()})]


def set_intruder(view: View, message: object) -> list[dict[str, object]]:
    """Return the command for what the intruder knows and looks for."""
    entries = message["entries"]  # type: ignore[index]
    keys, target = entries.get("keys", []), entries.get("target", "")
    return [ui.command("create.set_intruder", keys=keys, target=target)]
