"""Several synthetic files of one fit: a number is their mean, with the interval of that mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from riskeval.shared.measurement import Measurement, joined
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number

CONFIDENCE = 0.95


def mean_of_draws(draws: Sequence[Sequence[Measurement]]) -> list[Measurement]:
    """Return each number of the first file as the mean over all files that have it.

    `lower` and `upper` are the t interval of that mean; `note` has the range.
    """
    from scipy.stats import t

    if len(draws) == 1:
        return list(draws[0])
    by_key = [{one.key: one for one in draw} for draw in draws]
    result = []
    for first in draws[0]:
        ones = [draw[first.key] for draw in by_key if first.key in draw]
        values = np.array([one.value for one in ones])
        values = values[~np.isnan(values)]
        if len(values) == 0:
            result.append(first)
            continue
        mean = float(values.mean())
        half = float("nan")
        if len(values) > 1:
            factor = t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
            half = float(factor * values.std(ddof=1) / len(values) ** 0.5)
        bounds = (mean - half, mean + half)
        if first.info.unit in ("share", "probability"):
            bounds = (max(bounds[0], 0.0), min(bounds[1], 1.0))
        baselines = [one.baseline for one in ones if not np.isnan(one.baseline)]
        note = message(
            "mean of {n} files ({low} to {high})",
            n=len(values),
            low=number(float(values.min())),
            high=number(float(values.max())),
        )
        result.append(
            replace(
                first, value=mean, lower=bounds[0], upper=bounds[1],
                baseline=float(np.mean(baselines)) if baselines else float("nan"),
                note=joined(note, first.note),
            )
        )  # fmt: skip
    return result
