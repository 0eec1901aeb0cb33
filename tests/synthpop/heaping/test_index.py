"""Whipple indices and Sprague multipliers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.heaping import sprague, whipple_index
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data


@pytest.fixture(scope="module")
def reference() -> dict:
    return golden("pop", "e_age.json")


@pytest.mark.parametrize("column", ["uniform", "five", "ten"])
def test_index_agrees_on_made_ages(reference, column):
    ages, expected = golden("pop", "e_ages.parquet"), reference["whipple"][column]
    for weights, suffix in ((None, ""), (ages["w"], "_w")):
        standard = whipple_index(ages[column], weights)
        assert standard == pytest.approx(expected[f"standard{suffix}"], rel=1e-10)
    modified = whipple_index(ages[column], method="modified")
    assert modified == pytest.approx(expected["modified"], rel=1e-10)
    # the reference rounds weighted counts to whole numbers
    weighted = whipple_index(ages[column], ages["w"], method="modified")
    assert weighted == pytest.approx(expected["modified_w"], rel=2e-3)


@pytest.mark.parametrize(
    ("survey", "weight"), [("eusilcS", "rb050"), ("ghanaS", "weight"), ("eusilcP", None)]
)
def test_index_agrees_on_surveys(reference, survey, weight):
    frame, expected = survey_data(survey), reference["whipple"][f"{survey}_age"]
    assert whipple_index(frame["age"]) == pytest.approx(expected["standard"], rel=1e-10)
    modified = whipple_index(frame["age"], method="modified")
    assert modified == pytest.approx(expected["modified"], rel=1e-10)
    if weight:
        weighted = whipple_index(frame["age"], frame[weight])
        assert weighted == pytest.approx(expected["standard_w"], rel=1e-10)
        weighted = whipple_index(frame["age"], frame[weight], method="modified")
        assert weighted == pytest.approx(expected["modified_w"], rel=2e-3)


def test_extremes():
    fives = np.repeat(np.arange(20, 75, 5), 10)
    assert whipple_index(fives) == 500
    assert whipple_index(fives, method="spoorenberg") == pytest.approx(16)
    assert whipple_index(np.full(9, 33), method="modified") == pytest.approx(1)
    flat = np.arange(0, 90)
    for method, none in (("standard", 100), ("modified", 0), ("spoorenberg", 0)):
        assert whipple_index(flat, method=method) == pytest.approx(none, abs=1e-12)
    with_missing = np.append(flat.astype(float), np.nan)
    assert whipple_index(with_missing) == pytest.approx(100)
    for method in ("standard", "modified", "spoorenberg"):
        assert np.isnan(whipple_index([], method=method))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, 2],), {"method": "x"}, "not allowed"),
        ((["a"],), {}, "not numbers"),
        (([1, 2], [1.0]), {}, "1 weights for 2 ages"),
        (([1, 2], [1.0, -1.0]), {}, "negative"),
    ],
)
def test_index_refuses(arguments, options, message):
    with pytest.raises(InputError, match=message):
        whipple_index(*arguments, **options)


def test_sprague_agrees(reference):
    expected = reference["sprague"]
    result = sprague(expected["input"])
    np.testing.assert_allclose(result, expected["result"], rtol=1e-10)
    assert list(result.index) == expected["names"]
    for group, row in enumerate(expected["basis"]):
        np.testing.assert_allclose(sprague(np.eye(17)[group]), row, atol=1e-6)
    np.testing.assert_allclose(
        sprague(expected["eusilcP_groups"]), expected["eusilcP_result"], rtol=1e-8
    )


def test_sprague_keeps_groups_and_straight_lines():
    rng = np.random.default_rng(0)
    groups = rng.integers(100, 200, 12).astype(float)
    for open_ended in (True, False):
        single = sprague(groups, open_ended=open_ended).to_numpy()
        n = 11 if open_ended else 12
        np.testing.assert_allclose(single[: 5 * n].reshape(n, 5).sum(axis=1), groups[:n])
    line = (2 + 3 * np.arange(60)).reshape(12, 5).sum(axis=1)
    np.testing.assert_allclose(sprague(line, open_ended=False), 2 + 3 * np.arange(60))
    assert sprague(pd.Series(groups)).index[-1] == "55+"


def test_sprague_refuses():
    with pytest.raises(InputError, match="4 groups"):
        sprague([1, 2, 3, 4])
    with pytest.raises(InputError, match="missing or negative"):
        sprague([1, 2, 3, 4, np.nan])


def spoorenberg_by_hand(counts: np.ndarray) -> float:
    """Spoorenberg (2007), table of ages: W_0 has 30, 40, 50, 60 ... W_3 has 23, 33, 43, 53."""
    total = 0.0
    for ages in (
        [30, 40, 50, 60], [31, 41, 51, 61], [32, 42, 52, 62], [23, 33, 43, 53], [24, 34, 44, 54],
        [25, 35, 45, 55], [26, 36, 46, 56], [27, 37, 47, 57], [28, 38, 48, 58], [29, 39, 49, 59],
    ):  # fmt: skip
        around = sum(counts[age - 2 : age + 3].sum() for age in ages)
        total += abs(5 * sum(counts[age] for age in ages) / around - 1)
    return total


def test_spoorenberg_takes_the_ages_of_its_definition() -> None:
    """Uneven ages: where a digit starts must matter, for every digit."""
    rng = np.random.default_rng(6)
    counts = rng.integers(1, 60, 80)
    ages = np.repeat(np.arange(80), counts)
    got = whipple_index(ages, method="spoorenberg")
    assert got == pytest.approx(spoorenberg_by_hand(counts), rel=1e-12)
    for digit in range(10):
        lowest = counts.copy()
        lowest[23 + (digit - 3) % 10] += 500
        moved = whipple_index(np.repeat(np.arange(80), lowest), method="spoorenberg")
        assert moved == pytest.approx(spoorenberg_by_hand(lowest), rel=1e-12)
