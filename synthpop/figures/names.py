"""What variables are called in pictures and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from synthpop.microdata.messages.message import message


@dataclass(frozen=True, slots=True)
class FigureNames:
    """What variables are called in pictures and tables."""

    # variable -> text, for instance ``{"pl030": "Economic status"}``
    labels: Mapping[str, str] = field(default_factory=dict)
    # variable -> unit, for instance ``{"netIncome": "euros a year"}``
    units: Mapping[str, str] = field(default_factory=dict)

    def title(self, name: str) -> str:
        """Return the text and the name of a variable."""
        text = self.short(name)
        return text if text == name else f"{text} ({name})"

    def short(self, name: str) -> str:
        """Return the text of a variable, or its name."""
        base = name.removesuffix(" in classes")
        text = self.labels.get(base, base).split(": ")[0].split(" (")[0]
        return text if base == name else message("{concept} in classes", concept=text)

    def axis(self, name: str) -> str:
        """Return the title with the unit."""
        unit = self.units.get(name, "")
        return f"{self.title(name)}, {unit}" if unit else self.title(name)
