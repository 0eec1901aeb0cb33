"""What the child process computes for the journey "judge": calls of public functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.app.jobs import BackgroundJob
from synthpop.app.judge.state import JudgeState
from synthpop.app.reading import describe_columns, suggest_roles_of
from synthpop.app.tables import plain_table
from synthpop.app.workspace import Workspace
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Listener

if TYPE_CHECKING:
    import pandas as pd

    from riskeval import Comparison
    from riskeval.attacks.synthetic_risk import SyntheticRisk
    from synthpop.app.project import Project

ROLE_NAMES = {"key": "keys", "identifier": "", "design": "", "none": ""}


def stamp_of(state: JudgeState) -> str:
    """Return what the judgement depends on."""
    return state.model_dump_json()


def labels(state: JudgeState) -> list[str]:
    """Return a name for each release, all different."""
    names: list[str] = []
    for one in state.releases:
        name = Path(one.source.name).stem
        names.append(name if name not in (*names, "original") else f"{name} ({len(names) + 1})")
    return names


def _original(workspace: Workspace, state: JudgeState) -> pd.DataFrame:
    faults = Faults("project")
    if state.original is None:
        faults.add("original", "is not opened yet", remedy="Open the original first.")
    faults.raise_if_any()
    assert state.original is not None
    return workspace.frame(state.original)


def columns(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Return the columns of the original, and which of them the releases have."""
    state = project.judge
    described = describe_columns(_original(workspace, state))
    files = zip(labels(state), state.releases, strict=True)
    described["releases"] = [
        {
            "label": label,
            "records": len(workspace.frame(one.source)),
            "columns": [str(name) for name in workspace.frame(one.source).columns],
        }
        for label, one in files
    ]
    return described


def suggest(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Return the roles that the original suggests, each with the reason."""
    return suggest_roles_of(_original(workspace, project.judge), ROLE_NAMES)


def _comparison(workspace: Workspace, state: JudgeState, listen: Listener) -> Comparison:
    from riskeval import Release, compare

    def run() -> Comparison:
        original = _original(workspace, state)
        releases = {}
        for label, one in zip(labels(state), state.releases, strict=True):
            frame = workspace.frame(one.source)
            weights = state.roles.weights if state.roles.weights in frame.columns else None
            releases[label] = Release(frame, kind=one.kind, weights=weights)
        return compare(
            original,
            releases,
            keys=list(state.roles.keys),
            numeric=list(state.roles.numeric),
            sensitive=list(state.roles.sensitive),
            weights=state.roles.weights,
            household=state.roles.household,
            holdout=None if state.holdout is None else workspace.frame(state.holdout),
            seed=state.seed,
            on_event=listen,
        )

    return workspace.once(f"comparison {stamp_of(state)}", run)


def compare_releases(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Return risk and utility of every release beside the original, and their map."""
    from synthpop.microdata.pictures import to_svg

    result = _comparison(workspace, project.judge, listen)
    shown = result.measures[["release", "part", "title", "value", "limit", "within", "meaning"]]
    pictures = []
    try:
        drawn = result.risk_utility_map()
    except ValueError:  # no utility was measured: there is nothing to draw
        drawn = None
    if drawn is not None:
        pictures.append(to_svg(drawn.figure(), "map", drawn.summary()))
    return {
        "texts": result.summary().splitlines(),
        "tables": [plain_table(shown, 400)],
        "pictures": pictures,
    }


def _attacked(
    workspace: Workspace, state: JudgeState, place: int, listen: Listener
) -> SyntheticRisk:
    from riskeval import assess_synthetic

    def run() -> SyntheticRisk:
        return assess_synthetic(
            _original(workspace, state),
            workspace.frame(state.releases[place].source),
            list(state.roles.keys),
            list(state.roles.sensitive),
            holdout=None if state.holdout is None else workspace.frame(state.holdout),
            household=state.roles.household,
            seed=state.seed,
            on_event=listen,
        )

    return workspace.once(f"attacks {place} {stamp_of(state)}", run)


def attack_report(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the page on the attacks on one synthetic release."""
    from riskeval.report.judgement import write_judgement

    place = int(arguments["place"])
    audience = "external" if arguments.get("audience") == "external" else "internal"
    name = f"attacks-{place + 1}-{audience}.html"
    result = _attacked(workspace, project.judge, place, listen)
    write_judgement(workspace.target(name), result, audience=audience)
    return {"file": name}


def attack(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Run every attack on each synthetic release; returns sentences and numbers."""
    state = project.judge
    results = []
    for place, label in enumerate(labels(state)):
        if state.releases[place].kind != "synthetic":
            continue
        result = _attacked(workspace, state, place, listen)
        results.append(
            {
                "place": place,
                "label": label,
                "texts": result.summary().splitlines(),
                "table": plain_table(result.to_frame(), 100),
            }
        )
    return {"results": results}


def report(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the report of the comparison for one of two audiences."""
    audience = "external" if arguments.get("audience") == "external" else "internal"
    name = f"judgement-{audience}.html"
    result = _comparison(workspace, project.judge, listen)
    result.report(workspace.target(name), audience=audience)
    return {"file": name}


JOBS: dict[str, BackgroundJob] = {
    "columns": BackgroundJob(columns, "Reading the files"),
    "suggest": BackgroundJob(suggest, "Looking for roles"),
    "compare": BackgroundJob(compare_releases, "Comparing the releases with the original"),
    "attack": BackgroundJob(attack, "Attacking the synthetic files"),
    "report": BackgroundJob(report, "Writing the report"),
    "attack_report": BackgroundJob(attack_report, "Writing the report"),
}
