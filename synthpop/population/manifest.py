"""The record of a population: what was computed, from what, and where each block lies.

The only module that knows the keys of ``manifest.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from synthpop.microdata.formats.hashed import content_hash
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.frame.dictionary import Dictionary
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import from_record, to_record
from synthpop.population.plain_values import (
    Data,
    ManifestError,
    check_hash,
    checked_values,
    json_values,
    parsed_json,
)
from synthpop.population.run_identity import RunIdentity, StoredRoles

FORMAT, FIRST_FORMAT = 2, 1
RUNNING, COMPLETE = "running", "complete"


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """The survey that the population was learned from."""

    n_persons: int = 0
    n_households: int = 0
    weight: str = ""


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """One block of whole households."""

    n_households: int
    n_persons: int
    file: str = ""  # relative to the folder; empty in memory
    hash: str = ""  # blake2b of the file
    bytes: int = 0
    fallbacks: tuple[Fallback, ...] = ()  # those of this block; stored in its own record only

    def to_dict(self) -> Data:
        """Return the entry of the manifest."""
        entry = {"n_households": self.n_households, "n_persons": self.n_persons}
        if not self.file:
            return entry
        return {"file": self.file, **entry, "hash": self.hash, "bytes": self.bytes}

    @classmethod
    def from_dict(cls, data: Any) -> BlockRecord:
        """Return the block that `to_dict` described."""
        kinds: dict[str, Any] = {"n_households": int, "n_persons": int}
        if isinstance(data, Mapping) and "file" in data:
            kinds |= {"file": str, "hash": str, "bytes": int}
        return cls(**checked_values("blocks", data, kinds))

    def to_record(self, run: str) -> str:
        """Return the text of the record of its own that a block on disk has."""
        data = {**self.to_dict(), "run": run, "fallbacks": list(map(_recorded, self.fallbacks))}
        return json.dumps({**data, "record_hash": content_hash(data)}, ensure_ascii=False) + "\n"

    @classmethod
    def from_record(cls, text: str) -> tuple[BlockRecord, str]:
        """Return the block of a record, and its run; a ManifestError where it is damaged."""
        data = parsed_json(text)
        values = checked_values("record", data, {"run": str, "record_hash": str, "fallbacks": list})
        check_hash(data, "record_hash")
        notes = tuple(_fallback(item) for item in values["fallbacks"])
        return replace(cls.from_dict(data), fallbacks=notes), values["run"]


@dataclass(frozen=True, slots=True)
class SurveyStepRecord:
    """What a step on the survey did before the fit."""

    stage: str  # label of the step, which begins with its kind
    summary: str = ""
    seed: int | None = None
    # numbers and tables of this kind of step only
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> Data:
        """Return plain values for JSON, those of the details beside the others."""
        data: Data = {"stage": self.stage, "summary": self.summary, "seed": self.seed}
        known = {name: value for name, value in data.items() if value not in ("", None)}
        return {**known, **self.details}

    @classmethod
    def from_dict(cls, data: Any) -> SurveyStepRecord:
        """Return the record that `to_dict` described."""
        checked_values("prepared", data, {"stage": str})
        details = {name: data[name] for name in data if name not in ("stage", "summary", "seed")}
        return cls(data["stage"], data.get("summary", ""), data.get("seed"), details)


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What a step on the finished population did, with the numbers that verify it."""

    stage: str  # label of the step
    summary: str
    converged: bool  # all margins are met within the tolerance
    tolerance: float
    seed: int | None  # None where the draws come from a secret key
    gap: float  # sum of absolute differences to the known totals
    margins: Mapping[str, list[Any]]  # table of cells, column -> values
    moved_later: float = 0.0  # sum of absolute changes of these totals by later steps
    # the cells recounted at the end, where later steps moved them
    cells_at_the_end: Mapping[str, list[Any]] | None = None
    # numbers and tables of this kind of step only
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> Data:
        """Return plain values for JSON."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        return {key: value for key, value in data.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Any) -> StepRecord:
        """Return the record that `to_dict` described."""
        number = (int, float, type(None))
        kinds: dict[str, Any] = {
            "stage": str, "summary": str, "converged": bool, "tolerance": number,
            "gap": number, "margins": dict, "moved_later": number, "details": dict,
        }  # fmt: skip
        values = checked_values("steps", data, kinds)
        return cls(**values, seed=data.get("seed"), cells_at_the_end=data.get("cells_at_the_end"))


@dataclass(frozen=True, slots=True)
class FinishRecord:
    """The steps on the finished population, and how large it was before them."""

    summary: str
    n_persons_before: int
    n_households_before: int
    steps: tuple[StepRecord, ...] = ()

    def to_dict(self) -> Data:
        """Return plain values for JSON."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        return {**data, "steps": [step.to_dict() for step in self.steps]}

    @classmethod
    def from_dict(cls, data: Any) -> FinishRecord:
        """Return the record that `to_dict` described."""
        numbers = dict.fromkeys(("n_persons_before", "n_households_before"), int)
        values = checked_values("finished", data, {"summary": str, **numbers, "steps": list})
        steps = tuple(StepRecord.from_dict(item) for item in values.pop("steps"))
        return cls(**values, steps=steps)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that is needed to read, to verify and to repeat a population."""

    identity: RunIdentity
    # {"complete", "running"}: while a run is running only its identity is known
    status: str = COMPLETE
    roles: StoredRoles = field(default_factory=StoredRoles)
    sample: SampleRecord = field(default_factory=SampleRecord)
    columns: tuple[Field, ...] = ()
    blocks: tuple[BlockRecord, ...] = ()
    fallbacks: tuple[Fallback, ...] = ()
    # label of a model -> how its strata were pooled
    pooling: Mapping[str, Any] = field(default_factory=dict)
    prepared: tuple[SurveyStepRecord, ...] = ()  # what the steps on the survey did
    finished: FinishRecord | None = None
    # other files of the folder, such as the report -> hash, empty until the run has written them
    files: Mapping[str, str] = field(default_factory=dict)
    # labels, codes and missing codes of the variables (`Dictionary.to_dict`)
    dictionary: Data = field(default_factory=dict)
    format: int = FORMAT  # the first one, of version 0.1, has neither a hash nor records apart

    @property
    def complete(self) -> bool:
        """Whether the population is finished."""
        return self.status == COMPLETE

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return sum(block.n_persons for block in self.blocks)

    @property
    def n_households(self) -> int:
        """Number of households."""
        return sum(block.n_households for block in self.blocks)

    @property
    def steps(self) -> tuple[StepRecord, ...]:
        """The steps on the finished population."""
        return () if self.finished is None else self.finished.steps

    def to_dict(self) -> Data:
        """Return plain values for JSON, with the hash of all of them."""
        data: Data = {
            "format": self.format,
            "status": self.status,
            "identity": self.identity.to_dict(),
        }
        if self.complete:
            data |= {
                "roles": asdict(self.roles),
                "sample": asdict(self.sample),
                "n_persons": self.n_persons,
                "n_households": self.n_households,
                "blocks": [block.to_dict() for block in self.blocks],
                "fallbacks": list(map(_recorded, self.fallbacks)),
                "pooling": dict(self.pooling),
                "prepared": [item.to_dict() for item in self.prepared],
                "finished": None if self.finished is None else self.finished.to_dict(),
                "files": dict(self.files),
            }
        data = json_values(data)
        if self.complete:  # levels come back as they are: they may be infinite numbers
            data["columns"] = [item.to_dict() for item in self.columns]
            if self.dictionary:
                data["dictionary"] = self.dictionary
        return data if self.format == FIRST_FORMAT else {**data, "hash": content_hash(data)}

    def to_text(self) -> str:
        """Return readable JSON, the same for the same manifest."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1, default=str) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Return the manifest that `to_text` wrote; a ManifestError where it cannot be read."""
        return cls.from_dict(parsed_json(text))

    @classmethod
    def from_dict(cls, data: Any) -> Manifest:
        """Return the manifest that `to_dict` described; see `from_text`."""
        if not isinstance(data, Mapping):
            raise ManifestError("it holds no table of keys")
        if data.get("format") == FIRST_FORMAT and "hash" not in data:
            return replace(cls.from_dict(_of_first_format(data)), format=FIRST_FORMAT)
        if data.get("format") != FORMAT:
            raise ManifestError(f"format {data.get('format')} is not {FORMAT}")
        values = checked_values("manifest", data, {"status": str, "identity": dict, "hash": str})
        check_hash(data, "hash")
        identity = RunIdentity.from_dict(values["identity"])
        if values["status"] == RUNNING:
            return cls(identity, RUNNING)
        if values["status"] != COMPLETE:
            raise ManifestError(f"status {values['status']!r} is unknown")
        return cls._complete(identity, data)

    @classmethod
    def _complete(cls, identity: RunIdentity, data: Mapping[str, Any]) -> Manifest:
        kinds = {
            "roles": dict, "sample": dict, "columns": list, "n_persons": int, "n_households": int,
            "blocks": list, "fallbacks": list, "pooling": dict, "prepared": list, "files": dict,
        }  # fmt: skip
        values = checked_values("manifest", data, kinds)
        roles: dict[str, Any] = dict.fromkeys(item.name for item in fields(StoredRoles))
        checked_values("roles", values["roles"], dict.fromkeys(roles, (str, type(None))))
        sample: dict[str, Any] = {"n_persons": int, "n_households": int, "weight": str}
        finished = data.get("finished")
        manifest = cls(
            identity,
            COMPLETE,
            StoredRoles(**{name: values["roles"][name] for name in roles}),
            SampleRecord(**checked_values("sample", values["sample"], sample)),
            _columns(values["columns"]),
            tuple(BlockRecord.from_dict(item) for item in values["blocks"]),
            tuple(_fallback(item) for item in values["fallbacks"]),
            values["pooling"],
            tuple(SurveyStepRecord.from_dict(item) for item in values["prepared"]),
            None if finished is None else FinishRecord.from_dict(finished),
            values["files"],
            _dictionary(data.get("dictionary", {})),
        )
        for name in ("n_persons", "n_households"):
            if getattr(manifest, name) != values[name]:
                raise ManifestError(f"{name} is not the sum of its blocks")
        return manifest


def _of_first_format(data: Mapping[str, Any]) -> Data:
    """Return a manifest of version 0.1 as one of today."""
    identity = data.get("identity")
    if isinstance(identity, Mapping):
        identity = {"models": "", "environment": {}, **identity}
    none_then: Data = {"pooling": {}, "prepared": [], "files": {}}
    data = {**none_then, **data, "identity": identity, "format": FORMAT}
    return {**data, "hash": content_hash(data)}


def _dictionary(data: Any) -> Data:
    """Return the entry of the dictionary; a faulty one is a fault of the manifest."""
    try:
        return Dictionary.from_dict(data).to_dict()
    except (InputError, AttributeError, TypeError) as problem:
        raise ManifestError(f"its dictionary cannot be read ({problem})") from None


def _recorded(fallback: Fallback) -> Data:
    """Return a fallback for JSON: its English text, and what the text was made from."""
    return {**asdict(fallback), "message": to_record(fallback.what)}


def _fallback(data: Any) -> Fallback:
    kinds = {"stage": str, "stratum": str, "what": str, "n_persons": int}
    values = checked_values("fallbacks", data, kinds)
    try:
        return Fallback(**{**values, "what": from_record(data.get("message", values["what"]))})
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise ManifestError(f"a note of its fallbacks cannot be read ({problem})") from None


def _columns(items: Sequence[Any]) -> tuple[Field, ...]:
    try:
        columns = tuple(Field.from_dict(item) for item in items)
    except (KeyError, TypeError, ValueError):
        raise ManifestError("columns are incomplete") from None
    is_usable = [f.kind in ("categorical", "numeric") and isinstance(f.name, str) for f in columns]
    if not is_usable or not all(is_usable):
        raise ManifestError("columns are incomplete")
    return columns
