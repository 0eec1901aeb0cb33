"""Write a fitted recipe: what simulation needs as arrays and JSON, without the survey."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from synthpop.microdata.formats.folder import Folder
from synthpop.microdata.formats.hashed import with_hash
from synthpop.microdata.formats.places import file_hash
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.messages.errors import InputError, OutputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole
from synthpop.microdata.runs.environment import environment
from synthpop.pipeline.disclosed import Disclosed, disclosed
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.pipeline.plain_objects import Unwritable, Writer

LABEL, FORMAT = "fit.json", 1
MEMBERS = (r"models-[0-9a-f]+\.json", r"arrays-[0-9a-f]+\.npz", r"table-\d+-[0-9a-f]+\.parquet")
KEPT = (
    "stages", "models", "layout", "seed", "survey_stages", "population_stages", "prepared",
    "learned", "rules", "places",
)  # fmt: skip
NOTE = (
    "A fitted recipe without its survey. It discloses what the table says; keep it where the "
    "survey is kept unless somebody who may decide so has decided otherwise."
)


def save_fit(fitted: FittedRecipe, out: Path | str, minimum: int, accept: str | None) -> Disclosed:
    """Write a fit into a folder; see `FittedPipeline.save`."""
    root = checked_path(out)
    if not Whole(1).allows(minimum):
        raise InputError.of("save", "minimum", f"is {minimum!r}", "Give a whole number from 1.")
    if accept is not None and not (isinstance(accept, str) and accept.strip()):
        hint = "Say in words who takes the copies, and who has decided so."
        raise InputError.of("save", "accept", f"is {accept!r}", hint)
    found = disclosed(fitted, minimum)
    if found.copies and accept is None:
        steps = ", ".join(found.copies)
        what = message("copies records of the survey: {steps}", steps=steps)
        hint = (
            "See fitted.disclosed(). Where that is accepted, say why: "
            'fitted.save(folder, accept="..."); the reason is written down with the fit.'
        )
        raise InputError.of("save", "fit", what, hint)
    writer = Writer()
    origin = fitted.origin
    try:
        tree = {name: writer.tree(getattr(fitted, name)) for name in KEPT}
        tree["origin"] = writer.tree(origin)
        tree["sample"] = writer.tree(_without_persons(fitted.sample))
    except Unwritable as problem:
        what = f"holds a {problem}, which cannot be written as numbers and text"
        hint = "Use models of this package or of scikit-learn."
        raise InputError.of("save", "fit", what, hint) from None
    folder = Folder(root, LABEL, MEMBERS, private=True, kept="The fit that was there is kept.")
    if root.exists() and folder.strangers():
        raise OutputError(f"{root} holds other files. Choose another folder.")
    with folder.writing():
        files = {
            "models": _put(folder, "models", ".json", lambda p: p.write_text(json.dumps(tree)))
        }
        arrays = writer.arrays
        files["arrays"] = _put(folder, "arrays", ".npz", lambda p: _write_arrays(p, arrays))
        for name, table in writer.tables.items():
            files[name] = _put(folder, name, ".parquet", table.to_parquet)
        facts = {
            "format": FORMAT,
            "note": NOTE,
            "environment": environment(),
            "files": files,
            "minimum": minimum,
            "discloses": found.table.to_dict("records"),
            "accepted": accept,
        }
        folder.commit(json.dumps(with_hash(facts), indent=1))
        folder.keep_only({name for name, _ in files.values()})
    return found


def _put(folder: Folder, stem: str, suffix: str, content: Any) -> tuple[str, str]:
    """Write a member under a name with its hash; return name and hash."""
    stored = folder.put(
        f"{stem}-0{suffix}", content, lambda draft: f"{stem}-{file_hash(draft)[:16]}{suffix}"
    )
    return stored.name, stored.hash


def _write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with open(path, "wb") as stream:  # by its name, savez would add a suffix
        np.savez_compressed(stream, **cast(Any, arrays))


def checked_path(folder: Any) -> Path:
    """Return a path on a disk, or raise an InputError."""
    if not isinstance(folder, (str, os.PathLike)):
        hint = "Give the path of a folder on a disk."
        raise InputError.of("saved fit", "folder", f"is {folder!r}", hint)
    return Path(folder)


def _without_persons(sample: Sample) -> Sample:
    """Return what a run reads of a sample: strata and fields of columns."""
    none = np.empty(0)
    return replace(
        sample, columns={}, weights=none, strata=none.astype(np.int64), household_weights=none,
        offsets=np.zeros(1, dtype=np.int64), rows=none.astype(np.int64), units=None,
    )  # fmt: skip
