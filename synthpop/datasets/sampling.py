"""The demo survey: households drawn from the population, some of whom answer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from synthpop.datasets import levels
from synthpop.datasets.calibrating import rake_households
from synthpop.datasets.draws import Draws
from synthpop.datasets.truth import DEMO_TRUTH, REGIONS, DemoTruth
from synthpop.microdata.statistics.streams import Streams
from synthpop.microdata.statistics.whole_shares import largest_remainder

AGE_CLASSES = (0, 16, 25, 35, 50, 65, 80)  # lower ends
SIZE_CLASSES = (1, 2, 3, 4, 5)  # the last one is open


def make_survey(population: pd.DataFrame, seed: int, truth: DemoTruth = DEMO_TRUTH) -> pd.DataFrame:
    """Draw the survey: the columns of `population`, and the weights `db090` and `rb050`."""
    draws = Draws(Streams(seed))
    head = population[population["relation"] == "head"]
    region = head["db040"].cat.codes.to_numpy()
    design, drawn = _draw(region, truth, draws)
    answers = drawn & draws.chance("response", response_probability(head))
    for code in range(len(REGIONS)):  # non-response adjustment in the region
        of_region = region == code
        design[of_region] *= drawn[of_region].sum() / max(answers[of_region].sum(), 1)

    members = answers[population["db030"].to_numpy() - 1]
    survey = population[members].reset_index(drop=True)
    matrix, _ = control_counts(survey)
    everyone, _ = control_counts(population)
    weights = rake_households(matrix, everyone.sum(axis=0), design[answers])
    household = pd.factorize(survey["db030"])[0]
    survey["db090"] = weights[household]
    survey["rb050"] = survey["db090"]
    missing = draws.chance("item non-response", _item_nonresponse(survey, truth))
    survey.loc[missing, "pe040"] = None
    return survey


def _draw(region: np.ndarray, truth: DemoTruth, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Design weight of each household and whether it is drawn (simple random in the region)."""
    sizes = np.bincount(region, minlength=len(REGIONS))
    n = np.minimum(largest_remainder(sizes**truth.allocation_power, truth.gross_sample), sizes)
    order = np.lexsort((draws.uniform("sample", len(region)), region))
    rank = np.empty(len(region), dtype=np.int64)
    rank[order] = np.arange(len(region)) - np.concatenate([[0], np.cumsum(sizes)])[region[order]]
    return sizes[region] / n[region], rank < n[region]


def response_probability(head: pd.DataFrame) -> np.ndarray:
    """Probability that a household answers, by its region, its size and the age of its head."""
    age = head["age"].to_numpy(dtype=np.float64)
    size = np.minimum(head["hsize"].to_numpy(), 5)
    odds = np.array([r.response for r in REGIONS])[head["db040"].cat.codes.to_numpy()]
    odds = odds + np.array([0.0, 0.45, 0.80, 0.95, 1.10, 1.05])[size]
    odds = odds + np.interp(age, [18, 30, 45, 65, 78, 90], [-0.45, -0.30, 0.0, 0.35, 0.15, -0.55])
    return np.asarray(1 / (1 + np.exp(-odds)))


def _item_nonresponse(survey: pd.DataFrame, truth: DemoTruth) -> np.ndarray:
    """Probability that education is missing, higher for the young and for those from abroad."""
    age = survey["age"].to_numpy()
    chance = truth.item_nonresponse * np.where(age < 25, 1.5, 0.9)
    chance = chance * np.where(survey["pb220a"].cat.codes.to_numpy() == 2, 1.8, 0.97)
    return np.where(age < levels.ADULT_AGE, 0.0, chance)


def control_counts(frame: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Count the controls of the calibration in each household, sorted as the persons are.

    Controls are persons by region and sex, persons by age class, and households by size. Returns
    the counts, shape (n_households, n_controls), and the names of the controls.
    """
    household = pd.factorize(frame["db030"])[0]
    n = int(household[-1]) + 1
    sex = frame["rb090"].cat.codes.to_numpy().astype(np.int64)
    cell = frame["db040"].cat.codes.to_numpy() * 2 + sex
    age = np.searchsorted(AGE_CLASSES, frame["age"].to_numpy(), side="right") - 1
    size = np.searchsorted(SIZE_CLASSES, np.bincount(household), side="right") - 1
    n_cells, n_ages, n_sizes = 2 * len(REGIONS), len(AGE_CLASSES), len(SIZE_CLASSES)
    blocks = [
        np.bincount(household * n_cells + cell, minlength=n * n_cells).reshape(n, n_cells),
        np.bincount(household * n_ages + age, minlength=n * n_ages).reshape(n, n_ages),
        np.eye(n_sizes)[size],
    ]
    names = [f"persons {region} {sex}" for region in levels.REGION for sex in levels.SEX]
    names += [f"persons aged {age} and over" for age in AGE_CLASSES]
    names += [f"households of {size}" for size in SIZE_CLASSES]
    return np.concatenate(blocks, axis=1).astype(np.float64), names
