"""A run is what it computes: no folder becomes a mixture of two models, machines or libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression

from synthpop import Categorical, Pipeline, Structure, Survey
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.pipeline import identity as identity_module
from synthpop.pipeline.fingerprint import described
from synthpop.pipeline.model_hash import model_hash
from tests.small import small_frame, small_pipeline, small_survey

ROOT = Path(__file__).parents[3]


class Constant(ClassifierMixin, BaseEstimator):
    """Says the first class with probability p; its text shows no parameters."""

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def fit(self, x, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, x):
        rest = (1 - self.p) / (len(self.classes_) - 1)
        return np.tile([self.p] + [rest] * (len(self.classes_) - 1), (len(x), 1))

    def __repr__(self, **options) -> str:
        return "Constant()"


def fit_with(classifier, seed: int = 1):
    frame = small_frame(120)
    frame["status"] = frame["status"].fillna("child")
    survey = Survey(frame, weight="w", household="hid")
    stages = [Structure(["age", "sex"]), Categorical("status", predictors=["age", "sex"],
                                                     model=classifier)]  # fmt: skip
    return Pipeline(stages).fit(survey, seed=seed)


def test_a_classifier_whose_text_hides_its_parameters(tmp_path) -> None:
    fit_with(Constant(0.9)).simulate(out=tmp_path)
    with pytest.raises(OutputError, match="holds another run: it differs in recipe, models"):
        fit_with(Constant(0.1)).simulate(out=tmp_path)
    assert fit_with(Constant(0.9)).simulate(out=tmp_path).n_persons > 0


def test_a_classifier_whose_text_is_shortened() -> None:
    def votes(c: float):
        models = [(f"m{k}", LogisticRegression(C=c if k == 35 else 1.0)) for k in range(40)]
        return VotingClassifier(models)

    assert repr(votes(0.001)) == repr(votes(1000.0))
    assert described(votes(0.001)) != described(votes(1000.0))
    assert described(votes(2.0)) == described(votes(2.0))


def test_a_description_has_class_version_and_parameters_and_no_address() -> None:
    description = described(RandomForestClassifier(n_estimators=7))
    assert description["class"] == "sklearn.ensemble._forest.RandomForestClassifier"
    assert description["version"][0].isdigit()
    assert description["parameters"]["n_estimators"] == 7
    assert " at 0x" not in str(described({"a": object(), "f": len, "g": lambda x: x}))


def test_other_versions_and_another_blas_are_refused(tmp_path, monkeypatch) -> None:
    fitted = small_pipeline().fit(small_survey(), seed=7)
    before = fitted.simulate(out=tmp_path)
    part = sorted(tmp_path.rglob("*.parquet"))[0]
    part.unlink()
    ours = before.manifest.identity.environment
    assert ours["numpy"] == np.__version__
    theirs = {**ours, "numpy": "1.26.4", "blas": "openblas Haswell"}
    monkeypatch.setattr(identity_module, "environment", lambda: theirs)
    with pytest.raises(OutputError, match=r"differs in environment \(.*numpy .* there, 1\.26\.4 h"):
        fitted.simulate(out=tmp_path)
    assert not part.exists()
    monkeypatch.setattr(identity_module, "environment", lambda: ours)
    fitted.simulate(out=tmp_path)
    assert part.exists()


@pytest.mark.slow  # imports everything in a second process
def test_the_same_fit_has_the_same_hash_in_every_process() -> None:
    code = (
        "from tests.small import small_pipeline, small_survey\n"
        "print(small_pipeline().fit(small_survey(60), seed=7).learned)"
    )
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.strip() == small_pipeline().fit(small_survey(60), seed=7).learned


@pytest.mark.slow
def test_a_run_of_another_kind_of_machine_is_not_resumed(tmp_path) -> None:
    code = (
        "import sys\nfrom tests.small import small_pipeline, small_survey\n"
        "small_pipeline().fit(small_survey(), seed=7).simulate(out=sys.argv[1])"
    )
    here = os.environ.get("OPENBLAS_CORETYPE")
    other = "Prescott" if here != "Prescott" else "Haswell"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True,
        env={**os.environ, "OPENBLAS_CORETYPE": other, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    with pytest.raises(OutputError, match=r"models .*environment \(blas openblas .* there"):
        small_pipeline().fit(small_survey(), seed=7).simulate(out=tmp_path)


def test_a_hash_sees_the_last_bit_of_a_coefficient() -> None:
    values = np.ones(3)
    other = values.copy()
    other[1] = np.nextafter(1.0, 2.0)
    assert model_hash([values]) != model_hash([other])
    assert model_hash([values]) == model_hash([values.copy()])
    assert model_hash([values]) != model_hash([values.astype(np.float32)])
    assert model_hash({1: "a"}) != model_hash({"1": "a"})
    assert model_hash({"a", "b"}) == model_hash({"b", "a"})
    forest = [RandomForestClassifier(3, random_state=s).fit([[0], [1], [2]] * 9, [0, 1, 0] * 9)
              for s in (1, 1, 2)]  # fmt: skip
    assert model_hash(forest[0]) == model_hash(forest[1]) != model_hash(forest[2])


def test_what_cannot_be_described_is_not_written(tmp_path) -> None:
    class Opaque(Constant):
        def fit(self, x, y, sample_weight=None):
            self.lines = (line for line in "ab")  # nothing can look into a generator
            return super().fit(x, y)

    fitted = fit_with(Opaque())
    assert fitted.simulate().n_persons > 0
    with pytest.raises(InputError, match="holds a model that cannot be described"):
        fitted.simulate(out=tmp_path)
    assert list(tmp_path.iterdir()) == []
