from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskeval.kernels import linkage as kernels
from riskeval.kernels.gower import gower_ranks
from riskeval.measures.linkage.linkage import _whitening, record_linkage
from riskeval.measures.linkage.methods import (
    fit_fellegi_sunter,
    gower_matrix,
    ranges_of,
    read_linkage_files,
)
from synthpop.microdata.messages.errors import Faults, InputError
from tests.reference_data import golden, survey_data

NAMES = ["expend", "income", "savings"]


def people() -> tuple[pd.DataFrame, pd.DataFrame]:
    original = pd.DataFrame(
        {"id": [1, 2, 3], "age": [23, 40, 35], "sex": ["f", "m", "f"], "region": ["A", "B", "A"]}
    )
    released = pd.DataFrame(
        {"id": [1, 2, 3], "age": [24, 39, 35], "sex": ["f", "m", "f"], "region": ["A", "B", "B"]}
    )
    return original, released


def sides_of(original, released, variables, weights=None):
    return read_linkage_files(
        Faults("test"),
        original,
        released,
        variables,
        (),
        None,
        {"weights": weights, "agreement": None},
        numeric_only=False,
    )


class TestReference:
    @pytest.mark.parametrize(
        ("entry", "weights"),
        [("gower", None), ("gower_weights211", {"age": 2.0, "sex": 1.0, "region": 1.0})],
    )
    def test_gower_distances(self, entry: str, weights) -> None:
        facts = golden("sdc", "j1_recordlinkage.json")[entry]
        sides = sides_of(*people(), ["age", "sex", "region"], weights)
        every = np.arange(3)
        np.testing.assert_allclose(
            gower_matrix(sides, every, every, ranges_of(sides)).T,
            facts["distance_matrix"],
            rtol=1e-8,
        )
        risk = record_linkage(
            *people(), ["age", "sex", "region"], method="gower", weights=weights,
            assign="one-to-one",
        )  # fmt: skip
        assert risk.parameters["total_distance"] == pytest.approx(facts["total_distance"])
        assert risk.rate == facts["correct_match_rate"]

    @pytest.mark.parametrize(
        ("entry", "metric"), [("euclidean_age", "euclidean"), ("manhattan_age", "manhattan")]
    )
    def test_raw_distances(self, entry: str, metric: str) -> None:
        facts = golden("sdc", "j1_recordlinkage.json")[entry]
        risk = record_linkage(
            *people(), ["age"], metric=metric, standardise="none", assign="one-to-one"
        )
        assert risk.score.tolist() == [match["distance"] for match in facts["matches"]]
        assert risk.rate == facts["correct_match_rate"]

    def test_total_distances_of_a_hundred_records(self) -> None:
        facts = golden("sdc", "j1_recordlinkage.json")["testdata100"]
        original = survey_data("testdata").head(100)
        released = golden("sdc", "j1_testdata100_mdav3.parquet")
        gower = record_linkage(original, released, NAMES, method="gower", assign="one-to-one")
        plain = record_linkage(original, released, NAMES, standardise="none", assign="one-to-one")
        found = [gower.parameters["total_distance"], plain.parameters["total_distance"]]
        expected = [facts["gower"]["total_distance"], facts["euclidean"]["total_distance"]]
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def brute(x: np.ndarray, y: np.ndarray, norm: int):
    """Counts of originals nearer than, and as near as, the own one."""
    distances = (np.abs(x[None] - y[:, None]) ** norm).sum(axis=2) ** (1 / norm)
    own = np.diag(distances)[:, None]
    tied = np.abs(distances - own) <= 1e-9 * np.maximum(own, 1e-300)
    return ((distances < own) & ~tied).sum(axis=1), tied.sum(axis=1)


class TestDistance:
    @settings(max_examples=30, deadline=None)
    @given(
        st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=2, max_size=12),
        st.sampled_from(["euclidean", "manhattan"]),
    )
    def test_agrees_with_all_pairs(self, rows, metric: str) -> None:
        table = np.array(rows, dtype=float)
        original = pd.DataFrame(table[:, :2], columns=["a", "b"])
        released = pd.DataFrame(table[:, 2:], columns=["a", "b"])
        risk = record_linkage(original, released, ["a", "b"], metric=metric, standardise="none")
        nearer, ties = brute(table[:, :2], table[:, 2:], 1 if metric == "manhattan" else 2)
        assert risk.linked.tolist() == (nearer == 0).tolist()
        assert risk.linked_second.tolist() == (nearer == 1).tolist()
        expected = np.where(nearer == 0, 1 / ties, 0).mean()
        assert risk.expected_rate == pytest.approx(expected)

    def noisy(self, n: int = 200, noise: float = 0.05):
        rng = np.random.default_rng(3)
        original = pd.DataFrame({"a": rng.normal(size=n), "b": 1000 * rng.normal(size=n)})
        released = original + rng.normal(size=(n, 2)) * [noise, 1000 * noise]
        return original, released

    def test_standardise(self) -> None:
        original, released = self.noisy()
        even = record_linkage(original, released, ["a", "b"])
        raw = record_linkage(original, released, ["a", "b"], standardise="none")
        assert even.rate > raw.rate + 0.2
        by_hand = original / original.std(), released / original.std()
        again = record_linkage(*by_hand, ["a", "b"], standardise="none")
        np.testing.assert_array_equal(even.linked, again.linked)

    def test_weights(self) -> None:
        original, released = self.noisy()
        released["b"] = released["b"].sample(frac=1, random_state=1).to_numpy()
        plain = record_linkage(original, released, ["a", "b"])
        weighted = record_linkage(original, released, ["a", "b"], weights={"b": 0.0})
        only_a = record_linkage(original, released, ["a"])
        assert weighted.rate == only_a.rate > plain.rate

    def test_mahalanobis_is_blind_to_linear_change_of_both_files(self) -> None:
        original, released = self.noisy(noise=0.3)
        turn = np.array([[1.0, 2.0], [0.0, 5.0]])
        turned = [
            pd.DataFrame(f.to_numpy() @ turn, columns=["a", "b"]) for f in self.noisy(noise=0.3)
        ]
        one = record_linkage(original, released, ["a", "b"], method="mahalanobis")
        two = record_linkage(*turned, ["a", "b"], method="mahalanobis")
        np.testing.assert_allclose(one.score, two.score, rtol=1e-8)
        inverse = np.linalg.inv(np.cov(original.T) + np.cov(released.T))
        gap = (original - released).to_numpy()
        np.testing.assert_allclose(one.own_score, np.sqrt(((gap @ inverse) * gap).sum(axis=1)))

    def test_mahalanobis_with_a_repeated_variable(self) -> None:
        original, released = self.noisy()
        for frame in (original, released):
            frame["c"] = 2 * frame["a"]
        both = record_linkage(original, released, ["a", "b"], method="mahalanobis")
        more = record_linkage(original, released, ["a", "b", "c"], method="mahalanobis")
        np.testing.assert_array_equal(both.linked, more.linked)

    def test_blocks(self) -> None:
        original, released = self.noisy(noise=0.5)
        original["g"] = released["g"] = np.arange(200) % 10
        whole = record_linkage(original, released, ["a", "b"])
        inside = record_linkage(original, released, ["a", "b"], block=["g"])
        assert inside.rate > whole.rate
        assert inside.chance == pytest.approx(10 / 200)
        assert whole.chance == pytest.approx(1 / 200)
        assert (inside.nearest % 10 == np.arange(200) % 10).all()
        moved = released.assign(g="elsewhere")
        assert record_linkage(original, moved, ["a", "b"], block=["g"]).n_unjudged == 200
        some = released.assign(g=released["g"].where(released.index > 9, 11))
        lost = record_linkage(original, some, ["a", "b"], block="g")
        assert not lost.linked[:10].any()

    def test_identifier(self) -> None:
        original, released = self.noisy()
        original["id"] = np.arange(200)
        released["id"] = np.arange(200)
        shuffled = released.sample(n=150, random_state=2)
        straight = record_linkage(original, released, ["a", "b"])
        by_id = record_linkage(original, shuffled, ["a", "b"], identifier="id")
        np.testing.assert_array_equal(by_id.linked, straight.linked[shuffled["id"]])
        strangers = released.assign(id=released["id"] + 1000)
        risk = record_linkage(original, strangers, ["a", "b"], identifier="id")
        assert risk.rate == 0
        assert risk.chance == 0
        assert (risk.nearest >= 0).all()

    def test_records_are_compared_on_the_variables_that_both_have(self) -> None:
        original, released = self.noisy(20, 0.001)
        released.loc[0, "a"] = math.nan
        original.loc[1, "b"] = math.nan
        for options in ({}, {"assign": "one-to-one"}, {"method": "mahalanobis"}):
            risk = record_linkage(original, released, ["a", "b"], **options)
            assert risk.linked[2:].all()
            assert (risk.n_unjudged, risk.rate_judged) == (0, risk.rate)
        gap = abs(original["b"] - released["b"])[0] / original["b"].std() * math.sqrt(2)
        assert record_linkage(original, released, ["a", "b"]).own_score[0] == pytest.approx(gap)
        released.loc[2, ["a", "b"]] = math.nan
        risk = record_linkage(original, released, ["a", "b"])
        assert (risk.n_unjudged, risk.nearest[2], risk.linked[2]) == (1, -1, False)
        assert risk.rate_judged == pytest.approx(risk.rate * 20 / 19)
        assert "1 record could not be compared and counts as not linked" in risk.summary()

    @settings(max_examples=20, deadline=None)
    @given(st.integers(0, 10_000), st.sampled_from(["euclidean", "manhattan"]))
    def test_partial_distances_agree_with_all_pairs(self, seed: int, metric: str) -> None:
        rng = np.random.default_rng(seed)
        x, y = (rng.integers(0, 4, (9, 3)).astype(float) for _ in range(2))
        x[rng.random(x.shape) < 0.3] = math.nan
        y[rng.random(y.shape) < 0.3] = math.nan
        names = ["a", "b", "c"]
        risk = record_linkage(
            pd.DataFrame(x, columns=names), pd.DataFrame(y, columns=names), names,
            metric=metric, standardise="none",
        )  # fmt: skip
        power = 1 if metric == "manhattan" else 2
        with np.errstate(invalid="ignore"):
            gaps = np.abs(x[None] - y[:, None]) ** power
            known = (~np.isnan(gaps)).sum(axis=2)
            distance = (np.nansum(gaps, axis=2) * 3 / np.where(known, known, np.nan)) ** (1 / power)
        own = np.diag(distance)
        slack = own[:, None] * 1e-9 + 1e-12
        nearer = (distance < own[:, None] - slack).sum(axis=1)
        ties = (np.abs(distance - own[:, None]) <= slack).sum(axis=1)
        linked = ~np.isnan(own) & (nearer == 0)
        np.testing.assert_array_equal(risk.linked, linked)
        np.testing.assert_array_equal(risk.linked_second, ~np.isnan(own) & (nearer == 1))
        expected = np.where(linked, 1 / np.maximum(ties, 1), 0).mean()
        assert risk.expected_rate == pytest.approx(expected)
        np.testing.assert_allclose(risk.own_score, own)
        known_pairs = np.where(np.isnan(distance), np.inf, distance)
        least = np.where(np.isfinite(known_pairs).any(axis=1), known_pairs.min(axis=1), np.nan)
        np.testing.assert_allclose(risk.score, least)
        assert risk.n_unjudged == np.isnan(own).sum()

    def test_partial_distances_are_assigned_at_the_smallest_sum(self) -> None:
        """Distances on one of two variables count double their squares, as in all pairs."""
        x = np.array([[0.0, 0.0], [1.0, 5.0], [4.0, 2.0], [7.0, 7.0]])
        y = np.array([[1.0, math.nan], [0.0, 4.0], [math.nan, 2.5], [7.0, 6.0]])
        risk = record_linkage(
            pd.DataFrame(x, columns=["a", "b"]), pd.DataFrame(y, columns=["a", "b"]), ["a", "b"],
            standardise="none", assign="one-to-one",
        )  # fmt: skip
        gaps = (x[None] - y[:, None]) ** 2
        cost = np.sqrt(np.nansum(gaps, axis=2) * 2 / (~np.isnan(gaps)).sum(axis=2))
        order = min(permutations(range(4)), key=lambda one: cost[range(4), one].sum())
        assert risk.nearest.tolist() == list(order)
        np.testing.assert_allclose(risk.score, cost[range(4), order])
        np.testing.assert_allclose(risk.own_score, np.diag(cost))

    def test_one_suppressed_cell_a_record_does_not_hide_it(self) -> None:
        rng = np.random.default_rng(1)
        names = list("abcde")
        original = pd.DataFrame(rng.lognormal(10, 1, (200, 5)), columns=names)
        released = original.copy()
        for i in range(200):
            released.loc[i, names[i % 5]] = math.nan
        for method in ("distance", "mahalanobis", "gower"):
            assert record_linkage(original, released, names, method=method).rate == 1

    def test_ties_count_as_linked_and_by_lot_as_parts(self) -> None:
        original = pd.DataFrame({"a": [1.0, 1.0, 1.0, 9.0]})
        risk = record_linkage(original, original, "a")
        assert risk.rate == 1
        assert risk.expected_rate == pytest.approx((3 / 3 + 1) / 4)

    def test_one_and_two_guesses_by_lot(self) -> None:
        """Of 10 and 10 one is drawn; the second released record is nearer to 0 than to these."""
        original = pd.DataFrame({"x": [0.0, 10.0, 10.0, 100.0]})
        released = pd.DataFrame({"x": [0.0, 1.0, 10.0, 100.0]})
        risk = record_linkage(original, released, "x", method="gower")
        assert risk.linked.tolist() == [True, False, True, True]
        assert risk.linked_second.tolist() == [False, True, False, False]
        assert (risk.rate, risk.rate_second) == (0.75, 0.25)
        assert risk.expected_rate == (1 + 1 / 2 + 1) / 4
        assert risk.expected_rate_two == (1 + 1 / 2 + 1 + 1) / 4
        assert risk.chance == 1 / 4

    def test_one_record(self) -> None:
        frame = pd.DataFrame({"a": [3.0]})
        for method in ("distance", "mahalanobis", "gower", "probabilistic"):
            assert record_linkage(frame, frame, "a", method=method).rate == 1

    def test_words_and_table(self) -> None:
        risk = record_linkage(*self.noisy(), ["a", "b"])
        assert "Linking at random would reach 0.50 %" in risk.summary()
        assert len(risk.to_frame()) == 200


class TestGower:
    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(
            st.tuples(
                *[st.sampled_from([0.0, 1.0, 2.0, math.nan])] * 2,
                *[st.sampled_from(["u", "v", None])] * 2,
            ),
            min_size=1,
            max_size=8,
        )
    )
    def test_agrees_with_the_matrix(self, rows) -> None:
        original = pd.DataFrame({"n": [r[0] for r in rows], "c": [r[2] for r in rows]})
        released = pd.DataFrame({"n": [r[1] for r in rows], "c": [r[3] for r in rows]})
        original["c"], released["c"] = original["c"].astype(object), released["c"].astype(object)
        risk = record_linkage(original, released, ["n", "c"], method="gower")
        sides = sides_of(original, released, ["n", "c"])
        n = len(rows)
        compared = (
            ~np.isnan(sides.r_numbers + sides.o_numbers.T)
            | ((sides.r_codes >= 0) & (sides.o_codes.T >= 0))
        )  # fmt: skip
        matrix = np.where(
            compared, gower_matrix(sides, np.arange(n), np.arange(n), ranges_of(sides)), np.nan
        )
        for i in range(n):
            own = matrix[i, i]
            linked = not math.isnan(own) and not (matrix[i] < own - 1e-9).any()
            assert risk.linked[i] == linked
            if not np.isnan(matrix[i]).all():
                assert risk.score[i] == pytest.approx(np.nanmin(matrix[i]))
            else:
                assert risk.nearest[i] == -1


class TestProbabilistic:
    def survey(self, n: int = 300):
        rng = np.random.default_rng(5)
        names = ["MARTHA", "DIXON", "JONES", "SMITH", "BERGER", "HUBER", "WAGNER", "PICHLER"]
        original = pd.DataFrame(
            {
                "name": rng.choice(names, n),
                "age": rng.integers(18, 90, n),
                "region": rng.choice(list("ABCDEFGHI"), n),
                "income": rng.lognormal(9, 0.5, n),
            }
        )
        released = original.copy()
        released["income"] *= rng.normal(1, 0.005, n)
        wrong = rng.random(n) < 0.1
        released.loc[wrong, "region"] = rng.choice(list("ABCDEFGHI"), wrong.sum())
        return original, released

    def test_finds_most_records_and_estimates_the_errors(self) -> None:
        original, released = self.survey()
        risk = record_linkage(
            original, released, ["name", "age", "region", "income"], method="probabilistic"
        )
        assert risk.rate > 0.9
        kept = (original["region"] == released["region"]).mean()
        m, u = risk.parameters["m"], risk.parameters["u"]
        assert m["region"] == pytest.approx(kept, abs=0.08)
        assert u["region"] == pytest.approx(1 / 9, abs=0.02)
        assert m["name"] > 0.98
        assert risk.parameters["share"] == pytest.approx(1 / 300, rel=0.15)

    def test_weights_are_log_ratios(self) -> None:
        risk = record_linkage(
            *self.survey(), ["name", "age", "region", "income"], method="probabilistic"
        )
        m, u = risk.parameters["m"], risk.parameters["u"]
        best = sum(math.log2(m[name] / u[name]) for name in m)
        assert risk.score.max() == pytest.approx(best)

    def test_one_to_one_has_the_greatest_total_weight(self) -> None:
        original, released = self.survey(6)
        asked = {"variables": ["name", "age", "region"], "method": "probabilistic"}
        near = record_linkage(original, released, **asked)
        whole = record_linkage(original, released, assign="one-to-one", **asked)
        assert sorted(whole.nearest) == list(range(6))
        m, u = whole.parameters["m"], whole.parameters["u"]
        table = np.zeros((6, 6))
        for name in m:
            same = released[name].to_numpy()[:, None] == original[name].to_numpy()[None]
            table += np.where(
                same, np.log2(m[name] / u[name]), np.log2((1 - m[name]) / (1 - u[name]))
            )
        best = max(table[range(6), order].sum() for order in permutations(range(6)))
        assert whole.parameters["total_weight"] == pytest.approx(best)
        np.testing.assert_allclose(whole.own_score, np.diag(table))
        assert whole.parameters["m"] == near.parameters["m"]
        large = [frame.assign(g=np.arange(300) // 50) for frame in self.survey()]
        asked["variables"] = ["name", "age", "region", "income"]
        blocks = record_linkage(*large, block="g", assign="one-to-one", **asked)
        assert blocks.rate > 0.95
        assert len(set(blocks.nearest)) == 300

    def test_one_to_one_gives_no_original_twice(self) -> None:
        original, released = self.survey(40)
        asked = {"variables": ["name", "region"], "method": "probabilistic"}
        near = record_linkage(original, released, **asked)
        assert len(set(near.nearest)) < 40
        assert sorted(record_linkage(original, released, assign="one-to-one", **asked).nearest) == [
            *range(40)
        ]

    def test_threshold(self) -> None:
        asked = {"variables": ["name", "age"], "method": "probabilistic"}
        every = record_linkage(*self.survey(), **asked)
        best = record_linkage(*self.survey(), threshold=every.score.max(), **asked)
        assert (best.nearest >= 0).sum() == (every.score == every.score.max()).sum() > 0
        few = record_linkage(*self.survey(), threshold=every.score.max() + 1, **asked)
        assert few.rate == 0
        assert (few.nearest == -1).all()

    def test_agreement_of_numbers(self) -> None:
        asked = {"variables": ["income", "region"], "method": "probabilistic"}
        default = record_linkage(*self.survey(), **asked)
        tight = record_linkage(*self.survey(), agreement={"income": 0.0}, **asked)
        assert tight.rate < default.rate

    def test_agreement_of_texts(self) -> None:
        original = pd.DataFrame({"name": ["MARTHA", "DIXON", "JELLYFISH"] * 5, "k": range(15)})
        released = original.assign(name=["MARHTA", "DICKSONX", "SMELLYFISH"] * 5)
        asked = {"variables": ["name", "k"], "method": "probabilistic"}
        loose = record_linkage(original, released, agreement={"name": 0.94, "k": 3}, **asked)
        exact = record_linkage(original, released, agreement={"k": 3}, **asked)
        assert loose.parameters["m"]["name"] > exact.parameters["m"]["name"]

    def test_missing_comparisons_tell_nothing(self) -> None:
        original, released = self.survey()
        released.loc[:99, "name"] = None
        risk = record_linkage(original, released, ["name", "age", "income"], method="probabilistic")
        assert risk.linked[:100].mean() > 0.5
        assert risk.n_unjudged == 0

    def test_too_many_variables(self) -> None:
        frame = pd.DataFrame({f"v{k}": [1, 2] for k in range(13)})
        with pytest.raises(InputError, match="13 are too many"):
            record_linkage(frame, frame, list(frame), method="probabilistic")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("MARTHA", "MARHTA", 0.944444),
        ("DIXON", "DICKSONX", 0.766667),
        ("JELLYFISH", "SMELLYFISH", 0.896296),
        ("", "", 1.0),
        ("A", "", 0.0),
        ("AB", "CD", 0.0),
    ],
)
def test_jaro_published_values(a: str, b: str, expected: float) -> None:
    points = [np.array([ord(letter) for letter in word], dtype=np.int32) for word in (a, b)]
    for function in (kernels.jaro, kernels.jaro.py_func):
        found = function(points[0], len(a), points[1], len(b))
        assert found == pytest.approx(expected, abs=1e-6)


def test_compiled_and_plain_kernels_agree() -> None:
    rng = np.random.default_rng(0)
    o, r = rng.normal(size=(9, 2)), rng.normal(size=(7, 2))
    o[0, 0] = r[1, 1] = np.nan
    oc, rc = rng.integers(-1, 3, (9, 1)), rng.integers(-1, 3, (7, 1))
    truth = np.array([0, 1, 2, 3, -1, 5, 6])
    one = np.ones(2)
    tables = (np.eye(3, dtype=bool).ravel(), np.array([0]), np.array([3]))
    calls = [
        (gower_ranks, (o, r, one, one, oc, rc, one[:1], truth, 1e-9)),
        (kernels.weight_ranks, (o, r, one, oc, rc, *tables, rng.normal(size=27), truth)),
    ]
    for function, arguments in calls:
        for compiled, plain in zip(function(*arguments), function.py_func(*arguments), strict=True):
            np.testing.assert_allclose(compiled, plain)
    weights, cost = rng.normal(size=27), [np.empty((7, 9)) for _ in range(2)]
    kernels.pair_weights(o, r, one, oc, rc, *tables, weights, cost[0])
    kernels.pair_weights.py_func(o, r, one, oc, rc, *tables, weights, cost[1])
    np.testing.assert_allclose(*cost)
    counts = [np.zeros(27, dtype=np.int64) for _ in range(2)]
    kernels.pattern_counts(o, r, one, oc, rc, *tables, counts[0])
    kernels.pattern_counts.py_func(o, r, one, oc, rc, *tables, counts[1])
    np.testing.assert_array_equal(*counts)
    assert counts[0].sum() == 63


def test_em_recovers_a_mixture() -> None:
    m, u, share = np.array([0.95, 0.8, 0.9]), np.array([0.1, 0.2, 0.05]), 0.02
    counts = np.zeros(27)
    for pattern in range(27):
        states = [pattern // 9, pattern // 3 % 3, pattern % 3]
        if 2 in states:
            continue
        agrees = np.array(states) == 1
        like = [np.where(agrees, p, 1 - p).prod() for p in (m, u)]
        counts[pattern] = 1e8 * (share * like[0] + (1 - share) * like[1])
    found = fit_fellegi_sunter(counts, 3, 1e6)
    assert found[0] == pytest.approx(share, rel=0.01)
    np.testing.assert_allclose(found[1], m, atol=0.005)
    np.testing.assert_allclose(found[2], u, atol=0.005)


class TestFaults:
    def test_all_at_once(self) -> None:
        original, released = people()
        with pytest.raises(InputError) as caught:
            record_linkage(
                original, released.head(2), ["agee", "sex"], metric="cosine", weights={"x": 1.0},
                block=["town"],
            )  # fmt: skip
        text = str(caught.value)
        for part in ("'cosine'", "2 records against 3", "Did you mean 'age'", "'town'"):
            assert part in text
        assert "'x' is not one of the variables" in text
        assert "must be numeric" in text

    @pytest.mark.parametrize(
        "options",
        [
            {"method": "gower", "metric": "manhattan"},
            {"method": "gower", "standardise": "none"},
            {"method": "mahalanobis", "weights": {"age": 1}},
            {"agreement": {"age": 1}},
            {"threshold": 1.0},
        ],
    )
    def test_options_that_would_be_ignored(self, options) -> None:
        with pytest.raises(InputError, match="is not used by method"):
            record_linkage(*people(), ["age"], **options)

    def test_others(self) -> None:
        original, released = people()
        with pytest.raises(InputError, match="alike"):
            record_linkage(original.assign(id=1), released, "age", identifier="id")
        with pytest.raises(InputError, match="'best' is not allowed"):
            record_linkage(original, released, "age", assign="best")
        with pytest.raises(InputError, match="not a number of at least 0"):
            record_linkage(original, released, "age", weights={"age": -1})

    def test_too_many_pairs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("riskeval.measures.linkage.distances.MOST_PAIRS", 8)
        for method in ("distance", "gower"):
            with pytest.raises(InputError, match="3 x 3 pairs are too many"):
                record_linkage(*people(), "age", method=method, assign="one-to-one")


def test_a_column_without_spread_separates_nobody() -> None:
    """Where complete records are all alike, what an incomplete one has says nothing."""
    records = np.array([[1.0, 1.0], [1.0, 1.0], [3.0, np.nan]])
    first, second = _whitening(records, records)(records, records, np.array([True, False]))
    assert not first.any()
    assert not second.any()
