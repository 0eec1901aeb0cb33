"""The generated population that the embedded survey was drawn from."""

from __future__ import annotations

import pandas as pd

from synthpop.datasets.truth import DEMO_TRUTH
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import Whole, check

MOST_HOUSEHOLDS = 20_000_000  # person ids are 32-bit numbers


def load_demo_population(
    households: int | None = None, *, seed: int = DEMO_TRUTH.seed
) -> pd.DataFrame:
    """Generate the population of the invented country: the truth behind `load_demo_survey`.

    Parameters
    ----------
    households : int, optional
        Number of households, 1 to 20 million. Default: 200,000 (about 435,000 persons), the
        population that the survey was drawn from.
    seed : int, optional
        Default: the one that the survey was drawn from. Other numbers of households and other
        seeds give other populations from the same model.

    Returns
    -------
    DataFrame, one row per person, sorted by region and household, the head of a household first
        The columns of the survey but for the weights ``db090`` and ``rb050``.

    Raises
    ------
    InputError
        When an argument is not a whole number or out of range.

    Notes
    -----
    Deterministic: each variable draws from its own stream under `seed`, and all draws are
    transforms of uniform numbers, so that versions of NumPy do not matter. About a second.
    Missing values as in the survey, without the item non-response of ``pe040``. The parameters
    are in `DEMO_TRUTH`; the distributions are invented and describe no country.

    Examples
    --------
    >>> truth = load_demo_population(1000)
    >>> truth["db030"].nunique(), truth["db040"].nunique()
    (1000, 9)
    >>> bool((truth["age"] >= 16).eq(truth["pl030"].notna()).all())
    True
    """
    from synthpop.datasets.population import make_population

    count = DEMO_TRUTH.households if households is None else households
    faults = Faults("load_demo_population")
    check(
        faults,
        {"households": Whole(1, MOST_HOUSEHOLDS), "seed": Whole(0)},
        {"households": count, "seed": seed},
    )
    faults.raise_if_any()
    return make_population(int(count), int(seed))
