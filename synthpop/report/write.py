"""One self-contained HTML file about a population: what was done, how close it is, how safe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthpop.evaluation.assess_fit import FitReport, assess_fit
from synthpop.figures.gallery import draw_all, shown_pairs
from synthpop.figures.style import Names
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.page import render_page, write_page
from synthpop.microdata.pictures import to_svg
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import count
from synthpop.population.population import Population
from synthpop.report import sections, summary
from synthpop.report.recipe import fallbacks, run_facts, steps
from synthpop.report.risk import risk_facts
from synthpop.report.suppression import suppressed
from synthpop.report.totals import headlines, totals_facts, totals_pictures

if TYPE_CHECKING:
    from synthpop.calibration.result import Calibration

AUDIENCES = ("internal", "external")
TEMPLATE = "report.html.j2"


def write_report(
    path: Path | str,
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
) -> Path:
    """Write a report on a population to one HTML file that needs nothing else.

    Parameters
    ----------
    path : path
        The file; its folder is made where it is missing. An existing file is replaced.
    survey : Survey
        What the population was made from.
    population : Population or DataFrame
    fit : FitReport, optional
        Default `assess_fit` of the two.
    risk : object, optional
        Result of the intruder scenarios: it has ``table`` and ``summary()``. Without it the
        report has no section on disclosure.
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

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        An unknown audience, or survey and population that do not fit together.
    OutputError
        The file cannot be written; nothing half-written is left.

    Notes
    -----
    The same arguments give the same bytes: there is no date in it. No randomness.

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
    faults = Faults("report")
    check_choice(faults, "audience", audience, AUDIENCES)
    faults.raise_if_any()
    if fit is None:
        fit = assess_fit(survey, population)
    facts = report_facts(
        survey, population, fit, risk=risk, calibration=calibration, title=title,
        audience=audience, labels=labels, units=units,
    )  # fmt: skip
    return write_page(path, render(facts), private=audience == "internal")


def report_facts(
    survey: Survey,
    population: Any,
    fit: FitReport,
    *,
    risk: Any = None,
    calibration: Calibration | None = None,
    title: str | None = None,
    audience: str = "internal",
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return everything that the report says, as text ready to be set.

    Parameters
    ----------
    survey, population, fit, risk, calibration, title, audience, labels, units
        See `write_report`.

    Returns
    -------
    dict
    """
    external = audience == "external"
    if external:
        fit = suppressed(fit)
    names = Names(labels or {}, units or {})
    known = population if isinstance(population, Population) else None
    totals = totals_facts(calibration, known, names, external)
    return {
        "title": title or "Synthetic population",
        "external": external,
        "cards": summary.key_figures(fit, population, risk, names, external),
        "summary": [
            *summary.sentences(fit, survey, population, risk, names, external),
            *headlines(totals),
        ],
        "totals": totals,
        "stands_out": summary.stands_out(fit, names),
        "steps": _steps(known, names) if known else None,
        "run": run_facts(known, external) if known else [],
        "fallbacks": fallbacks(known, external) if known else None,
        "households": sections.households(fit),
        "strata": fit.strata and names.title(fit.strata),
        "categories": sections.categories(fit, names),
        "pairs": sections.pairs(fit, names),
        "mosaics": [
            {"key": f"mosaic {a} x {b}", "title": f"{names.title(a)} by {names.title(b)}"}
            for a, b in shown_pairs(fit)
        ],
        "numbers": sections.numbers(fit, names),
        "components": sections.components(fit, names),
        "distances": sections.distances(fit, names),
        "effective": count(fit.effective_size),
        "n_population": count(fit.n_population),
        "risk": risk_facts(risk, external) if risk is not None else None,
        "names": names,
        "pictures": {
            key: to_svg(figure, key, f"Picture: {key}")
            for key, figure in (
                draw_all(fit, labels=labels, units=units) | totals_pictures(known)
            ).items()
        },
    }


def _steps(population: Population, names: Names) -> dict[str, Any]:
    manifest = population.manifest
    return steps(manifest.identity.recipe, names, manifest.pooling)


def render(facts: Mapping[str, Any]) -> str:
    """Return the HTML of the facts."""
    return render_page("synthpop", TEMPLATE, facts)
