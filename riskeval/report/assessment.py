"""Pages of the risk evaluation: an assessment, a protected file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskeval.measures.registry import MEASURES
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.page import render_page, write_page
from synthpop.microdata.text import number, plural

if TYPE_CHECKING:
    from riskeval.measures.assess import Assessment

AUDIENCES = ("internal", "external")
HEAD = ("Number", "What it means", "Value", "Limit", "Kept")
CAPTIONS = {
    "risk_distribution": (
        "Number of records by their individual risk; households, where they are known, by the risk "
        "that an intruder links at least one member. The dashed line is where records begin to "
        "stand out from the main part (benchmark rule)."
    ),
    "sample_against_population": (
        "Each point is a distinct key: how many records have it, and how many persons of the "
        "population these stand for by the weights. On the dashed line nobody else has the key, "
        "so that a match is certain to be right. Files of many keys show an even part of them."
    ),
    "cell_sizes": (
        "Distinct keys by the number of records that share them; keys of fewer than three records "
        "in orange."
    ),
    "suda_by_record": (
        "DIS-SUDA scores of the records with minimal sample uniques, in descending order. The "
        "scores rank records; there is no published threshold."
    ),
}
RULES = (
    ("k-anonymity", "k = 3 or 5", "SDC practice guide of the World Bank"),
    ("Individual risk, one record", "at most 0.09", "European Medicines Agency, Policy 0070"),
    (
        "Individual risk, one record",
        "below 0.1, or below 2 (mean + 2 MAD) of the risks: at both limits a record stands out",
        "Templ 2017, equation 3.5",
    ),
    ("Individual risk, mean", "at most 0.01", "default of sdcMicro"),
    ("Distinct l-diversity", "at least 2 values", "Machanavajjhala et al. 2007"),
    (
        "Log-linear model",
        "|z| of the minimum error at most 2: above it the model is too simple, below -2 too rich",
        "Skinner and Shlomo 2008",
    ),
    (
        "Population uniqueness",
        "Pitman up to a sampling fraction of 0.1, else the smaller of Zayatz and the slide "
        "negative binomial",
        "Dankar et al. 2012",
    ),
    ("SUDA2, t-closeness, beta-likeness", "none agreed: a decision of the office", "–"),
)
NOT_HERE = (
    "Three measures compare the file with another table and are not part of an assessment of one "
    "file: delta-presence (a table of the population), the classification risk (original and "
    "protected file), and the intruder scenarios (original and synthetic file)."
)


def write_assessment(
    path: Path | str,
    assessment: Assessment,
    *,
    title: str | None = None,
    audience: str = "internal",
) -> Path:
    """Write an assessment as one self-contained HTML file.

    Parameters
    ----------
    path : path
    assessment : Assessment
        Result of `assess`.
    title : str, optional
    audience : {"internal", "external"}
        "external" leaves out the pictures, which show single records, and the largest risk of a
        record.

    Raises
    ------
    InputError
        An unknown audience.
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from riskeval.measures.assess import assess
    >>> data = pd.DataFrame({"sex": [1, 1, 2, 2], "age": [30, 30, 40, 50]})
    >>> result = assess(data, keys=["sex", "age"], measures=["k_anonymity"])
    >>> page = write_assessment(tempfile.mkdtemp() + "/a.html", result)
    >>> "3-anonymity" in page.read_text(encoding="utf-8")
    True
    """
    faults = Faults("report")
    check_choice(faults, "audience", audience, AUDIENCES)
    faults.raise_if_any()
    external = audience == "external"
    facts = {
        "title": title or "Disclosure risk of a file",
        "external": external,
        "cards": _cards(assessment),
        "first": _first(assessment),
        "exceeded": [
            _exceeds(row)
            for row in assessment.exceeded.to_dict("records")
            if not (external and _of_one_record(row))
        ],
        "keys": ", ".join(assessment.keys),
        "sensitive": ", ".join(assessment.sensitive),
        "measures": [_section(assessment, name, external) for name in assessment.results],
        "skipped": [(MEASURES[name].title, why) for name, why in assessment.skipped.items()],
        "captions": CAPTIONS,
        "rules": {
            "caption": "",
            "head": ("Measure", "Rule of thumb", "Source"),
            "text_columns": 3,
            "rows": RULES,
        },
        "not_here": NOT_HERE,
        "pictures": {} if external else _pictures(assessment),
    }
    return write_page(path, render_page("riskeval", "assess.html.j2", facts))


def _cards(assessment: Assessment) -> list[dict[str, str]]:
    asked = [x for x in assessment.table["within"] if x is not None]
    kept = sum(bool(x) for x in asked)
    cards = [
        {"title": "Records", "value": f"{assessment.n_records:,}", "note": "in the file"},
        {
            "title": "Limits kept",
            "value": f"{kept} of {len(asked)}",
            "note": "limits that the office accepts",
        },
    ]
    for row in assessment.table.to_dict("records"):
        if row["number"] in ("violations of 3-anonymity", "global risk"):
            note = "records" if "violations" in row["number"] else "mean individual risk"
            cards.append(
                {"title": row["number"].capitalize(), "value": number(row["value"]), "note": note}
            )
    return cards


def _section(assessment: Assessment, name: str, external: bool) -> dict[str, Any]:
    measure = MEASURES[name]
    rows = assessment.table[assessment.table["measure"] == name].to_dict("records")
    if external:
        rows = [row for row in rows if not _of_one_record(row)]
    return {
        "name": name,
        "title": measure.title,
        "question": measure.question,
        "summary": "" if external else assessment.results[name].summary(),
        "source": measure.source,
        "table": {
            "caption": "",
            "head": HEAD,
            "text_columns": 2,
            "rows": [
                (
                    row["number"],
                    _meaning(row),
                    number(row["value"]),
                    number(row["limit"]),
                    {True: "yes", False: "no"}.get(row["within"], "–"),
                )
                for row in rows
            ],
        },
    }


def _first(assessment: Assessment) -> str:
    asked = [x for x in assessment.table["within"] if x is not None]
    kept = sum(bool(x) for x in asked)
    return (
        f"{plural(assessment.n_records, 'record was', 'records were')} judged by "
        f"{len(assessment.results)} measures; {kept} of {len(asked)} limits are kept."
    )


def _of_one_record(row: Any) -> bool:
    """Whether a number is that of a single record, which external readers do not see."""
    return "highest" in row["number"]


def _exceeds(row: Any) -> str:
    text = f"{row['number'].capitalize()}: {number(row['value'])}, accepted {number(row['limit'])}"
    return f"{text} ({row['limit_source']})" if row["limit_source"] else text


def _meaning(row: Any) -> str:
    source = row["limit_source"]
    return f"{row['meaning']}; limit: {source}" if source else str(row["meaning"])


def _pictures(assessment: Assessment) -> dict[str, str]:
    from synthpop.microdata.pictures import to_svg

    figures = assessment.figures()
    return {key: to_svg(figure, key, CAPTIONS.get(key, key)) for key, figure in figures.items()}
