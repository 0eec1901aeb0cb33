"""The folder of a protected file that may leave the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from riskeval.attacks.guessed_seeds import guessed_seeds
from riskeval.ledger.consult import NO_LEDGER, LedgerRequest
from riskeval.protection.release import release_file
from riskeval.report.protection_verdicts import verdict_rows
from riskeval.session.session import ProtectionSession
from synthpop.microdata.formats.dictionary_file import write_dictionary
from synthpop.microdata.formats.files import WRITERS, write_table
from synthpop.microdata.formats.losses import losses
from synthpop.microdata.formats.passport import Passport, types_of, write_passport
from synthpop.microdata.formats.release_folder import (
    DICTIONARY,
    PAGE,
    write_release,
    write_verdict,
)
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.language import use_language
from synthpop.microdata.roles.microdata import Microdata
from synthpop.microdata.statistics.streams import is_secret


def release_session(
    session: ProtectionSession,
    target: Path | str,
    *,
    formats: Sequence[str] = ("parquet",),
    language: str = "en",
    on_losses: Callable[[list[str]], None] = lambda _: None,
    ledger: LedgerRequest = NO_LEDGER,
    about: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> Path:
    """Write the folder that may leave: data, dictionary, external page, verdict, list of contents.

    No seed, no step's arguments and nothing of the original go with it. Records are in a fresh
    random order with new household numbers. The file is attacked before it is written
    (`guessed_seeds`).

    ledger: asked before anything is written, and told after; its reason to publish all the same
    about: title, description, licence, citation and publisher, as far as they are to be told
    options: ``drop``, ``identifiers`` and ``order`` of `release_file`
    Raises InputError: a step that draws from a seed which can be guessed, an unknown format.
        OutputError: the target is there. GuaranteeError: the attack finds the draws; or the
        release must not be published, by itself or beside those of the ledger, and no reason is
        given to do it all the same.
    """
    faults = Faults("release")
    for number, step in enumerate(session.steps, 1):
        if step.seed is not None and not is_secret(step.seed):
            what = f"draws from the seed {step.seed}, which can be guessed"
            hint = "Repeat the step without a seed, or run the plan by riskeval release."
            faults.add(f"step {number}, {step.verb}", what, hint=hint)
    endings = [f".{name.lower().lstrip('.')}" for name in formats]
    for ending in endings:
        if ending not in WRITERS:
            known = ", ".join(name.lstrip(".") for name in WRITERS)
            faults.add("format", f"{ending} is unknown", hint=f"Give {known}.")
    faults.raise_if_any()
    home = session.roles.household
    frame = release_file(
        session.current_frame(),
        household=home,
        dictionary=dictionary_of(session.original_frame),
        **options,
    )
    shown = home if home in frame else None
    attack = guessed_seeds(frame, _present(session, frame), household=shown)
    if attack.found:
        raise GuaranteeError(f"release: {attack.summary()} Nothing was written.")
    notes = [attack.summary()]
    if options.get("order") == "keep":
        notes.append("The order of the records is that of the source, as the plan says.")
    roles = session.roles
    released = Microdata(
        frame, keys=[name for name in roles.keys if name in frame],
        sensitive=[name for name in roles.sensitive if name in frame], household=shown,
    )  # fmt: skip
    verdict = ledger.allow(session.verdict(), ledger.consult(released))

    def write(draft: Path) -> Mapping[str, Any]:
        for ending in endings:
            on_losses(losses(frame, draft / f"protected{ending}"))
            write_table(frame, draft / f"protected{ending}")
        known = dictionary_of(frame).variables
        names = [str(name) for name in frame.columns]
        complete = Dictionary([known.get(name, Variable(name)) for name in names])
        write_dictionary(complete, draft / DICTIONARY)
        session.report(draft / PAGE, audience="external", language=language)
        with use_language(language):
            rows = verdict_rows(session, external=True)
            write_verdict(draft, ledger.told(verdict), rows, notes)
        data = {"name": "protected", "records": len(frame), "columns": names}
        method = [f"{number}. {step.verb}" for number, step in enumerate(session.steps, 1)]
        write_passport(draft, Passport(
            False, [data], complete, method, rows, ledger.told(verdict), about, types_of(frame),
            roles.weights if roles.weights in frame else None, language,
        ))  # fmt: skip
        return {"synthetic": False, "data": [data]}

    folder = write_release(Path(target), write)
    ledger.record(released, folder, verdict.level)
    return folder


def _present(session: ProtectionSession, frame: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the steps with those of their columns that the released file has."""
    steps: list[tuple[str, Mapping[str, Any]]] = []
    for step in session.steps:
        arguments = dict(step.parameters)
        for name in ("variables", "columns"):
            if name in arguments:
                columns = arguments[name]
                listed = [columns] if isinstance(columns, str) else columns
                arguments[name] = [column for column in listed if column in frame]
        steps.append((step.verb, arguments))
    return steps
