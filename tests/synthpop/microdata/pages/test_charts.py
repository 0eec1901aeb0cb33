"""Small calls of `charts` and what they return."""

from __future__ import annotations

from synthpop.microdata.pages.charts import before_after, difference_bar, nice_ticks, spark_bars


def test_example_of_difference_bar() -> None:
    assert difference_bar(0.01, 0.02, 0.05, "+1 point").count("<rect") == 1


def test_example_of_spark_bars() -> None:
    assert spark_bars([0.01, -0.01], [0.02, 0.02], "shares").count('class="band"') == 2


def test_example_of_before_after() -> None:
    assert before_after([3, 1], [2, 2], "ages").count('class="band"') == 2


def test_example_of_nice_ticks() -> None:
    assert nice_ticks(0.0, 97.0) == [0.0, 20.0, 40.0, 60.0, 80.0]
