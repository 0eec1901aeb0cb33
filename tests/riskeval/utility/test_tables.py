"""Distances between contingency tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.utility.k_way_tables import table_distances
from riskeval.utility.tables import table_distance
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

# Templ (2017), section 5.1.2: gender by federal state, before and after PRAM
REGIONS = ["Bgl", "Ktn", "NO", "Sbg", "Stm", "Tirol", "OO", "Wien", "Vbg"]
BEFORE = {
    "male": [261, 517, 1417, 440, 1128, 650, 1363, 1132, 359],
    "female": [288, 561, 1387, 484, 1167, 667, 1442, 1190, 374],
}
AFTER = {
    "male": [266, 514, 1425, 426, 1116, 649, 1368, 1129, 374],
    "female": [290, 559, 1397, 474, 1177, 654, 1434, 1198, 377],
}


def records(table: dict[str, list[int]]) -> pd.DataFrame:
    rows = [(sex, r, n) for sex, row in table.items() for r, n in zip(REGIONS, row, strict=True)]
    frame = pd.DataFrame(rows, columns=["sex", "region", "n"])
    return frame.loc[frame.index.repeat(frame["n"])].drop(columns="n").reset_index(drop=True)


def test_the_numbers_of_the_book() -> None:
    distance = table_distance(records(BEFORE), records(AFTER), ["sex", "region"], total="as-is")
    assert distance.ut == pytest.approx(7.333333, abs=1e-6)
    assert distance.ut2 == pytest.approx(1.163519, abs=1e-6)
    assert distance.aitchison_total == pytest.approx(0.09068296, abs=1e-8)
    assert distance.aitchison == pytest.approx(distance.aitchison_total / 18)
    assert distance.n_cells == 18
    assert distance.zeros_replaced == 0
    assert len(distance.cells) == 18


def test_aitchison_distance_is_the_sum_over_log_ratios() -> None:
    x, y = np.array([4.0, 2.0, 8.0]), np.array([5.0, 3.0, 6.0])
    pairs = [(0, 1), (0, 2), (1, 2)]
    squares = [(np.log(x[i] / x[j]) - np.log(y[i] / y[j])) ** 2 for i, j in pairs]
    frame = pd.DataFrame({"a": list("pqr")})
    distance = table_distance(frame, frame, "a", weights=x, released_weights=y)
    assert distance.aitchison_total == pytest.approx(np.sqrt(sum(squares) / 3))


def test_shared_levels_against_the_reference() -> None:
    facts = golden("sdc", "k2_eusilc_utility.json")["UT_hsize_6_9"]
    eusilc = survey_data("eusilc")[["rb090", "hsize"]].astype({"hsize": int})
    # the reference compares size 6 of the original with 6 to 9 of the release
    released = eusilc.assign(hsize=eusilc["hsize"].clip(upper=6))
    distance = table_distance(eusilc, released, ["rb090", "hsize"], levels="shared", total="as-is")
    assert distance.ut == pytest.approx(facts["UT"], rel=1e-12)
    assert distance.ut2 == pytest.approx(facts["UT2"], rel=1e-12)
    assert distance.left_out == {"hsize": (7, 8, 9)}
    union = table_distance(eusilc, released, ["rb090", "hsize"], total="as-is")
    assert union.n_cells == 18
    assert union.empty_released == 6
    assert "left out" in distance.summary()


def test_differences_of_cells_and_margins_against_the_reference() -> None:
    facts = golden("sdc", "i6_infoloss.json")["margins_nuts2_national"]
    x, y = (
        golden("sdc", "data_recordswap.parquet"),
        golden("sdc", "data_recordswap_swapped.parquet"),
    )
    tables = [["nuts2", "national"], ["nuts2"], ["national"]]
    found = [table_distance(x, y, names, total="as-is") for names in tables]
    moved = np.concatenate([item.cells["difference"].to_numpy() for item in found])
    want = {row["noise"]: row["cnt"] for row in facts["overview"] if row["noise"]}
    values, counts = np.unique(moved[moved != 0], return_counts=True)
    assert abs(moved).sum() == pytest.approx(sum(abs(k) * n for k, n in want.items()))
    assert dict(zip(abs(values), counts, strict=False)).keys() <= {abs(k) for k in want}
    roots = np.concatenate([item.cells["root"].to_numpy() for item in found])
    mean = next(row for row in facts["measures"] if row["what"] == "Mean")
    assert abs(roots).sum() / facts["n_cells"] == pytest.approx(mean["abssqrtD"], rel=1e-9)


def test_sample_against_population() -> None:
    population = records(BEFORE)
    sample = population.iloc[::10]
    weights = np.full(len(sample), 10.0)
    scaled = table_distance(population, sample, ["sex", "region"])
    weighted = table_distance(
        population, sample, ["sex", "region"], released_weights=weights, total="as-is"
    )
    raw = table_distance(population, sample, ["sex", "region"], total="as-is")
    assert scaled.ut < 10 < raw.ut
    assert weighted.ut == pytest.approx(scaled.ut, rel=0.05)
    assert "Totals were" in raw.summary()
    heavy = table_distance(
        population, sample, "sex", weights=np.where(population["sex"] == "male", 5, 1)
    )
    assert heavy.total_variation > 0.3


def test_missing_values_and_zeros() -> None:
    x = pd.DataFrame({"a": ["p", "p", "q", None], "b": ["u", "v", "u", "u"]})
    y = pd.DataFrame({"a": ["p", "p", None, None], "b": ["u", "v", "u", "u"]})
    level = table_distance(x, y, ["a", "b"])
    assert level.n_cells == 6
    assert level.ut == pytest.approx(2 / 6)
    assert level.empty_released == 1
    dropped = table_distance(x, y, ["a", "b"], missing="drop", total="as-is")
    assert dropped.n_cells == 4
    assert dropped.ut == pytest.approx(1 / 4)
    assert level.aitchison != table_distance(x, y, ["a", "b"], zeros=0.1).aitchison
    assert level.zeros_replaced == 5
    new = table_distance(y.dropna(), x.dropna(), ["a", "b"], total="as-is")
    assert new.empty_original == 1
    assert "new in the release" in new.summary()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(1, 99))
def test_bounds_and_symmetry(values: list[int], seed: int) -> None:
    x = pd.DataFrame({"a": values})
    y = pd.DataFrame({"a": np.random.default_rng(seed).integers(0, 4, 25)})
    one, other = table_distance(x, y, "a"), table_distance(y, x, "a")
    assert one.total_variation == pytest.approx(other.total_variation)
    assert one.hellinger == pytest.approx(other.hellinger)
    # total variation lies between the square of the Hellinger distance and root 2 times it
    assert one.hellinger**2 - 1e-9 <= one.total_variation <= 2**0.5 * one.hellinger + 1e-9
    assert table_distance(x, x.sample(frac=1, random_state=1), "a").ut == 0


def test_faults_are_reported_together() -> None:
    x = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(InputError) as error:
        table_distance(x, x, ["a", "z"], weights="w", total="t", levels="l", missing="m", zeros=-1)
    text = str(error.value)
    for word in ("'z'", "'w'", "total", "levels", "missing", "zeros"):
        assert word in text
    with pytest.raises(InputError, match="no record is left"):
        table_distance(x, x + 5, "a", levels="shared")


def test_all_tables_of_a_size() -> None:
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.integers(0, 3, (60, 4)), columns=list("abcd"))
    y = x.assign(d=rng.integers(0, 4, 60))
    found = table_distances(x, y, list("abcd"))
    assert len(found.table) == 6
    assert found.largest == found.table["total_variation"].iloc[0]
    one = table_distance(x, y, ["a", "d"])
    row = found.table.set_index("variables").loc["a x d"]
    for name in ("total_variation", "ut", "ut2", "aitchison", "hellinger", "n_cells"):
        assert row[name] == pytest.approx(getattr(one, name))
    assert len(table_distances(x, y, list("abcd"), size=3).table) == 4
    assert "6 tables of 2" in found.summary()
    w = rng.uniform(1, 9, 60)
    gap = y.assign(d=y["d"].where(y["d"] > 0))
    for options in (
        {"weights": w},
        {"released_weights": w},
        {"levels": "shared"},
        {"zeros": 0.1},
        {"total": "as-is", "weights": w},
        {"missing": "drop"},
    ):
        rest = {k: v for k, v in options.items() if "total" in options and k != "total"}
        base = table_distances(x, gap, ["a", "d"], **rest)  # type: ignore[arg-type]
        other = table_distances(x, gap, ["a", "d"], **options)  # type: ignore[arg-type]
        assert not np.allclose(base.table[["ut", "aitchison"]], other.table[["ut", "aitchison"]]), (
            options
        )
    with pytest.raises(InputError, match="size"):
        table_distances(x, y, ["a"], size=2)
