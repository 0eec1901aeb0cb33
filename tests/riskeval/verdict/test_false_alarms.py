"""Releases that give nobody away are not objected to: samples, independent values, designs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from riskeval import assess, assess_synthetic, compare, membership
from riskeval.verdict.verdict import CLEAR, EXCEEDED, STOP
from tests.riskeval.verdict.corpus import AMOUNTS, COARSE, KEYS, SENSITIVE, persons, protected
from tests.riskeval.verdict.test_deceptions import MEASURES, QUICK

SEEDS = range(40)
MOST = 0.05
"""Share of clean files that may be objected to by chance, at the nominal level of the attacks."""


def independent(seed: int) -> pd.DataFrame:
    """Every column drawn by itself from another sample."""
    file, rng = persons(seed), np.random.default_rng(seed)
    return file.assign(**{n: rng.permutation(file[n].to_numpy()) for n in file if n != "hid"})


def rounded(seed: int) -> pd.DataFrame:
    """Another sample whose amounts are rounded, as most people report them."""
    file = persons(seed)
    return file.assign(**{name: (file[name] / 100).round() * 100 for name in AMOUNTS})


def jittered(seed: int) -> pd.DataFrame:
    """Another sample with noise."""
    file, rng = persons(seed), np.random.default_rng(seed)
    return file.assign(**{n: file[n] * np.exp(rng.normal(0, 0.2, len(file))) for n in AMOUNTS})


CLEAN: dict[str, Callable[[int], pd.DataFrame]] = {
    "fresh sample": persons, "independent values": independent, "rounded amounts": rounded,
    "noisy amounts": jittered,
}  # fmt: skip


def without_ids(file: pd.DataFrame, seed: int, how: str) -> pd.DataFrame:
    if how == "declared by name":
        return file
    file = file.drop(columns="hid")
    return file.sample(frac=1, random_state=seed) if how == "shuffled" else file


def alarms(kind: str, seeds: range, **options: object) -> list[str]:
    """Sentences of the verdicts that object to a clean file."""
    found = []
    for seed in seeds:
        files = [persons(1000 + 3 * seed), CLEAN[kind](1001 + 3 * seed), persons(1002 + 3 * seed)]
        if kind == "rounded amounts":
            files = [file.assign(**{n: (file[n] / 100).round() * 100 for n in AMOUNTS})
                     for file in files]  # fmt: skip
        verdict = assess_synthetic(
            files[0], files[1], KEYS, [*SENSITIVE, *AMOUNTS], holdout=files[2],
            categorical=["educ"], seed=seed, **options,
        ).verdict  # fmt: skip
        if verdict.level in (STOP, EXCEEDED):
            found.append(verdict.summary())
    return found


def test_a_clean_synthetic_file_is_not_objected_to() -> None:
    assert alarms("fresh sample", range(3), attacks=QUICK) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLEAN)
def test_clean_synthetic_files_seldom_alarm(kind: str) -> None:
    found = alarms(kind, SEEDS)
    assert len(found) <= MOST * len(SEEDS), found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["declared by name", "in the order of households", "shuffled"])
def test_members_of_clean_household_samples_are_not_told(how: str) -> None:
    n, above = 134, 0
    for seed in range(n):
        files = [without_ids(persons(5000 + 3 * seed + i), seed, how) for i in range(3)]
        risk = membership(
            files[0], files[1], [*KEYS, "hsize", *AMOUNTS], holdout=files[2], seed=seed,
            categorical=["educ"],
        )  # fmt: skip
        above += risk.excess.is_above
    assert above <= MOST * n


def cell_weights(file: pd.DataFrame) -> pd.DataFrame:
    """Weights that are the same for a region and sex, as after poststratification."""
    cells = file.groupby(["region", "sex"], sort=False).ngroup()
    return file.assign(w=1500.0 + 10 * cells)


def raked_weights(file: pd.DataFrame) -> pd.DataFrame:
    """Weights of their own for every record."""
    return file.assign(w=1500 * np.exp(np.random.default_rng(1).normal(0, 0.2, len(file))))


SAFE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as it is": lambda file: file,
    "cell weights": cell_weights,
    "raked weights": raked_weights,
    "a running number": lambda file: file.assign(number=range(len(file))),
    "random household numbers": lambda file: file.assign(
        hid=np.random.default_rng(1).permutation(len(file)) // 3
    ),
    "further answers": lambda file: file.assign(
        hours=np.random.default_rng(2).integers(0, 60, len(file)),
        opinion=np.random.default_rng(3).choice(["yes", "no", "rather"], len(file)),
    ),
    "days of interviews": lambda file: file.assign(
        interview=pd.Timestamp("2024-03-01")
        + pd.to_timedelta(np.random.default_rng(4).integers(0, 60, len(file)), unit="D")
    ),
}


@pytest.mark.parametrize("kind", SAFE)
@pytest.mark.parametrize("seed", range(3))
def test_a_safe_file_is_called_so(kind: str, seed: int) -> None:
    file = SAFE[kind](protected(seed + 1))
    verdict = assess(file, keys=COARSE, weights="w", sensitive=["ill"], measures=MEASURES).verdict
    assert verdict.level == CLEAR, verdict.summary()


def test_a_fresh_sample_beside_the_original_is_not_objected_to() -> None:
    for seed in range(2):
        verdict = compare(
            persons(2 * seed + 50), {"fresh": persons(2 * seed + 51)}, keys=KEYS, numeric=AMOUNTS,
            sensitive=SENSITIVE, seed=1, sample_sizes={"model": "nearest"},
        ).verdicts["fresh"]  # fmt: skip
        assert verdict.level == CLEAR, verdict.summary()
