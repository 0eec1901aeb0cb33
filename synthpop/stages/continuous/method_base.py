"""What every method of `Continuous` is: its options, and what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.messages.methods import Options
from synthpop.microdata.messages.parameters import NONE, Between
from synthpop.stages.continuous.binned import Classes, kind_classes, with_zeros
from synthpop.stages.continuous.tail import TopClass
from synthpop.stages.continuous.values import ValueRule

NUMBER = Between() | NONE


@dataclass(frozen=True, slots=True)
class ValueMethod(Options):
    """What every method of `Continuous` is; these are the defaults of what it does not have."""

    is_count: ClassVar[bool] = False

    @property
    def within_class(self) -> str:
        """How values lie inside their class."""
        return "steps"

    @property
    def intervals(self) -> tuple[str, str] | None:
        """Names of the columns of bounds."""
        return None

    @property
    def type(self) -> str:
        """Name of the method in run files, short for the method with default options."""
        raise NotImplementedError

    @property
    def learns(self) -> bool:
        """Whether coefficients of strata cannot be shrunk: a tree, forest or other regressor."""
        return False

    @property
    def model_of_classes(self) -> str:
        """Name of the model of what kind of value a person has."""
        return "multinomial"

    def pooling_of_values(self, amount: str | float | None) -> str | float:
        """Return the pooling of the regressions: as asked, or the default of the method."""
        if amount is not None:
            return amount
        return "none" if self.learns else "cross-validated"

    @property
    def zeros(self) -> bool | None:
        """Whether zero is a class of its own; None where the values decide."""
        return None

    @property
    def upper(self) -> float | None:
        """Option of that name."""
        return None

    @property
    def bound(self) -> float | None:
        """Largest value that may be drawn."""
        return self.upper

    def classes(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> Classes:
        """Return the classes of the sample's values; `rows` of the file and `label` for faults."""
        return kind_classes(values, zeros=with_zeros(values, weights, self.zeros))

    def top_class(
        self, values: np.ndarray, weights: np.ndarray, threshold: float, label: str
    ) -> tuple[TopClass | None, tuple[Fallback, ...]]:
        """Return the tail of the class that begins at a threshold, if the method has one."""
        return None, ()

    def rule(
        self, values: np.ndarray, weights: np.ndarray, rows: np.ndarray, label: str
    ) -> ValueRule:
        """Return how the values of the last class are modelled and drawn.

        All arrays are of the sample persons in that class; `rows` and `label` are for messages.
        """
        raise NotImplementedError
