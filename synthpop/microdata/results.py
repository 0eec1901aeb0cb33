"""What every result object can do: say in a sentence what it means, and show itself."""

from __future__ import annotations

from html import escape


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

    def _repr_html_(self) -> str:
        text = "<br>".join(escape(line) for line in self.summary().splitlines())
        to_frame = getattr(self, "to_frame", None)
        table = to_frame().head(20).to_html(float_format="{:.6g}".format) if to_frame else ""
        return f"<div><p>{text}</p>{table}</div>"
