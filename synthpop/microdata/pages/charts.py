"""Small inline charts as SVG text: differences with the band of their sampling error.

Colours come from the style of the page (classes ``band``, ``mark``, ``far``), so that light and
dark pages and print need no second drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from synthpop.microdata.messages.language import localised
from synthpop.microdata.messages.text import number

BAR_WIDTH, SPARK_WIDTH, SPARK_HEIGHT = 120, 150, 30
BAR, SPARK = (BAR_WIDTH, 16), (SPARK_WIDTH, SPARK_HEIGHT)
CURVE_WIDTH, CURVE_HEIGHT, LEFT, BOTTOM, TOP = 440, 190, 52, 34, 12


def difference_bar(value: float, error: float, reach: float, text: str) -> str:
    """Return a dot at a difference, on a line through zero, with the band of two errors.

    value, error: difference and its standard error; NaN gives an empty text
    reach: largest absolute value of the axis, the same for all rows of a table
    """
    if not (np.isfinite(value) and reach > 0):
        return ""
    middle = BAR_WIDTH / 2
    scale = (middle - 5) / reach
    half = min(2 * error * scale, middle - 1) if np.isfinite(error) else 0.0
    at = middle + float(np.clip(value, -reach, reach)) * scale
    kind = "far" if abs(value) > 2 * error else "mark"
    body = (
        f'<rect class="band" x="{middle - half:.1f}" y="2" width="{2 * half:.1f}" height="12"/>'
        f'<path class="zero" d="M{middle:.0f} 0V16"/>'
        f'<path class="{kind}" d="M{middle:.0f} 8H{at:.1f}"/>'
        f'<circle class="{kind}" cx="{at:.1f}" cy="8" r="3.5"/>'
    )
    return _svg(BAR, text, body)


def spark_bars(values: Sequence[float], errors: Sequence[float], text: str) -> str:
    """Return differences of levels as bars up and down, each on the band of two errors."""
    x, e = np.asarray(values, dtype=float), np.asarray(errors, dtype=float)
    is_finite = np.isfinite(x)
    x, e = x[is_finite], np.nan_to_num(e[is_finite])
    reach = float(max(np.abs(x).max(initial=0.0), (2 * e).max(initial=0.0)))
    if not len(x) or reach <= 0:
        return _svg(SPARK, text, _zero_line())
    middle, scale = SPARK_HEIGHT / 2, (SPARK_HEIGHT / 2 - 1) / reach
    step = SPARK_WIDTH / len(x)
    body = ""
    for k, (value, error) in enumerate(zip(x, e, strict=True)):
        left, width = k * step, max(step - 1, 0.6)
        half, top = 2 * error * scale, middle - max(value, 0.0) * scale
        kind = "far" if abs(value) > 2 * error else "mark"
        body += rectangle("band", left, middle - half, width, 2 * half)
        body += rectangle(kind, left + width * 0.3, top, max(width * 0.4, 0.6), abs(value) * scale)
    return _svg(SPARK, text, body + _zero_line())


def spark_curve(
    x: np.ndarray, values: np.ndarray, errors: np.ndarray, text: str, *, is_far: bool
) -> str:
    """Return the difference of two distribution functions as a line in the band of two errors.

    `is_far`: the largest difference is more than chance; single points may leave the band by it.
    """
    if len(x) < 2:
        return _svg(SPARK, text, _zero_line())
    reach = _reach(values, errors)
    across = np.linspace(0, SPARK_WIDTH, len(x))
    middle, scale = SPARK_HEIGHT / 2, (SPARK_HEIGHT / 2 - 1) / reach
    body = _band(across, middle - 2 * errors * scale, middle + 2 * errors * scale)
    body += _zero_line() + _line(across, middle - values * scale, _kind(is_far))
    return _svg(SPARK, text, body)


def difference_curve(
    x: np.ndarray,
    values: np.ndarray,
    errors: np.ndarray,
    text: str,
    unit: str = "",
    *,
    is_far: bool,
) -> str:
    """Return the difference of two distribution functions with its axes.

    x: values of the variable, in `unit`
    values, errors: population less survey, as shares, and its standard error
    is_far: whether the largest difference is more than chance
    """
    if len(x) < 2 or not x[-1] > x[0]:
        return ""
    reach = _reach(values, errors)
    width, height = CURVE_WIDTH - LEFT - 8, CURVE_HEIGHT - BOTTOM - TOP
    across = LEFT + (x - x[0]) / (x[-1] - x[0]) * width
    middle, scale = TOP + height / 2, height / 2 / reach
    body = _band(across, middle - 2 * errors * scale, middle + 2 * errors * scale)
    for share in (-1.0, 0.0, 1.0):
        y = middle - share * reach * scale
        body += f'<path class="{"grid" if share else "zero"}" d="M{LEFT} {y:.1f}H{LEFT + width}"/>'
        label = _points(share * reach)
        body += f'<text class="tick end" x="{LEFT - 6}" y="{y + 4:.1f}">{label}</text>'
    for tick in nice_ticks(float(x[0]), float(x[-1])):
        at = LEFT + (tick - x[0]) / (x[-1] - x[0]) * width
        body += f'<path class="grid" d="M{at:.1f} {TOP}V{TOP + height}"/>'
        body += (
            f'<text class="tick mid" x="{at:.1f}" y="{TOP + height + 16}">{number(tick, 6)}</text>'
        )
    body += _line(across, middle - values * scale, _kind(is_far))
    if unit:
        at = f'x="{LEFT + width}" y="{CURVE_HEIGHT - 3}"'
        body += f'<text class="tick end" {at}>{escape(str(unit))}</text>'
    return _svg((CURVE_WIDTH, CURVE_HEIGHT), text, body, "curve")


def ratio_bar(ratio: float, reach: float, text: str) -> str:
    """Return a bar from zero to a ratio; the grey band ends at one, the sampling error.

    The scale is logarithmic beyond one, so that one large value does not flatten the others.
    """
    if not np.isfinite(ratio):
        return ""
    end = _beyond(max(reach, 2.0))
    scale = (BAR_WIDTH - 6) / end
    at = _beyond(min(ratio, max(reach, 2.0))) * scale
    kind = "far" if ratio > 2 else "mark"
    body = (
        f'<rect class="band" x="0" y="2" width="{scale:.1f}" height="12"/>'
        f'<path class="{kind}" d="M0 8H{at:.1f}"/>'
        f'<circle class="{kind}" cx="{at:.1f}" cy="8" r="3.5"/>'
    )
    return _svg(BAR, text, body)


def part_bar(parts: Sequence[tuple[float, str]], reach: float, text: str) -> str:
    """Return parts of a count side by side: width and class of each, on a linear axis."""
    if not reach > 0:
        return ""
    left, body = 0.0, ""
    for value, kind in parts:
        width = max(value, 0.0) / reach * BAR_WIDTH
        body += f'<rect class="{kind}" x="{left:.1f}" y="2" width="{width:.1f}" height="12"/>'
        left += width
    return _svg(BAR, text, body)


def value_bar(
    value: float, limit: float, reach: float, text: str, *, at_least: bool = False
) -> str:
    """Return a bar from zero to a value with a mark at its limit (NaN for none), on a linear axis.

    at_least: whether values below the limit are those that exceed it
    """
    if not (np.isfinite(value) and reach > 0):
        return ""
    scale = (SPARK_WIDTH - 6) / reach
    beyond = bool(np.isfinite(limit)) and (value < limit if at_least else value > limit)
    body = '<rect class="track" x="0" y="12" width="150" height="6"/>'
    width = max(min(abs(value), reach) * scale, 1.0)
    body += f'<rect class="{"far" if beyond else "mark"}" x="0" y="9" width="{width:.1f}" '
    body += 'height="12"/>'
    if np.isfinite(limit):
        at = min(limit, reach) * scale
        body += f'<path class="limit" d="M{at:.1f} 3V27"/>'
    return _svg(SPARK, text, body)


def interval_dot(
    value: float,
    lower: float,
    upper: float,
    yardstick: float,
    ends: tuple[float, float],
    text: str,
    *,
    is_far: bool | None = None,
) -> str:
    """Return a dot with its interval, and a vertical line at what it is compared with.

    lower, upper: NaN for no interval
    yardstick: baseline or true value; NaN for none. A dot whose interval excludes it stands out.
    ends: low and high end of the axis
    is_far: whether the dot stands out, whatever the interval
    """
    low, high = ends
    if not (np.isfinite(value) and high > low):
        return ""

    def at(x: float) -> float:
        return 4 + (float(np.clip(x, low, high)) - low) / (high - low) * (SPARK_WIDTH - 8)

    body = f'<path class="grid" d="M0 15H{SPARK_WIDTH}"/>'
    apart = np.isfinite(yardstick) and np.isfinite(lower) and not lower <= yardstick <= upper
    kind = "far" if (apart if is_far is None else is_far) else "mark"
    if np.isfinite(yardstick):
        body += f'<path class="limit" d="M{at(yardstick):.1f} 3V27"/>'
    if np.isfinite(lower) and np.isfinite(upper):
        body += f'<path class="{kind}" d="M{at(lower):.1f} 15H{at(upper):.1f}"/>'
    body += f'<circle class="{kind}" cx="{at(value):.1f}" cy="15" r="4"/>'
    return _svg(SPARK, text, body)


def roc_curve(points: Sequence[tuple[float, float]], text: str) -> str:
    """Return a ROC curve: shares of false alarms and of true ones, with the line of guessing."""
    size, left, top = 150.0, float(LEFT), float(TOP)
    x, y = np.asarray(points, dtype=float).T
    body = f'<path class="zero" d="M{left} {top + size}L{left + size} {top}"/>'
    for share in (0.0, 0.5, 1.0):
        across, down = left + share * size, top + (1 - share) * size
        body += f'<path class="grid" d="M{left} {down}H{left + size}M{across} {top}V{top + size}"/>'
        body += f'<text class="tick end" x="{left - 6}" y="{down + 4}">{number(share)}</text>'
        body += f'<text class="tick mid" x="{across}" y="{top + size + 16}">{number(share)}</text>'
    body += _line(left + x * size, top + (1 - y) * size, _kind(True))
    return _svg((CURVE_WIDTH, CURVE_HEIGHT), text, body, "curve")


def before_after(before: ArrayLike, after: ArrayLike, text: str) -> str:
    """Return two distributions over the same classes: columns before, a coloured line after."""
    q, p = (np.nan_to_num(np.asarray(values, dtype=float)) for values in (before, after))
    top = float(max(q.max(initial=0.0), p.max(initial=0.0)))
    if not len(q) or top <= 0:
        return _svg(SPARK, text, _zero_line())
    step, scale = SPARK_WIDTH / len(q), (SPARK_HEIGHT - 2) / top
    body, points = "", []
    for k, (a, b) in enumerate(zip(q, p, strict=True)):
        height, width = a * scale, max(step - 1, 0.6)
        body += rectangle("band", k * step, SPARK_HEIGHT - height, width, height)
        level = f"{SPARK_HEIGHT - 1 - b * scale:.1f}"
        points.append(f"{k * step:.1f},{level} {k * step + width:.1f},{level}")
    kind = "mark line" if np.allclose(q, p) else "far line"
    body += f'<polyline class="{kind}" points="{" ".join(points)}"/>'
    return _svg(SPARK, text, body)


def columns(values: Sequence[float], text: str) -> str:
    """Return a distribution as small columns."""
    x = np.nan_to_num(np.asarray(values, dtype=float))
    top = float(x.max(initial=0.0))
    body = ""
    if len(x) and top > 0:
        step = SPARK_WIDTH / len(x)
        for k, value in enumerate(x):
            height, width = value / top * (SPARK_HEIGHT - 2), max(step - 1, 0.6)
            body += rectangle("mark", k * step, SPARK_HEIGHT - height, width, height)
    return _svg(SPARK, text, body)


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most `most` round numbers from low to high."""
    raw = (high - low) / most
    if not raw > 0:
        return [low]
    size = 10.0 ** np.floor(np.log10(raw))
    step = next((size * k for k in (1, 2, 5, 10) if size * k >= raw), 10 * size)
    first = np.ceil(low / step)
    ticks = (np.arange(first, np.floor(high / step) + 1) * step).tolist()
    return [float(round(tick, 12)) for tick in ticks]


def _beyond(ratio: float) -> float:
    return ratio if ratio <= 1 else 1 + float(np.log2(ratio))


def _reach(values: np.ndarray, errors: np.ndarray) -> float:
    reach = float(max(np.nanmax(np.abs(values)), np.nanmax(2 * errors), 1e-6))
    digits = 10.0 ** np.floor(np.log10(reach))
    return float(np.ceil(reach / digits * 2) / 2 * digits)


def _kind(is_far: bool) -> str:
    return "far line" if is_far else "mark line"


def _points(share: float) -> str:
    text = f"{share * 100:+.2g}" if share else "0"
    return localised(text.replace("-", "−"))


def rectangle(kind: str, x: float, y: float, width: float, height: float) -> str:
    """Return a rectangle of a class."""
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" {size}/>'


def _band(x: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> str:
    forward = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, top, strict=True))
    back = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[::-1], bottom[::-1], strict=True))
    return f'<polygon class="band" points="{forward} {back}"/>'


def _line(x: np.ndarray, y: np.ndarray, kind: str) -> str:
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline class="{kind}" points="{points}"/>'


def _zero_line() -> str:
    return f'<path class="zero" d="M0 {SPARK_HEIGHT / 2:.0f}H{SPARK_WIDTH}"/>'


def _svg(size: tuple[int, int], text: str, body: str, kind: str = "small") -> str:
    label = escape(str(text), quote=True)
    return (
        f'<svg class="{kind}" viewBox="0 0 {size[0]} {size[1]}" role="img" '
        f'aria-label="{label}">{body}</svg>'
    )
