"""Every verb of the objects that users hold, on every recipe and source, at its defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest

from riskeval import Comparison, ProtectionSession
from riskeval.protection.registry import VERBS
from synthpop import FittedPipeline, MicrodataWarning, Population, Survey, load_fitted
from synthpop.microdata.frame.native import library_of
from tests.journeys.journey import (
    CELLS,
    KEYS,
    QUICK,
    SCALE,
    JourneyOf,
    assert_an_answer,
    slow_unless,
)

SHOWN = ("__repr__", "_repr_html_")
"""What a console and a notebook do with an object."""


def verbs_of(cls: type[Any]) -> list[str]:
    """Return the public methods of a class and the properties that compute, with those of display.

    Slots of a record hold what it was made with: nothing is computed there.
    """
    kinds = (property, cached_property, classmethod, staticmethod)
    named = {name: inspect.getattr_static(cls, name) for name in dir(cls) if name[0] != "_"}
    return [
        *(n for n, item in named.items() if inspect.isfunction(item) or isinstance(item, kinds)),
        *SHOWN,
    ]


Call = Callable[[Any, Path], Any]  # of the object and a folder


def plain(names: str) -> dict[str, Call]:
    """Use verbs and properties without arguments."""

    def use(it: Any, folder: Path, name: str) -> Any:
        value = getattr(it, name)
        return value() if callable(value) else value

    return {name: partial(use, name=name) for name in names.split()}


def warned(write: Callable[[Path], Any], path: Path) -> Any:
    """Write a population that was drawn from its seed alone."""
    with pytest.warns(MicrodataWarning, match="drawn from its seed alone"):
        return write(path)


FITTED: dict[str, Call] = {
    **plain("derived_survey disclosed fallbacks origin pooling steps summary to_frame"),
    **plain("__repr__ _repr_html_"),
    "refit": lambda it, to: it.refit(it.survey),
    "refits": lambda it, to: [str(part) for part in it.refits().parts],
    "save": lambda it, to: [it.save(to / "fit", accept="test"), load_fitted(to / "fit")],
    "simulate": lambda it, to: [it.simulate(scale=SCALE), it.simulate(scale=SCALE, out=to / "p")],
    "replicates": lambda it, to: [
        *it.replicates(1, scale=SCALE),
        *it.replicates(1, refit="bootstrap", scale=SCALE),
    ],
}
POPULATION: dict[str, Call] = {
    **plain("arrays block_starts columns dictionary fallbacks fields frame households in_memory"),
    **plain("n_households n_persons plot roles scan summary survey to_arrow to_frame"),
    **plain("__repr__ _repr_html_"),
    "guessed_draws": lambda it, to: it.guessed_draws,
    "iter_blocks": lambda it, to: list(it.iter_blocks()),
    "read_block": lambda it, to: it.read_block(0),
    "to_csv": lambda it, to: warned(it.to_csv, to / "people.csv"),
    "to_parquet": lambda it, to: warned(it.to_parquet, to / "people.parquet"),
}
SURVEY: dict[str, Call] = {
    **plain("data household_index household_offsets household_order household_sizes"),
    **plain("dictionary frame indexed storable"),
    **plain("household_weights n_households n_persons plot sampled_units summary to_frame"),
    **plain("__repr__ _repr_html_"),
    "codes": lambda it, to: it.codes("pl030"),
    "coded": lambda it, to: it.coded(KEYS),
    "field": lambda it, to: it.field("netIncome"),
    "in_library": lambda it, to: it.in_library(library_of(pl.DataFrame())).data,
    "remembered": lambda it, to: it.remembered(("mean", ("age",)), it.frame["age"].mean),
    "with_frame": lambda it, to: it.with_frame(it.frame.assign(one=1), kept=it.frame.columns),
    "with_roles": lambda it, to: it.with_roles(strata=None),
    "with_column": lambda it, to: it.with_column("one", np.ones(it.n_persons)),
    "with_weights": lambda it, to: it.with_weights(np.full(it.n_persons, 2.0)),
}
SESSION: dict[str, Call] = {
    **plain("add_noise cells_by_column cells_changed current_frame data history individual_risk"),
    **plain("local_recoding local_suppression microaggregate mv_top_code original plot pram"),
    **plain("rank_swap redo risk steps summary to_script undo undone utility verdict"),
    **plain("__repr__ _repr_html_"),
    "apply": lambda it, to: it.apply("local_suppression"),
    "load": lambda it, to: type(it).load(it.save(to / "saved")),
    "save": lambda it, to: it.save(to / "saved"),
    "report": lambda it, to: it.report(to / "page.html"),
    "go_to": lambda it, to: it.go_to(0),
    "global_recode": lambda it, to: it.global_recode("age", breaks=[0, 14, 29, 44, 64, 120]),
    "group_categories": lambda it, to: it.group_categories(
        "pl030", groups={"works": ["full-time", "part-time"]}
    ),
    "top_bottom_code": lambda it, to: it.top_bottom_code("netIncome", upper=40_000),
    "suppress_risky": lambda it, to: it.suppress_risky("rb090", threshold=0.05),
    "minimal_generalization": lambda it, to: it.minimal_generalization(
        {name: ["*"] for name in KEYS}, k=2
    ),
    "mondrian": lambda it, to: it.mondrian(k=3),
    "record_swap": lambda it, to: it.record_swap(
        hierarchy=["db040"], similar=["hsize"], risk_keys=["pl030"]
    ),
    "create_new_id": lambda it, to: it.create_new_id("db030"),
    "shuffle": lambda it, to: it.shuffle(formula="netIncome ~ age + rb090"),
    "merge_household_file": lambda it, to: it.merge_household_file(
        it.original_frame[["db030"]].drop_duplicates().assign(tenure="own")
    ),
    "weights": lambda it, to: it.apply("weights", strata=["db040"]),
    **plain("original_of_current"),
    "drop": lambda it, to: [it.drop({"hsize": {"least": 6}}), it.risk(), it.report(to / "d.html")],
    "sample": lambda it, to: [it.sample(0.5), it.verdict(), type(it).load(it.save(to / "half"))],
    "set_missing": lambda it, to: it.set_missing("pl030", where={"age": {"least": 80}}),
    "round_to": lambda it, to: it.round_to("netIncome", 100),
    "recode_values": lambda it, to: it.recode_values("age", [[80, 120, 85]]),
    "replace": lambda it, to: [it.replace(it.data.iloc[1:], "one record left out"), it.utility()],
}
COMPARISON: dict[str, Call] = {
    **plain("notes plot risk_utility_map summary to_frame __repr__ _repr_html_"),
    "report": lambda it, to: it.report(to / "page.html"),
    "best": lambda it, to: it.best(("pmse", "tables")),
    "described": lambda it, to: it.described("below_3"),
    "has": lambda it, to: it.has("below_3"),
    "rows_of": lambda it, to: it.rows_of("below_3"),
    "title_of": lambda it, to: it.title_of("below_3"),
    "values": lambda it, to: it.values("below_3"),
}
CALLS: dict[type[Any], dict[str, Call]] = {
    FittedPipeline: FITTED,
    Population: POPULATION,
    Survey: SURVEY,
    ProtectionSession: SESSION,
    Comparison: COMPARISON,
}

OBJECTS: dict[type[Any], str] = {
    FittedPipeline: "fitted",
    Population: "population",
    Survey: "learned_from",
    ProtectionSession: "session",
    Comparison: "comparison",
}
"""Class -> what of a journey is of it."""

OF_TWO_FILES = "compares two files, whose columns those of the README's recipe have all kinds of"
OF_THE_FILE = "works on the file of the survey, to which recipes only add what they derive"
REASONS = {Survey: OF_THE_FILE, ProtectionSession: OF_THE_FILE, Comparison: OF_TWO_FILES}
"""Class -> why it is met with the README's recipe alone."""
NOT_RUN: dict[tuple[type[Any], str, str, str], str] = {
    (cls, verb, recipe, source): reason
    for cls, reason in REASONS.items()
    for verb in CALLS[cls]
    for recipe, source in CELLS
    if recipe != "readme"
}
"""Class, verb, recipe and source that are not run -> the reason."""


@pytest.mark.parametrize("cls", CALLS, ids=lambda cls: cls.__name__)
def test_every_verb_is_in_the_matrix(cls: type[Any]) -> None:
    assert sorted(CALLS[cls]) == sorted(verbs_of(cls))


def test_the_verbs_of_a_session_are_all_methods_of_protection() -> None:
    assert set(VERBS) <= set(SESSION)


@pytest.mark.parametrize(
    ("cls", "verb", "recipe", "source"),
    [
        pytest.param(
            cls,
            verb,
            *cell,
            id=f"{cls.__name__}.{verb}-{'-'.join(cell)}",
            marks=slow_unless(cell in (QUICK if cls not in REASONS else [("readme", "csv")])),
        )
        for cls, calls in CALLS.items()
        for verb in calls
        for cell in CELLS
        if (cls, verb, *cell) not in NOT_RUN
    ],
)
def test_a_verb_answers(
    cls: type[Any], verb: str, recipe: str, source: str, journey_of: JourneyOf
) -> None:
    journey = journey_of(recipe, source)
    folder = journey.folder / f"{cls.__name__}.{verb}"
    folder.mkdir()
    assert_an_answer(CALLS[cls][verb](getattr(journey, OBJECTS[cls]), folder))
    plt.close("all")
