from __future__ import annotations

import numpy as np
import pytest

from synthpop import indicators as ind
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import golden, survey_data


@pytest.fixture(scope="module")
def fitted() -> tuple:  # type: ignore[type-arg]
    frame = survey_data("laeken_eusilc")
    fit = ind.pareto_tail(frame["eqIncome"], frame["db090"], household=frame["db030"])
    return frame, fit, golden("pop", "d_tail.json")["laeken"]


def test_reference_outliers(fitted: tuple) -> None:  # type: ignore[type-arg]
    frame, fit, case = fitted
    for method, key in (("pdc", "PDC"), ("hill", "Hill"), ("ise", "ISE")):
        other = ind.pareto_tail(
            frame["eqIncome"], frame["db090"], household=frame["db030"], method=method
        )
        wanted = case[f"paretoTail_theta{key}"]
        assert other.tail.shape == pytest.approx(wanted["theta"], rel=1e-5)
        assert other.tail.k == wanted["n_tail"]
        households = frame["db030"].to_numpy()[other.outlier]
        assert len(np.unique(households)) == wanted["n_out"]
    plain = ind.pareto_tail(frame["eqIncome"], household=frame["db030"])
    assert plain.tail.shape == pytest.approx(
        case["paretoTail_thetaPDC_unweighted"]["theta"], rel=1e-5
    )
    assert fit.tail.threshold == case["paretoTail_thetaPDC"]["x0"]


def test_reference_gini_after_treatment(fitted: tuple) -> None:  # type: ignore[type-arg]
    frame, fit, case = fitted
    x, w = frame["eqIncome"], frame["rb050"]
    assert ind.gini(x, w).value == pytest.approx(case["gini_raw"], rel=1e-10)
    # the reference calibrates by iteration: nine digits
    reweighted = fit.reweighted(frame["db040"])
    assert ind.gini(x, reweighted).value == pytest.approx(case["gini_reweightOut"], rel=1e-8)
    assert ind.gini(fit.shrunken(), w).value == pytest.approx(case["gini_shrinkOut"], rel=1e-7)
    for which, key in (("tail", "replaceTail"), ("outliers", "replaceOut")):
        # the draws of the reference stay below the limit of outliers
        ours = [
            ind.gini(fit.replaced(which=which, upper=fit.limit, seed=s), w).value for s in range(40)
        ]
        theirs = case[f"gini_{key}_10seeds"]
        spread = np.std(ours)
        assert abs(np.mean(ours) - np.mean(theirs)) < 3 * spread * np.sqrt(1 / 40 + 1 / 10)


def test_weights_keep_their_totals(fitted: tuple) -> None:  # type: ignore[type-arg]
    frame, fit, _ = fitted
    new = fit.reweighted(frame["db040"])
    old = frame["db090"]
    totals = old.groupby(frame["db040"], observed=True).sum()
    again = old.copy()
    again[:] = new
    np.testing.assert_allclose(
        again.groupby(frame["db040"], observed=True).sum(), totals, rtol=1e-12
    )
    assert (new[fit.outlier] == 1).all()
    assert not np.array_equal(new, fit.reweighted())


def test_replacement_keeps_households_and_order(fitted: tuple) -> None:  # type: ignore[type-arg]
    frame, fit, _ = fitted
    new = fit.replaced(seed=1)
    assert np.array_equal(new[~fit.in_tail], fit.values[~fit.in_tail])
    assert (new[fit.in_tail] > fit.tail.threshold).all()
    assert frame.assign(new=new).groupby("db030")["new"].nunique().max() == 1
    first = frame["db030"].drop_duplicates().index
    tail = [i for i in first if fit.in_tail[i]]
    order = np.argsort(fit.values[tail], kind="stable")
    assert (np.diff(new[tail][order]) >= 0).all()
    assert not np.array_equal(new, fit.replaced(seed=2))
    assert np.array_equal(new, fit.replaced(seed=1))
    assert fit.replaced(upper=60_000.0, seed=1).max() <= 60_000.0
    only = fit.replaced(which="outliers", seed=1)
    assert np.array_equal(only[~fit.outlier], fit.values[~fit.outlier])


def test_arguments_are_honoured() -> None:
    x = np.random.default_rng(3).pareto(3, 500) + 1
    base = ind.pareto_tail(x, k=50)
    assert ind.pareto_tail(x, threshold=1.2).tail.threshold == 1.2
    assert ind.pareto_tail(x, k=50, alpha=0.2).outlier.sum() > base.outlier.sum()
    assert ind.pareto_tail(x, k=50, method="hill").tail.shape != base.tail.shape
    heavy = np.where(x > 3, 9.0, 1.0)
    assert ind.pareto_tail(x, heavy, k=50).tail.shape != base.tail.shape
    pairs = np.arange(500) // 2
    assert ind.pareto_tail(np.repeat(x[:250], 2), household=pairs, k=30).tail.n == 250
    assert "99 % quantile" in base.summary()


def test_stratum_of_outliers_keeps_its_weights() -> None:
    x = np.append(np.random.default_rng(3).pareto(3, 500) + 1, 1e9)
    fit = ind.pareto_tail(x, np.full(501, 7.0), k=50)
    strata = np.append(np.zeros(500), 1)
    assert fit.outlier[-1]
    assert fit.reweighted(strata)[-1] == 7.0
    assert fit.reweighted()[-1] == 1.0


def test_faults() -> None:
    x = np.arange(1.0, 101.0)
    with pytest.raises(InputError, match="alpha"):
        ind.pareto_tail(x, alpha=5)
    with pytest.raises(InputError, match="household"):
        ind.pareto_tail([1.0, 2.0], household=[1, None])
    with pytest.raises(InputError, match="which"):
        ind.pareto_tail(x, k=20).replaced(which="all")
    with pytest.raises(InputError, match="strata"):
        ind.pareto_tail(x, k=20).reweighted([1])
    with pytest.raises(InputError, match="ids for"):
        ind.pareto_tail(x, household=[1])


def test_plot_data() -> None:
    x, w = np.array([1.0, 2.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0, 4.0])
    table = ind.mean_excess(x, w)
    naive = [np.dot(w[x > u], x[x > u] - u) / w[x > u].sum() for u in (1.0, 2.0)]
    np.testing.assert_allclose(table["mean_excess"], naive)
    assert table["threshold"].tolist() == [1.0, 2.0]
    points = ind.pareto_quantiles([-1.0, 1.0, 3.0], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(points["theoretical"], [-np.log(0.5), -np.log(0.25)])
    assert ind.mean_excess(x)["mean_excess"].tolist() != naive
    sample = np.random.default_rng(1).pareto(2.5, 4000) + 1
    line = ind.pareto_quantiles(sample)
    slope = np.polyfit(line["theoretical"], np.log(line["value"]), 1)[0]
    assert slope == pytest.approx(1 / 2.5, rel=0.05)


def test_figures() -> None:
    x = np.random.default_rng(1).pareto(2.5, 300) + 1
    for draw in (ind.mean_excess_figure, ind.pareto_quantile_figure):
        plain = draw(x, np.ones(300))
        marked = draw(x, threshold=2.0)
        assert len(marked.axes[0].lines) == len(plain.axes[0].lines) + 1
        weighted = draw(x, np.linspace(1, 50, 300))
        points = [figure.axes[0].lines[0].get_xydata() for figure in (plain, weighted)]
        assert not np.array_equal(*points)
