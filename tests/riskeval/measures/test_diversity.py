"""l-diversity against the reference package, the definitions and a naive count."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels import diversity as kernels
from riskeval.keys.table import TREATMENTS
from riskeval.measures.l_diversity import l_diversity
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data
from tests.riskeval.measures.naive_counts import contribution

NAN = float("nan")


def naive_of(values, parts, c, gap):
    """Distinct, entropy and recursive diversity of one group; `parts` weigh the records."""
    totals = {}
    for value, part in zip(values, parts, strict=True):
        if part > 0 and value is not None:
            totals[value] = totals.get(value, 0.0) + part
    if not totals or set(totals) == {gap}:
        return 0, 1.0, 1
    r = sorted(totals.values(), reverse=True)
    p = np.array(r) / sum(r)
    recursive = max([1, *(ell for ell in range(1, len(r) + 1) if r[0] < c * sum(r[ell - 1 :]))])
    return len(r), float(np.exp(-(p * np.log(p)).sum())), recursive


def naive(codes, values, missing, c, gap):
    codes = np.asarray(codes)
    n = len(codes)
    shares = [
        np.bincount(codes[:, k] + 1, minlength=codes.max(initial=0) + 2)[1:] / n
        for k in range(codes.shape[1])
    ]
    rows = []
    for i in range(n):
        parts = [
            contribution(codes, i, j, missing, 1.0, shares) * in_common(codes[i], codes[j])
            for j in range(n)
        ]
        rows.append(naive_of(values, parts, c, gap))
    return np.array(rows, dtype=float)


def in_common(own, other):
    """Whether two records share a known key, or the first has none, or they are alike."""
    return bool((own == other).all() or (own < 0).all() or ((own >= 0) & (other >= 0)).any())


ROWS = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(-1, 1), st.integers(-1, 3)), min_size=1, max_size=10
)


@settings(max_examples=40, deadline=None)
@given(
    rows=ROWS,
    missing=st.sampled_from(TREATMENTS),
    c=st.sampled_from([0.5, 1.0, 2.0, 4.0]),
    ignore=st.booleans(),
)
def test_agrees_with_naive(rows, missing, c, ignore):
    codes = np.array([row[:2] for row in rows])
    _, ranked = zip(
        *(np.unique(np.append(k, -1), return_inverse=True) for k in codes.T), strict=True
    )
    codes = np.column_stack([r[:-1] - 1 for r in ranked])
    data = pd.DataFrame(rows, columns=["a", "b", "s"], dtype=float).replace(-1, NAN)
    values = [(None if ignore else "gap") if row[2] < 0 else row[2] for row in rows]
    result = l_diversity(
        data,
        ["a", "b"],
        "s",
        recursive_c=c,
        missing=missing,
        missing_sensitive="ignore" if ignore else "category",
    )
    expected = naive(codes, values, missing, c, "gap")
    found = result.per_record[["s_distinct", "s_entropy", "s_recursive"]].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("treatment", ["ignore", "category"])
def test_kernel_and_its_python_form(monkeypatch, treatment):
    data = survey_like()
    fast = l_diversity(data, ["a", "b"], "s", missing_sensitive=treatment).per_record
    monkeypatch.setattr(kernels, "merge_segments", kernels.merge_segments.py_func)
    monkeypatch.setattr(kernels, "group_diversity", kernels.group_diversity.py_func)
    plain = l_diversity(data, ["a", "b"], "s", missing_sensitive=treatment).per_record
    pd.testing.assert_frame_equal(fast, plain)


def survey_like():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 4, (60, 4)).astype(float)
    values[rng.random((60, 4)) < 0.1] = NAN
    return pd.DataFrame(values, columns=["a", "b", "s", "t"])


@pytest.mark.parametrize(
    "case",
    [
        "c1_ldiv_testdata_income",
        "c2_ldiv_testdata_income_savings",
        "c3_ldiv_testdata_electcon_walls",
        "c3b_ldiv_testdata_electcon_c1",
        "c3c_ldiv_testdata_electcon_c4",
        "c4_ldiv_ten_health",
        "c5_ldiv_table31",
        "c6_ldiv_eusilc_NAkeys",
    ],
)
def test_reference_package(case):
    info, reference = golden("sdc", f"{case}.json"), golden("sdc", f"{case}.parquet")
    name = info["data"].removesuffix(".parquet")
    data = golden("sdc", info["data"]) if name.startswith("data_") else survey_data(name)
    result = l_diversity(
        data,
        info["keyVars"],
        info["ldiv_index"],
        recursive_c=info["l_recurs_c"],
        missing="own-category",
    )
    for variable in info["ldiv_index"]:
        for kind in ("Distinct", "Entropy", "Recursive"):
            np.testing.assert_allclose(
                result.per_record[f"{variable}_{kind.lower()}"],
                reference[f"{variable}_{kind}_Ldiversity"],
                rtol=1e-8,
            )
    if "reference_multi_entropy" in reference:
        np.testing.assert_allclose(
            result.per_record["multi_entropy"], reference["reference_multi_entropy"], rtol=1e-8
        )
        np.testing.assert_array_equal(
            result.per_record["multi_recursive"], reference["reference_multi_recursive"]
        )
        assert (reference["MultiEntropy_Ldiversity"] == 0).all()  # never computed there


def test_missing_sensitive_values_are_one_category_not_many():
    """The reference package counts each missing value as a value of its own."""
    reference = golden("sdc", "c7_ldiv_eusilc_NAsensitive.parquet")
    result = l_diversity(
        survey_data("eusilc"),
        ["db040", "hsize", "pb220a"],
        "pl030",
        missing="own-category",
        missing_sensitive="category",
    )
    for kind in ("Distinct", "Entropy", "Recursive"):
        found = result.per_record[f"pl030_{kind.lower()}"]
        np.testing.assert_allclose(found, reference[f"ref_pl030_{kind}_Ldiversity"], rtol=1e-8)
    assert reference["pl030_Distinct_Ldiversity"].max() > 200
    assert result.per_record["pl030_distinct"].max() == 7


def test_missing_sensitive_values_by_hand():
    data = pd.DataFrame({"k": [1, 1, 1, 2, 2], "s": ["a", None, None, None, None]})
    counted = l_diversity(data, ["k"], "s", missing_sensitive="category").per_record["s_distinct"]
    left_out = l_diversity(data, ["k"], "s").per_record["s_distinct"]
    assert counted.tolist() == [2, 2, 2, 0, 0]
    assert left_out.tolist() == [1, 1, 1, 0, 0]


def test_missing_keys_by_hand():
    data = pd.DataFrame({"k": [1, 2, NAN], "s": ["a", "b", "c"]})
    found = {
        missing: l_diversity(data, ["k"], "s", missing=missing).per_record["s_distinct"].tolist()
        for missing in TREATMENTS
    }
    assert found == {
        "wildcard": [1, 1, 3],
        "conservative": [1, 1, 3],
        "category-size": [1, 1, 3],
        "conservative-2": [1, 1, 3],
        "own-category": [1, 1, 1],
    }


@pytest.mark.parametrize("missing", TREATMENTS)
def test_blank_records_do_not_make_groups_diverse(missing):
    groups = np.repeat(np.arange(100), 3)
    ill = np.where(groups % 2 == 0, "cancer", "flu")
    data = pd.DataFrame({"group": groups.astype(float), "ill": ill})
    blank = pd.DataFrame({"group": [NAN] * 2, "ill": ["cancer", "flu"]})
    both = pd.concat([data, blank])
    assert l_diversity(data, ["group"], "ill").violations(2) == {"ill": 300}
    assert l_diversity(both, ["group"], "ill", missing=missing).violations(2) == {"ill": 300}


def test_a_missing_illness_is_not_a_second_illness():
    data = pd.DataFrame({"group": [1, 1, 1], "ill": ["HIV", "HIV", None]})
    assert l_diversity(data, ["group"], "ill").violations(2) == {"ill": 3}
    assert "the same value (or none)" in l_diversity(data, ["group"], "ill").summary()


def test_amounts_counted_as_categories_are_named():
    data = pd.DataFrame({"k": np.arange(60) % 3, "income": np.arange(60) * 10.5})
    assert "60 distinct numbers of income" in l_diversity(data, ["k"], "income").summary()
    assert (
        l_diversity(
            data.assign(income=data["k"] // 2), ["k"], "income", missing="own-category"
        ).notes
        == ()
    )


def test_several_variables_use_each_other_as_keys():
    data = survey_like().dropna()
    both = l_diversity(data, ["a"], ["s", "t"]).per_record
    inner_s = l_diversity(data, ["a", "t"], "s").per_record
    inner_t = l_diversity(data, ["a", "s"], "t").per_record
    for kind in ("entropy", "recursive"):
        least = np.minimum(inner_s[f"s_{kind}"], inner_t[f"t_{kind}"])
        expected = least.groupby(data["a"].to_numpy()).transform("min")
        np.testing.assert_allclose(both[f"multi_{kind}"], expected)
    single = l_diversity(data, ["a"], "s").per_record
    np.testing.assert_array_equal(single["multi_entropy"], single["s_entropy"])


def test_result_speaks():
    result = l_diversity(survey_like(), ["a", "b"], ["s", "t"])
    assert result.l.loc["s", "distinct"] == result.per_record["s_distinct"].min()
    assert result.violations(2, "entropy")["t"] == (result.per_record["t_entropy"] < 2 - 1e-9).sum()
    assert "the key alone discloses it" in result.summary()
    assert result.to_frame() is result.per_record


def test_empty_file():
    assert len(l_diversity(survey_like().iloc[:0], ["a"], "s").per_record) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sensitive": "a"}, "is a key and sensitive"),
        ({"sensitive": []}, "no variable is given"),
        ({"sensitive": ["s", "s"]}, "named twice"),
        ({"sensitive": "s", "recursive_c": 0}, "recursive_c"),
        ({"sensitive": "s", "missing_sensitive": "drop"}, "drop"),
        ({"sensitive": "x"}, "sensitive variable is not in the data"),
    ],
)
def test_faults(arguments, message):
    with pytest.raises(InputError, match=message):
        l_diversity(survey_like(), ["a"], **arguments)
