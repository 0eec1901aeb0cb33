"""Forms from signatures: a new method appears without a line in the app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from riskeval import protect
from riskeval.protection.entry import ProtectionMethod
from synthpop.app.create.recipe_page import forms as recipe_forms
from synthpop.app.elements import option_fields
from synthpop.app.forms import Form, make_form, protection_forms, read_form
from synthpop.app.labels import LABELS, WORDS
from synthpop.app.project import Project
from synthpop.app.protect.details_page import detail_forms
from synthpop.app.texts import translate
from synthpop.app.view import View
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.methods import Method
from synthpop.microdata.messages.parameters import Whole


@dataclass(frozen=True)
class Ring(Method):
    """Points on a ring.

    Attributes
    ----------
    points : int
        How many.
    """

    type: ClassVar[str] = "ring"
    PARAMETERS: ClassVar = {"points": Whole(1)}
    points: int = 8


@dataclass(frozen=True)
class Disc(Method):
    """Points on a disc."""

    type: ClassVar[str] = "disc"


def scatter(
    data: Any,
    variables: Sequence[str],
    *,
    shape: Ring | Disc | str = "disc",
    level: float = 0.5,
    whole: bool = False,
    note: str | None = None,
    classes: Any = None,
    seed: int | None = None,
) -> None:
    """Scatter values. Nobody does.

    Parameters
    ----------
    data : DataFrame
    variables : names of numeric columns
        What is scattered.
    shape : str or Ring or Disc
        Where to.
    level : float
        How far.
    whole : bool
        Whether the result is rounded.
    note : {"short", "long"}, optional
        "short": a word.
        "long": a sentence.
    classes : sequence
        Any list.
    """


def test_a_new_verb_appears_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ProtectionMethod(
        run=scatter, title="Scatter", question="Which?", blind_spots="others", example={}
    )
    monkeypatch.setitem(protect.VERBS, "scatter", entry)
    form = protection_forms()["scatter"]
    assert form.help == "Scatter values. Nobody does."
    assert form.option("level").kind == "number"
    assert form.option("level").default == 0.5
    assert form.option("note").choices == (("short", "a word."), ("long", "a sentence."))
    assert form.option("whole").kind == "flag"


def test_records_have_options_of_their_own() -> None:
    form = make_form(scatter)
    option = form.option("shape")
    assert option.kind == "object"
    assert [one.name for one in option.forms] == ["ring", "disc"]
    entries = {"variables": ["a"], "shape": "ring", "shape.ring.points": "3"}
    assert read_form(form, entries)["shape"] == {"type": "ring", "points": 3}
    assert read_form(form, {"variables": ["a"], "shape": "disc"})["shape"] == "disc"


def test_entries_become_arguments_and_empty_ones_are_left_out() -> None:
    form = make_form(scatter)
    entries = {"variables": ["a", "b"], "level": "0,25", "whole": "true", "note": "", "seed": "7",
               "classes": "0, 10, inf"}  # fmt: skip
    assert read_form(form, entries) == {
        "variables": ["a", "b"], "level": 0.25, "whole": True, "seed": 7,
        "classes": [0, 10, float("inf")],
    }  # fmt: skip


def test_all_faulty_entries_are_named_at_once() -> None:
    with pytest.raises(InputError) as problem:
        read_form(make_form(scatter), {"level": "much", "note": "medium", "seed": "1.5", "x": "1"})
    assert {fault.where for fault in problem.value.faults} == {
        "level", "note", "seed", "x", "variables",
    }  # fmt: skip


def test_values_are_never_evaluated() -> None:
    form = make_form(scatter)
    text = "__import__('os').getcwd()"
    assert read_form(form, {"variables": ["a"], "classes": text})["classes"] == text


def test_every_method_has_a_form_with_help() -> None:
    for verb, form in protection_forms().items():
        assert form.help.endswith("."), verb
        assert form.options, verb
        for option in form.options:
            if option.name != "seed":
                assert option.help or option.choices or option.from_role, (verb, option.name)


def options_of(form: Form) -> set[str]:
    """Names of the options of a form and of the records that they take."""
    inner = [options_of(one) for option in form.options for one in option.forms]
    return {option.name for option in form.options}.union(*inner)


def test_options_are_called_by_the_terms_of_the_field() -> None:
    text = str(option_fields(protection_forms()["add_noise"], ["income"], View(Project()).t, {}))
    assert "Noise level" in text
    assert "noise with the covariance of the data" in text
    all_forms = {**protection_forms(), **detail_forms(), **recipe_forms()}
    names = set().union(*map(options_of, all_forms.values()))
    assert {key.split(".")[-1] for key in LABELS} <= names, "a label of no option"
    same = {"Formula", "Median", "Person", "person", "median"}
    words = set(LABELS.values()) | set(WORDS.values())
    english = {text for text in words if translate("de", text) == text}
    assert english <= same | {"Moments"}
