"""Models of scenario 5: fitted to cells, they are what they would be on persons."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from riskeval.attacks.matching import models
from riskeval.attacks.matching.models import MODELS, CellLearner
from riskeval.attacks.matching.models_stepwise import fit_terms
from riskeval.attacks.matching.replicates import scenario_replicates
from riskeval.attacks.matching.scenarios import IntruderRisk, intruder_scenarios
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import silent

KEYS = ["a", "b", "c"]


def persons(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 4, n), "b": rng.integers(0, 3, n)})
    frame["c"] = rng.choice(["x", "y", "z", "w", "v"], n)
    effect = 100 + 20 * frame["a"] + 50 * ((frame["a"] == 1) & (frame["b"] == 2))
    frame["y"] = effect + rng.normal(0, 3, n)
    frame["t"] = np.where(rng.random(n) < 0.85, np.where(frame["a"] > 1, "high", "low"), "other")
    frame.loc[::50, ["y", "t"]] = np.nan, None
    return frame


def learned(model: Any, frame: pd.DataFrame, target: str, blocks: int = 1) -> CellLearner:
    categorical = target == "t"
    learner = CellLearner(model, categorical, np.random.default_rng(1))
    codes = np.stack([frame["a"], frame["b"], pd.factorize(frame["c"], sort=True)[0]])
    codes = codes.astype(np.int32)
    outcome = pd.factorize(frame["t"], sort=True)[0] if categorical else frame["y"].to_numpy()
    for part in np.array_split(np.arange(len(frame)), blocks):
        learner.add(codes[:, part], [4, 3, 5], outcome[part])
    return learner


def every_cell() -> np.ndarray:
    return np.array(list(itertools.product(range(4), range(3), range(5))), dtype=np.int32)


def ask(model: Any, target: Any = "y", **options: Any) -> IntruderRisk:
    asked = {"accuracy": 0.05, "scenarios": (5,), "seed": 1, **options}
    return intruder_scenarios(persons(80, 2), persons(3000, 3), KEYS, target, model=model, **asked)


class TestCells:
    def test_cells_are_counts_and_sums(self, monkeypatch: pytest.MonkeyPatch) -> None:
        frame = persons(500, 1)
        whole = learned("forest", frame, "y").cells()
        used = frame[frame["y"].notna()].groupby(KEYS)["y"]
        assert whole.persons.tolist() == used.count().tolist()
        columns = ["v", "w", "x", "y", "z"]
        assert [columns[c] for c in whole.codes[:, 2]] == [key[2] for key in used.count().index]
        np.testing.assert_allclose(whole.total[:, 0], used.sum())
        assert whole.square == pytest.approx((frame["y"] ** 2).sum())
        monkeypatch.setattr(models, "MOST_WAITING", 10)
        parts = learned("forest", frame, "y", blocks=7).cells()
        np.testing.assert_array_equal(parts.codes, whole.codes)
        np.testing.assert_allclose(parts.total, whole.total)

    def test_cells_of_categories(self) -> None:
        frame = persons(500, 1)
        cells = learned("forest", frame, "t", blocks=3).cells()
        table = frame[frame["t"].notna()].groupby(KEYS)["t"].value_counts().unstack(fill_value=0)
        np.testing.assert_array_equal(cells.total, table.to_numpy())
        assert cells.square == frame["t"].notna().sum()

    def test_a_tree_on_cells_is_a_tree_on_persons(self) -> None:
        frame = persons(2000, 4)
        tree = DecisionTreeRegressor(max_depth=3, random_state=0)
        fitted = learned(tree, frame, "y").solve(silent)
        used = frame[frame["y"].notna()]
        codes = np.stack([used["a"], used["b"], pd.factorize(used["c"], sort=True)[0]], axis=1)
        own = DecisionTreeRegressor(max_depth=3, random_state=0).fit(codes, used["y"])
        np.testing.assert_allclose(fitted.predict(every_cell()), own.predict(every_cell()))

    def test_a_classifier_on_cells_is_one_on_persons(self) -> None:
        frame = persons(2000, 4)
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        fitted = learned(tree, frame, "t").solve(silent)
        used = frame[frame["t"].notna()]
        codes = np.stack([used["a"], used["b"], pd.factorize(used["c"], sort=True)[0]], axis=1)
        level = pd.factorize(used["t"], sort=True)[0]
        own = DecisionTreeClassifier(max_depth=4, random_state=0).fit(codes, level)
        np.testing.assert_array_equal(fitted.predict(every_cell()), own.predict(every_cell()))


class TestLeastSquares:
    def design(self, frame: pd.DataFrame, pairs: tuple[tuple[str, str], ...]) -> np.ndarray:
        columns = [np.ones(len(frame))]
        for name in KEYS:
            columns += list(pd.get_dummies(frame[name], drop_first=True).to_numpy(float).T)
        for one, other in pairs:
            both = frame[one].astype(str) + frame[other].astype(str)
            columns += list(pd.get_dummies(both).to_numpy(float).T)
        return np.column_stack(columns)

    def test_main_effects_are_least_squares_on_rows(self) -> None:
        frame = persons(1500, 5)
        used = frame[frame["y"].notna()].reset_index(drop=True)
        found = fit_terms(learned("stepwise", frame, "y").cells(), stepwise=False, on_event=silent)
        design = self.design(used, ())
        fitted = design @ np.linalg.lstsq(design, used["y"], rcond=None)[0]
        codes = np.stack([used["a"], used["b"], pd.factorize(used["c"], sort=True)[0]], axis=1)
        np.testing.assert_allclose(found.predict(codes)[:, 0], fitted, rtol=1e-10)
        assert found.n_coefficients == 1 + 3 + 2 + 4
        linear = ask("linear").per_record["predicted"]
        same = intruder_scenarios(
            persons(80, 2), persons(3000, 3), KEYS, "y", model=LinearOnDummies(), scenarios=(5,)
        ).per_record["predicted"]
        np.testing.assert_allclose(linear, same, rtol=1e-8)

    def test_stepwise_finds_the_terms_that_were_put_in(self) -> None:
        """y follows from a, and from one pair of levels of a and b; c has nothing to do with it."""
        frame = persons(3000, 6)
        cells = learned("stepwise", frame, "y").cells()
        found = fit_terms(cells, stepwise=True, on_event=silent)
        assert found.terms == ((0,), (1,), (0, 1))
        used = frame[frame["y"].notna()].reset_index(drop=True)
        mean = used.groupby(["a", "b"])["y"].transform("mean")  # a, b and their pair: saturated
        codes = np.stack([used["a"], used["b"], pd.factorize(used["c"], sort=True)[0]], axis=1)
        np.testing.assert_allclose(found.predict(codes)[:, 0], mean, rtol=1e-9)
        assert "2 keys and 1 pairs of keys chosen by BIC" in found.text

    def test_stepwise_has_the_least_bic_of_its_neighbours(self) -> None:
        frame = persons(400, 7)
        cells = learned("stepwise", frame, "y").cells()
        found = fit_terms(cells, stepwise=True, on_event=silent)
        used = frame[frame["y"].notna()].reset_index(drop=True)

        def bic(terms: list[tuple[int, ...]]) -> float:
            columns = [np.ones(len(used))]
            for term in terms:
                label = used[[KEYS[k] for k in term]].astype(str).agg("-".join, axis=1)
                columns += list(pd.get_dummies(label).to_numpy(float).T)
            design = np.column_stack(columns)
            beta, _, rank, _ = np.linalg.lstsq(design, used["y"], rcond=None)
            rss = ((used["y"] - design @ beta) ** 2).sum()
            return float(len(used) * np.log(rss / len(used)) + rank * np.log(len(used)))

        every = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
        chosen = [*found.terms]
        best = bic(chosen)
        for term in every:
            other = [t for t in chosen if t != term] if term in chosen else [*chosen, term]
            mains = {t[0] for t in other if len(t) == 1}
            if all(mains.issuperset(t) for t in other if len(t) == 2):
                assert bic(other) >= best - 1e-6

    def test_stepwise_drops_a_key_that_another_pair_made_needless(self) -> None:
        """c nearly repeats (a, b); it comes in first and leaves when both are there."""
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"a": rng.integers(0, 4, 4000), "b": rng.integers(0, 3, 4000)})
        repeats = np.where(rng.random(4000) < 0.97, (3 * frame["a"] + frame["b"]) % 5, 0)
        frame["c"] = np.array(list("vwxyz"))[repeats]
        frame["y"] = 10.0 * ((3 * frame["a"] + frame["b"]) % 5) + rng.normal(0, 0.5, 4000)
        found = fit_terms(learned("stepwise", frame, "y").cells(), stepwise=True, on_event=silent)
        assert found.terms == ((0,), (1,), (0, 1))

    def test_pairs_with_too_many_levels_are_not_offered(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("riskeval.attacks.matching.models_stepwise.MOST_DUMMIES", 12)
        cells = learned("stepwise", persons(3000, 6), "y").cells()
        found = fit_terms(cells, stepwise=True, on_event=silent)
        assert (0, 1) not in found.terms
        assert "3 pairs with too many levels were not considered" in found.text

    def test_linear_for_categories_takes_the_largest_share(self) -> None:
        frame = persons(2000, 8)
        fitted = learned("linear", frame, "t").solve(silent)
        used = frame[frame["t"].notna()].reset_index(drop=True)
        shares = pd.get_dummies(used["t"]).to_numpy(float)
        design = self.design(used, ())
        largest = (design @ np.linalg.lstsq(design, shares, rcond=None)[0]).argmax(axis=1)
        codes = np.stack([used["a"], used["b"], pd.factorize(used["c"], sort=True)[0]], axis=1)
        np.testing.assert_array_equal(fitted.predict(codes), largest)

    def test_a_perfect_fit(self) -> None:
        frame = persons(300, 1).assign(y=lambda f: 5.0 * f["a"])
        found = fit_terms(learned("stepwise", frame, "y").cells(), stepwise=True, on_event=silent)
        assert found.terms == ((0,),)


class LinearOnDummies(LinearRegression):
    """Least squares on dummies made of the codes, by scikit-learn."""

    def dummies(self, codes: np.ndarray) -> np.ndarray:
        return np.column_stack([codes[:, [k]] == np.arange(6) for k in range(3)]).astype(float)

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Any:
        return super().fit(self.dummies(X), y, sample_weight=sample_weight)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return super().predict(self.dummies(X))


class TestScenarioFive:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("target", ["y", "t"])
    def test_every_model_finds_what_is_there(self, model: str, target: str) -> None:
        risk = ask(model, target)
        row = risk.table.iloc[0]
        assert row["n_attacked"] > 10
        assert row["tau"] > 0.4 * row["n_attacked"]
        again = ask(model, target)
        pd.testing.assert_frame_equal(risk.per_record, again.per_record)
        assert list(risk.models) == [target]
        if target == "t":
            assert row["tau"] > row["tau_baseline"]

    def test_pairs_of_keys_find_more_than_main_effects(self) -> None:
        tau = {model: ask(model, accuracy=0.02).table["tau"].iloc[0] for model in MODELS}
        assert tau["stepwise"] > tau["linear"]
        assert tau["boosting"] != tau["forest"]

    def test_boosting_separates_one_combination_of_many_persons(self) -> None:
        """Rows of the model are combinations, whose persons are weights: one row is a leaf."""
        frame = pd.DataFrame(itertools.product(range(4), range(3), "xz"), columns=KEYS)
        frame = frame.loc[frame.index.repeat(np.where(frame["c"] == "x", 35, 13))]
        alone = pd.DataFrame({"a": 0, "b": 0, "c": ["y"] * 440})
        frame = pd.concat([frame, alone], ignore_index=True)
        frame["y"] = np.where(frame["c"] == "y", 900.0, 100.0)
        fitted = learned("boosting", frame, "y").solve(silent)
        one, other = fitted.predict(np.array([[0, 0, 1], [0, 0, 0]], dtype=np.int32)).ravel()
        assert one > 800
        assert other < 200

    def test_models_of_both_kinds_at_once(self) -> None:
        risk = ask("forest", ["y", "t"])
        assert set(risk.models) == {"y", "t"}
        for target in ("y", "t"):
            alone = ask("forest", target).per_record["predicted"]
            assert risk.per_record[f"predicted_{target}"].equals(alone)

    def test_seed_of_models_that_draw(self) -> None:
        one, other = ask("forest", seed=1), ask("forest", seed=2)
        assert not one.per_record["predicted"].equals(other.per_record["predicted"])
        replicates = scenario_replicates(
            persons(80, 2), [persons(3000, 3)] * 2, KEYS, "y", model="forest", scenarios=(5,),
            accuracy=0.001, seed=3,
        )  # fmt: skip
        assert replicates.replicates["tau"].nunique() == 2

    def test_holdout_has_predictions_too(self) -> None:
        risk = ask("boosting", holdout=persons(60, 9))
        assert 0 < risk.table["rate_holdout"].iloc[0] < 1

    def test_levels_without_a_value_have_no_prediction(self) -> None:
        sample = persons(80, 2)
        sample.loc[0, "c"] = "new"
        for target in ("y", "t"):
            risk = intruder_scenarios(sample, persons(900, 3), KEYS, target, model="stepwise")
            assert pd.isna(risk.per_record["predicted"].iloc[0])
            assert risk.per_record["predicted"].iloc[1:].notna().all()
        nothing = persons(900, 3).assign(y=np.nan)
        assert intruder_scenarios(sample, nothing, KEYS, "y", model="forest").models["y"] == (
            "nothing to fit"
        )

    def test_one_level(self) -> None:
        same = persons(900, 3).assign(t="low")
        risk = intruder_scenarios(persons(80, 2), same, KEYS, "t", model="boosting", seed=1)
        assert set(risk.per_record["predicted"]) == {"low"}

    def test_keys_with_many_levels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "MOST_CATEGORIES", 3)
        ordered = ask("boosting").per_record["predicted"]
        monkeypatch.undo()
        assert not ordered.equals(ask("boosting").per_record["predicted"])

    def test_progress(self) -> None:
        seen = []
        for model in ("forest", "stepwise"):
            ask(model, on_event=seen.append)
        kinds = [(event.kind, event.detail) for event in seen]
        assert kinds.count(("progress", "trees")) == 10
        assert ("progress", "terms of the model") in kinds
        assert ("end", "persons read") in kinds
        assert max(e.done for e in seen if e.detail == "persons read") == 3000

    def test_words(self) -> None:
        assert "a random forest of 60 key combinations, fitted to" in ask("forest").summary()
        assert "Scenario 5 (a linear model fitted" in ask("linear").summary()
        assert (
            "Scenario 5 (a stepwise linear model with 12 coefficients, 2 keys"
            in ask("stepwise").summary()
        )


class TestFaults:
    @pytest.mark.parametrize(
        ("model", "target", "what"),
        [
            ("forrest", "y", "Did you mean 'forest'"),
            (5, "y", "is not a model"),
            (DecisionTreeClassifier(), "y", "is not a regressor"),
            (RandomForestRegressor(), "t", "is not a classifier"),
            (KNeighborsRegressor(), "y", "does not take weights"),
            (DecisionTreeRegressor(max_depth=-1), "y", "could not be fitted"),
        ],
    )
    def test_models_that_do_not_suit(self, model: Any, target: str, what: str) -> None:
        with pytest.raises(InputError, match=what):
            ask(model, target)

    def test_an_estimator_is_left_as_it_was(self) -> None:
        tree = DecisionTreeRegressor()
        ask(tree)
        assert not hasattr(tree, "tree_")
        assert tree.random_state is None
