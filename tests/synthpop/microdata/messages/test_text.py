"""Numbers look alike wherever they are written."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import synthpop
from synthpop.microdata.messages import text
from synthpop.microdata.messages.text import (
    change,
    count,
    difference,
    join,
    number,
    percent,
    percent_tick,
    plural,
    points,
    short_percent,
    tick,
    yes_or_no,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(15173.8, "15,174"), (-23.0, "−23"), (0.41328, "0.413"), (1e-12, "0"), (3e-8, "0.00000003"),
     (0.99999, "1"), (999.7, "1,000"), (np.nan, "–"), (np.inf, "–"), (None, "–"),
     (np.float32(0.5), "0.5"), (-0.0, "0")],
)  # fmt: skip
def test_number(value: float | None, expected: str) -> None:
    assert text.number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.12345, "12.35 %"), (-0.02, "−2.00 %"), (-1e-9, "0.00 %"), (1e-9, "< 0.01 %"),
     (0.0, "0.00 %"), (25.0, "2,500.00 %"), (None, "–")],
)  # fmt: skip
def test_percent(value: float | None, expected: str) -> None:
    assert text.percent(value) == expected


def test_signs_are_those_of_the_rounded_number() -> None:
    assert [text.change(x) for x in (0.012, -0.012, -0.0001)] == ["+1.2 %", "−1.2 %", "0.0 %"]
    assert text.points(-0.5) == "−50.00"
    assert text.difference(-1234.4) == "−1,234"


def test_one_is_singular() -> None:
    assert [text.plural(n, "row") for n in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]


# no other module formats numbers by itself


def formatted(source: str) -> int:
    """Return how many f-strings write thousands separators or percent by themselves."""
    if not re.search(r"\}[\"'\sf]*%|:[^{}\n]*[,%][^{}\n]*\}", source):
        return 0
    return sum(
        _formats(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)
    )


def _formats(text: ast.JoinedStr) -> bool:
    for part, after in zip(text.values, [*text.values[1:], None], strict=True):
        if not isinstance(part, ast.FormattedValue):
            continue
        spec = ast.unparse(part.format_spec) if part.format_spec is not None else ""
        follows = after.value if isinstance(after, ast.Constant) else ""
        if "," in spec or "%" in spec or str(follows).startswith("%"):
            return True
    return False


def test_numbers_become_text_in_one_place() -> None:
    assert (
        formatted('f"{n:,} of {m}"') == formatted('f"{x:.2%}"') == formatted('f"{100 * x}%"') == 1
    )
    assert formatted('f"{n} of {m:.3g} %, {x[1:2]}"') == 0
    root = Path(synthpop.__file__).parents[1]
    places = {
        path.relative_to(root).as_posix(): formatted(path.read_text(encoding="utf-8"))
        for package in ("synthpop", "riskeval")
        for path in sorted((root / package).rglob("*.py"))
        if path != Path(text.__file__)
    }
    more = {name: n for name, n in places.items() if n}
    assert more == {}, "use synthpop.microdata.messages.text"


def test_example_of_count() -> None:
    assert (count(81838.2), count(-5), count(float("nan"))) == ("81,838", "−5", "–")


def test_example_of_plural() -> None:
    assert (plural(1, "fallback"), plural(2000, "fallback")) == ("1 fallback", "2,000 fallbacks")
    assert plural(0, "record is", "records are") == "0 records are"


def test_example_of_number() -> None:
    assert (
        number(15173.8),
        number(0.41328),
        number(-23.0),
        number(0.0000123456),
        number(8e-34),
    ) == ("15,174", "0.413", "−23", "0.0000123", "0")
    assert (number(None), number(12.345, 4)) == ("–", "12.35")


def test_example_of_percent() -> None:
    assert (percent(0.0123), percent(0.4, 1), percent(float("nan")), percent(1e-9)) == (
        "1.23 %",
        "40.0 %",
        "–",
        "< 0.01 %",
    )


def test_example_of_short_percent() -> None:
    assert (
        short_percent(0.5),
        short_percent(0.12345),
        short_percent(0.000123),
        short_percent(0.0),
    ) == ("50 %", "12.3 %", "0.0123 %", "0 %")


def test_example_of_change() -> None:
    assert (change(0.0123), change(-0.2), change(0.0)) == ("+1.2 %", "−20.0 %", "0.0 %")


def test_example_of_points() -> None:
    assert (points(0.00256), points(-0.00001)) == ("+0.26", "0.00")


def test_example_of_difference() -> None:
    assert (difference(1234.2), difference(-3), difference(0.2)) == ("+1,234", "−3", "0")


def test_example_of_tick() -> None:
    assert (tick(20000.0), tick(12.5), tick(0.002), tick(0.0)) == ("20,000", "12.5", "0.002", "0")


def test_example_of_percent_tick() -> None:
    assert (percent_tick(0.25), percent_tick(-0.025)) == ("25 %", "−2.5 %")


def test_example_of_join() -> None:
    assert (join(["a", "b", "c"]), join(["a"]), join([])) == ("a, b and c", "a", "")


def test_example_of_yes_or_no() -> None:
    assert (yes_or_no(True), yes_or_no(0)) == ("yes", "no")
