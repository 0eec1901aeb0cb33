"""Figures of the risk of categorical keys; each takes a result and returns a matplotlib Figure.

Drawn without the global state of pyplot, so that they work in threads and leave nothing behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from riskeval.measures.frequencies import FrequencyCounts
from riskeval.measures.individual import IndividualRisk

INK, ACCENT, LINE = "#33576f", "#b5482a", "#6b6b6b"
MOST_POINTS = 20_000


def risk_distribution(result: IndividualRisk) -> Figure:
    """Histogram of the individual (and household) risks on a logarithmic scale.

    Parameters
    ----------
    result : IndividualRisk

    Returns
    -------
    matplotlib.figure.Figure
        The vertical line is the limit of the benchmark rule, where that is a probability. Records
        without risk are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from riskeval.measures.individual import individual_risk
    >>> data = pd.DataFrame({"age": [1, 1, 2], "w": [9.0, 9.0, 5.0]})
    >>> figure = risk_distribution(individual_risk(data, ["age"], weights="w"))
    >>> figure.axes[0].get_xlabel()
    'Probability of a correct link'
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    shown = [("persons", result.risk, INK)]
    if result.household_risk is not None:
        shown.append(("their households", result.household_risk, ACCENT))
    positive = [values[values > 0] for _, values, _ in shown]
    low = min((float(values.min()) for values in positive if len(values)), default=1e-3)
    bins = np.geomspace(min(low, 0.5) * 0.999, 1.001, 50).tolist()
    for (label, _, colour), values in zip(shown, positive, strict=True):
        axes.hist(values, bins=bins, histtype="step", color=colour, linewidth=1.5, label=label)
    if result.benchmark <= 1:
        axes.axvline(
            result.benchmark, color=LINE, linestyle="--", linewidth=1, label="benchmark rule"
        )
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=10)
    axes.set_xlabel("Probability of a correct link")
    axes.set_ylabel("Records")
    axes.set_title("Distribution of the risk")
    axes.legend(frameon=False)
    return figure


def sample_against_population(counts: FrequencyCounts) -> Figure:
    """Estimated population frequency F against sample frequency f, one point a distinct key.

    Parameters
    ----------
    counts : FrequencyCounts

    Returns
    -------
    matplotlib.figure.Figure
        At most 20,000 points, evenly spread over the keys in the order of F; the line is F = f.

    Examples
    --------
    >>> import pandas as pd
    >>> from riskeval.measures.frequencies import frequency_counts
    >>> data = pd.DataFrame({"age": [1, 1, 2], "w": [9.0, 9.0, 5.0]})
    >>> figure = sample_against_population(frequency_counts(data, ["age"], weights="w"))
    >>> len(figure.axes[0].collections[0].get_offsets())
    2
    """
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    order = np.argsort(counts.cell_F, kind="stable")
    step = max(1, -(-len(order) // MOST_POINTS))
    taken = order[::step]
    axes.scatter(
        counts.cell_f[taken], counts.cell_F[taken], s=8, color=INK, alpha=0.4, linewidths=0
    )
    if len(taken):
        ends = np.array([counts.cell_f.min(), counts.cell_f.max()])
        axes.plot(ends, ends, color=LINE, linestyle="--", linewidth=1, label="F = f")
        axes.legend(frameon=False)
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel("Records of the file with the key, f")
    axes.set_ylabel("Estimated persons of the population, F")
    axes.set_title("Rare keys are at the lower left")
    return figure


def cell_sizes(counts: FrequencyCounts) -> Figure:
    """Number of keys by how many records they have (cell size indices).

    Parameters
    ----------
    counts : FrequencyCounts

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from riskeval.measures.frequencies import frequency_counts
    >>> figure = cell_sizes(frequency_counts(pd.DataFrame({"a": [1, 1, 2]}), ["a"]))
    >>> figure.axes[0].get_ylabel()
    'Distinct keys'
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    table = counts.cell_sizes.query("size > 0")
    axes.vlines(table["size"], 0, table["cells"], color=INK, linewidth=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Records that share a key")
    axes.set_ylabel("Distinct keys")
    axes.set_title("How many keys are rare")
    return figure


def suda_by_record(result: Any) -> Figure:
    """DIS-SUDA scores in descending order.

    Parameters
    ----------
    result : object with ``dis_score``, shape (n,)
        A SUDA result.

    Returns
    -------
    matplotlib.figure.Figure
        Records with score 0 are left out.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    scores = np.sort(np.asarray(result.dis_score))[::-1]
    scores = scores[scores > 0]
    axes.plot(np.arange(1, len(scores) + 1), scores, color=INK, linewidth=1.5, drawstyle="steps")
    if len(scores):
        axes.set_xscale("log")
    axes.set_xlabel("Records, the most special first")
    axes.set_ylabel("DIS-SUDA score")
    axes.set_title("Special uniques")
    return figure
