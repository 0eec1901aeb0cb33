"""A session as Python source."""

from __future__ import annotations

from collections.abc import Sequence

from riskeval.session.edited import EDITED
from riskeval.session.roles import SessionRoles
from riskeval.session.steps import Step, arguments, source

CURRENT = "current"


def uses_current_risk(step: Step) -> bool:
    """Whether a step takes the individual risk of the file that it is run on."""
    return step.verb == "suppress_risky" and step.parameters.get("risk") == CURRENT


def write_script(
    steps: Sequence[Step], roles: SessionRoles, source_path: str, target_path: str
) -> str:
    """Return Python that reads the original, repeats the steps and writes the result."""
    lines = [
        '"""Repeat a protection session. Confidential: its seeds undo the protection."""',
        "",
        "import pandas as pd",
        "",
        "from riskeval import protect",
    ]
    if any(uses_current_risk(step) for step in steps):
        lines.append("from riskeval.measures.individual import individual_risk")
    lines += ["", f"data = pd.read_parquet({source_path!r})"]
    for number, step in enumerate(steps, 1):
        if step.verb == EDITED:
            note = " ".join(str(step.parameters["note"]).split())
            lines.append(
                f"# Step {number} was edited elsewhere, this script cannot repeat it: {note}"
            )
            lines.append(
                f"# Write it first: session.go_to({number}).data to edited-{number}.parquet"
            )
            lines.append(f"data = pd.read_parquet('edited-{number}.parquet')")
            continue
        if uses_current_risk(step):
            lines.append(
                f"risk = individual_risk(data, {source(list(roles.keys))}, "
                f"weights={roles.weights!r}, household={roles.household!r})"
            )
            others = {name: value for name, value in step.parameters.items() if name != "risk"}
            call = f"{arguments(others)}, risk=risk"
        else:
            call = arguments(step.parameters)
        lines.append(f"data = protect.{step.verb}(data, {call}).data")
    lines.append(f"data.to_parquet({target_path!r})")
    return "\n".join(lines) + "\n"
