"""PRAM: matrices of the reference, invariance, forbidden transitions, unbiased estimates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.protection.methods import InvariantMatrix, RandomMatrix
from riskeval.protection.pram import pram
from riskeval.protection.pram_matrix import estimate_counts, invariant_matrix, random_matrix
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data


def naive_invariant(p, diagonal, alpha):
    """The two stages, written out."""
    size = len(p)
    first = [
        [diagonal[k] if k == j else (1 - diagonal[k]) / (size - 1) for j in range(size)]
        for k in range(size)
    ]
    second = [
        [first[k][j] * p[k] / sum(p[m] * first[m][j] for m in range(size)) for k in range(size)]
        for j in range(size)
    ]
    return [
        [
            alpha * sum(first[k][j] * second[j][m] for j in range(size)) + (1 - alpha) * (k == m)
            for m in range(size)
        ]
        for k in range(size)
    ]


@settings(max_examples=25, deadline=None)
@given(
    counts=st.lists(st.integers(1, 500), min_size=2, max_size=6),
    alpha=st.floats(0, 1),
    low=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_invariant_matrix_is_that_of_the_paper(counts, alpha, low, seed):
    p = np.array(counts) / sum(counts)
    diagonal = np.random.default_rng(seed).uniform(low, 1, len(p))
    none = np.zeros((len(p), len(p)), dtype=bool)
    matrix = invariant_matrix(p, diagonal, alpha, none)
    np.testing.assert_allclose(matrix, naive_invariant(p, diagonal, alpha), atol=1e-12)
    np.testing.assert_allclose(p @ matrix, p, atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
    assert (np.diag(matrix) >= 1 - alpha - 1e-12).all()


def test_matrices_of_the_reference_have_the_form_of_ours():
    for case in golden("sdc", "i1_pram_testdata.json")["results"]:
        for run in case["runs"]:
            p = np.array(run["freq_before"]) / sum(run["freq_before"])
            table = np.array(run["Rs"])
            flow = p[:, None] * table
            np.testing.assert_allclose(p @ table, p, atol=1e-12)
            np.testing.assert_allclose(flow, flow.T, atol=1e-12)  # detailed balance, as ours
            assert (np.diag(table) >= 1 - case["alpha"] - 1e-12).all()


@pytest.mark.parametrize("variable", ["walls", "roof", "urbrur"])
def test_our_runs_lie_in_the_range_of_the_reference(variable):
    people = survey_data("testdata")
    runs = [
        run
        for case in golden("sdc", "i1_pram_testdata.json")["results"]
        if case["variable"] == variable and (case["pd"], case["alpha"]) == (0.8, 0.5)
        for run in case["runs"]
    ]
    ours = []
    for seed in range(25):
        result = pram(people, variable, seed=seed)
        matrix = result.details["matrices"][variable]["all"].to_numpy()
        p = people[variable].value_counts().sort_index().to_numpy() / len(people)
        np.testing.assert_allclose(p @ matrix, p, atol=1e-12)
        ours.append(result.details["expected_changes"][variable])
        sd = np.sqrt(ours[-1])
        assert abs(result.records_changed - ours[-1]) < 5 * sd
    for run in runs:
        assert 0.5 * min(ours) <= run["expected_changes"] <= 2 * max(ours)
    assert runs


def frame():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "c": pd.Categorical(
                rng.choice([*"bca"], 3000, p=[0.6, 0.3, 0.1]), categories=[*"cbad"]
            ),
            "x": pd.array(rng.integers(1, 5, 3000), dtype="Int64"),
            "g": rng.choice(["u", "v", None], 3000),
            "w": rng.uniform(1, 3, 3000),
        },
        index=range(3000, 0, -1),
    )


def test_types_missing_values_and_other_columns_stay():
    data = frame()
    data.loc[data.index[:100], "c"] = None
    data.loc[data.index[50:90], "x"] = pd.NA
    before = data.copy()
    result = pram(data, ["c", "x"], seed=3)
    pd.testing.assert_frame_equal(data, before)
    assert result.data.dtypes.equals(data.dtypes)
    assert result.data["c"].cat.categories.tolist() == [*"cbad"]
    for name in ("c", "x"):
        assert result.data[name].isna().equals(data[name].isna())
        assert set(result.data[name].dropna()) <= set(data[name].dropna())
        moved = result.details["transitions"][name]
        assert moved.to_numpy().sum() == data[name].notna().sum()
        cells = result.changes.set_index("column")["cells"][name]
        assert moved.to_numpy().sum() - np.trace(moved.to_numpy()) == cells
        assert cells > 0
    pd.testing.assert_frame_equal(result.data[["g", "w"]], data[["g", "w"]])
    assert result.data.index.equals(data.index)


def test_seed_column_and_stratum_name_the_draws():
    data = frame()
    a, b = pram(data, "c", seed=5), pram(data, ["x", "c"], seed=5)
    assert a.data["c"].equals(b.data["c"])
    assert not a.data["c"].equals(pram(data, "c", seed=6).data["c"])
    assert pram(data, "c").seed is not None
    strata = pram(data, "c", strata="g", seed=5)
    assert set(strata.details["matrices"]["c"]) == {"u", "v", "missing"}
    only_u = pram(data[data["g"] == "u"], "c", strata="g", seed=5)
    assert only_u.data["c"].equals(strata.data.loc[data["g"] == "u", "c"])


def test_invariance_holds_within_strata_and_for_weights():
    data = frame()
    result = pram(data, "c", strata="g", weights="w", seed=1)
    for label, matrix in result.details["matrices"]["c"].items():
        mine = data[data["g"].isna()] if label == "missing" else data[data["g"] == label]
        totals = mine.groupby("c", observed=True)["w"].sum().loc[matrix.index].to_numpy()
        np.testing.assert_allclose(totals @ matrix.to_numpy(), totals, rtol=1e-12)
    plain = pram(data, "c", strata="g", seed=1).details["matrices"]["c"]["u"]
    assert not np.allclose(plain, result.details["matrices"]["c"]["u"], rtol=1e-9)


@pytest.mark.parametrize("kind", ["invariant", "random"])
def test_forbidden_transitions_never_happen(kind):
    data = frame()
    pairs = {"c": [("a", "b"), ("c", "a")]}
    result = pram(
        data,
        ["c", "x"],
        matrix={"type": kind, "alpha": 1, "min_diagonal": 0.1},
        forbidden=pairs,
        seed=1,
    )
    moved = result.details["transitions"]["c"]
    matrix = result.details["matrices"]["c"]["all"]
    assert moved.loc["a", "b"] == moved.loc["c", "a"] == 0
    assert matrix.loc["a", "b"] == matrix.loc["c", "a"] == 0
    if kind == "invariant":
        p = data["c"].value_counts().loc[matrix.index].to_numpy()
        np.testing.assert_allclose(p @ matrix.to_numpy(), p, rtol=1e-12)
    else:
        assert matrix.loc["b", "a"] > 0
        assert moved.loc["a", "c"] > 0


def test_options_of_drawn_matrices_are_used():
    data = frame()
    few = pram(data, "c", matrix=InvariantMatrix(min_diagonal=1.0), seed=1)
    assert few.cells_changed == 0
    assert pram(data, "c", matrix=InvariantMatrix(alpha=0.0), seed=1).cells_changed == 0
    mild = pram(data, "c", matrix=InvariantMatrix(alpha=0.2), seed=1).details["expected_changes"][
        "c"
    ]
    strong = pram(data, "c", matrix=InvariantMatrix(alpha=1.0), seed=1).details["expected_changes"][
        "c"
    ]
    assert strong == pytest.approx(5 * mild)
    drawn = pram(data, "c", matrix=RandomMatrix(0.3, 1.0), seed=1)
    diagonal = np.diag(drawn.details["matrices"]["c"]["all"])
    assert (diagonal >= 0.3).all()
    np.testing.assert_allclose(
        random_matrix(np.array([0.4, 1.0]), np.zeros((2, 2), bool)), [[0.4, 0.6], [0, 1]]
    )


def test_given_matrices_by_label_and_by_position():
    data = pd.DataFrame({"c": [*"aabb"]})
    swap = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], index=[*"ab"], columns=[*"ba"])
    assert pram(data, "c", matrix=swap, seed=1).data["c"].tolist() == [*"bbaa"]
    assert pram(data, "c", matrix=[[0, 1], [1, 0]], seed=1).data["c"].tolist() == [*"bbaa"]
    named = pram(data.assign(d=data["c"]), ["c", "d"], matrix={"c": np.eye(2)}, seed=1)
    assert named.data["c"].tolist() == [*"aabb"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"matrix": "odd"}, "not allowed"),
        ({"matrix": [[1.0]]}, "has shape"),
        ({"matrix": [[0.5, 0.4], [0, 1]]}, "do not sum to 1"),
        ({"matrix": [[1.5, -0.5], [0, 1]]}, "not probabilities"),
        ({"matrix": {"type": "random", "alpha": 3}}, "between 0 and 1"),
        ({"matrix": {"c": {"type": "random", "beta": 3}}}, "not an option of 'random'"),
        ({"matrix": [[0.5, 0.5], [0, 1]], "forbidden": [("a", "b")]}, "allows the forbidden"),
        ({"matrix": pd.DataFrame(np.eye(2))}, "labels are not"),
        ({"matrix": [["x", 1], [0, 1]]}, "has shape"),
        ({"forbidden": [("a", "z")]}, "not a pair"),
        ({"forbidden": {"z": [("a", "b")]}}, "not among the columns"),
        ({"strata": "c"}, "and a stratum"),
        ({"weights": "c"}, "not numbers"),
        ({"matrix": "random", "weights": "w"}, "invariant matrices only"),
    ],
)
def test_every_fault_is_named(options, text):
    with pytest.raises(InputError, match=text):
        pram(pd.DataFrame({"c": [*"ab"], "w": [1.0, 2.0]}), "c", **options)


def test_a_stratum_with_one_category_is_left_alone():
    data = pd.DataFrame({"c": [*"aab"], "g": [1, 1, 2]})
    assert pram(data, "c", strata="g", matrix=InvariantMatrix(0, 1), seed=1).cells_changed == 0


def test_estimates_invert_the_matrix_and_check_it():
    matrix = pd.DataFrame([[0.7, 0.3], [0.3, 0.7]], index=[*"ab"], columns=[*"ab"])
    table = estimate_counts(pd.Series(["a"] * 60 + ["b"] * 40 + [None] * 3), matrix)
    np.testing.assert_allclose(matrix.to_numpy().T @ table["estimate"], [60, 40])
    # T*_a has variance (T_a + T_b) 0.7 * 0.3, and the way back divides by 0.7 - 0.3
    assert table["error"].tolist() == pytest.approx([np.sqrt(100 * 0.21) / 0.4] * 2)
    flat = pd.DataFrame(np.full((2, 2), 0.5), index=[*"ab"], columns=[*"ab"])
    with pytest.raises(InputError, match="inverted"):
        estimate_counts(pd.Series([*"ab"]), flat)
    with pytest.raises(InputError, match="no row"):
        estimate_counts(pd.Series([*"abz"]), matrix)


@pytest.mark.slow
def test_frequencies_are_kept_and_estimates_unbiased_over_seeds():
    data = frame()
    before = data["c"].value_counts().loc[[*"bca"]].to_numpy()
    kept, estimates, errors = [], [], []
    for seed in range(400):
        kept.append(
            pram(data, "c", matrix=InvariantMatrix(0.5, 1), seed=seed).data["c"].value_counts()
        )
        drawn = pram(data, "c", matrix=RandomMatrix(0.5, 1), seed=seed)
        matrix = drawn.details["matrices"]["c"]["all"].loc[[*"bca"], [*"bca"]]
        table = estimate_counts(drawn.data["c"], matrix)
        estimates.append(table["estimate"].to_numpy())
        errors.append((table["estimate"].to_numpy() - before) / table["error"].to_numpy())
    mean = pd.concat(kept, axis=1).loc[[*"bca"]].mean(axis=1).to_numpy()
    np.testing.assert_allclose(mean, before, atol=5)
    np.testing.assert_allclose(np.mean(errors, axis=0), 0, atol=0.2)
    np.testing.assert_allclose(np.std(errors, axis=0), 1, atol=0.15)


def homes(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    size = rng.integers(1, 5, n)
    home = np.repeat(np.arange(n), size)
    region = rng.choice([*"abc"], n)[home]
    return pd.DataFrame({"home": home, "region": region, "sex": rng.choice([*"fm"], len(home))})


def test_members_of_a_household_stay_in_one_region():
    people = homes()
    torn = pram(people, ["region", "sex"], seed=1)
    assert (torn.data.groupby("home")["region"].nunique() > 1).any()
    result = pram(people, ["region", "sex"], household="home", seed=1)
    assert result.data.groupby("home")["region"].nunique().max() == 1
    assert (result.data["region"] != people["region"]).any()
    assert (result.data.groupby("home")["sex"].nunique() > 1).any()
    assert "region: once for each of 500 households" in result.summary()
    matrix = result.details["matrices"]["region"]["all"]
    first = people.drop_duplicates("home")["region"].value_counts(normalize=True)
    shares = first.loc[matrix.index].to_numpy()
    np.testing.assert_allclose(shares @ matrix.to_numpy(), shares)


def test_settings_can_differ_by_variable():
    people = homes()
    matrices = {"region": InvariantMatrix(min_diagonal=1.0), "sex": {"type": "random", "alpha": 1}}
    result = pram(people, ["region", "sex"], matrix=matrices, seed=2)
    assert (result.data["region"] == people["region"]).all()
    assert (result.data["sex"] != people["sex"]).any()
    with pytest.raises(InputError, match="'regoin'"):
        pram(people, ["region"], matrix={"regoin": "random"}, seed=1)
    with pytest.raises(InputError, match="differs within a household"):
        pram(people, ["sex"], household="home", household_variables=["sex"], seed=1)


def test_one_faulty_household_does_not_silently_undo_the_others():
    homes = np.repeat(np.arange(120), 2)
    people = pd.DataFrame({"home": homes, "region": np.array([*"abc"])[homes % 3]})
    people.loc[9, "region"] = "c"  # the second member of household 4 in another region
    result = pram(people, "region", household="home", seed=1)
    assert "region is treated as a person-level variable" in result.summary()
    assert "1 household (home 4)" in result.summary()
    fine = pram(people.drop(index=[8, 9]), "region", household="home", seed=1)
    assert "variable of persons" not in fine.summary()


def test_options_beside_a_named_matrix_are_those_of_the_matrix():
    data = pd.DataFrame({"c": ["a", "b", "c"] * 40})
    for kind, matrix in (("invariant", InvariantMatrix), ("random", RandomMatrix)):
        named = pram(data, "c", matrix=kind, min_diagonal=0.3, alpha=0.9, seed=4)
        made = pram(data, "c", matrix=matrix(min_diagonal=0.3, alpha=0.9), seed=4)
        pd.testing.assert_frame_equal(named.data, made.data)
        assert not named.data.equals(pram(data, "c", matrix=kind, alpha=0.9, seed=4).data)
        assert not named.data.equals(pram(data, "c", matrix=kind, min_diagonal=0.3, seed=4).data)
    pd.testing.assert_frame_equal(
        pram(data, "c", matrix=None, seed=4).data, pram(data, "c", seed=4).data
    )
    with pytest.raises(InputError, match="alpha"):
        pram(data, "c", matrix=np.eye(3), alpha=0.5)
