"""Numbers of a comparison against the measures that they come from, and what arguments change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval import Indicators, Release, protect, utility
from riskeval.comparison.estimates import common_design
from riskeval.comparison.request import DesignColumns
from tests.riskeval.comparison.cases import ROLES, SAMPLE_SIZES, people, suppressed


@pytest.fixture(scope="module")
def original() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="module")
def release(original: pd.DataFrame) -> pd.DataFrame:
    return protect.add_noise(suppressed(original), ["pay", "rent"], level=0.5, seed=1).data


@pytest.fixture(scope="module")
def found(original: pd.DataFrame, release: pd.DataFrame) -> riskeval.Comparison:
    return riskeval.compare(original, {"a": release}, **ROLES, household="hid")


def test_numbers_are_those_of_the_single_measures(
    found: riskeval.Comparison, original: pd.DataFrame, release: pd.DataFrame
) -> None:
    row = found.table.loc["a"]
    keys, both = ROLES["keys"], ROLES["numeric"]
    counted = riskeval.k_anonymity(release, keys)
    assert row["below_5"] == counted.violations[5] / 400
    risk = riskeval.individual_risk(release, keys, weights="w", household="hid")
    assert row["global_risk"] == pytest.approx(risk.global_risk)
    assert row["household_risk"] == pytest.approx(risk.household_global_risk)
    assert row["interval_disclosure"] == riskeval.interval_disclosure(original, release, both).rate
    outliers = run(original, release, sample_sizes={**SAMPLE_SIZES, "outliers": 1000})
    near = riskeval.mahalanobis_disclosure(original, release, both)
    assert outliers.table.loc["a", "mahalanobis_disclosure"] == pytest.approx(near.rate2, abs=0.02)
    loss = utility.information_loss(original, release, both)
    assert row["il1s"] == pytest.approx(loss.il1s)
    weighted = utility.information_loss(original, release, both, weights="w", released_weights="w")
    assert row["correlations"] == pytest.approx(weighted.correlations)
    assert row["eigenvalues"] == pytest.approx(weighted.eigenvalues)
    assert row["l_diversity: ill"] == riskeval.l_diversity(release, keys, ["ill"]).violations(2)[
        "ill"
    ] / len(release)
    assert row["special_uniques"] == riskeval.suda(release, keys, missing="wildcard").special.mean()
    special = riskeval.suda(original, keys, missing="wildcard").special.mean()
    assert found.table.loc["original", "special_uniques"] == special > 0


def test_intruders_see_the_original_on_the_levels_of_the_release(
    found: riskeval.Comparison, original: pd.DataFrame, release: pd.DataFrame
) -> None:
    classes = pd.cut(original["age"], [0, 30, 45, 60, 100], include_lowest=True)
    names = dict(zip(classes.cat.categories, release["age"].cat.categories, strict=True))
    coarse = original.assign(age=classes.astype(object).map(names))
    expected = riskeval.disco(coarse, release, ROLES["keys"], "ill")
    assert found.table.loc["a", "disco: ill"] == expected.rate
    unique = riskeval.replicated_uniques(coarse, release, ROLES["keys"])
    assert found.table.loc["a", "replicated_uniques"] == unique.rate


def test_the_original_is_judged_as_if_it_were_released(found: riskeval.Comparison) -> None:
    row = found.table.loc["original"]
    assert row["interval_disclosure"] == row["identical"] == 1
    assert row["disco: ill"] > found.table.loc["a", "disco: ill"]
    assert row["il1s"] == row["pmse"] == row["missing"] == 0
    assert row["levels_kept"] == row["regression_overlap"] == 1


def run(original: pd.DataFrame, release: Any, **changes: Any) -> riskeval.Comparison:
    return riskeval.compare(original, {"a": release}, **{**ROLES, **changes})


def test_weights_count(original: pd.DataFrame, release: pd.DataFrame) -> None:
    with_weights, without = (run(original, release, weights=w) for w in ("w", None))
    assert with_weights.table.loc["a", "global_risk"] < without.table.loc["a", "global_risk"]
    heavy = run(original, Release(release, weights=np.full(400, 100.0)))
    assert heavy.table.loc["a", "global_risk"] < with_weights.table.loc["a", "global_risk"]
    bare = run(original, release.drop(columns="w"))
    notes = bare.measures.set_index(["release", "name"])["note"]
    assert "whole population" in notes["a", "global_risk"]


def test_what_is_not_asked_or_not_there_is_said(original: pd.DataFrame) -> None:
    less = original.drop(columns=["region", "rent", "hid"])
    found = run(original, Release(less, kind="perturbed"), household="hid", strata="region")
    notes = found.measures.set_index(["release", "name"])["note"]
    assert notes["a", "below_3"] == "without region"
    assert notes["a", "household_risk"] == "hid is not in the release"
    assert "rent is not in the release" in notes["a", "il1s"]
    assert found.roles["design"] == {"strata": None, "cluster": None}
    gone = found.shared[~found.shared["compared"]]
    assert set(gone["variable"]) == {"region", "rent"}
    nothing = run(original, Release(original[["pay"]], kind="perturbed"))
    notes = nothing.measures.set_index(["release", "name"])["note"]
    assert notes["a", "below_3"] == "no key is in the release"
    assert "region is not in the release" in notes["a", "replicated_uniques"]
    assert np.isfinite(nothing.table.loc["a", "record_linkage"])


def test_a_hold_out_adds_membership(original: pd.DataFrame, release: pd.DataFrame) -> None:
    found = run(
        original,
        release,
        holdout=people(150, seed=21),
        sample_sizes={**SAMPLE_SIZES, "screen": 400},
    )
    assert found.holdout
    assert found.no_strangers == ""
    assert 0 < found.table.loc["a", "membership"] <= 1
    copied = found.table.loc["original", "membership"]
    assert copied > found.table.loc["a", "membership"]
    against = found.measures.set_index(["release", "name"])["against"]
    assert against["a", "rapid: ill"] == "persons outside the original"


def test_limits_decide(original: pd.DataFrame, release: pd.DataFrame) -> None:
    strict = run(original, release, limits={"k": 5, "global_risk": 1e-9, "l": None})
    rows = strict.measures.set_index(["release", "name"])
    assert rows.loc[("original", "below_5"), "within"] is False
    assert rows.loc[("a", "global_risk"), "limit_source"] == "as asked"
    assert rows.loc[("a", "global_risk"), "within"] is False
    assert rows.loc[("a", "l_diversity: ill"), "within"] is None
    assert np.isnan(rows.loc[("a", "below_3"), "limit"])
    assert "Violations of 5-anonymity" in strict.summary()


def test_level_design_and_estimates(original: pd.DataFrame, release: pd.DataFrame) -> None:
    asked = {"indicators": Indicators("pay", "gini", by="sex")}
    wide, narrow = (run(original, release, **asked, level=level) for level in (0.99, 0.5))
    width = [
        (c.overlaps["upper_original"] - c.overlaps["lower_original"]).iloc[0]
        for c in (wide, narrow)
    ]
    assert width[0] > 2 * width[1]
    assert wide.overlaps["domain"].tolist() == ["all", "female", "male"]
    assert wide.overlaps["indicator"].unique().tolist() == ["gini"]
    clustered = run(original, release, **asked, level=0.99, household="hid")
    bounds = clustered.overlaps["upper_original"], wide.overlaps["upper_original"]
    assert not np.allclose(*bounds)
    by_region = run(original, release, strata="region")
    assert "north" in set(by_region.overlaps["domain"])


def test_the_gender_pay_gap_needs_its_column(original: pd.DataFrame, release: Any) -> None:
    gap = Indicators("pay", ["gender_pay_gap", "mean"], gender="sex")
    found = run(original, release, indicators=gap)
    assert set(found.overlaps["indicator"]) == {"gender_pay_gap", "mean"}
    less = run(original, Release(release.drop(columns="sex"), kind="perturbed"), indicators=gap)
    assert set(less.overlaps["indicator"]) == {"mean"}
    assert "no gender pay gap: sex is not in the release" in less.overlaps["note"].iloc[0]


def test_strata_that_cut_households_are_not_used(original: pd.DataFrame) -> None:
    class Asked:
        strata, household = "region", "hid"

    moved = original.assign(region=original["region"].to_numpy()[::-1].copy())
    moved.loc[0, "region"] = "elsewhere"
    request: Any = Asked()
    assert common_design(request, [original, original]) == DesignColumns("region", "hid")
    assert common_design(request, [original, moved]).strata is None
    gap = original.assign(region=original["region"].where(original.index > 2))
    assert common_design(request, [original, gap]) == DesignColumns(None, "hid")


def test_effort_cuts_and_says_so(original: pd.DataFrame, release: pd.DataFrame) -> None:
    found = run(original, release, sample_sizes={**SAMPLE_SIZES, "linkage": 100, "propensity": 300})
    notes = found.measures.set_index(["release", "name"])["note"]
    assert notes["a", "record_linkage"] == "100 records drawn at random"
    assert "at most 300 records" in notes["a", "pmse"]
    assert found.sample_sizes.linkage == 100
    forest = run(original, release, sample_sizes={**SAMPLE_SIZES, "model": "forest"})
    assert forest.table.loc["a", "rapid: ill"] != found.table.loc["a", "rapid: ill"]


def test_inputs_are_left_as_they_are(original: pd.DataFrame, release: pd.DataFrame) -> None:
    before = original.copy(), release.copy()
    run(original, release)
    pd.testing.assert_frame_equal(original, before[0])
    pd.testing.assert_frame_equal(release, before[1])
