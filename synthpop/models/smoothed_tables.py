"""Tables of two variables by area, as a sample tells them about its population.

A cell of few persons says little of its own. So the shares of y given x in an area are a mean of
those of the sample and those of a table m that has the margins (area, x), (area, y) and (x, y) of
the sample and no more (iterative proportional fitting; Deming and Stephan 1940, doi:
10.1214/aoms/1177731829); with one area only those of x and y,

    p(y | a, x) = (n_axy + k m_axy / m_ax.) / (n_ax. + k),

with the weight k of so many persons, which cross-validation over two halves of the sampling units
chooses (Dirichlet-multinomial shrinkage; Good 1965, The Estimation of Probabilities).
"""

from __future__ import annotations

import numpy as np

AMOUNTS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 5000.0)
SWEEPS = 10
LEAST = 1e-6  # probability that a cell is given at least when shares are scored


def without_interaction(table: np.ndarray) -> np.ndarray:
    """Return the table with the two-way margins of a three-way one and nothing else of it.

    table: float array, shape (areas, X, Y); with one area x and y are independent

    Examples
    --------
    >>> table = np.array([[[4.0, 0.0], [0.0, 4.0]], [[0.0, 4.0], [4.0, 0.0]]])
    >>> without_interaction(table).tolist()
    [[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]
    """
    fitted = np.ones_like(table)
    for _ in range(SWEEPS):
        for axis in range(1 if len(table) == 1 else 0, 3):
            wanted, margin = table.sum(axis=axis), fitted.sum(axis=axis)
            factor = np.divide(wanted, margin, out=np.zeros_like(wanted), where=margin > 0)
            fitted *= np.expand_dims(factor, axis)
    return fitted


def smoothed(table: np.ndarray, amount: float) -> np.ndarray:
    """Return a table (areas, X, Y) shrunk towards the one without interaction; see the module.

    The weight of every area and x stays.

    Examples
    --------
    >>> table = np.array([[[4.0, 0.0], [0.0, 4.0]], [[0.0, 4.0], [4.0, 0.0]]])
    >>> smoothed(table, 4.0)[0].tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """
    rows, expected = table.sum(axis=2, keepdims=True), without_interaction(table)
    total = expected.sum(axis=2, keepdims=True)
    shares = np.divide(expected, total, out=np.zeros_like(table), where=total > 0)
    kept = np.divide(rows, rows + amount, out=np.zeros_like(rows), where=rows > 0)
    return (table + amount * shares) * kept


def best_amount(halves: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the amount with which each half predicts the other best, by the log score.

    halves: tables, each shape (areas, X, Y), of two halves of the sampling units
    """
    scores = np.zeros(len(AMOUNTS))
    for seen, new in (halves, halves[::-1]):
        rows, expected = seen.sum(axis=2, keepdims=True), without_interaction(seen)
        total = expected.sum(axis=2, keepdims=True)
        shares = np.divide(expected, total, out=np.zeros_like(seen), where=total > 0)
        cells = new > 0
        n, m, k = seen[cells], shares[cells], np.broadcast_to(rows, seen.shape)[cells]
        for i, amount in enumerate(AMOUNTS):
            p = (n + amount * m) / (k + amount)
            scores[i] += new[cells] @ np.log(np.maximum(p, LEAST))
    return AMOUNTS[int(np.argmax(scores))]
