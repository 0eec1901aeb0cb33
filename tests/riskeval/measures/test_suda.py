from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels import suda as kernels
from riskeval.measures import suda as module
from riskeval.measures.suda import suda
from riskeval.measures.suda_scores import dis_scores, msu_weights
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import _path, golden

TABLE_3_3 = pd.DataFrame(
    {
        "age": ["20s"] * 7 + ["60s"],
        "gender": ["male"] * 4 + ["female"] * 3 + ["male"],
        "income": ["50k+"] * 2 + ["50k-"] * 6,
        "education": ["highschool"] * 4
        + ["university", "highschool", "middleschool", "university"],
    }
)
KEYS = list(TABLE_3_3.columns)


def exhaustive(codes: np.ndarray, max_size: int, missing: str) -> list[list[tuple[int, ...]]]:
    """All MSUs of each row, by looking at every set of keys and every pair of rows."""
    n, q = codes.shape
    sets: list[list[tuple[int, ...]]] = [[] for _ in range(n)]

    def alike(i: int, other: int, chosen: tuple[int, ...]) -> bool:
        return all(
            codes[other, j] == codes[i, j] or (missing == "wildcard" and codes[other, j] < 0)
            for j in chosen
        )

    for size in range(1, max_size + 1):
        for chosen in combinations(range(q), size):
            for i in range(n):
                if missing != "category" and any(codes[i, j] < 0 for j in chosen):
                    continue
                if any(set(smaller) <= set(chosen) for smaller in sets[i]):
                    continue
                if sum(alike(i, other, chosen) for other in range(n)) == 1:
                    sets[i].append(chosen)
    return sets


def as_data(codes: np.ndarray) -> pd.DataFrame:
    values = np.where(codes < 0, np.nan, codes)
    return pd.DataFrame(values, columns=[f"k{j}" for j in range(codes.shape[1])])


@st.composite
def small_codes(draw: st.DrawFn) -> np.ndarray:
    n, q = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    cells = st.integers(-1, draw(st.integers(0, 3)))
    return np.array(draw(st.lists(cells, min_size=n * q, max_size=n * q))).reshape(n, q)


@settings(max_examples=40, deadline=None)
@given(small_codes(), st.sampled_from(["exclude", "category", "wildcard"]), st.data())
def test_the_search_finds_what_exhaustive_search_finds(
    codes: np.ndarray, missing: str, data: st.DataObject
) -> None:
    q = codes.shape[1]
    max_size = data.draw(st.integers(1, q))
    frame = as_data(codes)
    result = suda(
        frame, list(frame.columns), max_size=max_size, missing=missing, normalise="original"
    )
    expected = exhaustive(codes, max_size, missing)
    assert result.n_msu.tolist() == [len(sets) for sets in expected]
    smallest = [min(map(len, sets), default=0) for sets in expected]
    assert result.smallest_msu.tolist() == smallest
    assert result.special.tolist() == [0 < size < q for size in smallest]
    weights = msu_weights(q, max_size, "original")
    score = [sum(weights[len(chosen)] for chosen in sets) for sets in expected]
    np.testing.assert_allclose(result.score, score)
    for i, sets in enumerate(expected):
        for j in range(q):
            part = sum(weights[len(chosen)] for chosen in sets if j in chosen)
            assert result.contribution[i, j] * result.score[i] == pytest.approx(part)
    sizes = [sum(len(c) == k for sets in expected for c in sets) for k in range(1, max_size + 1)]
    assert result.msu_sizes["n_msu"].tolist() == sizes


@pytest.mark.parametrize("missing", ["exclude", "category", "wildcard"])
def test_the_kernel_and_its_plain_form_agree(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(3).integers(-1, 4, size=(60, 5))
    frame = as_data(codes)
    compiled = suda(frame, list(frame.columns), missing=missing)
    monkeypatch.setattr(kernels, "minimal_uniques", kernels.minimal_uniques.py_func)
    plain = suda(frame, list(frame.columns), missing=missing)
    np.testing.assert_array_equal(compiled.n_msu, plain.n_msu)
    np.testing.assert_array_equal(compiled.score, plain.score)
    np.testing.assert_array_equal(compiled.contribution, plain.contribution)
    assert compiled.n_msu.sum() > 0


def test_lists_that_outgrow_their_first_room_are_kept() -> None:
    # with many missing values as wildcards each row is in the lists of many items
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, size=(80, 6))
    codes[rng.random(codes.shape) < 0.4] = -1
    frame = as_data(codes)
    result = suda(frame, list(frame.columns), missing="wildcard")
    assert result.n_msu.tolist() == [len(sets) for sets in exhaustive(codes, 6, "wildcard")]


def test_table_3_3_of_the_book() -> None:
    result = suda(TABLE_3_3, KEYS, normalise="book")
    np.testing.assert_allclose(result.score, [0, 0, 0, 0, 1, 0.5, 1.75, 2.25])
    printed = [0.010460685, 0.004580335, 0.020271161, 0.027212235]
    np.testing.assert_allclose(result.dis_score[4:], printed, rtol=1e-6)
    assert (result.dis_score[:4] == 0).all()
    np.testing.assert_allclose(
        result.attribute_contribution["contribution"], [40.90909, 27.27273, 0, 68.18182], rtol=1e-6
    )
    np.testing.assert_allclose(result.contribution[7], [0.7777778, 0.2222222, 0, 0.2222222], 1e-6)
    np.testing.assert_allclose(result.contribution[4], [0.5, 0.5, 0, 1])
    assert result.dis_table()["records"].tolist() == [4, 4, 0, 0, 0, 0, 0, 0, 0]
    levels = result.level_contribution.set_index(["variable", "level"])["contribution"]
    assert np.isnan(levels["income", "50k+"])


def test_worked_scores_of_section_3_4_2() -> None:
    # observation 8: 60s of size 1 scores 6, (male, university) of size 2 scores 2, with M = 3
    original = suda(TABLE_3_3, KEYS, max_size=3, normalise="original")
    assert original.score[7] == 6 + 2
    assert suda(TABLE_3_3, KEYS, max_size=3, normalise="factorial").score[7] == 8 / 24
    assert original.n_msu[7] == 2


@pytest.mark.parametrize(
    "case",
    [
        "d1_suda_toy8", "d1_suda_toy8_ihsn", "d2_suda_ten", "d2_suda_ten_ihsn", "d3_suda_testdata6",
        "d3_suda_testdata6_ihsn", "d4_suda_eusilc4", "d4_suda_eusilc4_ihsn",
        "d5_suda_testdata6_dis0.1", "d6_suda_toy8_3vars",
    ],
)  # fmt: skip
def test_reference_values(case: str) -> None:
    called, vectors = golden("sdc", f"{case}.json"), golden("sdc", f"{case}.parquet")
    own = called["data"].startswith("data_")
    data = pd.read_parquet(_path(*(("golden", "sdc") if own else ("data",)), called["data"]))
    result = suda(
        data,
        called["variables"],
        dis_fraction=called["DisFraction"],
        normalise="original" if called["original_scores"] else "book",
    )
    np.testing.assert_allclose(result.score, vectors["score"], rtol=1e-8)
    np.testing.assert_allclose(result.dis_score, vectors["disScore"], rtol=1e-6)
    np.testing.assert_allclose(result.contribution, vectors.iloc[:, 2:].to_numpy(), atol=1e-12)
    expected = [row["contribution"] for row in called["attribute_contributions"]]
    np.testing.assert_allclose(result.attribute_contribution["contribution"], expected, atol=1e-9)
    assert result.dis_table()["records"].tolist() == called["disScore_table"]["counts"]
    levels = {
        (variable, str(level)): value
        for variable, level, value in result.level_contribution.itertuples(index=False)
    }
    for row in called["attribute_level_contributions"]:
        value = np.nan if row["contribution"] is None else row["contribution"]
        np.testing.assert_allclose(levels[row["variable"], str(row["attribute"])], value, atol=1e-9)


def test_each_normalisation_has_its_own_scale() -> None:
    assert msu_weights(4, 4, "original").tolist() == [0, 6, 2, 1, 1]
    assert msu_weights(4, 2, "original").tolist() == [0, 6, 2, 0, 0]
    assert msu_weights(5, 2, "original").tolist() == [0, 12, 3, 0, 0, 0]
    np.testing.assert_allclose(msu_weights(4, 4, "factorial"), np.array([0, 6, 2, 1, 1]) / 24)
    np.testing.assert_allclose(msu_weights(4, 4, "book"), [0, 7 / 4, 3 / 6, 1 / 4, 0])


def test_missing_values_follow_the_chosen_rule() -> None:
    frame = pd.DataFrame({"a": ["x", "x", "y", None], "b": ["u", "u", "v", "w"]})
    keys = ["a", "b"]
    excluded = suda(frame, keys, normalise="original")
    assert excluded.n_msu.tolist() == [0, 0, 2, 1]
    category = suda(frame, keys, missing="category", normalise="original")
    assert category.n_msu.tolist() == [0, 0, 2, 2]
    levels = category.level_contribution
    assert levels.loc[levels["level"].isna(), "contribution"].tolist() == [50.0]
    wild = suda(frame, keys, missing="wildcard", normalise="original")
    assert wild.n_msu.tolist() == [0, 0, 1, 1]  # the missing value may be y


def test_wildcard_pairs_are_counted_for_dis() -> None:
    frame = pd.DataFrame({"a": ["x", "x", None, "y", "z"], "b": ["u", "v", "u", "w", "w"]})
    # alone on all keys: (x, v), (y, w), (z, w); in a pair: (x, u) and (missing, u)
    result = suda(frame, ["a", "b"], missing="wildcard", dis_fraction=0.2)
    assert result.dis == pytest.approx(3 * 0.2 / (3 * 0.2 + 2 * 0.8))
    excluded = suda(frame, ["a", "b"], dis_fraction=0.2)
    assert excluded.dis == 1


def test_max_size_limits_the_search() -> None:
    assert suda(TABLE_3_3, KEYS, max_size=1).n_msu.sum() == 2
    assert suda(TABLE_3_3, KEYS, max_size=2).n_msu.sum() > 2


def test_dis_fraction_moves_dis_scores_only() -> None:
    low, high = suda(TABLE_3_3, KEYS), suda(TABLE_3_3, KEYS, dis_fraction=0.1)
    assert (high.dis_score[4:] > low.dis_score[4:]).all()
    np.testing.assert_array_equal(low.score, high.score)
    # four uniques and four records in pairs
    assert high.dis == pytest.approx(0.1)


def test_a_unique_match_in_a_census_is_right() -> None:
    result = suda(TABLE_3_3, KEYS, dis_fraction=1)
    assert result.dis == 1
    assert (result.dis_score[result.n_msu > 0] == 1).all()
    assert (result.dis_score[result.n_msu == 0] == 0).all()
    assert "a unique match is right" in result.summary()


@pytest.mark.parametrize("normalise", ["original", "factorial"])
def test_no_record_with_a_minimal_unique_scores_zero(normalise: str) -> None:
    rng = np.random.default_rng(8)
    frame = as_data(rng.integers(0, 4, size=(300, 4)))
    result = suda(frame, list(frame.columns), normalise=normalise)
    alone = result.n_msu > 0
    assert (result.smallest_msu == 4).sum() > 20
    assert (result.score[alone] > 0).all()
    assert (result.dis_score[alone] > 0).all()
    assert suda(frame, list(frame.columns)).normalise == "original"


def test_special_uniques_are_not_all_uniques() -> None:
    # (x, u) of the second row needs both keys, z of the last row does not
    frame = pd.DataFrame({"a": ["x", "x", "y", "y", "z"], "b": ["v", "u", "u", "v", "v"]})
    result = suda(frame, ["a", "b"])
    assert (result.n_msu > 0).all()
    assert result.special.tolist() == [False, False, False, False, True]
    assert "For 1 record of them fewer than all keys do" in result.summary()
    assert not suda(frame, ["a"]).special.any()


def test_dis_scores_without_uniques_or_scores_are_zero() -> None:
    scores, dis = dis_scores(np.zeros(3), 0, 2, 0.1, 2)
    assert scores.tolist() == [0, 0, 0]
    assert dis == 0
    scores, dis = dis_scores(np.zeros(3), 1, 2, 0.1, 2)
    assert scores.tolist() == [0, 0, 0]
    assert 0 < dis < 1


def test_a_file_without_uniques_says_so() -> None:
    result = suda(pd.DataFrame({"a": [1, 1, 2, 2]}), ["a"])
    assert result.score.tolist() == [0, 0, 0, 0]
    assert result.attribute_contribution["contribution"].isna().all()
    assert "none of 4 records" in result.summary()


def test_one_record_is_singled_out_by_every_key() -> None:
    assert suda(pd.DataFrame({"a": [1], "b": [2]}), ["a", "b"]).n_msu.tolist() == [2]


def test_records_that_share_a_row_get_the_same_and_data_stay_as_they_were() -> None:
    before = TABLE_3_3.copy()
    result = suda(TABLE_3_3.sample(frac=1, random_state=1), KEYS)
    pd.testing.assert_frame_equal(before, TABLE_3_3)
    order = TABLE_3_3.sample(frac=1, random_state=1).index
    np.testing.assert_array_equal(result.score, suda(TABLE_3_3, KEYS).score[order])


def test_the_frame_and_the_sentence() -> None:
    result = suda(TABLE_3_3, KEYS)
    assert list(result.to_frame().columns) == ["score", "dis_score", "n_msu", "smallest_msu"] + [
        f"{key}_contribution" for key in KEYS
    ]
    text = result.summary()
    assert "4 of 8 records" in text
    assert "education" in text
    assert "<table" in result._repr_html_()


def test_every_fault_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as error:
        suda(
            TABLE_3_3,
            ["age", "agee"],
            max_size=9,
            dis_fraction=1.1,
            normalise="books",
            missing="ignore",
        )
    where = {fault.where for fault in error.value.faults}
    assert where == {"'agee'", "max_size", "dis_fraction", "normalise", "missing"}
    with pytest.raises(InputError, match="no rows"):
        suda(TABLE_3_3.iloc[:0], KEYS)
    with pytest.raises(InputError, match="no key is given"):
        suda(TABLE_3_3, [])
    with pytest.raises(InputError, match="named twice"):
        suda(TABLE_3_3, ["age", "age"])
    monkeypatch.setattr(module, "PLACES", 10)
    with pytest.raises(InputError, match="too many"):
        suda(TABLE_3_3, KEYS)
