"""Measurements as text, for internal and for external readers."""

from __future__ import annotations

from collections.abc import Iterable

from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.suppression import rounded, rounded_share
from synthpop.microdata.messages.text import BLANK, count, number, short_percent

ROUNDING = message(
    "Counts of records and expected numbers are rounded to multiples of five, below five to "
    "“< 5”; shares and mean risks accordingly. Numbers of single records are left out."
)


def visible(measurements: Iterable[Measurement], external: bool) -> list[Measurement]:
    """Return the measurements that readers may see: external ones, none of a single record."""
    return [one for one in measurements if not (external and one.info.single)]


def shown(one: Measurement, external: bool = False) -> str:
    """Return a measured value with its unit, such as "12 (3 %)"; "< 5" for external readers."""
    unit, value = one.info.unit, one.value
    if external:
        if one.info.single:
            return message("not shown")
        if unit in ("records", "persons"):
            return rounded(value)
        if unit == "probability":
            return rounded_share(value, one.records, text=number)
        return rounded_share(value, one.records) if unit == "share" else number(value)
    if unit == "records" and value == value:
        share = f" ({short_percent(one.share)})" if one.records else ""
        return count(value) + share
    as_text = short_percent if unit in ("share", "overlap") else number
    text = as_text(value)
    if one.lower == one.lower:
        text += " " + message("({low} to {high})", low=as_text(one.lower), high=as_text(one.upper))
    return text


def limit_text(one: Measurement) -> str:
    """Return the limit of a measurement, or a dash."""
    if one.limit is None:
        return BLANK
    word = message("at least") if one.at_least else message("at most")
    return word + " " + number(one.limit)
