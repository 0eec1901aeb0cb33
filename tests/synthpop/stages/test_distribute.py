"""Households allotted to small areas: goldens, exactness, options."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop.annealing.allocation import Allotment, area_totals
from synthpop.annealing.search import Search
from synthpop.calibration import Margin
from synthpop.kernels.annealing import swap_areas
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError
from synthpop.microdata.statistics.whole_shares import largest_remainder
from synthpop.stages.distribute import Distribute, distribute
from tests.reference_data import golden, survey_data
from tests.synthpop.annealing.test_annealing import make_population


def tables(frame: pd.DataFrame, extra: tuple[str, ...] = (), seed: int = 1):
    """Counts of a random allotment: three areas in every region, of different size."""
    rng = np.random.default_rng(seed)
    area = rng.choice(["a", "b", "c"], frame["hid"].max() + 1, p=[0.5, 0.3, 0.2])
    other = frame.assign(area=area[frame["hid"]])
    keys = ["region", "area", *extra]
    persons = other.groupby(keys).size().rename("total").reset_index()
    first = other.drop_duplicates("hid")
    households = first.groupby(["region", "area"]).size().rename("total").reset_index()
    return persons, households


@pytest.fixture
def frame() -> pd.DataFrame:
    return make_population()


def run(frame, margins, **options):
    return distribute(
        frame,
        "area",
        **{"within": "region", "household": "hid", "seed": 1, **options},
        margins=margins,
    )


@pytest.mark.parametrize("given", ["households", "persons", "both"])
def test_exact_where_the_reference_is_not(given):
    population = survey_data("eusilcP")
    margins = []
    for name, level, wanted in (
        ("g_tabHH", "household", "households"),
        ("g_tabP", "person", "persons"),
    ):
        table = golden("pop", f"{name}.parquet").rename(columns={"db040": "region"})
        if given in (wanted, "both"):
            margins.append(Margin(table, total="Freq", level=level))
    result = distribute(
        population, "district", within="region", margins=margins, household="hid", seed=1
    )
    assert result.converged
    assert (result.margins["difference"] == 0).all()
    assert (result.margins["given"] == result.margins["target"]).all()
    assert len(result.data[["hid", "district"]].drop_duplicates()) == 25_000
    counted = result.data if given == "persons" else result.data.drop_duplicates("hid")
    fresh = counted.groupby("district", observed=True).size()
    expected = margins[0].frame.set_index("district")["Freq"]
    assert (fresh == expected.reindex(fresh.index)).all()
    assert list(result.data.columns) == [*population.columns, "district"]
    for name in ("hid", "age", "eqIncome"):
        np.testing.assert_array_equal(result.data[name], population[name])


def test_totals_are_scaled_to_what_the_region_has():
    population = golden("pop", "g_pop_cat_multinom_seed1.parquet")
    margins = [
        Margin(golden("pop", "g_tabHH.parquet"), total="Freq", level="household"),
        Margin(golden("pop", "g_tabP.parquet"), total="Freq"),
    ]
    result = distribute(
        population, "district", within="db040", margins=margins, household="db030", seed=1
    )
    assert result.converged
    assert result.margins.groupby("level")["target"].sum().to_dict() == {
        "household": population["db030"].nunique(),
        "person": len(population),
    }
    assert "scaled" in result.summary()


def test_area_by_category(frame):
    persons, households = tables(frame, ("sex",))
    margins = [Margin(households, level="household"), Margin(persons)]
    result = run(frame, margins)
    assert result.converged
    counted = result.data.groupby(["region", "area", "sex"], observed=True).size()
    np.testing.assert_array_equal(counted, persons["total"])
    assert "All totals of 9 areas" in result.summary()
    assert result.to_frame() is result.margins


def test_shares_of_a_size(frame):
    _, households = tables(frame)
    shares = households.assign(total=households["total"] / households["total"].sum())
    result = run(frame, Margin(shares, size=600.0, level="household"))
    np.testing.assert_array_equal(
        result.margins.sort_values(["region", "area"])["achieved"], households["total"]
    )


def test_number_areas_stay_numbers(frame):
    _, households = tables(frame)
    codes = households.assign(area=households["area"].map({"a": 1, "b": 2, "c": 3}))
    result = run(frame, Margin(codes, level="household"))
    assert result.data["area"].dtype == np.int64


def test_seed_and_workers(frame):
    persons, households = tables(frame)
    margins = [Margin(households, level="household"), Margin(persons)]
    one = run(frame, margins)
    assert (one.data["area"] == run(frame, margins, workers=3).data["area"]).all()
    assert (one.data["area"] != run(frame, margins, seed=2).data["area"]).any()
    assert one.seed == 1


def impossible(frame: pd.DataFrame) -> list[Margin]:
    """Each household of two, and an odd number of persons for every area."""
    table = pd.DataFrame({"region": "N", "area": ["a", "b"], "total": [101, 99]})
    return [Margin(table)]


def test_what_cannot_be_met_is_named():
    frame = pd.DataFrame({"hid": np.repeat(np.arange(100), 2), "region": "N"})
    with pytest.warns(ConvergenceWarning, match="a: target 101, best 10"):
        result = run(frame, impossible(frame), max_proposals=4_000)
    assert result.proposals == 4_000
    assert result.margins["difference"].abs().sum() == 2
    assert run(frame, impossible(frame), tolerance=0.02).converged


def test_stage_and_events(frame):
    persons, _ = tables(frame)
    events = []
    stage = Distribute("area", within="region", margins=[Margin(persons)])
    result = stage.run(frame, household="hid", seed=1, on_event=events.append)
    assert (result.data["area"] == run(frame, Margin(persons)).data["area"]).all()
    assert len(events) == 3
    assert stage.label == "distribute area"
    assert stage.provides == ("area",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": "regio"}, "Did you mean 'region'"),
        ({"within": "sex"}, "differs in a household"),
        ({"household": "hidd"}, "Did you mean 'hid'"),
        ({"tolerance": -1}, "tolerance"),
        ({"max_proposals": 0}, "max_proposals"),
        ({"workers": 0}, "workers"),
    ],
)
def test_refuses(frame, options, message):
    persons, _ = tables(frame)
    with pytest.raises(InputError, match=message):
        run(frame, Margin(persons), **options)


def test_refuses_margins(frame):
    persons, _ = tables(frame)
    for change, message in (
        (persons.rename(columns={"area": "zone"}), "no column 'area'"),
        (persons[persons["region"] != "W"], "'W' has no area"),
        (persons.assign(area=persons["area"].mask(persons["area"] == "a")), "area is missing"),
        (persons.assign(total=persons["total"].where(persons["region"] != "W", 0)), "are 0, but"),
        (pd.concat([persons, persons.iloc[:1].assign(region="X")]), "no such region"),
    ):
        with pytest.raises(InputError, match=message):
            run(frame, Margin(change))
    with pytest.raises(InputError, match="sums of a variable"):
        run(frame, Margin(persons, variable="income"))
    with pytest.raises(InputError, match="importance"):
        run(frame, Margin(persons, importance=2.0))
    with pytest.raises(InputError, match="already a column"):
        run(frame.assign(area=1), Margin(persons))


def test_largest_remainder():
    assert largest_remainder(np.array([0.5, 0.25, 0.25]), 10).tolist() == [5, 3, 2]
    assert largest_remainder(np.array([2.0, 1.0, 0.0]), 3).tolist() == [2, 1, 0]


def test_kernel_agrees_with_its_plain_form():
    from scipy.sparse import csr_matrix

    draw = np.random.default_rng(1)
    rows = draw.integers(0, 3, (40, 3)).astype(float)
    matrix, target = csr_matrix(rows), np.tile(rows.sum(axis=0) / 2, (2, 1))
    results = []
    for function in (swap_areas, swap_areas.py_func):
        areas = np.repeat([0, 1], 20)
        current = area_totals(matrix, areas, 2)
        gaps = np.array([np.abs(current - target).sum()])
        made = function(
            matrix.indptr,
            matrix.indices,
            matrix.data,
            np.zeros(3, dtype=np.int64),
            np.ones(1),
            target,
            np.array([-1.0]),
            0.7,
            300,
            np.random.default_rng(5),
            areas,
            current,
            gaps,
        )
        np.testing.assert_allclose(current, area_totals(matrix, areas, 2))
        assert gaps[0] == pytest.approx(np.abs(current - target).sum())
        assert (np.bincount(areas) == 20).all()
        results.append((made, areas.tolist()))
    assert results[0] == results[1]
    state = Allotment(
        matrix,
        np.zeros(3, dtype=np.int64),
        np.round(target),
        np.array([20, 20]),
        np.array([2.0]),
        Search(max_proposals=50_000),
        np.random.default_rng(2),
    )
    chosen = state.search_all()
    assert np.abs(area_totals(matrix, chosen, 2) - np.round(target)).sum() <= 6
