"""The numbers of a comparison: what each means, which way is better, and its limit."""

from __future__ import annotations

from dataclasses import dataclass

NONE = "no published limit: compare the releases"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of number.

    Attributes
    ----------
    title : str
        Short, for heads and axes.
    meaning : str
    group : str
        "file risk", "link risk", "attribution risk", "utility".
    better : {"low", "high"}
    unit : str
        "share" (of records), "records", "ratio", "loss" or "overlap" (another share).
    perfect : float
        Utility of the original itself; NaN for risks.
    source : str
    """

    title: str
    meaning: str
    group: str
    better: str = "low"
    unit: str = "share"
    perfect: float = float("nan")
    source: str = ""


FILE, LINK, ATTRIBUTION, UTILITY = "file risk", "link risk", "attribution risk", "utility"

CATALOGUE: dict[str, Kind] = {
    "below_2": Kind(
        "Unique on the keys", "share of the records of the file whose keys nobody else has", FILE,
        source="Templ 2017, section 3.2",
    ),
    "below_3": Kind(
        "Below 3-anonymity", "share of the records whose keys fewer than 3 records share", FILE,
        source="Samarati and Sweeney 1998",
    ),
    "below_5": Kind(
        "Below 5-anonymity", "share of the records whose keys fewer than 5 records share", FILE,
        source="Samarati and Sweeney 1998",
    ),
    "global_risk": Kind(
        "Mean individual risk",
        "mean probability that an intruder who knows the keys links a record correctly", FILE,
        source="Franconi and Polettini 2004",
    ),
    "expected_reidentifications": Kind(
        "Expected re-identifications", "sum of the individual risks", FILE, unit="records",
        source="Templ 2017, section 3.5",
    ),
    "household_risk": Kind(
        "Mean household risk",
        "mean probability that somebody of a record's household is linked", FILE,
        source="Templ 2017, section 3.8",
    ),
    "special_uniques": Kind(
        "Special uniques", "share of the records that some of the keys single out (SUDA2)", FILE,
        source="Elliot et al. 2005",
    ),
    "l_diversity": Kind(
        "Not 2-diverse", "share of the records in groups of the keys with one sensitive value",
        FILE, source="Machanavajjhala et al. 2007",
    ),
    "record_linkage": Kind(
        "Record linkage",
        "share of the records that are linked to their own original by the nearest numbers, "
        "equally near ones by lot", LINK, source="Pagliuca and Seri 1999",
    ),
    "interval_disclosure": Kind(
        "Interval disclosure",
        "share of the records whose true numbers all lie within 0.01 standard deviations", LINK,
        source="Mateo-Sanz et al. 2004",
    ),
    "mahalanobis_disclosure": Kind(
        "Mahalanobis disclosure",
        "share of the records with a number too near the truth, outliers needing more distance, "
        "that are alone in the release (RMDID2)", LINK, source="Templ and Meindl 2008",
    ),
    "replicated_uniques": Kind(
        "Replicated uniques",
        "share of the original records that are unique on the keys in both files (repU)",
        ATTRIBUTION, source="Raab, Nowok and Dibben 2024",
    ),
    "disco": Kind(
        "DiSCO",
        "share of the original records whose keys lead to their own value, and no other, in the "
        "release", ATTRIBUTION, source="Raab, Nowok and Dibben 2024",
    ),
    "tcap": Kind(
        "Correct attribution (TCAP)",
        "share of the original records with a released group of one value for which this value is "
        "right", ATTRIBUTION, source="Taub et al. 2018",
    ),
    "rapid": Kind(
        "Prediction (RAPID)",
        "share of the original records whose value a model trained on the release predicts",
        ATTRIBUTION, source="Templ, Thees and Müller 2026",
    ),
    "identical": Kind(
        "Identical records",
        "share of the released records equal to an original one in all variables", ATTRIBUTION,
        source="a screen, never proof of safety (arXiv:2505.01524)",
    ),
    "close": Kind(
        "Nearer than chance",
        "share of the released records nearer to an original one than 5 % of the original records "
        "are to each other; 0.05 is expected", ATTRIBUTION,
        source="a screen, never proof of safety (arXiv:2505.01524)",
    ),
    "membership": Kind(
        "Membership",
        "probability that an intruder tells a member of the original from another person; 0.5 is "
        "guessing", ATTRIBUTION, source="van Breugel et al. 2023",
    ),
    "levels_kept": Kind(
        "Detail kept",
        "mean over the categories of the share of the original's levels that the release tells "
        "apart", UTILITY, "high", "overlap", 1.0, "counts",
    ),
    "missing": Kind(
        "Cells suppressed", "share of the cells of the variables that are missing more often",
        UTILITY, "low", "overlap", 0.0, "Templ 2017, equation 5.3",
    ),
    "il1s": Kind(
        "IL1s", "mean distance of a number from its original in sqrt(2) standard deviations",
        UTILITY, "low", "loss", 0.0, "Yancey et al. 2002; Templ 2017, equation 5.9",
    ),
    "eigenvalues": Kind(
        "Eigenvalues", "summed relative change of the eigenvalues of the correlations", UTILITY,
        "low", "loss", 0.0, "Templ 2017, section 5.2",
    ),
    "correlations": Kind(
        "Correlations", "mean absolute change of the correlations", UTILITY, "low", "loss", 0.0,
        "Domingo-Ferrer and Torra 2001",
    ),
    "hellinger": Kind(
        "Hellinger distance", "mean over the categories of the distance of their distributions",
        UTILITY, "low", "loss", 0.0, "Templ 2017, section 5.4",
    ),
    "tables": Kind(
        "Two-way tables", "mean share of the records that would have to move to make a table equal",
        UTILITY, "low", "loss", 0.0, "total variation",
    ),
    "pmse": Kind(
        "pMSE", "how well a model tells both files apart; 0 not at all, 0.25 completely", UTILITY,
        "low", "loss", 0.0, "Woo et al. 2009",
    ),
    "pmse_ratio": Kind(
        "pMSE ratio",
        "pMSE in relation to chance; near 1 is the best of a synthetic file, up to 3 good, above "
        "10 a model that misses something", UTILITY, "low", "ratio", 0.0,
        "Snoke et al. 2018; Raab, Nowok and Dibben 2021",
    ),
    "overlap": Kind(
        "Interval overlap, estimates",
        "mean overlap of the confidence intervals of the estimates, all domains", UTILITY, "high",
        "overlap", 1.0, "Karr et al. 2006",
    ),
    "overlap_domains": Kind(
        "Interval overlap, domains", "the same over the single domains", UTILITY, "high",
        "overlap", 1.0, "Karr et al. 2006",
    ),
    "difference": Kind(
        "Change of the estimates", "mean relative difference of the estimates, as a share",
        UTILITY, "low", "loss", 0.0, "Templ 2017, section 5.5.2",
    ),
    "regression_overlap": Kind(
        "Interval overlap, regression", "mean overlap of the intervals of the coefficients",
        UTILITY, "high", "overlap", 1.0, "Karr et al. 2006",
    ),
    "same_conclusions": Kind(
        "Same conclusions", "share of the coefficients with the same conclusion about their sign",
        UTILITY, "high", "overlap", 1.0, "Templ 2017, section 5.5.5",
    ),
}  # fmt: skip


def lower(title: str) -> str:
    """A title inside a sentence: its first letter small, unless the word has capitals of its own.

    Examples
    --------
    >>> lower("Interval overlap"), lower("pMSE"), lower("IL1s"), lower("DiSCO, ill")
    ('interval overlap', 'pMSE', 'IL1s', 'DiSCO, ill')
    """
    first = title.split()[0]
    return title if first[1:] != first[1:].lower() else title[0].lower() + title[1:]
