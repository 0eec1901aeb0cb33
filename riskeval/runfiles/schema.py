"""JSON schemas of the run files of ``riskeval assess`` and ``protect``, and their page."""

from __future__ import annotations

from typing import Any

from riskeval.measures.request import Limits
from riskeval.protect import VERBS
from riskeval.runfiles.runfile import (
    AssessOptions,
    DataInput,
    PageOptions,
    ReleaseOptions,
    RolesInput,
)
from synthpop.microdata.schema import joined_schema, schema_of, table_page

TABLES: dict[str, dict[str, Any]] = {
    "assess": {
        "data": DataInput, "assess": AssessOptions, "limits": Limits, "report": PageOptions,
    },
    "protect": {
        "data": DataInput, "roles": RolesInput, "release": ReleaseOptions, "report": PageOptions,
    },
}  # fmt: skip
HEAD = """# The run files of riskeval

Which tables and keys may stand in the run files of `riskeval`, and what is the default of each?

Run files are TOML. `riskeval init survey.sav` writes those of `riskeval assess` and
`riskeval protect` for your file. Editors that know JSON schemas complete and check them:
`riskeval schema protect --to protect.schema.json`, and `#:schema ./protect.schema.json` in the
first line. Relative paths start at the folder of the run file.

This page is generated from the models that read the files. The app writes them too:

![The app: a method and the history of steps](../images/app-protect.png)
"""
NEXT = """Read next: [protect a survey](../tutorials/protect.md),
[the run file of synthpop](run-file.md)."""


def plan_schema(plan: str) -> dict[str, Any]:
    """Return the JSON schema of a run file.

    Parameters
    ----------
    plan : {"assess", "protect"}

    Examples
    --------
    >>> sorted(plan_schema("assess")["properties"])
    ['assess', 'data', 'limits', 'options', 'report']
    """
    properties = {name: schema_of(kind) for name, kind in TABLES[plan].items()}
    if plan == "assess":
        numbers = properties["limits"]["properties"]
        properties["limits"]["properties"] = {
            name: {"anyOf": [item, {"const": "none"}]} for name, item in numbers.items()
        }
        properties["options"] = {"type": "object"}
        return joined_schema("Run file of riskeval assess", properties, ["data", "assess"])
    step = {"verb": {"enum": sorted(VERBS)}}
    properties["step"] = {
        "type": "array",
        "items": {"type": "object", "properties": step, "required": ["verb"]},
    }
    properties["out"] = {"type": "string"}
    return joined_schema("Run file of riskeval protect", properties, ["data", "roles", "step"])


def plans_page() -> str:
    """Return the page of reference of these run files, as Markdown."""
    lines = [*HEAD.splitlines(), ""]
    described: set[str] = set()
    for plan, tables in TABLES.items():
        for name, kind in tables.items():
            if name not in described:
                head = f"`[{name}]` of {plan}" if name in (plan, "limits") else f"`[{name}]`"
                lines += table_page(head, schema_of(kind))
                described.add(name)
    verbs = ", ".join(f"`{verb}`" for verb in sorted(VERBS))
    lines += [
        "## `[[step]]`",
        "",
        f"One step of protection: `verb` and its arguments. Verbs: {verbs}.",
        "",
        NEXT,
    ]
    return "\n".join(lines).rstrip() + "\n"
