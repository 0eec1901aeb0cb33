"""What `calibrate` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from synthpop.calibration.weights import design_effect, effective_sample_size
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, number, plural
from synthpop.microdata.roles.survey import Survey


@dataclass(frozen=True)
class Calibration(Result):
    """Calibrated weights and how well they meet the known totals.

    Attributes
    ----------
    base : Survey
        The survey with its start weights.
    weights : float64 array, shape (n_persons,)
        New person weights; equal for all members of a household where that was asked for.
    g : float64 array, shape (n_persons,)
        New over start weight.
    margins : DataFrame
        One row per control: margin, cell, level, target, achieved, relative_error (achieved /
        target - 1; where the target is 0, achieved over the gross total of the sample) and
        importance (missing: had to be met).
    converged : bool
        Every control that had to be met is met within `tolerance`; where controls were balanced,
        the balance is found to the same tolerance.
    iterations : int
    method : str
    bounds, weight_bounds : pair of float, or None
    tolerance : float
    gap : float
        Largest relative gap that `tolerance` is compared with.
    proof : tuple of str
        Controls of a combination that proves that no weights within the bounds meet all.
    start_design_effect : float
    """

    base: Survey = field(repr=False)
    weights: np.ndarray = field(repr=False)
    g: np.ndarray = field(repr=False)
    margins: pd.DataFrame = field(repr=False)
    converged: bool
    iterations: int
    method: str
    bounds: tuple[float, float] | None
    weight_bounds: tuple[float, float] | None
    tolerance: float
    gap: float
    proof: tuple[str, ...] = ()
    start_design_effect: float = 1.0

    @cached_property
    def survey(self) -> Survey:
        """The survey with the new weights.

        Raises
        ------
        InputError
            Where linear calibration without bounds gave weights that are not positive.
        """
        return self.base.with_weights(self.weights)

    @property
    def design_effect(self) -> float:
        """Kish's design effect of the new weights, ``n sum(w^2) / sum(w)^2``."""
        return design_effect(self.weights)

    @property
    def effective_sample_size(self) -> float:
        """Number of persons divided by the design effect."""
        return effective_sample_size(self.weights)

    def to_frame(self) -> pd.DataFrame:
        """Return the table of controls (`margins`)."""
        return self.margins

    def worst(self, n: int = 5) -> pd.DataFrame:
        """Return the `n` controls with the largest relative error."""
        order = np.argsort(-self.margins["relative_error"].abs().to_numpy(), kind="stable")
        return self.margins.iloc[order[:n]]

    def summary(self) -> str:
        """Return what the weights do, in sentences."""
        lines = [
            self.verdict(),
            f"Ratios of new to start weight lie between {self.g.min():.4g} and "
            f"{self.g.max():.4g}. Design effect of unequal weights (Kish) "
            f"{self.design_effect:.4g}, {self.start_design_effect:.4g} before: the "
            f"{plural(len(self.weights), 'person counts', 'persons count')} as "
            f"{count(self.effective_sample_size)}.",
        ]
        if (self.weights <= 0).any():
            lines.append(
                f"{count(int((self.weights <= 0).sum()))} weights are not positive; give bounds "
                "such as (0.1, 10) or use another method."
            )
        return " ".join(lines)

    def verdict(self) -> str:
        """Return whether the controls are met, in a sentence with the numbers."""
        largest = float(self.margins["relative_error"].abs().max())
        balanced = int(self.margins["importance"].notna().sum())
        n = len(self.margins)
        if not self.converged:
            worst = self.worst(1).iloc[0]
            text = (
                f"NOT CONVERGED after {plural(self.iterations, 'iteration')} of {self.method}: "
                f"largest relative error {largest:.3g} at {worst['margin']}: {worst['cell']} "
                f"(target {number(worst['target'], 8)}, achieved "
                f"{number(worst['achieved'], 8)}); tolerance {self.tolerance:g}."
            )
            if self.proof:
                text += (
                    " It is proved that no weights within the bounds meet these controls "
                    f"together: {'; '.join(self.proof)}."
                )
            return text
        if balanced:
            return (
                f"{n - balanced} controls are met and {balanced} balanced by importance in "
                f"{plural(self.iterations, 'iteration')} of {self.method}; largest relative error "
                f"{largest:.3g}."
            )
        return (
            f"{f'All {n} controls are' if n > 1 else 'The control is'} met after "
            f"{plural(self.iterations, 'iteration')} of {self.method}: largest relative error "
            f"{largest:.3g}, asked for {self.tolerance:g}."
        )
