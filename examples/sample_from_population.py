"""Draw a stratified sample of whole households from a synthetic population and calibrate it.

The steps of section 8.7.3 of Templ, Statistical Disclosure Control for Microdata (2017): as many
households in each region as the survey has, drawn with all their members from the simulated
population; their weights are then calibrated to the numbers of persons by sex and region that
the survey estimates.

    python examples/sample_from_population.py

takes a few seconds and writes sample_from_population.png and synthetic_sample.csv to the current
folder.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from synthpop import Binned, Categorical, Continuous, Derive, Pipeline, Structure, load_demo_survey
from synthpop.calibration import Margin, calibrate
from synthpop.sampling import Cluster, SimpleRandom, Stratified, draw_sample

SURVEY, POPULATION, SAMPLE = "#52606d", "#0072B2", "#E69F00"


def simulate(survey, seed):
    """Simulate the population of the demo country with a few variables."""
    stages = [
        Structure(["age", "rb090"]),
        Derive("age_class", source="age", breaks=[0, 15, 29, 44, 64, 120]),
        Categorical("pl030", predictors=["age_class", "rb090", "hsize"]),
        Continuous(
            "netIncome",
            method=Binned(tail="gpd", intervals=("income_low", "income_high")),
            predictors=["age_class", "rb090", "pl030"],
        ),
    ]
    return Pipeline(stages).fit(survey, seed=seed).simulate()


def draw_like(survey, population, seed):
    """Draw as many whole households a region as the survey has."""
    households = survey.frame.drop_duplicates("db030")["db040"].value_counts()
    design = Stratified(households.to_dict(), by="db040", within=Cluster("db030", SimpleRandom(1)))
    return draw_sample(population, design, seed=seed)


def sex_by_region(frame, weights):
    """Return weighted numbers of persons, one row per cell: rb090, db040, total."""
    counted = frame.assign(total=np.asarray(weights, dtype=float))
    cells = counted.groupby(["rb090", "db040"], observed=True)["total"].sum()
    return cells.reset_index()


def cumulated(axes, values, weights, label, **look):
    """Draw a weighted distribution function."""
    values, weights = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    known = np.isfinite(values)
    order = np.argsort(values[known])
    share = np.cumsum(weights[known][order])
    axes.plot(values[known][order] / 1000, 100 * share / share[-1], label=label, **look)


def picture(survey, population, sample, weights, known):
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    before = sex_by_region(sample.frame, sample.weights)
    after = sex_by_region(sample.frame, weights)
    regions = list(survey.frame["db040"].cat.categories)
    for sex, marker in (("female", "o"), ("male", "s")):
        target = known[known["rb090"] == sex].set_index("db040")["total"].loc[regions]
        for table, colour, text in (
            (before, SAMPLE, "design weights"),
            (after, POPULATION, "calibrated"),
        ):
            found = table[table["rb090"] == sex].set_index("db040")["total"].loc[regions]
            left.plot(
                100 * (found / target - 1).to_numpy(),
                np.arange(len(regions)) + (0.12 if sex == "male" else -0.12),
                marker,
                color=colour,
                markersize=5,
                label=f"{text}, {sex}",
            )
    left.axvline(0, color=SURVEY, linewidth=0.8)
    left.set_yticks(range(len(regions)), regions)
    left.invert_yaxis()
    left.set_xlabel("difference from the known number of persons, %")
    left.set_title("Persons by sex and region", loc="left")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower left", ncols=4, frameon=False, fontsize=8,
        columnspacing=1, handletextpad=0.1,
    )  # fmt: skip

    people = population.frame(["netIncome"])
    cumulated(right, people["netIncome"], np.ones(len(people)), "synthetic population",
              color=POPULATION, linewidth=3, alpha=0.5)  # fmt: skip
    cumulated(right, survey.frame["netIncome"], survey.weights, "original survey",
              color=SURVEY, linewidth=1)  # fmt: skip
    cumulated(right, sample.frame["netIncome"], weights, "synthetic sample, calibrated",
              color=SAMPLE, linewidth=1, linestyle="--")  # fmt: skip
    right.set_xlim(0, 80)
    right.set_ylim(0, 100)
    right.set_xlabel("personal net income, 1,000 euros a year")
    right.set_ylabel("persons with at most this income, %")
    right.set_title("Net income of persons from 16 on", loc="left")
    right.legend(frameon=False, fontsize=8, loc="lower right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    return figure


def main():
    survey = load_demo_survey()
    population = simulate(survey, seed=1)
    sample = draw_like(survey, population, seed=2)
    print(population)
    print(sample.summary())

    known = sex_by_region(survey.frame, survey.weights)
    calibrated = calibrate(sample, [Margin(known)])
    print(calibrated.summary())

    table = pd.DataFrame(
        {
            "survey": known.set_index(["rb090", "db040"])["total"],
            "design weights": sex_by_region(sample.frame, sample.weights)
            .set_index(["rb090", "db040"])["total"],
            "calibrated": sex_by_region(sample.frame, calibrated.weights)
            .set_index(["rb090", "db040"])["total"],
        }
    )  # fmt: skip
    print(table.round(1).to_string())

    sample.frame.assign(rb050_calibrated=calibrated.weights).to_csv(
        "synthetic_sample.csv", index=False
    )
    figure = picture(survey, population, sample, calibrated.weights, known)
    figure.savefig("sample_from_population.png", dpi=120)
    plt.close(figure)
    print("Wrote synthetic_sample.csv and sample_from_population.png.")


if __name__ == "__main__":
    main()
