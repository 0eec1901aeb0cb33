"""Write the static imports of the packages whose names are imported when they are used.

``python -m tests.static_imports`` brings the blocks ``if TYPE_CHECKING:`` up to date.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

from synthpop.microdata.lazy import FACADES

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "synthpop",
    "synthpop.calibration",
    "synthpop.heaping",
    "synthpop.sampling",
    "riskeval",
    "riskeval.protect",
    "riskeval.utility",
)


def path_of(package: str) -> Path:
    return Path(str(importlib.import_module(package).__file__))


def wanted(package: str) -> set[str]:
    """Return the import statements that show a type checker what `package` has."""
    importlib.import_module(package)
    lines = set()
    for name, module in FACADES[package].items():
        if module.endswith(":"):
            parent, _, last = module[:-1].rpartition(".")
            lines.add(f"from {parent} import {last} as {name}")
        else:
            lines.add(f"from {module} import {name} as {name}")
    return lines


def written(package: str) -> set[str]:
    """Return the import statements that stand in its block."""
    tree = ast.parse(path_of(package).read_text(encoding="utf-8"))
    lines = set()
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom):
                    for part in line.names:
                        lines.add(f"from {line.module} import {part.name} as {part.asname}")
    return lines


def write(package: str) -> None:
    path = path_of(package)
    head, _, rest = path.read_text(encoding="utf-8").partition("if TYPE_CHECKING:\n")
    tail = rest[rest.index("\nelse:\n") :]
    block = "".join(f"    {line}\n" for line in sorted(wanted(package)))
    path.write_text(f"{head}if TYPE_CHECKING:\n{block.rstrip()}{tail}", encoding="utf-8")


if __name__ == "__main__":
    for package in PACKAGES:
        write(package)
    files = [str(path_of(package)) for package in PACKAGES]
    subprocess.run([sys.executable, "-m", "ruff", "check", "--fix", "-q", *files], check=True)
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *files], check=True)
