"""One refit: which households are in, what it learns from, and what its release shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.auditing.generator import Refits
from riskeval.auditing.plant import TargetGroup
from riskeval.auditing.space import AuditSpace, CodedPersons
from riskeval.auditing.statistics import statistics_of
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams

MOST_ATTEMPTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What one refit has shown."""

    present: tuple[np.ndarray, ...]  # for each group bool, shape (m,): who was in
    statistics: tuple[np.ndarray, ...]  # for each group, shape (m, 5)
    n_failed: int  # draws of households from which the recipe could not be learned


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """A function of the number of a refit, which other processes can call."""

    refits: Refits
    groups: tuple[TargetGroup, ...]
    targets: tuple[CodedPersons, ...]
    space: AuditSpace
    share: float
    scale: float
    seed: int

    @property
    def survey(self) -> Survey:
        """The survey from which households are drawn."""
        return self.refits.survey

    def __call__(self, number: int) -> Observed:
        """Draw who is in, learn, simulate and look."""
        problems = []
        for attempt in range(MOST_ATTEMPTS):
            streams = Streams(self.seed)
            present = self.draw(streams.at("audit", "present", number, attempt))
            others = streams.at("audit", "others", number, attempt)
            survey = self.learned_from(present, others)
            try:
                seed = streams.number("audit", "refit", number, attempt)
                release = self.refits.release(survey, seed, self.scale)
            except InputError as problem:
                problems.append(str(problem))
                continue
            found = statistics_of(
                release, self.survey.roles.household, self.groups, self.targets, self.survey,
                self.space,
            )  # fmt: skip
            return Observed(present, tuple(found), attempt)
        what = f"{MOST_ATTEMPTS} draws of households cannot be learned from: {problems[0]}"
        hint = "Raise share, or leave out the strata and rules that half of the survey breaks."
        raise InputError.of("audit", f"refit {number}", what, hint)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Draw by a fair coin who of each group is in."""
        return tuple(rng.random(group.size) < 0.5 for group in self.groups)

    def learned_from(self, present: tuple[np.ndarray, ...], rng: np.random.Generator) -> Survey:
        """Return the survey of one refit; weights are scaled to the total of the whole survey."""
        survey = self.survey
        weights = survey.household_weights
        inside = rng.random(survey.n_households) < self.share
        frame = survey.frame
        changed: list[tuple[str, np.ndarray, pd.Series]] = []
        for group, is_in in zip(self.groups, present, strict=True):
            if group.planted is None:
                inside[group.households] = is_in
                continue
            inside[group.households] = True
            for name in map(str, group.planted):
                changed.append((name, group.rows[is_in], group.planted[name][is_in]))
        columns: dict[str, pd.Series] = {}
        for name, rows, values in changed:
            column = columns.get(name, frame[name]).copy()
            column.iloc[rows] = values.to_numpy()
            columns[name] = column
        frame = frame.assign(**columns)
        factor = float(weights.sum() / weights[inside].sum())
        roles = survey.roles
        for name in {roles.weight, roles.household_weight or roles.weight}:
            frame = frame.assign(**{name: frame[name].to_numpy(dtype=np.float64) * factor})
        return survey.with_frame(frame[inside[survey.household_index]])
