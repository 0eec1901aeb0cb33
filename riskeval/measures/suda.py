"""Special uniques (SUDA): how many small combinations of keys single a record out.

A *minimal sample unique* (MSU) of a record is a set of keys on which no other record has the same
values, while on every smaller part of the set some other record has. Records with many and small
MSUs are likelier to be unique in the population too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import KeyTable, key_table
from riskeval.measures.entry import Measure, missing_note, person_risk
from riskeval.measures.request import AssessRequest
from riskeval.measures.suda_scores import NORMALISATIONS, dis_scores, msu_weights, ranked_items
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Between, OneOf, Whole, check
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, percent, plural
from synthpop.microdata.roles.microdata import Microdata, as_file

MISSING_RULES = ("exclude", "category", "wildcard")
MOST_KEYS = 62
PLACES = 2**31 - 1
PARAMETERS = {
    "dis_fraction": Between(0, 1, open="low"), "normalise": OneOf(*NORMALISATIONS),
    "missing": OneOf(*MISSING_RULES),
}  # fmt: skip


@dataclass(frozen=True)
class Suda(Result):
    """SUDA scores of a file.

    Attributes
    ----------
    score : float64, shape (n,)
        Sum of the scores of the MSUs of each record; 0 where it has none.
    dis_score : float64, shape (n,)
        DIS-SUDA: estimated probability that a unique match of this record is a correct one.
    contribution : float64, shape (n, m)
        Share of the score that comes from MSUs with each key, 0 to 1. A MSU counts for each of its
        keys, so a row adds to more than 1.
    attribute_contribution : DataFrame
        ``variable``, ``contribution``: the same for the file, in per cent of all scores.
    level_contribution : DataFrame
        ``variable``, ``level``, ``contribution``: in per cent of the contribution of the variable;
        NaN where the variable contributes nothing.
    n_msu : int64, shape (n,)
        MSUs of each record.
    smallest_msu : int64, shape (n,)
        Keys of the smallest MSU of each record; 0 where it has none.
    msu_sizes : DataFrame
        ``size``, ``n_msu``: MSUs in the file by number of keys.
    dis : float
        File level DIS: probability that a unique match is correct.
    keys : tuple of str
    max_size : int
    dis_fraction : float
    normalise, missing : str
    """

    score: np.ndarray
    dis_score: np.ndarray
    contribution: np.ndarray
    attribute_contribution: pd.DataFrame
    level_contribution: pd.DataFrame
    n_msu: np.ndarray
    smallest_msu: np.ndarray
    msu_sizes: pd.DataFrame
    dis: float
    keys: tuple[str, ...]
    max_size: int
    dis_fraction: float
    normalise: str
    missing: str

    @property
    def special(self) -> np.ndarray:
        """Whether fewer than all keys single a record out: special uniques, bool, shape (n,)."""
        return (self.smallest_msu > 0) & (self.smallest_msu < len(self.keys))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record.

        ``score``, ``dis_score``, ``n_msu``, ``smallest_msu`` and ``<key>_contribution``.
        """
        names = ("score", "dis_score", "n_msu", "smallest_msu")
        frame = pd.DataFrame({name: getattr(self, name) for name in names})
        for j, key in enumerate(self.keys):
            frame[f"{key}_contribution"] = self.contribution[:, j]
        return frame

    def dis_table(self) -> pd.DataFrame:
        """Return records by tenths of the DIS-SUDA score: ``interval``, ``records``."""
        edges = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
        position = np.searchsorted(edges, self.dis_score, side="left")
        labels = ["0", *(f"({a}, {b}]" for a, b in pairwise(edges)), "> 0.7"]
        return pd.DataFrame(
            {"interval": labels, "records": np.bincount(position, minlength=len(labels))}
        )

    def summary(self) -> str:
        """Return what the scores mean, in sentences."""
        n = len(self.score)
        singled = int((self.n_msu > 0).sum())
        if singled == 0:
            return message(
                "SUDA: none of {n} records is unique on any combination of up to {m} of {q} keys.",
                n=count(n),
                m=self.max_size,
                q=len(self.keys),
            )
        shares = self.attribute_contribution["contribution"].to_numpy()
        largest = "" if np.isnan(shares).any() else self.keys[shares.argmax()]
        by = (" " + message("Most of it comes from {largest}.", largest=largest)) if largest else ""
        special = int(self.special.sum())
        fewer = (
            (
                " "
                + message(
                    "For {special} of them fewer than all keys do (special uniques).",
                    special=plural(special, "record"),
                )
            )
            if len(self.keys) > 1
            else ""
        )
        match = (
            message("The file is the population: a unique match is right.")
            if self.dis_fraction == 1
            else message(
                "A unique match of an intruder in this file is right with probability {dis} "
                "(DIS, if the file holds {dis_fraction} of the population); the highest "
                "DIS-SUDA score of a record is {max}.",
                dis=number(self.dis),
                dis_fraction=percent(self.dis_fraction, 3),
                max=number(self.dis_score.max()),
            )
        )
        return message(
            "SUDA: {singled} of {n} records are singled out by a combination of at most "
            "{max_size} of {keys} keys, through {combinations} minimal "
            "combinations.{fewer}{by} {match} Scores rank records; there is no published "
            "threshold.",
            singled=count(singled),
            n=count(n),
            max_size=self.max_size,
            keys=len(self.keys),
            combinations=count(int(self.n_msu.sum())),
            fewer=fewer,
            by=by,
            match=match,
        )


def _check(faults: Faults, file: Microdata) -> None:
    keys = file.roles.keys
    if len(keys) > MOST_KEYS:
        hint = f"Give 1 to {MOST_KEYS} columns."
        faults.add("keys", f"{plural(len(keys), 'key')} given", hint=hint)
    if len(file) == 0:
        faults.add("data", "has no rows")


@same_library
def suda(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    max_size: int | None = None,
    dis_fraction: float = 0.01,
    normalise: str = "original",
    missing: str = "exclude",
) -> Suda:
    """Find the minimal sample uniques of every record and score them.

    Parameters
    ----------
    data, keys
        The file of n records and its m key variables: see `Microdata`.
    max_size : int, optional
        Largest MSU to look for; all sizes when not given. Fewer is faster.
    dis_fraction : float
        Share of the population that is in the file, above 0; 1 for a census.
    normalise : {"original", "factorial", "book"}
        Score of a MSU of k of q keys. "original": the product of q - i for i = k ... M, with
        M the smaller of `max_size` and q - 1, as in the original program (equation 3.3 without
        its factor). "factorial": the same divided by q! (equation 3.3 as printed). "book":
        (2^(q-k) - 1) k! (q-k)! / q!, which gives the figures of the book's Table 3.3; there a
        record that only all q keys single out has score and DIS-SUDA score 0, although a match
        with it can be right. The others are positive for every record with a MSU.
    missing : {"exclude", "category", "wildcard"}
        "exclude": a missing value is never part of a MSU and matches nothing. "category": missing
        is a value like another. "wildcard": never part of a MSU, and matches every value, so that
        a record counts as unique only where no record with missing values can be the same.

    Returns
    -------
    Suda

    Raises
    ------
    InputError
        Unknown columns or options, no rows, or arguments out of range.

    Notes
    -----
    The search is SUDA2: values are ranked by support, tables of the records that hold a value are
    searched recursively for values of higher rank, and a set counts only if each of its values has
    a support row. In DIS, uniques and pairs are counted on all keys, with missing as a value of
    its own (wildcard counts under "wildcard").

    References
    ----------
    Manning, Haglin and Keane (2008), doi:10.1007/s10618-007-0078-6; Elliot, Manning and Ford
    (2002), International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5); Templ
    (2017), section 3.4.

    Examples
    --------
    >>> people = pd.DataFrame({"age": ["20s"] * 3 + ["60s"], "sex": list("mmff")})
    >>> result = suda(people, ["age", "sex"])
    >>> result.score.tolist()  # row 2 through (20s, f), row 3 through 60s alone
    [0.0, 0.0, 1.0, 1.0]
    >>> result.smallest_msu.tolist(), result.special.tolist()
    ([0, 0, 2, 1], [False, False, False, True])
    """
    faults = Faults("suda")
    file = as_file(data, faults, keys=keys, columns=())
    _check(faults, file)
    keys = file.roles.keys
    parameters = PARAMETERS | {"max_size": Whole(1, max(len(keys), 1)) | NONE}
    options = {"dis_fraction": dis_fraction, "normalise": normalise, "missing": missing}
    check(faults, parameters, options | {"max_size": max_size})
    faults.raise_if_any()
    table = key_table(file)
    largest = len(keys) if max_size is None else int(max_size)
    copies = table.counts.astype(np.int64)
    weights = msu_weights(len(keys), largest, normalise)
    score, share, n_msu, smallest, sizes = _search(table, copies, largest, weights, missing)
    contribution = np.divide(
        share, score[:, None], out=np.zeros_like(share), where=score[:, None] > 0
    )
    alike = match_counts(table, "wildcard")[0] if missing == "wildcard" else copies
    counts = alike[table.cell]
    dis_score, dis = dis_scores(
        score, int((counts == 1).sum()), int((counts == 2).sum()), dis_fraction, len(keys)
    )
    attribute, level = _contributions(table, score, share)
    return Suda(
        score=score,
        dis_score=dis_score,
        contribution=contribution,
        attribute_contribution=attribute,
        level_contribution=level,
        n_msu=n_msu,
        smallest_msu=smallest,
        msu_sizes=pd.DataFrame(
            {"size": np.arange(1, largest + 1), "n_msu": sizes[1 : largest + 1]}
        ),
        dis=dis,
        keys=table.names,
        max_size=largest,
        dis_fraction=float(dis_fraction),
        normalise=normalise,
        missing=missing,
    )


def _search(
    table: KeyTable,
    copies: np.ndarray,
    max_size: int,
    weights: np.ndarray,
    missing: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Run the kernel over distinct rows and bring its sums back to records."""
    from riskeval.kernels.suda import minimal_uniques

    n_cells, n_keys = table.codes.shape
    if n_cells * (n_keys + 1) > PLACES:
        what = f"{count(n_cells)} distinct rows are too many"
        raise InputError.of("suda", "data", what, "Search parts of the file.")
    items, column_of, absent = ranked_items(table.codes, table.sizes, copies, missing)
    score, share = np.zeros(n_cells), np.zeros((n_cells, n_keys))
    n_msu, smallest = np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.int64)
    sizes = np.zeros(n_keys + 1, dtype=np.int64)
    minimal_uniques(
        items, absent @ (np.int64(1) << np.arange(n_keys)), column_of,
        np.minimum(copies, 2).astype(np.int8), missing == "wildcard" and bool(absent.any()),
        max_size, weights, score, share, n_msu, sizes, smallest,
    )  # fmt: skip
    cell = table.cell
    return score[cell], share[cell], n_msu[cell], smallest[cell], sizes


def _contributions(
    table: KeyTable, score: np.ndarray, share: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the contributions by attribute and by level, in per cent."""
    total = score.sum()
    sums = share.sum(axis=0)
    attribute = pd.DataFrame(
        {
            "variable": table.names,
            "contribution": 100 * sums / total if total > 0 else np.full(len(sums), np.nan),
        }
    )
    scored = np.flatnonzero(score > 0)
    codes, shares = table.codes[table.cell[scored]], share[scored]
    variables, all_levels, contributions = [], [], []
    for j, name in enumerate(table.names):
        n_levels = table.sizes[j]
        position = np.where(codes[:, j] < 0, n_levels, codes[:, j])
        by_level = np.bincount(position, weights=shares[:, j], minlength=n_levels + 1)
        levels: list[Any] = list(table.levels[j])
        if by_level[n_levels] > 0:  # missing as a category
            levels.append(None)
        else:
            by_level = by_level[:n_levels]
        percent = 100 * by_level / sums[j] if sums[j] > 0 else np.full(len(levels), np.nan)
        variables += [name] * len(levels)
        all_levels.append(pd.Series(levels).astype(object))
        contributions.append(percent)
    columns = {
        "variable": variables,
        "level": pd.concat(all_levels, ignore_index=True),
        "contribution": np.concatenate(contributions),
    }
    return attribute, pd.DataFrame(columns)


SPECIAL = person_risk(
    "special_uniques", "Special uniques", "records",
    "records that fewer than all keys single out: the riskiest kind of uniques",
    "Elliot et al. 2005",
)  # fmt: skip
DIS = person_risk(
    "dis_suda", "Highest DIS-SUDA score", "probability",
    "probability that an intruder's unique match with the most special record is right, on a "
    "scale that ranks records; there is no published threshold", "Elliot and Manning 2003",
    single=True,
)  # fmt: skip


SUDA_RULES = {"wildcard": "wildcard", "own-category": "category"}
"""Treatment of missing keys in SUDA beside that of the counts; "exclude" for the others."""


def _run_suda(request: AssessRequest) -> Any:
    n, size = len(request.frame), request.population_size
    defaults: dict[str, Any] = {
        "missing": SUDA_RULES.get(request.counts.missing, "exclude"),
        "dis_fraction": 1.0 if size is None or n == 0 else min(1.0, n / size),
    }
    return suda(request.file, **request.arguments("suda", **defaults))


def of_suda(result: Suda, request: AssessRequest) -> list[Measurement]:
    """Special uniques and the highest score."""
    note = missing_note(request, result.missing)
    fraction = (
        message("a census")
        if result.dis_fraction == 1
        else message("sampling fraction {p}", p=percent(result.dis_fraction))
    )
    return [
        request.measured(
            SPECIAL,
            int(result.special.sum()),
            note=message("of {n}", n=plural(int((result.n_msu > 0).sum()), "unique record")),
        ).noted(note),
        request.measured(DIS, result.dis_score.max(initial=0.0), note=fraction),
    ]


MEASURE = Measure(
    name="suda",
    rank=80,
    title="SUDA2",
    question="Which records are unique on a few keys already?",
    blind_spots="the population; keys beyond `max_size`",
    source="Manning, Haglin and Keane 2008; Elliot et al. 2005",
    function=suda,
    run=_run_suda,
    measurements=of_suda,
    options=("max_size", "dis_fraction", "normalise", "missing"),
    infos=(SPECIAL, DIS),
)
