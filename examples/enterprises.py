"""Simulate enterprises with their employees: the same steps as for households with persons.

The survey is invented: 1,200 enterprises in four sectors, with all their employees. An enterprise
takes the place of a household, an employee that of a person, the sector that of the region.

    python examples/enterprises.py

takes a few seconds and writes enterprises.csv, employees.csv and enterprises.png to the current
folder.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from synthpop import Categorical, Continuous, Derive, Pipeline, Regressed, Structure, Survey

SECTORS = ("manufacturing", "construction", "trade", "services")
BREAKS, CLASSES = [0, 1, 4, 9, 19, 60], ["1", "2-4", "5-9", "10-19", "20 and more"]
OCCUPATIONS = ("manager", "professional", "clerk", "worker")


def invent_survey(n: int = 1200, seed: int = 1) -> Survey:
    """Make a survey of enterprises: large ones have a higher chance to be in it, so less weight."""
    rng = np.random.default_rng(seed)
    sector = rng.choice(4, n, p=[0.2, 0.2, 0.25, 0.35])
    size = np.minimum(1 + rng.geometric(0.12, n) * rng.integers(0, 3, n), 40)
    weight = np.clip(120 / size, 5, 60).round(1)
    form = np.where(rng.random(n) < 1 / (1 + size / 3), "sole trader", "company")
    level = rng.normal(0, 0.25, n) + np.array([0.1, 0.0, -0.15, 0.05])[sector]
    turnover = (size * 90_000 * np.exp(level + rng.normal(0, 0.3, n))).round(-2)
    enterprise = np.repeat(np.arange(n), size)
    number = np.arange(len(enterprise)) - np.repeat(np.cumsum(size) - size, size)
    shares = np.array([[0.05, 0.1, 0.15, 0.7], [0.05, 0.05, 0.1, 0.8],
                       [0.06, 0.1, 0.6, 0.24], [0.08, 0.4, 0.4, 0.12]])  # fmt: skip
    draws = rng.random(len(enterprise))[:, None]
    occupation = (shares[sector[enterprise]].cumsum(axis=1) < draws).sum(axis=1)
    occupation = np.where(number == 0, 0, occupation)  # each has a manager
    women = np.array([0.25, 0.12, 0.55, 0.5])[sector[enterprise]]
    wage = np.exp(10.2 - 0.22 * occupation + level[enterprise] + rng.normal(0, 0.25, len(number)))
    frame = pd.DataFrame(
        {
            "enterprise": enterprise + 1,
            "employee": number + 1,
            "sector": pd.Categorical.from_codes(sector[enterprise], SECTORS),
            "employees": size[enterprise],
            "legal_form": form[enterprise],
            "turnover": turnover[enterprise],
            "sex": np.where(rng.random(len(number)) < women, "f", "m"),
            "age": np.clip(rng.normal(42, 11, len(number)), 16, 70).astype(int),
            "occupation": pd.Categorical.from_codes(occupation, OCCUPATIONS),
            "wage": wage.round(2),
            "weight": weight[enterprise],
        }
    )
    return Survey(
        frame,
        weight="weight",
        household="enterprise",
        household_size="employees",
        person="employee",
        strata="sector",
    )


def recipe() -> Pipeline:
    """Variables of the enterprise are drawn once for all its employees; the others for each."""
    return Pipeline(
        [
            Structure(["sex", "age", "occupation"]),
            Derive("size_class", source="employees", breaks=BREAKS, labels=CLASSES),
            Derive("age_class", source="age", breaks=[15, 29, 44, 70]),
            Categorical("legal_form", predictors=["size_class"], by_household="shared"),
            Continuous(
                "turnover", method=Regressed(log=True, trim=(0, 0), residuals="local"),
                predictors=["size_class", "legal_form"], by_household="shared",
            ),
            Continuous("wage", predictors=["occupation", "sex", "age_class", "size_class"]),
        ]
    )  # fmt: skip


def enterprises_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per enterprise, after a check that its variables are the same for all."""
    fixed = ["sector", "employees", "legal_form", "turnover"]
    differ = frame.groupby("enterprise")[fixed].nunique(dropna=False).gt(1).any()
    assert not differ.any(), differ
    return frame.drop_duplicates("enterprise")[["enterprise", *fixed]]


def counts(frame: pd.DataFrame, weights: np.ndarray | None = None) -> pd.DataFrame:
    """Count enterprises by sector and size class."""
    w = np.ones(len(frame)) if weights is None else weights
    groups = pd.cut(frame["employees"], BREAKS, labels=CLASSES)
    table = pd.Series(w, index=frame.index).groupby([frame["sector"], groups], observed=False)
    return table.sum().unstack()


def picture(survey: Survey, people: pd.DataFrame) -> plt.Figure:
    """Wages by occupation and turnover by size, survey and population."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    places = np.arange(len(OCCUPATIONS))
    for shift, frame, weights, colour, label in (
        (-0.18, survey.frame, survey.weights, "#52606d", "survey, weighted"),
        (0.18, people, np.ones(len(people)), "#0072B2", "population"),
    ):
        held = [(frame["occupation"] == name).to_numpy() for name in OCCUPATIONS]
        wages = [np.average(frame["wage"][here], weights=weights[here]) / 1000 for here in held]
        left.barh(places + shift, wages, 0.34, color=colour, label=label)
        heads = (~frame.duplicated("enterprise")).to_numpy()
        groups = pd.cut(frame["employees"], BREAKS, labels=CLASSES)
        parts = [heads & (groups == name).to_numpy() for name in CLASSES]
        means = [np.average(frame["turnover"][part], weights=weights[part]) for part in parts]
        right.plot(range(len(CLASSES)), np.array(means) / 1e6, "o-", color=colour, label=label)
    left.set_yticks(places, OCCUPATIONS)
    left.invert_yaxis()
    left.set_xlabel("mean wage, 1,000 euros a year")
    left.set_title("Employees", loc="left")
    right.set_xticks(range(len(CLASSES)), CLASSES)
    right.set_xlabel("employees of the enterprise")
    right.set_ylabel("mean turnover, million euros")
    right.set_title("Enterprises", loc="left")
    right.set_ylim(bottom=0)
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def main() -> None:
    survey = invent_survey()
    print(survey.summary())
    population = recipe().fit(survey, seed=1).simulate()
    print(population.summary())
    people = population.frame()
    enterprises = enterprises_of(people)
    sample = survey.frame.drop_duplicates("enterprise")
    print("Enterprises by sector and size class, estimated from the survey and simulated:")
    both = {"survey": counts(sample, sample["weight"].to_numpy()), "simulated": counts(enterprises)}
    print(pd.concat(both, axis=1).swaplevel(axis=1)[CLASSES].round(0).astype(int).to_string())
    enterprises.to_csv("enterprises.csv", index=False)
    people.drop(columns=["legal_form", "turnover"]).to_csv("employees.csv", index=False)
    figure = picture(survey, people)
    figure.savefig("enterprises.png", dpi=120)
    plt.close(figure)
    print("Wrote enterprises.csv, employees.csv and enterprises.png.")


if __name__ == "__main__":
    main()
