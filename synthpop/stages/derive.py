"""A variable computed from another, the same way in sample and population."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthpop.microdata.block import Block, Fallback, Sample
from synthpop.microdata.codes import MISSING
from synthpop.microdata.dataset import Field, numbers
from synthpop.microdata.errors import Faults, did_you_mean
from synthpop.microdata.text import plural
from synthpop.stages.base import Outlook, check_available, keep_own


def _are_numbers(values: Any) -> bool:
    """Whether these are numbers in a row, and no text that looks like some."""
    if isinstance(values, np.ndarray):
        return values.ndim == 1 and values.dtype.kind in "fiu"
    return isinstance(values, Sequence) and all(
        isinstance(x, (int, float, np.number)) and not isinstance(x, bool) for x in values
    )


@dataclass(frozen=True, slots=True)
class Derive:
    """Make a categorical variable out of another one, in sample and population alike.

    Parameters
    ----------
    name : str
        The new variable.
    source : str
        A variable that the population has at this step.
    breaks : sequence of numbers, optional
        Class limits of a numeric source, as in ``pandas.cut``: classes ``(a, b]``, the lowest
        limit included. Values outside become missing.
    labels : sequence of str, optional
        One for each class; default the text of the interval.
    mapping : dict, optional
        New value for each level of a categorical source; levels left out become missing.

    Notes
    -----
    Missing stays missing. Nothing is random.

    Examples
    --------
    >>> Derive("age_class", source="age", breaks=[0, 15, 64, 120]).provides
    ('age_class',)
    """

    name: str
    source: str
    breaks: Sequence[float] | None = None
    labels: Sequence[str] | None = None
    mapping: Mapping[Any, Any] | None = None

    def __post_init__(self) -> None:
        """Keep copies of lists."""
        keep_own(self)

    @property
    def label(self) -> str:
        """Name for messages, progress and random streams."""
        return f"derive {self.name}"

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the stage makes."""
        return (self.name,)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns that the new one is computed from."""
        return (self.source,)

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return ()

    def check(self, faults: Faults, outlook: Outlook) -> None:
        """Note everything in the options that cannot work."""
        check_available(faults, self.label, [self.source], outlook, "source")
        if (self.breaks is None) == (self.mapping is None):
            faults.add(self.label, "needs either breaks or mapping", remedy="Give one of them.")
        if self.breaks is not None:
            self._check_breaks(faults, outlook)
        if self.mapping is not None:
            self._check_mapping(faults, outlook)

    def _check_breaks(self, faults: Faults, outlook: Outlook) -> None:
        if not _are_numbers(self.breaks):
            remedy = "Give two or more numbers."
            faults.add(self.label, f"breaks = {self.breaks!r} are no numbers", remedy=remedy)
            return
        limits = np.asarray(self.breaks, dtype=np.float64)
        if len(limits) < 2 or not np.all(np.diff(limits) > 0):
            faults.add(self.label, "breaks do not increase", remedy="Give two or more limits.")
        if self.labels is not None and len(self.labels) != len(limits) - 1:
            faults.add(
                self.label,
                f"{plural(len(self.labels), 'label')} for "
                f"{plural(len(limits) - 1, 'class', 'classes')}",
                remedy="Give one label for each class.",
            )
        if self.labels is not None and len(set(self.labels)) != len(self.labels):
            faults.add(self.label, "labels are not distinct", remedy="Rename the repeated ones.")
        field = outlook.survey.get(self.source)
        if field is not None and field.kind != "numeric":
            faults.add(self.label, f"{self.source!r} is not numeric", remedy="Use mapping.")

    def _check_mapping(self, faults: Faults, outlook: Outlook) -> None:
        field = outlook.survey.get(self.source)
        if self.labels is not None:
            faults.add(self.label, "labels go with breaks", remedy="Put the names into mapping.")
        if field is None or field.kind != "categorical":
            if field is not None:
                faults.add(self.label, f"{self.source!r} is numeric", remedy="Use breaks.")
            return
        for level, new in (self.mapping or {}).items():
            if new is None or new != new:
                what = f"mapping has no new value for {level!r}"
                faults.add(self.label, what, remedy="Leave it out of mapping: it becomes missing.")
            if level not in field.levels:
                faults.add(
                    self.label,
                    f"mapping names the level {level!r} that {self.source!r} does not have",
                    remedy=did_you_mean(level, field.levels),
                )

    def makes(self, name: str, outlook: Outlook) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        if self.breaks is not None and not _are_numbers(self.breaks):
            return None
        if self.breaks is not None and self.labels is None:
            return Field.categorical(name, interval_labels(np.asarray(self.breaks, dtype=float)))
        levels = tuple(self.labels or dict.fromkeys((self.mapping or {}).values()))
        return Field.categorical(name, levels)

    def fit(self, sample: Sample, rng: np.random.Generator) -> DeriveModel:
        """Fix the classes; nothing is learned and nothing is drawn."""
        source = sample.fields[self.source]
        if self.breaks is not None:
            limits = np.asarray(self.breaks, dtype=np.float64)
            names = tuple(self.labels) if self.labels is not None else interval_labels(limits)
            field = Field.categorical(self.name, names, ordered=True)
            return DeriveModel((field,), limits, None, source)
        mapping = self.mapping or {}
        levels = tuple(dict.fromkeys(mapping.values()))
        table = np.array(
            [levels.index(mapping[x]) if x in mapping else MISSING for x in source.levels]
            + [MISSING]
        )
        field = Field.categorical(self.name, levels)
        return DeriveModel((field,), None, table.astype(field.dtype), source)

    def observed(self, model: DeriveModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns."""
        return {self.name: derive(model, sample.columns[self.source])}

    def simulate(
        self, model: DeriveModel, block: Block, rng: np.random.Generator | None
    ) -> dict[str, np.ndarray]:
        """Return the derived column."""
        return {self.name: derive(model, block.columns[self.source])}


@dataclass(frozen=True, slots=True)
class DeriveModel:
    """Class limits, or the new code of each level (the last entry is for missing)."""

    fields: tuple[Field, ...]
    limits: np.ndarray | None
    table: np.ndarray | None
    source: Field
    fallbacks: tuple[Fallback, ...] = ()


def derive(model: DeriveModel, values: np.ndarray) -> np.ndarray:
    """Return codes of the derived variable, shape (n,)."""
    dtype = model.fields[0].dtype
    if model.table is not None:
        return model.table[values]
    limits, values = model.limits, numbers(model.source, values)
    assert limits is not None
    if values.dtype.kind in "iu" and limits[-1] - limits[0] < 1e6:
        low = int(min(np.floor(limits[0]), values.min(initial=0)))
        high = int(max(np.ceil(limits[-1]), values.max(initial=0)))
        if high - low < 1e6:
            table = _cut(np.arange(low, high + 1, dtype=np.float64), limits).astype(dtype)
            return table[values.astype(np.int64) - low]
    return _cut(values.astype(np.float64), limits).astype(dtype)


def _cut(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    codes = np.searchsorted(limits, values, side="left") - 1
    codes[values == limits[0]] = 0
    outside = ~((values >= limits[0]) & (values <= limits[-1]))
    codes[outside] = MISSING
    return codes


def interval_labels(limits: np.ndarray) -> tuple[str, ...]:
    """Return the text of each class, the lowest limit included.

    Examples
    --------
    >>> interval_labels(np.array([0.0, 15, 64]))
    ('[0, 15]', '(15, 64]')
    """
    pairs = itertools.pairwise(limits)
    return tuple(f"{'[' if i == 0 else '('}{a:.10g}, {b:.10g}]" for i, (a, b) in enumerate(pairs))
