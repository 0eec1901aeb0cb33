"""A population of households, and samples of it that every release of the corpora starts from."""

from __future__ import annotations

import numpy as np
import pandas as pd

KEYS = ["region", "age", "sex", "educ"]
COARSE = ["region", "age_class", "sex"]
SENSITIVE = ["ill", "status"]
AMOUNTS = ["income", "wealth"]


def persons(seed: int, households: int = 170) -> pd.DataFrame:
    """Persons in households: about 500 for 170 households."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 3, 4, 5, 6], households, p=[0.2, 0.25, 0.2, 0.2, 0.1, 0.05])
    hid = np.repeat(np.arange(households), size)
    n = len(hid)
    region = rng.choice(4, households, p=[0.4, 0.3, 0.2, 0.1])[hid]
    head = rng.integers(22, 80, households)[hid]
    age = np.clip(head + rng.normal(0, 9, n), 0, 95).astype(int)
    educ = np.clip((rng.normal(2, 1, households)[hid] + rng.normal(0, 0.7, n)).round(), 0, 4)
    income = np.exp(rng.normal(9 + 0.2 * educ, 0.5)).round(2)
    return pd.DataFrame(
        {
            "hid": hid + 1000 * seed,
            "region": np.array(["north", "south", "east", "west"])[region],
            "hsize": size[hid],
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "educ": educ.astype(int),
            "ill": rng.choice(["none", "heart", "cancer"], n, p=[0.8, 0.15, 0.05]),
            "status": rng.choice(["work", "home", "retired"], n, p=[0.6, 0.2, 0.2]),
            "income": income,
            "wealth": np.exp(rng.normal(10, 1.2, households)[hid] + rng.normal(0, 0.3, n)).round(2),
        }
    )


def original() -> pd.DataFrame:
    """The confidential file."""
    return persons(1)


def strangers() -> pd.DataFrame:
    """Persons of the same population who took part in nothing."""
    return persons(2)


def fresh(seed: int = 3) -> pd.DataFrame:
    """Another sample of the same population."""
    return persons(seed)


def protected(seed: int = 1) -> pd.DataFrame:
    """A file on coarse keys that every limit of k-anonymity is met by, with weights."""
    people = persons(seed, 400)
    classes = pd.cut(people["age"], [-1, 29, 59, 200], labels=["young", "middle", "old"])
    people = people.assign(age_class=classes.astype(str), w=2000.0)
    people = people.drop(columns=["age", "hid", "hsize", "educ"])
    groups = people.groupby(COARSE)["ill"]
    kept = (groups.transform("size") >= 5) & (groups.transform("nunique") >= 2)
    return people[kept].reset_index(drop=True)
