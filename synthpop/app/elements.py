"""HTML parts that pages share; every entry has a label, every table a caption or head."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from htmltools import HTML, Tag, TagChild, TagList, tags

from synthpop.app.forms import Form, Option
from synthpop.app.labels import WORDS, help_of, label_of
from synthpop.app.picks import PICKS, Rows, picked_fields
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.frame.dictionary import toml_value

Translate = Callable[..., str]
LINE = 110


def sending(message: Mapping[str, Any]) -> str:
    """Return what an element sends to the app, as the text of its attribute."""
    return json.dumps(message)


def command(name: str, /, **arguments: Any) -> dict[str, Any]:
    """Return the message of a command."""
    return {"action": "command", "name": name, "arguments": arguments}


def choose(**values: Any) -> dict[str, Any]:
    """Return the message of a choice on a page."""
    return {"action": "choose", "values": values}


def ask(name: str, /, **arguments: Any) -> dict[str, Any]:
    """Return the message that asks for a job."""
    return {"action": "job", "name": name, "arguments": arguments}


def button(
    text: str,
    message: Mapping[str, Any],
    *,
    kind: str = "",
    key: str = "",
    disabled: bool = False,
    pressed: bool | None = None,
    label: str = "",
) -> Tag:
    """Return a button that sends a message."""
    return tags.button(
        text,
        type="button",
        class_=f"button {kind}".strip(),
        id=key or None,
        data_send=sending(message),
        aria_disabled="true" if disabled else None,  # it keeps the keyboard
        aria_pressed=None if pressed is None else str(pressed).lower(),
        aria_label=label or None,
    )


def select(
    key: str,
    label: str,
    options: Iterable[tuple[str, str]],
    value: str,
    *,
    message: Mapping[str, Any] | None = None,
    argument: str = "value",
    hidden_label: bool = False,
    help_text: str = "",
    **more: Any,
) -> Tag:
    """Return a labelled selection; with a message it is sent at each change."""
    entries = [
        tags.option(text, value=word, selected="" if word == value else None)
        for word, text in options
    ]
    control = tags.select(*entries, **more)
    return _labelled(key, label, control, message, argument, hidden_label, help_text)


def entry(
    key: str,
    label: str,
    value: Any = "",
    *,
    kind: str = "text",
    message: Mapping[str, Any] | None = None,
    argument: str = "value",
    help_text: str = "",
    hidden_label: bool = False,
    **more: Any,
) -> Tag:
    """Return a labelled entry; with a message it is sent when it was changed."""
    text = "" if value is None else str(value)
    control = tags.input(type=kind, value=text, autocomplete="off", **more)
    return _labelled(key, label, control, message, argument, hidden_label, help_text)


def _labelled(
    key: str, label: str, control: Tag, message: Mapping[str, Any] | None, argument: str,
    hidden: bool, help_text: str,
) -> Tag:  # fmt: skip
    control.attrs.update(
        id=key, data_send=None if message is None else sending(message), data_argument=argument,
        aria_describedby=f"{key}-help" if help_text else None,
    )  # fmt: skip
    return tags.div(
        tags.label(label, for_=key, class_="out-of-sight" if hidden else None),
        control,
        help_line(help_text, f"{key}-help") if help_text else None,
        class_="field",
    )


def help_line(text: str, key: str) -> Tag:
    """Return a line of help: its first sentence, the others on demand."""
    parts = re.split(r"(?<=[a-z0-9)\"])\.\s+(?=[A-Z\"])", text, maxsplit=1)
    if len(parts) == 1 and len(text) <= LINE:
        return tags.p(text, id=key, class_="help")
    first = parts[0] if len(parts[0]) <= LINE else parts[0][:LINE].rsplit(" ", 1)[0]
    return tags.details(
        tags.summary(first), tags.p(text[len(first) :].lstrip(". ")), id=key, class_="help"
    )


def checks(key: str, label: str, names: Sequence[str], chosen: Sequence[str], name: str) -> Tag:
    """Return a group of boxes to tick, one a name."""
    boxes = [
        tags.input(
            type="checkbox", name=name, value=word, data_many="",
            checked="" if word in chosen else None, id=f"{key}-{place}",
        )
        for place, word in enumerate(names)
    ]  # fmt: skip
    labelled = [tags.label(box, box.attrs["value"], class_="check") for box in boxes]
    return tags.fieldset(
        tags.legend(label), tags.div(*labelled, class_="checks"), class_="field wide"
    )


def table(
    data: Mapping[str, Any], caption: str, *, more: str = "", of_data: bool = False
) -> TagList:
    """Return a plain table; texts are those of a result, with `of_data` values of the file."""
    text_of = str if of_data else said_here
    kinds = ["number" if is_number else None for is_number in data["numbers"]]

    def cells(tag: Callable[..., Tag], row: Iterable[Any], **attributes: str) -> list[Tag]:
        pairs = zip(row, kinds, strict=True)
        return [tag(text_of(cell), **attributes, class_=kind) for cell, kind in pairs]

    head = cells(tags.th, data["head"], scope="col")
    rows = [tags.tr(*cells(tags.td, row)) for row in data["rows"]]
    return TagList(
        framed_table(caption, head, rows),
        tags.p(more, class_="help") if more and data.get("more") else None,
    )


def framed_table(
    caption: str, head: Iterable[str | Tag], rows: Iterable[Tag], *, kind: str = "scroll",
    hidden_caption: bool = False,
) -> Tag:  # fmt: skip
    """Return a table in a frame that scrolls, by the keyboard too."""
    cells = [cell if isinstance(cell, Tag) else tags.th(cell, scope="col") for cell in head]
    return tags.div(
        tags.table(
            tags.caption(caption, class_="out-of-sight" if hidden_caption else None),
            tags.thead(tags.tr(*cells)),
            tags.tbody(*rows),
        ),
        class_=kind, tabindex="0", role="region", aria_label=caption,
    )  # fmt: skip


def card(title: str, *children: TagChild, level: int = 2, kind: str = "") -> Tag:
    """Return a part of a page with a heading."""
    heading = {2: tags.h2, 3: tags.h3}[level]
    return tags.section(heading(title), *children, class_=f"card {kind}".strip())


def picture(svg: str) -> Tag:
    """Return a picture that the app drew."""
    return tags.figure(HTML(svg), class_="picture")


def sentence(text: str, **attributes: str) -> Tag:
    """Return what a result or a fault says, in the language of the page."""
    return tags.p(said_here(text), **attributes)


def waiting(text: str) -> Tag:
    """Return what stands in place of a result that is computed."""
    return tags.p(tags.span(class_="spinner", aria_hidden="true"), text, class_="waiting")


def pending(view: View, job: str, text: str, *, retry: str = "") -> Tag | TagList:
    """Return what stands in place of a result: that it is computed, or why not and a button."""
    fault = view.fault(job)
    if not fault:
        return waiting(text)
    again = button(retry, {"action": "again", "job": job}) if retry else None
    return TagList(sentence(fault, class_="fault", role="alert"), again)


def form(
    message: Mapping[str, Any], submit: str, *fields: TagChild, kind: str = "", key: str = "",
    busy: bool = False, **attributes: str,
) -> Tag:  # fmt: skip
    """Return a form, whose button sends the message with the entries; `kind` and `key` are its."""
    submit_button = tags.button(
        submit, type="submit", class_=f"button {kind}".strip(), id=key or None,
        aria_disabled="true" if busy else None,
    )  # fmt: skip
    return tags.form(*fields, submit_button, data_send=sending(message), **attributes)


def text_area(key: str, label: str, text: str, name: str, help_text: str, rows: int) -> Tag:
    """Return a labelled entry of several lines."""
    return tags.div(
        tags.label(label, for_=key),
        tags.textarea(text, id=key, name=name, rows=str(rows)),
        tags.p(help_text, class_="help"),
        class_="field",
    )


def menu(label: str, buttons: Iterable[Tag]) -> Tag:
    """Return a list of buttons of which one is pressed."""
    items = [tags.li(item) for item in buttons]
    return tags.nav(tags.ul(*items), aria_label=label, class_="verbs")


def named(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the options of a selection of names, none of them first."""
    return [("", "–"), *((name, name) for name in names)]


def report_buttons(
    t: Translate, job: str, *, key: str = "", name: str = "", **arguments: Any
) -> TagList:
    """Return the buttons that ask for the internal and for the external report."""
    texts = {"internal": t("Internal report"), "external": t("External report")}
    return TagList(
        *[
            button(
                text, ask(job, **arguments, audience=audience),
                key=f"{key}-{audience}" if key else "", label=f"{text}: {name}" if name else "",
            )
            for audience, text in texts.items()
        ]
    )  # fmt: skip


def upload(key: str, label: str, message: Mapping[str, Any], formats: str) -> Tag:
    """Return an entry for a file, which the browser sends to the private folder of the tab."""
    return tags.div(
        tags.label(label, for_=key),
        tags.input(id=key, type="file", accept=formats, data_upload=sending(message)),
        tags.progress(max="1", value="0", hidden="", aria_label=label),
        class_="field upload",
    )


def option_fields(
    form: Form, columns: Sequence[str], t: Translate, values: Mapping[str, Any],
    rows: Mapping[str, Rows] | None = None,
) -> TagList:  # fmt: skip
    """Return the entries of a form: the main options, and the others behind a summary.

    rows: option that is picked -> names that get a value, each with its label
    """
    main: list[Tag] = []
    further: list[Tag] = []
    for item in form.options:
        fields = main if item.main else further
        if item.kind == "picks":
            fields.append(_picked_field(form, item, columns, t, (rows or {}).get(item.name, ())))
        else:
            fields.append(_option_field(form, item, columns, t, values))
    entries = tags.div(*main, class_="fields")
    if not further:
        return TagList(entries)
    return TagList(entries, more(t("More options"), tags.div(*further, class_="fields")))


def _picked_field(
    form: Form, option: Option, columns: Sequence[str], t: Translate, rows: Rows
) -> Tag:
    key, legend = f"{form.name}-{option.name}", t(label_of(form.name, option.name))
    kind, first = PICKS[option.name], option.proposed or {}
    fields = picked_fields(
        kind, key, option.name, legend + (" *" if option.required else ""), rows, columns, first, t
    )
    return tags.div(
        fields,
        help_line(t(help_of(form.name, option.name, option.help)), f"{key}-help"),
        class_="wide",
    )


def more(summary: str, *children: TagChild) -> Tag:
    """Return what is folded behind a summary."""
    return tags.details(tags.summary(summary), *children, class_="more")


def _option_field(
    form: Form, option: Option, columns: Sequence[str], t: Translate,
    values: Mapping[str, Any], prefix: str = "",
) -> Tag:  # fmt: skip
    name = prefix + option.name
    key = f"{form.name}-{name}".replace(".", "-")
    label = t(label_of(form.name, option.name)) + (" *" if option.required else "")
    first = option.default if option.proposed is None else option.proposed
    first = toml_value(first) if isinstance(first, Mapping) else first
    value = values.get(name, "" if first is None else first)
    help_text = t(help_of(form.name, option.name, option.help))
    if option.from_role:
        help_text = " ".join([t("Left empty: from the roles."), help_text])
    if option.kind == "columns":
        return tags.div(
            checks(key, label, columns, value or [], name),
            help_line(help_text, f"{key}-help"),
            class_="wide",
        )
    if option.kind == "object":
        return _record_field(form, option, columns, t, values, prefix)
    pairs: list[tuple[str, str]] = []
    if option.kind in ("column", "table"):
        names = dict.fromkeys([*option.suggestions, *columns, *([str(value)] if value else [])])
        pairs = named(names)
    elif option.kind == "choice":
        pairs = [(word, _choice(t, word, text)) for word, text in option.choices]
        pairs = pairs if option.default is not None else [("", "–"), *pairs]
    elif option.kind == "flag":
        pairs = [("true", t("yes")), ("false", t("no"))]
        value = str(bool(value)).lower()
    if pairs:
        return select(key, label, pairs, str(value), name=name, help_text=help_text)
    kind = "number" if option.kind in ("integer", "number") else "text"
    step = ("1" if option.kind == "integer" else "any") if kind == "number" else None
    words = f"{key}-words" if option.suggestions else None
    field = entry(
        key, label, value, name=name, kind=kind, help_text=help_text, step=step,
        required="" if option.required else None, list=words,
    )  # fmt: skip
    if words:
        field.append(
            tags.datalist(*[tags.option(value=word) for word in option.suggestions], id=words)
        )
    return field


def _choice(t: Translate, word: str, text: str = "") -> str:
    """Return what a value of an option is called: in words, or as its docstring says."""
    if word in WORDS:
        return t(WORDS[word])
    return shorten(f"{word}: {t(text)}".rstrip(".:"), 90, placeholder=" …") if text else word


def _record_field(
    form: Form, option: Option, columns: Sequence[str], t: Translate,
    values: Mapping[str, Any], prefix: str,
) -> Tag:  # fmt: skip
    """Return a selection of records, and the options of each behind a summary."""
    name = prefix + option.name
    label = t(label_of(form.name, option.name))
    default = getattr(option.default, "type", option.default) or ""
    pairs = [(word, _choice(t, word)) for word, _ in option.choices]
    pairs += [
        (one.name, _choice(t, one.name) if option.typed else t("More options"))
        for one in option.forms
    ]
    selected = str(values.get(name, default))

    def details(record: Form) -> Tag:
        prefix = f"{name}.{record.name}."
        fields = [_option_field(form, item, columns, t, values, prefix) for item in record.options]
        summary = t("Options of {name}", name=_choice(t, record.name) if option.typed else label)
        folded = more(summary, tags.div(*fields, class_="fields"))
        folded.attrs.update(data_record=record.name, hidden=None if record.name == selected else "")
        return folded

    return tags.div(
        select(
            f"{form.name}-{name}".replace(".", "-"), label,
            pairs if option.default is not None else [("", "–"), *pairs],
            selected, name=name, help_text=t(help_of(form.name, option.name, option.help)),
        ),
        *[details(one) for one in option.forms if one.options],
        class_="wide", data_records="",
    )  # fmt: skip
