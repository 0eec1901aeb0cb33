"""Small pictures in lines and tables: how a number went, how values are spread."""

from __future__ import annotations

from collections.abc import Sequence

from htmltools import Tag, svg

WIDTH, HEIGHT, EDGE = 64.0, 18.0, 2.0


def spark_line(values: Sequence[float]) -> Tag | None:
    """Return a line through values with a dot at the last; None for fewer than two.

    Examples
    --------
    >>> spark_line([1.0]) is None
    True
    >>> spark_line([4.0, 0.0]).children[0].attrs["points"]
    '2.0,2.0 62.0,16.0'
    """
    if len(values) < 2:
        return None
    low, high = min(*values, 0.0), max(values)
    step = (WIDTH - 2 * EDGE) / (len(values) - 1)
    scale = (HEIGHT - 2 * EDGE) / ((high - low) or 1.0)
    points = [
        (round(EDGE + place * step, 1), round(HEIGHT - EDGE - (value - low) * scale, 1))
        for place, value in enumerate(values)
    ]
    last_point = points[-1]
    return _picture(
        svg.polyline(points=" ".join(f"{x},{y}" for x, y in points)),
        svg.circle(cx=str(last_point[0]), cy=str(last_point[1]), r="2"),
    )


def spark_bars(counts: Sequence[float]) -> Tag | None:
    """Return one bar per count, the highest of full height; None without counts."""
    top = max(counts, default=0)
    if not top:
        return None
    step = WIDTH / len(counts)
    heights = [round(HEIGHT * value / top, 1) for value in counts]
    return _picture(
        *[
            svg.rect(
                x=str(round(place * step, 1)), y=str(round(HEIGHT - height, 1)),
                width=str(round(0.85 * step, 1)), height=str(height),
            )
            for place, height in enumerate(heights)
        ]
    )  # fmt: skip


def _picture(*shapes: Tag) -> Tag:
    """Return the picture; the same numbers stand beside it as text, so it is not read aloud."""
    return svg.svg(
        *shapes, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", class_="spark", aria_hidden="true",
        focusable="false",
    )  # fmt: skip
