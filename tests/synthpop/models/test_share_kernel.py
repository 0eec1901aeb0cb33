"""Shares near those of donors: no copies, the same means, zeros that stay zero."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from synthpop import Components, Pipeline, Survey
from synthpop.microdata.messages.errors import InputError
from synthpop.models.share_kernel import concentrations, drawn_near, split_near
from tests.small import ROLES, small_frame, small_pipeline, small_survey


def donors(n: int, rng: np.random.Generator) -> np.ndarray:
    """Donors with three parts, or two of them, or a loss."""
    shares = rng.dirichlet([4, 2, 1], n)
    shares[::3, 2] = 0.0
    shares /= shares.sum(axis=1, keepdims=True)
    shares[1::6] = np.column_stack([1 + shares[1::6, 1], -shares[1::6, 1], np.zeros(n // 6)])
    return shares


def test_draws_have_the_mean_and_the_variance_that_are_stated() -> None:
    rng = np.random.default_rng(1)
    shares = donors(600, rng)
    near = concentrations(shares)
    assert (near > 0).all()
    rows = np.repeat(np.arange(600), 400)
    drawn = drawn_near(shares[rows], near[rows], rng)
    assert np.allclose(drawn.sum(axis=1), 1)
    assert (np.sign(drawn) == np.sign(shares[rows])).all()
    means = drawn.reshape(600, 400, 3).mean(axis=1)
    deviations = drawn.reshape(600, 400, 3).std(axis=1)
    moved = deviations > 1e-9
    error = (means - shares)[moved] / deviations[moved] * 20
    assert abs(error.std() - 1) < 0.15
    plain = (shares > 0).all(axis=1) & (near * shares.min(axis=1) > 4.01)
    expected = np.sqrt(np.abs(shares * (1 - shares)) / (near[:, None] + 1))
    assert np.allclose(deviations[plain], expected[plain], rtol=0.25)
    three = (shares > 0).all(axis=1)
    added = (deviations[three & plain] ** 2).sum(axis=1).mean() / shares[three].var(axis=0).sum()
    assert 0.005 < added < 0.015


def test_what_stays_as_it_is() -> None:
    alone = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert concentrations(alone).tolist() == [0.0, 0.0]
    assert concentrations(np.tile([0.25, 0.75], (12, 1))).tolist() == [0.0] * 12
    assert (concentrations(np.tile([0.25, 0.75], (5, 1))) > 0).all()
    assert concentrations(np.empty((0, 2))).shape == (0,)


def test_no_part_vanishes() -> None:
    shares = np.tile([0.9995, 0.0005], (4, 1))
    near = concentrations(shares)
    drawn = drawn_near(
        np.repeat(shares, 5000, axis=0), np.repeat(near, 5000), np.random.default_rng(2)
    )
    assert drawn[:, 1].min() > 0.00001


def test_split_totals_add_up() -> None:
    rng = np.random.default_rng(3)
    shares, totals = donors(60, rng), rng.normal(0, 1e5, 60)
    amounts = split_near(totals, shares, concentrations(shares), rng)
    assert np.abs(amounts.sum(axis=0) - totals).max() < 1e-9
    assert (np.sign(amounts) == np.sign(shares.T * totals)).all()


def test_the_option() -> None:
    with pytest.raises(InputError, match="shares"):
        Pipeline([Components("income", ["wage", "other"], ["sex"], shares="some")]).fit(
            small_survey()
        )
    frame = small_frame()
    frame["wage"] = (
        frame["income"] * np.random.default_rng(1).uniform(0.2, 0.8, len(frame))
    ).round(2)
    frame["other"] = (frame["income"] - frame["wage"]).round(2)
    frames = []
    for shares in ("near the donor", "of the donor"):
        stages = [replace(s, shares=shares) if isinstance(s, Components) else s
                  for s in small_pipeline().stages]  # fmt: skip
        frames.append(Pipeline(stages).fit(Survey(frame, **ROLES), seed=1).simulate().frame())
    near, copied = frames
    assert not near["wage"].equals(copied["wage"])
    assert near.drop(columns=["wage", "other"]).equals(copied.drop(columns=["wage", "other"]))
