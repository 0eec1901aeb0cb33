"""The page of a population in zones: totals that agree, totals that contradict, the map."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from synthpop import Margin, Survey, populate_zones, write_zones, zone_copies
from synthpop.calibration import adjust_zones, balance_zones
from synthpop.microdata.messages.errors import InputError

ZONES = pd.DataFrame({"zone": ["a", "b"]})
SURVEY = Survey(pd.DataFrame({"hid": [1, 2, 2, 3], "w": 10.0}), weight="w", household="hid")
HOMES = Margin(ZONES.assign(total=[8, 9]), level="household", name="homes")


def square(x: float) -> list[list[list[float]]]:
    return [[[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]]


def geojson(file: Path, names: list[str]) -> Path:
    features = [
        {"type": "Feature", "properties": {"zone": name},
         "geometry": {"type": "Polygon", "coordinates": square(k)}}
        for k, name in enumerate(names)
    ]  # fmt: skip
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return file


def page_of(tmp_path: Path, persons: list[float], **options) -> str:
    people = Margin(ZONES.assign(total=persons), importance=10.0, name="people")
    made = balance_zones(SURVEY, ZONES, [HOMES, people], seed=1)
    return write_zones(tmp_path / "zones.html", made, **options).read_text(encoding="utf-8")


def test_totals_that_agree_are_met_and_none_is_called_a_conflict(tmp_path: Path) -> None:
    page = page_of(tmp_path, [11, 12])
    assert "All are met exactly." in page
    assert "Weights meet all totals together." in page
    assert 'id="conflicts"' not in page
    assert "<svg" not in page.split("<main", 1)[-1].split('id="zones"')[-1]


def test_conflicts_are_named_by_zone_and_table_and_shown_on_the_map(tmp_path: Path) -> None:
    places = geojson(tmp_path / "zones.geojson", ["a", "b", "elsewhere"])
    page = page_of(tmp_path, [40, 12], places=places, title="Two zones")
    section = page.split('id="conflicts"')[-1].split("</section>")[0]
    assert "people" in section
    assert "zone a" in section
    assert "zone b" not in section
    shapes = page.split('<svg class="curve map"')[1].split("</svg>")[0]
    assert shapes.count("<path") == 2
    assert 'class="class-4"' in shapes
    assert 'class="class-0"' in shapes
    assert "<h1>Two zones" in page
    german = page_of(tmp_path, [40, 12], places=places, language="de")
    assert "Widersprüche" in german
    assert "Conflicts" not in german


def test_points_and_populations_in_folders(tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    pd.DataFrame({"zone": ["a", "b"], "x": [15.1, 15.9], "y": [48.0, 48.2]}).to_csv(points)
    made = populate_zones(SURVEY, ZONES, HOMES, tmp_path / "out", seed=1)
    page = write_zones(tmp_path / "page.html", made, places=points).read_text(encoding="utf-8")
    assert page.count("<circle") == 2
    copies = zone_copies(made)
    assert copies["households"].tolist() == [8, 9]
    assert (copies["different"] * copies["most"] >= copies["households"]).all()


def test_places_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    other = geojson(tmp_path / "other.geojson", ["x"])
    broken = tmp_path / "broken.geojson"
    broken.write_text('{"features": [{"properties": {}}]}')
    table = tmp_path / "table.csv"
    table.write_text("zone,x\na,1\n")
    for places, what in (
        (other, "no zone of the population"), (broken, "is not GeoJSON"),
        (table, "has no column y"), (tmp_path / "absent.geojson", "is not there"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=what):
            page_of(tmp_path, [11, 12], places=places)


def test_nothing_is_said_of_conflicts_where_no_weights_were_made(tmp_path: Path) -> None:
    """Of an adjusted population, and of zones done anew, it is not known whether totals agree."""
    made = balance_zones(SURVEY, ZONES, HOMES, seed=1).persons()
    people = Margin(ZONES.assign(total=[40, 12]), importance=10.0, name="people")
    adjusted = adjust_zones(made, ZONES, people, household="zone_household", seed=1)
    page = write_zones(tmp_path / "zones.html", adjusted).read_text(encoding="utf-8")
    assert "Weights meet all totals together." not in page
    assert "fractional weights" not in page
    assert "of 2 are missed" in page
