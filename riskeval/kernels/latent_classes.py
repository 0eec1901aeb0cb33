"""Steps of the Gibbs sampler of a latent class model of a key table."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def deal_records(codes, weights, sizes, chances, uniform, level_counts, class_counts):
    """Draw the class of each record, and count levels and records by class, with weights.

    codes : int64 (n, m), place of each value in the rows of `chances`; -1 is missing
    sizes : float64 (K,), shares of the classes
    chances : float64 (levels of all keys, K), share of each level in each class
    level_counts, class_counts : float64 (levels of all keys, K) and (K,), filled
    """
    n, m = codes.shape
    n_classes = len(sizes)
    below = np.empty(n_classes)
    level_counts[:] = 0.0
    class_counts[:] = 0.0
    for i in range(n):
        total = 0.0
        for k in range(n_classes):
            p = sizes[k]
            for j in range(m):
                if codes[i, j] >= 0:
                    p *= chances[codes[i, j], k]
            total += p
            below[k] = total
        drawn = 0
        while drawn < n_classes - 1 and below[drawn] <= uniform[i] * total:
            drawn += 1
        class_counts[drawn] += weights[i]
        for j in range(m):
            if codes[i, j] >= 0:
                level_counts[codes[i, j], drawn] += weights[i]


@kernel
def cell_shares(codes, sizes, chances, out):
    """Fill `out` (cells,) with the share of the population in each cell; -1 stands for any value.

    codes : int64 (cells, m), as in `deal_records`
    """
    for i in range(len(codes)):
        total = 0.0
        for k in range(len(sizes)):
            p = sizes[k]
            for j in range(codes.shape[1]):
                if codes[i, j] >= 0:
                    p *= chances[codes[i, j], k]
            total += p
        out[i] = total
