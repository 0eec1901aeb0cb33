"""Means by the levels of a category are those of the survey."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synthpop import Binned, Categorical, Continuous, InputError, Pipeline, Structure, Survey
from synthpop.conditional.fallback import FallbackSequence, LevelFactors, RememberingSequence
from synthpop.kernels.spreading import GOLDEN
from synthpop.microdata.frame.block import Block
from synthpop.microdata.statistics.streams import Streams
from synthpop.microdata.statistics.tails import fit_gpd
from synthpop.models.tilted import mean_of_rate
from synthpop.stages.continuous.binned import WithinClass
from synthpop.stages.continuous.group_draws import GroupDraws, scrambled_points
from synthpop.stages.continuous.means import (
    LARGEST_FACTOR,
    GroupMeans,
    group_means,
    tilt_to_mean,
    with_factors_of,
)
from synthpop.stages.continuous.tail import LEAST_END, MEAN_WEIGHT, TopClass


def survey_of_statuses() -> Survey:
    """Homemakers have little, all of it low in its classes; a status of few persons has most."""
    rng = np.random.default_rng(3)
    n = 3_000
    status = rng.choice(["home", "work", "owner"], n, p=[0.3, 0.6, 0.1])
    chance, place = rng.random(n), rng.random(n)
    income = np.select(
        [status == "home", status == "work"],
        [np.where(chance < 0.6, 0, 400 + 300 * place**3), 900 + 600 * place],
        np.exp(rng.normal(7.5, 1.2, n)),
    )
    frame = pd.DataFrame(
        {
            "hid": np.repeat(np.arange(n // 2), 2),
            "sex": rng.choice(["f", "m"], n),
            "status": status,
            "income": income.round(),
            "w": rng.uniform(5, 15, n // 2).repeat(2),
        }
    )
    frame.loc[rng.random(n) < 0.05, "income"] = np.nan
    return Survey(frame, weight="w", household="hid")


def errors(survey: Survey, stage: Continuous) -> pd.Series:
    """Relative error of the mean of each status."""
    recipe = Pipeline([Structure(["sex"]), Categorical("status", predictors=["sex"]), stage])
    made = recipe.fit(survey, seed=1).simulate(scale=5).frame()
    frame = survey.frame.dropna(subset="income")
    weighted = (frame.w * frame.income).groupby(frame.status).sum()
    wanted = weighted / frame.w.groupby(frame.status).sum()
    means = made.groupby(made.status.astype(str)).income.mean()
    missing = made.groupby(made.status.astype(str)).income.apply(lambda x: x.isna().mean())
    assert missing.between(0.02, 0.08).all()
    return means / wanted - 1


@pytest.mark.parametrize("form", [None, "sequential"])
def test_means_by_status_are_held(form):
    survey = survey_of_statuses()
    stage = Continuous(
        "income",
        predictors=["sex", "status"],
        method=Binned(breaks=[0, 500, 1_000, 1_500, 100_000]),
        pooling="none",
        by_household=form,
    )
    plain = errors(survey, stage)
    assert plain.abs().max() > 0.08
    assert errors(survey, replace(stage, means_by="status")).abs().max() < 0.02


def test_no_probability_changes_by_more_than_a_factor_of_three():
    shares = np.array([[0.98, 0.02]])
    factors = tilt_to_mean(np.array([1]), shares, np.array([0.0, 10.0]), 9.0)
    np.testing.assert_allclose(factors, [1.0, LARGEST_FACTOR], rtol=1e-6)
    np.testing.assert_allclose(tilt_to_mean(np.array([1]), shares, np.zeros(2), 9.0), 1.0)
    low = tilt_to_mean(np.array([1]), np.array([[0.02, 0.98]]), np.array([0.0, 10.0]), 1.0)
    np.testing.assert_allclose(low, [1.0, 1 / LARGEST_FACTOR], rtol=1e-6)
    far = tilt_to_mean(np.array([1]), shares, np.array([100.0, 110.0]), 109.0)
    np.testing.assert_allclose(far, [1.0, LARGEST_FACTOR], rtol=1e-6)


def test_what_cannot_be_held_is_refused():
    survey = survey_of_statuses()
    steps = [Structure(["sex"]), Categorical("status", predictors=["sex"])]
    given = {"predictors": ["sex"], "pooling": "none"}
    for stage, what in (
        (Continuous("income", means_by="status", **given), "not a predictor by its levels"),
        (Continuous("income", means_by="sex", by_household="mean", **given), "means_by"),
        (Continuous("income", means_by="sex", method="regression", **given), "means_by"),
        (Continuous("income", means_by=["sex"], **given), "means_by"),
    ):
        with pytest.raises(InputError, match=what):
            Pipeline([*steps, stage]).fit(survey, seed=1)


def test_the_tail_of_a_group_has_the_mean_of_its_values_and_of_ten_of_all():
    """Its end is as far above its largest value as that of all is; one without values has both."""
    rng = np.random.default_rng(1)
    values, weights = 1_000 + rng.exponential(300, 200), rng.uniform(1, 3, 200)
    values[140:] *= 1.1
    groups = np.repeat([0, 1], [140, 60])
    tail = fit_gpd(values, 1_000, method="pwm")
    top = TopClass(tail, 2 * values.max(), 0.0).by_group(values, weights, groups, 3)
    assert len(top.of_groups) == 3
    for group, law in enumerate(top.of_groups):
        of_group = groups == group
        n = int(of_group.sum())
        least = float(tail.quantile(LEAST_END))
        assert law.upper == pytest.approx(max(2 * values[of_group].max(initial=0), least))
        mean = np.average(values[of_group], weights=weights[of_group]) if n else 0.0
        common = TopClass(tail, law.upper, 0.0).mean()
        wanted = (n * mean + MEAN_WEIGHT * common) / (n + MEAN_WEIGHT)
        assert law.mean() == pytest.approx(wanted, rel=1e-6)
    drawn = top.draw(np.full(3, 0.3), np.array([2, 0, 1]))
    alone = [top.of_groups[group].draw(np.array([0.3]), None)[0] for group in (2, 0, 1)]
    assert drawn.tolist() == alone


def test_a_single_large_value_stays_in_its_group():
    """The largest value is one of work; homemakers must not draw values near it."""
    rng = np.random.default_rng(5)
    n = 3_000
    status = np.repeat(["home", "work", "owner"], n // 3)
    income = rng.lognormal(7, 1, n).round(2)
    income[:1_000] = np.minimum(income[:1_000], 6_000)
    income[1_500] = 500_000
    frame = pd.DataFrame({"status": status, "sex": rng.choice(["f", "m"], n), "income": income})
    survey = Survey(frame, weight=None)
    stage = Continuous(
        "income", Binned(tail="gpd", upper=6e5), predictors=["status"], means_by="status"
    )
    fitted = Pipeline([Structure(["sex", "status"]), stage]).fit(survey, seed=1)
    made = fitted.simulate(scale=5, seed=1).frame()
    groups = made.groupby("status", observed=True).income
    assert groups.max()["home"] < 60_000 < groups.max()["work"]
    wanted = frame.groupby("status").income.mean()
    assert (groups.mean()[["home", "owner"]] / wanted - 1).abs().max() < 0.02


def test_a_group_that_lies_low_in_a_class_keeps_its_zeros_too():
    """The small amounts of idle persons lie at the lower end of a class of wages."""
    rng = np.random.default_rng(8)
    n = 3_000
    status = rng.choice(["idle", "work"], n, p=[0.2, 0.8])
    low, high = 50 + 400 * rng.random(n) ** 2, np.exp(rng.normal(8.5, 0.6, n))
    zero = rng.random(n) < 0.65
    income = np.where(status == "work", high, np.where(zero, 0.0, low)).round()
    frame = pd.DataFrame({"status": status, "sex": rng.choice(["f", "m"], n), "income": income})
    limits = Binned(breaks=[0, 4_000, 8_000, 200_000])
    stage = Continuous("income", limits, ["status", "sex"], means_by="status")
    fitted = Pipeline([Structure(["sex", "status"]), stage]).fit(Survey(frame, weight=None), seed=1)
    made = fitted.simulate(scale=3).frame()
    for look in (lambda x: x.mean(), lambda x: (x == 0).mean()):
        ratio = made.groupby("status", observed=True).income.agg(look)["idle"] / look(
            frame.income[frame.status == "idle"]
        )
        assert abs(ratio - 1) < 0.03


def top_persons(seed: int | None) -> int:
    """Persons in the top class of one group, in ten blocks of three draws each."""
    chosen = 0
    for stratum in range(10):
        block = Block(stratum, 0, np.array([0]), {}, shared=Streams(seed).at)
        rng = np.random.default_rng([stratum, seed or stratum])
        draws = GroupDraws.of_block(block, 10, "income", (2, 3), rng)
        for members in (30, 20, 10):
            shares = np.linspace(0.0, 0.04, members)
            groups = np.repeat([0, 1], members)
            both = np.tile(shares, 2)
            uniforms = draws.class_uniforms(groups, np.arange(2 * members), both, rng)
            chosen += int((uniforms[:members] >= 1 - shares).sum())
    return chosen


def test_the_top_class_of_a_small_group_has_the_expected_number_of_persons():
    """12 of 600 persons; independent draws give 6 to 18."""
    counts = np.array([top_persons(seed) for seed in range(1, 40)])
    assert counts.min() >= 9
    assert counts.max() <= 15
    assert abs(counts.mean() - 12) < 0.5
    assert counts.std() > 0


def test_three_persons_of_a_group_draw_their_class_by_hand():
    """0.5 of a person waits for the last class; 0.2 each make 0.7, 0.9 and 1.1: the third is in."""
    draws = GroupDraws(np.array([0.9, 0.25]), np.array([0.0, 0.5]), np.empty(0))
    alike = (np.array([1, 1, 1]), np.array([0, 1, 2]), np.full(3, 0.2))
    drawn = draws.class_uniforms(*alike, np.random.default_rng(1))
    first, second, third = (0.25 + k * GOLDEN - np.floor(0.25 + k * GOLDEN) for k in range(3))
    expected = [0.8 * first, 0.8 * second, 1 - 0.2 * (1 - third)]
    np.testing.assert_allclose(np.sort(drawn), np.sort(expected), rtol=1e-12)
    np.testing.assert_allclose(draws.classes, [0.9, (0.25 + 3 * GOLDEN) % 1], rtol=1e-12)
    np.testing.assert_allclose(draws.top, [0.0, 1.1], rtol=1e-12)
    # the next three persons: 1.3, 1.5 and 1.7 pass no whole number
    again = draws.class_uniforms(*alike, np.random.default_rng(1))
    terms = (0.25 + np.arange(3, 6) * GOLDEN) % 1
    np.testing.assert_allclose(np.sort(again), np.sort(0.8 * terms), rtol=1e-12)


def test_twenty_neighbouring_places_share_a_stretch_of_the_sequence():
    draws = GroupDraws(np.array([0.1, 0.6]), np.zeros(2), np.empty(0))
    rng = np.random.default_rng(4)
    # two persons at each place: places 0 to 9 and 10 to 19 are the two stretches of each group
    places, groups = np.tile(np.arange(20), 2), np.repeat([1, 1], 20)
    drawn = draws.class_uniforms(groups, places, np.zeros(40), rng)
    terms = (0.6 + np.arange(40) * GOLDEN) % 1
    for stretch, of_stretch in ((places < 10, terms[:20]), (places >= 10, terms[20:])):
        np.testing.assert_allclose(np.sort(drawn[stretch]), np.sort(of_stretch), rtol=1e-12)
    assert not np.allclose(drawn[np.lexsort((drawn, places))], terms)  # in random order inside


def test_values_go_on_in_the_sequence_of_their_cell():
    draws = GroupDraws(np.empty(0), np.empty(0), np.array([0.1, 0.2, 0.3, 0.4]))
    drawn = draws.value_uniforms(np.array([3, 1, 3, 3]), np.random.default_rng(1))
    assert drawn[1] == 0.2
    np.testing.assert_allclose(
        np.sort(drawn[[0, 2, 3]]),
        sorted([0.4, (0.4 + GOLDEN) % 1, (0.4 + 2 * GOLDEN) % 1]),
        rtol=1e-12,
    )
    expected = [0.1, (0.2 + GOLDEN) % 1, 0.3, (0.4 + 3 * GOLDEN) % 1]
    np.testing.assert_allclose(draws.values, expected, rtol=1e-12)


def test_each_block_and_stratum_begins_with_another_point():
    """Block b of stratum s of three takes point 3 b + s of every scrambled sequence."""
    starts = []
    for number, stratum in ((0, 1), (1, 2), (2, 0)):
        block = Block(stratum, number, np.array([0]), {}, shared=Streams(7).at)
        draws = GroupDraws.of_block(block, 3, "x", (2, 4), np.random.default_rng(1))
        assert [len(x) for x in (draws.classes, draws.top, draws.values)] == [2, 2, 8]
        starts.append(np.concatenate([draws.classes, draws.top, draws.values]))
    seeds = Streams(7).at("sequences", "x").integers(0, 2**32, size=12, dtype=np.uint32)
    for start, point in zip(starts, (1, 5, 6), strict=True):
        assert np.array_equal(start, scrambled_points(point, seeds))


def test_persons_are_placed_by_group_and_expected_value():
    """Shares of two classes that are worth 10 and 100 in group 1, 10 and 1 in group 0."""
    means = GroupMeans(0, np.zeros(2), np.array([[0.0, 10, 1], [0, 10, 100]]), np.ones((2, 3)))
    encodings = SimpleNamespace(term_digits=lambda codes: codes[:, None] % 2)
    codes = np.array([1, 1, 0, 0])
    cumulative = np.array([[0.0, 0.9, 1.0], [0, 0.1, 1.0], [0.5, 0.9, 1.0], [0, 0.1, 1.0]])
    # expected: 19 and 91 in group 1; 4.1 and 1.9 in group 0
    rows = np.array([3, 2, 1, 0, 2])
    groups, places = means.groups_and_places(encodings, codes, cumulative, rows)
    assert groups.tolist() == [0, 0, 1, 1, 0]
    assert places.tolist() == [0, 1, 3, 2, 1]
    assert means.cells(np.array([2, 0]), np.array([0, 1])).tolist() == [2, 3]


def test_means_of_groups_in_classes_by_hand():
    """Group 1 has 30 values and a target, group 2 one too few, group 0 none."""
    group_1 = [(1, 10.0, 1, 1.0)] * 25 + [(1, 50.0, 2, 3.0)] * 5
    group_2 = [(2, 20.0, 1, 2.0)] * 25 + [(2, 80.0, 2, 1.0)] * 4
    ignored = [(2, np.nan, 0, 1.0), (2, 99.0, 2, 0.0)]
    group, values, classes, weights = map(np.array, zip(*group_1, *group_2, *ignored, strict=True))
    variables = [SimpleNamespace(name=name, numbers=None) for name in ("sex", "status")]
    encodings = SimpleNamespace(terms=((0,), (0, 1), (1,)), variables=variables, sizes=(2, 6, 3))
    digits = np.column_stack([np.ones_like(group), np.ones_like(group), group])
    points = WithinClass(np.zeros(3), np.ones(3, dtype=int), np.array([[0, 0], [1, 1], [2.0, 2]]))
    means = group_means("status", encodings, digits, values, classes, weights, points, "x")
    assert means.term == 2
    np.testing.assert_array_equal(means.targets, [np.nan, (25 * 10 + 15 * 50) / 40, np.nan])
    first, second = (25 * 10 + 50 * 20) / 75, (15 * 50 + 4 * 80) / 19
    # 25 values are enough; 5 and 4 are filled up to 20 with the mean of the class
    expected = [
        [0.0, first, second],
        [0.0, 10.0, (5 * 50 + 15 * second) / 20],
        [0.0, 20.0, (4 * 80 + 16 * second) / 20],
    ]
    np.testing.assert_allclose(means.class_means, expected, rtol=1e-14)
    assert not means.rates.any()
    # where a class has a width, the ranks of a group are tilted to its mean in the class
    wide = WithinClass(np.zeros(3), np.ones(3, dtype=int), np.array([[0, 0], [0, 40.0], [2.0, 2]]))
    tilted = group_means("status", encodings, digits, values, classes, weights, wide, "x")
    assert not tilted.rates[0].any()
    assert not tilted.rates[:, [0, 2]].any()
    for level, mean in ((1, 10.0), (2, 20.0)):
        rate = tilted.rates[level, 1]
        place = mean / 40
        np.testing.assert_allclose(mean_of_rate(rate), place, atol=1e-5)
        ranks = (np.arange(1000) + 0.5) / 1000
        drawn = wide.draw(
            np.ones(1000, dtype=np.int16),
            tilted.tilted(np.full(1000, 1), np.full(1000, level), ranks),
        )
        np.testing.assert_allclose(drawn.mean(), mean, atol=1e-2)


def test_the_share_of_a_group_in_the_top_class_does_not_vary_with_the_seed():
    """One probability for each status: the numbers differ by less than one person in a block."""
    survey = survey_of_statuses()
    method = Binned(breaks=[0, 500, 1_000, 1_500, 100_000])
    stage = Continuous("income", method, ["status"], means_by="status")
    fitted = Pipeline([Structure(["status"]), stage]).fit(survey, seed=1)
    counts, sizes = [], []
    for seed in (1, 2, 3):
        made = fitted.simulate(scale=0.2, seed=seed).frame()
        groups = made.groupby(made.status.astype(str)).income
        counts.append(groups.agg(lambda x: int((x >= 1_500).sum()))[["owner", "work"]])
        sizes.append(groups.size()[["owner", "work"]])
    for k in (1, 2):
        gap = counts[k] / sizes[k] - counts[0] / sizes[0]
        assert (gap.abs() < 1 / sizes[k] + 1 / sizes[0]).all()
    assert counts[0]["owner"] > 50


@dataclass(frozen=True)
class Sequence:
    level_factors: LevelFactors | None


@dataclass(frozen=True)
class Model:
    means: GroupMeans | None
    sequence: Sequence


def model_with(targets: list[float], class_means: list[list[float]], factors=None) -> Model:
    table = np.array(class_means)
    means = GroupMeans(1, np.array(targets), table, np.zeros(table.shape))
    return Model(means, Sequence(None if factors is None else LevelFactors(1, np.array(factors))))


def test_factors_of_an_earlier_fit_are_interpolated_at_the_class_means() -> None:
    """Level 1 was level 2 before, with factors 1, 2 and 4 at 10, 20 and 40."""
    earlier = model_with(
        [np.nan, 5.0, 5.0],
        [[0.0, 1, 2, 3], [0, 7, 8, 9], [0, 40, 10, 20]],
        [[1.0, 8, 8, 8], [1, 9, 9, 9], [1, 4, 1, 2]],
    )
    fresh = [[0.0, 1, 2, 3], [0, 5, 15, 30], [0, 40, 50, 35], [0, 20, 20, 20]]
    later = model_with([np.nan, 5.0, np.nan, 5.0], fresh)
    # digits: the second has no target, the third was not in the earlier fit
    after = with_factors_of(later, earlier, np.array([0, 2, 2, 0])).sequence.level_factors
    assert after.term == 1
    np.testing.assert_allclose(after.factors, [[1] * 4, [1, 1, 1.5, 3], [1] * 4, [1] * 4])
    # digits of numbers keep theirs; those beyond the earlier ones have the last
    kept = with_factors_of(later, earlier, np.array([0])).sequence.level_factors
    np.testing.assert_allclose(kept.factors, [[1] * 4, [1, 9, 9, 9], [1] * 4, [1, 2, 2, 2]])


def test_without_earlier_factors_the_model_stays() -> None:
    later = model_with([5.0], [[0.0, 1, 2]])
    assert with_factors_of(later, later, np.array([0])) is later
    earlier = model_with([5.0], [[0.0, 1, 2]], [[1.0, 2, 3]])
    assert with_factors_of(later, replace(earlier, means=None), np.array([0])) is later
    without = replace(later, means=None)
    assert with_factors_of(without, earlier, np.array([0])) is without


def test_persons_draw_uniform_numbers_whatever_their_group():
    rng = np.random.default_rng(1)
    drawn = []
    for seed in range(300):
        draws = GroupDraws.of_block(
            Block(0, 0, np.array([0]), {}, shared=Streams(seed).at), 1, "x", (3, 4), rng
        )
        groups = np.array([0, 1, 1, 2, 2, 2])
        shares = np.array([0.5, 0.1, 0.9, 0.3, 0.0, 1.0])
        drawn.append(draws.class_uniforms(groups, np.arange(6), shares, rng))
        values = draws.value_uniforms(groups * 4, rng)
        assert ((values >= 0) & (values < 1)).all()
    below = (np.array(drawn)[:, :, None] < np.array([0.1, 0.5, 0.9])).mean(axis=0)
    assert np.abs(below - [0.1, 0.5, 0.9]).max() < 0.1


def test_models_are_asked_once_for_the_same_cells_while_means_are_calibrated() -> None:
    sequence = FallbackSequence("empirical", (None,), None, np.ones((1, 2)))
    remembering, asked = RememberingSequence.of(sequence), []

    def predict(sequence: FallbackSequence, stratum: int, digits: np.ndarray):
        asked.append(stratum)
        return digits / 2, digits[:, 0] > 0

    cells = np.array([[1, 2], [0, 3]])
    first = remembering.ask(predict, 0, cells)
    again = replace(remembering, first=3).ask(predict, 0, cells.copy())
    assert asked == [0]
    assert again is first
    other = remembering.ask(predict, 1, cells), remembering.ask(predict, 0, cells[:1])
    assert asked == [0, 1, 0]
    assert len(other[1][0]) == 1
