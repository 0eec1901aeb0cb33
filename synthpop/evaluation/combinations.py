"""Combinations of values in a population beside those of the true one: precision and recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, percent
from synthpop.microdata.runs.chunks import open_chunks


@dataclass(frozen=True)
class Combinations(Result):
    """How many combinations of values a population has, and how many of them are true.

    Attributes
    ----------
    columns : tuple of str
    table : DataFrame
        One row a kind of combination, ``all`` and, with a survey, ``in the survey`` and ``new``
        (not in the survey): made (combinations of the population), true (of the true population),
        both, precision (share of the population's persons whose combination is a true one), recall
        (share of the true persons whose combination the population has), f1 (their harmonic mean).
    """

    columns: tuple[str, ...]
    table: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def summary(self) -> str:
        """Return precision and recall, and what they mean, in sentences."""
        rows = {row["combinations"]: row for row in self.table.to_dict("records")}
        everything = rows["all"]
        text = (
            f"{percent(everything['precision'])} of the persons have a combination of "
            f"{len(self.columns)} variables that the true population has (precision); "
            f"{percent(everything['recall'])} of the true persons have one that this population "
            f"has (recall); F1 {everything['f1']:.3f}, SRMSE {everything['srmse']:.3f}."
        )
        if "new" in rows:
            new = rows["new"]
            made, both, true = (count(int(new[name])) for name in ("made", "both", "true"))
            text += (
                f" Of {made} combinations that the survey lacks {both} are true; the true "
                f"population has {true} that the survey lacks."
            )
        return text


@same_library
def compare_combinations(
    population: Any, truth: Any, columns: Sequence[str], *, survey: Any = None
) -> Combinations:
    """Compare the combinations of values of a population with those of the true one.

    Parameters
    ----------
    population, truth : DataFrame, Survey or Population
        `truth` is the whole population that was sampled (a census, a simulation study): of a
        sample, combinations that it lacks would count as wrong.
    columns : list of str
        Categorical columns, such as the zone, age group and sex; amounts must be grouped before.
    survey : DataFrame or Survey, optional
        What the population was made from: combinations that it lacks are then told apart, which
        says what a model adds to copying (sampling zeros), and at what price (structural zeros).

    Returns
    -------
    Combinations
        Values are compared as text (``1``, ``1.0`` and ``"1"`` are one); a missing value is a value
        of its own. Nothing is random.

    Raises
    ------
    InputError
        Lists the columns that one of them does not have.

    Notes
    -----
    Precision and recall of persons are feasibility and diversity of Kim and Bansal (2023),
    doi:10.1016/j.trc.2023.104053; sampling and structural zeros are told apart as by Garrido,
    Borysov, Pereira and Rich (2020), arXiv:1909.07689; SRMSE as by Müller and Axhausen (2011).

    Examples
    --------
    >>> made = pd.DataFrame({"age": ["old", "old", "young"], "sex": ["f", "m", "m"]})
    >>> true = pd.DataFrame({"age": ["old", "old", "young", "young"], "sex": ["f", "m", "f", "f"]})
    >>> result = compare_combinations(made, true, ["age", "sex"], survey=true[:1])
    >>> result.to_frame()[["combinations", "made", "both", "precision", "recall"]]
        combinations  made  both  precision    recall
    0            all     3     2   0.666667  0.500000
    1  in the survey     1     1   1.000000  1.000000
    2            new     2     1   0.500000  0.333333
    """
    faults, names = Faults("combinations"), [str(name) for name in columns]
    if not names:
        faults.add("columns", "are none", hint="Name the columns that are combined.")
        faults.raise_if_any()
    made = _sizes(faults, population, names, "population")
    true = _sizes(faults, truth, names, "truth")
    known = None if survey is None else _sizes(faults, survey, names, "survey")
    faults.raise_if_any()
    assert made is not None
    assert true is not None
    rows = [_row("all", made, true)]
    if known is not None:
        for kind, is_new in (("in the survey", False), ("new", True)):
            parts = (part[part.index.isin(known.index) != is_new] for part in (made, true))
            rows.append(_row(kind, *parts))
    return Combinations(tuple(names), pd.DataFrame(rows))


def _sizes(faults: Faults, data: Any, columns: list[str], name: str) -> pd.Series | None:
    """Return the persons of each combination, by its values as text; None where one is absent."""
    parts = []
    for block in open_chunks(data, name, columns):
        if not check_columns(faults, block, columns, name):
            return None
        sizes = block[columns].astype(object).groupby(columns, dropna=False, sort=False).size()
        texts = [level.map(level_text) for level in map(sizes.index.get_level_values, columns)]
        sizes.index = texts[0] if len(texts) == 1 else pd.MultiIndex.from_arrays(texts)
        parts.append(sizes)
    return pd.concat(parts).groupby(level=list(range(len(columns)))).sum()


def _row(kind: str, made: pd.Series, true: pd.Series) -> dict[str, Any]:
    is_true = made.index.isin(true.index)
    precision = made[is_true].sum() / made.sum() if len(made) else float("nan")
    recall = true[true.index.isin(made.index)].sum() / true.sum() if len(true) else float("nan")
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    shares = {"precision": precision, "recall": recall, "f1": f1}
    both = int(is_true.sum())
    gaps = (made / max(made.sum(), 1)).sub(true / max(true.sum(), 1), fill_value=0.0)
    shares["srmse"] = float(((gaps**2).sum() * len(gaps)) ** 0.5)
    return {"combinations": kind, "made": len(made), "true": len(true), "both": both, **shares}
