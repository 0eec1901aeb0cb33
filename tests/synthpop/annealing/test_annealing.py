"""Households exchanged until margins are met: goldens, options, invariants."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop import Pipeline, Structure, Survey
from synthpop.annealing.search import Search, SearchRegion, exchange
from synthpop.calibration import Margin
from synthpop.kernels.annealing import exchange_households
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError, SparseDataWarning
from synthpop.population.run_identity import StoredRoles
from synthpop.stages.annealing import Anneal, anneal
from tests.reference_data import golden
from tests.same import assert_same_frame

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*exact cop:synthpop.microdata.messages.errors.SparseDataWarning"
)


def make_population(seed: int = 0, n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    household = np.repeat(np.arange(n), sizes)
    frame = pd.DataFrame(
        {
            "hid": household,
            "hsize": np.repeat(sizes, sizes),
            "region": np.repeat(rng.choice(["N", "S", "W"], n, p=[0.5, 0.3, 0.2]), sizes),
            "sex": rng.choice(["f", "m"], len(household)),
            "job": rng.choice(["a", "b", None], len(household)),
            "income": rng.lognormal(7, 1, len(household)),
        }
    )
    return frame


def disturbed(frame: pd.DataFrame, columns: list[str], seed: int = 1) -> pd.DataFrame:
    """Margins of a population with some households more and others less."""
    rng = np.random.default_rng(seed)
    times = rng.choice([0, 1, 2], frame["hid"].max() + 1, p=[0.1, 0.8, 0.1])
    other = frame.assign(total=times[frame["hid"]])
    return other.groupby(columns)["total"].sum().reset_index()


def disturbed_households(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return disturbed(frame.drop_duplicates("hid"), columns)


@pytest.fixture
def frame() -> pd.DataFrame:
    return make_population()


@pytest.fixture
def margins(frame) -> list[Margin]:
    return [
        Margin(disturbed(frame, ["region", "sex"])),
        Margin(disturbed_households(frame, ["region", "hsize"]), level="household"),
    ]


@pytest.mark.parametrize(
    ("tolerance", "reference"),
    [(0.05, "calib_scaled_eps05"), (0.01, "calib_scaled_eps01"), (0.001, "calib_scaled_eps001")],
)
def test_reaches_what_the_reference_reaches(tolerance, reference):
    population = golden("pop", "g_pop_cat_multinom_seed1.parquet")
    margin = Margin(golden("pop", "g_margin_scaled.parquet"), total="Freq")
    result = anneal(
        population, margin, household="db030", split="db040", tolerance=tolerance, seed=1
    )
    expected = golden("pop", "g_calibPop.json")[reference]["per_seed"]["1"]
    assert result.converged
    assert result.regions["gap_before"].sum() == expected["abs_dev_before"]
    assert result.regions["gap_after"].sum() <= tolerance * expected["n_target"] + 1
    if tolerance == 0.001:
        assert result.regions["gap_after"].sum() < 80
        assert result.regions["exchanged"].sum() < 4000
    fresh = result.data.groupby(["db040", "rb090", "pb220a"], observed=True).size()
    target = margin.frame.set_index(["db040", "rb090", "pb220a"])["Freq"]
    gap = (fresh.reindex(target.index).fillna(0) - target).abs().sum()
    assert gap == result.regions["gap_after"].sum()
    size = result.data.groupby("db030")["hsize"].agg(["first", "size"])
    assert (size["first"] == size["size"]).all()
    assert result.distances.set_index("variable").loc["age", "distance"] < 0.02


def test_population_shrinks_to_its_totals():
    population = golden("pop", "g_pop_cat_multinom_seed1.parquet")
    margin = Margin(golden("pop", "g_margin_eusilcP.parquet"), total="Freq")
    result = anneal(population, margin, household="db030", split="db040", seed=1)
    assert result.converged
    assert result.regions["gap_after"].sum() <= 485
    assert abs(len(result.data) - 48_485) < 485


def test_persons_and_households_against_the_reference():
    population = golden("pop", "g_pop_cat_multinom_seed1.parquet")
    population["hsize4"] = population["hsize"].clip(upper=4)
    margins = [
        Margin(golden("pop", "g_margin_eusilcP.parquet"), total="Freq"),
        Margin(golden("pop", "g_margin_hh.parquet"), total="Freq", level="household"),
    ]
    with pytest.warns(ConvergenceWarning, match="Furthest off"):
        result = anneal(
            population,
            margins,
            household="db030",
            split="db040",
            tolerance=0.05,
            seed=1,
            max_proposals=700_000,
        )
    expected = golden("pop", "g_calibPop.json")["calib_pers_hh_05"]["per_seed"]["1"]
    by_reference = expected["abs_dev_after"] + expected["household_rel_dev"] * 25_000
    assert result.regions["gap_after"].sum() < 0.6 * by_reference


def test_both_levels_are_met_exactly(frame, margins):
    result = anneal(frame, margins, household="hid", split="region", tolerance=0.0, seed=3)
    assert result.converged
    assert (result.margins["difference"] == 0).all()
    persons = result.data.groupby(["region", "sex"]).size()
    np.testing.assert_array_equal(persons, margins[0].targets)
    households = result.data.drop_duplicates("hid").groupby(["region", "hsize"]).size()
    np.testing.assert_array_equal(households, margins[1].targets)
    assert "All margins are met" in result.summary()
    assert result.to_frame() is result.margins


def test_households_stay_whole(frame, margins):
    result = anneal(frame, margins, household="hid", split="region", tolerance=0.0, seed=3)
    plain = frame.drop(columns="hid")
    assert_same_frame(
        result.data.drop(columns="hid"), plain.take(result.sources).reset_index(drop=True)
    )
    source = pd.Series(frame["hid"].to_numpy()[result.sources])
    assert source.groupby(result.data["hid"]).nunique().max() == 1
    members = frame.groupby("hid").size()
    assert (
        result.data.groupby("hid").size().to_numpy()
        == members[source.groupby(result.data["hid"]).first()].to_numpy()
    ).all()
    assert result.data["hid"].tolist() == sorted(result.data["hid"])
    assert set(result.data["region"][result.data["region"] == "N"]) == {"N"}


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_do_not_matter(frame, margins, workers):
    options = {"household": "hid", "split": "region", "tolerance": 0.001, "seed": 3}
    one = anneal(frame, margins, **options)
    other = anneal(frame, margins, workers=workers, **options)
    np.testing.assert_array_equal(one.sources, other.sources)
    assert_same_frame(one.trace, other.trace)


def test_seed(frame, margins):
    options = {"household": "hid", "split": "region", "tolerance": 0.0}
    one, again, other = (anneal(frame, margins, seed=s, **options) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.sources, again.sources)
    assert one.sources.shape != other.sources.shape or (one.sources != other.sources).any()
    assert one.seed == 1


@pytest.mark.parametrize("seed", range(6))
def test_stopping_at_the_tolerance_means_converged(margins, frame, seed):
    options = {"household": "hid", "split": "region", "temperature": 3.0, "tolerance": 0.004}
    result = anneal(frame, margins, seed=seed, **options)
    assert (result.regions["stopped"] == "tolerance").all()
    assert result.regions["converged"].all()


def test_tolerance_is_used(frame, margins):
    loose = anneal(frame, margins, household="hid", split="region", tolerance=0.04, seed=1)
    tight = anneal(frame, margins, household="hid", split="region", tolerance=0.0, seed=1)
    assert loose.regions["gap_after"].sum() > tight.regions["gap_after"].sum() == 0
    assert loose.regions["exchanged"].sum() < tight.regions["exchanged"].sum()


def test_persons_without_households(frame):
    alone = frame.drop(columns=["hid", "hsize"])
    margin = Margin(disturbed(frame, ["region", "sex"]))
    result = anneal(alone, margin, split="region", tolerance=0.0, seed=1)
    assert result.converged
    assert list(result.data.columns) == list(alone.columns)


def test_person_ids_are_unique_again(frame):
    margin = Margin(disturbed(frame, ["region", "sex"]))
    within = frame.groupby("hid").cumcount() + 1
    people = frame.assign(pid=np.arange(len(frame)) + 7, number=within)
    for name in ("pid", "number"):
        result = anneal(people, margin, household="hid", person=name, split="region", seed=1)
        assert result.data["number"].tolist() == (
            (result.data.groupby("hid").cumcount() + 1).tolist()
        )
    again = anneal(people, margin, household="hid", person="pid", split="region", seed=1)
    assert again.data["pid"].tolist() == list(range(1, len(again.data) + 1))


def test_without_split(frame):
    margin = Margin(disturbed(frame, ["sex", "region"]))
    result = anneal(frame, margin, household="hid", tolerance=0.0, seed=1)
    assert len(result.regions) == 1
    assert result.converged


def test_number_of_households_follows_the_totals(frame):
    persons = disturbed(frame, ["region", "sex"])
    half = Margin(persons.assign(total=persons["total"] // 2))
    more = Margin(persons.assign(total=(persons["total"] * 1.2).round()))
    for margin, factor in ((half, 0.5), (more, 1.2)):
        result = anneal(frame, margin, household="hid", split="region", seed=1)
        assert result.converged
        ratio = result.regions["households"].sum() / frame["hid"].nunique()
        assert ratio == pytest.approx(factor, rel=0.06)


def test_numeric_totals_and_importance(frame):
    income = frame.groupby("region")["income"].sum().rename("total") * 1.03
    counts = disturbed(frame, ["region", "sex"])
    margins = [Margin(counts), Margin(income, variable="income", importance=0.01)]
    result = anneal(frame, margins, household="hid", split="region", tolerance=0.005, seed=1)
    assert result.converged
    sums = result.data.groupby("region")["income"].sum()
    np.testing.assert_allclose(sums, income, rtol=0.006)


def test_importance_decides_between_conflicts(frame):
    counts = disturbed(frame, ["region", "sex"])
    twice = counts.assign(total=counts["total"] * 1.2)
    gaps = []
    for first, second in ((1.0, 10.0), (10.0, 1.0)):
        margins = [Margin(counts, importance=first), Margin(twice, importance=second, name="b")]
        with pytest.warns(ConvergenceWarning):
            result = anneal(
                frame, margins, household="hid", split="region", seed=1, max_proposals=30_000
            )
        gaps.append(result.margins.groupby("margin")["difference"].apply(lambda d: d.abs().sum()))
    assert gaps[0]["b"] < gaps[1]["b"]
    assert gaps[0]["persons by region x sex"] > gaps[1]["persons by region x sex"]


def test_cell_that_cannot_be_met_is_named(frame):
    counts = disturbed(frame, ["region", "sex"])
    counts.loc[len(counts)] = ["S", "x", 40]
    with pytest.warns(ConvergenceWarning, match="sex=x target 40, best 0"):
        result = anneal(frame, Margin(counts), household="hid", split="region", seed=1)
    assert result.regions.set_index("region")["converged"].to_dict() == {
        "N": True,
        "S": False,
        "W": True,
    }
    assert result.regions.set_index("region").loc["S", "stopped"] == "tolerance"
    assert result.unmet()["cell"].iloc[0] == "region=S, sex=x"


def test_total_of_zero_empties_a_cell(frame):
    counts = disturbed(frame, ["region", "hsize"])
    counts.loc[counts["hsize"] == 4, "total"] = 0
    result = anneal(frame, Margin(counts), household="hid", split="region", tolerance=0.0, seed=1)
    assert result.converged
    assert (result.data["hsize"] < 4).all()


def test_region_without_margin_stays(frame):
    counts = disturbed(frame, ["region", "sex"])
    result = anneal(
        frame, Margin(counts[counts["region"] != "W"]), household="hid", split="region", seed=1
    )
    old = frame[frame["region"] == "W"].drop(columns="hid").reset_index(drop=True)
    new = result.data[result.data["region"] == "W"].drop(columns="hid").reset_index(drop=True)
    assert_same_frame(old, new)
    assert result.regions.set_index("region").loc["W", "stopped"] == "no margin"


def hard_case() -> tuple[pd.DataFrame, Margin]:
    """Every household is a couple or a single, and odd totals of men need single men."""
    frame = pd.DataFrame(
        {"hid": np.repeat(np.arange(300), 3), "sex": np.tile(["f", "f", "m"], 300)}
    )
    return frame, Margin(pd.DataFrame({"sex": ["f", "m"], "total": [450, 450]}))


def test_bounds_of_the_search_are_used():
    frame, margin = hard_case()
    options = {"household": "hid", "tolerance": 0.0, "seed": 1}
    with pytest.warns(ConvergenceWarning):
        few = anneal(frame, margin, max_proposals=7_000, **options)
    assert few.regions["proposals"].tolist() == [7_000]
    assert few.regions["stopped"].tolist() == ["proposals"]
    with pytest.warns(ConvergenceWarning):
        short = anneal(frame, margin, time_limit=1e-9, **options)
    assert short.regions["stopped"].tolist() == ["time"]
    with pytest.warns(ConvergenceWarning):
        slow = anneal(frame, margin, cooling=0.5, temperature=3.0, max_proposals=60_000, **options)
    assert slow.trace["temperature"].iloc[1] == 3.0
    assert slow.trace["temperature"].iloc[2] == 1.5
    assert slow.regions["temperature"].tolist() == [3.0]


def test_stage_and_events(frame, margins):
    events = []
    stage = Anneal(margins, split="region", tolerance=0.02)
    result = stage.run(frame, household="hid", seed=5, workers=2, on_event=events.append)
    direct = anneal(frame, margins, household="hid", split="region", tolerance=0.02, seed=5)
    np.testing.assert_array_equal(result.sources, direct.sources)
    assert sorted(event.detail for event in events) == ["N", "S", "W"]
    assert stage.label == "anneal"


def test_population_object(frame, margins):
    class Population:
        roles = StoredRoles(household="hid")

        def frame(self) -> pd.DataFrame:
            return frame

    result = anneal(Population(), margins, split="region", tolerance=0.02, seed=5)
    assert result.converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"person": "pid"}, "pid"),
        ({"household": "hidd"}, "Did you mean 'hid'"),
        ({"split": "regio"}, "Did you mean 'region'"),
        ({"split": "sex"}, "differs in a household"),
        ({"split": "hsize"}, "has no column 'hsize'"),
        ({"tolerance": -1}, "tolerance"),
        ({"temperature": 0}, "temperature"),
        ({"cooling": 1.0}, "cooling"),
        ({"max_proposals": 0}, "max_proposals"),
        ({"time_limit": 0}, "time_limit"),
        ({"workers": 0}, "workers"),
    ],
)
def test_refuses(frame, margins, options, message):
    with pytest.raises(InputError, match=message):
        anneal(frame, margins, **{"household": "hid", "split": "region", **options})


def test_refuses_more(frame):
    for total in (5, 0.5):
        unknown = Margin(pd.DataFrame({"region": ["N", "X"], "total": [5, total]}))
        with pytest.raises(InputError, match="no such region"):
            anneal(frame, unknown, household="hid", split="region")
    with pytest.raises(InputError, match="no category of sex"):
        anneal(frame, Margin(pd.DataFrame({"sex": ["q"], "total": [5]})), household="hid")
    with pytest.raises(InputError, match="no rows"):
        anneal(frame.iloc[:0], unknown, household="hid")
    with pytest.raises(InputError, match="household is missing"):
        anneal(frame.assign(hid=np.nan), unknown, household="hid")


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_gap_never_grows(seed):
    frame = make_population(seed, 80)
    margin = Margin(disturbed(frame, ["region", "sex"], seed))
    result = anneal(frame, margin, household="hid", split="region", tolerance=0.02, seed=seed)
    assert (result.regions["gap_after"] <= result.regions["gap_before"] + 1e-9).all()
    assert result.data["hid"].nunique() == result.regions["households"].sum()


def naive_exchange(rows, target, slots, proposals, temperature, rng):
    """One table; counts afresh after every proposal."""
    gap = np.abs(rows[slots].sum(axis=0) - target).sum()
    for _ in range(proposals):
        slot, new = int(rng.random() * len(slots)), int(rng.random() * len(rows))
        if slots[slot] == new:
            continue
        trial = slots.copy()
        trial[slot] = new
        after = np.abs(rows[trial].sum(axis=0) - target).sum()
        if after < gap or (after > gap and rng.random() < np.exp((gap - after) / temperature)):
            slots, gap = trial, after
    return slots


def test_kernel_agrees_with_its_plain_form_and_the_naive_version():
    from scipy.sparse import csr_matrix

    draw = np.random.default_rng(1)
    rows = draw.integers(0, 3, (30, 4)).astype(float)
    matrix, target = csr_matrix(rows), rows.sum(axis=0) + np.array([5.0, -4.0, 3.0, 0.0])
    results = []
    for function in (exchange_households, exchange_households.py_func):
        for resizing in (0.0, 0.4):
            slots = np.concatenate([np.arange(30), np.zeros(10, dtype=np.int64)])
            current, active = rows.sum(axis=0), np.array([30])
            gaps = np.array([np.abs(current - target).sum()])
            made = function(
                matrix.indptr,
                matrix.indices,
                matrix.data,
                np.zeros(4, dtype=np.int64),
                np.ones(1),
                target,
                np.array([-1.0]),
                0.8,
                resizing,
                400,
                np.random.default_rng(7),
                1000,
                slots,
                active,
                np.bincount(slots[: active[0]], minlength=30),
                current,
                gaps,
            )
            used = slots[: active[0]]
            np.testing.assert_allclose(current, rows[used].sum(axis=0))
            assert gaps[0] == pytest.approx(np.abs(current - target).sum())
            results.append((made, used.tolist()))
    assert results[:2] == results[2:]
    naive = naive_exchange(rows, target, np.arange(30), 400, 0.8, np.random.default_rng(7))
    assert results[0][1] == naive.tolist()
    assert len(results[1][1]) != 30 or results[1][1] != results[0][1]


def test_search_on_arrays():
    from scipy.sparse import csr_matrix

    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    region = SearchRegion(
        matrix=csr_matrix(rows),
        table=np.zeros(2, dtype=np.int64),
        target=np.array([2.0, 2.0]),
        importance=np.ones(1),
        of_households=np.zeros(1, dtype=bool),
        counting=np.ones(1, dtype=bool),
    )
    found = exchange(region, Search(tolerance=0.0), np.random.default_rng(1))
    assert found.converged
    np.testing.assert_array_equal(rows[found.slots].sum(axis=0), [2.0, 2.0])


def test_copies_are_counted_told_and_bounded(frame):
    strong = disturbed(frame, ["region", "sex"])
    strong["total"] *= np.where(strong["sex"] == "f", 1.25, 0.9)
    options = {"household": "hid", "split": "region", "seed": 1}
    result = anneal(frame, Margin(strong), **options)
    times = frame["hid"].iloc[result.sources].to_numpy()[result.data["hid"].diff().ne(0)]
    counts = pd.Series(times).value_counts()
    assert result.n_copies == int((counts - 1).sum()) > 0
    assert result.regions["most_copies"].max() == counts.max() <= 3
    assert f"{result.n_copies} households are exact copies of another one (" in result.summary()
    with pytest.raises(InputError, match="294 donors may stand 1 times each"):
        anneal(frame, Margin(strong), max_copies=1, **options)
    fewer = strong.assign(total=(strong["total"] * 0.8).round())
    alone = anneal(frame, Margin(fewer), max_copies=1, tolerance=0.05, **options)
    assert alone.n_copies == 0
    assert "exact copies" not in alone.summary()


@pytest.mark.filterwarnings("default::synthpop.microdata.messages.errors.SparseDataWarning")
def test_many_copies_are_warned_of(frame):
    strong = disturbed_households(frame, ["region"])
    strong["total"] = (strong["total"] * 1.2).round()
    with pytest.warns(SparseDataWarning, match="households are exact copies .*numeric steps"):
        anneal(frame, Margin(strong, level="household"), household="hid", split="region", seed=1)


def test_totals_of_another_scale_are_refused(frame):
    country = disturbed(frame, ["region", "sex"])
    for factor in (10, 0.01):
        other = country.assign(total=country["total"] * factor)
        with pytest.raises(InputError, match=r"the known totals ask for .*Simulate with a scale"):
            anneal(frame, Margin(other), household="hid", split="region", seed=1)
    one = country.assign(total=country["total"] * np.where(country["region"] == "W", 4, 0.7))
    with pytest.raises(InputError, match=r"region W: the totals ask for .* may stand 3 times"):
        anneal(frame, Margin(one), household="hid", split="region", seed=1)


def test_households_in_a_cell_of_total_zero_are_never_donors(frame):
    counts = frame.groupby(["region", "job"]).size().rename("total").reset_index()
    counts.loc[counts["job"] == "b", "total"] = 0
    counts["total"] = np.where(counts["job"] == "a", counts["total"] // 2, counts["total"])
    result = anneal(frame, Margin(counts), household="hid", split="region", seed=1)
    assert (result.data["job"] != "b").all()  # also where the rest cannot be met


def test_the_summary_tells_the_largest_error_of_a_cell(margins, frame):
    options = {"household": "hid", "split": "region", "seed": 1}
    loose = anneal(frame, margins, tolerance=0.04, **options)
    error = (loose.margins["difference"].abs() / loose.margins["target"]).max()
    assert f"The largest error of a single cell is {error * 100:.3g} %" in loose.summary()
    assert "Every cell is met exactly." in anneal(frame, margins, **options).summary()
    assert Anneal(margins).tolerance == 0.0


def areas_without_large_households() -> tuple[pd.DataFrame, Margin]:
    """Twelve areas of two countries; only half of them have households of five."""
    rng = np.random.default_rng(3)
    sizes = np.where(np.arange(600) % 12 % 2 == 0, rng.choice([1, 2, 5], 600), 1)
    area = np.array([f"a{k % 12:02}" for k in range(600)])
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(600), sizes),
            "area": np.repeat(area, sizes),
            "country": np.repeat(np.where(np.arange(600) % 12 < 6, "x", "y"), sizes),
            "size": np.repeat(sizes, sizes),
        }
    )
    totals = pd.MultiIndex.from_product([sorted(set(area)), [1, 2, 5]], names=["area", "size"])
    table = pd.DataFrame({"total": np.tile([38, 7, 5], 12)}, index=totals).reset_index()
    return frame, Margin(table, level="household")


def test_regions_take_what_they_lack_from_their_larger_area():
    frame, margin = areas_without_large_households()
    options = {"household": "hid", "seed": 1, "split": "area"}
    with pytest.warns(ConvergenceWarning):
        alone = anneal(frame, margin, **options)
    result = anneal(frame, margin, **options, split_upper="country")
    assert alone.regions["gap_after"].sum() == 72  # no household of five in half of the areas
    assert result.converged
    heads = result.data.drop_duplicates("hid")
    counts = heads.groupby(["area", "size"]).size().unstack()
    assert (counts == [38, 7, 5]).all().all()
    assert result.regions["from_other_regions"].sum() >= 72
    home = frame["country"].to_numpy()[result.sources]
    assert (home == result.data["country"]).all()
    assert (result.data.groupby("area")["country"].nunique() == 1).all()
    own = result.regions["from_other_regions"].to_numpy()[::2]
    assert (own == 0).all()  # areas that lack nothing keep to themselves


def test_a_larger_area_needs_a_split():
    frame, margin = areas_without_large_households()
    survey = Survey(frame, household="hid", weight=None)
    recipe = Pipeline([Structure(["size"]), Anneal(margin, split_upper="all")])
    with pytest.raises(InputError, match="split_upper"):
        recipe.fit(survey)


def test_small_cells_may_be_off_by_so_many():
    frame, margin = areas_without_large_households()
    options = {"household": "hid", "seed": 1, "split": "area"}
    result = anneal(frame, margin, **options, split_upper="all", cell_gap=2.0)
    exact = anneal(frame, margin, **options, split_upper="all")
    assert result.converged
    assert result.regions["gap_after"].sum() > exact.regions["gap_after"].sum() == 0
    assert result.regions["gap_after"].max() <= 6
