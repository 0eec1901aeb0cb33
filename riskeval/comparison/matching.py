"""Which record of the original each record of a release is, where the order does not tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from riskeval.attacks.distance.space import Space, as_points
from riskeval.attacks.request import read_request
from synthpop.microdata.messages.errors import InputError

HALF = 0.5
"""Share of the records that unchanged columns must tell from all others."""
SAME_RECORDS = 0.99
"""Share of the records that must be found for a file to hold the same ones in another order."""
NEARER, MOSTLY = 1 / 3, 0.6
"""Distance to the nearest original over that to the second, and how many records must be below:
of the records of another sample a tenth are, of a file half of which is copied about half."""
ASKED, MOST = 1_000, 20_000
"""Records that are asked for their nearest ones, and records of a file that is matched so."""


def match_shuffled(x: pd.DataFrame, y: pd.DataFrame, variables: Sequence[str]) -> np.ndarray | None:
    """Return which record of `x` each of `y` is, where `y` holds the same records in another order.

    Columns whose values occur equally often in both files were not changed: together they must
    tell most records apart, and agree in nearly all. None where they do not.

    Examples
    --------
    >>> people = pd.DataFrame({"pay": [5.5, 7.25, 9.0, 11.5], "age": [30, 40, 50, 60]})
    >>> other = people.iloc[[2, 0, 3, 1]].reset_index(drop=True).assign(age=45)
    >>> match_shuffled(people, other, ["pay", "age"]).tolist()
    [2, 0, 3, 1]
    """
    unchanged = []
    for name in variables:
        if name in x and name in y and x[name].nunique() > 1:
            one, two = (file[name].astype(object).value_counts(dropna=False) for file in (x, y))
            if len(one) == len(two) and one.reindex(two.index).eq(two).all():
                unchanged.append(name)
    if not unchanged:
        return None
    both = pd.concat([x[unchanged].astype(object), y[unchanged].astype(object)], ignore_index=True)
    ids = both.groupby(unchanged, sort=False, dropna=False).ngroup().to_numpy()
    first, second = ids[: len(x)], ids[len(x) :]
    n_ids = int(ids.max()) + 1
    counts = [np.bincount(part, minlength=n_ids) for part in (first, second)]
    alone = float((counts[0][first] == 1).mean())
    common = float(np.minimum(*counts).sum() / len(x))
    if alone < HALF or common < SAME_RECORDS:
        return None
    rows = np.empty(len(y), dtype=np.int64)
    rows[np.argsort(second, kind="stable")] = np.argsort(first, kind="stable")
    return rows


def match_near(x: pd.DataFrame, y: pd.DataFrame, variables: Sequence[str]) -> np.ndarray | None:
    """Return which record of `x` each of `y` is, where these were changed and are still near.

    None where fewer than 60 % of the records have an original that is three times as near as the
    second nearest (Gower distance), and for files of more than 20,000 records.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = pd.DataFrame(rng.normal(size=(60, 4)), columns=[*"abcd"])
    >>> order = rng.permutation(60)
    >>> noisy = people.iloc[order].reset_index(drop=True) + rng.normal(0, 0.01, (60, 4))
    >>> bool((match_near(people, noisy, [*"abcd"]) == order).all())
    True
    >>> match_near(people, pd.DataFrame(rng.normal(size=(60, 4)), columns=[*"abcd"]), [*"abcd"])
    """
    from riskeval.kernels.gower import nearest_mixed

    names = [name for name in variables if name in x and name in y]
    if not names or max(len(x), len(y)) > MOST:
        return None
    try:
        points, weights = as_points({"x": x, "y": y}, read_request("matching", names))
    except InputError:  # a column is coded in another way: the comparison says so
        return None
    space = Space(points, weights, len(names))
    near = space.nearest("x", "y", np.arange(0, len(y), -(-len(y) // ASKED)))
    if (near[:, 0] < NEARER * near[:, 1]).mean() < MOSTLY:
        return None
    scale = np.where(space.ranges > 0, space.ranges, np.inf)
    one, two = points["x"], points["y"]
    return np.asarray(nearest_mixed(one.numbers / scale, one.codes, two.numbers / scale, two.codes))
