"""What every result object can do: say in a sentence what it means, and show itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synthpop.microdata.errors import Faults
from synthpop.microdata.show import view

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Result:
    """Mixin of the frozen result records.

    A result implements `summary`, one or a few sentences that say what its numbers mean and where
    a threshold comes from; most also have ``to_frame``.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in vars(cls):  # a dataclass would list its fields
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def summary(self) -> str:
        """Return what the numbers mean, in sentences."""
        raise NotImplementedError  # every result has its own sentence

    def __str__(self) -> str:
        return self.summary()

    def _table(self) -> Any:
        """Return the table that a notebook shows; None where there is none."""
        to_frame = getattr(self, "to_frame", None)
        return to_frame() if to_frame else None

    def _main_figure(self) -> Any:
        """Return the figure that a notebook shows; None where there is none."""
        return None

    def plot(self) -> Axes:
        """Draw the main figure of the result and return its axes.

        ``result.plot().figure`` is the figure, which shows itself in a notebook.

        Raises
        ------
        InputError
            The result has no figure.
        """
        figure = self._main_figure()
        if figure is None:
            faults = Faults(type(self).__name__)
            faults.add("plot", "there is no figure of this result", remedy="See to_frame().")
            faults.raise_if_any()
        axes: Axes = figure.get_axes()[0]
        return axes

    def _repr_html_(self) -> str:
        return view(self.summary(), self._table(), self._main_figure())
