"""Sessions on disk: a folder with steps as JSON and the original as Parquet."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from riskeval.protection.registry import VERBS, method_named
from riskeval.session.roles import SessionRoles
from riskeval.session.steps import Step, from_json, to_json
from synthpop.microdata.formats.atomic import is_temporary, replacing, write_text
from synthpop.microdata.formats.folder import sweep, sweep_where_free
from synthpop.microdata.formats.lock import LOCK, only_writer
from synthpop.microdata.frame.native import Library
from synthpop.microdata.messages.errors import Faults, InputError, OutputError
from synthpop.microdata.messages.parameters import Whole, check_choice
from synthpop.microdata.runs.hashed import with_hash, without_hash
from synthpop.microdata.version import __version__

FILES = ("session.json", "original.parquet")
TEXTS = ("weights", "household")
FORMAT = 2
WITHOUT_HASH = 1
"""The format of older files, which have no hash of themselves."""


@dataclass(frozen=True, eq=False)
class SavedSession:
    """What a folder holds."""

    original: pd.DataFrame
    roles: Mapping[str, Any]  # mapping: arguments of ``ProtectionSession``
    steps: list[Step]
    position: int
    result: str  # digest of the file after the steps
    version: str
    library: Library | None = None  # where the file came from; None for pandas


def write_session(
    path: str | Path, original: pd.DataFrame, roles: SessionRoles, steps: list[Step],
    position: int, current: pd.DataFrame, library: Library | None = None,
) -> Path:  # fmt: skip
    """Write a session; only the user may read the files (mode 0600)."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; give a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = [item.name for item in folder.iterdir() if not is_temporary(item, *FILES)]
    except OSError as error:
        raise OutputError(f"{folder} cannot be used: {error}") from error
    for name in names:
        if name not in (*FILES, LOCK):
            raise OutputError(f"{folder} holds other files ({name}, ...); give a new folder")
    with only_writer(folder):
        sweep(folder, *FILES)
        _write(folder, original, roles, steps, position, current, library)
    return folder


def _write(
    folder: Path, original: pd.DataFrame, roles: SessionRoles, steps: list[Step],
    position: int, current: pd.DataFrame, library: Library | None,
) -> None:  # fmt: skip
    with replacing(folder / FILES[1], private=True) as draft:
        _to_parquet(original, draft)
        digest = hashlib.sha256(draft.read_bytes()).hexdigest()
    plain = asdict(roles)
    plain.update({role: roles.argument(role) or {} for role in ("linked", "components")})
    record = {
        "format": FORMAT,
        "version": __version__,
        "roles": plain,
        "steps": [{"verb": s.verb, "parameters": to_json(s.parameters)} for s in steps],
        "position": position,
        "original": digest,
        "result": digest_of(current),
        "library": None if library is None else library.to_dict(),
    }
    write_text(folder / FILES[0], json.dumps(with_hash(record), indent=1), private=True)


def _to_parquet(frame: pd.DataFrame, path: Path) -> None:
    from pyarrow import ArrowException

    try:
        frame.to_parquet(path)
    except (ArrowException, ValueError, TypeError, OverflowError, NotImplementedError) as error:
        raise OutputError(f"the original cannot be written to Parquet: {error}") from error


def read_session(path: str | Path) -> SavedSession:
    """Read and check what `write_session` wrote; nothing of it is evaluated."""
    folder = Path(path)
    faults = Faults("ProtectionSession")
    for name in FILES:
        if not (folder / name).is_file():
            faults.add(str(folder), f"has no {name}", hint="Give the folder of `save`.")
    faults.raise_if_any()
    sweep_where_free(folder, *FILES)
    try:
        record = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
        if record["format"] != WITHOUT_HASH:
            record = without_hash(record)
        roles = dict(record["roles"])
        steps = [Step(s["verb"], from_json(s["parameters"])) for s in record["steps"]]
        position, digest, result = (record[n] for n in ("position", "original", "result"))
        version = str(record["version"])
        known = record.get("library")
        library = None if known is None else Library.from_dict(known)
        content = (folder / FILES[1]).read_bytes()
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError,
            NotImplementedError, OSError) as error:  # fmt: skip
        what = f"is not a saved session ({error})"
        raise InputError.of(faults.subject, FILES[0], what) from error
    if hashlib.sha256(content).hexdigest() != digest:
        faults.add(FILES[1], "is not the file that was saved", hint="Restore it.")
    _check_roles(faults, roles)
    for step in steps:
        _check_step(faults, step)
    if not Whole(0, len(steps)).allows(position):
        faults.add(FILES[0], f"position {position!r} is none of 0 to {len(steps)}")
    faults.raise_if_any()
    original = pd.read_parquet(folder / FILES[1])
    return SavedSession(original, roles, steps, position, str(result), version, library)


def _check_roles(faults: Faults, roles: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(SessionRoles)]
    for name, value in roles.items():
        check_choice(faults, "roles", name, known)
        if name in ("linked", "components"):
            fine = isinstance(value, dict) and all(_are_texts(item) for item in value.values())
        elif name in TEXTS:
            fine = value is None or isinstance(value, str)
        else:
            fine = _are_texts(value)
        if not fine:
            faults.add(FILES[0], f"role {name!r} is {value!r}")
    if "keys" not in roles:
        faults.add(FILES[0], "has no keys")


def _are_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _check_step(faults: Faults, step: Step) -> None:
    """Note an unknown verb, and arguments that it does not have: a script prints their names."""
    check_choice(faults, "verb", step.verb, VERBS)
    if step.verb not in VERBS:
        return
    parameters = inspect.signature(method_named(step.verb)).parameters
    for name in step.parameters:
        check_choice(faults, f"{step.verb}: argument", name, list(parameters)[1:])
    for name, parameter in list(parameters.items())[1:]:
        if parameter.default is inspect.Parameter.empty and name not in step.parameters:
            faults.add(step.verb, f"needs {name!r}")


def digest_of(frame: pd.DataFrame) -> str:
    """Hash of names, values and types, the same after a way through Parquet."""
    digest = hashlib.sha256()
    for values in [frame.index.to_series(), *(frame[name] for name in frame.columns)]:
        text = pd.api.types.is_string_dtype(values.dtype) or values.dtype == object
        digest.update(repr((values.name, "text" if text else str(values.dtype))).encode())
        if text:  # None and NaN are one thing
            values = values.astype(object).where(values.notna(), "\0")
        digest.update(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
    return digest.hexdigest()
