"""Which record of a file conditions on its columns single out."""

from __future__ import annotations

import numpy as np

from synthpop.microdata.runs.kernel import kernel

EQUAL, AT_LEAST, AT_MOST, MISSING = 0, 1, 2, 3


@kernel
def isolated_rows(values, columns, operators, bounds):
    """Row of the only record for which all conditions of a predicate hold; -1 for none or several.

    values : float64, shape (n, q); NaN is missing: only the condition "is missing" holds for it
    columns, operators : int64, shape (p, s); `EQUAL`, `AT_LEAST`, `AT_MOST` or `MISSING`
    bounds : float64, shape (p, s)

    Returns int64, shape (p,).
    """
    n_predicates, size = columns.shape
    rows = np.full(n_predicates, -1, dtype=np.int64)
    for p in range(n_predicates):
        for i in range(len(values)):
            holds = True
            for s in range(size):
                value, bound = values[i, columns[p, s]], bounds[p, s]
                operator = operators[p, s]
                if operator == EQUAL:
                    holds = value == bound
                elif operator == AT_LEAST:
                    holds = value >= bound
                elif operator == AT_MOST:
                    holds = value <= bound
                else:
                    holds = np.isnan(value)
                if not holds:
                    break
            if holds and rows[p] >= 0:
                rows[p] = -1
                break
            if holds:
                rows[p] = i
    return rows
