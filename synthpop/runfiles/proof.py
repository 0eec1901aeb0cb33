"""Whether a run file works: its recipe fitted on some households, which it simulates again."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from synthpop.microdata.messages.errors import Fault, InputError, MicrodataError
from synthpop.microdata.messages.events import Event
from synthpop.microdata.messages.message import message
from synthpop.microdata.roles.survey import Survey
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.pipeline.learn import TrialFit, learn
from synthpop.runfiles.checks import faults_of_data, in_words_of_file
from synthpop.runfiles.plan import RunFile
from synthpop.stages.base import BlockStage
from synthpop.stages.categorical import Categorical
from synthpop.stages.continuous.stage import Continuous
from synthpop.stages.population_stages import PopulationStage, SurveyStage

Step = BlockStage | SurveyStage | PopulationStage

HOUSEHOLDS, TIMES_MORE = 200, 8
POOLED = 30.0  # persons: an amount in the trial, in place of a search for the best


def faults_in_trial(plan: RunFile) -> list[Fault]:
    """Return what is wrong with the recipe of a run file on its survey.

    First it is checked against the whole survey, with its rules. Then its stages are fitted on 200
    households from all of the file, and simulate as many. What fails there is tried again with
    eight times as many, up to the whole survey: few households may lack what all of them have.
    """
    faults = faults_of_data(plan)
    if faults:
        return faults
    survey = plan.read_survey()
    n = HOUSEHOLDS
    while True:
        n = min(n, survey.n_households)
        fault = _fault_of_fit(plan, _some_households(survey, n))
        if not fault or n == survey.n_households:
            return fault
        n *= TIMES_MORE


def _some_households(survey: Survey, n: int) -> Survey:
    """Return every so many households of a survey, n in all."""
    starts, sizes = survey.household_offsets[:-1], survey.household_sizes
    chosen = np.linspace(0, survey.n_households - 1, n).round().astype(int)
    taken = [np.arange(starts[i], starts[i] + sizes[i]) for i in chosen]
    rows = survey.household_order[np.concatenate(taken)]
    return Survey(survey.frame.iloc[np.sort(rows)].reset_index(drop=True), **survey.roles.given())


def _without_search(stage: Step) -> Step:
    """Return a stage that pools strata by a given amount where it would look for the best."""
    if isinstance(stage, Categorical | Continuous) and stage.pooling is None:
        return replace(stage, pooling=POOLED)
    return stage


def _fault_of_fit(plan: RunFile, survey: Survey) -> list[Fault]:
    """Fit the recipe and simulate households; return what fails, with its stage."""
    at: list[str] = [""]

    def note(event: Event) -> None:
        if event.job == "fit" and event.detail:
            at[0] = event.detail

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = learn(
                FittedPipeline, list(map(_without_search, plan.stages)), (), (), survey, 1, note,
                TrialFit(survey.n_households),
            )  # fmt: skip
            at[0] = ""
            total = float(survey.household_weights.sum())
            fitted.simulate(scale=survey.n_households / total)
    except InputError as problem:
        return in_words_of_file(plan, problem)
    except (MicrodataError, ValueError, ArithmeticError, LookupError, TypeError) as problem:
        where = at[0] or "simulate"
        what = message("cannot be fitted: {problem}", problem=str(problem))
        return [Fault(where, what, hint="Take the stage away, or give it fewer predictors.")]
    return []
