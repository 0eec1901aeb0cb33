"""A recipe of stages: checked as a whole, fitted once on the sample, simulated in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synthpop.calibration.margins import Margin, margin_list
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.events import Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.show import diagram, step_text, view
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.pipeline.learn import learn
from synthpop.population.population import Population
from synthpop.stages.base import BlockStage
from synthpop.stages.population_stages import PopulationStage, SurveyStage
from synthpop.stages.recipe import split_recipe


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A recipe: the stages in the order in which they run, `Structure` first.

    Parameters
    ----------
    stages : sequence of stages
        `Distribute` and `Anneal` come last: they work on the finished population, which is held in
        memory then. `CorrectHeaping` comes before `Structure`: it works on the survey.
    rules : sequence of str
        Edit rules that every person and household of the population keeps, such as
        ``"spouse: age >= 16"`` or ``"exactly one head"``; see `synthpop.conditional.rules`. They
        are checked on the survey first; households that break one are drawn again, and
        `check_rules` verifies the result. What the survey breaks, how many were drawn again and
        what could not be kept is in ``fallbacks``.

    known_totals : list of Margin
        Counts that are known of the whole population, as fine as they are published: the weights
        of the survey are calibrated to coarse tables of them, and whole households are exchanged
        (`Anneal`) until all are met, behind the last step whose variables they name. The
        population comes nearer to the truth in tables of other variables too. At another scale
        than 1 totals of the country are scaled with the population; see `FittedPipeline.simulate`.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthpop import Categorical, Pipeline, Structure, Survey
    >>> data = pd.DataFrame(
    ...     {"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "age": [40, 9, 71], "job": ["a", None, "b"]}
    ... )
    >>> survey = Survey(data, weight="w", household="hid")
    >>> fitted = Pipeline([Structure(["age"]), Categorical("job")]).fit(survey, seed=1)
    >>> fitted.simulate().n_persons
    7
    """

    stages: Sequence[BlockStage | SurveyStage | PopulationStage]
    rules: Sequence[str] = ()
    known_totals: Sequence[Margin] = ()

    def __post_init__(self) -> None:
        """Keep lists of steps, rules and totals as tuples of their own."""
        object.__setattr__(self, "known_totals", tuple(margin_list(self.known_totals)))
        if isinstance(self.stages, list):
            object.__setattr__(self, "stages", tuple(self.stages))
        rules = listed_names(self.rules)
        object.__setattr__(self, "rules", rules)

    def summary(self) -> str:
        """Return the steps in a sentence."""
        labels = [step.label for step in split_recipe(self.stages).stages]
        return message(
            "Recipe of {n}: {labels}.", n=plural(len(labels), "stage"), labels=", ".join(labels)
        )

    def _repr_html_(self) -> str:
        return view(self.summary(), None, diagram([step_text(step) for step in self.stages]))

    def fit(
        self,
        survey: Survey | Population,
        *,
        seed: int | None = None,
        on_event: Listener | None = None,
    ) -> FittedPipeline:
        """Learn every stage from the survey.

        Parameters
        ----------
        survey : Survey or Population
            A population counts every person once; see `Population.survey`.
        seed : int, optional
            Without one a seed is drawn and recorded. `CorrectHeaping` draws with it, and forests,
            boosting and classifiers with a ``random_state`` learn with it; it is the default seed
            of `FittedPipeline.simulate`.
        on_event : callable, optional
            Receives an `Event` for each stage.

        Raises
        ------
        InputError
            Lists everything in the recipe that does not fit the survey.
        """
        return learn(
            FittedPipeline, self.stages, self.rules, self.known_totals, survey, seed, on_event
        )
