"""What `Continuous` refuses, and its options in run files."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from synthpop import Binned, BinnedRegressed, Continuous, Gpd, PoolingOptions, Regressed
from synthpop.microdata.messages.errors import InputError, RunFileError
from synthpop.stages.continuous.methods import METHODS
from tests.synthpop.stages.continuous_cases import frame_with_income, income


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "regresion"}, "Did you mean 'regression'?"),
        ({"method": GaussianNB()}, "GaussianNB is not a regressor"),
        ({"method": KNeighborsRegressor()}, "takes no sample_weight"),
        ({"method": 3}, "3 is not allowed"),
        ({"residuals": "gaussian", "method": "regression"}, "'gaussian' is not allowed"),
        ({"by_household": "max"}, "'max' is not allowed"),
        ({"tail": "weibull"}, "'weibull' is not allowed"),
        ({"trim": (0.6, 0.5), "method": "regression"}, "trim is (0.6, 0.5)"),
        ({"trim": (-0.1, 0.5), "method": "regression"}, "trim is (-0.1, 0.5)"),
        ({"trim": 0.1, "method": "regression"}, "trim is 0.1"),
        ({"trim": ("a", "b"), "method": "regression"}, "trim is ('a', 'b')"),
        ({"upper": np.nan}, "upper: is nan"),
        ({"upper": "much"}, "upper: is 'much'"),
        ({"constant": np.inf, "log": True, "method": "pmm"}, "constant: is inf"),
        ({"constant": 1.0, "method": "regression"}, "constant has no meaning without log"),
        ({"within_class": "even"}, "within_class"),
        (
            {"pooling": 30.0, "method": "forest"},
            "partial pooling (30.0) has no meaning for the method",
        ),
        (
            {"pooling": "cross-validated", "method": LinearRegression()},
            "has no meaning for the method",
        ),
        ({"intervals": ("a", "b"), "by_household": "sum"}, "no meaning with by_household = 'sum'"),
        ({"method": "poisson"}, "are not whole numbers from 0 on"),
        ({"method": "negative-binomial"}, "are not whole numbers from 0 on"),
        ({"method": "regression", "upper": -1e9}, "upper is -1e+09, the smallest sample value"),
        (
            {"method": "regression", "log": True, "constant": 1.0, "trim": (0.0, 0.0)},
            "Their sum must be positive",
        ),
    ],
)
def test_faults(options, message: str) -> None:
    with pytest.raises(InputError) as caught:
        income(**options)
    assert message in str(caught.value)


def test_constant_of_the_combined_method_is_used() -> None:
    frame = frame_with_income()
    plain = income(frame, method="binned+regression").frame()["income"]
    moved = income(frame, method="binned+regression", constant=50_000.0).frame()["income"]
    assert not plain.equals(moved)


def test_run_files_have_the_options(tmp_path) -> None:
    from synthpop.runfiles.runfile import dump_runfile, load_runfile

    text = """
    [survey]
    demo = true
    [[stage]]
    type = "structure"
    variables = ["age"]
    [[stage]]
    type = "continuous"
    name = "netIncome"
    by_household = "mean"
    method = {type = "regression", trim = [0.02, 0.0], log = true, constant = 1e4, upper = 2e5}
    pooling = {amount = "none", smallest_stratum = 10}
    [[stage]]
    type = "continuous"
    name = "py010n"
    [stage.method]
    type = "binned"
    tail = {type = "gpd", upper = 200000.0}
    [[stage]]
    type = "continuous"
    name = "py050n"
    method = {type = "forest", residuals = "local"}
    """
    (tmp_path / "run.toml").write_text(text)
    stages = load_runfile(tmp_path / "run.toml").stages[1:]
    assert stages == (
        Continuous(
            "netIncome",
            Regressed(trim=(0.02, 0.0), log=True, constant=1e4, upper=2e5),
            by_household="mean",
            pooling=PoolingOptions("none", smallest_stratum=10),
        ),
        Continuous("py010n", Binned(tail=Gpd(upper=200_000.0))),
        Continuous("py050n", Regressed("forest", residuals="local")),
    )
    dump_runfile(load_runfile(tmp_path / "run.toml"), tmp_path / "again.toml")
    assert load_runfile(tmp_path / "again.toml").stages[1:] == stages


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ('{type = "binnd"}', "type 'binnd' is unknown. Did you mean 'binned'?"),
        ('{tail = "gpd"}', "has no type"),
        ('{type = "binned", log = true}', "method log: is unknown"),
        ('{type = "poisson", distribution = "poisson"}', "is told by the type"),
        ('{type = "binned", tail = {type = "gpd", uper = 3.0}}', "Did you mean 'upper'?"),
        ('{type = "binned", zeros = "sometimes"}', "method zeros"),
    ],
)
def test_faults_of_methods_in_run_files(method: str, message: str) -> None:
    from synthpop.runfiles.runfile import parse_runfile

    table = tomllib.loads(f"method = {method}")
    stages = [{"type": "structure", "variables": ["age"]},
              {"type": "continuous", "name": "netIncome", **table}]  # fmt: skip
    with pytest.raises(RunFileError) as caught:
        parse_runfile({"survey": {"demo": True}, "stage": stages})
    assert message in str(caught.value)


def test_an_option_of_the_method_beside_it_says_where_it_goes() -> None:
    from synthpop.runfiles.runfile import parse_runfile

    stages = [{"type": "continuous", "name": "netIncome", "tail": "gpd"},
              {"type": "categorical", "name": "pl030", "smallest_stratum": 5}]  # fmt: skip
    with pytest.raises(RunFileError) as caught:
        parse_runfile({"survey": {"demo": True}, "stage": stages})
    assert "Give it there: method = {..., tail = 'gpd'}." in str(caught.value)
    assert "Give it there: pooling = {..., smallest_stratum = 5}." in str(caught.value)


def test_every_method_is_refused_an_option_of_another() -> None:
    for name, method in METHODS.items():
        with pytest.raises(TypeError, match="wrong"):
            method(wrong=1)
        assert method().type == name


def test_upper_is_given_once() -> None:
    with pytest.raises(InputError, match="has upper twice"):
        income(method=Binned(tail=Gpd(upper=1e6), upper=1e6))
    one = income(method=Binned(tail=Gpd(upper=3e5))).frame()
    assert one.equals(income(method=Binned(tail="gpd", upper=3e5)).frame())


def test_every_residual_but_leaves_goes_with_classes() -> None:
    for residuals in ("empirical", "local", "normal", "leaves"):
        assert Regressed.PARAMETERS["residuals"].allows(residuals)
        by_classes = BinnedRegressed.PARAMETERS["residuals"].allows(residuals)
        assert by_classes == (residuals != "leaves")
