"""Every text that the app can show, from its source and its registry."""

from __future__ import annotations

import ast
from pathlib import Path

import synthpop.app
from synthpop.app.registry import JOBS, JOURNEYS

TABLES = ("TITLES", "LIMITS", "ORDERS", "SEPARATORS", "DECIMALS", "THOUSANDS", "ENCODINGS", "TYPES",
          "LEVELS", "KINDS", "TEXTS", "USER_MISSING", "HELP")  # fmt: skip


def texts_used() -> set[str]:
    """Return the first arguments of ``t(...)``, texts in tables, and titles of the registry."""
    texts: set[str] = set()
    for path in Path(synthpop.app.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", getattr(node.func, "attr", "")) == "t"
            ):
                texts |= literals(node.args[:1])
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in TABLES:
                if isinstance(node.value, ast.Dict):
                    texts |= literals(node.value.values)
                elif isinstance(node.value, ast.List):
                    texts |= literals([pair.elts[1] for pair in node.value.elts])  # type: ignore[attr-defined]
    texts |= {job.title for job in JOBS.values()}
    for journey in JOURNEYS.values():
        texts |= {journey.title, journey.text, *(page.title for page in journey.pages.values())}
    texts |= {"category", "number", "text"}
    texts -= {"title", "type"}  # keys of records in calls
    return {text for text in texts if any(sign.isalpha() for sign in text)}


def literals(nodes: list[ast.expr]) -> set[str]:
    return {one.value for node in nodes for one in ast.walk(node)
            if isinstance(one, ast.Constant) and isinstance(one.value, str)}  # fmt: skip
