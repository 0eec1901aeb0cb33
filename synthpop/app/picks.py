"""Options whose values are picked: mappings and formulas that nobody types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from htmltools import Tag, tags

Pick = Literal["numbers", "pair", "levels", "formula", "recodes", "conditions"]
PICKS: dict[str, Pick] = {
    "importance": "numbers", "subsets": "numbers", "targets": "numbers", "node": "numbers",
    "components": "pair", "linked": "pair", "hierarchies": "levels", "formula": "formula",
    "table": "recodes", "where": "conditions",
}  # fmt: skip
"""Option -> how its value is picked; options of other methods with these names are alike.

"numbers": a number for each of some names. "pair": one name and those that belong to it.
"levels": what each column is generalised to. "formula": columns left and right of ~.
"recodes": rows of an old value, or a range, and the new one. "conditions": columns and values.
"""
ROWS: dict[Pick, int] = {"recodes": 12, "conditions": 4}
"""How many rows there are to fill in; those behind the first `SHOWN` are folded."""
SHOWN = 4


class PickFault(ValueError):
    """A row that is filled in halfway, with what is wrong about it and how to mend it."""

    def __init__(self, fault: str, hint: str) -> None:
        self.fault, self.hint = fault, hint


COLUMNS = ("similar",)
"""Options that take lists of columns, or lists of such lists in scripts."""
UNPICKED = ("risk", "risk_threshold", "forbidden")
"""Options for scripts: a value for each record or pair, which no form can ask for."""
ONE_GROUP = "*"
Rows = Sequence[tuple[str, str]]


def shown_rows(
    option: str, keys: Sequence[str], sensitive: Sequence[str], t: Callable[..., str]
) -> list[tuple[str, str]]:
    """Return the names that get a number of an option, each with its label."""
    if option == "subsets":
        sizes = range(2, min(len(keys), 6) + 1)
        combined = [(str(size), t("Combinations of {n} keys", n=size)) for size in sizes]
        return [("1", t("Each key alone")), *combined]
    if option == "targets":
        rows = [
            ("visible k", t("Records with the same visible values, at least")),
            ("individual_risk", t("Risk of a record, at most")),
        ]
        for column in sensitive:
            rows += [
                (f"distinct_l: {column}", t("Different values of {name}, at least", name=column)),
                (f"entropy_l: {column}", t("Effective number of values of {name}, at least",
                                           name=column)),
                (f"t: {column}", t("Distance of {name} from its distribution in the file, at most",
                                   name=column)),
            ]  # fmt: skip
        return rows
    return [(key, key) for key in keys]


def picked_fields(
    kind: Pick, key: str, name: str, legend: str, rows: Rows, columns: Sequence[str],
    values: Mapping[str, Any], t: Callable[..., str],
) -> Tag:  # fmt: skip
    """Return the entries of an option, in a group with its label."""
    if kind == "pair":
        inner = [
            _select(f"{key}-name", t("Column"), f"{name}.name", columns),
            _boxes(f"{key}-others", t("Columns that belong to it"), f"{name}.others", columns),
        ]
    elif kind == "formula":
        inner = [
            _boxes(f"{key}-left", t("Columns to shuffle (numbers)"), f"{name}.left", columns),
            _boxes(f"{key}-right", t("Columns that explain them and stay"), f"{name}.right",
                   columns),
        ]  # fmt: skip
    elif kind == "levels":
        help_text = t("Widths of the classes from fine to coarse, as 5, 10, 20; * joins all values")
        inner = [
            _entry(f"{key}-{place}", label, f"{name}.{row}", values.get(row, ""), "text", help_text)
            for place, (row, label) in enumerate(rows)
        ]
    elif kind in ROWS:
        lines = [
            _row(kind, f"{key}-{place}", f"{name}.{place}", columns, t)
            for place in range(ROWS[kind])
        ]
        more = tags.details(tags.summary(t("More rows")), *lines[SHOWN:], class_="more")
        inner = [*lines[:SHOWN], *([more] if lines[SHOWN:] else [])]
        return tags.fieldset(tags.legend(legend), *inner, class_="field wide picks")
    else:
        inner = [
            _entry(f"{key}-{place}", label, f"{name}.{row}", values.get(row, ""), "number", "")
            for place, (row, label) in enumerate(rows)
        ]
    group = tags.div(*inner, class_="fields")
    return tags.fieldset(tags.legend(legend), group, class_="field wide picks")


def _row(kind: Pick, key: str, name: str, columns: Sequence[str], t: Callable[..., str]) -> Tag:
    """Return the entries of a row of a table of old and new values, or of a condition."""
    if kind == "recodes":
        titles = {"from": t("Value, or from"), "to": t("to (numbers only)"), "new": t("becomes")}
        first = []
    else:
        titles = {
            "values": t("is one of (several with ;)"),
            "least": t("or at least"),
            "most": t("at most"),
        }
        first = [_select(f"{key}-column", t("Column"), f"{name}.column", columns)]
    entries = [
        _entry(f"{key}-{part}", title, f"{name}.{part}", "", "text", "")
        for part, title in titles.items()
    ]
    return tags.div(*first, *entries, class_="fields")


def _entry(key: str, label: str, name: str, value: Any, kind: str, hint: str) -> Tag:
    number = {"step": "any", "min": "0"} if kind == "number" else {"placeholder": hint}
    control = tags.input(
        id=key, name=name, type=kind, value=str(value), autocomplete="off", **number
    )
    return tags.div(tags.label(label, for_=key), control, class_="field")


def _select(key: str, label: str, name: str, columns: Sequence[str]) -> Tag:
    options = [tags.option("–", value=""), *(tags.option(one, value=one) for one in columns)]
    return tags.div(
        tags.label(label, for_=key), tags.select(*options, id=key, name=name), class_="field"
    )


def _boxes(key: str, label: str, name: str, columns: Sequence[str]) -> Tag:
    boxes = [
        tags.label(
            tags.input(type="checkbox", name=name, value=one, data_many="", id=f"{key}-{place}"),
            one, class_="check",
        )
        for place, one in enumerate(columns)
    ]  # fmt: skip
    return tags.fieldset(tags.legend(label), tags.div(*boxes, class_="checks"), class_="field")


def read_picked(kind: Pick, option: str, entries: Mapping[str, Any]) -> Any:
    """Return the value that the entries of an option stand for; None where nothing is picked.

    Examples
    --------
    >>> read_picked("numbers", "targets", {"targets.visible k": "2", "targets.t: job": ""})
    {'visible k': 2}
    >>> read_picked("formula", "formula", {"formula.left": ["net pay"], "formula.right": ["age"]})
    '`net pay` ~ age'
    >>> read_picked("levels", "hierarchies", {"hierarchies.age": "5, 10, *"})
    {'age': [5, 10, '*']}
    >>> read_picked("recodes", "table", {"table.0.from": "5", "table.0.new": "7"})
    [['5', '7']]
    >>> read_picked("conditions", "where", {"where.0.column": "age", "where.0.least": "90"})
    {'age': {'least': 90}}
    """
    head = f"{option}."
    inner = {name[len(head) :]: value for name, value in entries.items() if name.startswith(head)}
    if kind == "pair":
        others = [str(one) for one in inner.get("others") or []]
        return {str(inner["name"]): others} if inner.get("name") and others else None
    if kind == "formula":
        left, right = (
            " + ".join(map(_quoted, inner.get(side) or [])) for side in ("left", "right")
        )
        return f"{left} ~ {right or 1}" if left else None
    if kind in ROWS:
        parts = {name: str(value).strip() for name, value in inner.items() if str(value).strip()}
        rows = [
            {
                part[len(f"{place}.") :]: text
                for part, text in parts.items()
                if part.startswith(f"{place}.")
            }
            for place in range(ROWS[kind])
        ]
        rows = [row for row in rows if row]
        return (_recodes(rows) if kind == "recodes" else _conditions(rows)) or None
    filled = {name: str(value).strip() for name, value in inner.items() if str(value).strip()}
    if kind == "levels":
        return {name: [_level(one) for one in text.split(",") if one.strip()]
                for name, text in filled.items()} or None  # fmt: skip
    return {name: _number(text) for name, text in filled.items()} or None


def _recodes(rows: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Return rows [old, new] or [low, high, new], as texts."""
    for row in rows:
        if "from" not in row or "new" not in row:
            raise PickFault(
                "has a row that is filled in halfway", "Give the old value and what it becomes."
            )
    return [[row[part] for part in ("from", "to", "new") if part in row] for row in rows]


def _conditions(rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return column -> values as texts, or an interval."""
    conditions: dict[str, Any] = {}
    for row in rows:
        interval = {part: _number(row[part]) for part in ("least", "most") if part in row}
        if "column" not in row or ("values" in row) == bool(interval):
            raise PickFault(
                "has a row that is filled in halfway",
                "Choose a column, and give its values or an interval, not both.",
            )
        if row["column"] in conditions:
            raise PickFault("names a column twice", "Give one row for each column.")
        values = [one.strip() for one in row.get("values", "").split(";") if one.strip()]
        conditions[row["column"]] = interval or values
    return conditions


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _number(text: str) -> float | int:
    value = float(text.replace(",", "."))
    return int(value) if value.is_integer() else value


def _level(text: str) -> float | int | str:
    return ONE_GROUP if text.strip() == ONE_GROUP else _number(text)
