"""Figures of a simulation study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.indicators.results import OVERALL
from synthpop.microdata.pictures import OKABE_ITO, SOFT, new_figure, styled
from synthpop.microdata.text import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synthpop.sampling.study import Study

INK = "#0072B2"
FILL = "#c6d9ec"
TRUTH = "#C0392B"
ACROSS = 3


@styled
def draw_study(study: Study, kind: str, domains: Sequence[Any] | None) -> Figure:
    """Draw one panel an estimator (see `Study.figure`)."""
    table = study.estimates
    faults = Faults("figure")
    check_choice(faults, "kind", kind, ("box", "density"))
    known = list(dict.fromkeys(table["domain"]))
    for domain in domains or ():
        if domain not in known:
            faults.add("domains", f"{domain!r} is none", remedy=f"There are {known}.")
    faults.raise_if_any()
    chosen = {}
    for name, part in table.groupby("estimator", sort=False):
        wanted = _wanted(list(dict.fromkeys(part["domain"])), domains)
        if wanted:
            chosen[name] = {d: part.loc[part["domain"] == d, "estimate"].dropna() for d in wanted}
    across = min(len(chosen), ACROSS)
    down = -(-len(chosen) // across)
    figure = new_figure(3.8 * across + 0.6, 3.4 * down + 0.4)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (name, groups) in zip(panels, chosen.items(), strict=False):
        truths = {d: float(study.truth.get((name, d), np.nan)) for d in groups}
        (_boxes if kind == "box" else _densities)(axes, groups, truths)
        axes.set_title(str(name))
    for axes in panels[len(chosen) :]:
        axes.set_visible(False)
    line = "red lines" if kind == "box" else "vertical lines"
    figure.suptitle(
        f"{plural(study.repetitions, 'sample')}; {line}: true values", fontsize=9, color=SOFT
    )
    return figure


def _wanted(present: list[Any], domains: Sequence[Any] | None) -> list[Any]:
    """Domains of one estimator to draw, in the order asked for."""
    if domains is not None:
        return [d for d in domains if d in present]
    return [OVERALL] if OVERALL in present else present


def _boxes(axes: Any, groups: dict[Any, Any], truths: dict[Any, float]) -> None:
    axes.boxplot(
        list(groups.values()),
        widths=0.5,
        patch_artist=True,
        boxprops={"facecolor": FILL, "edgecolor": INK},
        medianprops={"color": INK, "linewidth": 1.5},
        whiskerprops={"color": INK},
        capprops={"color": INK},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
    )
    slant = {"rotation": 30, "ha": "right"} if len(groups) > ACROSS else {}
    axes.set_xticks(range(1, len(groups) + 1), [str(d) for d in groups], **slant)
    for position, value in enumerate(truths.values(), start=1):
        axes.plot([position - 0.4, position + 0.4], [value, value], color=TRUTH, linewidth=1.5)
    axes.grid(axis="y")
    axes.set_ylabel("estimate")


def _densities(axes: Any, groups: dict[Any, Any], truths: dict[Any, float]) -> None:
    for number, (domain, x) in enumerate(groups.items()):
        if len(x) < 2 or x.std() == 0:
            continue
        h = 0.9 * x.std() * len(x) ** -0.2
        at = np.linspace(x.min() - 3 * h, x.max() + 3 * h, 200)
        kernel = np.exp(-0.5 * ((at[:, None] - x.to_numpy()) / h) ** 2)
        density = kernel.sum(axis=1) / (len(x) * h * np.sqrt(2 * np.pi))
        colour = OKABE_ITO[number % len(OKABE_ITO)]
        dashes = "-" if number < len(OKABE_ITO) else "--"
        axes.plot(at, density, dashes, color=colour, label=str(domain))
        several = len(groups) > 1
        axes.axvline(truths[domain], color=colour if several else TRUTH, linewidth=1.2)
    if len(groups) > 1:
        axes.legend()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("estimate")
    axes.set_ylabel("density")
