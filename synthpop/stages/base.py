"""What every stage of blocks is: a frozen record of options that can check, fit and simulate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.class_models import PoolingOptions, check_class_options, codes_of
from synthpop.conditional.donors import DonorPooling
from synthpop.conditional.pooling.options import Pooling
from synthpop.conditional.pooling.regression_methods import RegressionPooling
from synthpop.conditional.schema import Schema
from synthpop.conditional.structural_zeros import check_impossible, none_for_nan
from synthpop.microdata.frame.block import Block, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.methods import keep_copies
from synthpop.microdata.messages.parameters import NONE, OneOf, Whole
from synthpop.stages.entry import StageEntry

DECIMALS = OneOf("survey") | Whole(0, 12) | NONE
"""Option `decimals` of a stage."""


StratumPooling = Pooling | DonorPooling | RegressionPooling
"""How a model borrows between strata."""


def after(schema: Schema, stage: BlockStage, *, first: bool) -> Schema:
    """Return the schema once a stage has run."""
    fields = {name: stage.makes(name, schema) for name in stage.provides}
    survey = {**schema.survey, **{name: f for name, f in fields.items() if f is not None}}
    new = tuple(name for name in fields if name in survey and name not in schema.available)
    available = (*schema.available, *new)
    return replace(
        schema, survey=survey, available=available, basic=available if first else schema.basic
    )


class StageModel:
    """What a stage of blocks learned: ``fields`` of the new columns, ``fallbacks`` of the fit."""

    __slots__ = ()

    def drawn_again(self) -> tuple[Field, ...]:
        """Return the fields of columns of earlier stages that this one draws again."""
        return ()

    def poolings(self) -> Mapping[str, StratumPooling]:
        """Return how each of its models borrows between strata: part of the label -> pooling."""
        return {}


class Stage(ABC):
    """A step of a recipe."""

    __slots__ = ()

    entry: ClassVar[StageEntry]
    kind: ClassVar[str]  # name of the entry: its type in run files
    name: Any  # of the column that it makes, or several, where it makes some
    # options that are lists of names; the first one names what the stage is about
    NAMES: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Take the kind from the entry."""
        if "entry" in vars(cls):
            cls.kind = cls.entry.name

    def __post_init__(self) -> None:
        """Take names as a tuple, a single name as one of one; keep copies of lists."""
        for option in self.NAMES:
            object.__setattr__(self, option, as_names(option, getattr(self, option)))
        keep_copies(self)

    @property
    def label(self) -> str:
        """Name for messages, progress and random streams, which begins with the kind."""
        return f"{self.kind} {', '.join(map(str, self.named))}"

    @property
    def named(self) -> tuple[str, ...]:
        """Names of the columns that the stage is about."""
        return listed_names(getattr(self, self.NAMES[0]) if self.NAMES else self.name)

    @property
    def provides(self) -> tuple[str, ...]:
        """Names of the columns that the stage makes."""
        return self.named


class BlockStage(Stage):
    """A stage that learns from the sample only, then makes the new columns block by block."""

    __slots__ = ()

    @property
    def revises(self) -> tuple[str, ...]:
        """Names of the columns that the stage draws again; its model has them too."""
        return ()

    @property
    def is_revisable(self) -> bool:
        """Whether a later stage may draw the columns again."""
        return False

    def can_revise(self, maker: BlockStage) -> bool:
        """Whether this stage can draw again what an earlier one made."""
        return maker.is_revisable

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the columns whose values the new ones are computed from."""
        return ()

    @property
    def by_household(self) -> str | None:
        """How members of a household hang together; None: given their predictors only."""
        return None

    @property
    def structural_zeros(self) -> Sequence[Mapping[str, Any]]:
        """Values of the new column that cannot be; see `Categorical`."""
        return ()

    @property
    def needs_pilot(self) -> bool:
        """Whether the model is adjusted in a pilot of the population; see `calibrate`."""
        return False

    def expand(self) -> Sequence[BlockStage]:
        """Return the stages that this one stands for, in the order in which they run."""
        return (self,)

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return self.provides

    @abstractmethod
    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""

    def makes(self, name: str, schema: Schema) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        return schema.survey.get(name)

    @abstractmethod
    def fit(self, sample: Sample, rng: np.random.Generator) -> Any:
        """Learn from the sample; the result is a `StageModel`."""

    def calibrate(self, model: Any, pilot: Sequence[Block], rng: np.random.Generator) -> Any:
        """Return the model adjusted to what it makes in a pilot of the population."""
        return model

    def calibrate_as(self, model: Any, earlier: Any, digits: Callable[[str], np.ndarray]) -> Any:
        """Return the model adjusted as that of an earlier fit, from where `calibrate` starts.

        `digits` returns for each digit of a column that of the earlier fit, 0 for none.
        """
        return model

    def observed(self, model: Any, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of new columns, which later steps may learn from."""
        return {name: sample.columns[name] for name in self.provides}

    @abstractmethod
    def simulate(self, model: Any, block: Block, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the new columns of one block."""


def as_names(argument: str, names: Any) -> tuple[str, ...]:
    """Return names as a tuple of their own; a single name is a tuple of one.

    Raises InputError: it is neither.
    """
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputError.of("recipe", argument, f"is {names!r}", "Give a list of names.")
    return tuple(names)


class ClassStage(BlockStage):
    """A stage with a model of the classes of a variable, and values that cannot be."""

    __slots__ = ()

    OPTION_TYPES: ClassVar[Mapping[str, Any]] = {"pooling": PoolingOptions}
    impossible: Any  # rules of structural zeros, or None

    def __post_init__(self) -> None:
        """Keep copies of lists; a missing value of a rule, nan in run files, is None."""
        BlockStage.__post_init__(self)
        object.__setattr__(self, "impossible", none_for_nan(self.impossible))

    @property
    def structural_zeros(self) -> Sequence[Mapping[str, Any]]:
        """Values that cannot be."""
        return self.impossible or ()

    @property
    def conditions(self) -> list[str]:
        """Variables that the structural zeros depend on."""
        return [name for rule in self.structural_zeros for name in rule["when"]]

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        check_in_survey(faults, self.label, self.provides, schema)
        check_class_options(faults, self, schema)
        check_impossible(faults, self.label, self.provides[0], self.impossible, schema)

    def observed(self, model: Any, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new column."""
        field = model.fields[0]
        return {field.name: codes_of(sample, field.name, field).astype(field.dtype)}


def check_in_survey(faults: Faults, label: str, names: Sequence[str], schema: Schema) -> None:
    """Note names that are not columns of the survey."""
    for name in names:
        if name not in schema.survey:
            what = f"variable {name!r} is not a column of the survey"
            faults.add(label, what, hint=did_you_mean(name, schema.survey))


def check_numeric_field(faults: Faults, label: str, name: str, schema: Schema) -> None:
    """Note a column of the survey that is there but not numeric."""
    field = schema.survey.get(name)
    if field is not None and field.kind != "numeric":
        faults.add(label, f"{name!r} is not numeric", hint="Use Categorical, or convert it.")
