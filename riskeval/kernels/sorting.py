"""Sorting inside of kernels."""

from __future__ import annotations

from synthpop.microdata.runs.kernel import step


@step
def sort_first(values, n):
    """Sort the first `n` values (Shell 1959; the sort of NumPy takes a second to compile)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
