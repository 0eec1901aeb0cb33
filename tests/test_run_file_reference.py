"""Pages of reference and schemas of the run files agree with the models that read them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import riskeval.cli
import synthpop.cli
from riskeval.runfiles import compare, intruders, judge
from riskeval.runfiles.schema import TABLES, plan_schema
from synthpop.microdata.runs.schema import values_text
from synthpop.runfiles.schema import runfile_schema
from synthpop.stages.registry import STAGES
from tests.console import call


def test_every_stage_and_key_is_in_the_schema() -> None:
    schema = runfile_schema()
    stages = {item["title"]: item for item in schema["properties"]["stage"]["items"]["oneOf"]}
    assert stages.keys() == STAGES.keys()
    for name, cls in STAGES.items():
        fields = {field.name for field in dataclasses.fields(cls)}
        assert set(stages[name]["properties"]) == {"type", *fields}
    assert schema["properties"]["run"]["properties"]["scale"]["exclusiveMinimum"] == 0


def test_references_of_a_schema_are_there() -> None:
    for schema in (runfile_schema(), *map(plan_schema, TABLES)):
        text = json.dumps(schema, default=str)
        names = {part.partition('"')[0] for part in text.split("#/$defs/")[1:]}
        assert names <= set(schema.get("$defs", {}))


@pytest.mark.parametrize("plan", ["compare", "judge", "intruders"])
def test_a_schema_has_the_sections_that_the_plan_reads(plan: str, tmp_path: Path) -> None:
    sections = {"compare": compare, "judge": judge, "intruders": intruders}[plan].SECTIONS
    schema = plan_schema(plan)
    assert set(schema["properties"]) == set(sections)
    assert set(schema["required"]) <= set(sections)
    if plan == "compare":
        step = schema["properties"]["release"]["items"]["properties"]["step"]
        assert "pram" in step["items"]["properties"]["verb"]["enum"]
    shown = call(riskeval.cli.main, "schema", plan, cwd=tmp_path)
    assert json.loads(shown.stdout)["title"] == f"Run file of riskeval {plan}"


def test_the_commands_write_it(tmp_path: Path) -> None:
    done = call(synthpop.cli.main, "schema", "--to", "s.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "s.json").read_text())["required"] == ["survey"]
    shown = call(riskeval.cli.main, "schema", "protect", cwd=tmp_path)
    assert (
        "local_suppression"
        in json.loads(shown.stdout)["properties"]["step"]["items"]["properties"]["verb"]["enum"]
    )


def test_values_are_told_in_words() -> None:
    item = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
    assert values_text(item) == "a list: text"
