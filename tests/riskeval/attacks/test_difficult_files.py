"""A release of any generator can be judged: odd types, levels, sizes and gaps, no tracebacks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from riskeval.attacks.assess_synthetic import assess_synthetic
from riskeval.attacks.registry import ATTACKS
from synthpop.microdata.messages.errors import InputError

KEYS, TARGETS = ["age", "sex", "région"], ["status", "income"]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "région": rng.choice(["Île", "Öst", "Łódź", "東"], n),
            "status": rng.choice(["works", "studies", "retired"], n),
            "income": rng.lognormal(7, 1, n),
            "h": np.arange(n) // 2,
        }
    )


def object_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    mixed = frame.astype(object)
    mixed.iloc[::7] = None
    mixed["h"] = frame["h"]
    mixed["age"] = pd.to_numeric(mixed["age"])
    mixed["income"] = pd.to_numeric(mixed["income"])
    return mixed


def nullable(frame: pd.DataFrame) -> pd.DataFrame:
    types = {"age": "Int64", "sex": "string", "income": "Float64", "status": "string[pyarrow]"}
    converted = frame.astype(types)
    converted.loc[::5, ["age", "sex", "income", "status"]] = pd.NA
    return converted


FILES = {
    "as it is": lambda f: f,
    "other order of columns, one more, no weights": lambda f: f[list(f)[::-1]].assign(extra=1),
    "unseen levels": lambda f: f.assign(
        sex=f["sex"].where(f["age"] > 30, "x"), status=f["status"].replace("works", "new")
    ),
    "missing levels": lambda f: f[f["sex"] == "f"],
    "no common level of the target": lambda f: f.assign(status="other"),
    "target all missing": lambda f: f.assign(status=None, income=np.nan),
    "constant target": lambda f: f.assign(status="works", income=100.0),
    "one row": lambda f: f.head(1),
    "two rows": lambda f: f.head(2),
    "categories": lambda f: f.astype({"sex": "category", "status": "category", "age": "category"}),
    "categories with unused levels": lambda f: f.assign(
        sex=pd.Categorical(f["sex"], categories=["m", "f", "never"])
    ),
    "nullable types": nullable,
    "objects with gaps": object_gaps,
    "arrow types": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "arrow table": lambda f: pa.Table.from_pandas(f),
    "list of frames of other types": lambda f: [f.head(50), nullable(f.tail(50))],
    "float codes": lambda f: f.astype({"age": float, "h": float}),
    "small integers": lambda f: f.astype({"age": np.int8, "income": np.float32}),
    "another index": lambda f: f.set_axis(f.index[::-1] * 3, axis=0),
    "repeated index": lambda f: f.set_axis(np.zeros(len(f), dtype=int), axis=0),
    "true and false": lambda f: f.assign(status=f["status"] == "works"),
    "text for numbers": lambda f: f.assign(income=f["income"].round().astype(str)),
    "huge numbers": lambda f: f.assign(income=f["income"] * 1e30),
    "infinite numbers": lambda f: f.assign(income=np.inf),
    "zeros": lambda f: f.assign(income=0.0),
    "dates": lambda f: f.assign(status=pd.Timestamp("2024-01-01") + pd.to_timedelta(f["age"], "D")),
    "empty text": lambda f: f.assign(status="", sex=f["sex"].where(f["age"] > 30, "")),
    "households as text": lambda f: f.assign(h="h" + f["h"].astype(str)),
    "larger": lambda f: pd.concat([f] * 7),
}


def every_file(role: int) -> pytest.MarkDecorator:
    """Every file in the slow suite; in the quick one every other file, in one of three roles."""
    files = [
        name if k % 6 == role else pytest.param(name, marks=pytest.mark.slow)
        for k, name in enumerate(FILES)
    ]
    return pytest.mark.parametrize("name", files)


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riskeval.attacks.prediction.model.TREES", 2)


@every_file(0)
def test_any_synthetic_file_is_judged(name: str) -> None:
    synthetic = FILES[name](people(100, 2))
    risk = assess_synthetic(
        people(90, 1), synthetic, KEYS, TARGETS, holdout=people(80, 3), seed=1
    )  # fmt: skip
    check(risk)


@every_file(1)
def test_any_original_is_judged(name: str) -> None:
    original = FILES[name](people(90, 1))
    if isinstance(original, list):
        with pytest.raises(InputError, match="original: is a list"):
            assess_synthetic(original, people(100, 2), KEYS, TARGETS)
        return
    risk = assess_synthetic(
        original, people(100, 2), KEYS, TARGETS, holdout=people(80, 3), seed=1
    )  # fmt: skip
    check(risk)


@every_file(2)
def test_any_file_is_judged_by_households(name: str) -> None:
    synthetic = FILES[name](people(100, 2))
    risk = assess_synthetic(
        people(90, 1), synthetic, KEYS, TARGETS, household="h", holdout=people(80, 3), seed=1,
        attacks=[attack for attack in ATTACKS if attack != "rapid"],
    )  # fmt: skip
    check(risk)


def check(risk) -> None:
    """Every attack has a number between 0 and 1, or a reason why not; all can be shown."""
    seen = {attack for attack, _ in risk.results} | {attack for attack, _ in risk.skipped}
    assert ("replicated_uniques", "") in risk.results
    assert seen >= {"disco", "tcap", "membership", "distance_screen"}
    known = risk.table["value"].dropna()
    assert known.between(0, 1).all()
    assert all(why for why in risk.skipped.values())
    assert "No number proves the file safe" in risk.summary()
    assert "<table" in risk._repr_html_()
    for result in risk.results.values():
        assert len(result.summary()) > 80
        assert "<table" in result._repr_html_()


def test_the_same_file_in_other_types_has_the_same_risk() -> None:
    original, synthetic = people(90, 1), people(100, 2)
    asked = {"attacks": ["replicated_uniques", "disco", "tcap", "distance_screen"], "seed": 1}
    plain = assess_synthetic(original, synthetic, KEYS, TARGETS, **asked).table
    same = ["other order of columns, one more, no weights", "arrow types", "another index",
            "categories with unused levels", "float codes", "arrow table"]  # fmt: skip
    for name in same:
        found = assess_synthetic(original, FILES[name](synthetic), KEYS, TARGETS, **asked).table
        pd.testing.assert_frame_equal(plain, found)


@pytest.mark.parametrize("key", [["age"], ["région", "sex"]])
def test_hold_out_of_another_type(key: list[str]) -> None:
    holdout = nullable(people(60, 3))
    risk = assess_synthetic(people(90, 1), people(100, 2), key, TARGETS, holdout=holdout, seed=1)
    check(risk)
    strange = people(60, 3).assign(income="much")
    risk = assess_synthetic(people(90, 1), people(100, 2), key, TARGETS, holdout=strange, seed=1)
    assert "rapid" in {attack for attack, _ in risk.skipped}


def test_categories_that_nobody_has_are_no_levels_of_the_original() -> None:
    rng = np.random.default_rng(1)
    regions = [f"r{j}" for j in range(30)]
    part = pd.Categorical(rng.choice(regions[:2], 80), categories=regions)  # a part of a survey
    frame = pd.DataFrame(
        {"region": part, "age": rng.integers(0, 9, 80), "ill": rng.random(80) < 0.3}
    )
    plain = frame.assign(region=frame["region"].astype(str))
    results = [
        assess_synthetic(one, one, ["region", "age"], ["ill"], categorical=["age", "ill"], seed=1,
                         attacks=["disco", "replicated_uniques", "tcap", "scenarios"])
        for one in (frame, plain)
    ]  # fmt: skip
    assert "do not occur in the release" not in results[0].summary()
    pd.testing.assert_frame_equal(results[0].to_frame(), results[1].to_frame())
    other = frame.assign(region=pd.Categorical(["r7"] * 80, categories=regions))
    nothing = assess_synthetic(frame, other, ["region"], ["ill"], attacks=["disco"], seed=1)
    assert "no value of the original stands in the synthetic file" in nothing.summary()
