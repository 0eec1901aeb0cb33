"""Recipes that end with Distribute and Anneal, or begin with CorrectHeaping."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synthpop.pipeline.postprocess as postprocess
import synthpop.pipeline.run as run_module
import synthpop.population.storage as storage
from synthpop import (
    Anneal,
    Categorical,
    Continuous,
    Derive,
    Distribute,
    Margin,
    Pipeline,
    Structure,
    Survey,
    anneal,
    dump_runfile,
    load_runfile,
    open_population,
    run,
)
from synthpop.heaping import whipple_index
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import (
    ConvergenceWarning,
    InputError,
    MicrodataWarning,
    OutputError,
    RunFileError,
)
from synthpop.pipeline.postprocess import seed_of
from synthpop.pipeline.whole_strata import row_blocks
from synthpop.population.manifest import FinishRecord
from synthpop.population.verify import verify
from synthpop.runfiles.runfile import parse_runfile
from synthpop.stages.annealing_result import thinned
from synthpop.stages.blocks import _cut_counts, cut_rows
from synthpop.stages.heaping import CorrectHeaping
from synthpop.stages.id_columns import IdColumns
from synthpop.stages.population_stages import cell_counts
from tests.failing import contents
from tests.same import assert_same_frame
from tests.small import ROLES, small_frame, small_stages, small_survey

pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:.*exact cop:synthpop.microdata.messages.errors.SparseDataWarning"
    ),
    pytest.mark.usefixtures("one_key"),
]

BASE = [Structure(["age", "sex"]), Categorical("status", predictors=["sex"])]
ROWS = 400


def totals(people: pd.DataFrame, columns: list[str], seed: int) -> pd.DataFrame:
    """Totals that a population near by has: households counted once, twice or not at all."""
    times = np.random.default_rng(seed).choice(
        [0, 1, 2], people["hid"].max() + 1, p=[0.1, 0.8, 0.1]
    )
    other = people.assign(total=times[people["hid"]])
    return other.groupby(columns, observed=True)["total"].sum().reset_index()


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return Pipeline(BASE).fit(small_survey(), seed=1).simulate().frame()


@pytest.fixture(scope="module")
def tables(people) -> dict[str, pd.DataFrame]:
    heads = people.drop_duplicates("hid")
    areas = heads.assign(area=heads["region"].astype(str) + (heads["hid"] % 3).astype(str))
    return {
        "sex": totals(people, ["region", "sex"], 1),
        "size": totals(heads, ["region", "size"], 1),
        "areas": areas.groupby(["region", "area"], observed=True)
        .size()
        .rename("total")
        .reset_index(),
    }


@pytest.fixture(scope="module")
def population_stages(tables) -> list:
    areas = Distribute("area", within="region", margins=Margin(tables["areas"], level="household"))
    margins = [Margin(tables["sex"]), Margin(tables["size"], level="household")]
    return [Anneal(margins, split="region", tolerance=0.002), areas]


@pytest.fixture(scope="module")
def fitted(population_stages):
    return Pipeline([*BASE, *population_stages]).fit(small_survey(), seed=1)


@pytest.fixture(scope="module")
def population(fitted):
    return fitted.simulate(rows_per_block=ROWS)


def gap(counts: pd.Series, table: pd.DataFrame) -> float:
    keys = [name for name in table.columns if name != "total"]
    target = table.set_index(keys)["total"]
    return float((counts.reindex(target.index).fillna(0) - target).abs().sum())


def test_margins_are_met_by_an_independent_count(population, people, tables) -> None:
    new = population.frame().astype({"region": str, "sex": str, "area": str})
    heads = new.drop_duplicates("hid")
    total = tables["sex"]["total"].sum()
    before = people.astype({"region": str, "sex": str}).groupby(["region", "sex"]).size()
    assert gap(before, tables["sex"]) > 0.01 * total
    assert gap(new.groupby(["region", "sex"]).size(), tables["sex"]) <= 0.002 * total + 1
    assert gap(heads.groupby(["region", "size"]).size(), tables["size"]) <= 0.002 * len(heads) + 1
    assert new.groupby("hid")["area"].nunique().max() == 1
    shares = tables["areas"].set_index(["region", "area"])["total"]
    wanted = shares / shares.groupby("region").transform("sum")
    got = heads.groupby(["region", "area"]).size()
    expected = wanted * got.groupby("region").transform("sum")
    assert (got - expected).abs().max() < 1  # whole numbers of what the region has


def test_the_manifest_has_the_numbers_that_verify(population) -> None:
    record = population.manifest.finished
    assert record.summary == f"finished in memory: {record.n_persons_before:,} persons"
    annealing, areas = record.steps
    assert (annealing.stage, areas.stage) == ("anneal", "distribute area")
    assert annealing.converged is True
    assert annealing.moved_later == areas.moved_later == 0.0
    cells = pd.DataFrame(annealing.margins)
    fresh = population.frame().groupby(["region", "sex"], observed=True).size()
    assert cells.query("level == 'person'")["achieved"].tolist() == fresh.tolist()
    assert annealing.gap == cells["difference"].abs().sum() < annealing.details["gap_before"]
    changes = pd.DataFrame(annealing.details["distances"]).set_index("variable")
    assert not changes.loc["age", "controlled"]
    assert changes.loc["sex", "controlled"]
    assert "pid" not in changes.index
    assert pd.DataFrame(annealing.details["trace"])["region"].nunique() == 3
    assert FinishRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    recipe = population.manifest.identity.recipe
    assert [step["type"] for step in recipe[-2:]] == ["anneal", "distribute"]
    assert "Anneal: All margins are met" in population.summary()


def test_households_are_intact_and_numbered(population) -> None:
    start = Pipeline(BASE).fit(small_survey(), seed=1).simulate(rows_per_block=ROWS).frame()
    new = population.frame()
    assert new["hid"].is_monotonic_increasing
    assert new["hid"].unique().tolist() == list(range(1, population.n_households + 1))
    assert (new.groupby("hid").size() == new.groupby("hid")["size"].first()).all()
    assert (new["pid"] == new.groupby("hid").cumcount() + 1).all()
    assert new["region"].cat.codes.is_monotonic_increasing

    def compositions(frame: pd.DataFrame) -> set[tuple]:
        columns = ["region", "age", "sex", "status"]
        members: dict[int, list[tuple]] = {}
        values = frame[columns].astype(object).fillna("none").astype(str)
        for household, person in zip(frame["hid"], values.to_numpy().tolist(), strict=True):
            members.setdefault(household, []).append(tuple(person))
        return set(map(tuple, members.values()))

    assert compositions(new) <= compositions(start)


def test_blocks_hold_whole_households_of_one_stratum(population) -> None:
    seen: set[int] = set()
    for part in population.iter_blocks():
        assert part["region"].nunique() == 1
        assert len(part) <= ROWS
        assert not set(part["hid"]) & seen
        seen |= set(part["hid"])
    assert len(seen) == population.n_households == population.manifest.n_households
    assert population.manifest.n_persons == population.n_persons == len(population.frame())


def test_it_is_the_function_on_the_simulated_population(tables, monkeypatch) -> None:
    monkeypatch.setattr("synthpop.pipeline.fitted.secret_key", lambda key: key)  # from the seed
    step = Anneal(Margin(tables["sex"]), split="region", tolerance=0.001)
    new = Pipeline([*BASE, step]).fit(small_survey(), seed=1).simulate().frame()
    start = Pipeline(BASE).fit(small_survey(), seed=1).simulate()
    by_hand = anneal(start, Margin(tables["sex"]), split="region", tolerance=0.001, seed=1).data
    pd.testing.assert_frame_equal(new, by_hand, check_dtype=False)


@pytest.mark.parametrize("workers", [2, pytest.param("processes:2", marks=pytest.mark.slow)])
def test_any_number_of_workers(fitted, population, tmp_path, workers) -> None:
    again = fitted.simulate(rows_per_block=ROWS, workers=workers)
    assert_same_frame(again.frame(), population.frame())
    assert again.manifest == population.manifest
    fitted.simulate(rows_per_block=ROWS, out=tmp_path / "one")
    fitted.simulate(rows_per_block=ROWS, out=tmp_path / "other", workers=workers)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_memory_and_disk_hold_the_same(fitted, population, tmp_path) -> None:
    on_disk = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "p")
    assert_same_frame(on_disk.frame(), population.frame())
    assert verify(tmp_path / "p") == []
    again = open_population(tmp_path / "p")
    assert_same_frame(again.frame(), population.frame())
    assert again.manifest.finished == population.manifest.finished
    folders = {path.name for path in (tmp_path / "p" / "population").iterdir()}
    assert folders == {"north", "south", "west"}
    assert len(list((tmp_path / "p").rglob("*.parquet"))) > 6


@pytest.mark.parametrize(
    "case",
    [
        *("in areas", "amounts", "single persons"),
        *(pytest.param(case, marks=pytest.mark.slow) for case in ("areas", "numbers")),
    ],
)
def test_a_few_strata_at_a_time_give_the_same_bytes(case, tables, tmp_path, monkeypatch) -> None:
    frame, steps = small_frame(), [*BASE]
    sex = Margin(tables["sex"])
    areas = tables["areas"]
    if case == "numbers":  # strata and areas are whole numbers
        code = {"north": 3, "south": 11, "west": 200}
        frame["region"] = frame["region"].map(code).astype(int)
        sex = Margin(tables["sex"].assign(region=tables["sex"]["region"].map(code).astype(int)))
        areas = areas.assign(region=areas["region"].map(code).astype(int))
        areas["area"] = np.arange(len(areas)) * 40
    if case == "single persons":
        frame = frame.drop(columns=["hid", "size", "pid"])
        survey = Survey(frame, weight="w", strata="region")
        areas = areas.assign(total=1)
    else:
        survey = Survey(frame, **ROLES)
    north = Margin(areas[:2].assign(total=200)[["region", "total"]][:1], name="north only")
    level = "person" if case == "single persons" else "household"
    within = Distribute(
        "area", within="region", margins=Margin(areas, level=level), max_proposals=20_000
    )
    exchange = Anneal([sex], split="region", tolerance=0.002, max_proposals=20_000)
    of_areas = areas.drop(columns="region").assign(total=areas["total"] + 3)
    steps += {
        "areas": [
            within,
            Anneal([sex, north], split="region", tolerance=0.01, max_proposals=20_000),
        ],
        "in areas": [within, Anneal(Margin(of_areas, level=level), split="area", tolerance=0.1)],
        "amounts": [exchange, Continuous("income", predictors=["age"]), within],
        "numbers": [exchange, within],
        "single persons": [exchange, within],
    }[case]
    fitted = Pipeline(steps).fit(survey, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.simulate(rows_per_block=ROWS, out=tmp_path / "together")
        monkeypatch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
        seen: list[int] = []
        frame_of = postprocess.WholeStrata.frame
        monkeypatch.setattr(
            postprocess.WholeStrata, "frame",
            lambda strata: (seen.append(strata.n_persons), frame_of(strata))[1],
        )  # fmt: skip
        apart = fitted.simulate(rows_per_block=ROWS, out=tmp_path / "apart")
    assert max(seen) < 0.6 * apart.n_persons
    assert contents(tmp_path / "together") == contents(tmp_path / "apart")
    assert len(set(apart.frame()["region"])) == 3


def test_areas_of_one_name_in_two_regions_are_not_parts_of_a_region(tables) -> None:
    areas = tables["areas"]
    twice = areas.assign(area=areas["area"].str[-1])
    steps = [Distribute("area", within="region", margins=Margin(one)) for one in (areas, twice)]
    assert [step.parts_of_region for step in steps] == [("area",), ()]


def test_a_step_that_needs_everybody_says_so_before_it_begins(
    tables, monkeypatch, tmp_path
) -> None:
    monkeypatch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
    step = Anneal(Margin(tables["sex"]), tolerance=0.1)
    fitted = Pipeline([*BASE, step]).fit(small_survey(), seed=1)
    text = r"^anneal needs the whole population in memory: about 0\.00\d+ GB for [\d,]+ persons\. "

    def begun(event) -> None:
        raise KeyboardInterrupt

    with pytest.warns(MicrodataWarning, match=text), pytest.raises(KeyboardInterrupt):
        fitted.simulate(out=tmp_path / "p", on_event=begun)


def test_totals_that_no_part_has_are_a_fault_of_the_whole(tables, monkeypatch, tmp_path) -> None:
    strong = tables["sex"].assign(total=tables["sex"]["total"] * 1.4)
    step = Anneal(Margin(strong), split="region")
    fitted = Pipeline([*BASE, step]).fit(small_survey(), seed=1)
    with pytest.raises(InputError) as whole:
        fitted.simulate()
    monkeypatch.setattr(postprocess, "PERSONS_AT_ONCE", 1)
    with pytest.raises(InputError) as apart:
        fitted.simulate(out=tmp_path / "p")
    assert str(apart.value) == str(whole.value)


def test_seed_scale_and_rows_matter(fitted, population) -> None:
    other = fitted.simulate(seed=2, rows_per_block=ROWS)
    assert not other.frame().equals(population.frame())
    assert len(fitted.simulate(rows_per_block=10**6).manifest.blocks) == 3


def test_a_complete_run_is_recognised_and_an_unfinished_one_starts_again(
    fitted, tmp_path, monkeypatch
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    fitted.simulate(rows_per_block=ROWS, out=whole)
    real, calls = storage.write_part, {"n": 0}

    def dying(table, path):
        calls["n"] += 1
        if calls["n"] == 4:
            raise KeyboardInterrupt
        return real(table, path)

    monkeypatch.setattr(storage, "write_part", dying)
    with pytest.raises(KeyboardInterrupt):
        fitted.simulate(rows_per_block=ROWS, out=stopped)
    with pytest.raises(OutputError, match="unfinished run"):
        open_population(stopped)
    assert len(list(stopped.rglob("*.parquet"))) == 3
    left = stopped / "population" / "north" / "part-0099.parquet"
    left.write_bytes(b"of another cut")
    monkeypatch.setattr(storage, "write_part", real)
    fitted.simulate(rows_per_block=ROWS, out=stopped)
    assert contents(whole) == contents(stopped)

    def never(*arguments, **options):
        raise AssertionError("finished again")

    with monkeypatch.context() as patch:
        patch.setattr(run_module.PopulationSteps, "run", never)
        again = fitted.simulate(rows_per_block=ROWS, out=whole)
    assert again.n_persons > 0
    next(whole.rglob("part-0001.parquet")).unlink()
    fitted.simulate(rows_per_block=ROWS, out=whole)
    assert verify(whole) == []
    assert contents(whole) == contents(stopped)


def test_other_margins_are_another_run(population_stages, fitted, tables, tmp_path) -> None:
    fitted.simulate(out=tmp_path / "p")
    table = tables["areas"].copy()
    table.loc[0, "total"] += 1
    areas = Distribute("area", within="region", margins=Margin(table, level="household"))
    other = Pipeline([*BASE, population_stages[0], areas]).fit(small_survey(), seed=1)
    with pytest.raises(OutputError, match="another run: it differs in recipe"):
        other.simulate(out=tmp_path / "p")


def test_steps_that_move_earlier_totals_say_so(population_stages, tables) -> None:
    areas = population_stages[1]
    strong = tables["sex"].copy()
    strong["total"] = strong["total"] * np.where(strong["sex"] == "f", 1.2, 0.8)
    step = Anneal(Margin(strong), split="region", tolerance=0.005)
    fitted = Pipeline([*BASE, areas, step]).fit(small_survey(), seed=1)
    with pytest.warns(ConvergenceWarning, match="moved the totals of distribute area"):
        population = fitted.simulate()
    record = population.manifest.steps[0]
    assert record.moved_later > 0
    cells = pd.DataFrame(record.cells_at_the_end)
    heads = population.frame().drop_duplicates("hid").astype({"region": str, "area": str})
    fresh = heads.groupby(["region", "area"]).size()
    assert cells["achieved"].tolist() == fresh.tolist()
    assert (cells["achieved"] - cells["at_this_step"]).abs().sum() == record.moved_later


def test_annealing_inside_the_areas_keeps_them(population_stages, tables) -> None:
    areas = population_stages[1]
    table = tables["areas"][["area"]].assign(total=300)
    step = Anneal(Margin(table, level="household"), split="area", tolerance=0.0)
    fitted = Pipeline([*BASE, areas, step]).fit(small_survey(), seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        population = fitted.simulate()
    heads = population.frame().drop_duplicates("hid")
    assert heads["area"].value_counts().eq(300).all()
    assert heads["region"].cat.codes.is_monotonic_increasing


def test_two_of_a_kind_draw_apart(tables) -> None:
    steps = [Anneal(Margin(10.0)), Distribute("a", within="b", margins=[]), Anneal(Margin(5.0))]
    assert (seed_of(7, steps, 0), seed_of(7, steps, 1)) == (7, 7)
    assert seed_of(7, steps, 2) not in (7, seed_of(8, steps, 2))


def test_a_file_without_households() -> None:
    frame = small_frame().drop(columns=["hid", "size", "pid"])
    survey = Survey(frame, weight="w", strata="region")
    table = pd.DataFrame({"sex": ["f", "m"], "total": [3000, 3500]})
    areas = pd.DataFrame({"region": ["north", "south", "west"], "area": [1, 2, 3], "total": 10})
    steps = [
        Anneal(Margin(table), tolerance=0.0),
        Distribute("area", within="region", margins=Margin(areas)),
    ]
    population = Pipeline([*BASE, *steps]).fit(survey, seed=1).simulate()
    new = population.frame()
    assert new["sex"].value_counts().to_dict() == {"f": 3000, "m": 3500}
    assert new["pid"].tolist() == list(range(1, 6501))
    assert pd.api.types.is_integer_dtype(new["area"])
    assert population.n_persons == population.n_households == 6500
    assert new["region"].cat.codes.is_monotonic_increasing


def test_no_strata_and_large_households(tmp_path) -> None:
    survey = Survey(small_frame(), weight="w", household="hid")
    table = pd.DataFrame({"sex": ["f", "m"], "total": [200, 200]})
    step = Anneal(Margin(table), tolerance=0.0)
    fitted = Pipeline([*BASE, step]).fit(survey, seed=1)
    population = fitted.simulate(out=tmp_path / "p", rows_per_block=2, scale=0.05)
    new = population.frame()
    assert new["sex"].value_counts().to_dict() == {"f": 200, "m": 200}
    assert (new.groupby("hid").size() == new.groupby("hid")["hsize"].first()).all()
    assert max(block.n_persons for block in population.manifest.blocks) == 4


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5)), min_size=0, max_size=30),
    st.integers(1, 9),
)
def test_cuts_cover_all_households_once(households, rows) -> None:
    households = sorted(households, key=lambda pair: pair[0])
    sizes = [size for _, size in households]
    columns = {
        "h": np.repeat(np.arange(len(sizes)), sizes),
        "s": np.repeat(np.array([s for s, _ in households], dtype=np.int8), sizes),
    }
    columns["p"] = np.arange(len(columns["h"]))
    number = np.dtype(np.int64)
    strata = Field.categorical("s", ("a/b", "b", "c"))
    layout = IdColumns(Field("h", "numeric", number), strata, None, Field("p", "numeric", number))
    pairs = list(row_blocks(layout, {"s": strata}, columns, rows))
    blocks, slices = [block for block, _ in pairs], [rows for _, rows in pairs]
    assert [s.start for s in slices] == [0, *(s.stop for s in slices)][: len(slices)]
    assert sum(b.n_persons for b in blocks) == sum(sizes)
    assert sum(b.n_households for b in blocks) == len(sizes)
    assert len({b.file for b in blocks}) == len(blocks)
    for block, inside in pairs:
        assert len(set(columns["s"][inside])) == 1
        assert block.n_persons <= rows or block.n_households == 1
        assert len(set(columns["h"][inside])) == block.n_households


@settings(max_examples=25, deadline=None)
@given(counts=st.lists(st.integers(0, 6), min_size=1, max_size=5), rows=st.integers(1, 12))
def test_rows_and_counts_are_cut_into_the_same_blocks(counts, rows) -> None:
    sizes = np.arange(1, len(counts) + 1)
    by_counts = [int((sizes * part).sum()) for part in _cut_counts(sizes, np.array(counts), rows)]
    members = np.repeat(sizes, counts)
    households = np.repeat(np.arange(len(members)), members)
    assert [block.n_persons for block in cut_rows(households, None, rows)] == by_counts


def test_cell_counts_of_sums_and_households() -> None:
    frame = pd.DataFrame(
        {"hid": [1, 1, 2, 3], "sex": list("fmff"), "x": [1.0, np.nan, 3.0, 4.0], "r": [1, 1, 1, 2]}
    )
    by_sex = Margin(pd.DataFrame({"sex": ["f", "m"], "total": [1.0, 1.0]}), variable="x")
    by_r = Margin(pd.DataFrame({"r": [1, 2], "total": [1, 1]}), level="household")
    counts = cell_counts(frame, [by_sex, by_r, Margin(3.0)], "hid")
    assert counts["achieved"].tolist() == [8.0, 0.0, 2.0, 1.0, 4.0]
    assert cell_counts(frame, [Margin(3.0)], None)["achieved"].tolist() == [4.0]


def amounts_pipeline(anneal_first: bool, tables) -> Pipeline:
    step = Anneal(Margin(tables["sex"]), split="region")
    income = Continuous("income", predictors=["age", "status"])
    steps = [step, income] if anneal_first else [income, step]
    return Pipeline([*BASE, *steps])


def exact_copies(people: pd.DataFrame) -> float:
    """Share of the households that have the members and amounts of another one."""
    values = people.drop(columns=["hid", "pid"]).round(6).to_numpy(dtype=object).tolist()
    keys = pd.Series([str(row) for row in values], people.index)
    households = keys.groupby(people["hid"]).agg(";".join)
    return float(households.duplicated().mean())


def test_steps_after_annealing_draw_for_each_copy(tables, tmp_path) -> None:
    last = amounts_pipeline(False, tables).fit(small_survey(), seed=1)
    first = amounts_pipeline(True, tables).fit(small_survey(), seed=1)
    assert [step.label for step in first.steps][-2:] == ["anneal", "continuous income"]
    clones, own = last.simulate(rows_per_block=ROWS), first.simulate(rows_per_block=ROWS)
    assert own.manifest.steps[0].gap == clones.manifest.steps[0].gap == 0
    adults = [people[people.groupby("hid")["income"].transform("sum") > 0]
              for people in (clones.frame(), own.frame())]  # fmt: skip
    copies = [exact_copies(people) for people in adults]
    assert copies[0] > 0.02
    assert copies[1] < 0.003
    means = [people["income"].mean() for people in adults]
    assert means[1] == pytest.approx(means[0], rel=0.05)
    assert own.columns == (*clones.columns,)
    again = first.simulate(rows_per_block=ROWS, workers=2)
    assert_same_frame(again.frame(), own.frame())
    on_disk = first.simulate(rows_per_block=ROWS, out=tmp_path / "p")
    assert_same_frame(on_disk.frame(), own.frame())
    assert verify(tmp_path / "p") == []
    kinds = [step["type"] for step in own.manifest.identity.recipe]
    assert kinds == ["structure", "categorical", "anneal", "continuous"]


def test_a_total_of_a_variable_that_comes_later_is_told(tables) -> None:
    status = pd.DataFrame({"status": ["works"], "total": [3000]})
    text = fails([BASE[0], Anneal(Margin(status)), BASE[1]])
    assert "column 'status' is made by a later step" in text


# faults of a recipe


def fails(stages: list, survey: Survey | None = None) -> str:
    with pytest.raises(InputError) as caught:
        Pipeline(stages).fit(survey or small_survey(), seed=1)
    return str(caught.value)


def table(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({**columns, "total": 10.0})


def test_a_step_in_the_wrong_place(population_stages) -> None:
    text = fails([BASE[0], population_stages[0], BASE[1], CorrectHeaping("age")])
    assert "correct_heaping age: comes behind structure" in text
    assert "before Structure" in text
    assert "anneal: comes before Structure" in fails([population_stages[0], *BASE])


def test_the_structure_alone_tells_what_differs_within_households() -> None:
    text = fails([BASE[0], Anneal(Margin(table(sex=["f"])), split="sex")])
    assert "'sex' differs between members" in text


@pytest.mark.parametrize(
    ("step", "messages"),
    [
        (Anneal(Margin(table(sx=["f"]))), ["'sx' is unknown", "Did you mean 'sex'?"]),
        (
            Anneal(Margin(table(income=[1.0]))),
            ["'income' is in the survey, but the population will not have it"],
        ),
        (Anneal(Margin(table(area=["a"]))), ["column 'area' is made by a later step"]),
        (Anneal(Margin(table(sex=["female"]))), ["no value of 'sex' occurs", "There are: f, m"]),
        (
            Anneal(Margin(table(sex=["f"])), split="region"),
            ["has no column 'region', the split"],
        ),
        (Anneal(Margin(table(sex=["f"])), split="sex"), ["'sex' differs between members"]),
        (
            Anneal(Margin(table(age=[3]), level="household")),
            ["'age' differs between members", "level='person'"],
        ),
        (Anneal(Margin(table(sex=["f"]), variable="status")), ["'status' is not numeric"]),
        (Anneal(Margin(table(sex=["f"]), variable="wage")), ["variable 'wage' is in the survey"]),
        (Anneal([]), ["has no margins"]),
        (
            Anneal(Margin(table(region=["north", "east"])), split="region"),
            ["there are totals of region east", "The survey has no such stratum"],
        ),
        (
            Distribute(
                "area",
                within="region",
                margins=Margin(
                    table(region=["north", "south", "west", "east"], area=["a", "b", "c", "d"])
                ),
            ),
            ["there are totals of region east"],
        ),
        (
            Anneal(Margin(5.0), tolerance=-1, cooling=2, temperature=0, max_proposals=0),
            ["tolerance: is -1", "cooling", "temperature", "max_proposals"],
        ),
        (
            Distribute("area", within="regoin", margins=Margin(table(regoin=["n"], area=["a"]))),
            ["within 'regoin' is unknown", "Did you mean 'region'?"],
        ),
        (
            Distribute("area", within="region", margins=Margin(table(region=["north"]))),
            ["has no column 'area'", "region 'south' has no area"],
        ),
        (
            Distribute("sex", within="region", margins=Margin(table(region=["north"], sex=["f"]))),
            ["makes 'sex', which the population already has"],
        ),
        (
            Distribute(
                "area",
                within="region",
                margins=Margin(table(region=["north"], area=["a"]), importance=2),
                tolerance=-1,
                max_proposals=0,
            ),
            ["importance is given", "all tables of areas count alike", "max_proposals: is 0"][1:],
        ),
    ],
)
def test_faults_of_population_stages_come_before_anything_is_simulated(step, messages) -> None:
    areas = Margin(table(region=["north", "south", "west"], area=["a", "b", "c"]))
    last = (
        [Distribute("area", within="region", margins=areas)] if "area" not in step.provides else []
    )
    text = fails([*BASE, step, *last])
    for message in messages:
        assert message in text


def test_all_faults_of_a_recipe_come_together() -> None:
    steps = [Anneal(Margin(table(sx=["f"]))), Anneal(Margin(table(jb=["a"])))]
    text = fails([CorrectHeaping("agee"), Structure(["age", "sexx"]), *steps])
    for part in ("'agee'", "'sexx'", "'sx'", "'jb'"):
        assert part in text


def test_households_of_a_survey_without_them() -> None:
    survey = Survey(small_frame(), weight="w", strata="region")
    step = Anneal(Margin(table(region=["north"]), level="household"))
    assert "the survey has no households" in fails([*BASE, step], survey)


def test_a_derived_column_and_an_area_may_be_margins(tables) -> None:
    derived = Derive("old", source="age", breaks=[0, 39, 120], labels=["no", "yes"])
    areas = Distribute("area", within="region", margins=Margin(tables["areas"], level="household"))
    step = Anneal(
        [Margin(pd.DataFrame({"old": ["yes"], "total": [4000]})), Margin(tables["areas"],
         level="household")],
        tolerance=0.001,
    )  # fmt: skip
    population = Pipeline([*BASE, derived, areas, step]).fit(small_survey(), seed=1).simulate()
    assert abs(int((population.frame()["old"] == "yes").sum()) - 4000) <= 4


# ages


def heaped(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    age = frame["age"].to_numpy()
    return frame.assign(
        age=np.where(rng.random(len(age)) < 0.4, 5 * np.round(age / 5), age).astype(int)
    )


def test_ages_are_corrected_before_the_fit() -> None:
    frame = heaped(small_frame(1500))
    survey = Survey(frame, **ROLES)
    fitted = Pipeline([CorrectHeaping("age"), *BASE]).fit(survey, seed=1)
    plain = Pipeline(BASE).fit(survey, seed=1)
    before = whipple_index(plain.simulate().frame()["age"])
    assert before > 180
    assert whipple_index(fitted.simulate().frame()["age"]) < 140
    record = fitted.simulate().manifest.prepared[0]
    new = fitted.survey.frame["age"]
    assert record.stage == "correct_heaping age"
    assert record.details["n_changed"] == int((new != frame["age"]).sum()) > 100
    assert record.details["weighted_whipple_before"] == whipple_index(frame["age"], survey.weights)
    assert record.details["weighted_whipple_after"] == whipple_index(new, survey.weights)
    assert new.dtype == frame["age"].dtype
    assert plain.simulate().manifest.prepared == ()
    assert_same_frame(frame, survey.frame)


def test_options_and_seed_of_the_correction() -> None:
    survey = Survey(heaped(small_frame(600)), **ROLES)
    seen = {}
    for key, step, seed in (
        ("default", CorrectHeaping("age"), 1),
        ("seed", CorrectHeaping("age"), 2),
        ("method", CorrectHeaping("age", method="uniform"), 1),
        ("heaps", CorrectHeaping("age", heaps="10year"), 1),
        ("list", CorrectHeaping("age", heaps=[40], window=(2, 2)), 1),
        ("window", CorrectHeaping("age", heaps=[40], window=(4, 4)), 1),
    ):
        fitted = Pipeline([step, BASE[0]]).fit(survey, seed=seed)
        seen[key] = tuple(fitted.survey.frame["age"])
    assert len(set(seen.values())) == 6
    again = Pipeline([CorrectHeaping("age"), BASE[0]]).fit(survey, seed=1)
    assert tuple(again.survey.frame["age"]) == seen["default"]


@pytest.mark.parametrize("kind", ["Int16", "float64", "Float32"])
def test_types_and_missing_ages_stay(kind) -> None:
    frame = heaped(small_frame(400))
    ages = frame["age"].astype(kind)
    ages[::7] = None
    survey = Survey(frame.assign(age=ages), **ROLES)
    new = Pipeline([CorrectHeaping("age"), BASE[0]]).fit(survey, seed=1).survey.frame["age"]
    assert new.dtype == survey.frame["age"].dtype
    assert new.isna().equals(survey.frame["age"].isna())
    assert (new != survey.frame["age"]).sum() > 20


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (CorrectHeaping("sex"), "'sex' is not numeric"),
        (CorrectHeaping("size"), "is the household_size of the survey"),
        (CorrectHeaping("age", method="gamma"), "method: 'gamma' is not allowed"),
        (CorrectHeaping("age", heaps="7year"), "heaps: '7year' is not allowed"),
        (CorrectHeaping("age", heaps=[30]), "window is needed"),
    ],
)
def test_faults_of_the_correction(step, message) -> None:
    assert message in fails([step, BASE[0]])
    assert "more than once" in fails([CorrectHeaping("age"), CorrectHeaping("age"), BASE[0]])


# run files

TEXT = """
[survey]
file = "survey.parquet"
weight = "w"
household = "hid"
household_size = "size"
strata = "region"
person = "pid"

[run]
seed = 1

[[stage]]
type = "correct_heaping"
name = "age"
heaps = "10year"

[[stage]]
type = "structure"
variables = ["age", "sex"]

[[stage]]
type = "anneal"
margins = [{file = "sex.csv"}, {file = "size.csv", level = "household", importance = 2.0}]
split = "region"
tolerance = 0.005

[[stage]]
type = "distribute"
name = "area"
within = "region"
margins = [{file = "areas.csv", level = "household"}]
"""


@pytest.fixture
def runfile(tmp_path, tables):
    small_frame().to_parquet(tmp_path / "survey.parquet")
    for name, totals_of in tables.items():
        totals_of.to_csv(tmp_path / f"{name}.csv", index=False)
    path = tmp_path / "run.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_run_file_is_the_recipe_in_python(runfile, tables) -> None:
    margins = [Margin(tables["sex"]), Margin(tables["size"], level="household", importance=2.0)]
    stages = [
        CorrectHeaping("age", heaps="10year"),
        BASE[0],
        Anneal(margins, split="region", tolerance=0.005),
        Distribute("area", within="region", margins=Margin(tables["areas"], level="household")),
    ]
    by_hand = Pipeline(stages).fit(small_survey(), seed=1).simulate()
    population = run(runfile)
    assert_same_frame(population.frame(), by_hand.frame())
    assert population.manifest == by_hand.manifest  # margins of a file are those of the table


def test_run_files_there_and_back(runfile, tables) -> None:
    plan = load_runfile(runfile)
    text = dump_runfile(plan, runfile.with_name("again.toml"))
    assert 'file = "size.csv"' in text
    assert load_runfile(runfile.with_name("again.toml")).stages == plan.stages
    (runfile.parent / "sex.csv").write_text("region,sex,total\nnorth,f,5\n")
    assert load_runfile(runfile).stages != plan.stages


def test_margins_made_in_python_are_dumped_with_their_cells() -> None:
    cells = pd.DataFrame({"sex": ["f", None], "n": np.array([3, 4], dtype=np.int32)})
    stages = (
        BASE[0],
        Anneal([Margin(cells, total="n", name="x"), Margin(0.5, size=100.0)], max_proposals=9),
    )
    plan = parse_runfile(
        {"survey": {"demo": True}, "stage": [{"type": "structure", "variables": ["age"]}]}
    )
    import tomllib
    from dataclasses import replace

    data = tomllib.loads(dump_runfile(replace(plan, stages=stages)))
    assert data["stage"][1]["margins"][0]["table"] == [{"sex": "f", "n": 3}, {"n": 4}]
    again = parse_runfile(data)
    assert again == parse_runfile(tomllib.loads(dump_runfile(again)))
    first, second = again.stages[1].margins
    assert first.frame["sex"].isna().tolist() == [False, True]
    assert (first.name, first.targets.tolist()) == ("x", [3.0, 4.0])
    assert second.targets.tolist() == [50.0]
    assert again.stages[1].max_proposals == 9


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ('file = "sex.csv"', 'file = "none.csv"', ["(anneal) margins 1", "no such file"]),
        ('file = "sex.csv"', 'level = "person"', ["needs file or table"]),
        ('file = "sex.csv"', 'file = "sex.csv", table = 3.0', ["needs file or table"]),
        ('level = "household", imp', 'level = "houshold", imp', ["(anneal) margins 2 level"]),
        ("importance = 2.0", "importance = 0", ["(anneal) margins 2 importance"]),
        (
            '{file = "sex.csv"}',
            '{fil = "sex.csv"}',
            ["margins 1 fil: is unknown. Did you mean 'file'"],
        ),
        ('{file = "sex.csv"}', '"sex.csv"', ["(anneal) margins 1"]),
        ('split = "region"', 'splitt = "region"', ["splitt: is unknown. Did you mean 'split'?"]),
        ("tolerance = 0.005", 'tolerance = "x"', ["(anneal) tolerance"]),
        ('within = "region"', "", ["(distribute) within"]),
        ('margins = [{file = "areas.csv", level = "household"}]', "margins = []", ["margins"]),
        ('heaps = "10year"', 'heap = "10year"', ["heap: is unknown. Did you mean 'heaps'?"]),
        ('file = "sex.csv"', 'table = [{sex = "f"}]', ["column of totals is not in the table"]),
    ],
)
def test_faults_of_a_run_file(runfile, old, new, messages) -> None:
    assert old in TEXT
    runfile.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RunFileError) as caught:
        load_runfile(runfile)
    for message in messages:
        assert message in str(caught.value)


def test_stages_without_population_stages_are_as_before() -> None:
    population = Pipeline(small_stages()).fit(small_survey(), seed=7).simulate()
    assert population.manifest.finished is None


def test_strata_that_are_numbers(tmp_path) -> None:
    frame = small_frame()
    frame["region"] = frame["region"].cat.codes.astype("int64") + 10
    regions = pd.DataFrame({"region": [10, 11, 12], "total": [4000, 2000, 1000]})
    areas = regions.assign(area=["a", "b", "c"])
    steps = [
        Anneal(Margin(regions), split="region", tolerance=0.0),
        Distribute("area", within="region", margins=Margin(areas)),
    ]
    fitted = Pipeline([*BASE, *steps]).fit(Survey(frame, **ROLES), seed=1)
    population = fitted.simulate(out=tmp_path / "p")
    new = population.frame()
    assert new.groupby("region").size().to_dict() == {10: 4000, 11: 2000, 12: 1000}
    assert new["area"].value_counts().to_dict() == {"a": 4000, "b": 2000, "c": 1000}
    assert_same_frame(fitted.simulate().frame(), new)
    assert verify(tmp_path / "p") == []


def test_events_of_the_last_steps(fitted, tmp_path) -> None:
    seen: list = []
    fitted.simulate(out=tmp_path / "p", on_event=seen.append)
    assert list(dict.fromkeys(event.job for event in seen)) == [
        "simulate",
        "anneal",
        "distribute",
        "write",
    ]
    assert (seen[-1].done, seen[-1].total) == (3, 3)


def test_a_long_trace_is_thinned_and_keeps_its_end() -> None:
    trace = pd.DataFrame({"region": ["a"] * 1000 + ["b"] * 3, "proposals": range(1003)})
    short = thinned(trace)
    assert short["region"].value_counts().to_dict() == {"a": 200, "b": 3}
    assert short["proposals"].iloc[[0, 199, 202]].tolist() == [0, 999, 1002]


def test_a_population_on_disk_has_no_arrays(fitted, tmp_path) -> None:
    population = fitted.simulate(out=tmp_path / "p")
    with pytest.raises(TypeError, match="use iter_blocks"):
        population.arrays()
    arrays = fitted.simulate().arrays()
    assert set(arrays) == set(population.columns)
    with pytest.raises(ValueError, match="read-only"):
        arrays["age"][0] = 1
