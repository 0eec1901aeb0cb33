"""Every option of `calibrate`, what it refuses, and agreement with the naive versions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from synthpop.calibration import Margin, calibrate
from synthpop.calibration.problem import Problem, constraint_matrix, group_units
from synthpop.kernels import raking
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError
from synthpop.microdata.roles.survey import Survey
from tests.synthpop.calibration import naive


def make_survey(seed: int = 0, n_households: int = 60, *, equal: bool = True) -> Survey:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_households)
    household = np.repeat(np.arange(n_households), sizes)
    n = len(household)
    weights = np.repeat(rng.uniform(5, 15, n_households), sizes)
    if not equal:
        weights = weights * rng.uniform(0.8, 1.2, n)
    frame = pd.DataFrame(
        {
            "hid": household,
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["0-19", "20-59", "60+"], n),
            "region": np.repeat(rng.choice(["N", "S"], n_households), sizes),
            "income": rng.lognormal(7, 1, n).round(2),
            "w": weights,
        }
    )
    return Survey(frame, weight="w", household="hid")


def table(survey: Survey, columns: list[str], factor: float = 1.0, seed: int = 5) -> pd.DataFrame:
    """Totals under disturbed weights, so that all tables of one seed agree."""
    rng = np.random.default_rng(seed)
    effects = rng.uniform(0.8, 1.2, survey.n_households)[survey.household_index]
    frame = survey.frame.assign(total=survey.weights * effects * factor)
    return frame.groupby(columns)["total"].sum().reset_index()


def households(survey: Survey, columns: list[str], seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    effects = rng.uniform(0.8, 1.2, survey.n_households)[survey.household_index]
    frame = survey.frame.assign(total=survey.weights * effects).drop_duplicates("hid")
    return frame.groupby(columns)["total"].sum().reset_index()


@pytest.fixture
def survey() -> Survey:
    return make_survey()


@pytest.fixture
def margins(survey) -> list[Margin]:
    return [Margin(table(survey, ["sex", "age"])), Margin(table(survey, ["region"]))]


@pytest.mark.parametrize("method", ["raking", "ipu", "linear", "logit", "exponential"])
@pytest.mark.parametrize("equal", [True, False])
def test_margins_are_met(survey, margins, method, equal):
    result = calibrate(survey, margins, method=method, household_equal=equal)
    assert result.converged
    sums = survey.frame.assign(x=result.weights).groupby(["sex", "age"])["x"].sum()
    np.testing.assert_allclose(sums, margins[0].targets, rtol=1e-5)
    same = pd.Series(result.weights).groupby(survey.household_index).nunique().max() == 1
    assert same == equal
    np.testing.assert_allclose(result.g, result.weights / survey.weights)
    assert list(result.margins["target"]) == [*margins[0].targets, *margins[1].targets]
    assert result.survey.weights == pytest.approx(result.weights)


def test_raking_agrees_with_naive(survey, margins):
    cells = [
        survey.frame.groupby(["sex", "age"]).ngroup().to_numpy(),
        survey.frame.groupby("region").ngroup().to_numpy(),
    ]
    expected = naive.rake(cells, [m.targets for m in margins], survey.weights, 200)
    for method in ("raking", "exponential"):
        result = calibrate(survey, margins, method=method, household_equal=False, tolerance=1e-11)
        np.testing.assert_allclose(result.weights, expected, rtol=1e-9)


def design(survey: Survey) -> np.ndarray:
    frame = survey.frame
    columns = [(frame["sex"] + frame["age"]), frame["region"]]
    return np.hstack([pd.get_dummies(column).to_numpy(dtype=float) for column in columns])


def test_linear_agrees_with_naive(survey, margins):
    targets = np.concatenate([m.targets for m in margins])
    expected = naive.greg(design(survey), survey.weights, targets)
    result = calibrate(survey, margins, method="linear", household_equal=False)
    np.testing.assert_allclose(result.weights, expected, rtol=1e-8)


def test_ipu_agrees_with_naive(survey, margins):
    by_household = np.array(
        [np.bincount(survey.household_index, column) for column in design(survey).T]
    ).T
    targets = np.concatenate([m.targets for m in margins])
    start = survey.household_weights
    expected = naive.update(by_household, start, targets, 7)
    with pytest.warns(ConvergenceWarning):
        result = calibrate(survey, margins, method="ipu", tolerance=1e-14, max_iterations=7)
    np.testing.assert_allclose(result.weights, expected[survey.household_index], rtol=1e-10)


def test_importance_agrees_with_naive(survey):
    first, second = table(survey, ["sex", "age"]), table(survey, ["region"], factor=1.1)
    margins = [Margin(first, importance=3.0), Margin(second, importance=0.5)]
    targets = np.concatenate([m.targets for m in margins])
    importance = np.repeat([3.0, 0.5], [len(first), len(second)])
    expected = naive.penalised(design(survey), survey.weights, targets, importance)
    result = calibrate(survey, margins, method="linear", household_equal=False, tolerance=1e-10)
    np.testing.assert_allclose(result.weights, expected, rtol=1e-7)
    assert result.converged
    assert "balanced" in result.summary()


def test_importance_moves_the_balance(survey):
    first, second = table(survey, ["sex"]), table(survey, ["region"], factor=1.1)
    errors = []
    for a, b in ((100, 1), (1, 100)):
        result = calibrate(survey, [Margin(first, importance=a), Margin(second, importance=b)])
        errors.append(
            result.margins.groupby("margin")["relative_error"].apply(lambda e: e.abs().max())
        )
    assert errors[0]["persons by sex"] < errors[1]["persons by sex"]
    assert errors[0]["persons by region"] > errors[1]["persons by region"]


@pytest.mark.parametrize("method", ["raking", "ipu", "linear", "logit", "exponential"])
def test_bounds_hold(survey, margins, method):
    free = calibrate(survey, margins, method=method)
    low, high = free.g.min(), free.g.max()
    bounds = (low + 0.02 * (1 - low), high - 0.02 * (high - 1))
    result = calibrate(survey, margins, method=method, bounds=bounds)
    assert result.converged
    assert result.g.min() >= bounds[0] - 1e-12
    assert result.g.max() <= bounds[1] + 1e-12


@pytest.mark.parametrize("method", ["raking", "ipu", "linear", "exponential"])
def test_weight_bounds_hold(survey, method):
    margins = [Margin(table(survey, ["sex"])), Margin(table(survey, ["region"]))]
    result = calibrate(survey, margins, method=method, weight_bounds=(6.0, 14.5))
    assert result.converged
    assert result.weights.min() >= 6.0
    assert result.weights.max() <= 14.5
    assert calibrate(survey, margins, method=method).weights.max() > 14.5


def test_persons_and_households_together(survey):
    margins = [
        Margin(table(survey, ["sex", "age"])),
        Margin(households(survey, ["region"]), level="household"),
    ]
    for method in ("raking", "linear", "logit", "ipu"):
        result = calibrate(survey, margins, method=method, tolerance=1e-8, max_iterations=20000)
        assert result.converged
        first = ~survey.frame.duplicated("hid").to_numpy()
        counted = pd.Series(result.weights[first]).groupby(survey.frame["region"][first].to_numpy())
        np.testing.assert_allclose(counted.sum(), margins[1].targets, rtol=1e-7)
    loose = calibrate(survey, margins, household_equal=False)
    mean = pd.Series(loose.weights).groupby(survey.household_index).mean()
    counted = mean.groupby(survey.frame["region"][first].to_numpy()).sum()
    np.testing.assert_allclose(counted, margins[1].targets, rtol=1e-5)


def test_household_margin_alone_is_a_ratio(survey):
    margin = Margin(households(survey, ["region"]), level="household")
    result = calibrate(survey, margin)
    assert result.g[survey.frame["region"] == "N"] == pytest.approx(result.g.min()) or (
        result.g[survey.frame["region"] == "N"] == pytest.approx(result.g.max())
    )
    other = calibrate(survey, margin, distance_over="person")
    assert other.converged
    assert np.ptp(other.g[survey.frame["region"] == "N"]) > 1e-4


def test_distance_over_households_of_person_margins(survey, margins):
    person = calibrate(survey, margins, method="linear")
    household = calibrate(survey, margins, method="linear", distance_over="household")
    assert household.converged
    assert np.abs(person.g - household.g).max() > 1e-3
    index = survey.household_index
    by_household = np.array([np.bincount(index, column) for column in design(survey).T]).T
    targets = np.concatenate([m.targets for m in margins])
    expected = naive.greg(by_household, survey.household_weights, targets)
    np.testing.assert_allclose(household.weights, expected[index], rtol=1e-8)
    moved = [
        (
            r.base.household_weights
            * (pd.Series(r.g).groupby(survey.household_index).first() - 1) ** 2
        ).sum()
        for r in (person, household)
    ]
    assert moved[1] < moved[0]


def test_unequal_weights_within_households_become_their_mean():
    survey = make_survey(equal=False)
    margins = [Margin(table(survey, ["sex", "age"]))]
    result = calibrate(survey, margins)
    assert result.converged
    assert pd.Series(result.weights).groupby(survey.household_index).nunique().max() == 1


def test_numeric_total_and_missing_values(survey):
    income = survey.frame["income"].mask(survey.frame["age"] == "0-19")
    frame = survey.frame.assign(income=income)
    people = Survey(frame, weight="w", household="hid")
    total = float((people.weights * income.fillna(0)).sum()) * 1.02
    margins = [Margin(total, variable="income"), Margin(table(survey, ["sex"]))]
    for method in ("raking", "linear", "logit", "ipu"):
        result = calibrate(people, margins, method=method)
        assert (result.weights * income.fillna(0)).sum() == pytest.approx(total, rel=1e-6)


def test_shares_of_a_size(survey):
    counts = table(survey, ["region"])
    shares = counts.assign(total=counts["total"] / counts["total"].sum())
    result = calibrate(survey, Margin(shares, size=5000.0))
    assert result.weights.sum() == pytest.approx(5000.0)


def test_partial_margin_leaves_the_others_alone(survey):
    part = table(survey, ["sex", "age"]).iloc[:1]
    result = calibrate(survey, Margin(part), household_equal=False)
    inside = (survey.frame["sex"] == "f") & (survey.frame["age"] == "0-19")
    np.testing.assert_allclose(result.g[~inside], 1.0)
    assert np.ptp(result.g[inside]) < 1e-9


def test_missing_category_is_a_cell_when_listed(survey):
    frame = survey.frame.assign(status=survey.frame["age"].mask(survey.frame["age"] == "60+"))
    people = Survey(frame, weight="w", household="hid")
    with_missing = pd.DataFrame({"status": ["0-19", "20-59", None], "total": [300.0, 600.0, 450.0]})
    result = calibrate(people, Margin(with_missing), household_equal=False)
    assert result.weights[frame["status"].isna()].sum() == pytest.approx(450)
    result = calibrate(people, Margin(with_missing.iloc[:2]), household_equal=False)
    np.testing.assert_allclose(result.g[frame["status"].isna()], 1.0)


def test_text_and_number_categories_match(survey):
    frame = survey.frame.assign(code=(survey.frame["region"] == "S").astype(int))
    people = Survey(frame, weight="w", household="hid")
    result = calibrate(people, Margin(pd.DataFrame({"code": ["0", "1"], "total": [700.0, 700.0]})))
    assert result.converged


def test_a_whole_number_matches_however_it_is_held(survey):
    south = survey.frame["region"] == "S"
    held = {"float": np.where(south, 8.0, 7.0), "int": np.where(south, 8, 7)}
    held["text"] = np.where(south, "8", "7")
    held["text of a float"] = np.where(south, "8.0", "7.0")
    given = {
        "text": ["7", "8"],
        "text of a float": ["7.0", "8.0"],
        "int": [7, 8],
        "float": [7.0, 8],
    }
    for values in held.values():
        people = Survey(survey.frame.assign(code=values), weight="w", household="hid")
        for levels in given.values():
            counts = pd.DataFrame({"code": levels, "total": [700.0, 900.0]})
            result = calibrate(people, Margin(counts))
            assert result.weights[south].sum() == pytest.approx(900)


def test_text_that_only_looks_alike_stays_apart(survey):
    """The levels "8" and "8.0" of one column are two: a number is not a level of it."""
    code = np.where(survey.frame["region"] == "S", "8", "8.0")
    people = Survey(survey.frame.assign(code=code), weight="w", household="hid")
    both = Margin(pd.DataFrame({"code": ["8", "8.0"], "total": [700.0, 900.0]}))
    assert calibrate(people, both).converged
    with pytest.raises(InputError, match="no category of code occurs") as caught:
        calibrate(people, Margin(pd.DataFrame({"code": [9.0], "total": [700.0]})))
    assert "'code' has 8, 8.0." in str(caught.value)


def test_zero_total_can_be_approached(survey):
    counts = table(survey, ["region"]).assign(total=[0.0, 1000.0])
    result = calibrate(survey, Margin(counts, importance=100.0))
    assert result.converged
    achieved = result.margins["achieved"]
    assert 0 < achieved[0] < 0.1 * survey.weights[survey.frame["region"] == "N"].sum()


def test_zero_total_of_an_empty_cell_is_no_fault(survey):
    counts = table(survey, ["region"])
    more = pd.concat([counts, pd.DataFrame({"region": ["W"], "total": [0.0]})])
    assert len(calibrate(survey, Margin(more)).margins) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: pd.concat([t, pd.DataFrame({"region": ["W"], "total": [12.0]})]),
            "region=W.*12",
        ),
        (lambda t: t.assign(total=[0.0, 1000.0]), "total 0, but"),
        (lambda t: t.rename(columns={"region": "regio"}), "Did you mean 'region'"),
        (lambda t: t.assign(region=["x", "y"]), "no category of region"),
    ],
)
def test_margins_that_do_not_fit_are_named(survey, change, message):
    with pytest.raises(InputError, match=message):
        calibrate(survey, Margin(change(table(survey, ["region"]))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Margin(pd.DataFrame({"a": [1], "n": [2.0]})), "column of totals"),
        (lambda: Margin(pd.DataFrame({"a": [1, 1], "total": [2.0, 3.0]})), "twice"),
        (lambda: Margin(pd.DataFrame({"a": [1, 2], "total": [2.0, -3.0]})), "negative"),
        (lambda: Margin(pd.DataFrame({"a": [1, 2], "total": [2.0, np.nan]})), "missing"),
        (lambda: Margin(pd.DataFrame({"a": [1], "total": ["x"]})), "not numbers"),
        (lambda: Margin(pd.DataFrame({"a": [1, 2], "total": [40, 60]}), size=10), "percent"),
        (lambda: Margin(pd.DataFrame({"total": [4.0, 6.0]})), "twice"),
        (lambda: Margin(5.0, level="family"), "family"),
        (lambda: Margin(5.0, importance=0), "importance"),
        (lambda: Margin(5.0, size=-1.0), "size"),
        (lambda: Margin(pd.DataFrame({"a": [], "total": []})), "no rows|not numbers"),
    ],
)
def test_faulty_margins_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rake"}, "raking"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
        ({"bounds": (2.0, 1.0)}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"bounds": ("a", "b")}, "bounds"),
        ({"bounds": (-1.0, 2.0)}, "negative"),
        ({"method": "logit", "bounds": (1.1, 2.0)}, "do not hold 1"),
        ({"method": "logit", "weight_bounds": (9.0, 10.0)}, "start weights"),
        ({"weight_bounds": (3.0, 2.0)}, "weight_bounds"),
        ({"distance_over": "family"}, "distance_over"),
        ({"method": "ipu", "distance_over": "person"}, "no distance"),
    ],
)
def test_faulty_options_are_refused(survey, margins, options, message):
    with pytest.raises(InputError, match=message):
        calibrate(survey, margins, **options)


def test_more_that_is_refused(survey, margins):
    soft = Margin(table(survey, ["sex"]), importance=1.0)
    with pytest.raises(InputError, match="ipu"):
        calibrate(survey, soft, method="ipu")
    with pytest.raises(InputError, match="is a DataFrame"):
        calibrate(survey.frame, margins)
    with pytest.raises(InputError, match="Margin"):
        calibrate(survey, [table(survey, ["sex"])])
    with pytest.raises(InputError, match="there are none"):
        calibrate(survey, [])
    with pytest.raises(InputError, match="differs within"):
        calibrate(survey, Margin(table(survey, ["sex"]), level="household"))
    alone = Survey(survey.frame, weight="w")
    with pytest.raises(InputError, match="no households"):
        calibrate(alone, Margin(households(survey, ["region"]), level="household"))
    with pytest.raises(InputError, match="not numeric"):
        calibrate(survey, Margin(5.0, variable="sex"))
    with pytest.raises(InputError, match="can reach"):
        calibrate(survey, Margin(-5.0, variable="income"))


def test_contradiction_through_the_sample_is_named(survey):
    frame = survey.frame.assign(size=survey.household_sizes[survey.household_index])
    people = Survey(frame, weight="w", household="hid")
    by_size = frame.drop_duplicates("hid").groupby("size")["w"].sum().rename("total")
    persons = float(people.weights.sum())
    fine = calibrate(people, [Margin(by_size, level="household"), Margin(persons)])
    assert fine.converged
    with pytest.raises(InputError, match=r"contradict.*off by"):
        calibrate(people, [Margin(by_size, level="household"), Margin(persons * 1.1)])


def test_contradiction_is_named_among_many_controls(survey, margins, monkeypatch):
    from synthpop.calibration import feasibility

    monkeypatch.setattr(feasibility, "NULL_SPACE_CONTROLS", 1)
    assert calibrate(survey, margins).converged
    frame = survey.frame.assign(size=survey.household_sizes[survey.household_index])
    people = Survey(frame, weight="w", household="hid")
    by_size = frame.drop_duplicates("hid").groupby("size")["w"].sum().rename("total")
    total = Margin(float(people.weights.sum()) * 1.1)
    with pytest.raises(InputError, match=r"contradict.*off by"):
        calibrate(people, [Margin(by_size, level="household"), total])


def test_hopeless_search_stops_early(survey, margins, monkeypatch):
    from synthpop.calibration import calibrate_survey

    monkeypatch.setattr(calibrate_survey, "check_sums", lambda *arguments: None)
    monkeypatch.setattr(calibrate_survey, "check_linked", lambda *arguments: None)
    more = margins[1].frame.assign(total=margins[1].targets * 1.1)
    with pytest.warns(ConvergenceWarning, match="NOT CONVERGED"):
        result = calibrate(survey, [margins[0], Margin(more)], max_iterations=100_000)
    assert result.iterations < 500


def test_difference_in_a_shared_category_is_named(survey):
    first, second = table(survey, ["sex", "region"]), table(survey, ["age", "region"])
    second.loc[second["region"] == "S", "total"] *= 1.01
    with pytest.raises(InputError, match="for region=S"):
        calibrate(survey, [Margin(first), Margin(second)])
    calibrate(survey, [Margin(first), Margin(second)], tolerance=0.02)


def test_margins_of_many_columns_are_matched(survey, monkeypatch):
    from synthpop.calibration import controls as module

    counts = table(survey, ["sex", "age", "region"])
    expected = calibrate(survey, Margin(counts)).weights
    monkeypatch.setattr(module, "LARGEST_ID", 10)
    monkeypatch.setattr(module, "DENSE_CELLS", 1)
    np.testing.assert_array_equal(calibrate(survey, Margin(counts)).weights, expected)


def test_convergence_is_never_silent(survey, margins):
    with pytest.warns(ConvergenceWarning, match="NOT CONVERGED"):
        result = calibrate(survey, margins, max_iterations=1)
    assert not result.converged
    assert result.iterations == 1
    assert "NOT CONVERGED" in result.summary()


def test_tolerance_is_used(survey, margins):
    loose = calibrate(survey, margins, method="ipu", tolerance=1e-2)
    tight = calibrate(survey, margins, method="ipu", tolerance=1e-8)
    assert loose.iterations < tight.iterations
    assert tight.margins["relative_error"].abs().max() <= 1e-8


def test_negative_weights_are_told(survey):
    counts = table(survey, ["sex", "age"])
    counts["total"] = [3000.0, 10.0, 10.0, 10.0, 10.0, 10.0]
    result = calibrate(survey, Margin(counts), method="linear")
    assert (result.weights <= 0).any()
    assert "not positive" in result.summary()
    with pytest.raises(InputError, match="negative"):
        _ = result.survey


def test_design_effect_and_input_unchanged(survey, margins):
    before = survey.frame.copy()
    result = calibrate(survey, margins)
    w = result.weights
    assert result.design_effect == pytest.approx(len(w) * (w**2).sum() / w.sum() ** 2)
    assert result.effective_sample_size == pytest.approx(len(w) / result.design_effect)
    assert result.start_design_effect != result.design_effect
    pd.testing.assert_frame_equal(before, survey.frame)
    assert len(result.worst(3)) == 3
    assert result.to_frame() is result.margins


def test_many_controls_use_the_iterative_solver(survey, margins, monkeypatch):
    from synthpop.calibration import newton

    expected = calibrate(survey, margins, method="exponential", tolerance=1e-10)
    monkeypatch.setattr(newton, "DENSE_CONTROLS", 1)
    result = calibrate(survey, margins, method="exponential", tolerance=1e-10)
    np.testing.assert_allclose(result.weights, expected.weights, rtol=1e-7)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), method=st.sampled_from(["raking", "linear", "logit", "ipu"]))
def test_order_of_rows_does_not_matter(seed, method):
    survey = make_survey(seed, 40)
    margins = [Margin(table(survey, ["sex"])), Margin(table(survey, ["region"]))]
    order = np.random.default_rng(seed).permutation(survey.n_persons)
    shuffled = Survey(survey.frame.iloc[order], weight="w", household="hid")
    plain = calibrate(survey, margins, method=method, tolerance=1e-9)
    other = calibrate(shuffled, margins, method=method, tolerance=1e-9)
    np.testing.assert_allclose(other.weights, plain.weights[order], rtol=1e-7)
    if method != "linear":
        assert plain.weights.min() > 0


def test_kernels_agree_with_their_plain_form():
    from scipy.sparse import random as random_sparse

    rng = np.random.default_rng(3)
    matrix = random_sparse(12, 5, 0.6, format="csr", random_state=3)
    matrix.sort_indices()
    scale = rng.random(12)
    results = []
    for function in (raking.weighted_gram, raking.weighted_gram.py_func):
        out = np.zeros((5, 5))
        function(matrix.indptr, matrix.indices, matrix.data, scale, out)
        results.append(out)
    np.testing.assert_allclose(results[0], results[1])
    dense = matrix.toarray()
    np.testing.assert_allclose(results[0], np.triu(dense.T @ (scale[:, None] * dense)))
    columns = matrix.tocsc()
    weights = []
    for function in (raking.proportional_updating, raking.proportional_updating.py_func):
        w = np.ones(12)
        function(
            columns.indptr,
            columns.indices,
            columns.data,
            np.full(5, 4.0),
            np.zeros(12),
            np.full(12, 3.0),
            w,
            1e-9,
            5,
            np.zeros(5),
        )
        weights.append(w)
    np.testing.assert_allclose(weights[0], weights[1])
    assert weights[0].max() <= 3.0
    blocks = []
    for function in (raking.split_by_margin, raking.split_by_margin.py_func):
        pointers = np.empty((2, 13), dtype=np.int64)
        controls, counts = np.empty_like(matrix.indices), np.empty_like(matrix.data)
        margin = np.array([0, 1, 0, 1, 1])
        function(matrix.indptr, matrix.indices, matrix.data, margin, pointers, controls, counts)
        blocks.append((pointers.tolist(), controls.tolist(), counts.tolist()))
    assert blocks[0] == blocks[1]
    first = matrix[:, [0, 2]]
    assert pointers[0].tolist() == first.indptr.tolist()
    np.testing.assert_array_equal(counts[: first.nnz], first.data)
    fitted = []
    cells = np.array([[0, 1, 0, 1, 0, 0], [2, 2, 3, 3, 4, 4]], dtype=np.int32)
    for function in (raking.proportional_fitting, raking.proportional_fitting.py_func):
        w, factors = np.ones(6), np.zeros(5)
        pointers = np.array([np.arange(7), np.arange(6, 13)])
        one = np.ones(12)
        targets = np.array([6.0, 4.0, 3.0, 3.0, 4.0])
        ones = np.ones(6)
        function(pointers, np.concatenate(cells), one, ones, targets, w, factors, 1e-12, 60)
        fitted.append(w)
    np.testing.assert_allclose(fitted[0], fitted[1])
    expected = naive.rake([cells[0], cells[1] - 2], [targets[:2], targets[2:]], np.ones(6), 60)
    np.testing.assert_allclose(fitted[0], expected, rtol=1e-9)


def test_constraints_agree_with_a_dense_count():
    survey = make_survey(4, 25)
    order = np.random.default_rng(4).permutation(survey.n_persons)
    people = Survey(survey.frame.iloc[order], weight="w", household="hid")
    frame, household = people.frame, people.household_index
    sex = (frame["sex"] == "m").to_numpy().astype(np.int32)
    region = np.where(frame["region"] == "N", 2, -1).astype(np.int32)
    income = frame["income"].mask(frame["age"] == "60+").to_numpy()
    cells = [sex, region, np.full(len(frame), 3, dtype=np.int32)]
    arguments = [cells, [None, None, income], [False, True, False]]
    sizes = np.bincount(household)
    person = np.zeros((len(frame), 4))
    person[np.arange(len(frame)), sex] = 1
    person[:, 2] = np.where(region == 2, 1 / sizes[household], 0)
    person[:, 3] = np.nan_to_num(income)
    options = {"household_index": household}
    matrix = constraint_matrix(*arguments, 4, household_equal=False, **options)
    np.testing.assert_allclose(matrix.toarray(), person)
    matrix = constraint_matrix(*arguments, 4, household_equal=True, **options)
    expected = np.array([np.bincount(household, column) for column in person.T]).T
    np.testing.assert_allclose(matrix.toarray(), expected)
    assert set(matrix[:, 2].toarray().reshape(-1)) == {0.0, 1.0}
    assert matrix.nnz == (expected != 0).sum()
    room = np.zeros(3 * len(frame), dtype=np.int32), np.zeros(3 * len(frame))
    offsets, indptr = np.arange(len(frame) + 1), np.zeros(len(frame) + 1, dtype=np.int64)
    n = raking.build_rows.py_func(
        np.arange(len(frame)),
        offsets,
        np.array(arguments[0]),
        np.array([-1, -1, 0]),
        income[None, :],
        np.array(arguments[2]),
        1 / sizes[household],
        indptr,
        *room,
    )
    plain = constraint_matrix(*arguments, 4, household_equal=False, **options)
    np.testing.assert_array_equal(plain.indices, room[0][:n])
    np.testing.assert_array_equal(plain.data, room[1][:n])


def test_equal_units_are_grouped():
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    size = np.array([1.0, 1.0, 1.0, 2.0, 1.0])
    problem = Problem(
        matrix=csr_matrix(rows),
        start=np.arange(1.0, 6.0),
        size=size,
        targets=np.ones(2),
        margin=np.zeros(2, dtype=np.int64),
        importance=np.full(2, np.inf),
        low=np.zeros(5),
        high=np.full(5, np.inf),
    )
    grouped, group = group_units(problem)
    assert group[0] == group[2] != group[3]
    assert group[1] == group[4]
    assert sorted(grouped.start) == [4.0, 4.0, 7.0]
    np.testing.assert_array_equal(grouped.matrix.toarray()[group], rows)
    np.testing.assert_array_equal(grouped.size[group], size)
    matrix, data = problem.matrix, problem.matrix.data.view(np.uint64)
    hashes = []
    for function in (raking.row_hashes, raking.row_hashes.py_func):
        out = np.empty(5, dtype=np.uint64)
        with np.errstate(over="ignore"):
            function(matrix.indptr, matrix.indices, data, np.zeros(5, dtype=np.uint64), out)
        hashes.append(out.tolist())
    assert hashes[0] == hashes[1]
    for twin, same in (([0, 1, 0, 0, 1], True), ([0, 0, 0, 0, 1], False)):
        for function in (raking.rows_equal, raking.rows_equal.py_func):
            assert function(matrix.indptr, matrix.indices, data, np.array(twin)) == same


def test_a_sum_out_of_reach_is_named_whatever_the_variable_is_called() -> None:
    frame = pd.DataFrame({"w": [1.0, 2.0], "{x}": [1.0, 2.0], "sex": ["f", "m"]})
    totals = pd.DataFrame({"sex": ["f", "m"], "total": [-1.0, 3.0]})
    with pytest.raises(InputError) as caught:
        calibrate(Survey(frame, weight="w"), Margin(totals, variable="{x}"))
    assert "total −1, which no sum of {x} in the sample can reach" in str(caught.value)
