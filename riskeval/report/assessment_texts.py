"""What the page of an assessment says whatever the file: captions and rules of thumb."""

from __future__ import annotations

from synthpop.microdata.messages.message import message

CAPTIONS = {
    "risk_distribution": (
        message(
            "Number of records by their individual risk; households, where they are known, "
            "by the risk that an intruder links at least one member (orange). The dashed "
            "line is where records begin to stand out from the main part (benchmark rule). "
            "Both scales are logarithmic."
        )
    ),
    "sample_against_population": (
        message(
            "Each point is a distinct key: how many records have it, and how many persons of the "
            "population these stand for by the weights. On the line nobody else has the key, "
            "so that a match is certain to be right. Files of many keys show an even part of them."
        )
    ),
    "cell_sizes": (
        message(
            "Distinct keys by the number of records that share them; keys of fewer than "
            "three records in orange."
        )
    ),
    "suda_by_record": (
        message(
            "DIS-SUDA scores of the records with minimal sample uniques, in descending order. The "
            "scores rank records; there is no published threshold."
        )
    ),
}
RULES = (
    ("k-anonymity", message("k = 3 or 5"), message("SDC practice guide of the World Bank")),
    (
        message("Individual risk, one record"),
        message("at most 0.09"),
        message("European Medicines Agency, Policy 0070"),
    ),
    (
        message("Individual risk, one record"),
        message(
            "the benchmark rule (0.1 or 2 (mean + 2 MAD)) marks unusual records; it is not a limit"
        ),
        message("Templ 2017, equation 3.5"),
    ),
    (message("Individual risk, mean"), message("at most 0.01"), message("default of sdcMicro")),
    (
        message("Household risk"),
        message(
            "mean and largest value by the limits of persons: the risk of a person is that of the "
            "household"
        ),
        message("Templ 2017, section 3.6"),
    ),
    (message("Distinct l-diversity"), message("at least 2 values"), "Machanavajjhala et al. 2007"),
    (
        message("Log-linear model"),
        message(
            "|z| of the minimum error at most 2: above it the model is too simple, below -2 "
            "too rich"
        ),
        "Skinner and Shlomo 2008",
    ),
    (
        message("Population uniqueness"),
        message(
            "Pitman up to a sampling fraction of 0.1, else the smaller of Zayatz and the slide "
            "negative binomial"
        ),
        "Dankar et al. 2012",
    ),
    (
        message("SUDA2, t-closeness, beta-likeness"),
        message("none agreed: a decision of the office"),
        "–",
    ),
)
NOT_HERE = message(
    "Three measures compare the file with another table and are not part of an assessment of one "
    "file: delta-presence (a table of the population), the classification risk (original and "
    "protected file), and the intruder scenarios (original and synthetic file)."
)
