"""Make the picture of the README: the demo population beside the weighted demo survey."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from synthpop import Pipeline
from synthpop.datasets import load_demo_survey
from synthpop.evaluation.assess_fit import FitReport, assess_fit
from synthpop.microdata.messages.pictures import OKABE_ITO, POPULATION, RC, SAMPLE
from synthpop.runfiles.demo import demo_runfile

LEVELS = ("full-time", "part-time", "unemployed", "education", "retired", "disabled", "domestic")


def demo_fit() -> tuple[FitReport, int]:
    survey = load_demo_survey()
    population = Pipeline(demo_runfile().stages).fit(survey, seed=1).simulate()
    return assess_fit(survey, population), population.n_persons


def curves(axes: Any, fit: FitReport) -> None:
    table = fit.tables["curves"].query("variable == 'netIncome' and by == ''")
    axes.plot(table["x"], table["sample"], color=SAMPLE, linewidth=4.5, alpha=0.8)
    axes.plot(table["x"], table["population"], color=POPULATION, linewidth=1.5)
    axes.set_xlim(-1500, 60_000)
    axes.set_ylim(0, 1.0)
    axes.set_title("Personal net income, euros a year")
    axes.set_ylabel("share of persons at or below")
    axes.set_xticks([0, 20_000, 40_000, 60_000], ["0", "20,000", "40,000", "60,000"])
    axes.set_yticks(np.arange(0, 1.1, 0.25), ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid()
    axes.text(33_000, 0.55, "survey, 11,993 persons", color="#b87400", fontweight="bold")
    axes.text(33_000, 0.46, "synthetic population", color=POPULATION, fontweight="bold")


def tiles(axes: Any, fit: FitReport, side: str, title: str) -> None:
    """Draw a mosaic of economic status by age class, children left out."""
    table = fit.tables["two_way"].query("a == 'age_class' and b == 'pl030'")
    matrix = table.pivot(index="level_a", columns="level_b", values=side)
    ages = [age for age in dict.fromkeys(table["level_a"]) if age not in ("0-15", "missing")]
    shares = matrix.loc[ages, list(LEVELS)].to_numpy()
    shares = shares / shares.sum()
    widths = shares.sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    below = np.zeros(len(ages))
    for j, level in enumerate(LEVELS):
        height = shares[:, j] / widths
        axes.bar(starts, height, widths, bottom=below, align="edge", color=OKABE_ITO[j],
                 edgecolor="white", linewidth=0.5, label=level)  # fmt: skip
        below += height
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_title(title)
    shown = list(range(0, len(ages), 3))
    axes.set_xticks((starts + widths / 2)[shown], [ages[i] for i in shown])
    axes.set_xlabel("age")
    axes.set_yticks([])
    axes.spines[["left", "bottom"]].set_visible(False)


def main(path: Path) -> None:
    fit, n_persons = demo_fit()
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11, 4.0), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
        curves(left, fit)
        tiles(middle, fit, "sample", "Economic status by age: survey")
        tiles(right, fit, "population", f"{n_persons:,} synthetic persons")
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=7, handlelength=1.0)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130, metadata={"Software": None})
    print(f"{path}: {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/demo.png"))
