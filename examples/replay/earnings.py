"""The file of the replay: the public structure of earnings file, or an invented one like it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from protect_earnings import invent

from riskeval import protect

KEYS_83 = ("size", "age", "location", "occupation")  # the keys of the code of section 8.3.7
KEYS = ("size", "age", "location", "NACE1")  # those that section 8.3.5 names
NUMERIC = ("earningsHour", "earnings")
COLUMNS = [*KEYS, "sex", "education", "occupation", "fullPart", *NUMERIC, "weights"]
SIZES = {
    "10-49": "E10_49",
    "50-249": "E50_249",
    "250-499": "E250_499",
    "500-999": "E500_999",
    "1000+": "E1000",
}
FULL_TIME = 140.0  # hours paid in a month


def load(path: Path) -> tuple[pd.DataFrame, bool]:
    """Return the file and whether it is the public one; an invented one where `path` is absent."""
    if path.exists():
        return pd.read_parquet(path)[COLUMNS], True
    return like_it(invent()), False


def like_it(file: pd.DataFrame) -> pd.DataFrame:
    """Give the invented file of ``protect_earnings.py`` the columns of the public one."""
    names = {"section": "NACE1", "hourly": "earningsHour", "yearly": "earnings"}
    file = file.rename(columns={**names, "weight": "weights"})
    size = file["size"].cat.rename_categories(SIZES).cat.as_unordered()
    full = np.where(file["hours_paid"] < FULL_TIME, "PT", "FT")
    return file.assign(size=size, fullPart=pd.Categorical(full))[COLUMNS]


def recoded(file: pd.DataFrame) -> pd.DataFrame:
    """Join the three largest sizes (section 8.3.7.1), and mining with manufacturing.

    Mining has four employees in the public file, too few for a level of its own.
    """
    large = {"E250plus": ["E250_499", "E500_999", "E1000"]}
    file = protect.group_categories(file, "size", groups=large).data
    mining = ["C-Mining", "D-Manufactoring"]
    if set(mining) <= set(file["NACE1"].cat.categories):
        joined = {"CD-Industry": mining}
        file = protect.group_categories(file, "NACE1", groups=joined).data
    return file
