"""Small calls of `names` and what they return."""

from __future__ import annotations

from synthpop.microdata.frame.names import (
    AGE,
    columns_named_for,
    first_named,
    named_or_containing,
    words_of,
)


def test_example_of_first_named() -> None:
    assert first_named(AGE, ["ID", "Age"]) == "Age"


def test_example_of_named_or_containing() -> None:
    assert named_or_containing(AGE, ["age_class", "income", "Edad"]) == ["Edad", "age_class"]


def test_example_of_words_of() -> None:
    assert (words_of("highestDegree_2"), words_of("PB220A"), words_of("age_class")) == (
        "highest degree",
        "pb220a",
        "age class",
    )


def test_example_of_columns_named_for() -> None:
    assert columns_named_for("weight", ["Gewicht", "income", "rb050"]) == ["rb050", "Gewicht"]
    assert columns_named_for("household", ["HaushaltsNr", "age"]) == ["HaushaltsNr"]
