"""What the child process computes for the journey "judge": calls of public functions."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.app.jobs import BackgroundJob, JobRequest, written_report
from synthpop.app.judge.state import JudgeState
from synthpop.app.reading import describe_columns, suggest_roles_of
from synthpop.app.state import opened
from synthpop.app.tables import plain_table, shown_result
from synthpop.app.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

    from riskeval.attacks.synthetic_risk import SyntheticRisk
    from riskeval.comparison.result import Comparison

ROLE_NAMES = {"key": "keys", "identifier": "", "design": "", "none": ""}


def stamp_of(state: JudgeState) -> str:
    """Return what the judgement depends on."""
    return state.model_dump_json()


def labels(state: JudgeState) -> list[str]:
    """Return a name for each release, all different."""
    names: list[str] = []
    for release in state.releases:
        name = Path(release.source.name).stem
        names.append(name if name not in (*names, "original") else f"{name} ({len(names) + 1})")
    return names


def _original(workspace: Workspace, state: JudgeState) -> pd.DataFrame:
    return workspace.frame(opened(state.original, "original"))


def columns(request: JobRequest) -> Any:
    """Return the columns of the original, and which of them the releases have."""
    state = request.project.judge
    described = describe_columns(_original(request.workspace, state))
    files = zip(labels(state), state.releases, strict=True)
    described["releases"] = [
        {
            "label": label,
            "records": len(request.workspace.frame(release.source)),
            "columns": [str(name) for name in request.workspace.frame(release.source).columns],
        }
        for label, release in files
    ]
    return described


def suggest(request: JobRequest) -> Any:
    """Return the roles that the original suggests, each with the reason."""
    return suggest_roles_of(_original(request.workspace, request.project.judge), ROLE_NAMES)


def _comparison(request: JobRequest) -> Comparison:
    workspace, state = request.workspace, request.project.judge
    from riskeval.comparison.compare import compare
    from riskeval.comparison.releases import Release

    def run() -> Comparison:
        original = _original(workspace, state)
        releases = {}
        for label, release in zip(labels(state), state.releases, strict=True):
            frame = workspace.frame(release.source)
            weights = state.roles.weights if state.roles.weights in frame.columns else None
            kind = None if release.kind == "found" else release.kind
            releases[label] = Release(frame, kind=kind, weights=weights)
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
            on_event=request.listen,
        )

    return workspace.once(f"comparison {stamp_of(state)}", run)


def compare_releases(request: JobRequest) -> Any:
    """Return risk and utility of every release beside the original, and their map."""
    from riskeval.report.comparison_verdicts import judged, left_out, reason_rows
    from synthpop.microdata.messages.pictures import to_svg

    result = _comparison(request)
    columns = result.measures[["release", "part", "title", "value", "limit", "within", "meaning"]]
    pictures = []
    with suppress(ValueError):  # no utility was measured: there is nothing to draw
        risk_map = result.risk_utility_map()
        pictures.append(to_svg(risk_map.figure(), "map", risk_map.summary()))
    verdict = {name: str(said) for name, said in judged(result).items()}
    reasons = [str(row["sentence"]) for row in reason_rows(result, external=False)]
    return shown_result(
        result, plain_table(columns, 400), pictures=pictures, verdict=verdict, reasons=reasons,
        left_out=str(left_out(result)),
    )  # fmt: skip


def _attacked(request: JobRequest, place: int) -> SyntheticRisk:
    workspace, state = request.workspace, request.project.judge
    from riskeval.attacks.assess_synthetic import assess_synthetic

    def run() -> SyntheticRisk:
        return assess_synthetic(
            _original(workspace, state),
            workspace.frame(state.releases[place].source),
            list(state.roles.keys),
            list(state.roles.sensitive),
            holdout=None if state.holdout is None else workspace.frame(state.holdout),
            household=state.roles.household,
            seed=state.seed,
            on_event=request.listen,
        )

    return workspace.once(f"attacks {place} {stamp_of(state)}", run)


def attack_report(request: JobRequest) -> Any:
    """Write the page on the attacks on one synthetic release."""
    from riskeval.report.judgement import write_judgement

    place = int(request.arguments["place"])
    result = _attacked(request, place)
    return written_report(
        request,
        f"attacks-{place + 1}",
        lambda target, audience, language: write_judgement(
            target, result, audience=audience, language=language
        ),
    )


def attack(request: JobRequest) -> Any:
    """Run every attack on each synthetic release; returns sentences and numbers."""
    state = request.project.judge
    results = []
    kinds = _comparison(request).table["kind"]
    for place, label in enumerate(labels(state)):
        if kinds[label] != "synthetic":
            continue
        result = _attacked(request, place)
        texts, table = str(result.summary()).splitlines(), plain_table(result.to_frame(), 100)
        results.append({"place": place, "label": label, "texts": texts, "table": table})
    return {"results": results}


def report(request: JobRequest) -> Any:
    """Write the report of the comparison for one of two audiences."""
    result = _comparison(request)
    return written_report(
        request,
        "judgement",
        lambda target, audience, language: result.report(
            target, audience=audience, language=language
        ),
    )


JOBS: dict[str, BackgroundJob] = {
    "columns": BackgroundJob(columns, "Reading the files"),
    "suggest": BackgroundJob(suggest, "Looking for roles"),
    "compare": BackgroundJob(compare_releases, "Comparing the releases with the original"),
    "attack": BackgroundJob(attack, "Attacking the synthetic files"),
    "report": BackgroundJob(report, "Writing the report"),
    "attack_report": BackgroundJob(attack_report, "Writing the report"),
}
