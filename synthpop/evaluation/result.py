"""The result of `assess_fit`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthpop.evaluation.ranking import rank_comparisons
from synthpop.evaluation.sentences import (
    classifier_sentences,
    comparison_sentence,
    finding_sentence,
    overall_sentences,
)
from synthpop.evaluation.verdict import Verdict, fit_verdict
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, plural

MOST_FINDINGS = 5

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class FitReport(Result):
    """A population beside the weighted sample it was made from.

    Attributes
    ----------
    distances : DataFrame
        One row per comparison: `measure` ("tvd" total variation, "ks" Kolmogorov-Smirnov,
        "agreement", "correlation", "indicator" differences), `variable`, `crossed` (the second
        variable of a two-way table, else ""), `scope` ("all", "households" by stratum and size,
        "mean over <group>", "largest over <group>", "pairs of members", "members per household",
        "household sums", "age gaps"), `value`, `expected_simulation_error` (what independent draws
        of this many persons differ by chance), `expected_sampling_error` (what a simple random
        survey of the effective size differs from its country by chance) and `where` (the group
        with the largest distance, or what is counted).
    tables : dict of DataFrame
        ``sizes`` households by stratum and size (also ``households_by_size`` and
        ``households_by_stratum``), ``one_way`` shares of levels, ``by_stratum``
        shares inside strata, ``two_way`` shares of crossed levels, ``statistics`` and
        ``quantiles`` of numbers, ``groups`` numbers by group, ``safe`` groups whose means and
        totals external readers may see, ``tvd_by_stratum``, ``boxes``, ``curves``,
        ``components``, ``components_by``, ``sums``, ``association``, ``conditional``
        (distances of a variable inside the levels of another: mean weighted with their shares, and
        the largest), ``households`` (members, counts, sums and ages of whole households),
        ``detector`` (comparisons of two samples: kind, variable, given, where, both values, z and
        size), ``classifier`` (AUC for persons and for households), ``propensity`` (one row).
        Columns ``n_sample`` count sample persons, unweighted; in ``households`` sample households.
    n_sample, n_population : int
    effective_size : float
        Effective size of the sample, (sum w)^2 / sum w^2.
    scale : float
        Persons of the population for one unit of weight.
    strata, size : str or None
        Columns of strata and household size.
    by : tuple of str
        Variables that numbers are compared by, those that explain most of them first.
    components : dict of tuple of str
        Total -> its parts.
    """

    distances: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    n_sample: int
    n_population: int
    effective_size: float
    scale: float
    strata: str | None
    size: str | None
    by: tuple[str, ...]
    components: Mapping[str, tuple[str, ...]]

    def to_frame(self) -> pd.DataFrame:
        """Return the table of distances."""
        return self.distances

    @property
    def tvd(self) -> pd.Series:
        """Total variation distance of each categorical variable over all persons."""
        return self._overall("tvd")

    @property
    def ks(self) -> pd.Series:
        """Kolmogorov-Smirnov distance of each number over all persons."""
        return self._overall("ks")

    @property
    def quantile_errors(self) -> pd.DataFrame:
        """Relative error of quantiles: variables in rows, shares p in columns.

        NaN where the quantile of the sample is 0.
        """
        return self.tables["quantiles"].pivot(index="variable", columns="p", values="relative")

    @property
    def pmse_ratio(self) -> float:
        """Propensity score distance over what chance gives, from main effects alone.

        Ratio of the pMSE to its expectation (Snoke and others, 2018, doi:10.1111/rssa.12358) of a
        part of the population as large as the sample; NaN where nothing is compared. Values up to
        1 mean that main effects show no difference. They say nothing about associations: see
        `auc`.
        """
        table = self.tables["propensity"]
        return float(table["ratio"].iloc[0]) if len(table) else float("nan")

    @property
    def srmse(self) -> pd.Series:
        """Standardised root mean squared error of each two-way table, by pair of variables.

        The root of the mean squared difference of the shares, over the mean share (Müller and
        Axhausen 2011): 0 for equal tables. Combinations are those of levels that occur. A sample of
        n persons has about the root of the combinations over n by chance.
        """
        table = self.tables["two_way"]
        if table.empty:
            return pd.Series(dtype=float, name="srmse")
        squares = (table["population"] - table["sample"]) ** 2
        by_pair = squares.groupby([table["a"], table["b"]], sort=False)
        return np.sqrt(by_pair.sum() * by_pair.size()).rename("srmse")

    @property
    def new_pairs(self) -> dict[str, float]:
        """Shares of persons with a pair of values that nobody of the survey has.

        "population": those who have one; "expected": how many of another sample would, estimated
        by the survey's persons with a pair that no other household has; see
        `synthpop.evaluation.unseen`. What is beyond is impossible or misplaced.
        """
        table = self.tables["detector"]
        row = table[table["kind"] == "new"].iloc[0]
        return {"population": float(row["population"]), "expected": float(row["sample"])}

    def _overall(self, measure: str) -> pd.Series:
        table = self.distances
        single = (table["crossed"] == "") & (table["scope"] == "all")
        return table[single & (table["measure"] == measure)].set_index("variable")["value"]

    def figures(self) -> dict[str, Figure]:
        """Return all pictures by name, with titles; they are drawn from the tables.

        Save one for print as ``fit.figures()["distances"].savefig("distances.pdf")``.
        """
        return presenter("FitReport.figures")(self)

    @property
    def ranking(self) -> pd.DataFrame:
        """All comparisons, the farthest for its expected error first.

        Columns as `synthpop.evaluation.ranking.rank_comparisons` has them. A `ratio` of 1 is what
        another survey of this size would show by sampling error alone.
        """
        return rank_comparisons(
            self.distances,
            self.tables["conditional"],
            self.tables["sums"],
            frozenset(part for parts in self.components.values() for part in parts),
            self.effective_size,
        )

    @property
    def auc(self) -> dict[str, float]:
        """Area under the ROC curve of the classifier for "persons" and "households".

        1/2 where it cannot tell population and sample apart, 1 where it always can.
        """
        table = self.tables["classifier"]
        return dict(zip(table["units"], table["auc"], strict=True))

    def verdict(self) -> Verdict:
        """Return one of "good", "usable with these limits", "not usable", with reason and findings.

        Fresh samples of the survey's country are "good" in 95 of 100 cases or more.
        """
        return fit_verdict(self.ranking, self.auc, self.tables["detector"])

    def summary(self) -> str:
        """Say how close the population is, in sentences; what is worst comes first."""
        verdict = self.verdict()
        lines = [message("Fit: {word}. {reason}", word=verdict.word, reason=verdict.reason)]
        found = verdict.findings.head(MOST_FINDINGS).to_dict("records")
        lines += [f"- {finding_sentence(row)}" for row in found]
        if len(found) < MOST_FINDINGS and len(verdict.worst):
            lines.append(message("Farthest for the survey's sampling error:"))
            lines += [f"- {comparison_sentence(row)}" for row in verdict.worst.to_dict("records")]
        lines += classifier_sentences(self.tables["classifier"])
        lines += overall_sentences(self.distances)
        lines.append(
            message(
                "Compared: {persons} of the population, {sample} of the sample (effective size "
                "{size}).",
                persons=plural(self.n_population, "person"),
                sample=count(self.n_sample),
                size=count(self.effective_size),
            )
        )
        return joined_by("\n", lines)
