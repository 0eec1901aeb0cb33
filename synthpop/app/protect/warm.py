"""Kernels compiled ahead: one small session with the methods that need them."""

from __future__ import annotations


def compile_kernels() -> None:
    """Run the commonest methods and measures on a small made-up file."""
    import numpy as np
    import pandas as pd

    from riskeval import ProtectionSession

    n = 60
    frame = pd.DataFrame(
        {
            "home": np.arange(n) // 2,
            "a": np.arange(n) % 3,
            "b": np.arange(n) % 4,
            "c": np.arange(n) % 2,
            "x": np.linspace(1.0, 9.0, n) ** 2,
            "y": np.cos(np.arange(n)),
            "w": 1.0 + np.arange(n) % 5,
        }
    )
    for household in (None, "home"):
        session = ProtectionSession(
            frame, keys=["a", "b", "c"], numeric=["x", "y"], weights="w", household=household
        )
        session.risk()
        session.local_suppression(k=2)
        session.risk()
    session.microaggregate(k=3, household=None)
    session.utility()
