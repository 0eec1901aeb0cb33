"""The page "Recipe": stages as cards in their order, and the rules of the population."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from htmltools import Tag, TagChild, tags

from synthpop.app.create.recipe import recipe_stamp
from synthpop.app.elements import (
    ask,
    button,
    card,
    choose,
    command,
    form,
    option_fields,
    select,
    sentence,
    text_area,
)
from synthpop.app.forms import Form, make_form, read_form, read_value
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.methods import TYPE


@cache
def forms() -> dict[str, Form]:
    """Return the form of each kind of stage, made from its class."""
    from synthpop.stages.continuous.binned_method import Binned
    from synthpop.stages.continuous.regression_methods import Regressed
    from synthpop.stages.registry import STAGES

    by_name = {cls.__name__: cls for cls in (*STAGES.values(), Binned, Regressed)}
    return {
        kind: make_form(cls, name=kind, title=cls.entry.title, skip=("margins",), related=by_name)
        for kind, cls in STAGES.items()
    }


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.create
    stages: list[TagChild] = [_stage(view, place) for place in range(len(state.stages))]
    kinds = [("", "–"), *((kind, t(one.title)) for kind, one in forms().items())]
    return tags.div(
        tags.h1(t("Recipe")),
        tags.p(
            t("Stages run in this order; each may use what the stages before it have made."),
            class_="lead",
        ),
        _check(view),
        tags.ol(*[tags.li(stage) for stage in stages], class_="stages")
        if stages
        else card(
            t("Nothing yet"),
            button(t("Take roles and recipe"), ask("create.take_starter"), kind="first",
                   key="take-starter"),
        ),
        card(
            t("Add a stage"),
            select("add-stage", t("Kind"), kinds, "", message=command("create.add_stage"),
                   argument="kind"),
        ),
        card(
            t("Rules"),
            form(
                {"action": "rules"}, t("Change the rules"),
                text_area("rules", t("What must hold of every person, one rule a line"),
                          "\n".join(state.rules), "text", "age < 16 => pl030 is missing", 4),
            ),
        ),
    )  # fmt: skip


def _check(view: View) -> Tag | None:
    t, stamp = view.t, recipe_stamp(view.project.create)
    outcome = view.outcomes.get("create.check")
    if outcome is None or outcome.stamp != stamp:
        return None
    if outcome.answer.fault:
        lines = [sentence(line) for line in outcome.answer.fault.splitlines()]
        return tags.div(*lines, class_="notice fault", role="alert")
    return tags.p(
        t("The recipe can be run."), " ", said_here(outcome.answer.value["text"]), class_="help"
    )


def _stage(view: View, place: int) -> Tag:
    t, stage = view.t, view.project.create.stages[place]
    kind = str(stage["type"])
    names = stage.get("name") or stage.get("total") or ", ".join(stage.get("variables", []))
    edited = view.choice("stage", None) == place
    title = f"{place + 1}. {t(forms()[kind].title)}" + (f": {names}" if names else "")
    options = [
        item
        for key, value in stage.items()
        if key not in ("type", "name")
        for item in (tags.dt(key.replace("_", " ")), tags.dd(_text(value)))
    ]
    move, last = "create.move_stage", len(view.project.create.stages) - 1
    return card(
        title,
        _form(view, place, kind, stage) if edited else tags.dl(*options),
        tags.div(
            button(t("Edit"), choose(stage=None if edited else place), kind="small",
                   key=f"edit-stage-{place}", label=f"{t('Edit')} {title}", pressed=edited),
            button("↑", command(move, place=place, by=-1), kind="small", key=f"up-{place}",
                   disabled=place == 0, label=f"{t('Earlier')}: {title}"),
            button("↓", command(move, place=place, by=1), kind="small", key=f"down-{place}",
                   disabled=place == last, label=f"{t('Later')}: {title}"),
            button(t("Remove"), command("create.remove_stage", place=place), kind="small",
                   key=f"remove-{place}", label=f"{t('Remove')} {title}"),
            class_="pair",
        ),
        kind="stage",
    )  # fmt: skip


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        kind = [_text(value[TYPE])] if TYPE in value else []
        pairs = (f"{key}: {_text(item)}" for key, item in value.items() if key != TYPE)
        return ", ".join([*kind, *pairs])
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _form(view: View, place: int, kind: str, stage: Mapping[str, Any]) -> Tag:
    t, options = view.t, forms()[kind]
    names = [str(step["name"]) for step in view.project.create.stages if "name" in step]
    columns = list(dict.fromkeys([*view.column_names(), *names]))
    values: dict[str, Any] = {}
    for name, value in stage.items():
        values |= _entries(options, name, value)
    return form(
        {"action": "stage", "place": place}, t("Change the stage"),
        tags.p(t(options.help), class_="lead"), option_fields(options, columns, t, values),
        kind="first", id=f"form-stage-{place}",
    )  # fmt: skip


def _entries(form: Form, name: str, value: Any) -> dict[str, Any]:
    """Return the entries that an option of the recipe stands for; a record has one an option."""
    option = next((one for one in form.options if one.name == name), None)
    if option is None:
        return {}
    if option.kind == "object" and value not in [word for word, _ in option.choices]:
        if not isinstance(value, Mapping):
            first = option.forms[0].options[0].name
            value = {TYPE: value} if option.typed else {first: value}
        record = value.get(TYPE, option.forms[0].name)
        form_of_record = next((one for one in option.forms if one.name == record), option.forms[0])
        entries = {name: record}
        for key, one in value.items():
            inner = _entries(form_of_record, key, one)
            entries |= {f"{name}.{record}.{place}": entry for place, entry in inner.items()}
        return entries
    return {name: value if option.kind == "columns" else _plain(value)}


def _plain(value: Any) -> Any:
    """Return an entry for a value: a list with commas where it is read as the same list."""
    if isinstance(value, list) and len(value) > 1:
        text = ", ".join(map(str, value))
        if read_value(text) == value:
            return text
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def set_stage(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the command for the changed options of a stage; those without an entry stay."""
    place = int(message["place"])
    stage = view.project.create.stages[place]
    options = forms()[str(stage["type"])]
    shown_options = {TYPE, *(one.name for one in options.options)}
    further = {name: value for name, value in stage.items() if name not in shown_options}
    new = {**read_form(options, message.get("entries", {})), **further}
    return [command("create.set_stage", place=place, options=new), choose(stage=None)]


def set_rules(view: View, message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the command for changed rules."""
    return [command("create.set_rules", text=str(message["entries"].get("text", "")))]
