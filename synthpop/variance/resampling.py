"""Replicate factors of a sample: by how much each row counts in a replicate."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.statistics.design_variance import SampledUnits, SamplingStage


def rescaled_bootstrap(rng: np.random.Generator, units: SampledUnits) -> np.ndarray:
    """Return the factors of one rescaled bootstrap sample.

    units: strata, units and sampling fractions of every stage
    Returns array, shape (n,): factors on the weights, none negative; they have mean 1 over
        replicates. The variance of any weighted total over replicates is that of
        `SampledUnits.variance`, but for first-stage strata of one unit, which keep the factor 1.

    First stage (Rao and Wu 1988, doi:10.1080/01621459.1988.10478591): n_h - 1 units are drawn with
    replacement from the n_h of a stratum; a unit drawn t times gets r = 1 - s + s t n_h/(n_h - 1)
    with s = sqrt(1 - f_h). Without finite population correction that is t n_h/(n_h - 1). Later
    stages multiply r by the same expression within each unit, with s chosen such that their part
    of the variance is the one of the linearisation, f_1 ... f_(k-1) (1 - f_k) n/(n - 1) times the
    sum of squares: s^2 = f_1 ... f_(k-1) (1 - f_k) / E(r^2) (Preston 2009, Survey Methodology
    35(2), has the same variance with draws without replacement; the product is never negative).
    """
    stages = units.stages
    n = len(stages[0].stratum) if stages[0].unit is None else len(stages[0].unit)
    factors, moment = np.ones(n), np.ones(n)
    for stage in stages:
        rows = stage.stratum if stage.unit is None else stage.stratum[stage.unit]
        share = (stage.factor * (1.0 - stage.fraction))[rows] / moment
        if not share.any():
            continue
        # s belongs to the stratum: all its rows have the same history of units.
        scale = np.zeros(len(stage.fraction))
        scale[rows] = np.sqrt(share)
        factor = _one_stage(rng, stage, scale)
        factors = factors * (factor if stage.unit is None else factor[stage.unit])
        several = np.bincount(stage.stratum)[rows] > 1
        moment = moment * np.where(several, 1.0 + share, 1.0)
    return factors


def _one_stage(rng: np.random.Generator, stage: SamplingStage, scale: np.ndarray) -> np.ndarray:
    """Factor of each unit, 1 on average."""
    sizes = np.bincount(stage.stratum)
    several = (sizes > 1)[stage.stratum]
    times = unit_multiplicities(rng, stage.stratum)
    n_h = sizes[stage.stratum].astype(np.float64)
    s = np.where(several, scale[stage.stratum], 0.0)
    return np.asarray(1.0 - s + s * times * n_h / np.maximum(n_h - 1.0, 1.0))


def unit_multiplicities(rng: np.random.Generator, stratum: np.ndarray) -> np.ndarray:
    """Return how often each unit is drawn: n_h - 1 draws with replacement in each stratum.

    Examples
    --------
    >>> times = unit_multiplicities(np.random.default_rng(1), np.array([0, 1, 0, 1, 1]))
    >>> int(times[[0, 2]].sum()), int(times[[1, 3, 4]].sum())
    (1, 2)
    """
    order = np.argsort(stratum, kind="stable")
    sizes = np.bincount(stratum)
    sizes = sizes[sizes > 0]
    draws = sizes - 1
    starts = np.repeat(np.cumsum(sizes) - sizes, draws)
    picks = starts + (rng.random(len(starts)) * np.repeat(sizes, draws)).astype(np.int64)
    times = np.empty(len(stratum), dtype=np.int64)
    times[order] = np.bincount(picks, minlength=len(stratum))
    return times
