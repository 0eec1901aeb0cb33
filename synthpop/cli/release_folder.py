"""The folder of a population, or of its replicates, that may leave the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pandas as pd

from riskeval.auditing.stored import StoredAudit, read_audit
from riskeval.ledger.consult import NO_LEDGER, LedgerRequest
from riskeval.protection.release import release_file
from riskeval.verdict.file import file_evidence
from riskeval.verdict.verdict import ReleaseVerdict, verdict_of
from synthpop.evaluation.guessed_draws import guessed_draws
from synthpop.microdata.formats.dictionary_file import write_dictionary
from synthpop.microdata.formats.files import WRITERS, write_table
from synthpop.microdata.formats.losses import losses
from synthpop.microdata.formats.passport import Passport, types_of, write_passport
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.formats.release_folder import (
    DICTIONARY,
    PAGE,
    write_release,
    write_verdict,
)
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.messages.errors import GuaranteeError, InputError, OutputError
from synthpop.microdata.messages.events import Event, Listener, silent
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.messages.message import message
from synthpop.microdata.roles.microdata import Microdata
from synthpop.population.folders import MANIFEST
from synthpop.population.population import Population, open_population
from synthpop.population.run_key import read_key
from synthpop.report.stored import FILE, load_report
from synthpop.report.write import stored_facts, write_stored
from synthpop.sampling.designs import SimpleRandom
from synthpop.sampling.draw import WEIGHT, draw_sample
from synthpop.sampling.stage_designs import Cluster
from synthpop.stages.structure import Structure

NOT_JUDGED = (
    "Neither fit nor risk was judged: the folder has no facts of a report. Run its run file, or "
    "judge the file with riskeval."
)
NO_ATTACK = message(
    "what the file tells about persons of the survey, which riskeval judge measures with a hold-out"
)


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """What is to be released, and how."""

    formats: Sequence[str] = ("parquet",)
    sample: int | None = None  # draw so many households (persons where there are none)
    language: str = "en"
    on_losses: Callable[[list[str]], None] = lambda _: None
    listener: Listener = silent
    ledger: LedgerRequest = NO_LEDGER  # asked before anything is written, and told after
    about: Mapping[str, str] = field(default_factory=dict)  # see `Passport`
    audit: Path | None = None  # what `riskeval audit` found about the recipe


def release_population(folder: Place | str, target: Path | str, request: ReleaseRequest) -> Path:
    """Write the folder that may leave: data, dictionary, external page, verdict, list of contents.

    Nothing of the run goes with it: no seed, no key, no record of the fit, no fact of the survey.
    Households, and members in them, are in random order with new numbers. Each file is attacked
    before it is written (`guessed_draws`).

    folder: of a population, or of replicates
    Raises OutputError: drawn without a secret key, an unknown format, a target that is there.
        GuaranteeError: the attack finds the draws; or it must not be published, by itself or beside
        earlier ones, and no reason is given to do it all the same.
    """
    home = place(folder)
    populations = _populations(home)
    for path, population in populations.items():
        if not population.manifest.identity.sealed:
            raise OutputError(
                f"{path} was made without a secret key: its draws follow from its seed. Make it "
                "again in another folder, and release that one."
            )
    endings = [f".{name.lower().lstrip('.')}" for name in request.formats]
    unknown = [name for name in endings if name not in WRITERS]
    if unknown or not endings:
        known = ", ".join(name.lstrip(".") for name in WRITERS)
        hint = f"Give {known}."
        raise InputError.of("release", "format", f"{', '.join(unknown) or 'none'} is unknown", hint)

    first_folder, first = next(iter(populations.items()))
    audit = None if request.audit is None else _audit(request.audit, first_folder, first)
    released: list[tuple[str, Microdata]] = []
    levels: list[str] = []

    def write(draft: Path) -> Mapping[str, Any]:
        notes, facts, verdicts, checks = [], [], [], []
        for number, population in enumerate(populations.values(), 1):
            request.listener(Event("progress", "release", number - 1, len(populations)))
            name = "sample" if request.sample else "population"
            name = name if len(populations) == 1 else f"{name}-{number:04d}"
            frame = released_frame(population, request.sample)
            notes.append(f"{name}: {_attacked(frame, population)}")
            verdicts.append(verdict_of(file_evidence(frame, [], persons=False), [],
                                       not_tried=[NO_ATTACK]))  # fmt: skip
            file = Microdata(frame, household=population.roles.household)
            checks += request.ledger.consult(file, synthetic=True)
            if request.ledger.folder is not None:
                released.append((name, file))
            for ending in endings:
                request.on_losses(losses(frame, draft / f"{name}{ending}"))
                write_table(frame, draft / f"{name}{ending}")
            facts.append({"name": name, "records": len(frame), "columns": list(frame.columns)})
            if number == 1:
                dictionary = _write_dictionary(frame, draft / DICTIONARY)
                types = types_of(frame)
        if audit is not None:
            verdicts.append(verdict_of(audit.findings(), []))
        verdict = request.ledger.allow(reduce(ReleaseVerdict.beside, verdicts), checks)
        levels.append(verdict.level)
        with use_language(request.language):
            of_audit = [] if audit is None else [audit.row()]
        rows = _write_page(home, first, draft, request, (verdict, notes), of_audit)
        write_passport(draft, Passport(
            True, facts, dictionary, [str(step["type"]) for step in first.manifest.identity.recipe],
            rows, request.ledger.told(verdict), request.about, types, _weights(frame),
            request.language,
        ))  # fmt: skip
        request.listener(Event("end", "release", len(populations), len(populations)))
        return {"synthetic": True, "data": facts}

    result = write_release(Path(target), write)
    for name, file in released:
        request.ledger.record(
            file, result, levels[0], name=f"{result.name}: {name}", synthetic=True
        )
    return result


def _populations(home: Place) -> dict[Place, Population]:
    """Return the population of a folder, or the replicates below it."""
    if (home / MANIFEST).exists() or not home.is_dir():
        return {home: open_population(home)}
    below = sorted((path for path in home.iterdir() if (path / MANIFEST).exists()), key=str)
    return {path: open_population(path) for path in below} or {home: open_population(home)}


def _audit(path: Path, folder: Place, population: Population) -> StoredAudit:
    """Read the audit of the recipe and the survey of a population."""
    identity, known = population.manifest.identity, read_key(folder)
    if known is None:
        what = f"the key beside {folder} is needed to tell whether {path} is of its survey"
        raise InputError.of("release", "audit", what, "Put run.key back.")
    seal = partial(known[0].seal, "survey")
    return read_audit(path, identity.recipe, lambda one: identity.survey == seal(one))


def released_frame(population: Population, sample: int | None = None) -> pd.DataFrame:
    """Return the persons, or those of some households drawn at random, as they may leave."""
    home, person = population.roles.household, population.roles.person
    frame = population.frame()
    if sample is not None:
        unit = Cluster(home, SimpleRandom(sample)) if home else SimpleRandom(sample)
        dictionary = dictionary_of(frame)
        frame = with_dictionary(draw_sample(frame, unit).frame, dictionary)
    identifiers = [person] if person else []
    released: pd.DataFrame = release_file(frame, household=home, identifiers=identifiers)
    return released


def _attacked(frame: pd.DataFrame, population: Population) -> str:
    """Attack a file as it leaves; say what was found, and end where it is more than chance."""
    recipe = population.manifest.identity.recipe
    step = next((one for one in recipe if one.get("type") == "structure"), None)
    if step is None:
        return "No step copied households: no draws of donors were attacked."
    structure = Structure(list(step["variables"]), jitter=step.get("jitter"))
    roles = population.roles
    result = guessed_draws(
        frame,
        structure=structure,
        household=roles.household,
        strata=roles.strata,
        rows_per_block=population.manifest.identity.rows_per_block,
    )
    if result.found:
        raise GuaranteeError(f"release: {result.summary()} Nothing was written.")
    return result.summary()


def _write_dictionary(frame: pd.DataFrame, path: Path) -> Dictionary:
    known = dictionary_of(frame).variables
    dictionary = Dictionary([known.get(name, Variable(name)) for name in frame.columns])
    write_dictionary(dictionary, path)
    return dictionary


def _weights(frame: pd.DataFrame) -> str | None:
    """Return the column of weights that a drawn sample has."""
    return WEIGHT if WEIGHT in frame else None


def _write_page(
    home: Place, population: Population, draft: Path, request: ReleaseRequest,
    judged: tuple[ReleaseVerdict, list[str]], more: Sequence[Mapping[str, str]],
) -> list[Mapping[str, str]]:  # fmt: skip
    """Write the external page and the verdict, as far as something was judged; return its rows.

    more: rows beside those of the page
    """
    verdict, notes = judged
    rows = list(more)
    if (home / FILE).exists():
        source = load_report(home)
        source = replace(source, title=request.about.get("title", source.title))
        language = request.language
        write_stored(draft / PAGE, source, population, audience="external", language=language)
        with use_language(request.language):
            rows = [*stored_facts(source, population, True)["verdicts"], *more]
    else:
        notes = [NOT_JUDGED, *notes]
    write_verdict(draft, request.ledger.told(verdict), rows, notes)
    return rows
