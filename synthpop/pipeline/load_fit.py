"""Read a fitted recipe from its folder."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from synthpop.microdata.formats.folder import Folder, current
from synthpop.microdata.formats.hashed import without_hash
from synthpop.microdata.formats.places import file_hash
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.runs.environment import environment
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.pipeline.origin import AbsentSurvey
from synthpop.pipeline.plain_objects import Reader
from synthpop.pipeline.saved_fit import FORMAT, KEPT, LABEL, MEMBERS, checked_path


def load_fitted(folder: Path | str) -> FittedPipeline:
    """Read a fitted recipe from the folder that `FittedPipeline.save` has written.

    Parameters
    ----------
    folder : path

    Returns
    -------
    FittedPipeline
        It simulates the same bytes as the one that was saved, with the same libraries. It has no
        survey: what needs one (replicates of bootstrap samples, `derived_survey`) says so, and
        `refit` takes one.

    Raises
    ------
    OutputError
        The folder holds no fit, was changed, or is of another version.

    Notes
    -----
    Nothing that is read can run code: arrays without objects, JSON, and names of records of this
    package and of scikit-learn. No randomness.

    Examples
    --------
    >>> import tempfile
    >>> from synthpop import Pipeline, Structure, load_demo_survey
    >>> fitted = Pipeline([Structure(["rb090"])]).fit(load_demo_survey(), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fitted.save(folder, accept="example")
    ...     loaded = load_fitted(folder)
    >>> same = loaded.simulate(scale=0.1).frame().equals(fitted.simulate(scale=0.1).frame())
    >>> same
    True
    """
    root = checked_path(folder)
    try:
        facts = without_hash(json.loads(Folder(root, LABEL, MEMBERS, private=True).read()))
        current(facts, FORMAT, {})
        parts = {name: _checked(root, *stored) for name, stored in facts["files"].items()}
        tree = json.loads(parts.pop("models").read_text(encoding="utf-8"))
        with np.load(parts.pop("arrays"), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        tables = {name: pd.read_parquet(path) for name, path in parts.items()}
        _same_learners(tree, facts["environment"])
        reader = Reader(arrays, tables)
        values = {name: reader.value(tree[name]) for name in (*KEPT, "origin", "sample")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise OutputError(f"{root} holds no fit that can be read: {problem}") from None
    return FittedPipeline(
        **{name: values[name] for name in KEPT},
        sample=values["sample"],
        survey=cast(Any, AbsentSurvey()),
        kept=values["origin"],
    )


def _same_learners(tree: Any, theirs: dict[str, str]) -> None:
    ours = environment()["scikit-learn"]
    if theirs["scikit-learn"] != ours and '"estimator": "sklearn' in json.dumps(tree):
        raise ValueError(f"its trees are of scikit-learn {theirs['scikit-learn']}, here is {ours}")


def _checked(root: Path, name: str, digest: str) -> Path:
    path = root / name
    is_member = any(re.fullmatch(pattern, name) for pattern in MEMBERS)
    if not is_member or file_hash(path) != digest:
        raise ValueError(f"{name} was changed")
    return path
