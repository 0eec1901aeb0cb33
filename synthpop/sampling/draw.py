"""Draw a sample from a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.native import library_of
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.sampling.plans import Plan
from synthpop.sampling.source import SamplingFrame, Units, open_source
from synthpop.sampling.stage_designs import Cluster, Stratified, TwoStage, with_replacement

WEIGHT = "design_weight"
PROBABILITY = "inclusion_probability"
STRATUM = "design_stratum"
DRAW = "draw"
MOST_PAIRS = 5000


@dataclass(frozen=True)
class Sampler:
    """A design worked out for a population: draws again and again."""

    source: SamplingFrame
    plan: Plan | None  # None where samples were drawn before (see `SampleSetup`)
    # household, strata, psu: roles of the survey
    household: str | None
    strata: str | None
    psu: str | None
    strata_names: tuple[str, ...] = ()  # columns that make the strata, when there are several
    # roles (household, psu) of units that are drawn with replacement; ("row",) for rows
    replace: tuple[str, ...] = ()

    def draw(self, rng: np.random.Generator) -> Survey:
        """Return one sample."""
        return self.survey(*self.positions(rng))

    def positions(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows, increasing, with their inclusion probabilities."""
        assert self.plan is not None
        rows, p = self.plan.draw(rng)
        if len(rows) == 0:
            raise InputError.of("sample", "design", "drew no unit", "Give a larger n.")
        return rows, p

    def survey(self, rows: np.ndarray, p: np.ndarray) -> Survey:
        """Return rows of the population as a survey with design weights."""
        frame = self.source.take(rows)
        frame[PROBABILITY] = p
        frame[WEIGHT] = 1.0 / p
        if self.strata == STRATUM:
            parts = zip(*(frame[name].astype(str) for name in self.strata_names), strict=True)
            frame[STRATUM] = [" / ".join(part) for part in parts]
        roles = {"household": self.household, "psu": self.psu}
        if self.replace:
            frame[DRAW] = pd.Series(rows).groupby(rows).cumcount().to_numpy() + 1
            for role, name in roles.items():
                if role in self.replace and name is not None:
                    frame[f"drawn_{role}"] = frame.groupby([name, DRAW], sort=False).ngroup()
                    roles[role] = f"drawn_{role}"
        return Survey(
            frame, weight=WEIGHT, strata=self.strata, household=roles["household"],
            psu=roles["psu"],
        )  # fmt: skip


def _walk(design: Any) -> list[Any]:
    """Designs from the outside to the inside."""
    if isinstance(design, Cluster):
        return [design, *_walk(design.design)]
    if isinstance(design, TwoStage):
        return [design, *_walk(design.first), *_walk(design.second)]
    if isinstance(design, Stratified):
        within = design.design_by_stratum
        designs = list(within.values()) if hasattr(within, "values") else [within]
        inner = next((one for one in designs if hasattr(one, "plan")), design.within)
        return [design, *_walk(inner)]
    return [design]


def _final(design: Any) -> Any:
    """The innermost stage: what is drawn whole."""
    if isinstance(design, TwoStage):
        return _final(design.second)
    if isinstance(design, Stratified):
        return _final(_walk(design)[1])
    return design


def prepare(
    population: Any,
    design: Any,
    *,
    household: str | None = None,
    columns: Sequence[str] | None = None,
) -> Sampler:
    """Work out a design for a population (see `draw_sample`)."""
    if not hasattr(design, "plan"):
        what = f"is a {type(design).__name__}"
        raise InputError.of("sample", "design", what, "Give SimpleRandom(n) ...")
    source = open_source(population, columns)
    designs = _walk(design)
    clusters = [one.unit for one in designs if isinstance(one, Cluster)]
    final = _final(design)
    if household is None and isinstance(final, Cluster):
        household = final.unit
    strata = next((tuple(one.names) for one in designs if isinstance(one, Stratified)), ())
    name = None if not strata else (strata[0] if len(strata) == 1 else STRATUM)
    plan = design.plan(Units(source))
    psu = clusters[0] if clusters else None
    return Sampler(source, plan, household, name, psu, strata, _replaced(designs, household, psu))


def _replaced(designs: list[Any], household: str | None, psu: str | None) -> tuple[str, ...]:
    """Roles of the units that are drawn with replacement."""
    replacing = [design for design in designs if with_replacement(design)]
    if not replacing:
        return ()
    units = [design.unit for design in replacing if isinstance(design, Cluster)]
    roles = {"household": household, "psu": psu}
    # a household is repeated where it, or a unit that holds it, is drawn again
    repeated = [role for role, name in roles.items() if name in units]
    if units and household is not None and "household" not in repeated:
        repeated.append("household")
    return tuple(repeated) or ("row",)


def draw_sample(
    population: Any,
    design: Any,
    *,
    seed: int | None = None,
    household: str | None = None,
    columns: Sequence[str] | None = None,
) -> Survey:
    """Draw a sample with design weights.

    Parameters
    ----------
    population : DataFrame, Arrow table, Survey or Population
        A population on disk is read column by column for the design and block by block for the
        drawn rows. Weights of a Survey are not used.
    design : SimpleRandom, Systematic, Stratified, Cluster, ProbabilityProportionalToSize, TwoStage
        or Balanced
    seed : int, optional
        The sample is drawn from the stream ("sample",). Default: a fresh seed; it is recorded in
        ``survey.frame.attrs["seed"]``.
    household : str, optional
        Column of household ids for the survey. Default: the unit of the last stage, where whole
        clusters are drawn.
    columns : sequence of str, optional
        Columns that the sample should have (those of the design among them). Default: all.

    Returns
    -------
    Survey
        Rows in the order of the population, with ``design_weight`` = 1 / inclusion probability,
        ``inclusion_probability`` (the expected number of draws, and ``draw``, the number of the
        draw, where units are drawn with replacement), and the roles strata and psu (outermost
        cluster) of the design. ``survey.data`` is a frame of the library of `population`.

    Raises
    ------
    InputError
        Absent columns, missing strata or units, more units wanted than there are, strata that cut
        through clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthpop.sampling import Cluster, Proportional, SimpleRandom, Stratified
    >>> people = pd.DataFrame(
    ...     {
    ...         "hid": np.repeat(np.arange(100), 2),
    ...         "region": np.repeat(["n", "s"], [120, 80]),
    ...     }
    ... )
    >>> households = Cluster("hid", SimpleRandom(1))
    >>> design = Stratified(Proportional(10), by="region", within=households)
    >>> survey = draw_sample(people, design, seed=1)
    >>> survey.n_households, survey.n_persons, float(survey.weights.sum())
    (10, 20, 200.0)
    """
    seed = resolve_seed(seed)
    sampler = prepare(population, design, household=household, columns=columns)
    survey = sampler.draw(Streams(seed).at("sample"))
    frame = survey.frame
    frame.attrs["seed"] = seed
    return survey.with_frame(frame, kept=frame.columns).in_library(library_of(population))


def inclusion_probabilities_of(population: Any, design: Any) -> np.ndarray:
    """First-order inclusion probabilities of every row of a population under a design.

    Parameters
    ----------
    population : DataFrame, Survey or Population
    design : as in `draw_sample`

    Returns
    -------
    array, shape (N,)

    Examples
    --------
    >>> import pandas as pd
    >>> from synthpop.sampling import SimpleRandom
    >>> inclusion_probabilities_of(pd.DataFrame({"x": range(4)}), SimpleRandom(1)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    plan = prepare(population, design).plan
    assert plan is not None
    return plan.probabilities()


def joint_probabilities_of(population: Any, design: Any) -> np.ndarray:
    """Second-order inclusion probabilities of a small population, where the design has them.

    Parameters
    ----------
    population : DataFrame, Survey or Population
        At most 5,000 rows.
    design : as in `draw_sample`

    Returns
    -------
    array, shape (N, N)

    Raises
    ------
    InputError
        The design has no known joint probabilities, or the population is too large.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthpop.sampling import SimpleRandom
    >>> joint_probabilities_of(pd.DataFrame({"x": range(4)}), SimpleRandom(2)).round(3)[0].tolist()
    [0.5, 0.167, 0.167, 0.167]
    """
    sampler = prepare(population, design)
    if sampler.source.n > MOST_PAIRS:
        what, hint = f"has {plural(sampler.source.n, 'row')}", f"At most {count(MOST_PAIRS)}."
        raise InputError.of("joint probabilities", "population", what, hint)
    assert sampler.plan is not None
    return sampler.plan.joint()
