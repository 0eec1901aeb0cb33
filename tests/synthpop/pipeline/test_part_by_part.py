"""Steps that take households of other strata, a few strata in memory at a time; resumed runs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import synthpop.pipeline.part_by_part as part_by_part
import synthpop.pipeline.postprocess as postprocess
from synthpop import Anneal, Continuous, Distribute, Margin, Pipeline, Structure, Survey
from synthpop.microdata.messages.errors import OutputError
from synthpop.population.verify import verify
from tests.failing import Failing, calls_of, contents
from tests.small import ROLES, small_frame

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:.*exact cop:synthpop.microdata.messages.errors.SparseDataWarning",
        "ignore::synthpop.microdata.messages.errors.ConvergenceWarning",
    ),
    pytest.mark.usefixtures("one_key"),
]
ROWS = 300


@pytest.fixture(scope="module")
def survey() -> Survey:
    """Nobody of the north lives alone; few elsewhere are older than 90."""
    frame = small_frame(120)
    alone = (frame["size"] == 1) & (frame["region"] == "north")
    return Survey(frame[~alone].reset_index(drop=True), **ROLES)


def sizes(people: pd.DataFrame, wanted: int = 30) -> Margin:
    """Households by region and size as they are, but some of one person in the north."""
    heads = people.drop_duplicates("hid")
    table = heads.groupby(["region", "size"], observed=False).size().rename("total").reset_index()
    alone = (table["region"] == "north") & (table["size"] == 1)
    return Margin(table.assign(total=table["total"].mask(alone, wanted)), level="household")


def areas(people: pd.DataFrame) -> Margin:
    names = people.drop_duplicates("hid").assign(
        area=lambda heads: heads["region"].astype(str) + (heads["hid"] % 2).astype(str)
    )
    table = names.groupby(["region", "area"], observed=True).size().rename("total")
    return Margin(table.reset_index(), level="household")


@pytest.fixture(scope="module")
def recipes(survey) -> dict[str, list]:
    base = Structure(["age", "sex"])
    people = Pipeline([base]).fit(survey, seed=1).simulate().frame()
    options = {"split": "region", "split_upper": "all", "max_proposals": 20_000}
    exchange, again = Anneal([sizes(people)], **options), Anneal([sizes(people, 120)], **options)
    within = Distribute("area", within="region", margins=areas(people), max_proposals=2_000)
    amounts = Continuous("income", predictors=["age"])
    inside = Anneal(Margin(areas(people).frame.drop(columns="region"), level="household"),
                    split="area", split_upper="region", max_proposals=2_000)  # fmt: skip
    return {
        "known totals": [base, exchange, amounts],
        "areas behind": [base, exchange, amounts, within, inside],
        "twice": [base, within, exchange, amounts, again],
    }


@pytest.mark.parametrize("case", [
    pytest.param("known totals", marks=pytest.mark.slow),
    pytest.param("areas behind", marks=pytest.mark.slow),
    "twice",
    "single persons",
])  # fmt: skip
def test_households_of_other_strata_give_the_same_bytes(
    case, recipes, survey, tmp_path, monkeypatch
) -> None:
    if case == "single persons":
        frame = survey.frame.drop(columns=["hid", "size", "pid"])
        survey = Survey(frame[(frame["sex"] == "f") | (frame["region"] != "north")].reset_index(
            drop=True), weight="w", strata="region")  # fmt: skip
        base = Structure(["age", "sex"])
        people = Pipeline([base]).fit(survey, seed=1).simulate().frame()
        table = people.groupby(["region", "sex"], observed=False).size().rename("total")
        table[("north", "m")] = 30
        exchange = Anneal([Margin(table.reset_index())], split="region", split_upper="all",
                          max_proposals=20_000)  # fmt: skip
        recipes = {case: [base, exchange]}
    fitted = Pipeline(recipes[case]).fit(survey, seed=1)
    whole = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "together")
    steps = [step.details for step in whole.manifest.finished.steps if step.stage == "anneal"]
    came = [np.sum(pd.DataFrame(step["regions"])["from_other_regions"]) for step in steps]
    assert came[0] > 10
    monkeypatch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
    searched: list[int] = []
    finish = Anneal.finish

    def counted(self, frame, run):
        searched.append(len(frame))
        return finish(self, frame, run)

    monkeypatch.setattr(Anneal, "finish", counted)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*needs the whole population")
        fitted.simulate(rows_per_block=ROWS, out=tmp_path / "apart", workers=2)
    assert len(searched) == 3 * len(steps)
    assert max(searched) < 0.8 * whole.n_persons
    assert contents(tmp_path / "together") == contents(tmp_path / "apart")
    assert verify(tmp_path / "apart") == []


def test_households_that_would_leave_their_stratum_need_everybody(recipes, tmp_path) -> None:
    layout = Pipeline(recipes["known totals"]).fit(
        Survey(small_frame(60), **ROLES), seed=1
    ).layout  # fmt: skip
    within, across = recipes["areas behind"][3], recipes["known totals"][1]
    in_areas = Anneal([Margin(1.0)], split="area", split_upper="country")
    assert postprocess.across_strata([within, in_areas], layout) is in_areas
    assert postprocess.across_strata([within, across], layout) is None
    by_area = Anneal([Margin(1.0)], split="area")
    assert postprocess.across_strata([within, by_area], layout) is None
    # households that came from another stratum brought its areas with them
    assert postprocess.across_strata([within, across, by_area], layout) is by_area
    assert postprocess.rounds_of([across], layout) == [range(0), range(1)]
    assert postprocess.rounds_of([within, by_area], layout) == [range(2)]


@pytest.mark.parametrize("stride", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_each_call_that_fails_loses_no_part_that_is_there(
    stride, recipes, survey, tmp_path
) -> None:
    fitted = Pipeline(recipes["known totals"]).fit(survey, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
        calls = calls_of(lambda: fitted.simulate(rows_per_block=10**6, out=tmp_path / "whole"))
        whole = contents(tmp_path / "whole")
        exchanges = []
        step = postprocess.PopulationSteps.step
        patch.setattr(
            postprocess.PopulationSteps, "step",
            lambda self, *a, **k: (exchanges.append(a[0]), step(self, *a, **k))[1],
        )  # fmt: skip
        for k in range(3, len(calls), stride):
            folder = tmp_path / str(k)
            with pytest.MonkeyPatch.context() as failing:
                Failing(failing, at=k)
                with pytest.raises(OutputError):
                    fitted.simulate(rows_per_block=10**6, out=folder)
            n_stored = len(list(folder.glob("steps/1/*.json")))
            exchanges.clear()
            fitted.simulate(rows_per_block=10**6, out=folder)
            assert contents(folder) == whole, k
            assert len(exchanges) in (0, 3 - n_stored), k
    assert len(calls) > 60


@pytest.mark.parametrize("damage", [
    "persons",
    pytest.param("none", marks=pytest.mark.slow),
    pytest.param("what it gave", marks=pytest.mark.slow),
    pytest.param("blocks", marks=pytest.mark.slow),
])  # fmt: skip
def test_what_a_stopped_run_left_is_used_only_where_it_is_whole(
    damage, recipes, survey, tmp_path, monkeypatch
) -> None:
    fitted = Pipeline(recipes["twice"]).fit(survey, seed=1)
    monkeypatch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
    fitted.simulate(rows_per_block=ROWS, out=tmp_path / "whole")
    made = part_by_part.PartByPart._made

    def stops(self, store, place, *rest):
        if place == (2, 1):
            raise KeyboardInterrupt
        return made(self, store, place, *rest)

    folder = tmp_path / damage
    with monkeypatch.context() as patch:
        patch.setattr(part_by_part.PartByPart, "_made", stops)
        with pytest.raises(KeyboardInterrupt):
            fitted.simulate(rows_per_block=ROWS, out=folder)
    states = sorted(path.name for path in folder.glob("steps/*/*.parquet"))
    assert states == ["part-0000.parquet", "part-0001.parquet", "part-0002.parquet"]
    file = {"persons": "steps/1/part-0002.parquet", "what it gave": "steps/2/part-0000.json",
            "blocks": "population/north/part-0000.parquet"}.get(damage)  # fmt: skip
    if file:
        data = bytearray((folder / file).read_bytes())
        data[len(data) // 2] ^= 1
        (folder / file).write_bytes(bytes(data))
    places: list[tuple[int, int]] = []
    with monkeypatch.context() as patch:
        patch.setattr(
            part_by_part.PartByPart, "_made",
            lambda self, store, place, *rest: (
                places.append(place), made(self, store, place, *rest))[1],
        )  # fmt: skip
        fitted.simulate(rows_per_block=ROWS, out=folder)
    assert contents(folder) == contents(tmp_path / "whole"), damage
    last = [(2, 1), (2, 2)]
    every = [(number, part) for number in (0, 1) for part in range(3)]
    assert (
        places
        == {
            "none": last,
            "persons": [*every[:3], (1, 2), *last],  # the persons of the first round are gone
            "what it gave": [(2, 0), *last],
            "blocks": [(2, 0), *last],
        }[damage]
    ), damage
