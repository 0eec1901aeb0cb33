"""The detector: quiet on fresh samples of the country, and a name for what spoils a population."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

from benchmarks.detector import (
    SPOILERS,
    compared,
    compared_all,
    country,
    fresh,
    is_named,
    rows_of,
    spoiled,
)
from synthpop import Survey, assess_fit
from synthpop.evaluation.detector import detect, findings
from synthpop.evaluation.two_samples import deviate

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


@pytest.mark.parametrize("seed", [2, 16])
def test_amounts_of_a_few_persons_alarm_in_no_small_sample(truth: pd.DataFrame, seed: int) -> None:
    """A component of 25 persons has no value twice: values that nobody has are to be expected."""
    pair = fresh(truth, 800, seed), fresh(truth, 800, seed + 1)
    assert not len(compared(*pair))


def test_rare_levels_that_nobody_has_are_to_be_expected() -> None:
    """Of 60 codes a sample of 120 lacks some that another has; a level of its own is found."""
    rng = np.random.default_rng(1)
    codes = [f"c{k}" for k in range(60)]
    shares = 1 / np.arange(1, 61)
    survey, other = (
        pd.DataFrame({"db030": range(n), "code": rng.choice(codes, n, p=shares / shares.sum())})
        for n in (120, 2_000)
    )

    def unseen(people: pd.DataFrame) -> pd.DataFrame:
        found = findings(detect(rows_of(survey), rows_of(people), ["code"]))
        return found[found["where"] == "not in the survey"]

    assert not other["code"].isin(survey["code"]).all()
    assert not len(unseen(other))
    assert len(unseen(other.assign(code=other["code"].where(other.index % 2 == 0, "new"))))


def test_deviates_are_those_of_chi_square() -> None:
    """Wilson and Hilferty's approximation beside exact tails."""
    for degrees in (1, 4, 30, 150):
        for squares in (degrees * 1.5, degrees + 20.0):
            exact = norm.isf(chi2.sf(squares, degrees))
            assert deviate(squares, degrees) == pytest.approx(exact, rel=0.1)


def test_sums_of_a_table_are_compared_without_being_named(survey, population) -> None:
    """A table has no recipe: the totals that add up in the survey are found."""
    source = Survey(survey.assign(w=20.0), weight="w", household="db030", strata="db040")
    found = assess_fit(source, spoiled(population, "sums_broken")).verdict().findings
    assert found["variable"].str.endswith("= netIncome").any()


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
