from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthpop.microdata.messages.errors import InputError, MicrodataWarning
from synthpop.models.breaks import breaks, class_bounds, class_labels, classify
from tests.reference_data import golden, survey_data

OPTIONS = {
    "noequidist": {"equidist": False},
    "noequidist_upper200000": {"equidist": False, "upper": 200000},
    "noequidist_upperInf": {"equidist": False, "upper": np.inf},
    "lower_upper": {"lower": -10000, "upper": 300000},
    "lower_bad": {"lower": 0},
    "upper_bad": {"upper": 1000},
    "probs": {"probs": [0.05, 0.25, 0.5, 0.75, 0.9, 0.99]},
    "nozeros": {"zeros": False},
    "nozeros_noequidist": {"zeros": False, "equidist": False},
    "nozeros_probs": {"zeros": False, "probs": [0.1, 0.5, 0.9]},
    "unweighted": {},
    "strata_hh": {},
    "default": {},
    "zeros": {"zeros": True},
}


@pytest.mark.filterwarnings("ignore::synthpop.microdata.messages.errors.MicrodataWarning")
def test_all_reference_cases() -> None:
    sample = survey_data("eusilcS")
    cases = golden("pop", "c_weighted.json")["getBreaks"]
    assert len(cases) == 27
    for name, case in cases.items():
        variable, _, kind = name.partition("_")
        options = dict(OPTIONS[kind])
        zeros = bool(options.setdefault("zeros", True))
        weights = None if kind == "unweighted" else sample["rb050"]
        strata = sample["db030"] if kind == "strata_hh" else None
        limits = breaks(sample[variable], weights, strata=strata, **options)
        expected = [np.inf if item is None else item for item in case["breaks"]]
        np.testing.assert_allclose(limits, expected, rtol=1e-10, err_msg=name)
        codes = classify(sample[variable], limits, zeros=zeros, right=False)
        counts = np.bincount(codes[codes >= 0], minlength=len(case["counts"]))
        assert counts.tolist() == case["counts"], name
        totals = np.bincount(codes[codes >= 0], weights=sample["rb050"].to_numpy()[codes >= 0])
        np.testing.assert_allclose(totals, case["weighted_counts"], rtol=1e-10, err_msg=name)
        assert (codes < 0).sum() == case["n_na"]
        assert len(class_labels(limits, zeros=zeros, right=False)) == len(case["categories"])


def test_reference_classes() -> None:
    sample = survey_data("eusilcS")
    cases = golden("pop", "c_weighted.json")["getCat"]
    fixed = [-6000, -1000, 0, 5000, 10000, 20000, 50000, 200000]
    x = sample["netIncome"]
    tiny, tiny_limits = [-3, -2, -1, 0, 0, 0.5, 1, 2, 2, 3, np.nan], [-3, -1, 0, 1, 2, 3]
    calls = {
        "fixed_zeros": (x, fixed, {}),
        "fixed_nozeros_right": (x, fixed, {"zeros": False}),
        "fixed_nozeros_left": (x, fixed, {"zeros": False, "right": False}),
        "outside_breaks": (x, [0, 5000, 10000], {}),
        "no_zero_in_breaks": (x, [1000, 20000, 200000], {}),
        "tiny": (tiny, tiny_limits, {}),
        "tiny_nozeros": (tiny, tiny_limits, {"zeros": False, "right": False}),
    }
    assert set(calls) == set(cases)
    # three negative values below the smallest limit have no class; the reference calls them zero
    cases["outside_breaks"].update(counts=[1193, 869, 1323], n_na=8340)
    cases["no_zero_in_breaks"].update(counts=[1193, 128, 5517, 2681], n_na=2206)
    for name, (values, limits, options) in calls.items():
        codes = classify(values, limits, **options)
        counts = np.bincount(codes[codes >= 0], minlength=len(cases[name]["counts"]))
        assert counts.tolist() == cases[name]["counts"], name
        assert (codes < 0).sum() == cases[name]["n_na"], name
        if "values" in cases[name]:
            labels = class_labels(limits, **options)
            assert list(labels) == cases[name]["categories"]
            got = [labels[code] if code >= 0 else None for code in codes]
            assert got == cases[name]["values"]


def naive_class(x: float, limits: list[float]) -> int:
    """Equation 6.5, classes renumbered from 0."""
    negative = [b for b in limits if b < 0]
    positive = [b for b in limits if b > 0]
    if x == 0:
        return len(negative)
    if x < 0:
        ends = [*negative, 0.0]
        found = [r for r in range(len(negative)) if ends[r] <= x < ends[r + 1]]
        return found[0] if found else -1
    ends = [0.0, *positive]
    found = [r for r in range(len(positive)) if ends[r] < x <= ends[r + 1]]
    return len(negative) + 1 + found[0] if found else -1


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(-6, 6), min_size=2, max_size=7, unique=True).map(sorted),
    st.lists(st.integers(-8, 8), min_size=1, max_size=20),
)
def test_classes_follow_the_equation(limits: list[int], values: list[int]) -> None:
    full = sorted({*limits, 0})
    codes = classify([float(v) for v in values], limits)
    expected = [naive_class(float(v), [float(b) for b in full]) for v in values]
    assert codes.tolist() == expected
    lower, upper = class_bounds(limits)
    for value, code in zip(values, codes, strict=True):
        if code >= 0:
            assert lower[code] <= value <= upper[code]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.booleans())
def test_breaks_hold_every_value(values: list[float], equidist: bool) -> None:
    zeros = 0.0 in values
    limits = breaks(values, equidist=equidist)
    assert (np.diff(limits) > 0).all()
    assert (classify(values, limits, zeros=zeros) >= 0).all()


def test_arguments_are_honoured() -> None:
    x = np.arange(-50.0, 150.0)
    base = breaks(x)
    w = np.where(x > 100, 9.0, 1.0)
    assert not np.array_equal(base, breaks(x, w))
    assert not np.array_equal(base, breaks(x, equidist=False))
    assert len(breaks(x, probs=[0.5])) < len(base)
    assert 0 not in breaks(x[x != 0], zeros=False, probs=[0.9])
    assert breaks(x, upper=1e9)[-1] == 1e9
    assert breaks(x, lower=-1e9)[0] == -1e9
    assert breaks(x, strata=np.arange(200) // 2)[-1] == 148.5
    with pytest.warns(MicrodataWarning, match="upper = 3 is below the largest limit 149"):
        breaks(x, upper=3.0)
    with pytest.warns(MicrodataWarning, match="lower"):
        breaks(x, lower=3.0)
    for end, within in (("upper", base[-2:].mean()), ("lower", base[:2].mean())):
        with pytest.warns(MicrodataWarning, match=end):  # a bound within the outermost class
            assert np.array_equal(breaks(x, **{end: within}), base)


def test_ends_at_the_limits_themselves_are_no_fault() -> None:
    x = np.arange(-50.0, 150.0)
    assert np.array_equal(breaks(x, lower=-50.0, upper=149.0), breaks(x))
    assert breaks(x, probs=[0.0, 1.0]).tolist()[-2:] == [1.0, 149.0]
    for shares in ([-0.01, 0.5], [0.5, 1.01]):
        with pytest.raises(InputError, match="between 0 and 1"):
            breaks(x, probs=shares)
    constant = breaks([3.0, 3.0], zeros=False)
    assert constant.tolist() == [3.0, np.nextafter(3.0, 4.0)]
    # groups without weight or value have no mean: 2 and 6 with weights 2 and 3 remain
    values, groups = [1.0, 3.0, 6.0, np.nan, 9.0], [1, 1, 2, 3, 4]
    weights = [2.0, 2.0, 3.0, 1.0, 0.0]
    means = breaks(values, weights, strata=groups, probs=[0.5], zeros=False)
    assert means.tolist() == [2.0, 6.0]


def test_zeros_are_found_by_default() -> None:
    assert 0 in breaks([0.0, 5.0, 6.0])
    assert breaks([4.0, 5.0, 6.0])[0] == 4.0
    np.testing.assert_array_equal(breaks([0.0, 0.0]), [0.0])
    assert classify([0.0, 0.0], [0.0]).tolist() == [0, 0]


def test_faults() -> None:
    with pytest.raises(InputError, match="all missing"):
        breaks([np.nan])
    with pytest.raises(InputError, match="between 0 and 1"):
        breaks([1.0, 2.0], probs=[50])
    with pytest.raises(InputError, match="increasing"):
        classify([1.0], [3, 2, 1])
    with pytest.raises(InputError, match="group"):
        breaks([1.0, 2.0], strata=[1])
    with pytest.raises(InputError, match="mixed types"):
        breaks([1.0, 2.0], strata=["a", None])
    with pytest.raises(InputError, match="not numbers"):
        classify(["a"], [1, 2, 3])  # type: ignore[list-item]
