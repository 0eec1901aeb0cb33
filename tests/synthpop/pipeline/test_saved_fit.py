"""A fit in a folder: simulates the same elsewhere, holds no survey, says what it discloses."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Anneal,
    Binned,
    Categorical,
    Continuous,
    Distribute,
    FittedPipeline,
    GibbsPass,
    InputError,
    Margin,
    Matched,
    OutputError,
    Pipeline,
    Regressed,
    Structure,
    Survey,
    load_fitted,
)
from synthpop.microdata.formats.hashed import with_hash
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame, small_pipeline, small_survey

WHY = "for the safe centre, decided by the disclosure committee"


@pytest.fixture(scope="module")
def fitted() -> FittedPipeline:
    return small_pipeline().fit(small_survey(), seed=7)


@pytest.fixture
def folder(fitted, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "fit", accept=WHY)
    return tmp_path / "fit"


def test_another_process_simulates_the_same_bytes(fitted, folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys, synthpop; "
        "synthpop.load_fitted(sys.argv[1]).simulate(out=sys.argv[2], key='07' * 16)"
    )
    there, here = tmp_path / "there", tmp_path / "here"
    subprocess.run([sys.executable, "-c", code, str(folder), str(there)], check=True)
    fitted.simulate(out=here, key="07" * 16)
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    assert len(files) > 3
    for name in files:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name


def margins() -> list[Margin]:
    cells = small_frame().groupby(["region", "sex"], observed=True)["w"].sum().round()
    return [Margin(cells.rename("total").reset_index())]


def areas() -> Distribute:
    regions = small_frame().groupby("region", observed=True)["w"].sum().round()
    table = regions.rename("total").reset_index()
    halves = pd.concat([table.assign(area=area, total=table["total"] // 2) for area in "ab"])
    return Distribute("area", within="region", margins=Margin(halves))


RECIPES = {
    "tree": [Categorical("status", model="tree")],
    "boosting": [Categorical("status", model="boosting")],
    "nested": [Categorical("status", model="nested")],
    "leaves": [Continuous("income", method="tree")],
    "regressed": [Categorical("status"), Continuous("income", method=Regressed())],
    "matched": [Categorical("status"), Continuous("income", method=Matched())],
    "tail": [Continuous("income", method=Binned(tail="pareto"))],
    "second pass": [Categorical("status"), GibbsPass(["status"])],
    "exchange": [Categorical("status"), Anneal(margins(), split="region", tolerance=0.5)],
    "areas": [Categorical("status"), areas()],
}


@pytest.mark.filterwarnings("ignore::synthpop.MicrodataWarning")
@pytest.mark.parametrize("name", RECIPES)
def test_every_kind_of_model_comes_back(name: str, tmp_path: Path, few_trees) -> None:
    steps = [Structure(["age", "sex"], jitter={"age": 2}), *RECIPES[name]]
    rules = ["age >= 0"] if name == "tail" else []
    fitted = Pipeline(steps, rules=rules).fit(small_survey(), seed=3)
    fitted.save(tmp_path / "fit", accept=WHY)
    loaded = load_fitted(tmp_path / "fit")
    one, two = (fit.simulate(seed=5) for fit in (fitted, loaded))
    assert_same_frame(one.frame(), two.frame())
    assert one.manifest.to_text() == two.manifest.to_text()
    assert loaded.fallbacks == fitted.fallbacks
    assert loaded.summary() == fitted.summary()


def test_the_folder_holds_no_column_that_no_step_uses(tmp_path: Path) -> None:
    frame = small_frame().assign(secret=[f"secret-{k}" for k in range(len(small_frame()))])
    frame["code"] = np.arange(len(frame)) + 0.123456789
    recipe = Pipeline([Structure(["sex"]), Categorical("status")])
    fitted = recipe.fit(Survey(frame, **ROLES), seed=1)
    fitted.save(tmp_path / "fit", accept=WHY)
    for path in (tmp_path / "fit").iterdir():
        assert b"secret-" not in path.read_bytes()
    (stored,) = (tmp_path / "fit").glob("*.npz")
    with np.load(stored) as arrays:
        for name in arrays.files:
            assert not np.isin(frame["code"], arrays[name]).any()
            assert len(arrays[name]) > 0


def test_what_copies_records_needs_a_reason_which_is_written_down(fitted, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="copies records of the survey: structure"):
        fitted.save(tmp_path / "fit")
    assert not (tmp_path / "fit").exists()
    for accept in ("", " ", True):
        with pytest.raises(InputError, match="who has decided so"):
            fitted.save(tmp_path / "fit", accept=accept)
    found = fitted.save(tmp_path / "fit", accept=WHY)
    facts = json.loads((tmp_path / "fit" / "fit.json").read_text())
    assert facts["accepted"] == WHY
    assert facts["discloses"] == found.table.to_dict("records")
    if sys.platform != "win32":
        assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "fit").iterdir()} == {
            0o600
        }


def test_a_fit_without_copies_needs_no_reason(tmp_path: Path) -> None:
    frame = small_frame(600)
    frame = frame[frame["pid"] == 1].assign(size=1)
    recipe = Pipeline([Structure(["sex"]), Categorical("status")])
    fitted = recipe.fit(Survey(frame, **ROLES), seed=1)
    found = fitted.save(tmp_path / "fit")
    assert found.copies == ()
    assert load_fitted(tmp_path / "fit").simulate().n_persons == fitted.simulate().n_persons


def test_copies_are_counted_as_they_are(fitted) -> None:
    """A naive count: households whose members, as a set of values, fewer than five have."""
    frame = small_frame()
    kinds = frame.groupby("hid")[["age", "sex"]].apply(
        lambda rows: tuple(sorted(map(tuple, rows.to_numpy().tolist())))
    )
    for minimum in (2, 5):
        rare = int((kinds.map(kinds.value_counts()) < minimum).sum())
        table = fitted.disclosed(minimum=minimum).table.set_index(["step", "what"])["n"]
        assert table["structure", "copies of records"] == rare
    unpooled = Pipeline([Structure(["sex"]), Continuous("income", method=Matched())])
    table = unpooled.fit(small_survey(), seed=1).disclosed().table
    counts = frame["income"].value_counts()
    copied = table[table["parameter"] == "values.pooled.table"]
    assert copied["what"].tolist() == ["copies of records"]
    assert copied["n"].tolist() == [int((counts < 5).sum())]
    assert "structure" in fitted.disclosed().summary()


def test_leaves_of_one_person_are_copies() -> None:
    from sklearn.tree import DecisionTreeClassifier

    for leaf, what in ((1, "copies of records"), (3, "small cells"), (30, None)):
        tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)
        stage = Categorical("status", model=tree, predictors=["age", "sex"], numeric="values")
        fitted = Pipeline([Structure(["age", "sex"]), stage]).fit(small_survey(), seed=1)
        table = fitted.disclosed().table
        found = table[table["parameter"].str.endswith("tree_")]["what"].tolist()
        assert (what in found) if what else found == []


def test_a_saved_fit_has_no_survey_and_says_so(folder: Path, tmp_path: Path) -> None:
    loaded = load_fitted(folder)
    calls = [
        loaded.derived_survey,
        lambda: next(loaded.replicates(1, refit="bootstrap")),
        lambda: loaded.save(tmp_path / "again", accept=WHY),
    ]
    for call in calls:
        with pytest.raises(InputError, match="holds what simulation needs, not the survey"):
            call()
    assert len(list(loaded.replicates(2, scale=0.2))) == 2
    again = loaded.refit(small_survey(), same_pooling=True)
    assert again.simulate().n_persons > 0


def test_a_fit_is_replaced_as_a_whole(fitted, folder: Path, tmp_path: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    other = Pipeline([Structure(["sex"])]).fit(small_survey(), seed=9)
    other.save(folder, accept=WHY)
    assert load_fitted(folder).seed == 9
    assert {path.name for path in folder.iterdir()} & before == {"fit.json"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="holds other files"):
        fitted.save(tmp_path / "mine", accept=WHY)
    with pytest.raises(InputError, match="minimum"):
        fitted.save(folder, accept=WHY, minimum=0)
    with pytest.raises(InputError, match="path of a folder"):
        fitted.save(12, accept=WHY)


def test_what_was_changed_is_not_read(folder: Path) -> None:
    (models,) = folder.glob("models-*.json")
    text = models.read_text()
    models.write_text(text.replace("structure", "STRUCTURE", 1) + " ")
    with pytest.raises(OutputError, match="was changed"):
        load_fitted(folder)
    with pytest.raises(OutputError, match="holds no fit that can be read"):
        load_fitted(folder / "absent")


@pytest.mark.parametrize(
    ("tree", "what"),
    [
        ({"estimator": "os.system", "arguments": ["true"], "state": None}, "names os.system"),
        ({"record": "synthpop.pipeline.pipeline.os", "fields": {}}, "not in this version"),
        ({"record": "synthpop.pipeline.learn.learn", "fields": {}}, "is no class"),
        ({"record": "sklearn.utils.Bunch", "fields": {}}, "another record"),
        ({"_class": "x"}, "unknown"),
        ({"estimator": "sklearn.utils._joblib.__pyx_unpickle_x", "arguments": [], "state": None},
         "not in this version"),
    ],
)  # fmt: skip
def test_a_folder_cannot_run_code(tree: object, what: str, folder: Path) -> None:
    """Somebody who can write hashes too still names nothing but records and estimators."""
    from synthpop.microdata.formats.places import file_hash

    facts = json.loads((folder / "fit.json").read_text())
    name = facts["files"]["models"][0]
    models = json.loads((folder / name).read_text())
    models["stages"] = tree
    (folder / name).write_text(json.dumps(models))
    facts["files"]["models"][1] = file_hash(folder / name)
    del facts["hash"]
    (folder / "fit.json").write_text(json.dumps(with_hash(facts)))
    with pytest.raises(OutputError, match=what):
        load_fitted(folder)


def test_a_model_of_another_library_is_refused(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    class Own(DecisionTreeClassifier):
        pass

    stage = Categorical("status", model=Own(min_samples_leaf=20))
    fitted = Pipeline([Structure(["sex"]), stage]).fit(small_survey(), seed=1)
    with pytest.raises(InputError, match="which cannot be written as numbers and text"):
        fitted.save(tmp_path / "fit", accept=WHY)
    assert not (tmp_path / "fit").exists()
