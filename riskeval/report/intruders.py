"""The table of intruders on pages: what is assumed, what they find, the most exposed record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.registry import ATTACKS
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import BLANK, count, number
from synthpop.microdata.pages.page_facts import table

if TYPE_CHECKING:
    from riskeval.comparison.result import Comparison
    from riskeval.measures.population_risk import PopulationRisk

HEAD = ("An intruder", "Assumption", "Expected right links", "Most exposed record")
FOUND = ("An intruder", "Assumption", "Expected right answers", "Most exposed record")
IN_THE_FILE = message("knows who is in the file")
OUTSIDE = message("does not know it")
RIGHT_VALUES = message("the values that records show are right")
BY_WEIGHTS = message("the persons of a key are what its weights say")
TOGETHER = message("the keys hang together as in the file")
ALL_NUMBERS = message("knows the numbers of everybody")
NEAREST = message("the nearest record is the own one")
RIGHT_KEYS = message("what is known of the keys is right")
RIGHT_RECORDS = message("all columns of the record are known, and right")
CERTAIN = "1"
NOT_COUNTED = ("membership", "close", "members")
"""Numbers of attacks that are no share of persons about whom the intruder is right."""


def intruders_of_file(risk: PopulationRisk | None) -> dict[str, object] | None:
    """What intruders find in a file, by what they know and what is assumed of the population."""
    if risk is None or not len(risk.risk):
        return None
    rows = []
    for row in risk.table.to_dict("records"):
        expected = number(row["expected"])
        if row["upper"] == row["upper"]:
            expected = message("{value} ({low} to {high})", value=expected,
                               low=number(row["lower"]), high=number(row["upper"]))  # fmt: skip
        said = (gettext(row["intruder"]), gettext(row["assumption"]))
        rows.append((*said, expected, number(row["highest"])))
    return table(HEAD, rows, text_columns=2)


def intruders_of_attacks(numbers: Iterable[tuple[str, AttackNumber]]) -> dict[str, object] | None:
    """What the intruder of each attack finds: by the target of which most is found.

    numbers: attacks, with each number that was measured
    """
    found: dict[str, AttackNumber] = {}
    for attack, one in numbers:
        measured = one.measurement
        is_counted = measured.records and measured.info.name not in NOT_COUNTED
        if is_counted and (attack not in found or _strength(one) > _strength(found[attack])):
            found[attack] = one
    rows = []
    for attack, one in found.items():
        entry, measured, beyond = ATTACKS[attack], one.measurement, one.excess
        n = measured.records
        expected = message("{n} of {m}", n=count(round(measured.value * n)), m=count(n))
        if beyond is not None:
            more = min(max(beyond.difference, 0.0), measured.value)  # of those who are compared
            expected = message("{found}; {more} beyond strangers", found=expected,
                               more=count(round(more * n)))  # fmt: skip
        by_all = entry.target == "none" and not entry.exact_keys
        is_sure = measured.info.unit == "share" and measured.value > 0
        rows.append((
            message("The intruder {story}.", story=entry.story),
            RIGHT_RECORDS if by_all else RIGHT_KEYS, expected, CERTAIN if is_sure else BLANK,
        ))  # fmt: skip
    return table(FOUND, rows, text_columns=2) if rows else None


def _strength(one: AttackNumber) -> float:
    return one.measurement.value if one.excess is None else one.excess.lower


def intruders_of_releases(comparison: Comparison) -> dict[str, object] | None:
    """What intruders find in each release whose records are those of the original."""
    rows = []
    for release in comparison.table.index[1:]:
        rows += [(release, *row) for row in _of_release(comparison, release)]
    return table(("Release", *HEAD), rows, text_columns=3) if rows else None


def _of_release(comparison: Comparison, release: str) -> Iterator[tuple[str, ...]]:
    of_it = comparison.measures[comparison.measures["release"] == release].set_index("name")
    known = of_it[of_it["applies"].astype(bool) & of_it["value"].notna()]
    values, records = known["value"].to_dict(), known["records"].to_dict()

    def has(*names: str) -> bool:
        return all(name in values for name in names)

    if has("distinct_keys", "below_2", "below_3"):
        smallest = 1.0 if values["below_2"] > 0 else 1 / 2 if values["below_3"] > 0 else np.nan
        highest = number(smallest) if smallest == smallest else message("at most {p}", p="1/3")
        right = values["distinct_keys"] * records["distinct_keys"]
        yield IN_THE_FILE, RIGHT_VALUES, number(right), highest
    if has("expected_reidentifications", "record_risk"):
        yield (OUTSIDE, BY_WEIGHTS, number(values["expected_reidentifications"]),
               number(values["record_risk"]))  # fmt: skip
    if has("population_links", "population_record_risk"):
        links, highest = values["population_links"], values["population_record_risk"]
        text = message("at most {n}", n=number(links))
        yield OUTSIDE, TOGETHER, text, message("at most {p}", p=number(highest))
    if has("record_linkage"):
        rate = values["record_linkage"]
        n = comparison.table["records"].astype(int)[release]
        yield ALL_NUMBERS, NEAREST, number(rate * n), CERTAIN if rate > 0 else number(0)
