"""Write what follows from the entries of measures, attacks, utility measures, methods and stages.

``python -m tests.derived`` brings up to date: the public names of the fronts, what type checkers
know of the verbs of a session, the pages of reference of the run files, and the tables of the
documentation that say what each does not see. A test says when they are not.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from riskeval.attacks.registry import ATTACKS
from riskeval.measures.registry import MEASURES
from riskeval.protection.registry import VERBS
from riskeval.runfiles.schema import plans_page
from riskeval.utility.registry import UTILITIES
from synthpop.runfiles.schema import runfile_page
from synthpop.stages.registry import STAGES

ROOT = Path(__file__).parents[1]
ALWAYS = {
    "Any": "typing", "ABC": "abc", "abstractmethod": "abc",
    "Protected": "riskeval.protection.result",
}  # fmt: skip
VERBS_HEAD = '"""Verbs of a session, written by ``python -m tests.derived``."""'
VERBS_CLASS = """class SessionVerbs(ABC):
    @abstractmethod
    def apply(self, verb: str, *values: Any, **parameters: Any) -> Protected: ...
"""


def in_order(text: str, file: Path) -> str:
    """Return code with its imports in order and in the layout of the house."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(file), "-"]
        done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True)
        text = done.stdout
    return text


def homes_of(module: Any) -> dict[str, str]:
    """Return where the names of a module come from."""
    tree = ast.parse(inspect.getsource(module))
    homes = {
        name.asname or name.name: str(node.module)
        for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        for name in node.names
    }  # fmt: skip
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        homes |= {str(getattr(t, "id", getattr(t, "name", ""))): module.__name__ for t in targets}
    return homes


def verbs_stub(file: Path) -> str:
    """Return the verbs of a session: each function after the data, what roles answer optional."""
    homes, methods = dict(ALWAYS), []
    for verb, method in VERBS.items():
        known = homes_of(sys.modules[inspect.unwrap(method.run).__module__])
        parts, keyword = ["self"], False
        for one in method.parameters.values():
            if one.kind is one.KEYWORD_ONLY and not keyword:
                parts, keyword = [*parts, "*"], True
            optional = one.default is not one.empty or one.name in method.roles
            parts.append(f"{one.name}: {one.annotation}{' = ...' if optional else ''}")
            names = [n.id for n in ast.walk(ast.parse(one.annotation)) if isinstance(n, ast.Name)]
            homes |= {name: known[name] for name in names if name in known}
        methods.append(f"    def {verb}({', '.join(parts)}) -> Protected: ...")
    imports = [f"from {module} import {name}" for name, module in sorted(homes.items())]
    return in_order("\n".join([VERBS_HEAD, "", *imports, "", VERBS_CLASS, *methods]), file)


def load(address: str) -> Any:
    """Return what stands at ``module:name``."""
    module, _, name = address.partition(":")
    return inspect.unwrap(getattr(importlib.import_module(module), name))


def front(public: Callable[[], Iterable[Any]]) -> Callable[[Path], str]:
    """Return what writes the front of a package: it hands on the functions of the entries."""

    def text(file: Path) -> str:
        lines = file.read_text(encoding="utf-8")
        for function in public():
            one = load(function) if isinstance(function, str) else inspect.unwrap(function)
            if not re.search(rf" as {one.__name__}\b", lines):
                line = f"    from {one.__module__} import {one.__name__} as {one.__name__}\n"
                lines = lines.replace("if TYPE_CHECKING:\n", f"if TYPE_CHECKING:\n{line}", 1)
        return in_order(lines, file)

    return text


def table_under(
    head: str, columns: tuple[str, ...], rows: Callable[[], Iterable[tuple[str, ...]]]
) -> Callable[[Path], str]:
    """Return what writes the first table below a heading of a page of the documentation."""

    def text(file: Path) -> str:
        before, part = file.read_text(encoding="utf-8").split(f"{head}\n", 1)
        lines = [columns, ("---",) * len(columns), *rows()]
        table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
        part = re.sub(r"(?:^\|.*\n)+", lambda old: table, part, count=1, flags=re.MULTILINE)
        return f"{before}{head}\n{part}"

    return text


DERIVED: dict[str, Callable[[Path], str]] = {
    "riskeval/protect.py": front(lambda: [method.run for method in VERBS.values()]),
    "riskeval/session/verbs.pyi": verbs_stub,
    "synthpop/__init__.py": front(lambda: STAGES.values()),
    "riskeval/__init__.py": front(
        lambda: [one.function for one in (*MEASURES.values(), *ATTACKS.values())]
    ),
    "docs/methods/categorical-risk.md": table_under(
        "## What each measure of `assess` cannot see",
        ("measure", "question", "does not see"),
        lambda: [(f"`{name}`", one.question, one.blind_spots) for name, one in MEASURES.items()],
    ),
    "docs/methods/disclosure-of-synthetic-data.md": table_under(
        "## What each attack cannot see",
        ("attack", "question", "does not see"),
        lambda: [(f"`{name}`", one.question, one.blind_spots) for name, one in ATTACKS.items()],
    ),
    "docs/methods/utility.md": table_under(
        "## What each measure of a comparison cannot see",
        ("measure", "question", "does not see"),
        lambda: [(f"`{name}`", one.question, one.blind_spots) for name, one in UTILITIES.items()],
    ),
    "docs/reference/run-file.md": lambda file: runfile_page(),
    "docs/reference/run-files-of-riskeval.md": lambda file: plans_page(),
}
"""File -> what it should say."""

if __name__ == "__main__":
    for name, derive in DERIVED.items():
        (ROOT / name).write_text(derive(ROOT / name), encoding="utf-8")
