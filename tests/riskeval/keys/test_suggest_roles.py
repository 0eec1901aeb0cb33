"""Suggested roles: the reasons can be checked, and what is suggested can be used at once."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

from riskeval import ProtectionSession, suggest_roles
from riskeval.runfiles.template import plan_text
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.reading.lexicon import concept_of
from synthpop.microdata.roles.demo_survey import load_demo_survey


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


def test_names_in_german_and_codes_for_no_answer() -> None:
    frame = pd.DataFrame(
        {
            "HaushaltsNr": np.repeat(np.arange(40), 2),
            "Gewicht": np.repeat(np.linspace(50.5, 90.5, 40), 2),
            "Beruf": [1, 2, 3, -9] * 20,
            "Alter": np.arange(80),
        }
    )
    roles = suggest_roles(frame)
    assert (roles.weights, roles.household) == ("Gewicht", "HaushaltsNr")
    assert role_of(frame, "Beruf") == "key"
    reasons = dict(zip(roles.to_frame()["column"], roles.to_frame()["why"], strict=True))
    assert "−9 may be a code for missing" in reasons["Beruf"]
    assert "code for missing" not in reasons["Alter"]


def test_classes_of_the_plan_have_readable_labels() -> None:
    ages = pd.DataFrame({"age": np.arange(95), "sex": ["f", "m"] * 47 + ["f"]})
    plan = tomllib.loads(plan_text("protect", ages, suggest_roles(ages), "ages.csv"))
    step = plan["step"][0]
    session = ProtectionSession(ages, keys=["age", "sex"])
    session.apply(step["verb"], column=step["column"], breaks=step["breaks"])
    assert session.data["age"].cat.categories[[0, 1, -1]].tolist() == ["0-4", "5-9", "90-94"]
    adults = plan_text("protect", ages[16:], suggest_roles(ages[16:]), "adults.csv")
    assert tomllib.loads(adults)["step"][0]["breaks"][:3] == [15, 19, 24]


def test_sex_of_eu_silc_is_a_key_and_the_weight_of_a_body_no_design_weight() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "rb090": rng.integers(1, 3, 300),
            "body_weight": rng.normal(70, 10, 300).round(2),
            "weight_kg": rng.integers(45, 110, 300),
            "rb050": rng.uniform(1, 5, 300),
        }
    )
    roles = suggest_roles(frame)
    assert (roles.keys, roles.weights) == (("rb090",), "rb050")
    assert role_of(frame, "body_weight") == "numeric"
    assert role_of(frame, "weight_kg") == "none"
    assert role_of(frame.rename(columns={"rb090": "Sexe"}), "Sexe") == "key"


@pytest.mark.parametrize(
    ("label", "concept"),
    [
        ("Situation d'activité", "employment status"),
        ("Nationalité", "citizenship or country of birth"),
        ("État de santé", "health"),
        ("Staatsangehörigkeit", "citizenship or country of birth"),
        ("Straße", "name, address or number of a person"),
    ],
)
def test_labels_with_accents_say_what_a_column_measures(label: str, concept: str) -> None:
    found = concept_of("q7", label)
    assert found is not None
    assert found[0].name == concept


def test_codes_of_areas_get_no_classes_of_five() -> None:
    frame = pd.DataFrame({"region": np.arange(182), "age": np.arange(182) % 95})
    plan = tomllib.loads(plan_text("protect", frame, suggest_roles(frame), "a.csv"))
    assert [step.get("column") for step in plan["step"]] == ["age", None]


def test_a_file_without_a_known_key_gets_a_plan_that_runs() -> None:
    rng = np.random.default_rng(1)
    firms = pd.DataFrame({
        "sales": rng.lognormal(9, 1, 200).round(), "kind": rng.choice(list("abc"), 200),
        "profit": rng.normal(0, 1e4, 200).round(),
    })  # fmt: skip
    roles = suggest_roles(firms)
    assert (roles.keys, roles.numeric, roles.stand_ins()) == ((), ("sales", "profit"), ("kind",))
    plan = tomllib.loads(plan_text("assess", firms, roles, "firms.csv"))["assess"]
    assert (plan["keys"], plan["numeric"]) == (["kind"], ["sales", "profit"])
    amounts = firms[["sales", "profit"]].assign(sales=firms["sales"] // 10)
    assert suggest_roles(amounts).stand_ins() == ()
    plan = tomllib.loads(plan_text("assess", amounts, suggest_roles(amounts), "firms.csv"))[
        "assess"
    ]
    assert (plan["keys"], plan["numeric"]) == ([], ["sales", "profit"])


def test_amounts_that_nobody_shares_are_no_ids() -> None:
    rng = np.random.default_rng(2)
    amounts = np.unique(rng.lognormal(9, 1, 4000).round())[:1000]
    frame = pd.DataFrame({
        "turn": rng.permutation(amounts), "nr": rng.permutation(1000) + 1, "serial": 7000,
        "profession": rng.permutation(amounts) * 2,
    })  # fmt: skip
    role = suggest_roles(frame).to_frame().set_index("column")["role"]
    assert role[["turn", "nr", "profession"]].tolist() == ["numeric", "identifier", "key"]
    again = pd.concat([frame, frame]).assign(
        SERIALNO=[*range(1000), *range(1000)], HHID=range(2000)
    )
    assert suggest_roles(again).identifiers == ("SERIALNO", "HHID")
