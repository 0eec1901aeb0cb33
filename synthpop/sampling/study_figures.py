"""Figures of a simulation study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.pictures import OKABE_ITO, SOFT, new_figure, styled
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.statistics.indicators.results import OVERALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synthpop.sampling.study_result import Study

INK = "#0072B2"
FILL = "#c6d9ec"
TRUTH = "#C0392B"
ACROSS = 3
NORMAL_95 = 1.959963984540054
UNDER = {
    "box": "red lines: true values",
    "density": "vertical lines: true values",
    "bias": "relative bias with 95 % Monte Carlo interval",
    "coverage": "coverage with 95 % Monte Carlo interval; red line: nominal",
    "zipper": "intervals by distance of the estimate from the truth; red: not covering",
}


@styled
def draw_study(
    study: Study,
    kind: str = "box",
    domains: Sequence[Any] | None = None,
    measure: str = "rmse",
    over: str | None = None,
    unit: str = "",
) -> Figure:
    """Draw one panel per estimator (see `Study.figure`)."""
    faults = Faults("figure")
    check_choice(faults, "kind", kind, (*UNDER, "curve"))
    all_domains = list(dict.fromkeys(study.estimates["domain"]))
    for domain in domains or ():
        if domain not in all_domains:
            faults.add("domains", f"{domain!r} is none", hint=f"There are {all_domains}.")
    if kind != "curve" and study.grid:
        what = f"several levels of {' and '.join(study.grid)}"
        faults.add("study", what, hint="Choose one with study.at(...), or draw a curve.")
    faults.raise_if_any()
    if kind == "curve":
        return _curves(study, measure, over, domains)
    panels = {}
    for name, estimates in study.estimates.groupby("estimator", sort=False):
        shown_domains = _wanted(list(dict.fromkeys(estimates["domain"])), domains)
        if shown_domains:
            panels[name] = {
                domain: estimates[estimates["domain"] == domain] for domain in shown_domains
            }
    figure, axes_of = _panels(list(panels))
    label = "estimate" + (f" ({unit})" if unit else "")
    for name, groups in panels.items():
        _DRAW[kind](axes_of[name], study, name, groups, label)
    samples = plural(study.repetitions, "sample")
    figure.suptitle(f"{samples}; {UNDER[kind]}", fontsize=9, color=SOFT)
    return figure


def _panels(names: Sequence[Any]) -> tuple[Figure, dict[Any, Any]]:
    across = max(min(len(names), ACROSS), 1)
    down = max(-(-len(names) // across), 1)
    figure = new_figure(3.8 * across + 0.6, 3.4 * down + 0.4)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        axes.set_title(str(name))
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    return figure, dict(zip(names, panels, strict=False))


def _wanted(present: list[Any], domains: Sequence[Any] | None) -> list[Any]:
    """Domains of one estimator to draw, in the order asked for."""
    if domains is not None:
        return [d for d in domains if d in present]
    return [OVERALL] if OVERALL in present else present


def _truth(study: Study, name: Any, domain: Any) -> float:
    return float(study.truth.get((name, domain), np.nan))


def _boxes(axes: Any, study: Study, name: Any, groups: dict[Any, pd.DataFrame], label: str) -> None:
    axes.boxplot(
        [estimates["estimate"].dropna() for estimates in groups.values()],
        widths=0.5,
        patch_artist=True,
        boxprops={"facecolor": FILL, "edgecolor": INK},
        medianprops={"color": INK, "linewidth": 1.5},
        whiskerprops={"color": INK},
        capprops={"color": INK},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": INK},
    )
    _ticks(axes, groups)
    for position, domain in enumerate(groups, start=1):
        value = _truth(study, name, domain)
        axes.plot([position - 0.4, position + 0.4], [value, value], color=TRUTH, linewidth=1.5)
    axes.grid(axis="y")
    axes.set_ylabel(label)


def _ticks(axes: Any, groups: dict[Any, Any]) -> None:
    slant = {"rotation": 30, "ha": "right"} if len(groups) > ACROSS else {}
    axes.set_xticks(range(1, len(groups) + 1), [str(d) for d in groups], **slant)


def _densities(
    axes: Any, study: Study, name: Any, groups: dict[Any, pd.DataFrame], label: str
) -> None:
    from scipy.stats import gaussian_kde

    for number, (domain, estimates) in enumerate(groups.items()):
        x = estimates["estimate"].dropna().to_numpy()
        if len(x) < 2 or x.std() == 0:
            continue
        h = 0.9 * x.std(ddof=1) * len(x) ** -0.2
        at = np.linspace(x.min() - 3 * h, x.max() + 3 * h, 200)
        density = gaussian_kde(x, 0.9 * len(x) ** -0.2)(at)
        colour = OKABE_ITO[number % len(OKABE_ITO)]
        dashes = "-" if number < len(OKABE_ITO) else "--"
        axes.plot(at, density, dashes, color=colour, label=str(domain))
        several = len(groups) > 1
        axes.axvline(_truth(study, name, domain), color=colour if several else TRUTH, linewidth=1.2)
    if len(groups) > 1:
        axes.legend()
    axes.set_ylim(bottom=0)
    axes.set_xlabel(label)
    axes.set_ylabel("density")


def _points(measure: str, target: float | None, title: str) -> Any:
    """A drawing of one measure in percent with its Monte Carlo interval."""

    def draw(
        axes: Any, study: Study, name: Any, groups: dict[Any, pd.DataFrame], label: str
    ) -> None:
        rows = study.table.loc[[(name, domain) for domain in groups]]
        at = np.arange(1, len(groups) + 1)
        half = NORMAL_95 * 100 * rows[f"{measure}_mc"].to_numpy()
        axes.errorbar(at, 100 * rows[measure].to_numpy(), yerr=half, fmt="o", color=INK)
        line = 100 * study.level if target is None else target
        axes.axhline(line, color=TRUTH, linewidth=1.2)
        _ticks(axes, groups)
        axes.set_xlim(0.4, len(groups) + 0.6)
        axes.set_ylabel(title)

    return draw


def _zipper(
    axes: Any, study: Study, name: Any, groups: dict[Any, pd.DataFrame], label: str
) -> None:
    domain, estimates = next(iter(groups.items()))
    estimates = estimates.dropna(subset=["estimate", "lower", "upper"])
    truth = estimates["truth"] if "truth" in estimates else _truth(study, name, domain)
    low, high = (estimates["lower"] - truth).to_numpy(), (estimates["upper"] - truth).to_numpy()
    distance = np.abs((estimates["estimate"] - truth).to_numpy()) / np.maximum(high - low, 1e-300)
    order = np.argsort(distance, kind="stable")
    inside = (low <= 0) & (high >= 0)
    rank = 100 * (np.arange(len(order)) + 1) / max(len(order), 1)
    colours = np.where(inside[order], INK, TRUTH)
    axes.hlines(rank, low[order], high[order], colors=colours.tolist(), linewidth=0.7)
    axes.axvline(0.0, color="black", linewidth=1.0)
    axes.axhline(100 * study.level, color=SOFT, linewidth=0.8, linestyle="--")
    share = percent(float(inside.mean()), 1) if len(inside) else "none"
    axes.set_title(f"{name}: {share} cover")
    axes.set_xlabel(f"{label} less true value")
    axes.set_ylabel("share of the intervals, %")


_DRAW = {
    "box": _boxes,
    "density": _densities,
    "bias": _points("relative_bias", 0.0, "relative bias, %"),
    "coverage": _points("coverage", None, "coverage, %"),
    "zipper": _zipper,
}


def _curves(study: Study, measure: str, over: str | None, domains: Sequence[Any] | None) -> Figure:
    over = over or (study.grid[0] if study.grid else "contamination")
    table = study.curves(measure, over=over)
    figure, axes_of = _panels(list(dict.fromkeys(table.columns.get_level_values("estimator"))))
    numeric = all(isinstance(level, (int, float)) for level in table.index)
    at = list(table.index) if numeric else list(range(len(table)))
    for name, axes in axes_of.items():
        lines = table.xs(name, axis=1, level="estimator")
        domain_of = lines.columns.get_level_values("domain")
        lines = lines.loc[:, domain_of.isin(_wanted(list(dict.fromkeys(domain_of)), domains))]
        for number, key in enumerate(lines):
            label = ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
            colour = OKABE_ITO[number % len(OKABE_ITO)]
            axes.plot(at, lines[key].to_numpy(), "o-", color=colour, label=label)
        if lines.shape[1] > 1:
            axes.legend()
        if not numeric:
            axes.set_xticks(at, [str(level) for level in table.index])
        if measure in ("bias", "relative_bias"):
            axes.axhline(0.0, color=TRUTH, linewidth=1.0)
        axes.set_xlabel(f"level of {over}")
        axes.set_ylabel(measure.replace("_", " "))
    figure.suptitle(f"{plural(study.repetitions, 'sample')} a level", fontsize=9, color=SOFT)
    return figure
