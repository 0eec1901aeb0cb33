"""Singling out and linkability beside naive versions that read like the paper."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from riskeval import (
    InputError,
    Scenario,
    assess_synthetic,
    intruder_scenarios,
    linkability,
    singling_out,
)
from riskeval.attacks.counting.coded import CodedFiles
from riskeval.attacks.distance.singling_out import Predicates, _matrix, isolating
from riskeval.attacks.distance.space import as_points
from riskeval.attacks.entry import AttackInput
from riskeval.attacks.request import read_request
from riskeval.attacks.searched import residual_risk
from riskeval.kernels.predicates import AT_LEAST, AT_MOST, EQUAL, MISSING

NAMES = ["a", "b", "c", "d"]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n), "b": rng.normal(size=n).round(1),
            "c": rng.choice([*"xyz"], n), "d": rng.choice([*"uvw"], n),
        }
    )  # fmt: skip


ONE, FRESH, STRANGERS = people(150, 1), people(150, 2), people(150, 3)


def with_holes(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return frame.mask(rng.random(frame.shape) < 0.1)


# --- success, control and risk ------------------------------------------------------------------


def test_the_risk_is_that_of_the_paper() -> None:
    """Half of 100 attacks against a quarter: Wilson's centres 0.5 and 0.2592, worked by hand."""
    risk, low, high = residual_risk(50, 100, 25, 100)
    assert risk == pytest.approx((0.5 - 0.25925) / (1 - 0.25925), abs=1e-4)
    half = np.hypot(0.09617, (1 - risk) * 0.08380) / (1 - 0.25925)  # half-widths of Wilson
    assert (high - low) / 2 == pytest.approx(half, abs=1e-4)
    assert np.isnan(residual_risk(5, 10, 10, 0)[0])


def test_copies_are_above_strangers_and_other_samples_are_not() -> None:
    for attack in (singling_out, linkability):
        copy = attack(ONE, ONE, NAMES, holdout=STRANGERS, seed=1)
        assert copy.rate > 0.5
        assert copy.excess.is_above_among(20)
        assert copy.interval[0] > 0.4
        assert copy.naive < 0.2
        assert "above the hold-out" in copy.summary()
        fresh = attack(ONE, FRESH, NAMES, holdout=STRANGERS, seed=1)
        assert not fresh.excess.is_above
        assert fresh.interval[0] < 0.1
        alone = attack(ONE, ONE, NAMES, seed=1)
        assert alone.excess is None
        assert np.isnan(alone.risk)
        assert "without a hold-out there is no verdict" in alone.summary()


def test_part_of_a_copy_is_named() -> None:
    half = pd.concat([ONE[:75], FRESH[75:]])
    for attack in (singling_out, linkability):
        assert attack(ONE, half, NAMES, holdout=STRANGERS, seed=1).excess.is_above


def test_the_choice_is_corrected_for() -> None:
    both = singling_out(ONE, FRESH, NAMES, n_columns=[2, 3], holdout=STRANGERS, seed=1)
    alone = singling_out(ONE, FRESH, NAMES, n_columns=3, holdout=STRANGERS, seed=1)
    assert both.excess.n_tests == 2
    two, one = (t.set_index("way").loc["3 columns"] for t in (both.table, alone.table))
    assert one["rate"] == two["rate"]
    assert two["lower"] < one["lower"]
    assert two["risk_upper"] > one["risk_upper"]


def test_a_hold_out_of_the_original_gives_no_verdict() -> None:
    for attack in (singling_out, linkability):
        found = attack(ONE, FRESH, NAMES, holdout=ONE[:60], seed=1)
        assert found.excess.overlap
        assert "No verdict" in found.summary()


def test_members_of_a_household_succeed_together() -> None:
    """Twenty households of ten like persons are twenty attacks, not two hundred."""
    rng = np.random.default_rng(5)
    homes = people(20, 6).loc[np.repeat(range(20), 10)].reset_index(drop=True)
    homes = homes.assign(a=homes["a"] + rng.normal(0, 0.001, 200), hid=np.repeat(range(20), 10))
    copied = homes[homes["hid"] < 10]
    told = linkability(homes, copied, NAMES, holdout=people(200, 7).assign(hid=range(200)), seed=1)
    single = linkability(
        homes.drop(columns="hid").sample(frac=1, random_state=1), copied, NAMES,
        holdout=people(200, 7), seed=1,
    )  # fmt: skip
    assert told.rate == pytest.approx(single.rate)
    assert told.excess.lower < single.excess.lower


# --- singling out ---------------------------------------------------------------------------------


def naive_isolated(values: np.ndarray, one: Predicates, p: int) -> int:
    """Row that a predicate holds for alone; -1 for none or several."""
    holds = {
        EQUAL: lambda x, b: x == b, AT_LEAST: lambda x, b: x >= b, AT_MOST: lambda x, b: x <= b,
        MISSING: lambda x, b: np.isnan(x),
    }  # fmt: skip
    met = [
        i for i in range(len(values))
        if all(holds[int(one.operators[p, s])](values[i, one.columns[p, s]], one.bounds[p, s])
               for s in range(one.columns.shape[1]))
    ]  # fmt: skip
    return met[0] if len(met) == 1 else -1


@pytest.mark.parametrize("size", [1, 2, 4])
def test_predicates_hold_for_one_released_record(size: int) -> None:
    files = {"synthetic": with_holes(ONE), "original": with_holes(FRESH)}
    points, _ = as_points(files, read_request("singling_out", NAMES))
    released, real = (_matrix(points[role]) for role in files)
    made = isolating(released, 2, size, 40, np.random.default_rng(1))
    assert made is not None
    assert made.columns.shape == (len(made.bounds), size)
    parts = np.hstack([made.columns, made.operators, np.nan_to_num(made.bounds, nan=9)])
    assert len(np.unique(parts, axis=0)) == len(made.bounds)
    for values in (released, real):
        rows = made.isolated(values)
        assert rows.tolist() == [naive_isolated(values, made, p) for p in range(len(rows))]
    assert (made.isolated(released) >= 0).all()
    numbers, codes = made.operators[made.columns < 2], made.operators[made.columns >= 2]
    assert set(codes) <= {EQUAL, MISSING}
    assert set(numbers) <= ({EQUAL, AT_LEAST, AT_MOST, MISSING} if size == 1 else
                            {AT_LEAST, AT_MOST, MISSING})  # fmt: skip


def test_as_many_records_of_both_files_are_tried() -> None:
    many = people(400, 8)
    few = singling_out(ONE, FRESH, NAMES, holdout=many, most_records=90, seed=1)
    assert "Predicates are tried on 90 of each file" in few.summary()
    assert "tried on 150 of" in singling_out(ONE, FRESH, NAMES, holdout=many, seed=1).summary()


def test_what_is_asked_for_is_tried() -> None:
    found = singling_out(ONE, FRESH, NAMES, n_columns=[3, 4], n_predicates=25, seed=1)
    assert found.table["way"].tolist() == ["3 columns", "4 columns"]
    assert (found.table["attacks"] <= 25).all()
    assert found.n_attacks == 25
    drawn = singling_out(ONE, FRESH, NAMES, n_columns=4, most_synthetic=40, seed=1)
    assert drawn.n_attacks < 1000
    with pytest.raises(InputError, match="no record that conditions"):
        singling_out(ONE, ONE.assign(a=1, b=1.5, c="x", d="u"), NAMES, seed=1)
    with pytest.raises(InputError, match="n_columns"):
        singling_out(ONE, FRESH, NAMES, n_columns=0)


# --- linkability ---------------------------------------------------------------------------------


def naive_links(people: pd.DataFrame, released: pd.DataFrame, sets: list[list[str]]) -> float:
    """Mean probability that both holders draw the same of the nearest released records."""
    everybody = pd.concat([ONE[:15], released, STRANGERS[:15]])
    linked = []
    for _, person in people.iterrows():
        nearest = []
        for names in sets:
            gaps = [
                (released[n] - person[n]).abs() / np.ptp(everybody[n].dropna()) if n in "ab"
                else (released[n] != person[n]).astype(float).where(released[n].notna())
                for n in names if pd.notna(person[n])
            ]  # fmt: skip
            gap = (pd.concat(gaps, axis=1).mean(axis=1) if gaps else released["a"] * np.nan).fillna(
                1
            )
            nearest.append(set(np.flatnonzero(gap <= gap.min() + 1e-12)))
        first, second = nearest
        linked.append(len(first & second) / (len(first) * len(second)))
    return float(np.mean(linked))


@pytest.mark.parametrize("sets", [[["a", "c"], ["b", "d"]], [["c"], ["a", "b", "d"]]])
def test_links_are_those_of_the_naive_version(sets: list[list[str]]) -> None:
    released = with_holes(pd.concat([ONE[:50], FRESH[:60]], ignore_index=True))
    one, other = ONE[:15], STRANGERS[:15]
    found = linkability(one, released, NAMES, holders=tuple(sets), holdout=other, seed=1)
    assert found.rate == pytest.approx(naive_links(one, released, sets))
    assert found.excess.holdout_rate == pytest.approx(naive_links(other, released, sets))
    assert found.naive == pytest.approx(1 / 110)
    assert len(found.table) == 1


def test_draws_and_threads() -> None:
    asked = {"holdout": STRANGERS, "seed": 1}
    whole = linkability(ONE, ONE, NAMES, **asked)
    assert linkability(ONE, ONE, NAMES, workers=2, **asked).table.equals(whole.table)
    assert linkability(ONE, ONE, NAMES, most_records=40, **asked).n_attacks == 40
    assert linkability(ONE, ONE, NAMES, most_synthetic=75, **asked).rate < 0.6
    wide = linkability(ONE, ONE, NAMES, confidence=0.999, **asked)
    assert wide.interval[0] < whole.interval[0]
    seen: list[object] = []
    singling_out(ONE, ONE, NAMES, workers=2, on_event=seen.append, **asked)
    assert len(seen) == 6  # start, four numbers of columns, end


def test_faults_of_holders_are_named_together() -> None:
    with pytest.raises(InputError) as caught:
        linkability(ONE, FRESH, NAMES, holders=(["a", "e"], ["a", "b"]))
    assert "'e' is not among the variables" in str(caught.value)
    assert "'a' is a column of both" in str(caught.value)
    with pytest.raises(InputError, match="not two lists"):
        linkability(ONE, FRESH, NAMES, holders=(["a"], []))
    with pytest.raises(InputError, match="fewer than two"):
        linkability(ONE, FRESH, ["a"])


def test_codes_and_scenarios() -> None:
    coded = ONE.assign(c=ONE["c"].map(ord), d=ONE["d"].map(ord))
    other = STRANGERS.assign(c=STRANGERS["c"].map(ord), d=STRANGERS["d"].map(ord))
    for attack in (singling_out, linkability):
        text = attack(ONE, ONE[::2], NAMES, holdout=STRANGERS, seed=1)
        codes = attack(coded, coded[::2], NAMES, holdout=other, categorical=["c", "d"], seed=1)
        assert codes.table["rate"].tolist() == text.table["rate"].tolist()
        scenario = Scenario(NAMES[:3], "d")
        assert attack(ONE, ONE[::2], scenario, holdout=STRANGERS, seed=1).footnote


def test_households_are_attacked_by_their_profiles() -> None:
    files = [one.assign(h=np.arange(150) // 3) for one in (ONE, FRESH, STRANGERS)]
    for attack in (singling_out, linkability):
        asked = {"holdout": files[2], "household": "h", "seed": 1}
        copy, fresh = (attack(files[0], one, NAMES, **asked) for one in files[:2])
        assert copy.unit == "households"
        assert copy.excess.is_above
        assert not fresh.excess.is_above
        assert copy.excess.n <= 1000


def test_ways_to_divide_are_different() -> None:
    ways = linkability(ONE.assign(e=1, f=2), FRESH.assign(e=1, f=2), [*NAMES, "e", "f"], seed=1)
    assert ways.table["way"].nunique() == len(ways.table) == 6
    assert all(one != two for one, two in pairwise(ways.table["way"]))


# --- fewer keys ----------------------------------------------------------------------------------


def test_counts_by_codes_are_those_of_the_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """DiSCO and DCAP by every subset: from codes made once, and by the measures one by one."""
    files = [
        one.assign(b=one["b"].round(), e=one["a"] > 0, h=np.arange(150) // 2)
        for one in (ONE, FRESH, STRANGERS)
    ]
    files[0].loc[::7, "c"] = None
    files[1].loc[::9, "d"] = None
    asked = {"holdout": files[2], "attacks": "fewer_keys", "seed": 1}
    keys, targets = ["b", "c", "e"], ["d", "a"]
    quick = assess_synthetic(files[0], files[1], keys, targets, **asked)
    monkeypatch.setattr(CodedFiles, "of", classmethod(lambda *arguments: None))
    slow = assess_synthetic(files[0], files[1], keys, targets, **asked)
    for job, found in slow.results.items():
        table = quick.results[job].table
        assert set(table["attack"]) == {"DiSCO", "DCAP"}
        assert len(table) == 12
        pd.testing.assert_frame_equal(
            table[["attack", "keys", "rate", "holdout"]],
            found.table[["attack", "keys", "rate", "holdout"]],
        )
        of_disco = table["attack"] == "DiSCO"
        assert np.allclose(table["lower"][of_disco], found.table["lower"][of_disco])
        assert quick.results[job].excess.n_tests == 12


def test_matching_by_fewer_keys_is_dcap_and_disco_by_fewer_keys() -> None:
    """Why the scenarios need no search of their own: one of all matches, or all of one level."""
    files = [one.assign(b=one["b"].round()) for one in (ONE, pd.concat([ONE[:50], FRESH]))]
    coded = CodedFiles.of(
        AttackInput(*files, ("b", "c"), ("d",), STRANGERS.assign(b=STRANGERS["b"].round()), 1),
        "d", 10,
    )  # fmt: skip
    assert coded is not None
    for keys in (["b"], ["c"], ["b", "c"]):
        asked = Scenario(keys, "d", who="everyone")
        rates = intruder_scenarios(*files, asked, scenarios=[3, 4]).table["rate"]
        found = [coded.found(attack, keys) for attack in ("DCAP", "DiSCO")]
        assert [one.rate for one in found if one] == pytest.approx(list(rates))
        assert rates.iloc[0] > 0.1


def test_fewer_subsets_of_households_and_everybody_else_by_codes() -> None:
    files = [one.assign(h=np.arange(150) // 2) for one in (ONE, FRESH, STRANGERS)]
    keys = ["a", "b", "c", "h2", "h3"]
    files = [one.assign(h2=one["c"], h3=one["d"]) for one in files]
    asked = {"holdout": files[2], "attacks": "fewer_keys", "seed": 1}
    everybody = Scenario(keys, "d", who="everyone")
    plain, said = (assess_synthetic(*files[:2], *intruder, **asked) for intruder in
                   ((keys, "d"), (everybody,)))  # fmt: skip
    tables = [one.results["fewer_keys", "d"].table for one in (plain, said)]
    pd.testing.assert_frame_equal(*tables)
    homes = assess_synthetic(*files[:2], keys, "d", household="h", **asked)
    assert homes.results["fewer_keys", "d"].table["keys"].nunique() == 8
    assert "at most 8 subsets of the keys are tried" in homes.notes["fewer_keys", "d"]
