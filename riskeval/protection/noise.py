"""Noise for continuous variables; the covariance that it leaves is stated beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from riskeval.protection.amount_targets import Strength, read_amount_targets
from riskeval.protection.entry import OF_NUMBERS, ProtectionMethod
from riskeval.protection.household.once import read_layer
from riskeval.protection.methods import (
    NOISE,
    AdditiveNoise,
    CorrelatedNoise,
    NoiseMethod,
    OutlierNoise,
    RommNoise,
)
from riskeval.protection.numeric import (
    INTEGERS,
    MANY_OUTLIERS,
    incomplete_notes,
    numeric_names,
    read_numbers,
    type_notes,
    with_numbers,
)
from riskeval.protection.result import Protected, protected
from riskeval.protection.rotation import rotated
from riskeval.shared.files import read_secret
from synthpop.microdata.frame.frames import listed_names, numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.methods import read_method
from synthpop.microdata.messages.parameters import Between, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.robust import root, scatter, squared_distances
from synthpop.microdata.statistics.streams import Streams

USUAL, LEAST, MOST, MOST_ROTATED = 0.1, 1e-4, 4.0, 2.0
LEVEL = Between(0, MOST, open="low")


@dataclass(frozen=True, slots=True)
class _Job:
    noise: NoiseMethod
    level: float
    streams: Streams

    @property
    def method(self) -> str:
        return self.noise.type

    @property
    def covariance(self) -> str:
        noise = self.noise
        return (
            noise.covariance if isinstance(noise, (CorrelatedNoise, OutlierNoise)) else "classical"
        )

    @property
    def moments(self) -> str:
        noise = self.noise
        return noise.moments if isinstance(noise, (AdditiveNoise, CorrelatedNoise)) else "expected"


@same_library
def add_noise(
    data: Any,
    variables: Sequence[str] | None = None,
    *,
    method: Literal["additive", "correlated", "correlated2", "restricted", "romm", "outlier"]
    | NoiseMethod
    | Mapping[str, Any] = "additive",
    level: float | None = None,
    keep_zeros: Sequence[str] = (),
    integers: Literal["real", "round"] = "real",
    household: str | None = None,
    household_variables: Sequence[str] = (),
    components: Mapping[str, Sequence[str]] | None = None,
    keep_signs: Sequence[str] = (),
    targets: Mapping[str, float] | None = None,
    seed: int | None = None,
) -> Protected:
    """Add random noise to continuous variables.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    variables : names of numeric columns
    method : str or NoiseMethod
        With X the data, S their covariance, a the `level` and m the mean:

        "additive": X + E, E with variances a diag(S), independent between variables.
        "correlated": X + E, E with covariance a S; the covariance becomes (1 + a) S.
        "correlated2": c (X + E) + (1 - c) m, c = 1 / sqrt(1 + a): mean and covariance stay S.
        "restricted": the same with c = sqrt((n - 1) / (n (1 + a) - 1)), which counts that m is
        estimated: the variance of each released value about the true mean is that of the original.
        "romm": random orthogonal matrices mix the records; sample mean and covariance are kept
        exactly.
        "outlier": correlated noise for records with a large robust distance only.

        Options of one method are those of its object: ``AdditiveNoise``, ``CorrelatedNoise``,
        ``Correlated2Noise`` and ``RestrictedNoise`` (`moments`, all but the first `covariance`),
        ``RommNoise`` (`rows_together`), ``OutlierNoise`` (`covariance`, `cutoff`); or a table as
        ``{"type": "romm", "rows_together": 50}``, which run files have.
    level : float, above 0 and at most 4, optional
        Variance of the noise as a share of the variance of the variable, for every method: 0.1
        (the default) means a standard deviation of 0.32. For "romm": mean squared change as a
        share of the variance, below 2. A share, never a percentage: numbers above 4 are refused.
    keep_zeros : columns, optional
        Zeros of these columns stay zero (semi-continuous variables). What is said about means
        and covariances does not hold for them.
    integers : {"real", "round"}
        Columns of whole numbers become reals, or the result is rounded.
    household : str, optional
        Column of household ids. A variable that is the same for all members (found, or declared
        as `household_variables`) is masked once a household and copied to all members, so that it
        cannot be averaged; the other variables are masked person by person afterwards.
    household_variables : sequence of str, optional
        Variables that must have one value in each household.
    components : mapping, optional
        Total -> its parts. Where they add up before they add up afterwards: the total follows
        its parts, or, if the parts are not variables here, they change in proportion to it.
    keep_signs : sequence of str, optional
        Variables whose values keep their sign: what turns is mirrored at 0, and 0 stays 0.
    targets : mapping, optional
        Instead of `level`: the smallest level at which the file holds these, by halving between
        0.0001 and the largest. ``"record_linkage"``: largest share of the records that somebody
        with the true values finds as the nearest or second nearest; ``"interval_disclosure"``:
        largest share whose true values all lie within 0.01 standard deviations.
    seed : int, optional
        Recorded in the result.

    Returns
    -------
    Protected
        ``details``: ``covariance_before``, ``covariance_after`` (of complete records),
        ``covariance_stated`` (expected from the method; None for "outlier"), ``covariance_factor``
        (by which the whole covariance is multiplied; None where it is not one factor),
        ``records_with_noise`` (bool, shape (n,)), with targets ``level`` and ``targets`` (what was
        reached; those that no level reaches are `unmet`, with which the summary begins).

    Raises
    ------
    InputError
        Faulty columns or options, an option that the method does not have, too few complete
        records.

    Notes
    -----
    Missing values stay missing; S and m are of complete records. "romm" and "outlier" change
    complete records only, and say how many others stayed as they were.

    Source: Hundepool et al. (2012), section 3.6.1; Kim (1986), A method for limiting disclosure in
    microdata based on random noise and transformation; Brand (2002), LNCS 2316, 97-116; Ting,
    Fienberg and Trottini (2008), doi:10.1504/IJICS.2008.016822; Templ and Meindl (2008), LNCS
    5262, 113-126; Templ (2017), section 4.3.2. The printed formula of "correlated2" there is
    misprinted, see the errata page.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=1000)
    >>> people = pd.DataFrame({"income": x, "rent": x + rng.normal(size=1000)})
    >>> from riskeval.protect import CorrelatedNoise
    >>> exact = CorrelatedNoise(moments="exact")
    >>> noisy = add_noise(people, ["income", "rent"], method=exact, level=0.25, seed=1)
    >>> bool(np.allclose(noisy.data.cov(), 1.25 * people.cov()))
    True
    """
    faults = Faults("add_noise")
    file = as_file(data, faults, household=household)
    frame, names = file.indexed, numeric_names(faults, file, variables)
    layer = read_layer(
        faults, file, names, household_variables=household_variables,
        components=components, keep_signs=keep_signs,
    )  # fmt: skip
    streams = read_secret(faults, seed)
    keep_zeros = listed_names(keep_zeros)
    for name in keep_zeros:
        if name not in names:
            faults.add("keep_zeros", f"{name!r} is not among the variables")
    noise = read_method(faults, "method", method, NOISE)
    if level is not None and targets:
        faults.add("level, targets", "exclude each other", hint="Give one.")
    _check_level(faults, USUAL if level is None else level, noise)
    wanted = read_amount_targets(faults, frame, names, targets)
    check(faults, {"integers": INTEGERS}, {"integers": integers})
    read_numbers(faults, frame, names, "variable")
    faults.raise_if_any()
    assert noise is not None
    parameters = {
        "method": noise.plain(), "keep_zeros": list(keep_zeros),
        "integers": integers, "seed": streams.seed,
    }  # fmt: skip

    def at(level: float) -> Protected:
        def run(table: pd.DataFrame, some: list[str], members: np.ndarray | None) -> Protected:
            zeros, job = [name for name in keep_zeros if name in some], _Job(noise, level, streams)
            return _with_noise(table, some, job, zeros, integers, {"level": level, **parameters})

        return layer.run(run, sets_signs=True)

    if not wanted:
        return at(float(USUAL if level is None else level))
    most = 0.999 * MOST_ROTATED if isinstance(noise, RommNoise) else MOST
    return wanted.weakest(at, Strength("level", LEAST, most))


def _with_noise(
    frame: pd.DataFrame,
    names: list[str],
    job: _Job,
    keep_zeros: Sequence[str],
    integers: str,
    parameters: dict[str, Any],
) -> Protected:
    values = numbers(frame, names)
    complete = ~np.isnan(values).any(axis=1)
    _check_size(values, int(complete.sum()), job)
    new, stated, notes = _noisy(values, complete, names, job)
    rows = ~np.isnan(values) & (new != values)
    may_leave_zero = np.array([name not in keep_zeros for name in names])
    rows &= (values != 0) | may_leave_zero
    released = with_numbers(frame, names, new, rows, integers)
    after = numbers(released, names)
    moment = {
        "covariance_before": _covariance(values[complete]),
        "covariance_after": _covariance(after[complete]),
    }
    reals = all(str(released[name].dtype).lower() == "float64" for name in names)
    strict = not keep_zeros and integers == "real" and reals
    notes += _verified(job, moment, stated, values[complete], after[complete], strict)
    notes += (
        [message("Zeros of {keep_zeros} stayed zero.", keep_zeros=", ".join(keep_zeros))]
        if keep_zeros
        else []
    )
    return protected(
        frame,
        released,
        names,
        method="add_noise",
        parameters={"variables": list(names), **parameters},
        seed=parameters["seed"],
        notes=[*notes, *type_notes(frame, released, names)],
        details={
            **moment, "covariance_stated": stated,
            "covariance_factor": _factor(job, int(complete.sum())),
            "records_with_noise": rows.any(axis=1),
        },
    )  # fmt: skip


def _check_level(faults: Faults, level: float, noise: NoiseMethod | None) -> None:
    if not LEVEL.allows(level):
        faults.add(
            "level",
            f"{level!r} is not above 0 and at most {MOST:g}",
            hint="It is a share of the variance, not a percentage: 0.1 is 10 percent.",
        )
    elif isinstance(noise, RommNoise) and level >= MOST_ROTATED:
        faults.add("level", f"{level!r} is not below 2", hint="romm cannot change more.")


def _check_size(values: np.ndarray, n_complete: int, job: _Job) -> None:
    p = values.shape[1]
    needed = {"romm": 3}.get(job.method, 2 * p + 2 if job.moments == "exact" else 2)
    if (~np.isnan(values)).any() and n_complete < needed:
        records = plural(n_complete, "record has", "records have")
        what = f"{records} no missing value, at least {needed} are needed"
        raise InputError.of("add_noise", "variables", what, "Choose fewer variables.")


def _noisy(
    values: np.ndarray, complete: np.ndarray, names: Sequence[str], job: _Job
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """New values, shape (n, p), the covariance they should have, and sentences."""
    from scipy.stats import chi2

    x, n = values[complete], int(complete.sum())
    if n < 2:
        return values.copy(), _covariance(x), [message("There was nothing to add noise to.")]
    new = values.copy()
    before = _covariance(x)
    if isinstance(job.noise, RommNoise):
        rng = job.streams.at("add_noise", "romm")
        new[complete] = rotated(x, job.level, job.noise.rows_together, rng)
        return new, before, incomplete_notes(values)
    cloud = scatter(x, job.covariance)
    notes = (
        [message("Classical covariance: {fallback}.", fallback=cloud.fallback)]
        if cloud.fallback
        else []
    )
    if isinstance(job.noise, OutlierNoise):
        noise = _noise(values, complete, job.level * cloud.covariance, names, job)
        robust = scatter(x, "robust")
        far = np.zeros(len(values), dtype=bool)
        far[complete] = squared_distances(x, robust) > chi2.ppf(job.noise.cutoff, x.shape[1])
        new[far] += noise[far]
        notes += (
            [message("Classical distances: {fallback}.", fallback=robust.fallback)]
            if robust.fallback
            else []
        )
        sentence = message(
            "{noisy} outlying records of {n} received noise.", noisy=int(far.sum()), n=n
        )
        sentence += f" {MANY_OUTLIERS}" if far.sum() > n / 4 else ""
        return new, None, [*notes, sentence, *incomplete_notes(values)]
    share = cloud.covariance
    if job.method == "additive":  # each variance from its own column only, to the last digit
        share = np.diag([np.var(np.ascontiguousarray(column), ddof=1) for column in x.T])
    noise = _noise(values, complete, job.level * share, names, job)
    shrink = _shrink(job, n)
    new = shrink * (values + noise) + (1 - shrink) * x.mean(axis=0)
    return new, shrink**2 * (before + job.level * share), notes


def _shrink(job: _Job, n: int) -> float:
    """The constant c that X + E is multiplied by."""
    if job.method == "correlated2":
        return float(1 / np.sqrt(1 + job.level))
    if job.method == "restricted":
        return float(np.sqrt((n - 1) / (n * (1 + job.level) - 1)))
    return 1.0


def _factor(job: _Job, n: int) -> float | None:
    """Factor of the whole covariance, where it is one."""
    if job.method == "romm":
        return 1.0
    if job.method in ("additive", "outlier") or job.covariance == "robust" or n < 2:
        return None
    return _shrink(job, n) ** 2 * (1 + job.level)


def _noise(
    values: np.ndarray, complete: np.ndarray, covariance: np.ndarray, names: Sequence[str],
    job: _Job,
) -> np.ndarray:  # fmt: skip
    """Normal noise with a given covariance, shape (n, p)."""
    n = len(values)
    normals = np.column_stack(
        [job.streams.at("add_noise", job.method, name).standard_normal(n) for name in names]
    )
    if job.moments == "exact":  # mean 0, identity covariance, none with x, among complete records
        base = np.column_stack([np.ones(int(complete.sum())), values[complete]])
        base[:, 1:] -= base[:, 1:].mean(axis=0)
        scale = np.sqrt(np.square(base).sum(axis=0))
        base /= np.where(scale > 0, scale, 1.0)
        inside = normals[complete]
        inside = inside - base @ np.linalg.lstsq(base, inside, rcond=None)[0]
        normals[complete] = np.linalg.qr(inside)[0] * np.sqrt(complete.sum() - 1)
    if job.method == "additive":
        return normals * np.sqrt(np.diag(covariance))
    return normals @ root(covariance)


def _covariance(x: np.ndarray) -> np.ndarray:
    p = x.shape[1]
    return np.atleast_2d(np.cov(x, rowvar=False)) if len(x) > 1 else np.zeros((p, p))


def _verified(
    job: _Job, moment: dict[str, np.ndarray], stated: np.ndarray | None,
    before: np.ndarray, after: np.ndarray, strict: bool,
) -> list[str]:  # fmt: skip
    """Compare the covariance of the released values with the stated one."""
    if stated is None or len(before) < 2:
        return []
    variances = np.diag(moment["covariance_before"])
    varying = variances > 0
    if not varying.any():
        return []
    ratio = np.diag(moment["covariance_after"])[varying] / variances[varying]
    expected = np.diag(stated)[varying] / variances[varying]
    text = message(
        "Variances are {ratio} times the original ones; {expected} times were expected",
        ratio=_range(ratio),
        expected=_range(expected),
    )
    if (job.method == "romm" or job.moments == "exact") and strict:
        scale = np.sqrt(np.outer(variances, variances))
        off = np.abs(moment["covariance_after"] - stated) / np.where(scale > 0, scale, 1.0)
        shift = np.abs(after.mean(axis=0) - before.mean(axis=0))[varying]
        if off.max() > 1e-6 or (shift / np.sqrt(variances[varying])).max() > 1e-6:
            raise AssertionError(f"the covariance is off by {off.max():.3g}")
        return [
            message(
                "{text}; means and the whole covariance were checked afterwards to a millionth.",
                text=text,
            )
        ]
    return [f"{text}."]


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else message("{low} to {high}", low=low, high=high)


METHOD = ProtectionMethod(
    run=add_noise,
    rank=130,
    title="Random noise",
    question="Which random errors hide the exact amounts?",
    blind_spots=(
        "outliers that stay the only ones far out; zeros, where they are kept; several "
        "releases, whose average comes near to the original"
    ),
    example={"variables": ["hincome", "eqIncome"]},
    roles=OF_NUMBERS,
)
