"""Roles, age and sex of columns by what they hold, by labels and by names of a dozen languages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import suggest_roles
from synthpop import profile_survey
from synthpop.microdata.frame.dictionary import Dictionary, Variable, with_dictionary
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.reading.columns import ColumnReader
from synthpop.microdata.reading.kinds import look_like_codes
from synthpop.runfiles.template import template_text
from tests.reference_data import zoo_file


def families(n: int = 400, seed: int = 3) -> pd.DataFrame:
    """Couples, singles and children under names that say nothing."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    no = np.repeat(np.arange(n), sizes)
    place = np.arange(len(no)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    first_age, first_sex = rng.integers(30, 86, n)[no], rng.integers(1, 3, n)[no]
    age = np.select([place == 0, place == 1], [first_age, first_age - rng.integers(0, 6, len(no))],
                    rng.integers(0, 25, len(no)))  # fmt: skip
    sex = np.select([place == 0, place == 1], [first_sex, 3 - first_sex],
                    rng.integers(1, 3, len(no)))  # fmt: skip
    return pd.DataFrame(
        {
            "a1": no + 7,
            "a2": rng.integers(1, 3, len(no)),
            "a3": sex,
            "a4": age,
            "a5": np.where(place == 0, 1, 2),
            "a6": rng.lognormal(5, 0.4, n).round(2)[no],
        }
    )


def test_values_alone_tell_household_age_sex_and_ask_for_the_weight() -> None:
    reader = ColumnReader(families())
    assert (reader.roles, reader.age, reader.sex) == ({"household": "a1"}, "a4", "a3")
    asked = {question.role: question.candidates for question in reader.questions()}
    assert asked == {"household": ("a1",), "weight": ("a6",), "age": ("a4",), "sex": ("a3",)}


def test_both_packages_read_alike() -> None:
    frame = families()
    profile, roles = profile_survey(frame), suggest_roles(frame)
    assert (profile.roles["household"], profile.age, profile.sex) == ("a1", "a4", "a3")
    assert roles.household == "a1"
    assert {"a3", "a4"} <= set(roles.keys)


@pytest.mark.parametrize(
    ("household", "weight", "age", "sex", "levels"),
    [
        ("household_id", "weight", "age", "sex", ("male", "female")),
        ("Haushalts-Nr.", "Gewicht", "Alter (Jahre)", "Geschlecht", ("männlich", "weiblich")),
        ("Numéro du ménage", "poids_ind", "âge", "v1", ("Homme", "Femme")),
        ("id_hogar", "factor_exp", "edad", "v1", ("Hombre", "Mujer")),
        ("numero della famiglia", "coefficiente", "età", "v1", ("Maschio", "Femmina")),
        ("id_agregado", "fator_exp", "idade", "v1", ("Homem", "Mulher")),
        ("huishoudnr", "gewicht", "leeftijd", "v1", ("man", "vrouw")),
        ("husholdningsnr", "designvægt", "alder", "v1", ("Mand", "Kvinde")),
        ("husholdningsnummer", "designvekt", "alder", "v1", ("mann", "kvinne")),
        ("hushållsnummer", "designvikt", "ålder", "kön", ("man", "kvinna")),
        ("kotitaloustunnus", "painokerroin", "ikä", "v1", ("mies", "nainen")),
        ("nr gospodarstwa", "waga_osoby", "wiek", "płeć", ("mężczyzna", "kobieta")),
        ("číslo domácnosti", "vaha_osoby", "věk", "pohlaví", ("muž", "žena")),
    ],
)
def test_names_and_levels_of_a_dozen_languages(
    household: str, weight: str, age: str, sex: str, levels: tuple[str, str]
) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            household: rng.permutation(np.arange(150) // 2),  # nothing follows from the values
            weight: rng.integers(20, 90, 150),
            age: rng.integers(0, 90, 150),
            sex: rng.choice(levels, 150),
        }
    )
    reader = ColumnReader(frame)
    assert reader.roles == {"weight": weight, "household": household}
    assert (reader.age, reader.sex) == (age, sex)


def test_labels_tell_roles_age_and_sex() -> None:
    frame = families().drop(columns="a2").sample(frac=1, random_state=1)
    frame["a1"] = frame["a1"].sample(frac=1, random_state=1).to_numpy()
    labels = Dictionary(
        [
            Variable("a1", "Numéro du ménage"),
            Variable("a3", values=((1, "Homme"), (2, "Femme"), (9, "Refus")), missing=((9, ""),)),
            Variable("a4", "Âge en années révolues"),
            Variable("a6", "Poids individuel"),
        ]
    )
    reader = ColumnReader(with_dictionary(frame, labels))
    assert (reader.roles, reader.age, reader.sex) == (
        {"weight": "a6", "household": "a1"},
        "a4",
        "a3",
    )


def test_a_weight_of_a_body_and_an_answer_on_weight_are_no_weights() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"q1": rng.integers(40, 120, 300), "q2": rng.integers(1, 5, 300)})
    labels = Dictionary([Variable("q1", "Weight"), Variable("q2", "What of your weight")])
    assert ColumnReader(with_dictionary(frame, labels)).roles == {}


def test_weights_of_persons_go_before_those_of_households() -> None:
    frame = families().assign(
        WGTP=lambda f: 5 + f["a1"] % 7, PWGTP=lambda f: 5 + np.arange(len(f)) % 9
    )
    roles = ColumnReader(frame).roles
    assert (roles["weight"], roles["household_weight"]) == ("PWGTP", "WGTP")
    assert ColumnReader(frame.drop(columns="PWGTP")).roles["weight"] == "WGTP"


def test_a_file_of_households_has_no_household_of_persons() -> None:
    frame = pd.DataFrame({"HHID": range(300), "SERIALNO": np.repeat(range(150), 2), "x": 1})
    assert "household" not in ColumnReader(frame).roles


def test_codes_are_told_from_amounts_that_people_round() -> None:
    rng = np.random.default_rng(5)
    amounts = rng.lognormal(10, 1, 6_000)
    heaped = np.where(rng.random(6_000) < 0.6, np.round(amounts, -3), np.round(amounts, -2))
    assert not look_like_codes(heaped)
    assert not look_like_codes(rng.integers(1, 200, 6_000).astype(float))
    shares = rng.gamma(0.4, size=150)
    codes = rng.choice(1_000 + 30 * np.arange(150), 6_000, p=shares / shares.sum())
    assert look_like_codes(codes.astype(float))
    frame = pd.DataFrame({"income": codes, "isco": heaped})
    reader = ColumnReader(frame)
    assert not reader.are_codes("income")  # a name of an amount
    assert reader.are_codes("isco")  # a name of a classification


def test_census_microdata_under_their_own_names() -> None:
    frame = pd.read_parquet(zoo_file("acs_pums.parquet"))
    reader = ColumnReader(frame)
    assert reader.roles == {
        "weight": "PWGTP", "household": "SERIALNO", "household_weight": "WGTP",
        "household_size": "NP", "strata": "REGION",
    }  # fmt: skip
    assert (reader.age, reader.sex) == ("AGEP", "SEX")
    codes = [name for name in frame if frame[name].nunique() > 30 and reader.are_codes(name)]
    assert codes == ["PUMA", "ST", "TAXP", "INDP", "OCCP", "POBP", "JWDP", "ANC1P", "FOD1P"]


def test_what_is_said_is_no_question_and_none_is_an_answer() -> None:
    frame = families()
    known = {"household": None, "weight": "a6", "age": "a4", "sex": "a2"}
    profile = profile_survey(frame, known=known)
    assert (profile.roles, profile.sex, profile.questions) == ({"weight": "a6"}, "a2", ())
    assert profile.column("a6").why == "as was said"
    with pytest.raises(InputError, match="a9") as caught:
        profile_survey(frame, known={"household": "a9", "sexx": "a2"})
    assert "sexx" in str(caught.value)


def test_questions_stand_in_the_run_file_and_are_asked_in_a_terminal(monkeypatch) -> None:
    from synthpop.cli import options

    frame = families()
    profile = profile_survey(frame)
    text = template_text(frame, profile, "a.csv")
    assert "# Is a1 the household? It was taken for it:" in text
    assert "# It may be a6: name it above then" in text
    assert "# Is a4 the age? It was taken for it: its values run" in text
    assert "# Is a3 the sex? It was taken for it: two adults who live together" in text
    assert options.asked(profile.questions) == {}  # no terminal
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for name in ("quiet", "as_json"):  # as a command before this test may have left them
        monkeypatch.setattr(options.OUTPUT, name, False)
    replies = iter([0, 1, 1, 1])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(replies))
    assert options.asked(profile.questions) == {
        "household": None, "weight": "a6", "age": "a4", "sex": "a3"
    }  # fmt: skip
