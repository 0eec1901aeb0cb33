"""JSON schemas of the run files of riskeval, and their page of reference."""

from __future__ import annotations

from inspect import unwrap
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.scenario import Scenario
from riskeval.comparison.request import Indicators, Regression, SampleSizes
from riskeval.measures.request import Limits
from riskeval.protection.entry import ProtectionMethod
from riskeval.protection.registry import VERBS
from riskeval.runfiles.attack_files import ReleasedFile
from riskeval.runfiles.compare import CompareRoles, ReleaseInput
from riskeval.runfiles.intruders import IntruderOptions
from riskeval.runfiles.judge import SyntheticInput
from riskeval.runfiles.runfile import (
    AssessOptions,
    DataInput,
    PageOptions,
    ReleaseOptions,
    RolesInput,
)
from synthpop.microdata.frame.dictionary import toml_value
from synthpop.microdata.messages.methods import Method
from synthpop.microdata.runs.fileinput import FileInput
from synthpop.microdata.runs.schema import joined_schema, schema_of, table_page

TABLES: dict[str, dict[str, Any]] = {
    "assess": {
        "data": DataInput, "assess": AssessOptions, "limits": Limits, "report": PageOptions,
    },
    "protect": {
        "data": DataInput, "roles": RolesInput, "release": ReleaseOptions, "report": PageOptions,
    },
    "compare": {
        "data": DataInput, "roles": CompareRoles, "release": ReleaseInput,
        "indicators": Indicators, "regressions": Regression, "limits": dict[str, float],
        "sample_sizes": SampleSizes, "report": PageOptions,
    },
    "judge": {
        "data": DataInput, "synthetic": SyntheticInput, "holdout": FileInput,
        "intruder": Scenario, "report": PageOptions,
    },
    "intruders": {
        "data": DataInput, "population": ReleasedFile, "holdout": FileInput,
        "intruder": Scenario, "options": IntruderOptions,
    },
}  # fmt: skip
"""Run file -> table -> model that reads it."""

SEVERAL = {"compare": ("release", "indicators", "regressions")}
"""Tables of a run file that are given once or more, as ``[[release]]``."""

SEED = {"type": "integer", "minimum": 0}
KEYS: dict[str, dict[str, Any]] = {
    "assess": {"options": {"type": "object"}},
    "protect": {"out": {"type": "string"}},
    "compare": {"holdout": schema_of(FileInput), "level": {"type": "number"}, "seed": SEED},
    "judge": {
        "attacks": {"anyOf": [
            {"enum": ["all", *ATTACKS]}, {"type": "array", "items": {"enum": [*ATTACKS]}},
        ]},
        "n_groups": {"type": "integer", "minimum": 2}, "seed": SEED, "out": {"type": "string"},
    },
    "intruders": {"seed": SEED, "out": {"type": "string"}},
}  # fmt: skip
"""Run file -> keys beside the tables."""

TEXTS = {
    ("compare", "limits"): "Name of a number -> the most that is accepted (of utility: the least), "
    'or "none" for no limit.',
    ("judge", "holdout"): "Records that were not used to make the release: `file` and its reading.",
}
FIRST = ("assess", "protect")
REQUIRED = {
    "assess": ["data", "assess"],
    "protect": ["data", "roles", "step"],
    "compare": ["data", "roles", "release"],
    "judge": ["data", "synthetic", "intruder"],
    "intruders": ["data", "population", "intruder"],
}
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
    """Return the JSON schema of a run file."""
    properties = {name: schema_of(kind) for name, kind in TABLES[plan].items()}
    if plan in ("assess", "compare"):
        limits = properties["limits"]
        limits["properties"] = {
            name: {"anyOf": [item, {"const": "none"}]}
            for name, item in limits.get("properties", {}).items()
        }
        if plan == "compare":
            limits["additionalProperties"] = {"anyOf": [{"type": "number"}, {"const": "none"}]}
    steps = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"verb": {"enum": sorted(VERBS)}},
            "required": ["verb"],
        },
    }
    if plan == "compare":
        properties["release"]["properties"]["step"] = steps
    for name in SEVERAL.get(plan, ()):
        definitions = properties[name].pop("$defs", {})
        properties[name] = {"type": "array", "items": properties[name], "$defs": definitions}
    if plan == "protect":
        properties["step"] = steps
    if "intruder" in properties:
        properties["intruder"]["properties"]["key_errors"] = {}  # a table or a list of pairs
    properties |= KEYS[plan]
    return joined_schema(f"Run file of riskeval {plan}", properties, REQUIRED[plan])


def plans_page() -> str:
    """Return the page of reference of these run files, as Markdown."""
    lines = [*HEAD.splitlines(), ""]
    described: dict[str, Any] = {}
    for plan, tables in TABLES.items():
        for name, kind in tables.items():
            if described.get(name) is kind:
                continue
            brackets = f"[[{name}]]" if name in SEVERAL.get(plan, ()) else f"[{name}]"
            is_own = name in (plan, "limits") or name in described or plan not in FIRST
            head = f"`{brackets}` of {plan}" if is_own else f"`{brackets}`"
            lines += table_page(head, schema_of(kind), TEXTS.get((plan, name), ""))
            described.setdefault(name, kind)
        if plan in KEYS and plan not in FIRST:
            keys = ", ".join(f"`{key}`" for key in KEYS[plan])
            lines += [f"Keys of {plan} beside the tables: {keys}.", ""]
    lines += [
        "## `[[step]]`",
        "",
        "One step of protection, also `[[release.step]]` of compare: `verb` and its arguments. "
        "What a role of the file fills need not be given.",
        "",
    ]
    for method in VERBS.values():
        lines += _verb_page(method)
    return "\n".join([*lines, NEXT]) + "\n"


def _verb_page(method: ProtectionMethod) -> list[str]:
    """Return what a verb does, what it does not protect, its arguments and an example."""
    text = f"{method.title}. {method.question} It does not protect {method.blind_spots}."
    hints = get_type_hints(unwrap(method.run))
    properties, needed = {}, []
    for name, one in method.parameters.items():
        role = method.roles.get(name)
        if one.default is one.empty and role is None:
            needed.append(name)
        properties[name] = _argument(hints[name], one.default)
        if role is not None:
            properties[name]["role"] = role
    title, *rows = table_page(
        f'`verb = "{method.name}"`', {"properties": properties, "required": needed}, text
    )
    plain = not any(map(callable, method.example.values()))
    table = {"verb": method.name, **method.example}
    example = [f"{name} = {toml_value(value)}" for name, value in table.items()]
    shown = ["```toml", "[[step]]", *example, "```", ""] if plain else []
    return [f"#{title}", *rows, *shown]


def _argument(hint: Any, default: Any) -> dict[str, Any]:
    """Return the schema of an argument, with its default where a run file can say it."""
    if get_origin(hint) in (Union, UnionType):  # run files have methods as tables
        kinds = tuple(
            one for one in get_args(hint) if get_origin(one) or not issubclass(one, Method)
        )
        hint = Union[kinds]  # noqa: UP007 - of members that are known here only
    schema = schema_of(hint)
    plain = isinstance(default, (bool, int, float, str))
    return {**schema, "default": default} if plain else schema
