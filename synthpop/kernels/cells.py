"""Cells: one number for each combination of predictor values, built up predictor by predictor.

A cell number is sum_j digit_j * stride_j, where digit 0 stands for a missing value.
"""

import numpy as np

from synthpop.microdata.runs.kernel import kernel


@kernel
def add_codes(cells, codes, stride):
    """Add the digit code + 1 of a coded column to `cells`, in place."""
    for i in range(len(codes)):
        cells[i] += (codes[i] + 1) * stride


@kernel
def add_table(cells, values, low, table, stride):
    """Add table[value - low] of a column of small whole numbers; outside the table the nearest."""
    last = len(table) - 1
    for i in range(len(values)):
        position = min(max(np.int64(values[i]) - low, 0), last)
        cells[i] += table[position] * stride


@kernel
def add_classes(cells, values, breaks, stride):
    """Add 1 + the number of inner breaks below the value; 0 where it is missing.

    Classes are (..., b_1], (b_1, b_2], ..., (b_last, ...).
    """
    for i in range(len(values)):
        value = values[i]
        if value == value:
            low, high = 0, len(breaks)
            while low < high:
                middle = (low + high) // 2
                if breaks[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            cells[i] += (low + 1) * stride


@kernel
def mark(cells, present):
    """Set present[c] for each cell c that occurs."""
    for i in range(len(cells)):
        present[cells[i]] = True
