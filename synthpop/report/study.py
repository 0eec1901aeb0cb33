"""The page of a simulation study: bias, coverage and every estimator by domain."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import BLANK, change, count, join, number, percent, plural
from synthpop.microdata.pages.charts import interval_dot
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import card, finding, folding_row, row_id, table, verdict
from synthpop.microdata.statistics.indicators.results import OVERALL
from synthpop.report.study_charts import (
    MEASURES,
    SHARES,
    estimates_chart,
    level_curves,
    zipper_chart,
)
from synthpop.sampling.study_result import Study

NOTABLE_BIAS, LARGE_BIAS = 0.1, 0.5
"""Bias as a part of the standard deviation of an estimator: below the first its intervals are
hardly touched (Särndal, Swensson and Wretman 1992, section 5.2)."""
NOTABLE_MISS, LARGE_MISS = 0.02, 0.05
"""Distance of the coverage from its nominal level, beyond two Monte Carlo errors."""
CONFIDENCE = 0.95
"""With which no estimator stands out by chance, all of the study together."""
MOST_ZIPPERS, MOST_FINDINGS = 24, 5
ESTIMATES_CAPTION = message("Estimates of all repetitions; the dashed line is the true value.")
ZIPPER_CAPTION = message(
    "Zipper plot: intervals by the distance of the estimate from the truth in units of its "
    "interval, the nearest below. Orange intervals do not cover; they should begin at the dashed "
    "line."
)


def write_study(
    path: Place | str,
    study: Study,
    *,
    title: str | None = None,
    unit: str | Mapping[str, str] = "",
    language: str = "en",
) -> Place:
    """Write a simulation study as one self-contained HTML file.

    Parameters
    ----------
    path : path
    study : Study
        Result of `simulate_study`.
    title : str, optional
    unit : str or mapping of estimator to str
        Unit of the estimates, for axes.
    language : {"en", "de"}
        Language of the page and of its numbers.

    Returns
    -------
    path
        The file, readable by the user alone: estimates of small domains tell about single persons
        where the population is a real one.

    Raises
    ------
    InputError
        An unknown language.
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from synthpop.indicators import gini
    >>> from synthpop.sampling import SimpleRandom, simulate_study
    >>> people = pd.DataFrame({"income": np.random.default_rng(1).lognormal(9, 0.5, 2000)})
    >>> def estimate(survey):
    ...     return gini(survey.frame["income"], survey.weights)
    >>> study = simulate_study(
    ...     people, SimpleRandom(200), {"gini": estimate}, repetitions=20, seed=1
    ... )
    >>> page = write_study(tempfile.mkdtemp() + "/study.html", study)
    >>> "Relative bias" in page.read_text(encoding="utf-8")
    True
    """
    return write_for(
        path, "synthpop", "study.html.j2", lambda external: study_facts(study, unit),
        title=title, audience="internal", language=language,
    )  # fmt: skip


def study_facts(study: Study, unit: str | Mapping[str, str] = "") -> dict[str, object]:
    """Return everything that the page says, as text ready to be set."""
    performance = study.table
    rows = [
        (_key(performance, key), dict(row))
        for key, row in zip(performance.index, performance.to_dict("records"), strict=True)
    ]
    critical = critical_value(len(rows))
    rows.sort(key=lambda item: -_concern(item[1], study.level, critical))
    return {
        "title": gettext("Simulation study"),
        "cards": _cards(study, performance),
        "verdicts": verdict_rows(study, performance),
        "worst": _worst(rows, study.level, critical),
        "rows": [
            _row(study, key, row, critical, _unit(unit, key[0][-2]), place < MOST_ZIPPERS)
            for place, (key, row) in enumerate(rows)
        ],
        "curves": level_curves(study),
        "failures": _failures(study),
        "level": percent(study.level, 0),
        "seed": str(study.seed),
    }


def critical_value(n_rows: int) -> float:
    """Return how many Monte Carlo errors one of n estimators may be off by chance (Bonferroni).

    Examples
    --------
    >>> round(critical_value(1), 2), round(critical_value(10), 2)
    (1.96, 2.81)
    """
    return NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / (2 * max(n_rows, 1)))


def bias_ratio(row: Mapping[Any, Any], critical: float = 1.96) -> float:
    """Return the bias over the standard deviation; 0 where Monte Carlo error explains it."""
    bias, variance = float(row["bias"]), float(row["variance"])
    if not (np.isfinite(bias) and variance > 0) or abs(bias) <= critical * float(row["bias_mc"]):
        return 0.0
    return abs(bias) / variance**0.5


def coverage_miss(row: Mapping[Any, Any], level: float, critical: float = 1.96) -> float:
    """Return how far the coverage is from nominal; 0 where Monte Carlo error explains it.

    The error is that of the nominal level: a coverage of exactly 1 has none of its own.
    """
    coverage, n = float(row["coverage"]), float(row["repetitions"])
    if not np.isfinite(coverage) or n <= 0:
        return 0.0
    error = (level * (1 - level) / n) ** 0.5
    miss = abs(coverage - level)
    return miss if miss > critical * error else 0.0


def _concern(row: Mapping[Any, Any], level: float, critical: float) -> float:
    """Return how far a row is beyond what counts as notable: 1 is the border."""
    bias, miss = bias_ratio(row, critical), coverage_miss(row, level, critical)
    return max(bias / NOTABLE_BIAS, miss / NOTABLE_MISS)


def verdict_rows(study: Study, performance: pd.DataFrame) -> list[dict[str, str]]:
    """Return the three rows: bias, coverage and failures, each judged by its worst estimator."""
    rows = performance.to_dict("records")
    critical = critical_value(len(rows))
    biases = [bias_ratio(row, critical) for row in rows]
    titles = [_key(performance, key)[1] for key in performance.index]
    worst = int(np.argmax(biases)) if biases else 0
    word, level = _worded(max(biases, default=0.0), NOTABLE_BIAS, LARGE_BIAS)
    reason = message("No bias is larger than a tenth of the standard deviation of its estimator.")
    if level != "good":
        relative = change(rows[worst]["relative_bias"], 2)
        of_truth = (
            (", " + message("{relative} of the true value", relative=relative))
            if relative != BLANK
            else ""
        )
        size = message(
            "{ratio} times the standard deviation{of_truth}",
            ratio=number(biases[worst], 2),
            of_truth=of_truth,
        )
        reason = message("Largest for {title}: {size}.", title=titles[worst], size=size)
    bias = verdict("Bias", word, level, reason, "#estimators")
    misses = [coverage_miss(row, study.level, critical) for row in rows]
    nominal = percent(study.level, 0)
    if not any(np.isfinite(float(row["coverage"])) for row in rows):
        reason = message("No estimator gave a standard error or an interval.")
        coverage = verdict("Coverage", "not measured", "none", reason)
    else:
        worst = int(np.argmax(misses))
        word, level = _worded(max(misses), NOTABLE_MISS, LARGE_MISS)
        word = {"small": "nominal", "notable": "off", "large": "far off"}[word]
        reason = message("All intervals cover as often as they should, {nominal}.", nominal=nominal)
        if level != "good":
            share = message(
                "{coverage} of the intervals cover", coverage=percent(rows[worst]["coverage"], 1)
            )
            reason = message(
                "Farthest for {title}: {share}, nominal {nominal}.",
                title=titles[worst],
                share=share,
                nominal=nominal,
            )
        coverage = verdict("Coverage", word, level, reason, "#estimators")
    n = len(study.failures)
    failed = verdict("Failures", "none", "good", "Every repetition gave every number.")
    if n:
        failing = study.failures["repetition"].nunique() / max(study.repetitions, 1)
        reason = message(
            "{n} in {failing} of the repetitions.",
            n=plural(n, "failure"),
            failing=percent(failing, 1),
        )
        level = "bad" if failing > LARGE_MISS else "look"
        failed = verdict("Failures", "some", level, reason, "#failures")
    return [bias, coverage, failed]


def _worded(value: float, notable: float, large: float) -> tuple[str, str]:
    if value <= notable:
        return "small", "good"
    return ("notable", "look") if value <= large else ("large", "bad")


def _unit(unit: str | Mapping[str, str], estimator: Any) -> str:
    return unit if isinstance(unit, str) else unit.get(str(estimator), "")


def _cards(study: Study, performance: pd.DataFrame) -> list[dict[str, str]]:
    names = performance.index.get_level_values("estimator").nunique()
    domains = performance.index.get_level_values("domain").nunique()
    return [
        card("Repetitions", count(study.repetitions), "samples"),
        card("Estimators", count(names), message("in {n}", n=plural(domains, "domain"))),
        card("Nominal coverage", percent(study.level, 0), "of intervals"),
    ]


def _key(performance: pd.DataFrame, key: Any) -> tuple[tuple[Any, ...], str]:
    """Return the key of a row, and its title."""
    names = performance.index.names
    parts = dict(zip(names, key, strict=True))
    title = str(parts["estimator"])
    if parts["domain"] != OVERALL:
        title += f", {parts['domain']}"
    levels = [f"{name} {parts[name]}" for name in names if name not in ("estimator", "domain")]
    return tuple(key), title + (f" ({', '.join(levels)})" if levels else "")


def _worst(rows: Any, level: float, critical: float) -> list[dict[str, str]]:
    lines = []
    for (_, title), row in rows[:MOST_FINDINGS]:
        if _concern(row, level, critical) <= 1:
            break
        parts, advice = [], ""
        if bias_ratio(row, critical) > NOTABLE_BIAS:
            parts.append(
                message(
                    "bias of {ratio} times the standard deviation", ratio=number(bias_ratio(row), 2)
                )
            )
            advice = message(
                "Find the step that causes it: leave out non-response, contamination, calibration."
            )
        if coverage_miss(row, level, critical) > NOTABLE_MISS:
            parts.append(message("coverage of {coverage}", coverage=percent(row["coverage"], 1)))
            if not advice:
                advice = message(
                    "Compare the standard errors with the real ones; they may be too small."
                )
        lines.append(finding(f"{title}: {join(parts)}", f"#{row_id(title)}", advice))
    return lines


def _row(
    study: Study,
    key: tuple[tuple[Any, ...], str],
    row: Mapping[Any, Any],
    critical: float,
    unit: str,
    zipped: bool,
) -> dict[str, object]:
    index, title = key
    bias, half = float(row["relative_bias"]), critical * float(row["relative_bias_mc"])
    reach = 1.15 * max(abs(bias) + half, 1e-9) if np.isfinite(bias) else 1.0
    interval = message("{low} to {high}", low=change(bias - half, 2), high=change(bias + half, 2))
    text = message(
        "{title}: relative bias {bias}, Monte Carlo interval {interval}",
        title=title,
        bias=change(bias, 2),
        interval=interval,
    )
    plot = interval_dot(bias, bias - half, bias + half, 0.0, (-reach, reach), text)
    concern = _concern(row, study.level, critical)
    return folding_row(
        title,
        title,
        plural(int(row["repetitions"]), "number"),
        plot,
        [change(bias, 2), number(row["rmse"]), percent(row["coverage"], 1)],
        {"concern": concern, "rmse": float(row["rmse"])},
        flagged=concern > 1,
        charts=_charts(study, _estimates_at(study, index), row, title, unit, zipped),
        tables=[{"title": "", "table": _measures(row)}],
    )


def _estimates_at(study: Study, index: tuple[Any, ...]) -> pd.DataFrame:
    names = [*study.grid, "estimator", "domain"]
    matches = np.ones(len(study.estimates), dtype=bool)
    for name, value in zip(names, index, strict=True):
        matches &= (study.estimates[name] == value).to_numpy()
    return study.estimates[matches]


def _measures(row: Mapping[Any, Any]) -> dict[str, object]:
    body = []
    for name, title in MEASURES.items():
        value, error = float(row[name]), float(row.get(f"{name}_mc", np.nan))
        if name in SHARES:
            body.append([title, percent(value, 2), percent(error, 2)])
        elif name in ("repetitions", "failed"):
            body.append([title, count(value), BLANK])
        else:
            body.append([title, number(value, 4), number(error, 2)])
    return table(["Measure", "Value", "Monte Carlo error"], body, words=1)


def _charts(
    study: Study, estimates: pd.DataFrame, row: Mapping[Any, Any], title: str, unit: str,
    zipped: bool,
) -> list[dict[str, str]]:  # fmt: skip
    truth = float(row["truth"])
    chart = estimates_chart(estimates, truth, title, unit)
    charts = [{"chart": chart, "caption": ESTIMATES_CAPTION}]
    if zipped and np.isfinite(float(row["coverage"])):
        chart = zipper_chart(estimates, truth, study.level, title, unit)
        charts.append({"chart": chart, "caption": ZIPPER_CAPTION})
    return charts


def _failures(study: Study) -> dict[str, object] | None:
    if study.failures.empty:
        return None
    grouped = study.failures.groupby(["estimator", "reason"], sort=False)["repetition"].nunique()
    counted = grouped.reset_index().sort_values("repetition", ascending=False)
    rows = [
        [
            str(row["estimator"]) or message("the sample itself"),
            str(row["reason"]),
            count(row["repetition"]),
        ]
        for row in counted.to_dict("records")
    ]
    return table(["Estimator", "Reason", "Repetitions"], rows, text_columns=2)
