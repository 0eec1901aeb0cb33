"""Overlap of confidence intervals, and benchmarking indicators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.utility.indicators import indicator_comparison
from riskeval.utility.overlaps import coverage, interval_overlap, overlap
from synthpop import indicators
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data

# Templ (2017), tables 5.1 and 5.2: bounds by education, and the printed coverage rates
ORIGINAL = [
    (0.15938, 0.26525),
    (0.12102, 0.15023),
    (0.22572, 0.23944),
    (0.29568, 0.35010),
    (0.21744, 0.25835),
]
SHUFFLED = [
    (-0.01865, 0.24584),
    (0.09365, 0.12496),
    (0.18510, 0.20950),
    (0.19294, 0.25071),
    (0.19859, 0.26183),
]
MICROAGGREGATED = [
    (0.16123, 0.27062),
    (0.12144, 0.15211),
    (0.22624, 0.23970),
    (0.28891, 0.34381),
    (0.21290, 0.25904),
]


def income(n: int = 200, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.lognormal(3, 0.5, n),
            "sex": rng.choice(["male", "female"], n),
            "region": rng.choice(["a", "b"], n),
            "house": np.arange(n) // 2,
            "w": rng.uniform(1, 5, n),
        }
    )


def test_coverage_rates_of_the_book() -> None:
    first = np.array(ORIGINAL)
    for table, printed in (
        (MICROAGGREGATED, [98.25, 98.55, 96.21, 88.45]),
        (SHUFFLED, [81.67, 13.51, 0.0, 0.0]),
    ):
        other = np.array(table)
        rates = 100 * coverage(first[:, 0], first[:, 1], other[:, 0], other[:, 1])
        assert rates[:4] == pytest.approx(printed, abs=0.06)
        both = overlap(first[:, 0], first[:, 1], other[:, 0], other[:, 1])
        assert not np.allclose(both, rates / 100, atol=0.001)


@settings(max_examples=25, deadline=None)
@given(*[st.floats(-5, 5) for _ in range(2)], *[st.floats(0.01, 5) for _ in range(2)])
def test_overlap_is_symmetric_bounded_and_naive(a: float, b: float, p: float, q: float) -> None:
    value = float(overlap(a, a + p, b, b + q))
    assert value == pytest.approx(float(overlap(b, b + q, a, a + p)))
    inner = max(0.0, min(a + p, b + q) - max(a, b))
    assert value == pytest.approx((inner / p + inner / q) / 2, abs=1e-9)
    negative = float(overlap(a, a + p, b, b + q, outside="negative"))
    assert negative <= 0 if inner == 0 else negative == pytest.approx(value)


def test_points_and_unknown_bounds() -> None:
    assert overlap([1, 1, 1], [1, 1, 1], [1, 0, 2], [1, 2, 3]).tolist() == [1.0, 0.5, 0.0]
    assert np.isnan(overlap([np.nan], [1.0], [0.0], [1.0])[0])
    with pytest.raises(InputError, match="outside"):
        overlap([0.0], [1.0], [0.0], [1.0], outside="maybe")


def test_means_and_shares() -> None:
    x, y = income(seed=1), income(seed=2)
    found = interval_overlap(x, y, ["income", "sex"], by="region")
    assert len(found.table) == 9
    row = found.table.iloc[0]
    half = 1.971957 * x["income"].std() / np.sqrt(200)  # t, 199 degrees of freedom
    assert row["lower_original"] == pytest.approx(x["income"].mean() - half, rel=1e-6)
    sex = found.table[(found.table["term"] == "sex=male") & (found.table["domain"] == "all")]
    assert sex["original"].item() == pytest.approx((x["sex"] == "male").mean())
    assert found.overlap == pytest.approx(found.table["overlap"].mean())
    assert "Lowest" in found.summary()
    assert interval_overlap(x, x, ["income", "sex"]).overlap == pytest.approx(1)
    gap = x.copy()
    gap.loc[:20, "sex"] = None
    share = interval_overlap(gap, y, "sex").table["original"]
    assert share.sum() == pytest.approx(1)


def test_every_option_of_the_intervals_counts() -> None:
    x, y = income(seed=1), income(seed=2)
    base = interval_overlap(x, y, "income").table.iloc[0]
    for options in (
        {"weights": "w"},
        {"released_weights": y["w"].to_numpy()},
        {"cluster": "house"},
        {"strata": "region"},
        {"level": 0.5},
        {"statistic": "gini"},
        {"statistic": "gender_pay_gap", "gender": "sex"},
    ):
        other = interval_overlap(x, y, "income", **options).table.iloc[0]  # type: ignore[arg-type]
        assert other["overlap"] != pytest.approx(base["overlap"], abs=1e-9), options
    far = y.assign(income=y["income"] * 9)
    assert interval_overlap(x, far, "income").overlap == 0
    assert interval_overlap(x, far, "income", outside="negative").overlap < 0


def test_given_intervals() -> None:
    x = indicators.gini(income()["income"], by=income()["region"])
    found = interval_overlap(x.with_variance(), x.with_variance())
    assert found.overlap == 1
    assert found.table["term"].tolist() == ["all", "a", "b"]
    bounds = pd.DataFrame({"lower": [0.0, 1.0], "upper": [1.0, 3.0]}, index=["p", "q"])
    other = pd.DataFrame({"lower": [0.5, 1.0], "upper": [1.5, 3.0]}, index=["p", "r"])
    found = interval_overlap(bounds, other)
    assert found.table["overlap"].tolist()[0] == 0.5
    assert found.without == 2
    drawn = indicators.bootstrap(
        lambda d, w: float(np.average(d["income"], weights=w)), income(), weights="w",
        replicates=20, seed=1,
    )  # fmt: skip
    assert interval_overlap(drawn, drawn).overlap == 1
    with pytest.raises(InputError) as error:
        interval_overlap(x, bounds.assign(lower=9.0))
    assert "with_variance" in str(error.value)
    assert "above" in str(error.value)


def test_indicators_against_the_reference() -> None:
    facts = golden("pop", "f_indicators.json")
    data = survey_data("laeken_eusilc")
    released = data.assign(eqIncome=data["eqIncome"] * 1.0)
    found = indicator_comparison(
        data, released, "eqIncome", weights="rb050", released_weights="rb050", by="db040",
        indicators=["gini", "at_risk_of_poverty"],
    )  # fmt: skip
    for name, key in (("gini", "gini"), ("at_risk_of_poverty", "arpr")):
        rows = found.table[found.table["indicator"] == name].set_index("domain")
        assert rows.loc["all", "original"] == pytest.approx(facts[key]["value"], rel=1e-9)
        for domain, value in facts[key]["by"].items():
            assert rows.loc[domain, "released"] == pytest.approx(value, rel=1e-9)
    assert found.overlap == pytest.approx(1)
    ses, facts = survey_data("laeken_ses"), golden("sdc", "k1_ses_indicators.json")
    gap = indicator_comparison(
        ses, ses, "earningsHour", indicators="gender_pay_gap", gender="sex", by="education",
        weights="weights", released_weights="weights",
    ).table.set_index("domain")  # fmt: skip
    for row in facts["gpg"]["by_education"]:
        assert gap.loc[row["stratum"], "original"] == pytest.approx(row["value"], rel=1e-9)


def test_bias_variance_and_mean_squared_error() -> None:
    x, y = income(seed=1), income(seed=2)
    table = indicator_comparison(x, y, "income", indicators=["mean", "median"], by="sex").table
    row = table.iloc[0]
    vx, vy = x["income"].var() / 200, y["income"].var() / 200
    bias = y["income"].mean() - x["income"].mean()
    assert row["difference"] == pytest.approx(bias)
    assert row["relative"] == pytest.approx(100 * abs(bias) / x["income"].mean())
    assert row["relative_variance"] == pytest.approx(100 * abs(vy - vx) / vx)
    assert row["mse"] == pytest.approx(bias**2 + vy)
    assert row["mse_kind"] == pytest.approx(bias**2 + vx - vy)
    assert table["domain"].tolist() == ["all", "female", "male"] * 2


def test_every_option_of_the_indicators_counts() -> None:
    x, y = income(seed=1), income(seed=2)
    base = indicator_comparison(x, y, "income").table
    for options in (
        {"weights": "w"},
        {"released_weights": "w"},
        {"cluster": "house"},
        {"strata": "region"},
        {"level": 0.5},
        {"poverty_line": "original"},
        {"indicators": ["quintile_share_ratio", "poverty_gap"]},
    ):
        other = indicator_comparison(x, y, "income", **options).table  # type: ignore[arg-type]
        columns = ["lower_original", "lower_released", "upper_released"]
        assert not np.allclose(other[columns], base[columns]), options
    crossed = indicator_comparison(x, y, "income", by=["sex", "region"])
    assert "female:a" in set(crossed.table["domain"])
    assert "4 domains" in crossed.summary()
    swapped = {"indicators": "gender_pay_gap", "gender": "sex"}
    one = indicator_comparison(x, y, "income", **swapped).table["original"][0]
    other = indicator_comparison(x, y, "income", men="female", women="male", **swapped)
    assert one * other.table["original"][0] < 0
    far = y.assign(income=y["income"] * 20)
    far = indicator_comparison(x, far, "income", indicators="mean", outside="negative")
    assert far.overlap < 0


def test_a_domain_that_one_file_lacks() -> None:
    x, y = income(seed=1), income(seed=2)
    y.loc[y["region"] == "b", "region"] = "c"
    table = indicator_comparison(x, y, "income", by="region").table
    assert table[table["domain"] == "b"]["released"].isna().all()
    assert table[table["domain"] == "c"]["original"].isna().all()


def test_faults_are_reported_together() -> None:
    x = income(10)
    with pytest.raises(InputError) as error:
        indicator_comparison(
            x, x, "sex", indicators=["gini", "gender_pay_gap", "zz"], by="q", level=2,
            poverty_line="p", outside="o", strata="s", cluster="c",
        )  # fmt: skip
    text = str(error.value)
    for word in ("numeric", "'zz'", "'q'", "level", "poverty_line", "outside", "'s'", "'c'"):
        assert word in text
    with pytest.raises(InputError) as error:
        interval_overlap(x, x, ["q"], statistic="s", level=0, outside="o")
    assert len(error.value.faults) == 5
    with pytest.raises(InputError, match="gender"):
        interval_overlap(x, x, "income", statistic="gender_pay_gap")
