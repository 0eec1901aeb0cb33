"""A latent class model of a key table: which part of a population each key has.

Within a class the keys are independent; as many classes as the file asks for carry how the keys
hang together, so that no interaction has to be chosen and no table has to be held.
"""

from __future__ import annotations

import numpy as np

from riskeval.kernels.latent_classes import cell_shares, deal_records

CLASSES = 60
"""Classes at most; the stick-breaking prior leaves empty what is not needed."""
PRIOR = 1.0
"""Records that the margins of a key are worth in each class before the file is seen."""
SWEEPS, BURN_IN = 250, 150
MOST_FITTED = 10_000
MOST_VALUES = 3_000_000


def share_draws(
    codes: np.ndarray, weights: np.ndarray, cells: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw the shares of cells in the population from their posterior, shape (draws, n_cells).

    Gibbs sampler of a truncated Dirichlet process mixture of products of multinomial distributions
    (Dunson and Xing 2009, doi:10.1198/jasa.2009.tm08439; for disclosure risk Manrique-Vallier and
    Reiter 2012, doi:10.1080/10618600.2012.710837). Weights make it a pseudo-posterior.

    codes: int, shape (n, m), levels of the keys of each record; -1 is missing
    weights: positive, shape (n,)
    cells: int, shape (n_cells, m), keys in the same levels; -1 stands for any value

    Examples
    --------
    >>> keys = np.repeat([[0, 0], [1, 1]], 200, axis=0)
    >>> cells = np.array([[0, 0], [0, 1], [0, -1]])
    >>> draws = share_draws(keys, np.ones(400), cells, np.random.default_rng(1))
    >>> draws.mean(axis=0).round(1)
    array([0.5, 0. , 0.5])
    """
    # 1. At most so many records, and the levels of all keys in the rows of one matrix
    if len(codes) > MOST_FITTED:
        rows = rng.permutation(len(codes))[:MOST_FITTED]
        codes, weights = codes[rows], weights[rows]
    weights = weights * (len(weights) / weights.sum())
    n_levels = 1 + np.maximum(codes.max(axis=0), cells.max(axis=0, initial=0))
    ends = np.cumsum(n_levels)
    begins = ends - n_levels
    codes, cells = (
        np.where(table >= 0, table + begins, -1).astype(np.int64) for table in (codes, cells)
    )
    margins = np.full(int(ends[-1]), 0.5)
    for j in range(codes.shape[1]):
        known = codes[:, j] >= 0
        np.add.at(margins, codes[known, j], weights[known])
    margins /= np.repeat(np.add.reduceat(margins, begins), n_levels)
    # 2. Sweeps: shares of levels, shares of classes, classes of records
    level_counts, class_counts = np.zeros((len(margins), CLASSES)), np.zeros(CLASSES)
    chances = rng.gamma(PRIOR * margins[:, None] * 5, size=level_counts.shape) + 1e-12
    sizes, concentration = np.full(CLASSES, 1 / CLASSES), 1.0
    n_kept = int(np.clip(MOST_VALUES // max(len(cells), 1), 10, SWEEPS - BURN_IN))
    kept = np.empty((n_kept, len(cells)))
    positions = np.linspace(BURN_IN, SWEEPS - 1, n_kept).astype(int)
    for sweep in range(SWEEPS):
        if sweep:
            chances = rng.gamma(PRIOR * margins[:, None] + level_counts) + 1e-300
            later = class_counts[::-1].cumsum()[::-1][1:]
            sticks = rng.beta(1 + class_counts[:-1], concentration + later)
            sticks = np.clip(sticks, 1e-12, 1 - 1e-12)
            left = np.log1p(-sticks)
            sizes = np.append(sticks, 1.0) * np.exp(np.append(0.0, left.cumsum()))
            concentration = rng.gamma(CLASSES - 0.75) / (0.25 - left.sum())
        chances /= np.repeat(np.add.reduceat(chances, begins), n_levels, axis=0)
        deal_records(
            codes, weights, sizes, chances, rng.random(len(codes)), level_counts, class_counts
        )
        for position in np.flatnonzero(positions == sweep):
            cell_shares(cells, sizes, chances, kept[position])
    return kept
