"""Options of a method by name beside the method: the same as an object of options."""

import pytest

from synthpop import Binned, BinnedRegressed, Continuous, Gpd, InputError, Regressed


@pytest.mark.parametrize(
    ("named", "as_object"),
    [
        ({"zeros": True, "breaks": [0, 1, 5]}, Binned(zeros=True, breaks=[0, 1, 5])),
        ({"tail": "gpd", "upper": 9.0}, Binned(tail="gpd", upper=9.0)),
        ({"tail": "gpd", "threshold": 3.0}, Binned(tail=Gpd(threshold=3.0))),
        ({"method": "regression", "log": True, "constant": 2.0},
         Regressed(log=True, constant=2.0)),
        ({"method": "regression", "residuals": "normal", "trim": (0.02, 0.02), "tail": None},
         Regressed(residuals="normal", trim=(0.02, 0.02))),
        ({"method": "binned+regression", "residuals": "empirical"},
         BinnedRegressed(residuals="empirical")),
    ],
)  # fmt: skip
def test_named_options_are_those_of_the_method(named, as_object):
    assert Continuous("income", **named).draws == as_object


@pytest.mark.parametrize(
    ("named", "word"),
    [
        ({"method": "regression", "breaks": [0, 1]}, "breaks"),
        ({"residuals": "normal"}, "residuals"),
        ({"threshold": 3.0}, "tail"),
        ({"method": Binned(), "tail": "gpd"}, "tail"),
        ({"method": "nothing", "tail": "gpd"}, "method"),
    ],
)
def test_options_that_a_method_lacks_are_refused(named, word):
    with pytest.raises(InputError, match=word):
        Continuous("income", **named)


def test_an_option_that_no_method_has_is_refused():
    with pytest.raises(InputError, match="tial"):
        Continuous("income", tial="gpd")
