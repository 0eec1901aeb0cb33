"""What the child process computes for the journey "create": calls of public functions."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from synthpop.app.create.recipe import document, folder_name, read_plan, recipe_stamp
from synthpop.app.jobs import BackgroundJob, JobRequest, written_report
from synthpop.app.reading import describe_columns, preview_source
from synthpop.app.state import opened
from synthpop.app.tables import plain_table, shown_result
from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Event

if TYPE_CHECKING:
    from synthpop.microdata.roles.survey import Survey
    from synthpop.population.population import Population

SHOWN_PICTURES = 6
FORMATS = (".parquet", ".csv", ".sav", ".dta", ".xpt", ".rds", ".xlsx")


def preview(request: JobRequest) -> Any:
    """Return the first rows of the survey."""
    survey = opened(request.project.create.survey, "survey")
    return preview_source(request.workspace.folder, survey)


def columns(request: JobRequest) -> Any:
    """Return what each column of the survey holds."""
    survey = opened(request.project.create.survey, "survey")
    return describe_columns(request.workspace.frame(survey))


def starter(request: JobRequest) -> Any:
    """Return the recipe that the survey suggests, and why each column is used as it is."""
    from synthpop.microdata.reading.columns import MOST_QUESTIONS
    from synthpop.profile.profile import profile_survey
    from synthpop.runfiles.template import ROLES, template_text

    source = opened(request.project.create.survey, "survey")
    frame, answers = request.workspace.frame(source), request.project.create.answers
    profile = profile_survey(frame)
    questions = {one.role: one for one in profile.questions}
    if answers:
        profile = profile_survey(frame, known={role: n or None for role, n in answers.items()})
        questions |= {one.role: one for one in profile.questions if one.role not in questions}
    recipe = tomllib.loads(template_text(frame, profile, source.file))
    uses = {item.name: item.detail if item.use == "role" else item.use for item in profile.columns}
    return {
        "text": profile.summary(),
        "roles": {role: name for role, name in recipe["survey"].items() if role in ROLES},
        "stages": recipe.get("stage", []),
        "questions": [
            {"role": one.role, "why": one.why, "columns": list(one.candidates)}
            for one in questions.values()
        ][:MOST_QUESTIONS],
        "columns": {
            item.name: {"role": uses[item.name], "why": item.why} for item in profile.columns
        },
    }


def check(request: JobRequest) -> Any:
    """Check the recipe against the survey, without running it."""
    plan = read_plan(request.workspace, request.project.create)
    survey = plan.read_survey()
    return {"text": survey.summary(), "stages": [str(stage) for stage in plan.stages]}


def made_population(request: JobRequest) -> tuple[Survey, Population]:
    """Return survey and population of a recipe; a run that was stopped resumes."""
    workspace, state, listen = request.workspace, request.project.create, request.listen

    def make() -> tuple[Survey, Population]:
        plan = read_plan(workspace, state)
        survey = plan.read_survey()
        fitted = plan.pipeline().fit(survey, seed=state.seed, on_event=listen)
        population = fitted.simulate(
            scale=state.scale,
            out=workspace.folder / folder_name(state),
            rows_per_block=plan.run.rows_per_block,
            on_event=listen,
        )
        return fitted.derived_survey(plan.run.strata), population

    result: tuple[Survey, Population] = workspace.once(f"population {recipe_stamp(state)}", make)
    return result


def run(request: JobRequest) -> Any:
    """Create the population and say how well it fits the survey."""
    from synthpop.evaluation.assess_fit import assess_fit
    from synthpop.microdata.messages.pictures import to_svg
    from synthpop.report.gallery import draw_all

    survey, population = made_population(request)
    request.listen(Event("progress", "fit report", 0, 2, ""))
    fit = request.workspace.once(
        f"fit {recipe_stamp(request.project.create)}", lambda: assess_fit(survey, population)
    )
    figures = list(draw_all(fit).items())[:SHOWN_PICTURES]
    request.listen(Event("progress", "fit report", 1, 2, ""))

    return {
        "texts": [*str(population.summary()).splitlines(), *str(fit.summary()).splitlines()],
        "pictures": [to_svg(figure, f"fit{k}", name) for k, (name, figure) in enumerate(figures)],
        "names": [name for name, _ in figures],
        "columns": [field.name for field in population.fields],
    }


def scenarios(request: JobRequest) -> Any:
    """Measure what five intruders learn from the population."""
    from riskeval.attacks.matching.scenarios import intruder_scenarios

    state = request.project.create
    if not state.keys or not state.target:
        hint = "Choose what the intruder knows."
        raise InputError.of("scenarios", "keys and target", "are not chosen", hint)
    survey, population = made_population(request)
    risk = intruder_scenarios(
        survey.frame, population, list(state.keys), state.target, weights=survey.weights,
        seed=state.seed, on_event=request.listen,
    )  # fmt: skip
    return shown_result(risk, plain_table(risk.to_frame(), 100))


def report(request: JobRequest) -> Any:
    """Write the fit report for one of two audiences."""
    from synthpop.report.write import write_report

    survey, population = made_population(request)
    return written_report(
        request,
        "population",
        lambda target, audience, language: write_report(
            target, survey, population, audience=audience, language=language
        ),
    )


def export(request: JobRequest) -> Any:
    """Write the population, or a random sample of its households, to one file."""
    from synthpop.microdata.formats.files import write_table
    from synthpop.sampling.designs import SimpleRandom
    from synthpop.sampling.draw import draw_sample
    from synthpop.sampling.stage_designs import Cluster

    suffix = request.arguments.get("format", FORMATS[0])
    if suffix not in FORMATS:
        hint = f"There are: {FORMATS}."
        raise InputError.of("export", "format", f"{suffix!r} is not written", hint)
    _, population = made_population(request)
    n = request.arguments.get("n")
    if n:
        household = population.roles.household
        unit = Cluster(household, SimpleRandom(int(n))) if household else SimpleRandom(int(n))
        survey = draw_sample(population, unit, seed=request.project.create.seed)
        write_table(survey.frame, request.workspace.target(f"sample{suffix}"))
        return {"file": f"sample{suffix}", "summary": survey.summary()}
    target = request.workspace.target(f"population{suffix}")
    if suffix == ".parquet":
        population.to_parquet(target)
    elif suffix == ".csv":
        population.to_csv(target)
    else:
        write_table(population.frame(), target)
    return {"file": target.name}


def run_file(request: JobRequest) -> Any:
    """Write the run file of ``synthpop run``."""
    import tomli_w

    text = tomli_w.dumps(document(request.project.create, stored=False))
    write_text(request.workspace.target("population.toml"), text, private=True)
    return {"file": "population.toml", "text": text}


JOBS: dict[str, BackgroundJob] = {
    "preview": BackgroundJob(preview, "Reading the first rows"),
    "columns": BackgroundJob(columns, "Reading the file"),
    "starter": BackgroundJob(starter, "Writing a first recipe"),
    "take_starter": BackgroundJob(
        starter,
        "Writing a first recipe",
        lambda recipe: [("create.take_recipe", {k: recipe[k] for k in ("roles", "stages")})],
    ),
    "check": BackgroundJob(check, "Checking the recipe"),
    "run": BackgroundJob(run, "Creating the population"),
    "scenarios": BackgroundJob(scenarios, "Attacking the population"),
    "report": BackgroundJob(report, "Writing the report"),
    "export": BackgroundJob(export, "Writing the file"),
    "run_file": BackgroundJob(run_file, "Writing the run file"),
}
