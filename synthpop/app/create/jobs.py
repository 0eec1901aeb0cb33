"""What the child process computes for the journey "create": calls of public functions."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from synthpop.app.create.recipe import document, folder_name, read_plan, recipe_stamp
from synthpop.app.create.state import CreateState
from synthpop.app.jobs import BackgroundJob, Commands
from synthpop.app.reading import describe_columns, preview_source
from synthpop.app.tables import plain_table
from synthpop.app.workspace import Workspace
from synthpop.microdata.atomic import write_text
from synthpop.microdata.errors import Faults
from synthpop.microdata.events import Event, Listener

if TYPE_CHECKING:
    from synthpop.app.project import Project

SHOWN_PICTURES = 6
FORMATS = (".parquet", ".csv", ".sav", ".dta", ".xpt", ".rds", ".xlsx")


def preview(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Return the first rows of the survey."""
    assert project.create.survey is not None
    return preview_source(workspace.folder, project.create.survey)


def columns(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Return what each column of the survey holds."""
    assert project.create.survey is not None
    return describe_columns(workspace.frame(project.create.survey))


def starter(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Return the recipe that the survey suggests, and why each column is used as it is."""
    from synthpop import profile_survey
    from synthpop.runfiles.template import ROLES, template_text

    source = project.create.survey
    assert source is not None
    frame = workspace.frame(source)
    profile = profile_survey(frame)
    recipe = tomllib.loads(template_text(frame, profile, source.file))
    return {
        "text": profile.summary(),
        "roles": {role: name for role, name in recipe["survey"].items() if role in ROLES},
        "stages": recipe.get("stage", []),
        "columns": {
            one.name: {"role": one.detail if one.use == "role" else one.use, "why": one.why}
            for one in profile.columns
        },
    }


def check(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Check the recipe against the survey, without running it."""
    plan = read_plan(workspace, project.create)
    survey = plan.read_survey()
    return {"text": survey.summary(), "stages": [str(stage) for stage in plan.stages]}


def made_population(workspace: Workspace, state: CreateState, listen: Listener) -> dict[str, Any]:
    """Return plan, survey, fit and population of a recipe; a run that was stopped resumes."""

    def make() -> dict[str, Any]:
        plan = read_plan(workspace, state)
        survey = plan.read_survey()
        fitted = plan.pipeline().fit(survey, seed=state.seed, on_event=listen)
        population = fitted.simulate(
            scale=state.scale,
            out=workspace.folder / folder_name(state),
            rows_per_block=plan.run.rows_per_block,
            on_event=listen,
        )
        return {
            "survey": fitted.derived_survey(plan.run.strata),
            "population": population,
        }

    return workspace.once(f"population {recipe_stamp(state)}", make)


def run(workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener) -> Any:
    """Create the population and say how well it fits the survey."""
    from synthpop import assess_fit
    from synthpop.figures.gallery import draw_all
    from synthpop.microdata.pictures import to_svg

    result = made_population(workspace, project.create, listen)
    survey, population = result["survey"], result["population"]
    listen(Event("progress", "fit report", 0, 2, ""))
    fit = workspace.once(
        f"fit {recipe_stamp(project.create)}", lambda: assess_fit(survey, population)
    )
    drawn = list(draw_all(fit).items())[:SHOWN_PICTURES]
    listen(Event("progress", "fit report", 1, 2, ""))
    columns = [field.name for field in population.fields]
    return {
        "texts": [*population.summary().splitlines(), *fit.summary().splitlines()],
        "pictures": [to_svg(figure, f"fit{k}", name) for k, (name, figure) in enumerate(drawn)],
        "names": [name for name, _ in drawn],
        "columns": columns,
    }


def scenarios(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Measure what five intruders learn from the population."""
    from riskeval import intruder_scenarios

    state = project.create
    faults = Faults("scenarios")
    if not state.keys or not state.target:
        faults.add("keys and target", "are not chosen", remedy="Choose what the intruder knows.")
    faults.raise_if_any()
    pair = made_population(workspace, state, listen)
    survey = pair["survey"]
    result = intruder_scenarios(
        survey.frame,
        pair["population"],
        list(state.keys),
        state.target,
        weights=survey.weights,
        seed=state.seed,
        on_event=listen,
    )
    return {
        "texts": result.summary().splitlines(),
        "tables": [plain_table(result.to_frame(), 100)],
        "pictures": [],
    }


def report(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the fit report for one of two audiences."""
    from synthpop import write_report

    audience = "external" if arguments.get("audience") == "external" else "internal"
    result = made_population(workspace, project.create, listen)
    name = f"population-{audience}.html"
    write_report(workspace.target(name), result["survey"], result["population"], audience=audience)
    return {"file": name}


def export(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the population, or a random sample of its households, to one file."""
    from synthpop import Cluster, SimpleRandom, draw_sample
    from synthpop.microdata.files import write_table

    suffix = arguments.get("format", FORMATS[0])
    faults = Faults("export")
    if suffix not in FORMATS:
        faults.add("format", f"{suffix!r} is not written", remedy=f"There are: {FORMATS}.")
    faults.raise_if_any()
    population = made_population(workspace, project.create, listen)["population"]
    n = arguments.get("n")
    if n:
        household = population.roles.household
        unit = Cluster(household, SimpleRandom(int(n))) if household else SimpleRandom(int(n))
        survey = draw_sample(population, unit, seed=project.create.seed)
        write_table(survey.frame, workspace.target(f"sample{suffix}"))
        return {"file": f"sample{suffix}", "summary": survey.summary()}
    target = workspace.target(f"population{suffix}")
    if suffix == ".parquet":
        population.to_parquet(target)
    elif suffix == ".csv":
        population.to_csv(target)
    else:
        write_table(population.frame(), target)
    return {"file": target.name}


def run_file(
    workspace: Workspace, project: Project, arguments: dict[str, Any], listen: Listener
) -> Any:
    """Write the run file of ``synthpop run``."""
    import tomli_w

    text = tomli_w.dumps(document(project.create, stored=False))
    write_text(workspace.target("population.toml"), text, private=True)
    return {"file": "population.toml", "text": text}


def _take(value: Any) -> Commands:
    return [("create.take_recipe", {"roles": value["roles"], "stages": value["stages"]})]


JOBS: dict[str, BackgroundJob] = {
    "preview": BackgroundJob(preview, "Reading the first rows"),
    "columns": BackgroundJob(columns, "Reading the file"),
    "starter": BackgroundJob(starter, "Writing a first recipe"),
    "take_starter": BackgroundJob(starter, "Writing a first recipe", _take),
    "check": BackgroundJob(check, "Checking the recipe"),
    "run": BackgroundJob(run, "Creating the population"),
    "scenarios": BackgroundJob(scenarios, "Attacking the population"),
    "report": BackgroundJob(report, "Writing the report"),
    "export": BackgroundJob(export, "Writing the file"),
    "run_file": BackgroundJob(run_file, "Writing the run file"),
}
