"""Frequency counts against the book's tables, the reference package and a naive count."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels import counts as kernels
from riskeval.keys import matching
from riskeval.keys.table import TREATMENTS, tabulate
from riskeval.measures.frequencies import frequency_counts
from synthpop.microdata.frame import codes as codes_of_columns
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data
from tests.riskeval.measures.naive_counts import naive_counts

NAN = float("nan")
TOY = pd.DataFrame(
    {"key1": [1, 1, 2, NAN], "key2": [1, 1, 1, 1], "key3": [3, NAN, 3, NAN], "w": [10, 20, 30, 40]}
)
KEYS = ["key1", "key2", "key3"]


def status(*values):
    return pd.DataFrame({"region": "A", "status": list(values), "age": "30-49"})


def counted(frame, missing):
    return frequency_counts(frame, ["region", "status", "age"], missing=missing).f.tolist()


@pytest.mark.parametrize(
    ("alpha", "f", "big_f"),
    [
        (1, [3, 3, 2, 4], [70, 70, 70, 100]),
        (0, [1, 2, 1, 3], [10, 30, 30, 80]),
        (0.1, [1.2, 2.1, 1.1, 3.1], [16, 34, 34, 82]),
    ],
)
def test_toy_file_of_the_book(alpha, f, big_f):
    counts = frequency_counts(TOY, KEYS, weights="w", alpha=alpha)
    np.testing.assert_allclose(counts.f, f)
    np.testing.assert_allclose(counts.F, big_f)


def test_conservative_column_of_the_book():
    assert frequency_counts(TOY, KEYS, missing="conservative").f.tolist() == [1, 3, 1, 4]


def test_second_conservative_treatment_equals_alpha_zero():
    counts = frequency_counts(TOY, KEYS, weights="w", missing="conservative-2")
    assert counts.f.tolist() == [1, 2, 1, 3]
    assert counts.F.tolist() == [10, 30, 30, 80]


def test_tables_of_local_suppression():
    """Templ (2017), tables 4.1 and 4.2."""
    S, M, W, gap = "Single", "Married", "Widow", None
    assert counted(status(S, M, M, S, W), "wildcard") == [2, 2, 2, 2, 1]
    one = status(S, M, M, S, gap)
    assert counted(one, "wildcard") == [3, 3, 3, 3, 5]
    assert counted(one, "conservative") == [2, 2, 2, 2, 5]
    np.testing.assert_allclose(counted(one, "category-size"), [2.4, 2.4, 2.4, 2.4, 5])
    three = status(gap, M, M, gap, gap)
    assert counted(three, "conservative-2") == [5, 2, 2, 5, 5]
    assert counted(three, "own-category") == [3, 2, 2, 3, 3]
    np.testing.assert_allclose(counted(three, "category-size"), [5, 3.2, 3.2, 5, 5])
    five = status(gap, gap, gap, gap, gap)
    for treatment in TREATMENTS:
        assert counted(five, treatment) == [5] * 5


CODES = st.integers(1, 4).flatmap(
    lambda m: st.lists(st.lists(st.integers(-1, 2), min_size=m, max_size=m), min_size=1, max_size=9)
)


def as_data(codes):
    frame = pd.DataFrame(np.asarray(codes, dtype=float)).replace(-1, np.nan)
    frame.columns = [f"k{j}" for j in range(frame.shape[1])]
    return frame.assign(w=np.arange(1.0, len(frame) + 1))


ROUTES = {
    "dense": {},
    "kernel": {"FEW_CELLS": 0, "LARGEST_TABLE": 0},
    "pairs": {"FEW_CELLS": 0, "LARGEST_TABLE": 0, "LARGEST_SPAN": 2},
}


@pytest.mark.parametrize("route", ROUTES)
@settings(max_examples=25, deadline=None)
@given(codes=CODES, missing=st.sampled_from(TREATMENTS), alpha=st.sampled_from([0.0, 0.3, 1.0]))
def test_agrees_with_naive(route, codes, missing, alpha):
    alpha = alpha if missing == "wildcard" else 1.0
    data = as_data(codes)
    keys = list(data.columns[:-1])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ROUTES[route].items():
            for module in (codes_of_columns, matching):
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        counts = frequency_counts(data, keys, weights="w", missing=missing, alpha=alpha)
    recoded = np.column_stack(
        [
            np.unique(np.append(data[k].fillna(-1), -1), return_inverse=True)[1][:-1] - 1
            for k in keys
        ]
    )
    f, big_f = naive_counts(recoded, data["w"], missing, alpha)
    np.testing.assert_allclose(counts.f, f, rtol=1e-12)
    np.testing.assert_allclose(counts.F, big_f, rtol=1e-12)


def test_kernel_and_its_python_form(monkeypatch):
    rng = np.random.default_rng(3)
    data = as_data(rng.integers(-1, 3, (40, 4)))
    monkeypatch.setattr(matching, "LARGEST_TABLE", 0)
    fast = frequency_counts(data, list(data.columns[:-1]), weights="w", missing="category-size")
    monkeypatch.setattr(kernels, "match_patterns", kernels.match_patterns.py_func)
    monkeypatch.setattr(kernels, "_slot", kernels._slot.py_func)
    monkeypatch.setattr(kernels, "_part", kernels._part.py_func)
    plain = frequency_counts(data, list(data.columns[:-1]), weights="w", missing="category-size")
    np.testing.assert_allclose(fast.F, plain.F, rtol=1e-14)


@settings(max_examples=20, deadline=None)
@given(codes=CODES, seed=st.integers(0, 99))
def test_order_of_rows_and_keys_does_not_matter(codes, seed):
    data = as_data(codes)
    keys = list(data.columns[:-1])
    order = np.random.default_rng(seed).permutation(len(data))
    whole = frequency_counts(data, keys, weights="w")
    again = frequency_counts(data.iloc[order], keys[::-1], weights="w")
    np.testing.assert_array_equal(whole.f[order], again.f)
    np.testing.assert_allclose(whole.F[order], again.F)


def test_small_reference_files():
    case = golden("sdc", "a2_freqcalc_francdat.json")
    for entry, name in [(case["complete"], "francdat"), *((e, None) for e in case["with_na"])]:
        data = survey_data(name) if name else golden("sdc", "data_francdat_na.parquet")
        counts = frequency_counts(
            data, case["keyVars"], weights="w", alpha=float(entry.get("alpha", 1))
        )
        np.testing.assert_allclose(counts.f, entry["fk"])
        np.testing.assert_allclose(counts.F, entry["Fk"])
    for entry in case["single_key_with_na"]:
        data = golden("sdc", "data_francdat_na.parquet")
        counts = frequency_counts(data, entry["keyVars"], weights="w", alpha=float(entry["alpha"]))
        np.testing.assert_allclose(counts.f, entry["fk"])
        np.testing.assert_allclose(counts.F, entry["Fk"])


def test_fourteen_persons_of_the_book():
    case = golden("sdc", "a5_freqcalc_toy14.json")
    data = golden("sdc", "data_toy14.parquet")
    counts = frequency_counts(data, ["Gender", "Citizenship", "Occupation"], weights="Weight")
    assert counts.f.tolist() == case["fk"]
    assert counts.F.tolist() == case["Fk"]
    assert counts.n_unique == case["n1"]


@pytest.mark.parametrize(
    ("case", "data"), [("a3_freqcalc_testdata", "testdata"), ("a6_freqcalc_eusilc5", "eusilc")]
)
def test_survey_files(case, data):
    info, reference = golden("sdc", f"{case}.json"), golden("sdc", f"{case}.parquet")
    counts = frequency_counts(survey_data(data), info["keyVars"], weights=info["weight"])
    np.testing.assert_array_equal(counts.f, reference["fk"])
    np.testing.assert_allclose(counts.F, reference["Fk"], rtol=1e-8)
    assert counts.n_unique == info["n1"]


@pytest.mark.parametrize("alpha", ["1", "0.5", "0.1", "0"])
def test_eusilc_with_missing_citizenship(alpha):
    reference = golden("sdc", "a4_freqcalc_eusilc.parquet")
    counts = frequency_counts(
        survey_data("eusilc"), ["db040", "hsize", "pb220a"], weights="rb050", alpha=float(alpha)
    )
    np.testing.assert_allclose(counts.f, reference[f"fk_alpha{alpha}"], rtol=1e-8)
    np.testing.assert_allclose(counts.F, reference[f"Fk_alpha{alpha}"], rtol=1e-8)
    assert len(counts.table) == 225
    assert counts.cell_sizes.query("size > 0")["cells"].sum() == 164


def test_records_without_any_key_count_like_others():
    """The reference package leaves them out for complete keys; the definition does not."""
    case = golden("sdc", "a7_freqcalc_allna.json")
    data = golden("sdc", "data_allna.parquet")
    for entry in case["results"]:
        counts = frequency_counts(data, ["a", "b"], weights="w", alpha=float(entry["alpha"]))
        assert counts.f.tolist() == entry["wildcard_fk"]
        assert counts.F.tolist() == entry["wildcard_Fk"]
        assert counts.f.tolist() != entry["sdcMicro_fk"]


def test_cell_sizes_add_up():
    data = pd.DataFrame({"a": [1, 1, 2, 2, 2], "b": [1, 1, 1, 2, 2]})
    sizes = frequency_counts(data, ["a", "b"]).cell_sizes
    assert sizes["size"].tolist() == [0, 1, 2]
    assert sizes["cells"].tolist() == [1, 1, 2]
    assert (sizes["size"] * sizes["cells"]).sum() == 5


def test_table_holds_the_keys_and_their_counts():
    table = frequency_counts(TOY, KEYS, weights="w").table
    assert list(table.columns) == [*KEYS, "records", "weights", "f", "F"]
    assert table["records"].sum() == 4
    assert table["weights"].sum() == 100
    assert table["key3"].isna().sum() == 2


def test_weights_as_array_equal_weights_by_name():
    by_name = frequency_counts(TOY, KEYS, weights="w")
    by_array = frequency_counts(TOY, KEYS, weights=TOY["w"].to_numpy())
    np.testing.assert_array_equal(by_name.F, by_array.F)
    assert frequency_counts(TOY, KEYS).F.tolist() == [3, 3, 2, 4]


def test_any_type_of_column_is_a_key():
    data = pd.DataFrame(
        {
            "text": ["a", "b", None, "a"],
            "category": pd.Categorical(["x", "x", "y", "x"], categories=["z", "y", "x"]),
            "number": [1.5, 1.5, 1.5, 1.5],
            "flag": [True, True, False, True],
            "day": pd.to_datetime(["2020-01-01"] * 4),
        }
    )
    assert frequency_counts(data, list(data.columns)).f.tolist() == [2, 1, 1, 2]


def test_very_many_levels_are_numbered_without_overflow():
    n, m = 50, 20
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"k{j}": rng.permutation(n) for j in range(m)})
    data = pd.concat([frame, frame.iloc[:3]])
    assert frequency_counts(data, list(frame.columns)).f.tolist() == [2] * 3 + [1] * 47 + [2] * 3
    holed = data.astype(float).mask(rng.random(data.shape) < 0.1)
    codes = tabulate(holed.reset_index(drop=True), list(frame.columns))
    f, _ = naive_counts(codes.codes[codes.cell], np.ones(len(holed)))
    np.testing.assert_array_equal(frequency_counts(holed, list(frame.columns)).f, f)


def test_few_records_need_no_large_tables():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 50, (53, 20)).astype(float)
    data = pd.DataFrame(levels, columns=[f"k{j}" for j in range(20)]).mask(
        rng.random((53, 20)) < 0.1
    )
    tracemalloc.start()
    frequency_counts(data, list(data.columns))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


def test_empty_file():
    counts = frequency_counts(TOY.iloc[:0], KEYS, weights="w")
    assert len(counts.f) == 0
    assert "0 of 0 records" in counts.summary()


def test_summary_says_what_the_numbers_mean():
    text = frequency_counts(TOY, KEYS, weights="w", alpha=0).summary()
    assert "2 of 4 records (50.00 %)" in text
    assert "'wildcard' with alpha = 0" in text
    assert "4 distinct combinations" in text
    assert "4 records stand for fewer than 100 persons" in text


def test_every_fault_is_reported_at_once():
    with pytest.raises(InputError) as caught:
        frequency_counts(
            TOY.assign(w=[1, 0, -1, NAN]), ["key1", "kee2"], weights="w", missing="wild", alpha=2
        )
    text = str(caught.value)
    for part in ("kee2", "weight is zero", "negative", "weight is missing", "wild", "alpha"):
        assert part in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": []}, "no key is given"),
        ({"keys": ["key1", "key1"]}, "named twice"),
        ({"keys": ["key1"], "missing": "conservative", "alpha": 0.5}, "no meaning"),
        ({"keys": ["key1"], "weights": [1.0, 2.0]}, "2 values for 4 records"),
        ({"keys": ["key1"], "weights": "ww"}, "ww"),
    ],
)
def test_faults(arguments, message):
    with pytest.raises(InputError, match=message):
        frequency_counts(TOY, **arguments)
