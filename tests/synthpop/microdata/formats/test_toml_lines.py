"""Small calls of `toml_lines` and what they return."""

from __future__ import annotations

from synthpop.microdata.formats.toml_lines import lines_of_keys, locator


def test_example_of_lines_of_keys() -> None:
    text = '[run]\nseed = 1\n[[stage]]\ntype = "x"\n[[stage]]\nn = [\n1]\n'
    lines = lines_of_keys(text)
    assert (lines["run", "seed"], lines["stage", 0, "type"], lines["stage", 1]) == (2, 4, 5)


def test_example_of_locator() -> None:
    line_of = locator('[run]\nseed = 1\n[[stage]]\ntype = "x"\n')
    assert (
        line_of("[run] seed"),
        line_of("[run] sed"),
        line_of("[[stage]] 1 (x) names"),
        line_of("y"),
    ) == (2, 1, 3, 0)
