"""The page of an assessment: the limits first, then each measure once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from riskeval.measures.registry import MEASURES
from riskeval.report import assessment_charts
from riskeval.report.advice import advice
from riskeval.report.assessment_texts import CAPTIONS, NOT_HERE, RULES
from riskeval.report.intruders import intruders_of_file
from riskeval.report.riskiest import limit_cell, riskiest_records
from riskeval.report.values import ROUNDING, limit_text, shown, visible
from riskeval.report.verdict_row import verdict_row
from riskeval.shared.measurement import Measurement
from riskeval.verdict.verdict import STOP, over_limit
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import capitalised, joined_by, message
from synthpop.microdata.messages.suppression import rounded
from synthpop.microdata.messages.text import count, percent
from synthpop.microdata.pages.charts import value_bar
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import card, finding, folding_row, row_id, table, verdict

if TYPE_CHECKING:
    from riskeval.measures.assessment import Assessment

MOST_FINDINGS = 5
ATTRIBUTES = (
    "l_diversity", "t_closeness", "beta_likeness", "delta_disclosure", "alpha_k_anonymity",
)  # fmt: skip
"""Measures of what the keys tell about sensitive variables."""
CHART_OF = {
    "individual_risk": ("risk_distribution", assessment_charts.risk_chart),
    "frequencies": ("sample_against_population", assessment_charts.frequencies_chart),
    "k_anonymity": ("cell_sizes", assessment_charts.cell_sizes_chart),
    "suda": ("suda_by_record", assessment_charts.suda_chart),
}
"""Measure -> name of its caption, and the chart, which stands in its first row."""


def write_assessment(
    path: Place | str,
    assessment: Assessment,
    *,
    title: str | None = None,
    audience: str = "internal",
    language: str = "en",
) -> Place:
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
    language : {"en", "de"}
        Language of the page and of its numbers.

    Raises
    ------
    InputError
        An unknown audience or language.
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
    facts = partial(assessment_facts, assessment)
    return write_for(
        path, "riskeval", "assess.html.j2", facts, title=title, audience=audience, language=language
    )


def assessment_facts(assessment: Assessment, external: bool) -> dict[str, Any]:
    """Return everything that the page says, as text ready to be set."""
    measurements = visible(assessment.measurements, external)
    exceeded = [one for one in assessment.measurements if one.within is False]
    exceeded.sort(key=over_limit, reverse=True)
    risk = assessment.results.get("individual_risk")
    return {
        "title": gettext("Disclosure risk of a file"),
        "external": external,
        "cards": _cards(assessment, measurements, external),
        "verdicts": verdict_rows(assessment, external),
        "worst": [
            finding(_exceeds(one, external), _place(one, external), advice(one))
            for one in exceeded[:MOST_FINDINGS]
        ]
        if not assessment.verdict.fatal or external
        else [
            finding(_sentence(one.text), "#measures")
            for one in assessment.verdict.evidence
            if one.level == STOP
        ][:MOST_FINDINGS],
        "not_tried": [] if external else list(assessment.verdict.not_tried),
        "rounding": ROUNDING if external else "",
        "keys": ", ".join(assessment.keys),
        "sensitive": ", ".join(assessment.sensitive),
        "numeric": ", ".join(assessment.numeric),
        "rows": _rows(assessment, measurements, external),
        "sorts": [] if external else [("over", message("value over limit"))],
        "intruders": None
        if external
        else intruders_of_file(assessment.results.get("population_risk")),
        "riskiest": None if external else riskiest_records(risk),
        "contributions": None if external else _contributions(assessment),
        "sizes": None if external else _msu_sizes(assessment),
        "skipped": [
            (gettext(MEASURES[name].title), "" if external else why)
            for name, why in assessment.skipped.items()
        ],
        "rules": table(("Measure", "Rule of thumb", "Source"), RULES, text_columns=3, words=1),
        "not_here": NOT_HERE,
    }


def _cards(
    assessment: Assessment, measurements: list[Measurement], external: bool
) -> list[dict[str, str]]:
    n = assessment.n_records
    wanted = ("below_3", "global_risk", "expected_reidentifications", "household_risk")
    return [
        card("Records", rounded(n) if external else count(n), "in the file"),
        *(
            card(one.title, shown(one, external), str(one.info.meaning).split(";")[0])
            for one in measurements
            if one.info.name in wanted
        ),
    ]


def verdict_rows(assessment: Assessment, external: bool) -> list[dict[str, str]]:
    """Return the three rows: the verdict, identity disclosure and attribute disclosure.

    Without a limit a row says what was measured and judges nothing. Limits of single records count
    for external readers too, who do not see the values.
    """
    identity: list[Measurement] = []
    attribute: list[Measurement] = []
    for one in assessment.measurements:
        (attribute if _measure_of(assessment, one) in ATTRIBUTES else identity).append(one)
    return [
        verdict_row(assessment.verdict, external, "#measures"),
        _judged_group(message("Identity disclosure"), identity, IDENTITY, external),
        _judged_group(message("Attribute disclosure"), attribute, ATTRIBUTES, external)
        if attribute
        else verdict(
            "Attribute disclosure", "not assessed", "none", message("Declare sensitive variables.")
        ),
    ]


IDENTITY = ("below_3", "expected_reidentifications", "global_risk", "below_2")


def _judged_group(
    what: str, group: list[Measurement], first: tuple[str, ...], external: bool
) -> dict[str, str]:
    within = [one.within for one in group if one.within is not None]
    word, level = message("no limit"), "none"
    if within:
        word, level = ("met", "good") if all(within) else ("exceeded", "bad")
    group = visible(group, external)
    chosen = [one for name in first for one in group if one.info.name == name][:2] or group[:2]
    text = joined_by("; ", (f"{one.title}: {shown(one, external)}" for one in chosen)) or message(
        "Not shown"
    )
    return verdict(what, word, level, f"{text}.", f"#{row_id(chosen[0].key)}" if chosen else "")


def _measure_of(assessment: Assessment, one: Measurement) -> str:
    rows = assessment.table
    known = rows.loc[rows["name"] == one.info.name, "measure"]
    return str(known.iloc[0]) if len(known) else ""


def _place(one: Measurement, external: bool) -> str:
    """Return the link to the row of a number, to all rows where it has none."""
    return f"#{row_id(one.key)}" if visible([one], external) else "#measures"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _exceeds(one: Measurement, external: bool) -> str:
    text = message(
        "{title}: {value}, {limit} accepted",
        title=one.title,
        value=shown(one, external),
        limit=limit_text(one),
    )
    return f"{text} ({one.limit_source})" if one.limit_source else text


def _rows(
    assessment: Assessment, measurements: list[Measurement], external: bool
) -> list[dict[str, Any]]:
    """One folding row a number; those that exceed a limit first, then in the order of measures."""
    first_of: dict[str, Measurement] = {}
    for one in measurements:
        first_of.setdefault(_measure_of(assessment, one), one)
    order = sorted(measurements, key=lambda one: one.within is not False)
    return [
        _row(assessment, one, first_of[_measure_of(assessment, one)] is one, external)
        for one in order
    ]


def _row(
    assessment: Assessment, one: Measurement, is_first: bool, external: bool
) -> dict[str, Any]:
    name = _measure_of(assessment, one)
    measure = MEASURES.get(name)
    sentences = [_meaning(one, external)]
    if measure is not None:
        sentences.append(
            message(
                "{question} Source: {source}.",
                question=measure.question,
                source=one.info.source or measure.source,
            )
        )
    charts = []
    if is_first and not external and name in assessment.results:
        sentences.append(assessment.results[name].summary())
        charts = _charts(assessment, name)
    over = over_limit(one)
    return folding_row(
        one.key,
        one.title,
        measure.title if measure is not None else one.info.group,
        "" if external else _bar(one),
        [shown(one, external), limit_text(one), limit_cell(one)],
        {} if external else {"over": min(over, 1e9)},
        flagged=one.within is False,
        sentences=sentences,
        charts=charts,
    )


def _bar(one: Measurement) -> str:
    """Return the value on a line from zero, with its limit."""
    value = one.share if one.info.unit == "records" else one.value
    bound, reach = float("nan"), 1.0
    text = f"{one.title}: {shown(one)}"
    if one.limit is not None and one.applies:
        bound = one.limit / (one.records if one.info.unit == "records" and one.records else 1)
        reach = max(1.25 * bound, value) if value == value else 1.25 * bound
        text += ", " + message("limit {limit}", limit=limit_text(one))
    elif one.info.unit not in ("records", "share", "probability", "overlap"):
        return ""
    return value_bar(value, bound, reach or 1.0, text, at_least=one.at_least)


def _charts(assessment: Assessment, name: str) -> list[dict[str, str]]:
    if name not in CHART_OF:
        return []
    key, draw = CHART_OF[name]
    counts = assessment.results.get("frequencies")
    result = counts if name == "k_anonymity" else assessment.results[name]
    if result is None or (name == "frequencies" and not result.weighted):
        return []
    return [{"chart": draw(result, CAPTIONS[key]), "caption": CAPTIONS[key]}]


def _meaning(one: Measurement, external: bool) -> str:
    text: str = capitalised(one.info.meaning)
    if one.note and not external:
        text += f"; {str(one.note).rstrip('.')}"
    if one.limit_source and one.limit is not None:
        text += "; " + message("limit: {limit_source}", limit_source=one.limit_source)
    return f"{text}."


def _msu_sizes(assessment: Assessment) -> dict[str, Any] | None:
    """How many minimal sample uniques there are by the number of their keys."""
    suda = assessment.results.get("suda")
    if suda is None or not len(suda.msu_sizes):
        return None
    rows = [[count(size), count(n)] for size, n in suda.msu_sizes[["size", "n_msu"]].to_numpy()]
    return table(("Keys of a minimal unique", "Minimal uniques"), rows)


def _contributions(assessment: Assessment) -> dict[str, Any] | None:
    """What each key, and its most telling value, adds to the SUDA scores."""
    suda = assessment.results.get("suda")
    if suda is None or not (suda.n_msu > 0).any():
        return None
    keys, levels = (
        contribution.sort_values("contribution", ascending=False)
        for contribution in (suda.attribute_contribution, suda.level_contribution)
    )
    rows = []
    for row in keys.itertuples():
        top = [
            f"{item.level} ({percent(item.contribution / 100, 0)})"
            for item in levels[levels["variable"] == row.variable].head(3).itertuples()
            if item.contribution > 0
        ]
        rows.append((row.variable, ", ".join(top), percent(row.contribution / 100, 1)))
    head = ("Key", message("Values that contribute most"), message("Part of all scores"))
    return table(head, rows, text_columns=2)
