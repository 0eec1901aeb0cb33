"""What every result object can do: say in a sentence what it means, and show itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.presenters import PRESENTERS, presenter
from synthpop.microdata.messages.show import view

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Shown:
    """Mixin of what a notebook shows as a sentence, a table and a figure.

    The figure is drawn by the function that is registered as ``"<class>.plot"`` (see `presenters`).
    """

    __slots__ = ()

    def summary(self) -> str:
        """Return what the object is, or what its numbers mean, in sentences."""
        raise NotImplementedError  # each class has its own sentence

    def _table(self) -> Any:
        """Return the table that a notebook shows; None where there is none."""
        to_frame = getattr(type(self), "to_frame", None)
        return to_frame(self) if to_frame else None

    def _main_figure(self) -> Any:
        """Return the figure that a notebook shows; None where there is none."""
        method = f"{type(self).__name__}.plot"
        return presenter(method)(self) if method in PRESENTERS else None

    def plot(self) -> Axes:
        """Draw the main figure and return its axes.

        ``result.plot().figure`` is the figure, which shows itself in a notebook.

        Raises
        ------
        InputError
            There is no figure.
        """
        figure = self._main_figure()
        if figure is None:
            what = "there is no figure of this result"
            raise InputError.of(type(self).__name__, "plot", what, "See to_frame().")
        return figure.get_axes()[0]

    def _repr_html_(self) -> str:
        return view(self.summary(), self._table(), self._main_figure())


class Result(Shown):
    """Mixin of the frozen result records.

    A result implements `summary`, one or a few sentences that say what its numbers mean and where
    a threshold comes from; most also have ``to_frame``. Of a function under `same_library` the
    table comes back in the library of the frame that went in: polars for polars.
    """

    __slots__ = ("_library",)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in vars(cls):  # a dataclass would list its fields
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]
        method = vars(cls).get("to_frame")
        if method is not None and not hasattr(method, "__wrapped__"):  # slots make a class twice
            cls.to_frame = _in_library(method)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def __str__(self) -> str:
        return self.summary()

    def _table(self) -> Any:
        to_frame = getattr(type(self), "to_frame", None)
        return to_frame.__wrapped__(self) if to_frame else None  # pandas, whatever came in


def _in_library(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let ``to_frame`` return a frame of the library that `same_library` has noted."""

    @wraps(method)
    def to_frame(self: Any, *args: Any, **parameters: Any) -> Any:
        frame = method(self, *args, **parameters)
        library = getattr(self, "_library", None)
        return frame if library is None else library.frame(frame)

    return to_frame


class TableResult(Result):
    """Mixin of results whose numbers are one table."""

    __slots__ = ()
    table: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table
