"""What `Continuous` refuses, and its options in run files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from synthpop import Continuous
from synthpop.microdata.errors import InputError
from tests.synthpop.stages.continuous_cases import frame_with_income, income


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "regresion"}, "Did you mean 'regression'?"),
        ({"method": GaussianNB()}, "GaussianNB is no regressor"),
        ({"method": KNeighborsRegressor()}, "takes no sample_weight"),
        ({"method": 3}, "3 is not allowed"),
        ({"residuals": "gaussian", "method": "regression"}, "'gaussian' is not allowed"),
        ({"by_household": "max"}, "'max' is not allowed"),
        ({"tail": "weibull"}, "'weibull' is not allowed"),
        ({"trim": (0.6, 0.5), "method": "regression"}, "trim is (0.6, 0.5)"),
        ({"trim": (-0.1, 0.5), "method": "regression"}, "trim is (-0.1, 0.5)"),
        ({"trim": 0.1, "method": "regression"}, "trim is 0.1"),
        ({"trim": ("a", "b"), "method": "regression"}, "trim is ('a', 'b')"),
        ({"upper": np.nan}, "upper is nan"),
        ({"upper": "much"}, "upper is 'much'"),
        ({"constant": np.inf, "log": True, "method": "pmm"}, "constant is inf"),
        ({"trim": (0.1, 0.1)}, "trim has no meaning for the method binned"),
        ({"log": True}, "log has no meaning for the method binned"),
        ({"residuals": "normal"}, "residuals has no meaning for the method binned"),
        ({"residuals": "normal", "method": "pmm"}, "residuals has no meaning for the method pmm"),
        ({"upper": 5.0, "method": "pmm"}, "upper has no meaning for the method pmm"),
        ({"breaks": [0, 1], "method": "regression"}, "breaks has no meaning"),
        ({"tail": "gpd", "method": "forest"}, "tail has no meaning for the method forest"),
        ({"intervals": ("a", "b"), "method": "poisson"}, "intervals has no meaning"),
        ({"within_class": "uniform", "method": "regression"}, "within_class has no meaning"),
        ({"within_class": "even"}, "within_class"),
        ({"log": True, "method": "binned+regression"}, "log has no meaning"),
        ({"zeros": True, "method": "binned+regression"}, "zeros has no meaning"),
        ({"trim": (0.1, 0.1), "method": "poisson"}, "trim has no meaning for the method poisson"),
        ({"constant": 1.0, "method": "regression"}, "constant has no meaning without log"),
        ({"constant": 1.0}, "constant has no meaning for the method binned"),
        ({"tail": "gpd", "method": LinearRegression()}, "for the method a scikit-learn regressor"),
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
    method = "regression"
    trim = [0.02, 0.0]
    log = true
    constant = 10000.0
    residuals = "normal"
    by_household = "mean"
    upper = 200000.0
    """
    (tmp_path / "run.toml").write_text(text)
    stage = load_runfile(tmp_path / "run.toml").stages[1]
    assert stage == Continuous(
        "netIncome",
        method="regression",
        trim=(0.02, 0.0),
        log=True,
        constant=10000.0,
        residuals="normal",
        by_household="mean",
        upper=200000.0,
    )
    dump_runfile(load_runfile(tmp_path / "run.toml"), tmp_path / "again.toml")
    assert load_runfile(tmp_path / "again.toml").stages[1] == stage
