"""A fitted recipe that other processes can learn again from other surveys, as bootstraps do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.roles.survey import Survey
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.pipeline.identity import recipe_of
from synthpop.stages.base import BlockStage
from synthpop.stages.categorical import Categorical
from synthpop.stages.components import SUM_TOLERANCE, Components
from synthpop.stages.continuous.stage import Continuous


@dataclass(frozen=True)
class RecipeRefits:
    """What learns the recipe of a fit again; see `FittedPipeline.refits`."""

    fitted: FittedRecipe
    refit: Callable[..., Any]  # `FittedPipeline.refit` of it

    def __reduce__(self) -> Any:
        """Go to a worker process, as a fitted pipeline by itself does not."""
        parts = {one.name: getattr(self.fitted, one.name) for one in fields(self.fitted)}
        return _in_worker, (type(self.fitted), parts)

    @property
    def survey(self) -> Survey:
        """The survey as the stages see it."""
        return self.fitted.survey

    @property
    def parts(self) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
        """Label of each stage, the columns of the survey that it makes, those it looks at.

        Columns that are derived stand for those that they are derived from.
        """
        made_by_layout = {field.name for field in self.fitted.layout.fields}
        simulated = {name for stage in self.fitted.stages for name in stage.provides}
        columns = set(self.survey.frame.columns) & (made_by_layout | simulated)
        sources: dict[str, tuple[str, ...]] = {}
        made: tuple[str, ...] = ()
        parts = []
        for stage in self.fitted.stages:
            own = tuple(name for name in stage.provides if name in columns)
            if stage.sources or not own:
                sources |= dict.fromkeys(stage.provides, tuple(stage.sources))
                continue
            named = _named_predictors(stage)
            wanted = made if named is None else _traced(named, sources)
            strata = self.survey.roles.strata
            known = dict.fromkeys((*wanted, *((strata,) if strata else ())))
            parts.append((stage.label, own, tuple(x for x in known if x in columns - {*own})))
            made = (*made, *own)
        return tuple(parts)

    @property
    def recipe(self) -> tuple[object, ...]:
        """Steps with their options, as a manifest records them."""
        return recipe_of(self.fitted.steps)

    @property
    def fingerprint(self) -> str:
        """Of the survey, as a manifest records it."""
        return self.fitted.origin.fingerprint

    def release(self, survey: Survey, seed: int, scale: float) -> pd.DataFrame:
        """Learn the recipe again, pooled as it was, and simulate a population.

        Where a total was changed, the largest of its parts becomes all of it.
        """
        survey = survey.with_frame(_with_whole_parts(survey.frame, self.fitted.stages))
        population = self.refit(survey, seed=seed, same_pooling=True).simulate(scale=scale)
        frame: pd.DataFrame = population.frame()
        return frame


def _named_predictors(stage: BlockStage) -> tuple[str, ...] | None:
    """Return the predictors that a stage names; None where it takes all there are."""
    if isinstance(stage, Components):
        return tuple(dict.fromkeys((*stage.by, stage.total)))
    if isinstance(stage, (Categorical, Continuous)) and not isinstance(stage.predictors, str):
        return tuple(stage.predictors)
    return None


def _with_whole_parts(frame: pd.DataFrame, stages: tuple[BlockStage, ...]) -> pd.DataFrame:
    """Return a frame in which the parts of every total add up to it."""
    for stage in stages:
        if not isinstance(stage, Components) or stage.total not in frame:
            continue
        names = list(stage.parts)
        parts = np.nan_to_num(frame[names].to_numpy(dtype=np.float64))
        total = frame[stage.total].to_numpy(dtype=np.float64)
        size = np.abs(parts).sum(axis=1)
        off = np.abs(parts.sum(axis=1) - total) > SUM_TOLERANCE * np.maximum(size, 1.0)
        rows = np.flatnonzero(off & ((size > 0.0) | (not stage.unsplit)))
        if not len(rows):
            continue
        whole = np.zeros((len(rows), len(names)))
        whole[np.arange(len(rows)), np.argmax(parts[rows], axis=1)] = total[rows]
        columns = {name: frame[name].copy() for name in names}
        for j, name in enumerate(names):
            columns[name].iloc[rows] = whole[:, j]
        frame = frame.assign(**columns)
    return frame


def _traced(names: tuple[str, ...], sources: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return names with those of derived columns replaced by what they come from."""
    traced: list[str] = []
    for name in names:
        traced += _traced(sources[name], sources) if name in sources else (name,)
    return tuple(dict.fromkeys(traced))


def _in_worker(kind: Callable[..., Any], parts: dict[str, Any]) -> RecipeRefits:
    fitted = kind(**parts)
    return RecipeRefits(fitted, fitted.refit)
