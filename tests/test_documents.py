"""Every Python block of the pages runs (``-m pages``); those of the README: `tests.journeys`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import matplotlib.pyplot as plt
import pytest

from benchmarks.results import DOCS, says, stored
from synthpop.sampling import Study

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts),
]
BLOCK = re.compile(
    r"^```(?:python|\{code-cell\} python)\n(?::[^\n]*\n)*(.*?)^```", re.MULTILINE | re.DOTALL
)
DRAWS = re.compile(r"figure|plot|\baxes\b|pictures\[")
WITH_CODE = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


QUICK = ROOT / "docs" / "start" / "index.md"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=[] if page == QUICK else [pytest.mark.pages],
        )
        for page in WITH_CODE
        if page != PAGES[0]
    ],
)
def test_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1):
        code = compile(block, f"{page.name} block {number}", "exec")
        exec(code, names)
    plt.close("all")


def test_there_are_pages_with_examples() -> None:
    assert ROOT / "README.md" in WITH_CODE


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_asks_shows_and_leads_on(page: Path) -> None:
    """It begins with a question, has a figure, and ends with what to read next."""
    text = page.read_text(encoding="utf-8")
    rest = text.partition("# ")[2].partition("\n")[2]
    first = rest.strip().split("\n\n")[0]
    assert "?" in first, f"{page.name} does not begin with its question: {first[:80]}"
    drawn = any(DRAWS.search(block) for block in BLOCK.findall(text))
    assert drawn or "![" in text, f"{page.name} has no figure"
    prose = re.sub(r"^```\{toctree\}.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    last = prose.strip().split("\n\n")[-1]
    assert last.startswith("Read next: ["), f"{page.name} ends with {last[:80]}"


STIFF = (
    "more often refuse|lines in one place|that a role answers|"
    "do not know that values are uncertain|belongs into|is refused, not ignored|"
    "What whole numbers|broken numbers|recounted|is a small record|it is: one round|"
    "cannot help any more|where they stick out|tells itself|apart by lot|"
    "is what chance gives|drawn in one another|A population can go in|is told as well|"
    "that the tests need, and pass|Nothing stands out|its draws whatever|kind of person that|"
    "region to earn in|numbers estimated from the survey weights|"
    "members of a household given its first|gives out values of real persons|It lies in"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_none_of_the_phrases_that_readers_stumbled_over(page: Path) -> None:
    text = " ".join(re.sub("[`*]", "", page.read_text(encoding="utf-8")).split())
    assert re.findall(STIFF, text) == []


NUMBER = re.compile(r"\|\s*[*+-]*\d[\d,]*\.\d+[^|]*(?=\|)")
TABLE = re.compile(r"^\|.*\n\|[ :|-]+\n((?:\|.*\n)+)\n?(.*)", re.MULTILINE)
MEASURED = re.compile(r"\*Measured on \d{4}-\d\d-\d\d with version \d+\.\d+\.\d+: .+\.\*")


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_typed_table_of_results_says_when_and_how_it_was_measured(page: Path) -> None:
    """Tables that a test compares with the code end in a comment, see `tests/validation.py`."""
    text = page.read_text(encoding="utf-8")
    for rows, following in TABLE.findall(text) if page.name != "validation.md" else ():
        if len(NUMBER.findall(rows)) >= 4 and not following.startswith("<!--"):
            assert MEASURED.fullmatch(following), f"{page.name}: {rows[:80]}"


def test_pages_show_every_stored_table() -> None:
    """Tables of long studies are read from `docs/results`, where the scripts store them."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r'stored\("([\w-]+)", "([^"]+)"\)', text))
    shown |= {("truth", f"{name}, tables") for name in ("eusilcP", "demo")}
    files = {path.stem: json.loads(path.read_text()) for path in (DOCS / "results").iterdir()}
    assert {(study, name) for study, content in files.items() for name in content} == shown
    for study, name in shown:
        table = stored(study, name)
        assert MEASURED.fullmatch(f"*{table.source()}*"), f"{study}, {name}"
        assert table.table.notna().all(axis=None)


def test_a_sentence_that_is_not_on_a_page_stops_its_build() -> None:
    says("methods/closer-to-the-truth.md", "No way is best on every distance.")
    with pytest.raises(AssertionError, match="does not say: 36 of 35"):
        says("methods/closer-to-the-truth.md", "36 of 35")
    with pytest.raises(AssertionError, match="does not say"):  # code is no prose
        says("methods/closer-to-the-truth.md", "import says")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_external_links_are_well_formed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for address in re.findall(r"\]\((\w+:[^)\s]*)\)", text):
        parts = urlsplit(address)
        assert parts.scheme in ("https", "mailto"), address
        assert parts.scheme == "mailto" or "." in parts.netloc, address
    for doi in re.findall(r"\bdoi:(\S+)", text):
        assert re.match(r"10\.\d{4,9}/\S", doi), f"{page.name}: doi:{doi}"


def test_formulas_can_be_written_without_a_script() -> None:
    """The site shows MathML: what docutils cannot convert would stop the build."""
    convert = pytest.importorskip("docutils.utils.math.latex2mathml").tex2mathml
    formulas = []
    for page in PAGES[1:]:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
        formulas += re.findall(r"\$\$(.+?)\$\$", text, flags=re.DOTALL)
        text = re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL)
        formulas += re.findall(r"(?<![\w$])\$([^$\n]+)\$(?![\w$])", text)
    assert len(formulas) > 100
    for formula in formulas:
        assert "<math" in convert(formula.strip().replace(r"\dots", r"\ldots"))
    assert "mathjax" not in (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")


def test_the_gallery_has_every_figure() -> None:
    """Of the fit by kind, of an assessment by name, of a study by kind."""
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    source = (ROOT / "synthpop" / "report" / "gallery.py").read_text(encoding="utf-8")
    kinds = set(re.findall(r'pictures\[f?"(\w+)', source)) - {"distances"}  # that is `fit.plot()`
    assert kinds - set(re.findall(r'pictures\["(\w+)', gallery)) == set()
    by_group = re.findall(r'pictures\[f"(\w+) {name} by', source)
    assert {f'pictures["{kind} netIncome by' in gallery for kind in by_group} == {True}
    source = (ROOT / "riskeval" / "measures" / "assessment.py").read_text(encoding="utf-8")
    names = set(re.findall(r'drawn\["(\w+)"\]', source))
    assert names - set(re.findall(r'risk_pictures\["(\w+)"', gallery)) == set()
    documented = re.search(r"kind : {(.*?)}", Study.figure.__doc__ or "")
    assert documented is not None
    assert set(re.findall(r'"(\w+)"', documented[1])) == {
        "box",
        *re.findall(r'figure\(kind="(\w+)"', gallery),
    }
