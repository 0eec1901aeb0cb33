"""Draws of a protected file that follow from a seed are found; those of a key are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import protect
from riskeval.attacks.guessed_seeds import guessed_seeds
from riskeval.protection.release import release_file
from tests.small import small_frame

NOISE = ("add_noise", {"variables": ["income"]})
PRAM = ("pram", {"columns": ["status"]})
GUESSES = range(40)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return small_frame(600)


@pytest.mark.parametrize("method", ["additive", "correlated"])
def test_noise_of_a_seed_is_found(people, method: str) -> None:
    noisy = protect.add_noise(people, ["income", "wage"], method=method, level=0.2, seed=3).data
    arguments = {"variables": ["income", "wage"], "method": method}
    found = guessed_seeds(noisy, [("add_noise", arguments)], guesses=GUESSES).found
    assert found.endswith("with seed 3")


def test_pram_of_a_seed_is_found(people) -> None:
    changed = protect.pram(people, ["status"], seed=4).data
    result = guessed_seeds(changed, [PRAM], guesses=GUESSES)
    assert result.found == "the PRAM of status with seed 4"
    assert "One of 40 guesses" in result.summary()
    assert guessed_seeds(changed, [], guesses=GUESSES).found == ""  # steps are honoured


@pytest.mark.parametrize("household", [None, "hid"])
def test_an_order_of_a_seed_is_undone(people, household) -> None:
    ordered = people.sort_values(["region", "hid", "status"])[["hid", "region", "size"]]
    shuffled = release_file(ordered, household=household, seed=5)
    found = guessed_seeds(shuffled, household=household, guesses=GUESSES).found
    assert found == "the order of the records with seed 5"
    fresh = release_file(ordered, household=household)
    assert guessed_seeds(fresh, household=household, guesses=range(300)).found == ""


def test_noise_under_an_order_of_the_same_seed_is_found(people) -> None:
    noisy = protect.add_noise(people, ["income"], level=0.2, seed=6).data
    shuffled = release_file(noisy, seed=6)
    found = guessed_seeds(shuffled, [NOISE], guesses=GUESSES).found
    assert found == "the noise of income, in the order undone with seed 6"


def test_nothing_is_found_of_draws_that_are_secret(people) -> None:
    made = protect.pram(protect.add_noise(people, ["income"], level=0.2).data, ["status"]).data
    result = guessed_seeds(release_file(made, household="hid"), [NOISE, PRAM], household="hid",
                           guesses=range(400))  # fmt: skip
    assert result.found == ""
    assert result.tried == ("order of records", "noise", "PRAM")
    assert "finds more than chance" in result.summary()
    assert "not attacked" in result.summary()


def test_clean_files_do_not_alarm() -> None:
    """Of 60 files, none of them drawn from a guessed seed, at most one is suspected."""
    alarms = 0
    for number in range(60):
        rng = np.random.default_rng([number, 77])
        file = pd.DataFrame(
            {"income": rng.exponential(size=150), "status": rng.choice([*"abc"], 150)}
        )
        alarms += bool(guessed_seeds(file, [NOISE, PRAM], guesses=range(10)).found)
    assert alarms <= 1


def test_missing_values_and_tiny_files(people) -> None:
    holes = people.assign(income=people["income"].where(people["age"] > 30))
    assert guessed_seeds(holes.head(3), [NOISE, PRAM], guesses=GUESSES).found == ""
    assert guessed_seeds(holes, [NOISE, PRAM], guesses=GUESSES).found == ""
