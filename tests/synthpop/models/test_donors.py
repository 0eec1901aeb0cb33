"""Donors of other strata: the prior of the formula, totals kept, the amount chosen by the data."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from synthpop import Pipeline, Structure, Survey
from synthpop.conditional import donors
from synthpop.conditional.donors import (
    DonorHouseholds,
    DonorPooling,
    choose_amount,
    own_donors,
    persons_of_kinds,
    prior_weights,
    shared_donors,
)


def households(n: int = 400, n_strata: int = 4, seed: int = 1, differ: float = 0.0):
    """Households of one to three persons of three kinds, more of kind 2 in later strata."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n)
    strata = rng.integers(0, n_strata, n)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    high = 0.2 + differ * np.repeat(strata, sizes) / n_strata
    kinds = np.where(rng.random(offsets[-1]) < high, 2, rng.integers(0, 2, offsets[-1]))
    persons = persons_of_kinds(kinds[:, None], offsets)
    sample = DonorHouseholds(strata, sizes - 1, rng.uniform(1, 5, n), persons, n_strata, 3)
    return sample, kinds, offsets


def own(sample: DonorHouseholds):
    """The stratum's own households."""
    return own_donors(sample.strata, sample.sizes, sample.weights, sample.n_strata, 3)


def totals(sample: DonorHouseholds, found, stratum: int) -> np.ndarray:
    """Persons of each kind and size that the donors of a stratum stand for."""
    out = np.zeros((3, 3))
    for size in range(3):
        a, b = found.starts[stratum * 3 + size], found.starts[stratum * 3 + size + 1]
        here = found.households[a:b]
        assert (sample.sizes[here] == size).all()
        out[size] = sample.persons[here].T @ found.weights[a:b]
    return out


def test_own_donors_are_the_households_of_the_cell() -> None:
    sample, _, _ = households()
    found = own(sample)
    for cell in range(12):
        here = np.flatnonzero((sample.strata == cell // 3) & (sample.sizes == cell % 3))
        assert (
            found.households[found.starts[cell] : found.starts[cell + 1]].tolist() == here.tolist()
        )
    assert found.weights == pytest.approx(sample.weights[found.households])


def test_prior_is_that_of_the_formula() -> None:
    sample, _, _ = households()
    rows = np.flatnonzero(sample.strata == 1)
    everybody = np.arange(len(sample.strata))
    t = np.bincount(sample.sizes[rows], sample.weights[rows], 3)
    found = prior_weights(sample, rows, everybody, t, 25.0)
    for h in (int(rows[0]), int(np.flatnonzero(sample.strata != 1)[0])):
        same = sample.sizes == sample.sizes[h]
        n = int((same & (sample.strata == 1)).sum())
        mine = sample.weights[h] / sample.weights[same & (sample.strata == 1)].sum()
        shared = sample.weights[h] / sample.weights[same].sum()
        expected = n / (n + 25) * mine * (sample.strata[h] == 1) + 25 / (n + 25) * shared
        assert found[h] == pytest.approx(t[sample.sizes[h]] * expected)


@pytest.mark.parametrize("amount", [1.0, 50.0, np.inf])
def test_totals_of_each_stratum_are_kept(amount: float) -> None:
    sample, _, _ = households(differ=0.5)
    found, failed = shared_donors(sample, amount)
    before = own(sample)
    assert failed == ()
    together = np.zeros((2, 3, 3))
    for stratum in range(4):
        mine, shared = totals(sample, before, stratum), totals(sample, found, stratum)
        together += mine, shared
        assert shared.sum(axis=0) == pytest.approx(mine.sum(axis=0), rel=1e-5)
        for size in range(3):
            cell = slice(*found.starts[stratum * 3 + size : stratum * 3 + size + 2])
            mine_weight = before.weights[slice(*before.starts[stratum * 3 + size :][:2])].sum()
            assert found.weights[cell].sum() == pytest.approx(mine_weight, rel=1e-5)
    assert together[1] == pytest.approx(together[0], rel=0.01)  # kinds by size, all strata


def test_share_of_foreign_donors_grows_with_the_amount() -> None:
    sample, _, _ = households()

    def foreign(amount: float) -> float:
        found, _ = shared_donors(sample, amount)
        cells = np.repeat(np.arange(12), np.diff(found.starts))
        other = sample.strata[found.households] != cells // 3
        return float(found.weights[other].sum() / found.weights.sum())

    shares = [foreign(amount) for amount in (1e-9, 10.0, 100.0, np.inf)]
    assert shares[0] < 1e-6
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(0.75, abs=0.05)


def test_kinds_that_a_stratum_does_not_have_stay_away() -> None:
    sample, kinds, offsets = households()
    kinds = np.where(np.repeat(sample.strata, np.diff(offsets)) == 0, kinds % 2, kinds)
    persons = persons_of_kinds(kinds[:, None], offsets)
    sample = DonorHouseholds(sample.strata, sample.sizes, sample.weights, persons, 4, 3)
    found, failed = shared_donors(sample, np.inf)
    assert failed == ()
    assert totals(sample, found, 0)[:, 2].sum() == 0
    assert (sample.strata[found.households[: found.starts[3]]] != 0).any()


def test_alike_strata_share_all_and_unlike_ones_little() -> None:
    chosen = []
    for differ in (0.0, 0.8):
        sample, kinds, offsets = households(n=1_500, differ=differ)
        weights = np.repeat(sample.weights, np.diff(offsets))
        chosen.append(choose_amount(sample, kinds, offsets, weights, seed=1))
    assert chosen[0].amount > 20 * chosen[1].amount
    assert chosen[0].chosen == "cross-validated"
    assert max(score for _, score in chosen[0].scores) == dict(chosen[0].scores)[chosen[0].amount]
    other = choose_amount(sample, kinds, offsets, weights, seed=2)
    assert other.scores != chosen[1].scores  # other folds


def test_persons_of_kinds_counts() -> None:
    kinds = np.array([[0, 5], [0, 7], [3, 5]])
    found = persons_of_kinds(kinds, np.array([0, 2, 3]))
    assert found.toarray().tolist() == [[2, 0, 1, 1], [0, 1, 1, 0]]


# the stage


def survey(n: int = 300, seed: int = 1) -> Survey:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n)
    hid = np.repeat(np.arange(n), sizes)
    region = rng.choice(["north", "south", "west"], n)[hid]
    frame = pd.DataFrame({"hid": hid, "region": region, "w": rng.uniform(2, 6, n)[hid]})
    frame["size"] = sizes[hid]
    frame["age"] = rng.integers(0, 90, len(frame)) + 5 * (frame["region"] == "west")
    frame["sex"] = rng.choice(["f", "m"], len(frame))
    return Survey(frame, weight="w", household="hid", household_size="size", strata="region")


def test_the_population_keeps_sizes_and_kinds_of_each_stratum() -> None:
    held = survey()
    own = Pipeline([Structure(["age", "sex"], pooling="none")]).fit(held, seed=1).simulate(scale=9)
    fitted = Pipeline([Structure(["age", "sex"], pooling=np.inf)]).fit(held, seed=1)
    shared = fitted.simulate(scale=9)
    assert fitted.pooling["structure"].totals == ("age", "sex")
    assert "nothing but its totals were specific" in fitted.pooling["structure"].summary()
    tables = []
    for people in (own, shared):
        frame = people.frame()
        tables.append(pd.crosstab(frame["region"], frame["sex"]).to_numpy())
    assert tables[1] == pytest.approx(tables[0], rel=0.02)
    sizes = [
        p.households().groupby(["region", "size"], observed=True).size() for p in (own, shared)
    ]
    assert (sizes[0] == sizes[1]).all()
    combinations = [
        p.frame()[["region", "age", "sex"]].drop_duplicates().shape[0] for p in (own, shared)
    ]
    assert combinations[1] > 1.4 * combinations[0]


def test_cross_validation_is_the_default_and_is_told() -> None:
    fitted = Pipeline([Structure(["age", "sex"])]).fit(survey(), seed=1)
    told = fitted.pooling["structure"]
    assert told.chosen == "cross-validated"
    assert "chosen by cross-validation" in told.summary()
    assert told.to_dict()["kept"] == ["age", "sex"]
    alone = Pipeline([Structure(["age", "sex"], pooling="none")]).fit(survey(), seed=1)
    assert alone.pooling["structure"] == DonorPooling()
    assert "own stratum" in alone.pooling["structure"].summary()


def test_no_solution_and_too_many_donors_fall_back_to_the_own(monkeypatch) -> None:
    held, stage = survey(), Structure(["age"], pooling=20.0)
    alone = Pipeline([Structure(["age"], pooling="none")]).fit(held, seed=1)
    monkeypatch.setattr(donors, "raked", lambda *_: None)
    fitted = Pipeline([stage]).fit(held, seed=1)
    assert [note.stratum for note in fitted.fallbacks] == ["north", "south", "west"]
    assert fitted.models[0].donors.tolist() == alone.models[0].donors.tolist()
    monkeypatch.undo()
    monkeypatch.setattr("synthpop.stages.structure.MOST_DONORS", 100)
    fitted = Pipeline([stage]).fit(held, seed=1)
    assert "more than 100 donors" in fitted.fallbacks[0].what
    assert fitted.pooling["structure"].kind == "none"


def test_many_kinds_are_kept_variable_by_variable() -> None:
    held = survey()
    frame = held.frame.assign(
        job=np.random.default_rng(2).choice(list("abcdefghij"), held.n_persons)
    )
    wide = Survey(frame, weight="w", household="hid", strata="region")
    fitted = Pipeline([Structure(["age", "job", "sex"], pooling=np.inf)]).fit(wide, seed=1)
    assert fitted.fallbacks == ()
    people = fitted.simulate(scale=9).frame()
    for name in ("job", "sex"):
        found = pd.crosstab(people["region"], people[name], normalize="index")
        sums = frame.groupby(["region", name])["w"].sum().unstack()
        assert found.to_numpy() == pytest.approx(
            sums.div(sums.sum(axis=1), axis=0).to_numpy(), abs=0.01
        )


@pytest.mark.parametrize("pooling", [-1.0, float("nan"), "much", True, None])
def test_pooling_that_makes_no_sense_is_refused(pooling) -> None:
    from synthpop.microdata.messages.errors import InputError

    with pytest.raises(InputError, match="number of households"):
        Pipeline([Structure(["age"], pooling=pooling)]).fit(survey(), seed=1)


def test_the_manifest_of_an_infinite_amount_is_strict_json(tmp_path) -> None:
    fitted = Pipeline([Structure(["age", "sex"], pooling=np.inf)]).fit(survey(), seed=1)
    people = fitted.simulate(out=tmp_path / "people")
    text = (tmp_path / "people" / "manifest.json").read_text(encoding="utf-8")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    held = json.loads(text, parse_constant=refuse)
    assert held["pooling"]["structure"]["amount"] == "infinite"
    again = fitted.simulate(out=tmp_path / "people")  # the same run goes on
    assert again.n_persons == people.n_persons
