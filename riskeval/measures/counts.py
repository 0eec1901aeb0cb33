"""How often each key occurs, in the file and in the population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, weighted_key_table
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, formatted, percent, plural
from synthpop.microdata.roles.microdata import Microdata


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyCounts(Result):
    """How often the key of each record occurs.

    Attributes
    ----------
    f : float64 array, shape (n,)
        Records of the file that the key of each record matches, itself included. Whole numbers
        unless `alpha` or the treatment makes parts of records count.
    F : float64 array, shape (n,)
        The same with weights: estimated number of persons of the population; equal to `f` without
        weights.
    cell : integer array, shape (n,)
        Row of `table` each record belongs to.
    missing : str
        Treatment of missing keys.
    alpha : float
        Weight of a match through somebody else's missing key ("wildcard" only).
    weighted : bool
        Whether `F` comes from weights.
    cell_f, cell_F : float64 arrays, shape (K,)
        Counts of the K distinct keys.
    keys : KeyTable
        The distinct keys.
    """

    f: np.ndarray
    F: np.ndarray
    cell: np.ndarray
    missing: str
    alpha: float
    weighted: bool
    cell_f: np.ndarray
    cell_F: np.ndarray
    keys: KeyTable

    @property
    def table(self) -> pd.DataFrame:
        """One row per distinct key: the key, `records`, sum of `weights`, and counts `f`, `F`."""
        return self.keys.frame().assign(
            records=self.keys.counts.astype(np.int64),
            weights=self.keys.weights,
            f=self.cell_f,
            F=self.cell_F,
        )

    @property
    def n_unique(self) -> int:
        """Number of records whose key no other record matches (f = 1)."""
        return int(np.count_nonzero(self.f == 1))

    @property
    def cell_sizes(self) -> pd.DataFrame:
        """Cell size indices (Templ 2017, equation 3.2): `size` j and `cells` t_j with f = j.

        Distinct keys without a missing value are counted, as in the book's figure 3.1; size 0 are
        the combinations of observed levels that no record has. Without missing keys the cells
        times their sizes add up to the number of records.
        """
        complete = (self.keys.codes >= 0).all(axis=1)
        size, cells = np.unique(self.cell_f[complete], return_counts=True)
        possible = 1
        for j in range(len(self.keys.names)):
            observed = self.keys.codes[:, j]
            possible *= len(np.unique(observed[observed >= 0]))
        empty = possible - int(complete.sum())
        if empty:
            size, cells = np.append(0.0, size), np.append(empty, cells)
        return pd.DataFrame({"size": size, "cells": cells})

    def to_frame(self) -> pd.DataFrame:
        """One row per record: `f` and `F`."""
        return pd.DataFrame({"f": self.f, "F": self.F})

    def summary(self) -> str:
        """Return how many records are rare, and how missing keys were matched."""
        n = len(self.f)
        share = self.n_unique / n if n else 0.0
        text = message(
            "{n_unique} of {n} records ({share}) are the only one in the file with their "
            "combination of {names}; there are {n_2} distinct combinations.",
            n_unique=count(self.n_unique),
            n=count(n),
            share=percent(share),
            names=", ".join(self.keys.names),
            n_2=count(len(self.cell_f)),
        )
        if (self.keys.codes < 0).any():
            text += (
                " " + message("Missing keys are treated as {missing}", missing=repr(self.missing))
            ) + (
                (" " + message("with alpha = {alpha}.", alpha=formatted(self.alpha, "g")))
                if self.missing == "wildcard"
                else "."
            )
        if self.weighted and n:
            low = int(np.count_nonzero(self.F < 100))
            stand = plural(low, "record stands", "records stand")
            text += " " + message(
                "{stand} for fewer than 100 persons of the population.", stand=stand
            )
        return text


def counts_of(file: Microdata, missing: str, alpha: float) -> FrequencyCounts:
    """`FrequencyCounts` of the keys of a file, arguments checked before."""
    table, weighted = weighted_key_table(file), file.weights is not None
    f, big_f = match_counts(table, missing, float(alpha))
    per_record = f[table.cell]
    return FrequencyCounts(
        f=per_record,
        F=big_f[table.cell] if weighted else per_record,
        cell=table.cell,
        missing=missing,
        alpha=float(alpha),
        weighted=weighted,
        cell_f=f,
        cell_F=big_f if weighted else f,
        keys=table,
    )
