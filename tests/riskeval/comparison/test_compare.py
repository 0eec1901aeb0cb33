"""`compare` as a whole: tables, arguments, faults."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import riskeval
from riskeval import Indicators, Regression, Release, protect
from riskeval.comparison import link_risk
from riskeval.report.comparison_verdicts import clean_releases
from synthpop import Survey
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.events import Event
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.statistics.robust import Scatter
from tests.riskeval.comparison.cases import ROLES, grouped, people, suppressed


@pytest.fixture(scope="module")
def found() -> riskeval.Comparison:
    original = people()
    base = suppressed(original)
    micro = protect.microaggregate(base, ["pay", "rent"], k=5, seed=1)
    noise = protect.add_noise(base, ["pay", "rent"], level=0.5, method="correlated", seed=1)
    return riskeval.compare(
        original,
        {"micro": micro, "noise": noise, "synthetic": people(300, seed=9)},
        **ROLES,
        household="hid",
        strata="region",
        indicators=Indicators("pay", ["mean", "gini"], by="region"),
        regressions=["log(pay) ~ sex", Regression("ill ~ pay", "logistic")],
    )


def test_one_row_a_release_the_original_first(found: riskeval.Comparison) -> None:
    assert found.table.index.tolist() == ["original", "micro", "noise", "synthetic"]
    assert found.table["kind"].tolist() == ["original", "perturbed", "perturbed", "synthetic"]
    assert found.table["records"].tolist() == [400, 400, 400, 300]
    assert found.table["linkable"].tolist() == [True, True, True, False]


def test_risk_and_utility_tell_the_releases_apart(found: riskeval.Comparison) -> None:
    table = found.table
    assert table.loc["original", "below_3"] > 0.5
    assert table.loc["micro", "below_3"] == 0
    assert table.loc["original", "interval_disclosure"] == 1
    assert table.loc["micro", "record_linkage"] > table.loc["noise", "record_linkage"]
    assert 0 < table.loc["micro", "il1s"] < table.loc["noise", "il1s"]
    assert table.loc["original", "overlap"] == 1
    assert table.loc["micro", "overlap"] > table.loc["synthetic", "overlap"]


def test_what_is_missing_has_a_reason(found: riskeval.Comparison) -> None:
    gone = found.measures[found.measures["value"].isna()]
    assert len(gone)
    assert (gone["note"] != "").all()
    row = gone[(gone["release"] == "synthetic") & (gone["measure"] == "il1s")].iloc[0]
    assert row["note"] == "records cannot be linked one to one"
    assert set(gone["measure"]) >= {"membership", "record_linkage", "interval_disclosure"}
    assert not found.table.isna().all(axis=1).any()


def test_every_release_has_every_number(found: riskeval.Comparison) -> None:
    names = found.measures.groupby("release")["name"].agg(set)
    assert len(set(map(frozenset, names))) == 1


def test_a_frame_of_the_same_length_is_not_linked_blindly() -> None:
    other = people(100, seed=5)
    releases = {"other": other, "said": Release(other, kind="perturbed")}
    result = riskeval.compare(people(100), releases, **ROLES)
    assert result.table.loc["other", "kind"] == "synthetic"
    assert "rows agree" in result.releases.set_index("release").loc["other", "notes"]
    assert bool(result.table.loc["said", "linkable"])


def test_dropped_records_are_linked_by_their_labels() -> None:
    original = people(100).set_index(np.arange(100) + 7)
    result = riskeval.compare(original, {"fewer": original.iloc[20:90]}, **ROLES)
    assert result.table.loc["fewer", "il1s"] == 0
    assert result.table.loc["fewer", "records"] == 70


def test_recoded_levels_are_compared_on_what_both_have(found: riskeval.Comparison) -> None:
    rows = found.shared[found.shared["variable"] == "age"].set_index("release")
    assert rows.loc["micro", "how"] == "52 levels of the original count as 4"
    assert rows.loc["synthetic", "how"].endswith("levels in common") or (
        rows.loc["synthetic", "how"] == "the same levels"
    )
    result = riskeval.compare(
        people(), {"grouped": Release(grouped(people()), linkable=False)}, **ROLES
    )
    row = result.shared[result.shared["variable"] == "age"].iloc[0]
    assert not row["compared"]
    assert "no level in common" in row["how"]
    assert "age" in result.summary()


def test_seed_and_workers() -> None:
    original = people(220)  # some attacks draw 200 or 150 of them
    release = {"noise": protect.add_noise(original, ["pay"], seed=1)}
    one = riskeval.compare(original, release, **ROLES)
    two = riskeval.compare(original, release, **ROLES, workers=2)
    pd.testing.assert_frame_equal(one.measures, two.measures)
    assert one.seed == 1
    other = riskeval.compare(original, release, **{**ROLES, "seed": 2})
    assert not one.measures["value"].equals(other.measures["value"])


def test_faults_come_together() -> None:
    with pytest.raises(InputError) as caught:
        riskeval.compare(
            people(),
            {"original": people(), "text": "people.csv", "empty": people().head(0)},
            keys=["regio"],
            numeric=["sex"],
            weights="age2",
            sample_sizes={"screen": 3, "speed": 9},
            level=2,
            seed=1,
        )
    text = str(caught.value)
    for part in ("'regio'", "sex", "age2", "speed", "level", "'original' cannot", "is a str",
                 "has no records"):  # fmt: skip
        assert part in text


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"k": 0}, "limits k"),
        ({"l": -3}, "limits l"),
        ({"t": "close"}, "limits t"),
        ({"record_risk": 2}, "limits record_risk"),
        ({"global_risk": "small"}, "limits global_risk"),
        ({"kk": 3}, "Did you mean 'k'?"),
    ],
)
def test_limits_that_cannot_be_kept_are_faults(limits: dict, message: str) -> None:
    with pytest.raises(InputError) as caught:
        riskeval.compare(people(), {"same": people()}, **ROLES, limits=limits)
    assert message in str(caught.value)


def test_a_survey_brings_its_roles() -> None:
    original = people(60)
    survey = Survey(original, weight="w", household="hid")
    roles = {name: value for name, value in ROLES.items() if name != "weights"}
    one = riskeval.compare(survey, {"a": survey}, **roles)
    two = riskeval.compare(original, {"a": original}, **ROLES, household="hid")
    pd.testing.assert_frame_equal(one.measures, two.measures)


def test_what_does_not_apply_to_synthetic_files_is_never_a_limit(
    found: riskeval.Comparison,
) -> None:
    rows = found.measures.set_index(["release", "name"])
    for name in ("below_3", "global_risk", "record_risk", "special_uniques", "l_diversity: ill"):
        assert not rows.loc[("synthetic", name), "applies"]
        assert rows.loc[("synthetic", name), "within"] is None
        assert rows.loc[("micro", name), "applies"]
    assert np.isfinite(rows.loc[("synthetic", "below_3"), "value"])
    assert rows.loc[("micro", "below_3"), "within"] is True
    assert "▲" not in found.summary().split("synthetic:")[1]


def test_an_exact_copy_has_the_worst_risk_of_all() -> None:
    """Untouched numbers are a risk although an intruder on the keys finds nothing."""
    original = people(200)
    untouched = suppressed(original)
    noisy = protect.add_noise(untouched, ["pay", "rent"], level=1.0, seed=1).data
    result = riskeval.compare(original, {"untouched": untouched, "noisy": noisy}, **ROLES)
    assert result.table.loc["original", "worst_risk"] == 1
    assert result.table.loc["untouched", "worst_risk"] == 1
    assert result.table.loc["untouched", "disco: ill"] < result.table.loc["original", "disco: ill"]
    assert result.table.loc["noisy", "worst_risk"] < 1
    drawn = result.risk_utility_map()
    assert drawn.risk == "worst_risk"
    front = drawn.frame.set_index("release")["pareto"]
    assert bool(front["noisy"])
    note = result.measures.set_index(["release", "name"]).loc[("untouched", "worst_risk"), "note"]
    assert "of the original" in note
    assert "beat" not in result.summary()


def test_a_suppressed_cell_a_record_does_not_remove_the_linkage_risk() -> None:
    original = people(200)
    holes = original.copy()
    for i in range(200):
        holes.loc[i, ["pay", "rent"][i % 2]] = np.nan
    result = riskeval.compare(original, {"holes": Release(holes, kind="perturbed")}, **ROLES)
    row = result.table.loc["holes"]
    assert row["interval_disclosure"] == 1
    assert row["record_linkage"] > 0.95
    assert row["worst_risk"] > 0.95
    notes = result.measures.set_index(["release", "name"])["note"]
    for name in ("interval_disclosure", "record_linkage", "mahalanobis_disclosure"):
        assert "200 records judged by the values that both files have" in notes["holes", name]


def test_an_intruder_links_by_fewer_numbers_where_others_mislead() -> None:
    original = people(200)
    rng = np.random.default_rng(1)
    misled = original.assign(rent=rng.permutation(original["rent"]))
    release = Release(misled, kind="perturbed")
    result = riskeval.compare(original, {"misled": release}, **ROLES)
    by_all = riskeval.record_linkage(original, misled, ["pay", "rent"])
    assert by_all.expected_rate_two < 0.5
    assert result.table.loc["misled", "record_linkage"] > 0.95  # by the pay, on the other half
    notes = result.measures.set_index(["release", "name"])
    assert "by pay alone" in notes.loc[("misled", "record_linkage"), "note"]
    assert notes.loc[("misled", "record_linkage"), "records"] == 100


def test_linkage_counts_the_second_nearest() -> None:
    original = people(200)
    near = protect.microaggregate(original, ["pay", "rent"], k=3, seed=1).data
    result = riskeval.compare(original, {"near": near}, **ROLES)
    linkage = riskeval.record_linkage(original, near, ["pay", "rent"])
    assert result.table.loc["near", "record_linkage"] == pytest.approx(linkage.expected_rate_two)
    assert linkage.expected_rate < linkage.expected_rate_two
    both = linkage.rate + linkage.rate_second
    assert linkage.expected_rate_two == pytest.approx(both, abs=0.02)


def test_the_listener_hears_of_every_file() -> None:
    heard: list[Event] = []
    riskeval.compare(people(40), {"same": people(40)}, **ROLES, on_event=heard.append)
    done = [(event.detail, event.done, event.total) for event in heard if event.kind == "progress"]
    assert done == [("original", 1, 2), ("same", 2, 2)]


def test_workers_are_a_whole_number() -> None:
    with pytest.raises(InputError, match="workers"):
        riskeval.compare(people(), {"same": people()}, **ROLES, workers=0)


def test_records_in_another_order_are_linked_by_their_labels() -> None:
    original = people(80)
    shuffled = original.sample(frac=1, random_state=1)
    blind = shuffled.reset_index(drop=True)
    releases = {
        "labels": shuffled,
        "asked": Release(shuffled, kind="perturbed"),
        "blind": Release(blind, kind="perturbed"),
        "places": original.set_axis(shuffled.index),
    }
    found = riskeval.compare(original, releases, **ROLES)
    for name in ("labels", "asked", "places", "blind"):
        assert found.table.loc[name, ["record_linkage", "il1s"]].tolist() == [1, 0]
    notes = found.releases.set_index("release")["notes"]
    assert "linked by the labels of the index" in notes["labels"]
    assert "linked by the labels of the index" in notes["asked"]
    assert "labels" not in notes["places"]
    assert "in another order, found by their values" in notes["blind"]


def test_faults_of_a_release_name_the_release() -> None:
    original = people(200)
    twice = pd.concat([original, original[["sex"]]], axis=1)
    light = original.assign(w=original["w"].where(original.index > 0))
    other = Release(original, levels={"agee": {20: "young"}, "age": ["young"]})
    with pytest.raises(InputError) as caught:
        riskeval.compare(original, {"twice": twice, "light": light, "other": other}, **ROLES)
    text = str(caught.value)
    assert "'sex': 2 columns have this name" in text
    assert "w of light: weight is missing" in text
    assert "'agee': column given as levels of other is not in the data" in text
    assert "levels of other, age: is ['young']" in text


def test_no_interval_is_drawn_that_nobody_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    def bootstrap(*_: object) -> np.ndarray:
        raise AssertionError("a comparison shows no interval of these")

    monkeypatch.setattr("riskeval.attacks.intervals._bootstrap", bootstrap)
    found = riskeval.compare(people(200), {"same": people(200)}, **ROLES)
    assert found.table.loc["same", "disco: ill"] == found.table.loc["original", "disco: ill"]
    assert found.summary().startswith("1 release was compared")
    assert "0 of 1 release are on the Pareto front" in found.summary()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keys": 3}, "3: column given as key is not in the data"),
        ({"weights": np.ones(50)}, "weights: is a ndarray"),
        ({"indicators": 3}, "indicators: is 3"),
        ({"indicators": "pay"}, "indicators: is 'pay'"),
        ({"indicators": {"variable": "pay", "statistics": 3}}, "statistics of indicators: is 3"),
        ({"indicators": {"variable": "pay", "by": 3}}, "by of indicators: is 3"),
        ({"regressions": 3}, "regressions: is 3"),
        ({"holdout": people(50).iloc[:0]}, "holdout: has no records"),
    ],
)
def test_arguments_of_another_type_are_one_fault(given: dict, message: str) -> None:
    with pytest.raises(InputError) as caught:
        riskeval.compare(people(50), {"same": people(50)}, **{**ROLES, **given})
    assert message in str(caught.value)
    assert "1 fault\n" in str(caught.value)


def test_linkable_is_no_text() -> None:
    with pytest.raises(InputError, match="linkable of same: is 'no'"):
        riskeval.compare(people(50), {"same": Release(people(50), linkable="no")}, **ROLES)  # type: ignore[arg-type]


def test_an_infinite_number_of_a_release_is_a_fault() -> None:
    original = people(50)
    some = original.assign(pay=original["pay"].where(original.index > 2, np.inf))
    with pytest.raises(InputError, match="pay of some: value is infinite"):
        riskeval.compare(original, {"some": some}, **ROLES)


@pytest.mark.parametrize("column", ["pay", "age"])
def test_an_infinite_number_of_the_original_is_a_fault(column: str) -> None:
    original = people(50).astype({column: float})
    some = original.assign(**{column: original[column].where(original.index > 2, np.inf)})
    with pytest.raises(InputError) as caught:
        riskeval.compare(some, {"fine": original}, **ROLES)
    assert "1 fault\n" in str(caught.value)
    assert "of the original" in str(caught.value)
    assert "infinite (3 rows: 0, 1, 2)" in str(caught.value)


@pytest.mark.parametrize("value", [-1, 2, np.nan, np.inf, "0.1", True])
def test_a_limit_of_risk_is_a_share(value: object) -> None:
    with pytest.raises(InputError, match="limits global_risk: is") as caught:
        riskeval.compare(people(50), {"a": people(50)}, **ROLES, limits={"global_risk": value})
    assert "between 0 and 1" in str(caught.value)


def test_a_limit_of_risk_can_be_zero() -> None:
    found = riskeval.compare(people(50), {"a": people(50)}, **ROLES, limits={"global_risk": 0})
    assert found.limits.global_risk == 0


def test_lists_in_a_column_are_a_fault_only_where_the_column_is_used() -> None:
    original = people(50)
    lists = original.assign(region=[["a"]] * 50)
    for pair in ((lists, original), (original, lists)):
        with pytest.raises(InputError, match="'region': holds values of the kind list"):
            riskeval.compare(pair[0], {"a": pair[1]}, **ROLES)
    noted = original.assign(note=[["a"]] * 50)
    assert len(riskeval.compare(noted, {"a": noted}, **ROLES).table) == 2


def test_a_release_without_any_key_says_why_it_keeps_the_limits() -> None:
    original = people(50)
    gone = original.assign(**{name: pd.Series([None] * 50, dtype=object) for name in ROLES["keys"]})
    some = original.copy()
    some.loc[:9, ROLES["keys"]] = None
    found = riskeval.compare(original, {"gone": gone, "some": some}, **ROLES)
    told = "every key of every record is missing"
    rows = found.measures[found.measures["measure"].isin(["below_3", "global_risk"])]
    notes = rows.groupby("release")["note"].agg("; ".join)
    assert told in notes["gone"]
    assert notes["original"] == "; "
    rows = found.measures.set_index(["release", "name"])
    assert rows.loc[("some", "below_3"), "value"] < rows.loc[("some", "below_3_visible"), "value"]
    assert "10 records have every key missing" in rows.loc[("some", "below_3_visible"), "note"]
    assert rows.loc[("some", "below_3_visible"), "within"] is False
    lines = found.summary().splitlines()
    assert [line.split(":")[0] for line in lines if told in line] == ["gone"]


class TestScenariosAndReplicates:
    def original(self, seed: int = 1, n: int = 240) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({name: rng.integers(0, 12, n).astype(str) for name in "abc"})
        return frame.assign(
            ill=rng.choice(["flu", "cold", "none"], n), pay=rng.lognormal(7, 1, n).round()
        )

    def numbers(self, releases: dict, **more: object) -> pd.DataFrame:
        found = riskeval.compare(
            self.original(), releases, keys=list("abc"), sensitive=["ill", "pay"],
            numeric=["pay"], seed=1, sample_sizes={"model": "nearest"}, **more,
        )  # fmt: skip
        return found.measures.set_index(["release", "name"])

    def test_the_five_scenarios_are_compared(self) -> None:
        original = self.original()
        holes = original.mask(np.arange(240)[:, None] % 3 == np.array([0, 1, 2, 7, 7])[None])
        table = self.numbers(
            {"copy": original, "holes": holes, "fresh": self.original(2)},
            holdout=self.original(3),
        )
        unique = (~original.duplicated(list("abc"), keep=False)).mean()
        for target in ("ill", "pay"):
            name = f"scenarios: {target}"
            assert table.loc[("copy", name), "value"] == pytest.approx(unique)
            assert table.loc[("holes", name), "value"] > 0.15 * unique
            fresh = table.loc[("fresh", name)]
            assert fresh["against"] == "persons outside the original"
            assert fresh["lower"] <= fresh["value"] <= fresh["upper"]
            assert abs(fresh["value"] - fresh["baseline"]) < 0.15
        assert "against strangers" in table.loc[("copy", "scenarios: ill"), "note"]
        assert table.loc[("copy", "worst_risk"), "value"] == pytest.approx(1)

    def test_value_and_interval_are_of_the_mean_of_all_files(self) -> None:
        files = [self.original(seed) for seed in (2, 3, 4)]
        table = self.numbers({"syn": Release(files[0], "synthetic", replicates=files[1:])})
        alone = [self.numbers({"syn": Release(file, "synthetic")}) for file in files]
        for name in ("replicated_uniques", "tcap: ill", "scenarios: pay", "tables"):
            values = [one.loc[("syn", name), "value"] for one in alone]
            row = table.loc[("syn", name)]
            assert row["value"] == pytest.approx(np.mean(values)), name
            assert row["lower"] <= row["value"] <= row["upper"]
            assert row["note"].startswith("mean of 3 files")
        half = 4.303 * np.std(values, ddof=1) / np.sqrt(3)  # t with two degrees of freedom
        assert row["upper"] == pytest.approx(min(row["value"] + half, 1), rel=1e-3)
        wrong = Release(files[0], replicates=[files[1].drop(columns="ill"), "no file"])
        with pytest.raises(InputError, match="syn: is a str"):
            self.numbers({"syn": wrong})


def test_a_copy_of_either_kind_is_not_praised() -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {"a": rng.integers(0, 4, 200), "b": rng.choice([*"xyz"], 200), "pay": rng.random(200)}
    )
    releases = {"copy": riskeval.Release(data, kind="synthetic"), "masked": data}
    lines = riskeval.compare(data, releases, keys=["a", "b"], numeric="pay", seed=1).summary()
    by_name = {line.split(":")[0]: line for line in lines.splitlines()}
    assert "Do not publish this file: 100.0 % of the records equal" in by_name["copy"]
    assert "Do not publish" in by_name["masked"]


def test_releases_of_the_same_persons_share_one_robust_scatter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[np.ndarray] = []
    scatter_of = link_risk.scatter_of

    def noted(values: np.ndarray) -> Scatter:
        searched.append(values)
        return scatter_of(values, "classical")

    monkeypatch.setattr(link_risk, "scatter_of", noted)
    original = people(60)
    releases = {
        "more": original.assign(pay=original["pay"] + 1),
        "holes": original.assign(pay=original["pay"].where(original.index > 9)),
    }
    linked = {name: Release(frame, kind="perturbed") for name, frame in releases.items()}
    riskeval.compare(original, linked, **{**ROLES, "keys": ["region"], "sensitive": []})
    assert len(searched) == 2  # one of the original and "more", one of those without a hole


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_copy_is_never_said_to_meet_every_limit(shuffled: bool) -> None:
    rng = np.random.default_rng(3)
    original = pd.DataFrame(
        {
            "urban": rng.integers(0, 2, 600),
            "sex": rng.integers(0, 2, 600),
            "income": rng.lognormal(9, 1, 600).round(2),
        }
    )
    copy = original.sample(frac=1, random_state=1, ignore_index=True) if shuffled else original
    noisy = original.assign(income=rng.lognormal(9, 1, 600).round(2))
    result = riskeval.compare(
        original, {"copy": copy.copy(), "noisy": noisy},
        keys=["urban", "sex"], numeric=["income"], seed=1,
    )  # fmt: skip
    first = result.summary().splitlines()
    line = next(text for text in first if text.startswith("copy: "))
    assert "Do not publish this file: 100.0 % of the records equal a record" in line
    assert "do not apply to synthetic" not in first[1]  # of the original
    assert clean_releases(result) == ["noisy"]
    drawn = result.risk_utility_map()
    assert not drawn.frame.set_index("release").loc["copy", "pareto"]
    assert "Not to be published: copy" in drawn.summary()


def test_a_release_that_cannot_be_measured_changes_nothing_for_the_others() -> None:
    rng = np.random.default_rng(4)
    original = pd.DataFrame({"age": rng.integers(0, 9, 300), "ill": rng.integers(0, 3, 300)})
    fresh = pd.DataFrame({"age": rng.integers(0, 9, 300), "ill": rng.integers(0, 3, 300)})
    blank = Release(original.assign(age=-9, ill=9), kind="synthetic")
    arguments = {"keys": ["age"], "sensitive": ["ill"], "seed": 1}
    alone = riskeval.compare(original, {"fresh": fresh}, **arguments).risk_utility_map()
    both = riskeval.compare(
        original, {"fresh": fresh, "blank": blank}, **arguments
    ).risk_utility_map()
    assert (both.risk, both.utility) == (alone.risk, alone.utility)
    assert both.frame.set_index("release")["pareto"].to_dict()["fresh"]
    assert "a value is missing: blank" in both.summary()


def test_labels_that_name_other_records_link_nothing() -> None:
    """Positions of the frame of a file are no labels of its table, though all occur there."""
    table = people(200).set_axis(range(1, 201), axis=0)
    file = Microdata(table, keys=ROLES["keys"])
    releases = {"own": table.iloc[50:150], "other": file.frame.iloc[50:150]}
    linkable = riskeval.compare(file, releases, seed=1).table["linkable"]
    assert linkable.loc[["own", "other"]].tolist() == [True, False]
