"""Print the constraints that hold every dependency at the lowest version that pyproject states."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path


def lowest(requirement: str) -> str | None:
    """Return ``name==X.Y.*`` for ``name>=X.Y``."""
    match = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*>=\s*([0-9.]+)", requirement.strip())
    return f"{match[1]}=={match[2]}.*" if match else None


def main() -> None:
    """Read the project's own file."""
    file = Path(__file__).resolve().parents[1] / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *extras["survey-files"]]:
        line = lowest(requirement)
        if line is not None:
            print(line)


if __name__ == "__main__":
    main()
