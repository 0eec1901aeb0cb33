"""Small calls of the lexicon and what they return."""

from __future__ import annotations

import pytest

from synthpop.microdata.frame.names import first_named, words_of
from synthpop.microdata.reading.lexicon import (
    AGE,
    WEIGHT_NAME,
    columns_named_for,
    named_or_containing,
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
    assert columns_named_for("household", ["Numéro_du_ménage"]) == ["Numéro_du_ménage"]
    assert columns_named_for("household", ["REVENU", "NUM_MEN"]) == ["NUM_MEN"]


@pytest.mark.parametrize(
    "name", ["RB050", "db090", "DB080", "PB040", "RB062", "old_weight", "PWGTP", "w", "HHGewicht",
             "peso_per", "pond", "factor_exp", "poids_men", "Kalibrierungsgewicht"]
)  # fmt: skip
def test_names_of_weights_of_a_sample(name: str) -> None:
    assert WEIGHT_NAME.search(name)
    assert columns_named_for("weight", [name]) or name == "db090"  # of households


@pytest.mark.parametrize(
    "name", ["RB090", "rb090", "PB190", "DB050", "body_weight", "weight_kg", "BodyWeight",
             "WeightKg", "birth_weight", "Körpergewicht", "Geburtsgewicht", "poids_kg",
             "overweight", "kg"]
)  # fmt: skip
def test_sex_and_the_weight_of_a_body_are_no_weights_of_a_sample(name: str) -> None:
    assert not WEIGHT_NAME.search(name)
    assert columns_named_for("weight", [name]) == []
