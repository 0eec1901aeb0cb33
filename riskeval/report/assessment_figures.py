"""Figures of an assessment; each takes the result of a measure and returns a matplotlib Figure.

Drawn in the look of `synthpop.microdata.messages.pictures` and without the global state of pyplot,
so that they work in threads and leave nothing behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from riskeval.measures.assessment import Assessment
from riskeval.measures.counts import FrequencyCounts
from riskeval.measures.individual_result import IndividualRisk
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.pictures import (
    HALF,
    POPULATION,
    SAMPLE,
    SOFT,
    WIDE,
    Gallery,
    new_figure,
    styled,
)
from synthpop.microdata.messages.text import number, tick

MOST_POINTS = 5_000
ASIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}  # beside the picture
RARE = 3  # k of k-anonymity below which keys are drawn as rare


def _plain_numbers(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis at 1, 2 and 5 where it is short, else at powers of ten."""
    subs = (1.0, 2.0, 5.0) if high <= 1000 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(tick))


def draw_assessment(assessment: Assessment) -> Gallery:
    """Draw the figures that the results of an assessment allow, by name."""
    results, drawn = assessment.results, Gallery()
    if "individual_risk" in results:
        drawn["risk_distribution"] = risk_distribution(results["individual_risk"])
    if "frequencies" in results:
        counts = results["frequencies"]
        if counts.weighted:
            drawn["sample_against_population"] = sample_against_population(counts)
        drawn["cell_sizes"] = cell_sizes(counts)
    if "suda" in results:
        drawn["suda_by_record"] = suda_by_record(results["suda"])
    return drawn


def draw_first(assessment: Assessment) -> Figure | None:
    """Draw the first figure of an assessment; None where its results allow none."""
    return next(iter(draw_assessment(assessment).values()), None)


@styled
def risk_distribution(result: IndividualRisk) -> Figure:
    """Histogram of the individual (and household) risks on a logarithmic scale.

    The vertical line is the limit of the benchmark rule, where that is a probability. Records
    without risk are left out.
    """
    shown = [(message("the person"), result.risk, POPULATION)]
    if result.household_risk is not None:
        shown.append((message("somebody of the household"), result.household_risk, SAMPLE))
    positive = [values[values > 0] for _, values, _ in shown]
    low = min((float(values.min()) for values in positive if len(values)), default=1e-3)
    low = min(low, 0.5) * 0.999
    bins = np.geomspace(low, 1.001, 50).tolist()
    figure = new_figure(WIDE, 3.8)
    axes = figure.subplots()
    for (label, _, colour), values in zip(shown, positive, strict=True):
        axes.hist(values, bins=bins, histtype="step", color=colour, linewidth=1.8, label=label)
    if result.benchmark <= 1:
        text = message("benchmark rule: {benchmark}", benchmark=number(result.benchmark))
        axes.axvline(result.benchmark, color=SOFT, linestyle="--", linewidth=1, label=text)
    axes.set_xscale("log")
    _plain_numbers(axes.xaxis, low, 1.0)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0, 1.5 * max(axes.get_ylim()[1], 1.0))
    axes.yaxis.set_major_locator(FixedLocator([0.0, *(10.0**j for j in range(10))]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.grid(axis="y")
    axes.set_xlabel(message("Probability of a correct link"))
    axes.set_ylabel("Records")
    axes.set_title(message("How the risk is spread over the records (both scales logarithmic)"))
    axes.legend(title="Risk that an intruder finds", alignment="left", **ASIDE)
    return figure


@styled
def sample_against_population(counts: FrequencyCounts) -> Figure:
    """Estimated population frequency F against sample frequency f, one point per distinct key.

    At most 5,000 points, evenly spread over the keys in the order of F; the line is F = f.
    """
    order = np.argsort(counts.cell_F, kind="stable")
    points = order[:: max(1, -(-len(order) // MOST_POINTS))]
    figure = new_figure(WIDE, HALF - 0.8)
    axes = figure.subplots()
    axes.scatter(
        counts.cell_f[points],
        counts.cell_F[points],
        s=10,
        color=POPULATION,
        alpha=0.35,
        linewidths=0,
        label=message("a distinct key"),
    )
    if len(points):
        ends = np.array([counts.cell_f.min(), counts.cell_f.max()])
        axes.plot(
            ends, ends, color=SOFT, linestyle="--", linewidth=1, label=message("F = f: nobody else")
        )
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain_numbers(axes.xaxis, float(ends[0]), float(ends[1]))
        floor = min(float(counts.cell_F.min()), float(ends[0]))
        _plain_numbers(axes.yaxis, floor, float(counts.cell_F.max()))
        axes.legend(markerscale=2, **ASIDE)
    axes.grid()
    axes.set_xlabel(message("Records of the file with the key, f"))
    axes.set_ylabel(message("Estimated persons of the population, F"))
    axes.set_title(message("Rare keys are at the lower left (both scales logarithmic)"))
    return figure


@styled
def cell_sizes(counts: FrequencyCounts) -> Figure:
    """Number of keys by how many records they have (cell size indices)."""
    table = counts.cell_sizes.query("size > 0")
    figure = new_figure(WIDE, 3.4)
    axes = figure.subplots()
    for colour, label, part in (
        (SAMPLE, message("fewer than {rare} records", rare=RARE), table.query(f"size < {RARE}")),
        (POPULATION, message("{rare} records or more", rare=RARE), table.query(f"size >= {RARE}")),
    ):
        axes.vlines(part["size"], 0, part["cells"], color=colour, linewidth=4, label=label)
    largest = float(table["size"].max()) if len(table) else 1.0
    if largest > 30:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis, float(table["size"].min()), largest)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=15, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_xlabel(message("Records that share a key (1: the record is unique)"))
    axes.set_ylabel(message("Distinct keys"))
    axes.set_title(message("How many keys are rare"))
    axes.legend(**ASIDE)
    return figure


@styled
def suda_by_record(result: Any) -> Figure:
    """DIS-SUDA scores in descending order; records with score 0 are left out."""
    scores = np.sort(np.asarray(result.dis_score))[::-1]
    scores = scores[scores > 0]
    figure = new_figure(WIDE, 3.4)
    axes = figure.subplots()
    ranks = np.arange(1, len(scores) + 1)
    axes.plot(ranks, scores, color=POPULATION, linewidth=1.8, drawstyle="steps-mid")
    if len(scores) > 1:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis, 1.0, float(len(scores)))
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
    axes.set_xlabel(message("Rank of the record, most special first (logarithmic)"))
    axes.set_ylabel(message("DIS-SUDA score"))
    axes.set_title(message("Special uniques: the steep part on the left needs protection first"))
    return figure
