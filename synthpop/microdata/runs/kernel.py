"""The one numba wrapper: every kernel of both packages is compiled through `kernel`.

Compiled code is cached beside its module and releases the interpreter lock, so that threads work
side by side. ``fn.py_func`` is the plain Python form that the tests compare with; with
``NUMBA_DISABLE_JIT=1``, or where numba cannot be imported, the plain form is all there is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

from synthpop.microdata.messages.events import COMPILE_WATCHERS

F = TypeVar("F", bound=Callable[..., Any])

try:
    import numba
    from numba.core import event
    from numba.core.registry import CPUDispatcher
except ImportError:  # the plain Python form is the same function, only slower
    numba = None

OPTIONS: dict[str, object] = {"nogil": True, "error_model": "numpy"}


if numba is not None:

    class CompileListener(event.Listener):
        """Notify watchers; collect no garbage while a kernel compiles (an eighth of the time).

        Compilers hold a lock of numba's, so that one thread at a time is here.
        """

        def __init__(self) -> None:
            self.depth, self.enabled = 0, False

        def on_start(self, event: Any) -> None:
            """Begin with the outermost of the kernels that are compiled."""
            if self.depth == 0:
                self.enabled = gc.isenabled()
                gc.disable()
                for watcher in list(COMPILE_WATCHERS):
                    watcher(True)
            self.depth += 1

        def on_end(self, event: Any) -> None:
            """Collect garbage again once nothing is compiled."""
            self.depth -= 1
            if self.depth == 0:
                for watcher in list(COMPILE_WATCHERS):
                    watcher(False)
                if self.enabled:
                    gc.enable()

    event.register("numba:compile", CompileListener())

    class Step(CPUDispatcher):
        """A compiled step, which only compiled code can enter: Python runs the plain form."""

        def __call__(self, *args: Any) -> Any:
            """Run the plain Python form."""
            return self.py_func(*args)


def kernel(function: F) -> F:
    """Compile `function` in nopython mode, cached, without the interpreter lock."""
    if numba is None or numba.config.DISABLE_JIT:
        function.py_func = function  # type: ignore[attr-defined]
        return function
    return numba.njit(cache=True, no_cfunc_wrapper=True, **OPTIONS)(function)


def step(function: F) -> F:
    """Compile a step of kernels: it has no cache and no entry from Python of its own."""
    if numba is None or numba.config.DISABLE_JIT:
        function.py_func = function  # type: ignore[attr-defined]
        return function
    compiled = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)
    compiled.__class__ = Step
    return compiled


def inlined(function: F) -> F:
    """Compile a step that kernels of the same file share into each of them, without a call."""
    if numba is None or numba.config.DISABLE_JIT:
        return function
    return numba.njit(forceinline=True, nogil=True, error_model="numpy")(function)
