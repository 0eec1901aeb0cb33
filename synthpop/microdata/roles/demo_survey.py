"""The embedded survey of an invented country, for examples and files with ``demo = true``.

How it was generated is in `synthpop.datasets`.
"""

from __future__ import annotations

from importlib import resources

import pandas as pd

from synthpop.microdata.roles.survey import Survey

STORED = "demo_survey.parquet"


def load_demo_survey() -> Survey:
    """Return the embedded survey of an invented country, with its roles.

    About 5,000 households with 12,000 persons, drawn from `synthpop.load_demo_population` by a
    stratified household sample with non-response; the weights are calibrated.
    `synthpop.datasets.DEMO_VARIABLES` explains the columns. **All data are invented**; no person
    or household exists.

    Returns
    -------
    Survey
        Weight ``rb050``, household ``db030`` with weight ``db090`` and size ``hsize``, strata
        ``db040``, person ``pid``. Ids are those of the population, so that a household of the
        survey can be looked up in the truth.

    Notes
    -----
    Missing: everything that is asked from the age of 16 (``pb220a``, ``pl030``, ``pe040``,
    ``pb190``, ``netIncome`` and its components) for children; ``pe040`` for a few adults besides.
    Nothing is drawn: the survey is stored in the package.

    Examples
    --------
    >>> survey = load_demo_survey()
    >>> print(survey.summary())
    Survey of 11,993 persons in 5,239 households, standing for 435,024 persons.
    """
    return Survey(
        read_demo_frame(),
        weight="rb050",
        household="db030",
        household_weight="db090",
        household_size="hsize",
        strata="db040",
        person="pid",
    )


def read_demo_frame() -> pd.DataFrame:
    """Return the stored survey as a plain frame, shape (n_persons, 24)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = resources.files("synthpop.microdata.roles").joinpath(STORED).read_bytes()
    return pq.ParquetFile(pa.BufferReader(content)).read().to_pandas()
