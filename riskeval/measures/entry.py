"""The entry of a measure, and what the entries share: kinds of numbers, notes, ways to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from riskeval.measures.request import AssessRequest, ByVariable
from riskeval.shared.measurement import Direction, MeasureInfo, Measurement, Unit
from synthpop.microdata.messages.entries import NamedEntry
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import Result

PERSONS = ("original", "perturbed")
"""Kinds of file in which a record stands for a person: rarity means nothing for synthetic ones."""
PRACTICE = "k = 3 and 5 are common (SDC practice guide of the World Bank)"
TREATED = {
    "wildcard": "match every value",
    "conservative": "match every value, without protecting complete records",
    "category-size": "match every value by its share",
    "conservative-2": "match only the same pattern",
    "own-category": "are a category of their own",
    "category": "are a category of their own",
    "exclude": "are left out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(NamedEntry):
    """One measure of a file: of assessments, comparisons, the risks of a session and their pages.

    Attributes
    ----------
    name : str
        Its key in assessments and run files.
    function : callable, or str
        The public function that measures it; "module:function" where importing it is dear.
    run : callable
        Function of an `AssessRequest` to a result.
    measurements : callable
        Function of the result and the request to the numbers.
    source : str
        Publication that defines it.
    needs : tuple of str
        Parts of the request without which it is left out: "weights", "population", "sensitive",
        "numeric", "alpha" (of the limits).
    options : tuple of str
        Arguments that the user may give besides those of the assessment.
    infos : tuple of MeasureInfo
        Numbers that `compare` notes as missing where the measure cannot run.
    of_keys : bool
        Whether it counts keys: such measures are left out where a file has none.
    compared : bool
        Whether `compare` and sessions run it on every file: measures that need minutes or a choice
        of the user are for `assess` alone; those of amounts run on files without keys too.
    """

    name: str
    function: Callable[..., Any] | str
    run: Callable[[AssessRequest], Any]
    measurements: Callable[[Any, AssessRequest], Sequence[Measurement]]
    source: str
    needs: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    infos: tuple[MeasureInfo, ...] = ()
    of_keys: bool = True
    compared: bool = True


def person_risk(
    name: str, title: str, unit: Unit, meaning: str, source: str, *, better: Direction = "low",
    single: bool = False,
) -> MeasureInfo:  # fmt: skip
    """Return what a risk of a file is in which a record stands for a person."""
    return MeasureInfo(
        name, "file risk", better, unit, meaning, source, title, kinds=PERSONS, single=single
    )


def missing_note(request: AssessRequest, treatment: str) -> str:
    """Say how missing keys were treated, where there are any."""
    if not (request.counts.keys.codes < 0).any():
        return ""
    return message("missing keys: {treatment}", treatment=message(TREATED[treatment]))


def k_limit(k: int, request: AssessRequest) -> dict[str, Any]:
    """Return the limit of violations of k-anonymity where this k was asked for."""
    if k != request.limits.k:
        return {}
    return {
        "limit": 0.0,
        "limit_source": message("k = {k}, as asked; {practice}", k=k, practice=message(PRACTICE)),
    }


def run_on(name: str, measure: Callable[..., Result]) -> Callable[[AssessRequest], Result]:
    """Run a measure on the file, with the options of the user."""

    def run(request: AssessRequest) -> Result:
        return measure(request.file, **request.arguments(name))

    return run


def by_variable(
    request: AssessRequest, measure: Callable[..., Result], **arguments: Any
) -> ByVariable:
    """Run a measure on each sensitive variable."""
    file = request.file
    return ByVariable(
        {one: measure(file, sensitive=one, **arguments) for one in file.roles.sensitive}
    )
