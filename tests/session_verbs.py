"""Write what type checkers and editors know of the verbs of a session, from their functions.

``python -m tests.session_verbs`` writes ``riskeval/session/verbs.pyi``: the arguments of each
function of ``riskeval.protect`` after the data, those that roles answer optional.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

from riskeval.protection.registry import VERBS, method_named
from riskeval.session import verbs
from riskeval.session.roles import FROM_ROLES

FILE = Path(verbs.__file__).with_suffix(".pyi")
HEAD = '''"""Verbs of a session, written by ``python -m tests.session_verbs``."""'''
ALWAYS = {
    "Any": "typing", "ABC": "abc", "abstractmethod": "abc",
    "Protected": "riskeval.protection.result",
}  # fmt: skip
CLASS = """class SessionVerbs(ABC):
    @abstractmethod
    def apply(self, verb: str, *values: Any, **parameters: Any) -> Protected: ...
"""


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


def stub() -> str:
    """Return the text of the stub."""
    homes, methods = dict(ALWAYS), []
    for verb in VERBS:
        function = inspect.unwrap(method_named(verb))
        known, parts, keyword = homes_of(sys.modules[function.__module__]), ["self"], False
        for one in list(inspect.signature(function).parameters.values())[1:]:
            if one.kind is one.KEYWORD_ONLY and not keyword:
                parts, keyword = [*parts, "*"], True
            optional = one.default is not one.empty or one.name in FROM_ROLES.get(verb, {})
            parts.append(f"{one.name}: {one.annotation}{' = ...' if optional else ''}")
            names = [n.id for n in ast.walk(ast.parse(one.annotation)) if isinstance(n, ast.Name)]
            homes |= {name: known[name] for name in names if name in known}
        methods.append(
            f"    def {verb}({', '.join(parts)}) -> Protected:\n"
            f'        """Run ``riskeval.protect.{verb}`` on the current file; see there."""\n'
        )
    imports = [f"from {module} import {name}" for name, module in sorted(homes.items())]
    text = "\n".join([HEAD, "", *imports, "", CLASS, *methods])
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(FILE), "-"]
        text = subprocess.run(
            arguments, input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    FILE.write_text(stub(), encoding="utf-8")
