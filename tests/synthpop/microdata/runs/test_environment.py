"""Small calls of `environment` and what they return."""

from __future__ import annotations

from threadpoolctl import threadpool_info

from synthpop.microdata.runs.environment import environment, environment_difference, one_thread


def test_example_of_environment() -> None:
    assert sorted(environment())[:3] == ["blas", "numba", "numpy"]


def test_example_of_one_thread() -> None:
    with one_thread():
        assert {
            item["num_threads"] for item in threadpool_info() if item["user_api"] == "blas"
        } == {1}


def test_example_of_environment_difference() -> None:
    assert (
        environment_difference({"numpy": "2.4.0"}, {"numpy": "1.26.4"}) == "numpy 2.4.0 and 1.26.4"
    )
