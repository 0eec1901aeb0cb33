"""An audit as a file, from which the release of what it is about tells its figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from riskeval.auditing.result import Audit, bound_text, stage_text
from riskeval.verdict.verdict import EXCEEDED, Finding
from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message, sentences
from synthpop.microdata.messages.text import join, percent, plural

KIND = "audit of a generator"


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """What a release tells of the audit of its generator."""

    recipe: list[object]  # steps with their options, as a manifest records them
    survey: str  # fingerprint
    n_refits: int
    limit: float
    confidence: float
    epsilon: float  # at least; 0: nothing is proven
    leaking: list[str]  # stages
    highest: float  # lower limit of the share recognised, of the group with the largest

    def row(self) -> dict[str, str]:
        """Return what a page judges: what, word and the reason with its meaning."""
        word = message("no stage named")
        if self.leaking:
            word = message("names {stages}", stages=join(map(stage_text, self.leaking)))
        reason = sentences(
            bound_text(self.epsilon, self.confidence),
            message(
                "At one false alarm in a hundred at least {low} of the households looked for are "
                "recognised; above {limit} a stage is named.",
                low=percent(self.highest, 0), limit=percent(self.limit, 0),
            ),
            message(
                "Measured in {refits} with and without some households. These are lower bounds: "
                "other attacks may show more, and none of them proves privacy.",
                refits=plural(self.n_refits, "refit"),
            ),
        )  # fmt: skip
        return {"what": message("Audit of the generator"), "word": word, "reason": reason}

    def findings(self) -> list[Finding]:
        """Return what speaks against the release: stages that give respondents away."""
        if not self.leaking:
            return []
        text = message(
            "an audit of the generator names {stages}", stages=join(map(stage_text, self.leaking))
        )
        return [Finding("stages that give respondents away", text, EXCEEDED, self.highest,
                        self.limit, "ten times what guessing reaches",
                        assumed="an intruder knows the household that is looked for")]  # fmt: skip


def store_audit(path: Path, audit: Audit) -> None:
    """Write what a release tells of an audit; the file stays in the office."""
    rates = [one.strongest.at_one_percent.lower for one in audit.groups if one.strongest]
    stored = StoredAudit(
        list(audit.recipe), audit.survey, audit.n_refits, audit.limit, audit.confidence,
        audit.epsilon, list(audit.leaking), max(rates, default=0.0),
    )  # fmt: skip
    write_text(path, json.dumps(with_hash({"kind": KIND, **asdict(stored)}), indent=1) + "\n")


def read_audit(
    path: Path, recipe: Sequence[object], is_its_survey: Callable[[str], bool]
) -> StoredAudit:
    """Read an audit for the release of a population.

    recipe: of the population
    is_its_survey: whether a fingerprint is that of the survey of the population
    Raises InputError: it cannot be read, was changed, or is of another recipe or survey.
    """
    hint = "Give the .json that riskeval audit writes."
    try:
        content = without_hash(json.loads(path.read_text(encoding="utf-8")))
        if content.pop("kind") != KIND:
            raise ValueError("it is no audit")
        stored = StoredAudit(**content)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise InputError.of("release", "audit", f"{path}: {problem}", hint) from None
    same = {
        "recipe": stored.recipe == json.loads(json.dumps(list(recipe))),
        "survey": is_its_survey(stored.survey),
    }
    if not all(same.values()):
        names = " and ".join(name for name, is_same in same.items() if not is_same)
        what = f"{path} is of another {names} than the population"
        raise InputError.of("release", "audit", what, "Audit the run file of the population.")
    return stored
