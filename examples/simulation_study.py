"""A complete simulation study: what non-response does to the Gini coefficient and the poverty rate.

The population is the truth behind the embedded demo survey (435,024 persons in 200,000
households of an invented country), so that every estimate can be held against the true value.
Three strategies work on the same samples:

* everybody answers, design weights;
* two fifths of the households do not answer: more often single persons, households of the young
  and of the very old, and those in the capital; the weights of those who answer stay as they are;
* the same answers, weights calibrated to persons by sex and region, persons by age, and
  households by size.

    python examples/simulation_study.py           # 50 samples, some seconds
    python examples/simulation_study.py 1000      # for results to be published

writes simulation_study.csv (the table), simulation_study.png (distributions with the true values)
and simulation_study_regions.png to the current folder.
"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from synthpop import indicators
from synthpop.calibration import Margin
from synthpop.datasets import load_demo_population
from synthpop.sampling import (
    Cluster,
    MissingUnits,
    Power,
    SimpleRandom,
    Stratified,
    simulate_study,
)

SEED = 1
HOUSEHOLDS = 6_000
COLUMNS = ["db030", "db040", "hsize", "rb090", "age", "age_class", "size_class", "income", "refuse"]
SIZES, AGES = (
    ["1", "2", "3", "4", "5+"],
    ["0-15", "16-24", "25-34", "35-49", "50-64", "65-79", "80+"],
)
TITLES = {"gini": "Gini coefficient", "poverty": "At-risk-of-poverty rate, %"}
LOOK = {"full response": "#52606d", "non-response": "#E69F00", "calibrated": "#0072B2"}


# 1. The population, and how its households answer -------------------------------------------


def make_population():
    """Return the true population with the classes and the chance to refuse."""
    people = load_demo_population()
    people["income"] = people["eqIncome"].clip(lower=0)  # indicators take no negative incomes
    people["age_class"] = pd.cut(people["age"], [-1, 15, 24, 34, 49, 64, 79, 120], labels=AGES)
    people["size_class"] = pd.Categorical.from_codes(np.minimum(people["hsize"], 5) - 1, SIZES)
    head_age = people.groupby("db030")["age"].transform("first").to_numpy()
    odds = np.where(people["db040"] == "Capital", -0.2, 0.4)
    odds = odds + np.interp(people["hsize"], [1, 2, 3, 5], [-0.2, 0.3, 0.5, 0.8])
    odds = odds + np.interp(head_age, [18, 30, 45, 65, 78, 90], [-0.8, -0.4, 0, 0.4, 0.1, -0.6])
    people["refuse"] = 1 / (1 + np.exp(odds))
    return people[COLUMNS]


# 2. What is known about the population, and the estimators -----------------------------------


def margins(people):
    """Return the known totals of the calibration."""
    sex = people.groupby(["rb090", "db040"], observed=True).size().rename("total")
    age = people.groupby("age_class", observed=True).size().rename("total")
    heads = people.drop_duplicates("db030")
    size = heads.groupby("size_class", observed=True).size().rename("total")
    return [Margin(sex), Margin(age), Margin(size, level="household")]


def with_errors(result, survey):
    """Add the linearised variance of a sample of households within regions."""
    return result.with_variance(strata=survey.frame["db040"], cluster=survey.frame["db030"])


def gini(survey):
    frame = survey.frame
    return with_errors(indicators.gini(frame["income"], survey.weights, by=frame["db040"]), survey)


def poverty(survey):
    frame = survey.frame
    rate = indicators.at_risk_of_poverty(frame["income"], survey.weights, by=frame["db040"])
    return with_errors(rate, survey)


# 3. The study ---------------------------------------------------------------------------------


def run(people, repetitions):
    """Return the studies of the three strategies; the same seed draws the same samples."""
    design = Stratified(
        Power(HOUSEHOLDS, exponent=0.5), by="db040", within=Cluster("db030", SimpleRandom(1))
    )
    losses = MissingUnits(lambda frame: frame["refuse"], whole="db030")
    options = {
        "full response": {},
        "non-response": {"missing": losses},
        "calibrated": {"missing": losses, "calibrate": margins(people)},
    }
    return {
        name: simulate_study(
            people,
            design,
            {"gini": gini, "poverty": poverty},
            repetitions=repetitions,
            seed=SEED,
            **more,
        )
        for name, more in options.items()
    }


def results(studies):
    """Return one table, one row per estimator, strategy and domain."""
    tables = [study.table.reset_index().assign(strategy=name) for name, study in studies.items()]
    keys = ["estimator", "strategy", "domain"]
    table = pd.concat(tables, ignore_index=True)
    return table[keys + [column for column in table if column not in keys]]


# 4. Pictures ----------------------------------------------------------------------------------


def draw_distributions(studies):
    """Draw the distributions of the estimates, the truth as a line."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
        groups = []
        for study in studies.values():
            rows = study.estimates
            rows = rows[(rows["estimator"] == name) & (rows["domain"] == "all")]
            groups.append(rows["estimate"].to_numpy())
        boxes = axes.boxplot(groups, widths=0.5, patch_artist=True,
                             medianprops={"color": "white", "linewidth": 1.5},
                             flierprops={"marker": ".", "markersize": 4})  # fmt: skip
        for patch, colour in zip(boxes["boxes"], LOOK.values(), strict=True):
            patch.set(facecolor=colour, edgecolor=colour)
        truth = next(iter(studies.values())).truth[(name, "all")]
        axes.axhline(truth, color="#C0392B", linewidth=1.5, zorder=5)
        axes.set_xlim(0.5, len(groups) + 0.5)
        axes.set_xticks(range(1, len(groups) + 1), list(studies))
        axes.set_title(f"{title}: true value {truth:.2f} (red line)", loc="left", fontsize=10)
        axes.set_ylabel("estimate")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
    return figure


def draw_regions(table):
    """Draw the bias by region with twice its Monte Carlo error."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
    regions = [domain for domain in table["domain"].unique() if domain != "all"]
    for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
        for shift, (strategy, colour) in zip((-0.2, 0, 0.2), LOOK.items(), strict=True):
            part = table[(table["estimator"] == name) & (table["strategy"] == strategy)]
            part = part.set_index("domain").loc[regions]
            axes.errorbar(part["bias"], np.arange(len(regions)) + shift, xerr=2 * part["bias_mc"],
                          fmt="o", markersize=4, color=colour, label=strategy)  # fmt: skip
        axes.axvline(0, color="#C0392B", linewidth=1.5, zorder=0)
        axes.set_yticks(range(len(regions)), regions)
        axes.set_title(title, loc="left")
        axes.set_xlabel("bias in points, with twice its Monte Carlo error")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", alpha=0.25)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def main(repetitions=50):
    people = make_population()
    heads = people.drop_duplicates("db030")
    print(f"{len(people):,} persons in {len(heads):,} households; {HOUSEHOLDS:,} are drawn, and "
          f"{100 * heads['refuse'].mean():.0f} % of all would refuse.")  # fmt: skip
    studies = run(people, repetitions)
    table = results(studies)
    shown = ["truth", "bias", "bias_mc", "rmse", "rmse_mc", "coverage", "coverage_mc", "length"]
    overall = table.query("domain == 'all'").set_index(["estimator", "strategy"])
    print(overall.sort_index(level="estimator", sort_remaining=False)[shown].round(3).to_string())
    table.to_csv("simulation_study.csv", index=False)
    for name, figure in (
        ("simulation_study.png", draw_distributions(studies)),
        ("simulation_study_regions.png", draw_regions(table)),
    ):
        figure.savefig(name, dpi=120)
        plt.close(figure)
    print("Wrote simulation_study.csv and two pictures.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
