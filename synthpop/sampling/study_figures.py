"""Figures of a simulation study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synthpop.indicators.results import OVERALL
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synthpop.sampling.study import Study

INK = "#1f4e79"
FILL = "#c6d9ec"
TRUTH = "#c0504d"


def draw_study(study: Study, kind: str, domains: Sequence[Any] | None) -> Figure:
    """Draw one panel an estimator (see `Study.figure`)."""
    from matplotlib.figure import Figure

    faults = Faults("figure")
    check_choice(faults, "kind", kind, ("box", "density"))
    faults.raise_if_any()
    table = study.estimates
    names = list(dict.fromkeys(table["estimator"]))
    figure = Figure(figsize=(3.6 * len(names) + 0.6, 3.8), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(names)))
    for axes, name in zip(panels, names, strict=True):
        part = table[table["estimator"] == name]
        present = list(dict.fromkeys(part["domain"]))
        wanted = [d for d in present if d in domains] if domains is not None else present
        if domains is None and OVERALL in present:
            wanted = [OVERALL]
        groups = {d: part.loc[part["domain"] == d, "estimate"].dropna() for d in wanted}
        truths = {d: study.truth.get((name, d), np.nan) for d in wanted}
        (_boxes if kind == "box" else _densities)(axes, groups, truths)
        axes.set_title(name)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.suptitle(f"{study.repetitions} samples; the line is the true value", fontsize=9)
    return figure


def _boxes(axes: Any, groups: dict[Any, Any], truths: dict[Any, float]) -> None:
    axes.boxplot(
        list(groups.values()),
        widths=0.5,
        patch_artist=True,
        boxprops={"facecolor": FILL, "edgecolor": INK},
        medianprops={"color": INK},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
    )
    axes.set_xticks(range(1, len(groups) + 1), [str(d) for d in groups], rotation=30)
    for position, value in enumerate(truths.values(), start=1):
        axes.plot([position - 0.4, position + 0.4], [value, value], color=TRUTH, linewidth=1.5)


def _densities(axes: Any, groups: dict[Any, Any], truths: dict[Any, float]) -> None:
    for domain, x in groups.items():
        if len(x) < 2 or x.std() == 0:
            continue
        h = 0.9 * x.std() * len(x) ** -0.2
        at = np.linspace(x.min() - 3 * h, x.max() + 3 * h, 200)
        kernel = np.exp(-0.5 * ((at[:, None] - x.to_numpy()) / h) ** 2)
        density = kernel.sum(axis=1) / (len(x) * h * np.sqrt(2 * np.pi))
        (line,) = axes.plot(at, density, label=str(domain))
        axes.axvline(truths[domain], color=line.get_color() if len(groups) > 1 else TRUTH)
    if len(groups) > 1:
        axes.legend(frameon=False, fontsize=8)
    axes.set_ylabel("density")
