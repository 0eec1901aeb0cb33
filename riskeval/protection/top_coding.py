"""Top coding over several variables: outliers move towards the centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import OF_NUMBERS, ProtectionMethod
from riskeval.protection.household.once import read_layer
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
from riskeval.protection.sums import with_signs_of
from synthpop.microdata.frame.frames import numbers
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import SHARE, OneOf, check
from synthpop.microdata.messages.text import formatted
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.statistics.robust import COVARIANCES, scatter, squared_distances

PARAMETERS = {"alpha": SHARE, "covariance": OneOf(*COVARIANCES), "integers": INTEGERS}


@same_library
def mv_top_code(
    data: Any,
    variables: Sequence[str] | None = None,
    *,
    alpha: float = 0.025,
    covariance: str = "robust",
    integers: str = "real",
    household: str | None = None,
    household_variables: Sequence[str] = (),
    components: Mapping[str, Sequence[str]] | None = None,
    keep_signs: Sequence[str] = (),
) -> Protected:
    """Move records with a large (robust) distance to the edge of the tolerance ellipsoid.

    Parameters
    ----------
    data : DataFrame or Arrow table, one row per record
    variables : names of numeric columns
    alpha : float in (0, 1)
        Records whose squared Mahalanobis distance is above the 1 - alpha quantile of the
        chi-squared distribution with p degrees of freedom are outliers: a share alpha of normal
        data, more where tails are heavy.
    covariance : {"robust", "classical"}
        Centre and covariance: the reweighted MCD, or mean and covariance of all.
    integers : {"real", "round"}
        Columns of whole numbers become reals, or the result is rounded (the distance may then
        exceed the limit by the rounding).
    household : str, optional
        Column of household ids. Variables that are the same for all members are coded together
        once a household and copied to all members; the other variables person by person.
    household_variables : sequence of str
        Variables that must be the same for all members. Others are found.
    components : mapping, optional
        Total -> its parts. Where they add up before they add up afterwards.
    keep_signs : sequence of str, optional
        Variables whose values keep their sign, 0 included: a value that would change its sign has
        the sign of the original, and the distance may then exceed the limit.

    Returns
    -------
    Protected
        ``details``: ``distance`` (squared, float64, shape (n,), NaN where a value is missing),
        ``limit``, ``centre``, ``covariance``, ``outliers`` (bool, shape (n,)).

    Raises
    ------
    InputError
        Faulty columns or options.

    Notes
    -----
    An outlier x becomes a x + (1 - a) m with a = sqrt(limit / d^2), so that its squared distance
    from the centre m is the limit; this is checked on the released values. Records with a missing
    value stay as they were; their number is noted. Where half of the records or more lie in a
    plane, the classical estimates stand in; this is noted too.

    Source: Templ and Meindl (2008), LNCS 5262, 113-126; Rousseeuw and Van Driessen (1999),
    doi:10.1080/00401706.1999.10485670 (MCD).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> firms = pd.DataFrame(rng.normal(size=(200, 2)), columns=["sales", "staff"])
    >>> firms.iloc[0] = 30.0, -30.0
    >>> result = mv_top_code(firms, ["sales", "staff"], alpha=1e-6)
    >>> result.records_changed, bool(np.abs(result.data.iloc[0]).max() < 8)
    (1, True)
    """
    faults = Faults("mv_top_code")
    file = as_file(data, faults, household=household)
    frame, names = file.indexed, numeric_names(faults, file, variables)
    options = {"alpha": alpha, "covariance": covariance, "integers": integers}
    check(faults, PARAMETERS, options)
    read_numbers(faults, frame, names, "variable")
    layer = read_layer(
        faults, file, names, household_variables=household_variables,
        components=components, keep_signs=keep_signs,
    )  # fmt: skip
    faults.raise_if_any()

    def run(table: pd.DataFrame, some: list[str], members: np.ndarray | None) -> Protected:
        signs = [name for name in layer.keep_signs if name in some]
        return _coded(table, some, alpha, covariance, integers, signs)

    return layer.run(run)


def _coded(
    frame: pd.DataFrame, names: Sequence[str], alpha: float, covariance: str, integers: str,
    signs: Sequence[str],
) -> Protected:  # fmt: skip
    from scipy.stats import chi2

    values = numbers(frame, names)
    complete = ~np.isnan(values).any(axis=1)
    cloud = scatter(values[complete], covariance)
    limit = float(chi2.ppf(1 - alpha, len(names)))
    distance = np.full(len(frame), np.nan)
    distance[complete] = squared_distances(values[complete], cloud)
    far = complete & (np.nan_to_num(distance) > limit)
    shrink = np.sqrt(limit / distance[far])[:, None]
    new = values.copy()
    new[far] = shrink * values[far] + (1 - shrink) * cloud.center
    rows = far[:, None] & (new != values)
    released = with_numbers(frame, names, new, rows, integers)
    released = with_signs_of(frame, released, signs)
    reached = squared_distances(numbers(released, names)[far], cloud)
    notes = [
        message(
            "Of {sum} complete records {sum_2} had a squared distance above {limit} "
            "(quantile {alpha} of chi-squared, {names} degrees of freedom).",
            sum=int(complete.sum()),
            sum_2=int(far.sum()),
            limit=formatted(limit, ".4g"),
            alpha=formatted(1 - alpha, "g"),
            names=len(names),
        ),
        _verified(reached, limit, frame, released, names, integers == "real" and not signs),
        MANY_OUTLIERS if far.sum() > complete.sum() / 4 else "",
        *incomplete_notes(values),
        message("Classical covariance: {fallback}.", fallback=cloud.fallback)
        if cloud.fallback
        else "",
        *type_notes(frame, released, names),
    ]
    return protected(
        frame,
        released,
        names,
        method="mv_top_code",
        parameters={
            "variables": list(names), "alpha": float(alpha), "covariance": covariance,
            "integers": integers,
        },
        notes=[note for note in notes if note],
        details={
            "distance": distance, "limit": limit, "centre": cloud.center,
            "covariance": cloud.covariance, "outliers": far,
        },
    )  # fmt: skip


def _verified(
    reached: np.ndarray, limit: float, frame: pd.DataFrame, released: pd.DataFrame,
    names: Sequence[str], exact: bool,
) -> str:  # fmt: skip
    """Sentence about the distances that the released values of outliers have."""
    if len(reached) == 0:
        return ""
    largest = float(reached.max())
    wide = exact and all(str(released[n].dtype).lower() == "float64" for n in names)
    if wide and largest > limit * (1 + 1e-6):  # nothing is claimed that does not hold
        raise AssertionError(f"an outlier is still {largest:.6g} away")
    return message(
        "Afterwards the largest squared distance of these records is {largest}.",
        largest=formatted(largest, ".4g"),
    )


METHOD = ProtectionMethod(
    run=mv_top_code,
    rank=160,
    title="Outliers in several columns",
    question="Which records are far out in several amounts together, and move towards the centre?",
    blind_spots=(
        "records inside the ellipsoid, whose amounts stay exact; columns that are not named"
    ),
    example={"variables": ["hincome", "eqIncome"], "alpha": 0.05},
    roles=OF_NUMBERS,
)
