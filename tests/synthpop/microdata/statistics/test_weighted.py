from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics import weighted
from synthpop.microdata.statistics.weighted.quantiles import LARGE, _by_buckets
from tests.reference_data import golden, survey_data


@pytest.mark.parametrize("name", ["netIncome", "py010n", "py050n", "py100n", "age", "hsize"])
def test_reference_statistics(name: str) -> None:
    sample = survey_data("eusilcS")
    case = golden("pop", "c_weighted.json")["quantileWt"]
    x, w, wanted = sample[name], sample["rb050"], case["vars"][name]
    probs = case["probs"]
    np.testing.assert_allclose(weighted.quantile(x, w, probs), wanted["quantileWt"], rtol=1e-10)
    np.testing.assert_allclose(
        weighted.quantile(x, None, probs), wanted["quantileWt_unweighted"], rtol=1e-10
    )
    assert weighted.mean(x, w) == pytest.approx(wanted["meanWt"], rel=1e-10)
    assert weighted.mean(x) == pytest.approx(wanted["meanWt_unweighted"], rel=1e-10)
    assert weighted.variance(x, w) == pytest.approx(wanted["varWt"], rel=1e-10)
    assert weighted.variance(x) == pytest.approx(wanted["varWt_unweighted"], rel=1e-10)
    assert weighted.standard_deviation(x, w) == pytest.approx(wanted["sdWt"], rel=1e-10)


def test_reference_by_region_and_edges() -> None:
    sample = survey_data("eusilcS")
    case = golden("pop", "c_weighted.json")["quantileWt"]
    for region, wanted in case["by_db040"].items():
        part = sample[sample["db040"] == region]
        got = weighted.quantile(part["netIncome"], part["rb050"], case["probs"])
        np.testing.assert_allclose(got, wanted["quantileWt"], rtol=1e-10)
        assert weighted.variance(part["netIncome"], part["rb050"]) == pytest.approx(wanted["varWt"])
    for small in (case["tiny"], case["edge"]["tenths"]):
        got = weighted.quantile(small["x"], small["w"], small["probs"])
        assert got.tolist() == small["q"]


def test_reference_covariance_and_correlation() -> None:
    sample = survey_data("eusilcS")
    case = golden("pop", "c_weighted.json")["covcor"]
    matrix, w = sample[case["vars"]], sample["rb050"]
    np.testing.assert_allclose(
        weighted.covariance(matrix, weights=w), case["covWt_dataframe"], rtol=1e-10
    )
    np.testing.assert_allclose(weighted.covariance(matrix), case["covWt_nw"], rtol=1e-10)
    assert weighted.covariance(sample["age"], sample["netIncome"], w) == pytest.approx(
        case["covWt_default"], rel=1e-10
    )
    # the reference mixes rows where only one value is present: compare pairs without gaps
    got = weighted.correlation(matrix, weights=w)
    assert isinstance(got, np.ndarray)
    for i, j in ((0, 1), (2, 3), (2, 4), (3, 4)):
        assert got[i, j] == pytest.approx(case["corWt_dataframe"][i][j], abs=1e-10)
    adults = matrix.dropna()
    expected = np.corrcoef(adults["age"], adults["netIncome"])[0, 1]
    assert weighted.correlation(matrix["age"], matrix["netIncome"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "columns", "options"),
    [
        ("db040", ["db040"], {}),
        ("hsize_db040", ["hsize", "db040"], {}),
        ("rb090_pb220a_ifany", ["rb090", "pb220a"], {"missing": "level"}),
        ("rb090_pb220a_no", ["rb090", "pb220a"], {}),
        ("three_way", ["rb090", "db040", "pl030"], {}),
    ],
)
def test_reference_tables(name: str, columns: list[str], options: dict[str, str]) -> None:
    sample = survey_data("eusilcS")
    case = golden("pop", "c_weighted.json")["tableWt"][name]
    assert case["vars"] == columns or case["vars"] == columns[0]
    got = weighted.table(sample[columns], sample["rb050"], decimals=0, **options).reset_index()
    got = {tuple(str(row[c]) for c in columns): row["total"] for row in got.to_dict("records")}
    wanted = {tuple(str(c.get(v, "nan")) for v in columns): c["Freq"] for c in case["cells"]}
    assert got == wanted


def naive_quantile(x: list[float], w: list[int], p: float, definition: str) -> float:
    total, seen = sum(w), 0.0
    for value, weight in sorted(zip(x, w, strict=True)):
        seen += weight
        if seen >= p * total - 1e-9 and definition == "reached" and weight > 0:
            return value
        if seen > p * total + 1e-9 and definition == "exceeded":
            return value
    return max(value for value, weight in zip(x, w, strict=True) if weight > 0)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=12),
    st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]),
    st.sampled_from(["reached", "exceeded"]),
)
def test_quantiles_agree_with_the_definition(
    rows: list[tuple[int, int]], p: float, definition: str
) -> None:
    x, w = [float(a) for a, _ in rows], [b for _, b in rows]
    got = weighted.quantile(x, w, p, definition=definition)
    if sum(w) == 0:
        assert np.isnan(got)
        return
    assert got == naive_quantile(x, w, p, definition)
    repeated = np.repeat(x, w)
    assert weighted.quantile(repeated, None, p, definition=definition) == got


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.one_of(st.integers(-4, 4), st.floats(-1e9, 1e9)), st.integers(1, 5)),
        min_size=1,
        max_size=30,
    ),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
    st.sampled_from(["reached", "exceeded"]),
)
def test_buckets_agree_with_sorting(
    rows: list[tuple[float, int]], p: list[float], definition: str
) -> None:
    x, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    order = np.argsort(x)
    by_sorting = weighted.sorted_quantiles(x[order], w[order], np.array(p), definition)
    np.testing.assert_array_equal(_by_buckets(x, w, np.array(p), definition), by_sorting)


def test_large_arrays_take_buckets() -> None:
    rng = np.random.default_rng(1)
    x, w = rng.lognormal(0, 2, LARGE + 1) - 1, rng.random(LARGE + 1)
    probs = np.array([0.0, 0.01, 0.5, 0.99, 1.0])
    order = np.argsort(x)
    for definition in ("reached", "exceeded"):
        got = weighted.quantile(x, w, probs, definition=definition)
        by_sorting = weighted.sorted_quantiles(x[order], w[order], probs, definition)
        np.testing.assert_array_equal(got, by_sorting)


def test_definitions_differ_at_ties() -> None:
    assert weighted.quantile([1.0, 2.0], None, 0.5) == 1.0
    assert weighted.quantile([1.0, 2.0], None, 0.5, definition="exceeded") == 2.0
    assert weighted.quantile([1.0, 2.0], [1, 1], 0.5, definition="exceeded") == 2.0


def test_variance_of_repeated_rows() -> None:
    x, w = np.array([1.0, 4.0, 6.0]), np.array([2, 1, 3])
    assert weighted.variance(x, w) == pytest.approx(np.repeat(x, w).var(ddof=1))
    assert np.isnan(weighted.variance([3.0]))
    assert np.isnan(weighted.variance([3.0, 4.0], [0.4, 0.4]))
    assert np.isnan(weighted.correlation([1.0, 1.0], [1.0, 2.0]))


def test_missing_values() -> None:
    x, w = [1.0, np.nan, 3.0], [1.0, 1.0, 3.0]
    assert weighted.mean(x, w) == 2.5
    statistics = (weighted.mean, weighted.variance, weighted.standard_deviation)
    for statistic in statistics:
        assert not np.isnan(statistic(x, w))
        assert np.isnan(statistic(x, w, missing="propagate"))
    assert np.isnan(weighted.quantile(x, w, missing="propagate")).all()
    assert np.isnan(weighted.covariance(x, [1.0, 2.0, 3.0], w, missing="propagate"))
    assert np.isnan(weighted.correlation(x, [1.0, 2.0, 3.0], w, missing="propagate"))
    assert np.isnan(weighted.mean([np.nan]))
    assert np.isnan(weighted.quantile([], None, 0.5))
    assert weighted.mean(pd.Series([1, None], dtype="Int64")) == 1.0


def test_table_arguments() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": pd.Categorical([1, 1, 2], [1, 2, 3])})
    counts = weighted.table(frame, [1.4, 2.0, 3.0])
    assert len(counts) == 6
    assert counts["y", 3] == 0
    assert counts["x", 1] == 1.4
    assert weighted.table(frame, [1.4, 2.0, 3.0], decimals=0)["x", 1] == 1
    assert weighted.table(frame["a"], missing="level").tolist() == [1, 1, 1]
    assert weighted.table(frame["a"]).tolist() == [1, 1]


def test_faults_are_listed_together() -> None:
    with pytest.raises(InputError) as caught:
        weighted.mean([1.0, 2.0], [-1.0, np.inf], missing="keep")  # type: ignore[arg-type]
    assert len(caught.value.faults) == 3
    with pytest.raises(InputError, match="3 weights for 2 values"):
        weighted.mean([1.0, 2.0], [1.0, 1.0, 1.0])
    with pytest.raises(InputError, match="not numbers"):
        weighted.mean(["a"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="shares, not percent"):
        weighted.quantile([1.0], None, 50)
    with pytest.raises(InputError, match="definition"):
        weighted.quantile([1.0], None, 0.5, definition="type7")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairs"):
        weighted.covariance([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="columns that are not numbers"):
        weighted.covariance(pd.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(InputError, match="dimensions"):
        weighted.mean([[1.0]])  # type: ignore[list-item]
    with pytest.raises(InputError, match="missing"):
        weighted.table(["a"], missing="keep")  # type: ignore[arg-type]


# what is left of the reference


def test_reference_of_single_calls() -> None:
    sample = survey_data("eusilcS")
    w, income = sample["rb050"], sample["netIncome"]
    case = golden("pop", "c_weighted.json")
    together = case["quantileWt"]["dataObj"]
    assert weighted.mean(income, w) == pytest.approx(together["mean"], rel=1e-10)
    assert weighted.variance(income, w) == pytest.approx(together["var"], rel=1e-10)
    quartiles = weighted.quantile(income, w, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(quartiles, together["quantile"], rtol=1e-10)
    equal = case["quantileWt"]["edge"]["all_equal"]
    assert weighted.quantile([5.0] * 7, None, [0, 0.25, 0.5, 0.75, 1]).tolist() == equal
    pair = weighted.covariance(sample[["age", "netIncome"]], weights=w)
    np.testing.assert_allclose(pair, case["covcor"]["covWt_dataObj"], rtol=1e-10)
    age = case["covcor"]["self"]
    assert weighted.covariance(sample["age"], sample["age"], w) == pytest.approx(
        age["covWt_age_age"]
    )
    assert weighted.correlation(sample["age"], sample["age"], w) == pytest.approx(1)
    unweighted = weighted.correlation(sample[case["covcor"]["vars"]])
    for i, j in ((0, 1), (2, 3), (2, 4), (3, 4)):  # pairs without gaps; see above
        assert unweighted[i, j] == pytest.approx(case["covcor"]["corWt_nw"][i][j], abs=1e-10)


@pytest.mark.parametrize("name", ["unweighted", "unweighted_ifany"])
def test_reference_tables_without_weights(name: str) -> None:
    sample = survey_data("eusilcS")
    case = golden("pop", "c_weighted.json")["tableWt"][name]
    missing = "level" if name.endswith("ifany") else "drop"
    got = weighted.table(sample[case["vars"]], missing=missing).reset_index()
    got = {tuple(str(row[c]) for c in case["vars"]): row["total"] for row in got.to_dict("records")}
    assert got == {
        tuple(str(c.get(v, "nan")) for v in case["vars"]): c["Freq"] for c in case["cells"]
    }


def test_reference_table_of_one_vector() -> None:
    sample = survey_data("eusilcS")
    case = golden("pop", "c_weighted.json")["tableWt"]["vector_input"]
    got = weighted.table(sample["pl030"], sample["rb050"], decimals=0)
    assert {str(k): v for k, v in got.items()} == {row["x"]: row["Freq"] for row in case}


def test_reference_contingency() -> None:
    sample = survey_data("eusilcS")
    case, w = golden("pop", "c_weighted.json")["contingencyWt"], sample["rb050"]
    options = {"decimals": 0, "correction": "yates"}
    names = case["vars"]
    for i, row in enumerate(case["matrix"]):
        for j, wanted in enumerate(row):
            if wanted is not None:
                got = weighted.contingency(sample[names[i]], sample[names[j + 1]], w, **options)
                assert got == pytest.approx(wanted, rel=1e-10), (names[i], names[j + 1])
    got = weighted.contingency(sample["pl030"], sample["pb220a"], **options)
    assert got == pytest.approx(case["pl030_pb220a_unweighted"], rel=1e-10)


def test_contingency_against_the_formula() -> None:
    rng = np.random.default_rng(3)
    x, y, w = rng.integers(0, 3, 200), rng.integers(0, 4, 200), rng.uniform(1, 3, 200)
    chi2 = 0.0
    for a in range(3):
        for b in range(4):
            expected = w[x == a].sum() * w[y == b].sum() / w.sum()
            chi2 += (w[(x == a) & (y == b)].sum() - expected) ** 2 / expected
    assert weighted.contingency(x, y, w) == pytest.approx(np.sqrt(chi2 / (chi2 + w.sum())))
    assert weighted.contingency(x, y, w, decimals=0) != weighted.contingency(x, y, w)
    two = weighted.contingency(x > 0, y > 1)
    assert weighted.contingency(x > 0, y > 1, correction="yates") < two
    assert weighted.contingency(["a", None, "b"], ["p", "q", "r"]) == pytest.approx(np.sqrt(0.5))
    assert np.isnan(weighted.contingency([None], ["a"]))


def test_faults_of_contingency() -> None:
    with pytest.raises(InputError, match="no pairs"):
        weighted.contingency(["a"], ["b", "c"])
    with pytest.raises(InputError, match="'yate' is not allowed"):
        weighted.contingency(["a"], ["b"], correction="yate")  # type: ignore[arg-type]
