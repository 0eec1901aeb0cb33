"""The detector: quiet on fresh samples of the country, and a name for what spoils a population."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.detector import SPOILERS, compared, compared_all, country, fresh, is_named, spoiled
from synthpop import Survey, assess_fit

QUICK = (
    "incomes_shuffled_in_regions", "partners_torn", "region_replaced", "ages_heaped",
    "children_with_incomes", "households_duplicated", "sums_broken", "tail_trimmed",
)  # fmt: skip


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    return country()


@pytest.fixture(scope="module")
def survey(truth: pd.DataFrame) -> pd.DataFrame:
    return fresh(truth, 1_500, 77)


@pytest.fixture(scope="module")
def population(truth: pd.DataFrame) -> pd.DataFrame:
    return fresh(truth, 6_000, 78)


@pytest.mark.parametrize("seed", range(3))
def test_fresh_samples_are_good(truth: pd.DataFrame, seed: int) -> None:
    assert not len(compared(fresh(truth, 1_500, seed), fresh(truth, 3_000, 100 + seed)))


@pytest.mark.parametrize("name", QUICK)
def test_a_spoiled_population_is_named(survey, population, name: str) -> None:
    assert is_named(compared(survey, spoiled(population, name)), SPOILERS[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SPOILERS if name not in QUICK])
def test_every_spoiled_population_is_named(survey, population, name: str) -> None:
    assert is_named(compared(survey, spoiled(population, name)), SPOILERS[name][1])


@pytest.mark.slow
def test_nearly_all_fresh_samples_are_good(truth: pd.DataFrame) -> None:
    good = [
        not len(compared(fresh(truth, 1_500, 2 * k), fresh(truth, 3_000, 2 * k + 1)))
        for k in range(200)
    ]
    assert sum(good) >= 190


def test_there_are_thirty_spoiled_populations() -> None:
    assert len(SPOILERS) >= 30


def test_the_report_begins_with_the_word_and_the_finding(survey, population) -> None:
    source = Survey(survey.assign(w=20.0), weight="w", household="db030", strata="db040")
    good = assess_fit(source, population, variables=["age", "rb090", "netIncome", "db040"])
    assert good.summary().startswith("Fit: good. Nothing was found")
    assert not len(good.verdict().findings)
    bad = assess_fit(source, spoiled(population, "children_with_incomes"))
    lines = bad.summary().splitlines()
    assert lines[0].startswith("Fit: usable with these limits.")
    assert any("age <= 15" in line and "netIncome" in line for line in lines[1:6])
    worse = assess_fit(source, spoiled(population, "incomes_rounded"))
    assert worse.summary().startswith("Fit: not usable.")


def test_new_pairs_are_those_of_a_fresh_sample_unless_something_is_misplaced(
    truth, survey, population
) -> None:
    """Pairs that nobody of the survey has: estimated within the survey, and far beyond it."""

    def shares(people: pd.DataFrame) -> tuple[float, float]:
        row = compared_all(survey, people).set_index("kind").loc["new"]
        return row["sample"], row["population"]

    expected, fresh_share = shares(population)
    assert fresh_share == pytest.approx(expected, abs=0.25 * expected)
    torn = population.assign(pb190=population["pb190"].sample(frac=1.0, random_state=1).to_numpy())
    assert shares(torn)[1] > 3 * expected


def test_a_report_has_srmse_and_new_pairs(survey, population) -> None:
    small = survey[["db030", "age", "rb090", "pl030"]].assign(w=1.0)
    data = Survey(small, weight="w", household="db030")
    fit = assess_fit(data, population[["db030", "age", "rb090", "pl030"]])
    cells = [side.value_counts(["rb090", "pl030"], normalize=True, dropna=False)
             for side in (small, population)]  # fmt: skip
    gaps = cells[1].sub(cells[0], fill_value=0.0)
    assert fit.srmse.xs("rb090", level=0).iloc[0] == pytest.approx(
        float(((gaps**2).mean()) ** 0.5 * len(gaps)), rel=1e-6
    )
    assert set(fit.new_pairs) == {"population", "expected"}
    assert fit.new_pairs["population"] < 0.05
