"""The page "Data": open a file, see how it is read, and change that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from htmltools import Tag, TagChild, TagList, tags

from synthpop.app import elements as ui
from synthpop.app.sparks import spark_bars
from synthpop.app.state import Source
from synthpop.app.texts import said_here
from synthpop.app.view import View
from synthpop.microdata.messages.text import count

FORMATS = (
    ".csv,.txt,.tsv,.parquet,.arrow,.feather,.xlsx,.sav,.zsav,.por,.dta,.sas7bdat,.xpt,.rds,.rdata"
)
SEPARATORS = [("", "find out"), (",", ","), (";", ";"), ("\t", "tab"), ("|", "|"), (" ", "blank")]
DECIMALS = [("", "find out"), (".", "."), (",", ",")]
THOUSANDS = [("", "none or find out"), (".", "."), (",", ","), (" ", "blank"), ("'", "'")]
ENCODINGS = [("", "find out"), ("utf-8", "UTF-8"), ("latin-1", "Latin-1"), ("cp1252", "Windows"),
             ("utf-16", "UTF-16")]  # fmt: skip
USER_MISSING = [("missing", "missing values"), ("level", "levels of their own")]
FEW_LEVELS = 15
TYPES = [("", "find out"), ("number", "number"), ("text", "text"), ("category", "category")]


def render(view: View) -> Tag:
    """Return the page."""
    t, state = view.t, view.project.protect
    label = t("Survey file: CSV, SPSS, Stata, SAS, R, Parquet, Excel")
    note = t("The file stays on this machine, in a private folder that is removed.")
    return tags.div(
        tags.h1(t("Data")),
        ui.card(
            t("Open another file") if state.source is not None else t("Open a file"),
            ui.upload("data-file", label, ui.command("protect.open_file"), FORMATS),
            tags.p(note, class_="help"),
        ),
        *(_opened(view, state.source) if state.source is not None else []),
    )


def _opened(view: View, source: Source) -> list[TagChild]:
    t = view.t
    preview = view.value("protect.preview", source.model_dump_json())
    options = reading_options(view, source, "protect.set_reading")
    if preview is None:
        inner = ui.pending(view, "protect.preview", t("Reading the first rows"))
        return [options, ui.card(source.name, inner)]
    head = [f"{n} · {t(k)}" for n, k in zip(preview["names"], preview["types"], strict=True)]
    notes = [tags.li(said_here(note)) for note in preview["reading"]]
    first_rows = ui.card(
        source.name,
        tags.div(tags.p(t("What was found out:")), tags.ul(*notes)) if notes else None,
        preview_table(t, preview, head),
    )
    return [options, first_rows, _columns(view, source)]


def preview_table(t: Callable[..., str], preview: Mapping[str, Any], head: list[str]) -> TagList:
    """Return the first rows of a file below a head."""
    numbers = [kind == "number" for kind in preview["types"]]
    rows = {"head": head, "rows": preview["rows"], "numbers": numbers}
    return ui.table(rows, t("The first rows as they are read"), of_data=True)


def reading_options(view: View, source: Source, name: str) -> Tag:
    """Return the options of reading a file; `name` is the command that changes them."""
    t = view.t
    message = ui.command(name)

    def choice(key: str, label: str, pairs: list[tuple[str, str]]) -> Tag:
        return ui.select(
            f"reading-{key}", label, [(value, t(text)) for value, text in pairs],
            getattr(source, key) or "", message=message, argument=key,
        )  # fmt: skip

    if source.is_text:
        fields = [
            choice("separator", t("Separator"), SEPARATORS),
            choice("decimal", t("Decimal sign"), DECIMALS),
            choice("thousands", t("Thousands"), THOUSANDS),
            choice("encoding", t("Encoding"), ENCODINGS),
            ui.entry(
                "reading-missing", t("Missing codes"), ", ".join(source.missing), message=message,
                argument="missing", placeholder="-9, 99",
                help_text=t("In all columns, with commas"),
            ),
        ]  # fmt: skip
    else:
        fields = [choice("user_missing", t("User-missing codes become"), USER_MISSING)]
    return ui.card(t("How the file is read"), tags.div(*fields, class_="fields"))


def _columns(view: View, source: Source) -> Tag:
    t = view.t
    described = view.value("protect.columns")
    if described is None:
        return ui.card(t("Columns"), ui.pending(view, "protect.columns", t("Reading the file")))
    edited_name = view.choice("column", "")

    def edit(name: str) -> Tag:
        pressed = name == edited_name
        return ui.button(
            t("Edit"), ui.choose(column="" if pressed else name), kind="small", pressed=pressed,
            key=f"edit-{name}", label=f"{t('Edit')} {name}",
        )  # fmt: skip

    rows = [
        tags.tr(
            tags.th(item["name"], scope="row"),
            tags.td(item.get("meaning", {}).get("label", "")),
            tags.td(t(item["type"])),
            tags.td(spark_bars(item["spread"])),
            tags.td(count(item["distinct"]), class_="number"),
            tags.td(count(item["missing"]), class_="number"),
            tags.td(edit(item["name"])),
        )
        for item in described["columns"]
    ]
    names = [t("Column"), t("Label"), t("Type"), t("Values"), t("Distinct"), t("Missing"),
             t("Meaning")]  # fmt: skip
    sample = ui.entry(
        "sample", t("Random subsample size, at random (empty: on all)"),
        view.project.protect.sample, kind="number", min="1", step="1",
        message=ui.command("protect.set_sample"), argument="n",
    )  # fmt: skip
    edited = next((item for item in described["columns"] if item["name"] == edited_name), None)
    return ui.card(
        t("{n} records, {m} columns", n=count(described["records"]), m=len(described["columns"])),
        ui.framed_table(t("Columns"), names, rows, kind="scroll tall"),
        sample,
        _meaning(view, source, edited) if edited is not None else None,
    )  # fmt: skip


def _meaning(view: View, source: Source, column: dict[str, Any]) -> Tag:
    """Return the form of label, type, value labels, missing codes and records of one column."""
    t, name = view.t, column["name"]
    meaning = column.get("meaning", {})
    values = "\n".join(f"{code} = {text}" for code, text in meaning.get("values", []))
    missing = ", ".join(str(code) for code, _ in meaning.get("missing", []))
    return tags.div(
        tags.h3(name),
        ui.form(
            {"action": "meaning", "column": name}, t("Change the meaning"),
            ui.entry(f"label-{name}", t("Label"), meaning.get("label", ""), name="label"),
            ui.entry(
                f"missing-{name}", t("Set to missing"), missing, name="missing",
                help_text=t("Codes that stand for a missing answer, with commas"),
            ),
            ui.text_area(f"values-{name}", t("Value labels"), values, "values",
                         t("One a line: code = label"), 5),
            class_="fields",
        ),
        ui.select(
            f"type-{name}", t("Type"), [(v, t(x)) for v, x in TYPES], source.types.get(name, ""),
            message=ui.command("protect.set_type", column=name), argument="kind",
        ),
        _records(view, column),
        class_="inner",
    )  # fmt: skip


def _records(view: View, column: dict[str, Any]) -> Tag | None:
    """Return the form of the records to work on: ticked values, or a range of numbers."""
    t, name = view.t, column["name"]
    levels = [level for level, _ in column["levels"]]
    subset = next((item for item in view.project.protect.subset if item.column == name), None)
    fields: TagChild = None
    if (column["type"] == "number" and len(levels) > FEW_LEVELS) or not levels:
        if not column["range"]:
            return None
        low, high = (subset.low, subset.high) if subset else (None, None)
        fields = tags.div(
            ui.entry(f"low-{name}", t("From"), low, name="low", kind="number", step="any"),
            ui.entry(f"high-{name}", t("To"), high, name="high", kind="number", step="any"),
            class_="fields",
        )
    else:
        values = subset.values if subset else ()
        fields = ui.checks(f"keep-{name}", t("Values"), levels, values, "values")
    title = tags.h4(t("Work on some of the records only (nothing given: on all)"))
    return ui.form({"action": "subset", "column": name}, t("Choose the records"), title, fields)


def set_meaning(view: View, message: Any) -> list[dict[str, Any]]:
    """Return the command for a changed meaning of a column."""
    from synthpop.app.forms import read_value

    entries = message["entries"]
    values = []
    for line in str(entries.get("values", "")).splitlines():
        code, sign, text = line.partition("=")
        if sign:
            values.append([read_value(code), text.strip()])
    missing = read_value(f"[{entries['missing']}]") if entries.get("missing") else []
    codes = missing if isinstance(missing, list) else [entries["missing"]]
    change = {
        "label": str(entries.get("label", "")),
        "values": values,
        "missing": [[code, ""] for code in codes],
    }
    return [ui.command("protect.set_meaning", column=message["column"], entry=change)]


def set_subset(view: View, message: Any) -> list[dict[str, Any]]:
    """Return the command for the records to work on."""
    from synthpop.app.forms import read_value

    entries = message["entries"]
    limits = {name: read_value(entries[name]) for name in ("low", "high") if name in entries}
    values = entries.get("values", [])
    return [ui.command("protect.set_subset", column=message["column"], values=values, **limits)]
