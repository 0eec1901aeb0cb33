"""Languages of pages: catalogues are complete for what pages say, and numbers follow."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from synthpop.microdata.messages import language
from synthpop.microdata.messages.language import (
    catalogue,
    current_language,
    gettext,
    localised,
    read_catalogue,
    said,
    template_messages,
    translated,
    translated_template,
    use_language,
)
from synthpop.microdata.messages.text import (
    change,
    count,
    number,
    percent,
    plural,
    short_percent,
    tick,
)

ROOT = Path(language.__file__).parents[2]
TEMPLATES = ("microdata/pages/shell.html.j2", "microdata/pages/macros.html.j2",
             "templates/report.html.j2")  # fmt: skip
SOURCES = ("report/advice.py", "report/pairs.py", "report/recipe.py",
           "report/risk.py", "report/sections.py", "report/summary.py", "report/variables.py",
           "report/verdicts.py", "report/provenance.py", "evaluation/sentences.py",
           "evaluation/verdict.py")  # fmt: skip


def constants(tree: ast.Module) -> dict[str, str]:
    """Texts that have a name in a module."""
    return {
        node.targets[0].id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def messages_of(path: Path) -> set[str]:
    """First arguments of gettext() and said() that are texts or names of texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named, messages = constants(tree), set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
            continue
        first = node.args[0]
        if node.func.id in ("gettext", "said"):
            if isinstance(first, ast.Constant):
                messages |= {str(first.value)} - {""}
            elif isinstance(first, ast.Name) and first.id in named:
                messages.add(named[first.id])
        if node.func.id == "table" and isinstance(first, ast.List):
            messages |= {e.value for e in first.elts if isinstance(e, ast.Constant) and e.value}
    return messages - {""}


@pytest.mark.parametrize("name", SOURCES)
def test_every_message_of_the_population_page_has_a_translation(name: str) -> None:
    found = messages_of(ROOT / name)
    assert found
    assert {text for text in found if (text, 0) not in catalogue("de")} == set()


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_text_of_a_template_has_a_translation(name: str) -> None:
    source = (ROOT / name).read_text(encoding="utf-8")
    found = [*template_messages(source), *re.findall(r'_\("([^"]*)"\)', source)]
    assert found
    assert {text for text in found if (text, 0) not in catalogue("de")} == set()


def test_translations_name_the_same_values() -> None:
    fields = re.compile(r"{{? ?[a-z_.]+ ?}?}")
    for (message, _), text in catalogue("de").items():
        assert set(fields.findall(message)) == set(fields.findall(text)), message


def test_numbers_follow_the_language() -> None:
    with use_language("de"):
        assert current_language() == "de"
        assert count(1234567) == "1.234.567"
        assert number(0.4132) == "0,413"
        assert number(-1234.5) == "\u22121.234"
        assert percent(0.1234) == "12,34 %"
        assert percent(1e-9) == "< 0,01 %"
        assert short_percent(0.12345) == "12,3 %"
        assert change(0.0123) == "+1,2 %"
        assert tick(12.5) == "12,5"
        assert plural(2, "block") == "2 Blöcke"
        assert plural(1, "fallback was", "fallbacks were") == "1 Ersatzmodell war"
        assert said("{ratio} times", ratio=number(2.5)) == "2,5 Mal"
        assert said("a text that nobody translated {n}", n=1) == "a text that nobody translated 1"
    assert count(1234567) == "1,234,567"
    assert current_language() == "en"


def test_templates_are_translated_between_their_tags() -> None:
    source = "{% if a %}<h2>Summary</h2>\n<p> {{ n }} </p>{% endif %}"
    assert translated_template(source) == source
    with use_language("de"):
        expected = "{% if a %}<h2>Zusammenfassung</h2>\n<p> {{ n }} </p>{% endif %}"
        assert translated_template(source) == expected


def test_a_catalogue_may_have_long_and_missing_texts() -> None:
    text = 'msgid ""\n"one "\n"two"\nmsgstr "eins zwei"\n\n# note\nmsgid "no"\nmsgstr ""\n'
    assert read_catalogue(text) == {("one two", 0): "eins zwei"}


def test_example_of_use_language() -> None:
    with use_language("de"):
        assert (gettext("Summary"), localised("1,234.5")) == ("Zusammenfassung", "1.234,5")


def test_example_of_said() -> None:
    assert (
        said("Give {variable} the predictor {other}.", variable="job", other="age")
        == "Give job the predictor age."
    )


def test_example_of_translated() -> None:
    with use_language("de"):
        assert (translated("1 of 4 limits is exceeded."), translated("age")) == (
            "1 von 4 Grenzen wird überschritten.",
            "age",
        )


def test_example_of_template_messages() -> None:
    assert template_messages("<p>{{ n }} persons</p>{% if a %}<b>Why</b>{% endif %}") == [
        "{{ n }} persons",
        "Why",
    ]


def test_example_of_read_catalogue() -> None:
    assert read_catalogue(
        'msgid "row"\nmsgid_plural "rows"\nmsgstr[0] "Zeile"\nmsgstr[1] "Zeilen"\n'
    ) == {("row", 0): "Zeile", ("row", 1): "Zeilen"}
