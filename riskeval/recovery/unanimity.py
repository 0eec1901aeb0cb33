"""Values that all other records of a group agree on, and how often such a guess is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskeval.recovery.columns import Column, error_of_guessing

LEAST_CASES = 20
GAIN = 0.1


@dataclass(frozen=True, slots=True)
class Trial:
    """How a rule does on cells whose value is in the file (each as if it were missing)."""

    cases: int  # cells on which the rule says something
    agreement: float  # share of them on which it is right; NaN without a case
    # its errors over those of always guessing the commonest value; NaN where nothing varies
    gain: float

    def convinces(self, certainty: float) -> bool:
        """Whether an intruder would rely on the rule."""
        return self.cases >= LEAST_CASES and self.agreement >= certainty and self.gain <= GAIN


NO_TRIAL = Trial(0, float("nan"), float("nan"))


@dataclass(frozen=True, slots=True)
class Answer:
    """Holes that the groups answer."""

    # rows, codes, support: int64 arrays, shape (h,): row of each hole, the one level of its group,
    # and the records that have it
    rows: np.ndarray
    codes: np.ndarray
    support: np.ndarray
    # single, several: of answers that rest on one other record, and on two and more
    single: Trial
    several: Trial

    def convincing(self, certainty: float) -> Answer:
        """Keep the answers whose kind of support convinces."""
        fine = np.where(
            self.support == 1, self.single.convinces(certainty), self.several.convinces(certainty)
        ).astype(bool)
        rows, codes, support = self.rows[fine], self.codes[fine], self.support[fine]
        return Answer(rows, codes, support, self.single, self.several)


def unanimous(groups: np.ndarray, target: Column) -> Answer:
    """Answer the holes of `target` whose group has filled cells that all agree.

    groups: group of each record, int64, shape (n,); -1 for none
    """
    from riskeval.kernels.agreement import common_levels, leave_one_out

    # 1. holes get the level that all filled cells of their group have
    rows = target.holes[groups[target.holes] >= 0]
    asked = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.bool_)
    asked[groups[rows]] = True
    common = common_levels(groups, asked, target.codes)
    rows = rows[common[groups[rows]] >= 0]
    if not len(rows):
        return Answer(rows, rows, rows, NO_TRIAL, NO_TRIAL)
    # 2. each filled cell left out: do the others of its group agree, and on its level?
    filled, cases = leave_one_out(groups, len(asked), target.codes)
    trials = [
        make_trial(int(right), int(wrong), target.error_of_guessing) for right, wrong in cases
    ]
    return Answer(rows, common[groups[rows]], filled[groups[rows]], *trials)


def make_trial(right: int, wrong: int, by_guessing: float) -> Trial:
    """Compare right and wrong predictions with the error of always guessing the commonest code."""
    cases = right + wrong
    if not cases:
        return NO_TRIAL
    gain = wrong / cases / by_guessing if by_guessing > 0 else float("nan")
    return Trial(cases, right / cases, gain)


def trial_of(predicted: np.ndarray, codes: np.ndarray) -> Trial:
    """Compare predictions (-1 for none) with the filled cells of a column.

    Examples
    --------
    >>> trial_of(np.array([0, 1, -1]), np.array([0, 0, 1])).agreement
    0.5
    """
    both = (predicted >= 0) & (codes >= 0)
    right = int((predicted[both] == codes[both]).sum())
    return make_trial(right, int(both.sum()) - right, error_of_guessing(codes))
