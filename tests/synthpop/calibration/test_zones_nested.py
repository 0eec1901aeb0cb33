"""Totals at five nested geographies, of households and persons, beside brute force."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from synthpop import Margin, Survey
from synthpop.calibration import balance_zones
from synthpop.calibration.zone_problem import zone_problem
from synthpop.calibration.zone_solver import solve_zones
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults

LEVELS = ["state", "county", "district", "tract", "group"]
ZONES = pd.DataFrame({"group": np.arange(16)}).assign(
    state="s", county=lambda t: t["group"] // 8, district=lambda t: t["group"] // 4,
    tract=lambda t: t["group"] // 2,
)[LEVELS]  # fmt: skip


def people(n: int, seed: int) -> pd.DataFrame:
    """Persons of n households with sizes, tenure, rent and age."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 4, n)
    home = np.repeat(np.arange(n), size)
    rent = 100 * rng.integers(3, 12, n)
    return pd.DataFrame(
        {"hid": home, "size": size[home], "owns": rng.integers(0, 2, n)[home], "rent": rent[home],
         "old": rng.integers(0, 2, len(home)), "pay": 10.0 * rng.integers(0, 5, len(home))}
    )  # fmt: skip


def counted(frame: pd.DataFrame, area: str, by: str) -> pd.DataFrame:
    table = frame.groupby([area, by]).size().unstack(fill_value=0)
    return table.stack().rename("total").reset_index()


def summed(frame: pd.DataFrame, area: str, name: str) -> pd.DataFrame:
    return frame.groupby(area)[name].sum().rename("total").reset_index()


def totals(truth: pd.DataFrame, importance: float | None = None) -> list[Margin]:
    """Counts of households and persons and sums of amounts, each at another level."""
    homes = truth.drop_duplicates("hid")
    number = homes.groupby("group").size().rename("total").reset_index()
    return [
        Margin(number, level="household", name="homes"),
        Margin(counted(homes, "tract", "size"), level="household", name="sizes",
               importance=importance),
        Margin(counted(truth, "district", "old"), name="old", importance=importance),
        Margin(summed(homes, "county", "rent"), level="household", variable="rent", name="rent",
               importance=importance),
        Margin(counted(homes, "county", "owns"), level="household", name="owns",
               importance=importance),
        Margin(summed(truth, "state", "pay"), variable="pay", name="pay", importance=importance),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    """A population of 480 households that live in 16 block groups."""
    frame = people(480, 1)
    return frame.merge(ZONES, left_on=frame["hid"] % 16, right_on="group")


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey(people(60, 2).assign(w=8.0), weight="w", household="hid")


def dense(survey: Survey, margins: list[Margin]) -> tuple[np.ndarray, np.ndarray]:
    """Constraints, one row per household and zone, column per total; made cell by cell."""
    homes = survey.frame.drop_duplicates("hid")
    columns, wanted = [], []
    for margin in margins:
        area = next(name for name in LEVELS if name in margin.frame)
        rows = survey.frame if margin.level == "person" else homes
        amount = 1.0 if margin.variable is None else rows[margin.variable]
        by = [name for name in margin.columns if name not in LEVELS]
        for cell in margin.frame.to_dict("records"):
            is_in = np.logical_and.reduce([rows[name] == cell[name] for name in by] or [True])
            of_home = (amount * is_in * pd.Series(1.0, rows.index)).groupby(rows["hid"]).sum()
            columns.append(np.outer(ZONES[area] == cell[area], of_home).ravel())
            wanted.append(cell["total"])
    return np.array(columns).T, np.array(wanted, dtype=float)


def test_weights_are_those_of_brute_force_on_the_dense_matrix(truth, survey) -> None:
    margins = totals(truth)
    problem = zone_problem(survey, ZONES, margins, None, Faults("zones"))
    assert problem is not None
    solved = solve_zones(problem, tolerance=1e-9, max_iterations=100)
    weights = solved.of(problem, 0, problem.matrix, np.arange(16)).ravel()
    matrix, wanted = dense(survey, margins)
    scale = np.maximum(np.abs(matrix).max(axis=0), 1.0)
    start = np.full(len(matrix), 8.0) / 16

    def dual(lam):
        fitted = start * np.exp(matrix / scale @ lam)
        return fitted.sum() - wanted / scale @ lam, (matrix / scale).T @ fitted - wanted / scale

    found = minimize(dual, np.zeros(len(wanted)), jac=True, method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(weights, start * np.exp(matrix / scale @ found.x), rtol=1e-4)
    np.testing.assert_allclose(matrix.T @ weights, wanted, rtol=1e-6)


def test_whole_households_meet_all_five_levels(truth, survey) -> None:
    made = balance_zones(survey, ZONES, totals(truth, importance=1000.0), seed=1).persons()
    homes, first = truth.drop_duplicates("hid"), made.drop_duplicates("zone_household")
    assert first["group"].value_counts().to_dict() == homes["group"].value_counts().to_dict()
    for area, by in (("tract", "size"), ("county", "owns")):
        pd.testing.assert_frame_equal(counted(first, area, by), counted(homes, area, by))
    gap = counted(made, "district", "old")["total"] - counted(truth, "district", "old")["total"]
    assert gap.abs().max() <= 1
    for table, other, area, name in ((first, homes, "county", "rent"),
                                     (made, truth, "state", "pay")):  # fmt: skip
        sums = summed(table, area, name)["total"].to_numpy()
        wanted = summed(other, area, name)["total"].to_numpy()
        np.testing.assert_allclose(sums, wanted, rtol=2e-3)


def test_group_quarters_have_their_own_controls() -> None:
    """Persons in group quarters are households of one that count in no total of households."""
    frame = people(80, 3).assign(kind="home", w=5.0)
    quarters = pd.DataFrame({"hid": 100 + np.arange(20), "size": 1, "w": 5.0})
    quarters["kind"] = np.repeat(["college", "prison"], 10)
    survey = Survey(pd.concat([frame, quarters]), weight="w", household="hid")
    zones = pd.DataFrame({"zone": ["town", "campus", "jail"]})
    kinds = pd.DataFrame({
        "zone": np.repeat(zones["zone"], 3), "kind": ["home", "college", "prison"] * 3,
        "total": [90, 0, 0, 20, 150, 0, 0, 3, 260],
    })  # fmt: skip
    members = pd.DataFrame({"zone": ["town", "campus"], "kind": "home", "total": [181, 44]})
    margins = [Margin(kinds, level="household"), Margin(members, importance=1000.0)]
    made = balance_zones(survey, zones, margins, seed=1)
    assert (made.controls["gap"] == 0).all()
    persons = made.persons()
    assert set(persons.loc[persons["zone"] == "jail", "kind"]) == {"college", "prison"}
    assert (persons["zone"] == "jail").sum() == 263


def test_totals_that_contradict_are_missed_by_what_they_cost() -> None:
    """The nearest answer is that of brute force, whichever total is dear."""
    size = np.array([1, 2, 3])
    frame = pd.DataFrame({"hid": np.repeat([0, 1, 2], size), "w": np.repeat(10.0, 6)})
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({"zone": ["a", "b"]})
    wanted = np.array([[30.0, 20.0], [20.0, 70.0]])  # homes, persons: 30 homes have 30 persons
    start = 10.0 * 30 / 50  # weights share the survey's by the homes that a zone asks for

    def nearest(cost: np.ndarray) -> np.ndarray:
        """Minimise entropy and costs over the three weights of zone a."""

        def loss(log_w):
            w = np.exp(log_w)
            sums = np.array([w.sum(), size @ w])
            missed = cost * (sums - wanted[0]) ** 2 / (2 * wanted[0])
            return (w * (log_w - np.log(start)) - w).sum() + missed.sum()

        w = np.exp(minimize(loss, np.zeros(3), method="BFGS").x)
        return np.array([w.sum(), size @ w])

    found = []
    for cost in ([50.0, 5.0], [5.0, 50.0]):
        margins = [
            Margin(zones.assign(total=wanted[:, 0]), level="household", importance=cost[0]),
            Margin(zones.assign(total=wanted[:, 1]), importance=cost[1]),
        ]
        balanced = balance_zones(survey, zones, margins, seed=1).controls["balanced"].to_numpy()
        found.append(balanced[[0, 2]])
        np.testing.assert_allclose(balanced[[0, 2]], nearest(np.array(cost)), rtol=1e-3)
    assert found[0][0] > found[1][0]  # homes nearer to 30 where they are dear
    assert found[0][1] > found[1][1]


def test_one_warning_names_zone_and_table_of_a_conflict() -> None:
    zones = pd.DataFrame({"zone": ["a", "b"]})
    survey = Survey(pd.DataFrame({"hid": [0, 1, 1], "w": 5.0}), weight="w", household="hid")
    margins = [
        Margin(zones.assign(total=[10.0, 10.0]), level="household", name="homes"),
        Margin(zones.assign(total=[15.0, 45.0]), name="persons"),
    ]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = balance_zones(survey, zones, margins, seed=1)
    assert [item.category for item in told] == [ConvergenceWarning]
    assert "persons: zone b (target 45" in str(told[0].message)
    assert "zone a" not in str(told[0].message).split(";")[0]
    gaps = result.controls.set_index(["margin", "area"])["gap"]
    assert gaps["homes", "a"] == gaps["persons", "a"] == 0
