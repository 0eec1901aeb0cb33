"""Sessions on disk: a folder with steps as JSON and the original as Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import pandas as pd

from riskeval.protection.registry import VERBS
from riskeval.session.edited import EDITED
from riskeval.session.roles import SessionRoles
from riskeval.session.steps import CONTENT, Step, from_json, to_json
from synthpop.microdata.formats.files import to_parquet
from synthpop.microdata.formats.folder import Folder, current
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.formats.places import file_hash
from synthpop.microdata.frame.native import Library
from synthpop.microdata.messages.errors import Faults, InputError, OutputError
from synthpop.microdata.messages.parameters import Whole, check_choice
from synthpop.microdata.version import __version__

LABEL, ORIGINAL = "session.json", "original.parquet"
ORIGINALS = r"original(-[0-9a-f]{16})?[.]parquet"
TEXTS = ("weights", "household")
FORMAT = 3
OLDER: dict[int, Callable[[Any], dict[str, Any]]] = {
    1: lambda record: record,  # had no hash of itself
    2: lambda record: {**record, "file": ORIGINAL},
}


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
    position: int, current_file: pd.DataFrame, library: Library | None = None,
) -> Path:  # fmt: skip
    """Write a session; only the user may read the files (mode 0600)."""
    root = Path(path)
    if root.exists() and not root.is_dir():
        raise OutputError(f"{root} is a file; give a folder")
    folder = folder_of(root)
    with folder.writing():
        if others := folder.strangers():
            raise OutputError(f"{root} holds other files ({others[0]}, ...); give a new folder")
        file = folder.put(
            ORIGINAL,
            partial(to_parquet, original, what="the original"),
            rename=partial(_name, root),
        )
        plain = asdict(roles)
        plain.update({role: roles.argument(role) or {} for role in ("linked", "components")})
        record = {
            "format": FORMAT,
            "version": __version__,
            "roles": plain,
            "steps": [{"verb": s.verb, "parameters": to_json(s.parameters)} for s in steps],
            "position": position,
            "file": file.name,
            "original": file.hash,
            "result": digest_of(current_file),
            "library": None if library is None else library.to_dict(),
        }
        folder.commit(json.dumps(with_hash(record), indent=1))
        folder.keep_only({LABEL, file.name})
    return root


def folder_of(root: Path) -> Folder:
    """Return the folder of a session."""
    return Folder(root, LABEL, (ORIGINALS,), private=True)


def _name(root: Path, draft: Path) -> str:
    """Return a name for an original; the one that the folder holds stays until the commit."""
    digest, held = file_hash(draft), sorted(root.glob("original*.parquet"))
    same = [path.name for path in held if file_hash(path) == digest]
    return same[0] if same else f"original-{digest[:16]}.parquet" if held else ORIGINAL


def read_session(path: str | Path) -> SavedSession:
    """Read and check what `write_session` wrote; nothing of it is evaluated."""
    root = Path(path)
    faults = Faults("ProtectionSession")
    if not (root / LABEL).is_file():
        faults.add(str(root), f"has no {LABEL}", hint="Give the folder of `save`.")
    faults.raise_if_any()
    try:
        record = json.loads(folder_of(root).read())
        record = current(record if record["format"] == 1 else without_hash(record), FORMAT, OLDER)
        roles = dict(record["roles"])
        steps = [Step(s["verb"], from_json(s["parameters"])) for s in record["steps"]]
        position, file, digest, result = (
            record[name] for name in ("position", "file", "original", "result")
        )
        version = str(record["version"])
        known = record.get("library")
        library = None if known is None else Library.from_dict(known)
        if not re.fullmatch(ORIGINALS, file):
            raise ValueError(f"{file} is no name of an original")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError,
            NotImplementedError, OSError) as error:  # fmt: skip
        what = f"is not a saved session ({error})"
        raise InputError.of(faults.subject, LABEL, what) from error
    content = (root / file).read_bytes() if (root / file).is_file() else None
    if content is None:
        faults.add(str(root), f"has no {file}", hint="Give the folder of `save`.")
    elif digest not in (sha256(content).hexdigest(), blake2b(content, digest_size=20).hexdigest()):
        faults.add(file, "is not the file that was saved", hint="Restore it.")
    _check_roles(faults, roles)
    for step in steps:
        _check_step(faults, step)
    if not Whole(0, len(steps)).allows(position):
        faults.add(LABEL, f"position {position!r} is none of 0 to {len(steps)}")
    faults.raise_if_any()
    original = pd.read_parquet(root / file)
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
            faults.add(LABEL, f"role {name!r} is {value!r}")
    if "keys" not in roles:
        faults.add(LABEL, "has no keys")


def _are_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _check_step(faults: Faults, step: Step) -> None:
    """Note an unknown verb, and arguments that it does not have: a script prints their names."""
    if step.verb == EDITED:
        if set(step.parameters) != {"note", CONTENT}:
            faults.add(EDITED, "needs a note and the file that was kept")
        return
    check_choice(faults, "verb", step.verb, VERBS)
    if step.verb not in VERBS:
        return
    parameters = VERBS[step.verb].parameters
    for name in step.parameters:
        check_choice(faults, f"{step.verb}: argument", name, parameters)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in step.parameters:
            faults.add(step.verb, f"needs {name!r}")


def digest_of(frame: pd.DataFrame) -> str:
    """Hash of names, values and types, the same after a way through Parquet."""
    digest = sha256()
    for values in [frame.index.to_series(), *(frame[name] for name in frame.columns)]:
        text = pd.api.types.is_string_dtype(values.dtype) or values.dtype == object
        digest.update(repr((values.name, "text" if text else str(values.dtype))).encode())
        if text:  # None and NaN are one thing
            values = values.astype(object).where(values.notna(), "\0")
        digest.update(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
    return digest.hexdigest()
