"""What the last bits of a number depend on: versions of libraries, and the kernels of BLAS."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from synthpop.microdata.version import __version__

LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn", "numba", "pyarrow")


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """Return versions and BLAS core; where they agree, two processes compute the same bytes."""
    import scipy.linalg  # noqa: F401  (loads the BLAS of SciPy beside that of NumPy)
    from threadpoolctl import threadpool_info

    cores = {
        f"{item['internal_api']} {item.get('architecture', '')}".strip()
        for item in threadpool_info()
        if item["user_api"] == "blas"
    }
    versions = {"synthpop": __version__, "blas": ", ".join(sorted(cores)) or "unknown"}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "unknown"
    return versions


def one_thread(user_api: str | None = None) -> AbstractContextManager[Any]:
    """Limit BLAS and OpenMP to one thread: sums are in one order, whatever the machine."""
    limited: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(
        limits=1, user_api=user_api
    )
    return limited


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def environment_difference(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Return in what two environments differ, as text; empty where they agree."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    return ", ".join(
        f"{name} {ours.get(name, 'absent')} and {theirs.get(name, 'absent')}" for name in names
    )
