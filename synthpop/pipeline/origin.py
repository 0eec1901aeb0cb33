"""What a run says of the survey behind its recipe, with or without the survey at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synthpop.conditional.rules.enforce import RulePlan, broken_in_survey
from synthpop.microdata.frame.block import Fallback, Sample
from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.pipeline.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class Origin:
    """Size, weight and dictionary of a survey, and its fingerprint."""

    n_persons: int
    n_households: int
    weight: str
    fingerprint: str
    dictionary: Dictionary
    broken: tuple[Fallback, ...]  # rules that the survey itself breaks

    @classmethod
    def of(cls, survey: Survey, sample: Sample, rules: RulePlan) -> Origin:
        """Return what is known of a survey that is at hand."""
        return cls(
            survey.n_persons, survey.n_households, survey.roles.weight, fingerprint(sample),
            dictionary_of(survey.frame), tuple(broken_in_survey(rules, sample)),
        )  # fmt: skip


class AbsentSurvey:
    """Stands for the survey of a fit that was read from a folder: whoever asks for it is told."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        what = "is not there: a saved fit holds what simulation needs, not the survey"
        raise InputError.of("saved fit", "survey", what, "Fit the recipe on the survey for this.")

    def __repr__(self) -> str:
        return "<AbsentSurvey>"
