"""The page of an assessment: the limits first, then each measure once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from riskeval.measurement import Measurement
from riskeval.measures.registry import MEASURES
from riskeval.report.values import AUDIENCES, ROUNDING, judged, limit_text, shown, visible
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.page import render_page, write_page
from synthpop.microdata.suppression import rounded
from synthpop.microdata.text import count, number, percent, plural

if TYPE_CHECKING:
    from riskeval.measures.assessment import Assessment

HEAD = ("Number", "What it means", "Value", "Limit", "Judgement")
MOST_ROWS = 10
FIGURE_OF = {
    "risk_distribution": "individual_risk",
    "sample_against_population": "frequencies",
    "cell_sizes": "k_anonymity",
    "suda_by_record": "suda",
}
"""Measure in whose section a figure stands."""
MARKS = {
    "met": Markup('<span style="color:#00664a">✓ met</span>'),
    "exceeded": Markup('<strong style="color:#b3261e">▲ exceeded</strong>'),
}
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
        "the benchmark rule (0.1 or 2 (mean + 2 MAD)) marks records that stand out; it is no limit",
        "Templ 2017, equation 3.5",
    ),
    ("Individual risk, mean", "at most 0.01", "default of sdcMicro"),
    (
        "Household risk",
        "mean and largest value by the limits of persons: the risk of a person is that of the "
        "household",
        "Templ 2017, section 3.6",
    ),
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
        "external" shows counts and means only, rounded so that no small count can be computed from
        them: nothing of single records, no figures, no notes, no sentences.

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
    measurements = visible(assessment.measurements, external)
    pictures = {} if external else _pictures(assessment)
    facts = {
        "title": title or "Disclosure risk of a file",
        "external": external,
        "cards": _cards(assessment, measurements, external),
        "first": _first(assessment, measurements),
        "rounding": ROUNDING if external else "",
        "exceeded": [_exceeds(one, external) for one in measurements if one.within is False],
        "keys": ", ".join(assessment.keys),
        "sensitive": ", ".join(assessment.sensitive),
        "numeric": ", ".join(assessment.numeric),
        "measures": [
            _section(assessment, name, measurements, pictures, external)
            for name in assessment.results
        ],
        "riskiest": None if external else riskiest_records(assessment),
        "contributions": None if external else _contributions(assessment),
        "skipped": [
            (MEASURES[name].title, "" if external else why)
            for name, why in assessment.skipped.items()
        ],
        "captions": CAPTIONS,
        "rules": _table(("Measure", "Rule of thumb", "Source"), 3, RULES),
        "not_here": NOT_HERE,
        "pictures": pictures,
    }
    page = render_page("riskeval", "assess.html.j2", facts)
    return write_page(path, page, private=not external)


def _table(head: Any, text_columns: int, rows: Any) -> dict[str, Any]:
    return {"caption": "", "head": head, "text_columns": text_columns, "rows": rows}


def _cards(
    assessment: Assessment, measurements: list[Measurement], external: bool
) -> list[dict[str, str]]:
    within = [one.within for one in measurements if one.within is not None]
    n = assessment.n_records
    cards = [
        {"title": "Records", "value": rounded(n) if external else count(n), "note": "in the file"},
        {
            "title": "Limits met",
            "value": f"{sum(within)} of {len(within)}",
            "note": "of the limits that were set",
        },
    ]
    wanted = ("below_3", "global_risk", "household_risk")
    cards += [
        {"title": one.title, "value": shown(one, external), "note": one.info.meaning.split(";")[0]}
        for one in measurements
        if one.info.name in wanted
    ]
    return cards


def _first(assessment: Assessment, measurements: list[Measurement]) -> str:
    within = [one.within for one in measurements if one.within is not None]
    measures = plural(len(assessment.results), "measure")
    if not within:
        return f"{measures} of the disclosure risk; no limit was set."
    exceeded = [one.title for one in measurements if one.within is False]
    if not exceeded:
        return (
            f"{measures}: all {len(within)} limits are met, for intruders who know these keys and "
            "no more."
        )
    return (
        f"{measures}: {len(exceeded)} of {len(within)} limits "
        f"{'is' if len(exceeded) == 1 else 'are'} exceeded."
    )


def _exceeds(one: Measurement, external: bool) -> str:
    text = f"{one.title}: {shown(one, external)}, {limit_text(one)} accepted"
    return f"{text} ({one.limit_source})" if one.limit_source else text


def _section(
    assessment: Assessment,
    name: str,
    measurements: list[Measurement],
    pictures: dict[str, str],
    external: bool,
) -> dict[str, Any]:
    measure = MEASURES[name]
    keys = set(assessment.table.loc[assessment.table["measure"] == name, "name"])
    rows = [
        (
            one.title,
            _meaning(one, external),
            shown(one, external),
            limit_text(one),
            MARKS.get(judged(one), judged(one)),
        )
        for one in measurements
        if one.info.name in keys
    ]
    return {
        "name": name,
        "title": measure.title,
        "question": measure.question,
        "summary": "" if external else assessment.results[name].summary(),
        "source": measure.source,
        "figures": [key for key, owner in FIGURE_OF.items() if owner == name and key in pictures],
        "table": _table(HEAD, 2, rows),
    }


def _meaning(one: Measurement, external: bool) -> str:
    parts = [one.info.meaning]
    if one.note and not external:
        parts.append(one.note)
    if one.limit_source and one.limit is not None:
        parts.append(f"limit: {one.limit_source}")
    return "; ".join(parts)


def riskiest_records(assessment: Assessment) -> dict[str, Any] | None:
    """Return the table of the records with the highest individual risk, one row a distinct key."""
    risk = assessment.results.get("individual_risk")
    if risk is None or not len(risk.risk):
        return None
    table = risk.counts.keys
    order = np.argsort(-risk.risk, kind="stable")
    _, first = np.unique(table.cell[order], return_index=True)
    records = order[np.sort(first)][:MOST_ROWS]
    levels = table.frame()
    rows = []
    for record in records:
        cell = table.cell[record]
        values = [str(value) if value == value else "missing" for value in levels.iloc[cell]]
        numbers = [number(risk.risk[record]), number(risk.f[record]), number(risk.F[record])]
        if risk.household_risk is not None:
            numbers.append(number(risk.household_risk[record]))
        rows.append((str(record + 1), *values, *numbers))
    household = ("Household risk",) if risk.household_risk is not None else ()
    head = ("Record", *table.names, "Risk", "f", "F", *household)
    return _table(head, 1 + len(table.names), rows)


def _contributions(assessment: Assessment) -> dict[str, Any] | None:
    """What each key, and its most telling value, adds to the SUDA scores."""
    suda = assessment.results.get("suda")
    if suda is None or not (suda.n_msu > 0).any():
        return None
    levels = suda.level_contribution
    rows = []
    for row in suda.attribute_contribution.sort_values(
        "contribution", ascending=False
    ).itertuples():
        own = levels[levels["variable"] == row.variable].sort_values(
            "contribution", ascending=False
        )
        top = [
            f"{item.level} ({percent(item.contribution / 100, 0)})"
            for item in own.head(3).itertuples()
            if item.contribution > 0
        ]
        rows.append((row.variable, ", ".join(top), percent(row.contribution / 100, 1)))
    return _table(("Key", "Values that contribute most", "Part of all scores"), 2, rows)


def _pictures(assessment: Assessment) -> dict[str, str]:
    from synthpop.microdata.pictures import to_svg

    figures = assessment.figures()
    return {key: to_svg(figure, key, CAPTIONS.get(key, key)) for key, figure in figures.items()}
