"""What the numbers of a fitted recipe disclose about single respondents.

Every number that the fit holds is compared with the survey, whatever the model calls it:

1. *copies of records*: households and divisions that are copied, values and exact residuals of
   donors, leaves of trees with one person, and any array with most of the rare values of a column;
2. *values of few*: other numbers that are values of fewer than `minimum` persons, such as limits
   of classes;
3. *extremes*: smallest and largest values among these;
4. *small cells*: levels that fewer than `minimum` persons of a stratum have, which parameters of
   the model of that stratum rest on, and leaves of trees with fewer persons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.block import Sample
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.suppression import SMALLEST_COUNT
from synthpop.microdata.messages.text import plural
from synthpop.models.leaves import Leaves
from synthpop.pipeline.fitted_recipe import FittedRecipe
from synthpop.stages.components import ComponentsModel
from synthpop.stages.continuous.values import ValueSource
from synthpop.stages.structure import StructureModel

COPIES, FEW, EXTREMES, CELLS = "copies of records", "values of few", "extremes", "small cells"
MOST = 0.5  # of the rare values of a column: an array that has more of them is a copy
Row = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Disclosed(TableResult):
    """What a fit discloses, number by number.

    Attributes
    ----------
    table : DataFrame
        One row a finding: `step`, `parameter`, `what` ("copies of records", "values of few",
        "extremes", "small cells") and `n`, of households, values, or cells.
    minimum : int
        Persons (households) behind a number that discloses nobody.
    """

    table: pd.DataFrame
    minimum: int

    @property
    def copies(self) -> tuple[str, ...]:
        """Steps that copy records."""
        rows = self.table[self.table["what"] == COPIES]
        return tuple(dict.fromkeys(rows["step"]))

    def summary(self) -> str:
        """Say how much of each kind there is."""
        if not len(self.table):
            return message(
                "No number of the fit is a value, an extreme or a cell of fewer than {n}.",
                n=plural(self.minimum, "respondent"),
            )
        totals = self.table.groupby("what", sort=False)["n"].sum()
        found = ", ".join(f"{what}: {int(n)}" for what, n in totals.items())
        steps = ", ".join(self.copies) or message("none")
        return message(
            "The fit discloses ({found}) of fewer than {n} each. Steps that copy records: {steps}. "
            "Compared with the survey were all its numbers one by one; what several numbers "
            "together give away (differences, the likelihood of a person) is not in the table.",
            found=found,
            n=plural(self.minimum, "respondent"),
            steps=steps,
        )


def disclosed(fitted: FittedRecipe, minimum: int = SMALLEST_COUNT) -> Disclosed:
    """Compare what a fit holds with its survey; see the module."""
    sample, _ = fitted.sample, fitted.survey.frame  # a fit from a folder says that it has none
    rows: list[Row] = []
    for stage, model in zip(fitted.stages, fitted.models, strict=True):
        names = dict.fromkeys((*stage.uses(), *stage.provides, *(f.name for f in model.fields)))
        rows += _of_step(stage.label, model, list(names), sample, minimum)
    candidates = fitted.rules.candidates
    rows += _of_step("rules", candidates, [n for n in candidates if n in sample.columns],
                     sample, minimum)  # fmt: skip
    table = pd.DataFrame(rows, columns=["step", "parameter", "what", "n"])
    return Disclosed(table, minimum)


def _of_step(
    label: str, model: Any, names: Sequence[str], sample: Sample, minimum: int
) -> Iterator[Row]:
    """Yield what one step discloses, equal parameters of strata together."""
    known = [name for name in names if name in sample.columns]
    few = {
        name: rare
        for name in known
        if len(rare := _rare_values(sample.columns[name], sample.fields[name], minimum))
    }
    together: dict[str, list[tuple[Any, Any]]] = {}
    for path, owner, part in _parts(model, ""):
        together.setdefault(path, []).append((owner, part))
    for path, parts in together.items():
        for what, n in _of_parts(path, parts, few, sample, minimum).items():
            if n:
                yield label, path.lstrip("."), what, n
    cells = sum(_small_cells(sample, name, minimum) for name in known)
    if cells:
        yield label, "", CELLS, cells


def _of_parts(
    path: str,
    parts: Sequence[tuple[Any, Any]],
    few: Mapping[str, np.ndarray],
    sample: Sample,
    minimum: int,
) -> dict[str, int]:
    """Return what arrays or trees of one name disclose: kind -> values, records or cells."""
    owner, first = parts[0]
    if hasattr(first, "children_left"):
        sizes = np.concatenate([tree.n_node_samples[tree.children_left < 0] for _, tree in parts])
        return {COPIES: int((sizes == 1).sum()),
                CELLS: int(((sizes > 1) & (sizes < minimum)).sum())}  # fmt: skip
    if isinstance(owner, StructureModel):
        return {COPIES: _rare_households(owner, minimum)} if path == ".offsets" else {}
    if isinstance(owner, ComponentsModel) and path == ".fractions":
        return {COPIES: sum(_rare_rows(part, minimum) for _, part in parts)}
    whole_column = any(part.ndim == 1 and len(part) == sample.n_persons for _, part in parts)
    if not (first.dtype.kind == "f" or (first.dtype.kind in "iu" and whole_column)):
        return {}  # codes and positions
    values = np.unique(np.concatenate([part.ravel() for _, part in parts]).astype(np.float64))
    n = {COPIES: 0, FEW: 0, EXTREMES: 0}
    for name, rare in few.items():
        hits = rare[np.isin(rare, values)]
        if isinstance(owner, Leaves) or len(hits) > max(MOST * len(rare), minimum):
            n[COPIES] += len(hits)
            continue
        n[FEW] += len(hits)
        column = sample.columns[name]
        n[EXTREMES] += int(np.isin([np.nanmin(column), np.nanmax(column)], hits).sum())
    if path.endswith(".table") and not n[COPIES]:  # residuals beside the values they belong to
        exact = [one.table + one.fitted for one, _ in parts
                 if isinstance(one, ValueSource) and len(one.fitted)]  # fmt: skip
        n[COPIES] = len(np.unique(np.round(np.concatenate(exact), 6))) if exact else 0
    return n


def _parts(value: Any, path: str, owner: Any = None) -> Iterator[tuple[str, Any, Any]]:
    """Yield arrays and trees with where they are and the record that holds them."""
    if isinstance(value, np.ndarray):
        if not value.dtype.hasobject and value.dtype.names is None:
            yield path, owner, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _parts(item, f"{path}.{name}", owner)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(item, path, owner)
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from _parts(getattr(value, item.name), f"{path}.{item.name}", value)
    elif hasattr(value, "children_left"):
        yield path, owner, value
    elif type(value).__module__.startswith("sklearn."):
        for name, item in vars(value).items() if hasattr(value, "__dict__") else ():
            yield from _parts(item, f"{path}.{name}", owner)


def _rare_values(values: np.ndarray, field: Any, minimum: int) -> np.ndarray:
    """Return the values of a number that fewer than `minimum` persons have."""
    if field.kind != "numeric":
        return np.empty(0)
    found, counts = np.unique(values[~np.isnan(values.astype(np.float64))], return_counts=True)
    return found[counts < minimum].astype(np.float64)


def _rare_rows(rows: np.ndarray, minimum: int) -> int:
    """Count the rows of a matrix that fewer than `minimum` rows equal."""
    counts = np.unique(np.round(rows, 12), axis=0, return_counts=True)[1]
    return int(counts[counts < minimum].sum())


def _rare_households(model: StructureModel, minimum: int) -> int:
    """Count the donors whose members, in whatever order, fewer than `minimum` households have."""
    matrix = np.column_stack([v.astype(np.float64) for v in model.columns.values()])
    person = np.unique(matrix, axis=0, return_inverse=True)[1].reshape(-1)
    donors = np.unique(model.donors[model.donor_weights > 0]).tolist()
    seen = Counter(
        tuple(sorted(person[model.offsets[k] : model.offsets[k + 1]].tolist())) for k in donors
    )
    return sum(n for n in seen.values() if n < minimum)


def _small_cells(sample: Sample, name: str, minimum: int) -> int:
    """Count levels of a stratum that some, but fewer than `minimum`, persons have."""
    item = sample.fields[name]
    if item.kind != "categorical":
        return 0
    codes = sample.columns[name].astype(np.int64)
    has_value = codes >= 0
    cells = sample.strata[has_value].astype(np.int64) * len(item.levels) + codes[has_value]
    counts = np.bincount(cells)
    return int(((counts > 0) & (counts < minimum)).sum())
