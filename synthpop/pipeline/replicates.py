"""Replicates whose spread is that of the survey: learned again from bootstrap samples of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from synthpop.calibration.calibrate_survey import calibrate
from synthpop.calibration.margins import Margin
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import Faults, InputError, OutputError
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.engines import Workers, map_blocks
from synthpop.microdata.runs.identity import digest
from synthpop.microdata.statistics.secret_key import SecretKey
from synthpop.microdata.statistics.streams import Streams
from synthpop.microdata.version import __version__
from synthpop.pipeline.fingerprint import fingerprint, margin_to_dict, replicate_seed, stage_to_dict
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.population.folders import MANIFEST
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population, open_population
from synthpop.population.run_identity import sealed_values
from synthpop.population.run_key import key_of_run
from synthpop.population.storage import read_manifest
from synthpop.variance.resampling import rescaled_bootstrap

REFITS = ("bootstrap",)
MOST_ATTEMPTS = 10
NOISE_ONLY = (
    "replicates of one fit show the noise of the simulation only, not the uncertainty of the survey"
)
FULL = (
    "replicates of bootstrap samples show the uncertainty of the survey, of the models and of the "
    "simulation"
)


@dataclass(frozen=True)
class BootstrapReplicates:
    """Populations of bootstrap samples of the survey, each a function of its number."""

    fitted: FittedRecipe  # its survey is resampled
    refit: Callable[..., Any]  # `FittedPipeline.refit` of it: learns its recipe anew
    seed: int
    margins: tuple[Margin, ...]  # known totals to which each bootstrap sample is calibrated
    options: dict[str, Any]  # arguments of `FittedPipeline.simulate`
    out: Place | None

    def __reduce__(self) -> Any:
        """Go to a worker process, as a fitted pipeline by itself does not."""
        parts = {one.name: getattr(self.fitted, one.name) for one in fields(self.fitted)}
        rest = (self.seed, self.margins, self.options, self.out)
        return _in_worker, (type(self.fitted), parts, *rest)

    def record(self, number: int) -> dict[str, Any]:
        """Return what the manifest says of a replicate, known before it is made."""
        fitted = self.fitted
        return {
            "number": number,
            "refit": "bootstrap",
            "seed": self.seed,
            "fit_seed": fitted.seed,
            "version": __version__,
            "recipe": [stage_to_dict(step) for step in fitted.steps],
            "rules": [rule.text for rule in fitted.rules.rules],
            "survey": fingerprint(fitted.sample),
            "design": digest(
                [
                    (one.unit, one.stratum, one.fraction, one.factor)
                    for one in fitted.survey.sampled_units.stages
                ]
            ),
            "margins": [margin_to_dict(margin) for margin in self.margins],
            "options": {name: self.options[name] for name in ("scale", "strata", "rows_per_block")},
            "note": FULL,
        }

    def __call__(self, number: int) -> tuple[int, Population]:
        """Return the population of one replicate; a finished one is read from its folder."""
        root = None if self.out is None else self.out / f"replicate-{number:04d}"
        record = self.record(number)
        stored = None if root is None else finished_replicate(root, record, self.options["key"])
        if stored is not None:
            return number, stored
        refitted = replace(self._refitted(number), replicate=record)
        seed = replicate_seed(self.seed, number)
        return number, refitted.simulate(seed=seed, out=root, **self.options)

    def _refitted(self, number: int) -> Any:
        """Learn from one bootstrap sample; from another one where a sample has too little."""
        problems = []
        for attempt in range(MOST_ATTEMPTS):
            try:
                survey = self.survey(number, attempt)
                seed = replicate_seed(self.seed, number)
                return self.refit(survey, seed=seed, same_pooling=True)
            except InputError as problem:
                problems.append(str(problem))
        what = f"{MOST_ATTEMPTS} bootstrap samples cannot be calibrated or fitted: {problems[0]}"
        hint = "Use coarser margins, or fewer strata in the recipe."
        raise InputError.of(f"replicate {number}", "refit", what, hint)

    def survey(self, number: int, attempt: int = 0) -> Survey:
        """Return one bootstrap sample of the survey, calibrated where there are margins."""
        names = ("bootstrap", number) if attempt == 0 else ("bootstrap", number, attempt)
        rng = Streams(self.seed).at(*names)
        sample = resampled(self.fitted.survey, rng)
        if not self.margins:
            return sample
        equal = sample.roles.household is not None
        fitted = calibrate(sample, list(self.margins), household_equal=equal)
        return sample.with_weights(fitted.weights)


def _in_worker(kind: Callable[..., Any], parts: dict[str, Any], *rest: Any) -> BootstrapReplicates:
    fitted = kind(**parts)
    return BootstrapReplicates(fitted, fitted.refit, *rest)


def resampled(survey: Survey, rng: np.random.Generator) -> Survey:
    """Return a rescaled bootstrap sample: the rows that count, with rescaled weights."""
    factors = rescaled_bootstrap(rng, survey.sampled_units)
    rows = factors > 0
    roles = survey.roles
    frame = survey.frame[rows]
    for name in {roles.weight, roles.household_weight or roles.weight}:
        weights = frame[name].to_numpy(dtype=np.float64)
        frame = frame.assign(**{name: weights * factors[rows]})
    return survey.with_frame(frame)


def check_design(survey: Survey) -> None:
    """Raise an InputError where a survey cannot be resampled."""
    faults = Faults("replicates")
    with faults.gathering():
        units = survey.sampled_units
        if units.unit is not None and survey.roles.household is not None:
            first = survey.household_order[survey.household_offsets[:-1]]
            torn = units.unit != units.unit[first][survey.household_index]
            if torn.any():
                what = "differs between the members of a household"
                hint = "A primary sampling unit holds whole households."
                rows = np.flatnonzero(torn)
                faults.add(str(survey.roles.psu), what, rows=rows, hint=hint)
    faults.raise_if_any()


def finished_replicate(
    root: Place, record: dict[str, Any], given: SecretKey | None = None
) -> Population | None:
    """Return the finished population of a folder, None where there is nothing or a part of it.

    Raises OutputError: the folder holds another replicate, or has lost its key.
    """
    if not (root / MANIFEST).exists():
        return None
    manifest = read_manifest(root)
    key = key_of_run(root, given, manifest.identity)
    expected = json_values(record if key is None else sealed_values(record, key))
    if manifest.identity.replicate != expected:
        raise OutputError(f"{root} holds another run. Choose another folder, or remove this one.")
    return open_population(root) if manifest.complete else None


def in_order(
    task: BootstrapReplicates, n: int, workers: Workers, listener: Listener
) -> Iterator[Population]:
    """Make n replicates side by side and yield them in their order."""
    engine = f"processes:{workers}" if isinstance(workers, int) and workers > 1 else workers
    for number, population in map_blocks(task, range(1, n + 1), engine, in_order=True):
        listener(Event("progress", "replicates", number, n))
        yield population


def check_refit(faults: Faults, refit: object, margins: object) -> tuple[Margin, ...]:
    """Note a refit or margins that are not understood; return the margins."""
    if refit is not None and refit not in REFITS:
        faults.add(
            "refit",
            message("{value} is not allowed", value=repr(refit)),
            hint='Give "bootstrap", or nothing.',
        )
    if margins is None:
        return ()
    listed: Sequence[Any] = [margins] if isinstance(margins, Margin) else list(margins)  # type: ignore[call-overload]
    if refit is None:
        what = "change nothing without refit"
        faults.add("margins", what, hint='Give refit="bootstrap", or leave them out.')
    for margin in listed:
        if not isinstance(margin, Margin):
            what = f"{type(margin).__name__} is not a Margin"
            faults.add("margins", what, hint="Give Margin(...)")
    return tuple(listed)
