"""Suggested roles: the reasons can be checked, and what is suggested can be used at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, suggest_roles
from synthpop.datasets import load_demo_survey
from synthpop.microdata.dictionary import Dictionary, Variable, with_dictionary
from synthpop.microdata.errors import InputError


@pytest.fixture(scope="module")
def demo() -> pd.DataFrame:
    return load_demo_survey().frame


def role_of(frame: pd.DataFrame, name: str, **options: object) -> str:
    roles = suggest_roles(frame, **options)  # type: ignore[arg-type]
    return next(item.role for item in roles.columns if item.name == name)


def test_roles_of_the_demo_survey_start_a_session(demo: pd.DataFrame) -> None:
    roles = suggest_roles(demo)
    assert {"age", "rb090", "db040", "hsize", "pl030"} <= set(roles.keys)
    assert "netIncome" in roles.numeric
    assert (roles.weights, roles.household) == ("rb050", "db030")
    assert roles.identifiers == ("pid",)
    session = ProtectionSession(demo, **roles.arguments())
    assert session.roles.keys == roles.keys


def test_every_column_has_a_reason(demo: pd.DataFrame) -> None:
    table = suggest_roles(demo).to_frame()
    assert table["column"].tolist() == list(demo.columns)
    assert table["why"].str.len().min() > 5


def test_uniques_are_those_of_a_count_by_hand(demo: pd.DataFrame) -> None:
    roles = suggest_roles(demo)

    def share(keys: list[str]) -> float:
        return float((demo.groupby(keys, dropna=False, observed=True).size() == 1).sum()) / len(
            demo
        )

    assert roles.unique_share == pytest.approx(share([*roles.keys]))
    age = next(item for item in roles.columns if item.name == "age")
    rest = share([key for key in roles.keys if key != "age"])
    assert age.uniques == pytest.approx(100 * (roles.unique_share - rest))


def test_a_label_says_what_a_name_does_not() -> None:
    frame = pd.DataFrame({"q1": [34, 61, 34, 19], "q2": [1, 2, 2, 1]})
    labels = Dictionary([Variable("q1", "Age in completed years"), Variable("q2", "Geschlecht")])
    assert suggest_roles(frame).keys == ()
    assert suggest_roles(with_dictionary(frame, labels)).keys == ("q1", "q2")
    assert suggest_roles(frame, dictionary=labels).keys == ("q1", "q2")


def test_values_overrule_names() -> None:
    n = 400
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "weight": 1.0,
            "w2_weight": rng.uniform(1, 5, n),
            "ori_hid": np.repeat(np.arange(n // 2), 2),
            "hhid_copy": np.repeat(np.arange(n // 2), 2) * 7,
            "sex": "f",
            "income_class": rng.integers(0, 5, n),
            "turnover": rng.lognormal(9, 1, n),
            "code": rng.permutation(n),
            "x": rng.normal(size=n),
            "health": rng.integers(1, 6, n),
        }
    )
    roles = {item.name: item.role for item in suggest_roles(frame).columns}
    assert roles["w2_weight"] == "weights"  # equal weights say nothing
    assert roles["ori_hid"] == "household"
    assert roles["hhid_copy"] == "none"
    assert roles["sex"] == "none"  # one value
    assert roles["income_class"] == "sensitive"
    assert roles["turnover"] == roles["x"] == "numeric"
    assert roles["code"] == "identifier"
    assert roles["health"] == "sensitive"


def test_a_table_without_rows_is_a_fault() -> None:
    with pytest.raises(InputError, match="no rows"):
        suggest_roles(pd.DataFrame({"age": []}))
