"""One self-contained HTML file about a population: what was done, how close it is, how safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import pandas as pd

from synthpop.evaluation.assess_fit import assess_fit
from synthpop.evaluation.result import FitReport
from synthpop.figures.names import FigureNames
from synthpop.microdata.formats.places import Place
from synthpop.microdata.frame.codes import MISSING_LABEL
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.text import count
from synthpop.microdata.pages.page import check_page, write_for
from synthpop.microdata.roles.survey import Survey
from synthpop.population.population import Population
from synthpop.report import sections, summary
from synthpop.report.members import member_tables
from synthpop.report.pairs import all_pairs, farthest_pairs
from synthpop.report.provenance import provenance_facts
from synthpop.report.recipe import fallbacks, run_facts, steps
from synthpop.report.risk import risk_facts
from synthpop.report.stored import StoredCalibration, StoredReport, SurveySize, stored_risk
from synthpop.report.suppression import suppressed
from synthpop.report.totals import totals_facts, totals_pictures
from synthpop.report.variables import variable_rows
from synthpop.report.verdicts import verdict_rows, worst_items

if TYPE_CHECKING:
    from synthpop.calibration.result import Calibration

TEMPLATE = "report.html.j2"
LEVELS = ("level", "level_a", "level_b", "where")


def write_report(
    path: Place | str,
    survey: Survey,
    population: Any,
    *,
    fit: FitReport | None = None,
    risk: Any = None,
    calibration: Calibration | None = None,
    title: str | None = None,
    audience: str = "internal",
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    provenance: Mapping[str, str] | None = None,
    language: str = "en",
) -> Place:
    """Write a report on a population to one HTML file that needs nothing else.

    Parameters
    ----------
    path : path
        The file, also ``s3://bucket/report.html``; its folder is made where it is missing. An
        existing file is replaced.
    survey : Survey
        What the population was made from.
    population : Population or DataFrame
    fit : FitReport, optional
        Default `assess_fit` of the two.
    risk : object or list, optional
        Result of the intruder scenarios: it has ``table`` and ``summary()``. A list holds the
        result on `population`, then those on further populations of the same fit: the section
        shows the mean over all with its 95 % interval. Without it the report has no section on
        disclosure.
    calibration : Calibration, optional
        Result of `calibrate` on the survey: the section on known totals tells what its weights
        meet. What the last steps of a recipe (`Distribute`, `Anneal`) and the first ones
        (`CorrectHeaping`) did, the section takes from the manifest of the population.
    title : str, optional
    audience : {"internal", "external"}
        "external" shows no value of a single person, suppresses cells of fewer than 5 sample
        persons (with the next smallest where one would stand alone), and leaves out the seed and
        the folder.
    labels, units : dict, optional
        Variable -> what it is called, and its unit.
    provenance : dict, optional
        What an auditor needs and the population does not know, for the internal report: the name
        of the survey file and its hash, the command, a date.
    language : {"en", "de"}
        Language of the page and of its numbers; names and labels stay as they are.

    Returns
    -------
    path
        The file.

    Raises
    ------
    InputError
        An unknown audience, or survey and population that do not fit together.
    OutputError
        The file cannot be written; nothing half-written is left.

    Notes
    -----
    The same arguments give the same bytes: there is no date in it, unless `provenance` has one.
    No randomness.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from synthpop import Pipeline, Structure, Survey
    >>> data = pd.DataFrame({"hid": [1, 1, 2], "w": [2.0, 2.0, 3.0], "sex": ["f", "m", "f"]})
    >>> survey = Survey(data, weight="w", household="hid")
    >>> population = Pipeline([Structure(["sex"])]).fit(survey, seed=1).simulate()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_report(folder + "/report.html", survey, population)
    ...     file.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    check_page(audience, language)
    source = report_source(
        survey, population, fit, risk=risk, calibration=calibration, title=title,
        labels=labels, units=units, provenance=provenance,
    )  # fmt: skip
    return write_stored(path, source, population, audience=audience, language=language)


class ReportTexts(TypedDict, total=False):
    """What a report is told about names; see `write_report`."""

    title: str | None
    labels: Mapping[str, str] | None
    units: Mapping[str, str] | None
    provenance: Mapping[str, str] | None


def report_source(
    survey: Survey,
    population: Any,
    fit: FitReport | None = None,
    *,
    risk: Any = None,
    copies: pd.DataFrame | None = None,
    calibration: Calibration | None = None,
    **texts: Unpack[ReportTexts],
) -> StoredReport:
    """Return everything that a report is made from but the population; see `write_report`."""
    return StoredReport(
        assess_fit(survey, population) if fit is None else fit,
        SurveySize(survey.n_households, float(survey.weights.sum())),
        stored_risk(risk, survey.frame, copies),
        None if calibration is None else StoredCalibration.of(calibration),
        texts.get("title"),
        dict(texts.get("labels") or {}),
        dict(texts.get("units") or {}),
        dict(texts.get("provenance") or {}),
    )


def write_stored(
    path: Place | str,
    source: StoredReport,
    population: Any,
    *,
    audience: str = "internal",
    language: str = "en",
) -> Place:
    """Write the page of a stored report; see `write_report`."""
    return write_for(
        path, "synthpop", TEMPLATE, lambda external: stored_facts(source, population, external),
        title=source.title, audience=audience, language=language,
    )  # fmt: skip


def report_facts(
    survey: Survey, population: Any, fit: FitReport, *, audience: str = "internal", **more: Any
) -> dict[str, Any]:
    """Return everything that the report says; arguments as of `write_report`."""
    source = report_source(survey, population, fit, **more)
    return stored_facts(source, population, audience == "external")


def stored_facts(source: StoredReport, population: Any, external: bool) -> dict[str, Any]:
    """Return the facts of a stored report."""
    fit = _in_language(suppressed(source.fit) if external else source.fit)
    names = FigureNames(source.labels, source.units)
    known = population if isinstance(population, Population) else None
    recipe = known.manifest.identity.recipe if known else ()
    totals = totals_facts(source.calibration, known, names, external)
    return {
        "title": source.title or gettext("Synthetic population"),
        "external": external,
        "cards": summary.key_figures(fit, population),
        "what": summary.what_it_is(fit, source.survey, population),
        "verdicts": verdict_rows(fit, source.risk, totals, external),
        "worst": worst_items(fit, recipe, names, external),
        "totals": totals,
        "steps": steps(recipe, names, known.manifest.pooling) if known else None,
        "run": run_facts(known, external) if known else [],
        "fallbacks": fallbacks(known, external) if known else None,
        "households": sections.households(fit),
        "members": member_tables(fit, names, external),
        "strata": fit.strata and names.title(fit.strata),
        "variables": variable_rows(fit, names),
        "pairs": all_pairs(fit, names),
        "farthest": farthest_pairs(fit, names),
        "components": sections.components(fit, names),
        "comparisons": sections.comparisons(fit, names),
        "effective": count(fit.effective_size),
        "n_population": count(fit.n_population),
        "risk": risk_facts(source.risk, external) if source.risk is not None else None,
        "provenance": [] if external else provenance_facts(known, source.provenance),
        "names": names,
        "pictures": _pictures(known),
    }


def _pictures(population: Population | None) -> dict[str, str]:
    """Return the drawings of the page as SVG; without one the library for them is not imported."""
    figures = totals_pictures(population)
    if not figures:
        return {}
    from synthpop.microdata.messages.pictures import to_svg

    text = gettext("Objective of the annealing while households are exchanged")
    return {key: to_svg(figure, key, text) for key, figure in figures.items()}


def _in_language(fit: FitReport) -> FitReport:
    """Return the fit with the level of missing values in the language of the page."""
    label = gettext(MISSING_LABEL)
    if label == MISSING_LABEL:
        return fit
    tables = {}
    for name, table in fit.tables.items():
        levels = [column for column in LEVELS if column in table]
        columns = {column: table[column].replace(MISSING_LABEL, label) for column in levels}
        tables[name] = table.assign(**columns)
    return replace(fit, tables=tables)
