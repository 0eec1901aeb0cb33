"""Who guesses what the draws of a release came from finds the survey; nobody can guess a key."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import copied_values
from riskeval.protection.release import release_file
from synthpop import (
    FittedPipeline,
    Pipeline,
    Structure,
    guessed_draws,
    load_demo_survey,
    open_population,
)
from synthpop.microdata.messages.errors import InputError
from synthpop.sampling import Cluster, SimpleRandom
from synthpop.sampling.draw import draw_sample

STRUCTURE = Structure(["relation", "age", "rb090"], jitter={"age": 2})
ALONE = Structure(["age", "rb090"], pooling="none")  # quickly fitted
GUESSES = [*range(8), 2026]
OF_A_TABLE = {"household": "db030", "strata": "db040"}


@pytest.fixture(scope="module")
def survey():  # type: ignore[no-untyped-def]
    return load_demo_survey()


@pytest.fixture(scope="module")
def fitted(survey) -> FittedPipeline:
    """Donors of other strata, ages drawn again."""
    return Pipeline([STRUCTURE]).fit(survey, seed=1)


@pytest.fixture(scope="module")
def alone(survey) -> FittedPipeline:
    return Pipeline([ALONE]).fit(survey, seed=1)


def test_a_seed_that_is_known_gives_the_households_of_the_survey(fitted, survey) -> None:
    """The attack succeeds where draws come from the seed, so that it can fail elsewhere."""
    result = guessed_draws(fitted.simulate(), survey=survey, guesses=[0, 1])
    assert result.found == "seed 1"
    assert result.p_value < 1e-50
    assert len(result.table) > 8000
    assert result.table["right"].mean() > 0.99
    assert (result.recovered, result.unique) == (943, 1706)
    assert "943 of 1,706 households of three or more persons" in result.summary()


def test_a_replicate_a_table_and_a_weak_key_are_found_too(alone) -> None:
    options = {**OF_A_TABLE, "structure": ALONE, "guesses": GUESSES}
    replicate = next(alone.replicates(1, scale=0.1)).frame()
    assert guessed_draws(replicate, **options).found == "replicate 1 of seed 1"
    assert guessed_draws(alone.simulate(scale=0.1).frame(), **options).found == "seed 1"
    keyed = alone.simulate(scale=0.1, key=(7).to_bytes(64, "big"), seed=7)
    assert guessed_draws(keyed, guesses=GUESSES).found == "key 7"


def test_the_manifest_of_a_run_without_a_key_is_enough(alone, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("synthpop.population.storage.key_of_run", lambda *_: None)
    alone.simulate(scale=0.1, seed=918273645, out=tmp_path / "old")
    monkeypatch.undo()
    old = open_population(tmp_path / "old")
    assert guessed_draws(old, guesses=[]).found == "seed 918273645"


@pytest.mark.parametrize("kind", ["population", "replicate", "protected", "sample"])
def test_nothing_follows_from_what_is_drawn_with_a_key(kind: str, alone, survey, tmp_path) -> None:
    """Every kind of release: with code, manifest and guessable numbers nothing beyond chance."""
    if kind == "replicate":
        made = next(alone.replicates(1, scale=0.1, out=tmp_path / "r"))
    else:
        made = alone.simulate(scale=0.1, out=tmp_path / "p")
    options = {}
    if kind == "protected":
        made, options = release_file(made.frame(), household="db030"), OF_A_TABLE
    if kind == "sample":
        design = Cluster("db030", SimpleRandom(4000))
        made, options = draw_sample(made, design, seed=1).frame, OF_A_TABLE
    result = guessed_draws(made, structure=ALONE, survey=survey, guesses=range(30), **options)
    assert result.found == ""
    assert result.table.empty
    assert result.alike < result.expected + 6 * result.expected**0.5 + 10  # the best of 210
    assert result.n_households > 1000
    assert "better than chance" in result.summary()
    assert result.conclusive == (kind != "sample")


@pytest.mark.parametrize(
    ("name", "scale", "conclusive"),
    [
        ("alone", 0.005, False),
        ("alone", 0.03, True),
        ("fitted", 0.03, False),
        ("fitted", 0.25, True),
    ],
)
def test_a_file_in_which_the_right_guess_hides_proves_nothing(
    name: str, scale: float, conclusive: bool, request, survey
) -> None:
    """Where nothing would be found the summary says so: the seed that is tried is the right one."""
    made = request.getfixturevalue(name).simulate(scale=scale)
    structure = STRUCTURE if name == "fitted" else ALONE
    tried = guessed_draws(made, guesses=[1])
    wrong = guessed_draws(
        made.frame(), structure=structure, survey=survey, guesses=[2], **OF_A_TABLE
    )
    assert tried.conclusive is wrong.conclusive is conclusive
    assert (tried.found == "seed 1") == conclusive
    assert ("would have shown itself" in wrong.summary()) == conclusive
    assert ("too small for this to prove anything" in wrong.summary()) != conclusive
    if conclusive:
        assert tried.alike - tried.expected > wrong.needed
    unknown = guessed_draws(made.frame(), structure=structure, guesses=[2], **OF_A_TABLE)
    assert unknown.conclusive is None or scale < 0.02
    assert "prove" in unknown.summary()


def test_chance_is_not_taken_for_a_finding(survey) -> None:
    """Wrong guesses of a population that is open: no more than one in a thousand is believed."""
    structure = Structure(["rb090"], pooling="none")
    households = Pipeline([structure]).fit(survey, seed=10**9 + 7).simulate(scale=0.03).frame()
    found = guessed_draws(
        households, structure=structure, guesses=range(101, 500), **OF_A_TABLE
    ).found
    assert found == ""


def test_copied_values_says_what_can_be_guessed(alone, survey, tmp_path) -> None:
    names, options = ["age", "rb090"], {"household": "db030"}
    old = copied_values(survey.frame, alone.simulate(scale=0.02), names, **options)
    assert "One of" in old.summary()
    assert "is right (seed 1)" in old.summary()
    keyed = alone.simulate(scale=0.02, out=tmp_path / "p")
    new = copied_values(survey.frame, keyed, names, **options)
    assert "better than chance" in new.summary()
    assert copied_values(survey.frame, keyed.frame(), names, **options).notes == ()


def test_the_population_of_other_steps_says_that_it_cannot_be_tried() -> None:
    frame = pd.DataFrame({"a": [1, 2], "h": [1, 2]})
    with pytest.raises(InputError, match="no step of the recipe copies households"):
        guessed_draws(frame)
    with pytest.raises(InputError, match="'age'"):
        guessed_draws(frame, structure=Structure(["age"]))


def test_persons_without_households_and_missing_numbers(survey) -> None:
    frame = survey.frame.copy()
    frame["age"] = frame["age"].astype("float64").where(np.arange(len(frame)) % 7 > 0)
    data = type(survey)(frame, weight="rb050", household="db030")
    steps = [Structure(["rb090", "age"], jitter={"age": 1}, pooling="none")]
    made = Pipeline(steps).fit(data, seed=3)
    assert guessed_draws(made.simulate(scale=0.1), survey=data, guesses=GUESSES).found == "seed 3"
    persons = type(survey)(frame, weight="rb050")
    single = Pipeline([Structure(["rb090", "age"])]).fit(persons, seed=4)
    assert guessed_draws(single.simulate(scale=0.05), guesses=GUESSES).found == "seed 4"
