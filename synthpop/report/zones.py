"""The page of a population in zones: which totals are met, where not, and how varied zones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.zones import ZoneHouseholds, measures_of_fit
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, number, percent, plural
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import Svg, card, table, verdict
from synthpop.pipeline.zone_population import zone_controls, zone_copies
from synthpop.population.population import Population
from synthpop.report.zone_map import read_places, zone_map

MOST_ROWS = 20
BORDERS = (0.0, 0.01, 0.05, 0.10)
"""Largest relative gap of a zone: upper ends of the classes of the map."""
CONFLICT = 1e-3
"""Relative gap of the weights to a total that counts as a conflict; at least half a unit."""


def write_zones(
    path: Place | str,
    zones: ZoneHouseholds | Population,
    *,
    places: Path | str | None = None,
    title: str | None = None,
    language: str = "en",
) -> Place:
    """Write how a population meets the known totals of its zones as one HTML file.

    Parameters
    ----------
    path : path
    zones : ZoneHouseholds or Population
        Result of `balance_zones`, or a population of `populate_zones`.
    places : path, optional
        GeoJSON file whose features have the zone as a property, or a table with the zone, x and y:
        the page then has a map.
    title : str, optional
    language : {"en", "de"}

    Raises
    ------
    InputError
        An unknown language, a population without zones, places that cannot be read.
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from synthpop import Margin, Survey
    >>> from synthpop.calibration import balance_zones
    >>> survey = Survey(pd.DataFrame({"hid": [1, 2, 2], "w": 10.0}), weight="w", household="hid")
    >>> zones = pd.DataFrame({"zone": ["a", "b"]})
    >>> homes = Margin(zones.assign(total=[8, 9]), level="household", name="homes")
    >>> made = balance_zones(survey, zones, homes, seed=1)
    >>> page = write_zones(tempfile.mkdtemp() + "/zones.html", made)
    >>> "17 households" in page.read_text(encoding="utf-8")
    True
    """
    if isinstance(zones, ZoneHouseholds):
        controls, copies = zones.controls, zones.copies()
    else:
        controls, copies = zone_controls(zones), zone_copies(zones)
    outlines = None if places is None else read_places(Path(places), str(copies.columns[0]))
    return write_for(
        path, "synthpop", "zones.html.j2", lambda external: zone_facts(controls, copies, outlines),
        title=title, audience="internal", language=language,
    )  # fmt: skip


def zone_facts(controls: pd.DataFrame, copies: pd.DataFrame, places: Any = None) -> dict[str, Any]:
    """Return everything that the page says, as text ready to be set."""
    zone = str(copies.columns[0])
    households = int(copies["households"].sum())
    exact = int((controls["gap"].abs() < 0.5).sum())
    fits = measures_of_fit(controls)
    head = ["Totals", "Number", "Exact", "Within 1 %", "Within 5 %", "Within 10 %", "Largest gap",
            "SRMSE", "R²"]  # fmt: skip
    lead = message(
        "{households} in {zones}.", households=plural(households, "household"),
        zones=plural(len(copies), "zone"),
    )  # fmt: skip
    totals = [
        [row[0], count(row[1]), count(row[2]), *map(_share, row[3:6]), number(row[6]),
         number(row[7], 3), number(row[8], 4)]
        for row in fits.itertuples(index=False)
    ]  # fmt: skip
    return {
        "title": gettext("Known totals of the zones"),
        "cards": [
            card("Households", count(households)),
            card("Zones", count(len(copies))),
            card("Known totals", count(len(controls))),
            card("Met exactly", percent(exact / len(controls), 1)),
        ],
        "lead": lead,
        "verdicts": _verdicts(controls, copies),
        "fits": table(head, totals),
        "conflicts": _conflicts(controls),
        "missed": _missed(controls),
        "zones": _zones(controls, copies, zone),
        "map": None if places is None else _map(places, controls, zone),
    }


def conflicting(controls: pd.DataFrame) -> pd.Series:
    """Return which totals not even fractional weights meet: they contradict others."""
    room = np.maximum(0.5, CONFLICT * controls["target"].abs())
    return (controls["balanced"] - controls["target"]).abs() > room


def _verdicts(controls: pd.DataFrame, copies: pd.DataFrame) -> list[dict[str, str]]:
    rows = []
    texts = {
        "household": ("Totals of households", message("All are met exactly."), 0.5),
        "person": ("Totals of persons", message("All are met within one person."), 1.5),
    }
    for level, (title, good, room) in texts.items():
        part = controls[controls["level"] == level]
        if not len(part):
            continue
        gap = part["gap"].abs()
        missed = int((gap >= room).sum())
        reason = good
        if missed:
            worst = part.iloc[int(gap.to_numpy().argmax())]
            reason = message(
                "{n} of {all} are missed; the largest gap is {gap}, at {margin}: {cell}.",
                n=count(missed), all=count(len(part)), gap=number(float(gap.max())),
                margin=worst["margin"], cell=worst["cell"],
            )  # fmt: skip
        rows.append(verdict(title, "missed" if missed else "met", "look" if missed else "good",
                            reason, "#totals"))  # fmt: skip
    if controls["balanced"].notna().any():
        rows.append(_conflict_verdict(controls))
    share = (copies["different"] / copies["households"].clip(lower=1)).median()
    reason = message(
        "In the middle zone {share} of the households differ; the most frequent one is there "
        "{most} times at most.",
        share=percent(float(share), 0), most=count(int(copies["most"].max())),
    )  # fmt: skip
    rows.append(verdict("Different households", percent(float(share), 0), "none", reason, "#zones"))
    return rows


def _conflict_verdict(controls: pd.DataFrame) -> dict[str, str]:
    n = int(conflicting(controls).sum())
    reason = message("Weights meet all totals together.")
    if n:
        reason = message(
            "{n} cannot be met together with the others, not even by fractional weights: the "
            "households are the nearest to all of them, by their importance.",
            n=plural(n, "total"),
        )  # fmt: skip
    return verdict("Conflicts", "found" if n else "none", "bad" if n else "good", reason,
                   "#conflicts" if n else "#totals")  # fmt: skip


def _conflicts(controls: pd.DataFrame) -> dict[str, Any] | None:
    """Return the totals that cannot be met, those that are missed most first."""
    part = controls[conflicting(controls)]
    if not len(part):
        return None
    missed = (part["balanced"] - part["target"]).abs()
    part = part.iloc[np.argsort(-missed.to_numpy(), kind="stable")[:MOST_ROWS]]
    head = ["Totals", "Area and category", "Known total", "Nearest", "Population"]
    rows = [
        [row.margin, row.cell, number(row.target, 6), number(row.balanced, 6),
         number(row.achieved, 6)]
        for row in part.itertuples()
    ]  # fmt: skip
    return table(head, rows, text_columns=2)


def _missed(controls: pd.DataFrame) -> dict[str, Any] | None:
    """Return totals that whole households miss by more than one though weights meet them."""
    part = controls[(controls["gap"].abs() >= 1.5) & ~conflicting(controls)]
    if not len(part):
        return None
    part = part.iloc[np.argsort(-part["gap"].abs().to_numpy(), kind="stable")[:MOST_ROWS]]
    rows = [[row.margin, row.cell, number(row.target, 6), number(row.achieved, 6)]
            for row in part.itertuples()]  # fmt: skip
    return table(["Totals", "Area and category", "Known total", "Population"], rows, text_columns=2)


def _zones(controls: pd.DataFrame, copies: pd.DataFrame, zone: str) -> dict[str, Any]:
    """Return the zones with the largest SRMSE."""
    fits = measures_of_fit(controls[controls["geography"] == zone], "area").set_index("area")
    order = fits["srmse"].sort_values(ascending=False, kind="stable").index[:MOST_ROWS]
    names = ["households", "different", "most"]
    by_zone = copies.set_index(copies[zone].astype(str))[names]
    shown = fits.loc[order]
    numbers = by_zone.reindex(shown.index).fillna(0).to_numpy(dtype=np.int64)
    rows = [
        [str(row.Index), *map(count, of_zone.tolist()), count(row.totals), count(row.exact),
         number(row.largest), number(row.srmse, 3)]
        for of_zone, row in zip(numbers, shown.itertuples(), strict=True)
    ]  # fmt: skip
    head = ["Zone", "Households", "Different ones", "Most frequent one", "Totals", "Exact",
            "Largest gap", "SRMSE"]  # fmt: skip
    return table(head, rows)


def _map(places: Any, controls: pd.DataFrame, zone: str) -> dict[str, Any]:
    """Return the map of the largest relative gap of each zone, and its key."""
    own = controls[controls["geography"] == zone]
    largest = own["relative_gap"].abs().groupby(own["area"].astype(str)).max()
    largest = largest[largest.index.isin(list(places))]
    if not len(largest):
        raise InputError.of("places", zone, "no zone of the population is in the file",
                            "Name zones as the geography does.")  # fmt: skip
    values = [(str(name), float(value)) for name, value in largest.to_dict().items()]
    classes = {name: int(np.searchsorted(BORDERS, value - 1e-12)) for name, value in values}
    texts = {name: f"{name}: {percent(value, 1)}" for name, value in values}
    keys = [gettext("all exact"), *(gettext("up to {share}").format(share=percent(end, 0))
                                    for end in BORDERS[1:]), gettext("more")]  # fmt: skip
    label = gettext("Largest relative gap of a total in each zone")
    return {"chart": Svg(zone_map(places, classes, texts, label)), "caption": label,
            "shades": list(enumerate(keys))}  # fmt: skip


def _share(value: float) -> str:
    return percent(value, 1)
