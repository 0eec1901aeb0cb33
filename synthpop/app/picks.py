"""Options whose values are picked: mappings and formulas that nobody types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from htmltools import Tag, tags

Pick = Literal["numbers", "pair", "levels", "formula"]
PICKS: dict[str, Pick] = {
    "importance": "numbers", "subsets": "numbers", "targets": "numbers", "node": "numbers",
    "components": "pair", "linked": "pair", "hierarchies": "levels", "formula": "formula",
}  # fmt: skip
"""Option -> how its value is picked; options of other methods with these names are alike.

"numbers": a number for each of some names. "pair": one name and those that belong to it.
"levels": what each column is generalised to. "formula": columns left and right of ~.
"""
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
    else:
        inner = [
            _entry(f"{key}-{place}", label, f"{name}.{row}", values.get(row, ""), "number", "")
            for place, (row, label) in enumerate(rows)
        ]
    group = tags.div(*inner, class_="fields")
    return tags.fieldset(tags.legend(legend), group, class_="field wide picks")


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
    filled = {name: str(value).strip() for name, value in inner.items() if str(value).strip()}
    if kind == "levels":
        return {name: [_level(one) for one in text.split(",") if one.strip()]
                for name, text in filled.items()} or None  # fmt: skip
    return {name: _number(text) for name, text in filled.items()} or None


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _number(text: str) -> float | int:
    value = float(text.replace(",", "."))
    return int(value) if value.is_integer() else value


def _level(text: str) -> float | int | str:
    return ONE_GROUP if text.strip() == ONE_GROUP else _number(text)
