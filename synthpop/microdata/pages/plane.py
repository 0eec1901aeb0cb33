"""Charts with two axes as SVG text, in two sizes, coloured by the style of the page.

A `Plane` collects marks in units of the data; `render` draws them for wide pages and for phones,
and the style shows the one that fits. Colours are classes, so that light pages, dark pages and
print need no second drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import numpy as np

from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.text import tick
from synthpop.microdata.pages.charts import nice_ticks, rectangle

Scale = Literal["linear", "log", "symlog"]
SIZES = {"wide-only": (720, 340, 64), "narrow-only": (340, 280, 60)}
"""Class -> width, height and left margin in pixels."""
TOP, BOTTOM, RIGHT = 30, 46, 16
LETTER = 6.8
SHAPES = ("circle", "square", "diamond", "triangle", "cross", "ring")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis."""

    title: str
    # low, high: its ends; equal ends are widened
    low: float
    high: float
    # {"linear", "log", "symlog"}: "symlog" is linear around zero, up to `linear_below`, and
    # logarithmic beyond
    scale: Scale = "linear"
    text: Callable[[float], str] = tick  # function of a float: labels of the ticks
    linear_below: float = 1.0
    places: Sequence[tuple[float, str]] = ()  # ticks by name, for classes

    def position(self, values: Any) -> np.ndarray:
        """Return values as shares of the axis: 0 at its low end, 1 at its high end."""
        low, high = (float(self._bent(np.asarray(end))) for end in (self.low, self.high))
        span = high - low if high > low else 1.0
        return np.asarray((self._bent(np.asarray(values, dtype=float)) - low) / span)

    def _bent(self, values: np.ndarray) -> np.ndarray:
        if self.scale == "log":
            return np.asarray(np.log10(np.maximum(values, 1e-300)))
        if self.scale == "symlog":
            bent = np.sign(values) * np.log1p(np.abs(values) / self.linear_below)
            return np.asarray(bent)
        return values

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return at most about `most` ticks: value and label."""
        if self.places:
            step = max(1, -(-len(self.places) // (2 * most)))
            return list(self.places)[::step]
        if self.scale == "linear":
            values = nice_ticks(self.low, self.high, most)
        else:
            values = self._powers(most)
        return [(value, self.text(value)) for value in values]

    def _powers(self, most: int) -> list[float]:
        top = max(abs(self.low), abs(self.high), 1e-300)
        bottom = self.low if self.scale == "log" else self.linear_below
        first, last = np.floor(np.log10(max(bottom, 1e-300))), np.ceil(np.log10(top))
        step = max(1, int(np.ceil((last - first + 1) / most)))
        sizes = [10.0**p for p in np.arange(first, last + 1, step)]
        inside = [size for size in sizes if self.low <= size <= self.high]
        if len(inside) < 3 and step == 1:
            sizes = sorted({s * k for s in sizes for k in (1, 2, 5)})
        values = sizes if self.scale == "log" else [-s for s in sizes[::-1]] + [0.0, *sizes]
        slack = 1e-9 * top
        return [v for v in values if self.low - slack <= v <= self.high + slack]


@dataclass(slots=True)
class Plane:
    """Marks between two axes, in units of the data."""

    x: Axis
    y: Axis
    _marks: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    def point(
        self, x: float, y: float, kind: str = "mark", shape: str = "circle", label: str = ""
    ) -> None:
        """Add a point; its label is written beside it where there is room."""
        self._marks.append(("point", (x, y, kind, shape, label)))

    def dots(self, x: Sequence[float], y: Sequence[float]) -> None:
        """Add many small points without labels."""
        self._marks.append(("dots", (np.asarray(x), np.asarray(y))))

    def line(self, x: Sequence[float], y: Sequence[float], kind: str = "mark line") -> None:
        """Add a line through points."""
        self._marks.append(("line", (np.asarray(x, dtype=float), np.asarray(y, dtype=float), kind)))

    def bar(self, left: float, right: float, value: float, kind: str = "mark") -> None:
        """Add a bar from zero (the low end of a logarithmic axis) up to `value`."""
        self._marks.append(("bar", (left, right, value, kind)))

    def intervals(
        self, left: Sequence[float], right: Sequence[float], y: Sequence[float], kind: str = "mark"
    ) -> None:
        """Add many horizontal lines."""
        ends = np.asarray(left), np.asarray(right)
        self._marks.append(("intervals", (*ends, np.asarray(y), kind)))

    def rule(self, *, x: float | None = None, y: float | None = None, label: str = "") -> None:
        """Add a dashed line at a value of one of the axes, over the whole chart."""
        self._marks.append(("rule", (x, y, label)))

    def render(self, text: str) -> str:
        """Return the chart in both sizes; `text` is read to those who cannot see it."""
        return "".join(self._drawn(name, *size, text) for name, size in SIZES.items())

    def _drawn(self, name: str, width: int, height: int, left: int, text: str) -> str:
        frame = _Frame(self, width, height, left)
        body = frame.axes()
        for kind, values in self._marks:
            body += getattr(frame, kind)(*values)
        body += frame.labels()
        label = escape(str(text), quote=True)
        return (
            f'<svg class="curve {name}" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{label}" style="max-width:{width}px">{body}</svg>'
        )


class _Frame:
    """A plane at one size in pixels."""

    def __init__(self, plane: Plane, width: int, height: int, left: int) -> None:
        self.plane, self.width, self.height, self.left = plane, width, height, left
        self.inner = (width - left - RIGHT, height - TOP - BOTTOM)
        self.texts: list[tuple[float, float, str]] = []
        self.boxes: list[tuple[float, float, float, float]] = []

    def at(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        across = self.left + np.clip(self.plane.x.position(x), 0, 1) * self.inner[0]
        down = TOP + (1 - np.clip(self.plane.y.position(y), 0, 1)) * self.inner[1]
        return np.asarray(across), np.asarray(down)

    def axes(self) -> str:
        bottom, right = TOP + self.inner[1], self.left + self.inner[0]
        body = ""
        for value, label in self.plane.y.ticks(5):
            y = float(self.at(0.0, value)[1])
            body += f'<path class="grid" d="M{self.left} {y:.1f}H{right}"/>'
            body += (
                f'<text class="tick end" x="{self.left - 6}" y="{y + 4:.1f}">{escape(str(label))}'
            )
            body += "</text>"
        last = -1e9
        for value, label in self.plane.x.ticks(self.width // 110):
            x = float(self.at(value, 0.0)[0])
            if x - last < LETTER * len(label) + 6:
                continue
            last = x
            body += f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>'
            body += (
                f'<text class="tick mid" x="{x:.1f}" y="{bottom + 16}">{escape(str(label))}</text>'
            )
        body += f'<path class="zero" d="M{self.left} {bottom}H{right}"/>'
        size = int((right - 6) / LETTER)  # it may begin below the labels of the other axis
        body += f'<text class="tick end" x="{right}" y="{self.height - 8}">'
        body += f"{escape(_cut(_words(self.plane.x.title), size))}</text>"
        title = escape(_cut(_words(self.plane.y.title), int(self.width / LETTER)))
        return body + f'<text class="tick" x="0" y="14">{title}</text>'

    def point(self, x: float, y: float, kind: str, shape: str, label: str) -> str:
        a, b = (float(v) for v in self.at(x, y))
        self.boxes.append((a - 6, b - 6, a + 6, b + 6))
        if label:
            self.texts.append((a, b, label))
        return _shape(shape, a, b, kind)

    def dots(self, x: np.ndarray, y: np.ndarray) -> str:
        a, b = self.at(x, y)
        path = "".join(f"M{p:.0f} {q:.0f}h.1" for p, q in _distinct(a, b))
        return f'<path class="mark dots" d="{path}"/>'

    def line(self, x: np.ndarray, y: np.ndarray, kind: str) -> str:
        a, b = self.at(x, y)
        points = " ".join(f"{p:.1f},{q:.1f}" for p, q in zip(a, b, strict=True))
        return f'<polyline class="{kind}" points="{points}"/>'

    def intervals(self, left: np.ndarray, right: np.ndarray, y: np.ndarray, kind: str) -> str:
        (a, down), (b, _) = self.at(left, y), self.at(right, y)
        lines = zip(a, b, down, strict=True)
        path = "".join(f"M{low:.1f} {at:.1f}H{high:.1f}" for low, high, at in lines)
        return f'<path class="{kind} thin" d="{path}"/>'

    def bar(self, left: float, right: float, value: float, kind: str) -> str:
        a, b = self.at([left, right], value)[0]
        base = 0.0 if self.plane.y.low <= 0 <= self.plane.y.high else self.plane.y.low
        low, high = sorted(float(self.at(0.0, v)[1]) for v in (base, value))
        return rectangle(kind, float(a), low, max(float(b - a) - 1, 0.8), high - low)

    def rule(self, x: float | None, y: float | None, label: str) -> str:
        if x is not None:
            a = float(self.at(x, 0.0)[0])
            self.texts.append((a - 2, TOP + 4, _words(label)))
            return f'<path class="rule" d="M{a:.1f} {TOP}V{TOP + self.inner[1]}"/>'
        b = float(self.at(0.0, y)[1])
        self.texts.append((self.left + 2, b - 8, _words(label)))
        return f'<path class="rule" d="M{self.left} {b:.1f}H{self.left + self.inner[0]}"/>'

    def labels(self) -> str:
        """Write labels where they meet neither points nor other labels, if there is such a place.

        A label without a free place is left out: its point has its name in the table below.
        """
        body = ""
        for x, y, text in self.texts:
            if not text:
                continue
            size = LETTER * len(text)
            for dx, dy in ((9, 4), (-9 - size, 4), (-size / 2, -9), (-size / 2, 18),
                           (9, -10), (9, 18), (-9 - size, -10), (-9 - size, 18),
                           (-size / 2, -23), (-9 - size, -24), (9, -24)):  # fmt: skip
                box = (x + dx, y + dy - 11, x + dx + size, y + dy + 3)
                inside = box[0] >= self.left and box[2] <= self.width
                inside = inside and box[1] >= TOP - 12 and box[3] <= TOP + self.inner[1]
                if inside and not any(_meet(box, other) for other in self.boxes):
                    self.boxes.append(box)
                    body += f'<text class="label" x="{box[0]:.1f}" y="{y + dy:.1f}">'
                    body += f"{escape(str(text))}</text>"
                    break
        return body


def _words(text: str) -> str:
    return gettext(str(text))


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _distinct(a: np.ndarray, b: np.ndarray) -> list[tuple[float, float]]:
    """Points that fall on different pixels, in the order of the file."""
    return list(dict.fromkeys(zip(np.rint(a).tolist(), np.rint(b).tolist(), strict=True)))


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: max(letters - 1, 1)] + "…"


def _shape(shape: str, x: float, y: float, kind: str) -> str:
    if shape in ("circle", "ring"):
        hollow = " hollow" if shape == "ring" else ""
        return f'<circle class="{kind}{hollow}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    paths = {
        "square": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        "diamond": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z",
        "triangle": f"M{x:.1f} {y - 6:.1f}l6 10h-12z",
        "cross": f"M{x - 5:.1f} {y - 5:.1f}l10 10m-10 0l10-10",
    }
    filled = "stroke" if shape == "cross" else "fill"
    return f'<path class="{kind} {filled}" d="{paths[shape]}"/>'
