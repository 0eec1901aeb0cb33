"""A pass over tables: what comes nearer, what stays, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import (
    Categorical,
    Continuous,
    Derive,
    Pipeline,
    Structure,
    Survey,
    TablePass,
    dump_runfile,
    load_runfile,
)
from synthpop.conditional.coded_tables import pair_layout
from synthpop.kernels.exchanging import exchange_values
from synthpop.microdata.messages.errors import InputError
from synthpop.models.smoothed_tables import AMOUNTS, best_amount, smoothed
from tests.same import assert_same_frame

pytestmark = pytest.mark.usefixtures("one_key")

STRUCTURE, INCOME = Structure(["age"]), Continuous("income", predictors=["age"])
VARIABLES = ["one", "two", "code", "income"]


def persons(n: int = 1200) -> pd.DataFrame:
    """Two variables that go together in area "a" and against each other in "b"; no households."""
    rng = np.random.default_rng(8)
    area, one = rng.choice([*"ab"], n), rng.choice([*"pq"], n)
    same = (rng.random(n) < 0.9) == (area == "a")
    two = np.where(same, one, np.where(one == "p", "q", "p"))
    income = np.where(two == "p", 1000, 3000) + rng.integers(0, 900, n)
    code = np.char.add(two, rng.choice([*"123"], n))  # determines "two"
    columns = {"age": rng.integers(20, 60, n), "area": area, "one": one, "two": two}
    return pd.DataFrame({**columns, "code": code, "income": income})


def survey() -> Survey:
    return Survey(persons(), weight=None)


def people(*steps: object, rules: tuple[str, ...] = ()) -> pd.DataFrame:
    alone = Categorical(["area", "one", "code"], predictors="basic")
    two = Categorical("two", predictors=["code"])
    recipe = [STRUCTURE, alone, two, INCOME, *steps]
    return Pipeline(recipe, rules=rules).fit(survey(), seed=1).simulate(seed=4).frame()


def distance(frame: pd.DataFrame, *names: str) -> float:
    """Total variation distance of a table from that of the sample."""
    p, q = (side.groupby([*names]).size() / len(side) for side in (frame, persons()))
    return float(p.subtract(q, fill_value=0).abs().sum() / 2)


def test_tables_by_area_come_near_and_every_variable_keeps_its_distribution() -> None:
    before, after = people(), people(TablePass(VARIABLES, by="area"))
    assert distance(before, "area", "one", "two") > 0.3
    assert distance(after, "area", "one", "two") < 0.1
    for name in VARIABLES:
        left, right = (side.groupby("area")[name].apply(sorted) for side in (before, after))
        assert left.to_dict() == right.to_dict()


def test_a_code_goes_with_what_it_determines() -> None:
    after = people(TablePass(VARIABLES, by="area"))
    assert (after["code"].str[0] == after["two"]).all()


def test_without_areas_the_tables_of_all_come_near() -> None:
    def agree(frame: pd.DataFrame) -> float:
        return float(((frame["two"] == "p") == (frame["income"] < 2000)).mean())

    assert agree(persons()) == 1.0
    assert agree(people()) < 0.6
    assert agree(people(TablePass(VARIABLES))) > 0.95


def test_every_option_counts() -> None:
    wanted = people(TablePass(VARIABLES, by="area"))
    for options in ({"exchanges": 3}, {"smoothing": 1e6}, {"given": []}):
        other = people(TablePass(VARIABLES, by="area", **options))
        assert not other.equals(wanted), options
    far = people(TablePass(VARIABLES, by="area", smoothing=1e6))
    assert distance(far, "area", "one", "two") > 0.3
    fixed = people(TablePass(["one"], by="area", given=["age"]))
    assert distance(fixed, "area", "one", "two") > 0.3


def test_rules_that_held_before_hold_after() -> None:
    rule = 'income < 2500 or two != "p"'
    rules = (rule, 'one = "p" if age > 50 and income > 3500')
    after = people(TablePass(VARIABLES, by="area"), rules=rules)
    assert (after["one"][(after["age"] > 50) & (after["income"] > 3500)] == "p").all()
    assert after["income"].dtype == persons()["income"].dtype


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(InputError) as problem:
        people(Derive("income_class", source="income", breaks=[0, 2000, 9000]),
               TablePass(["age", "income", "none"], by="income", exchanges=0))  # fmt: skip
    text = str(problem.value)
    for part in ("'age' cannot be drawn again", "'none' is unknown", "not categorical", "exchanges",
                 "has used 'income'"):  # fmt: skip
        assert part in text


def test_a_run_file_keeps_it(tmp_path) -> None:
    file = tmp_path / "persons.csv"
    persons().to_csv(file, index=False)
    text = (
        '[survey]\nfile = "persons.csv"\nunweighted = true\n[run]\nscale = 1.0\n'
        '[[stage]]\ntype = "structure"\nvariables = ["age"]\n'
        '[[stage]]\ntype = "categorical"\nname = ["area", "one"]\npredictors = "basic"\n'
        '[[stage]]\ntype = "table_pass"\nvariables = ["one"]\nby = "area"\nsmoothing = 5.0\n'
    )
    (tmp_path / "run.toml").write_text(text)
    plan = load_runfile(tmp_path / "run.toml")
    assert TablePass(["one"], by="area", smoothing=5.0) in plan.pipeline().stages
    assert "smoothing = 5.0" in dump_runfile(plan)


def test_counts_of_the_kernel_are_those_of_a_recount() -> None:
    rng = np.random.default_rng(2)
    n, sizes = 200, [2, 3, 4]
    areas = rng.integers(0, 2, n)
    values = np.column_stack([rng.integers(0, size, n) for size in sizes])
    start, width, stride, n_cells = pair_layout(sizes, 2)
    first, _, fine_stride, n_pairs = pair_layout(sizes)

    def counts(codes: np.ndarray) -> np.ndarray:
        total = np.zeros(n_cells)
        for f in range(3):
            for g in range(f + 1, 3):
                cell = start[f, g] + areas * width[f, g] + codes[:, f] * stride[f, g] + codes[:, g]
                np.add.at(total, cell, 1)
        return total

    wanted = np.full(n_cells, 5.0)
    cells = np.column_stack([counts(values) - wanted, np.ones(n_cells)]).astype(np.float32)
    before = float((cells[:, 0] ** 2).sum())
    order = np.argsort(areas, kind="stable")
    starts = np.searchsorted(areas[order], [0, 1, 2])
    coarse, source = values.copy(), np.repeat(np.arange(n)[:, None], 3, axis=1)
    made = exchange_values(
        rng.random((3000, 3)), areas, starts, order, np.array([0, 1, 2]), np.array([0, 1, 3]),
        coarse, start, width, stride, cells, values.copy(), first, fine_stride,
        np.ones(n_pairs, dtype=bool), source,
    )  # fmt: skip
    assert made > 10
    np.testing.assert_array_equal(cells[:, 0], counts(coarse) - wanted)
    assert float((cells[:, 0] ** 2).sum()) < before
    moved = np.take_along_axis(values, source, axis=0)
    np.testing.assert_array_equal(moved, coarse)
    np.testing.assert_array_equal(source[:, 1], source[:, 2])  # they move together
    assert (areas[source[:, 0]] == areas).all()


def test_shrinkage_is_what_the_data_ask_for() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 4, (2, 4000))
    area = rng.integers(0, 8, 4000)

    def halves(of_y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cells = (area * 4 + x) * 4 + of_y
        counts = [np.bincount(cells[h::2], minlength=128).reshape(8, 4, 4) for h in (0, 1)]
        return counts[0].astype(float), counts[1].astype(float)

    assert best_amount(halves(y)) >= AMOUNTS[-4]
    assert best_amount(halves((x + area) % 4)) == AMOUNTS[0]
    table = halves(y)[0]
    np.testing.assert_allclose(smoothed(table, 7.0).sum(axis=2), table.sum(axis=2))
    np.testing.assert_allclose(smoothed(table, 0.0), table)


def test_without_smoothing_the_tables_are_the_sample_s_and_empty_rows_stay_empty() -> None:
    table = np.zeros((2, 2, 2))
    table[0, 0], table[1] = [3.0, 1.0], 2.0
    assert np.array_equal(smoothed(table, 0.0), table)
    assert np.isfinite(smoothed(table, 5.0)).all()
    found = people(TablePass(VARIABLES, by="area", smoothing=0))
    assert distance(found, "area", "one", "two") < distance(people(), "area", "one", "two")


def test_the_same_seed_makes_the_same_people() -> None:
    step = TablePass(VARIABLES, by="area", exchanges=5)
    assert_same_frame(people(step), people(step))
