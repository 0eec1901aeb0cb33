"""Risk in the population: a population that is known, arguments, holes, limits by upper ends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import assess, population_risk
from riskeval.measures.latent_classes import share_draws
from synthpop import InputError, load_demo_population

KEYS = ["db040", "hsize", "rb090", "pl030", "pb220a"]


def sample(n: int = 1500, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Persons of the demo population, and how many of it have the keys of each."""
    people = load_demo_population()
    counts = people.groupby(KEYS, observed=True, dropna=False)["age"].transform("size").to_numpy()
    rows = np.random.default_rng(seed).permutation(len(people))[:n]
    file = people.iloc[rows][KEYS].reset_index(drop=True).astype(str)
    return file.assign(w=len(people) / n), counts[rows]


def test_shares_of_cells_are_those_of_independent_keys() -> None:
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, 2, 4000), rng.integers(0, 5, 4000)])
    cells = np.array([[0, 0], [1, 4], [-1, 2], [-1, -1]])
    draws = share_draws(codes, np.ones(4000), cells, rng)
    assert draws.mean(axis=0) == pytest.approx([0.1, 0.1, 0.2, 1.0], abs=0.02)
    tied = np.repeat([[0, 0], [1, 1]], 2000, axis=0)
    draws = share_draws(tied, np.ones(4000), np.array([[0, 0], [0, 1]]), rng)
    assert draws.mean(axis=0) == pytest.approx([0.5, 0.0], abs=0.02)
    weighted = share_draws(tied, np.repeat([3.0, 1.0], 2000), np.array([[0, 0]]), rng)
    assert weighted.mean() == pytest.approx(0.75, abs=0.02)


def test_the_truth_of_a_known_population_is_in_the_intervals() -> None:
    file, in_population = sample()
    risk = population_risk(file, KEYS, weights="w", seed=1)
    assert risk.unique[1] <= (in_population == 1).sum() <= risk.unique[2]
    assert risk.links[1] <= (1 / in_population).sum() <= risk.links[2]
    assert risk.table["expected"].iloc[1] == pytest.approx(risk.by_weights.sum())
    assert (risk.upper >= risk.risk - 1e-12).all()
    ranked = pd.Series(risk.risk).corr(pd.Series(1 / in_population), method="spearman")
    assert ranked > 0.7


@pytest.mark.slow
def test_nine_of_ten_intervals_hold_the_truth() -> None:
    inside = []
    for seed in range(40):
        file, in_population = sample(800 + 100 * seed, 1000 + seed)
        risk = population_risk(file, KEYS, weights="w", seed=seed)
        inside += [risk.unique[1] <= (in_population == 1).sum() <= risk.unique[2],
                   risk.links[1] <= (1 / in_population).sum() <= risk.links[2]]  # fmt: skip
    assert np.mean(inside) >= 0.9


def test_arguments_are_honoured() -> None:
    file, _ = sample(400)
    risk = population_risk(file, KEYS, weights="w", seed=1)
    again = population_risk(file, KEYS, weights="w", seed=1)
    assert risk.links == again.links
    assert risk.links != population_risk(file, KEYS, weights="w", seed=2).links
    narrow = population_risk(file, KEYS, weights="w", confidence=0.5, seed=1)
    assert risk.links[1] < narrow.links[1] < narrow.links[2] < risk.links[2]
    larger = population_risk(file, KEYS, weights="w", population_size=1e7, seed=1)
    assert larger.links[0] < risk.links[0]
    assert population_risk(file, KEYS, population_size=435_024, seed=1).links[0] == pytest.approx(
        risk.links[0], rel=0.1
    )
    assert population_risk(file, KEYS[:2], weights="w", seed=1).links[0] < 0.2 * risk.links[0]


def test_a_census_has_no_uncertainty() -> None:
    file = pd.DataFrame({"age": [1, 1, 2, 3], "w": 1.0})
    risk = population_risk(file, ["age"], weights="w", seed=1)
    assert risk.unique == (2.0, 2.0, 2.0)
    assert risk.links == (3.0, 3.0, 3.0)
    assert risk.risk == pytest.approx([0.5, 0.5, 1.0, 1.0])


def test_a_hole_stands_for_any_value() -> None:
    file, _ = sample(600)
    rare = int(population_risk(file, KEYS, weights="w", seed=1).risk.argmax())
    file.loc[rare, KEYS[1:]] = None
    risk = population_risk(file, KEYS, weights="w", seed=1)
    assert risk.risk[rare] < 0.05


def test_faults() -> None:
    file = pd.DataFrame({"age": [1, 2]})
    with pytest.raises(InputError, match="population_size"):
        population_risk(file, ["age"])
    with pytest.raises(InputError, match="fewer than the records"):
        population_risk(file, ["age"], population_size=1)
    with pytest.raises(InputError, match="confidence"):
        population_risk(file, ["age"], population_size=10, confidence=2.0)


def test_limits_are_judged_by_upper_ends() -> None:
    file, _ = sample(400)
    result = assess(
        file, keys=KEYS, weights="w", limits={"k": None, "record_risk": 0.5},
        measures=["population_risk"],
    )  # fmt: skip
    risk = result.results["population_risk"]
    row = result.table.set_index("name").loc["population_record_risk"]
    assert row["value"] == risk.upper.max()
    assert row["within"] is False
    again = assess(file, keys=KEYS, weights="w", measures=["population_risk"],
                   options={"population_risk": {"seed": 9}})  # fmt: skip
    assert again.results["population_risk"].links != risk.links
