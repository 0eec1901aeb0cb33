"""The run files of riskeval: what ``init`` writes and the shortest ones, then every key once."""

from __future__ import annotations

from typing import Any

import pytest
import tomli_w

import riskeval.cli
import synthpop
from riskeval.protection.registry import VERBS
from riskeval.runfiles.schema import TABLES, plan_schema
from tests.console import call
from tests.journeys.journey import (
    AMOUNTS,
    KEYS,
    SCALE,
    SOURCES,
    Journey,
    JourneyOf,
    demo_slice,
    keys_of,
    keys_of_schema,
    slow_unless,
)

Tables = dict[str, Any]
ROLES = {"keys": KEYS, "weights": "rb050", "household": "db030"}
INTRUDER = {"keys": ["rb090", "pl030"], "targets": ["netIncome"]}


def files(it: Journey) -> None:
    """Write a population, a second one, people who are not in the survey, and who is asked for."""
    if not (it.folder / "others.csv").exists():
        it.fitted.simulate(scale=SCALE, out=it.folder / "synthetic")
        for suffix in ("parquet", "csv"):
            second = it.fitted.simulate(scale=SCALE, seed=2, key=bytes(range(32)))
            getattr(second, f"to_{suffix}")(it.folder / f"second.{suffix}")
        frame = it.survey.frame
        synthpop.write_table(frame.assign(asked=frame["age"] > 15), it.folder / "asked.csv")
        others = demo_slice(200)[frame.columns]
        synthpop.write_table(others.assign(asked=others["age"] > 15), it.folder / "others.csv")
        (it.folder / "labels.toml").write_text('[netIncome]\nlabel = "Net income"\n')


def shortest(plan: str, it: Journey) -> Tables:
    """Return a run file without an option."""
    data = {"data": {"file": str(it.file)}}
    release = {"name": "synthetic", "file": "second.parquet"}
    return {
        "compare": {**data, "roles": {"keys": KEYS}, "release": [release]},
        "judge": {**data, "synthetic": {"file": "synthetic"}, "intruder": INTRUDER},
        "intruders": {**data, "population": {"file": "synthetic"}, "intruder": INTRUDER},
    }[plan]


STEPS: list[Tables] = [
    {"verb": "drop", "where": {"hsize": {"least": 7}}},
    {"verb": "round_to", "columns": ["netIncome"], "base": 10},
    {"verb": "recode_values", "column": "age", "table": [[80, 120, 85]]},
    {"verb": "set_missing", "columns": ["pl030"], "where": {"age": {"least": 85}}},
    {"verb": "sample", "share": 0.9},
    {"verb": "global_recode", "column": "age", "breaks": [0, 14, 29, 44, 64, 120]},
    {"verb": "group_categories", "column": "pl030", "groups": {"work": ["full-time"]}},
    {"verb": "top_bottom_code", "column": "netIncome", "upper": 50_000},
    {"verb": "suppress_risky", "column": "rb090", "threshold": 0.2},
    {"verb": "minimal_generalization", "hierarchies": {"rb090": ["*"]}, "k": 2},
    {"verb": "mondrian", "keys": ["hsize"], "k": 3},
    {"verb": "record_swap", "hierarchy": ["db040"], "similar": ["hsize"], "risk_keys": ["pl030"]},
    {"verb": "create_new_id", "column": "pid"},
    {"verb": "shuffle", "formula": "netIncome ~ age + rb090"},
    {"verb": "weights", "column": "rb050", "strata": ["rb090"]},
    *(
        {"verb": verb}
        for verb in ("local_suppression", "local_recoding", "pram", "microaggregate", "add_noise",
        "rank_swap", "mv_top_code")
    ),
]  # fmt: skip
"""One step of each verb; `merge_household_file` takes a table, which no run file has."""
READING = {
    "csv": {
        "separator": ",", "decimal": ".", "thousands": "'", "encoding": "utf-8", "missing": [],
        "types": {"pl030": "category"},
    },
    "dictionary": "labels.toml", "user_missing": "missing",
}  # fmt: skip
PAGE = {"title": "Page", "file": "page.html", "audience": "external", "language": "de"}


DATA = {"file": "asked.csv", **READING}
HOLDOUT = {"file": "others.csv", **READING}
JUDGED = {
    **INTRUDER, "key_errors": {"pl030": 0.1}, "coverage": 0.9, "unit": "household",
    "household": "db030", "rows": "asked", "accuracy": [0.1], "categorical": [],
    "members": "every",
}  # fmt: skip
EVERY_KEY: dict[str, Tables] = {
    "assess": {
        "data": DATA,
        "assess": {
            **ROLES, "sensitive": ["pb190"], "numeric": ["netIncome"], "measures": "all",
            "k": [2, 3], "missing": "wildcard", "alpha": 0.5, "population_size": 9_104,
        },
        "limits": {"k": 3, "global_risk": 0.1, "record_risk": 0.5, "l": 2, "t": 0.5, "alpha": 0.9},
        "options": {"suda": {"max_size": 2}},
        "report": PAGE,
    },
    "protect": {
        "data": DATA,
        "roles": {
            **ROLES, "numeric": ["netIncome"], "strata": ["hsize"], "sensitive": ["pb190"],
            "linked": {"pl030": ["pb220a"]}, "pram": ["pb220a"], "household_variables": ["db040"],
            "household_keys": ["db040"],
            "components": {"netIncome": AMOUNTS[1:]},
        },
        "step": STEPS,
        "release": {"order": "households", "identifiers": ["pid"], "drop": ["db090"]},
        "report": PAGE,
        "out": "safe.csv",
    },
    "compare": {
        "data": DATA,
        "roles": {**ROLES, "numeric": ["netIncome"], "sensitive": ["pb190"], "strata": "db040"},
        "release": [
            {"name": "one", "file": "second.parquet", "kind": "synthetic", "family": "synthpop",
             "parameter": 1.0, "replicates": ["second.csv"]},
            {"name": "two", "step": [{"verb": "local_suppression", "k": 2}], "weights": "rb050",
             "linkable": True, "identifier": "pid"},
            {"name": "three", "base": "two", "step": [{"verb": "pram", "columns": ["rb090"]}],
             "levels": {"db040": {"Capital": "City"}}},
        ],
        "indicators": [{"variable": "netIncome", "statistics": ["mean"], "by": "db040",
                        "gender": "rb090", "men": "male", "women": "female"}],
        "regressions": [{"formula": "netIncome ~ age", "family": "linear"}],
        "limits": {"k": 2},
        "sample_sizes": {
            **dict.fromkeys(("linkage", "outliers", "prediction", "screen", "propensity"), 100),
            "model": "linear",
        },
        "holdout": HOLDOUT,
        "level": 0.9,
        "seed": 1,
        "report": PAGE,
    },
    "judge": {
        "data": DATA,
        "synthetic": {"file": "second.csv", "replicates": ["second.csv"], **READING},
        "holdout": HOLDOUT,
        "intruder": {**JUDGED, "who": "everyone"},
        "attacks": ["disco", "copies"],
        "n_groups": 3,
        "seed": 1,
        "out": "judged.csv",
        "report": PAGE,
    },
    "intruders": {
        "data": DATA,
        "population": {"file": "second.csv", **READING},
        "holdout": HOLDOUT,
        "intruder": {**JUDGED, "who": "sample uniques"},
        "options": {
            "scenarios": [1, 2], "weights": "rb050", "missing": "category",
            "open_interval": "zero", "model": "linear",
            "intervals": {"netIncome": ["income_low", "income_high"]},
        },
        "seed": 1,
        "out": "intruders.csv",
    },
}  # fmt: skip
"""Run file -> every table and key that it may have, but for those of `shortest`."""
NOT_RUN = {
    "data.demo": "the embedded survey in place of a file: `test_run_files.py`",
    "step merge_household_file": "takes a table, which no run file has",
}
"""Key or verb that is not run -> the reason."""


def written(name: str, tables: Tables, it: Journey) -> str:
    """Write a run file into the folder of the journey and return its name."""
    (it.folder / f"{name}.toml").write_text(tomli_w.dumps(tables), encoding="utf-8")
    return f"{name}.toml"


def run(it: Journey, *arguments: object) -> str:
    """Run a command in the folder of the journey, and return what it says."""
    done = call(riskeval.cli.main, *arguments, cwd=it.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_key_and_verb_is_in_the_matrix() -> None:
    assert EVERY_KEY.keys() == TABLES.keys()
    for plan, tables in EVERY_KEY.items():
        schema = plan_schema(plan)
        asked = {*keys_of_schema(schema, schema)}
        asked |= {f"step {verb}" for verb in VERBS} if plan == "protect" else set()
        assert sorted(asked - {*keys_of(tables), *NOT_RUN}) == [], plan


def pairs(*quick: tuple[str, str]) -> list[Any]:
    """Return the plans on every source; those that are not named are in the slow tests."""
    plans = [plan for plan, _ in quick]
    return [
        pytest.param(plan, source, marks=slow_unless((plan, source) in quick))
        for plan in plans
        for source in SOURCES
    ]


@pytest.mark.parametrize(("plan", "source"), pairs(("assess", "spss"), ("protect", "csv")))
def test_what_init_writes_runs(plan: str, source: str, journey_of: JourneyOf) -> None:
    it = journey_of("readme", source)
    run(it, "init", it.file, "--plan", plan, "--out", f"first-{plan}.toml")
    assert "report" in run(it, plan, f"first-{plan}.toml").lower()


@pytest.mark.parametrize(
    ("plan", "source"), pairs(("compare", "spss"), ("judge", "csv"), ("intruders", "embedded"))
)
def test_the_shortest_run_file_runs(plan: str, source: str, journey_of: JourneyOf) -> None:
    it = journey_of("readme", source)
    files(it)
    assert "Seed" in run(it, plan, written(f"shortest-{plan}", shortest(plan, it), it))


@pytest.mark.parametrize("plan", EVERY_KEY)
def test_every_key_of_a_run_file_is_taken(plan: str, journey_of: JourneyOf) -> None:
    it = journey_of("readme", "csv")
    files(it)
    assert (
        "Wrote" in run(it, plan, written(f"every-{plan}", EVERY_KEY[plan], it)) or plan == "assess"
    )
