"""Languages of pages: catalogues hold every message of the code and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Message as Entry
from babel.messages.pofile import read_po

import synthpop
from synthpop.microdata.messages.language import (
    current_language,
    gettext,
    localised,
    template_messages,
    translated_template,
    use_language,
)
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import (
    change,
    count,
    number,
    percent,
    plural,
    short_percent,
    tick,
)
from tests.test_house import nodes_of

ROOT = Path(synthpop.__file__).parents[1]
CATALOGUE = ROOT / "synthpop" / "microdata" / "messages" / "locale" / "de.po"
PACKAGES = [ROOT / "synthpop", ROOT / "riskeval"]
FIELD = re.compile(r"{{? ?([a-zA-Z_.0-9\[\]'\"|]+)[^{}]*}?}")


@pytest.fixture(autouse=True, scope="module")
def _forget() -> Iterator[None]:
    """Leave no trees to the collector of the tests that follow."""
    yield
    nodes_of.cache_clear()


def entries() -> list[Entry]:
    """Entries of the catalogue of the pages but the header."""
    with CATALOGUE.open("rb") as source:
        return [entry for entry in read_po(source) if entry.id]


def forms(entry: Entry) -> list[tuple[str, str]]:
    """English and German of each form of an entry."""
    if isinstance(entry.id, str):
        return [(entry.id, entry.string)]
    return list(zip(entry.id, entry.string, strict=True))


KNOWN = {english for entry in entries() for english, _ in forms(entry)}


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted(package.rglob("*.py"))


def texts_of(node: ast.expr, named: dict[str, ast.expr]) -> Iterator[str]:
    """Texts that an argument may be: itself, one of two, or what has its name in the module."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*texts_of(node.body, named), *texts_of(node.orelse, named))
    elif isinstance(node, ast.Name) and node.id in named:
        yield from texts_of(named[node.id], {})


def messages_of(path: Path) -> Iterator[str]:
    """What a module gives to `message` and `gettext`, and the nouns that it counts."""
    named = {
        node.targets[0].id: node.value
        for node in nodes_of(path)[ast.Module][0].body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in nodes_of(path).get(ast.Call, []):
        is_call = isinstance(node.func, ast.Name) and node.args
        if is_call and node.func.id in ("message", "gettext"):
            yield from texts_of(node.args[0], named)


def counted_nouns(path: Path) -> Iterator[tuple[str, str]]:
    """Nouns that a module counts: behind one, and behind any other number."""
    for node in nodes_of(path).get(ast.Call, []):
        is_call = isinstance(node.func, ast.Name)
        if is_call and node.func.id == "plural" and isinstance(node.args[1], ast.Constant):
            nouns = [noun.value for noun in node.args[1:] if isinstance(noun, ast.Constant)]
            yield nouns[0], (nouns[1] if len(nouns) > 1 else f"{nouns[0]}s")


def page_templates() -> list[Path]:
    return sorted(path for package in PACKAGES for path in package.rglob("*.j2"))


def texts_of_template(path: Path) -> list[str]:
    """Texts between the tags of a page, and sentences and words in its expressions."""
    source = path.read_text(encoding="utf-8")
    expressions = " ".join(re.findall(r"{[{%].*?[}%]}", source, re.DOTALL))
    quoted = re.findall(r'"([^"]*)"', expressions)
    return [
        *template_messages(source),
        *re.findall(r'_\("([^"]*)"\)', source),
        *(text for text in quoted if re.match("[A-Z][a-z]|[a-z]+ [a-z]", text)),
    ]


def has_words(text: str) -> bool:
    return re.search("[A-Za-z]{2}", FIELD.sub("", text)) is not None


def test_every_message_of_the_code_has_a_translation() -> None:
    absent = {
        (path.relative_to(ROOT).as_posix(), text)
        for path in sources()
        for text in messages_of(path)
        if has_words(text) and text not in KNOWN
    }
    assert absent == set()


def test_every_counted_noun_has_a_translation() -> None:
    known = {entry.id for entry in entries() if not isinstance(entry.id, str)}
    assert {noun for path in sources() for noun in counted_nouns(path)} - known == set()


@pytest.mark.parametrize("path", page_templates(), ids=lambda path: path.name)
def test_every_text_of_a_page_template_has_a_translation(path: Path) -> None:
    assert {text for text in texts_of_template(path) if text not in KNOWN} == set()


def test_translations_name_the_same_values() -> None:
    for entry in entries():
        for english, german in forms(entry):
            assert german, english
            assert set(FIELD.findall(english)) == set(FIELD.findall(german)), english


def test_every_translation_is_used() -> None:
    used = {text for path in page_templates() for text in texts_of_template(path)}
    for path in sources():
        for node in nodes_of(path).get(ast.Constant, []):
            if isinstance(node.value, str):
                used.add(node.value)
    nouns = {f"{text}s" for text in used}
    unused = [
        entry.id
        for entry in entries()
        if not {english for english, _ in forms(entry)} <= used | nouns
    ]
    assert unused == []


def test_numbers_follow_the_language() -> None:
    with use_language("de"):
        assert current_language() == "de"
        assert str(count(1234567)) == "1.234.567"
        assert str(number(0.4132)) == "0,413"
        assert str(number(-1234.5)) == "\u22121.234"
        assert str(percent(0.1234)) == "12,34 %"
        assert str(percent(1e-9)) == "< 0,01 %"
        assert str(short_percent(0.12345)) == "12,3 %"
        assert str(change(0.0123)) == "+1,2 %"
        assert tick(12.5) == "12,5"
        assert str(plural(2, "block")) == "2 Blöcke"
        assert str(plural(1, "fallback was", "fallbacks were")) == "1 Ersatzmodell war"
        assert str(message("{ratio} times", ratio=number(2.5))) == "2,5 Mal"
        assert str(message("a text without translation {n}", n=1)) == "a text without translation 1"
    assert count(1234567) == "1,234,567"
    assert current_language() == "en"


def test_templates_are_translated_between_their_tags() -> None:
    source = "{% if a %}<h2>Summary</h2>\n<p> {{ n }} </p>{% endif %}"
    assert translated_template(source) == source
    with use_language("de"):
        expected = "{% if a %}<h2>Zusammenfassung</h2>\n<p> {{ n }} </p>{% endif %}"
        assert translated_template(source) == expected


def test_example_of_use_language() -> None:
    with use_language("de"):
        assert (gettext("Summary"), localised("1,234.5")) == ("Zusammenfassung", "1.234,5")


def test_example_of_template_messages() -> None:
    assert template_messages("<p>{{ n }} persons</p>{% if a %}<b>Why</b>{% endif %}") == [
        "{{ n }} persons",
        "Why",
    ]
