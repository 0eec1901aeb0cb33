"""The one numba wrapper: every kernel of both packages is compiled through `kernel`.

Compiled code is cached beside its module and releases the interpreter lock, so that threads work
side by side. ``fn.py_func`` is the plain Python form that the tests compare with; with
``NUMBA_DISABLE_JIT=1``, or where numba cannot be imported, the plain form is all there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

try:
    import numba
except ImportError:  # the plain Python form is the same function, only slower
    numba = None


def kernel(function: F) -> F:
    """Compile `function` in nopython mode, cached, without the interpreter lock."""
    if numba is None or numba.config.DISABLE_JIT:
        function.py_func = function  # type: ignore[attr-defined]
        return function
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def inlined(function: F) -> F:
    """Compile a step that kernels of the same file share into each of them, without a call."""
    if numba is None or numba.config.DISABLE_JIT:
        return function
    return numba.njit(forceinline=True, nogil=True, error_model="numpy")(function)
