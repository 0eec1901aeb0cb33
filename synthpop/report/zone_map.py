"""A map of zones as SVG: areas of a GeoJSON file, or points of a table, shaded by a class."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from synthpop.microdata.formats.files import read_table
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.messages.errors import InputError

WIDTH = 440
MOST_HEIGHT = 640
Rings = Sequence[np.ndarray]
"""Outlines of a zone, float64 arrays of shape (n, 2); a single row of one outline is a point."""


def read_places(path: Path, zone: str) -> dict[str, Rings]:
    """Read outlines (GeoJSON) or points (a table with columns x and y) of zones.

    zone: property or column with the name of the zone
    Raises InputError: the file has no zones, or something else than areas and points.
    """
    if path.suffix.lower() in (".geojson", ".json"):
        return _of_features(path, zone)
    table = read_table(path)
    absent = [name for name in (zone, "x", "y") if name not in table]
    if absent:
        what = f"has no column {', '.join(absent)}"
        raise InputError.of("places", path.name, what, "Give the zone, x and y.")
    xy = table[["x", "y"]].to_numpy(dtype=np.float64)
    return {level_text(name): [xy[[k]]] for k, name in enumerate(table[zone])}


def _of_features(path: Path, zone: str) -> dict[str, Rings]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        features = data["features"]
        places = {
            level_text(item["properties"][zone]): list(_rings(item["geometry"]))
            for item in features
        }
    except FileNotFoundError:
        raise InputError.of("places", path.name, "is not there", "Add the file.") from None
    except (ValueError, KeyError, TypeError) as problem:
        what = f"is not GeoJSON of areas with the property {zone!r}: {problem}"
        raise InputError.of("places", path.name, what, "Repair the file.") from None
    return places


def _rings(geometry: Mapping[str, Any]) -> Iterator[np.ndarray]:
    kind, at = geometry["type"], geometry["coordinates"]
    if kind == "Point":
        yield np.array([at[:2]], dtype=np.float64)
        return
    if kind not in ("Polygon", "MultiPolygon"):
        raise ValueError(f"geometry {kind}")
    for polygon in at if kind == "MultiPolygon" else [at]:
        for ring in polygon:
            yield np.array([point[:2] for point in ring], dtype=np.float64)


def zone_map(places: Mapping[str, Rings], classes: Mapping[str, int], texts: Mapping[str, str],
             label: str) -> str:  # fmt: skip
    """Return the zones that have a class, each shaded by it, and with its text as a tooltip.

    classes: 0 (palest) to 4; longitudes and latitudes are drawn equidistant at their middle
    """
    shown = {name: rings for name, rings in places.items() if name in classes}
    points = np.concatenate([ring for rings in shown.values() for ring in rings])
    low, high = points.min(axis=0), points.max(axis=0)
    degrees = bool((np.abs(points[:, 0]) <= 180).all() and (np.abs(points[:, 1]) <= 90).all())
    stretch = max(float(np.cos(np.radians((low[1] + high[1]) / 2))), 0.1) if degrees else 1.0
    size = np.maximum((high - low) * [stretch, 1.0], 1e-9)
    scale = min((WIDTH - 20) / size[0], (MOST_HEIGHT - 20) / size[1])
    height = round(float(size[1] * scale)) + 20

    def at(ring: np.ndarray) -> np.ndarray:
        xy = (ring - low) * [stretch, 1.0] * scale
        return np.column_stack([xy[:, 0] + 10, height - 10 - xy[:, 1]])

    body = []
    for name, rings in shown.items():
        kind = f"class-{classes[name]}"
        title = f"<title>{escape(texts[name])}</title>"
        outlines = "".join(
            "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in at(ring)) + "Z"
            for ring in rings if len(ring) > 1
        )  # fmt: skip
        if outlines:
            body.append(f'<path class="{kind}" fill-rule="evenodd" d="{outlines}">{title}</path>')
        for ring in rings:
            if len(ring) == 1:
                x, y = at(ring)[0]
                body.append(
                    f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5">{title}</circle>'
                )
    text = escape(label, quote=True)
    return (
        f'<svg class="curve map" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text}">'
        f"{''.join(body)}</svg>"
    )
